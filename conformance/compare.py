#!/usr/bin/env python3
"""Runs programs through `ptc eval --batch` and decides which answers are accepted.

    compare.py --ptc target/debug/ptc FILE... [--failures] [--min 99] [--only PREFIX]

FILE is a case file (`.clj`, see cases.py) or JSON lines of two shapes: programs with `expected` and `data`,
or a corpus where each line records what Clojure and the reference answered. Values are compared as neutral
trees (edn.py), never as text. Exit code 1 when fewer than --min percent are accepted.
"""

import argparse
import collections
import json
import os
import select
import subprocess
import sys
import tempfile

import cases
import edn

SIGNALS = {":__ptc_return__": "return", ":__ptc_fail__": "fail"}


def main():
    args = arguments()
    worst = 100.0
    for path in args.files:
        rows = [r for r in load(path) if r["id"].startswith(args.only or "")]
        answers = run_batch(args.ptc, rows, args.patience)
        failures = [(r, answers[r["id"]]) for r in rows if not accepted(r, answers[r["id"]])]
        worst = min(worst, report(path, rows, failures, args))
    sys.exit(0 if worst >= args.min else 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--ptc", default="target/debug/ptc", help="the binary to judge")
    parser.add_argument("--failures", action="store_true", help="show every rejected program")
    parser.add_argument("--min", type=float, default=0.0, help="percentage that must be accepted")
    parser.add_argument("--only", help="only ids with this prefix")
    parser.add_argument("--patience", type=float, default=20, help="seconds to wait for one answer")
    return parser.parse_args()


def load(path):
    """The programs of one file as rows with id, src, data and one of expected, error, answers."""
    if str(path).endswith(".clj"):
        return [case_row(c) for c in cases.load(path)]
    with open(path, encoding="utf-8") as lines:
        return [corpus_row(json.loads(line)) for line in lines if line.strip()]


def case_row(case):
    row = {"id": case.name, "src": case.src, "data": case.data}
    if case.error is None:
        row["accept"] = [("value", edn.parse(case.expected))]
    else:
        row["accept"] = [("error", case.error)]
    return row


def corpus_row(line):
    row = {"id": line["id"], "src": line["src"], "data": line.get("data") or {}}
    if "expected" in line:
        row["accept"] = [("value", edn.parse(line["expected"]))]
    elif line["id"].startswith("err."):
        row["accept"] = [("error", "")]
    else:
        recorded = [line[k] for k in ("clojure", "reference", "reference_head") if k in line]
        row["accept"] = [recorded_outcome(answer) for answer in recorded]
    return row


def recorded_outcome(answer):
    """What one of the oracles answered: a value, an error, or a signal that ends the program."""
    if "ok" not in answer:
        return ("error", "")
    tree = edn.parse(answer["ok"])
    if tree[0] == "seq" and len(tree[1]) == 2 and tree[1][0][0] == "kw":
        signal = SIGNALS.get(":" + tree[1][0][1])
        if signal:
            return (signal, tree[1][1])
    return ("value", tree)


def accepted(row, answer):
    """Whether the answer equals one of the accepted outcomes of the row."""
    return any(fits(kind, wanted, answer) for kind, wanted in row["accept"])


def fits(kind, wanted, answer):
    if answer.get("signal") == "fail" and kind in ("error", "fail"):
        return kind == "fail" or wanted in answer["value"]
    if kind == "error":
        return not answer["ok"] and answer["error"].get("kind") != "crash" and names(wanted, answer["error"])
    if kind == "fail":
        return not answer["ok"] or answer.get("signal") == "fail"
    return answer["ok"] and edn.equal(wanted, edn.parse(answer["value"]))


def names(fragment, error):
    """Whether the expected error text is the kind, or part of the message or hint."""
    if not fragment or fragment == error.get("kind"):
        return True
    return fragment in (error.get("message") or "") or fragment in (error.get("hint") or "")


def run_batch(binary, rows, patience):
    """The answers by id. A batch that dies or stalls is continued behind the program that stopped it."""
    answers, waiting = {}, list(rows)
    while waiting:
        trouble = feed(binary, waiting, patience, answers)
        waiting = [r for r in waiting if r["id"] not in answers]
        if waiting:
            killer = waiting.pop(0)
            answers[killer["id"]] = {"ok": False, "error": {"kind": "crash", "message": trouble}}
    return answers


def feed(binary, rows, patience, answers):
    """Runs one batch, collects its answers and says how it ended."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as lines, tempfile.TemporaryFile("w+") as errors:
        for row in rows:
            lines.write(json.dumps({k: row[k] for k in ("id", "src", "data")}) + "\n")
        lines.seek(0)
        batch = subprocess.Popen([binary, "eval", "--batch"], stdin=lines, stdout=subprocess.PIPE, stderr=errors)
        stalled = False
        buffer = b""
        while True:
            ready, _, _ = select.select([batch.stdout], [], [], patience)
            if not ready:
                stalled = True
                batch.kill()
                break
            piece = os.read(batch.stdout.fileno(), 1 << 16)
            if not piece:
                break
            *done, buffer = (buffer + piece).split(b"\n")
            answers.update((a["id"], a) for a in map(as_answer, done) if a)
        code = batch.wait()
        errors.seek(0)
        return f"no answer within {patience} s" if stalled else f"exit code {code}: {errors.read()[-300:]}"


def as_answer(line):
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and "id" in answer else None


def report(path, rows, failures, args):
    """Prints the table of one file and returns the accepted percentage."""
    failed = {id(r) for r, _ in failures}
    table = collections.OrderedDict()
    for row in rows:
        group = table.setdefault(group_of(row["id"]), [0, 0])
        group[0] += id(row) not in failed
        group[1] += 1
    if len(table) > 1:
        for name, (good, total) in table.items():
            print(f"  {name:<20} {good:>5} / {total:<5} {100 * good / total:6.1f} %")
    good, total = len(rows) - len(failures), max(1, len(rows))
    print(f"{path}: {good} of {len(rows)} accepted, {100 * good / total:.2f} %")
    if args.failures:
        for row, answer in failures:
            show(row, answer)
    return 100 * good / total


def group_of(name):
    if ":" in name:
        return name.split(":")[0]
    parts = name.split(".")
    return ".".join(parts[:2]).split("-")[0] if len(parts) > 1 else "-".join(name.split("-")[:2])


def show(row, answer):
    print(f"\n--- {row['id']}\n{row['src']}")
    for kind, wanted in row["accept"]:
        print(f"  want {kind}: {wanted if kind == 'error' else brief(wanted)}")
    if answer["ok"]:
        print(f"  got: {answer['value'][:600]}")
    else:
        error = answer["error"]
        print(f"  got error: {error.get('kind')}: {(error.get('message') or '')[:400]}")


def brief(tree):
    """A tree as short text for people."""
    kind = tree[0]
    if kind == "seq":
        text = "[" + " ".join(map(brief, tree[1])) + "]"
    elif kind == "set":
        text = "#{" + " ".join(map(brief, tree[1])) + "}"
    elif kind == "map":
        text = "{" + ", ".join(f"{brief(k)} {brief(v)}" for k, v in tree[1]) + "}"
    elif kind == "str":
        text = json.dumps(tree[1], ensure_ascii=False)
    elif kind == "kw":
        text = ":" + tree[1]
    else:
        text = str(tree[1]) if len(tree) > 1 else tree[0]
    return text if len(text) < 600 else text[:600] + "…"


if __name__ == "__main__":
    main()
