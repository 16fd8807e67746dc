//! What calls do to the world, and what a program may do before it runs.
//!
//! Every tool is classed as read, write or unknown. A program's manifest names every call it may make, so
//! whether it can write is known before anything runs: [`plan`] says which tools it may reach, [`enforce`]
//! refuses a program that may reach more than a policy allows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ptc_lisp::analyze::{ArgumentSource, Manifest, ToolUse, closest, tool_in_line};
use ptc_lisp::span::Span;
use serde_json::{Map, Value as Json, json};

use crate::catalog::{Catalog, CatalogTool, WhyDown, one_line, quoted};
use crate::config::EffectClass;
use crate::discovery::STARTING;
use crate::model::ToolDef;
use crate::runtime::{Grants, key_argument};

/// The class of a tool: what the operator says, else what the HTTP method or the server's hints say.
pub fn classify(tool: &ToolDef, said: Option<EffectClass>) -> EffectClass {
    if let Some(said) = said {
        return said;
    }
    if let Some(method) = tool.provenance.get("method").and_then(Json::as_str) {
        return if method.eq_ignore_ascii_case("get") { EffectClass::Read } else { EffectClass::Write };
    }
    let hint = |name: &str| tool.annotations.get(name).and_then(Json::as_bool) == Some(true);
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (true, false) => EffectClass::Read,
        (false, true) => EffectClass::Write,
        _ => EffectClass::Unknown,
    }
}

/// What a program may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether only calls that read are allowed.
    pub read_only: bool,
    /// What the host's own tools do; those that are not named here are unknown.
    pub host_tools: BTreeMap<String, EffectClass>,
    /// Which upstream tools may be used at all.
    pub grants: Grants,
}

impl Policy {
    /// Everything is allowed.
    pub fn open() -> Policy {
        Policy::default()
    }

    /// Only calls that read.
    pub fn read_only() -> Policy {
        Policy { read_only: true, ..Policy::default() }
    }

    /// Whether a call of this class is allowed.
    pub fn allows(&self, effect: EffectClass) -> bool {
        !self.read_only || effect == EffectClass::Read
    }
}

/// A place in a program that may call tools, and all that it may reach.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedUse {
    /// What the program says it calls: `fs/read`, `fs/…` where the tool is computed, a host tool's name.
    pub target: String,
    /// Whether server and tool are written in the program.
    pub fixed: bool,
    /// The tools that it may reach, with their classes.
    pub reaches: Vec<(String, EffectClass)>,
    /// The worst of them: write before unknown before read. Nothing reachable is read.
    pub effect: EffectClass,
    /// How often it can run at most, if that is known.
    pub at_most: Option<u64>,
    /// Arguments that are written in the program.
    pub literal: Map<String, Json>,
    /// Whether these are all arguments.
    pub complete: bool,
    /// Where its arguments come from.
    pub sources: BTreeMap<String, ArgumentSource>,
    /// Tools that it may reach and whose calls somebody must approve.
    pub asks: Vec<String>,
    /// Servers that it may reach and whose tools are not known.
    pub unlisted: Vec<String>,
    /// Where it stands in the program; nothing for what a prelude or an earlier program calls.
    pub place: Option<Span>,
}

impl PlannedUse {
    /// The use as JSON.
    pub fn to_json(&self) -> Json {
        let reaches: Vec<Json> = self
            .reaches
            .iter()
            .map(|(tool, effect)| json!({"tool": tool, "effect": effect.name()}))
            .collect();
        let sources: Map<String, Json> =
            self.sources.iter().map(|(name, source)| (name.clone(), source.name().into())).collect();
        let mut object = json!({
            "target": self.target,
            "dynamic": !self.fixed,
            "effect": self.effect.name(),
            "at_most": self.at_most,
            "reaches": reaches,
            "literal": self.literal,
            "args": sources,
        });
        if !self.asks.is_empty() {
            object["asks"] = json!(self.asks);
        }
        object
    }
}

