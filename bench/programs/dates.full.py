from datetime import date, timedelta

def run():
    parsed = [date.fromisoformat(text) for text in dates]
    due = [day + timedelta(days=45) for day in parsed]
    return {
        "mondays": len([day for day in parsed if day.weekday() == 0]),
        "distance": sum([abs((a - b).days) for a, b in zip(parsed, parsed[1:])]),
        "latest": max(due).isoformat(),
    }

run()
