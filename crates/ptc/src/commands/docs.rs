//! `ptc docs`: the book, printed from the binary.

use std::fmt::Write as _;

use anyhow::bail;
use ptc_lisp::analyze::closest;

use super::ignore_closed_pipe;
use super::shell::Named;
use crate::agents::highlight::{self, Paint};
use crate::exit::Outcome;
use crate::terminal;

/// Every page of the book: its name, which is that of its file, and its text.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The table of contents, from which titles and order come.
const CONTENTS: &str = "SUMMARY";

/// Pages that have a second name.
const ALIASES: &[(&str, &str)] = &[("agent", "coding-agents")];

/// Print a page of the documentation.
///
/// Without a page, lists them. `ptc docs agent` is a short card for coding agents that drive this command. A terminal
/// shows a page through the pager ($PAGER, or less); a pipe gets it as Markdown.
#[derive(Debug, clap::Args)]
pub struct DocsArgs {
    /// The page
    #[arg(value_parser = Named(names), hide_possible_values = true)]
    page: Option<String>,
}

/// Runs the command.
pub fn run(args: DocsArgs) -> anyhow::Result<Outcome> {
    let text = match &args.page {
        None => list(),
        Some(name) => match text(name) {
            Some(text) if terminal::stdout().is_terminal() => {
                readable(text, Paint::for_stream(&terminal::stdout()))
            }
            Some(text) => text.to_owned(),
            None => bail!("{}", unknown(name)),
        },
    };
    ignore_closed_pipe(terminal::page(&text))?;
    Ok(Outcome::Done)
}

/// The names by which pages are asked for.
fn names() -> Vec<&'static str> {
    PAGES.iter().map(|(page, _)| short(page)).filter(|page| *page != CONTENTS).collect()
}

/// The text of a page.
fn text(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".md").unwrap_or(name).to_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, page)| page);
    PAGES.iter().find(|(page, _)| *page == name && *page != CONTENTS).map(|(_, text)| *text)
}

