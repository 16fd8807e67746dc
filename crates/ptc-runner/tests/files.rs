//! Agents as files.

use std::path::{Path, PathBuf};

use ptc_runner::model::{Llm, Request};
use ptc_runner::{AgentFile, RunOptions, Step, model_beside, parse_agent, read_agent, run};
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
async fn commands_that_print_too_much_fail_instead_of_being_cut() {
    const MOST: usize = 32 << 20;
    // A byte more, and so much more that the command notices that nobody reads on.
    for bytes in [MOST + 1, MOST + (1 << 20)] {
        let agent = format!(
            "prompt = \"x\"\n[tools.talk]\ncommand = [\"sh\", \"-c\", \"head -c {bytes} /dev/zero | tr '\\\\0' a\"]\n"
        );
        let agent = parse_agent(Path::new("agent.toml"), &agent).expect("the file is right");
        let step = run(agent, RunOptions::new(llm("(return (count (tool/talk {})))"))).await;
        let error = step.tool_calls[0].error.as_deref().unwrap_or("none");
        assert!(error.contains("`sh` printed more than 33554432 bytes"), "{bytes}: {error}");
    }
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

#[tokio::test]
async fn questions_of_files_may_have_tools_of_their_own() {
    let text = r#"
        prompt = "x"
        [tools.research]
        prompt = "Find {{topic}}"
        signature = "(topic :string) -> {found :any}"
        model = "small"
        [tools.research.tools.look]
        command = ["echo", "[1, 2]"]
        signature = "() -> [:int]"
        [tools.research.tools.ask]
        prompt = "Is {{n}} large?"
        signature = "(n :int) -> :bool"
        model = "tiny"
    "#;
    let file = AgentFile::parse(&folder().join("asking.toml"), text).expect("the file is right");
    assert_eq!(file.commands.keys().collect::<Vec<_>>(), ["research/look"]);
    assert_eq!(file.tool_models.iter().collect::<Vec<_>>(), ["small", "tiny"]);
    let agent = file.build().expect("it builds");
    assert_eq!(agent.tools().keys().collect::<Vec<_>>(), ["research"]);
    let small = llm("(return {:found [data/topic (tool/look)]})");
    let options = RunOptions::new(llm("(return (tool/research {:topic \"rust\"}))"));
    let step = run(agent, RunOptions { registry: [("small".to_owned(), small)].into(), ..options }).await;
    assert_eq!(step.value, json!({"found": ["rust", [1, 2]]}), "{step:#?}");
}

#[tokio::test]
async fn agents_that_are_tools_have_preludes_of_their_own() {
    let text = "prompt = \"x\"\n[tools.kid]\nagent = \"lent.toml\"\n";
    let agent = parse_agent(&folder().join("caller.toml"), text).expect("the file is right");
    let llm = Llm::function(|request: &Request| {
        let text = request.messages.iter().map(|message| message.content.as_str()).collect::<String>();
        Ok::<_, String>(match text.contains("words/lengths") {
            true => "```clojure\n(return {:lengths (words/lengths data/words)})\n```".to_owned(),
            false => "```clojure\n(return (:lengths (tool/kid {:words [\"x\" \"yy\"]})))\n```".to_owned(),
        })
    });
    let step = run(agent, RunOptions::new(llm)).await;
    assert_eq!(step.value, json!([1, 2]), "{step:#?}");
    // An agent of a file has them when it is read, too.
    let step = mission("lent.toml", "(return {:lengths (words/lengths data/words)})").await;
    assert_eq!(step.value, json!({"lengths": [1, 2]}), "{step:#?}");
    let file = AgentFile::parse(&folder().join("caller.toml"), text).expect("the file is right");
    assert!(file.texts.keys().any(|path| path.ends_with("words.clj")), "it is kept with the rest");
    let gone = "prompt = \"x\"\npreludes = [\"gone.clj\"]\n";
    let error = parse_agent(&folder().join("caller.toml"), gone).unwrap_err().to_string();
    assert!(error.contains(":2:1: `preludes`") && error.contains("gone.clj"), "{error}");
}

#[tokio::test]
async fn files_say_how_strictly_a_tool_is_held_and_what_is_shown_of_it() {
    let text = r#"
        prompt = "x"
        [tools.count]
        command = ["echo", '{"count": "abc"}']
        signature = "() -> {count :int}"
        validation = "disabled"
        [tools.held]
        command = ["echo", '{"count": "abc"}']
        signature = "() -> {count :int}"
        [tools.rows]
        command = ["echo", "[1, 2]"]
        expose = "both"
        cache = true
        native_result = { preview = "rows", limit = 20 }
        [tools.few]
        command = ["echo", "[1, 2]"]
        expose = "both"
        cache = true
        native_result = { preview = "rows" }
        [tools.shape]
        command = ["echo", "[1, 2]"]
        expose = "both"
        cache = true
        native_result = { preview = "metadata" }
        [tool_catalog.deploy]
        signature = "(version :string) -> :bool"
        description = "Deploys a version"
    "#;
    let agent = parse_agent(&folder().join("held.toml"), text).expect("the file is right");
    let shown = |name: &str| format!("{:?}", agent.tools()[name].native_result);
    assert_eq!((shown("rows"), shown("shape")), ("Some(Rows(20))".to_owned(), "Some(Metadata)".to_owned()));
    assert_eq!(shown("few"), "Some(Rows(20))");
    assert_eq!(agent.options().tool_catalog[0].description.as_deref(), Some("Deploys a version"));
    let program = "(return [(:count (tool/count)) (try (tool/held) (catch Exception e (ex-message e)))])";
    let step = run(agent, RunOptions::new(llm(program))).await;
    let message =
        "tool/held: the result breaks the tool's signature: count: expected int, got string \"abc\"";
    assert_eq!(step.value, json!(["abc", message]), "{step:#?}");
}

#[test]
fn wrong_files_say_where_and_what() {
    for (text, place, parts) in [
        ("prompt = 1\n", ":1:1: `prompt`", ["must be a string", "prompt = 1"]),
        (
            "prompt = \"x\"\nmax_turn = 3\n",
            ":2:1: `max_turn`",
            ["no such option", "did you mean `max_turns`?"],
        ),
        ("prompt = \"x\"\ncolour = 3\n", ":2:1: `colour`", ["there are prompt, signature,", "^^^^^^"]),
        ("prompt = \"x\"\nmax_turns = 0\n", ":2:1: `max_turns`", ["positive", "max_turns = 0"]),
        ("prompt = \"x\nmax_turns", ":1:", ["not TOML", "^"]),
        ("prompt = \"x\"\nprompt = \"y\"\n", ":2:1", ["not TOML: duplicate key", "^^^^^^"]),
        ("prompt = \"x\"\nllm = \"y\"\n", ":2:1: `llm`", ["is called `model`", "llm = "]),
        ("prompt = \"x\"\nmodel = 3\n", ":2:1: `model`", ["a text in quotes, not 3", "^^^^^"]),
        ("prompt = \"x\"\nprofile = \"old\"\n", ":2:1: `profile`", ["one of current, draft", "old"]),
        ("prompt = \"x\"\npreludes = \"a\"\n", ":2:1: `preludes`", ["a list of texts", "^"]),
        (
            "prompt = \"x\"\n[limits]\nfule = 3\n",
            ":3:1: `limits.fule`",
            ["no such limit", "did you mean `fuel`?"],
        ),
        (
            "prompt = \"x\"\n[limits]\nfuel = \"a\"\n",
            ":3:1: `limits.fuel`",
            ["positive integer", "fuel = \"a\""],
        ),
        ("prompt = \"x\"\nfuel = 1\n[limits]\nfuel = 3\n", ":4:1: `limits.fuel`", ["twice", "leave one out"]),
        (
            "prompt = \"x\"\n[tools.a]\ncommand = []\n",
            ":3:1: `tools.a.command`",
            ["must name a program", "^^^^^^^"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\nsignature = \":int\"\n",
            ":2:8: `tools.a`",
            ["exactly one of", "command"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\ncomand = [\"x\"]\n",
            ":3:1: `tools.a.comand`",
            ["did you mean `command`?", "^^^^^^"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\nagent = \"gone.toml\"\n",
            ":3:1: `tools.a.agent`",
            ["no file", "gone.toml"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\nsignature = \"(x :strnig)\"\ncommand = [\"x\"]\n",
            ":3:1: `tools.a.signature`",
            ["strnig", "^^^^^^^^^"],
        ),
        ("prompt = \"x\"\n[tools.return]\nself = true\n", ":2:2: `tools`", ["return", "name of the system"]),
        (
            "prompt = \"x\"\n[tools.a]\ncommand = [\"x\"]\nvalidation = \"loose\"\n",
            ":4:1: `tools.a.validation`",
            ["one of enabled", "warn_only"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\ncommand = [\"x\"]\nnative_result = {preview = \"all\"}\n",
            ":4:1: `tools.a.native_result`",
            ["preview = \"rows\", limit = 20", "all"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\ncommand = [\"x\"]\npreview_rows = 3\n",
            ":2:2: `tools`",
            ["preview_rows", "expose: both"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\ncommand = [\"x\"]\n[tools.a.tools.b]\nself = true\n",
            ":4:10: `tools.a.tools`",
            ["only a question", "those of its file"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\nprompt = \"y\"\nsignature = \":int\"\n[tools.a.tools.b]\ncomand = [\"x\"]\n",
            ":6:1: `tools.a.tools.b.comand`",
            ["no such field of a tool", "did you mean `command`?"],
        ),
        (
            "prompt = \"x\"\n[tools.a]\nprompt = \"{{n}}\"\nsignature = \"(m :int) -> :int\"\n",
            ":3:1: `tools.a.prompt`",
            ["{{n}}", "^^^^^^"],
        ),
        (
            "prompt = \"x\"\n[tool_catalog.a]\ncommand = [\"x\"]\n",
            ":2:15: `tool_catalog.a`",
            ["unknown field", "description"],
        ),
        ("{\"prompt\": \"x\",}", ":1:16", ["not JSON: trailing comma", "^"]),
        ("{\"prompt\": \"x\",\n \"fuel\": -1}", ":2:2: `fuel`", ["positive integer", "^^^^^^"]),
        (
            "{\"prompt\": \"x\",\n \"tools\": {\"a\": {\"effect\": \"none\"}}}",
            ":2:18: `tools.a.effect`",
            ["one of read", "^"],
        ),
        ("prompt = \"{{a}}\"\nsignature = \"(b :int) -> :int\"\n", ":1:1: `prompt`", ["{{a}}", "parameters"]),
        ("signature = \"(b :int) -> :int\"\n", ": `prompt`", ["is required", "say what"]),
    ] {
        let error = parse_agent(Path::new("agent.toml"), text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("agent.toml{place}")), "{place}\n---\n{error}");
        for part in parts {
            assert!(error.contains(part), "{part}\n---\n{error}");
        }
    }
}

#[test]
fn files_beside_the_file_are_found_from_there() {
    let text =
        "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\npreludes = [\"a.clj\"]\nupstreams = \"u.json\"\n";
    let file = AgentFile::parse(Path::new("some/where/agent.toml"), text).unwrap();
    assert_eq!(file.model.as_deref(), Some("script:some/where/replies.jsonl"));
    assert_eq!(file.preludes, [Path::new("some/where/a.clj")]);
    assert_eq!(file.upstreams.as_deref(), Some(Path::new("some/where/u.json")));
    assert_eq!(
        file.build().unwrap().options().llm.as_ref().map(Llm::label),
        Some("script:some/where/replies.jsonl")
    );
    let parent = AgentFile::read(&folder().join("parent.toml")).unwrap();
    assert_eq!(parent.tool_models.iter().collect::<Vec<_>>(), ["small"]);
}

#[test]
fn options_from_outside_go_before_the_file() {
    let file =
        AgentFile::parse(Path::new("agent.toml"), "prompt = \"x\"\n[limits]\nmax_turns = 2\n").unwrap();
    assert_eq!(file.clone().set("max_turns", &json!(7)).unwrap().build().unwrap().options().max_turns, 7);
    assert_eq!(file.clone().set("max_turns", &json!("x")).unwrap_err().option, "max_turns");
    let error = file.set("signature", &json!("(x")).unwrap().build().unwrap_err();
    assert_eq!((error.place, error.field.as_deref()), (None, Some("signature")));
}

#[test]
fn files_of_models_stand_beside_the_file_that_names_them() {
    for (name, wanted) in [
        ("script:a.jsonl", "script:here/a.jsonl"),
        ("record:b.jsonl,script:a.jsonl", "record:here/b.jsonl,script:here/a.jsonl"),
        ("record:b.jsonl,haiku", "record:here/b.jsonl,haiku"),
        ("record:/b.jsonl,ollama:llama3:8b", "record:/b.jsonl,ollama:llama3:8b"),
        ("haiku", "haiku"),
        ("script:", "script:"),
    ] {
        assert_eq!(model_beside(Path::new("here"), name), wanted);
    }
}
