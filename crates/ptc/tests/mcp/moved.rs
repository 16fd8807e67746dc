//! `ptc setup` with the clients whose files it changes: each adds a server in its own way, in a folder that a variable names,
//! the server moves, the model of the client is offered our tool in its place, and after `--undo` the server's own again.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::coding::{Agent, CLAUDE_CODE, CODEX, GEMINI, OPENCODE, QUESTION, Stage};
use crate::support::{Folder, eventually};

/// The page that tells people how to do this; its server is used here.
const PAGE: &str = include_str!("../../../../docs/mcp-client.md");

/// A client with a file that `ptc setup` knows.
struct Client {
    /// How `ptc setup` calls it.
    name: &'static str,
    agent: &'static Agent,
    /// The variable that names the folder of its files.
    variable: &'static str,
    /// Its file, in that folder.
    file: &'static str,
    /// The words that add a server to it, which stands behind them; none if it has no such command.
    add: &'static [&'static str],
    /// What stands in its file before.
    settings: fn() -> String,
    /// The words that ask it, where it may use the tools of a server.
    ask: fn(&str) -> Vec<String>,
    /// The words that list the servers it uses.
    list: &'static [&'static str],
    /// Its file in a project, as the page has it.
    project: &'static str,
    /// What says that servers of the project `WORK` may be used, and where.
    trusts: Option<(&'static str, &'static str)>,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The configuration of an agent without servers.
fn without(agent: &Agent, key: &str) -> String {
    let mut settings: Json = serde_json::from_str(agent.file.1).unwrap();
    settings.as_object_mut().unwrap().remove(key);
    format!("{settings:#}\n")
}

const CLIENTS: [Client; 4] = [
    Client {
        name: "claude-code",
        agent: &CLAUDE_CODE,
        variable: "CLAUDE_CONFIG_DIR",
        file: ".claude.json",
        add: &["mcp", "add", "--scope", "user", "north", "--"],
        settings: || without(&CLAUDE_CODE, "mcpServers"),
        ask: |server| words(&["--allowedTools", &format!("mcp__{server}"), "-p", QUESTION]),
        list: &["mcp", "list"],
        project: ".mcp.json",
        trusts: Some(("settings.json", "{\"enableAllProjectMcpServers\": true}")),
    },
    Client {
        name: "codex",
        agent: &CODEX,
        variable: "CODEX_HOME",
        file: "config.toml",
        add: &["mcp", "add", "north", "--"],
        settings: || CODEX.file.1.split_once("[mcp_servers").unwrap().0.to_owned(),
        ask: |server| {
            let set = |setting: &str| format!("mcp_servers.{server}.{setting}");
            let (required, approved) = (set("required=true"), set("default_tools_approval_mode=\"approve\""));
            words(&["exec", "--skip-git-repo-check", "-c", &required, "-c", &approved, QUESTION])
        },
        list: &["mcp", "list"],
        project: ".codex/config.toml",
        trusts: Some(("config.toml", "\n[projects.\"WORK\"]\ntrust_level = \"trusted\"\n")),
    },
    Client {
        name: "opencode",
        agent: &OPENCODE,
        variable: "XDG_CONFIG_HOME",
        file: "opencode/opencode.json",
        add: &[],
        settings: || without(&OPENCODE, "mcp"),
        ask: |_| words(&["run", QUESTION]),
        list: &["debug", "config"],
        project: "opencode.json",
        trusts: None,
    },
    Client {
        name: "gemini",
        agent: &GEMINI,
        variable: "GEMINI_CLI_HOME",
        file: ".gemini/settings.json",
        add: &["mcp", "add", "--scope", "user", "north"],
        settings: || without(&GEMINI, "mcpServers"),
        ask: |_| words(&["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", QUESTION]),
        list: &["mcp", "list"],
        project: ".gemini/settings.json",
        trusts: None,
    },
];

/// A file of the page.
fn of_page(name: &str) -> &'static str {
    let (_, text) = PAGE.split_once(&format!("file={name}\n")).unwrap();
    text.split_once("```").unwrap().0
}

/// The program of the page that joins two servers.
fn program_of_page() -> &'static str {
    let (_, text) = PAGE.split_once(" -e '").unwrap();
    text.split_once("'\n404000").unwrap().0
}

/// What the model does with our tool, and with the tool of the server.
fn through() -> Json {
    let program = "(reduce + (map :total (north/list_orders)))";
    json!({"programs": [program], "pattern": r"\b(202000)\b", "answer": r"Together \1 euros."})
}

