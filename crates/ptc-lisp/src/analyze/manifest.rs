//! The effect manifest: which tools a program may call, with what, and how often. There is no eval and
//! no dynamic name, so it is sound: it may name too much, never too little.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json};

use super::node::{Node, NodeKind};
use crate::builtins::registry;
use crate::code::Const;
use crate::error::Error;
use crate::span::Span;

/// A use of a tool in a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// The arguments that are literal, as the tool will see them; `None` where nothing is known.
    pub args: Option<Map<String, Json>>,
    /// Whether these are all arguments.
    pub complete: bool,
    /// How often this place can run at most, if that is known.
    pub at_most: Option<u64>,
}

/// Where the argument of a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgumentSource {
    /// It is written in the program.
    Literal,
    /// It is an input of the program or a part of one, perhaps beside literals.
    Data,
    /// The program computes it.
    Computed,
}

impl ArgumentSource {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            ArgumentSource::Literal => "literal",
            ArgumentSource::Data => "data",
            ArgumentSource::Computed => "computed",
        }
    }
}

/// The tools a program may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Every place that calls or mentions a tool.
    pub uses: Vec<ToolUse>,
    /// Where the arguments of each use come from, as far as their names are known; those of an upstream's
    /// tool are named `args.name`. Dumps do not keep it.
    pub sources: Vec<BTreeMap<String, ArgumentSource>>,
    /// Where each use stands in the text of the program; nothing for what stands elsewhere. Dumps do not keep it.
    pub places: Vec<Option<Span>>,
    /// The first call that cannot work whatever happens before it: the program is not run.
    failing: Option<Box<Error>>,
    /// How many loops and functions are around the place being analysed: there a call can repeat.
    pub(super) repeats: usize,
}

impl Manifest {
    /// A manifest of these uses.
    pub(crate) fn of(uses: Vec<ToolUse>) -> Manifest {
        Manifest { uses, ..Manifest::default() }
    }

    /// Notes a call at the place being analysed.
    pub(super) fn add_call(&mut self, tool: &str, args: &[Node], span: Span) {
        let at_most = (self.repeats == 0).then_some(1);
        self.sources.push(sources(tool, args));
        self.places.push(Some(span));
        let (args, complete) = match literal_args(tool, args) {
            Some((args, complete)) => (Some(args), complete),
            None => (None, false),
        };
        self.uses.push(ToolUse { tool: tool.to_owned(), args, complete, at_most });
    }

    /// Notes a tool that is handed on as a value: who calls it, and how, is not known.
    pub(crate) fn add_mention(&mut self, tool: &str) {
        self.sources.push(BTreeMap::new());
        self.places.push(None);
        self.uses.push(ToolUse { tool: tool.to_owned(), args: None, complete: false, at_most: None });
    }

    /// Notes what a function of a prelude, or of an earlier program, may call. How often the program calls it is
    /// not known.
    pub(crate) fn add_through(&mut self, tool_use: ToolUse) {
        let tool_use = ToolUse { at_most: None, ..tool_use };
        if !self.uses.contains(&tool_use) {
            self.sources.push(BTreeMap::new());
            self.places.push(None);
            self.uses.push(tool_use);
        }
    }

    /// The server and the tool that the last call names, if they are written in the program; a tool may be computed.
    pub(super) fn written_target(&self) -> Option<(&str, Option<&str>)> {
        let args = self.uses.last()?.args.as_ref()?;
        let text = |name: &str| args.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let (server, tool) = (text("server")?, text("tool"));
        let computed = || self.sources.last().is_some_and(|sources| sources.contains_key("tool"));
        // A call without a tool is another mistake.
        (tool.is_some() || !args.contains_key("tool") && computed()).then_some((server, tool))
    }

    /// Notes a call that cannot work.
    pub(super) fn fail_with(&mut self, error: Error) {
        self.failing.get_or_insert_with(|| Box::new(error));
    }

    /// The first call that cannot work, as the error that it would raise: a program with one is refused when it is loaded.
    pub fn failing(&self) -> Option<&Error> {
        self.failing.as_deref()
    }

    pub(super) fn settle(&mut self) {
        self.repeats = 0;
    }

    /// The distinct tools, sorted.
    pub fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.uses.iter().map(|tool_use| tool_use.tool.as_str()).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }

    /// Whether the program may call `tool`.
    pub fn allows(&self, tool: &str) -> bool {
        self.uses.iter().any(|tool_use| tool_use.tool == tool)
    }

    /// An upper bound on the number of calls, if there is one.
    pub fn max_calls(&self) -> Option<u64> {
        self.uses.iter().map(|tool_use| tool_use.at_most).sum()
    }
}

/// The literal arguments of a call, and whether they are all.
fn literal_args(tool: &str, args: &[Node]) -> Option<(Map<String, Json>, bool)> {
    match args {
        [] => Some((Map::new(), true)),
        [Node { kind: NodeKind::Const(Const::Nil), .. }] => Some((Map::new(), true)),
        [Node { kind: NodeKind::Const(value @ Const::Map(_)), .. }] => match json(value) {
            Some(Json::Object(fields)) => Some((fields, true)),
            _ => None,
        },
        [Node { kind: NodeKind::Map(pairs), .. }] => {
            Some(fields(&mut pairs.iter().map(|(key, value)| (key, value))))
        }
        [Node { kind: NodeKind::Const(Const::Symbol(target)), .. }, rest @ ..] if tool == "call" => {
            let (server, name) = target.split_once('/')?;
            let (args, complete) = literal_args("", rest).unwrap_or_default();
            let fields = [("server", Json::from(server)), ("tool", name.into()), ("args", args.into())];
            Some((fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect(), complete))
        }
        // A symbol that is computed may come first and name another target.
        [first, ..] if tool == "call" && !matches!(first.kind, NodeKind::Const(_)) => None,
        _ if args.len().is_multiple_of(2) => {
            Some(fields(&mut args.chunks_exact(2).map(|pair| (&pair[0], &pair[1]))))
        }
        _ => None,
    }
}

