//! Upstreams of programs: one context per program, whose account is closed however the program ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use ptc_host::Program;
use ptc_lisp::analyze::Manifest;
use ptc_lisp::machine::Answer;
use ptc_lisp::prelude::Prelude;
use ptc_upstream::catalog::mentions;
use ptc_upstream::effects::{Policy, plan, reached};
use ptc_upstream::ledger::LedgerEntry;
use ptc_upstream::model::{Fault, Reason};
use ptc_upstream::pins::digest;
use ptc_upstream::runtime::{Account, Rehearsed};
use ptc_upstream::{Caps, EffectJournal, Grants, RunContext, Runtime};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::api::Caller;
use super::schema::OutputSchema;
use super::settings::Settings;
use crate::events;

/// The upstreams of a server.
#[derive(Clone, Debug)]
pub struct Upstreams {
    /// Clients and catalog.
    pub runtime: Arc<Runtime>,
    caps: Caps,
    read_only: bool,
}

/// Why nobody can be shown what a tool is.
#[derive(Debug, PartialEq, Eq)]
pub enum Unseen {
    /// Its server cannot be asked for its tools, for this reason.
    Unlisted(String),
    /// Its server has no such tool.
    Gone,
    /// It must not be used, for this reason.
    Withheld(String),
}

/// Servers that could not be asked for their tools, and why.
pub type Unlisted = BTreeMap<String, String>;

/// Why a server could not be asked that says nothing.
const NO_ANSWER: &str = "it did not answer in time";

/// What a program may call of one server: how that is configured, and how its tools are defined, as hashes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    config: Option<String>,
    tools: BTreeMap<String, String>,
}

impl Used {
    /// Whether it says how tools are defined.
    pub fn names_tools(&self) -> bool {
        !self.tools.is_empty()
    }
}

/// The upstream calls of one program.
#[derive(Debug)]
pub struct Calls(Option<OfProgram>);

/// Calls of programs of a request that were given up before they had an answer, for whoever tells that.
#[derive(Clone, Debug, Default)]
pub struct GivenUpCalls(Arc<Mutex<Vec<LedgerEntry>>>);

impl GivenUpCalls {
    /// The calls so far.
    pub fn all(&self) -> Vec<LedgerEntry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, calls: Vec<LedgerEntry>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(calls);
    }
}

/// The calls of a program that has upstreams.
#[derive(Debug)]
struct OfProgram {
    context: RunContext,
    /// Whose it is, if its calls are not written down: then the log is all that tells of those whose outcome is unknown.
    unwritten_of: Option<Arc<str>>,
    /// Who is told of its calls if it is given up.
    given_up: GivenUpCalls,
}

impl Upstreams {
    /// The upstreams of a runtime.
    pub fn new(runtime: Arc<Runtime>, settings: &Settings) -> Self {
        Upstreams { runtime, caps: settings.caps, read_only: settings.read_only }
    }

    /// The same; programs may only read if `read_only` says so, or did so before.
    pub fn reading(&self, read_only: bool) -> Self {
        Upstreams { read_only: self.read_only || read_only, ..self.clone() }
    }

    /// What programs may do with these grants.
    pub fn policy(&self, grants: Grants) -> Policy {
        Policy { read_only: self.read_only, grants, ..Policy::default() }
    }

    /// What preludes of a session with these grants may rely on.
    pub fn offers(&self, grants: Grants) -> RunContext {
        self.runtime.context(self.caps, self.policy(grants))
    }

    /// Lists the tools of servers behind a prelude where they are not known for certain. It takes no longer than a call
    /// may: what is not there by then is missing.
    pub async fn settle(&self, prelude: &Prelude) {
        let servers = prelude.required_servers();
        if !servers.is_empty() {
            let offers = self.offers(Grants::all());
            let settling = async {
                offers.settle(servers).await;
                if offers.take_up(prelude) {
                    offers.settle(servers).await;
                }
            };
            let _ = tokio::time::timeout(self.caps.call_timeout, settling).await;
        }
    }

    /// Waits for servers that have not been asked for their tools yet, where calls are judged by what they do. It takes no
    /// longer than a call may: what is not known by then counts as what may write.
    pub async fn settle_judged(&self) {
        let names = if self.judges() { self.unasked() } else { Vec::new() };
        if !names.is_empty() {
            let offers = self.offers(Grants::all());
            let _ = tokio::time::timeout(self.caps.call_timeout, offers.settle(&names)).await;
        }
    }

    /// Waits for servers that a program names and that have not been asked for their tools yet, so that calls of what they do
    /// not have are told before anything runs; for all such servers if calls are judged by what they do and the program
    /// computes which ones it makes. It takes no longer than a call of them may wait.
    pub async fn settle_named(&self, context: &RunContext, source: &str) {
        let mut names = self.unasked();
        if names.is_empty() {
            return;
        }
        let (all, seen) = (self.judges() && computes_targets(source), context.catalog());
        names.retain(|name| seen.server(name).is_some() && (all || !mentions(source, name).is_empty()));
        let _ = tokio::time::timeout(self.caps.call_timeout, context.list(&names)).await;
    }

