//! The page in headless Chromium, with traces of real runs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::support::{command, err, examples, folder, ptc, trees};

/// The page, served until the test is over.
pub struct Viewer {
    pub url: String,
    child: Child,
}

impl Viewer {
    pub fn start(dir: &Path) -> Self {
        let mut command = command(dir, &["viewer", ".", "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the viewer starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect(&line).to_owned();
        Viewer { url, child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent of the tests, copied so that its tools may write beside it.
pub fn agent(into: &Path, name: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/viewer/agents").join(name);
    let to = into.join(name);
    fs::create_dir_all(&to).expect("a folder");
    for entry in fs::read_dir(from).expect("an agent").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file");
    }
    to.join("agent.toml")
}

fn run(folder: &Path, name: &str, code: i32) {
    let agent = agent(folder, name).display().to_string();
    let args = ["run", &agent, "--trace", "traces", "--trace-payload", "full", "-q"];
    let ran = ptc(folder, &args);
    assert_eq!(ran.status.code(), Some(code), "{name}: {}", err(&ran));
}

/// A trace as an enemy would write it.
fn hostile(dir: &Path) {
    let evil = "<img src=x onerror=alert(1)>";
    let long = format!("{} the very end", "x".repeat(20_000));
    let lines = [
        json!({"schema_version": 2, "event": "trace.start", "trace_id": evil, "timestamp": 1, "seq": 0,
            "data": {"trace_kind": evil, "trace_label": evil}}),
        json!({"event": "run.start", "timestamp": 1, "span_id": "a", "agent_name": evil,
            "data": {"mission": "<script>alert(2)</script>", "__proto__": {"polluted": true}}}),
        json!({"event": "turn.start", "timestamp": 2, "span_id": "b", "parent_span_id": "a", "turn": 1,
            "data": {"type": "<svg onload=alert(3)>"}}),
        json!({"event": "tool.start", "timestamp": 2, "span_id": "c", "parent_span_id": "b",
            "tool_name": "\"><script>alert(4)</script>", "data": {"args": {"a": "javascript:alert(5)"}}}),
        json!({"event": "turn.stop", "timestamp": 18_446_744_073_709_551_615_u64, "span_id": "b", "turn": 1,
            "data": {"program": "<script>alert(2)</script>", "prints": {"not": "a list"},
                "result_preview": long, "fuel": "many"}}),
        json!({"event": "run.stop", "timestamp": 3, "span_id": "a", "status": "ok",
            "data": {"return": [[[[evil]]]]}}),
    ];
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(dir.join("2020-01-01-hostile-ok.jsonl"), text.join("\n") + "\nno json\n{\"torn")
        .expect("a file");
}

/// Short runs of long ago.
fn many(dir: &Path, count: u64) {
    for number in 0..count {
        let at = 1_600_000_000_000_u64 + number;
        let lines = [
            json!({"schema_version": 2, "event": "trace.start", "trace_id": format!("t{number}"), "timestamp": at,
                "seq": 0, "data": {"trace_kind": "agent_run", "trace_label": "old"}}),
            json!({"event": "run.start", "timestamp": at, "span_id": "a", "agent_name": "old", "data": {"mission": "x"}}),
            json!({"event": "run.stop", "timestamp": at + 5, "span_id": "a", "status": "ok", "data": {"return": "1"}}),
            json!({"event": "trace.stop", "timestamp": at + 5, "status": "ok", "data": {}}),
        ];
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        fs::write(dir.join(format!("2020-09-13-{number:04}-ok.jsonl")), text.join("\n") + "\n")
            .expect("a file");
    }
}

fn packages() -> Option<(PathBuf, PathBuf)> {
    let npm = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/npm");
    let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].iter().map(PathBuf::from);
    let chromium = chromium.into_iter().find(|path| path.exists())?;
    npm.join("node_modules/playwright-core").is_dir().then_some((npm, chromium))
}

#[test]
fn people_see_runs_turns_calls_agents_failures_and_the_playground() {
    let Some((npm, chromium)) = packages() else {
        return crate::skip::skip("Debian's chromium or playwright-core of npm");
    };
    let folder = folder("browser");
    let traces = folder.join("traces");
    run(&folder, "report", 0);
    run(&folder, "newsroom", 0);
    run(&folder, "failing", 3);
    let orders = examples().join("orders");
    let data = format!("orders=@{}", orders.join("orders.json").display());
    let ran = ptc(
        &folder,
        &[
            "run",
            &orders.join("agent.toml").display().to_string(),
            "--data",
            &data,
            "--trace",
            "traces",
            "-q",
        ],
    );
    assert!(ran.status.success(), "{}", err(&ran));
    fs::write(folder.join("tools.json"), r#"{"echo": {"default": 7}}"#).expect("a file");
    let ran = ptc(&folder, &["eval", "-e", "(tool/echo {})", "--tools", "tools.json", "--trace", "traces"]);
    assert!(ran.status.success(), "{}", err(&ran));
    assert_eq!(trees(&traces).len(), 5);
    hostile(&traces);
    many(&traces, 120);
    let slow = agent(&folder, "slow");
    let args = ["run", &slow.display().to_string(), "--trace", "traces", "--trace-payload", "full", "-q"];
    let mut mission = command(&folder, &args).stdout(Stdio::null()).spawn().expect("a run");
    let viewer = Viewer::start(&traces);
    let shots = std::env::var_os("PTC_SHOTS").map_or_else(|| folder.join("shots"), PathBuf::from);
    fs::create_dir_all(&shots).expect("a folder");
    let gate = slow.with_file_name("open");
    let output = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/viewer/browser.mjs"))
        .arg(&viewer.url)
        .args([&npm, &chromium, &folder.join("profile"), &shots, &gate])
        .output()
        .expect("node starts");
    fs::write(&gate, "").expect("a file");
    assert!(mission.wait().is_ok_and(|status| status.success()));
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), err(&output));
    assert!(output.status.success(), "{said}\n{complained}");
    assert_eq!(said.lines().filter(|line| line.starts_with("ok: ")).count(), 25, "{said}");
}
