//! The core library's own source. A function is read and compiled when it is first used, once per process.

use std::sync::{Arc, LazyLock, OnceLock};

use memchr::memmem::Finder;

use crate::analyze::node::NodeKind;
use crate::analyze::{World, analyze_core};
use crate::builtins::chain_part::ChainPart;
use crate::builtins::{ArgCount, Example, Shown};
use crate::code::Unit;
use crate::compile::Compiler;
use crate::names::Names;
use crate::reader::{ReadLimits, read_all};
use crate::syntax::{Form, FormKind};

/// The source files.
const FILES: &[(&str, &str)] = &[
    ("aggregate", include_str!("core/aggregate.clj")),
    ("discovery", include_str!("core/discovery.clj")),
    ("functions", include_str!("core/functions.clj")),
    ("hierarchies", include_str!("core/hierarchies.clj")),
    ("keys", include_str!("core/keys.clj")),
    ("lazy", include_str!("core/lazy.clj")),
    ("maps", include_str!("core/maps.clj")),
    ("multimethods", include_str!("core/multimethods.clj")),
    ("parallel", include_str!("core/parallel.clj")),
    ("pprint", include_str!("core/pprint.clj")),
    ("protocols", include_str!("core/protocols.clj")),
    ("reduce", include_str!("core/reduce.clj")),
    ("refs", include_str!("core/refs.clj")),
    ("sequences", include_str!("core/sequences.clj")),
    ("sets", include_str!("core/sets.clj")),
    ("sorted", include_str!("core/sorted.clj")),
    ("sorting", include_str!("core/sorting.clj")),
    ("state", include_str!("core/state.clj")),
    ("strings", include_str!("core/strings.clj")),
    ("support", include_str!("core/support.clj")),
    ("transducers", include_str!("core/transducers.clj")),
    ("vars", include_str!("core/vars.clj")),
    ("walk", include_str!("core/walk.clj")),
];

/// Names that core functions use as constants. Every machine knows them from the start, so that linked
/// core functions can be shared by all machines of a thread; a test holds the list complete.
const NAMES: &[&str] = &[
    "ancestors",
    "default",
    "descendants",
    "else",
    "hierarchy",
    "impls",
    "initk",
    "kf",
    "methods",
    "name",
    "parents",
    "pcalls",
    "pmap",
    "prefers",
    "ptc.impl/error",
    "ptc.impl/halt",
    "ptc.impl/multi",
    "ptc.impl/none",
    "ptc.impl/protocol",
    "somef",
    "vf",
];

/// A function of the core library's source. Only its name is known at the start; the rest is read and
/// compiled when it is first needed, which keeps start-up short.
struct CoreSource {
    ns: &'static str,
    name: &'static str,
    text: &'static str,
    declaration: OnceLock<Box<Declaration>>,
    unit: OnceLock<Arc<Unit>>,
}

/// What a `defn` of the core library says about itself.
pub(crate) struct Declaration {
    /// Parameter vectors.
    pub params: String,
    /// How many arguments it takes.
    pub arity: ArgCount,
    /// The docstring.
    pub doc: String,
    /// Examples that run as tests.
    pub examples: Vec<Example>,
    /// How much of its value is shown.
    pub shown: Shown,
    /// What it is in a chain of calls.
    pub part: Option<ChainPart>,
    form: Form,
}

static SOURCES: LazyLock<Vec<CoreSource>> = LazyLock::new(scan_files);
static BASE_NAMES: LazyLock<Arc<Names>> = LazyLock::new(|| {
    let mut names = Names::default();
    NAMES.iter().for_each(|name| {
        names.intern(name);
    });
    Arc::new(names)
});

/// The qualified names of all functions written in the language, in order of place.
pub(crate) fn function_names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.name)
}

/// The qualified name of the function at `place`.
pub(crate) fn function_name(place: u32) -> &'static str {
    SOURCES[place as usize].name
}

/// What the function at `place` says about itself.
pub(crate) fn declaration(place: u32) -> &'static Declaration {
    let source = &SOURCES[place as usize];
    source.declaration.get_or_init(|| Box::new(declare(source)))
}

/// The source text of the function at `place`, without the comments that belong to the next one.
pub(crate) fn source_text(place: u32) -> &'static str {
    let mut text = SOURCES[place as usize].text;
    while let Some((before, last)) = text.rsplit_once('\n')
        && (last.is_empty() || last.starts_with(';'))
    {
        text = before;
    }
    text
}

/// How many functions there are.
pub(crate) fn function_count() -> usize {
    SOURCES.len()
}

/// The compiled function at `place`: the first function of its own unit.
pub(crate) fn unit(place: u32) -> Arc<Unit> {
    let source = &SOURCES[place as usize];
    source.unit.get_or_init(|| Arc::new(compile_source(source, declaration(place)))).clone()
}

/// Names that every machine knows from the start.
pub(crate) fn names() -> Arc<Names> {
    BASE_NAMES.clone()
}

