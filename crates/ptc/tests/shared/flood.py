"""Leaves unfinished requests at a server and asks for its health all the while.

flood.py http1|http2 HOST PORT HEALTH COUNT PATH...

At every path, COUNT connections are opened that send nothing more: half of them in the middle of the head, half in the
middle of a body, some of those after most of a megabyte. After every tenth and at the end of each path the health is
asked for on a new connection. Prints one line of JSON for each path: how many were opened, how often health was asked
for and answered, and how long the slowest answer took.
"""

import json
import resource
import socket
import sys
import time

PATIENCE = 60


def connect(host, port):
    return socket.create_connection((host, port), timeout=PATIENCE)


class Http1:
    """Requests of HTTP/1.1."""

    def __init__(self, host, port):
        self.host = f"{host}:{port}"

    def whole(self, path):
        return f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode()

    def is_answered(self, read):
        answer = b""
        while piece := read(65536):
            answer += piece
        return answer.startswith(b"HTTP/1.1 200")

    def head(self, path, ends):
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        return (f"{head}Content-Length: 2000000\r\n\r\n" if ends else head).encode()

    def body(self, length):
        return b"{" + b" " * (length - 1)


class Http2:
    """Requests of HTTP/2 without a handshake before it, which are invocations of a Restate server."""

    DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
    END_STREAM, END_HEADERS = 1, 4
    GET, POST, SCHEME, OK = b"\x82", b"\x83", b"\x86", b"\x88"
    KIND = "application/vnd.restate.invocation.v5"

    def __init__(self, host, port):
        self.host = f"{host}:{port}"
        self.preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(self.SETTINGS, 0, 0, b"")

    def frame(self, kind, flags, stream, payload):
        return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload

    def field(self, name, text):
        """A field with a name of the static table, its value as it is."""
        index = bytes([name]) if name < 15 else bytes([15, name - 15])
        return index + bytes([len(text)]) + text.encode()

    def fields(self, method, path):
        return method + self.SCHEME + self.field(4, path) + self.field(1, self.host) + self.field(31, self.KIND)

    def whole(self, path):
        flags = self.END_STREAM | self.END_HEADERS
        return self.preface + self.frame(self.HEADERS, flags, 1, self.fields(self.GET, path))

    def is_answered(self, read):
        def exactly(length):
            data = b""
            while len(data) < length:
                piece = read(length - len(data))
                if not piece:
                    raise OSError("closed")
                data += piece
            return data

        while True:
            head = exactly(9)
            payload = exactly(int.from_bytes(head[:3]))
            if head[3] == self.HEADERS:
                return payload.startswith(self.OK)
            if head[3] == self.GOAWAY:
                return False

    def head(self, path, ends):
        flags = self.END_HEADERS if ends else 0
        return self.preface + self.frame(self.HEADERS, flags, 1, self.fields(self.POST, path))

    def body(self, length):
        # A message of which most is still to come: its type, its flags and its length.
        message = bytes(4) + (1 << 28).to_bytes(4) + b" " * max(0, length - 8)
        pieces = (message[at : at + 16_000] for at in range(0, len(message), 16_000))
        return b"".join(self.frame(self.DATA, 0, 1, piece) for piece in pieces)


def health(host, port, spoken, path):
    began = time.monotonic()
    try:
        with connect(host, port) as peer:
            peer.sendall(spoken.whole(path))
            answered = spoken.is_answered(peer.recv)
    except OSError:
        answered = False
    return answered, time.monotonic() - began


def leave(host, port, spoken, path, number):
    peer = connect(host, port)
    peer.setblocking(False)
    try:
        peer.send(spoken.head(path, ends=number % 2 == 1))
        if number % 20 == 1:
            peer.send(spoken.body(900_000))
        elif number % 2 == 1:
            peer.send(spoken.body(10))
    except OSError:
        pass  # The server refused already.
    return peer


def main():
    protocol, host, port, ask = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    count, paths = int(sys.argv[5]), sys.argv[6:]
    spoken = {"http1": Http1, "http2": Http2}[protocol](host, port)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < count + 100:
        sys.exit(f"needs {count + 100} file handles, the hard limit (ulimit -Hn) is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, most))
    for path in paths:
        peers, answers = [], []
        for number in range(count):
            peers.append(leave(host, port, spoken, path, number))
            if number % 10 == 9:
                answers.append(health(host, port, spoken, ask))
        answers.extend(health(host, port, spoken, ask) for _ in range(20))
        slowest = max(time for _, time in answers)
        print(json.dumps({"path": path, "opened": len(peers), "asked": len(answers),
                          "answered": sum(ok for ok, _ in answers), "slowest_ms": round(slowest * 1000)}), flush=True)
        for peer in peers:
            peer.close()


main()
