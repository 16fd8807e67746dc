//! What attackers try: other people's sessions, forged claims, tokens in logs, huge ids.

use serde_json::{Value as Json, json};

use crate::support::{Folder, HttpServer, StdioServer, TOKEN, call, text};
use crate::upstreams::config;

const FIRST: &str = "first-first-first-first-first-12";
const SECOND: &str = "second-second-second-second-1234";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// A server with tokens of two owners.
fn with_roles(folder: &Folder) -> HttpServer {
    let tokens = json!({"tokens": [
        {"id": "one", "token_literal": FIRST, "roles": ["reader"]},
        {"id": "two", "token_literal": SECOND, "roles": ["reader"]},
    ]});
    let policy = json!({
        "default_role": "reader",
        "outer_policy": {"mcp_tools": ["lisp_session_start", "lisp_session_eval", "lisp_session_list"]},
        "roles": {"reader": {}},
    });
    let (tokens, policy) =
        (folder.file("tokens.json", &tokens.to_string()), folder.file("policy.json", &policy.to_string()));
    HttpServer::start(&["--sessions", "--http-role-tokens", &tokens, "--session-roles", &policy])
}

#[test]
fn r14_4_1_sessions_of_others_are_not_found() {
    let folder = Folder::new();
    let server = with_roles(&folder);
    let (first, second) = (bearer(FIRST), bearer(SECOND));
    let session = server.open(&[("authorization", &first)]);
    let with = |token: &str, session: &str| {
        server
            .post(
                &[("authorization", token), ("mcp-session-id", session)],
                &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}),
            )
            .status
    };
    assert_eq!(with(&first, &session), 200);
    assert_eq!(with(&second, &session), 404, "a session of somebody else");
    let delete =
        server.raw("DELETE", "/mcp", &[("authorization", &second), ("mcp-session-id", &session)], b"");
    assert_eq!(delete.status, 404);
    assert_eq!(with(&first, &session), 200, "still there");
}

#[test]
fn r14_4_1_roles_cannot_be_chosen_freely() {
    let folder = Folder::new();
    let server = with_roles(&folder);
    let first = bearer(FIRST);
    let session = server.open(&[("authorization", &first)]);
    let ask = |id: i64, tool: &str, arguments: Json| {
        let headers = [("authorization", first.as_str()), ("mcp-session-id", session.as_str())];
        server.post(&headers, &call(id, tool, arguments)).json()["result"].clone()
    };
    let other = ask(2, "lisp_session_start", json!({"role": "admin"}));
    assert!(text(&other).contains("role is not allowed for this credential"), "{other}");
    let forged = ask(3, "lisp_session_start", json!({"role": "reader", "roles": ["admin"], "owner": "root"}));
    assert_eq!(forged["isError"], true, "claims are no arguments: {forged}");
    let own = ask(4, "lisp_session_start", json!({}));
    assert_eq!(own["structuredContent"]["role"], "reader", "{own}");
    for tool in ["lisp_eval", "lisp_task", "lisp_session_close"] {
        let hidden = ask(5, tool, json!({"program": "1", "task": "x", "session_id": "y"}));
        assert_eq!(hidden["isError"], true, "{tool}: {hidden}");
    }
    let list = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"});
    let listed = server.post(&[("authorization", &first), ("mcp-session-id", &session)], &list).json();
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(3), "{listed}");
}

#[test]
fn r14_4_4_records_keep_what_the_policy_allows() {
    let records = |policy: &str| {
        let mut server = StdioServer::ready(&["--debug-tool", "--trace-payloads", policy]);
        let context = json!({"k": "private-context"});
        server.call(1, "lisp_eval", json!({"program": "(str \"private-text\")", "context": context}));
        server.call(2, "lisp_eval", json!({"program": "(private-name)"}));
        [
            json!({"op": "recent"}),
            json!({"op": "get", "request_id": "1"}),
            json!({"op": "get", "request_id": "2"}),
        ]
        .map(|arguments| text(&server.call(3, "lisp_debug", arguments)))
    };
    let [recent, first, second] = records("none");
    for text in [&recent, &first, &second] {
        assert!(!text.contains("private-"), "{text}");
    }
    // The calls are on record all the same.
    assert!(recent.matches("lisp_eval").count() >= 2, "{recent}");
    assert!(first.contains("lisp_eval") && first.contains("sha256"), "{first}");
    assert!(second.contains("\"reason\":\"runtime_error\""), "{second}");
    let [_, first, second] = records("full");
    assert!(first.contains("private-text") && second.contains("private-name"), "{first}\n{second}");
}

