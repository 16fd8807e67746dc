//! What a run offers to preludes: which operations there are, and what they do.

use std::sync::Arc;

use ptc_lisp::analyze::Servers;
use ptc_lisp::prelude::{Effect, Offer, Upstreams};

use super::RunContext;
use crate::config::EffectClass;

impl Upstreams for RunContext {
    /// A server whose tools have not been listed may have any: whether it does shows when one is called.
    fn offer(&self, server: &str, tool: &str) -> Offer {
        let all = self.all();
        let Some(known) = all.server(server) else { return Offer::UnknownServer };
        if known.tools.is_none() {
            return if self.allows(server, tool) { Offer::Granted } else { Offer::Denied };
        }
        let seen = self.catalog();
        match (seen.server(server).and_then(|seen| seen.tool(tool)), known.tool(tool)) {
            (Some(_), _) => Offer::Granted,
            (None, Some(_)) => Offer::Denied,
            (None, None) => Offer::UnknownTool,
        }
    }

    /// As they were when the run first asked: what a program is allowed to name does not change under it.
    fn servers(&self) -> Arc<Servers> {
        let run = self.run();
        run.servers.get_or_init(|| Arc::new(run.view().names_for_programs())).clone()
    }

    fn effect(&self, server: &str, tool: &str) -> Effect {
        let catalog = self.catalog();
        let class = catalog.server(server).and_then(|server| server.tool(tool)).map(|tool| tool.effect);
        match class {
            Some(EffectClass::Read) => Effect::Read,
            Some(EffectClass::Write) => Effect::Write,
            Some(EffectClass::Unknown) | None => Effect::Unknown,
        }
    }
}
