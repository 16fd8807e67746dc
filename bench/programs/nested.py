def run():
    doc = {}
    for change in changes:
        inner = doc.setdefault(change["a"], {}).setdefault(change["b"], {})
        inner[change["c"]] = inner.get(change["c"], 0) + change["by"]
    leaves = [n for bs in doc.values() for cs in bs.values() for n in cs.values()]
    return [len(leaves), doc.get("a0", {}).get("b0", {}).get("c0", 0), sum(leaves)]

run()
