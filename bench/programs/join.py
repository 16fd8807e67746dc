def run():
    by_id = {customer["id"]: customer for customer in customers}
    tiers = {}
    for purchase in purchases:
        tier = by_id[purchase["customer_id"]]["tier"]
        row = tiers.setdefault(tier, [tier, 0, 0])
        row[1] += purchase["amount"]
        row[2] += 1
    return sorted(tiers.values(), key=lambda row: row[0])

run()
