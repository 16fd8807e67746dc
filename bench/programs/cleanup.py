def clean(line):
    name, mail = line.split(";")
    return [" ".join([word.capitalize() for word in name.split()]), mail.strip().lower()]

def run():
    rows = [clean(line) for line in contacts]
    hosts = {mail.split("@")[1] for _, mail in rows}
    return {"first": rows[:3], "hosts": len(hosts), "length": sum([len(" ".join(row)) for row in rows])}

run()
