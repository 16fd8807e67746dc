//! `lisp_check`: what a program would do and what is wrong with it, without running it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_host::{Error, ErrorKind, Program};
use ptc_lisp::analyze::Manifest;
use ptc_lisp::span::{Position, Span};
use ptc_upstream::Grants;
use ptc_upstream::catalog::{Catalog, Server};
use ptc_upstream::config::EffectClass;
use ptc_upstream::effects::{Nowhere, PlannedUse, Policy, enforce, named_unlisted, nowhere, plan, reached};
use ptc_upstream::model::Reason as UpstreamReason;
use serde_json::{Value as Json, json};

use super::api::{Args, Caller};
use super::evaluate::limits;
use super::{Answered, CallFacts, Engine, Reason, args, envelope, fixed};

/// What was found of a program.
type Checked = Result<Manifest, Vec<Error>>;

impl Engine {
    pub(super) async fn check(&self, caller: &Caller, mut given: Args) -> Answered {
        let known = args::known(&given, &["program"], &[]);
        let source = match known.and_then(|()| args::program(given.remove("program"), &self.settings)) {
            Ok(source) => source,
            Err(message) => return fixed(Reason::ARGS, &message, "Mend the arguments and call again."),
        };
        let context = self.upstreams.as_ref().map(|upstreams| upstreams.offers(Grants::all()));
        self.settle_program(self.prelude.as_ref(), context.as_ref(), &source).await;
        let mut object = match self.manifest(caller, &source).await {
            Ok(manifest) => self.report(caller, &manifest, &source),
            Err(errors) => {
                let errors: Vec<Json> = errors.iter().map(|error| described(error, &source)).collect();
                let mut object = json!({"status": "ok", "valid": false, "errors": errors});
                let warnings = self.absent_beside(caller, &source);
                if !warnings.is_empty() {
                    object["warnings"] = warnings.into();
                }
                object
            }
        };
        self.redactor.redact_json(&mut object);
        let facts = CallFacts { program: Some(source), ..CallFacts::default() };
        Answered { facts, ..Answered::new(envelope::plain(object, false), None) }
    }

    /// What a program may call, or all that is wrong with it. It is read on a worker of the pool, which has the stack for
    /// it, and never loaded.
    async fn manifest(&self, caller: &Caller, source: &str) -> Checked {
        let found: Arc<Mutex<Option<Checked>>> = Arc::default();
        let (put, source): (_, Arc<str>) = (found.clone(), source.into());
        let (calls, prelude) = (self.upstreams.is_some(), self.prelude.clone());
        let servers = self.catalog(caller).map(|catalog| catalog.names_for_programs()).unwrap_or_default();
        let program = Program::new("nil").owner(caller.owner.clone()).limits(limits(&self.settings));
        let program = program.prepare(move |machine| {
            if let Some(prelude) = &prelude {
                machine.attach(prelude)?;
            }
            machine.set_tools(calls.then(|| "call".to_owned()));
            machine.set_discovery(calls);
            machine.set_servers(servers.clone());
            *put.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine.check_all(&source));
            Err(Error::new(ErrorKind::Cancelled, "it is only checked"))
        });
        let outcome = self.pool.run(program).await;
        let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
        found.unwrap_or_else(|| outcome.result.map(|_| Manifest::default()).map_err(|error| vec![error]))
    }

    /// The servers that a program with mistakes seems to call and that are not there now, as warnings: whoever mends the
    /// mistakes need not find that out afterwards.
    fn absent_beside(&self, caller: &Caller, source: &str) -> Vec<Json> {
        let catalog = self.catalog(caller).unwrap_or_default();
        catalog
            .addressed(source)
            .iter()
            .filter(|server| is_absent(server))
            .map(|server| away(server))
            .collect()
    }

    /// The effects of a program without mistakes, as far as its caller may see them.
    fn report(&self, caller: &Caller, manifest: &Manifest, source: &str) -> Json {
        let (uses, refusal, warnings) = match &self.upstreams {
            Some(upstreams) => {
                let catalog = self.catalog(caller).unwrap_or_default();
                let policy = upstreams.policy(Grants::all());
                let refusal = enforce(manifest, &catalog, &policy).err().map(|refusal| refusal.to_string());
                let uses = plan(manifest, &catalog, &policy);
                let refusal = refusal.or_else(|| self.not_granted(caller, &uses));
                let nowhere = nowhere(&uses, &catalog);
                let nowhere = nowhere.iter().map(|each| warning(each, source));
                let warnings = nowhere.chain(absent(&uses, &catalog)).collect();
                (uses, refusal.or_else(|| self.unbacked()), warnings)
            }
            None => (plan(manifest, &Default::default(), &Policy::open()), self.unbacked(), Vec::new()),
        };
        let mut report = json!({
            "status": "ok",
            "valid": true,
            "allowed": refusal.is_none(),
            "effect": worst(&uses),
            "tools": reached(&uses),
            "uses": uses.iter().map(PlannedUse::to_json).collect::<Vec<_>>(),
            "max_calls": manifest.max_calls(),
            "errors": [],
        });
        if let Some(refusal) = refusal {
            report["refusal"] = refusal.into();
        }
        if !warnings.is_empty() {
            report["warnings"] = warnings.into();
        }
        report
    }

    /// Why a role credential may not run a program: a call that none of its roles grants. It is not told whether there is
    /// such a tool.
    fn not_granted(&self, caller: &Caller, uses: &[PlannedUse]) -> Option<String> {
        let roles = self.roles(caller)?;
        let granted = |planned: &PlannedUse| {
            let Some((server, tool)) = planned.target.split_once('/').filter(|_| planned.fixed) else {
                return true;
            };
            match planned.unlisted.is_empty() {
                true => !planned.reaches.is_empty(),
                // Programs may write either.
                false => roles.iter().map(|role| role.grants()).any(|grants| {
                    grants.allows(server, tool) || grants.allows(server, &tool.replace('-', "_"))
                }),
            }
        };
        let denied = uses.iter().find(|planned| !granted(planned))?;
        Some(format!("upstream operation {} is not granted to this credential", denied.target))
    }
}

