//! What models may do with the store: the functions of the namespace `prelude/`, and the host tools behind
//! them. They take JSON, give JSON and never fail: what goes wrong is an answer with `"status": "error"`.

use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use super::Preludes;
use super::edit::{Edit, Edited};
use super::error::{OUTCOME_UNKNOWN, PreludeError, Reason, refuse};
use super::forms::{Forms, TopForm};
use super::model::{Metadata, Pin, Ref, Resolved, hex};
use super::view::{MAX_TEXT, bounded_source, clipped, public_metadata, public_version, public_view};
use crate::{Store, StoreError};

/// Most versions in a history; the newest are shown.
const MAX_HISTORY: usize = 100;
/// Most forms in a list of forms.
const MAX_FORMS: usize = 500;

/// How much of the store a session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Looking.
    Read,
    /// Looking, writing and choosing defaults.
    Write,
}

/// A function of `prelude/` and the tool behind it.
struct Function {
    name: &'static str,
    access: Access,
    parameters: &'static [&'static str],
    doc: &'static str,
    run: fn(&PreludeTools, &Args<'_>) -> Result<Json, PreludeError>,
}

impl Function {
    /// The name of the host tool.
    fn tool(&self) -> String {
        format!("prelude_store_{}", self.name.replace('-', "_"))
    }
}

/// All functions; the source of the namespace, the names of the tools and their access follow from here.
const FUNCTIONS: &[Function] = &[
    Function {
        name: "list",
        access: Access::Read,
        parameters: &[],
        doc: "All stored preludes with their current and latest version.",
        run: list,
    },
    Function {
        name: "history",
        access: Access::Read,
        parameters: &["id"],
        doc: "The retained versions of a prelude, newest first.",
        run: history,
    },
    Function {
        name: "read",
        access: Access::Read,
        parameters: &["ref"],
        doc: "A version with its source and metadata; ref is \"id\", \"id@version\" or a map.",
        run: read,
    },
    Function {
        name: "source",
        access: Access::Read,
        parameters: &["ref"],
        doc: "The source of a version.",
        run: source,
    },
    Function {
        name: "forms",
        access: Access::Read,
        parameters: &["ref"],
        doc: "The definitions of a version by name, without their bodies.",
        run: forms,
    },
    Function {
        name: "form",
        access: Access::Read,
        parameters: &["ref", "name"],
        doc: "The text of one definition.",
        run: form,
    },
    Function {
        name: "form-deps",
        access: Access::Read,
        parameters: &["ref", "name"],
        doc: "The definitions that one definition uses, and those that use it.",
        run: form_deps,
    },
    Function {
        name: "deps",
        access: Access::Read,
        parameters: &["ref"],
        doc: "The exact versions of other preludes that a version needs.",
        run: deps,
    },
    Function {
        name: "write",
        access: Access::Write,
        parameters: &["request"],
        doc: "Stores a new version: {:id :source :metadata}. It becomes the current one.",
        run: write,
    },
    Function {
        name: "edit",
        access: Access::Write,
        parameters: &["request"],
        doc: "Changes single definitions: {:id :version :checksum :edits [{:op \"replace_form\" :name :source}] \
              :metadata}. Ops: replace_form, add_form, remove_form, set_ns_doc.",
        run: edit,
    },
    Function {
        name: "set-default",
        access: Access::Write,
        parameters: &["request"],
        doc: "Makes a retained version the current one: {:id :version :checksum :metadata}.",
        run: set_default,
    },
];

/// The source of the namespace `prelude/` for an access: what hosts attach to sessions that may use the store.
pub fn wrapper(access: Access) -> String {
    let mut text =
        String::from("(ns prelude \"Stored preludes of this deployment.\" {:visibility :discoverable})\n");
    for function in FUNCTIONS.iter().filter(|function| function.access <= access) {
        let parameters = function.parameters.join(" ");
        let pairs: Vec<String> = function.parameters.iter().map(|name| format!(":{name} {name}")).collect();
        let effect = match function.access {
            Access::Read => ":read",
            Access::Write => ":write",
        };
        text.push_str(&format!(
            "\n(defn {}\n  \"{}\"\n  {{:effect {effect}}}\n  [{parameters}]\n  (tool/{} {{{}}}))\n",
            function.name,
            function.doc.replace('"', "\\\""),
            function.tool(),
            pairs.join(" "),
        ));
    }
    text
}

