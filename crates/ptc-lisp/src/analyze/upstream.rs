//! Tools of upstream servers as functions: `(server/tool {…})` gives the value of the tool, or raises. Underneath it is
//! `tool/call`, so manifests, policies, approvals and recordings need to know nothing else.

use std::collections::BTreeMap;

use super::build::At;
use super::calls::may_be_map;
use super::node::{Node, NodeKind};
use super::resolve::{UPSTREAM, upstream_call};
use super::{Analyzer, Result, is_language_namespace, suggest};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::prelude::{Effect, Offer, Upstreams, granted_as};
use crate::span::Span;
use crate::syntax::Form;

/// The upstream servers that programs may call, by name, each with the names of its tools, sorted; without them while
/// they have not been listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    named: BTreeMap<String, Option<Vec<String>>>,
    /// What their tools do, by server and tool, where somebody says so.
    effects: ToolEffects,
    /// Tools that are there and cannot be called, by server. A call of one is told why when it is made.
    held: ToolNames,
    /// Whether there is nothing else.
    closed: bool,
}

/// The names of tools by server.
pub type ToolNames = BTreeMap<String, Vec<String>>;

/// What tools do, by server and tool.
pub type ToolEffects = BTreeMap<String, BTreeMap<String, Effect>>;

impl Servers {
    /// These servers.
    pub fn new(servers: impl IntoIterator<Item = (String, Option<Vec<String>>)>) -> Servers {
        let sorted = |mut tools: Vec<String>| {
            tools.sort_unstable();
            tools
        };
        let named = servers.into_iter().map(|(name, tools)| (name, tools.map(sorted))).collect();
        Servers { named, ..Servers::default() }
    }

    /// The same, with what their tools do.
    #[must_use]
    pub fn doing(self, effects: ToolEffects) -> Servers {
        Servers { effects, ..self }
    }

    /// What their tools do, where somebody says so.
    pub fn effects(&self) -> &ToolEffects {
        &self.effects
    }

    /// The same, with tools that are there and cannot be called.
    #[must_use]
    pub fn holding(self, held: ToolNames) -> Servers {
        Servers { held, ..self }
    }

    /// The tools that are there and cannot be called, by server.
    pub fn held(&self) -> &ToolNames {
        &self.held
    }

    fn is_held(&self, server: &str, tool: &str) -> bool {
        self.held.get(server).is_some_and(|tools| tools.iter().any(|held| held == tool))
    }

    /// The same, and there are no others: neither servers, nor tools of those that have been listed. A call of something
    /// else cannot work, which programs are told before they run.
    #[must_use]
    pub fn closed(self) -> Servers {
        Servers { closed: true, ..self }
    }

    /// Whether there are no others.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&[String]>)> {
        self.named.iter().map(|(name, tools)| (name.as_str(), tools.as_deref()))
    }

    /// The tools of the server of exactly this name, if there is one: none while they have not been listed.
    pub(crate) fn tools_of(&self, name: &str) -> Option<&[String]> {
        self.named.get(name).map(|tools| tools.as_deref().unwrap_or_default())
    }

    /// The server that `name` stands for: the one of that name, else the only one that differs in hyphens and
    /// underscores.
    fn find(&self, name: &str) -> Option<(&str, Option<&[String]>)> {
        if let Some((name, tools)) = self.named.get_key_value(name) {
            return Some((name, tools.as_deref()));
        }
        let hyphened = |name: &str| name.replace('_', "-");
        let mut alike = self.iter().filter(|(known, _)| hyphened(known) == hyphened(name));
        alike.next().filter(|_| alike.next().is_none())
    }
}

/// Servers as programs may name them, for what is told of the exports of preludes.
impl Upstreams for Servers {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        match self.named.get(server) {
            None => Offer::UnknownServer,
            Some(None) => Offer::Unreachable,
            Some(Some(tools)) if granted_as(tools, tool).is_some() => Offer::Granted,
            Some(Some(_)) => Offer::UnknownTool,
        }
    }

    fn effect(&self, server: &str, tool: &str) -> Effect {
        let tools = self.named.get(server).and_then(Option::as_ref);
        let named = tools.and_then(|tools| granted_as(tools, tool)).map_or(tool, String::as_str);
        let known = self.effects.get(server).and_then(|tools| tools.get(named));
        known.copied().unwrap_or(Effect::Unknown)
    }
}

/// A tool of a server, by the names that they have there.
pub(super) struct UpstreamTool {
    pub(super) server: String,
    pub(super) tool: String,
}

