"""An upstream for tests whose writes are seen: every call of `put` adds a line to the file that it is told of."""

import json
import os
import sys

FILE = sys.argv[1]
TOOLS = [
    {"name": "get", "description": "Reads", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "put", "description": "Writes", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": {}}
    if method == "initialize":
        info = {"name": "counting", "version": "1"}
        reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        reply["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        args = params.get("arguments", {})
        if params["name"] == "put":
            file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, (json.dumps(args, sort_keys=True) + "\n").encode())
            os.close(file)
        reply["result"] = {"content": [], "structuredContent": {"n": args.get("n", 0), "id": args.get("id")}}
    print(json.dumps(reply), flush=True)
