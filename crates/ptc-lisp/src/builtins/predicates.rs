//! Questions about a value: what type it is of, and what sort of number.
//!
//! None of them raises. `zero?`, `even?` and their like answer false for what is not a number.

use std::cmp::Ordering;

use num_integer::Integer;

use super::chain_part::ChainPart;
use super::{Builtin, native};
use crate::arith;
use crate::heap::Heap;
use crate::names::{Name, Names};
use crate::signal::Res;
use crate::value::text::is_character;
use crate::value::{CellKind, Time, Value};

/// Declares a predicate: name, test, doc, examples.
macro_rules! predicate {
    ($name:literal, |$x:ident| $test:expr, $doc:literal, $examples:expr $(,)?) => {
        native(
            $name,
            "[x]",
            |_: &mut Heap, args: &mut [Value]| {
                let $x = &args[0];
                Ok(Value::Bool($test))
            },
            $doc,
            $examples,
        )
    };
}

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/identity",
        "[x]",
        |_, args| Ok(super::args::take(args, 0)),
        "Its argument.",
        &[("(identity 5)", "5"), ("(filter identity [1 nil 2])", "(1 2)")],
    ),
    predicate!(
        "clojure.core/not",
        |x| !x.truthy(),
        "True for nil and false, false for everything else.",
        &[("(not nil)", "true"), ("(not 0)", "false")]
    ),
    predicate!(
        "clojure.core/boolean",
        |x| x.truthy(),
        "False for nil and false, true for everything else.",
        &[("(boolean nil)", "false"), ("(boolean 0)", "true")]
    ),
    // Nothing, something, truth.
    predicate!(
        "clojure.core/nil?",
        |x| x.is_nil(),
        "Whether it is nil.",
        &[("(nil? nil)", "true"), ("(nil? [])", "false")]
    ),
    predicate!(
        "clojure.core/some?",
        |x| !x.is_nil(),
        "Whether it is anything but nil.",
        &[("(some? false)", "true"), ("(some? nil)", "false")]
    ),
    predicate!("clojure.core/any?", |_x| true, "True for everything.", &[("(any? nil)", "true")]),
    predicate!(
        "clojure.core/true?",
        |x| matches!(x, Value::Bool(true)),
        "Whether it is exactly true.",
        &[("(true? true)", "true"), ("(true? 1)", "false")]
    ),
    predicate!(
        "clojure.core/false?",
        |x| matches!(x, Value::Bool(false)),
        "Whether it is exactly false.",
        &[("(false? false)", "true"), ("(false? nil)", "false")]
    ),
    predicate!(
        "clojure.core/boolean?",
        |x| matches!(x, Value::Bool(_)),
        "Whether it is true or false.",
        &[("(boolean? false)", "true"), ("(boolean? nil)", "false")]
    ),
    // Numbers.
    predicate!(
        "clojure.core/number?",
        |x| is_number(x),
        "Whether it is a number.",
        &[("(number? 1.5)", "true"), ("(number? \"1\")", "false")]
    ),
    predicate!(
        "clojure.core/int?",
        |x| is_small(x),
        "Whether it is an integer of at most 64 bits.",
        &[("(int? 1)", "true"), ("(int? 1.0)", "false"), ("(int? 1N)", "false")]
    ),
    predicate!(
        "clojure.core/integer?",
        |x| is_integer(x),
        "Whether it is an integer, of whatever size.",
        &[("(integer? 1)", "true"), ("(integer? 1.0)", "false")]
    ),
    predicate!(
        "clojure.core/float?",
        |x| matches!(x, Value::Float(_)),
        "Whether it is a float.",
        &[("(float? 1.5)", "true"), ("(float? 1)", "false")]
    ),
    predicate!(
        "clojure.core/double?",
        |x| matches!(x, Value::Float(_)),
        "Whether it is a float.",
        &[("(double? 1.5)", "true"), ("(double? 1)", "false")]
    ),
    predicate!(
        "clojure.core/rational?",
        |x| is_integer(x) || matches!(x, Value::Decimal(_)),
        "Whether it is an exact number: an integer, a ratio or a decimal.",
        &[
            ("(rational? 1)", "true"),
            ("(rational? 1.5M)", "true"),
            ("(rational? 1/2)", "true"),
            ("(rational? 1.5)", "false")
        ]
    ),
    predicate!(
        "clojure.core/ratio?",
        |x| matches!(x, Value::Decimal(exact) if exact.ratio().is_some()),
        "Whether it is a ratio, such as 1/2. What `/` makes of two integers is none.",
        &[("(ratio? 1/2)", "true"), ("(ratio? (/ 1 2))", "false")]
    ),
    predicate!(
        "clojure.core/decimal?",
        |x| matches!(x, Value::Decimal(exact) if exact.decimal().is_some()),
        "Whether it is an exact decimal, such as 1.5M.",
        &[("(decimal? 1.5M)", "true"), ("(decimal? 1.5)", "false")]
    ),
    predicate!(
        "clojure.core/nat-int?",
        |x| is_small(x) && !has_sign(x, Ordering::Less),
        "Whether it is an integer of at most 64 bits that is not negative.",
        &[("(nat-int? 0)", "true"), ("(nat-int? -1)", "false")]
    ),
    predicate!(
        "clojure.core/pos-int?",
        |x| is_small(x) && has_sign(x, Ordering::Greater),
        "Whether it is a positive integer of at most 64 bits.",
        &[("(pos-int? 1)", "true"), ("(pos-int? 0)", "false")]
    ),
    predicate!(
        "clojure.core/neg-int?",
        |x| is_small(x) && has_sign(x, Ordering::Less),
        "Whether it is a negative integer of at most 64 bits.",
        &[("(neg-int? -1)", "true"), ("(neg-int? 0)", "false")]
    ),
    predicate!(
        "clojure.core/zero?",
        |x| is_zero(x),
        "Whether it is the number zero.",
        &[("(zero? 0.0)", "true"), ("(zero? nil)", "false")]
    )
    .in_chains(ChainPart::Zero),
    predicate!(
        "clojure.core/pos?",
        |x| has_sign(x, Ordering::Greater),
        "Whether it is a number greater than zero.",
        &[("(pos? 1)", "true"), ("(pos? nil)", "false")]
    )
    .in_chains(ChainPart::Positive),
    predicate!(
        "clojure.core/neg?",
        |x| has_sign(x, Ordering::Less),
        "Whether it is a number less than zero.",
        &[("(neg? -1)", "true"), ("(neg? nil)", "false")]
    )
    .in_chains(ChainPart::Negative),
    predicate!(
        "clojure.core/even?",
        |x| parity(x) == Some(true),
        "Whether it is an even number.",
        &[("(even? 2)", "true"), ("(even? 3)", "false")]
    )
    .in_chains(ChainPart::Even),
    predicate!(
        "clojure.core/odd?",
        |x| parity(x) == Some(false),
        "Whether it is an odd number.",
        &[("(odd? 3)", "true"), ("(odd? 2)", "false")]
    )
    .in_chains(ChainPart::Odd),
    predicate!(
        "clojure.core/infinite?",
        |x| matches!(x, Value::Float(float) if float.is_infinite()),
        "Whether it is an infinite float.",
        &[("(infinite? ##Inf)", "true"), ("(infinite? 1)", "false")]
    ),
    predicate!(
        "clojure.core/NaN?",
        |x| matches!(x, Value::Float(float) if float.is_nan()),
        "Whether it is the float that is not a number.",
        &[("(NaN? ##NaN)", "true"), ("(NaN? 1)", "false")]
    ),
    // Text and names.
    predicate!(
        "clojure.core/string?",
        |x| matches!(x, Value::Str(_)),
        "Whether it is a string.",
        &[("(string? \"a\")", "true"), ("(string? :a)", "false")]
    ),
    predicate!(
        "clojure.core/char?",
        |x| x.as_str().is_some_and(is_character),
        "Whether it is a string of one character.",
        &[("(char? \\a)", "true"), ("(char? \"ab\")", "false")]
    ),
    predicate!(
        "clojure.core/keyword?",
        |x| matches!(x, Value::Kw(_)),
        "Whether it is a keyword.",
        &[("(keyword? :a)", "true"), ("(keyword? \"a\")", "false")]
    ),
    predicate!(
        "clojure.core/symbol?",
        |x| matches!(x, Value::Sym(_)),
        "Whether it is a symbol.",
        &[("(symbol? 'a)", "true"), ("(symbol? :a)", "false")]
    ),
    predicate!(
        "clojure.core/ident?",
        |x| matches!(x, Value::Kw(_) | Value::Sym(_)),
        "Whether it is a keyword or symbol.",
        &[("(ident? 'a)", "true"), ("(ident? \"a\")", "false")]
    ),
    native(
        "clojure.core/simple-keyword?",
        "[x]",
        |heap, args| is_named(heap, keyword(&args[0]), false),
        "Whether it is a keyword without a namespace.",
        &[("(simple-keyword? :a)", "true"), ("(simple-keyword? :a/b)", "false")],
    ),
    native(
        "clojure.core/qualified-keyword?",
        "[x]",
        |heap, args| is_named(heap, keyword(&args[0]), true),
        "Whether it is a keyword with a namespace.",
        &[("(qualified-keyword? :a/b)", "true"), ("(qualified-keyword? :a)", "false")],
    ),
    native(
        "clojure.core/simple-symbol?",
        "[x]",
        |heap, args| is_named(heap, symbol(&args[0]), false),
        "Whether it is a symbol without a namespace.",
        &[("(simple-symbol? 'a)", "true"), ("(simple-symbol? 'a/b)", "false")],
    ),
    native(
        "clojure.core/qualified-symbol?",
        "[x]",
        |heap, args| is_named(heap, symbol(&args[0]), true),
        "Whether it is a symbol with a namespace.",
        &[("(qualified-symbol? 'a/b)", "true"), ("(qualified-symbol? 'a)", "false")],
    ),
    native(
        "clojure.core/simple-ident?",
        "[x]",
        |heap, args| is_named(heap, ident(&args[0]), false),
        "Whether it is a keyword or symbol without a namespace.",
        &[("(simple-ident? :a)", "true"), ("(simple-ident? :a/b)", "false")],
    ),
    native(
        "clojure.core/qualified-ident?",
        "[x]",
        |heap, args| is_named(heap, ident(&args[0]), true),
        "Whether it is a keyword or symbol with a namespace.",
        &[("(qualified-ident? :a/b)", "true"), ("(qualified-ident? :a)", "false")],
    ),
    native(
        "clojure.core/special-symbol?",
        "[x]",
        |heap, args| Ok(Value::Bool(is_special(&args[0], &heap.names))),
        "Whether it is a symbol that names a special form.",
        &[("(special-symbol? 'if)", "true"), ("(special-symbol? 'when)", "false")],
    ),
    // Collections.
    predicate!(
        "clojure.core/vector?",
        |x| matches!(x, Value::Vec(_)),
        "Whether it is a vector.",
        &[("(vector? [1])", "true"), ("(vector? '(1))", "false")]
    ),
    predicate!(
        "clojure.core/map?",
        |x| is_map(x),
        "Whether it is a map.",
        &[("(map? {:a 1})", "true"), ("(map? [[:a 1]])", "false")]
    ),
    predicate!(
        "clojure.core/set?",
        |x| is_set(x),
        "Whether it is a set.",
        &[("(set? #{1})", "true"), ("(set? [1])", "false")]
    ),
    predicate!(
        "clojure.core/list?",
        |x| is_list(x),
        "Whether it is a list. What `map` and `filter` give is a sequence, not a list.",
        &[("(list? '(1 2))", "true"), ("(list? [1 2])", "false")]
    ),
    predicate!(
        "clojure.core/seq?",
        |x| is_seq(x),
        "Whether it is a sequence: a list or what `map`, `filter`, `seq` and their like give.",
        &[("(seq? (map inc [1]))", "true"), ("(seq? [1])", "false")]
    ),
    predicate!(
        "clojure.core/coll?",
        |x| is_coll(x),
        "Whether it is a collection; a string is not.",
        &[("(coll? [])", "true"), ("(coll? \"a\")", "false")]
    ),
    predicate!(
        "clojure.core/sequential?",
        |x| x.is_sequential(),
        "Whether it is a collection with an order: a vector, list or other sequence.",
        &[("(sequential? [1])", "true"), ("(sequential? #{1})", "false")]
    ),
    predicate!(
        "clojure.core/associative?",
        |x| is_map(x) || matches!(x, Value::Vec(_)),
        "Whether `assoc` works on it: a map or vector.",
        &[("(associative? {})", "true"), ("(associative? #{})", "false")]
    ),
    predicate!(
        "clojure.core/counted?",
        |x| is_counted(x),
        "Whether it knows its count without walking.",
        &[("(counted? [1 2])", "true"), ("(counted? \"ab\")", "false")]
    ),
    predicate!(
        "clojure.core/indexed?",
        |x| matches!(x, Value::Vec(_)),
        "Whether `nth` is immediate: a vector.",
        &[("(indexed? [1 2])", "true"), ("(indexed? '(1 2))", "false")]
    ),
    predicate!(
        "clojure.core/reversible?",
        |x| matches!(x, Value::Vec(_) | Value::Sorted(_)),
        "Whether `rseq` works on it: a vector or sorted collection.",
        &[("(reversible? [1 2])", "true"), ("(reversible? {:a 1})", "false")]
    ),
    predicate!(
        "clojure.core/sorted?",
        |x| matches!(x, Value::Sorted(_)),
        "Whether it is a sorted map or sorted set.",
        &[("(sorted? (sorted-map))", "true"), ("(sorted? {})", "false")]
    ),
    predicate!(
        "clojure.core/seqable?",
        |x| is_coll(x) || x.is_array() || matches!(x, Value::Nil | Value::Str(_)),
        "Whether `seq` works on it: a collection, array, string or nil.",
        &[("(seqable? \"abc\")", "true"), ("(seqable? 1)", "false")]
    ),
    predicate!(
        "clojure.core/map-entry?",
        |x| matches!(x, Value::Vec(body) if body.entry),
        "Whether it is an entry of a map.",
        &[("(map-entry? (first {:a 1}))", "true"), ("(map-entry? [:a 1])", "false")]
    ),
    // Functions and references.
    predicate!(
        "clojure.core/fn?",
        |x| is_fn(x),
        "Whether it is a function.",
        &[("(fn? inc)", "true"), ("(fn? :a)", "false")]
    ),
    predicate!(
        "clojure.core/ifn?",
        |x| is_callable(x),
        "Whether it can be called: a function, keyword, map, set, vector and the like.",
        &[("(ifn? :a)", "true"), ("(ifn? 1)", "false")]
    ),
    predicate!(
        "clojure.core/var?",
        |x| matches!(x, Value::Var(_)),
        "Whether it is a var.",
        &[("(var? #'inc)", "true"), ("(var? inc)", "false")]
    ),
    predicate!(
        "clojure.core/uri?",
        |x| matches!(x, Value::Unbound),
        "Whether it is a java.net.URI, which no value is here.",
        &[("(uri? \"http://a.b\")", "false")]
    ),
    predicate!(
        "clojure.core/volatile?",
        |x| is_cell(x, CellKind::Volatile),
        "Whether it is a volatile.",
        &[("(volatile? (volatile! 1))", "true"), ("(volatile? 1)", "false")]
    ),
    predicate!(
        "clojure.core/delay?",
        |x| is_cell(x, CellKind::Delay),
        "Whether it is a delay.",
        &[("(delay? (delay 1))", "true"), ("(delay? 1)", "false")]
    ),
    predicate!(
        "ptc/atom?",
        |x| is_cell(x, CellKind::Atom),
        "Whether it is an atom.",
        &[("(atom? (atom 1))", "true"), ("(atom? 1)", "false")]
    ),
    predicate!(
        "ptc/regex?",
        |x| matches!(x, Value::Regex(_)),
        "Whether it is a regular expression.",
        &[("(regex? #\"a+\")", "true"), ("(regex? \"a+\")", "false")]
    ),
    predicate!(
        "clojure.core/uuid?",
        |x| matches!(x, Value::Time(time) if matches!(**time, Time::Uuid(_))),
        "Whether it is a UUID.",
        &[("(uuid? (random-uuid))", "true"), ("(uuid? \"a\")", "false")]
    ),
    predicate!(
        "clojure.core/bytes?",
        |_x| false,
        "False for everything: there are no arrays.",
        &[("(bytes? \"a\")", "false")]
    ),
];

