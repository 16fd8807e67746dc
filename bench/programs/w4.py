def run():
    total = 0
    i = 0
    while i < n:
        total += i
        i += 1
    return total

run()
