//! What programs ask about upstreams: `tool/servers`, `apropos`, `dir`, `doc` and `meta` over a catalog. The
//! machine has checked options before a question gets here. `search.rs` finds tools by words.

mod search;

use std::sync::Arc;

use serde_json::{Value as Json, json};

pub use self::search::Searchable;
use crate::call::{bounded, no_tool, no_upstream};
use crate::catalog::{AS_FUNCTION, Catalog, CatalogTool, Server, doc, quoted, server_doc};
use crate::ledger::json_bytes;
use crate::shapes::Shapes;

/// Tools that `dir` lists unless told otherwise.
const DIR: usize = 50;

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which servers there are.
    Servers,
    /// Which tools fit some words.
    Apropos {
        /// The words.
        query: String,
        /// How many at most.
        limit: usize,
        /// Whether servers that are not listed yet are listed first.
        load: bool,
    },
    /// Which tools a server has.
    Dir {
        /// The server.
        server: String,
        /// How many at most.
        limit: usize,
        /// How many are passed over.
        offset: usize,
    },
    /// What a server is, and what it has.
    DocServer {
        /// The server.
        server: String,
    },
    /// What a tool does.
    Doc {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Whether the name of its server means something else to the program, so that it is no function.
        hidden: bool,
    },
    /// What a tool is, as data.
    Meta {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
}

impl Question {
    /// Reads what the machine hands out; an error is a fault of the program.
    pub fn parse(asked: &Json) -> Result<Question, String> {
        let text = |key: &str| asked.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let number = |key: &str, other: u64| asked.get(key).and_then(Json::as_u64).unwrap_or(other) as usize;
        let op = text("op");
        match op.as_str() {
            "servers" => Ok(Question::Servers),
            "apropos" => Ok(Question::Apropos {
                query: text("query"),
                limit: number("limit", 8),
                load: asked.get("load") == Some(&Json::Bool(true)),
            }),
            "dir" => Ok(Question::Dir {
                server: text("ref"),
                limit: number("limit", DIR as u64),
                offset: number("offset", 0),
            }),
            "doc" if !text("ref").contains('/') => Ok(Question::DocServer { server: text("ref") }),
            "doc" | "meta" => {
                let target = text("ref");
                let parts =
                    target.split_once('/').filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
                let Some((server, tool)) = parts else {
                    return Err(format!("{op} found nothing under '{target}'; name a tool as server/tool"));
                };
                let (server, tool) = (server.to_owned(), tool.to_owned());
                let hidden = asked.get("hidden") == Some(&Json::Bool(true));
                Ok(match op.as_str() {
                    "doc" => Question::Doc { server, tool, hidden },
                    _ => Question::Meta { server, tool },
                })
            }
            other => Err(format!("discovery cannot answer '{other}'")),
        }
    }

    /// The name of the operation.
    pub fn operation(&self) -> &'static str {
        match self {
            Question::Servers => "servers",
            Question::Apropos { .. } => "apropos",
            Question::Dir { .. } => "dir",
            Question::Doc { .. } | Question::DocServer { .. } => "doc",
            Question::Meta { .. } => "meta",
        }
    }

    /// The server whose tools must be listed before it can be answered; `Err` if all must.
    pub fn needs(&self) -> Needs<'_> {
        match self {
            // It says which are starting.
            Question::Servers => Needs::Nothing,
            Question::Apropos { load: false, .. } => Needs::Starting,
            Question::Apropos { load: true, .. } => Needs::All,
            Question::Dir { server, .. }
            | Question::DocServer { server }
            | Question::Doc { server, .. }
            | Question::Meta { server, .. } => Needs::Server(server),
        }
    }
}

/// What must be listed before a question can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs<'q> {
    /// Nothing more than is.
    Nothing,
    /// All servers that are being started.
    Starting,
    /// All servers, as far as they can be reached.
    All,
    /// This server.
    Server(&'q str),
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// An answer.
    Found(Json),
    /// The world did not let us answer: the program gets nil.
    Nothing(&'static str),
    /// The program asked wrongly.
    Wrong(String),
}

/// What is told of a server that is not there yet, and what to do.
pub(crate) const STARTING: &str = "still starting: try again in a moment";

/// Why nobody knows the tools of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Away {
    /// It is down, for this reason in a line.
    Down(String),
    /// It is being started.
    Starting,
}

impl Away {
    /// As it stands behind the name of the server.
    fn words(&self) -> String {
        match self {
            Away::Down(why) => format!("down: {why}"),
            Away::Starting => STARTING.to_owned(),
        }
    }
}

/// Why a server is not there; nothing of one that is, or that nobody has asked yet.
pub type Absence<'d> = &'d dyn Fn(&str) -> Option<Away>;

