def run():
    rows = sorted(orders, key=lambda order: (order["region"], order["amount"], order["id"]))
    n = len(rows)
    picked = [rows[i] for i in [0, n // 8, n // 2, 3 * n // 4, n - 1]]
    return [[order["region"], order["amount"], order["id"]] for order in picked]

run()
