//! What upstreams offer, as programs may see it: a snapshot of servers and their tools with secrets covered.
//!
//! `types.rs` words schemas, `bounds.rs` what they say beside types and `shaper.rs` what is inside them; `keys.rs` writes names,
//! `together.rs` takes parts together, `example/` makes values that fit, `doc.rs` describes a tool or a server, `about.rs`
//! says what a server is for, `mention.rs` finds servers in the text of programs, `text.rs` is what tool descriptions carry.

mod about;
mod bounds;
mod doc;
#[cfg(test)]
mod doc_tests;
mod example;
mod keys;
mod mention;
mod nested;
mod shaper;
mod text;
mod together;
mod types;
mod undeclared;

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_lisp::analyze::{Servers, ToolEffects, ToolNames, tool_in_line};
use ptc_lisp::lexical::Index;
use ptc_lisp::prelude::Effect;
use serde_json::{Map, Value as Json, json};

pub(crate) use self::about::{purpose, shortened};
pub(crate) use self::doc::AS_FUNCTION;
pub use self::doc::{doc, quoted, server_doc};
pub(crate) use self::keys::key as types_key;
pub use self::mention::mentions;
pub use self::text::{CatalogMode, CatalogText, units};
pub use self::types::{Argument, arguments, result_type, type_name};
use crate::client::About;
use crate::config::{ApprovalRules, EffectClass};
use crate::discovery::Searchable;
use crate::model::ToolDef;

/// A tool of a catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogTool {
    /// How its server describes it, with secrets covered.
    pub def: ToolDef,
    /// What it does to the world.
    pub effect: EffectClass,
    /// Its place in the server's own list.
    pub place: usize,
}

/// A configured server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// Whether that is what the server says, and not the operator: it is told as a quotation.
    pub own_words: bool,
    /// What it is about, in a few words.
    pub tags: Vec<String>,
    /// What it says about itself, bounded and with secrets covered.
    pub about: Option<Arc<About>>,
    /// Which of its calls somebody must approve.
    pub approval: ApprovalRules,
    /// Why it is not there.
    pub down: Option<WhyDown>,
    /// Tools that it has and that cannot be called, by name, each with the reason.
    pub held: Arc<BTreeMap<String, String>>,
    /// Its tools by name; nothing while they have not been listed.
    pub tools: Option<BTreeMap<String, Arc<CatalogTool>>>,
    /// What it was when it was last there, for descriptions that are read before it is: never for calls.
    pub remembered: Option<Arc<Server>>,
}

/// Why a server is not there, in a line. Two that differ in digits are the same: times and process ids change with every
/// attempt to start it, and clients are told when a catalog changes.
#[derive(Clone, Debug)]
pub struct WhyDown(pub String);

impl PartialEq for WhyDown {
    fn eq(&self, other: &Self) -> bool {
        let words = |c: &char| !c.is_ascii_digit();
        self.0.chars().filter(words).eq(other.0.chars().filter(words))
    }
}

/// All servers, sorted by name. A picture of one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    servers: Vec<Arc<Server>>,
    /// The same as names. Every program is given them, so they are made once.
    names: Arc<Servers>,
    /// The same where there is nothing else.
    closed: Option<Arc<Servers>>,
    searchable: Searchable,
}

impl Catalog {
    /// A catalog of these servers.
    pub fn new(servers: impl IntoIterator<Item = Arc<Server>>) -> Catalog {
        let mut servers: Vec<Arc<Server>> = servers.into_iter().collect();
        servers.sort_by(|left, right| left.name.cmp(&right.name));
        let tools = |server: &Server| server.tools.as_ref().map(|tools| tools.keys().cloned().collect());
        let names = servers.iter().map(|server| (server.name.clone(), tools(server)));
        let held = |server: &Arc<Server>| (server.name.clone(), server.held.keys().cloned().collect());
        let held: ToolNames = servers.iter().filter(|server| !server.held.is_empty()).map(held).collect();
        let names = Arc::new(Servers::new(names).doing(effects(&servers)).holding(held));
        Catalog { names, closed: None, servers, searchable: Searchable::default() }
    }

