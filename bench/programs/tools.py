def run():
    items = [lookup(i) for i in range(n)]
    picked = [item for item in items if "t0" in item["tags"]]
    return {"names": ", ".join([item["name"].upper() for item in picked]), "total": sum([item["price"] for item in picked])}

run()
