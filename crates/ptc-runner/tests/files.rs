//! Agents as files.

use std::path::{Path, PathBuf};

use ptc_runner::model::{Llm, Request};
use ptc_runner::{RunOptions, Step, parse_agent, read_agent, run};
use serde_json::json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

fn llm(program: &'static str) -> Llm {
    Llm::function(move |_: &Request| Ok::<_, String>(format!("```clojure\n{program}\n```")))
}

async fn mission(file: &str, program: &'static str) -> Step {
    let agent = read_agent(&folder().join(file)).expect("the file is right");
    run(agent, RunOptions::new(llm(program)).context(json!({"words": ["a", "bb"]}))).await
}

#[tokio::test]
async fn a_file_has_options_and_commands_as_tools() {
    let step =
        mission("lengths.toml", "(return {:lengths (pmap #(:length (tool/measure {:text %})) data/words)})")
            .await;
    assert_eq!(step.value, json!({"lengths": [1, 2]}), "{step:#?}");
    let json = mission("lengths.json", "(return {:lengths (map count data/words)})").await;
    assert_eq!(json.value, json!({"lengths": [1, 2]}));
}

#[tokio::test]
async fn commands_that_fail_say_why() {
    let step = mission(
        "lengths.toml",
        "(return {:lengths [(try (tool/broken {}) (catch Exception e (count (ex-message e))))]})",
    )
    .await;
    assert!(step.value["lengths"][0].as_u64().is_some_and(|length| length > 10), "{step:#?}");
    let record = &step.tool_calls[0];
    assert!(record.error.as_deref().is_some_and(|error| error.contains("no such luck")), "{record:?}");
}

#[tokio::test]
async fn files_name_other_agents_and_questions() {
    let agent = read_agent(&folder().join("parent.toml")).unwrap();
    assert_eq!(agent.tools().keys().collect::<Vec<_>>(), ["again", "child", "judge"]);
    assert_eq!(agent.options().max_turns, 3);
    let llm = Llm::function(|request: &Request| {
        let text = request.messages.iter().map(|message| message.content.as_str()).collect::<String>();
        Ok::<_, String>(match text.contains("Count words") {
            true => "```clojure\n(return {:lengths (map count data/words)})\n```".to_owned(),
            false => "```clojure\n(return (:lengths (tool/child {:words [\"x\" \"yy\"]})))\n```".to_owned(),
        })
    });
    let step = run(agent, RunOptions::new(llm)).await;
    assert_eq!(step.value, json!([1, 2]), "{step:#?}");
    assert_eq!(step.child_steps.len(), 1);
}

#[test]
fn wrong_files_say_where_and_what() {
    for (text, parts) in [
        ("prompt = 1\n", ["agent.toml", "`prompt`", "must be a string"]),
        ("prompt = \"x\"\nmax_turn = 3\n", ["`max_turn`", "no such option", "max_turns"]),
        ("prompt = \"x\"\nmax_turns = 0\n", ["agent.toml", "`max_turns`", "positive"]),
        ("prompt = \"x\nmax_turns", ["agent.toml", "line 2", "expected `=`"]),
        ("prompt = \"x\"\n[tools.a]\ncommand = []\n", ["tool `a`", "command", "name a program"]),
        ("prompt = \"x\"\n[tools.a]\nsignature = \":int\"\n", ["tool `a`", "exactly one of", "command"]),
        ("prompt = \"x\"\n[tools.a]\ncomand = [\"x\"]\n", ["tool `a`", "unknown field", "comand"]),
        ("prompt = \"x\"\n[tools.a]\nagent = \"gone.toml\"\n", ["tool `a`", "cannot read", "gone.toml"]),
        ("prompt = \"x\"\n[tools.return]\nself = true\n", ["`tools`", "return", "name of the system"]),
        ("{\"prompt\": \"x\",}", ["agent.toml", "line 1", "trailing comma"]),
        ("prompt = \"{{a}}\"\nsignature = \"(b :int) -> :int\"\n", ["`prompt`", "{{a}}", "parameters"]),
    ] {
        let error = parse_agent(Path::new("agent.toml"), text).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part}\n---\n{error}");
        }
    }
}