    /// The same, and there is nothing else that could be called: programs are told of calls that cannot work before they
    /// run. A catalog of which something is held back has to stay open, because such calls are refused in their own way.
    #[must_use]
    pub fn closed(self) -> Catalog {
        Catalog { closed: Some(Arc::new((*self.names).clone().closed())), ..self }
    }

    /// What at least one of these catalogs has.
    pub fn joined(catalogs: impl IntoIterator<Item = Arc<Catalog>>) -> Catalog {
        let mut servers: BTreeMap<String, Server> = BTreeMap::new();
        for server in catalogs.into_iter().flat_map(|catalog| catalog.servers.clone()) {
            let known = servers.entry(server.name.clone()).or_insert_with(|| (*server).clone());
            if let (Some(tools), Some(more)) = (&mut known.tools, &server.tools) {
                tools.extend(more.clone());
            }
        }
        Catalog::new(servers.into_values().map(Arc::new))
    }

    /// The same with what is remembered of servers in the place of those that nobody has heard of yet; nothing if there is
    /// none.
    pub(crate) fn with_remembered(&self) -> Option<Catalog> {
        let stand_in = |server: &'_ Arc<Server>| match (&server.tools, &server.down) {
            (None, None) => server.remembered.clone(),
            _ => None,
        };
        self.servers.iter().any(|server| stand_in(server).is_some()).then(|| {
            Catalog::new(self.servers.iter().map(|server| stand_in(server).unwrap_or_else(|| server.clone())))
        })
    }

    /// The servers, sorted by name.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&Arc<Server>> {
        self.servers
            .binary_search_by(|server| server.name.as_str().cmp(name))
            .ok()
            .map(|at| &self.servers[at])
    }

    /// The servers and their tools, as programs may name them.
    pub fn names_for_programs(&self) -> Arc<Servers> {
        self.closed.as_ref().unwrap_or(&self.names).clone()
    }

    /// The same for programs that may call what is not there any more, because it was answered before.
    pub fn names_left_open(&self) -> Arc<Servers> {
        self.names.clone()
    }

    /// What is said of its tools, server by server in the order of their names.
    pub(crate) fn index(&self) -> &Index {
        self.searchable.index(&self.servers)
    }

    /// The names of the servers in one line.
    pub fn names(&self) -> String {
        self.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// What the tools of servers do, where somebody says so.
fn effects(servers: &[Arc<Server>]) -> ToolEffects {
    let effect = |tool: &CatalogTool| match tool.effect {
        EffectClass::Read => Some(Effect::Read),
        EffectClass::Write => Some(Effect::Write),
        EffectClass::Unknown => None,
    };
    let of = |server: &Arc<Server>| {
        let tools = server.tools.iter().flatten();
        let known = tools.filter_map(|(name, tool)| Some((name.clone(), effect(tool)?))).collect();
        (server.name.clone(), known)
    };
    servers.iter().map(of).filter(|(_, tools): &(String, BTreeMap<_, _>)| !tools.is_empty()).collect()
}

/// How many names an error message lists.
const LISTED: usize = 20;

/// The most characters of a line about a server.
const SHORT: usize = 120;

/// The most characters of the name of a tool in a list; the protocol allows no more.
const NAME: usize = 128;

impl Server {
    /// The tool that `name` stands for: the one of that name, else the only one that differs in hyphens and
    /// underscores, which programs write either way.
    pub fn tool(&self, name: &str) -> Option<&Arc<CatalogTool>> {
        let tools = self.tools.as_ref()?;
        if let Some(tool) = tools.get(name) {
            return Some(tool);
        }
        let mut alike = tools.iter().filter(|(other, _)| same_name(other, name));
        let (_, tool) = alike.next()?;
        alike.next().is_none().then_some(tool)
    }

    /// The names of its tools in one line, for messages.
    pub fn tool_names(&self) -> String {
        let names = self.tools.iter().flat_map(BTreeMap::keys).map(|name| tool_in_line(name));
        let count = self.tools.as_ref().map_or(0, BTreeMap::len);
        let mut listed: Vec<String> = names.take(LISTED).collect();
        if count > LISTED {
            listed.push("…".to_owned());
        }
        listed.join(", ")
    }

    /// Its tools in the order in which it lists them.
    pub fn listed(&self) -> Vec<&Arc<CatalogTool>> {
        let mut tools: Vec<&Arc<CatalogTool>> = self.tools.iter().flat_map(BTreeMap::values).collect();
        tools.sort_by_key(|tool| tool.place);
        tools
    }

    /// What `tool/servers` says about it; `down` is why it is not there, if it is not.
    pub fn summary(&self, away: Option<&str>) -> Json {
        let description = match (self.short(), away.map(|why| one_line(why, SHORT))) {
            (text, None) => text,
            (text, Some(why)) if text.is_empty() => why,
            (text, Some(why)) => format!("{text} ({why})"),
        };
        json!({
            "name": self.name,
            "description": description,
            "tool_count": self.tools.as_ref().map_or(0, BTreeMap::len),
            "catalog_loaded": self.tools.is_some(),
        })
    }

    /// What it is for in a line, or tools that show it.
    pub fn short(&self) -> String {
        match self.said(SHORT) {
            line if line.is_empty() => self.telling_tools(SHORT),
            line => line,
        }
    }
}

/// Whether two names differ in hyphens and underscores only.
pub(crate) fn same_name(left: &str, right: &str) -> bool {
    let mark = |byte: u8| if byte == b'_' { b'-' } else { byte };
    left.len() == right.len() && left.bytes().map(mark).eq(right.bytes().map(mark))
}

impl CatalogTool {
    /// Its description in one line of at most 120 characters.
    pub fn line(&self) -> String {
        one_line(&self.def.description, 120)
    }

    /// `tool - description`, or the name alone.
    pub fn entry(&self) -> String {
        let name = tool_in_line(&self.def.name);
        match self.line() {
            line if line.is_empty() => name,
            line => format!("{name} - {line}"),
        }
    }

    /// What `meta` says about it.
    pub fn meta(&self, server: &str) -> Json {
        let def = &self.def;
        let mut provenance = def.provenance.clone();
        provenance.insert("effect".to_owned(), self.effect.name().into());
        json!({
            "server": server,
            "name": def.name,
            "description": def.description,
            "input_schema": def.input_schema,
            "output_schema": def.output_schema,
            "annotations": def.annotations,
            "_ptc": provenance,
        })
    }

    /// Whether its structured result is wrapped: structured results must be objects, so FastMCP puts any other value
    /// under `result` and says so in the schema.
    pub fn wraps_result(&self) -> bool {
        let schema = self.def.output_schema.as_ref();
        schema.and_then(|schema| schema.get("x-fastmcp-wrap-result")) == Some(&Json::Bool(true))
    }

    /// Arguments that must be given and are not there.
    pub fn missing(&self, args: &Map<String, Json>) -> Vec<String> {
        let schema = together::arguments(&self.def.input_schema);
        let required = schema.get("required").and_then(Json::as_array);
        let names = required.into_iter().flatten().filter_map(Json::as_str);
        names.filter(|name| !args.contains_key(*name)).map(str::to_owned).collect()
    }

    /// Arguments as the tool wants them: fields that its schema declares have its names, which programs write with hyphens
    /// or underscores; all other keys are data and stay. An optional argument that is nil is left out, unless the tool
    /// takes null.
    pub fn fitted(&self, args: Map<String, Json>) -> Map<String, Json> {
        let root = types::Root(&self.def.input_schema);
        let schema = together::arguments(&self.def.input_schema);
        let Some(Json::Object(declared)) = schema.get("properties") else { return args };
        let mut args = spelt(&root, &schema, args, 0);
        let required = schema.get("required").and_then(Json::as_array);
        let optional = |name: &str| !required.is_some_and(|names| names.iter().any(|other| other == name));
        args.retain(|name, value| {
            !(value.is_null()
                && optional(name)
                && declared.get(name).is_some_and(|schema| !takes_null(schema)))
        });
        args
    }
}

/// The fields of an object, named as its schema names them. A field whose name is taken keeps its own.
fn spelt(
    root: &types::Root<'_>,
    schema: &Map<String, Json>,
    fields: Map<String, Json>,
    depth: usize,
) -> Map<String, Json> {
    let Some(Json::Object(declared)) = schema.get("properties") else { return fields };
    let mut fields = match fields.keys().all(|key| declared.contains_key(key)) {
        true => fields,
        false => named(fields, declared),
    };
    for (name, value) in &mut fields {
        if let Some(schema) = declared.get(name) {
            spell(root, schema, value, depth + 1);
        }
    }
    fields
}

/// Names the fields of all objects in a value as its schema names them.
fn spell(root: &types::Root<'_>, schema: &Json, value: &mut Json, depth: usize) {
    /// Schemas that nest deeper are looked at no further.
    const DEEPEST: usize = 32;
    let Some(schema) = root.resolve(schema).filter(|_| depth <= DEEPEST) else { return };
    match value {
        Json::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            items.iter_mut().for_each(|item| spell(root, schema, item, depth + 1));
        }
        Json::Object(fields) => *fields = spelt(root, schema, std::mem::take(fields), depth),
        _ => {}
    }
}

