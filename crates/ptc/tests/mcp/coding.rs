//! Coding agents as people run them (Claude Code, Codex, opencode, Gemini CLI). Their model is `clients/model.py`, which answers
//! by a script and writes down what it is sent. Each runs in a home of its own with the configuration from `clients/agents`,
//! which switches telemetry and updates off.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value as Json;

use crate::clients::{installed, script, tools};
use crate::servers;
use crate::support::Folder;

/// No agent may take longer: starting sixteen servers takes its time on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

/// What agents are asked.
pub const QUESTION: &str = "How much do customers owe us for open orders?";

/// How an agent is run. `MODEL` in its file and its environment is the address of the model.
pub struct Agent {
    /// The program, from the folder of tools.
    pub program: &'static str,
    /// Whether Node runs it.
    node: bool,
    /// What it is asked with.
    pub args: &'static [&'static str],
    pub env: &'static [(&'static str, &'static str)],
    /// Where its configuration is in the home of the user, and what stands in it.
    pub file: (&'static str, &'static str),
}

pub const CLAUDE_CODE: Agent = Agent {
    program: "npm/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
    node: false,
    args: &["--allowedTools", "mcp__ptc__lisp_eval", "-p", QUESTION],
    env: &[
        ("ANTHROPIC_BASE_URL", "MODEL"),
        ("ANTHROPIC_API_KEY", "none"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("MCP_TIMEOUT", "240000"),
        // Else it begins after a few seconds, whether or not servers are there.
        ("CLAUDE_CODE_MCP_STARTUP_WAIT_MS", "240000"),
    ],
    file: (".claude.json", include_str!("clients/agents/claude.json")),
};

pub const CODEX: Agent = Agent {
    program: "npm/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex",
    node: false,
    args: &["exec", "--skip-git-repo-check", QUESTION],
    env: &[("SCRIPTED_KEY", "none")],
    file: (".codex/config.toml", include_str!("clients/agents/codex.toml")),
};

pub const OPENCODE: Agent = Agent {
    program: "npm/node_modules/opencode-linux-x64/bin/opencode",
    node: false,
    args: &["run", QUESTION],
    env: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ],
    file: (".config/opencode/opencode.json", include_str!("clients/agents/opencode.json")),
};

pub const GEMINI: Agent = Agent {
    program: "npm/node_modules/@google/gemini-cli/bundle/gemini.js",
    node: true,
    args: &["-m", "gemini-2.5-pro", "-p", QUESTION],
    env: &[("GOOGLE_GEMINI_BASE_URL", "MODEL"), ("GEMINI_API_KEY", "none")],
    file: (".gemini/settings.json", include_str!("clients/agents/gemini.json")),
};

/// The model and the home of the runs of agents. All of it ends with this value.
pub struct Stage {
    pub folder: Folder,
    model: Child,
    /// The address of the model.
    pub url: String,
    agent: Option<Child>,
}

impl Stage {
    /// With a model that follows this script; nothing where it cannot run, or where the agent is not installed.
    pub fn new(agent: &Agent, folder: Folder, told: &Json) -> Option<Stage> {
        if !tools().join(agent.program).exists() {
            crate::skip::skip(agent.program);
            return None;
        }
        installed("python3", "python/bin/python")?;
        let told = folder.file("script.json", &told.to_string());
        let mut model = Command::new("python3")
            .args([&script("model.py"), &told])
            .arg(folder.path().join("record.jsonl"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(model.stdout.take().unwrap()).read_line(&mut url).unwrap();
        // Agents look for the repository that they are in; it shall not be this one.
        servers::repository(&folder.path().join("home/work"));
        Some(Stage { url: url.trim().to_owned(), folder, model, agent: None })
    }

    /// The folder of the user.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Writes a file of the user with the address of the model in it.
    pub fn write(&self, file: &str, text: &str) {
        let file = self.home().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text.replace("MODEL", &self.url)).unwrap();
    }

    /// Runs an agent with these words and gives what it printed.
    pub fn run(&mut self, agent: &Agent, args: &[&str], more: &[(&str, &str)]) -> String {
        self.run_told(agent, args, more).0
    }

    /// The same, and what it wrote to standard error.
    pub fn run_told(&mut self, agent: &Agent, args: &[&str], more: &[(&str, &str)]) -> (String, String) {
        let (status, out, err) = self.attempt(agent, args, more);
        assert!(
            status.success(),
            "{} {args:?}: {status}\n{out}\n{err}\n{:#?}",
            agent.program,
            self.requests()
        );
        (out, err)
    }

    fn attempt(
        &mut self,
        agent: &Agent,
        args: &[&str],
        more: &[(&str, &str)],
    ) -> (ExitStatus, String, String) {
        let home = self.home();
        let program = tools().join(agent.program).canonicalize().unwrap();
        let mut command = match agent.node {
            true => Command::new("node"),
            false => Command::new(&program),
        };
        command.args(agent.node.then_some(&program)).args(args).current_dir(home.join("work"));
        command.env_clear().env("HOME", &home).env("PATH", std::env::var_os("PATH").unwrap());
        let filled = |text: &str| text.replace("MODEL", &self.url);
        command.envs(agent.env.iter().chain(more).map(|(name, value)| (*name, filled(value))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let (out, err) = (whole_text(child.stdout.take().unwrap()), whole_text(child.stderr.take().unwrap()));
        self.agent = Some(child);
        // Its output ends when it and all that it started have ended.
        let Ok(out) = out.recv_timeout(LIMIT) else { panic!("{} does not end", agent.program) };
        let err = err.recv_timeout(LIMIT).unwrap_or_default();
        let status = self.agent.take().unwrap().wait().unwrap();
        (status, out, err)
    }

    /// What the model was sent.
    pub fn requests(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(self.folder.path().join("record.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Whether a process is left that was started for these runs.
    pub fn anything_runs(&self) -> bool {
        let folder = self.folder.path().display().to_string();
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let model = self.model.id().to_string();
        let others = processes.filter(|process| process.file_name().to_string_lossy() != model);
        let mut commands = others.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        commands.any(|command| String::from_utf8_lossy(&command).contains(&folder))
    }
}

/// All that is written to a pipe, once it is closed.
fn whole_text(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(agent) = &mut self.agent {
            // The whole group; servers end with the process that started them.
            let group = format!("-{}", agent.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
            let _ = agent.wait();
        }
        let _ = self.model.kill();
        let _ = self.model.wait();
    }
}
