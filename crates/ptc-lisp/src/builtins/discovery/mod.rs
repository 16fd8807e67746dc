//! Finding out what there is: `doc`, `apropos`, `dir` and their relatives, all derived from the
//! declarations of builtins and from the text of definitions. What is not known here is asked of the host, if
//! it offers discovery: such a question leaves the machine like a tool call, but counts as none.

mod library;
mod options;
mod preludes;

use std::sync::LazyLock;

use super::registry::{Entry, registry};
use super::{Builtin, Run, args, native, vars};
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::machine::DISCOVER;
use crate::names::Name;
use crate::pages;
use crate::signal::{Res, Signal, ToolRequest};
use crate::value::Value;
use options::{AproposQuery, PageRange, flag};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "ptc/doc",
        "[name]",
        doc,
        "What a function does, as text; its name needs no quote.",
        &[("(subs (doc clojure.string/join) 0 19)", "\"clojure.string/join\"")],
    )
    .discovers(),
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
        "ptc/dir",
        "[ns] [ns options]",
        dir,
        "The functions of a namespace with a line each; {:limit n :offset n} shows another part, {:full true} also \
         what lists leave out.",
        &[("(count (dir clojure.set))", "12"), ("(count (dir 'clojure.set {:offset 10}))", "2")],
    )
    .discovers(),
    native(
        "ptc/ns-publics",
        "[ns] [ns options]",
        ns_publics,
        "The names of a namespace with what is known about each; {:full true} also of one that lists leave out.",
        &[("(contains? (ns-publics 'clojure.set) 'union)", "true")],
    )
    .discovers(),
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
    native("prim/servers", "[]", servers, "The upstream servers, as the host tells.", &[]).discovers(),
    native("prim/apropos-asked", "[text options]", apropos_asked, "What the host finds, or nil.", &[]),
    native("prim/apropos", "[text options found]", apropos, "All that was found, best first.", &[]),
];

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
    let id = registry().qualified(name).or_else(|| registry().unqualified(name)).or_else(|| {
        let (ns, local) = crate::names::split_name(name);
        registry().qualified(&format!("{}/{local}", crate::analyze::namespace_name(ns?)))
    })?;
    Some(registry().get(id)).filter(|entry| !is_hidden(entry.ns))
}

/// The definition of the program that a name means.
fn own(heap: &Heap, name: &str) -> Option<Name> {
    let name = name.strip_prefix("user/").unwrap_or(name);
    heap.names.find(name).filter(|name| heap.globals.find(*name).is_some())
}

/// Asks the host. Without a host that answers, what is wanted is unknown.
fn ask<T>(heap: &mut Heap, fields: &[(&str, Value)], unknown: &str) -> Res<T> {
    if !heap.discovery {
        let message = format!("{unknown}, and discovery of anything else needs a configured backend");
        let hint = format!("namespaces: {}", all_namespaces(heap).join(", "));
        return Err(Error::new(ErrorKind::Runtime, message).hint(hint).into());
    }
    heap.allocated(96 + fields.len() * 2 * size_of::<Value>());
    let fields = fields.iter().map(|(name, value)| (Value::str(name), value.clone()));
    let request = ToolRequest {
        tool: heap.intern(DISCOVER),
        args: Value::map_of(fields),
        bytes: None,
        discovery: true,
    };
    Err(Signal::Tool(request).into())
}

fn servers(heap: &mut Heap, _: &mut [Value]) -> Res {
    ask(heap, &[("op", Value::str("servers"))], "no upstream servers are known")
}

fn doc(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = reference(heap, args)?;
    heap.work(LOOK_THROUGH)?;
    let text = match (preludes::doc(heap, &name), own(heap, &name), find(&name)) {
        (Some(text), ..) => text,
        (None, Some(own), _) => describe_own(heap, own)?,
        (None, None, Some(entry)) => describe(entry),
        _ if crate::analyze::is_special(&name) => format!("{name}\n  A special form of the language."),
        _ if name.starts_with("data/") && !is_tool_of_data(heap, &name) => {
            let beside = match heap.servers.tools_of("data") {
                Some(_) => format!(
                    "\n  There is a server data, too: (dir \"data\") lists its tools, and (meta \"{name}\") tells of one."
                ),
                None => String::new(),
            };
            format!("{name}\n  An input of the program.\n  (describe {name}) tells its shape.{beside}")
        }
        _ => match page(heap, &name)?.or_else(|| library::namespace_doc(&name)) {
            Some(text) => text,
            None => {
                if let Some(error) = preludes::not_public(heap, &name) {
                    return Err(error.into());
                }
                let mut fields = vec![("op", Value::str("doc")), ("ref", Value::str(&name))];
                // The tool of a server is no function where its name means something else.
                let ns = crate::names::split_name(&name).0;
                if ns.is_some_and(|ns| preludes::has_namespace(heap, ns)) {
                    fields.push(("hidden", Value::Bool(true)));
                }
                return ask(heap, &fields, &format!("no documentation for {}", excerpt(&name)));
            }
        },
    };
    let text = match hidden_server(heap, &name) {
        Some(line) => format!("{text}\n  {line}"),
        None => text,
    };
    heap.allocated(text.len());
    Ok(Value::string(text))
}

