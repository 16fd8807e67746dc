#!/usr/bin/env python3
"""Writes the data of the tasks, data/*.json, and the answers of their tools, tools.json, from a fixed seed.

    generate.py            write the files
    generate.py --check    fail if a file is not what would be written

The data is of the kind that people hand to models: amounts with cents, columns of mixed types, missing and null
fields, text in lines and CSV, dates in several formats and zones, ids with hyphens, names of many languages.
"""

import json
import random
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = [
    "Zoë Müller", "José García", "Łukasz Nowak", "Søren Ørsted", "Anaïs Dupont", "李小龙", "田中 花子", "Ólafur Jónsson",
    "Renée O'Connor", "Nguyễn Văn An", "Иван Петров", "Αθηνά Παππά", "Mary Smith", "John Smith", "Ayşe Yılmaz",
    "Björn Ångström", "Chloë Smith-Jones", "Đorđe Balašević", "Fatima Al-Sayed", "Priya Natarajan",
]
CITIES = [("Zürich", "CH", "08001"), ("São Paulo", "BR", "01310-100"), ("Kraków", "PL", "30-001"),
          ("New York", "US", "10001"), ("Boston", "US", "02108"), ("München", "DE", "80331"), ("東京", "JP", "100-0001")]
SKUS = {"SKU-001": ("Espresso Beans", "12.95"), "SKU-002": ("Tea Pot, blue", "34.50"), "SKU-003": ("Filter #4", "0.15"),
        "SKU-010": ("Grinder \"Pro\"", "189.00"), "SKU-011": ("Mug", "7.99"), "SKU-020": ("Crème brûlée set", "45.10")}
UTC = timezone.utc


def customers(rng):
    rows = []
    for i, name in enumerate(NAMES):
        local = "".join(c for c in name.lower().replace(" ", ".") if c.isascii() and (c.isalnum() or c == ".")).strip(".")
        email = f"{local or 'user'}{i}@{rng.choice(['example.com', 'Example.COM', 'mail-box.org', 'corp.co.uk'])}"
        row = {"customer_id": f"cust-{i:03d}", "name": name, "email": email if i % 7 != 3 else None,
               "joined": str(date(2022, 1, 15) + timedelta(days=rng.randrange(800))),
               "tier": rng.choice(["gold", "silver", "bronze"]),
               "tags": rng.sample(["vip", "eu", "wholesale", "newsletter", "beta"], rng.randrange(0, 4)),
               "address": dict(zip(["city", "country", "zip"], rng.choice(CITIES)))}
        if i % 4 == 1:
            row["referrer"] = f"cust-{rng.randrange(i):03d}"
        if i % 9 == 8:
            del row["address"]
        rows.append(row)
    return rows


def orders(rng):
    rows, start = [], datetime(2024, 1, 3, 8, 0, tzinfo=UTC)
    for i in range(60):
        placed = start + timedelta(minutes=rng.randrange(180 * 24 * 60))
        items = [{"sku": sku, "qty": rng.randrange(1, 6), "unit_price": float(SKUS[sku][1])}
                 for sku in rng.sample(sorted(SKUS), rng.randrange(1, 4))]
        row = {"order-id": f"ORD-2024-{i + 1:04d}", "customer_id": f"cust-{rng.randrange(22):03d}",
               "placed_at": placed.strftime("%Y-%m-%dT%H:%M:%SZ"), "items": items,
               "status": rng.choice(["paid", "shipped", "shipped", "cancelled", "refunded", "pending"]),
               "channel": rng.choice(["web", "web", "store", "phone"])}
        coupon = rng.choice([None, "missing", "SPRING-10", "VIP-25", "missing"])
        if coupon != "missing":
            row["coupon"] = coupon
        if row["status"] == "shipped":
            row["shipped_at"] = (placed + timedelta(hours=rng.randrange(2, 200))).strftime("%Y-%m-%dT%H:%M:%SZ")
        rows.append(row)
    return rows


