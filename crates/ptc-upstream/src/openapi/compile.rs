//! OpenAPI operations as tools. Only operations that are listed become tools, and only those that can be called
//! without guessing; everything else is refused at start with a reason.
//!
//! Without `allow_writes` an operation must be a plain GET: no body, no header parameters, of which those that it does not need
//! are left out. With it, the other methods, JSON bodies (argument `body`) and header parameters work. Which operations there are to choose from says `select.rs`.

use std::collections::BTreeMap;

use reqwest::Url;
use serde_json::{Map, Value as Json, json};

use super::document::Document;
use super::pages::pagination;
use super::path::has_dot_steps;
use super::select::{self, Selector, Spot};
use crate::config::OperationOverride;
use crate::model::ToolDef;

/// Where a parameter goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Into the path.
    Path,
    /// Into the query.
    Query,
    /// Into a header.
    Header,
}

/// A parameter of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name, in the document and as an argument.
    pub name: String,
    /// Where it goes.
    pub place: Place,
    /// How lists and objects are written in a query, and values in a path.
    pub style: Style,
}

/// How a list or an object is written in a query, and any value in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Not at all: there is one value.
    Single,
    /// Once for every item or field.
    Each,
    /// Joined by a text.
    Joined(&'static str),
    /// `name[field]=value`.
    Deep,
    /// As JSON.
    Json,
    /// Into a path.
    InPath(PathStyle),
}

/// How a value is written into a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStyle {
    /// What stands around it.
    pub form: PathForm,
    /// Whether items and fields stand by themselves.
    pub explode: bool,
    /// Whether there is one value only.
    pub single: bool,
}

/// What stands around a value in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathForm {
    /// Nothing: `5`.
    Simple,
    /// A dot: `.5`.
    Label,
    /// A name: `;id=5`.
    Matrix,
}

impl Style {
    /// What a parameter says; in a query `form`, with every item by itself, and in a path `simple`, unless it says something
    /// else.
    fn of(param: &Json, place: Place, schema: &Json) -> Style {
        const SINGLE: [&str; 4] = ["boolean", "integer", "number", "string"];
        let explode = param.get("explode").and_then(Json::as_bool);
        let single = schema.get("type").and_then(Json::as_str).is_some_and(|kind| SINGLE.contains(&kind));
        if place == Place::Path {
            let form = match param.get("style").and_then(Json::as_str) {
                Some("label") => PathForm::Label,
                Some("matrix") => PathForm::Matrix,
                _ => PathForm::Simple,
            };
            return Style::InPath(PathStyle { form, explode: explode == Some(true), single });
        }
        if param.get("content").is_some() {
            return Style::Json;
        }
        if single {
            return Style::Single;
        }
        match param.get("style").and_then(Json::as_str).unwrap_or("form") {
            "spaceDelimited" if explode != Some(true) => Style::Joined("%20"),
            "pipeDelimited" if explode != Some(true) => Style::Joined("%7C"),
            "deepObject" => Style::Deep,
            "form" if explode == Some(false) => Style::Joined(","),
            _ => Style::Each,
        }
    }
}

/// An operation that can be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The tool that it is.
    pub tool: ToolDef,
    /// The method in capitals.
    pub method: String,
    /// The path with `{name}` where parameters go.
    pub path: String,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Whether it takes a body, as the argument `body`.
    pub has_body: bool,
    /// Arguments that are filled in where the caller gives none.
    pub default_args: Map<String, Json>,
}

/// What the operator chose.
#[derive(Debug)]
pub struct Choice<'c> {
    /// The operations that become tools; see `select.rs`.
    pub include: &'c [String],
    /// Changes to single operations.
    pub overrides: &'c BTreeMap<String, OperationOverride>,
    /// Whether operations beyond plain GET are allowed where an operation does not say.
    pub allow_writes: bool,
    /// Where calls go.
    pub base: &'c Url,
}

/// What entries of `include_operations` begin with that take operations away.
const EXCLUDES: char = '!';

const WRITES: [&str; 4] = ["put", "post", "delete", "patch"];
/// Headers that are ours to set, or that belong into `auth`.
const OWN_HEADERS: [&str; 16] = [
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authorization",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "x-api-key",
];

/// What became of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compiled {
    /// The chosen operations, in the order of the list.
    pub operations: Vec<Operation>,
    /// Operations that a pattern or a tag means and that cannot be tools, each with the reason.
    pub left_out: Vec<String>,
    /// The same by the names that their tools would have.
    pub unusable: BTreeMap<String, String>,
}

