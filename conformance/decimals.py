#!/usr/bin/env python3
"""Compares arithmetic on exact decimals with real Clojure, on expressions made from a seed.

    decimals.py --ptc target/debug/ptc [--count 20000] [--seed 1]

Answers are compared as printed text, because 1.0M and 1.00M are equal and yet not the same digits. An
expression that fails has to fail in both. Exit code 1 when an answer differs; each is printed.
"""

import argparse
import random
import re
import sys

import cases
import compare
import oracle

BATCH = 50
FLOAT = re.compile(r"-?\d+\.\d+(E-?\d+)?$")
BIG = re.compile(r"(-?\d+)N$")
OPERATORS = ["+", "-", "*", "/", "quot", "rem", "mod", "max", "min", "<", "<=", "==", "=", "compare"]
PREDICATES = ["zero?", "pos?", "neg?", "inc", "dec", "-", "abs", "long", "double", "bigint", "str", "bigdec", "+", "num",
              "decimal?", "number?", "rational?", "integer?", "float?", "class"]
PARTS = [".scale", ".precision", ".unscaledValue", ".stripTrailingZeros", ".toPlainString", ".toString", ".negate",
         ".abs", ".signum", ".toBigInteger", ".longValue", ".doubleValue", ".toEngineeringString", ".ulp", ".intValue",
         ".hashCode", ".longValueExact", ".toBigIntegerExact"]
METHODS = [".add", ".subtract", ".multiply", ".divide", ".remainder", ".max", ".min", ".compareTo", ".equals",
           ".divideToIntegralValue"]