def invoices(rng):
    rows = []
    for i in range(40):
        issued = date(2024, 1, 5) + timedelta(days=rng.randrange(200))
        cents = rng.randrange(500, 2_000_000)
        parts = rng.choice([0, 1, 2, 3])
        paid, left = [], cents
        for part in range(parts):
            piece = left if part == parts - 1 and rng.random() < 0.6 else rng.randrange(1, max(2, left))
            left -= piece
            paid.append({"on": str(issued + timedelta(days=rng.randrange(1, 70))), "amount": money(piece)})
            if left <= 0:
                break
        rows.append({"number": f"INV-{i + 1:04d}", "customer_id": f"cust-{rng.randrange(20):03d}", "amount": money(cents),
                     "currency": rng.choice(["EUR", "EUR", "USD", "CHF"]), "tax_rate": rng.choice(["0.19", "0.07", "0.077"]),
                     "issued": str(issued), "due": str(issued + timedelta(days=rng.choice([14, 30, 60]))), "payments": paid})
    return rows


def money(cents):
    return f"{cents // 100}.{cents % 100:02d}"


def metrics(rng):
    rows = []
    for i in range(90):
        row = {"host": rng.choice(["web-1", "web-2", "db-1", "cache-1"]), "ts": 1714550400 + i * 420,
               "cpu": rng.choice([round(rng.random() * 100, 2), round(rng.random() * 100, 1), None]),
               "mem_mb": rng.choice([512, 768, "1024", "2048", "n/a", 1536.5]), "latency_ms": rng.randrange(3, 900),
               "status": rng.choice([200, 200, "200", 404, "500"])}
        if i % 11 == 0:
            del row["mem_mb"]
        rows.append(row)
    return rows


def logs(rng):
    lines, at = [], datetime(2024, 5, 1, 10, 0, tzinfo=UTC)
    for i in range(90):
        at += timedelta(milliseconds=rng.randrange(50, 90_000))
        stamp = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
        kind = rng.randrange(10)
        user = f"{rng.choice(['alice', 'bob', 'chloë', 'dmitri'])}@example.com"
        if kind < 6:
            path = rng.choice(["/users/42", "/users/7", "/orders", "/orders/ORD-2024-0007", "/health"])
            lines.append(f"{stamp} INFO  [api] {rng.choice(['GET', 'POST'])} {path} {rng.choice([200, 200, 201, 404, 500])} "
                         f"{rng.randrange(1, 1500)}ms user={user}")
        elif kind < 8:
            lines.append(f"{stamp} WARN  [db] slow query took={rng.randrange(1, 9)}.{rng.randrange(10)}s rows={rng.randrange(5000)} "
                         f"table={rng.choice(['orders', 'users', 'audit_log'])}")
        elif kind == 8:
            error = rng.choice(["TimeoutException", "NullPointerException", "IOException"])
            lines.append(f"{stamp} ERROR [worker-{rng.randrange(1, 4)}] job {rng.randrange(100, 999)} failed: "
                         f"{error}: {rng.choice(['no answer', 'connection reset'])}")
            lines += ["    at com.example.Job.run(Job.java:" + str(rng.randrange(10, 99)) + ")"] * rng.randrange(1, 3)
        else:
            lines.append(rng.choice(["", "-- rotated --", "garbage without a stamp"]))
    return lines


def access(rng):
    at, lines = datetime(2024, 10, 10, 13, 55, 36), []
    for _ in range(45):
        at += timedelta(seconds=rng.randrange(1, 2400))
        path = rng.choice(["/", "/index.html", "/search?q=caf%C3%A9&page=2", "/search?q=tea+pot", "/img/logo.png", "/api/v1/items/17"])
        size = rng.choice(["-", str(rng.randrange(100, 90_000))])
        lines.append(f'10.0.{rng.randrange(3)}.{rng.randrange(1, 5)} - - [{at.strftime("%d/%b/%Y:%H:%M:%S")} +0200] '
                     f'"{rng.choice(["GET", "GET", "POST", "HEAD"])} {path} HTTP/1.1" {rng.choice([200, 200, 304, 404, 503])} {size}')
    return "\n".join(lines) + "\n"


def sales_csv(rng):
    quote = lambda text: '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text
    rows = ["Date,Region,Product,Units,Revenue,Comment"]
    for _ in range(36):
        day = date(2024, 1, 1) + timedelta(days=rng.randrange(180))
        sku = rng.choice(sorted(SKUS))
        units = rng.randrange(1, 40)
        revenue = units * round(float(SKUS[sku][1]) * 100)
        comment = rng.choice(["", "ok", "late, but paid", 'said "thanks"', "two\nlines", "naïve café"])
        shown = f"{revenue // 100:,}.{revenue % 100:02d}"
        rows.append(",".join(map(quote, [str(day), rng.choice(["North", "South", "East-Asia", ""]), SKUS[sku][0], str(units), shown, comment])))
    return "\r\n".join(rows) + "\r\n"