/// What stands for the name of a server or tool that a program computes.
const COMPUTED: &str = "…";

/// The tool of the machine that calls upstreams.
const CALL: &str = "call";

/// What a program may call, place by place. Upstreams whose tools are not listed yet may have any tool.
pub fn plan(manifest: &Manifest, catalog: &Catalog, policy: &Policy) -> Vec<PlannedUse> {
    let none = BTreeMap::new();
    let uses = manifest.uses.iter().enumerate();
    uses.map(|(at, tool_use)| {
        let sources = manifest.sources.get(at).unwrap_or(&none);
        let place = manifest.places.get(at).copied().flatten();
        match tool_use.tool.as_str() {
            CALL => PlannedUse { place, ..upstream_use(tool_use, sources, catalog) },
            name => {
                let effect = policy.host_tools.get(name).copied().unwrap_or(EffectClass::Unknown);
                PlannedUse {
                    target: name.to_owned(),
                    fixed: true,
                    reaches: vec![(name.to_owned(), effect)],
                    effect,
                    at_most: tool_use.at_most,
                    literal: tool_use.args.clone().unwrap_or_default(),
                    complete: tool_use.complete,
                    sources: sources.clone(),
                    asks: Vec::new(),
                    unlisted: Vec::new(),
                    place,
                }
            }
        }
    })
    .collect()
}

fn upstream_use(
    tool_use: &ToolUse,
    sources: &BTreeMap<String, ArgumentSource>,
    catalog: &Catalog,
) -> PlannedUse {
    let field = |name: &str| tool_use.args.as_ref().and_then(|args| args.get(name));
    let part = |name: &str| field(name).and_then(Json::as_str);
    let (server, tool) = (part("server"), part("tool"));
    let mut reaches: BTreeSet<(String, EffectClass)> = BTreeSet::new();
    let (mut unlisted, mut asks) = (Vec::new(), Vec::new());
    for known in catalog.servers().iter().filter(|known| server.is_none_or(|name| name == known.name)) {
        let Some(tools) = &known.tools else {
            let name = format!("{}/{}", known.name, tool.unwrap_or("…"));
            let asked =
                tool.map_or(known.approval.any(), |tool| known.approval.asks(tool, EffectClass::Unknown));
            asks.extend(asked.then(|| name.clone()));
            reaches.insert((name, EffectClass::Unknown));
            unlisted.push(known.name.clone());
            continue;
        };
        let named = tool.map(|name| known.tool(name));
        for each in tools.values().filter(|each| named.is_none_or(|named| named == Some(*each))) {
            let name = format!("{}/{}", known.name, each.def.name);
            asks.extend(known.approval.asks(&each.def.name, each.effect).then(|| name.clone()));
            reaches.insert((name, each.effect));
        }
    }
    let worst = reaches.iter().map(|(_, effect)| *effect).max_by_key(|effect| severity(*effect));
    let mut literal = field("args").and_then(Json::as_object).cloned().unwrap_or_default();
    literal.retain(|name, _| {
        sources.get(&format!("args.{name}")).is_none_or(|from| *from == ArgumentSource::Literal)
    });
    let own = sources.iter().filter_map(|(name, source)| {
        let name = name.strip_prefix("args.").or_else(|| (name == "args").then_some("…"))?;
        Some((name.to_owned(), *source))
    });
    PlannedUse {
        target: format!("{}/{}", server.unwrap_or(COMPUTED), tool.unwrap_or(COMPUTED)),
        fixed: server.is_some() && tool.is_some(),
        reaches: reaches.into_iter().collect(),
        effect: worst.unwrap_or(EffectClass::Read),
        at_most: tool_use.at_most,
        literal,
        complete: tool_use.complete,
        sources: own.collect(),
        asks,
        unlisted,
        place: None,
    }
}

