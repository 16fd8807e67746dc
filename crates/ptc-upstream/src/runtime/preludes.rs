//! What a run offers to preludes: which operations there are, and what they do. Only what is known for certain is
//! offered, so whoever attaches a prelude has the servers behind it looked at first.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_lisp::analyze::{Servers, closest};
use ptc_lisp::prelude::{Effect, Grants as Needs, Offer, Operation, Prelude, Upstreams};

use super::RunContext;
use super::upstream::FoundTool;
use crate::catalog::{Catalog, CatalogTool, one_line};
use crate::config::EffectClass;

/// Characters of why an operation is not offered.
const WHY: usize = 200;

/// Why an operation is not offered, and in words if there is more to say.
type Withheld = (Offer, Option<String>);

impl Catalog {
    /// What people should know of servers whose names a prelude uses for something else, a line for each. Whoever brings
    /// upstreams and a prelude together tells it once.
    pub fn hidden_by(&self, prelude: &Prelude) -> Vec<String> {
        let names = self.servers().iter().map(|server| server.name.as_str());
        let hidden = names.filter(|name| prelude.namespaces().iter().any(|ns| ns.name == *name));
        let told = hidden.map(|name| {
            format!(
                "upstream '{name}': {name}/ is a namespace of the prelude; programs call its tools as (tool/call {{:server \
                 \"{name}\" :tool \"…\" :args {{…}}}}); under another name they are functions"
            )
        });
        told.collect()
    }
}

impl RunContext {
    /// Whether it is known for certain which tools these servers have, as far as a look at them can tell.
    pub fn is_settled(&self, servers: &[String]) -> bool {
        let runtime = &self.run().runtime;
        servers.iter().filter_map(|name| runtime.upstream(name)).all(|upstream| upstream.is_settled())
    }

    /// Lists the tools of these servers where they are not known for certain: those that were never listed, said that
    /// something changed, or ended. It comes before a prelude is attached that requires them.
    pub async fn settle(&self, servers: &[String]) {
        if !self.is_settled(servers) {
            self.run().runtime.reach(servers).await;
        }
    }

    /// Has tools that a prelude requires and that are not there taken up as soon as their servers have them, although a
    /// catalog is frozen. True if servers are to be looked at again for that.
    pub fn take_up(&self, prelude: &Prelude) -> bool {
        let missing = prelude.missing(&Needs { tools: &[], upstreams: Some(self) });
        let late = missing.iter().filter(|one| one.offer == Some(Offer::UnknownTool));
        let mut again = false;
        for one in late {
            if let Operation::Upstream { server, tool } = &one.operation
                && let Some(upstream) = self.run().runtime.upstream(server)
            {
                again |= upstream.await_tool(tool);
            }
        }
        again
    }

    /// A look at these servers, where it is not known for certain which tools they have.
    pub fn look_at(&self, servers: &[String]) -> Option<BoxFuture<'static, ()>> {
        if self.is_settled(servers) {
            return None;
        }
        let (own, servers) = (self.clone(), servers.to_vec());
        Some(Box::pin(async move { own.settle(&servers).await }))
    }

    /// The tool behind an operation, if it is there and this run may call it.
    fn offered(&self, server: &str, tool: &str) -> Result<Arc<CatalogTool>, Withheld> {
        let run = self.run();
        let Some(upstream) = run.runtime.upstream(server) else {
            let seen = run.view();
            let near = closest(server, seen.servers().iter().map(|known| known.name.as_str()));
            return Err((Offer::UnknownServer, near.map(|near| format!("did you mean {near}?"))));
        };
        let (grants, credentials) = (&run.policy.grants, upstream.credentials());
        let found = upstream.find(tool);
        let name = match &found {
            FoundTool::Tool(known) => known.def.name.as_str(),
            FoundTool::Withheld(_) | FoundTool::Unusable(_) | FoundTool::Unknown(_) => tool,
        };
        // What is not granted is not told of, whatever there is.
        if !grants.reaches(credentials.iter().map(String::as_str)) || !grants.allows(server, name) {
            return Err((Offer::Denied, None));
        }
        if let Some(why) = upstream.unreachable() {
            return Err((Offer::Unreachable, Some(why)));
        }
        match found {
            FoundTool::Tool(tool) => Ok(tool),
            FoundTool::Withheld(why) => Err((Offer::Denied, Some(one_line(&why, WHY)))),
            FoundTool::Unusable(why) => Err((Offer::UnknownTool, Some(one_line(&why, WHY)))),
            FoundTool::Unknown(_) => Err((Offer::UnknownTool, None)),
        }
    }
}

impl Upstreams for RunContext {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        self.offered(server, tool).map_or_else(|(offer, _)| offer, |_| Offer::Granted)
    }

    fn why(&self, server: &str, tool: &str) -> Option<String> {
        self.offered(server, tool).err().and_then(|(_, why)| why)
    }

    /// As they were when the run first asked: what a program is allowed to name does not change under it.
    fn servers(&self) -> Arc<Servers> {
        let run = self.run();
        let named = || match run.journal {
            // Calls that are in it are answered from there, whatever there is by now.
            Some(_) => run.view().names_left_open(),
            None => run.view().names_for_programs(),
        };
        run.servers.get_or_init(named).clone()
    }

    fn effect(&self, server: &str, tool: &str) -> Effect {
        self.catalog().effect(server, tool)
    }
}

/// Servers that are only known, not there: those of a run that is played back.
impl Upstreams for Catalog {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        match self.server(server) {
            None => Offer::UnknownServer,
            Some(known) if known.tools.is_none() => Offer::Unreachable,
            Some(known) if known.tool(tool).is_some() => Offer::Granted,
            Some(_) => Offer::UnknownTool,
        }
    }

    fn servers(&self) -> Arc<Servers> {
        self.names_for_programs()
    }

    fn effect(&self, server: &str, tool: &str) -> Effect {
        match self.server(server).and_then(|server| server.tool(tool)).map(|tool| tool.effect) {
            Some(EffectClass::Read) => Effect::Read,
            Some(EffectClass::Write) => Effect::Write,
            Some(EffectClass::Unknown) | None => Effect::Unknown,
        }
    }
}