    /// Whether calls are judged by what they do: if programs may only read, or people approve calls.
    fn judges(&self) -> bool {
        self.read_only || self.runtime.asks()
    }

    /// The servers that have not said which tools they have, and of which nobody knows either that they cannot.
    pub fn unasked(&self) -> Vec<String> {
        let states = self.runtime.states().into_iter();
        let unasked = states.filter(|state| state.tools.is_none() && state.fault.is_none());
        unasked.map(|state| state.name).collect()
    }

    /// A digest of what people are shown when somebody must approve a call: how its tool is defined and its server is
    /// configured. The tools of the server are listed first if they are not known, which takes no longer than a call may.
    pub async fn shown(&self, server: &str, tool: &str) -> Result<String, Unseen> {
        self.listed(self.runtime.load(server)).await.map_err(Unseen::Unlisted)?;
        self.seen(server, tool)
    }

    /// Waits for tools that are being listed for no longer than a call may take; why they are not.
    async fn listed(&self, listing: impl Future<Output = Result<(), Fault>>) -> Result<(), String> {
        let listed = tokio::time::timeout(self.caps.call_timeout, listing).await;
        listed.map_or_else(|_| Err(NO_ANSWER.to_owned()), |listed| listed.map_err(|fault| fault.message))
    }

    /// Lists the tools of servers, side by side; those that are `live` as they are at this moment, whatever is known of them.
    /// Says which could not be asked.
    pub async fn look(&self, servers: &BTreeSet<&str>, live: bool) -> Unlisted {
        let looking = servers.iter().map(async |server| {
            let listed = match live {
                true => self.listed(self.runtime.look_anew(server)).await,
                false => self.listed(self.runtime.load(server)).await,
            };
            Some(((*server).to_owned(), listed.err()?))
        });
        join_all(looking).await.into_iter().flatten().collect()
    }

    /// The digest of [`Upstreams::shown`], of tools as they were listed last.
    pub fn seen(&self, server: &str, tool: &str) -> Result<String, Unseen> {
        if let Some(why) = self.runtime.withheld(server, tool) {
            return Err(Unseen::Withheld(why));
        }
        let definition = self.runtime.definition_hash(server, tool).ok_or(Unseen::Gone)?;
        Ok(digest(&json!([self.runtime.config_hash(server), definition])))
    }

    /// What a program with these grants may call, as it is now.
    pub fn used(&self, manifest: &Manifest, grants: Grants) -> BTreeMap<String, Used> {
        let uses = plan(manifest, &self.offers(grants.clone()).catalog(), &self.policy(grants));
        let mut all: BTreeMap<String, Used> = BTreeMap::new();
        for (server, tool) in reached(&uses).into_iter().filter_map(|name| name.split_once('/')) {
            let used = all.entry(server.to_owned()).or_default();
            used.config = self.runtime.config_hash(server);
            // Nothing is known of the tools of a server that was not listed yet.
            if let Some(definition) = self.runtime.definition_hash(server, tool) {
                used.tools.insert(tool.to_owned(), definition);
            }
        }
        all
    }

    /// What is not as it was of what a program may call, but for how these tools are defined, by server and name.
    pub fn changed(
        &self,
        before: &BTreeMap<String, Used>,
        but: &[(&str, &str)],
        unlisted: &Unlisted,
    ) -> Option<String> {
        for (server, used) in before {
            if self.runtime.config_hash(server) != used.config {
                return Some(format!("how the server {server} is set up, which the program may call"));
            }
            // A server that cannot be asked has not changed, and cannot be called either.
            if used.tools.is_empty() || unlisted.contains_key(server) {
                continue;
            }
            let other = |(tool, was): &(&String, &String)| {
                !but.contains(&(server.as_str(), tool.as_str()))
                    && (self.runtime.definition_hash(server, tool).as_ref() != Some(*was)
                        || self.runtime.withheld(server, tool).is_some())
            };
            if let Some((tool, _)) = used.tools.iter().find(other) {
                return Some(format!("the tool {server}/{tool}, which the program may call"));
            }
        }
        None
    }

