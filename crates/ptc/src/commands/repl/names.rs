//! What the line editor knows about programs: names to complete, parameters to hint at, colours, and whether a form
//! is whole.

use std::sync::Arc;

use ptc_lisp::analyze::{Namespaces, SPECIALS, namespace_name};
use ptc_lisp::builtins::{Entry, registry};

use super::session::Session;
use super::{brackets, colon, lines};
use crate::agents::highlight::{Paint, program_with};
use crate::attached::AttachedUpstreams;
use crate::terminal::{self, Assistant, Offer};

/// The names that can be completed.
pub struct Names {
    sorted: Vec<String>,
    /// Servers and their tools, which programs name in strings.
    servers: Vec<String>,
    /// Parameters of functions that are no builtins.
    params: Vec<(String, String)>,
    /// Names that programs have given to namespaces.
    required: Arc<Namespaces>,
    paint: Paint,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            sorted: Vec::new(),
            servers: Vec::new(),
            params: Vec::new(),
            required: Arc::default(),
            paint: Paint::for_stream(&terminal::stdout()),
        }
    }
}

/// Whether programs are meant to use it.
fn is_public(entry: &Entry) -> bool {
    !["prim", "ptc.impl"].contains(&entry.ns) && !entry.local.is_empty()
}

/// Names of the language: special forms, functions with and without namespace, and namespaces.
fn of_language() -> impl Iterator<Item = String> {
    let builtins = registry().iter().filter(|(_, entry)| is_public(entry)).flat_map(|(id, entry)| {
        let short = (registry().unqualified(entry.local) == Some(id)).then(|| entry.local.to_owned());
        let qualified = Some(entry.name.to_owned()).filter(|_| entry.ns != "clojure.core");
        [short, qualified, Some(entry.ns.to_owned())]
    });
    builtins.flatten().filter(|name| !name.is_empty()).chain(SPECIALS.iter().map(|&name| name.to_owned()))
}

/// Every name that a program of the session may use now, sorted.
pub fn all(session: &Session) -> Vec<String> {
    let machine = &session.machine;
    let prelude = machine.prelude();
    let exports = prelude.iter().flat_map(|prelude| prelude.exports()).map(|export| export.name.clone());
    let namespaces = prelude.iter().flat_map(|prelude| prelude.namespaces()).map(|ns| ns.name.clone());
    let inputs = machine.data_names().into_iter().map(|name| format!("data/{name}"));
    let tools = session.tools.names().map(|tool| format!("tool/{tool}"));
    let servers = session.upstreams.iter().flat_map(servers);
    let mut names: Vec<String> = of_language()
        .chain(machine.definitions())
        .chain(exports)
        .chain(namespaces)
        .chain(inputs)
        .chain(tools)
        .chain(servers)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Servers, and their tools as `server/tool`, as far as they are known.
fn servers(upstreams: &AttachedUpstreams) -> Vec<String> {
    let mut names = vec!["tool/call".to_owned(), "tool/servers".to_owned()];
    for server in upstreams.catalog(false).servers() {
        names.push(server.name.clone());
        names.extend(server.listed().iter().map(|tool| format!("{}/{}", server.name, tool.def.name)));
    }
    names
}

impl Names {
    /// Takes in what there is now.
    pub fn learn(&mut self, session: &Session) {
        self.sorted = all(session);
        self.sorted.extend(colon::COMMANDS.iter().map(|command| command.name.to_owned()));
        self.sorted.sort_unstable();
        self.servers = session.upstreams.iter().flat_map(servers).collect();
        self.required = session.required.clone();
        let machine = &session.machine;
        let own = machine.definitions().into_iter().filter_map(|name| {
            let params = machine.function(&name)?.params.join(" ");
            Some((name, params))
        });
        let exports = machine.prelude().into_iter().flat_map(|prelude| prelude.exports());
        let lent = exports.map(|export| (export.name.clone(), export.arglists()));
        self.params = own.chain(lent).collect();
    }

    /// All names that begin with `prefix`, whose namespace may have its short name.
    fn beginning(&self, prefix: &str) -> Vec<String> {
        let known = |prefix: &str| {
            let from = self.sorted.partition_point(|name| name.as_str() < prefix);
            self.sorted[from..]
                .iter()
                .take_while(|name| name.starts_with(prefix))
                .cloned()
                .collect::<Vec<_>>()
        };
        let found = known(prefix);
        let Some((short, local)) = prefix.split_once('/').filter(|_| found.is_empty()) else { return found };
        let full = format!("{}/", namespace_name(self.required.full(short)));
        let restored = |name: String| format!("{short}/{}", &name[full.len()..]);
        known(&format!("{full}{local}")).into_iter().map(restored).collect()
    }

    /// Names of servers and tools for the text inside a string.
    fn in_string(&self, prefix: &str) -> Vec<String> {
        let servers = self.servers.iter().filter(|name| !name.starts_with("tool/"));
        let mut found: Vec<String> = servers
            .flat_map(|name| name.split('/'))
            .filter(|name| name.starts_with(prefix))
            .map(str::to_owned)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The parameters of a function.
    fn params(&self, name: &str) -> Option<&str> {
        if let Some((_, params)) = self.params.iter().find(|(own, _)| own == name) {
            return Some(params);
        }
        let full = || {
            let (ns, local) = name.split_once('/')?;
            Some(format!("{}/{local}", namespace_name(self.required.full(ns))))
        };
        let id = registry().unqualified(name).or_else(|| registry().qualified(&full()?))?;
        Some(registry().get(id)).filter(|entry| is_public(entry)).map(Entry::params)
    }
}

/// Where the name that ends at `end` begins.
fn name_start(line: &str, end: usize) -> usize {
    let breaks = |c: char| c.is_whitespace() || "()[]{}\"'`~@^,;#".contains(c);
    line[..end].rfind(breaks).map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8))
}

