def run():
    groups = {}
    for order in orders:
        if order["amount"] > 100:
            group = groups.setdefault(order["region"], [0, 0])
            group[0] += order["amount"]
            group[1] += 1
    rows = [[region, total, count] for region, (total, count) in groups.items()]
    return sorted(rows, key=lambda row: -row[1])

run()
