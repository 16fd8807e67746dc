//! Exceptions: `ex-info`, the Java-named constructors, and which class catches what.
//!
//! Errors of the machine have kinds, not classes. When a program catches one it sees a Java class
//! name, and `catch` matches leniently: one kind stands for several classes of the JVM.

use std::rc::Rc;

use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::print::{HIDDEN, Printer, Style, is_hidden_key};
use crate::value::{ExObj, Map, Shape, Stamp, Value};

/// Declares a constructor for each class that programs may throw.
macro_rules! constructors {
    ($($function:ident $class:literal $name:literal $example:literal,)*) => {
        $(fn $function(heap: &mut Heap, args: &mut [Value]) -> Res {
            construct(heap, args, $class)
        })*

        /// The constructors, to be listed with the other builtins.
        pub(super) static CONSTRUCTORS: &[Builtin] = &[$(native(
            $name,
            "[] [message] [message cause]",
            $function,
            concat!("An exception of class ", $class, ", to be thrown."),
            &[($example, "\"no\"")],
        ),)*];
    };
}

constructors! {
    exception "Exception" "Exception." "(ex-message (Exception. \"no\"))",
    runtime "RuntimeException" "RuntimeException." "(ex-message (RuntimeException. \"no\"))",
    argument "IllegalArgumentException" "IllegalArgumentException."
        "(ex-message (IllegalArgumentException. \"no\"))",
    state "IllegalStateException" "IllegalStateException." "(ex-message (IllegalStateException. \"no\"))",
    arithmetic "ArithmeticException" "ArithmeticException." "(ex-message (ArithmeticException. \"no\"))",
    unsupported "UnsupportedOperationException" "UnsupportedOperationException."
        "(ex-message (UnsupportedOperationException. \"no\"))",
    number_format "NumberFormatException" "NumberFormatException."
        "(ex-message (NumberFormatException. \"no\"))",
    bounds "IndexOutOfBoundsException" "IndexOutOfBoundsException."
        "(ex-message (IndexOutOfBoundsException. \"no\"))",
    null "NullPointerException" "NullPointerException." "(ex-message (NullPointerException. \"no\"))",
    cast "ClassCastException" "ClassCastException." "(ex-message (ClassCastException. \"no\"))",
    interrupted "InterruptedException" "InterruptedException."
        "(ex-message (InterruptedException. \"no\"))",
    no_element "NoSuchElementException" "NoSuchElementException."
        "(ex-message (NoSuchElementException. \"no\"))",
    error "Error" "Error." "(ex-message (Error. \"no\"))",
    throwable "Throwable" "Throwable." "(ex-message (Throwable. \"no\"))",
    assertion "AssertionError" "AssertionError." "(ex-message (AssertionError. \"no\"))",
}

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/ex-info",
        "[message data] [message data cause]",
        ex_info,
        "An exception with a message and a map of data, to be thrown.",
        &[("(try (throw (ex-info \"no\" {:a 1})) (catch Exception e (ex-data e)))", "{:a 1}")],
    ),
    native(
        "ExceptionInfo.",
        "[message data] [message data cause]",
        ex_info,
        "Same as ex-info.",
        &[("(ex-data (ExceptionInfo. \"no\" {:a 1}))", "{:a 1}")],
    ),
    native(
        "clojure.core/ex-data",
        "[ex]",
        ex_data,
        "The data of an exception made by ex-info; nil for others.",
        &[("(ex-data (ex-info \"no\" {:a 1}))", "{:a 1}")],
    ),
    native(
        "clojure.core/ex-message",
        "[ex]",
        ex_message,
        "The message of an exception; nil for other values.",
        &[("(ex-message (ex-info \"no\" {}))", "\"no\"")],
    ),
    native(
        "clojure.core/ex-cause",
        "[ex]",
        ex_cause,
        "The exception that caused this one; nil if there is none.",
        &[("(ex-message (ex-cause (ex-info \"a\" {} (ex-info \"b\" {}))))", "\"b\"")],
    ),
    native(
        "clojure.core/Throwable->map",
        "[ex]",
        throwable_map,
        "An exception as data: cause, data and the chain of causes.",
        &[("(:cause (Throwable->map (ex-info \"no\" {})))", "\"no\"")],
    ),
    native("prim/throw", "[ex]", throw, "Throws an exception.", &[]),
    native(
        "prim/upstream-value",
        "[server tool answer]",
        upstream_value,
        "The value in the answer of an upstream; throws if the call failed.",
        &[],
    ),
];

