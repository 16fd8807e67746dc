//! The preludes of a session: resolved and compiled once when it starts, the same until its end. Roles take
//! away exports whose operations they do not grant.
//!
//! They do so by compiling again: what a role does not grant is withheld from the sources (`Policy::withheld`), so programs
//! can neither name nor read it, and are told why. Other parts of the prelude may still use it; whatever reaches an
//! operation that is not granted inherits the requirement and is withheld too.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_host::{BEGUN_BEFORE, Tool, Tools, outcome_unknown};
use ptc_lisp::prelude::{
    Grants as Needs, Missing, Offer, Operation, Options, Policy, Prelude, Source, Upstreams as Offers,
};
use ptc_store::preludes::{
    Access, PreludeError, PreludeTools, Preludes, Ref, Resolved, kept_by, ledger_arguments, wrapper, writes,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::super::Engine;
use super::super::host::{Host, OwnTool, Witness, granted};
use super::super::pulse::{SILENT, said_in_time};
use super::super::reason::Reason;
use super::super::roles::Role;
use super::super::settings;
use super::super::text::cut;
use super::error::SessionError;
use crate::effects::{HeldJournal, OWN, Unmade};

/// What programs of a session find besides the language.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// The compiled preludes.
    pub prelude: Option<Arc<Prelude>>,
    /// Host tools that only exports of the prelude may call.
    pub tools: Option<PreludeTools>,
    /// The tools behind the server's own namespaces.
    pub own: Vec<OwnTool>,
    /// The exact versions, as clients see them.
    pub refs: Vec<Json>,
    /// What a role took away.
    pub projection: Option<Json>,
    /// Namespaces that are only there because others need them and that lists leave out.
    pub masked: Vec<String>,
    /// The parts that are only there because others need them.
    transitive: Vec<String>,
    /// Whether programs may call only what was chosen.
    strict: bool,
    /// What it was compiled from, if it was chosen for this session.
    parts: Vec<SessionPrelude>,
    /// What of it may be seen.
    policy: Policy,
}

/// One prelude of a session, by content.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SessionPrelude {
    id: String,
    origin: String,
    text: String,
    needs: Vec<String>,
}

/// Where the preludes of a session come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Provenance {
    /// It has those of the server, or none.
    Server,
    /// It chose them.
    Chosen,
    /// It may write to the store.
    Writing,
}

/// How to have the same preludes again in another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recipe {
    from: Provenance,
    /// The hash of the whole, which must come out again.
    hash: Option<String>,
    parts: Vec<SessionPrelude>,
    exports: Option<Vec<String>>,
    prompt: Option<Vec<String>>,
    withheld: BTreeMap<String, String>,
    refs: Vec<Json>,
    projection: Option<Json>,
    masked: Vec<String>,
    /// The names of the host tools behind them.
    tools: Vec<String>,
    transitive: Vec<String>,
    strict: bool,
}

/// What a tool of the prelude store says. A program that runs again is told what it was told, and changes nothing twice.
fn answered(tools: &PreludeTools, tool: &str, args: &Json, journal: Option<&HeldJournal>) -> Json {
    let call = || {
        let (asked, name, given) = (tools.clone(), tool.to_owned(), args.clone());
        let said = said_in_time(tools.store(), move || asked.call(&name, &given), drop);
        said.unwrap_or_else(|| PreludeTools::silent(tool))
    };
    let Some(journal) = journal else { return call() };
    if !writes(tool) {
        return journal.told(tool, args, call);
    }
    let made = journal.made(tool, (args, &ledger_arguments(args)), call, PreludeTools::is_known);
    made.unwrap_or_else(|unmade| match unmade {
        Unmade::Before { identity, begun_ms } => {
            let then = format!(
                "it is not made again. Look for the version with prelude/history; `ptc effects settle` notes what you find, and \
                 its identity is {identity}"
            );
            let call = format!("{OWN}/{tool}");
            let message = outcome_unknown(&call, begun_ms, BEGUN_BEFORE, &then);
            json!({"status": "error", "reason": "outcome_unknown", "message": message})
        }
        Unmade::NotBegun(why) => {
            let message = format!("nothing was stored: the call cannot be written down before it is made ({why})");
            json!({"status": "error", "reason": "journal_unavailable", "message": message})
        }
    })
}

