#!/usr/bin/env python3
"""One server of tools.json as an MCP server over stdio: upstream.py NAME answers the tools that are called NAME/… there.

Objects are answered as structured content, other values as JSON text, text as it is, and nothing for null. A canned
failure is an answer with isError.
"""

import json
import sys
from pathlib import Path

SERVER = sys.argv[1] + "/"
CANNED = json.loads((Path(__file__).resolve().parent / "tools.json").read_text(encoding="utf-8"))
TOOLS = {name.removeprefix(SERVER): canned for name, canned in CANNED.items() if name.startswith(SERVER)}


def called(tool, args):
    canned = TOOLS[tool]
    value = next((result for given, result in canned["cases"] if given == args), canned["default"])
    if isinstance(value, dict) and "$fail" in value:
        return {"content": text(value["$fail"]["message"]), "isError": True}
    if isinstance(value, dict):
        return {"content": [], "structuredContent": value}
    if value is None:
        return {"content": []}
    return {"content": text(value if isinstance(value, str) else json.dumps(value))}


def text(value):
    return [{"type": "text", "text": value}]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": SERVER, "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": name, "description": f"Answers {name}.", "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method == "tools/call":
        return called(params["name"], params.get("arguments", {}))
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
