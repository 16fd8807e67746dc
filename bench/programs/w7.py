def run():
    counts = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))[:10]

run()