fn is_number(x: &Value) -> bool {
    matches!(x, Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_))
}

fn is_integer(x: &Value) -> bool {
    matches!(x, Value::Int(_) | Value::Big(_))
}

fn is_small(x: &Value) -> bool {
    matches!(x, Value::Int(_))
}

fn has_sign(x: &Value, sign: Ordering) -> bool {
    arith::sign(x).is_ok_and(|other| other == sign)
}

fn is_zero(x: &Value) -> bool {
    x.as_i64() == Some(0)
        || matches!(x, Value::Float(float) if *float == 0.0)
        || matches!(x, Value::Decimal(decimal) if decimal.is_zero())
}

/// Whether a number is even; whole floats and decimals count.
fn parity(x: &Value) -> Option<bool> {
    match x {
        Value::Int(int) => Some(int % 2 == 0),
        Value::Big(big) => Some(big.is_even()),
        Value::Float(float) if float.is_finite() && float.fract() == 0.0 => Some(float % 2.0 == 0.0),
        Value::Decimal(decimal) => decimal.as_int().map(|int| int.is_even()),
        _ => None,
    }
}

fn keyword(x: &Value) -> Option<Name> {
    match x {
        Value::Kw(name) => Some(*name),
        _ => None,
    }
}

fn symbol(x: &Value) -> Option<Name> {
    match x {
        Value::Sym(name) => Some(*name),
        _ => None,
    }
}