/// The name by which a page is asked for: the shorter one, if it has two.
fn short(page: &'static str) -> &'static str {
    ALIASES.iter().find(|(_, of)| *of == page).map_or(page, |(alias, _)| *alias)
}

/// Parts, pages and titles as the table of contents has them.
fn list() -> String {
    let contents = PAGES.iter().find(|(name, _)| *name == CONTENTS).map_or("", |(_, text)| *text);
    let mut list = String::new();
    for line in contents.lines().skip(1) {
        if let Some(part) = line.strip_prefix("# ") {
            let _ = writeln!(list, "{part}");
        } else if let Some((title, file)) = line.strip_prefix("- [").and_then(|line| line.split_once("](")) {
            let page = file.trim_end_matches(')').trim_end_matches(".md");
            let _ = writeln!(list, "  {:<18}{title}", short(page));
        }
    }
    list.push_str("`ptc docs PAGE` prints a page.\n");
    list
}

/// What to say about a page that is not there.
fn unknown(name: &str) -> String {
    let hint = match closest(name, names().into_iter()) {
        Some(close) => format!("did you mean `{close}`?"),
        None => mentions(name),
    };
    format!("no page is called `{name}`; {hint} `ptc docs` lists all")
}

/// The pages that have a word.
fn mentions(word: &str) -> String {
    let has = |text: &str| text.to_lowercase().contains(&word.to_lowercase());
    let pages: Vec<String> = PAGES
        .iter()
        .filter(|(page, text)| *page != CONTENTS && !word.trim().is_empty() && has(text))
        .take(6)
        .map(|(page, _)| format!("`{}`", short(page)))
        .collect();
    match pages.is_empty() {
        true => "nor does any page have that word;".to_owned(),
        false => format!("these have the word: {};", pages.join(", ")),
    }
}

/// A page for people: what Markdown says by signs is said by colours, and code stands apart.
fn readable(text: &str, paint: Paint) -> String {
    let mut out = String::with_capacity(text.len());
    let mut language = None;
    for line in text.lines() {
        if let Some(fence) = line.trim_start().strip_prefix("```") {
            language = match language {
                None => Some(fence.split(',').next().unwrap_or_default()),
                Some(_) => None,
            };
            continue;
        }
        out.push_str(&match language {
            Some("clojure") => format!("    {}", highlight::program(line, paint)),
            Some(_) => format!("    {}", paint.code(line)),
            None if line.starts_with('#') => paint.strong(line.trim_start_matches('#').trim_start()),
            None => prose(line, paint),
        });
        out.push('\n');
    }
    out
}

/// A line of prose: code and what is emphasised in colours, of links the words, and where they lead if that is outside.
fn prose(line: &str, paint: Paint) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '*', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let marked =
            |sign: &str| rest.strip_prefix(sign)?.split_once(sign).filter(|(text, _)| !text.is_empty());
        let link = || {
            let (words, after) = rest.strip_prefix('[')?.split_once("](")?;
            let (target, after) = after.split_once(')').filter(|_| !words.contains(['[', ']']))?;
            Some((words, target, after))
        };
        if let Some((code, after)) = marked("`") {
            out.push_str(&paint.code(code));
            rest = after;
        } else if let Some((words, after)) = marked("**") {
            out.push_str(&paint.strong(words));
            rest = after;
        } else if let Some((words, target, after)) = link() {
            out.push_str(&prose(words, paint));
            if target.starts_with("http") {
                out.push_str(&paint.dim(&format!(" <{target}>")));
            }
            rest = after;
        } else {
            // All three signs are one byte long.
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_listed_and_printed() {
        let list = list();
        for (page, content) in PAGES.iter().filter(|(page, _)| *page != CONTENTS) {
            let name = short(page);
            assert!(
                list.lines().any(|line| line.trim_start().split(' ').next() == Some(name)),
                "{name}\n{list}"
            );
            assert_eq!(text(name), Some(*content));
        }
        assert_eq!(text("CLI.md"), text("cli"));
        assert_eq!(text(CONTENTS), None);
    }

    /// Blocks of commands that are not run are at least taken by the command line.
    #[test]
    fn commands_of_pages_are_understood() {
        use clap::Parser;
        use clap::error::ErrorKind;
        let readme = ("README", include_str!("../../../../README.md"));
        for (page, text) in PAGES.iter().copied().chain([readme]) {
            for block in text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
                for line in block.replace("\\\n", " ").lines().filter(|line| line.starts_with("ptc ")) {
                    let wrong = match crate::Cli::try_parse_from(words(line)) {
                        Err(error) => {
                            !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::DisplayHelp)
                        }
                        Ok(_) => false,
                    };
                    assert!(!wrong, "{page}: {line}");
                }
            }
        }
    }

    /// The words of a line as a shell has them, up to a comment or what leads elsewhere.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (None, '#' | '>' | '<' | '|' | '&' | ';') => break,
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None, c) if c.is_whitespace() => words.push(String::new()),
                _ => words.last_mut().expect("one is there").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn people_read_words_and_not_markdown() {
        let page = "# Title\n\nUse `ptc run` **now**, see [running](running.md#x) or [Restate](https://restate.dev).\n\
                    | a | 2 * 3 |\n```clojure\n(inc 1)\n```\n```sh\nls [a]\n```\nopen ` and [link\n";
        let shown = "Title\n\nUse ptc run now, see running or Restate <https://restate.dev>.\n\
                     | a | 2 * 3 |\n    (inc 1)\n    ls [a]\nopen ` and [link\n";
        assert_eq!(readable(page, Paint::none()), shown);
        for (page, text) in PAGES {
            let shown = readable(text, Paint::none());
            // Inside of code it is part of a text.
            let fenced = shown.lines().any(|line| line.trim_start().starts_with("```"));
            assert!(!fenced && !shown.starts_with('#'), "{page}\n{shown}");
        }
    }

    #[test]
    fn unknown_pages_are_pointed_at_known_ones() {
        assert!(unknown("preludse").contains("did you mean `preludes`?"));
        assert!(unknown("pmap").contains("these have the word: "));
        assert!(unknown("zqzqzq").contains("nor does any page"));
    }
}
