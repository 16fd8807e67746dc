//! What clients list: names, order, schemas, hints and descriptions.

use ptc_server::engine::{Annotations, Profile, Settings, settings};
use serde_json::json;

use super::support::{aggregator, anna, call, engine, object, patient, with_sessions};

#[tokio::test]
async fn r1_5_1_tools_are_listed_in_order() {
    let names = async |engine: &ptc_server::engine::Engine| {
        engine.tools(&anna()).iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let plain = engine(patient(Profile::Slim)).await;
    assert_eq!(names(&plain).await, ["lisp_eval", "lisp_check"]);
    let settings = Settings {
        debug: Some(settings::Debug { ring_size: 10, max_response_bytes: 4096 }),
        ..with_sessions(Profile::Slim, settings::SessionSettings::default())
    };
    let all = engine(settings).await;
    assert_eq!(
        names(&all).await,
        [
            "lisp_eval",
            "lisp_check",
            "lisp_debug",
            "lisp_session_start",
            "lisp_session_list",
            "lisp_session_list_preludes",
            "lisp_session_eval",
            "lisp_session_inspect",
            "lisp_session_forget",
            "lisp_session_close",
        ]
    );
    assert!(
        all.tools(&anna())
            .iter()
            .filter(|tool| tool.name.starts_with("lisp_session"))
            .all(|tool| tool.annotations.is_none())
    );
}

#[tokio::test]
async fn r2_4_hints_say_what_programs_can_do() {
    let hints = async |engine: &ptc_server::engine::Engine| engine.tools(&anna())[0].annotations;
    let plain = engine(patient(Profile::Slim)).await;
    assert_eq!(hints(&plain).await, Some(Annotations::new(true, false, true, false)));
    let open = aggregator(patient(Profile::Slim)).await;
    assert_eq!(hints(&open).await, Some(Annotations::new(false, true, false, true)));
    let reading = aggregator(Settings { read_only: true, ..patient(Profile::Slim) }).await;
    assert_eq!(hints(&reading).await, Some(Annotations::new(true, false, false, true)));
}

#[tokio::test]
async fn r2_1_1_and_r2_5_schemas() {
    let spec = async |profile| aggregator(patient(profile)).await.tools(&anna()).swap_remove(0);
    let slim = spec(Profile::Slim).await;
    assert_eq!(slim.output_schema, None);
    assert_eq!(slim.input_schema["required"], json!(["program"]));
    let names: Vec<&String> =
        slim.input_schema["properties"].as_object().expect("an object").keys().collect();
    assert_eq!(names, ["program", "context", "output_schema"]);
    let structured = spec(Profile::Structured).await.output_schema.expect("it has one");
    let required = |schema: &serde_json::Value, branch: usize| schema["oneOf"][branch]["required"].clone();
    assert_eq!(required(&structured, 0), json!(["status"]));
    assert_eq!(required(&structured, 1), json!(["status", "reason", "message"]));
    let debug = spec(Profile::Debug).await.output_schema.expect("it has one");
    assert_eq!(required(&debug, 0), json!(["status", "prints", "feedback", "truncated"]));
    assert_eq!(required(&debug, 1), json!(["status", "reason", "message", "feedback"]));
    let reasons = &debug["oneOf"][0]["properties"]["upstream_calls"]["items"]["properties"]["reason"]["enum"];
    assert!(reasons.as_array().expect("a list").contains(&json!("upstream_tool_denied")));
}

#[tokio::test]
async fn w1_descriptions_begin_with_the_servers_because_clients_cut_them() {
    let engine = aggregator(patient(Profile::Slim)).await;
    let description = engine.tools(&anna()).swap_remove(0).description;
    let catalog =
        "Configured upstream MCP servers:\n- crm: 3 tools.\n  Tools:\n  - get - The tool get of [REDACTED]";
    assert!(description.starts_with(catalog), "{description}");
    let looks = description.find("Find their tools with").expect("how to look");
    assert!(looks < description.find("(doc 'ptc/language)").expect("the language"), "{description}");
    assert_eq!(engine.instructions(&anna()).expect("there are upstreams").matches(catalog).count(), 1);
}

#[tokio::test]
async fn r2_9_session_schemas_are_closed() {
    let engine = engine(with_sessions(Profile::Structured, settings::SessionSettings::default())).await;
    for tool in engine.tools(&anna()).iter().filter(|tool| tool.name.starts_with("lisp_session")) {
        assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
        let schema = tool.output_schema.as_ref().expect("it has one");
        assert_eq!(schema["oneOf"][0]["properties"]["status"]["const"], "ok", "{}", tool.name);
    }
}

#[tokio::test]
async fn r9_1_1_sessions_that_are_off_say_how_to_turn_them_on() {
    let engine = engine(patient(Profile::Slim)).await;
    let reply = call(&engine, "lisp_session_start", json!({})).await;
    assert_eq!(object(&reply)["reason"], "sessions_disabled");
    assert!(reply.text().contains("--sessions") && reply.text().contains("PTC_RUNNER_MCP_SESSIONS"));
}

/// What a model gives and nobody reads would be lost without a word: it is told, with what may have been meant.
#[tokio::test]
async fn every_tool_refuses_arguments_that_it_does_not_have_as_its_schema_says() {
    let settings = Settings {
        debug: Some(settings::Debug { ring_size: 10, max_response_bytes: 4096 }),
        task: Some(settings::Task::default()),
        approval_by: ptc_server::options::ApprovalBy::Model,
        ..with_sessions(Profile::Slim, settings::SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    for tool in engine.tools(&anna()) {
        assert_eq!(tool.input_schema["additionalProperties"], json!(false), "{}", tool.name);
        let reply = call(&engine, tool.name, json!({"nonsense": 1})).await;
        let told = reply.text();
        assert!(reply.is_error && told.contains("argument"), "{}: {told}", tool.name);
        assert!(
            told.contains("unknown argument `nonsense`; there ") || told.contains("takes no arguments"),
            "{told}"
        );
    }
    for (tool, arguments, meant) in [
        ("lisp_eval", json!({"program": "1", "contxt": {}}), "did you mean `context`?"),
        ("lisp_eval", json!({"program": "1", "outputSchema": {}}), "did you mean `output_schema`?"),
        ("lisp_check", json!({"programm": "1"}), "did you mean `program`?"),
        ("lisp_task", json!({"task": "x", "constraint": {}}), "did you mean `constraints`?"),
        ("lisp_debug", json!({"op": "stats", "error_only": true}), "did you mean `errors_only`?"),
        ("lisp_session_start", json!({"tag": {}}), "did you mean `tags`?"),
    ] {
        let reply = call(&engine, tool, arguments).await;
        assert!(reply.is_error && reply.text().contains(meant), "{tool}: {}", reply.text());
    }
}

/// Every tool with its schemas and hints in every profile, as `tools.json` has them. `PTC_WRITE_PAGES=1` writes it.
#[tokio::test]
async fn r2_schemas_of_all_tools_are_as_they_were() {
    let mut all = serde_json::Map::new();
    for (name, profile) in
        [("slim", Profile::Slim), ("structured", Profile::Structured), ("debug", Profile::Debug)]
    {
        let settings = Settings {
            debug: Some(settings::Debug { ring_size: 10, max_response_bytes: 4096 }),
            task: Some(settings::Task::default()),
            ..with_sessions(profile, settings::SessionSettings::default())
        };
        let tools = aggregator(settings).await.tools(&anna()).into_iter().map(|tool| {
            let hints = tool.annotations.map(|hints| {
                json!([hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint])
            });
            json!({"name": tool.name, "title": tool.title, "annotations": hints, "inputSchema": tool.input_schema,
                   "outputSchema": tool.output_schema})
        });
        all.insert(name.to_owned(), tools.collect());
    }
    let now = format!("{:#}\n", serde_json::Value::Object(all));
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/engine/tools.json");
    if std::env::var_os("PTC_WRITE_PAGES").is_some() {
        std::fs::write(&file, &now).expect("it can be written");
    }
    let known = std::fs::read_to_string(&file).expect("it is there");
    assert!(now == known, "schemas have changed; if that is meant, run this test with PTC_WRITE_PAGES=1");
}

/// Whoever adds a reason adds a test that names it. Whether that test is any good is for its reader to say.
#[test]
fn no_reason_is_without_a_test_that_names_it() {
    fn texts(folder: &std::path::Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).expect("it is a folder").filter_map(Result::ok) {
            match entry.path() {
                path if path.is_dir() => texts(&path, all),
                path if path.extension().is_some_and(|ending| ending == "rs") => {
                    all.push_str(&std::fs::read_to_string(path).expect("it is text"));
                }
                _ => {}
            }
        }
    }
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it has one");
    let mut all = String::new();
    texts(&crates.join("ptc-server/tests"), &mut all);
    texts(&crates.join("ptc/tests"), &mut all);
    for reason in ptc_server::engine::Reason::ALL {
        // Its own unit test: no store and no thread can be taken away from outside.
        let inside = reason.name == "sessions_unavailable";
        assert!(inside || all.contains(&format!("\"{}\"", reason.name)), "{}: no test sees it", reason.name);
    }
}
