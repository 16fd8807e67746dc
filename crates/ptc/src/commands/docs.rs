//! `ptc docs`: the book, printed from the binary.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::bail;
use ptc_lisp::analyze::closest;

use super::ignore_closed_pipe;
use crate::agents::highlight::Paint;
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
/// Without a page, lists them. `ptc docs agent` is a short card for coding agents that drive this command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The page
    page: Option<String>,
}

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let text = match &args.page {
        None => list(),
        Some(name) => match text(name) {
            Some(text) => coloured(text, Paint::for_stream(&terminal::stdout())),
            None => bail!("{}", unknown(name)),
        },
    };
    ignore_closed_pipe(terminal::stdout().write_all(text.as_bytes()))?;
    Ok(Outcome::Done)
}

/// The text of a page.
fn text(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".md").unwrap_or(name).to_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, page)| page);
    PAGES.iter().find(|(page, _)| *page == name && *page != CONTENTS).map(|(_, text)| *text)
}

/// The name by which a page is asked for: the shorter one, if it has two.
fn short(page: &str) -> &str {
    ALIASES.iter().find(|(_, of)| *of == page).map_or(page, |(alias, _)| alias)
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
    let names = PAGES.iter().map(|(page, _)| short(page)).filter(|page| *page != CONTENTS);
    let hint = match closest(name, names) {
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

/// A page with its headings and its code set off, where there are colours.
fn coloured(text: &str, paint: Paint) -> String {
    let mut code = false;
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let fence = line.starts_with("```");
        code ^= fence;
        out.push_str(&match line {
            _ if fence || code => paint.dim(line),
            _ if line.starts_with('#') => paint.strong(line),
            _ => line.to_owned(),
        });
        out.push('\n');
    }
    out
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
    fn unknown_pages_are_pointed_at_known_ones() {
        assert!(unknown("preludse").contains("did you mean `preludes`?"));
        assert!(unknown("pmap").contains("these have the word: "));
        assert!(unknown("zqzqzq").contains("nor does any page"));
    }
}
