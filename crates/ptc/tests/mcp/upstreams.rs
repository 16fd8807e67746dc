//! Programs that call upstreams, through the whole server. The upstream is `fixture.py`.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::late::{Gate, late_server};
use crate::shell_server::{listing_only, shell_server};
use crate::support::{self, Folder, HttpServer, StdioServer, eventually, ptc, text};

/// A configuration with the fixture as `fix`, changed by `more`.
pub fn config(folder: &Folder, more: Json) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/fixture.py");
    let mut upstream = json!({"transport": "mcp_stdio", "command": "python3", "args": [script]});
    let mut config = json!({"upstreams": {}});
    for (name, value) in more.as_object().unwrap() {
        match name.as_str() {
            "credentials" | "pins" => config[name] = value.clone(),
            _ => upstream[name] = value.clone(),
        }
    }
    config["upstreams"]["fix"] = upstream;
    folder.file("upstreams.json", &config.to_string())
}

fn server(more: &[&str]) -> (Folder, StdioServer) {
    let folder = Folder::new();
    let file = config(&folder, json!({}));
    let server = StdioServer::ready(&[&["--upstreams-config", &file], more].concat());
    (folder, server)
}

fn call(tool: &str, args: &str) -> String {
    format!("(tool/call {{:server \"fix\" :tool \"{tool}\" :args {args}}})")
}

/// Its tools are listed before the server has a log.
#[test]
fn the_log_tells_of_tools_that_are_used_although_they_are_not_as_pinned() {
    let folder = Folder::new();
    let pins = folder.file("pins.json", &json!({"version": 1, "upstreams": {"fix": {}}}).to_string());
    let file = config(&folder, json!({"pins": {"file": pins, "policy": "warn"}}));
    let mut server = StdioServer::ready(&["--upstreams-config", &file]);
    assert_eq!(server.eval(1, "(pos? (count (dir 'fix)))"), "user=> true");
    let log = server.whole_log().join("\n");
    assert!(log.contains("is new since tools were pinned; look at it and run `ptc upstreams pin`"), "{log}");
}

#[test]
fn probe_6_r5_2_kinds_of_answers_and_faults() {
    let (_folder, mut server) = server(&[]);
    for (tool, args, expected) in [
        ("json", "{}", "[true :json 1]"),
        ("json_text", "{}", "[true :json 2]"),
        ("text", "{}", "[true :text \"just text\"]"),
        ("none", "{}", "[true :none nil]"),
    ] {
        let program = format!(
            "(let [r {} v (:value r)] [(:ok r) (:value_kind r) (if (map? v) (get v \"n\") v)])",
            call(tool, args)
        );
        assert_eq!(server.eval(1, &program), format!("user=> {expected}"), "{tool}");
    }
    let failing = |server: &mut StdioServer, tool: &str, reason: &str| {
        let program = format!("(let [r {}] [(:ok r) (:reason r)])", call(tool, "{}"));
        assert_eq!(server.eval(2, &program), format!("user=> [false {reason}]"), "{tool}");
    };
    failing(&mut server, "fails", ":tool_error");
    failing(&mut server, "huge", ":response_too_large");
    failing(&mut server, "rpc_error", ":upstream_error");
    // The time of calls is short only where nothing else is asked for: on a busy machine any call may take as long.
    let (_other, mut impatient) = self::server(&["--upstream-call-timeout-ms", "400"]);
    impatient.log.wait_for("it is up", |line| line.contains("is ready"));
    failing(&mut impatient, "slow", ":timeout");
    let program = format!("(frequencies (map :reason (map (fn [_] {}) (range 51))))", call("text", "{}"));
    let text = server.eval(3, &program);
    assert!(text.contains("nil 50") && text.contains(":cap_exhausted 1"), "{text}");
}

