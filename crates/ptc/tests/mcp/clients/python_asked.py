"""Runs a program with the Python SDK, decides about the calls that the server asks about, and prints what came of it.

The first question is approved, the second declined, the third answered with other arguments.
Usage: python_asked.py MODE PROGRAM URL | MODE PROGRAM COMMAND ARGUMENT...
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

ANSWERS = [
    {"action": "accept", "content": {"decision": "approve"}},
    {"action": "decline"},
    {"action": "accept", "content": {"decision": "edit", "args": '{"n": 33}'}},
]


async def main(mode, program, target):
    server = target[0] if target[0].startswith("http") else StdioServerParameters(command=target[0], args=target[1:])
    asked = []

    async def decide(context, params):
        asked.append(params.message.splitlines()[0])
        return ElicitResult(**ANSWERS[len(asked) - 1])

    async with Client(server, mode=mode, elicitation_callback=decide) as client:
        result = await client.call_tool("lisp_eval", {"program": program})
        text = "".join(part.text for part in result.content if part.type == "text")
        print(json.dumps({"version": client.protocol_version, "text": text, "asked": asked}))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
