//! The pages of the book are true: their commands print and their forms give what the pages say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

/// Pages whose `console` blocks are run. `$` begins a command, `>` goes on with it; a folder for each page.
const COMMANDS: &[&str] = &["cli.md", "getting-started.md", "language.md", "preludes.md", "signatures.md"];
/// Pages whose `clojure` blocks are run, one after the other in one session; `;=>` says what the form above gives.
const FORMS: &[&str] = &["language.md"];

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn page(name: &str) -> String {
    fs::read_to_string(docs().join(name)).expect("the page is there")
}

/// The blocks of a language.
fn blocks<'p>(page: &'p str, language: &str) -> impl Iterator<Item = &'p str> {
    let fence = format!("```{language}\n");
    let starts: Vec<usize> = page.match_indices(&fence).map(|(at, _)| at + fence.len()).collect();
    starts.into_iter().filter_map(|at| page[at..].split("```").next())
}

/// Something to run and what it must show.
#[derive(Default)]
struct Example {
    source: String,
    shown: String,
}

fn commands(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in blocks(page, "console").flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { source: command.to_owned(), shown: String::new() });
        } else if let Some(example) = examples.last_mut() {
            let (text, part) = match line.strip_prefix("> ") {
                Some(more) => (&mut example.source, format!("\n{more}")),
                None => (&mut example.shown, format!("{line}\n")),
            };
            text.push_str(&part);
        }
    }
    examples
}

fn forms(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut source = String::new();
    for line in blocks(page, "clojure").flat_map(str::lines) {
        match line.strip_prefix(";=> ") {
            Some(shown) => {
                examples.push(Example { source: std::mem::take(&mut source), shown: shown.to_owned() });
            }
            None => source.extend([line, "\n"]),
        }
    }
    assert_eq!(source.trim(), "", "every block ends with what it gives");
    examples
}

#[test]
fn commands_print_what_the_pages_say() {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_ptc"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().expect("a folder").display());
    for name in COMMANDS {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let examples = commands(&page(name));
        assert!(!examples.is_empty(), "{name} has commands");
        for example in examples {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("exec 2>&1\n{}", example.source));
            let ran = shell.current_dir(&folder).env("PATH", &path).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&ran.stdout), example.shown, "{name}: $ {}", example.source);
        }
    }
}

#[test]
fn forms_give_what_the_pages_say() {
    for name in FORMS {
        let examples = forms(&page(name));
        assert!(!examples.is_empty(), "{name} has forms");
        let mut machine = Machine::new(Limits::default());
        for Example { source, shown } in examples {
            machine.load(&source).unwrap_or_else(|error| panic!("{name}: {source}: {error}"));
            match machine.run(u64::MAX) {
                Step::Done(_) => assert_eq!(machine.value(), shown, "{name}: {source}"),
                _ => panic!("{name} does not end well: {source}"),
            }
        }
    }
}

/// Every page is in the table of contents, and every entry leads to a page.
#[test]
fn the_table_of_contents_has_every_page() {
    let summary = page("SUMMARY.md");
    let files = fs::read_dir(docs()).expect("the folder").filter_map(Result::ok);
    let pages = files.filter_map(|file| file.file_name().into_string().ok());
    for page in pages.filter(|name| name.ends_with(".md") && name != "SUMMARY.md") {
        assert!(summary.contains(&format!("({page})")), "{page} is not in SUMMARY.md");
    }
    for link in summary.split('(').skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(docs().join(link).is_file(), "SUMMARY.md leads to {link}, which is not there");
    }
}