    /// What is wrong with a call, `{server, tool, args}`, that somebody wrote: arguments that are missing, not declared or
    /// not of the type that the tool declares. Whatever else may keep it from being made is told when it is made.
    pub async fn wrong(&self, call: &Json) -> Option<String> {
        let rehearsed = self.offers(Grants::all()).rehearse(call).await;
        let (server, tool) = (call["server"].as_str()?, call["tool"].as_str()?);
        let catalog = self.runtime.catalog();
        let known = catalog.server(server).and_then(|known| known.tool(tool));
        let own = call["args"].as_object().cloned().unwrap_or_default();
        let args = match rehearsed {
            // An argument that is missing may be there under another name, which says more.
            Rehearsed::Refused(Answer::Raise(error)) => {
                let misspelt = known.and_then(|known| known.undeclared(&known.fitted(own)));
                return Some(misspelt.unwrap_or_else(|| error.text()));
            }
            Rehearsed::Refused(_) => return None,
            Rehearsed::Writes(held) => held.args,
            Rehearsed::Reads { .. } => known?.fitted(own),
        };
        if let Some(undeclared) = known?.undeclared(&args) {
            return Some(undeclared);
        }
        let declared = known?.def.input_schema.get("properties").and_then(Json::as_object)?;
        args.iter().find_map(|(name, value)| {
            // What is beyond the types that are understood here is for the server to say.
            let declared = declared.get(name)?;
            let type_alone = |_| OutputSchema::parse(&json!({"type": declared["type"]}));
            let unfit = OutputSchema::parse(declared).or_else(type_alone).ok()?.check(value).err()?;
            Some(unfit.replace("return", name))
        })
    }

    /// The context of one program of a caller. Calls that may change something are written down under their scope.
    pub fn calls(
        &self,
        caller: &Caller,
        grants: Grants,
        journal: Option<(Arc<str>, Arc<dyn EffectJournal>)>,
    ) -> Calls {
        let context = self.runtime.context(self.caps, self.policy(grants));
        let context = context.owned_by(caller.principal.clone());
        let unwritten_of = journal.is_none().then(|| caller.principal.clone());
        let context = match journal {
            Some((scope, journal)) => context.journalled(scope, journal),
            None => context,
        };
        Calls(Some(OfProgram { context, unwritten_of, given_up: GivenUpCalls::default() }))
    }
}

/// Whether a program may compute which server it calls: not every `tool/call` in it has a name written beside it.
fn computes_targets(source: &str) -> bool {
    let written = source.matches(":server \"").count() + source.matches("tool/call '").count();
    source.matches("tool/call").count() > written
}

impl Calls {
    /// No upstreams.
    pub fn none() -> Calls {
        Calls(None)
    }

    /// The same, for whoever tells that the program was given up.
    pub fn told_to(mut self, given_up: &GivenUpCalls) -> Calls {
        if let Some(own) = &mut self.0 {
            own.given_up = given_up.clone();
        }
        self
    }

    /// The context, if there are upstreams.
    pub fn context(&self) -> Option<&RunContext> {
        self.0.as_ref().map(|own| &own.context)
    }

    /// Lets a program call upstreams, if it may; one that may do more than is allowed fails before it runs.
    pub fn attach(&self, program: Program) -> Program {
        self.context().map_or(program.clone(), |context| context.attach(program))
    }

    /// The same for a program that goes on after so many calls.
    pub fn resumed(self, made: usize) -> Calls {
        self.context().iter().for_each(|context| context.made_before(made));
        self
    }

    /// Closes the account: the calls that were made. `None` if there are no upstreams.
    pub fn finish(&self) -> Option<Vec<LedgerEntry>> {
        self.account().map(|account| account.calls)
    }

    /// Closes the account: calls, and questions about upstreams.
    pub fn account(&self) -> Option<Account> {
        let OfProgram { context, unwritten_of, .. } = self.0.as_ref()?;
        let account = context.finish();
        if let Some(who) = unwritten_of {
            let open = account.calls.iter().filter(|call| call.reason == Some(Reason::OutcomeUnknown));
            let called = |call: &LedgerEntry| format!("{}/{}", call.server, call.tool);
            open.for_each(|call| events::outcome_unknown(who, &called(call), "", ""));
        }
        Some(account)
    }
}

/// A program that is given up must not call any more.
impl Drop for Calls {
    fn drop(&mut self) {
        let left = self.account();
        if let (Some(own), Some(account)) = (&self.0, left) {
            own.given_up.add(account.calls);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_mentions_the_servers_whose_names_stand_in_it() {
        for (source, mentioned) in [
            ("(git/log {})", true),
            ("(tool/call {:server \"git\" :tool \"log\"})", true),
            ("(dir 'git)", true),
            ("(def servers [\"git\"])", true),
            ("(github/log {})", false),
            ("(my-git/log {})", false),
            ("(legit/log)", false),
            ("", false),
        ] {
            assert_eq!(!mentions(source, "git").is_empty(), mentioned, "{source}");
        }
        assert!(!mentions("(my-server/x)", "my_server").is_empty());
        assert!(!mentions("(äöü \"x@y\")", "x@y").is_empty());
    }

    #[test]
    fn a_program_computes_targets_unless_each_is_written() {
        for (source, computes) in [
            ("(git/log {})", false),
            ("(tool/call {:server \"git\" :tool \"log\"})", false),
            ("(tool/call 'git/log {})", false),
            ("(tool/call {:server data/s :tool \"log\"})", true),
            ("(map tool/call requests)", true),
            ("(tool/call {:server \"git\" :tool \"a\"}) (tool/call x)", true),
        ] {
            assert_eq!(computes_targets(source), computes, "{source}");
        }
    }
}
