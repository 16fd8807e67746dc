"""A world that programs change, as an MCP server over HTTP that outlives its clients and counts what it is asked to do.

    world.py FOLDER

Prints its port. FOLDER/state.json is the world: `get {key}` reads it, `put {key value}` writes it, `poke {n}` says
nothing of what it does. `put_once {key value idempotency_key}` tells the key that it was given. Writes of the key `refused` fail, and
those of `lost` happen and are not answered: the connection is cut.

FOLDER/log has a line for each write, on disk before anything else happens: `came KEY` when it is asked for, `did KEY`
when it has happened, `said KEY` when it was answered. FOLDER/hold names moments, a line each, at which writes wait
until it no longer does: `came KEY`, `did KEY`.
"""

import http.server
import json
import os
import sys
import threading
import time

folder = sys.argv[1]
log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
state_file = os.path.join(folder, "state.json")
lock = threading.Lock()


def note(line):
    os.write(log, (line + "\n").encode())
    os.fsync(log)
    while held(line):
        time.sleep(0.002)  # Nobody tells of a file that changes.


def held(line):
    try:
        with open(os.path.join(folder, "hold")) as file:
            return line in file.read().split("\n")
    except FileNotFoundError:
        return False


def state():
    try:
        with open(state_file) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def change(key, value):
    with lock:
        world = state()
        world[key] = value
        with open(state_file + ".new", "w") as file:
            json.dump(world, file)
        os.rename(state_file + ".new", state_file)


def tool(name, properties, hints):
    required = [key for key in properties if key != "idempotency_key"]
    schema = {"type": "object", "properties": {key: {} for key in properties}, "required": required}
    if os.path.exists(os.path.join(folder, "changed")):
        schema["description"] = "changed"
    return {"name": name, "description": name, "inputSchema": schema, "annotations": hints}


def tools():
    return [
        tool("get", ["key"], {"readOnlyHint": True}),
        tool("put", ["key", "value"], {"destructiveHint": True}),
        tool("put_once", ["key", "value", "idempotency_key"], {"destructiveHint": True}),
        tool("poke", ["n"], {}),
    ]


def call(name, args):
    if name == "get":
        return {"value": state().get(args["key"])}
    key = str(args.get("key", args.get("n")))
    note(f"came {key}")
    if key == "refused":
        return None
    change(key, args.get("value", True))
    note(f"did {key}")
    return {"put": key, "idempotency_key": args.get("idempotency_key")}


def answer(message):
    params = message.get("params") or {}
    method = message["method"]
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "world", "version": "1"}}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        result = call(params["name"], params.get("arguments") or {})
        if result is None:
            return {"content": [{"type": "text", "text": "it is refused"}], "isError": True}
        return {"content": [], "structuredContent": result}
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, body=None):
        text = b"" if body is None else json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # Whoever asked is gone.

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            return self.reply(202)
        result = answer(message)
        if result is None:
            error = {"code": -32601, "message": "unknown method"}
            return self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
        if (result.get("structuredContent") or {}).get("put") == "lost":
            self.close_connection = True
            return
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})
        put = (result.get("structuredContent") or {}).get("put")
        if put is not None:
            note(f"said {put}")

    def do_GET(self):
        self.reply(405)

    def do_DELETE(self):
        self.reply(405)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # Clients are killed; that is no news.


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