/// Bytes counted for an exception without its message.
const BODY: usize = 192;

fn make(heap: &mut Heap, class: &'static str, message: String, data: Value, cause: Value) -> Value {
    heap.allocated(BODY + message.len());
    let shape = Shape::of([&data, &cause]);
    let error = Error::new(ErrorKind::Exception, message);
    Value::Ex(Rc::new(ExObj { error, data, cause, class, shape, stamp: Stamp::new() }))
}

/// The exception that `catch` binds for an error of the machine.
pub(crate) fn from_error(error: Error) -> Rc<ExObj> {
    let class = match error.kind {
        ErrorKind::Type if error.message.ends_with("nil") => "NullPointerException",
        kind => class_of(kind),
    };
    Rc::new(ExObj {
        error,
        data: Value::Nil,
        cause: Value::Nil,
        class,
        shape: Shape::EMPTY,
        stamp: Stamp::new(),
    })
}

/// The same with data, for failures of tools that say more than a message.
pub(crate) fn with_data(error: Error, data: Value) -> Rc<ExObj> {
    let shape = Shape::of([&data, &Value::Nil]);
    Rc::new(ExObj { data, shape, ..(*from_error(error)).clone() })
}

fn construct(heap: &mut Heap, args: &mut [Value], class: &'static str) -> Res {
    let (mut message, mut cause) = (String::new(), Value::Nil);
    for value in args.iter() {
        match value {
            Value::Ex(_) => {
                if args.len() == 1 {
                    message = heap.display(value)?;
                }
                cause = value.clone();
            }
            value => message = heap.display(value)?,
        }
    }
    Ok(make(heap, class, message, Value::Nil, cause))
}

fn ex_info(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !matches!(args[1], Value::Map(_)) && !matches!(&args[1], Value::Sorted(body) if !body.is_set) {
        let error = args::wrong(args, 1, "a map of data");
        return Err(error.hint("write (ex-info \"message\" {:key value})").into());
    }
    let cause = match args.get(2) {
        None | Some(Value::Nil) => Value::Nil,
        Some(cause @ Value::Ex(_)) => cause.clone(),
        Some(_) => return args::fail(args, 2, "an exception"),
    };
    let message = heap.display(&args[0])?;
    Ok(make(heap, "ExceptionInfo", message, args::take(args, 1), cause))
}

fn ex_data(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(match &args[0] {
        Value::Ex(ex) => ex.data.clone(),
        _ => Value::Nil,
    })
}

/// A copy of the message: an exception may live long, and be asked again and again.
fn message_of(heap: &mut Heap, ex: &ExObj) -> Res {
    let message = &ex.error.message;
    if message.is_empty() {
        return Ok(Value::Nil);
    }
    heap.work(message.len() / 8)?;
    heap.reserve(message.len())?;
    Ok(Value::str(message))
}

fn ex_message(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Ex(ex) => message_of(heap, ex),
        _ => Ok(Value::Nil),
    }
}

fn ex_cause(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(match &args[0] {
        Value::Ex(ex) => ex.cause.clone(),
        _ => Value::Nil,
    })
}

fn need_ex(args: &[Value]) -> Res<&Rc<ExObj>> {
    match &args[0] {
        Value::Ex(ex) => Ok(ex),
        _ => args::fail(args, 0, "an exception"),
    }
}

fn throwable_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut ex = need_ex(args)?.clone();
    let mut via = Vec::new();
    loop {
        heap.work(1)?;
        heap.allocated(BODY);
        let mut link = Map::default();
        link.insert(heap.keyword("type"), Value::Sym(heap.intern(ex.class)));
        link.insert(heap.keyword("message"), message_of(heap, &ex)?);
        if !ex.data.is_nil() {
            link.insert(heap.keyword("data"), ex.data.clone());
        }
        via.push(Value::Map(link));
        match ex.cause.clone() {
            Value::Ex(inner) => ex = inner,
            _ => break,
        }
    }
    let mut table = Map::default();
    table.insert(heap.keyword("via"), Value::vector(via));
    table.insert(heap.keyword("trace"), Value::vector(Vec::new()));
    table.insert(heap.keyword("cause"), message_of(heap, &ex)?);
    if !ex.data.is_nil() {
        table.insert(heap.keyword("data"), ex.data.clone());
    }
    Ok(Value::Map(table))
}