/// All tools that may be called, as `server/tool`, and those of the host by their names.
pub fn reached(planned: &[PlannedUse]) -> BTreeSet<&str> {
    planned.iter().flat_map(|each| &each.reaches).map(|(tool, _)| tool.as_str()).collect()
}

/// A call of something that does not exist, or without what it requires: the program fails where it makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nowhere {
    /// `unknown_server`, `unknown_tool`, `unusable_tool` or `missing_args`.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
    /// What may have been meant, and what there is.
    pub fix: String,
    /// Where it stands in the program, if it stands there.
    pub place: Option<Span>,
}

/// The calls of a program that name a server or a tool that is not there, or that lack arguments.
pub fn nowhere(planned: &[PlannedUse], catalog: &Catalog) -> Vec<Nowhere> {
    let mut found: Vec<Nowhere> = Vec::new();
    for each in planned.iter().filter_map(|each| each.nowhere(catalog)) {
        // A target that is wrong in several places is told once, where it stands first.
        if !found.iter().any(|known| known.message == each.message) {
            found.push(each);
        }
    }
    found
}

impl PlannedUse {
    fn nowhere(&self, catalog: &Catalog) -> Option<Nowhere> {
        let (server, tool) = self.target.split_once('/').filter(|(server, _)| *server != COMPUTED)?;
        if !self.reaches.is_empty() || !self.unlisted.is_empty() {
            return self.lacking(server, catalog.server(server)?.tool(tool)?);
        }
        let meant =
            |best: Option<&str>| best.map(|best| format!("did you mean {best}? ")).unwrap_or_default();
        match catalog.server(server) {
            None => {
                let names = catalog.servers().iter().map(|known| known.name.as_str());
                Some(Nowhere {
                    reason: "unknown_server",
                    message: format!("there is no upstream {server}"),
                    fix: format!("{}the upstreams are {}", meant(closest(server, names)), catalog.names()),
                    place: self.place,
                })
            }
            // A server without tools has none that could be computed.
            Some(_) if tool == COMPUTED => None,
            Some(known) if known.held.contains_key(tool) => Some(Nowhere {
                reason: "unusable_tool",
                message: known.held[tool].clone(),
                fix: format!("its other tools are {}", known.tool_names()),
                place: self.place,
            }),
            Some(known) => {
                let names = known.tools.iter().flat_map(BTreeMap::keys).map(String::as_str);
                Some(Nowhere {
                    reason: "unknown_tool",
                    message: format!("{server} has no tool {tool}"),
                    fix: format!("{}its tools are {}", meant(closest(tool, names)), known.tool_names()),
                    place: self.place,
                })
            }
        }
    }
}

impl PlannedUse {
    /// What is wrong with a call whose arguments are all written in the program, if the tool requires others.
    fn lacking(&self, server: &str, tool: &CatalogTool) -> Option<Nowhere> {
        if !self.complete {
            return None;
        }
        /// So many characters of a name are told.
        const NAME: usize = 60;
        // A call that is made at most once gets its key by itself.
        let own = key_argument(tool);
        let args = tool.fitted(self.literal.clone());
        let missing = tool.missing(&args).into_iter().filter(|name| Some(name.as_str()) != own);
        let missing: Vec<String> = missing.map(|name| one_line(&name, NAME)).collect();
        let name = tool_in_line(&tool.def.name);
        (!missing.is_empty()).then(|| Nowhere {
            reason: "missing_args",
            message: format!("{server}/{name} is called without {}, which it requires", missing.join(", ")),
            fix: format!("(doc {}) tells what it takes", quoted(&format!("{server}/{}", tool.def.name))),
            place: self.place,
        })
    }
}

/// The servers that are written in a program and whose tools were not known when this was planned.
pub fn named_unlisted(planned: &[PlannedUse]) -> BTreeSet<String> {
    let is_named = |each: &&PlannedUse| !each.target.starts_with(COMPUTED);
    planned.iter().filter(is_named).flat_map(|each| each.unlisted.iter().cloned()).collect()
}

