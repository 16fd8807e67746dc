//! The classes and interfaces that values would have on the JVM, as tables of names.
//!
//! There are no classes here, but programs ask for them in `class`, `instance?`, `catch`, `isa?` and
//! protocols. A row lists names from the most specific to `Object`. Where a value stands for several
//! classes (an integer for Long and Integer, a one-character string for Character) all are listed.

use super::exceptions::parent;
use super::registry;
use crate::value::text::is_character;
use crate::value::{CellKind, Time, Value};

const MAP: &str = "APersistentMap IPersistentMap Map Associative IPersistentCollection Counted Seqable Iterable \
     ILookup IFn Object";
const VECTOR: &str = "PersistentVector APersistentVector IPersistentVector Associative IPersistentCollection \
     Sequential Counted Indexed Seqable List Collection Iterable ILookup IFn Comparable Object";
const SET: &str = "APersistentSet IPersistentSet Set IPersistentCollection Counted Seqable Collection Iterable \
     IFn Object";
const SEQ: &str = "ISeq IPersistentCollection Sequential Seqable List Collection Iterable Object";

/// What stands before the common part of a row, and that part.
type Row = (&'static str, &'static str);

fn row(value: &Value) -> Row {
    match value {
        Value::Bool(_) => ("Boolean", "Comparable Object"),
        Value::Int(_) => ("Long Integer", "Number Comparable Object"),
        Value::Big(_) => ("BigInt BigInteger", "Number Comparable Object"),
        Value::Decimal(exact) if exact.ratio().is_some() => ("Ratio", "Number Comparable Object"),
        Value::Decimal(_) => ("BigDecimal", "Number Comparable Object"),
        Value::Float(_) => ("Double Float", "Number Comparable Object"),
        Value::Str(text) if is_character(text.as_str()) => {
            ("String Character", "CharSequence Comparable Object")
        }
        Value::Str(_) => ("String", "CharSequence Comparable Object"),
        Value::Kw(_) => ("Keyword", "Named IFn Comparable Object"),
        Value::Sym(_) => ("Symbol", "Named IFn Comparable Object"),
        Value::Vec(body) if body.entry => ("MapEntry IMapEntry", VECTOR),
        Value::Vec(_) => ("", VECTOR),
        Value::Seq(body) if body.queue => ("PersistentQueue", SEQ),
        Value::Seq(body) if body.list => ("PersistentList IPersistentList", SEQ),
        Value::Cons(cell) if cell.list => ("PersistentList IPersistentList", SEQ),
        Value::Cons(_) => ("Cons", SEQ),
        Value::Range(_) => ("Range", SEQ),
        Value::Seq(_) | Value::Lazy(_) => ("LazySeq", SEQ),
        Value::Map(body) if body.record().is_some() => ("IRecord", MAP),
        Value::Map(body) if body.len() > 8 => ("PersistentHashMap PersistentArrayMap", MAP),
        Value::Map(_) => ("PersistentArrayMap PersistentHashMap", MAP),
        Value::Set(_) => ("PersistentHashSet", SET),
        Value::Sorted(body) if body.is_set => ("PersistentTreeSet Sorted", SET),
        Value::Sorted(_) => ("PersistentTreeMap Sorted", MAP),
        Value::Fn(_) | Value::Builtin(_) | Value::Tool(_) => ("Fn", "AFn IFn Object"),
        Value::Cell(cell) => match cell.kind {
            CellKind::Atom => ("Atom IAtom", "IDeref Object"),
            CellKind::Volatile => ("Volatile", "IDeref Object"),
            CellKind::Delay => ("Delay", "IDeref IPending Object"),
            CellKind::Promise => ("Promise", "IDeref IPending Object"),
            CellKind::Matcher => ("Matcher", "Object"),
            CellKind::Builder => ("StringBuilder", "CharSequence Object"),
            CellKind::Transient => ("ITransientCollection", "Object"),
            CellKind::Array => ("Array", "Object"),
            CellKind::Format => ("DecimalFormat", "NumberFormat Format Object"),
        },
        Value::Var(_) => ("Var", "IDeref IFn Object"),
        Value::Type(_) => ("Class", "Object"),
        Value::Regex(_) => ("Pattern", "Object"),
        Value::Reduced(_) => ("Reduced", "IDeref Object"),
        Value::Time(time) => match **time {
            Time::JavaDate(_) => ("Date Inst", "Comparable Object"),
            Time::Instant(_) => ("Instant Inst", "Temporal Comparable Object"),
            Time::Uuid(_) | Time::Duration(_) => (time.type_name(), "Comparable Object"),
            _ => (time.type_name(), "Temporal Comparable Object"),
        },
        _ => ("", "Object"),
    }
}

