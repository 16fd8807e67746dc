//! Real clients: the SDKs for Python and TypeScript, the Inspector, and the conformance suite. Where there is no Python
//! or Node the tests say that and pass; where there is one, the packages must be installed (`cargo xtask ci` does so).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::support::{HttpServer, ptc};

/// Programs may take this long, so that those without end report progress and then stop.
const TIME: &[&str] = &["--program-timeout-ms", "2500"];

pub fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}

/// The path of a package, if there is the program that runs it.
pub fn installed(runner: &str, path: &str) -> Option<PathBuf> {
    let runs = Command::new(runner).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        crate::skip::skip(&format!("`{runner}`, which runs {path},"));
        return None;
    }
    let path = tools().join(path);
    assert!(path.exists(), "{} is not installed: run `cargo xtask packages`", path.display());
    Some(path)
}

pub fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/clients").join(name).display().to_string()
}

/// Runs a client to its end and gives its output.
pub fn output(command: &mut Command) -> String {
    let output = command.env("HOME", "/nonexistent").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out.into_owned()
}

/// How the server is started by clients.
pub fn command(flags: &[&str]) -> Vec<String> {
    let command = ptc(flags);
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_str().unwrap().to_owned()).collect()
}

/// Drives the server over both transports in both lifecycles.
fn drive(client: impl Fn(&str, &[String]) -> String) {
    let server = HttpServer::start(TIME);
    for target in [command(TIME), vec![server.url()]] {
        for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
            let text = client(mode, &target);
            let mut seen: Json = serde_json::from_str(text.trim()).unwrap_or_else(|_| panic!("{text}"));
            let reports = seen["reports"].take().as_u64().unwrap();
            assert!(reports > 0, "progress was reported: {mode} {target:?} {seen}");
            let slow = seen["slow"].take();
            assert!(slow.as_str().unwrap().starts_with("timeout"), "{slow}");
            let tools = seen["tools"].take();
            assert_eq!(tools[0], "lisp_eval", "{tools}");
            let expected = json!({
                "version": version, "server": "ptc_lisp", "tools": null, "three": "user=> 3", "context": "user=> 2",
                "broken": true, "slow": null, "reports": null, "growing": true,
            });
            assert_eq!(seen, expected, "{mode} {target:?}");
        }
    }
}

#[test]
fn python_sdk() {
    let Some(python) = installed("python3", "python/bin/python") else { return };
    drive(|mode, target| output(Command::new(&python).arg(script("python_sdk.py")).arg(mode).args(target)));
}

#[test]
fn typescript_sdk() {
    let Some(_) = installed("node", "npm/node_modules/@modelcontextprotocol/client") else { return };
    let folder = tools().join("npm").canonicalize().unwrap();
    drive(|mode, target| {
        output(Command::new("node").arg(script("typescript_sdk.mjs")).arg(&folder).arg(mode).args(target))
    });
}

#[test]
fn inspector() {
    let Some(inspector) = installed("node", "npm/node_modules/.bin/mcp-inspector") else { return };
    let server = HttpServer::start(TIME);
    let home = crate::support::Folder::new();
    let inspect = |target: &[String], args: &[&str]| -> Json {
        let catalog = home.path().join("mcp.json");
        let mut command = Command::new(&inspector);
        command.arg("--cli").args(args).env("MCP_CATALOG_PATH", catalog).arg("--").args(target);
        let text = output(&mut command);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    };
    for target in [command(TIME), vec![server.url()]] {
        let listed = inspect(&target, &["--method", "tools/list"]);
        assert_eq!(listed["tools"][0]["name"], "lisp_eval", "{listed}");
        let call = ["--method", "tools/call", "--tool-name", "lisp_eval", "--tool-arg", "program=(+ 1 2)"];
        let called = inspect(&target, &call);
        assert_eq!(called["content"][0]["text"], "user=> 3", "{called}");
    }
}

/// Scenarios of the suite that pass. The others want a server with tools, prompts and resources made for the suite.
const PASSING: usize = 9;
/// All scenarios of the suite.
const SCENARIOS: usize = 32;

#[test]
fn conformance() {
    let suite = "npm/node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let Some(suite) = installed("node", suite) else { return };
    let listed: toml::Table = include_str!("clients/conformance.toml").parse().unwrap();
    let groups = listed["groups"].as_table().unwrap();
    let names = groups.values().flat_map(|group| group["scenarios"].as_array().unwrap());
    let exempt: BTreeSet<&str> = names.filter_map(|name| name.as_str()).collect();
    assert!(groups.values().all(|group| group["reason"].as_str().is_some_and(|reason| reason.len() > 20)));

    let server = HttpServer::start(TIME);
    let mut command = Command::new("node");
    command.args(["--import", &script("node20.mjs")]).arg(suite).args(["server", "--suite", "all", "--url"]);
    let output = command.arg(server.url()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let results: BTreeMap<&str, bool> = text
        .lines()
        .skip_while(|line| !line.contains("SUMMARY"))
        .filter_map(|line| {
            let (mark, rest) = line.split_once(' ')?;
            let name = rest.split_once(':')?.0;
            match mark {
                "✓" => Some((name, true)),
                "✗" => Some((name, false)),
                _ => None,
            }
        })
        .collect();
    assert!(!results.is_empty(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for (name, passed) in &results {
        assert_eq!(*passed, !exempt.contains(name), "{name}\n{text}");
    }
    for name in exempt {
        assert!(results.contains_key(name), "{name} is not in the suite any more");
    }
    let passed = results.values().filter(|passed| **passed).count();
    assert_eq!(
        (passed, results.len()),
        (PASSING, SCENARIOS),
        "scenarios that pass, and all; see conformance.toml"
    );
}