impl Assistant for Names {
    fn offer(&self, line: &str, pos: usize) -> Offer {
        if [":load ", ":save "].iter().any(|command| line.starts_with(command)) {
            return Offer::Files;
        }
        let start = name_start(line, pos);
        let prefix = &line[start..pos];
        let found = match line[..start].ends_with('"') {
            true => self.in_string(prefix),
            false if prefix.is_empty() => Vec::new(),
            false => self.beginning(prefix),
        };
        Offer::Names(start, found)
    }

    /// The parameters of the function whose arguments come next.
    fn hint(&self, line: &str, pos: usize) -> Option<String> {
        let next = pos == line.len() && line.ends_with(' ');
        let head = brackets::open_head(line).filter(|_| next)?;
        self.params(head).filter(|params| !params.is_empty()).map(|params| format!("  {params}"))
    }

    fn coloured(&self, line: &str, pos: usize) -> String {
        let marks = brackets::pair(line, pos);
        let columns = lines::PROMPT.len();
        // Margins become white space that nobody types, so that they are found again between the colours.
        let mut text = line.to_owned();
        for at in brackets::margins(line, columns) {
            text.replace_range(at..at + columns, &MARGIN.repeat(columns));
        }
        program_with(&text, self.paint, marks.as_ref().map_or(&[], |pair| &pair[..]))
            .replace(&MARGIN.repeat(columns), &self.paint.dim(lines::CONTINUED))
    }

    fn coloured_hint(&self, hint: &str) -> String {
        self.paint.dim(hint)
    }

    fn is_whole(&self, text: &str) -> bool {
        lines::is_whole(text)
    }

    fn continued(text: &str) -> Option<String> {
        let column = brackets::indentation(text, lines::PROMPT.len()).filter(|_| !lines::is_whole(text))?;
        Some(format!("\n{}", " ".repeat(column)))
    }
}

/// A form feed, which is as long as a space.
const MARGIN: &str = "\x0c";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_after_a_delimiter() {
        let cases = [("(ma", 1), ("(map in", 5), ("[@st", 2), ("", 0), ("str/jo", 0), (":de", 0)];
        for (line, start) in cases {
            assert_eq!(name_start(line, line.len()), start, "{line}");
        }
    }

    #[test]
    fn parameters_are_those_of_builtins_and_of_the_session() {
        let required = Arc::new(Namespaces::default().after("(require '[clojure.string :as s])"));
        let params = vec![("mine".to_owned(), "[a b]".to_owned())];
        let names = Names { params, required, ..Names::default() };
        for (name, expected) in [
            ("count", Some("[coll]")),
            ("str/join", Some("[coll] [separator coll]")),
            ("s/join", Some("[coll] [separator coll]")),
            ("mine", Some("[a b]")),
            ("nope", None),
            ("prim/realised", None),
        ] {
            assert_eq!(names.params(name), expected, "{name}");
        }
    }

    #[test]
    fn lines_behind_the_first_have_a_prompt_of_their_own() {
        let names = Names { paint: Paint::none(), ..Names::default() };
        let next = Names::continued("(defn f [x]").expect("another line");
        assert_eq!(next, "\n       ");
        let line = format!("(defn f [x]{next}(inc \"a\n      b\"))");
        let shown = names.coloured(&line, 0);
        assert_eq!(shown, "(defn f [x]\n  ..   (inc \"a\n      b\"))");
        assert_eq!(Names::continued("(inc 1)"), None, "it is whole");
        assert_eq!(Names::continued("(str \"a"), None, "spaces count in a string");
    }

    #[test]
    fn strings_complete_to_servers_and_tools() {
        let servers = ["tool/call", "github", "github/get_pr", "github/get_issue", "store"];
        let names = Names { servers: servers.map(str::to_owned).to_vec(), ..Names::default() };
        assert_eq!(names.in_string("g"), ["get_issue", "get_pr", "github"]);
        assert_eq!(names.in_string("call"), Vec::<String>::new());
    }
}