def plain_csv(rng):
    rows = ["id,name,dept,salary,start"]
    for i in range(25):
        rows.append(f"{i + 1},{rng.choice(NAMES)},{rng.choice(['ops', 'dev', 'sales', ' dev '])},"
                    f"{rng.choice([rng.randrange(30, 120) * 1000, '', 'n/a'])},{rng.randrange(1, 29):02d}.{rng.randrange(1, 13):02d}.{rng.randrange(2015, 2024)}")
    return "\n".join(rows)


def config(rng):
    names = ["api-gateway", "user-service", "billing", "search-index", "mailer", "audit-log", "db", "cache"]
    depends = {"api-gateway": ["user-service", "billing", "search-index"], "user-service": ["db", "cache"],
               "billing": ["db", "mailer"], "search-index": ["db"], "mailer": [], "audit-log": ["db"], "db": [], "cache": []}
    services = {}
    for name in names:
        services[name] = {"image": f"registry.example.com/{name}:{rng.randrange(1, 4)}.{rng.randrange(20)}.{rng.randrange(5)}",
                          "replicas": rng.randrange(1, 6), "depends_on": depends[name],
                          "limits": {"cpu": f"{rng.choice([250, 500, 1000, 2000])}m", "memory": rng.choice(["512Mi", "1Gi", "256Mi"])},
                          "env": {"LOG_LEVEL": rng.choice(["debug", "info", "warn"]), "DB-URL": None if rng.random() < 0.4 else "postgres://db"}}
    services["mailer"].pop("limits")
    return {"version": "3.1", "services": services,
            "features": {"dark-mode": {"enabled": True, "rollout": 0.25}, "new_checkout": {"enabled": False, "rollout": 0},
                         "beta search": {"enabled": True, "rollout": 1.0}}}


def events(rng):
    zones = ["-08:00", "+00:00", "Z", "+02:00", "+05:30", "+09:00"]
    rows, start = [], datetime(2024, 3, 8, 0, 0)
    for i in range(45):
        at = start + timedelta(minutes=rng.randrange(40 * 24 * 60))
        style = rng.randrange(5)
        when = [at.strftime("%Y-%m-%dT%H:%M:%S") + rng.choice(zones), at.strftime("%d/%m/%Y %H:%M"),
                at.strftime("%b %-d, %Y"), int(at.replace(tzinfo=UTC).timestamp() * 1000), str(at.date())][style]
        rows.append({"event-id": f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}", "type": rng.choice(["login", "logout", "purchase", "error"]),
                     "when": when, "style": ["offset", "slash", "text", "millis", "day"][style], "user": rng.choice(NAMES),
                     "duration": rng.choice([None, f"PT{rng.randrange(1, 59)}M", f"PT{rng.randrange(1, 4)}H{rng.randrange(59)}M"])})
    return rows


def employees(rng):
    rows = []
    for i in range(28):
        rows.append({"id": i + 1, "name": NAMES[i % 20] + ("" if i < 20 else " jr."), "manager_id": None if i == 0 else rng.randrange(1, i + 1),
                     "dept": rng.choice(["R&D", "Sales", "Ops"]), "salary": rng.randrange(38, 140) * 500 + (0 if i % 3 else 250),
                     "hired": str(date(2012, 2, 29) + timedelta(days=rng.randrange(4400))),
                     "skills": sorted(rng.sample(["sql", "clojure", "rust", "excel", "go"], rng.randrange(1, 4)))})
    return rows


def transactions(rng):
    rows, day = [], date(2024, 1, 29)
    for i in range(60):
        day += timedelta(days=rng.randrange(0, 3))
        rows.append({"id": f"tx-{i:03d}", "account": rng.choice(["checking", "savings"]), "on": str(day),
                     "amount": rng.choice([-1, -1, 1]) * rng.randrange(5, 90_000) / 100,
                     "memo": rng.choice(["ACME Corp #1442", "grocery  store", "Salary May", "acme corp #77", "Café Zoë", "", None])})
    return rows


