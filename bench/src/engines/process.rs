//! Engines with a process of their own: a small script in `harness/` takes jobs line by line, times
//! them inside and answers with a line of JSON. An engine that is not installed is left out.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value as Json, json};

use super::{Job, Peer, Suspension, Timed};
use crate::data::{Input, Inputs};
use crate::workloads::Mode;

/// How jobs are written.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Json,
    /// The notation of Clojure, which has no JSON of its own.
    Edn,
}

/// A script and what it can do.
struct Kind {
    name: &'static str,
    /// Command and arguments; `{}` is the folder of the scripts. The environment variable named first,
    /// if set, is used as the command.
    variable: &'static str,
    command: &'static [&'static str],
    languages: &'static [&'static str],
    format: Format,
    jit: bool,
    fresh: bool,
    load: bool,
    suspends: bool,
}

const PLAIN: Kind = Kind {
    name: "",
    variable: "",
    command: &[],
    languages: &[],
    format: Format::Json,
    jit: false,
    fresh: false,
    load: true,
    suspends: false,
};

const CLOJURE: Kind = Kind {
    variable: "BENCH_JAVA",
    languages: &["clj"],
    format: Format::Edn,
    jit: true,
    load: false,
    ..PLAIN
};

const CLOJURE_JARS: &str =
    "/usr/share/java/clojure.jar:/usr/share/java/spec.alpha.jar:/usr/share/java/core.specs.alpha.jar";

const KINDS: &[Kind] = &[
    Kind {
        name: "CPython",
        variable: "BENCH_PYTHON",
        command: &["python3", "{}/cpython.py"],
        languages: &["full.py", "py"],
        ..PLAIN
    },
    Kind {
        name: "Monty",
        variable: "BENCH_MONTY_PYTHON",
        command: &["python3", "{}/monty.py"],
        languages: &["py", "full.py"],
        fresh: true,
        suspends: true,
        ..PLAIN
    },
    Kind {
        name: "Node",
        variable: "BENCH_NODE",
        command: &["node", "{}/node.js", "here"],
        languages: &["js"],
        jit: true,
        ..PLAIN
    },
    Kind {
        name: "Node vm",
        variable: "BENCH_NODE",
        command: &["node", "{}/node.js", "vm"],
        languages: &["js"],
        jit: true,
        fresh: true,
        ..PLAIN
    },
    Kind {
        name: "Clojure",
        command: &["java", "-Xss8m", "-cp", CLOJURE_JARS, "clojure.main", "{}/clojure.clj", "source"],
        ..CLOJURE
    },
    Kind {
        name: "Clojure warm",
        command: &["java", "-Xss8m", "-cp", CLOJURE_JARS, "clojure.main", "{}/clojure.clj", "warm"],
        ..CLOJURE
    },
];

/// The wanted engines that start on this computer.
pub fn installed(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = Box<dyn Peer>> {
    KINDS.iter().filter(move |kind| wanted(kind.name)).filter_map(|kind| match Process::start(kind) {
        Ok(process) => Some(Box::new(process) as Box<dyn Peer>),
        Err(error) => {
            eprintln!("without {}: {error:#}", kind.name);
            None
        }
    })
}

/// A running script.
struct Process {
    kind: &'static Kind,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Process {
    fn start(kind: &'static Kind) -> Result<Process> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/harness");
        let words: Vec<String> = kind.command.iter().map(|word| word.replace("{}", folder)).collect();
        let script = words.iter().find(|word| word.starts_with(folder)).expect("a command names its script");
        if !Path::new(script).exists() {
            bail!("there is no {script}");
        }
        let program = std::env::var(kind.variable).unwrap_or_else(|_| words[0].clone());
        let mut child = Command::new(&program)
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{program} does not start"))?;
        let to = child.stdin.take().expect("it is a pipe");
        let from = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut process = Process { kind, child, to, from };
        process.ask(&json!({"op": "open", "inputs": {}})).context("the script ends at once")?;
        Ok(process)
    }

    fn ask(&mut self, request: &Json) -> Result<Json> {
        let mut line = match self.kind.format {
            Format::Json => request.to_string(),
            Format::Edn => edn(request),
        };
        line.push('\n');
        self.to.write_all(line.as_bytes())?;
        self.to.flush()?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        let answer: Json = serde_json::from_str(&answer).with_context(|| format!("no answer: {answer:?}"))?;
        match answer.get("error") {
            Some(error) => bail!("{}", error.as_str().unwrap_or_default()),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        self.child.kill().and_then(|()| self.child.wait()).map(drop).unwrap_or_default();
    }
}

impl Peer for Process {
    fn name(&self) -> &str {
        self.kind.name
    }

    fn languages(&self) -> &'static [&'static str] {
        self.kind.languages
    }

    fn jit(&self) -> bool {
        self.kind.jit
    }

    fn can(&self, mode: Mode) -> bool {
        match mode {
            Mode::Fresh => self.kind.fresh,
            Mode::Run => true,
            Mode::Load | Mode::LoadRun => self.kind.load,
        }
    }

    fn open(&mut self, inputs: &Inputs) -> Result<()> {
        let mut values = Map::new();
        for (name, input) in inputs {
            let value = match input {
                Input::Int(int) => Json::from(*int),
                Input::Text(text) => Json::from(text.as_str()),
                Input::Json(text) => serde_json::from_str(text)?,
            };
            values.insert((*name).to_owned(), value);
        }
        self.ask(&json!({"op": "open", "inputs": values})).map(drop)
    }

    fn measure(&mut self, job: &Job) -> Result<Timed> {
        let (name, text) = job.load.unzip();
        let mode = match job.mode {
            Mode::Fresh => "fresh",
            Mode::Run | Mode::LoadRun => "run",
            Mode::Load => "load",
        };
        let request = json!({
            "op": "measure", "mode": mode, "source": job.source, "name": name, "text": text,
            "repeats": job.repeats,
        });
        let answer = self.ask(&request)?;
        let ns = answer["ns"].as_f64().context("the script tells no time")?;
        Ok(Timed { ns: ns / f64::from(job.repeats), answer: answer["answer"].clone() })
    }

    fn suspension(&mut self, repeats: usize) -> Result<Option<Suspension>> {
        if !self.kind.suspends {
            return Ok(None);
        }
        let answer = self.ask(&json!({"op": "suspend", "repeats": repeats}))?;
        let figure =
            |name: &str| answer[name].as_f64().with_context(|| format!("the script tells no {name}"));
        let (dump_ns, resume_ns) = (figure("dump_ns")?, figure("resume_ns")?);
        Ok(Some(Suspension { dump_ns, resume_ns, bytes: figure("bytes")? as usize }))
    }
}

/// JSON in the notation of Clojure; names of fields become keywords.
fn edn(json: &Json) -> String {
    match json {
        Json::Null => "nil".to_owned(),
        Json::Array(items) => format!("[{}]", items.iter().map(edn).collect::<Vec<_>>().join(" ")),
        Json::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, field)| format!(":{name} {}", edn(field))).collect();
            format!("{{{}}}", fields.join(" "))
        }
        // JSON writes control characters as \u00XX, which Clojure reads too.
        other => other.to_string(),
    }
}
