//! Coding agents as people run them (Claude Code, Codex, opencode, Gemini CLI), each with `ptc mcp` and sixteen servers
//! behind it. Their model is `clients/model.py`, which answers by a script and writes down what it is sent. Each runs in
//! a home of its own with the configuration from `clients/agents`, which switches telemetry and updates off.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::clients::{installed, script, tools};
use crate::servers;
use crate::support::{Folder, eventually};

/// No agent may take longer: starting sixteen servers takes its time on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

/// How an agent is run. `MODEL` in its file and its environment is the address of the model.
struct Agent {
    /// The program, from the folder of tools.
    program: &'static str,
    /// Whether Node runs it.
    node: bool,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    /// Where its configuration is in the home of the user, and what stands in it.
    file: (&'static str, &'static str),
}

const CLAUDE_CODE: Agent = Agent {
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

const CODEX: Agent = Agent {
    program: "npm/node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex",
    node: false,
    args: &["exec", "--skip-git-repo-check", QUESTION],
    env: &[("SCRIPTED_KEY", "none")],
    file: (".codex/config.toml", include_str!("clients/agents/codex.toml")),
};

const OPENCODE: Agent = Agent {
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

const GEMINI: Agent = Agent {
    program: "npm/node_modules/@google/gemini-cli/bundle/gemini.js",
    node: true,
    args: &["-m", "gemini-2.5-pro", "-p", QUESTION],
    env: &[("GOOGLE_GEMINI_BASE_URL", "MODEL"), ("GEMINI_API_KEY", "none")],
    file: (".gemini/settings.json", include_str!("clients/agents/gemini.json")),
};

/// When an agent begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Once all servers are up: `ptc mcp` is given `--require-upstreams`.
    Waiting,
    /// At once, as `ptc setup` installs it.
    AtOnce,
}

const QUESTION: &str = "How much do customers owe us for open orders?";

/// The answer that the model gives if the last result has arrived, with the sum out of that result.
const ANSWER: &str = "All open orders together come to 44850 euros.";

/// What is in the shop and in the file of customers, and what comes of both.
struct Data {
    orders: Json,
    customers: Json,
    joined: String,
}

impl Data {
    /// So many orders that the result comes close to what is told whole.
    fn new() -> Data {
        let names = ["Ann", "Bob", "Cid", "Dora", "Eve", "Finn", "Gus"];
        let customer = |id: usize| json!({"id": id, "name": names[id]});
        let numbers = 0..300;
        let order =
            |id: usize| json!({"id": 1000 + id, "customer_id": id % 7, "status": "open", "total": id});
        let rows: Vec<String> =
            numbers.clone().map(|id| format!("[{} \"{}\" {id}]", 1000 + id, names[id % 7])).collect();
        let sum: usize = numbers.clone().sum();
        Data {
            orders: numbers.map(order).collect(),
            customers: (0..7).map(customer).collect(),
            joined: format!("user=> {{:total {sum}, :rows [{}]}}", rows.join(" ")),
        }
    }
}

/// Looks for tools, reads about one, calls two servers and joins what they answer.
fn programs(customers: &Path) -> [String; 3] {
    let join = format!(
        r#"(let [orders (:value (tool/call {{:server "shop" :tool "list-orders" :args {{:status "open"}}}}))
      file (:value (tool/call {{:server "filesystem" :tool "read_text_file" :args {{:path "{}"}}}}))
      named (into {{}} (map (juxt :id :name) (json/parse-string (:content file))))]
  {{:total (sum-by :total orders) :rows (mapv (juxt :id (comp named :customer_id) :total) orders)}})"#,
        customers.display()
    );
    ["(apropos \"open orders\")".to_owned(), "(doc 'shop/list-orders)".to_owned(), join]
}

/// What a result must hold that has arrived whole.
fn whole(data: &Data) -> [Vec<&str>; 3] {
    [
        vec!["user=> [\"", "shop/list-orders - List orders, by status, day or tags.\""],
        vec!["user=> \"shop/list-orders", ":status one of", "Effect: read\""],
        vec![&data.joined],
    ]
}

/// The model, the servers and the home of one run of an agent. All of it ends with this value.
struct Scene {
    folder: Folder,
    model: Child,
    url: String,
    upstreams: String,
    agent: Option<Child>,
}

impl Scene {
    /// `None` where the servers cannot run.
    fn new(data: &Data) -> Option<Scene> {
        let folder = Folder::new();
        let customers = folder.path().join("files/customers.json");
        let served = json!({"/shop/orders?status=open": data.orders});
        let told = json!({
            "programs": programs(&customers), "pattern": r":total (\d+)",
            "answer": ANSWER.replace("44850", r"\1"), "served": served,
        });
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
        let url = url.trim().to_owned();
        let mut scene = Scene { folder, model, url, upstreams: String::new(), agent: None };
        let config = servers::config(scene.folder.path(), &scene.url)?;
        scene.upstreams = scene.folder.file("upstreams.json", &config.to_string());
        std::fs::write(customers, data.customers.to_string()).unwrap();
        Some(scene)
    }