#[test]
fn progress_names_the_upstream_tool_and_how_many_calls_are_done() {
    let program = format!("(do {} (:ok {}))", call("text", "{}"), call("slow", "{}"));
    let more = ["--upstream-call-timeout-ms", "1500"];
    let is_told = |note: &Json| {
        let (method, params) = (&note["method"], &note["params"]);
        *method == "notifications/progress" && params["message"] == "fix/slow (1 done, 1 under way)"
    };

    let (folder, mut server) = server(&more);
    let mut message = support::call(1, "lisp_eval", json!({"program": program}));
    message["params"]["_meta"] = json!({"progressToken": "tok"});
    server.send(&message);
    let mut notes = Vec::new();
    let answer = loop {
        let message = server.receive();
        match message.get("id") {
            Some(_) => break message,
            None => notes.push(message),
        }
    };
    assert_eq!(text(&answer["result"]), "user=> false", "{answer}");
    assert!(notes.iter().any(is_told), "{notes:#?}");
    // How many calls there will be, nobody knows.
    assert!(notes.iter().all(|note| note["params"].get("total").is_none()), "{notes:#?}");
    assert!(notes.len() < 10, "at a bounded rate: {notes:#?}");

    let file = config(&folder, json!({}));
    let server = HttpServer::start(&[&["--upstreams-config", &file][..], &more].concat());
    let session = server.open(&[]);
    let answer = server.post(&[("mcp-session-id", &session)], &message);
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Json> = events.filter_map(|data| serde_json::from_str(data).ok()).collect();
    assert!(events.iter().any(is_told), "{answer:?}");

    // Nobody asked.
    message["params"]["_meta"] = json!({});
    let answer = server.post(&[("mcp-session-id", &session)], &message);
    assert!(!answer.body.contains("notifications/progress"), "{answer:?}");
}

#[test]
fn a_server_whose_tasks_have_no_model_does_not_start() {
    let folder = Folder::new();
    let file = config(&folder, json!({}));
    let keys = ["GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"];
    for (model, says) in [
        (None, "`google:gemini-2.5-flash-lite` needs a key; put it into the variable GEMINI_API_KEY"),
        (
            Some("anthropic:claude-x"),
            "`anthropic:claude-x` needs a key; put it into the variable ANTHROPIC_API_KEY",
        ),
        (Some("nobody:nothing"), "there is no model `nobody:nothing`; there are haiku, "),
    ] {
        let mut args = vec!["--upstreams-config", &file, "--agentic", "--agentic-allow-writes"];
        args.extend(model.iter().flat_map(|model| ["--agentic-model", model]));
        let mut command = ptc(&args);
        for key in keys {
            command.env_remove(key);
        }
        let output = command.output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{err}");
        assert!(err.contains("--agentic needs a model: ") && err.contains(says), "{err}");
        assert!(err.contains("--agentic-model"), "{err}");
    }
}

#[test]
fn probe_7_r5_4_mistakes_of_programs_end_them() {
    let (_folder, mut server) = server(&[]);
    for (program, stem) in [
        ("(tool/call {:tool \"x\"})", "tool/call requires :server (string), got"),
        ("(tool/call {:server \"fix\"})", "tool/call on upstream 'fix' requires :tool (string), got"),
        (
            "(tool/call {:server \"fix\" :tool \"text\" :args 3})",
            "tool 'fix.text' rejected args: :args must be a map, got 3",
        ),
        (
            "(tool/call {:server \"fix\" :tool \"text\" :args {:f inc}})",
            "tool 'fix.text' rejected args: not JSON-encodable (",
        ),
        ("(tool/call {:server \"nope\" :tool \"x\"})", "no upstream 'nope' configured"),
        ("(tool/call {:server \"fix\" :tool \"nope\"})", "no tool 'nope' in upstream 'fix'"),
    ] {
        let result = server.call(1, "lisp_eval", json!({"program": program}));
        assert!(result["isError"] == true && text(&result).contains(stem), "{program}: {result}");
    }
}

#[test]
fn probe_8_r5_1_parallel_calls_fail_one_by_one() {
    let (_folder, mut server) = server(&[]);
    let program = "(let [rs (pmap (fn [i] (tool/call {:server \"fix\" :tool \"pick\" :args {:id i}})) (range 10))] \
                   [(count (filter :ok rs)) (mapv :reason (remove :ok rs))])";
    assert_eq!(server.eval(1, program), "user=> [9 [:tool_error]]");
}

#[test]
fn probe_11_r6_5_3_discovery_is_bounded() {
    let (_folder, mut server) = server(&["--max-catalog-result-bytes", "200"]);
    let text = server.eval(1, "(let [d (dir 'fix)] [(sequential? d) (< 0 (count d) 12)])");
    assert_eq!(text, "user=> [true true]");
    assert_eq!(server.eval(2, "(nil? (meta 'fix/json))"), "user=> true");
}