ROUNDED = [".add", ".subtract", ".multiply", ".divide"]
MODES = ["UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UNNECESSARY"]
DIRECTIVES = ["%.2f", "%.0f", "%s", "%,.2f", "%e", "%.3e", "%10.3f", "%f", "%(.1f", "%+.2f", "%08.2f", "%.12f"]
PATTERNS = ["#,##0.00", "0.00", "#.##", "0", "0.0#", "#,##0.###", "00.0", "0.00%", "$#,##0.00;($#,##0.00)", "#,###",
            "0.00 EUR", ".00", "#", "#.00", "'#'0.0"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptc", default="target/debug/ptc", help="the binary to judge")
    parser.add_argument("--count", type=int, default=20000, help="how many expressions")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    asked = [expression(draw) for _ in range(args.count)]
    differing = 0
    for source, ours, theirs in zip(asked, of_ptc(asked, args.ptc), of_clojure(asked)):
        if not same(ours, theirs):
            differing += 1
            print(f"{source}\n  Clojure {theirs}\n  PTC     {ours}")
    print(f"{len(asked)} expressions, {differing} differ")
    sys.exit(1 if differing else 0)


def same(ours, theirs):
    """Whether two texts are the same; those of floats may differ in digits that old JDKs write too many of."""
    return ours == theirs or (FLOAT.match(ours) and FLOAT.match(theirs) and float(ours) == float(theirs))


def decimal(draw):
    """A decimal literal of any shape that money, rates and scientific data have."""
    sign = draw.choice(["", "", "-"])
    kind = draw.random()
    if kind < 0.1:
        return f"{sign}{draw.choice(['0', '1', '5', '10', '100', '0.0', '0.00', '1.0', '1.00', '0.5', '2.50'])}M"
    if kind < 0.2:
        return f"{sign}{draw.randint(1, 9999)}E{draw.randint(-12, 12)}M"
    whole = draw.randint(0, 10 ** draw.choice([1, 2, 4, 9, 20, 40]))
    places = draw.choice([0, 1, 2, 2, 2, 3, 5, 8, 25])
    fraction = "".join(draw.choice("0123456789") for _ in range(places))
    return f"{sign}{whole}{'.' if places else ''}{fraction}M"


def short(draw):
    """A divisor that often makes an exact quotient."""
    return draw.choice(["2M", "4M", "0.5M", "1.25M", "-8M", "10M", "0.01M", "16", "25", "3M", "7M", "1E2M", "0M", "0.00M"])


def number(draw):
    kind = draw.random()
    if kind < 0.7:
        return decimal(draw)
    if kind < 0.85:
        return str(draw.randint(-1000, 1000))
    if kind < 0.92:
        return f"{draw.randint(-10**30, 10**30)}N"
    return str(draw.randint(-10000, 10000) / 8)


def operation(draw):
    operator = draw.choice(OPERATORS)
    first = decimal(draw)
    second = short(draw) if operator in ("/", "quot", "rem", "mod") and draw.random() < 0.6 else number(draw)
    if operator in ("<", "<=", "==", "=", "compare") and draw.random() < 0.4:
        second = draw.choice([f"{first[:-1]}0M" if "." in first and "E" not in first else "1.0M", first, first[:-1] if len(first) < 15 else first])
    return f"({operator} {first} {second})" if draw.random() < 0.7 else f"({operator} {second} {first})"


def mode(draw):
    return f"java.math.RoundingMode/{draw.choice(MODES)}"


def context(draw):
    return f"(java.math.MathContext. {draw.randint(0, 12)} {mode(draw)})"


def method(draw):
    name, first = draw.choice(METHODS), decimal(draw)
    other = decimal(draw) if draw.random() < 0.5 else draw.choice(["2M", "0.5M", "1.25M", "-8M", "3M", "0M", "1E2M"])
    if name in ROUNDED and draw.random() < 0.4:
        return f"({name} {first} {other} {context(draw)})"
    if name == ".divide" and draw.random() < 0.6:
        places = f"{draw.randint(-3, 8)} " if draw.random() < 0.7 else ""
        return f"(.divide {first} {other} {places}{mode(draw)})"
    return f"({name} {first} {other})"


def rounded(draw):
    first = decimal(draw)
    return draw.choice([
        f"(.setScale {first} {draw.randint(-4, 10)} {mode(draw)})",
        f"(.setScale {first} {draw.randint(0, 30)})",
        f"(.round {first} {context(draw)})",
        f"(.movePointLeft {first} {draw.randint(-6, 6)})",
        f"(.movePointRight {first} {draw.randint(-6, 6)})",
        f"(.scaleByPowerOfTen {first} {draw.randint(-6, 6)})",
        f"(.pow {first} {draw.randint(0, 6)})",
        f"(with-precision {draw.randint(1, 12)} :rounding {draw.choice(MODES)} {operation(draw)})",
        f"(with-precision {draw.randint(1, 12)} {operation(draw)})",
        f"(with-precision {draw.randint(1, 20)} (reduce + [{' '.join(decimal(draw) for _ in range(4))}]))",
    ])


def made(draw):
    text = decimal(draw)[:-1]
    return draw.choice([
        f'(bigdec "{text}")',
        f'(BigDecimal. "{text}")',
        f"(bigdec {draw.randint(-10**6, 10**6) / 64})",
        f"(BigDecimal. {draw.randint(-10**6, 10**6) / 1000})",
        f"(BigDecimal/valueOf {draw.randint(-10**6, 10**6) / 100})",
        f"(BigDecimal/valueOf {draw.randint(-10**6, 10**6)} {draw.randint(-3, 6)})",
    ])


def written(draw):
    # Java writes the scale of a zero as an exponent, which is no number.
    first = next(text for text in iter(lambda: decimal(draw), None) if re.search("[1-9]", text.split("E")[0]))
    return draw.choice([
        f'(format "{draw.choice(DIRECTIVES)}" {first})',
        f'(.format (java.text.DecimalFormat. "{draw.choice(PATTERNS)}") {first})',
        f'(.format (java.text.DecimalFormat. "{draw.choice(PATTERNS)}") {draw.randint(-10**6, 10**6) / 1000})',
    ])


def several(draw):
    many = " ".join(number(draw) if draw.random() < 0.3 else decimal(draw) for _ in range(draw.randint(1, 6)))
    exact = " ".join(decimal(draw) for _ in range(draw.randint(1, 6)))
    return draw.choice([
        f"(reduce + [{many}])", f"(apply * [{exact}])", f"(apply max [{exact}])", f"(vec (sort [{exact}]))",
        f"(count (distinct [{exact} 1M 1.0M]))", f"(get {{{decimal(draw)} :a 1.50M :b}} 1.5M)",
        f"(mapv (fn [x] (* x 1.05M)) [{exact}])", f"(reduce (fn [a b] (- a b)) [{many}])", f"(str [{exact}])",
        f"(let [x {decimal(draw)}] (loop [i 0 x x] (if (< i 5) (recur (inc i) (+ x 0.1M)) x)))",
    ])


def expression(draw):
    make = draw.choice([operation, operation, operation, method, method, rounded, rounded, made, written, several, one])
    return make(draw)


def one(draw):
    return f"({draw.choice(PREDICATES + PARTS)} {decimal(draw)})"


def program(sources):
    """Expressions in one program, each as its text or the word `error`."""
    return "[" + " ".join(f'(try (pr-str {s}) (catch Exception e "error"))' for s in sources) + "]"


def batches(sources):
    return [sources[at:at + BATCH] for at in range(0, len(sources), BATCH)]


def of_clojure(sources):
    asked = [cases.Case(name=str(at), src=program(some), line=0) for at, some in enumerate(batches(sources))]
    answers = oracle.ask(asked, 60_000)
    return [text for some, answer in zip(batches(sources), answers) for text in texts(answer[1] == "ok", answer[2], some)]


def of_ptc(sources, binary):
    rows = [{"id": str(at), "src": program(some), "data": {}} for at, some in enumerate(batches(sources))]
    answers = compare.run_batch(binary, rows, 60)
    found = []
    for row, some in zip(rows, batches(sources)):
        answer = answers[row["id"]]
        found += texts(answer["ok"], answer.get("value") or str(answer.get("error")), some)
    return found


def texts(is_ok, value, sources):
    """The texts of a program's answer, one for each of its expressions."""
    tree = compare.edn.parse(value) if is_ok else None
    if not tree or tree[0] != "seq" or len(tree[1]) != len(sources):
        return [f"no answer: {value[:200]}"] * len(sources)
    # Big integers print without N (D04).
    return [BIG.sub(r"\1", str(item[1])) for item in tree[1]]


if __name__ == "__main__":
    main()
