"""Plays a conversation with a command at a real terminal, and prints all that the terminal showed.

The arguments are the conversation as JSON, [[wait for, then send], ...], and the command. What is waited for must come
after what was seen before; escape sequences of the terminal are taken out before looking. `file:PATH` waits for a file.
"""

import json
import os
import pty
import re
import select
import sys
import time

script, command = json.loads(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")
shown, seen = "", 0
deadline = time.time() + 60


def read():
    """Takes what the terminal shows; false when it is closed."""
    global shown
    if not select.select([terminal], [], [], 0.02)[0]:
        return True
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        return False
    shown += piece.decode(errors="replace")
    return bool(piece)


def there(wanted):
    """Whether something that is waited for has come."""
    global seen
    if wanted.startswith("file:"):
        return os.path.exists(wanted[len("file:"):])
    at = ESCAPES.sub("", shown).find(wanted, seen)
    if at >= 0:
        seen = at + len(wanted)
    return at >= 0


for wanted, send in script:
    while not there(wanted):
        if not read() or time.time() > deadline:
            sys.exit(f"never showed {wanted!r} after {ESCAPES.sub('', shown)[seen:]!r}")
    os.write(terminal, send.encode())
while read() and time.time() < deadline:
    pass
print(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
