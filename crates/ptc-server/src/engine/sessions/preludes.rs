//! The preludes of a session: resolved and compiled once when it starts, the same until its end. Roles take
//! away exports whose operations they do not grant.

use std::sync::Arc;

use ptc_host::{Tool, Tools};
use ptc_lisp::prelude::{
    Export, Grants as Needs, Missing, Operation, Options, Policy, Prelude, Source, Upstreams as Offers,
};
use ptc_store::preludes::{Access, PreludeTools, Preludes, Ref, Resolved, wrapper};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::super::Engine;
use super::super::reason::Reason;
use super::super::roles::Role;
use super::super::settings;
use super::super::text::cut;
use super::error::SessionError;

/// What programs of a session find besides the language.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// The compiled preludes.
    pub prelude: Option<Arc<Prelude>>,
    /// Host tools that only exports of the prelude may call.
    pub tools: Option<PreludeTools>,
    /// The exact versions, as clients see them.
    pub refs: Vec<Json>,
    /// What a role took away.
    pub projection: Option<Json>,
    /// Namespaces that are only there because others need them and that lists leave out.
    pub masked: Vec<String>,
    /// What it was compiled from, if it was chosen for this session.
    parts: Vec<Part>,
    /// What of it may be seen.
    policy: Policy,
}

/// One prelude of a session, by content.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
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
    parts: Vec<Part>,
    exports: Option<Vec<String>>,
    prompt: Option<Vec<String>>,
    refs: Vec<Json>,
    projection: Option<Json>,
    masked: Vec<String>,
}

impl Frozen {
    /// With the prelude of the server, if it has one.
    pub fn of_server(prelude: Option<Arc<Prelude>>) -> Frozen {
        Frozen { prelude, ..Frozen::default() }
    }

    /// The host tools behind the prelude.
    pub fn host_tools(&self) -> Tools {
        let Some(tools) = &self.tools else { return Tools::new() };
        tools.names().into_iter().fold(Tools::new(), |all, name| {
            let (tools, tool) = (tools.clone(), name.clone());
            all.with(name, Tool::blocking(move |args: Json| tools.call(&tool, &args)))
        })
    }

    /// The names of these tools.
    pub fn private_tools(&self) -> Vec<String> {
        self.tools.as_ref().map(PreludeTools::names).unwrap_or_default()
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
            refs: self.refs.clone(),
            projection: self.projection.clone(),
            masked: self.masked.clone(),
        }
    }

    fn hash(&self) -> Option<&str> {
        self.prelude.as_ref().map(|prelude| prelude.artifact_hash())
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
    /// Whether lists leave out what was not asked for by name.
    pub scoped: bool,
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
    let resolved = store.resolve(wanted).map_err(|error| match error.reason() {
        "not_found" => SessionError::args("a prelude or version does not exist"),
        _ => SessionError::args(format!("preludes cannot be resolved: {error}")),
    })?;
    let refs = resolved.iter().map(reference).collect();
    let parts: Vec<Part> = resolved.iter().map(part).collect();
    let open = compile(&parts, Policy::default())?;
    let transitive: Vec<String> = open
        .components()
        .iter()
        .filter(|part| resolved.iter().any(|one| !one.selected && one.candidate.version.id == part.id))
        .flat_map(|part| part.namespaces.clone())
        .collect();
    let masked = if granting.scoped { transitive.clone() } else { Vec::new() };
    let filtered = filtered(&open, granting)?;
    let hidden = |export: &Export| {
        let strict = granting.role.is_some_and(|role| role.strict_transitive_calls);
        filtered.iter().any(|(name, _)| *name == export.name)
            || (strict && transitive.contains(&export.namespace))
    };
    let left: Vec<String> =
        open.exports().iter().filter(|export| !hidden(export)).map(|export| export.name.clone()).collect();
    let shown: Vec<String> = open.namespaces().iter().map(|ns| ns.name.clone()).collect();
    let policy = Policy {
        exports: (left.len() < open.exports().len()).then_some(left),
        prompt: granting.scoped.then(|| shown.into_iter().filter(|ns| !masked.contains(ns)).collect()),
    };
    let projection = granting.role.map(|_| projection(&open, &filtered));
    let prelude = if policy.is_open() { open } else { compile(&parts, policy.clone())? };
    Ok(Frozen { prelude: Some(Arc::new(prelude)), tools: None, refs, projection, masked, parts, policy })
}

impl Engine {
    /// The preludes of a session that was stored: the same as when it began, or none at all.
    pub(super) async fn thawed(
        &self,
        settings: &settings::Sessions,
        owner: &str,
        recipe: Recipe,
    ) -> Result<Frozen, SessionError> {
        let (from, hash) = (recipe.from, recipe.hash.clone());
        let store = self.preludes.clone().filter(|_| settings.allow_prelude_write);
        let frozen = match from {
            Provenance::Server => Frozen::of_server(self.prelude.clone()),
            Provenance::Chosen => apart(move || recompiled(recipe)).await?,
            Provenance::Writing => {
                let Some(store) = store else {
                    return Err(failed("this server does not let sessions write preludes any more"));
                };
                let owner = owner.to_owned();
                apart(move || writing(&store, &owner)).await?
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

/// Compiles what was stored with a session.
fn recompiled(recipe: Recipe) -> Result<Frozen, SessionError> {
    let Recipe { parts, exports, prompt, refs, projection, masked, .. } = recipe;
    let policy = Policy { exports, prompt };
    let prelude = Some(Arc::new(compile(&parts, policy.clone())?));
    Ok(Frozen { prelude, tools: None, refs, projection, masked, parts, policy })
}

/// The functions of `prelude/` over a store, for a session that may write.
pub fn writing(store: &Preludes, owner: &str) -> Result<Frozen, SessionError> {
    let text = wrapper(Access::Write);
    let source = Source { id: "prelude", text: &text, needs: &[], origin: "host" };
    let prelude =
        Prelude::compile(&[source], &Options::default()).map_err(|problem| failed(&problem.placed()))?;
    let tools = PreludeTools::new(store.clone(), Access::Write).stamped(None, Some(owner));
    Ok(Frozen { prelude: Some(Arc::new(prelude)), tools: Some(tools), ..Frozen::default() })
}

fn part(one: &Resolved) -> Part {
    let version = &one.candidate.version;
    Part {
        id: version.id.clone(),
        origin: format!("store:{}@{}", version.id, version.version),
        text: one.candidate.source.clone(),
        needs: version.pins.iter().map(|pin| pin.id.clone()).collect(),
    }
}

fn compile(parts: &[Part], policy: Policy) -> Result<Prelude, SessionError> {
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
    SessionError::new(Reason::PRELUDE_ATTACH, format!("prelude attach failed: {}", cut(message, 2_000)))
}

/// Exports that a role does not grant, with the reason. Without a role, anything that is missing is an error.
fn filtered(prelude: &Prelude, granting: &Granting<'_>) -> Result<Vec<(String, &'static str)>, SessionError> {
    let needs = Needs { tools: &[], upstreams: granting.offers };
    let Some(role) = granting.role else {
        return prelude.admit(&needs).map(|()| Vec::new()).map_err(|error| failed(&error.text()));
    };
    let denied = |missing: Missing| match missing.operation {
        Operation::Tool(_) | Operation::Unrecognized(_) => (missing.export, "ptc_tool_denied"),
        Operation::Upstream { .. } => (missing.export, "upstream_tool_denied"),
    };
    let mut all: Vec<(String, &'static str)> = prelude.missing(&needs).into_iter().map(denied).collect();
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