/// The names of all types of a value, the most specific first; none for nil.
pub(super) fn names(value: &Value) -> Vec<&'static str> {
    match value {
        Value::Nil => Vec::new(),
        Value::Ex(ex) => {
            let mut names = vec![ex.class];
            names.extend(parents(ex.class));
            if ex.class == "ExceptionInfo" {
                names.push("IExceptionInfo");
            }
            names.push("Object");
            names
        }
        _ => {
            let (own, common) = row(value);
            own.split_whitespace().chain(common.split_whitespace()).collect()
        }
    }
}

/// The classes above a class of exceptions.
fn parents(class: &str) -> impl Iterator<Item = &'static str> {
    std::iter::successors(parent(class), |name| parent(name))
}

/// Classes whose supertypes programs may ask for, each with what is above it.
const ABOVE: &[Row] = &[
    ("String", "CharSequence Comparable Object"),
    ("Long", "Number Comparable Object"),
    ("Integer", "Number Comparable Object"),
    ("Double", "Number Comparable Object"),
    ("Float", "Number Comparable Object"),
    ("BigInt", "Number Object"),
    ("BigInteger", "Number Comparable Object"),
    ("BigDecimal", "Number Comparable Object"),
    ("Ratio", "Number Comparable Object"),
    ("Boolean", "Comparable Object"),
    ("Character", "Comparable Object"),
    ("Keyword", "Named IFn Comparable Object"),
    ("Symbol", "Named IFn Comparable Object"),
    ("PersistentArrayMap", MAP),
    ("PersistentHashMap", MAP),
    ("PersistentTreeMap", MAP),
    ("PersistentHashSet", SET),
    ("PersistentTreeSet", SET),
    ("PersistentList", SEQ),
    ("LazySeq", SEQ),
    ("Cons", SEQ),
];

/// The names above a class.
pub(super) fn supertypes(class: &str) -> Vec<&'static str> {
    let mut above: Vec<&'static str> = match ABOVE.iter().find(|(name, _)| *name == class) {
        Some((_, above)) => above.split_whitespace().collect(),
        // An interface is in the row of what implements it, before what is above it.
        None => [MAP, VECTOR, SET, SEQ]
            .iter()
            .map(|row| row.split_whitespace().skip_while(|name| *name != class).skip(1).collect())
            .find(|above: &Vec<_>| !above.is_empty())
            .unwrap_or_default(),
    };
    above.extend(parents(class));
    if !above.contains(&"Object") && class != "Object" {
        above.push("Object");
    }
    above
}