fn ident(x: &Value) -> Option<Name> {
    keyword(x).or(symbol(x))
}

/// Whether there is a name, and it has a namespace or not as asked.
fn is_named(heap: &Heap, name: Option<Name>, qualified: bool) -> Res {
    Ok(Value::Bool(name.is_some_and(|name| heap.names.parts(name).0.is_some() == qualified)))
}

fn is_map(x: &Value) -> bool {
    match x {
        Value::Map(_) => true,
        Value::Sorted(body) => !body.is_set,
        _ => false,
    }
}

fn is_set(x: &Value) -> bool {
    match x {
        Value::Set(_) => true,
        Value::Sorted(body) => body.is_set,
        _ => false,
    }
}

fn is_list(x: &Value) -> bool {
    match x {
        Value::Seq(body) => body.list,
        Value::Cons(body) => body.list,
        _ => false,
    }
}

fn is_seq(x: &Value) -> bool {
    x.is_sequential() && !matches!(x, Value::Vec(_))
}

fn is_coll(x: &Value) -> bool {
    x.is_sequential() || is_map(x) || is_set(x)
}

fn is_counted(x: &Value) -> bool {
    matches!(x, Value::Vec(_) | Value::Seq(_) | Value::Range(_)) || is_map(x) || is_set(x)
}

fn is_fn(x: &Value) -> bool {
    matches!(x, Value::Fn(_) | Value::Builtin(_) | Value::Tool(_))
}

fn is_callable(x: &Value) -> bool {
    match x {
        Value::Map(body) => body.record().is_none(),
        Value::Kw(_) | Value::Sym(_) | Value::Vec(_) | Value::Set(_) | Value::Sorted(_) | Value::Var(_) => {
            true
        }
        _ => is_fn(x) || is_cell(x, CellKind::Promise),
    }
}

fn is_cell(x: &Value, kind: CellKind) -> bool {
    matches!(x, Value::Cell(cell) if cell.kind == kind)
}

/// The symbols that Clojure's compiler knows.
const SPECIAL: &[&str] = &[
    "&",
    ".",
    "case*",
    "catch",
    "def",
    "deftype*",
    "do",
    "finally",
    "fn*",
    "if",
    "let*",
    "letfn*",
    "loop*",
    "monitor-enter",
    "monitor-exit",
    "new",
    "quote",
    "recur",
    "reify*",
    "set!",
    "throw",
    "try",
    "var",
];

fn is_special(x: &Value, names: &Names) -> bool {
    matches!(x, Value::Sym(name) if SPECIAL.contains(&names.text(*name)))
}
