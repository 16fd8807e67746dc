//! Stdio: frames, handshakes, cancellation and the end of the process.

use serde_json::{Value as Json, json};

use crate::support::{SLOW, StdioServer, initialize, text};

const LONG: &[&str] = &["--program-timeout-ms", "30000", "--max-concurrent-calls", "4"];

#[test]
fn probe_1_r1_2_handshake_list_and_eval() {
    let mut server = StdioServer::start(&[]);
    let reply = server.ask(1, "initialize", initialize("2025-06-18"))["result"].clone();
    assert_eq!(reply["protocolVersion"], "2025-06-18");
    assert_eq!(reply["serverInfo"]["name"], "ptc_lisp");
    assert_eq!(reply["capabilities"]["tools"], json!({"listChanged": false}));
    assert!(reply.get("instructions").is_none());
    let tools = server.ask(2, "tools/list", json!({}))["result"]["tools"].clone();
    assert_eq!(tools[0]["name"], "lisp_eval");
    assert!(tools[0].get("outputSchema").is_none(), "slim has no output schema");
    let result = server.call(3, "lisp_eval", json!({"program": "(+ 1 2)"}));
    assert_eq!(result["content"], json!([{"type": "text", "text": "user=> 3"}]));
    assert_eq!(result["isError"], false);
    assert!(result.get("structuredContent").is_none());
}

#[test]
fn r1_2_1_versions_are_negotiated() {
    for (asked, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut server = StdioServer::start(&[]);
        assert_eq!(
            server.ask(1, "initialize", initialize(asked))["result"]["protocolVersion"],
            agreed,
            "{asked}"
        );
    }
    let mut server = StdioServer::start(&[]);
    assert_eq!(server.ask(1, "initialize", json!({}))["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn stateless_requests_stand_for_themselves() {
    let mut server = StdioServer::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = server.ask(1, "server/discover", json!({"_meta": meta}))["result"].clone();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert_eq!(*versions, [json!("2025-06-18"), json!("2025-11-25"), json!("2026-07-28")], "{found}");
    let params = json!({"_meta": meta, "name": "lisp_eval", "arguments": {"program": "(+ 1 2)"}});
    let result = server.ask(2, "tools/call", params)["result"].clone();
    assert_eq!(text(&result), "user=> 3");
    assert_eq!(result["resultType"], "complete");
    let mut old = meta.clone();
    old["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    assert_eq!(server.ask(3, "tools/list", json!({"_meta": old}))["error"]["code"], -32022);
}

#[test]
fn r1_1_10_requests_before_initialize_are_answered() {
    let mut server = StdioServer::start(&[]);
    assert_eq!(server.ask(1, "ping", json!({}))["result"], json!({}));
    assert_eq!(server.eval(2, "(* 6 7)"), "user=> 42");
}

#[test]
fn r1_1_what_is_no_request_is_refused_and_the_connection_stays() {
    let mut server = StdioServer::ready(&[]);
    let cases: &[(&str, i64)] = &[
        ("\n", -32700),
        ("{\"jsonrpc\":\n", -32700),
        ("\u{fffd}\u{0}\n", -32700),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n", -32600),
        ("7\r\n", -32600),
        ("{\"id\":1,\"method\":\"ping\"}\n", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":[]}\n", -32600),
    ];
    for (line, code) in cases {
        server.raw(line.as_bytes());
        let reply = server.receive();
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &Json::Null), "{line:?}");
    }
    assert_eq!(
        server.ask(9, "nonsense/method", json!({}))["error"],
        json!({"code": -32601, "message": "Method not found"})
    );
    assert_eq!(server.ask(10, "prompts/list", json!({}))["error"]["code"], -32601);
    assert_eq!(server.ask(11, "tools/call", json!([1]))["error"]["code"], -32602);
    assert_eq!(server.ask("text id", "ping", json!({}))["result"], json!({}));
}

#[test]
fn r1_1_9_notifications_are_never_answered() {
    let mut server = StdioServer::ready(&[]);
    for method in ["tools/call", "nonsense", "notifications/cancelled", "ping"] {
        server.send(&json!({"jsonrpc": "2.0", "method": method, "params": {}}));
    }
    assert_eq!(server.ask(1, "ping", json!({}))["id"], 1, "the first answer is that of the first request");
}

#[test]
fn probe_2_r1_1_3_an_oversize_line_is_refused_and_skipped() {
    let mut server = StdioServer::ready(&[]);
    let mut line = vec![b'x'; 9 << 20];
    line.push(b'\n');
    server.raw(&line);
    let reply = server.receive();
    assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32700), &Json::Null));
    // A client that waits for its id would wait for ever; many write it behind the parameters.
    let long = "x".repeat(9 << 20);
    for line in [
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":\"{long}\"}}\n"),
        format!(
            "{{\"method\":\"m\",\"params\":{{\"id\":1,\"x\":\"{long}\"}},\"jsonrpc\":\"2.0\",\"id\":7}}\n"
        ),
    ] {
        server.raw(line.as_bytes());
        let reply = server.receive();
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32700), &json!(7)));
        assert!(reply["error"]["message"].as_str().unwrap().contains("--max-frame-bytes"), "{reply}");
    }
    assert_eq!(server.eval(1, "(+ 1 2)"), "user=> 3");
}

