//! What the server itself gives to programs of sessions: namespaces, each with the tools behind it. Programs reach the
//! tools through the exports only; roles may take tools away, and with them the exports that need them.

use std::sync::{Arc, Mutex, PoisonError};

use ptc_host::{Tool, Tools};
use ptc_lisp::prelude::{Options, Prelude, Source};
use serde_json::{Value as Json, json};

use super::evidence;
use super::roles::Role;
use super::settings::Settings;
use super::turnlog::{self, TurnLog};
use crate::effects::HeldJournal;

/// A namespace of the server.
#[derive(Clone, Debug)]
pub struct HostNamespace {
    /// The namespace.
    pub id: &'static str,
    /// Its source.
    pub source: &'static str,
    /// The tools behind it.
    pub tools: Vec<OwnTool>,
}

/// What a tool of the server does with its arguments.
pub type Answering = Arc<dyn Fn(&Json, &Witness) -> Json + Send + Sync>;

/// A tool of the server.
#[derive(Clone)]
pub struct OwnTool {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub run: Answering,
}

impl std::fmt::Debug for OwnTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// For whom a program runs, what it read, and what it left in the store of preludes.
#[derive(Debug, Default)]
pub struct Witness {
    /// Whom the session belongs to; nobody in particular if nothing is said.
    pub owner: Option<Arc<str>>,
    reads: Mutex<Vec<Json>>,
    kept: Mutex<Vec<String>>,
}

impl Witness {
    /// Of a program of this owner.
    pub fn of(owner: Arc<str>) -> Arc<Witness> {
        Arc::new(Witness { owner: Some(owner), ..Witness::default() })
    }

    /// Notes that something was read.
    pub fn read(&self, entry: Json) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// Notes that the store of preludes keeps a version, whatever becomes of the program.
    pub fn keep(&self, version: String) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(version);
    }

    /// The versions that it keeps, in order.
    pub fn kept(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was read, in order.
    pub fn take(&self) -> Vec<Json> {
        std::mem::take(&mut *self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All namespaces of a server.
#[derive(Clone, Debug, Default)]
pub struct Host(pub Vec<HostNamespace>);

impl Host {
    /// The namespaces that the settings ask for.
    pub fn of(settings: &Settings, turns: Option<&Arc<TurnLog>>) -> Result<Host, String> {
        let mut parts = Vec::new();
        if let Some(file) = &settings.evidence {
            let wrong = |error| format!("--evidence-bundle {} {error}", file.display());
            parts.push(evidence::part(evidence::Bundle::load(file).map_err(wrong)?));
        }
        parts.extend(turns.map(turnlog::part));
        Ok(Host(parts))
    }

    /// The source of each namespace that is not among those that are there already.
    pub fn sources<'h>(&'h self, taken: &'h dyn Fn(&str) -> bool) -> impl Iterator<Item = Source<'h>> {
        let free = self.0.iter().filter(move |part| !taken(part.id));
        free.map(|part| Source { id: part.id, text: part.source, needs: &[], origin: "host" })
    }

    /// The prelude of sessions that choose none: that of the server, and these namespaces.
    pub fn with(&self, prelude: Option<&Arc<Prelude>>) -> Result<Option<Arc<Prelude>>, String> {
        let taken =
            |ns: &str| prelude.is_some_and(|prelude| prelude.namespaces().iter().any(|one| one.name == ns));
        let own: Vec<Source<'_>> = self.sources(&taken).collect();
        if own.is_empty() {
            return Ok(prelude.cloned());
        }
        let all = [prelude.map(|prelude| prelude.sources()).unwrap_or_default(), own].concat();
        let compiled = Prelude::compile(&all, &Options::default()).map_err(|problem| problem.placed())?;
        Ok(Some(Arc::new(compiled)))
    }

    /// The same with the log of turns where this server keeps none, and without it where it does: sessions that other servers
    /// began may have it, or not.
    pub fn toggled(&self) -> Host {
        let mut parts = self.0.clone();
        match parts.iter().position(|part| part.id == turnlog::ID) {
            Some(at) => drop(parts.remove(at)),
            None => parts.push(turnlog::absent()),
        }
        Host(parts)
    }

    /// The tools of a session that began with these, on whichever server. Those of a log that this server does not keep say so.
    pub fn tools_named(&self, names: &[String]) -> Vec<OwnTool> {
        let absent =
            turnlog::absent().tools.into_iter().filter(|tool| !self.names().any(|name| name == tool.name));
        let all = self.tools(None).into_iter().chain(absent);
        all.filter(|tool| names.iter().any(|name| name == tool.name)).collect()
    }

    /// The tools that a role leaves.
    pub fn tools(&self, role: Option<&Role>) -> Vec<OwnTool> {
        let all = self.0.iter().flat_map(|part| &part.tools);
        all.filter(|tool| role.is_none_or(|role| role.allows_tool(tool.name))).cloned().collect()
    }

    /// The names of all tools.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|part| &part.tools).map(|tool| tool.name)
    }
}

/// The names of all tools that the server can have for programs, whether it has them or not.
pub fn all_tools() -> Vec<String> {
    let mut names = ptc_store::preludes::tool_names(ptc_store::preludes::Access::Write);
    names.extend(evidence::NAMES.iter().chain(&turnlog::NAMES).map(|name| (*name).to_owned()));
    names
}

/// Other tools of a program, and these, which only exports of the prelude may call.
pub fn granted(
    tools: &[OwnTool],
    witness: &Arc<Witness>,
    journal: Option<&Arc<HeldJournal>>,
    all: Tools,
) -> Tools {
    tools.iter().fold(all, |all, tool| {
        let (run, witness, journal, name) = (tool.run.clone(), witness.clone(), journal.cloned(), tool.name);
        let call = move |args: Json| match &journal {
            Some(journal) => journal.told(name, &args, || run(&args, &witness)),
            None => run(&args, &witness),
        };
        all.with_private(tool.name, Tool::blocking(call))
    })
}

/// An answer of a tool that could not do what it was asked; programs get it as data.
pub fn refused(reason: &str, message: impl Into<String>) -> Json {
    json!({"status": "error", "reason": reason, "message": message.into()})
}

/// The part of a list that is asked for: `limit` from `cursor` on.
pub fn page(args: &Json, items: &[Json], usual: usize, most: usize) -> Result<Json, Json> {
    let number = |key: &str| match &args[key] {
        Json::Null => Ok(None),
        Json::Number(number) => number.as_u64().map(Some).ok_or(()),
        Json::String(text) => text.parse().map(Some).map_err(|_| ()),
        _ => Err(()),
    };
    let wrong = |message: String| refused("invalid_argument", message);
    let limit = number("limit").ok().map_or(Some(0), |limit| Some(limit.unwrap_or(usual as u64)));
    let limit =
        limit.and_then(|limit| usize::try_from(limit).ok()).filter(|limit| (1..=most).contains(limit));
    let limit = limit.ok_or_else(|| wrong(format!("limit must be an integer 1..{most}")))?;
    let from = number("cursor").map_err(|()| wrong("cursor must be the next_cursor of a page".to_owned()))?;
    let from = usize::try_from(from.unwrap_or(0)).unwrap_or(usize::MAX).min(items.len());
    let end = from.saturating_add(limit).min(items.len());
    let more = end < items.len();
    Ok(json!({
        "items": items[from..end],
        "next_cursor": more.then(|| end.to_string()),
        "has_more": more,
        "limit": limit,
    }))
}
