from collections import Counter

counts = Counter(text.lower().split())
[list(row) for row in sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:10]]