fn named(fields: Map<String, Json>, declared: &Map<String, Json>) -> Map<String, Json> {
    let mut taken: Vec<String> = fields.keys().cloned().collect();
    let mut name = |key: String| {
        let mut alike = declared.keys().filter(|other| same_name(other, &key) && !taken.contains(other));
        match (declared.contains_key(&key), alike.next(), alike.next()) {
            (false, Some(only), None) => {
                taken.push(only.clone());
                only.clone()
            }
            _ => key,
        }
    };
    fields.into_iter().map(|(key, value)| (name(key), value)).collect()
}

/// Whether null may fit a schema.
fn takes_null(schema: &Json) -> bool {
    let typed = match schema.get("type") {
        Some(Json::String(kind)) => kind == "null",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => schema.get("enum").is_none(),
    };
    let listed =
        schema.get("enum").and_then(Json::as_array).is_some_and(|values| values.contains(&Json::Null));
    typed || listed
}

/// A text in one line of at most so many characters, and `...` where something is missing. Characters that hide, or change how
/// others are seen, are shown by their numbers; those that only choose how a symbol is drawn are left out.
pub fn one_line(text: &str, most: usize) -> String {
    cut_line(text, most).0
}

/// The same, and whether something is missing.
fn cut_line(text: &str, most: usize) -> (String, bool) {
    let draws = |c: &char| !('\u{fe00}'..='\u{fe0f}').contains(c);
    let mut line = String::new();
    let mut chars = 0;
    // Texts come from outside: of a long one no more is looked at than is shown.
    for word in text.split_whitespace() {
        if chars > most {
            break;
        }
        let before = line.len();
        line.extend((before > 0).then_some(' '));
        line.extend(word.chars().filter(draws).take(most.saturating_add(1)));
        chars += line[before..].chars().count();
    }
    let line = ptc_host::visible(&line).into_owned();
    match line.char_indices().nth(most) {
        Some((end, _)) => (format!("{}...", line[..end].trim_end()), true),
        None => (line, false),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tool for tests.
    pub(crate) fn tool(name: &str, description: &str, schema: Json) -> CatalogTool {
        let input_schema = schema.as_object().cloned().unwrap_or_default();
        let def = ToolDef {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            ..ToolDef::default()
        };
        CatalogTool { def, effect: EffectClass::Unknown, place: 0 }
    }

    /// A server for tests.
    pub(crate) fn server(
        name: &str,
        description: &str,
        tags: &[&str],
        tools: &[(&str, &str)],
    ) -> Arc<Server> {
        let tools = tools.iter().enumerate().map(|(place, (name, text))| {
            ((*name).to_owned(), Arc::new(CatalogTool { place, ..tool(name, text, json!({})) }))
        });
        Arc::new(Server {
            name: name.to_owned(),
            description: description.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            tools: Some(tools.collect()),
            ..Server::default()
        })
    }

    #[test]
    fn tools_are_found_with_either_mark() {
        let server = server("o", "", &[], &[("list-traces", ""), ("a_b", ""), ("a-b", "")]);
        let found = |name: &str| server.tool(name).map(|tool| tool.def.name.as_str());
        assert_eq!(found("list_traces"), Some("list-traces"));
        assert_eq!((found("a_b"), found("a-b")), (Some("a_b"), Some("a-b")));
        assert_eq!(found("list"), None);
    }

    #[test]
    fn arguments_get_the_names_that_are_declared() {
        let tool = tool("t", "", json!({"properties": {"page-size": {}, "a_b": {}, "a-b": {}}}));
        let fitted = |args: Json| Json::Object(tool.fitted(args.as_object().cloned().unwrap_or_default()));
        assert_eq!(fitted(json!({"page_size": 1, "x_y": 2})), json!({"page-size": 1, "x_y": 2}));
        assert_eq!(fitted(json!({"a_b": 1})), json!({"a_b": 1}));
    }

    #[test]
    fn only_declared_fields_are_respelt_and_none_is_lost() {
        let row = json!({"properties": {"unit_price": {}, "at-once": {}}});
        let schema =
            json!({"properties": {"rows": {"items": row}, "counts": {"type": "object"}, "x_y_z": {}}});
        let tool = tool("t", "", schema);
        let fitted = |args: Json| Json::Object(tool.fitted(args.as_object().cloned().unwrap_or_default()));
        let data = json!({"web-1": 1, "web_1": 2, "Content-Type": "x"});
        let given =
            json!({"rows": [{"unit-price": 1, "at_once": 2, "web-1": 3}], "counts": data, "other-key": 1});
        let expected =
            json!({"rows": [{"unit_price": 1, "at-once": 2, "web-1": 3}], "counts": data, "other-key": 1});
        assert_eq!(fitted(given), expected);
        assert_eq!(fitted(json!({"x-y_z": 1, "x_y-z": 2})), json!({"x_y_z": 1, "x_y-z": 2}));
    }

    #[test]
    fn optional_arguments_may_be_nil() {
        let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"}},
                            "required": ["c"]});
        let tool = tool("t", "", schema);
        let args = json!({"a": null, "b": null, "c": null}).as_object().cloned().unwrap_or_default();
        assert_eq!(Json::Object(tool.fitted(args)), json!({"b": null, "c": null}));
    }

    #[test]
    fn names_stay_in_their_line() {
        assert_eq!(tool_in_line("a\nb\tc\u{202e}d e"), "a\\nb\\tc\\u202ed e");
        let long = "é".repeat(NAME + 1);
        assert_eq!(tool_in_line(&long), "é".repeat(NAME) + "…");
        let odd = server("s", "", &[], &[("a\nb", ""), (&long, "")]);
        assert_eq!(odd.tool_names(), format!("a\\nb, {}…", "é".repeat(NAME)));
    }

    #[test]
    fn lines_are_short() {
        assert_eq!(one_line(" a\n  b\tc ", 10), "a b c");
        assert_eq!(one_line("abc def", 4), "abc...");
        assert_eq!(one_line("abcd", 4), "abcd");
        assert_eq!(one_line("a\u{7}\u{202e}b\u{a0}c", 40), "a\\u0007\\u202eb c");
    }

    #[test]
    fn a_server_without_a_description_is_told_by_its_tools() {
        let summary = |server: &Server| server.summary(None)["description"].clone();
        assert_eq!(summary(&server("s", "Files.", &[], &[("read", "")])), "Files.");
        assert_eq!(
            summary(&server("s", "", &[], &[("read_file", ""), ("find_text", "")])),
            "read_file, find_text"
        );
        let cold = Server { name: "cold".to_owned(), ..Server::default() };
        assert_eq!(summary(&cold), "");
        assert_eq!(cold.summary(Some("down: no key"))["description"], "down: no key");
        let told = Server { description: "Files.".to_owned(), ..cold };
        assert_eq!(told.summary(Some("down: no key"))["description"], "Files. (down: no key)");
    }
}
