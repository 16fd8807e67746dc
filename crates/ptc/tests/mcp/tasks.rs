//! The questions of `conformance/tasks`: each program answers through the command and through the server, with and
//! without a schema, and the answer is right and whole.
//!
//! A task that is known to miss says so in its file (`;; miss: doors: reason`). One that misses without saying so fails
//! the test, and so does one that says so and answers. The figures stand in the README of the tasks, and must be those
//! of the run.

mod corpus;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value as Json, json};

use crate::support::{Folder, StdioServer, text};
use corpus::{Task, answers, folder, same, schema, tasks};

/// The ways to an answer.
const DOORS: &[&str] = &["eval", "mcp", "schema"];

/// Time is no part of the test: unoptimised builds on busy machines are slow.
const PATIENT: &[&str] = &["--program-timeout-ms", "30000"];

/// What came through each door, in the order of [`DOORS`]; none where the task cannot go through.
type Answers = [Option<Result<Json, String>>; 3];

#[test]
fn tasks_over_data_are_answered() {
    let tasks = tasks("data.clj");
    let server = StdioServer::ready(PATIENT);
    judge("data", &tasks, &[], server);
}

#[test]
fn more_tasks_are_answered_as_by_clojure() {
    let tasks = tasks("more.clj");
    let server = StdioServer::ready(PATIENT);
    judge("more", &tasks, &[], server);
}

#[test]
fn tasks_with_tools_are_answered() {
    let tasks = tasks("tools.clj");
    let tools = folder().join("tools.json");
    let canned: Map<String, Json> = serde_json::from_str(&corpus::read("tools.json")).unwrap();
    let servers = canned.keys().filter_map(|name| Some(name.split_once('/')?.0));
    let script = folder().join("upstream.py");
    let upstreams: Map<String, Json> = servers
        .map(|name| {
            let entry = json!({"transport": "mcp_stdio", "command": "python3", "args": [script, name]});
            (name.to_owned(), entry)
        })
        .collect();
    let home = Folder::new();
    let config = home.file("upstreams.json", &json!({"upstreams": upstreams}).to_string());
    let server = StdioServer::ready(&[PATIENT, &["--upstreams-config", &config]].concat());
    judge("tools", &tasks, &["--tools", &tools.display().to_string()], server);
}

#[test]
fn the_data_and_the_answers_are_what_the_scripts_write() {
    for script in ["generate.py", "answers.py"] {
        let status = Command::new("python3").arg(folder().join(script)).arg("--check").status().unwrap();
        assert!(status.success(), "{script}");
    }
}

/// Asks every task at every door, and compares.
fn judge(name: &str, tasks: &[Task], options: &[&str], mut server: StdioServer) {
    let expected = answers();
    let read = read_back(&tasks.iter().map(|task| shown(&mut server, task, None)).collect::<Vec<_>>());
    let (mut right, mut asked, mut lines) = ([0; 3], [0; 3], Vec::new());
    for (task, read) in tasks.iter().zip(read) {
        let expected = &expected[&task.id];
        let schema = schema(expected);
        let whole = |text: String| serde_json::from_str(&text).map_err(|_| format!("not JSON: {text}"));
        let by_server = !task.direct;
        let got: Answers = [
            Some(evaluated(task, options)),
            by_server.then_some(read),
            by_server.then(|| shown(&mut server, task, Some(&schema)).and_then(whole)),
        ];
        for (door, got) in got.iter().enumerate() {
            let Some(got) = got else { continue };
            let is_right = got.as_ref().is_ok_and(|got| same(expected, got));
            asked[door] += 1;
            right[door] += usize::from(is_right);
            if is_right == task.misses(DOORS[door]) {
                lines.push(told(task, DOORS[door], expected, got));
            }
        }
    }
    let counts = right.iter().zip(asked).map(|(right, asked)| format!("{right} of {asked}"));
    let figures = format!("| {name} | {} |", counts.collect::<Vec<_>>().join(" | "));
    eprintln!("{figures}");
    assert!(lines.is_empty(), "{figures}\n{}", lines.join("\n"));
    assert!(corpus::read("README.md").contains(&figures), "conformance/tasks/README.md must say {figures}");
}

fn told(task: &Task, door: &str, expected: &Json, got: &Result<Json, String>) -> String {
    let got = match got {
        Ok(got) => got.to_string(),
        Err(message) => message.clone(),
    };
    let known = if task.misses(door) { " (said to miss)" } else { "" };
    format!("{} {door}{known}: {} expected: {expected} got: {got}", task.id, task.question)
}

/// The answer of `ptc eval --json`.
fn evaluated(task: &Task, options: &[&str]) -> Result<Json, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args(["eval", "--json", "-e", &task.program]).args(options);
    for (name, value) in &task.inputs {
        command.arg("--data").arg(format!("{name}={value}"));
    }
    let output = command.output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    let answer: Json = serde_json::from_str(&line)
        .map_err(|_| format!("{line}{}", String::from_utf8_lossy(&output.stderr)))?;
    match answer["ok"] == true {
        true => Ok(answer["json"].clone()),
        false => Err(answer["error"].to_string()),
    }
}

/// What a client of the server is shown as the result, all of it, or why not.
fn shown(server: &mut StdioServer, task: &Task, schema: Option<&Json>) -> Result<String, String> {
    if task.direct {
        return Err("it calls tools that upstreams do not have".to_owned());
    }
    let mut arguments = json!({"program": task.program, "context": task.inputs});
    if let Some(schema) = schema {
        arguments["output_schema"] = schema.clone();
    }
    let result = server.call(1, "lisp_eval", arguments);
    let text = text(&result);
    let content = result["content"].as_array().map_or(0, Vec::len);
    match result["isError"] == false && content == 1 && !text.contains("[truncated]") {
        true => Ok(text),
        false => Err(text),
    }
}

/// The values that answers of the server show, read as programs write them.
fn read_back(shown: &[Result<String, String>]) -> Vec<Result<Json, String>> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptc"))
        .args(["eval", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let value = |text: &str| {
        let (_, value) = text.split_once("user=> ")?;
        Some(value.trim_end().trim_end_matches("</untrusted_ptc_output>").to_owned())
    };
    let mut lines = String::new();
    for text in shown {
        let value = text.as_deref().ok().and_then(value).unwrap_or_default();
        let _ = writeln!(lines, "{}", json!({"id": 0, "src": format!("(quote {value}\n)")}));
    }
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let read = |(line, shown): (&str, &Result<String, String>)| {
        let text = shown.clone()?;
        let answer: Json = serde_json::from_str(line).unwrap();
        match answer["ok"] == true {
            true => Ok(answer["json"].clone()),
            false => Err(format!("not a value: {text}")),
        }
    };
    answers.lines().zip(shown).map(read).collect()
}
