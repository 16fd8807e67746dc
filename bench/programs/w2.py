sum(x + 1 for x in range(n) if x % 2 == 0)
