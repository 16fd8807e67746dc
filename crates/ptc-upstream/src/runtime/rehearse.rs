//! Calls that are only looked at: what a call would do, without making it.

use ptc_lisp::machine::Answer;
use serde_json::{Map, Value as Json};

use super::RunContext;
use super::calls::{Stop, arguments, spent};
use super::journal::key_argument;
use crate::call::{self, CallRequest, raise};
use crate::config::EffectClass;

/// What a call would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Rehearsed {
    /// It reads, and may be made.
    Reads {
        /// The upstream.
        server: String,
        /// The tool, by its own name.
        tool: String,
    },
    /// It may change the world.
    Writes(HeldBack),
    /// It would not be made at all; this is what the program is told.
    Refused(Answer),
}

/// A call that may change the world, with everything that would be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldBack {
    /// The upstream.
    pub server: String,
    /// The tool, by its own name.
    pub tool: String,
    /// The arguments as the tool would get them.
    pub args: Map<String, Json>,
    /// Write or unknown.
    pub effect: EffectClass,
}

impl RunContext {
    /// Looks at a call, `{server, tool, args}`, without making it. One that may change the world counts as made.
    pub async fn rehearse(&self, call: &Json) -> Rehearsed {
        let request = match CallRequest::parse(call.clone(), &|| self.catalog().names()) {
            Ok(request) => request,
            Err(message) => return Rehearsed::Refused(raise(message)),
        };
        match self.looked_at(&request).await {
            Ok(held) if held.effect == EffectClass::Read => {
                Rehearsed::Reads { server: held.server, tool: held.tool }
            }
            Ok(_) if !self.run().take_call() => Rehearsed::Refused(call::fault(&spent(self.run()))),
            Ok(held) => Rehearsed::Writes(held),
            Err(Stop::Fault(fault)) => Rehearsed::Refused(call::fault(&fault)),
            Err(Stop::Wrong(message)) => Rehearsed::Refused(raise(message)),
        }
    }

    async fn looked_at(&self, request: &CallRequest) -> Result<HeldBack, Stop> {
        let (upstream, tool) = self.run().resolve(request).await?;
        let mut args = arguments(upstream, &tool, request, Some(""))?;
        // The key comes when the call is made.
        args.retain(|name, value| Some(name.as_str()) != key_argument(&tool) || value != "");
        let server = upstream.config.name.clone();
        Ok(HeldBack { server, tool: tool.def.name.clone(), args, effect: tool.effect })
    }
}
