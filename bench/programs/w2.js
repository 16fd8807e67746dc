Array.from({length: n}, (_, x) => x).filter(x => x % 2 === 0).map(x => x + 1).reduce((a, b) => a + b, 0)