#[test]
fn r2_11_unknown_tools_are_results() {
    let mut server = StdioServer::ready(&[]);
    for params in [json!({"name": "nope"}), json!({}), json!({"name": 7, "arguments": 1})] {
        let result = server.ask(1, "tools/call", params)["result"].clone();
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["reason"], "unknown_tool", "{result}");
    }
    let result = server.ask(2, "tools/call", json!({"name": "lisp_eval"}))["result"].clone();
    assert!(text(&result).contains("args_error"), "{result}");
}

#[test]
fn probe_3_r1_4_one_call_too_many_is_busy_at_once() {
    let mut server = StdioServer::ready(&[LONG, &["--max-queued-calls", "0"]].concat());
    for id in 1..=5 {
        server.request(id, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    }
    let busy = server.receive()["result"].clone();
    assert!(text(&busy).starts_with("busy: server busy: 4 programs of yours run"), "{busy}");
    let args = server.call(6, "lisp_eval", json!({}));
    assert!(text(&args).contains("args_error"), "arguments are looked at first: {args}");
    for id in 1..=4 {
        server.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
    }
    crate::support::eventually("permits come back", || server.eval(7, "(+ 1 2)") == "user=> 3");
}

#[test]
fn probe_4_r1_3_5_cancelled_calls_are_not_answered() {
    let mut server = StdioServer::ready(&["--program-timeout-ms", "30000", "--max-concurrent-calls", "1"]);
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": "no"}}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}));
    crate::support::eventually("the permit is free", || server.eval(2, "(+ 1 2)") == "user=> 3");
    // Whatever was written before comes before this.
    server.ask(3, "ping", json!({}));
    server.close_stdin();
    assert_eq!(server.end().1, Vec::<String>::new(), "no answer to the cancelled call");
}

#[test]
fn r1_3_7_an_id_in_flight_is_refused() {
    let mut server = StdioServer::ready(LONG);
    server.request("a", "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    server.request("a", "ping", json!({}));
    let reply = server.receive();
    assert_eq!(reply["error"]["code"], -32600);
    assert_eq!(reply["error"]["message"], "Invalid Request: id \"a\" is already in flight");
}

#[test]
fn r1_1_12_answers_come_when_they_are_ready() {
    let mut server = StdioServer::ready(&["--program-timeout-ms", "1500", "--max-concurrent-calls", "4"]);
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    assert_eq!(server.ask(2, "ping", json!({}))["result"], json!({}));
    let late = server.receive();
    assert_eq!(late["id"], 1);
    assert!(text(&late["result"]).starts_with("timeout"), "{late}");
}

#[test]
fn progress_is_reported_for_long_calls_that_ask() {
    let mut server = StdioServer::ready(&["--program-timeout-ms", "4000"]);
    let params =
        json!({"name": "lisp_eval", "arguments": {"program": SLOW}, "_meta": {"progressToken": "tok"}});
    server.request(1, "tools/call", params);
    let note = server.receive();
    assert_eq!(note["method"], "notifications/progress", "{note}");
    assert_eq!(note["params"]["progressToken"], "tok");
    let mut last = note["params"]["progress"].as_f64().unwrap();
    loop {
        let message = server.receive();
        if message["id"] == 1 {
            break;
        }
        let now = message["params"]["progress"].as_f64().unwrap();
        assert!(now > last, "progress grows");
        last = now;
    }
}

#[test]
fn r1_3_1_after_shutdown_calls_are_refused() {
    let mut server = StdioServer::ready(&[]);
    let reply = server.ask(1, "shutdown", json!({}));
    assert_eq!(reply.get("result"), Some(&Json::Null), "{reply}");
    let result = server.call(2, "lisp_eval", json!({"program": "1"}));
    assert_eq!(result["structuredContent"]["reason"], "shutting_down", "{result}");
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let (status, rest) = server.end();
    assert_eq!((status.code(), rest.len()), (Some(0), 0));
}

#[test]
fn r1_3_2_exit_ends_at_once_and_frames_behind_it_are_ignored() {
    let mut server = StdioServer::ready(&[]);
    let exit = json!({"jsonrpc": "2.0", "method": "exit"});
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    server.raw(format!("{exit}\n{ping}\n").as_bytes());
    let (status, rest) = server.end();
    assert_eq!((status.code(), rest), (Some(0), Vec::new()));
}

#[test]
fn r1_3_3_exit_waits_for_calls_that_end_soon() {
    let mut server = StdioServer::ready(&["--program-timeout-ms", "700"]);
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    let (status, rest) = server.end();
    assert_eq!(status.code(), Some(0));
    assert_eq!(rest.len(), 1, "the call was answered: {rest:?}");
}

#[test]
fn r1_3_3_exit_kills_calls_that_do_not() {
    let mut server = StdioServer::ready(LONG);
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    assert_eq!(server.end().0.code(), Some(0));
}

#[test]
fn probe_5_r1_3_4_the_end_of_stdin_ends_everything_silently() {
    let mut server = StdioServer::ready(LONG);
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": {"program": SLOW}}));
    server.raw(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"meth");
    server.close_stdin();
    let (status, rest) = server.end();
    assert_eq!((status.code(), rest), (Some(0), Vec::new()));
}

#[test]
fn signals_end_the_server_in_order() {
    let server = StdioServer::ready(&[]);
    std::process::Command::new("kill").arg(server.pid().to_string()).status().unwrap();
    assert_eq!(server.end().0.code(), Some(0));
}

#[test]
fn large_results_can_be_read_whole() {
    let mut server = StdioServer::ready(&["--response-profile", "structured"]);
    let program = "(vec (repeat 6000 \"0123456789\"))";
    let schema = json!({"type": "array", "items": {"type": "string"}});
    let result = server.call(1, "lisp_eval", json!({"program": program, "output_schema": schema}));
    let content = result["content"].as_array().unwrap();
    let link = content.iter().find(|part| part["type"] == "resource_link");
    let link = link.unwrap_or_else(|| panic!("no link: {result}"));
    let read = server.ask(2, "resources/read", json!({"uri": link["uri"]}))["result"].clone();
    let whole: Json = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(whole.as_array().map(Vec::len), Some(6000));
    let listed = server.ask(3, "resources/list", json!({}))["result"].clone();
    assert_eq!(listed["resources"][0]["uri"], link["uri"]);
    assert_eq!(
        server.ask(4, "resources/read", json!({"uri": "ptc://results/none"}))["error"]["code"],
        -32002
    );
}

#[test]
fn r1_9_logs_are_json_lines_without_programs() {
    let mut server = StdioServer::ready(&[]);
    server.eval(1, "(str \"se\" \"cret-in-program\")");
    server.send(&json!({"jsonrpc": "2.0", "method": "exit"}));
    server.log.wait_for("the last line", |line| line.contains("application_stop"));
    let lines = server.whole_log();
    let events: Vec<Json> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["event"], "application_start");
    assert!(events[0]["fields"]["boot_id"].is_string() && events[0]["fields"]["os_pid"].is_number());
    assert!(events.iter().any(|event| event["event"] == "tools_call_stop"), "{events:?}");
    assert!(!lines.iter().any(|line| line.contains("cret-in-program")));
}
