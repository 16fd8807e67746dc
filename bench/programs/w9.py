def run():
    total = 0
    for i in range(n):
        total += succ(i)
    return total

run()