/// The servers whose tools were not known when this was planned.
pub fn unlisted(planned: &[PlannedUse]) -> BTreeSet<String> {
    let servers = planned.iter().flat_map(|each| &each.unlisted);
    servers.cloned().collect()
}

fn severity(effect: EffectClass) -> u8 {
    match effect {
        EffectClass::Read => 0,
        EffectClass::Unknown => 1,
        EffectClass::Write => 2,
    }
}

/// Why a program may not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The tools that it may reach and must not, with their classes.
    pub matched: Vec<(String, EffectClass)>,
    /// Whether a computed target is the reason for some of them.
    pub dynamic: bool,
    /// Servers among them whose tools are not known, each with why.
    pub away: Vec<(String, String)>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> =
            self.matched.iter().take(8).map(|(tool, effect)| format!("{tool} ({})", effect.name())).collect();
        let more = if self.matched.len() > 8 { ", …" } else { "" };
        write!(
            f,
            "this run is read-only and the program may call {}{more}; nothing was run",
            shown.join(", ")
        )?;
        if self.dynamic {
            write!(
                f,
                ". Write :server and :tool as literal strings, so that it shows which tools are called"
            )?;
        }
        for (server, why) in self.away.iter().take(8) {
            write!(f, ". What tools of {server} do is not known: {why}")?;
        }
        Ok(())
    }
}

impl Refusal {
    /// Details without arguments: `{matched_calls: [{server, tool, effect}]}`.
    pub fn details(&self) -> Json {
        let call = |(tool, effect): &(String, EffectClass)| match tool.split_once('/') {
            Some((server, tool)) => json!({"server": server, "tool": tool, "effect": effect.name()}),
            None => json!({"server": null, "tool": tool, "effect": effect.name()}),
        };
        json!({"matched_calls": self.matched.iter().map(call).collect::<Vec<_>>()})
    }
}

