"""Printed Clojure values as neutral trees, so that two printers can be compared by meaning.

Lists equal vectors, a character equals a one-character string, `1N` equals 1, `1/2` equals 0.5, maps
and sets are unordered, records are maps, tagged literals and dates are their text, and all opaque
values (functions, atoms, host objects) are alike. Numbers are compared numerically.
"""

import math
import re

NAMED_CHARS = {
    "newline": "\n", "space": " ", "tab": "\t", "return": "\r", "backspace": "\b", "formfeed": "\f",
}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "'": "'", "/": "/"}
SPECIAL = {"Inf": math.inf, "-Inf": -math.inf, "NaN": math.nan}
INTEGER = re.compile(r"[+-]?\d+N?$")
RATIO = re.compile(r"([+-]?\d+)/(\d+)$")
FLOAT = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?$")
DELIMITERS = set(" \t\r\n,()[]{}\"")
OPAQUE = ("opaque",)


class Unreadable(Exception):
    """The text is not a printed value."""


def parse(text):
    """The neutral tree of one printed value; text that is no value is kept as it is."""
    try:
        reader = Reader(text)
        tree = reader.form()
        reader.skip()
        return tree if reader.at_end() else ("raw", text)
    except (Unreadable, RecursionError):
        return ("raw", text)


class Reader:
    """A cursor over printed text. Each method takes one thing off the front."""

    def __init__(self, text):
        self.text, self.pos = text, 0

    def at_end(self):
        return self.pos >= len(self.text)

    def skip(self):
        while not self.at_end() and self.text[self.pos] in " \t\r\n,":
            self.pos += 1

    def take(self, count=1):
        piece = self.text[self.pos : self.pos + count]
        if len(piece) < count:
            raise Unreadable("end of text")
        self.pos += count
        return piece

    def token(self):
        start = self.pos
        while not self.at_end() and self.text[self.pos] not in DELIMITERS:
            self.pos += 1
        return self.text[start : self.pos]

    def form(self):
        self.skip()
        head = self.take()
        if head in "([":
            return ("seq", self.until(")" if head == "(" else "]"))
        if head == "{":
            return self.map()
        if head == '"':
            return ("str", self.string())
        if head == "\\":
            return ("str", self.char())
        if head == "'":
            return self.form()
        if head == "#":
            return self.dispatch()
        if head == ":":
            return ("kw", self.token())
        if head in ")]}":
            raise Unreadable("stray " + head)
        self.pos -= 1
        return atom(self.token())

    def until(self, closer):
        items = []
        while True:
            self.skip()
            if self.at_end():
                raise Unreadable("open collection")
            if self.text[self.pos] == closer:
                self.pos += 1
                return items
            items.append(self.form())

    def map(self):
        flat = self.until("}")
        if len(flat) % 2:
            raise Unreadable("odd map")
        return ("map", list(zip(flat[::2], flat[1::2])))

    def string(self):
        out = []
        while True:
            c = self.take()
            if c == '"':
                return "".join(out)
            if c != "\\":
                out.append(c)
                continue
            c = self.take()
            if c == "u":
                out.append(chr(int(self.take(4), 16)))
            elif c in ESCAPES:
                out.append(ESCAPES[c])
            elif c == "#":
                out.append("#")
            else:
                out.append("\\" + c)

    def char(self):
        first = self.take()
        rest = self.token()
        name = first + rest
        if not rest:
            return first
        if name in NAMED_CHARS:
            return NAMED_CHARS[name]
        if re.fullmatch(r"u[0-9a-fA-F]{4}", name):
            return chr(int(name[1:], 16))
        raise Unreadable("character " + name)

    def dispatch(self):
        c = self.take()
        if c == "{":
            return ("set", self.until("}"))
        if c == '"':
            return ("regex", self.raw_until_quote())
        if c == "'":
            return ("var", self.token().rsplit("/", 1)[-1])
        if c == "#":
            return ("num", SPECIAL.get(self.token(), math.nan))
        if c == "<":
            return self.opaque_angle()
        self.pos -= 1
        return self.tagged()

    def raw_until_quote(self):
        start = self.pos
        while self.take() != '"':
            if self.text[self.pos - 1] == "\\":
                self.take()
        return self.text[start : self.pos - 1]

    def opaque_angle(self):
        depth = 1
        while depth:
            depth += {"<": 1, ">": -1}.get(self.take(), 0)
        return OPAQUE

    def tagged(self):
        tag = self.token()
        opener = self.text[self.pos : self.pos + 1]
        if opener == "{":
            self.take()
            return self.map()
        if opener == "[":
            return host_object(tag, self.bracketed())
        value = self.form()
        if tag == "inst" and value[0] == "str":
            return ("str", value[1].replace(".000", "").replace("-00:00", "Z"))
        return value if value[0] in ("str", "map") else ("tag", tag, value)

    def bracketed(self):
        start, depth = self.pos + 1, 0
        while True:
            c = self.take()
            depth += {"[": 1, "]": -1}.get(c, 0)
            if depth == 0:
                return self.text[start : self.pos - 1]


def host_object(tag, body):
    """`#object[class hash "text"]` and `#java[class text]`: dates by their text, the rest opaque."""
    if tag == "java":
        kind, _, text = body.partition(" ")
        return atom(text) if kind in ("int", "long", "double") else ("str", text)
    if tag == "duration":
        return ("duration", body)
    dated = re.fullmatch(r'java\.time\.\S+ \S+ "(.*)"', body)
    return ("str", dated.group(1)) if dated else OPAQUE


def atom(token):
    """A number, nil, a boolean or a symbol."""
    if token in ("nil", "true", "false"):
        return (token,)
    if INTEGER.match(token):
        return ("num", int(token.rstrip("N")))
    ratio = RATIO.match(token)
    if ratio:
        return ("num", int(ratio.group(1)) / int(ratio.group(2)))
    if FLOAT.match(token):
        return ("num", float(token.rstrip("M")))
    if not token:
        raise Unreadable("empty token")
    return ("sym", token)


def equal(a, b):
    """Whether two trees mean the same value."""
    if a[0] != b[0]:
        return False
    kind = a[0]
    if kind == "num":
        return same_number(a[1], b[1])
    if kind == "seq":
        return len(a[1]) == len(b[1]) and all(equal(x, y) for x, y in zip(a[1], b[1]))
    if kind == "set":
        return matched(a[1], b[1], equal)
    if kind == "map":
        return matched(a[1], b[1], lambda x, y: equal(x[0], y[0]) and equal(x[1], y[1]))
    if kind == "tag":
        return a[1] == b[1] and equal(a[2], b[2])
    return a == b


def same_number(x, y):
    """Exact for integers, a small tolerance as soon as one side is a float."""
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    try:
        x, y = float(x), float(y)
    except OverflowError:
        return False
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-10)


def matched(left, right, same):
    """Whether the items pair up one to one in any order. Equal order is tried first."""
    if len(left) != len(right):
        return False
    rest = list(right)
    for item in left:
        for i, other in enumerate(rest):
            if same(item, other):
                del rest[i]
                break
        else:
            return False
    return True