/// Throws. Values that are no exceptions are wrapped, so that what the program said is not lost.
fn throw(heap: &mut Heap, args: &mut [Value]) -> Res {
    let thrown = match &args[0] {
        Value::Ex(ex) => match with_data_told(heap, ex)? {
            Some(told) => Value::Ex(Rc::new(told)),
            None => args::take(args, 0),
        },
        Value::Map(_) => {
            let message = heap.readable(&args[0])?;
            make(heap, "ExceptionInfo", message, args::take(args, 0), Value::Nil)
        }
        value => {
            let message = heap.display(value)?;
            make(heap, "ExceptionInfo", message, Value::Nil, Value::Nil)
        }
    };
    Err(Signal::Throw(thrown).into())
}

/// The value that a call of an upstream gave. A failure is thrown, with what `tool/call` would have answered as data.
fn upstream_value(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [ok, value, reason, message] = ["ok", "value", "reason", "message"].map(|key| heap.keyword(key));
    let answer = args::take(args, 2);
    let Value::Map(fields) = &answer else { return Ok(answer) };
    match fields.get(&ok) {
        Some(Value::Bool(true)) => return Ok(fields.get(&value).cloned().unwrap_or_default()),
        Some(Value::Bool(false)) => {}
        _ => return Ok(answer),
    }
    let told = |heap: &mut Heap, key: &Value| match fields.get(key) {
        Some(Value::Kw(name)) => Ok(heap.names.text(*name).to_owned()),
        Some(other) => heap.display(other),
        None => Ok(String::new()),
    };
    let (why, what) = (told(heap, &reason)?, told(heap, &message)?);
    let [server, tool] = [&args[0], &args[1]].map(|name| name.as_str().unwrap_or_default().to_owned());
    let text = format!("{server}/{tool} failed ({why}): {what}");
    heap.allocated(2 * BODY + text.len());
    let named =
        [("server", server), ("tool", tool)].map(|(key, name)| (heap.keyword(key), Value::string(name)));
    let data = Value::map_of(fields.iter().map(|(key, value)| (key.clone(), value.clone())).chain(named));
    let error = Error::new(ErrorKind::Tool, text);
    let thrown = ExObj { class: "ExceptionInfo", ..(*with_data(error, data)).clone() };
    Err(Signal::Throw(Value::Ex(Rc::new(thrown))).into())
}

/// The exception with its data in the hint, where there is any: of an exception that nobody catches, the program's end
/// shows message and hint. Hosts cover what must not be seen where it stands whole, so what is long is left out, not cut.
fn with_data_told(heap: &mut Heap, ex: &ExObj) -> Res<Option<ExObj>> {
    const ENTRIES: usize = 8;
    let entries: Vec<(&Value, &Value)> = match &ex.data {
        Value::Map(data) => data.iter().take(ENTRIES + 1).collect(),
        Value::Sorted(data) => {
            data.entries.iter().take(ENTRIES + 1).map(|(key, value)| (key, value)).collect()
        }
        _ => Vec::new(),
    };
    if entries.is_empty() || ex.error.hint.is_some() {
        return Ok(None);
    }
    let mut shown = Vec::new();
    for (key, value) in entries.iter().take(ENTRIES) {
        let hidden = heap.firewall && is_hidden_key(key, &heap.names);
        let value = if hidden { HIDDEN.to_owned() } else { short(heap, value)? };
        shown.push(format!("{} {value}", short(heap, key)?));
    }
    if entries.len() > ENTRIES {
        shown.push("…".to_owned());
    }
    let hint = format!("its data is {{{}}}", shown.join(", "));
    heap.allocated(BODY + ex.error.message.len() + hint.len());
    Ok(Some(ExObj { error: ex.error.clone().hint(hint), ..ex.clone() }))
}

