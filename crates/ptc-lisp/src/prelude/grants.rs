//! What exports need of the host, held against what the host grants. Nothing runs before all of it is there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{Effect, Export, Prelude};
use crate::analyze::Servers;
use crate::error::{Error, ErrorKind};

/// An operation behind an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `tool:name`: a tool of the host.
    Tool(String),
    /// `upstream:server/tool`: a tool of an upstream server.
    Upstream {
        /// The server.
        server: String,
        /// Its tool.
        tool: String,
    },
    /// An id of another shape, which nobody can grant.
    Unrecognized(String),
}

impl Operation {
    /// The operation with an id.
    pub fn parse(id: &str) -> Operation {
        let tool = id.strip_prefix("tool:").filter(|name| !name.is_empty());
        let upstream = id.strip_prefix("upstream:").and_then(|rest| rest.split_once('/'));
        match (tool, upstream) {
            (Some(name), _) => Operation::Tool(name.to_owned()),
            (None, Some((server, tool))) if !server.is_empty() && !tool.is_empty() => {
                Operation::Upstream { server: server.to_owned(), tool: tool.to_owned() }
            }
            _ => Operation::Unrecognized(id.to_owned()),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Tool(name) => write!(f, "tool:{name}"),
            Operation::Upstream { server, tool } => write!(f, "upstream:{server}/{tool}"),
            Operation::Unrecognized(id) => f.write_str(id),
        }
    }
}

/// What an upstream runtime says about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is there and may be called.
    Granted,
    /// There is no such server.
    UnknownServer,
    /// The server has no such tool.
    UnknownTool,
    /// The server has it, but it may not be called.
    Denied,
    /// The server could not be asked which tools it has, so nobody knows whether it is there.
    Unreachable,
}

/// An upstream runtime, as preludes and programs see it.
pub trait Upstreams: Send + Sync {
    /// What it says about an operation.
    fn offer(&self, server: &str, tool: &str) -> Offer;

    /// The servers that there are, as programs may name them.
    fn servers(&self) -> Arc<Servers> {
        Arc::default()
    }

    /// Why it does not offer an operation, if it knows more than the offer says: one short line.
    fn why(&self, _server: &str, _tool: &str) -> Option<String> {
        None
    }

    /// What calling an operation does to the world.
    fn effect(&self, _server: &str, _tool: &str) -> Effect {
        Effect::Unknown
    }
}

/// What a run grants.
#[derive(Clone, Copy, Default)]
pub struct Grants<'g> {
    /// The names of tools.
    pub tools: &'g [String],
    /// The upstream runtime that was chosen. Without one, upstream operations are not looked at.
    pub upstreams: Option<&'g dyn Upstreams>,
}

/// An operation that an export requires and a run does not grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The export, by qualified name.
    pub export: String,
    /// The operation.
    pub operation: Operation,
    /// What the upstream runtime said, if it was asked.
    pub offer: Option<Offer>,
    /// What else it knows about that.
    pub why: Option<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = &self.export;
        match &self.operation {
            Operation::Tool(name) => {
                write!(f, "export `{export}` requires granted tool `{name}`, but it is not granted")
            }
            Operation::Unrecognized(id) => {
                write!(f, "export `{export}` declares an unrecognized backing requirement `{id}`")
            }
            Operation::Upstream { server, tool } => {
                let id = &self.operation;
                write!(f, "export `{export}` requires upstream operation `{id}`, but ")?;
                match self.offer {
                    Some(Offer::UnknownServer) => write!(f, "there is no upstream `{server}`"),
                    Some(Offer::UnknownTool) => write!(f, "upstream `{server}` has no tool `{tool}`"),
                    Some(Offer::Unreachable) => write!(f, "upstream `{server}` cannot be reached"),
                    _ => write!(f, "it is not granted"),
                }?;
                self.why.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
            }
        }
    }
}

impl Prelude {
    /// The requirements that are looked at whatever upstreams there are. They are few where upstream operations
    /// are many, and every machine is held to them.
    pub(super) fn required_of_every_run(&self) -> Vec<(usize, Operation)> {
        let all = self
            .exports
            .iter()
            .enumerate()
            .flat_map(|(at, export)| export.requires.iter().map(move |id| (at, Operation::parse(id))));
        all.filter(|(_, operation)| !matches!(operation, Operation::Upstream { .. })).collect()
    }