impl Frozen {
    /// With the prelude of the server, if it has one, and the server's own tools.
    pub fn of_server(prelude: Option<Arc<Prelude>>, own: Vec<OwnTool>) -> Frozen {
        Frozen { prelude, own, ..Frozen::default() }
    }

    /// The host tools behind the prelude, for one program. What they say is remembered where the program may run again.
    pub fn host_tools(&self, witness: &Arc<Witness>, journal: Option<&Arc<HeldJournal>>) -> Tools {
        let store =
            self.tools.iter().flat_map(|tools| tools.names().into_iter().map(move |name| (tools, name)));
        let tools = store.fold(Tools::new(), |all, (tools, name)| {
            let (tools, tool, witness) = (tools.clone(), name.clone(), witness.clone());
            let journal = journal.cloned();
            let call = move |args: Json| {
                let answer = answered(&tools, &tool, &args, journal.as_deref());
                kept_by(&tool, &answer).into_iter().for_each(|version| witness.keep(version));
                answer
            };
            all.with(name, Tool::blocking(call))
        });
        granted(&self.own, witness, journal, tools)
    }

    /// The names of these tools.
    pub fn private_tools(&self) -> Vec<String> {
        let store = self.tools.as_ref().map(PreludeTools::names).unwrap_or_default();
        store.into_iter().chain(self.own.iter().map(|tool| tool.name.to_owned())).collect()
    }

    /// How to have the same again.
    pub fn recipe(&self) -> Recipe {
        Recipe {
            from: match (&self.tools, self.parts.is_empty()) {
                (Some(_), _) => Provenance::Writing,
                (None, true) => Provenance::Server,
                (None, false) => Provenance::Chosen,
            },
            hash: self.hash().map(str::to_owned),
            parts: self.parts.clone(),
            exports: self.policy.exports.clone(),
            prompt: self.policy.prompt.clone(),
            withheld: self.policy.withheld.clone(),
            tools: self.private_tools(),
            transitive: self.transitive.clone(),
            strict: self.strict,
            refs: self.refs.clone(),
            projection: self.projection.clone(),
            masked: self.masked.clone(),
        }
    }

    pub(super) fn hash(&self) -> Option<&str> {
        self.prelude.as_ref().map(|prelude| prelude.artifact_hash())
    }

    /// Which namespaces programs may call, as the log of turns tells it.
    pub fn call_policy(&self) -> Json {
        let all = || self.prelude.iter().flat_map(|prelude| prelude.components());
        let namespaces = |transitive: bool| -> Vec<&String> {
            let of = all().filter(|part| self.transitive.contains(&part.id) == transitive);
            of.flat_map(|part| &part.namespaces).collect()
        };
        json!({
            "strict_transitive_calls": self.strict,
            "relaxed_transitive_calls": !self.strict,
            "direct_namespaces": namespaces(false),
            "transitive_namespaces": namespaces(true),
        })
    }

    /// The namespaces, as `lisp_session_start` shows them.
    pub fn namespaces(&self) -> Vec<Json> {
        let namespaces = self.prelude.iter().flat_map(|prelude| prelude.namespaces());
        let shown = namespaces.filter(|ns| !self.masked.contains(&ns.name));
        shown
            .map(|ns| {
                json!({
                    "namespace": ns.name,
                    "doc": ns.doc.as_deref().map(one_line),
                    "discover": format!("(ns-publics '{})", ns.name),
                    "source": format!("(source {}/sym)", ns.name),
                })
            })
            .collect()
    }
}

/// Bytes of a namespace's documentation.
const DOC_BYTES: usize = 1024;
/// Filtered exports that are listed.
const FILTERED: usize = 50;

fn one_line(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.len() > DOC_BYTES {
        true => format!("{}… ({} bytes)", cut(&line, DOC_BYTES), line.len()),
        false => line,
    }
}

/// Reads the argument `preludes`. What it says is never repeated.
pub fn references(given: Option<&Json>) -> Result<Vec<Ref>, SessionError> {
    let items = match given {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(items)) => items,
        Some(_) => return Err(SessionError::args("preludes must be an array when supplied")),
    };
    let read = |(index, item): (usize, &Json)| {
        if let Some(version) = item.get("version")
            && version.as_u64().is_none_or(|version| version == 0)
        {
            return Err(SessionError::args(format!("preludes[{index}].version must be a positive integer")));
        }
        Ref::from_json(item).map_err(|_| {
            SessionError::args(format!("preludes[{index}] must be a valid prelude id or id@version ref"))
        })
    };
    items.iter().enumerate().map(read).collect()
}