def payloads(rng):
    good = [json.dumps({"id": i, "user": {"name": rng.choice(NAMES), "age": rng.choice([None, rng.randrange(18, 80)])},
                        "amount": rng.randrange(100, 99999) / 100, "tags": rng.sample(["a", "b", "c-d"], 2)}, ensure_ascii=False)
            for i in range(12)]
    broken = ['{"id": 12, "user": ', "{'id': 13}", "", '{"id": 14, "amount": "12,50"}', "not json"]
    rows = good + broken
    rng.shuffle(rows)
    return rows


ARTICLE = """The café on the corner opens at 7:30. The owner, Zoë, says: "Don't rush; the coffee won't."
On 2024-03-05 she sold 112 cups, on 2024-03-06 only 98. Her e-mail is zoe@cafe-corner.example, her phone +41 44 555 01 02.

Prices: espresso 3.50 CHF, latte 4.80 CHF, naïve brew 5.25 CHF (new!). The café closes at 18:00, the shop next door at 19:15.
Visit https://cafe-corner.example/menu?lang=en#top or http://shop.example for more. The end, the very end."""


def stock(rng):
    before = {f"SKU-{i:03d}": {"qty": rng.randrange(0, 40), "bin": rng.choice(["A-1", "A-2", "B-1"])} for i in rng.sample(range(30), 18)}
    after = {}
    for sku, item in before.items():
        if rng.random() < 0.85:
            after[sku] = dict(item, qty=item["qty"] if rng.random() < 0.5 else rng.randrange(0, 40))
    for i in rng.sample(range(30, 40), 3):
        after[f"SKU-{i:03d}"] = {"qty": rng.randrange(1, 9), "bin": "C-9"}
    return {"before": before, "after": after}


def thread(rng, depth=0, counter=None):
    counter = counter or [0]
    counter[0] += 1
    return {"id": f"c-{counter[0]}", "author": rng.choice(NAMES[:8]), "votes": rng.randrange(-5, 40),
            "text": rng.choice(["I agree.", "No way!", "See https://example.com/a-b", "何？", "👍👍"]),
            "replies": [thread(rng, depth + 1, counter) for _ in range(rng.randrange(0, 4) if depth < 3 else 0)] if depth else
            [thread(rng, 1, counter) for _ in range(4)]}


def readings(rng):
    value, rows = 200, []
    for _ in range(80):
        value += rng.randrange(-15, 16)
        rows.append(value)
    return rows


MAKERS = {"customers": customers, "orders": orders, "invoices": invoices, "metrics": metrics, "logs": logs, "access": access,
          "sales_csv": sales_csv, "staff_csv": plain_csv, "config": config, "events": events, "employees": employees,
          "transactions": transactions, "payloads": payloads, "article": lambda rng: ARTICLE, "stock": stock, "thread": thread,
          "readings": readings, "catalog": lambda rng: {sku: {"title": t, "price": p} for sku, (t, p) in SKUS.items()}}