    /// The operations that it requires and that are not granted, by export.
    pub fn missing(&self, grants: &Grants<'_>) -> Vec<Missing> {
        let name = |at: usize| self.exports[at].name.clone();
        let mut missing: Vec<(usize, Missing)> = self
            .local_requires
            .iter()
            .filter(|(_, operation)| {
                !matches!(operation, Operation::Tool(tool) if is_granted(grants.tools, tool))
            })
            .map(|(at, operation)| {
                let operation = operation.clone();
                (*at, Missing { export: name(*at), operation, offer: None, why: None })
            })
            .collect();
        if let Some(upstreams) = grants.upstreams {
            for (at, export) in self.exports.iter().enumerate() {
                for operation in export.requires.iter().map(|id| Operation::parse(id)) {
                    let Operation::Upstream { server, tool } = &operation else { continue };
                    let offer = upstreams.offer(server, tool);
                    if offer != Offer::Granted {
                        let (why, offer) = (upstreams.why(server, tool), Some(offer));
                        missing.push((at, Missing { export: name(at), operation, offer, why }));
                    }
                }
            }
        }
        missing.sort_by_key(|(at, _)| *at);
        missing.into_iter().map(|(_, missing)| missing).collect()
    }

    /// The servers behind the upstream operations that it requires.
    pub(super) fn servers_behind(&self) -> Vec<String> {
        let required = self.exports.iter().flat_map(|export| &export.requires);
        let server = |id: &String| match Operation::parse(id) {
            Operation::Upstream { server, .. } => Some(server),
            Operation::Tool(_) | Operation::Unrecognized(_) => None,
        };
        required.filter_map(server).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The servers whose operations it requires, by name. Whoever lists tools only when they are needed lists those of
    /// these before anything runs.
    pub fn required_servers(&self) -> &[String] {
        &self.servers
    }

    /// Refuses a run that does not grant what is required.
    pub fn admit(&self, grants: &Grants<'_>) -> Result<(), Error> {
        let missing = self.missing(grants);
        if missing.is_empty() { Ok(()) } else { Err(Missing::refusal(&missing)) }
    }
}

impl Missing {
    /// The refusal of a run without these operations.
    pub fn refusal(missing: &[Missing]) -> Error {
        /// So many missing operations are named.
        const NAMED: usize = 5;
        let mut named: Vec<String> = missing.iter().take(NAMED).map(ToString::to_string).collect();
        if missing.len() > NAMED {
            named.push(format!("{} more", missing.len() - NAMED));
        }
        let message = format!("prelude attach failed: {}", named.join("; "));
        let any = |offer: Offer| missing.iter().any(|one| one.offer == Some(offer));
        Error::new(ErrorKind::PreludeAttach, message).hint(if any(Offer::Unreachable) {
            "start the server, or attach a prelude without these operations"
        } else if any(Offer::UnknownServer) {
            "configure the server under that name; if it is a namespace of another prelude, attach both"
        } else {
            "grant the operations, or attach a prelude without them"
        })
    }
}

impl Export {
    /// What calling it does: what its author says, else the worst of what upstreams say about the operations behind it.
    /// Where one of them says nothing, nobody knows.
    pub fn effect_with(&self, upstreams: Option<&dyn Upstreams>) -> Effect {
        let Some(upstreams) = upstreams.filter(|_| !self.declares_effect && !self.dynamic) else {
            return self.effect;
        };
        let of = |id: &String| match Operation::parse(id) {
            Operation::Upstream { server, tool } => upstreams.effect(&server, &tool),
            Operation::Tool(_) | Operation::Unrecognized(_) => Effect::Unknown,
        };
        let all: Vec<Effect> = self.requires.iter().map(of).collect();
        match all.as_slice() {
            [] => self.effect,
            all if all.contains(&Effect::Write) => Effect::Write,
            all if all.contains(&Effect::Unknown) => Effect::Unknown,
            _ => Effect::Read,
        }
    }
}

/// Whether a tool is granted, with hyphens for underscores or not.
pub(crate) fn is_granted(tools: &[String], name: &str) -> bool {
    granted_as(tools, name).is_some()
}

/// The name by which a tool is granted: exact, else with hyphens for underscores.
pub(crate) fn granted_as<'t>(tools: &'t [String], name: &str) -> Option<&'t String> {
    let hyphened = |tool: &str| tool.replace('_', "-");
    tools
        .iter()
        .find(|tool| *tool == name)
        .or_else(|| tools.iter().find(|tool| hyphened(tool) == hyphened(name)))
}
