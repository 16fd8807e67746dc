//! The pages of the book and the README are true. Every block of code has a kind, and each kind has somebody who holds
//! it to its word:
//!
//! | kind | who |
//! |---|---|
//! | `console` | commands are run here, in a folder per page, and print what the page shows |
//! | `clojure` | forms are run here, one after the other in one session; `;=>` says what the form above gives |
//! | `…,file=NAME` | is written into the page's folder, where commands after it find it |
//! | `python`, `javascript` | are files, which commands of the page run |
//! | `json` | is read as JSON, or as lines of it; a configuration of upstreams by who reads them |
//! | `toml` | is read as TOML |
//! | `sh` | is not run; the shell takes it, and so does the command line of `ptc` (`commands/docs.rs`) |
//! | `rust` | documentation tests of `ptc-runner` and `ptc-upstream` |
//! | `nginx` | `tests/mcp/nginx.rs` |
//! | `text` | shows something and claims nothing |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

/// Pages whose `rust` blocks are documentation tests: by the crate that tests them.
const RUST: &[(&str, &str)] = &[
    ("README.md", "ptc-runner"),
    ("rust.md", "ptc-runner"),
    ("agents.md", "ptc-runner"),
    ("preludes.md", "ptc-runner"),
    ("tool-call.md", "ptc-upstream"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn docs() -> PathBuf {
    root().join("docs")
}

/// A block of code of a page.
struct Block {
    page: String,
    kind: String,
    /// Whether the kind says that it is not run, or into which file it goes.
    notes: Vec<String>,
    text: String,
}

/// All pages with their texts.
fn pages() -> Vec<(String, String)> {
    let files = fs::read_dir(docs()).expect("the folder").filter_map(Result::ok).map(|file| file.path());
    let mut paths: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .chain([root().join("README.md")])
        .collect();
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(path).expect("the page is there"))
    };
    paths.into_iter().map(page).collect()
}

fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if open => open = false,
            Some(info) => {
                open = true;
                let mut words = info.split(',').map(str::to_owned);
                let (page, kind) = (page.to_owned(), words.next().unwrap_or_default());
                found.push(Block { page, kind, notes: words.collect(), text: String::new() });
            }
            None if open => found.last_mut().expect("it was opened").text.extend([line, "\n"]),
            None => {}
        }
    }
    assert!(!open, "{page}: a block never ends");
    found
}

#[test]
fn every_block_has_a_kind_that_is_held_to_its_word() {
    for (page, text) in pages() {
        for block in blocks(&page, &text) {
            let place = format!("{page}: ```{}\n{}", block.kind, block.text);
            match block.kind.as_str() {
                "console" | "clojure" | "text" => {}
                "python" | "javascript" => {
                    let file = block.notes.iter().find_map(|note| note.strip_prefix("file="));
                    let name = file.and_then(|file| file.split('.').next());
                    let used = name.is_some_and(|name| text.matches(name).count() > 1);
                    assert!(used, "nothing uses {place}");
                }
                "rust" => {
                    assert!(RUST.iter().any(|(known, _)| *known == page), "nobody tests {place}");
                    assert!(!block.notes.iter().any(|note| note == "ignore"), "nobody tests {place}");
                }
                "json" if block.text.contains("\"upstreams\": {") => {
                    let read = ptc_upstream::Config::from_json(&block.text, Path::new(""));
                    assert!(read.is_ok(), "{place}{:?}", read.err());
                }
                "json" => assert!(is_json(&block.text), "{place}"),
                "toml" => {
                    drop(block.text.parse::<toml::Table>().unwrap_or_else(|error| panic!("{place}{error}")))
                }
                "sh" => {
                    let checked =
                        Command::new("sh").args(["-n", "-c", &block.text]).status().expect("a shell");
                    assert!(checked.success(), "{place}");
                }
                "nginx" => assert_eq!(page, "mcp-server.md", "nobody tests {place}"),
                other => panic!("no block may be of the kind `{other}`: {place}"),
            }
        }
    }
    for (page, package) in RUST {
        let library =
            fs::read_to_string(root().join("crates").join(package).join("src/lib.rs")).expect("a library");
        assert!(library.contains(&format!("{page}\")]")), "{package} does not test {page}");
    }
}

fn is_json(text: &str) -> bool {
    let reads = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    reads(text) || text.lines().all(reads)
}

/// Something to run and what it must show.
struct Example {
    source: String,
    shown: String,
}

