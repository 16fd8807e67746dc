//! Who looks at the calls of a run before they are made: the rules of the configuration.

use std::sync::Arc;

use ptc_host::{Judge, Judgement};
use ptc_lisp::machine::Answer;
use serde_json::{Value as Json, json};

use super::context::{CALL, Run, RunContext};
use super::ledger::End;
use super::upstream::FoundTool;
use crate::call::{self, CallRequest};
use crate::config::EffectClass;
use crate::effects::Refusal;
use crate::model::{Fault, Reason};

/// Calls of a refused program that stand in the account; one whose targets are computed may reach every tool.
const REFUSED: usize = 8;

impl RunContext {
    /// Who looks at calls before they are made; nobody if the configuration never asks.
    pub fn judge(&self) -> Option<Arc<dyn Judge>> {
        self.0.runtime.asks().then(|| Arc::new(Approvals(self.0.clone())) as Arc<dyn Judge>)
    }

    /// Whether somebody must approve this call, `{server, tool, args}`, before it is made. A call that the program made when
    /// it ran before is answered from the journal, and nobody is asked about it. Blocks for no longer than a call waits for the
    /// journal.
    pub fn asks(&self, args: &Json) -> bool {
        self.0.asked(args).is_some() && !self.0.is_known(args)
    }

    /// Answers one call that somebody approved; [`RunContext::call`] refuses those that nobody was asked about.
    pub async fn call_approved(&self, args: Json) -> Answer {
        self.0.call(args).await
    }

    /// Writes down the calls for which a program was refused before it ran.
    pub fn note_refused(&self, refusal: &Refusal) {
        let mut book = self.0.book();
        for (target, effect) in refusal.matched.iter().take(REFUSED) {
            let (server, tool) = target.split_once('/').unwrap_or(("", target));
            let message = format!("the program was not run, because {target} is of class {}", effect.name());
            let line = book.open(server, tool, String::new());
            book.identify(line, tool, effect.name());
            book.close(line, End::Failed(Fault::new(Reason::UpstreamToolDenied, message)));
        }
    }

    /// Says how many calls an earlier part of this run has made already.
    pub fn made_before(&self, calls: usize) {
        self.0.count(calls);
    }
}

/// The rules of a configuration for one run.
struct Approvals(Arc<Run>);

impl Judge for Approvals {
    fn judge(&self, tool: &str, args: &Json) -> Judgement {
        match tool {
            CALL => self.0.judged(args),
            _ => Judgement::Go,
        }
    }

    /// A rejection is a failure of the world: the program goes on with it as data, and it stands in the account.
    fn rejected(&self, _: &str, args: &Json, why: &str) -> Answer {
        self.0.refused(args, Fault::new(Reason::ApprovalRejected, why))
    }
}

impl Run {
    /// What is to become of a call. One that the program made when it ran before goes on to its answer in the journal: to ask
    /// about it would have it made a second time.
    fn judged(&self, args: &Json) -> Judgement {
        let asked = self.asked(args);
        let request = || CallRequest::parse(args.clone(), &String::new).ok();
        let Some((journal, request)) = self.journal.as_ref().and_then(|journal| Some((journal, request()?)))
        else {
            return asked.map_or(Judgement::Go, Judgement::Ask);
        };
        let known = match asked {
            Some(_) => journal.is_known_to_judge(&request),
            None => Ok(true),
        };
        match (known, asked) {
            (Ok(false), Some(about)) => Judgement::Ask(about),
            (Ok(_), _) => {
                journal.pass(&request);
                Judgement::Go
            }
            // Nobody can tell whether it was made, so it is neither asked about nor made.
            (Err(why), _) => {
                let fault = self.not_looked_up(journal, &request, &journal.identity(&request), &why);
                Judgement::Answer(self.refused(args, fault))
            }
        }
    }

    /// Whether the next call like this one was made when the program ran before, as far as anybody can tell.
    fn is_known(&self, args: &Json) -> bool {
        let request = CallRequest::parse(args.clone(), &String::new).ok();
        let known = self.journal.as_ref().zip(request).map(|(journal, request)| journal.is_known(&request));
        known.is_some_and(|known| known.unwrap_or(false))
    }

    /// The same for whoever can wait without a thread.
    pub(super) async fn is_known_later(&self, args: &Json) -> bool {
        let request = CallRequest::parse(args.clone(), &String::new).ok();
        let Some((journal, request)) = self.journal.as_ref().zip(request) else { return false };
        journal.is_known_later(&request).await.unwrap_or(false)
    }

    /// The answer to a call that is not made, which stands in the account.
    pub(super) fn refused(&self, args: &Json, fault: Fault) -> Answer {
        let answer = call::fault(&fault);
        if let Ok(request) = CallRequest::parse(args.clone(), &String::new) {
            let args_hash = self.args_hash(&request);
            let mut book = self.book();
            let line = book.open(&request.server, &request.tool, args_hash);
            book.close(line, End::Failed(fault));
        }
        answer
    }

    /// What to show about a call that somebody must approve. A call that cannot be made at all is not asked about:
    /// it fails by itself.
    pub(super) fn asked(&self, args: &Json) -> Option<Json> {
        let request = CallRequest::parse(args.clone(), &String::new).ok()?;
        let upstream = self.runtime.upstream(&request.server).filter(|_| !self.is_spent())?;
        let (name, effect, args, description) = match upstream.find(&request.tool) {
            FoundTool::Tool(tool) if !self.policy.allows(tool.effect) => return None,
            FoundTool::Tool(tool) => {
                let (args, line) = (tool.fitted(request.args), tool.line());
                (tool.def.name.clone(), tool.effect, args, line)
            }
            FoundTool::Withheld(_) | FoundTool::Unusable(_) => return None,
            // Nothing is known of the tools of a server that was not listed yet.
            FoundTool::Unknown(server) if server.tools.is_none() => {
                (request.tool, EffectClass::Unknown, request.args, String::new())
            }
            FoundTool::Unknown(_) => return None,
        };
        if !self.policy.grants.allows(&request.server, &name) {
            return None;
        }
        let rule = upstream.config.approval.of(&name);
        rule.asks(effect).then(|| {
            json!({
                "server": request.server,
                "tool": name,
                "args": args,
                "effect": effect.name(),
                "approval": rule.name(),
                "description": description,
            })
        })
    }
}