/// Looks at all that a program may call before it runs, and refuses it if a policy forbids any of it.
pub fn enforce(manifest: &Manifest, catalog: &Catalog, policy: &Policy) -> Result<Vec<PlannedUse>, Refusal> {
    let planned = plan(manifest, catalog, policy);
    let mut matched = BTreeSet::new();
    let mut dynamic = false;
    for each in &planned {
        let forbidden = each.reaches.iter().filter(|(_, effect)| !policy.allows(*effect));
        let before = matched.len();
        matched.extend(forbidden.cloned());
        dynamic |= !each.fixed && matched.len() > before;
    }
    if matched.is_empty() {
        return Ok(planned);
    }
    let away = unlisted(&planned).into_iter().map(|server| {
        let down = catalog.server(&server).and_then(|known| known.down.as_ref());
        let why = match down {
            Some(WhyDown(why)) => format!("it is down ({why})"),
            None => format!("it is {STARTING}"),
        };
        (server, why)
    });
    Err(Refusal { matched: matched.into_iter().collect(), dynamic, away: away.collect() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::Server;
    use ptc_lisp::machine::Machine;

    fn catalog() -> Catalog {
        let tool = |name: &str, effect| {
            let def = ToolDef { name: name.to_owned(), ..ToolDef::default() };
            (name.to_owned(), Arc::new(CatalogTool { def, effect, place: 0 }))
        };
        let server = |name: &str, tools: Option<Vec<(String, Arc<CatalogTool>)>>| {
            let tools = tools.map(|tools| tools.into_iter().collect());
            Arc::new(Server { name: name.to_owned(), tools, ..Server::default() })
        };
        Catalog::new([
            server("fs", Some(vec![tool("read", EffectClass::Read), tool("write", EffectClass::Write)])),
            server("store", Some(vec![tool("get", EffectClass::Read)])),
            server("odd", Some(vec![tool("poke", EffectClass::Unknown)])),
            server("cold", None),
        ])
    }

    fn manifest(source: &str) -> Manifest {
        let mut machine = Machine::new(ptc_lisp::Limits::default());
        machine.set_tools(["call".to_owned(), "own".to_owned()]);
        machine.check(source).unwrap_or_else(|error| panic!("{source}: {error}"))
    }

    #[test]
    fn classes_follow_the_operator_the_method_and_the_hints() {
        let with = |annotations: Json, provenance: Json| ToolDef {
            annotations: annotations.as_object().cloned().unwrap_or_default(),
            provenance: provenance.as_object().cloned().unwrap_or_default(),
            ..ToolDef::default()
        };
        let read = json!({"readOnlyHint": true});
        for (annotations, provenance, said, expected) in [
            (read.clone(), json!({}), None, EffectClass::Read),
            (json!({"destructiveHint": true}), json!({}), None, EffectClass::Write),
            (json!({"readOnlyHint": true, "destructiveHint": true}), json!({}), None, EffectClass::Unknown),
            (json!({}), json!({}), None, EffectClass::Unknown),
            (json!({"readOnlyHint": "yes"}), json!({}), None, EffectClass::Unknown),
            (json!({}), json!({"method": "GET"}), None, EffectClass::Read),
            (read.clone(), json!({"method": "POST"}), None, EffectClass::Write),
            (read, json!({}), Some(EffectClass::Write), EffectClass::Write),
            (json!({}), json!({"method": "POST"}), Some(EffectClass::Read), EffectClass::Read),
        ] {
            assert_eq!(
                classify(&with(annotations.clone(), provenance.clone()), said),
                expected,
                "{annotations} {provenance}"
            );
        }
    }

    #[test]
    fn calls_of_what_is_not_there_are_named_with_what_may_have_been_meant() {
        let program = r#"(tool/call {:server "stroe" :tool "get"}) (tool/call 'fs/raed {}) (tool/call 'fs/raed {})
                         (tool/call 'fs/read {}) (tool/call 'cold/any {}) (tool/call {:server "fs" :tool data/t})
                         (tool/call {:server "nope" :tool data/t})"#;
        let catalog = catalog();
        let found = nowhere(&plan(&manifest(program), &catalog, &Policy::open()), &catalog);
        let told: Vec<(&str, &str, &str)> =
            found.iter().map(|each| (each.reason, each.message.as_str(), each.fix.as_str())).collect();
        let servers = "the upstreams are cold, fs, odd, store";
        assert_eq!(
            told,
            [
                ("unknown_server", "there is no upstream stroe", &*format!("did you mean store? {servers}")),
                ("unknown_tool", "fs has no tool raed", "did you mean read? its tools are read, write"),
                ("unknown_server", "there is no upstream nope", servers),
            ]
        );
    }

    #[test]
    fn calls_whose_written_arguments_lack_some_are_named() {
        let required = json!({"properties": {"q": {}, "page-size": {}, "idempotency_key": {}},
                              "required": ["q", "page-size", "idempotency_key"]});
        let input_schema = required.as_object().cloned().unwrap_or_default();
        let def = ToolDef { name: "search".to_owned(), input_schema, ..ToolDef::default() };
        let tool = Arc::new(CatalogTool { def, effect: EffectClass::Read, place: 0 });
        let catalog = Catalog::new([Arc::new(Server {
            name: "gh".to_owned(),
            tools: Some([("search".to_owned(), tool)].into()),
            held: Arc::new([("odd".to_owned(), "tool 'odd' cannot be used".to_owned())].into()),
            ..Server::default()
        })]);
        let lacks = |what: &str| Some(format!("gh/search is called without {what}, which it requires"));
        for (program, expected) in [
            ("(tool/call 'gh/search {})", lacks("q, page-size")),
            ("(tool/call {:server \"gh\" :tool \"search\"})", lacks("q, page-size")),
            ("(tool/call 'gh/search {:q 1})", lacks("page-size")),
            ("(tool/call 'gh/search {:q 1 :page_size 2})", None),
            // What is computed may be anything.
            ("(tool/call 'gh/search {:q data/q})", None),
            ("(tool/call 'gh/search data/args)", None),
            ("(tool/call 'gh/odd {})", Some("tool 'odd' cannot be used".to_owned())),
        ] {
            let found = nowhere(&plan(&manifest(program), &catalog, &Policy::open()), &catalog);
            assert_eq!(found.first().map(|each| each.message.clone()), expected, "{program}");
        }
    }

    #[test]
    fn programs_that_may_write_are_refused_before_they_run() {
        let call = |server: &str, tool: &str| format!("(tool/call {{:server {server} :tool {tool}}})");
        let cases: [(String, Option<&str>); 13] = [
            ("(+ 1 2)".to_owned(), None),
            (call("\"fs\"", "\"read\""), None),
            ("(tool/call 'fs/read {:path data/p})".to_owned(), None),
            (call("\"store\"", "data/t"), None),
            (call("data/s", "\"get\""), Some("cold/get (unknown)")),
            (call("\"fs\"", "\"write\""), Some("fs/write (write)")),
            (call("\"fs\"", "data/t"), Some("fs/write (write)")),
            (call("\"odd\"", "\"poke\""), Some("odd/poke (unknown)")),
            (call("\"cold\"", "\"any\""), Some("cold/any (unknown)")),
            (
                "(map tool/call data/calls)".to_owned(),
                Some("cold/… (unknown), fs/write (write), odd/poke (unknown)"),
            ),
            (
                "(let [f tool/call] (f data/x))".to_owned(),
                Some("cold/… (unknown), fs/write (write), odd/poke (unknown)"),
            ),
            ("(tool/own {:a 1})".to_owned(), Some("own (unknown)")),
            // Calls that can only fail reach nothing.
            (call("\"gone\"", "\"x\""), None),
        ];
        for (source, refused) in cases {
            let result = enforce(&manifest(&source), &catalog(), &Policy::read_only());
            match (result, refused) {
                (Ok(_), None) => {}
                (Err(refusal), Some(expected)) => {
                    let text = refusal.to_string();
                    assert!(
                        text.contains(&format!("may call {expected}; nothing was run")),
                        "{source}: {text}"
                    );
                }
                (result, _) => panic!("{source}: {result:?}"),
            }
            assert!(enforce(&manifest(&source), &catalog(), &Policy::open()).is_ok(), "{source}");
        }
    }

    #[test]
    fn refusals_name_tools_and_no_arguments() {
        let source = "(tool/call {:server \"fs\" :tool \"write\" :args {:text \"hunter2\"}})";
        let refusal = enforce(&manifest(source), &catalog(), &Policy::read_only()).expect_err("it writes");
        assert_eq!(
            refusal.details(),
            json!({"matched_calls": [{"server": "fs", "tool": "write", "effect": "write"}]})
        );
        assert!(!refusal.to_string().contains("hunter2"));
    }

    #[test]
    fn plans_say_how_often_and_with_what() {
        let source = "(tool/call {:server \"fs\" :tool \"read\" :args {:path data/p :head 3 :x (inc 1)}})
                      (map #(tool/call 'store/get {:id %}) data/ids)";
        let planned = plan(&manifest(source), &catalog(), &Policy::open());
        assert_eq!(
            planned[0].to_json(),
            json!({"target": "fs/read", "dynamic": false, "effect": "read", "at_most": 1,
                   "reaches": [{"tool": "fs/read", "effect": "read"}], "literal": {"head": 3},
                   "args": {"path": "data", "head": "literal", "x": "computed"}})
        );
        assert_eq!((planned[1].target.as_str(), planned[1].at_most), ("store/get", None));
        let own =
            Policy { host_tools: [("own".to_owned(), EffectClass::Read)].into(), ..Policy::read_only() };
        assert!(enforce(&manifest("(tool/own {})"), &catalog(), &own).is_ok());
    }
}
