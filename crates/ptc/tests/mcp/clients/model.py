"""A model for real clients, without a model: it answers by a script, over the APIs that clients speak.

Usage: model.py SCRIPT RECORD

SCRIPT is a JSON file, which is read anew for every request: `programs` are called one after the other with the tool
`lisp_eval`, or `calls` are made of another `tool`, which may have a prefix; then comes `answer`, with the groups of `pattern` in
the last result filled in. `served` are plain answers to GET, by path. The address is printed when
the server listens. Every request is written to RECORD before it is answered, as one line of JSON: which API, which
tools with their descriptions, the results so far, and all text but these. It ends when its input is closed.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def tool(script):
    return script.get("tool", "lisp_eval")


def calls(script):
    """The arguments of all calls, in order."""
    return script.get("calls") or [{"program": program} for program in script["programs"]]


def texts(value):
    """All strings in a value, one below the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(filter(None, map(texts, value))) if isinstance(value, list) else ""


class Api:
    """An API of models: where tools and results stand in its requests, and how it answers with events."""

    def __init__(self, request, tool):
        self.request, self.tool = request, tool

    def search(self, offered):
        """The call that loads tools which the client holds back, if it does."""
        return None

    def offered(self, tools, prefix=None):
        """Tools as (name, namespace, description); namespaces have tools of their own."""
        for tool in tools:
            function = tool.get("function", tool)
            if tool.get("type") == "namespace":
                yield from self.offered(tool["tools"], tool["name"])
            else:
                yield function.get("name", tool.get("type")), prefix, function.get("description", "")


class Anthropic(Api):
    path = re.compile(r"/v1/messages$")

    def tools(self):
        return self.request.get("tools", [])

    def results(self):
        content = [part for message in self.request["messages"] for part in message["content"] if isinstance(part, dict)]
        results = [part for part in content if part["type"] == "tool_result"]
        return [texts([part.get("content")]) for part in results if not part["tool_use_id"].startswith(self.SEARCH)]

    # Claude Code may hold tools back, and tells their names; its own tool ToolSearch loads them.
    SEARCH = "toolu_search"

    def search(self, offered):
        held_back = re.search(rf"^\S+{self.tool}$", texts(self.request), re.MULTILINE)
        if held_back and any(name == "ToolSearch" for name, _, _ in offered):
            return "ToolSearch", None, {"query": f"select:{held_back[0]}"}
        return None

    def events(self, number, call, text):
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
        if call:
            kind = "toolu_" if call[0].endswith(self.tool) else self.SEARCH
            block = {"type": "tool_use", "id": f"{kind}{number}", "name": call[0], "input": {}}
            delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(call[2])}, "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": self.request["model"]}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not self.request.get("stream"):
            yield message | {"content": [{"type": "text", "text": text}], "stop_reason": reason}
            return
        yield {"type": "message_start", "message": message}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
        yield {"type": "message_stop"}


class Responses(Api):
    path = re.compile(r"/v1/responses$")

    def tools(self):
        return self.request.get("tools", [])

    def results(self):
        return [texts([item["output"]]) for item in self.request["input"] if item.get("type") == "function_call_output"]

    def events(self, number, call, text):
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}"}
        item |= {"content": [{"type": "output_text", "text": text, "annotations": []}]}
        if call:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call[0]}
            item |= {"arguments": json.dumps(call[2])} | ({"namespace": call[1]} if call[1] else {})
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": f"resp_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
        yield {"type": "response.completed", "response": response}


class ChatCompletions(Api):
    path = re.compile(r"/v1/chat/completions$")

    def tools(self):
        return self.request.get("tools", [])

    def results(self):
        return [texts([message["content"]]) for message in self.request["messages"] if message["role"] == "tool"]

    def events(self, number, call, text):
        delta, reason = {"role": "assistant", "content": text}, "stop"
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[2])}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]}
            reason = "tool_calls"
        chunk = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 0, "model": self.request["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        yield chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
        yield "[DONE]"


class Gemini(Api):
    path = re.compile(r":(streamGenerateContent|generateContent)$")

    def tools(self):
        return [tool for group in self.request.get("tools", []) for tool in group.get("functionDeclarations", [])]

    def results(self):
        parts = [part for content in self.request["contents"] for part in content.get("parts", [])]
        return [texts(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]

    def events(self, number, call, text):
        part = {"functionCall": {"name": call[0], "args": call[2]}} if call else {"text": text}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        yield {"candidates": [candidate], "usageMetadata": usage}


APIS = [Anthropic, Responses, ChatCompletions, Gemini]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, status, value):
        self.answer(status, "application/json", json.dumps(value).encode())

    def do_HEAD(self):
        self.answer(200, "text/plain", b"")

    def do_GET(self):
        served = self.server.script().get("served", {}).get(self.path)
        if served is None:
            self.server.note({"unknown": f"GET {self.path}"})
            return self.json(404, {"error": {"message": "not here"}})
        self.json(200, served)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?")[0]
        api = next((api for api in APIS if api.path.search(path)), None)
        if api is None:
            self.server.note({"unknown": f"POST {path}"})
            return self.json(404, {"error": {"message": "not here"}})
        api = api(json.loads(body), tool(self.server.script()))
        call, text = self.reply(api)
        number = self.server.count()
        events = list(api.events(number, call, text))
        streamed = "event-stream" in self.headers.get("accept", "") or api.request.get("stream") or "alt=sse" in self.path
        if not streamed:
            return self.json(200, events[-1])
        lines = []
        for event in events:
            if isinstance(event, dict) and "type" in event:
                lines.append(f"event: {event['type']}\n")
            lines.append(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
        self.answer(200, "text/event-stream", "".join(lines).encode())

    def reply(self, api):
        """The next call as (name, namespace, arguments), or the text of the answer."""
        script, results = self.server.script(), api.results()
        offered = list(api.offered(api.tools()))
        found = next(((name, space) for name, space, _ in offered if name.endswith(api.tool)), None)
        call, text = None if found else api.search(offered), "No tool, no answer."
        if found and len(results) < len(calls(script)):
            call = (*found, calls(script)[len(results)])
        elif found:
            match = re.search(script["pattern"], results[-1])
            text = match.expand(script["answer"]) if match else f"This did not arrive: {results[-1]}"
        record = {"api": type(api).__name__, "tool": found and found[0], "results": results}
        record["told"] = texts(api.request)
        for result in results:
            record["told"] = record["told"].replace(result, "")
        record["tools"] = {name: description for name, _, description in offered}
        self.server.note(record | {"call": call and call[2], "answer": None if call else text})
        return call, text


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, script, record):
        super().__init__(("127.0.0.1", 0), Model)
        self.file, self.record = script, record
        self.lock, self.number = threading.Lock(), 0

    def script(self):
        with open(self.file, encoding="utf-8") as file:
            return json.load(file)

    def count(self):
        with self.lock:
            self.number += 1
            return self.number

    def note(self, what):
        with self.lock:
            self.record.write(json.dumps(what) + "\n")
            self.record.flush()


if __name__ == "__main__":
    server = Server(sys.argv[1], open(sys.argv[2], "w", encoding="utf-8"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()
