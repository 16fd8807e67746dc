//! Finding out what there is: `doc`, `apropos`, `dir` and their relatives, all derived from the
//! declarations of builtins and from the text of definitions.

use super::registry::{Entry, registry};
use super::{Builtin, Run, args, native, vars};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Name;
use crate::signal::Res;
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "ptc/doc",
        "[name]",
        doc,
        "Prints what a function does; its name needs no quote.",
        &[("(doc inc)", "nil")],
    ),
    native(
        "ptc/source",
        "[name]",
        source,
        "Prints the source of a function: of the program's own, or of the core library.",
        &[
            ("(source inc)", "nil"),
            ("(do (defn f [x] x) (with-out-str (source f)))", "\"(defn f [x] x)\\n\""),
        ],
    ),
    native(
        "ptc/apropos",
        "[text] [text options]",
        apropos,
        "Functions whose name or documentation has the text, best first; {:limit n} asks for more than 8.",
        &[("(vector? (apropos \"map\"))", "true"), ("(apropos \"zzzz\")", "[]")],
    ),
    native(
        "ptc/dir",
        "[ns] [ns options]",
        dir,
        "The functions of a namespace with a line each.",
        &[("(count (dir clojure.set))", "12")],
    ),
    native(
        "ptc/ns-publics",
        "[ns]",
        ns_publics,
        "The names of a namespace with their functions.",
        &[("(contains? (ns-publics 'clojure.set) 'union)", "true")],
    ),
    native(
        "clojure.core/all-ns",
        "[]",
        all_ns,
        "The names of all namespaces.",
        &[("(contains? (set (all-ns)) \"clojure.string\")", "true")],
    ),
    native(
        "clojure.core/ns-name",
        "[ns]",
        ns_name,
        "The name of a namespace.",
        &[("(ns-name 'clojure.set)", "\"clojure.set\"")],
    ),
];

const FEWEST: usize = 8;
const MOST: usize = 200;

/// Namespaces that hold nothing a program can call.
fn is_hidden(ns: &str) -> bool {
    matches!(ns, "prim" | "ptc.impl")
}

fn visible() -> impl Iterator<Item = &'static Entry> {
    registry().iter().map(|(_, entry)| entry).filter(|entry| !is_hidden(entry.ns))
}

/// The text of a reference: a string, symbol, keyword, type or builtin.
fn reference(heap: &Heap, args: &[Value]) -> Res<String> {
    Ok(match &args[0] {
        Value::Str(text) => text.as_str().to_owned(),
        Value::Sym(name) | Value::Kw(name) | Value::Type(name) | Value::Var(name) => {
            heap.names.text(*name).to_owned()
        }
        Value::Builtin(id) => registry().get(*id).name.to_owned(),
        _ => return args::fail(args, 0, "a name"),
    })
}

fn find(name: &str) -> Option<&'static Entry> {
    let id = registry().qualified(name).or_else(|| registry().unqualified(name))?;
    Some(registry().get(id)).filter(|entry| !is_hidden(entry.ns))
}

/// The definition of the program that a name means.
fn own(heap: &Heap, name: &str) -> Option<Name> {
    let name = name.strip_prefix("user/").unwrap_or(name);
    heap.names.find(name).filter(|name| heap.globals.find(*name).is_some())
}

fn doc(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = reference(heap, args)?;
    let text = match (own(heap, &name), find(&name)) {
        (Some(own), _) => describe_own(heap, own)?,
        (None, Some(entry)) => describe(entry),
        _ if crate::analyze::is_special(&name) => format!("{name}\n  A special form of the language."),
        _ => format!("No documentation for {name}."),
    };
    heap.print(&text)?;
    heap.print("\n")?;
    Ok(Value::Nil)
}

/// The documentation of a definition of the program.
fn describe_own(heap: &mut Heap, name: Name) -> Res<String> {
    let mut text = heap.names.text(name).to_owned();
    let Value::Map(meta) = vars::meta(heap, name)? else { return Ok(text) };
    for key in ["arglists", "doc"] {
        match meta.table.get(&heap.keyword(key)) {
            None | Some(Value::Nil) => {}
            Some(Value::Seq(lists)) => {
                let lists: Vec<String> =
                    lists.as_slice().iter().map(|list| heap.readable(list)).collect::<Res<_>>()?;
                text.push_str(&format!("\n  {}", lists.join(" ")));
            }
            Some(other) => text.push_str(&format!("\n  {}", heap.display(other)?)),
        }
    }
    Ok(text)
}