/// The chosen operations as tools, in the order of the list, or all that is wrong with them.
pub fn compile(document: &Document, choice: &Choice) -> Result<Vec<Operation>, String> {
    compile_all(document, choice).map(|compiled| compiled.operations)
}

/// The same, and what was left out.
pub fn compile_all(document: &Document, choice: &Choice) -> Result<Compiled, String> {
    let spots = select::operations(document);
    let (excluding, including): (Vec<&String>, Vec<&String>) =
        choice.include.iter().partition(|text| text.starts_with(EXCLUDES));
    let excluding = excluding.into_iter().map(|text| (&**text, Selector::parse(text[1..].trim())));
    let mut compiling = Compiling {
        document,
        choice,
        excluding: excluding.collect(),
        done: Vec::new(),
        seen: Vec::new(),
        faults: Vec::new(),
        missing: Vec::new(),
        left_out: Vec::new(),
        unusable: BTreeMap::new(),
    };
    if including.is_empty() {
        let fault =
            "OpenAPI include_operations only takes away; name what becomes tools, too, such as \"GET /*\"";
        compiling.faults.push(fault.to_owned());
    }
    including.into_iter().for_each(|text| compiling.entry(text, &spots));
    compiling.finish(&spots)
}

/// Operations on their way to tools.
struct Compiling<'c> {
    document: &'c Document,
    choice: &'c Choice<'c>,
    /// Entries that take operations away.
    excluding: Vec<(&'c str, Selector<'c>)>,
    done: Vec<Operation>,
    /// Places and names of operations that were looked at.
    seen: Vec<((&'static str, String), String)>,
    faults: Vec<String>,
    /// Entries that mean nothing.
    missing: Vec<&'c str>,
    left_out: Vec<String>,
    unusable: BTreeMap<String, String>,
}

impl<'c> Compiling<'c> {
    /// What an entry means, without what others take away.
    fn entry(&mut self, text: &'c str, spots: &[Spot]) {
        let selector = Selector::parse(text);
        let fitting: Vec<&Spot> = spots.iter().filter(|spot| selector.fits(spot)).collect();
        let excluded_by = |spot: &&Spot| {
            let found = self.excluding.iter().find(|(_, excluding)| excluding.fits(spot));
            found.map(|(text, _)| *text)
        };
        let kept: Vec<&Spot> = fitting.iter().copied().filter(|spot| excluded_by(spot).is_none()).collect();
        let by = fitting.iter().find_map(excluded_by);
        match (fitting.as_slice(), selector.is_exact(), by) {
            ([], ..) => self.missing.push(text),
            ([first, second, ..], true, _) => self.faults.push(format!(
                "OpenAPI operationId '{text}' stands at {} and at {}; make it unique",
                first.path, second.path
            )),
            (_, true, Some(by)) => self
                .faults
                .push(format!("OpenAPI operation '{text}' is included by name and taken away by '{by}'")),
            (_, true, None) => kept.iter().for_each(|spot| self.one(spot)),
            (_, false, _) => self.those_that_can(text, &kept),
        }
    }

    /// All tools, or all that is wrong.
    fn finish(mut self, spots: &[Spot]) -> Result<Compiled, String> {
        let idle = |selector: &Selector| !spots.iter().any(|spot| selector.fits(spot));
        let idle = self.excluding.iter().filter(|(_, selector)| idle(selector)).map(|(text, _)| *text);
        self.missing.extend(idle.collect::<Vec<_>>());
        if !self.missing.is_empty() {
            let missing = self.missing.join(", ");
            self.faults.insert(0, format!("OpenAPI include_operations not found: {missing}"));
        }
        let seen = |id: &String| self.seen.iter().any(|seen| seen.1 == *id);
        let unused = self.choice.overrides.keys().filter(|id| !seen(id));
        let unused =
            unused.map(|id| format!("OpenAPI operation_overrides changes '{id}', which is not included"));
        let unused: Vec<String> = unused.collect();
        self.faults.extend(unused);
        match self.faults.is_empty() {
            true => Ok(Compiled { operations: self.done, left_out: self.left_out, unusable: self.unusable }),
            false => Err(self.faults.join("; ")),
        }
    }

    /// An operation that was asked for by its name.
    fn one(&mut self, spot: &Spot) {
        if let Some(Err(fault)) = self.attempt(spot) {
            self.faults.push(fault);
        }
    }

    /// Those of a pattern or tag that can be tools; which cannot is told to the operator.
    fn those_that_can(&mut self, text: &str, spots: &[&Spot]) {
        let before = self.done.len();
        let tried = spots.iter().filter_map(|spot| Some((*spot, self.attempt(spot)?)));
        let tried: Vec<(&Spot, Result<(), String>)> = tried.collect();
        let all = tried.len();
        let failed = tried.into_iter().filter_map(|(spot, tried)| Some((spot, tried.err()?)));
        let (failed, faults): (Vec<&Spot>, Vec<String>) = failed.unzip();
        let Some(first) = faults.first() else { return };
        let count = faults.len();
        if self.done.len() == before && count == all {
            self.faults
                .push(format!("none of the {count} operations that '{text}' means can be a tool: {first}"));
        } else {
            tracing::warn!(
                "{count} of the operations that '{text}' means cannot be tools (`ptc upstreams check` lists them), the \
                 first: {first}"
            );
            let names: Vec<String> = failed.iter().map(|spot| spot.tool_name(self.choice)).collect();
            self.unusable.extend(names.into_iter().zip(faults.iter().cloned()));
            self.left_out.extend(faults);
        }
    }

    /// Makes a tool of an operation, unless it was looked at before.
    fn attempt(&mut self, spot: &Spot) -> Option<Result<(), String>> {
        let place = (spot.method, spot.path.to_owned());
        if self.seen.iter().any(|(seen, _)| *seen == place) {
            return None;
        }
        let id = spot.id.as_ref();
        self.seen.push((place, id.to_owned()));
        let made = spot.compile(id, self.document, self.choice).map_err(|error| {
            format!("OpenAPI operation '{id}' ({} {}) {error}", spot.method.to_uppercase(), spot.path)
        });
        Some(made.and_then(|operation| {
            if let Some(other) = self.done.iter().find(|other| other.tool.name == operation.tool.name) {
                let original = other.tool.provenance["operationId"].as_str().unwrap_or_default();
                return Err(format!(
                    "OpenAPI operations '{original}' and '{id}' both become the tool '{}'; give one another name in \
                     operation_overrides",
                    operation.tool.name
                ));
            }
            self.done.push(operation);
            Ok(())
        }))
    }
}

impl Spot<'_> {
    fn compile(&self, id: &str, document: &Document, choice: &Choice) -> Result<Operation, String> {
        let none = OperationOverride::default();
        let change = choice.overrides.get(id).unwrap_or(&none);
        let allowed = change.allow_writes || choice.allow_writes;
        let mut faults = self.check(allowed, choice.base);
        let default_args = match (&change.default_args, self.operation.get("x-ptc-default-args")) {
            (Some(args), _) | (None, Some(Json::Object(args))) => args.clone(),
            _ => Map::new(),
        };
        let mut input = Input {
            document,
            // A write that is not allowed is told as such, and not for what only writes have.
            allowed: allowed || WRITES.contains(&self.method),
            properties: Map::new(),
            required: Vec::new(),
            params: Vec::new(),
        };
        // What follows from a parameter that cannot be used is no mistake of its own.
        let readable = note(&mut faults, input.parameters(self)).is_some();
        if readable {
            note(&mut faults, input.placeholders(self.path));
        }
        // A body that may not be there is told by the check.
        let has_body = faults.iter().any(|fault| fault.contains("request body"))
            || note(&mut faults, input.body(self)).unwrap_or_default();
        if readable {
            let unknown = default_args.keys().filter(|name| !input.properties.contains_key(*name));
            faults
                .extend(unknown.map(|name| format!("has default_args for '{name}', which it does not take")));
        }
        input.required.retain(|name| !default_args.contains_key(name));
        let output = note(&mut faults, self.output(document)).unwrap_or_default();
        let name = self.tool_name(choice);
        if name.is_empty() {
            faults.push("has no letter in its name; give it a name in operation_overrides".to_owned());
        }
        if !faults.is_empty() {
            return Err(faults.join(", and "));
        }
        let said = [change.description.as_deref(), self.text("description"), self.text("summary")];
        let description = said.into_iter().flatten().find(|text| !text.trim().is_empty());
        let mut provenance = json!({
            "transport": "openapi",
            "operationId": id,
            "method": self.method.to_uppercase(),
            "path": self.path,
            "defaultArgs": default_args,
        });
        if let Some(hint) = pagination(self.operation, &input.params, &output) {
            provenance["pagination"] = hint;
        }
        let input_schema = json!({"type": "object", "properties": input.properties, "required": input.required, "additionalProperties": false});
        let tool = ToolDef {
            name,
            description: description.unwrap_or_default().to_owned(),
            input_schema: object(input_schema),
            output_schema: Some(object(output)).filter(|schema| !schema.is_empty()),
            annotations: object(json!({"readOnlyHint": self.method == "get"})),
            provenance: object(provenance),
        };
        Ok(Operation {
            tool,
            method: self.method.to_uppercase(),
            path: self.path.to_owned(),
            params: input.params,
            has_body,
            default_args,
        })
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.operation.get(key)?.as_str()
    }

    /// The name of its tool.
    fn tool_name(&self, choice: &Choice) -> String {
        let given = choice.overrides.get(self.id.as_ref()).and_then(|change| change.name.as_deref());
        tool_name(given.or_else(|| self.text("x-ptc-name")).unwrap_or(&self.id))
    }

    /// Refuses what no parameter or response has to do with.
    fn check(&self, allowed: bool, base: &Url) -> Vec<String> {
        let mut faults = Vec::new();
        let is_write = WRITES.contains(&self.method);
        match self.method {
            "get" => {}
            _ if is_write && allowed => {}
            _ if is_write => faults.push(
                "is not a GET; set \"allow_writes\": true for it in operation_overrides to allow it"
                    .to_owned(),
            ),
            _ => faults.push("has a method that no tool can use".to_owned()),
        }
        // That of a write goes with it where writes are allowed.
        if self.operation.get("requestBody").is_some() && !is_write {
            faults.push("takes a request body, which a read-only operation cannot".to_owned());
        }
        if self.operation.get("deprecated") == Some(&Json::Bool(true)) {
            faults.push("is deprecated; include its successor".to_owned());
        }
        if has_dot_steps(self.path) {
            faults.push("has a step '.' or '..' in its path, which leaves the path of base_url".to_owned());
        }
        let servers =
            [self.operation, self.item].into_iter().filter_map(|place| place.get("servers")?.as_array());
        for server in servers.flatten() {
            let url = server.get("url").and_then(Json::as_str).unwrap_or_default();
            if base.join(url).map_or(true, |url| url.origin() != base.origin()) {
                faults.push(format!(
                    "has a server of its own at another origin, {url:?}; only base_url is used"
                ));
            }
        }
        faults
    }

    /// The schema of its results: that of the first JSON response, `null` if all are empty.
    fn output(&self, document: &Document) -> Result<Json, String> {
        let responses = self.operation.get("responses").and_then(Json::as_object);
        let good = |status: &str| status.len() == 3 && status.starts_with('2');
        let mut statuses: Vec<(&String, &Json)> =
            responses.into_iter().flatten().filter(|(status, _)| good(status)).collect();
        statuses.sort_by_key(|(status, _)| *status);
        if statuses.is_empty() {
            return Err("declares no 2xx response".to_owned());
        }
        let mut output = None;
        for (status, response) in statuses {
            let response = document.resolve(response)?;
            let content =
                response.get("content").and_then(Json::as_object).filter(|content| !content.is_empty());
            let Some(content) = content else { continue };
            let Some((_, media)) = content.iter().find(|(kind, _)| is_json(kind)) else {
                let kinds: Vec<&str> = content.keys().map(String::as_str).collect();
                return Err(format!(
                    "answers {status} with {}; only JSON and empty answers can be read",
                    kinds.join(", ")
                ));
            };
            let schema = media.get("schema").map_or_else(|| json!({}), |schema| document.schema(schema));
            output.get_or_insert(schema);
        }
        Ok(output.unwrap_or_else(|| json!({"type": "null"})))
    }
}