/// The text of a value, or a sign for it if that is long.
fn short(heap: &mut Heap, value: &Value) -> Res<String> {
    const LONGEST: usize = 30;
    let mut printer = Printer::new(&heap.names, Style::Readable, LONGEST).masked(heap.firewall);
    let is_long = printer.value(value).is_err();
    let work = printer.work();
    let text = printer.finish();
    heap.work(work + 1)?;
    Ok(if is_long { "…".to_owned() } else { text })
}

/// The class that an error of the machine shows as.
pub(crate) fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Type | ErrorKind::NotCallable | ErrorKind::Destructure => "ClassCastException",
        ErrorKind::IllegalArgument | ErrorKind::DuplicateKey | ErrorKind::InvalidArity => {
            "IllegalArgumentException"
        }
        ErrorKind::Arithmetic => "ArithmeticException",
        ErrorKind::Arity => "ArityException",
        ErrorKind::IndexOutOfBounds => "IndexOutOfBoundsException",
        ErrorKind::Format => "NumberFormatException",
        ErrorKind::Unsupported => "UnsupportedOperationException",
        ErrorKind::Exception => "ExceptionInfo",
        _ => "RuntimeException",
    }
}

/// Every class that an exception can have.
pub(crate) const CLASSES: &[&str] = &[
    "Throwable",
    "Exception",
    "Error",
    "AssertionError",
    "StackOverflowError",
    "RuntimeException",
    "InterruptedException",
    "NumberFormatException",
    "ArityException",
    "StringIndexOutOfBoundsException",
    "ArrayIndexOutOfBoundsException",
    "DateTimeParseException",
    "ExceptionInfo",
    "IllegalArgumentException",
    "IllegalStateException",
    "ArithmeticException",
    "UnsupportedOperationException",
    "IndexOutOfBoundsException",
    "NullPointerException",
    "ClassCastException",
    "NoSuchElementException",
    "DateTimeException",
];

/// The class with a name, if exceptions can have it.
pub(crate) fn class_named(name: &str) -> Option<&'static str> {
    CLASSES.iter().copied().find(|class| *class == name)
}

/// The class above a class of exceptions.
pub(super) fn parent(class: &str) -> Option<&'static str> {
    Some(match class {
        "Throwable" => return None,
        "Exception" | "Error" => "Throwable",
        "AssertionError" | "StackOverflowError" => "Error",
        "RuntimeException" | "InterruptedException" => "Exception",
        "NumberFormatException" | "ArityException" => "IllegalArgumentException",
        "StringIndexOutOfBoundsException" | "ArrayIndexOutOfBoundsException" => "IndexOutOfBoundsException",
        "DateTimeParseException" => "DateTimeException",
        "ExceptionInfo"
        | "IllegalArgumentException"
        | "IllegalStateException"
        | "ArithmeticException"
        | "UnsupportedOperationException"
        | "IndexOutOfBoundsException"
        | "NullPointerException"
        | "ClassCastException"
        | "NoSuchElementException"
        | "DateTimeException" => "RuntimeException",
        _ => return None,
    })
}

/// Classes of the JVM that programs may name in `catch` although nothing here throws them.
const NEVER_THROWN: &[&str] = &[
    "CancellationException",
    "CloneNotSupportedException",
    "ConcurrentModificationException",
    "EOFException",
    "ExecutionException",
    "FileNotFoundException",
    "IOException",
    "InputMismatchException",
    "JsonParseException",
    "LinkageError",
    "MalformedURLException",
    "NegativeArraySizeException",
    "OutOfMemoryError",
    "ParseException",
    "PatternSyntaxException",
    "SecurityException",
    "SocketTimeoutException",
    "TimeoutException",
    "URISyntaxException",
    "UncheckedIOException",
    "UnknownHostException",
    "VirtualMachineError",
];

/// Whether `(catch class e …)` may name a class.
pub(crate) fn can_be_caught(class: &str) -> bool {
    /// What takes every exception, and what ClojureScript writes.
    const ANY: &[&str] = &[":default", "Object", "IExceptionInfo", "js/Error", "js/Object"];
    let simple = class.rsplit('.').next().unwrap_or(class);
    ANY.contains(&simple) || class_named(simple).is_some() || NEVER_THROWN.contains(&simple)
}