fn directly() -> Json {
    let calls = json!([{"id": 7}]);
    json!({"tool": "cancel_order", "calls": calls, "pattern": r"cancelled\W+(7)\b", "answer": r"Number \1 is gone."})
}

/// A client in a home of its own.
struct Desk {
    client: &'static Client,
    stage: Stage,
    /// Requests of its model that were looked at.
    seen: usize,
}

impl Desk {
    /// With its settings and no servers.
    fn new(client: &'static Client) -> Option<Desk> {
        let stage = Stage::new(client.agent, Folder::new(), &through())?;
        stage.write(&format!("own/{}", client.file), &(client.settings)());
        stage.write("work/shop.py", of_page("shop.py"));
        Some(Desk { client, stage, seen: 0 })
    }

    fn folder(&self) -> PathBuf {
        self.stage.home().join("own")
    }

    fn read(&self) -> String {
        std::fs::read_to_string(self.folder().join(self.client.file)).unwrap()
    }

    /// Adds the server as the client does it.
    fn add(&mut self) {
        let shop = self.stage.home().join("work/shop.py").display().to_string();
        if self.client.add.is_empty() {
            let mut settings: Json = serde_json::from_str(&self.read()).unwrap();
            settings["mcp"] = json!({"north": {"type": "local", "command": ["python3", shop, "north"]}});
            return self.stage.write(&format!("own/{}", self.client.file), &format!("{settings:#}\n"));
        }
        let args = [self.client.add, &["python3", &shop, "north"]].concat();
        self.agent(&args);
    }

    fn agent(&mut self, args: &[&str]) -> String {
        self.agent_told(args).0
    }

    fn agent_told(&mut self, args: &[&str]) -> (String, String) {
        let folder = self.folder().display().to_string();
        let more = [(self.client.variable, folder.as_str()), ("ENABLE_TOOL_SEARCH", "false")];
        self.stage.run_told(self.client.agent, args, &more)
    }

    /// The servers that the client uses; Gemini CLI lists them on standard error.
    fn list(&mut self) -> String {
        let (out, err) = self.agent_told(self.client.list);
        out + &err
    }

    /// Lets the client use servers of the project.
    fn trust(&self) {
        let Some((file, text)) = self.client.trusts else { return };
        let file = self.folder().join(file);
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        let work = self.stage.home().join("work").display().to_string();
        std::fs::write(file, before + &text.replace("WORK", &work)).unwrap();
    }