/// Finds the functions in the source files: a top-level form begins at the start of a line.
fn scan_files() -> Vec<CoreSource> {
    let form = Finder::new("\n(");
    let mut sources = Vec::with_capacity(512);
    for (file, text) in FILES {
        let mut ns = "clojure.core";
        let mut starts = form.find_iter(text.as_bytes()).map(|at| at + 1).peekable();
        while let Some(start) = starts.next() {
            let text = text[start..starts.peek().copied().unwrap_or(text.len())].trim_end();
            let mut words = text[1..].split_whitespace().map(|word| word.trim_end_matches(')'));
            match (words.next(), words.next()) {
                (Some("ns"), Some(name)) => ns = name,
                (Some(head @ ("defn" | "defn-")), Some(name)) => {
                    let private = head == "defn-" && ns != "ptc.impl";
                    let home = if private { "ptc.impl" } else { ns };
                    let mut full = String::with_capacity(home.len() + 1 + name.len());
                    full.push_str(home);
                    full.push('/');
                    full.push_str(name);
                    let name = Box::leak(full.into_boxed_str());
                    let (declaration, unit) = (OnceLock::new(), OnceLock::new());
                    sources.push(CoreSource { ns, name, text, declaration, unit });
                }
                _ => panic!("core/{file}.clj holds more than ns, defn and defn-"),
            }
        }
    }
    sources
}

/// Reads a `defn`: parameters, docstring, examples, how much of its value is shown and what it is in chains.
fn declare(source: &CoreSource) -> Declaration {
    let forms = read_all(source.text, &ReadLimits::default())
        .unwrap_or_else(|error| panic!("{} does not read: {error}", source.name));
    let [form] = forms.as_slice() else { panic!("{} is not one form", source.name) };
    let mut doc = String::new();
    let mut examples: Vec<Example> = Vec::new();
    let mut shown = Shown::default();
    let mut part = None;
    let mut params = Vec::new();
    for item in form.as_list().unwrap_or_default().iter().skip(2) {
        match &item.kind {
            FormKind::Str(text) if doc.is_empty() && params.is_empty() => doc.clone_from(text),
            FormKind::Map(pairs) if params.is_empty() => {
                examples = read_examples(pairs);
                shown = read_shown(pairs);
                part = read_part(pairs).map(|name| {
                    ChainPart::named(name).unwrap_or_else(|| panic!("{}: no part {name}", source.name))
                });
            }
            FormKind::Vector(vector) if params.is_empty() => params.push(describe_params(vector)),
            FormKind::List(clause) => {
                if let Some(vector) = clause.first().and_then(Form::as_vector) {
                    params.push(describe_params(vector));
                }
            }
            _ => {}
        }
    }
    let params = params.join(" ");
    Declaration { arity: ArgCount::parse(&params), params, doc, examples, shown, part, form: strip(form) }
}

fn describe_params(vector: &[Form]) -> String {
    let names = vector.iter().map(|form| form.as_symbol().unwrap_or("x"));
    format!("[{}]", names.collect::<Vec<_>>().join(" "))
}

fn read_examples(pairs: &[Form]) -> Vec<Example> {
    let text = |form: &Form| match &form.kind {
        FormKind::Str(text) => &*Box::leak(text.clone().into_boxed_str()),
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

/// `:discovers true` says that a function tells what there is.
fn read_shown(pairs: &[Form]) -> Shown {
    let discovers = pairs.chunks_exact(2).any(|pair| {
        pair[0].as_keyword() == Some("discovers") && matches!(pair[1].kind, FormKind::Bool(true))
    });
    if discovers { Shown::Discovery } else { Shown::Result }
}

/// `:chain :map` says what it is in a chain of calls.
fn read_part(pairs: &[Form]) -> Option<&str> {
    pairs.chunks_exact(2).find(|pair| pair[0].as_keyword() == Some("chain"))?[1].as_keyword()
}

/// `(defn name doc attributes clauses…)` as `(fn clauses…)`.
fn strip(form: &Form) -> Form {
    let items = form.as_list().unwrap_or_default();
    let mut rest = &items[2..];
    while let [Form { kind: FormKind::Str(_) | FormKind::Map(_), .. }, more @ ..] = rest {
        rest = more;
    }
    let head = Form::new(FormKind::Symbol("fn".to_owned()), form.span);
    Form::new(FormKind::List([&[head], rest].concat().into()), form.span)
}

fn compile_source(source: &CoreSource, declaration: &Declaration) -> Unit {
    let name = source.name;
    let node = analyze_core(&declaration.form, source.ns, &CoreWorld)
        .unwrap_or_else(|error| panic!("{name} of the core library is wrong: {error}"));
    let NodeKind::Fn(mut function) = node.kind else { panic!("{name} is a function") };
    function.name = Some(name.to_owned());
    let mut compiler = Compiler::for_library();
    compiler
        .function(*function)
        .unwrap_or_else(|error| panic!("{name} of the core library does not compile: {error}"));
    compiler.finish(Arc::from(source.text))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Const;

    fn collect(constant: &Const, out: &mut Vec<String>) {
        match constant {
            Const::Keyword(name)
            | Const::Symbol(name)
            | Const::Type(name)
            | Const::Tool(name)
            | Const::Var(name) => out.push(name.clone()),
            Const::List(items) | Const::Vector(items) | Const::Set(items) => {
                items.iter().for_each(|item| collect(item, out));
            }
            Const::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                collect(key, out);
                collect(value, out);
            }),
            _ => {}
        }
    }

    #[test]
    fn every_function_compiles_and_uses_only_the_listed_names() {
        let mut used = Vec::new();
        for place in 0..function_count() {
            let unit = unit(place as u32);
            unit.consts.iter().for_each(|constant| collect(constant, &mut used));
            let verified = crate::verify::verify(&unit);
            assert!(verified.is_ok(), "{}: {verified:?}", function_name(place as u32));
        }
        used.sort_unstable();
        used.dedup();
        assert_eq!(NAMES, used, "core::NAMES must list exactly these");
    }
}