/// Packages of the classes that have one worth showing.
const PACKAGES: &[Row] = &[
    (
        "java.lang.",
        "String Long Integer Double Float Boolean Character Number Object Class Math CharSequence Comparable Iterable \
         Exception RuntimeException Error StackOverflowError Throwable ArithmeticException ClassCastException IllegalArgumentException IllegalStateException \
         NullPointerException IndexOutOfBoundsException NumberFormatException UnsupportedOperationException \
         StringIndexOutOfBoundsException AssertionError InterruptedException",
    ),
    ("java.math.", "BigInteger BigDecimal MathContext RoundingMode"),
    ("java.text.", "DecimalFormat NumberFormat Format"),
    ("java.util.", "Date UUID Map List Set Collection NoSuchElementException"),
    ("java.util.regex.", "Pattern"),
    ("clojure.core.", "Inst"),
    (
        "java.time.",
        "LocalDate LocalDateTime LocalTime Instant Duration ZonedDateTime OffsetDateTime Period ZoneId DayOfWeek Month \
         YearMonth Year DateTimeException",
    ),
    ("java.time.temporal.", "ChronoUnit"),
    ("java.time.format.", "DateTimeParseException DateTimeFormatter"),
    (
        "clojure.lang.",
        "Keyword Symbol Atom Volatile Delay BigInt Ratio LazySeq Cons MapEntry Var Reduced Range ExceptionInfo \
         ArityException PersistentVector PersistentArrayMap PersistentHashMap PersistentHashSet PersistentList \
         PersistentTreeMap PersistentTreeSet PersistentQueue IPersistentMap IPersistentVector IPersistentSet \
         IPersistentList IPersistentCollection ISeq Sequential Seqable Associative Counted Indexed Fn IFn AFn IDeref Named \
         IMapEntry IRecord IExceptionInfo",
    ),
];

/// The package of a class; none of a record, which belongs to the program.
fn package(simple: &str) -> Option<&'static str> {
    let is_in = |(_, names): &&Row| names.split_whitespace().any(|name| name == simple);
    PACKAGES.iter().find(is_in).map(|(package, _)| *package)
}

/// The name of a class with its package.
pub(crate) fn full_name(simple: &str) -> String {
    format!("{}{simple}", package(simple).unwrap_or("user."))
}

/// What to write where a class is called as if it were a function: its constructor, or one of its functions.
pub(crate) fn instead_of_calling(class: &str) -> String {
    /// Functions that make a value of a class, or are the best known of it.
    const USUAL: [&str; 6] = ["parse", "of", "valueOf", "parseInt", "parseLong", "abs"];
    if package(class).is_none() {
        return format!("a record is made with (->{class} …) or (map->{class} {{…}})");
    }
    let constructor = registry().qualified(&format!("{class}.")).map(|_| format!("({class}. …)"));
    let of_class = registry().iter().map(|(_, entry)| entry).filter(|entry| entry.ns == class);
    let functions: Vec<&str> = of_class
        .map(|entry| entry.local)
        .filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect();
    let usual = USUAL.iter().find(|usual| functions.contains(usual)).or_else(|| functions.first());
    let function = usual.map(|name| format!("({class}/{name} …)"));
    let ways: Vec<String> = constructor.into_iter().chain(function).collect();
    match ways.as_slice() {
        [] => "a class is not a function".to_owned(),
        ways => format!("a class is not a function: write {}", ways.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_the_classes_the_jvm_would_say() {
        let cases = [
            (Value::Int(1), "Long", "Number"),
            (Value::str("a"), "String", "Character"),
            (Value::vector(Vec::new()), "PersistentVector", "Sequential"),
            (Value::list(Vec::new()), "PersistentList", "ISeq"),
            (Value::entry(Value::Nil, Value::Nil), "MapEntry", "IPersistentVector"),
        ];
        for (value, class, interface) in cases {
            let names = names(&value);
            assert_eq!(names.first(), Some(&class));
            assert!(names.contains(&interface) && names.last() == Some(&"Object"), "{names:?}");
        }
        assert!(names(&Value::Nil).is_empty());
    }

    #[test]
    fn supertypes_go_up_to_object() {
        let cases = [
            ("Long", "Number"),
            ("IPersistentMap", "Associative"),
            ("NumberFormatException", "RuntimeException"),
            ("Point", "Object"),
        ];
        for (class, above) in cases {
            assert!(supertypes(class).contains(&above), "{class}");
        }
        assert!(supertypes("Object").is_empty());
        assert_eq!((full_name("Long"), full_name("Point")), ("java.lang.Long".into(), "user.Point".into()));
    }
}