/// The documentation of a builtin as people read it.
pub fn describe(entry: &Entry) -> String {
    let mut text = format!("{}\n  {}\n  {}", entry.name, entry.params(), entry.doc());
    for (source, value) in entry.examples() {
        text.push_str(&format!("\n  {source} ;=> {value}"));
    }
    text
}

fn source(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = reference(heap, args)?;
    let own =
        own(heap, &name).and_then(|own| heap.globals.origin(own)).map(|origin| origin.text().to_owned());
    let text = match (own, find(&name)) {
        (Some(text), _) => text,
        (None, Some(entry)) => match entry.run {
            Run::Core(place) => crate::core::source_text(place).to_owned(),
            Run::Native(_) => {
                format!("{name} is native: it has no source in the language.\n{}", describe(entry))
            }
            Run::Const(_) => format!("{name} is a constant.\n{}", describe(entry)),
        },
        _ if crate::analyze::is_special(&name) => format!("{name} is a special form of the language."),
        _ => "Source not found".to_owned(),
    };
    heap.print(&text)?;
    heap.print("\n")?;
    Ok(Value::Nil)
}

fn limit(heap: &mut Heap, args: &[Value], default: usize) -> usize {
    let key = heap.keyword("limit");
    let asked = args.get(1).and_then(|options| match options {
        Value::Map(body) => body.table.get(&key).cloned(),
        _ => None,
    });
    match asked {
        Some(Value::Int(limit)) => usize::try_from(limit).unwrap_or(1).clamp(1, MOST),
        _ => default,
    }
}

fn line(entry: &Entry) -> Value {
    Value::string(format!("{} - {}", entry.local, entry.doc()))
}

fn apropos(heap: &mut Heap, args: &mut [Value]) -> Res {
    let wanted = args::text(args, 0)?.to_lowercase();
    heap.work(registry().iter().count())?;
    let limit = limit(heap, args, FEWEST);
    let rank = |entry: &Entry| {
        let name = entry.local.to_lowercase();
        match () {
            () if name == wanted => Some(0),
            () if name.starts_with(&wanted) => Some(1),
            () if name.contains(&wanted) => Some(2),
            () if entry.doc().to_lowercase().contains(&wanted) => Some(3),
            () => None,
        }
    };
    let mut found: Vec<(u8, &str, &Entry)> =
        visible().filter_map(|entry| Some((rank(entry)?, entry.local, entry))).collect();
    found.sort_by_key(|(rank, local, entry)| (*rank, *local, entry.ns));
    found.dedup_by_key(|(_, local, _)| *local);
    Ok(Value::vector(found.into_iter().take(limit).map(|(.., entry)| line(entry)).collect()))
}

fn namespaces() -> Vec<&'static str> {
    let mut all: Vec<&str> = visible().map(|entry| entry.ns).filter(|ns| !ns.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The full name of a namespace, `str` for `clojure.string` and so on.
fn namespace(heap: &Heap, args: &[Value]) -> Res<String> {
    let name = reference(heap, args)?;
    let full = crate::analyze::namespace_name(&name);
    if namespaces().contains(&full.as_str()) {
        return Ok(full);
    }
    Err(Error::new(ErrorKind::Runtime, format!("unknown namespace {name}"))
        .hint(format!("namespaces: {}", namespaces().join(", ")))
        .into())
}

fn members(ns: &str) -> Vec<&'static Entry> {
    let mut members: Vec<&Entry> = visible().filter(|entry| entry.ns == ns).collect();
    members.sort_by_key(|entry| entry.local);
    members
}

fn dir(heap: &mut Heap, args: &mut [Value]) -> Res {
    let ns = namespace(heap, args)?;
    let limit = limit(heap, args, 50);
    Ok(Value::vector(members(&ns).into_iter().take(limit).map(line).collect()))
}

fn ns_publics(heap: &mut Heap, args: &mut [Value]) -> Res {
    let ns = namespace(heap, args)?;
    let mut pairs = Vec::new();
    for entry in members(&ns) {
        if let Some(id) = registry().qualified(entry.name) {
            pairs.push((Value::Sym(heap.intern(entry.local)), Value::Builtin(id)));
        }
    }
    Ok(Value::map_of(pairs))
}

fn all_ns(_: &mut Heap, _: &mut [Value]) -> Res {
    Ok(Value::vector(namespaces().into_iter().map(Value::str).collect()))
}

fn ns_name(heap: &mut Heap, args: &mut [Value]) -> Res {
    namespace(heap, args).map(Value::string)
}