/// The commands of a block: `$` begins one, `>` goes on with it, the rest is what it prints.
fn commands(block: &Block) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in block.text.lines() {
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

#[test]
fn commands_print_what_the_pages_say() {
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_ptc"));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.parent().expect("a folder").display());
    // The README has none; what its picture shows is run by `picture.rs`.
    for (page, text) in pages().into_iter().filter(|(page, _)| page != "README.md") {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages").join(&page);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for block in blocks(&page, &text) {
            if let Some(file) = block.notes.iter().find_map(|note| note.strip_prefix("file=")) {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().expect("it is in a folder")).expect("a folder");
                fs::write(file, &block.text).expect("a file");
            }
            for example in commands(&block).into_iter().filter(|_| block.kind == "console") {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("exec 2>&1\n{}", example.source));
                shell.current_dir(&folder).env("PATH", &path).env("HOME", &folder);
                shell.env_remove("XDG_CONFIG_HOME").env("XDG_STATE_HOME", folder.join(".state"));
                let ran = shell.env("NO_COLOR", "1").output().expect("a shell");
                let printed = String::from_utf8_lossy(&ran.stdout);
                if !fits(&example.shown, &printed) {
                    assert_eq!(printed, example.shown, "{}: $ {}", block.page, example.source);
                }
            }
        }
    }
}

/// Whether a text is what a page shows, where `…` stands for anything: in a line, or for lines if it stands alone.
fn fits(shown: &str, printed: &str) -> bool {
    let (shown, printed): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), printed.lines().collect());
    lines_fit(&shown, &printed)
}

fn lines_fit(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((gap, rest)) if gap.trim() == "…" => {
            (0..=printed.len()).any(|skip| lines_fit(rest, &printed[skip..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_fits(line, first) && lines_fit(rest, others)),
    }
}

fn line_fits(shown: &str, printed: &str) -> bool {
    match shown.split_once('…') {
        None => shown == printed,
        Some((before, after)) => printed.strip_prefix(before).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|at| line_fits(after, &rest[at..]))
        }),
    }
}

#[test]
fn gaps_stand_for_anything_and_nothing_else_does() {
    for (shown, printed, fit) in [
        ("a\n", "a\n", true),
        ("a … c\n", "a b b c\n", true),
        ("a … c\n", "a b\n", false),
        ("a\n…\nz\n", "a\nb\nc\nz\n", true),
        ("a\n…\nz\n", "a\nz\n", true),
        ("a\n…\nz\n", "a\nb\n", false),
        ("a\n", "a\nb\n", false),
    ] {
        assert_eq!(fits(shown, printed), fit, "{shown:?} {printed:?}");
    }
}

/// The forms of a page, each with what it gives.
fn forms(page: &str, text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut source = String::new();
    let blocks =
        blocks(page, text).into_iter().filter(|block| block.kind == "clojure" && block.notes.is_empty());
    for line in blocks.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()) {
        match line.strip_prefix(";=> ") {
            Some(shown) => {
                examples.push(Example { source: std::mem::take(&mut source), shown: shown.to_owned() });
            }
            None => source.extend([line.as_str(), "\n"]),
        }
    }
    assert_eq!(source.trim(), "", "{page}: every block ends with what it gives");
    examples
}

#[test]
fn forms_give_what_the_pages_say() {
    for (page, text) in pages() {
        let mut machine = Machine::new(Limits::default());
        for Example { source, shown } in forms(&page, &text) {
            machine.load(&source).unwrap_or_else(|error| panic!("{page}: {source}: {error}"));
            match machine.run(u64::MAX) {
                Step::Done(_) => assert_eq!(machine.value(), shown, "{page}: {source}"),
                _ => panic!("{page} does not end well: {source}"),
            }
        }
    }
}

/// Every page is in the table of contents, and every link leads somewhere.
#[test]
fn links_lead_to_pages_and_every_page_is_listed() {
    let all = pages();
    let summary = &all.iter().find(|(page, _)| page == "SUMMARY.md").expect("a table of contents").1;
    for (page, _) in all.iter().filter(|(page, _)| !["SUMMARY.md", "README.md"].contains(&page.as_str())) {
        assert_eq!(
            summary.matches(&format!("({page})")).count(),
            if page == "getting-started.md" { 2 } else { 1 },
            "{page}"
        );
    }
    for (page, text) in &all {
        let folder = if page == "README.md" { root() } else { docs() };
        let prose: String = text.split("```").step_by(2).collect();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let outside = file.is_empty() || link.starts_with("http");
            assert!(outside || folder.join(file).exists(), "{page} leads to {link}, which is not there");
        }
    }
}
