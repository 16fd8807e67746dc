def run():
    shipped = [order for order in orders if order["status"] == "shipped"]
    amounts = [order["amount"] for order in shipped]
    customers = {order["customer"]["id"] for order in shipped}
    return {"count": len(shipped), "total": sum(amounts), "largest": max(amounts), "customers": len(customers)}

run()