#[test]
fn r1_7_7_bad_token_files_are_refused_without_quoting_them() {
    let folder = Folder::new();
    let policy = folder.file("policy.json", r#"{"outer_policy": {"mcp_tools": []}, "roles": {"a": {}}}"#);
    let open = folder.file("open.json", r#"{"roles": {"a": {}}}"#);
    let entry = |more: Json| {
        let mut entry = json!({"id": "a", "roles": ["a"]});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"tokens": [entry]}).to_string()
    };
    let good = entry(json!({"token_literal": FIRST}));
    for (tokens, policy, message) in [
        ("{".to_owned(), &policy, "line 1"),
        (entry(json!({"token_literal": FIRST, "extra": 1})), &policy, "expected"),
        (entry(json!({"token_literal": "short-secret"})), &policy, "at least 32 bytes"),
        (entry(json!({"token_literal": FIRST, "token_env": "X"})), &policy, "exactly one of"),
        (entry(json!({"token_env": "PTC_TEST_UNSET"})), &policy, "PTC_TEST_UNSET is not set"),
        (entry(json!({"token_literal": FIRST, "id": "a b"})), &policy, "tokens[0].id must be"),
        (good.clone(), &open, "outer_policy.mcp_tools"),
        (entry(json!({"token_literal": FIRST, "roles": ["a", "nope"]})), &policy, "has no role nope"),
    ] {
        let file = folder.file("tokens.json", &tokens);
        let args =
            ["--http", "127.0.0.1:0", "--sessions", "--http-role-tokens", &file, "--session-roles", policy];
        let output = crate::support::ptc(&args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(message), "{err}\nexpected: {message}");
        assert!(!err.contains(FIRST) && !err.contains("short-secret"), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn files_of_tokens_and_roles_that_others_could_have_written_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let policy = folder.file("policy.json", r#"{"outer_policy": {"mcp_tools": []}, "roles": {"a": {}}}"#);
    let token = folder.file("token", FIRST);
    let entry = json!({"tokens": [{"id": "a", "roles": ["a"], "token_file": token}]});
    let tokens = folder.file("tokens.json", &entry.to_string());
    let set = |file: &str, mode: u32| {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for (open, mode, told) in [
        (&tokens, 0o666, "change it"),
        (&token, 0o606, "change it"),
        (&token, 0o604, "read it"),
        (&policy, 0o666, "change it"),
    ] {
        for file in [&tokens, &token, &policy] {
            set(file, 0o600);
        }
        set(open, mode);
        let args = [
            "--http",
            "127.0.0.1:0",
            "--sessions",
            "--http-role-tokens",
            &tokens,
            "--session-roles",
            &policy,
        ];
        let output = crate::support::ptc(&args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let shown = format!("{open} has mode {mode:04o}, so that other users could {told}");
        assert!(!output.status.success() && err.contains(&shown), "{err}\nexpected: {shown}");
    }
}

#[cfg(unix)]
#[test]
fn a_configuration_of_upstreams_that_others_could_have_written_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let config = folder.file("upstreams.json", r#"{"upstreams": {}}"#);
    let start = |mode: u32| {
        std::fs::set_permissions(&config, std::fs::Permissions::from_mode(mode)).unwrap();
        let started = crate::support::ptc(&["--upstreams-config", &config])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        (started.status.success(), String::from_utf8_lossy(&started.stderr).into_owned())
    };
    for mode in [0o666, 0o602] {
        let (started, err) = start(mode);
        let shown =
            format!("--upstreams-config: {config} has mode {mode:04o}, so that other users could change it");
        assert!(!started && err.contains(&shown), "{err}\nexpected: {shown}");
    }
    let (started, err) = start(0o644);
    assert!(started, "others may read it: {err}");
}

#[test]
fn r14_4_2_tokens_stay_out_of_logs_and_answers() {
    let mut server = HttpServer::start(&["--http-auth-token", TOKEN, "--log-level", "debug"]);
    let right = bearer(TOKEN);
    let session = server.open(&[("authorization", &right)]);
    let wrong = server.post(&[("authorization", "Bearer a-wrong-token-that-is-secret-too")], &json!({}));
    assert!(!wrong.body.contains("secret-too"));
    let echo = json!({"program": "[data/t (str \"x\" data/t)]", "context": {"t": TOKEN}});
    let echoed =
        server.post(&[("authorization", &right), ("mcp-session-id", &session)], &call(2, "lisp_eval", echo));
    assert!(echoed.body.contains("[REDACTED]") && !echoed.body.contains(TOKEN), "{}", echoed.body);
    let log = server.whole_log();
    assert!(log.iter().any(|line| line.contains("tools_call_stop")), "{log:#?}");
    for line in log {
        assert!(!line.contains(TOKEN) && !line.contains("secret-too"), "{line}");
    }
}

#[test]
fn r14_4_1_claims_in_arguments_count_for_nothing() {
    let mut server = StdioServer::ready(&[]);
    for (claim, value) in [("owner", json!("root")), ("roles", json!(["admin"]))] {
        let refused = server.call(1, "lisp_eval", json!({"program": "(+ 1 2)", claim: value}));
        let begin = format!("args_error: unknown argument `{claim}`; ");
        assert!(text(&refused).starts_with(&begin), "{refused}");
    }
    // A note of the client is no argument.
    let forged = json!({"program": "(+ 1 2)", "_auth": {"owner": "root"}});
    assert_eq!(text(&server.call(2, "lisp_eval", forged)), "user=> 3");

    // A session belongs to whoever has the token, whatever the request says besides.
    let folder = Folder::new();
    let server = with_roles(&folder);
    let claims =
        json!({"owner": SECOND, "principal": SECOND, "_auth": {"owner": SECOND}, "roles": ["admin"]});
    let ask = |token: &str, tool: &str, meta: &Json| {
        let authorization = bearer(token);
        let session = server.open(&[("authorization", &authorization), ("x-owner", SECOND)]);
        let mut message = call(2, tool, json!({}));
        message["params"]["_meta"] = meta.clone();
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session.as_str())];
        let answer = server.post(&headers, &message);
        (answer.json()["result"]["structuredContent"].clone(), session)
    };
    let (started, mcp) = ask(FIRST, "lisp_session_start", &claims);
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("{started}"));
    assert_eq!(started["role"], "reader", "{started}");
    let (of_second, _) = ask(SECOND, "lisp_session_list", &json!({}));
    assert_eq!(of_second["sessions"], json!([]), "{of_second}");
    let first = bearer(FIRST);
    let headers = [("authorization", first.as_str()), ("mcp-session-id", mcp.as_str())];
    let of_first = server.post(&headers, &call(3, "lisp_session_list", json!({}))).json();
    assert_eq!(of_first["result"]["structuredContent"]["sessions"][0]["session_id"], id, "{of_first}");
}

#[test]
fn r14_4_5_huge_ids_are_echoed_but_do_not_break_anything() {
    let mut server = StdioServer::ready(&["--debug-tool"]);
    let id = "i".repeat(1 << 20);
    let params = json!({"name": "lisp_eval", "arguments": {"program": "(+ 1 2)"}});
    let reply = server.ask(id.clone(), "tools/call", params);
    assert_eq!(reply["result"]["isError"], false);
    server.request(
        id.clone(),
        "tools/call",
        json!({"name": "lisp_eval", "arguments": {"program": crate::support::SLOW}}),
    );
    server.request(id, "ping", json!({}));
    let refused = server.receive();
    assert!(refused["error"]["message"].as_str().unwrap().len() < 200);
}

#[test]
fn r14_4_8_messages_do_not_repeat_arguments() {
    let mut server = StdioServer::ready(&[]);
    for (named, arguments) in [
        ("program", json!({"program": ["sesame-value"]})),
        ("context", json!({"program": "1", "context": "sesame-value"})),
        ("output_schema", json!({"program": "1", "output_schema": "sesame-value"})),
    ] {
        let result = server.call(1, "lisp_eval", arguments);
        assert!(!result.to_string().contains("sesame-value"), "{result}");
        assert_eq!(result["isError"], true, "{named}: {result}");
        assert!(text(&result).contains(named), "it says which argument is wrong: {result}");
    }
}

/// Every token of the server, echoed by an upstream and by programs: nothing that leaves has one.
#[test]
fn r4_7_3_and_r14_4_2_tokens_never_come_back() {
    const ADMIN: &str = "admin-admin-admin-admin-admin-12";
    let folder = Folder::new();
    let tokens = json!({"tokens": [{"id": "one", "token_literal": FIRST, "roles": ["all"]}]});
    let tokens = folder.file("tokens.json", &tokens.to_string());
    let tools = ["lisp_session_start", "lisp_session_eval", "lisp_session_inspect", "lisp_session_list"];
    let policy = json!({
        "outer_policy": {"mcp_tools": tools},
        "roles": {"all": {"upstream_tools": "all"}},
    });
    let policy = folder.file("policy.json", &policy.to_string());
    let upstreams = config(&folder, json!({}));
    let (traces, turns) = (folder.path().join("traces"), folder.path().join("turns"));
    let (traces, turns) = (traces.display().to_string(), turns.display().to_string());
    let shared =
        ["--sessions", "--upstreams-config", &upstreams, "--trace-dir", &traces, "--turn-log-dir", &turns];
    let shared = [&shared[..], &["--trace-payloads", "full", "--log-level", "debug"]].concat();
    let roles = ["--http-role-tokens", &tokens, "--session-roles", &policy, "--http-admin-token", ADMIN];
    let single = ["--http-auth-token", TOKEN, "--http-admin-token", ADMIN, "--debug-tool"];
    let mut said = Vec::new();
    for (args, token, secrets) in [(&roles[..], FIRST, [FIRST, ADMIN]), (&single[..], TOKEN, [TOKEN, ADMIN])]
    {
        let mut server = HttpServer::start(&[&shared, args].concat());
        let authorization = bearer(token);
        let session = server.open(&[("authorization", &authorization)]);
        let headers = [("authorization", authorization.as_str()), ("mcp-session-id", session.as_str())];
        let ask = |id: i64, tool: &str, arguments: Json| {
            let answer = server.post(&headers, &call(id, tool, arguments));
            (answer.json()["result"].clone(), answer.body)
        };
        let (started, body) = ask(2, "lisp_session_start", json!({"role": token_role(args), "title": token}));
        said.push(body);
        let id = started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}"));
        let programs = [
            "(println data/t) {:again data/t :as-key {data/t 1}}",
            "(def kept data/t) (subs data/t 0 (dec (count data/t))) kept",
            r#"(tool/call {:server "fix" :tool "json" :args {:t data/t}})"#,
            "(fail data/t)",
            "(throw (ex-info data/t {}))",
            r#"(json/parse-string data/t)"#,
        ];
        for secret in secrets {
            for program in programs {
                let arguments = json!({"session_id": id, "program": program, "context": {"t": secret}});
                said.push(ask(3, "lisp_session_eval", arguments).1);
            }
            for program in
                [format!("(str \"{secret}\" 1)"), format!("(def {secret} 1)"), format!("({secret} 1)")]
            {
                let arguments = json!({"session_id": id, "program": program});
                said.push(ask(4, "lisp_session_eval", arguments).1);
            }
            let tagged = json!({"role": token_role(args), "tags": {"a": secret, secret: "b"}});
            said.push(ask(4, "lisp_session_start", tagged).1);
            said.push(ask(4, "lisp_session_eval", json!({"session_id": id, secret: 1})).1);
            let read = json!({"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": format!("ptc://{secret}")}});
            said.push(server.post(&headers, &read).body);
        }
        for view in ["overview", "memory", "prints", "tool_calls", "history"] {
            said.push(ask(5, "lisp_session_inspect", json!({"session_id": id, "view": view})).1);
        }
        said.push(ask(6, "lisp_session_list", json!({})).1);
        said.push(ask(6, "lisp_debug", json!({"op": "recent", "limit": 200})).1);
        said.push(ask(7, "lisp_debug", json!({"op": "get", "request_id": "4"})).1);
        said.push(ask(8, token, json!({})).1);
        said.extend(server.whole_log());
    }
    for folder in [traces, turns] {
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{folder}");
        said.extend(files.iter().map(|file| std::fs::read_to_string(file).unwrap()));
    }
    assert!(said.iter().filter(|text| text.contains("[REDACTED]")).count() > 20);
    for secret in [FIRST, TOKEN, ADMIN] {
        let found = said.iter().find(|text| text.contains(secret));
        assert!(found.is_none(), "{secret} in {found:?}");
    }
}

