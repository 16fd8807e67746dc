//! House rules that no lint knows: every source file says what lives in it, none grows without bound, and what meets
//! the outside does so in one place.

use std::path::Path;

use anyhow::{Result, bail};

/// Longer files are refused; tables and tests included.
const MAX_LINES: usize = 1100;

/// How tests say that they are skipped. One function does it, which fails where nothing may be skipped.
const SKIP: &str = concat!("\"ski", "pped:");
/// Something that only some files of libraries and commands may do, by the words that do it.
struct Rule {
    words: &'static [&'static str],
    /// Where it holds.
    within: &'static str,
    /// Paths that begin with one of these may.
    except: &'static [&'static str],
    instead: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["File::create", "File::options", "OpenOptions", "fs::write(", "create_dir", "DirBuilder"],
        within: "crates/",
        // Points at which tests of the store stop a process are files that only tests read; a log is opened where it is, and
        // so is what is noted beside it.
        except: &[
            "crates/ptc-system/",
            "crates/ptc-store/src/halt.rs",
            "crates/ptc-store/src/mark.rs",
            "crates/ptc-store/src/wal.rs",
        ],
        instead: "make files with ptc_system::private, or ptc_system::project if others read them",
    },
    Rule {
        words: &["println!", "print!", "dbg!", "io::stdout", "io::stderr", "stdout()", "stderr()"],
        within: "crates/ptc/",
        except: &["crates/ptc/src/terminal", "crates/ptc/build.rs"],
        instead: "print with crate::terminal: stdout(), stderr() or errln!",
    },
    // Of the others only the server writes to a stream: its protocol, its log, and why it aborts without randomness.
    Rule {
        words: &["println!", "print!", "dbg!", "io::stdout", "io::stderr", "stdout()", "stderr()"],
        within: "crates/",
        except: &[
            "crates/ptc/",
            "crates/ptc-server/src/wire/stdio.rs",
            "crates/ptc-server/src/wire/log.rs",
            "crates/ptc-server/src/wire/identity.rs",
        ],
        instead: "return the text, or log it with tracing",
    },
    // These write to the terminal themselves.
    Rule {
        words: &["rustyline::", "indicatif::", "console::", "anstream::", "Cli::parse()", "get_matches("],
        within: "crates/ptc/",
        except: &["crates/ptc/src/terminal"],
        instead: "use crate::terminal, where what it draws is filtered: Editor, Bar, columns() or parse()",
    },
    Rule {
        words: &["read_line("],
        within: "crates/ptc/",
        // Programs that a pipe brings, and keys that only turn pages.
        except: &[
            "crates/ptc/src/terminal",
            "crates/ptc/src/commands/repl/lines.rs",
            "crates/ptc/src/commands/replay/mod.rs",
        ],
        instead: "ask with crate::terminal::answer(), which takes nothing that was typed before",
    },
    Rule {
        words: &["Command::new("],
        within: "crates/",
        // These clear the environment; the editor, the browser and the pager of the user need theirs.
        except: &[
            "crates/ptc-runner/src/command.rs",
            "crates/ptc-upstream/src/mcp/process.rs",
            "crates/ptc-upstream/src/mcp/guard.rs",
            "crates/ptc/src/agents/consent.rs",
            "crates/ptc/src/commands/viewer.rs",
            "crates/ptc/src/terminal/pager.rs",
        ],
        instead: "clear the environment of a child process (ptc_system::environment) and add it to this list",
    },
];

/// Whether a line has these words. A stream that is called by itself is the system's: ours has its module before it.
fn has(line: &str, words: &str) -> bool {
    let is_stream = matches!(words, "stdout()" | "stderr()");
    let is_bare =
        |at: usize| !line[..at].ends_with(|before: char| before.is_alphanumeric() || "_:.".contains(before));
    line.match_indices(words).any(|(at, _)| !is_stream || is_bare(at))
}

/// A text with the lines of items that only tests have left empty. An item ends on its line, or where its indentation comes
/// back with what closes it.
fn without_tests(text: &str) -> String {
    let ends = |line: &str| line.trim_end().ends_with([';', '}', ',']);
    let (mut own, mut item, mut is_begun) = (String::with_capacity(text.len()), None, false);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match item {
            None if line.trim() == "#[cfg(test)]" => (item, is_begun) = (Some(indent), false),
            None => own.push_str(line),
            Some(_) if !is_begun => {
                let is_before = line.trim_start().starts_with("#[") || line.trim_start().starts_with("//");
                is_begun = !is_before;
                item = item.filter(|_| is_before || !ends(line));
            }
            Some(outer) => {
                let closes = indent == outer && line.trim_start().starts_with(['}', ']', ')']) && ends(line);
                item = item.filter(|_| !closes);
            }
        }
        own.push('\n');
    }
    own
}