/// Answers a question from a catalog, in at most so many bytes.
pub fn answer(
    question: &Question,
    catalog: &Catalog,
    shapes: &Shapes,
    away: Absence<'_>,
    most: usize,
) -> Reply {
    match question {
        Question::Servers => {
            // One that starts, and of which it is known what it has, is as good as there.
            let matters = |server: &Server, why: &Away| server.tools.is_none() || *why != Away::Starting;
            let why = |server: &Server| away(&server.name).filter(|why| matters(server, why));
            let summary =
                |server: &Arc<Server>| server.summary(why(server).map(|why| why.words()).as_deref());
            Reply::Found(fitted(catalog.servers().iter().map(summary), most).into())
        }
        Question::Apropos { query, limit, load } => {
            let (lines, more) = search::apropos(catalog, query, *limit, *load, away);
            let all = lines.len();
            let found = fitted(lines.into_iter().map(Json::String), most);
            let more = more + all - found.len();
            // The machine adds what it knows itself, within the same bytes.
            Reply::Found(json!({"found": found, "more": more, "most": most}))
        }
        Question::Dir { server, limit, offset } => match find_server(catalog, server) {
            Ok(server) => dir(server, away, *limit, *offset, most),
            Err(reply) => reply,
        },
        Question::DocServer { server } => match catalog.server(server) {
            Some(server) => whole(server_doc(server, away(&server.name).as_ref()).into(), most),
            None => Reply::Wrong(format!(
                "doc found nothing under '{}'; name a server ({}) or a tool as server/tool",
                bounded(server),
                catalog.names()
            )),
        },
        Question::Doc { server, tool, hidden } => match find_tool(catalog, server, tool) {
            Err(Reply::Nothing(reason)) => match away(server) {
                Some(away) => whole(unknown(server, &away).into(), most),
                None => Reply::Nothing(reason),
            },
            Ok(tool) => {
                let observed = shapes.observed(server, &tool.def.name);
                let words = observed.map(|observed| (observed.shape.words(), observed.results));
                let seen = words.as_ref().map(|(words, results)| (words.as_str(), *results));
                let text = doc(server, tool, seen);
                let is_call = |line: &&str| !(*hidden && line.starts_with(AS_FUNCTION));
                whole(text.lines().filter(is_call).collect::<Vec<_>>().join("\n").into(), most)
            }
            Err(reply) => reply,
        },
        Question::Meta { server, tool } => match find_tool(catalog, server, tool) {
            Ok(tool) => {
                let mut meta = tool.meta(server);
                if let Some(observed) = shapes.observed(server, &tool.def.name) {
                    meta["_ptc"]["observed"] = observed.shape.words().into();
                }
                whole(meta, most)
            }
            Err(reply) => reply,
        },
    }
}

/// What is told of a tool whose server is not there.
fn unknown(server: &str, away: &Away) -> String {
    format!("The tools of {server} are not known now ({}).", away.words())
}

/// The tools of a server, or one line that says why nobody knows them.
fn dir(server: &Server, away: Absence<'_>, limit: usize, offset: usize, most: usize) -> Reply {
    let Some(tools) = &server.tools else {
        return match away(&server.name) {
            Some(away) => Reply::Found(json!([format!("{} ({})", server.name, away.words())])),
            None => Reply::Nothing("upstream_unavailable"),
        };
    };
    let entries = tools.values().skip(offset).take(limit).map(|tool| Json::String(tool.entry()));
    let mut entries = fitted(entries, most);
    let next = offset.saturating_add(entries.len());
    if next < tools.len() {
        let (left, name) = (tools.len() - next, quoted(&server.name));
        let limit = if limit == DIR { String::new() } else { format!(" :limit {limit}") };
        let more = Json::from(format!("… {left} more: (dir {name} {{:offset {next}{limit}}})"));
        let taken: usize = entries.iter().map(|entry| json_bytes(entry) + 1).sum();
        entries.extend((taken + json_bytes(&more) + 3 <= most).then_some(more));
    }
    Reply::Found(Json::Array(entries))
}

fn find_server<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Arc<Server>, Reply> {
    catalog.server(name).ok_or_else(|| Reply::Wrong(no_upstream(name, &catalog.names())))
}

fn find_tool<'c>(catalog: &'c Catalog, server: &str, tool: &str) -> Result<&'c Arc<CatalogTool>, Reply> {
    let server = find_server(catalog, server)?;
    if server.tools.is_none() {
        return Err(Reply::Nothing("upstream_unavailable"));
    }
    server.tool(tool).ok_or_else(|| match server.held.get(tool) {
        Some(why) => Reply::Wrong(why.clone()),
        None => Reply::Wrong(no_tool(&server.name, tool, &server.tool_names())),
    })
}

/// A list with as many entries as fit.
fn fitted(entries: impl Iterator<Item = Json>, most: usize) -> Vec<Json> {
    let mut bytes = 2;
    let fits = |entry: &Json| {
        bytes += json_bytes(entry) + 1;
        bytes <= most
    };
    entries.take_while(fits).collect()
}

/// A whole answer, or nothing if it is too large.
fn whole(value: Json, most: usize) -> Reply {
    match json_bytes(&value) <= most {
        true => Reply::Found(value),
        false => Reply::Nothing("catalog_result_too_large"),
    }
}

#[cfg(test)]
mod tests;