/// The names of all host tools for an access.
pub fn tool_names(access: Access) -> Vec<String> {
    FUNCTIONS.iter().filter(|function| function.access <= access).map(Function::tool).collect()
}

/// Whether calls of a host tool change the store.
pub fn writes(tool: &str) -> bool {
    FUNCTIONS.iter().any(|function| function.access == Access::Write && function.tool() == tool)
}

/// The version that a call of a host tool left in the store or made the default, as `id@version`.
pub fn kept_by(tool: &str, answer: &Json) -> Option<String> {
    let version = answer["version"].as_i64().or(answer["current_version"].as_i64())?;
    let id = answer["id"].as_str().filter(|_| writes(tool) && answer["status"] == "ok")?;
    Some(format!("{id}@{version}"))
}

/// The host tools of one session.
#[derive(Debug, Clone)]
pub struct PreludeTools {
    preludes: Preludes,
    access: Access,
    stamp: Metadata,
    /// The tools that may be used; all of the access if nothing is said.
    only: Option<Vec<String>>,
}

impl PreludeTools {
    /// The tools for an access.
    pub fn new(preludes: Preludes, access: Access) -> Self {
        PreludeTools { preludes, access, stamp: Metadata::new(), only: None }
    }

    /// Notes in every write which session made it and for whom; programs cannot say otherwise.
    #[must_use]
    pub fn stamped(mut self, session: Option<&str>, by: Option<&str>) -> Self {
        for (key, value) in [("source_session_id", session), ("created_by", by)] {
            self.stamp.insert(key.to_owned(), value.map_or(Json::Null, Into::into));
        }
        self
    }

    /// Leaves only the tools with these names.
    #[must_use]
    pub fn only(mut self, names: &[String]) -> Self {
        self.only = Some(names.to_vec());
        self
    }

    /// The names of the tools to grant.
    pub fn names(&self) -> Vec<String> {
        FUNCTIONS.iter().filter(|function| self.allows(function)).map(Function::tool).collect()
    }

    fn allows(&self, function: &Function) -> bool {
        let named = |only: &Vec<String>| only.contains(&function.tool());
        function.access <= self.access && self.only.as_ref().is_none_or(named)
    }

    /// Answers a call. It may block on the database and on compiling.
    pub fn call(&self, tool: &str, arguments: &Json) -> Json {
        let function = FUNCTIONS.iter().find(|function| function.tool() == tool);
        let answer = match function {
            Some(function) if self.allows(function) => {
                let nothing = Map::new();
                let args = Args(arguments.as_object().unwrap_or(&nothing));
                (function.run)(self, &args)
            }
            Some(_) => Err(refuse(
                Reason::InvalidArgument,
                "this session may not use that tool of the prelude store",
            )),
            None => Err(refuse(Reason::InvalidArgument, "there is no such tool of the prelude store")),
        };
        match answer {
            Ok(mut answer) => {
                answer["status"] = "ok".into();
                answer
            }
            Err(error) => failed(&error),
        }
    }

    /// The store that they are in.
    pub fn store(&self) -> &Store {
        self.preludes.store()
    }

    /// What a program is told of a call that the store has not answered in time.
    pub fn silent(tool: &str) -> Json {
        let (place, cause) = (String::new(), String::new());
        failed(&PreludeError::Store(match writes(tool) {
            true => StoreError::Unacknowledged { place, cause },
            false => StoreError::Busy { place, cause },
        }))
    }

    /// Whether an answer says what became of a call.
    pub fn is_known(answer: &Json) -> bool {
        answer["reason"] != OUTCOME_UNKNOWN
    }

    fn metadata(&self, request: &Args<'_>) -> Result<Metadata, PreludeError> {
        let mut metadata = match request.0.get("metadata") {
            None | Some(Json::Null) => Metadata::new(),
            Some(Json::Object(map)) => map.clone(),
            Some(_) => return Err(refuse(Reason::InvalidMetadata, "`metadata` must be a map")),
        };
        for (key, value) in &self.stamp {
            match value {
                Json::Null => metadata.remove(key),
                value => metadata.insert(key.clone(), value.clone()),
            };
        }
        Ok(metadata)
    }
}

