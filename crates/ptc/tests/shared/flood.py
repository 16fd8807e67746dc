"""Leaves unfinished requests at a server and asks for its health all the while.

flood.py HOST PORT HEALTH COUNT PATH...

At every path, COUNT connections are opened that send nothing more: half of them in the middle of the head, half in the
middle of a body, some of those after a megabyte of it. After every tenth and at the end of each path the health is
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


def health(host, port, path):
    began = time.monotonic()
    try:
        with connect(host, port) as peer:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := peer.recv(65536):
                answer += piece
        return answer.startswith(b"HTTP/1.1 200"), time.monotonic() - began
    except OSError:
        return False, time.monotonic() - began


def leave(host, port, path, number):
    peer = connect(host, port)
    head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    peer.setblocking(False)
    try:
        if number % 2 == 0:
            peer.send(head.encode())
        else:
            peer.send(f"{head}Content-Length: 2000000\r\n\r\n".encode() + b"{")
        if number % 20 == 1:
            peer.send(b" " * 1_000_000)
    except OSError:
        pass  # The server refused already.
    return peer


def main():
    host, port, ask = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    count, paths = int(sys.argv[4]), sys.argv[5:]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most != resource.RLIM_INFINITY and most < count + 100:
        sys.exit(f"needs {count + 100} file handles, the hard limit (ulimit -Hn) is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, most))
    for path in paths:
        peers, answers = [], []
        for number in range(count):
            peers.append(leave(host, port, path, number))
            if number % 10 == 9:
                answers.append(health(host, port, ask))
        answers.extend(health(host, port, ask) for _ in range(20))
        slowest = max(time for _, time in answers)
        print(json.dumps({"path": path, "opened": len(peers), "asked": len(answers),
                          "answered": sum(ok for ok, _ in answers), "slowest_ms": round(slowest * 1000)}), flush=True)
        for peer in peers:
            peer.close()


main()
