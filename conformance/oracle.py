#!/usr/bin/env python3
"""Asks real Clojure (`apt-get install clojure`) for the answers of case files.

    oracle.py cases/*.clj            fill in the answers of cases that end with `;=> ?`
    oracle.py --check cases/*.clj    report every case where Clojure answers otherwise

One JVM serves a whole file; every case gets a fresh namespace and a time limit. Cases marked `ptc-only`
are not asked. Cases marked as divergences are asked only to make sure that they still diverge.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cases
import edn

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--all", action="store_true", help="answer every case again, not only the open ones")
    parser.add_argument("--millis", type=int, default=5000, help="time limit of one case")
    args = parser.parse_args()
    disagreements = sum(check(f, args) if args.check else fill(f, args) for f in args.files)
    sys.exit(1 if disagreements else 0)


def check(path, args):
    """Prints the disagreements of one file and returns their number."""
    asked = [c for c in cases.load(path) if not c.ptc_only]
    answers = ask(asked, args.millis)
    found = 0
    for case, answer in zip(asked, answers):
        agrees = same_outcome(case, answer)
        if agrees != (case.divergence is None):
            found += 1
            told = "agrees, but is marked as a divergence" if agrees else f"says {' '.join(answer[1:])}"
            print(f"{path}:{case.mark_line}: {case.src}\n  Clojure {told}\n  the case says {expectation(case)}")
    print(f"{path}: {len(asked)} asked, {found} disagreements")
    return found


def same_outcome(case, answer):
    if case.error is not None:
        return answer[1] == "error"
    return answer[1] == "ok" and edn.equal(edn.parse(case.expected), edn.parse(answer[2]))


def expectation(case):
    return f"{case.expected}" if case.error is None else f"error {case.error}"


def fill(path, args):
    """Writes Clojure's answers into the open cases of one file; returns how many could not be answered."""
    every = cases.load(path)
    pending = [c for c in every if (c.expected == "?" or args.all) and not c.ptc_only and not c.divergence]
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    troubled = 0
    for case, answer in reversed(list(zip(pending, ask(pending, args.millis)))):
        at = case.mark_line - 1
        code = cases.EXPECTATION.match(lines[at])["code"]
        lead = f"{code}  " if code.strip() else ""
        end = case.mark_line
        while end < len(lines) and lines[end].startswith(cases.CONTINUED):
            end += 1
        if answer[1] == "ok":
            lines[at:end] = [f"{lead};=> {answer[2]}".replace("\n", "\n" + cases.CONTINUED)]
        else:
            troubled += case.expected == "?"
            lines[at:end] = [f"{lead};=!"]
            print(f"{path}:{case.mark_line}: {case.src}\n  fails with {answer[2]}: {answer[3]}")
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{path}: {len(pending)} answered, {troubled} of them by an exception")
    return 0


def ask(asked, millis):
    """Clojure's answers to the cases: (id, "ok", text) or (id, "error", class, message)."""
    if not asked:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases.edn")
        Path(path).write_text("[" + "\n".join(map(as_edn, enumerate(asked))) + "]", encoding="utf-8")
        command = ["clojure", str(HERE / "oracle.clj"), path, str(millis)]
        run = subprocess.run(command, capture_output=True, text=True, check=False,
                             env={**os.environ, "JAVA_TOOL_OPTIONS": "-Dfile.encoding=UTF-8 -XX:+UseSerialGC"})
    answers = [read_answer(line) for line in run.stdout.splitlines() if line.startswith("[")]
    if len(answers) != len(asked):
        sys.exit(f"Clojure answered {len(answers)} of {len(asked)} cases.\n{run.stderr[-2000:]}")
    return answers


def read_answer(line):
    items = edn.parse(line)[1]
    return tuple(item[1] for item in items)


def as_edn(numbered):
    number, case = numbered
    data = " ".join(f"{text(k)} {json_as_edn(v)}" for k, v in case.data.items())
    return f"{{:id {number} :src {text(case.src)} :data {{{data}}}}}"


class Edn(str):
    """Data that is Clojure text already."""


def json_as_edn(value):
    """JSON as Clojure text; object keys become keywords, as programs expect of data/…"""
    if isinstance(value, Edn):
        return str(value)
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return "[" + " ".join(map(json_as_edn, value)) + "]"
    if isinstance(value, dict):
        return "{" + " ".join(f"{key(k)} {json_as_edn(v)}" for k, v in value.items()) + "}"
    return repr(value)


def key(name):
    plain = name and not any(c in name for c in " \t\n,()[]{}\"';@^`~\\:") and not name[0].isdigit()
    return ":" + name if plain else text(name)


def text(value):
    return json.dumps(value, ensure_ascii=False).replace("\\/", "/")


if __name__ == "__main__":
    main()
