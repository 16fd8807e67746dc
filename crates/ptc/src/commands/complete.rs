//! Names for the line editor of `ptc repl`: completion, documentation, and whether a form is whole.

use ptc_lisp::analyze::SPECIALS;
use ptc_lisp::builtins::{Entry, registry};
use ptc_lisp::reader::is_incomplete;
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter, MatchingBracketHighlighter};
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};
use std::borrow::Cow;

/// What can be typed besides programs.
const COMMANDS: &[&str] = &[":defs", ":doc", ":help", ":quit", ":reset", ":stats"];

/// The names that can be completed.
#[derive(Default)]
pub struct Names {
    sorted: Vec<String>,
    brackets: MatchingBracketHighlighter,
}

impl Names {
    /// Takes in the definitions and tools there are now.
    pub fn learn(&mut self, definitions: &[String], tools: &[String]) {
        let tools = tools.iter().map(|tool| format!("tool/{tool}"));
        let commands = COMMANDS.iter().chain(SPECIALS).map(|&name| name.to_owned());
        let builtins = registry().iter().filter(|(_, entry)| is_public(entry)).flat_map(|(id, entry)| {
            let short = (registry().unqualified(entry.local) == Some(id)).then(|| entry.local.to_owned());
            [short, Some(entry.name.to_owned()).filter(|_| entry.ns != "clojure.core")]
        });
        self.sorted =
            builtins.flatten().chain(commands).chain(tools).chain(definitions.iter().cloned()).collect();
        self.sorted.sort_unstable();
        self.sorted.dedup();
    }

    /// All names that begin with `prefix`.
    fn beginning(&self, prefix: &str) -> Vec<String> {
        let from = self.sorted.partition_point(|name| name.as_str() < prefix);
        self.sorted[from..].iter().take_while(|name| name.starts_with(prefix)).cloned().collect()
    }
}

/// Whether programs are meant to use it.
fn is_public(entry: &Entry) -> bool {
    entry.ns != "prim" && !entry.local.is_empty()
}

/// Where the name that ends at `end` begins.
fn name_start(line: &str, end: usize) -> usize {
    let breaks = |c: char| c.is_whitespace() || "()[]{}\"'`~@^,;#".contains(c);
    line[..end].rfind(breaks).map_or(0, |at| at + line[at..].chars().next().map_or(1, char::len_utf8))
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let start = name_start(line, pos);
        let prefix = &line[start..pos];
        Ok((start, if prefix.is_empty() { Vec::new() } else { self.beginning(prefix) }))
    }
}

impl Validator for Names {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_incomplete(ctx.input()) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Highlighter for Names {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        self.brackets.highlight(line, pos)
    }

    fn highlight_char(&self, line: &str, pos: usize, kind: CmdKind) -> bool {
        self.brackets.highlight_char(line, pos, kind)
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Helper for Names {}

/// What a function does, as `:doc` tells it.
pub fn doc(name: &str) -> String {
    if name.is_empty() {
        return "write :doc NAME, for instance :doc map".to_owned();
    }
    let found = registry().unqualified(name).or_else(|| registry().qualified(name));
    let Some(entry) = found.map(|id| registry().get(id)).filter(|entry| is_public(entry)) else {
        return match SPECIALS.contains(&name) {
            true => format!("{name} is a special form"),
            false => format!("no function is called {name}"),
        };
    };
    let mut text = format!("{}  {}\n  {}", entry.name, entry.params(), entry.doc().trim());
    for (source, value) in entry.examples() {
        text.push_str(&format!("\n  {source} ⇒ {value}"));
    }
    text
}

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
    fn completion_knows_builtins_forms_tools_definitions_and_commands() {
        let mut names = Names::default();
        names.learn(&["mapped-orders".to_owned()], &["search".to_owned()]);
        let has = |prefix: &str, name: &str| names.beginning(prefix).iter().any(|found| found == name);
        for (prefix, name) in [
            ("map", "map"),
            ("map", "mapped-orders"),
            ("clojure.string/j", "clojure.string/join"),
            ("tool/", "tool/search"),
            ("le", "let"),
            (":d", ":doc"),
        ] {
            assert!(has(prefix, name), "{prefix} completes to {name}");
        }
        assert!(!has("prim", "prim/realised"));
    }

    #[test]
    fn doc_shows_parameters_text_and_examples() {
        assert!(doc("count").starts_with("clojure.core/count  [coll]\n  "), "{}", doc("count"));
        assert_eq!(doc("let"), "let is a special form");
        assert_eq!(doc("no-such"), "no function is called no-such");
    }
}
