"""Drives the server with the Python SDK and prints what it saw as JSON.

Usage: python_sdk.py MODE URL | MODE COMMAND ARGUMENT...
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


async def main(mode, target):
    server = target[0] if target[0].startswith("http") else StdioServerParameters(command=target[0], args=target[1:])
    reports = []

    async def progress(done, total, message):
        reports.append(done)

    def text(result):
        return "".join(part.text for part in result.content if part.type == "text")

    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        three = await client.call_tool("lisp_eval", {"program": "(+ 1 2)"})
        context = await client.call_tool("lisp_eval", {"program": "(count data/rows)", "context": {"rows": [1, 2]}})
        broken = await client.call_tool("lisp_eval", {"program": "(+ 1"})
        slow = await client.call_tool("lisp_eval", {"program": "(loop [] (recur))"}, progress_callback=progress)
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "server": client.server_info.name if client.server_info else None,
                    "tools": [tool.name for tool in tools.tools],
                    "three": text(three),
                    "context": text(context),
                    "broken": broken.is_error,
                    "slow": text(slow),
                    "reports": len(reports),
                    "growing": all(a < b for a, b in zip(reports, reports[1:])),
                }
            )
        )


asyncio.run(main(sys.argv[1], sys.argv[2:]))
