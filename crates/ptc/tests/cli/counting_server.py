"""A server that counts what it is asked: a model that plans ten steps, and the tool that takes them.

    counting_server.py LOG HOLD

Prints its port. Every question is a line of LOG that is on disk before it is answered. Questions that the file
HOLD names, a line each, are answered when it no longer does.
"""

import http.server
import json
import os
import sys
import time

STEPS = 10
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def note(line):
    os.write(log, (line + "\n").encode())
    os.fsync(log)


def held(name):
    try:
        with open(sys.argv[2]) as file:
            return name in file.read().split("\n")
    except FileNotFoundError:
        return False


def program(turn):
    if turn > STEPS:
        return "(return {:total total})"
    before = "total" if turn > 1 else "0"
    return f"(def total (:total (tool/step {{:n {turn} :total {before}}})))"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status = 200
        if self.path == "/tool":
            name, answer = f"tool {body['n']}", {"total": body.get("total", 0) + body["n"]}
        elif self.path.startswith("/denied"):
            name, status = "denied", 401
            answer = {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}}
        else:
            turn = 1 + sum(message["role"] == "assistant" for message in body["messages"])
            name, text = f"model {turn}", f"```clojure\n{program(turn)}\n```"
            message = {"role": "assistant", "content": text}
            answer = {
                "id": "x", "object": "chat.completion", "created": 1, "model": "planner",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        note(f"asked {name}")
        while held(name):
            time.sleep(0.005)  # Nobody tells of a file that changes.
        text = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            pass  # Whoever asked is gone.

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