    /// Runs an agent to its end and gives what it printed.
    fn run(&mut self, agent: &Agent, start: Start, more: &[(&str, &str)]) -> String {
        let home = self.folder.path().join("home");
        let file = home.join(agent.file.0);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        // Agents look for the repository that they are in; it shall not be this one.
        servers::repository(&home.join("work"));
        let filled = |text: &str| {
            let text = text.replace("MODEL", &self.url).replace("UPSTREAMS", &self.upstreams);
            let text = match start {
                Start::Waiting => text,
                Start::AtOnce => text.replace(", \"--require-upstreams\"", ""),
            };
            text.replace("\"PTC\"", &json!(env!("CARGO_BIN_EXE_ptc")).to_string())
        };
        std::fs::write(file, filled(agent.file.1)).unwrap();
        let program = tools().join(agent.program).canonicalize().unwrap();
        let mut command = match agent.node {
            true => Command::new("node"),
            false => Command::new(&program),
        };
        command.args(agent.node.then_some(&program)).args(agent.args).current_dir(home.join("work"));
        command.env_clear().env("HOME", &home).env("PATH", std::env::var_os("PATH").unwrap());
        command.envs(agent.env.iter().chain(more).map(|(name, value)| (*name, filled(value))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().unwrap();
        let (out, err) = (whole_text(child.stdout.take().unwrap()), whole_text(child.stderr.take().unwrap()));
        self.agent = Some(child);
        // Its output ends when it and all that it started have ended.
        let Ok(out) = out.recv_timeout(LIMIT) else { panic!("{} does not end", agent.program) };
        let err = err.recv_timeout(LIMIT).unwrap_or_default();
        let status = self.agent.take().unwrap().wait().unwrap();
        assert!(status.success(), "{}: {status}\n{out}\n{err}\n{:#?}", agent.program, self.requests());
        out
    }

    /// What the model was sent.
    fn requests(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(self.folder.path().join("record.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Whether a process is left that was started for this run.
    fn anything_runs(&self) -> bool {
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

impl Drop for Scene {
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

/// Whether a text names all servers within what a client shows of one description.
fn names_all_servers(text: &str) -> bool {
    const SHOWN: usize = 2_048;
    let named = |part: &str, name: &str| {
        part.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
    };
    text.match_indices("helpdesk").any(|(at, _)| {
        let part = &text[text.floor_char_boundary(at.saturating_sub(SHOWN))..];
        let part = &part[..part.floor_char_boundary(2 * SHOWN)];
        servers::names().iter().all(|name| named(part, name))
    })
}

/// An agent answers a question that takes two servers, and its model is told of all of them in every request.
fn completes(agent: &Agent, start: Start, more: &[(&str, &str)]) {
    if !tools().join(agent.program).exists() {
        return crate::skip::skip(agent.program);
    }
    // It runs the model.
    let Some(_) = installed("python3", "python/bin/python") else { return };
    let data = Data::new();
    let Some(mut scene) = Scene::new(&data) else { return };
    let out = scene.run(agent, start, more);
    assert!(out.contains(ANSWER), "{out}\n{:#?}", scene.requests());

    // Agents ask for other things too, such as a title, without any tools.
    let requests = scene.requests();
    let turns: Vec<&Json> = requests
        .iter()
        .filter(|request| request["tools"].as_object().is_some_and(|tools| !tools.is_empty()))
        .collect();
    for turn in &turns {
        assert!(names_all_servers(turn["told"].as_str().unwrap()), "{turn:#}");
    }
    let offered: Vec<&Json> = turns.iter().copied().filter(|turn| turn["tool"].is_string()).collect();
    for turn in &offered {
        let description = turn["tools"][turn["tool"].as_str().unwrap()].as_str().unwrap();
        assert!(names_all_servers(description), "{description}");
    }
    let results = offered.last().unwrap()["results"].as_array().unwrap();
    assert_eq!(results.len(), 3, "{results:#?}");
    // Whoever looks before all servers are up may not find every tool; calls wait for their server.
    let sure = if start == Start::Waiting { 0 } else { 2 };
    for (result, parts) in results.iter().zip(whole(&data)).skip(sure) {
        let result = result.as_str().unwrap();
        assert!(parts.iter().all(|part| result.contains(part)), "{parts:#?}\n{result}");
    }
    eventually("all that the agent started has ended", || !scene.anything_runs());
}

#[test]
fn claude_code_answers_with_tools_that_it_holds_back() {
    completes(&CLAUDE_CODE, Start::Waiting, &[]);
}

#[test]
fn claude_code_answers_with_tools_that_it_shows_at_once() {
    completes(&CLAUDE_CODE, Start::Waiting, &[("ENABLE_TOOL_SEARCH", "false")]);
}

#[test]
fn claude_code_knows_all_servers_from_the_first_request_as_it_is_set_up() {
    completes(&CLAUDE_CODE, Start::AtOnce, &[]);
}

#[test]
fn codex_answers() {
    completes(&CODEX, Start::Waiting, &[]);
}

#[test]
fn opencode_answers() {
    completes(&OPENCODE, Start::Waiting, &[]);
}

#[test]
fn gemini_cli_answers() {
    completes(&GEMINI, Start::Waiting, &[]);
}
