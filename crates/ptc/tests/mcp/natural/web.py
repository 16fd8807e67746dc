"""The web of programs that call real servers: it has what is in a table, and tells of every other request what it was.

Usage: web.py TABLE

TABLE is a JSON file: bodies by method and path, `GET /shop/orders`; texts are pages, everything else is JSON. The address is
printed when the server listens. It ends when its input is closed.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Web(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        asked = urlsplit(self.path)
        found = self.server.table.get(f"{self.command} {asked.path}")
        if found is None:
            found = {"method": self.command, "path": asked.path, "query": parse_qs(asked.query)}
            found |= {"body": json.loads(body)} if body else {}
        kind = "text/html" if isinstance(found, str) else "application/json"
        sent = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(sent)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    server.daemon_threads = True
    with open(sys.argv[1], encoding="utf-8") as file:
        server.table = json.load(file)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