/// Whether `(catch class e …)` takes this exception.
pub(crate) fn catches(class: &str, ex: &ExObj) -> bool {
    let class = class.rsplit(['.', '/']).next().unwrap_or(class);
    if matches!(class, "Throwable" | ":default" | "Object") {
        return true;
    }
    let mut above = Some(ex.class);
    while let Some(name) = above {
        if name == class || (name == "ExceptionInfo" && class == "IExceptionInfo") {
            return true;
        }
        above = parent(name);
    }
    ex.error.kind != ErrorKind::Exception && stands_for(ex.error.kind, class)
}

/// Whether an error of the machine also stands for another class of the JVM.
fn stands_for(kind: ErrorKind, class: &str) -> bool {
    use ErrorKind::*;
    match class {
        "Exception" | "RuntimeException" | "Error" => true,
        "ClassCastException" | "NullPointerException" => {
            matches!(kind, Type | NotCallable | Destructure | IllegalArgument)
        }
        "IllegalArgumentException" => {
            matches!(kind, Type | NotCallable | Destructure | IllegalArgument | Arity | Format | Unsupported)
        }
        "IllegalStateException" => matches!(kind, IllegalArgument | Runtime),
        "StringIndexOutOfBoundsException" | "ArrayIndexOutOfBoundsException" => kind == IndexOutOfBounds,
        "DateTimeParseException" | "DateTimeException" => matches!(kind, Format | IllegalArgument),
        "NumberFormatException" => kind == IllegalArgument,
        "UnsupportedOperationException" => matches!(kind, Type | NotCallable),
        "ExceptionInfo" | "IExceptionInfo" => {
            matches!(kind, Tool | Rejected | UnknownTool | InvalidToolArgs | Pmap | Pcalls)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap};
    use super::*;

    fn machine_error(kind: ErrorKind, message: &str) -> Rc<ExObj> {
        from_error(Error::new(kind, message))
    }

    #[test]
    fn machine_errors_are_caught_by_the_classes_of_the_jvm() {
        let cases = [
            (ErrorKind::Arithmetic, "ArithmeticException", true),
            (ErrorKind::Arithmetic, "Exception", true),
            (ErrorKind::Arithmetic, "ClassCastException", false),
            (ErrorKind::Type, "ClassCastException", true),
            (ErrorKind::Type, "NullPointerException", true),
            (ErrorKind::Arity, "ArityException", true),
            (ErrorKind::Arity, "IllegalArgumentException", true),
            (ErrorKind::IndexOutOfBounds, "StringIndexOutOfBoundsException", true),
            (ErrorKind::Format, "NumberFormatException", true),
            (ErrorKind::Format, "DateTimeParseException", true),
            (ErrorKind::Tool, "ExceptionInfo", true),
            (ErrorKind::Rejected, "ExceptionInfo", true),
            (ErrorKind::Type, "ExceptionInfo", false),
            (ErrorKind::Runtime, ":default", true),
            (ErrorKind::Runtime, "js/Error", true),
            (ErrorKind::Runtime, "IOException", false),
        ];
        for (kind, class, expected) in cases {
            assert_eq!(catches(class, &machine_error(kind, "x")), expected, "{kind:?} {class}");
        }
        assert_eq!(
            machine_error(ErrorKind::Type, "argument 1 must be a map, got nil").class,
            "NullPointerException"
        );
    }

    #[test]
    fn thrown_exceptions_are_caught_by_their_class_and_those_above() {
        let heap = &mut heap();
        let made = call(heap, "IllegalArgumentException.", [Value::str("no")]).map_err(|_| ());
        let Ok(Value::Ex(ex)) = made else { panic!("a constructor makes an exception") };
        let caught = ["IllegalArgumentException", "RuntimeException", "Exception", "Throwable"];
        assert!(caught.iter().all(|class| catches(class, &ex)));
        assert!(!catches("ExceptionInfo", &ex) && !catches("Error", &ex) && !catches("ArityException", &ex));
    }

    #[test]
    fn what_is_no_exception_is_wrapped_when_thrown() {
        let heap = &mut heap();
        let Err(signal) = call(heap, "prim/throw", [Value::str("boom")]) else { panic!("throw throws") };
        let Signal::Throw(ex) = *signal else { panic!("throw throws") };
        assert_eq!(answer(heap, "clojure.core/ex-message", [ex]), "\"boom\"");
        assert_eq!(answer(heap, "clojure.core/ex-info", [Value::str("a"), Value::Nil]), "type_error");
    }
}