#[test]
fn probe_12_r4_2_bad_configurations_stop_the_start() {
    let folder = Folder::new();
    let itself = env!("CARGO_BIN_EXE_ptc");
    for (more, message) in [
        (json!({"env": {"TOKEN": "${PTC_TEST_UNSET}"}}), "PTC_TEST_UNSET"),
        (json!({"command": itself, "args": ["mcp"]}), "itself"),
        (json!({"command": "/nonexistent/server", "args": []}), "fix"),
    ] {
        let file = config(&folder, more.clone());
        let output = ptc(&["--upstreams-config", &file, "--require-upstreams"]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more}: {err}");
        assert!(err.contains(message), "{more}: {err}");
    }
}

#[test]
fn probe_13_r4_3_7_unsafe_configurations_have_reasons_of_their_own() {
    let folder = Folder::new();
    let secret = json!({"k": {"source": "literal", "value": "a-secret-value"}});
    let cases = [
        json!({"url": "https://a.example/", "auth": [{"scheme": "custom_header", "header": "Authorization", "binding": "k"}]}),
        json!({"url": "https://a.example/", "static_headers": {"X-Api-Key": "v"}}),
        json!({"url": "http://a.example/"}),
        json!({"url": "http://a.example/", "allow_insecure_http": true, "auth": [{"scheme": "bearer", "binding": "k"}]}),
    ];
    let mut messages = Vec::new();
    for mut upstream in cases {
        upstream["transport"] = json!("mcp_http");
        let config = json!({"credentials": secret, "upstreams": {"remote": upstream}});
        let file = folder.file("upstreams.json", &config.to_string());
        let output = ptc(&["--upstreams-config", &file]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(!err.contains("a-secret-value") && !messages.contains(&err), "{err}");
        messages.push(err);
    }
}

#[test]
fn probe_14_r4_7_secrets_that_upstreams_repeat_are_covered() {
    const SECRET: &str = "sesame-sesame-sesame-12";
    let folder = Folder::new();
    let file = config(&folder, json!({"env": {"SECRET": "${PTC_TEST_SECRET}"}}));
    let mut command = ptc(&[
        "--upstreams-config",
        &file,
        "--require-upstreams",
        "--catalog-mode",
        "inline",
        "--debug-tool",
        "--log-level",
        "debug",
    ]);
    command.env("PTC_TEST_SECRET", SECRET);
    let mut server = StdioServer::spawn(command);
    let listed = server.ask(1, "tools/list", json!({})).to_string();
    assert!(listed.contains("echo_secret") && !listed.contains(SECRET), "{listed}");
    for program in [
        "(dir 'fix)".to_owned(),
        "(doc 'fix/text)".to_owned(),
        "(meta 'fix/text)".to_owned(),
        call("echo_secret", "{}"),
    ] {
        let result = server.call(2, "lisp_eval", json!({"program": program})).to_string();
        assert!(result.contains("[REDACTED]") && !result.contains(SECRET), "{program}: {result}");
    }
    let recent = server.call(3, "lisp_debug", json!({"op": "recent"})).to_string();
    assert!(!recent.contains(SECRET), "{recent}");
    let log = server.whole_log();
    assert!(log.iter().any(|line| line.contains("tools_call_stop")), "{log:#?}");
    assert!(!log.iter().any(|line| line.contains(SECRET)), "{log:#?}");
}

#[test]
fn probes_15_16_22_r8_metrics_and_records() {
    let (_folder, mut server) = server(&["--debug-tool"]);
    let program = format!("(count (:value {}))", call("sized", "{:n 48120}"));
    let result = server.call(1, "lisp_eval", json!({"program": program}))["structuredContent"].clone();
    let metrics = &result["ptc_metrics"];
    assert_eq!(
        (&metrics["schema_version"], &metrics["upstream_call_count"]),
        (&json!(1), &json!(1)),
        "{result}"
    );
    // The text and its quotes.
    assert_eq!(
        (&metrics["upstream_result_bytes"], &metrics["estimated_upstream_result_tokens"]),
        (&json!(48122), &json!(12031))
    );
    let last = metrics["final_result_bytes"].as_f64().unwrap();
    assert_eq!(metrics["payload_reduction_ratio"], json!((48122.0 / last * 100.0).round() / 100.0));
    assert_eq!(metrics["baseline"]["optimistic"]["available"], false);
    let failing = format!("(do {} (fail :no))", call("sized", "{:n 100}"));
    let result = server.call(2, "lisp_eval", json!({"program": failing}))["structuredContent"].clone();
    let metrics = &result["ptc_metrics"];
    assert_eq!(
        (&metrics["final_result_bytes"], &metrics["payload_reduction_ratio"]),
        (&json!(0), &Json::Null),
        "{result}"
    );
    assert_eq!(metrics["upstream_result_bytes"], 102);

    let debug = |server: &mut StdioServer, arguments: Json| {
        server.call(9, "lisp_debug", arguments)["structuredContent"].clone()
    };
    let stats = debug(&mut server, json!({"op": "stats"}));
    assert_eq!(stats["by_tool"]["lisp_eval"]["calls"], 2, "{stats}");
    assert_eq!(stats["payload_reduction"]["calls_with_metrics"], 2, "{stats}");
    let recent = debug(&mut server, json!({"op": "recent", "errors_only": true}));
    assert_eq!((&recent["count"], &recent["calls"][0]["reason"]), (&json!(1), &json!("fail")), "{recent}");
    assert_eq!(debug(&mut server, json!({"op": "get", "request_id": "1"}))["found"], true);
    assert_eq!(debug(&mut server, json!({"op": "get", "request_id": "none"}))["found"], false);
}

#[test]
fn r2_4_2_read_only_is_enforced() {
    let (_folder, mut server) = server(&["--aggregator-read-only"]);
    let tools = server.ask(1, "tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(server.eval(2, &format!("(:ok {})", call("text", "{}"))), "user=> true");
    let result = server.call(3, "lisp_eval", json!({"program": call("fails", "{}")}));
    assert_eq!(result["isError"], true, "a tool that may write is refused: {result}");
}

#[test]
fn probes_17_18_r9_3_sessions_are_transactional_and_owned() {
    let mut server = StdioServer::ready(&["--sessions", "--response-profile", "structured"]);
    let started = server.call(1, "lisp_session_start", json!({}))["structuredContent"].clone();
    let session = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let eval = |server: &mut StdioServer, id: i64, program: &str, more: Json| {
        let mut arguments = json!({"session_id": session, "program": program});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.call(id, "lisp_session_eval", arguments)["structuredContent"].clone()
    };
    assert_eq!(eval(&mut server, 2, "(def x 20)", json!({}))["status"], "ok");
    assert_eq!(eval(&mut server, 3, "(+ x 1)", json!({}))["result"], "user=> 21");
    assert_eq!(eval(&mut server, 4, "(do (def x 99) (/ 1 0))", json!({}))["status"], "error");
    assert_eq!(eval(&mut server, 5, "(do (def x 98) (fail :no))", json!({}))["status"], "error");
    let schema = json!({"output_schema": {"type": "string"}});
    assert_eq!(eval(&mut server, 6, "(do (def x 97) 1)", schema)["reason"], "validation_error");
    assert_eq!(eval(&mut server, 7, "x", json!({}))["result"], "user=> 20");
    assert_eq!(eval(&mut server, 8, "[*1 *2]", json!({}))["result"], "user=> [20 21]");
    let unknown = server.call(9, "lisp_session_eval", json!({"session_id": "ptcs_none", "program": "1"}));
    assert_eq!(unknown["structuredContent"]["reason"], "session_not_found", "{unknown}");
}

#[test]
fn probe_18_r9_1_3_one_eval_at_a_time_and_only_for_the_owner() {
    let server = crate::support::HttpServer::start(&[
        "--sessions",
        "--response-profile",
        "structured",
        "--program-timeout-ms",
        "30000",
        "--max-concurrent-calls",
        "4",
    ]);
    let (mine, yours) = (server.open(&[]), server.open(&[]));
    let started = server.call(&mine, 2, "lisp_session_start", json!({}))["structuredContent"].clone();
    let session = started["session_id"].as_str().unwrap().to_owned();
    let arguments = |program: &str| json!({"session_id": session, "program": program});
    let foreign = server.call(&yours, 2, "lisp_session_eval", arguments("1"));
    assert_eq!(foreign["structuredContent"]["reason"], "session_owner_mismatch", "{foreign}");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            let begin = || server.call(&mine, 3, "lisp_session_eval", arguments(crate::support::SLOW));
            while begin()["structuredContent"]["reason"] == "session_busy" {}
        });
        crate::support::eventually("the session is busy", || {
            let second = server.call(&mine, 4, "lisp_session_eval", arguments("1"));
            second["structuredContent"]["reason"] == "session_busy"
        });
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
        server.post(&[("mcp-session-id", &mine)], &note);
        slow.join().unwrap();
    });
    crate::support::eventually("the session is free", || {
        server.call(&mine, 5, "lisp_session_eval", arguments("1"))["structuredContent"]["status"] == "ok"
    });
}