impl Analyzer<'_> {
    /// The tool of an upstream that `ns/local` names; an error if its server is known to have none of that name.
    pub(super) fn upstream_tool(&self, ns: &str, local: &str, span: Span) -> Option<Result<UpstreamTool>> {
        let ns = self.namespaces.full(ns);
        if self.world.servers_come_later() {
            return self.unlisted_tool(ns, local, span);
        }
        let servers = self.world.servers()?;
        let (server, tools) = servers.find(ns)?;
        if self.is_taken(ns) || (self.namespaces.is_own(ns) && self.is_global(local)) {
            return None;
        }
        let named = |tool: &str| UpstreamTool { server: server.to_owned(), tool: tool.to_owned() };
        Some(match tools {
            None => Ok(named(local)),
            Some(tools) => match granted_as(tools, local) {
                Some(tool) => Ok(named(tool)),
                None if servers.is_held(server, local) => Ok(named(local)),
                None => Err(no_such_tool(ns, local, tools).at(span)),
            },
        })
    }

    /// `(server/tool)`, `(server/tool {…})`, `(server/tool :k v …)`
    pub(super) fn upstream_call(&mut self, target: &UpstreamTool, args: &[Form], span: Span) -> Result {
        let (at, UpstreamTool { server, tool }) = (At(span), target);
        let given = match args {
            [] => at.map(Vec::new()),
            [one] if may_be_map(one) => one.clone(),
            pairs
                if pairs.len().is_multiple_of(2)
                    && pairs.iter().step_by(2).all(|key| key.as_keyword().is_some()) =>
            {
                at.map(pairs.to_vec())
            }
            _ => {
                let message = format!("{server}/{tool} takes named arguments, not positional ones");
                let hint = format!(
                    "write ({server}/{tool} {{:name value}}); (doc '{server}/{tool}) tells the names"
                );
                return Err(Error::new(ErrorKind::InvalidToolArgs, message).hint(hint).at(span));
            }
        };
        let call = vec![at.kw("server"), at.str(server), at.kw("tool"), at.str(tool), at.kw("args"), given];
        let answer = self.tool_call(UPSTREAM, &[at.map(call)], span)?;
        let text = |text: &str| Node::new(NodeKind::Const(Const::Str(text.to_owned())), span);
        let args = vec![text(server), text(tool), answer];
        let value = self.builtin("prim/upstream-value", span);
        Ok(Node::new(NodeKind::Call(Box::new(value), args), span))
    }

    /// `server/tool` in value position: a function of its arguments.
    pub(super) fn upstream_function(&mut self, name: &str, span: Span) -> Result {
        let (at, args) = (At(span), self.gensym("args"));
        let clause = |params: Vec<Form>| {
            let call = at.call(name, params.iter().cloned());
            at.list(vec![at.vector(params), call])
        };
        let function = at.call("%fn", [clause(Vec::new()), clause(vec![at.sym(&args)])]);
        self.form(&function, false)
    }

    /// What to write for `ns/local` where `ns` is a server, too, whose name the language or a prelude uses otherwise.
    pub(super) fn hidden_server(&self, ns: &str, local: &str) -> Option<String> {
        let (server, _) = self.world.servers()?.find(ns)?;
        Some(taken_name(ns, server, local))
    }

    /// What to write for the name of a tool without its server.
    pub(super) fn bare_tool(&self, name: &str) -> Option<String> {
        /// So many servers with such a tool are named.
        const NAMED: usize = 3;
        let with_tool = |(server, tools): (&str, Option<&[String]>)| {
            let tool = granted_as(tools?, name)?;
            Some(if self.is_taken(server) {
                upstream_call(server, tool)
            } else {
                format!("({server}/{tool} {{:name value}})")
            })
        };
        let calls: Vec<String> = self.world.servers()?.iter().filter_map(with_tool).collect();
        match calls.as_slice() {
            [] => None,
            [call] => Some(format!("{name} is a tool of an upstream server: write {call}")),
            many => {
                let shown = many.iter().take(NAMED).cloned().collect::<Vec<_>>().join(" or ");
                Some(format!("{name} is a tool of {} upstream servers: write {shown}", many.len()))
            }
        }
    }

    /// What to write for the name of a server that stands alone, as if it were a function.
    pub(super) fn bare_server(&self, name: &str) -> Option<String> {
        /// So many tools are named.
        const NAMED: usize = 8;
        let servers = self.world.servers()?;
        let in_other_letters = || servers.iter().find(|(known, _)| letters(known) == letters(name));
        let (server, tools) = servers.find(name).or_else(in_other_letters)?;
        let call = match self.is_taken(server) {
            true => upstream_call(server, "TOOL"),
            false => format!("({server}/TOOL {{…}})"),
        };
        let lists = lists_tools(server);
        let of = match tools {
            None | Some([]) => lists,
            Some(tools) => {
                let named: Vec<String> = tools.iter().take(NAMED).map(|tool| tool_in_line(tool)).collect();
                let more = if tools.len() > NAMED { format!(" and more; {lists}") } else { String::new() };
                format!("its tools are {}{more}", named.join(", "))
            }
        };
        Some(format!("{server} is an upstream server: write {call}; {of}"))
    }

    /// What to write for names that other clients of servers have for looking at servers and for calling them.
    pub(super) fn other_word(&self, name: &str) -> Option<String> {
        self.world.tools().filter(|tools| tools.iter().any(|tool| tool == UPSTREAM))?;
        match name.replace('_', "-").as_str() {
            "servers" | "list-servers" | "get-servers" | "mcp-servers" => {
                Some("write (tool/servers)".to_owned())
            }
            "call-tool" | "invoke-tool" | "use-tool" | "run-tool" | "call-mcp-tool" => {
                Some(format!("write (server/tool {{:name value}}), or {}", upstream_call("…", "…")))
            }
            "list-tools" | "tools" => Some(
                "write (dir 'server) for the tools of a server, (apropos \"words\") for those of all"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Whether a namespace with the name of a server is something else in every program.
    pub(super) fn is_taken(&self, ns: &str) -> bool {
        is_language_namespace(ns)
            || self.world.exports().is_some_and(|exports| exports.prelude.namespace_number(ns).is_some())
    }

    /// Notes that a `tool/call` cannot work, because there is nothing that has the names it writes. Where the error could be
    /// caught it is left to the run.
    pub(super) fn note_nowhere(&mut self, span: Span) {
        /// Longer names than anything has are left to the run, whose message cuts them.
        const LONGEST: usize = 80;
        let Some(servers) = self.world.servers().filter(|servers| servers.closed && self.guarded == 0) else {
            return;
        };
        let Some((server, tool)) = self.manifest.written_target() else { return };
        if server.len() > LONGEST || tool.is_some_and(|tool| tool.len() > LONGEST) {
            return;
        }
        let error = match (servers.named.get(server), tool) {
            (None, _) => no_upstream(server, servers),
            (Some(Some(tools)), Some(tool))
                if granted_as(tools, tool).is_none() && !servers.is_held(server, tool) =>
            {
                no_tool(server, tool, tools)
            }
            _ => return,
        };
        let error = error.at(span);
        self.keep_mistake(Error { kind: ErrorKind::UnknownTool, ..error.clone() });
        self.manifest.fail_with(error);
    }

    /// Whether there is a server whose name has the same words, in capitals for instance: `GitHub` for `github`.
    pub(super) fn is_server_in_other_letters(&self, ns: &str) -> bool {
        let mut names = self.world.servers().into_iter().flat_map(Servers::iter).map(|(name, _)| name);
        names.any(|name| letters(name) == letters(ns))
    }

    /// The server that may have been meant by an unknown namespace, or all that there are.
    pub(super) fn meant_server(&self, ns: &str, local: &str) -> Option<String> {
        /// So many servers are named.
        const NAMED: usize = 20;
        if let Some(hidden) = self.hidden_server(ns, local) {
            return Some(hidden);
        }
        let servers = self.world.servers()?;
        let names: Vec<&str> = servers.iter().map(|(name, _)| name).collect();
        if let Some(best) = suggest::closest(ns, names.iter().copied()) {
            return Some(format!("did you mean {best}/{local}?"));
        }
        let shown = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > NAMED { " and more: (tool/servers)" } else { "" };
        (!names.is_empty()).then(|| format!("there is no upstream server {ns}; there are {shown}{more}"))
    }
}

/// `tool/call` says in the same words at run time what is not there.
fn no_upstream(server: &str, servers: &Servers) -> Error {
    let names: Vec<&str> = servers.iter().map(|(name, _)| name).collect();
    let message = format!("no upstream '{server}' configured. Configured upstreams: {}", names.join(", "));
    let hint = match suggest::closest(server, names.iter().copied()) {
        Some(best) => format!("did you mean :server \"{best}\"?"),
        None => "(tool/servers) tells what each is for".to_owned(),
    };
    Error::new(ErrorKind::Runtime, message).hint(hint)
}

fn no_tool(server: &str, tool: &str, tools: &[String]) -> Error {
    /// So many tools are named.
    const NAMED: usize = 20;
    let mut named: Vec<String> = tools.iter().take(NAMED).map(|tool| tool_in_line(tool)).collect();
    if tools.len() > NAMED {
        named.push("…".to_owned());
    }
    let message = format!("no tool '{tool}' in upstream '{server}'. Known tools: {}", named.join(", "));
    let near = suggest::closest(tool, tools.iter().map(String::as_str));
    let near = near.map(|best| format!("did you mean :tool \"{best}\"? ")).unwrap_or_default();
    Error::new(ErrorKind::Runtime, message).hint(format!("{near}{}", lists_tools(server)))
}

/// The name of a tool as it stands in a line, which servers give any text: what breaks the line is written as in JSON, and of
/// a name that is longer than the protocol allows there is the beginning.
pub fn tool_in_line(tool: &str) -> String {
    /// So many characters are shown.
    const LONGEST: usize = 128;
    let (shown, left) = match tool.char_indices().nth(LONGEST) {
        Some((end, _)) => (&tool[..end], "…"),
        None => (tool, ""),
    };
    let shown = shown.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    crate::visible::visible(&shown).into_owned() + left
}

/// What is the same in all ways to write a name.
fn letters(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// How to see the tools of a server, whatever its name is.
fn lists_tools(server: &str) -> String {
    let is_symbol = server.starts_with(|c: char| c.is_ascii_alphabetic())
        && server.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match is_symbol {
        true if is_language_namespace(server) => format!("(doc '{server}) names its tools"),
        true => format!("(dir '{server}) lists its tools"),
        false => format!("(dir \"{server}\") lists its tools"),
    }
}

fn no_such_tool(server: &str, tool: &str, tools: &[String]) -> Error {
    let error = Error::new(ErrorKind::UnknownTool, format!("the server {server} has no tool {tool}"));
    let near = suggest::closest(tool, tools.iter().map(String::as_str));
    let near = near.map(|best| format!("did you mean {server}/{best}? ")).unwrap_or_default();
    error.hint(format!("{near}{}", lists_tools(server)))
}

/// The hint for a name of a server that means something else to programs.
pub(crate) fn taken_name(ns: &str, server: &str, tool: &str) -> String {
    format!("{ns}/ is no name of the server {server} here: write {}", upstream_call(server, tool))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::limits::Limits;
    use crate::machine::Machine;

    /// The hint for a program that cannot run, where these servers have these tools.
    fn hint(program: &str, servers: &[(&str, &[&str])]) -> String {
        let tools = |tools: &[&str]| Some(tools.iter().map(|&tool| tool.to_owned()).collect());
        let mut machine = Machine::new(Limits::default());
        machine.set_tools([UPSTREAM.to_owned(), "price".to_owned()]);
        machine.set_servers(Arc::new(Servers::new(
            servers.iter().map(|&(name, of)| (name.to_owned(), tools(of))),
        )));
        let error = machine.check(program).expect_err("the name is not defined");
        error.hint.unwrap_or_default()
    }

    /// The error of a program that is loaded where there is the server `github` and nothing else.
    fn refused(program: &str, servers: Servers) -> Option<Error> {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools([UPSTREAM.to_owned()]);
        machine.set_servers(Arc::new(servers));
        machine.check(program).unwrap_or_else(|error| panic!("{program}: {error}"));
        machine.load(program).err()
    }

    #[test]
    fn calls_that_cannot_work_are_told_before_the_run_with_their_place() {
        let listed = || Some(vec!["get_issue".to_owned(), "search_issues".to_owned()]);
        let servers = || Servers::new([("github".to_owned(), listed()), ("cold".to_owned(), None)]);
        for (call, message, hint) in [
            (
                r#"(tool/call {:server "gitub" :tool "get_issue"})"#,
                "no upstream 'gitub' configured. Configured upstreams: cold, github",
                "did you mean :server \"github\"?",
            ),
            (
                r#"(map #(tool/call {:server "jira" :tool %}) data/names)"#,
                "no upstream 'jira' configured",
                "(tool/servers)",
            ),
            (
                "(tool/call 'github/serch_issues {})",
                "no tool 'serch_issues' in upstream 'github'. Known tools: get_issue, search_issues",
                "did you mean :tool \"search_issues\"? (dir 'github) lists its tools",
            ),
        ] {
            let program = format!("(def x 1)\n  {call}");
            let error =
                refused(&program, servers().closed()).unwrap_or_else(|| panic!("{program} is loaded"));
            assert_eq!(error.kind, ErrorKind::Runtime, "{program}");
            assert!(error.message.contains(message), "{program}: {error}");
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{program}: {error:?}");
            let at = crate::span::Position::of(&program, error.span.expect("it has a place").start);
            assert_eq!((at.line, at.column >= 3), (2, true), "{program}");
            // Where something is held back, nobody can say that before.
            assert_eq!(refused(&program, servers()), None, "{program}");
        }
        for program in [
            r#"(tool/call {:server "github" :tool "get-issue"})"#,
            r#"(tool/call {:server "cold" :tool "anything"})"#,
            r#"(tool/call {:server data/server :tool "get_issue"})"#,
            r#"(tool/call {:server "gitub"})"#,
            r#"(try (tool/call {:server "gitub" :tool "x"}) (catch Exception e 1))"#,
            r#"(try (mapv (fn [n] (tool/call {:server "gitub" :tool "x"})) [1]) (catch Exception e 1))"#,
            "(github/get_issue {})",
        ] {
            assert_eq!(refused(program, servers().closed()), None, "{program}");
        }
    }

    #[test]
    fn a_server_whose_name_means_something_else_is_told_with_how_to_call_it() {
        for name in ["user", "math", "json", "str", "clojure.set"] {
            let told = hint(&format!("({name}/ping)"), &[(name, &["ping"])]);
            assert!(told.contains(&upstream_call(name, "ping")), "{name}: {told}");
            assert!(!told.contains("there is no upstream server"), "{name}: {told}");
        }
        let mut machine = Machine::new(Limits::default());
        machine.set_tools([UPSTREAM.to_owned()]);
        machine.set_strict_inputs(true);
        machine.set_servers(Arc::new(Servers::new([("data".to_owned(), Some(vec!["ping".to_owned()]))])));
        let error = machine.load("(data/ping)").expect_err("there is no such input");
        assert!(error.hint.is_some_and(|hint| hint.contains(&upstream_call("data", "ping"))));
    }

    #[test]
    fn a_server_in_other_letters_or_without_a_tool_is_told_with_what_to_write() {
        let many: Vec<String> = (0..12).map(|number| format!("tool_{number:02}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let servers: [(&str, &[&str]); 4] =
            [("tick", &["add", "echo"]), ("my_hub", &many), ("empty", &[]), ("set", &["x"])];
        for (program, told) in [
            ("(Tick/echo {:text 1})", "did you mean tick/echo?"),
            ("(TICK/echo)", "did you mean tick/echo?"),
            ("(MyHub/tool_00)", "did you mean my_hub/tool_00?"),
            ("(tick 1)", "tick is an upstream server: write (tick/TOOL {…}); its tools are add, echo"),
            ("(Tick {:a 1})", "write (tick/TOOL {…}); its tools are add, echo"),
            ("(map my-hub [1])", "tool_06, tool_07 and more; (dir 'my_hub) lists its tools"),
            ("(empty-one 1) (Empty 1)", "write (empty/TOOL {…}); (dir 'empty) lists its tools"),
        ] {
            let hint = hint(program, &servers);
            assert!(hint.contains(told), "{program}: {hint}");
        }
        assert!(!hint("(Tock/echo)", &servers[1..]).contains("did you mean"));
    }

    #[test]
    fn a_tool_without_its_server_is_told_with_it() {
        let github: (&str, &[&str]) = ("github", &["search_issues", "price"]);
        for program in ["(search_issues {:q 1})", "(search-issues {:q 1})", "(map search_issues [{}])"] {
            let hint = hint(program, &[github]);
            assert!(hint.contains("write (github/search_issues {:name value})"), "{program}: {hint}");
        }
        let several = hint("(search_issues)", &[github, ("gitlab", &["search_issues"])]);
        assert!(
            several.contains("(github/search_issues {:name value}) or (gitlab/search_issues"),
            "{several}"
        );
        // What the program is granted itself comes first.
        assert!(hint("(price {})", &[github]).contains("write (tool/price"));
        // Such a server is not reached by its name.
        let hidden = hint("(search_issues)", &[("str", &["search_issues"])]);
        assert!(hidden.contains("(tool/call {:server \"str\" :tool \"search_issues\""), "{hidden}");
    }
}
