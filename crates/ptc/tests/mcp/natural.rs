//! Programs as people write them who have read what `doc` says, six for each of sixteen real servers. They stand in
//! `natural/programs.clj`. HTTP APIs and pages are those of `natural/web.py`; servers whose services are on the internet are
//! only asked whether they take the arguments.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::clients::installed;
use crate::servers;
use crate::support::{Folder, StdioServer};

/// A program.
struct Natural<'t> {
    server: &'t str,
    source: String,
    /// Its result as it is shown, or [`AWAY`].
    gives: &'t str,
}

/// What stands for the result where a server needs the internet.
const AWAY: &str = "away";

fn programs(text: &str) -> Vec<Natural<'_>> {
    let (mut programs, mut server, mut source) = (Vec::new(), "", Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("; == ") {
            server = name;
        } else if let Some(gives) = line.strip_prefix(";=> ") {
            let source = std::mem::take(&mut source).join("\n").trim().to_owned();
            programs.push(Natural { server, source, gives });
        } else if !line.starts_with(';') {
            source.push(line);
        }
    }
    programs
}

const PROGRAMS: &str = include_str!("natural/programs.clj");

#[test]
fn every_server_has_six_programs() {
    let programs = programs(PROGRAMS);
    for name in servers::names() {
        assert_eq!(programs.iter().filter(|program| program.server == name).count(), 6, "{name}");
    }
    assert_eq!(programs.len(), 6 * servers::names().len());
    for program in programs {
        assert!(program.source.contains(program.server), "{}: {}", program.server, program.source);
    }
}

/// The web of the programs. It ends with this value.
struct Web {
    process: Child,
    url: String,
}

impl Web {
    /// `None` where there is no Python.
    fn start() -> Option<Web> {
        installed("python3", "python/bin/python")?;
        let natural = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/natural");
        let mut process = Command::new("python3")
            .arg(natural.join("web.py"))
            .arg(natural.join("web.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Some(Web { process, url: url.trim().to_owned() })
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether somebody says that arguments or names are wrong: this server before a call, or the other one.
fn complains(answer: &str) -> bool {
    let answer = answer.to_lowercase();
    let complaints = [
        "rejected args",
        "no tool '",
        "no upstream '",
        "unknown tool",
        "invalid arguments",
        "invalid_type",
        "zoderror",
        "input validation",
    ];
    complaints.iter().any(|complaint| answer.contains(complaint))
}

#[test]
fn programs_that_are_written_from_docs_run() {
    if !Path::new("/usr/bin/chromium").exists() {
        return crate::skip::skip("the browser of the server playwright");
    }
    let folder = Folder::new();
    let Some(web) = Web::start() else { return };
    let Some(config) = servers::config(folder.path(), &web.url) else { return };
    std::fs::write(folder.path().join("repository/notes.txt"), "one line\n").unwrap();
    let file = folder.file("upstreams.json", &config.to_string());
    let mut server = StdioServer::ready(&[
        "--upstreams-config",
        &file,
        "--require-upstreams",
        "--upstream-call-timeout-ms",
        "30000",
        "--program-timeout-ms",
        "60000",
    ]);
    let text = PROGRAMS.replace("FOLDER", &folder.path().display().to_string()).replace("WEB", &web.url);
    for (id, Natural { server: name, source, gives }) in (1..).zip(programs(&text)) {
        if gives == AWAY {
            let answer = server.eval(id, &format!("(try {source} (catch Exception e (ex-message e)))"));
            assert!(answer.starts_with("user=> ") && !complains(&answer), "{name}: {source}\n{answer}");
        } else {
            assert_eq!(server.eval(id, &source), format!("user=> {gives}"), "{name}: {source}");
        }
    }
}