/// Whether a name of inputs is that of a tool, too: of a server that is called `data`. Of an input there is not much to tell.
fn is_tool_of_data(heap: &Heap, name: &str) -> bool {
    let tool = heap.servers.tools_of("data").zip(name.strip_prefix("data/"));
    tool.is_some_and(|(tools, tool)| crate::prelude::granted_as(tools, tool).is_some())
}

/// What to say of a server whose name was just explained as something else.
fn hidden_server(heap: &Heap, name: &str) -> Option<String> {
    /// So many tools are named.
    const NAMED: usize = 12;
    let tools = heap.servers.tools_of(name)?;
    let mut named: Vec<String> =
        tools.iter().take(NAMED).map(|tool| crate::analyze::tool_in_line(tool)).collect();
    if tools.len() > NAMED {
        named.push("…".to_owned());
    }
    let named = if named.is_empty() { String::new() } else { format!("; its tools: {}", named.join(", ")) };
    Some(format!(
        "There is a server {name}, too, which this name does not mean: (tool/call {{:server \"{name}\" :tool \"…\" \
         :args {{…}}}}) calls it{named}"
    ))
}

/// A page about more than one function.
fn page(heap: &mut Heap, name: &str) -> Res<Option<String>> {
    match name {
        pages::PRELUDE => preludes::page(heap).map(Some),
        _ => Ok(pages::page(name).map(str::to_owned)),
    }
}

/// The metadata of what a symbol or text names. Most of them name nothing.
pub(super) fn meta(heap: &mut Heap, name: &str) -> Res {
    if let Some(meta) = preludes::meta(heap, name) {
        return Ok(meta);
    }
    match find(name) {
        Some(entry) => {
            heap.work(ENTRY)?;
            Ok(about(heap, entry))
        }
        None if heap.discovery && crate::names::split_name(name).0.is_some() => {
            ask(heap, &[("op", Value::str("meta")), ("ref", Value::str(name))], name)
        }
        None => Ok(Value::Nil),
    }
}

/// What is known about a builtin.
fn about(heap: &mut Heap, entry: &Entry) -> Value {
    let kind = match entry.run {
        Run::Const(_) => "constant",
        _ => "function",
    };
    let pairs = [
        ("kind", kind),
        ("source", "local"),
        ("namespace", entry.ns),
        ("name", entry.local),
        ("ref", entry.name),
        ("doc", entry.doc()),
        ("arglists", entry.params()),
    ];
    let texts: usize = pairs.iter().map(|(_, text)| text.len()).sum();
    heap.allocated(96 + texts + pairs.len() * 2 * size_of::<Value>());
    Value::map_of(pairs.map(|(key, value)| (heap.keyword(key), Value::str(value))))
}

/// The documentation of a definition of the program.
fn describe_own(heap: &mut Heap, name: Name) -> Res<String> {
    let mut text = heap.names.text(name).to_owned();
    let Value::Map(meta) = vars::meta(heap, name)? else { return Ok(text) };
    for key in ["arglists", "doc"] {
        match meta.get(&heap.keyword(key)) {
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
    let own = preludes::source(heap, &name).or(own);
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
        _ => format!("no source available for {name}"),
    };
    heap.print(&text)?;
    heap.print("\n")?;
    Ok(Value::Nil)
}

/// The question for the host, if there is one to ask; the host's answer is the result.
fn apropos_asked(heap: &mut Heap, args: &mut [Value]) -> Res {
    let search = AproposQuery::read(heap, args)?;
    if !heap.discovery {
        return Ok(Value::Nil);
    }
    let fields = [
        ("op", Value::str("apropos")),
        ("query", Value::str(&search.text)),
        ("limit", Value::Int(search.limit as i64)),
        ("load", Value::Bool(search.load)),
    ];
    ask(heap, &fields, "")
}

fn apropos(heap: &mut Heap, args: &mut [Value]) -> Res {
    let search = AproposQuery::read(heap, args)?;
    let told = match (&args[2], heap.discovery) {
        // The world did not let the host answer.
        (Value::Nil, true) => return Ok(Value::Nil),
        (answer, _) => Told::read(answer),
    };
    // Tools are asked for, and nothing else.
    let only_tools = search.load && heap.discovery;
    let (mut lines, mut left) = if only_tools { (Vec::new(), 0) } else { preludes::apropos(heap, &search)? };
    left = left.saturating_add(told.more);
    lines.extend(told.found.into_iter().take(search.limit));
    if !only_tools {
        heap.work(library::work(&search))?;
        lines.extend(library::found(&search).into_iter().map(Value::string));
    }
    left = left.saturating_add(lines.len().saturating_sub(search.limit));
    lines.truncate(search.limit);
    if left > 0 {
        lines.push(Value::string(search.more(left)));
    }
    let mut bytes = 2;
    lines.retain(|line| {
        bytes += line_bytes(line);
        bytes <= told.most
    });
    heap.allocated(lines.len() * 96);
    Ok(Value::vector(lines))
}

/// What the host answers to a search: lines, or lines with how much else it found and how many bytes all lines together may
/// have.
struct Told {
    found: Vec<Value>,
    more: usize,
    most: usize,
}

impl Told {
    fn read(answer: &Value) -> Told {
        let lines = |value: &Value| match value {
            Value::Vec(lines) => lines.items.to_vec(),
            _ => Vec::new(),
        };
        let Value::Map(answer) = answer else {
            return Told { found: lines(answer), more: 0, most: usize::MAX };
        };
        let number = |key: &str| match answer.get(&Value::str(key)) {
            Some(Value::Int(number)) => usize::try_from(*number).ok(),
            _ => None,
        };
        Told {
            found: answer.get(&Value::str("found")).map_or_else(Vec::new, lines),
            more: number("more").unwrap_or(0),
            most: number("most").unwrap_or(usize::MAX),
        }
    }
}

/// How long a line is in a list of JSON.
fn line_bytes(line: &Value) -> usize {
    let Value::Str(text) = line else { return 0 };
    let escaped = text.as_str().bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    text.as_str().len() + escaped + 3
}

/// What looking through all of the library costs.
const LOOK_THROUGH: usize = 512;

/// What putting one entry into words costs.
const ENTRY: usize = 16;

/// The namespaces of the library, sorted.
fn namespaces() -> &'static [&'static str] {
    static ALL: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let mut all: Vec<&str> = visible().map(|entry| entry.ns).filter(|ns| !ns.is_empty()).collect();
        all.sort_unstable();
        all.dedup();
        all
    });
    &ALL
}