/// Does something that waits for the store and compiles, on a thread with the stack for it.
pub async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SessionError> + Send + 'static,
) -> Result<T, SessionError> {
    let gone = || SessionError::new(Reason::SESSIONS_UNAVAILABLE, "preludes cannot be had at the moment");
    let (send, receive) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("ptc-preludes".to_owned()).stack_size(ptc_host::STACK);
    thread.spawn(move || send.send(work()).is_ok()).map_err(|_| gone())?;
    receive.await.map_err(|_| gone())?
}

/// What a session is granted.
pub struct Granting<'g> {
    /// Its role, if there are roles.
    pub role: Option<&'g Role>,
    /// What upstreams offer, if there are any.
    pub offers: Option<&'g dyn Offers>,
    /// Has the servers behind a prelude looked at. It blocks.
    pub settle: &'g dyn Fn(&Prelude),
    /// Whether lists leave out what was not asked for by name.
    pub scoped: bool,
    /// The server's own namespaces.
    pub host: &'g Host,
}

impl Granting<'_> {
    fn strict(&self) -> bool {
        self.role.is_some_and(|role| role.strict_transitive_calls)
    }
}

impl SessionPrelude {
    fn of(source: &Source<'_>) -> SessionPrelude {
        SessionPrelude {
            id: source.id.to_owned(),
            origin: source.origin.to_owned(),
            text: source.text.to_owned(),
            needs: source.needs.to_vec(),
        }
    }
}

/// Resolves and compiles the preludes that a session asks for. It blocks on the store.
pub fn freeze(store: &Preludes, wanted: &[Ref], granting: &Granting<'_>) -> Result<Frozen, SessionError> {
    for (index, one) in wanted.iter().enumerate() {
        let granted = granting.role.and_then(|role| role.preludes.as_ref());
        let exact = |granted: &Ref| granted.id == one.id && granted.version == one.version;
        if granted.is_some_and(|granted| !granted.iter().any(exact)) {
            return Err(SessionError::args(format!("preludes[{index}] is not granted for this role")));
        }
    }
    let resolved = resolved(store, wanted)?;
    let refs = resolved.iter().map(reference).collect();
    let parts: Vec<SessionPrelude> = resolved.iter().map(part).collect();
    let needed = resolved.iter().filter(|one| !one.selected);
    let needed = needed.map(|one| (one.candidate.version.id.clone(), one.required_by.clone())).collect();
    Ok(Frozen { refs, ..narrowed(parts, &needed, &[], granting)? })
}

/// What is asked for, with what it needs, unless the store does not answer in time.
fn resolved(store: &Preludes, wanted: &[Ref]) -> Result<Vec<Resolved>, SessionError> {
    let (of, all) = (store.clone(), wanted.to_vec());
    let ask = move || of.resolve(&all).map_err(|error| unresolved(&of, &all, &error));
    said_in_time(store.store(), ask, drop).unwrap_or_else(|| Err(unread(SILENT)))
}

/// What is said if the store of preludes cannot be read. Its place is nobody's business.
fn unread(why: &str) -> SessionError {
    tracing::error!("the prelude store cannot be read: {why}");
    let message = "the prelude store cannot be read; its operator must look at it";
    SessionError::new(Reason::SESSIONS_UNAVAILABLE, message)
}

/// Why preludes cannot be had. What was asked for is not repeated.
fn unresolved(store: &Preludes, wanted: &[Ref], error: &PreludeError) -> SessionError {
    if let PreludeError::Store(error) = error {
        return unread(&error.to_string());
    }
    let is_missing = |one: &Ref| store.read(one).is_err_and(|error| error.reason() == "not_found");
    match (error.reason(), wanted.iter().position(is_missing)) {
        ("not_found", Some(at)) => SessionError::args(format!(
            "preludes[{at}] does not exist, or not in that version; (prelude/list) of a write_capable session or \
             `ptc prelude store list` shows what there is"
        )),
        ("not_found", None) => SessionError::args("a prelude that one of these needs does not exist"),
        _ => SessionError::args(format!("preludes cannot be resolved: {error}")),
    }
}