    fn setup(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        command.args(["setup", self.client.name]).args(args).current_dir(self.stage.home().join("work"));
        command.env_clear().env("HOME", self.stage.home()).env("PATH", std::env::var_os("PATH").unwrap());
        let output = command.env(self.client.variable, self.folder()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{} {args:?}: {out}{err}", self.client.name);
        out.into_owned()
    }

    /// Asks the client, whose model follows this script, and gives its answer and the tools that its model was offered.
    fn ask(&mut self, server: &str, told: &Json) -> (String, Vec<String>) {
        self.stage.folder.file("script.json", &told.to_string());
        let args = (self.client.ask)(server);
        let out = self.agent(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let requests = self.stage.requests();
        let new = &requests[self.seen..];
        let tools =
            new.iter().filter_map(|request| request["tools"].as_object()).flat_map(|tools| tools.keys());
        let tools = tools.cloned().collect();
        self.seen = requests.len();
        (out, tools)
    }
}

fn offers(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool.ends_with(name))
}

/// Servers move and come back, and the client has their tools by way of ours in between.
fn moves_and_comes_back(name: &str) {
    let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let Some(mut desk) = Desk::new(client) else { return };
    desk.add();
    let before = desk.read();
    assert!(before.contains("shop.py"), "{name} keeps its servers there: {before}");
    assert!(desk.setup(&["--yes"]).contains("  north is ready: 2 tools\n"));
    desk.setup(&["--undo"]);
    assert_eq!(desk.read(), before, "{name}");

    desk.setup(&["--yes", "--no-check"]);
    let after = desk.read();
    let (out, tools) = desk.ask("ptc", &through());
    assert!(out.contains("Together 202000 euros."), "{name}: {out}");
    assert!(offers(&tools, "lisp_eval") && !offers(&tools, "list_orders"), "{name}: {tools:?}");

    let written = desk.read() != after;
    desk.setup(&["--undo"]);
    match written {
        // What the client wrote meanwhile stays.
        true => assert!(
            desk.read().contains("shop.py") && !desk.read().contains("servers.json"),
            "{}",
            desk.read()
        ),
        false => assert_eq!(desk.read(), before, "{name}"),
    }
    let (out, tools) = desk.ask("north", &directly());
    assert!(out.contains("Number 7 is gone."), "{name}: {out}");
    assert!(offers(&tools, "list_orders") && !offers(&tools, "lisp_eval"), "{name}: {tools:?}");
    eventually("all that the client started has ended", || !desk.stage.anything_runs());
}

#[test]
fn claude_code_has_its_servers_behind_ours_and_back() {
    moves_and_comes_back("claude-code");
}

#[test]
fn codex_has_its_servers_behind_ours_and_back() {
    moves_and_comes_back("codex");
}

#[test]
fn opencode_has_its_servers_behind_ours_and_back() {
    moves_and_comes_back("opencode");
}

#[test]
fn gemini_cli_has_its_servers_behind_ours_and_back() {
    moves_and_comes_back("gemini");
}

/// The page, as it is written, with a client: two servers of a project, and one tool in their place.
fn follows_the_page(name: &str) {
    let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let Some(mut desk) = Desk::new(client) else { return };
    desk.stage.write(&format!("work/{}", client.project), of_page(client.project));
    desk.trust();
    let told =
        json!({"programs": [program_of_page()], "pattern": r"\b(404000)\b", "answer": r"Together \1 euros."});
    desk.setup(&["--project", "--yes", "--no-check"]);
    let (out, tools) = desk.ask("ptc-project", &told);
    assert!(out.contains("Together 404000 euros."), "{name}: {out}");
    assert!(offers(&tools, "lisp_eval") && !offers(&tools, "list_orders"), "{name}: {tools:?}");
    desk.setup(&["--project", "--undo"]);
    let file = desk.stage.home().join("work").join(client.project);
    assert_eq!(std::fs::read_to_string(file).unwrap(), of_page(client.project), "{name}");
    eventually("all that the client started has ended", || !desk.stage.anything_runs());
}

#[test]
fn claude_code_follows_the_page() {
    follows_the_page("claude-code");
}

#[test]
fn codex_follows_the_page() {
    follows_the_page("codex");
}

#[test]
fn opencode_follows_the_page() {
    follows_the_page("opencode");
}

#[test]
fn gemini_cli_follows_the_page() {
    follows_the_page("gemini");
}

/// Of servers of one name the client uses the one of the project, or the innermost. All of them move, each behind its own.
fn servers_of_one_name_all_move(name: &str) {
    let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let Some(mut desk) = Desk::new(client) else { return };
    desk.add();
    desk.trust();
    let nearer = of_page(client.project).replace("\"shop.py\", \"north\"", "\"shop.py\", \"nearer\"");
    desk.stage.write(&format!("work/{}", client.project), &nearer);
    let (mut used, mut ours) = ("nearer", vec!["ptc", "ptc-project"]);
    if name == "claude-code" {
        desk.agent(&["mcp", "add", "--scope", "local", "north", "--", "python3", "shop.py", "nearest"]);
        (used, ours) = ("nearest", vec!["ptc", "ptc-project", "ptc-local"]);
    }
    let shop = desk.stage.home().join("work/shop.py").display().to_string();
    let listed = desk.list();
    // Claude Code tells below its list which others there are.
    let list = listed.split("diagnostics").next().unwrap();
    assert!(list.contains(used) && !list.contains(&shop), "{listed}");

    let told = desk.setup(&["--yes", "--no-check"]);
    assert!(told.contains("    north: the client took one of the two"), "{told}");
    assert_eq!(told.contains("north stands there more than once"), used == "nearest", "{told}");
    desk.setup(&["--project", "--yes", "--no-check"]);
    let listed = desk.list();
    assert!(ours.iter().all(|name| listed.contains(name)) && !listed.contains("shop.py"), "{listed}");
    assert!(listed.matches("servers.json").count() >= ours.len(), "{listed}");
}

#[test]
fn claude_code_uses_the_innermost_of_one_name_and_all_move() {
    servers_of_one_name_all_move("claude-code");
}

#[test]
fn codex_uses_the_project_s_of_one_name_and_both_move() {
    servers_of_one_name_all_move("codex");
}

#[test]
fn opencode_uses_the_project_s_of_one_name_and_both_move() {
    servers_of_one_name_all_move("opencode");
}

#[test]
fn gemini_cli_uses_the_project_s_of_one_name_and_both_move() {
    servers_of_one_name_all_move("gemini");
}