/// The namespaces of the library and of the prelude, sorted.
fn all_namespaces(heap: &Heap) -> Vec<String> {
    let mut all = preludes::namespaces(heap);
    all.extend(namespaces().iter().copied().map(str::to_owned));
    all.sort_unstable();
    all
}

/// The full name of a namespace of the library, `str` for `clojure.string` and so on.
fn local_namespace(name: &str) -> Option<String> {
    let full = crate::analyze::namespace_name(name);
    namespaces().contains(&full.as_str()).then_some(full)
}

/// The namespace that is meant; there must be one.
fn namespace(heap: &mut Heap, args: &[Value]) -> Res<String> {
    let name = reference(heap, args)?;
    heap.work(namespaces().len())?;
    if preludes::has_namespace(heap, &name) {
        return Ok(name);
    }
    local_namespace(&name).ok_or_else(|| {
        Error::new(ErrorKind::Runtime, format!("unknown namespace {}", excerpt(&name)))
            .hint(format!("namespaces: {}", all_namespaces(heap).join(", ")))
            .into()
    })
}

fn members(ns: &str) -> Vec<&'static Entry> {
    let mut members: Vec<&Entry> = visible().filter(|entry| entry.ns == ns).collect();
    members.sort_by_key(|entry| entry.local);
    members
}

fn dir(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = reference(heap, args)?;
    let page = PageRange::read(heap, args)?;
    if let Some(lines) = preludes::dir(heap, &name, page)? {
        return Ok(lines);
    }
    let Some(ns) = local_namespace(&name) else {
        let fields = [
            ("op", Value::str("dir")),
            ("ref", Value::str(&name)),
            ("limit", Value::Int(page.limit as i64)),
            ("offset", Value::Int(i64::try_from(page.offset).unwrap_or(i64::MAX))),
        ];
        return ask(heap, &fields, &format!("unknown namespace {}", excerpt(&name)));
    };
    let line = |entry: &Entry| Value::string(format!("{} - {}", entry.local, entry.doc()));
    heap.work(LOOK_THROUGH)?;
    let mut lines: Vec<Value> = page.of(members(&ns)).map(line).collect();
    heap.work_each(ENTRY, lines.len())?;
    if let Some(told) = hidden_server(heap, &name) {
        heap.allocated(told.len());
        lines.push(Value::string(told));
    }
    Ok(Value::vector(lines))
}

fn ns_publics(heap: &mut Heap, args: &mut [Value]) -> Res {
    let ns = namespace(heap, args)?;
    let full = flag(heap, args, "ns-publics", "full")?;
    if let Some(publics) = preludes::publics(heap, &ns, full)? {
        return Ok(publics);
    }
    let mut pairs = Vec::new();
    heap.work(LOOK_THROUGH)?;
    for entry in members(&ns) {
        heap.work(ENTRY)?;
        pairs.push((Value::Sym(heap.intern(entry.local)), about(heap, entry)));
    }
    Ok(Value::map_of(pairs))
}

fn all_ns(heap: &mut Heap, _: &mut [Value]) -> Res {
    let all = all_namespaces(heap);
    heap.work_each(ENTRY, all.len())?;
    heap.allocated(all.len() * 48);
    Ok(Value::vector(all.into_iter().map(Value::string).collect()))
}

fn ns_name(heap: &mut Heap, args: &mut [Value]) -> Res {
    namespace(heap, args).map(Value::string)
}