fn failed(error: &PreludeError) -> Json {
    // What the database or its place look like is no business of programs.
    let message = match error {
        PreludeError::Refused { message, .. } => message.as_str(),
        PreludeError::Store(StoreError::Unacknowledged { .. }) => {
            "the store did not answer, so the change may or may not be kept; look with prelude/history before you try again"
        }
        PreludeError::Store(error) if error.is_temporary() => {
            "the store is busy or away for the moment; try again"
        }
        PreludeError::Store(_) => "the store failed; its operator must look at it",
    };
    let mut answer = json!({
        "status": "error",
        "reason": error.reason(),
        "message": clipped(message, MAX_TEXT),
    });
    if let PreludeError::Refused { compile_reason: Some(reason), .. } = error {
        answer["compile_reason"] = clipped(reason, MAX_TEXT).into();
    }
    answer
}

/// Arguments of a call: whatever a program gave.
struct Args<'a>(&'a Map<String, Json>);

impl<'a> Args<'a> {
    fn text(&self, key: &str) -> Result<&'a str, PreludeError> {
        let text = self.0.get(key).and_then(Json::as_str);
        text.ok_or_else(|| refuse(Reason::InvalidArgument, format!("`{key}` must be a text")))
    }

    fn reference(&self) -> Result<Ref, PreludeError> {
        Ref::from_json(self.0.get("ref").unwrap_or(&Json::Null))
    }

    /// The map in `request`, which has only these keys.
    fn request(&self, keys: &[&str]) -> Result<Args<'a>, PreludeError> {
        let Some(Json::Object(map)) = self.0.get("request") else {
            return Err(refuse(
                Reason::InvalidArgument,
                format!("the argument must be a map with {}", listed(keys)),
            ));
        };
        match map.keys().all(|key| keys.contains(&key.as_str())) {
            true => Ok(Args(map)),
            false => Err(refuse(
                Reason::InvalidArgument,
                format!("the map may have {}, nothing else", listed(keys)),
            )),
        }
    }

    /// The reference in `id`, `version` and `checksum`.
    fn base(&self) -> Result<Ref, PreludeError> {
        let parts = ["id", "version", "checksum"];
        let map: Map<String, Json> = parts
            .into_iter()
            .filter_map(|key| self.0.get(key).map(|value| (key.to_owned(), value.clone())))
            .collect();
        Ref::from_json(&Json::Object(map))
    }
}