impl Engine {
    /// The preludes of a session that was stored: the same as when it began, or none at all.
    pub(super) async fn thawed(
        &self,
        settings: &settings::SessionSettings,
        owner: &str,
        recipe: Recipe,
    ) -> Result<Frozen, SessionError> {
        let hash = recipe.hash.clone();
        let own = self.host.tools_named(&recipe.tools);
        let store = self.preludes.clone().filter(|_| settings.allow_prelude_write);
        let frozen = match recipe.from {
            Provenance::Server => Frozen::of_server(self.prelude_of(hash.as_deref()).await, own),
            Provenance::Chosen => Frozen { own, ..apart(move || recompiled(recipe)).await? },
            Provenance::Writing => {
                let Some(store) = store else {
                    return Err(failed("this server does not let sessions write preludes any more"));
                };
                let tools = tools_of(&store, owner).only(&recipe.tools);
                Frozen { tools: Some(tools), own, ..apart(move || recompiled(recipe)).await? }
            }
        };
        match frozen.hash() == hash.as_deref() {
            true => Ok(frozen),
            false => Err(failed(&format!(
                "the session began with preludes of hash {}, and this server makes {} of them; start a new session",
                hash.as_deref().unwrap_or("(none)"),
                frozen.hash().unwrap_or("(none)"),
            ))),
        }
    }
}

impl Engine {
    /// The prelude of a session that chose none and began with one of this hash: that of this server, with the log of turns or
    /// without, whichever the session has.
    async fn prelude_of(&self, hash: Option<&str>) -> Option<Arc<Prelude>> {
        let hash_of =
            |prelude: &Option<Arc<Prelude>>| prelude.as_ref().map(|one| one.artifact_hash().to_owned());
        if hash_of(&self.session_prelude).as_deref() == hash {
            return self.session_prelude.clone();
        }
        let other = match self.other_prelude.get() {
            Some(other) => other.clone(),
            None => {
                let (host, prelude) = (self.host.toggled(), self.prelude.clone());
                // One that cannot be compiled is none that a session has.
                let other =
                    apart(move || Ok(host.with(prelude.as_ref()).ok().flatten())).await.ok().flatten();
                self.other_prelude.get_or_init(|| other).clone()
            }
        };
        match hash_of(&other).as_deref() == hash {
            true => other,
            false => self.session_prelude.clone(),
        }
    }
}

/// Compiles what was stored with a session.
fn recompiled(recipe: Recipe) -> Result<Frozen, SessionError> {
    let Recipe { parts, exports, prompt, withheld, masked, refs, projection, transitive, strict, .. } =
        recipe;
    let policy = Policy { exports, prompt, withheld, masked: masked.clone() };
    let prelude = Some(Arc::new(compile(&parts, policy.clone())?));
    Ok(Frozen { prelude, refs, projection, masked, transitive, strict, parts, policy, ..Frozen::default() })
}

/// The prelude of the server, as a role leaves it.
pub fn of_server(prelude: Arc<Prelude>, granting: &Granting<'_>) -> Result<Frozen, SessionError> {
    if granting.role.is_none() {
        let own = granting.host.tools(None);
        let tools: Vec<String> = own.iter().map(|tool| tool.name.to_owned()).collect();
        filtered(&prelude, &tools, granting)?;
        return Ok(Frozen::of_server(Some(prelude), own));
    }
    narrowed(prelude.sources().iter().map(SessionPrelude::of).collect(), &BTreeMap::new(), &[], granting)
}

/// The functions of `prelude/` over a store, for a session that may write.
pub fn writing(store: &Preludes, owner: &str, granting: &Granting<'_>) -> Result<Frozen, SessionError> {
    let tools = tools_of(store, owner);
    let tools = match granting.role.and_then(|role| role.ptc_tools.as_ref()) {
        Some(only) => tools.only(only),
        None => tools,
    };
    let text = wrapper(Access::Write);
    let part = SessionPrelude::of(&Source { id: "prelude", text: &text, needs: &[], origin: "host" });
    let frozen = narrowed(vec![part], &BTreeMap::new(), &tools.names(), granting)?;
    Ok(Frozen { tools: Some(tools), ..frozen })
}

/// The tools behind `prelude/`, which note who wrote.
fn tools_of(store: &Preludes, owner: &str) -> PreludeTools {
    PreludeTools::new(store.clone(), Access::Write).stamped(None, Some(owner))
}