/// What a file does that only others may. Tests, examples and comments are not looked at.
fn misplaced(path: &str, text: &str, faults: &mut Vec<String>) {
    let tested = ["/tests/", "/examples/", "_tests.rs", "/tests.rs"];
    if !path.contains("/src/") || tested.iter().any(|part| path.contains(part)) {
        return;
    }
    let own = without_tests(text);
    for rule in RULES.iter().filter(|rule| path.starts_with(rule.within)) {
        if rule.except.iter().any(|allowed| path.starts_with(allowed)) {
            continue;
        }
        for (at, line) in own.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(word) = rule.words.iter().find(|word| has(line, word)) {
                faults.push(format!("{path}:{}: `{word}`; {}", at + 1, rule.instead));
            }
        }
    }
}

/// Checks every Rust file of the workspace.
pub fn check(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    for folder in ["crates", "xtask"] {
        visit(root, &root.join(folder), &mut faults)?;
    }
    if !faults.is_empty() {
        bail!("untidy files:\n{}", faults.join("\n"));
    }
    Ok(())
}

fn visit(root: &Path, folder: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                visit(root, &path, faults)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            if !text.starts_with("//!") {
                faults.push(format!("{}: does not open with a module doc", path.display()));
            }
            if text.contains(SKIP) && !path.ends_with("tests/it/skip.rs") && !path.ends_with("src/tests.rs") {
                faults.push(format!("{}: says itself that a test is skipped, not by `skip`", path.display()));
            }
            misplaced(&path.strip_prefix(root).unwrap_or(&path).to_string_lossy(), &text, faults);
            let lines = text.lines().count();
            if lines > MAX_LINES {
                faults.push(format!("{}: {lines} lines, more than {MAX_LINES}", path.display()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::misplaced;

    #[test]
    fn files_prints_and_children_are_refused_outside_their_place() {
        let found = |path: &str, text: &str| {
            let mut faults = Vec::new();
            misplaced(path, text, &mut faults);
            faults.len()
        };
        for (path, text, faults) in [
            ("crates/ptc-trace/src/files.rs", "std::fs::write(path, text)", 1),
            ("crates/ptc-trace/src/files.rs", "// std::fs::write(path, text)", 0),
            ("crates/ptc-trace/src/files.rs", "fn a() {}\n#[cfg(test)]\nmod tests { fs::write(a, b) }", 0),
            ("crates/ptc-trace/src/files.rs", "#[cfg(test)]\nmod tests;\n\nfn a() { fs::write(a, b) }", 1),
            (
                "crates/ptc-trace/src/files.rs",
                "#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests {\n    fn a() {\n        fs::write(a, b)\n    }\n}\n\nfn b() { fs::write(a, b) }",
                1,
            ),
            (
                "crates/ptc-trace/src/files.rs",
                "impl A {\n    #[cfg(test)]\n    fn a(\n        x: B,\n    ) -> C {\n        fs::write(a, b)\n    }\n\n    fn b() {\n        fs::write(a, b)\n    }\n}",
                1,
            ),
            ("crates/ptc-trace/src/files.rs", "#[cfg(test)]\nuse std::fs;\nfn a() { fs::write(a, b) }", 1),
            ("crates/ptc-trace/src/files.rs", "File::options().write(true).open(path)", 1),
            ("crates/ptc-trace/src/files.rs", "std::fs::OpenOptions::new()", 1),
            ("crates/ptc-trace/src/files.rs", "std::io::stderr().write_all(text)", 1),
            ("crates/ptc-trace/src/files.rs", "use std::io::stdout;", 1),
            ("crates/ptc-trace/src/files.rs", "let mut out = stdout();", 1),
            ("crates/ptc-trace/src/files.rs", "dbg!(path);", 1),
            ("crates/ptc-server/src/wire/log.rs", "let _ = std::io::stderr().lock();", 0),
            ("crates/ptc/src/commands/eval.rs", "writeln!(stderr(), \"x\")", 1),
            ("crates/ptc/src/commands/eval.rs", "writeln!(terminal::stderr(), \"x\")", 0),
            ("crates/ptc-trace/tests/it/files.rs", "std::fs::write(path, text)", 0),
            ("crates/ptc-system/src/private.rs", "OpenOptions::new()", 0),
            ("crates/ptc/src/commands/eval.rs", "eprintln!(\"x\")", 1),
            ("crates/ptc/src/terminal/screen.rs", "io::stdout()", 0),
            ("crates/ptc/src/commands/eval.rs", "use indicatif::ProgressBar;", 1),
            ("crates/ptc/src/terminal/editor.rs", "use rustyline::Helper;", 0),
            ("crates/ptc/src/main.rs", "let cli = Cli::parse();", 1),
            ("crates/ptc/src/main.rs", "let cli: Cli = terminal::parse();", 0),
            ("crates/ptc/src/commands/resume.rs", "io::stdin().read_line(&mut answer)?;", 1),
            ("crates/ptc-upstream/src/mcp/other.rs", "Command::new(\"sh\")", 1),
        ] {
            assert_eq!(found(path, text), faults, "{path}: {text}");
        }
    }
}