fn fields(pairs: &mut dyn Iterator<Item = (&Node, &Node)>) -> (Map<String, Json>, bool) {
    let (mut known, mut complete) = (Map::new(), true);
    for pair in pairs {
        let literal = match (&pair.0.kind, &pair.1.kind) {
            (NodeKind::Const(key), NodeKind::Const(value)) => key_text(key).zip(json(value)),
            (NodeKind::Const(key), NodeKind::Map(inner)) => {
                let (inner, all) = fields(&mut inner.iter().map(|(key, value)| (key, value)));
                complete &= all;
                key_text(key).map(|key| (key, inner.into()))
            }
            _ => None,
        };
        complete &= literal.is_some();
        known.extend(literal);
    }
    (known, complete)
}

/// Where the arguments of a call come from.
fn sources(tool: &str, args: &[Node]) -> BTreeMap<String, ArgumentSource> {
    let mut found = BTreeMap::new();
    match args {
        [Node { kind: NodeKind::Const(Const::Map(pairs)), .. }] => {
            for (key, value) in pairs {
                note_const(tool, key, value, &mut found);
            }
        }
        [Node { kind: NodeKind::Map(pairs), .. }] => {
            pairs.iter().for_each(|(key, value)| note(tool, key, value, &mut found));
        }
        [Node { kind: NodeKind::Const(Const::Symbol(_)), .. }, rest @ ..] if tool == "call" => {
            for (name, source) in sources("", rest) {
                found.insert(format!("args.{name}"), source);
            }
        }
        [_] => {}
        _ => args.chunks_exact(2).for_each(|pair| note(tool, &pair[0], &pair[1], &mut found)),
    }
    found
}

/// Notes an argument; those of an upstream's tool stand one level deeper.
fn note(tool: &str, key: &Node, value: &Node, found: &mut BTreeMap<String, ArgumentSource>) {
    let NodeKind::Const(key) = &key.kind else { return };
    let Some(name) = key_text(key) else { return };
    match &value.kind {
        NodeKind::Const(value) => note_const(tool, key, value, found),
        NodeKind::Map(_) if tool == "call" && name == "args" => {
            for (inner, source) in sources("", std::slice::from_ref(value)) {
                found.insert(format!("args.{inner}"), source);
            }
        }
        _ => {
            found.insert(name, source(value));
        }
    }
}

fn note_const(tool: &str, key: &Const, value: &Const, found: &mut BTreeMap<String, ArgumentSource>) {
    match (key_text(key), value) {
        (Some(name), Const::Map(inner)) if tool == "call" && name == "args" => {
            let names = inner.iter().filter_map(|(key, _)| key_text(key));
            found.extend(names.map(|name| (format!("args.{name}"), ArgumentSource::Literal)));
        }
        (Some(name), _) => {
            found.insert(name, ArgumentSource::Literal);
        }
        (None, _) => {}
    }
}

/// Where a value comes from. Trees nest no deeper than source text.
fn source(node: &Node) -> ArgumentSource {
    let worst =
        |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(source).max().unwrap_or(ArgumentSource::Literal);
    match &node.kind {
        NodeKind::Const(Const::Tool(_)) => ArgumentSource::Computed,
        NodeKind::Const(_) => ArgumentSource::Literal,
        NodeKind::Data(_) | NodeKind::Context(_) => ArgumentSource::Data,
        NodeKind::Vector(items) | NodeKind::Set(items) => worst(&mut items.iter()),
        NodeKind::Map(pairs) => worst(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
        NodeKind::Call(function, args) if looks_up(function) => worst(&mut args.iter()),
        _ => ArgumentSource::Computed,
    }
}

/// Whether a call of this only takes a part out of what it gets.
fn looks_up(function: &Node) -> bool {
    match &function.kind {
        NodeKind::Const(Const::Keyword(_)) => true,
        NodeKind::Builtin(id) => {
            let name = registry().get(*id).local;
            matches!(name, "get" | "get-in" | "first" | "last" | "nth" | "second")
        }
        _ => false,
    }
}

/// A key that stands in the program, as tools see it: keywords have underscores.
fn key_text(key: &Const) -> Option<String> {
    match key {
        Const::Keyword(name) => Some(name.replace('-', "_")),
        Const::Symbol(text) | Const::Str(text) => Some(text.clone()),
        _ => None,
    }
}

/// A constant as JSON, if it has a plain form. Constants nest no deeper than source text.
fn json(value: &Const) -> Option<Json> {
    Some(match value {
        Const::Nil => Json::Null,
        Const::Bool(value) => Json::Bool(*value),
        Const::Int(int) => Json::from(*int),
        Const::Float(float) => Json::Number(Number::from_f64(*float)?),
        Const::Decimal(exact) => {
            let float = exact.decimal().map_or_else(|| Some(exact.to_f64()), |decimal| decimal.as_f64())?;
            Json::Number(Number::from_f64(float)?)
        }
        Const::Str(text) | Const::Keyword(text) | Const::Symbol(text) => Json::String(text.clone()),
        Const::Vector(items) | Const::List(items) | Const::Set(items) => {
            Json::Array(items.iter().map(json).collect::<Option<_>>()?)
        }
        Const::Map(pairs) => {
            let field = |(key, value): &(Const, Const)| Some((key_text(key)?, json(value)?));
            Json::Object(pairs.iter().map(field).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