/// The role to ask for: none where there are no roles.
fn token_role(args: &[&str]) -> Option<&'static str> {
    args.contains(&"--session-roles").then_some("all")
}

/// A bundle of evidence through the command: what leads out of it stops the start, what is hidden stays hidden.
#[cfg(unix)]
#[test]
fn r14_4_6_evidence_stays_in_its_folder_and_answer_keys_are_not_read() {
    let (outside, folder) = (Folder::new(), Folder::new());
    let secret = outside.file("outside.txt", "text of another folder");
    folder.file("key.txt", "the answer is 42");
    folder.file("facts.md", "fact one");
    std::os::unix::fs::symlink(&secret, folder.path().join("link.txt")).unwrap();
    let manifest = |items: Json| {
        let manifest = json!({"schema_version": 1, "bundle_id": "b", "items": items});
        folder.file("manifest.json", &manifest.to_string())
    };
    for path in ["link.txt", secret.as_str(), "../outside.txt"] {
        let file = manifest(json!([{"id": "x", "kind": "text", "path": path}]));
        let output = crate::support::ptc(&["--sessions", "--evidence-bundle", &file]).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{path}: {err}");
        assert!(err.contains("--evidence-bundle") && err.contains("items[0]"), "{path}: {err}");
        assert!(!err.contains("text of another folder"), "{err}");
    }
    let file = manifest(json!([
        {"id": "facts", "kind": "markdown", "path": "facts.md"},
        {"id": "key", "kind": "answer_key", "path": "key.txt"},
    ]));
    let alone = crate::support::ptc(&["--evidence-bundle", &file]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2), "evidence is for sessions");
    let policy = folder
        .file("policy.json", r#"{"default_role": "all", "roles": {"all": {}, "none": {"ptc_tools": []}}}"#);
    let mut server =
        StdioServer::ready(&["--sessions", "--evidence-bundle", &file, "--session-roles", &policy]);
    let started = server.call(1, "lisp_session_start", json!({}));
    let id =
        started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    let mut eval = |program: &str| {
        text(&server.call(2, "lisp_session_eval", json!({"session_id": id, "program": program})))
    };
    assert!(eval("(:content (evidence/read \"facts\"))").contains("fact one"));
    for program in [
        "(evidence/bundle)",
        "(evidence/read \"key\")",
        "(evidence/page \"key\")",
        "(evidence/read \"key.txt\")",
    ] {
        let text = eval(program);
        assert!(!text.contains("the answer") && !text.contains("key.txt"), "{program}: {text}");
    }
    server.log.wait_for("a role that reaches no evidence", |line| {
        line.contains("role_evidence_tools_unreachable: role none")
    });
}