/// Compiles sources and takes away what is not granted. `needed` are the parts that are only there because others,
/// which it names, need them; `tools` are the host tools behind the prelude.
fn narrowed(
    parts: Vec<SessionPrelude>,
    needed: &BTreeMap<String, Vec<String>>,
    tools: &[String],
    granting: &Granting<'_>,
) -> Result<Frozen, SessionError> {
    let chosen: Vec<String> = parts.iter().map(|part| part.id.clone()).collect();
    let parts: Vec<SessionPrelude> = {
        let taken = |id: &str| chosen.iter().any(|one| one == id);
        parts
            .into_iter()
            .chain(granting.host.sources(&taken).map(|source| SessionPrelude::of(&source)))
            .collect()
    };
    let own = granting.host.tools(granting.role);
    let tools: Vec<String> =
        tools.iter().cloned().chain(own.iter().map(|tool| tool.name.to_owned())).collect();
    let open = compile(&parts, Policy::default())?;
    let filtered = filtered(&open, &tools, granting)?;
    let mut policy = Policy::default();
    for (name, reason) in &filtered {
        policy.withheld.insert(name.clone(), denied(reason));
    }
    for component in open.components() {
        let Some(by) = needed.get(&component.id) else { continue };
        if granting.scoped {
            policy.masked.extend(component.namespaces.iter().cloned());
        }
        let own = open.exports().iter().filter(|export| component.namespaces.contains(&export.namespace));
        for export in own.filter(|_| granting.strict()) {
            policy.withheld.entry(export.name.clone()).or_insert_with(|| indirect(&component.id, by));
        }
    }
    let projection = granting.role.map(|_| projection(&open, &filtered));
    let masked = policy.masked.clone();
    let prelude = if policy.is_open() { open } else { compile(&parts, policy.clone())? };
    let prelude = Some(Arc::new(prelude));
    let (transitive, strict) = (needed.keys().cloned().collect(), granting.strict());
    Ok(Frozen { prelude, own, projection, masked, transitive, strict, parts, policy, ..Frozen::default() })
}

/// What a program is told that calls an export which its role does not grant.
fn denied(reason: &str) -> String {
    format!(
        "the role of this session does not grant what it needs ({reason}); prelude_projection in the answer to \
         lisp_session_start lists all such exports"
    )
}

/// What a program is told that calls an export which it did not choose.
fn indirect(id: &str, by: &[String]) -> String {
    format!(
        "it is only here because {} needs it, and the role of this session allows calls of what was chosen; attach \
         {id} itself when the session starts",
        by.join(", ")
    )
}

fn part(one: &Resolved) -> SessionPrelude {
    let version = &one.candidate.version;
    SessionPrelude {
        id: version.id.clone(),
        origin: format!("store:{}@{}", version.id, version.version),
        text: one.candidate.source.clone(),
        needs: version.pins.iter().map(|pin| pin.id.clone()).collect(),
    }
}

fn compile(parts: &[SessionPrelude], policy: Policy) -> Result<Prelude, SessionError> {
    let parts: Vec<Source<'_>> = parts
        .iter()
        .map(|part| Source { id: &part.id, text: &part.text, needs: &part.needs, origin: &part.origin })
        .collect();
    let mut options = Options { policy, ..Options::default() };
    let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
    options.limits.source_bytes = options.limits.source_bytes.max(bytes);
    Prelude::compile(&parts, &options).map_err(|problem| failed(&problem.placed()))
}

fn failed(message: &str) -> SessionError {
    let message = message.strip_prefix(ATTACH_FAILED).unwrap_or(message);
    SessionError::new(Reason::PRELUDE_ATTACH, format!("{ATTACH_FAILED}{}", cut(message, 2_000)))
}

/// How refusals begin, those of the language too.
const ATTACH_FAILED: &str = "prelude attach failed: ";

