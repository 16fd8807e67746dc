//! The core library's own source: read, declared and compiled once per process.

use std::sync::{Arc, LazyLock};

use crate::analyze::node::NodeKind;
use crate::analyze::{World, analyze_core};
use crate::builtins::{Builtin, Example, Run};
use crate::code::{Const, Unit};
use crate::compile::Compiler;
use crate::names::Names;
use crate::reader::{ReadLimits, read_all};
use crate::syntax::{Form, FormKind};

/// The source files.
const FILES: &[(&str, &str)] = &[
    ("aggregate", include_str!("core/aggregate.clj")),
    ("functions", include_str!("core/functions.clj")),
    ("hierarchies", include_str!("core/hierarchies.clj")),
    ("keys", include_str!("core/keys.clj")),
    ("lazy", include_str!("core/lazy.clj")),
    ("maps", include_str!("core/maps.clj")),
    ("multimethods", include_str!("core/multimethods.clj")),
    ("parallel", include_str!("core/parallel.clj")),
    ("protocols", include_str!("core/protocols.clj")),
    ("reduce", include_str!("core/reduce.clj")),
    ("sequences", include_str!("core/sequences.clj")),
    ("sets", include_str!("core/sets.clj")),
    ("sorted", include_str!("core/sorted.clj")),
    ("sorting", include_str!("core/sorting.clj")),
    ("state", include_str!("core/state.clj")),
    ("strings", include_str!("core/strings.clj")),
    ("support", include_str!("core/support.clj")),
    ("transducers", include_str!("core/transducers.clj")),
    ("walk", include_str!("core/walk.clj")),
];

/// A function of the core library's source.
struct Source {
    ns: String,
    form: Form,
    decl: Builtin,
}

struct Compiled {
    unit: Arc<Unit>,
    numbers: Vec<u32>,
    names: Arc<Names>,
}

static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read_sources);
static COMPILED: LazyLock<Compiled> = LazyLock::new(compile_sources);

/// The declarations of all functions written in the language, for the registry.
pub(crate) fn declarations() -> impl Iterator<Item = Builtin> {
    SOURCES.iter().map(|source| source.decl)
}

/// The compiled library.
pub(crate) fn unit() -> Arc<Unit> {
    COMPILED.unit.clone()
}

/// The number in the unit of the function at `place` in the sources.
#[inline]
pub(crate) fn function_number(place: u32) -> u32 {
    COMPILED.numbers[place as usize]
}

/// Names that every machine knows from the start.
pub(crate) fn names() -> Arc<Names> {
    COMPILED.names.clone()
}

fn read_sources() -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for (file, text) in FILES {
        let mut ns = "clojure.core".to_owned();
        let forms = read_all(text, &ReadLimits::default())
            .unwrap_or_else(|error| panic!("core/{file}.clj does not read: {error}"));
        for form in forms {
            match form.as_list() {
                Some([head, name, ..]) if head.as_symbol() == Some("ns") => {
                    ns = name.as_symbol().unwrap_or_default().to_owned();
                }
                Some([head, ..]) if matches!(head.as_symbol(), Some("defn" | "defn-")) => {
                    let place = u32::try_from(sources.len()).expect("few functions");
                    sources.push(declare(&ns, &form, place));
                }
                _ => panic!("core/{file}.clj holds more than ns, defn and defn-"),
            }
        }
    }
    sources
}

/// The declaration that a `defn` makes: name, parameters, docstring and examples.
fn declare(ns: &str, form: &Form, place: u32) -> Source {
    let items = form.as_list().unwrap_or_default();
    let name = items.get(1).and_then(Form::as_symbol).unwrap_or_default();
    let mut doc = "";
    let mut examples: Vec<Example> = Vec::new();
    let mut params = Vec::new();
    for item in items.iter().skip(2) {
        match &item.kind {
            FormKind::Str(text) if doc.is_empty() && params.is_empty() => doc = leak(text),
            FormKind::Map(pairs) if params.is_empty() => examples = read_examples(pairs),
            FormKind::Vector(vector) if params.is_empty() => params.push(describe_params(vector)),
            FormKind::List(clause) => {
                if let Some(vector) = clause.first().and_then(Form::as_vector) {
                    params.push(describe_params(vector));
                }
            }
            _ => {}
        }
    }
    let private = items.first().and_then(Form::as_symbol) == Some("defn-");
    let full = if private && !matches!(ns, "ptc.impl") {
        format!("ptc.impl/{name}")
    } else {
        format!("{ns}/{name}")
    };
    let decl = Builtin {
        name: leak(&full),
        params: leak(&params.join(" ")),
        doc,
        examples: Box::leak(examples.into_boxed_slice()),
        run: Run::Core(place),
    };
    Source { ns: ns.to_owned(), form: strip(form), decl }
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn describe_params(vector: &[Form]) -> String {
    let names = vector.iter().map(|form| form.as_symbol().unwrap_or("x"));
    format!("[{}]", names.collect::<Vec<_>>().join(" "))
}

fn read_examples(pairs: &[Form]) -> Vec<Example> {
    let text = |form: &Form| match &form.kind {
        FormKind::Str(text) => leak(text),
        _ => "",
    };
    pairs
        .chunks_exact(2)
        .filter(|pair| pair[0].as_keyword() == Some("examples"))
        .flat_map(|pair| pair[1].as_vector().unwrap_or_default())
        .filter_map(|example| match example.as_vector() {
            Some([source, value]) => Some((text(source), text(value))),
            _ => None,
        })
        .collect()
}

/// `(defn name doc attributes clauses…)` as `(fn clauses…)`.
fn strip(form: &Form) -> Form {
    let items = form.as_list().unwrap_or_default();
    let mut rest = &items[2..];
    while let [Form { kind: FormKind::Str(_) | FormKind::Map(_), .. }, more @ ..] = rest {
        rest = more;
    }
    let head = Form::new(FormKind::Symbol("fn".to_owned()), form.span);
    Form::new(FormKind::List([&[head], rest].concat()), form.span)
}

fn compile_sources() -> Compiled {
    let mut compiler = Compiler::for_library();
    let mut numbers = Vec::with_capacity(SOURCES.len());
    let mut mistakes = Vec::new();
    for source in SOURCES.iter() {
        let name = source.decl.name;
        let node = match analyze_core(&source.form, &source.ns, &CoreWorld) {
            Ok(node) => node,
            Err(error) => {
                mistakes.push(format!("{name}: {error}"));
                continue;
            }
        };
        let NodeKind::Fn(mut function) = node.kind else { panic!("{name} is a function") };
        function.name = Some(name.to_owned());
        let number = compiler
            .function(*function)
            .unwrap_or_else(|error| panic!("{name} of the core library does not compile: {error}"));
        numbers.push(u32::from(number));
    }
    assert!(mistakes.is_empty(), "the core library does not compile:\n{}", mistakes.join("\n"));
    let unit = compiler.finish(Arc::from(""));
    let mut names = Names::default();
    for constant in &unit.consts {
        if let Const::Keyword(text) | Const::Symbol(text) | Const::Type(text) = constant {
            names.intern(text);
        }
    }
    Compiled { unit: Arc::new(unit), numbers, names: Arc::new(names) }
}

/// The core library refers to builtins only.
struct CoreWorld;

impl World for CoreWorld {
    fn has_global(&self, _: &str) -> bool {
        false
    }

    fn globals(&self) -> Vec<String> {
        Vec::new()
    }

    fn tools(&self) -> Option<&[String]> {
        None
    }

    fn is_core(&self) -> bool {
        true
    }
}