/// The worst that a program may do.
fn worst(uses: &[PlannedUse]) -> &'static str {
    let any = |effect: EffectClass| uses.iter().any(|planned| planned.effect == effect);
    match uses {
        [] => "none",
        _ if any(EffectClass::Write) => EffectClass::Write.name(),
        _ if any(EffectClass::Unknown) => EffectClass::Unknown.name(),
        _ => EffectClass::Read.name(),
    }
}

/// A call of something that does not exist, as a warning: where the program may catch what comes of it, or the server has tools
/// that it must not use.
fn warning(nowhere: &Nowhere, source: &str) -> Json {
    let mut object = json!({"reason": nowhere.reason, "message": format!("{}; the call fails where it is reached", nowhere.message)});
    place(&mut object, nowhere.place, source);
    object["fix"] = nowhere.fix.as_str().into();
    object
}

/// The servers that a program names and that are not there now, as warnings.
fn absent(uses: &[PlannedUse], catalog: &Catalog) -> Vec<Json> {
    let fixed = uses.iter().filter(|planned| planned.fixed);
    let fixed =
        fixed.filter_map(|planned| planned.target.split_once('/')).map(|(server, _)| server.to_owned());
    let named: BTreeSet<String> = named_unlisted(uses).into_iter().chain(fixed).collect();
    let servers = named.iter().filter_map(|name| catalog.server(name));
    servers.filter(|server| is_absent(server)).map(|server| away(server)).collect()
}

fn is_absent(server: &Server) -> bool {
    server.tools.is_none() || server.down.is_some()
}

/// A server that is not there now, as a warning.
fn away(server: &Server) -> Json {
    let why =
        server.down.as_ref().map_or_else(|| "still starting".to_owned(), |why| format!("down: {}", why.0));
    let unchecked = match server.tools {
        Some(_) => "",
        None => "; whether it has the tools that are called was not checked",
    };
    json!({
        "reason": UpstreamReason::UpstreamUnavailable.name(),
        "message": format!("upstream '{}' is {why}{unchecked}", server.name),
        "fix": "Check again in a moment, or run it: calls of a server that is not there fail with this reason.",
    })
}

/// Says where in a program something stands.
fn place(object: &mut Json, span: Option<Span>, source: &str) {
    if let Some(span) = span {
        let at = Position::of(source, span.start);
        object["line"] = at.line.into();
        object["column"] = at.column.into();
    }
}

/// A mistake with its place and how to mend it.
fn described(error: &Error, source: &str) -> Json {
    let mut object = json!({"reason": error.kind.reason(), "message": error.text()});
    place(&mut object, error.span, source);
    if let Some(hint) = &error.hint {
        object["fix"] = hint.as_str().into();
    }
    if let Some(repaired) = &error.repaired {
        object["repaired"] = repaired.as_str().into();
    }
    object
}
