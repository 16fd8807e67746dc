//! Coding agents as people run them (Claude Code, Codex, opencode, Gemini CLI), each with `ptc mcp` and sixteen servers
//! behind it.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::coding::{Agent, CLAUDE_CODE, CODEX, GEMINI, OPENCODE, Stage};
use crate::servers;
use crate::support::{Folder, eventually};

/// When an agent begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Once all servers are up: `ptc mcp` is given `--require-upstreams`.
    Waiting,
    /// At once, as `ptc setup` installs it.
    AtOnce,
}

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

/// A stage with sixteen servers.
struct Scene {
    stage: Stage,
    upstreams: String,
}

impl Scene {
    /// `None` where the agent or the servers cannot run.
    fn new(agent: &Agent, data: &Data) -> Option<Scene> {
        let folder = Folder::new();
        let customers = folder.path().join("files/customers.json");
        let served = json!({"/shop/orders?status=open": data.orders});
        let told = json!({
            "programs": programs(&customers), "pattern": r":total (\d+)",
            "answer": ANSWER.replace("44850", r"\1"), "served": served,
        });
        let stage = Stage::new(agent, folder, &told)?;
        let config = servers::config(stage.folder.path(), &stage.url)?;
        let upstreams = stage.folder.file("upstreams.json", &config.to_string());
        std::fs::write(customers, data.customers.to_string()).unwrap();
        Some(Scene { stage, upstreams })
    }

    /// Runs an agent to its end and gives what it printed.
    fn run(&mut self, agent: &Agent, start: Start, more: &[(&str, &str)]) -> String {
        let (file, text) = agent.file;
        let text = text.replace("UPSTREAMS", &self.upstreams);
        let text = match start {
            Start::Waiting => text,
            Start::AtOnce => text.replace(", \"--require-upstreams\"", ""),
        };
        self.stage.write(file, &text.replace("\"PTC\"", &json!(env!("CARGO_BIN_EXE_ptc")).to_string()));
        self.stage.run(agent, agent.args, more)
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
    let data = Data::new();
    let Some(mut scene) = Scene::new(agent, &data) else { return };
    let out = scene.run(agent, start, more);
    assert!(out.contains(ANSWER), "{out}\n{:#?}", scene.stage.requests());

    // Agents ask for other things too, such as a title, without any tools.
    let requests = scene.stage.requests();
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
    eventually("all that the agent started has ended", || !scene.stage.anything_runs());
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