#[test]
fn r14_4_9_upstream_text_cannot_leave_its_frame() {
    let (_folder, mut server) = server(&["--response-profile", "debug"]);
    let program = format!("(do {} (/ 1 0))", call("closing", "{}"));
    let result = server.call(1, "lisp_eval", json!({"program": program}))["structuredContent"].clone();
    let feedback = result["feedback"].as_str().unwrap();
    assert!(feedback.contains("<untrusted_ptc_output"), "{result}");
    assert_eq!(feedback.matches("</untrusted_ptc_output>").count(), 1, "{feedback}");
}

#[test]
fn one_upstream_that_is_down_takes_nothing_away_and_late_ones_appear() {
    let folder = Folder::new();
    let script = folder.file("late.sh", &late_server());
    let mut gate = Gate::shut(&folder, "gate");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/fixture.py");
    let servers = json!({"mcpServers": {
        "fix": {"command": "python3", "args": [fixture]},
        "gone": {"command": "no-such-program-anywhere"},
        "broken": {"command": "sh", "args": ["-c", "echo no key was given >&2; exit 3"]},
        "late": {"command": "sh", "args": [script, gate.path()]},
    }});
    let file = folder.file("mcp.json", &servers.to_string());
    let mut server = StdioServer::start(&["--upstreams-config", &file]);
    let reply = server.ask(0, "initialize", crate::support::initialize("2025-11-25"));
    let told = reply["result"]["instructions"].as_str().unwrap_or_default();
    for name in ["fix", "gone", "broken", "late"] {
        assert!(told.contains(&format!("- {name}")), "{name}: {told}");
    }
    assert_eq!(reply["result"]["capabilities"]["tools"]["listChanged"], true, "{reply}");
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    // The others work although two are gone and one has not come up.
    let program = "[(:ok (tool/call {:server \"fix\" :tool \"text\"})) (:reason (tool/call {:server \"gone\" :tool \"x\"}))]";
    assert_eq!(server.eval(1, program), "user=> [true :upstream_unavailable]");
    let described = |server: &mut StdioServer, id: i64| {
        let listed = server.ask(id, "tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let eval = tools.iter().find(|tool| tool["name"] == "lisp_eval").unwrap();
        eval["description"].as_str().unwrap().to_owned()
    };
    assert!(described(&mut server, 2).contains("- late: (dir 'late) lists its tools."));
    server.log.wait_for("what the broken one said", |line| {
        line.contains("broken") && line.contains("no key was given") && line.contains("it is tried again")
    });
    assert!(
        described(&mut server, 4).contains("- broken (down: process"),
        "why it is not there is known by now"
    );
    // A check tells all at once: the mistakes, and the servers that are not there.
    let program = json!({"program": "(nothing) (fix/txt {}) (broken/x {})"});
    let checked = server.call(5, "lisp_check", program)["structuredContent"].clone();
    let reasons = |list: &str| -> Vec<String> {
        let all = checked[list].as_array().unwrap().iter();
        all.map(|each| each["reason"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(reasons("errors"), ["unbound_var", "unknown_tool"], "{checked}");
    assert_eq!(reasons("warnings"), ["upstream_unavailable"], "{checked}");
    assert!(checked["warnings"].to_string().contains("'broken' is down: process"), "{checked}");
    gate.open();
    // Others may have come up before it.
    let mut text = String::new();
    while !text.contains("- late: 1 tool: look.") {
        while server.receive_any()["method"] != crate::support::LIST_CHANGED {}
        text = described(&mut server, 3);
    }
}

/// What requests of the version without a handshake carry.
fn own_version() -> Json {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn w1_clients_that_discover_are_told_of_all_servers_and_subscribe_to_changes() {
    let folder = Folder::new();
    let (script, mut gate) = (folder.file("late.sh", &late_server()), Gate::shut(&folder, "gate"));
    let servers = json!({"mcpServers": {
        "gone": {"command": "no-such-program-anywhere"},
        "late": {"command": "sh", "args": [script, gate.path()]},
    }});
    let file = folder.file("mcp.json", &servers.to_string());
    let mut server = StdioServer::start(&["--upstreams-config", &file]);
    let found = server.ask(1, "server/discover", json!({"_meta": own_version()}))["result"].clone();
    let told = found["instructions"].as_str().unwrap_or_default();
    assert!(told.contains("- gone") && told.contains("- late"), "{found}");

    let wanted = json!({"_meta": own_version(), "notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    server.request("listening", "subscriptions/listen", wanted);
    let acknowledged = server.receive_any();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}), "{acknowledged}");
    gate.open();
    let mut text = String::new();
    while !text.contains("- late: 1 tool: look.") {
        while server.receive_any()["method"] != crate::support::LIST_CHANGED {}
        text = server.ask(2, "tools/list", json!({"_meta": own_version()})).to_string();
    }
    // It ends with the server, and says so.
    server.request(3, "shutdown", json!({}));
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    while server.receive_any()["id"] != "listening" {}
}

#[test]
fn hands_are_shaken_before_upstreams_are_up_whatever_programs_rely_on() {
    let folder = Folder::new();
    let (script, gate) = (folder.file("late.sh", &late_server()), folder.path().join("gate"));
    let late = json!({
        "transport": "mcp_stdio", "command": "sh", "args": [script, gate], "effects": {"look": "read"}
    });
    let file = folder.file("upstreams.json", &json!({"upstreams": {"late": late}}).to_string());
    let source =
        "(ns shop \"Looks.\")\n(defn look \"Looks.\" [] (tool/call {:server \"late\" :tool \"look\"}))\n";
    let prelude = folder.file("prelude.clj", source);
    let store = folder.path().join("store.db").display().to_string();
    for (more, program) in [
        (vec!["--store", &store], "(:ok (tool/call {:server \"late\" :tool \"look\"}))"),
        (vec!["--prelude", &prelude], "(:ok (shop/look))"),
        (vec!["--aggregator-read-only"], "(:ok (tool/call {:server \"late\" :tool \"look\"}))"),
    ] {
        // The upstream says nothing before its gate is open, and that is opened only behind the handshake.
        let mut gate = Gate::shut(&folder, "gate");
        let mut server =
            StdioServer::ready(&[&["--upstreams-config", file.as_str()], more.as_slice()].concat());
        gate.open();
        assert_eq!(server.eval(1, program), "user=> true", "{more:?}");
    }
}

#[test]
fn an_upstream_that_ends_is_told_in_the_log_and_comes_back() {
    let folder = Folder::new();
    let calling = "echo no more memory >&2; exit 3";
    let script = folder.file("ends.sh", &shell_server(&listing_only("look"), calling));
    let servers = json!({"mcpServers": {"ends": {"command": "sh", "args": [script]}}});
    let file = folder.file("mcp.json", &servers.to_string());
    for more in [&[][..], &["--require-upstreams"]] {
        let mut server = StdioServer::ready(&[&["--upstreams-config", file.as_str()], more].concat());
        let listed = "(get (first (tool/servers)) \"catalog_loaded\")";
        eventually("it is up", || server.eval(1, listed).contains("true"));
        let program = "(:ok (tool/call {:server \"ends\" :tool \"look\"}))";
        assert_eq!(server.eval(1, program), "user=> false", "{more:?}");
        server.log.wait_for("its end", |line| {
            line.contains("ends")
                && line.contains("no more memory")
                && line.contains("it is started again in")
        });
        let described = "(get (first (tool/servers)) \"description\")";
        eventually("it is back", || !server.eval(2, described).contains("down: "));
    }
}

#[test]
fn a_server_may_insist_on_its_upstreams() {
    let folder = Folder::new();
    let file =
        folder.file("mcp.json", r#"{"mcpServers": {"gone": {"command": "no-such-program-anywhere"}}}"#);
    let output = ptc(&["--upstreams-config", &file, "--require-upstreams"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success()
            && told.contains("upstream 'gone' cannot be used: upstream_unavailable: command not found"),
        "{told}"
    );
}
