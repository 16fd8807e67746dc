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
        words: &["File::create", "OpenOptions", "fs::write(", "create_dir", "DirBuilder"],
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
        words: &["println!", "print!", "io::stdout()", "io::stderr()"],
        within: "crates/ptc/",
        except: &["crates/ptc/src/terminal", "crates/ptc/build.rs"],
        instead: "print with crate::terminal: stdout(), stderr() or errln!",
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

/// What a file does that only others may. Tests, examples and comments are not looked at.
fn misplaced(path: &str, text: &str, faults: &mut Vec<String>) {
    let tested = ["/tests/", "/examples/", "_tests.rs", "/tests.rs"];
    if !path.contains("/src/") || tested.iter().any(|part| path.contains(part)) {
        return;
    }
    let own = text.find("#[cfg(test)]\nmod ").map_or(text, |end| &text[..end]);
    for rule in RULES.iter().filter(|rule| path.starts_with(rule.within)) {
        if rule.except.iter().any(|allowed| path.starts_with(allowed)) {
            continue;
        }
        for (at, line) in own.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(word) = rule.words.iter().find(|word| line.contains(**word)) {
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
