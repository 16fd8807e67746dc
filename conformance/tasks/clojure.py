#!/usr/bin/env python3
"""Asks real Clojure the questions about data, by their programs, and compares its answers with answers.json and more.json.

    clojure.py             every program of data.clj and more.clj
    clojure.py d01 m02     these
    clojure.py --fill      write more.json: the answers of more.clj are Clojure's

Programs marked `ptc-only` use what Clojure does not have and are left out.
"""

import json
import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import edn  # noqa: E402
import oracle  # noqa: E402

# How long a program may take.
MILLIS = 30_000
# Objects whose keys are data: programs look them up by text, which finds keywords only in PTC-Lisp (D20).
KEYED_BY_DATA = {("catalog",), ("stock", "before"), ("stock", "after"), ("config", "services"), ("config", "features")}


def main():
    if "--fill" in sys.argv:
        sys.exit(fill())
    answers = load("answers.json") | load("more.json")
    every = [*tasks(HERE / "data.clj"), *tasks(HERE / "more.clj")]
    asked = [task for task in every if not task.ptc_only and task.id in (sys.argv[1:] or answers)]
    wrong = 0
    for task, answer in zip(asked, oracle.ask(asked, MILLIS)):
        got = value(answer)
        if not same(answers[task.id], got):
            wrong += 1
            print(f"{task.id} {task.question}\n  expected {answers[task.id]}\n  Clojure  {got}")
    print(f"{len(asked)} asked, {wrong} disagreements")
    sys.exit(1 if wrong else 0)


def fill():
    """Writes Clojure's answers to more.clj; returns how many programs it fails."""
    asked = list(tasks(HERE / "more.clj"))
    answered = list(zip(asked, oracle.ask(asked, MILLIS)))
    lines = [f"{json.dumps(task.id)}: {json.dumps(value(answer), ensure_ascii=False)}" for task, answer in answered]
    (HERE / "more.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    failed = [(task.id, *answer[2:]) for task, answer in answered if answer[1] != "ok"]
    print(f"{len(asked)} answered, failed: {failed}")
    return len(failed)


def load(name):
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def value(answer):
    """The JSON of what Clojure answered, or what it raised."""
    return as_json(edn.parse(answer[2])) if answer[1] == "ok" else " ".join(answer[1:])


def tasks(path):
    """The tasks of a file: id, question, src and the data that it reads."""
    for block in re.split(r"(?m)^;; == ", path.read_text(encoding="utf-8"))[1:]:
        head, body = block.split("\n", 1)
        name, question = head.split(" ", 1)
        inputs = set(re.findall(r"data/(\w+)", body))
        data = {i: oracle.Edn(as_edn(load(f"data/{i}.json"), (i,))) for i in sorted(inputs)}
        yield SimpleNamespace(id=name, question=question, src=body, data=data, ptc_only="\n;; ptc-only" in "\n" + body)


def as_edn(value, path):
    """JSON as Clojure text; `path` tells where keys are data."""
    if isinstance(value, list):
        return "[" + " ".join(as_edn(item, path) for item in value) + "]"
    if isinstance(value, dict):
        key = oracle.text if path in KEYED_BY_DATA else oracle.key
        return "{" + " ".join(f"{key(k)} {as_edn(v, path + (k,))}" for k, v in value.items()) + "}"
    return oracle.json_as_edn(value)


def as_json(tree):
    """A printed value as the JSON that leaves a program: keywords and keys are text, sets are lists."""
    kind, *rest = tree
    if kind in ("seq", "set"):
        return [as_json(item) for item in rest[0]]
    if kind == "map":
        return {key(k): as_json(v) for k, v in rest[0]}
    return {"nil": None, "true": True, "false": False}.get(kind, rest[0] if rest else None)


def key(tree):
    return str(tree[1])


def same(expected, got):
    """Equal values; floats up to what adding in another order may change."""
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(same(expected[k], got[k]) for k in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(same, expected, got))
    numbers = all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in (expected, got))
    return math.isclose(expected, got, rel_tol=1e-12) if numbers else expected == got and type(expected) is type(got)


if __name__ == "__main__":
    main()
