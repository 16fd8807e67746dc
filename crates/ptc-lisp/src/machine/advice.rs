//! What helps where a function of the library got a value of the wrong kind: arguments that stand in each other's place, a
//! collection in place of its elements, text in place of a number, an atom in place of its value.

use crate::arith::PARSE;
use crate::builtins::{Entry, registry};

/// The function of the program for one that only the library can name: `partition-by` for `partition-by-eager`.
#[cold]
pub(super) fn public_name(entry: &Entry) -> Option<&'static Entry> {
    let ends = entry.local.rmatch_indices('-').filter(|_| entry.ns == "ptc.impl");
    let mut names = ends.map(|(end, _)| format!("clojure.core/{}", &entry.local[..end]));
    names.find_map(|name| registry().qualified(&name)).map(|id| registry().get(id))
}

/// The hint for a type error, by the function and what it was told.
#[cold]
pub(super) fn for_type_error(entry: &Entry, message: &str) -> Option<String> {
    if let Some(got) = message.strip_prefix("expected a number, got ") {
        return in_place_of_number(entry.local, got);
    }
    if let Some((_, got)) = message.split_once(" must be an integer, got ") {
        return in_place_of_integer(entry, got);
    }
    if message.ends_with(" must be a number, got string") {
        return Some(PARSE.to_owned());
    }
    if message.ends_with(" must be a date or time, got string") {
        return Some(PARSE_DATE.to_owned());
    }
    if entry.local == ".length" && message.contains(" does not have this method") {
        return Some("write (count coll)".to_owned());
    }
    if entry.local == ".parse" && message.contains("DecimalFormat does not have this method") {
        return Some(
            "write (bigdec (str/replace s \",\" \"\")), or parse-double in place of bigdec".to_owned(),
        );
    }
    if entry.local == ".withZoneSameInstant" && message.contains("OffsetDateTime does not have this method") {
        return Some("write (.atZoneSameInstant t zone)".to_owned());
    }
    if message.starts_with("argument 1 must be a ") {
        return behind_its_arguments(entry.local, message.rsplit(' ').next()?);
    }
    in_place_of_collection(entry, message.strip_prefix("expected a collection, got ")?)
}

/// The hint for a call with too few arguments that only shows when it is made, as in `(apply max rows)`.
#[cold]
pub(super) fn for_arity(entry: &Entry, count: usize) -> Option<String> {
    let name = entry.local;
    (count == 0 && matches!(name, "max" | "min"))
        .then(|| format!("nothing is the {name} of no values: write (when (seq xs) (apply {name} xs))"))
}

/// A key or an element in front of the collection that it belongs to.
fn behind_its_arguments(name: &str, got: &str) -> Option<String> {
    let usual = match (name, got) {
        ("contains?", "keyword" | "integer" | "symbol") => "(contains? coll key)",
        ("assoc", "keyword" | "string" | "symbol") => "(assoc m key value)",
        ("update", "keyword" | "string") => "(update m key f)",
        ("dissoc", "keyword" | "string" | "symbol") => "(dissoc m key)",
        ("conj", "integer" | "float" | "keyword" | "string") => "(conj coll x)",
        _ => return None,
    };
    Some(format!("the collection comes first: write {usual}"))
}

/// The hint for a type error of an operator that is an instruction.
#[cold]
pub(super) fn for_operator(name: &str, message: &str) -> Option<String> {
    in_place_of_number(name, message.strip_prefix("expected a number, got ")?)
}

/// How text becomes a date or a time.
const PARSE_DATE: &str = "turn text into a date or a time first: (LocalDate/parse s), (LocalDateTime/parse s) or (Instant/parse s)";

fn is_collection(kind: &str) -> bool {
    matches!(kind, "vector" | "list" | "set" | "sorted set")
}