/// Exports that a role does not grant, with the reason. Without a role, anything that is missing is an error.
fn filtered(
    prelude: &Prelude,
    tools: &[String],
    granting: &Granting<'_>,
) -> Result<Vec<(String, &'static str)>, SessionError> {
    (granting.settle)(prelude);
    let needs = Needs { tools, upstreams: granting.offers };
    let Some(role) = granting.role else {
        return prelude.admit(&needs).map(|()| Vec::new()).map_err(|error| failed(&error.text()));
    };
    let mut missing = prelude.missing(&needs);
    // A role takes away what it does not grant. Whether a server has it when it is back, nobody knows.
    if missing.iter().any(|one| one.offer == Some(Offer::Unreachable)) {
        missing.retain(|one| one.offer == Some(Offer::Unreachable));
        return Err(failed(&Missing::refusal(&missing).text()));
    }
    let denied = |missing: Missing| match missing.operation {
        Operation::Tool(_) | Operation::Unrecognized(_) => (missing.export, "ptc_tool_denied"),
        Operation::Upstream { .. } => (missing.export, "upstream_tool_denied"),
    };
    let mut all: Vec<(String, &'static str)> = missing.into_iter().map(denied).collect();
    if role.upstream_tools.is_some() {
        let dynamic = prelude.exports().iter().filter(|export| export.dynamic);
        all.extend(dynamic.map(|export| (export.name.clone(), "dynamic_upstream_requires_broad_grant")));
    }
    all.sort();
    all.dedup_by(|left, right| left.0 == right.0);
    Ok(all)
}

fn projection(prelude: &Prelude, filtered: &[(String, &'static str)]) -> Json {
    let parts = |name: &str| {
        let (namespace, local) = name.split_once('/').unwrap_or(("", name));
        (namespace.to_owned(), local.to_owned())
    };
    let count = |namespace: &str| filtered.iter().filter(|(name, _)| parts(name).0 == namespace).count();
    let total = |namespace: &str| prelude.exports().iter().filter(|one| one.namespace == namespace).count();
    let touched: Vec<&str> =
        prelude.namespaces().iter().map(|ns| ns.name.as_str()).filter(|ns| count(ns) > 0).collect();
    let empty: Vec<&&str> = touched.iter().filter(|ns| count(ns) == total(ns)).collect();
    let exports: Vec<Json> = filtered
        .iter()
        .take(FILTERED)
        .map(|(name, reason)| {
            let (namespace, local) = parts(name);
            json!({"ref": name, "namespace": namespace, "name": local, "reason": reason})
        })
        .collect();
    json!({
        "filtered_export_count": filtered.len(),
        "filtered_exports_truncated": filtered.len() > FILTERED,
        "empty_namespaces": empty,
        "filtered_namespaces": touched.iter()
            .map(|ns| json!({"namespace": ns, "filtered_export_count": count(ns)}))
            .collect::<Vec<_>>(),
        "filtered_exports": exports,
    })
}

fn reference(one: &Resolved) -> Json {
    let version = &one.candidate.version;
    json!({
        "id": version.id,
        "version": version.version,
        "checksum": version.checksum,
        "origin": if one.selected { "selected" } else { "dependency" },
        "required_by": one.required_by,
    })
}

#[cfg(test)]
mod tests {
    use ptc_store::Store;

    use super::*;
    use crate::engine::pulse::hung::hang;

    #[test]
    fn a_store_of_preludes_that_hangs_holds_neither_programs_nor_who_starts_a_session() {
        let store = Arc::new(Store::open(":memory:").expect("a store"));
        let preludes = Preludes::new(store.clone());
        let free = hang(&store);
        let tools = tools_of(&preludes, "anna");
        let request = json!({"id": "paged", "source": "(ns paged) (defn size [] 10)", "metadata": {}});
        let write = json!({"request": request});
        let told = answered(&tools, "prelude_store_list", &json!({}), None);
        assert!(told["message"].as_str().is_some_and(|told| told.contains("try again")), "{told}");
        let told = answered(&tools, "prelude_store_write", &write, None);
        assert_eq!(told["reason"], "outcome_unknown", "{told}");
        let wanted = Ref::parse("paged").expect("a reference");
        let refused = resolved(&preludes, &[wanted]).expect_err("it does not answer");
        assert_eq!(refused.reason.name, "sessions_unavailable");
        drop(free);
        assert_eq!(answered(&tools, "prelude_store_list", &json!({}), None)["status"], "ok");
    }

    #[tokio::test]
    async fn sessions_unavailable_is_told_when_a_thread_dies() {
        let gone = apart::<()>(|| panic!("on purpose")).await.expect_err("there is no answer");
        assert_eq!(gone.reason.name, "sessions_unavailable");
    }
}
