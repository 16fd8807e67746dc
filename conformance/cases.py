"""The case files of `cases/`: readable Clojure with the expected answer in a comment.

    ;;; Prose for readers, ignored.
    ; name: adds                      optional name, else file:line
    ; ptc-only                        vocabulary that real Clojure does not have
    ; divergence: D03                 real Clojure answers otherwise; the row of DIVERGENCES.md says why
    ; pending: no StringBuilder yet   known to fail; the test suite leaves it out, compare.py does not
    ;data orders [{"id": 1}]          JSON that the program reads as data/orders
    ;;data orders [{"id": 1}]         the same for every case below in the file
    (+ 1 2)
    ;=> 3

A case is everything up to its expectation. `;=>` gives the printed value (it may also end the last line of
the program, and go on in following lines that start with `;   `), `;=!` an error: its kind or a part of
its message, or nothing for any error. `;=> ?` asks the oracle for the answer.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

EXPECTATION = re.compile(r"^(?P<code>.*?)\s*(?P<mark>;=>|;=!)(?: (?P<text>.*))?$")
CONTINUED = ";   "


@dataclass
class Case:
    """One program with its expectation and where it was written."""

    name: str
    src: str
    line: int
    expected: str | None = None
    error: str | None = None
    data: dict = field(default_factory=dict)
    ptc_only: bool = False
    divergence: str | None = None
    pending: str | None = None
    mark_line: int = 0


def load(path):
    """The cases of one file, in order."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return list(split(lines, Path(path).stem))


def split(lines, stem):
    """Cuts the lines of a file into cases."""
    case, body, at, shared = None, [], 0, {}
    while at < len(lines):
        line = lines[at]
        at += 1
        if case is None:
            case, body = Case(name=f"{stem}:{at}", src="", line=at, data=dict(shared)), []
        if line.startswith(";;data "):
            shared.update(data_line(line))
            case.data.update(shared)
            continue
        found = EXPECTATION.match(line)
        if found:
            body.append(found["code"])
            text = found["text"] or ""
            case.mark_line = at
            while found["mark"] == ";=>" and at < len(lines) and lines[at].startswith(CONTINUED):
                text += "\n" + lines[at][len(CONTINUED) :]
                at += 1
            finish(case, body, found["mark"], text.strip())
            yield case
            case = None
        elif not directive(case, line):
            if line.strip() and not any(body) and not line.startswith(";"):
                case.line = at
            body.append(line if not line.startswith(";;;") else "")
    if case and "\n".join(body).strip():
        raise ValueError(f"{stem}: the case at line {case.line} has no expectation")


def directive(case, line):
    """Takes a marker line into the case; says whether it was one."""
    if line.startswith("; name: "):
        case.name = case.name.split(":")[0] + ":" + line[8:].strip()
    elif line == "; ptc-only":
        case.ptc_only = True
    elif line.startswith("; divergence: "):
        case.divergence = line[14:].strip()
    elif line.startswith("; pending: "):
        case.pending = line[11:].strip()
    elif line.startswith(";data "):
        case.data.update(data_line(line))
    else:
        return False
    return True


def data_line(line):
    """The name and value of a `;data` line."""
    _, name, text = line.split(" ", 2)
    return {name: json.loads(text)}


def finish(case, body, mark, text):
    case.src = "\n".join(body).strip()
    if not case.src:
        raise ValueError(f"{case.name}: an expectation without a program")
    if mark == ";=>":
        case.expected = text
    else:
        case.error = text
