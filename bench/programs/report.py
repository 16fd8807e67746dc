def run():
    groups = {}
    for order in orders:
        if order["status"] == "paid":
            group = groups.setdefault(order["region"], {"region": order["region"], "count": 0, "total": 0})
            group["count"] += 1
            group["total"] += order["amount"]
    return sorted(groups.values(), key=lambda group: -group["total"])[:3]

run()