def tools(rng):
    """The answers of tools, in the format of `ptc eval --tools`."""
    people = customers(random.Random("tasks/customers"))
    missing = {"$fail": {"reason": "tool_error", "message": "no such thing"}}
    bill = lambda n: [{"order_id": f"ORD-{n}-{i}", "customer_id": f"cust-{rng.randrange(12):03d}",
                       "amount": money(rng.randrange(100, 90_000))} for i in range(8)]
    pages = {None: "p-2", "p-2": "p-3", "p-3": None}
    issues = [{"number": 100 + i, "state": rng.choice(["open", "open", "closed"]), "title": f"Issue {i}",
               "labels": rng.sample(["bug", "ui", "good first issue", "area/api"], rng.randrange(0, 3))} for i in range(25)]
    files = {"/": [("docs", None), ("README.md", 812), ("büro", None)], "/docs": [("a-b.txt", 100), ("old", None)],
             "/docs/old": [("x.bin", 70_001), ("y.bin", 70_000)], "/büro": [("plan.pdf", 1234)]}
    rows = [{"at": f"2024-07-{rng.randrange(1, 15):02d}T{hour % 24:02d}:00:00Z", "v": round(rng.uniform(12, 36), 1)} for hour in range(150)]
    csv = "\n".join(["day,sku,units"] + [f"2024-0{rng.randrange(1, 4)}-{rng.randrange(1, 29):02d},{rng.choice(sorted(SKUS))},{rng.randrange(1, 90)}"
                                        for _ in range(30)]) + "\n"
    hits = [[{"id": f"h-{p}-{i}", "score": round(rng.random(), 4)} for i in range(3)] for p in range(4)]
    cases = lambda *pairs, default=missing: {"cases": [list(pair) for pair in pairs], "default": default}
    return {
        "crm/get_customer": cases(*(({"id": c["customer_id"]}, c) for c in people)),
        "crm/get_note": cases(({"id": "cust-000"}, "pays late; \"call first\""), ({"id": "cust-001"}, None), ({"id": "cust-002"}, "új ügyfél")),
        "shop/list_orders": cases(*(({"cursor": c}, {"orders": bill(i), "next_cursor": n}) for i, (c, n) in enumerate(pages.items()))),
        "fx/rate": cases(*(({"from": c, "to": "EUR"}, {"rate": r}) for c, r in [("USD", 0.9234), ("GBP", 1.1701), ("JPY", 0.00613)])),
        "weather/forecast": cases(*(({"city": c}, {"city": c, "tomorrow": {"min_c": t - 7.5, "max_c": t}})
                                    for c, t in [("Zürich", 17.5), ("São Paulo", 28.1), ("New York", 22), ("東京", 25.4)])),
        "weather/measurements": cases(({"station": "st-7"}, {"station": "st-7", "rows": rows})),
        "files/read": cases(({"path": "reports/q1.csv"}, csv)),
        "files/list": cases(*(({"path": path}, {"entries": [{"name": n, "type": "dir" if s is None else "file", "size": s} for n, s in inside]})
                              for path, inside in files.items())),
        "tracker/list_issues": cases(*(({"repo": "acme/web-app", "page": p + 1}, issues[10 * p:10 * p + 10]) for p in range(4)), default=[]),
        "jobs/start": cases(({"job": "re-index", "attempt": 4}, {"status": "started"})),
        "jobs/status": cases(({"id": "j-2"}, {"status": "done"})),
        "mail/send": cases(*(({"to": c["email"], "subject": "Hello " + c["name"]}, {"message-id": f"<m-{i}@example.com>"})
                             for i, c in enumerate(people) if c["email"])),
        "queue/peek": cases(({"limit": 10}, [{"id": i, "body": b} for i, b in enumerate(['{"n": 4}', '{"n": 38, "x-y": [1]}', "{n: 1}", "", '{"m": 1}'])])),
        "calendar/events": cases(({"day": "2024-03-28"}, [
            {"title": "stand-up", "start": "2024-03-28T08:00:00Z", "end": "2024-03-28T08:45:00Z"},
            {"title": "call", "start": "2024-03-28T04:45:00-05:00", "end": "2024-03-28T05:30:00-05:00"},
            {"title": "review", "start": "2024-03-28T09:00:00+01:00", "end": "2024-03-28T09:20:00+01:00"}])),
        "get_user": cases(({"id": 1}, {"name": "Zoë"}), ({"id": 3}, {"name": "Иван"}), ({"id": 4}, {"name": "Mary"}), default={"$raise": "404 not found"}),
        "price": cases(({"sku": "SKU-X", "try": 3}, {"price": 12.95}), default={"$raise": "503 try again"}),
        "search": cases(*(({"q": "tea", "from": 3 * p}, {"hits": page, "next": 3 * p + 3 if p < 3 else None}) for p, page in enumerate(hits))),
        "stock": cases(({"sku": "SKU-001"}, {"qty": 4}), ({"sku": "SKU-002"}, {"qty": 0}), ({"sku": "SKU-003"}, {"qty": 7})),
        "translate": cases(({"word": "red", "to": "de"}, {"text": "rot"}), ({"word": "green", "to": "de"}, {"text": "grün"}),
                           ({"word": "blue", "to": "de"}, {"text": "blau"}), default={"text": None}),
    }


def main():
    stale = []
    made = {HERE / "data" / f"{name}.json": make(random.Random(f"tasks/{name}")) for name, make in MAKERS.items()}
    made[HERE / "tools.json"] = tools(random.Random("tasks/tools"))
    for path, value in made.items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        if "--check" in sys.argv:
            stale += [] if path.read_text(encoding="utf-8") == text else [path.name]
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"not what generate.py writes: {', '.join(stale)}")


if __name__ == "__main__":
    main()