/// The value, or a mistake more.
fn note<T>(faults: &mut Vec<String>, found: Result<T, String>) -> Option<T> {
    found.map_err(|fault| faults.push(fault)).ok()
}

/// What an operation takes.
struct Input<'d> {
    document: &'d Document,
    allowed: bool,
    properties: Map<String, Json>,
    required: Vec<String>,
    params: Vec<Param>,
}

impl Input<'_> {
    /// Reads parameters; those of the operation replace those of its path.
    fn parameters(&mut self, spot: &Spot) -> Result<(), String> {
        let mut all: Vec<(String, Place, Json)> = Vec::new();
        for place in [spot.item, spot.operation] {
            for param in place.get("parameters").and_then(Json::as_array).into_iter().flatten() {
                let Some((name, place, param)) = self.parameter(param)? else { continue };
                all.retain(|(other, at, _)| (other, *at) != (&name, place));
                all.push((name, place, param));
            }
        }
        for (name, place, param) in all {
            if self.params.iter().any(|other| other.name == name) {
                return Err(format!("has two parameters '{name}' in different places"));
            }
            if place == Place::Path || param.get("required") == Some(&Json::Bool(true)) {
                self.required.push(name.clone());
            }
            let property = self.property(&param);
            let style = Style::of(&param, place, &property);
            self.properties.insert(name.clone(), property);
            self.params.push(Param { name, place, style });
        }
        Ok(())
    }

    fn parameter(&self, param: &Json) -> Result<Option<(String, Place, Json)>, String> {
        let param = self.document.resolve(param)?;
        let text = |key: &str| param.get(key).and_then(Json::as_str).unwrap_or_default();
        let name = text("name").to_owned();
        if name.is_empty() {
            return Err("has a parameter without a name".to_owned());
        }
        let place = match text("in") {
            "path" => Place::Path,
            "query" => Place::Query,
            "header" if self.allowed => match name.to_ascii_lowercase().as_str() {
                // These are never parameters, says OpenAPI.
                "accept" | "content-type" | "authorization" => return Ok(None),
                header if OWN_HEADERS.contains(&header) => {
                    return Err(format!(
                        "has the header parameter '{name}', which no caller may set; use \"auth\""
                    ));
                }
                _ => Place::Header,
            },
            // A GET without it is a GET: what a header can change about one, only writes may.
            "header" if param.get("required") != Some(&Json::Bool(true)) => return Ok(None),
            "header" => {
                return Err(format!(
                    "has the header parameter '{name}', which it needs; set \"allow_writes\": true for it in \
                     operation_overrides to pass headers"
                ));
            }
            other => return Err(format!("has the {other} parameter '{name}', which cannot be used")),
        };
        Ok(Some((name, place, param.clone())))
    }

    /// The schema of a parameter; one without a type is text.
    fn property(&self, param: &Json) -> Json {
        let in_content = || param.get("content")?.as_object()?.values().next()?.get("schema");
        let schema = param.get("schema").or_else(in_content);
        let mut property = schema.map_or_else(|| json!({}), |schema| self.document.schema(schema));
        if let Json::Object(fields) = &mut property {
            let typed = ["type", "enum", "const", "anyOf", "oneOf", "allOf"];
            if !typed.iter().any(|key| fields.contains_key(*key)) {
                fields.insert("type".to_owned(), "string".into());
            }
            if let Some(text @ Json::String(_)) = param.get("description") {
                fields.entry("description").or_insert_with(|| text.clone());
            }
        }
        property
    }

    /// Compares `{name}` in a path with the parameters.
    fn placeholders(&self, path: &str) -> Result<(), String> {
        let in_path: Vec<&str> =
            path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name).collect();
        let declared =
            |name: &str| self.params.iter().any(|param| param.place == Place::Path && param.name == name);
        if let Some(name) = in_path.iter().find(|name| !declared(name)) {
            return Err(format!("does not declare its path parameter '{name}'"));
        }
        let unused = self
            .params
            .iter()
            .find(|param| param.place == Place::Path && !in_path.contains(&param.name.as_str()));
        unused.map_or(Ok(()), |param| {
            Err(format!("declares the path parameter '{}', which is not in its path", param.name))
        })
    }

    /// Reads the body, which becomes the argument `body`.
    fn body(&mut self, spot: &Spot) -> Result<bool, String> {
        let Some(body) = spot.operation.get("requestBody") else { return Ok(false) };
        let body = self.document.resolve(body)?;
        let content = body.get("content").and_then(Json::as_object);
        let media = content.into_iter().flatten().find(|(kind, _)| is_json(kind));
        let Some((_, media)) = media else {
            return Err("takes a request body that is not JSON".to_owned());
        };
        let schema = media.get("schema").map_or_else(|| json!({}), |schema| self.document.schema(schema));
        if self.properties.insert("body".to_owned(), schema).is_some() {
            return Err("has a parameter 'body' beside its request body".to_owned());
        }
        if body.get("required") == Some(&Json::Bool(true)) {
            self.required.push("body".to_owned());
        }
        Ok(true)
    }
}

fn is_json(media: &str) -> bool {
    let kind = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The name of a tool: words in lower case with hyphens, whatever the document parts them with.
pub fn tool_name(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        // `fooBar`, and the last capital of `HTTPServer`, begin a word.
        let next_is_small = chars.peek().is_some_and(|next| next.is_lowercase());
        let begins = c.is_uppercase() && (!before.is_uppercase() || next_is_small);
        let parts = !c.is_alphanumeric() || begins;
        if parts && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if c.is_alphanumeric() {
            out.extend(c.to_lowercase());
        }
        before = c;
    }
    out.trim_end_matches('-').to_owned()
}
