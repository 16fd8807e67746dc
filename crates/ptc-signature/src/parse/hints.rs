//! Names people and models guess for types, and what to write instead.

/// The names a type can begin with.
pub(super) const NAMES: &[&str] =
    &["string", "int", "float", "bool", "boolean", "keyword", "any", "map", "datetime", "nil", "enum"];

const LIST: &str = "lists are written [:type], for example [:any] or [:string]";
const TUPLE: &str = "there are no tuples: use a map with named fields, for example {x :int, y :int}";
const OBJECT: &str = "use {field :type} for known fields, or :map for any map";
const GENERAL: &str = "types are :string :int :float :bool :keyword :datetime :map :nil :any, \
                       lists [:type], maps {field :type}, enums :enum[a b], unions :a|:b, ranges :int[1..100]; `?` after \
                       a type makes it optional";

/// Guessed names (lower case) and the advice for each.
const GUESSES: &[(&[&str], &str)] = &[
    (
        &[
            "list",
            "array",
            "vector",
            "vec",
            "seq",
            "sequence",
            "sequential",
            "slice",
            "set",
            "hashset",
            "iterable",
        ],
        LIST,
    ),
    (&["tuple", "pair"], TUPLE),
    (
        &[
            "object",
            "dict",
            "dictionary",
            "hash",
            "hashmap",
            "btreemap",
            "record",
            "struct",
            "json",
            "value",
            "mapping",
        ],
        OBJECT,
    ),
    (&["str", "text", "char", "binary", "uuid", "url", "uri", "email", "bytes"], "use :string"),
    (
        &[
            "integer", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
            "usize", "long", "short", "bigint", "int32", "int64", "uint", "id",
        ],
        "use :int",
    ),
    (&["number", "num", "numeric"], "use :int for whole numbers, :float for any number"),
    (&["double", "f32", "f64", "decimal", "real", "float64", "float32"], "use :float"),
    (&["atom", "symbol", "kw"], "use :keyword"),
    (&["date", "day"], "use :string for a date such as \"2024-01-05\"; :datetime is a point in time"),
    (&["time"], "use :string for a time of day; :datetime is a point in time"),
    (&["timestamp", "instant", "inst", "date_time", "date-time"], "use :datetime"),
    (&["unknown", "mixed", "term", "anything", "dynamic", "never"], "use :any"),
    (&["null", "none", "undefined", "void", "unit"], "use :nil, or `?` after a type that may be missing"),
    (&["option", "optional", "maybe", "nullable"], "put `?` after the type, for example :string?"),
    (&["union", "oneof", "anyof", "or"], "unions are written :string|:int"),
    (&["literal", "const"], "fixed values are written :enum[pending active]"),
];

/// Advice for an unknown type name, written with or without its colon.
pub(super) fn for_type(name: &str) -> String {
    let lower = name.to_lowercase();
    if NAMES.contains(&lower.as_str()) {
        return format!("write :{lower}");
    }
    let guess = GUESSES.iter().find(|(names, _)| names.contains(&lower.as_str()));
    match guess {
        Some((_, advice)) => (*advice).to_owned(),
        None => match nearest(&lower, NAMES.iter().copied()) {
            Some(near) => format!("did you mean :{near}?"),
            None => GENERAL.to_owned(),
        },
    }
}

/// Advice when no type could be recognised at all.
pub(super) fn general() -> String {
    GENERAL.to_owned()
}

/// The candidate closest in spelling, if it is close enough to be a slip of the pen.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if !(2..=64).contains(&length) {
        return None;
    }
    let limit = if length <= 4 { 1 } else { 2 };
    let scored =
        candidates.filter(|c| c.chars().count().abs_diff(length) <= limit).map(|c| (distance(word, c), c));
    scored.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, c)| c)
}

/// Edit distance where swapping two neighbours counts as one step.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