/// A collection where its elements are meant, or a cell where its value is.
fn in_place_of_number(name: &str, got: &str) -> Option<String> {
    match name {
        _ if matches!(got, "atom" | "volatile" | "delay" | "promise") => {
            Some(format!("@x is the value of the {got} x"))
        }
        "max" | "min" if is_collection(got) || got == "map" => Some(format!(
            "for the elements of a collection write (apply {name} coll), for rows ({name}-by :key rows)"
        )),
        "+" if matches!(got, "keyword" | "map") => Some("for rows write (sum-by :key rows)".to_owned()),
        "+" | "*" if is_collection(got) => {
            Some(format!("use (reduce {name} coll) for the elements of a collection"))
        }
        _ if is_collection(got) => Some("for each element of a collection write (map #(…) coll)".to_owned()),
        _ => None,
    }
}

/// A collection, or text, where a count or an index is meant.
fn in_place_of_integer(entry: &Entry, got: &str) -> Option<String> {
    let counted = usual(entry, |params| matches!(params, "n coll" | "n x"));
    let indexed = usual(entry, |params| params == "coll index");
    let is_other = is_collection(got) || got == "map";
    match (counted, indexed) {
        (Some(usual), _) | (_, Some(usual)) if is_other => Some(swapped(entry, usual)),
        (Some(usual), _) if got == "string" => {
            Some(format!("{}; or make a number of the text with parse-long", swapped(entry, usual)))
        }
        (_, Some(_)) if got == "string" => {
            Some("an index is a number: parse-long makes one of text, (get m key) looks up a key".to_owned())
        }
        // The second argument of this one is a radix, and text there is no number.
        _ => (got == "string" && entry.local != ".toString").then(|| PARSE.to_owned()),
    }
}

/// Something else where a collection is meant.
fn in_place_of_collection(entry: &Entry, got: &str) -> Option<String> {
    match (entry.local, got) {
        (_, "function") if takes_function(entry) => Some(
            "the arguments look swapped: the function comes first, the collection last; or an inner call has no \
             collection: (filter pred) alone is a function"
                .to_owned(),
        ),
        (_, "function") => {
            Some("an inner call may have no collection: (filter pred) alone is a function".to_owned())
        }
        ("get-in" | "assoc-in" | "update-in", "keyword") => {
            Some(format!("the path is a vector: write ({} m [:a :b] …)", entry.local))
        }
        ("select-keys", "keyword" | "string") => {
            Some("the keys are a vector: write (select-keys m [:a :b])".to_owned())
        }
        ("sort", "keyword") => Some("write (sort-by :key coll)".to_owned()),
        ("sort-by", "keyword") => Some(
            "the arguments look swapped: write (sort-by keyfn coll), or (sort-by keyfn > coll) for descending order"
                .to_owned(),
        ),
        ("map" | "mapv", "keyword") => Some(
            "the arguments look swapped: write (map f coll); for several keys (map (juxt :a :b) coll), or \
             (map #(select-keys % [:a :b]) coll) for maps of them"
                .to_owned(),
        ),
        ("reduce", _) if got != "function" => {
            Some("the collection comes last: write (reduce f init coll)".to_owned())
        }
        (_, "keyword" | "string") => {
            let by_function = |params: &str| {
                let first = params.split(' ').next();
                params.ends_with(" coll") && matches!(first, Some("f" | "key" | "keyfn" | "key-fn" | "pred"))
            };
            usual(entry, by_function).map(|usual| swapped(entry, usual))
        }
        _ => None,
    }
}

/// Whether a function takes another one before a collection.
fn takes_function(entry: &Entry) -> bool {
    let is_function = |param: &str| {
        matches!(param, "f" | "g" | "fs" | "keyfn" | "key-fn" | "pred" | "xf" | "xform" | "comp" | "proc")
    };
    let by_key = usual(entry, |params| params == "key coll").is_some();
    by_key || entry.params().split([' ', '[', ']']).any(is_function)
}

/// The parameters of a function that are of a kind.
fn usual(entry: &Entry, is_meant: impl Fn(&str) -> bool) -> Option<&'static str> {
    entry
        .params()
        .split(']')
        .map(|params| params.trim_start_matches([' ', '[']))
        .find(|params| is_meant(params))
}

fn swapped(entry: &Entry, usual: &str) -> String {
    format!("the arguments look swapped: write ({} {usual})", entry.local)
}
