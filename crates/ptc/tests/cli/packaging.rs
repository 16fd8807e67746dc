//! What comes with the command: the book, completions, the manual, the image.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{agents, ptc};

#[test]
fn the_book_is_in_the_binary() {
    let listed = ptc(&["docs"]);
    assert_eq!(listed.code, 0, "{}", listed.err);
    for line in
        ["Start\n", "  cli               The command\n", "  agent             Card for coding agents\n"]
    {
        assert!(listed.out.contains(line), "{line}\n{}", listed.out);
    }
    let card = ptc(&["docs", "agent"]);
    assert!(card.out.starts_with("# Card for coding agents\n"), "{}", card.out);
    assert_eq!(ptc(&["docs", "coding-agents.md"]).out, card.out);
    let page = fs::read_to_string(root().join("docs/cli.md")).expect("the page");
    assert_eq!(ptc(&["docs", "cli"]).out, page);
    let unknown = ptc(&["docs", "upstream"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (2, "ptc: no page is called `upstream`; did you mean `upstreams`? `ptc docs` lists all\n")
    );
}

/// What a terminal shows of a page, with this pager.
fn paged(pager: &str) -> String {
    let output = Command::new("python3")
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py"))
        .args(["[]", env!("CARGO_BIN_EXE_ptc"), "docs", "cli"])
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("PAGER", pager)
        .output()
        .expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

#[test]
fn pages_at_a_terminal_are_for_people_and_go_through_their_pager() {
    let shown = paged("sed s/^/paged:/");
    assert!(shown.starts_with("paged:The `ptc` command\npaged:\npaged:ptc run runs an agent"), "{shown}");
    for pager in ["", "cat", "no-such-pager-anywhere"] {
        let shown = paged(pager);
        assert!(shown.starts_with("The `ptc` command\n\nptc run runs an agent"), "{pager}: {shown}");
        assert!(!shown.contains("```") && !shown.contains("paged:"), "{pager}: {shown}");
    }
}

/// Bash itself completes with what the command prints.
#[test]
fn bash_completes_commands_and_flags() {
    let home = agents::folder("completions");
    agents::write(&home, &[("replies.jsonl", r#"{"program": "(return 1)"}"#)]);
    let kept = |run: usize| {
        let model = ["--model", "script:replies.jsonl"];
        let checkpoint = home.join("state/ptc/runs");
        let checkpoint = ["--checkpoint", checkpoint.to_str().expect("UTF-8"), "-q"];
        let mission = format!("Mission number {run}");
        agents::ptc_in(&home, &[&["run", mission.as_str()][..], &model, &checkpoint].concat()).code
    };
    assert_eq!([kept(1), kept(2)], [0, 0]);
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_ptc"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().expect("a folder").display());
    let complete = |typed: &str| {
        let words = typed.split(' ').map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let script = format!(
            "source <(ptc completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ptc_and_runs ptc \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\"",
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).env("PATH", &path).env("XDG_STATE_HOME", home.join("state"));
        let output = bash.env("XDG_CONFIG_HOME", &home).output().expect("bash");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(complete("ptc ev"), "eval");
    assert_eq!(complete("ptc eval --upstreams"), "--upstreams-config");
    assert_eq!(complete("ptc mcp --catalog-m"), "--catalog-mode");
    assert_eq!(complete("ptc run --model hai"), "haiku");
    assert_eq!(complete("ptc docs getting"), "getting-started");
    let runs = complete("ptc resume ");
    let listed = agents::ptc_in(&home, &["runs"]).out;
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!((runs.split(' ').collect::<Vec<_>>(), ids.len()), (ids, 2), "{listed}");
}

#[test]
fn other_shells_get_completions_too() {
    for (shell, part) in [
        ("zsh", "#compdef ptc"),
        ("fish", "complete -c ptc"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let ran = ptc(&["completions", shell]);
        assert!(ran.code == 0 && ran.out.contains(part) && ran.out.contains("upstreams-config"), "{shell}");
    }
    assert_eq!(ptc(&["completions", "tcsh"]).code, 2);
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let page = ptc(&["man"]).out;
    assert!(page.contains(".TH ptc 1") && page.contains(".SH SUBCOMMANDS"), "{page}");
    assert!(ptc(&["man", "prelude", "check"]).out.contains(".TH ptc-prelude-check 1"));
    let unknown = ptc(&["man", "nope"]);
    assert_eq!(
        (unknown.code, unknown.err.as_str()),
        (2, "ptc: there is no command `nope`; `ptc help` lists them\n")
    );
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("man1");
    let _ = fs::remove_dir_all(&dir);
    assert_eq!(ptc(&["man", "--dir", dir.to_str().expect("UTF-8")]).code, 0);
    for name in ["ptc.1", "ptc-run.1", "ptc-mcp.1", "ptc-prelude-check.1"] {
        let page = fs::read_to_string(dir.join(name)).unwrap_or_default();
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
}

/// The file of the image is right by hadolint's rules, and the image is not run by root.
#[test]
fn the_image_is_described_well() {
    let file = root().join("Dockerfile");
    let text = fs::read_to_string(&file).expect("a Dockerfile");
    let user = text.lines().rfind(|line| line.starts_with("USER ")).expect("a user");
    assert!(user.trim_start_matches("USER ").starts_with(|c: char| ('1'..='9').contains(&c)), "{user}");
    let image = text.lines().rfind(|line| line.starts_with("FROM ")).expect("an image");
    assert!(image.contains("distroless"), "{image}");
    let rust = format!("rust:{}", env!("CARGO_PKG_RUST_VERSION"));
    assert!(text.contains(&rust), "the image is built with {rust}");
    let hadolint = root().join(".tools/python/bin/hadolint");
    if !hadolint.exists() {
        return super::skip::skip("hadolint of PyPI");
    }
    let output = Command::new(hadolint).arg(&file).output().expect("hadolint runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
