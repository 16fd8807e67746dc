"""Monty from PyPI (`pydantic-monty`): its worker process, asked from CPython; the pipe is in its times."""

import json
import sys
import time

import pydantic_monty


def lookup(id):
    return {"id": id, "name": f"Item {id}", "price": id * 1.25 + 0.5, "tags": [f"t{id % 3}", "sale"]}


def succ(n):
    return n + 1


TOOLS = {"succ": succ, "lookup": lookup}
LIMITS = {"max_suspensions": 1_000_000_000}
PAUSED = """
rows = [{"id": 1, "qty": 2}, {"id": 2, "qty": 5}]
price = lookup(7)
sum([price * row["qty"] for row in rows])
"""


def measure(job, pool, session):
    for _ in range(job["repeats"]):
        if job["mode"] == "fresh":
            with pool.checkout(limits=LIMITS) as fresh:
                answer = fresh.feed_run(job["source"])
            continue
        inputs = {job["name"]: json.loads(job["text"])} if job["text"] is not None else None
        source = job["source"] if job["mode"] == "run" else "None"
        answer = session.feed_run(source, inputs=inputs, external_lookup=TOOLS)
    return answer


def median(times):
    return sorted(times)[len(times) // 2]


def timed(work):
    started = time.perf_counter_ns()
    result = work()
    return time.perf_counter_ns() - started, result


def resume(snapshot):
    while not isinstance(snapshot, pydantic_monty.MontyComplete):
        snapshot = snapshot.resume({"return_value": 10})
    return snapshot


def to_call(snapshot):
    while not isinstance(snapshot, pydantic_monty.FunctionSnapshot):
        snapshot = snapshot.resume_auto()
    return snapshot


def suspend(pool, repeats):
    with pool.checkout(limits=LIMITS) as session:
        snapshot = to_call(session.feed_start(PAUSED, external_lookup=TOOLS))
        dumps = [timed(snapshot.dump) for _ in range(repeats)]
        state = dumps[0][1]
    loads = []
    for _ in range(repeats):
        with pool.checkout(limits=LIMITS) as session:
            loads.append(timed(lambda: resume(session.load_snapshot(state, external_lookup=TOOLS)))[0])
    return {"dump_ns": median([ns for ns, _ in dumps]), "resume_ns": median(loads), "bytes": len(state)}


def plain(value):
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def main():
    with pydantic_monty.Monty() as pool:
        session = None
        for line in sys.stdin:
            job = json.loads(line)
            try:
                if job["op"] == "open":
                    if session is not None:
                        session.__exit__(None, None, None)
                    session = pool.checkout(limits=LIMITS).__enter__()
                    session.feed_run("None", inputs=job["inputs"])
                    answer = {}
                elif job["op"] == "suspend":
                    answer = suspend(pool, min(job["repeats"], 200))
                else:
                    ns, value = timed(lambda: measure(job, pool, session))
                    answer = {"ns": ns, "answer": plain(value)}
            except Exception as error:
                answer = {"error": repr(error)}
            print(json.dumps(answer), flush=True)


main()
