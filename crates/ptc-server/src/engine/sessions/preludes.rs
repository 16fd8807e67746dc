//! The preludes of a session: resolved and compiled once when it starts, the same until its end. Roles take
//! away exports whose operations they do not grant.

use std::sync::Arc;

use ptc_host::{Tool, Tools};
use ptc_lisp::prelude::{
    Export, Grants as Needs, Missing, Operation, Options, Policy, Prelude, Source, Upstreams as Offers,
};
use ptc_store::preludes::{Access, PreludeTools, Preludes, Ref, Resolved, wrapper};
use serde_json::{Value as Json, json};

use super::super::reason::Reason;
use super::super::roles::Role;
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
}

impl Frozen {
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
    let open = compile(&resolved, Policy::default())?;
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
    let prelude = if policy.is_open() { open } else { compile(&resolved, policy)? };
    Ok(Frozen { prelude: Some(Arc::new(prelude)), tools: None, refs, projection, masked })
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

fn compile(resolved: &[Resolved], policy: Policy) -> Result<Prelude, SessionError> {
    let needs: Vec<Vec<String>> = resolved
        .iter()
        .map(|one| one.candidate.version.pins.iter().map(|pin| pin.id.clone()).collect())
        .collect();
    let origins: Vec<String> = resolved
        .iter()
        .map(|one| format!("store:{}@{}", one.candidate.version.id, one.candidate.version.version))
        .collect();
    let parts: Vec<Source<'_>> = resolved
        .iter()
        .enumerate()
        .map(|(at, one)| Source {
            id: &one.candidate.version.id,
            text: &one.candidate.source,
            needs: &needs[at],
            origin: &origins[at],
        })
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