fn listed(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

fn list(tools: &PreludeTools, _: &Args<'_>) -> Result<Json, PreludeError> {
    let preludes: Vec<Json> = tools
        .preludes
        .list()?
        .iter()
        .map(|one| {
            json!({
                "id": one.id,
                "current_version": one.current_version,
                "latest_version": one.latest_version,
                "checksum": one.checksum,
                "versions": one.versions,
            })
        })
        .collect();
    Ok(json!({"preludes": preludes}))
}

fn history(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let versions = tools.preludes.history(args.text("id")?)?;
    let shown: Vec<Json> = versions.iter().rev().take(MAX_HISTORY).map(public_version).collect();
    Ok(json!({"versions": shown, "count": versions.len(), "truncated": versions.len() > MAX_HISTORY}))
}

fn read(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    Ok(public_view(&tools.preludes.read(&args.reference()?)?))
}

fn source(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let candidate = tools.preludes.read(&args.reference()?)?;
    let (text, truncated) = bounded_source(&candidate.source);
    Ok(json!({
        "id": candidate.version.id,
        "version": candidate.version.version,
        "checksum": candidate.version.checksum,
        "source": text,
        "source_truncated": truncated,
    }))
}

fn forms(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let (candidate, forms) = tools.preludes.forms(&args.reference()?)?;
    let all: Vec<Json> = forms.definitions().take(MAX_FORMS).map(described).collect();
    Ok(json!({
        "id": candidate.version.id,
        "version": candidate.version.version,
        "checksum": candidate.version.checksum,
        "forms": all,
        "truncated": forms.definitions().count() > MAX_FORMS,
    }))
}

fn described(form: &TopForm) -> Json {
    let mut view = json!({
        "name": clipped(&form.name, MAX_TEXT),
        "kind": form.kind.word(),
        "bytes": form.end - form.start,
    });
    if let Some(doc) = &form.doc {
        view["doc"] = clipped(doc, MAX_TEXT).into();
    }
    view
}

fn one_form<'a>(forms: &'a Forms, args: &Args<'_>) -> Result<&'a TopForm, PreludeError> {
    let name = args.text("name")?;
    forms.definition(name).ok_or_else(|| {
        refuse(Reason::FormNotFound, format!("no definition {}; see the forms", super::error::quoted(name)))
    })
}

fn form(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let (candidate, forms) = tools.preludes.forms(&args.reference()?)?;
    let form = one_form(&forms, args)?;
    let (text, truncated) = bounded_source(forms.text(form));
    let mut view = described(form);
    view["id"] = candidate.version.id.into();
    view["version"] = candidate.version.version.into();
    view["source"] = text.into();
    view["source_truncated"] = truncated.into();
    Ok(view)
}

fn form_deps(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let (candidate, forms) = tools.preludes.forms(&args.reference()?)?;
    let form = one_form(&forms, args)?;
    Ok(json!({
        "id": candidate.version.id,
        "version": candidate.version.version,
        "name": form.name,
        "uses": forms.uses(form),
        "used_by": forms.used_by(&form.name),
    }))
}

fn deps(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let bundle = tools.preludes.resolve(&[args.reference()?])?;
    let (own, needed): (Vec<&Resolved>, Vec<&Resolved>) = bundle.iter().partition(|one| one.selected);
    let needed: Vec<Json> = needed
        .into_iter()
        .map(|one| {
            let version = &one.candidate.version;
            json!({
                "id": version.id,
                "version": version.version,
                "checksum": version.checksum,
                "required_by": one.required_by,
            })
        })
        .collect();
    let own = own.first().map(|one| &one.candidate.version);
    Ok(json!({
        "id": own.map(|version| version.id.clone()),
        "version": own.map(|version| version.version),
        "prelude_deps": needed,
    }))
}

fn write(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let request = args.request(&["id", "source", "metadata"])?;
    let metadata = tools.metadata(&request)?;
    let written = tools.preludes.write(request.text("id")?, request.text("source")?, &metadata)?;
    Ok(public_version(&written.version))
}

fn edit(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let request = args.request(&["id", "version", "checksum", "edits", "metadata"])?;
    let Some(Json::Array(edits)) = request.0.get("edits") else {
        return Err(refuse(Reason::InvalidArgument, "`edits` must be a list of maps with `op`"));
    };
    let edits = edits.iter().map(Edit::from_json).collect::<Result<Vec<_>, _>>()?;
    let edited = tools.preludes.edit(&request.base()?, &edits, &tools.metadata(&request)?)?;
    Ok(edited_view(&edited))
}

fn edited_view(edited: &Edited) -> Json {
    let mut view = public_version(&edited.candidate.version);
    view["base_version"] = edited.base_version.into();
    view["parent_checksum"] = edited.parent_checksum.clone().into();
    view["forms"] = json!({
        "replaced": edited.touched.replaced,
        "added": edited.touched.added,
        "removed": edited.touched.removed,
        "ns_doc_set": edited.touched.ns_doc_set,
    });
    view["public_surface"] = json!({
        "added": edited.surface.added,
        "removed": edited.surface.removed,
        "changed": edited.surface.changed,
    });
    view
}

fn set_default(tools: &PreludeTools, args: &Args<'_>) -> Result<Json, PreludeError> {
    let request = args.request(&["id", "version", "checksum", "metadata"])?;
    let selected = tools.preludes.set_default(&request.base()?, &tools.metadata(&request)?)?;
    let Pin { id, version, checksum } = selected.version;
    Ok(json!({
        "id": id,
        "current_version": version,
        "checksum": checksum,
        "previous_version": selected.previous_version,
        "latest_version": selected.latest_version,
    }))
}

/// The arguments of a call as ledgers and traces keep them: sources as hash and length, metadata as models
/// see them.
pub fn ledger_arguments(arguments: &Json) -> Json {
    // Requests hold edits hold sources; nothing that counts is deeper.
    summarised(arguments, 8)
}

fn summarised(value: &Json, depth: usize) -> Json {
    match value {
        Json::Object(map) if depth > 0 => {
            let entries = map.iter().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("source" | "doc", Json::String(text)) => json!({
                        "sha256": hex(&Sha256::digest(text.as_bytes())),
                        "bytes": text.len(),
                    }),
                    ("metadata", Json::Object(metadata)) => Json::Object(public_metadata(metadata)),
                    (_, value) => summarised(value, depth - 1),
                };
                (clipped(key, MAX_TEXT), value)
            });
            Json::Object(entries.collect())
        }
        Json::Array(items) if depth > 0 => items.iter().map(|item| summarised(item, depth - 1)).collect(),
        Json::String(text) => clipped(text, MAX_TEXT).into(),
        Json::Object(_) | Json::Array(_) => Json::Null,
        other => other.clone(),
    }
}
