//! What every transport offers to the layers above: the tools of one upstream, and calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use crate::config::{TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::model::{Allowance, Fault, Payload, Reason, ToolDef};
use crate::{mcp, openapi};

/// One upstream. A client starts its server or connection when it is first needed and again after a crash;
/// whoever holds it need not know. Dropping a future gives the call up and tells the server so.
///
/// Texts in faults have secrets covered; tools and payloads come as the server sent them.
pub trait Client: Send + Sync {
    /// The tools that it has now.
    fn list(&self, allowance: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>>;

    /// Calls a tool.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        allowance: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>>;

    /// Why a tool cannot take these arguments, where that shows without asking the server: a fault of the program.
    fn refuses(&self, _tool: &str, _args: &Map<String, Json>) -> Option<String> {
        None
    }

    /// A number that grows whenever the server says that its tools changed, and when it was started again.
    fn generation(&self) -> u64 {
        0
    }

    /// Why the server is not there, if it was found out: it could not be started, or ended, and nobody has started it
    /// again since.
    fn down(&self) -> Option<Fault> {
        None
    }

    /// Until when a server that is down is not started again.
    fn rests_until(&self) -> Option<Instant> {
        None
    }

    /// Waits until the server is down; for ever where that shows only when it is called.
    fn ended(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    /// What it has and no program can use, each with the reason, for the operator.
    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }

    /// Those of them that have a name, by it: a program that asks for one is told the reason.
    fn unusable(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What the server said about itself, once it has been reached.
    fn about(&self) -> Option<About> {
        None
    }

    /// The names of the tools that the configuration excludes, as they were listed last.
    fn excluded(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether trying again cannot help before this process is started anew.
    fn is_broken(&self) -> bool {
        false
    }

    /// Ends the connection or the process. A later call starts it again.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// What a server says about itself. Texts come from outside and are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The name that it gives itself.
    pub name: String,
    /// The name that it has for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// The protocol that was agreed on, such as `2025-11-25`, or the kind of document that describes it.
    pub protocol: String,
    /// What it is, in its own words.
    pub description: Option<String>,
    /// How it wants to be used, in its own words.
    pub instructions: Option<String>,
}

impl About {
    /// The same with each of its texts changed.
    pub(crate) fn map(self, change: impl Fn(String) -> String) -> About {
        About {
            name: change(self.name),
            title: self.title.map(&change),
            version: change(self.version),
            protocol: change(self.protocol),
            description: self.description.map(&change),
            instructions: self.instructions.map(&change),
        }
    }
}

/// The client of an upstream, not started yet.
pub fn connect(config: &UpstreamConfig, secrets: &Secrets) -> Option<Arc<dyn Client>> {
    if let Some(why) = secrets.broken(&config.name) {
        return Some(Arc::new(Broken(Fault::new(Reason::UpstreamUnavailable, why).before_sending())));
    }
    match &config.transport {
        TransportConfig::Stdio(_) | TransportConfig::Http(_) => mcp::client(config, secrets),
        TransportConfig::OpenApi(api) => Some(openapi::client(config, api, secrets)),
    }
}

/// The client of an upstream that cannot be started, for this reason.
struct Broken(Fault);

impl Client for Broken {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        _: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(std::future::ready(Err(self.0.clone())))
    }

    fn down(&self) -> Option<Fault> {
        Some(self.0.clone())
    }

    fn is_broken(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
