//! Programs with upstreams from the command line: `check`, `eval` and `repl` over an HTTP API in the test.

use std::io::{BufRead as _, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agents::{command_in, folder, ptc_in, write};
use super::shell_server::{listing, shell_server};
use super::{Ran, file, ptc};

const TOKEN: &str = "st0re-t0ken";

/// A server that answers every GET with an item and echoes its credentials.
fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut request = Vec::new();
                let mut piece = [0; 1024];
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece) {
                        Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
                        _ => return,
                    }
                }
                let text = String::from_utf8_lossy(&request).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default();
                let id = path.rsplit('/').next().unwrap_or_default();
                let auth = text.lines().find(|line| line.to_lowercase().starts_with("authorization"));
                let body = json!({"id": id, "name": format!("item {id}"), "note": auth}).to_string();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
            });
        }
    });
    address
}

/// The configuration of one upstream `store`; its state goes into a folder of the test.
fn store(name: &str) -> String {
    let item = json!({"200": {"content": {"application/json": {}}}});
    let query = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let schema = json!({"openapi": "3.1.0", "paths": {
        "/items/{id}": {"get": {"operationId": "get", "summary": "One item by its id", "responses": item,
                        "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]}},
        "/items": {"put": {"operationId": "put", "responses": item, "parameters": [query("name"), query("overwrite")]}},
    }});
    let schema = file(&format!("{name}-schema.json"), &schema.to_string());
    let config = json!({
        "credentials": {"token": {"source": "literal", "value": TOKEN}},
        "upstreams": {"store": {
            "transport": "openapi", "base_url": format!("http://{}", serve()), "schema_file": schema,
            "allow_insecure_http": true, "allow_insecure_auth": true,
            "auth": [{"scheme": "bearer", "binding": "token"}],
            "include_operations": ["get", "put"], "operation_overrides": {"put": {"allow_writes": true}},
        }},
    });
    file(&format!("{name}-upstreams.json"), &config.to_string())
}

fn run(args: &[&str]) -> Ran {
    // What is learned does not go into the folder of whoever runs the tests.
    let state = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("state");
    super::with_env(args, "", &[("XDG_STATE_HOME", state.to_str().expect("UTF-8"))])
}

#[test]
fn check_says_what_a_program_may_call_and_with_what() {
    let config = store("check");
    let program = file(
        "check-report.clj",
        "(let [items (pmap #(tool/call 'store/get {:id %}) (range 3))]
           (tool/call {:server \"store\" :tool \"put\" :args {:name data/name :overwrite true}})
           (map :value items))",
    );
    let ran = run(&["check", &program, "--upstreams-config", &config]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (
            0,
            "ok, may call store/get, store/put\n  store/get (read), any number of times\n    :id computed\n  \
             store/put (write), once\n    :name data\n    :overwrite literal true\n",
            ""
        )
    );
    let ran = run(&["check", &program, "--upstreams-config", &config, "--read-only"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (
            1,
            "",
            "refused: this run is read-only and the program may call store/put (write); nothing was run\n"
        )
    );
    let ran = run(&["check", &program, "--upstreams-config", &config, "--json"]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(report["tools"], json!(["store/get", "store/put"]));
    assert_eq!(report["uses"][1]["args"], json!({"name": "data", "overwrite": "literal"}));
    let ran = run(&[
        "check",
        "-e",
        "(tool/call (assoc data/x :tool 1))",
        "--upstreams-config",
        &config,
        "--read-only",
        "--json",
    ]);
    let report: Value = serde_json::from_str(&ran.out).expect("JSON");
    let matched = json!([{"server": "store", "tool": "put", "effect": "write"}]);
    assert_eq!((ran.code, &report["error"]["details"]["matched_calls"]), (1, &matched));
}

#[test]
fn check_finds_mistakes_and_needs_no_upstreams() {
    assert_eq!(ptc(&["check", "-e", "(+ 1 2)"]).out, "ok, calls no tools\n");
    let wrong = ptc(&["check", "-e", "(+ 1 totl)"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.err.contains("undefined name: totl"), "{}", wrong.err);
    let unknown = ptc(&["check", "-e", "1", "--upstreams-config", "/no/such/file.json"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("/no/such/file.json"), "{}", unknown.err);
}

#[test]
fn eval_runs_programs_with_upstreams() {
    let config = store("eval");
    let source = "(pmap #(:name (:value (tool/call 'store/get {:id %}))) [1 2])";
    let ran = run(&["eval", "-e", source, "--upstreams-config", &config, "--stats"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "(\"item 1\" \"item 2\")\n"), "{}", ran.err);
    assert!(ran.err.contains("upstream calls 2, failed 0, result bytes "), "{}", ran.err);
    let ran =
        run(&["eval", "-e", source, "--upstreams-config", &config, "--json", "--max-upstream-calls", "1"]);
    let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(answer["json"], json!(["item 1", null]));
    assert_eq!(answer["upstream_calls"][1]["reason"], json!("cap_exhausted"));
    assert_eq!(answer["ptc_metrics"]["upstream_ok_count"], json!(1));
    let echoed = run(&[
        "eval",
        "-e",
        "(:note (:value (tool/call 'store/get {:id 1})))",
        "--upstreams-config",
        &config,
    ]);
    assert!(echoed.out.contains("[REDACTED]") && !echoed.out.contains(TOKEN), "{}", echoed.out);
    let refused =
        run(&["eval", "-e", "(tool/call 'store/put {})", "--upstreams-config", &config, "--read-only"]);
    assert_eq!((refused.code, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains("may call store/put (write); nothing was run"), "{}", refused.err);
    // What the first run learned, the next one knows.
    let doc = run(&["eval", "-e", "(doc 'store/get)", "--upstreams-config", &config]);
    assert!(doc.out.contains("{:id string :name string :note string}"), "{}", doc.out);
}

#[test]
fn repl_keeps_definitions_and_upstreams() {
    let config = store("repl");
    let state = [("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))];
    let item = "(defn item [id] (:name (:value (tool/call 'store/get {:id id}))))";
    let lines = format!("{item}\n(item 5)\n(dir 'store)\n");
    let ran = super::with_env(&["repl", "--upstreams-config", &config, "--read-only"], &lines, &state);
    assert!(ran.out.contains("\"item 5\"\n[\"get - One item by its id\" \"put\"]\n"), "{}", ran.out);
    let lines = "(:ok (tool/call 'store/get {:id 1}))\n:stats\n(tool/call 'store/put {})\n";
    let ran = super::with_env(&["repl", "--upstreams-config", &config, "--read-only"], lines, &state);
    assert!(ran.out.starts_with("true\n") && ran.out.contains("upstream calls 1, failed 0"), "{}", ran.out);
    assert!(ran.out.contains("may call store/put (write); nothing was run"), "{}", ran.out);
}

/// A configuration of one MCP server `mcp`, whose tools are listed when they are needed, and one that cannot start.
fn late(name: &str) -> String {
    let tools = r#"[{"name":"look_up","inputSchema":{"type":"object"}},{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"result":{"type":"integer"}},"x-fastmcp-wrap-result":true}}]"#;
    let calling = r#"answer '{"content":[{"type":"text","text":"7"}],"structuredContent":{"result":7}}'"#;
    let script = file(&format!("{name}-server.sh"), &shell_server(&listing(tools), calling));
    let dead = "echo 'first words' >&2; printf '\\033[31mno key\\033[0m\\n' >&2; exit 3";
    let config = json!({"upstreams": {
        "mcp": {"transport": "mcp_stdio", "command": "sh", "args": [script]},
        "dead": {"transport": "mcp_stdio", "command": "sh", "args": ["-c", dead]},
    }});
    file(&format!("{name}-upstreams.json"), &config.to_string())
}

#[test]
fn check_names_tools_and_servers_that_are_not_there_before_anything_runs() {
    let config = late("nowhere");
    for (source, expected) in [
        ("(mcp/lok_up {})", "did you mean mcp/look_up?"),
        (
            "(tool/call {:server \"mcp\" :tool \"lok_up\"})",
            "did you mean :tool \"look_up\"? (dir 'mcp) lists its tools",
        ),
        ("(tool/call {:server \"mpc\" :tool \"add\"})", "did you mean :server \"mcp\"?"),
        ("(mpc/add {})", "did you mean mcp/add?"),
    ] {
        for command in [&["check"][..], &["eval", "--check"]] {
            let ran = run(&[command, &["-e", source, "--upstreams-config", &config]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{command:?} {source}: {}", ran.err);
            assert!(ran.err.contains(expected), "{command:?} {source}: {}", ran.err);
        }
    }
    let ran = run(&["check", "-e", "(mcp/look-up {})", "--upstreams-config", &config]);
    assert_eq!((ran.code, ran.out.lines().next()), (0, Some("ok, may call mcp/look_up once")), "{}", ran.err);
    let ran = run(&["eval", "--check", "-e", "(mcp/look_up {})", "--upstreams-config", &config]);
    // Both commands say the same of it, the class of the tool too.
    let same = run(&["check", "-e", "(mcp/look_up {})", "--upstreams-config", &config]);
    assert_eq!((ran.code, &ran.out), (0, &same.out), "{}", ran.err);
    assert!(ran.out.contains("  mcp/look_up ("), "{}", ran.out);
    // What cannot be looked at is not called right.
    let ran = run(&["check", "-e", "(dead/anything {})", "--upstreams-config", &config]);
    let why = "upstream 'dead' cannot be used, so its tools are not checked: upstream_unavailable: process exited with \
               status 3; its last words: no key";
    assert!(ran.code == 0 && ran.err.contains(why), "{}", ran.err);
    // Whoever mends the mistakes need not find it out afterwards.
    let wrong = "(nothing) (mcp/lok_up {}) (dead/anything {})";
    let ran = run(&["check", "-e", wrong, "--upstreams-config", &config]);
    let all = ["undefined name: nothing", "did you mean mcp/look_up?", why];
    assert!(ran.code == 1 && all.iter().all(|each| ran.err.contains(each)), "{}", ran.err);
    let refused =
        run(&["eval", "--check", "-e", "(mcp/add {})", "--upstreams-config", &config, "--read-only"]);
    assert!(
        refused.code == 1 && refused.err.contains("mcp/add (unknown); nothing was run"),
        "{}",
        refused.err
    );
}

#[test]
fn eval_names_tools_that_are_not_there_before_anything_runs() {
    let config = late("named");
    for (source, expected) in [
        ("(mcp/lok_up {})", "did you mean mcp/look_up?"),
        ("(tool/call {:server \"mcp\" :tool \"lok_up\"})", "no tool 'lok_up' in upstream 'mcp'"),
    ] {
        let program = format!("(println \"ran\") (mcp/add {{}}) {source}");
        let ran = run(&["eval", "-e", &program, "--upstreams-config", &config]);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{source}: {}", ran.err);
        assert!(ran.err.contains(expected), "{source}: {}", ran.err);
    }
    // One that cannot start keeps nothing from running that does not call it.
    let ran = run(&["eval", "-e", "(if false (dead/x {}) (mcp/add {}))", "--upstreams-config", &config]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "7\n"), "{}", ran.err);
}

#[test]
fn programs_of_a_batch_call_upstreams_and_secrets_stay_covered() {
    let config = store("batch");
    let state = [("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))];
    let lines = [
        json!({"id": 1, "src": "(let [r (store/get {:id data/id})] (println (:note r)) [(:name r) (:note r)])", "data": {"id": 4}}),
        json!({"id": 2, "src": "(:value (tool/call 'store/get {:id 1}))", "upstream": {"store/get": {"default": "canned"}}}),
        json!({"id": 3, "src": "(stroe/get {:id 1})"}),
        json!({"id": 4, "src": "(+ 1 2)"}),
    ];
    let lines = lines.map(|line| format!("{line}\n")).concat();
    let ran = super::with_env(&["eval", "--batch", "--upstreams-config", &config], &lines, &state);
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), 4, "{}", ran.err);
    assert_eq!(answers[0]["json"][0], json!("item 4"), "{}", ran.out);
    assert_eq!(answers[0]["upstream_calls"][0]["tool"], json!("get"));
    assert!(ran.out.contains("[REDACTED]") && !ran.out.contains(TOKEN), "{}", ran.out);
    assert_eq!((&answers[1]["json"], &answers[1]["upstream_calls"]), (&json!("canned"), &Value::Null));
    assert_eq!(answers[2]["error"]["hint"], json!("did you mean store/get?"));
    assert_eq!(answers[3]["json"], json!(3));
}

#[test]
fn results_that_fastmcp_wraps_are_plain_values_and_dead_servers_say_why() {
    let config = late("wrapped");
    let eval = |source: &str| run(&["eval", "-e", source, "--upstreams-config", &config]);
    assert_eq!(eval("[(mcp/add {}) (:value (tool/call 'mcp/add {}))]").out, "[7 7]\n");
    // Nothing in the schema of the other tool says that it wraps.
    assert_eq!(eval("(mcp/look_up {})").out, "{:result 7}\n");
    assert!(eval("(doc 'mcp/add)").out.contains("Result<integer>"));
    let why = "process exited with status 3; its last words: no key";
    for source in [
        "(doc 'dead)",
        "(:message (tool/call 'dead/x {}))",
        "(do (dir 'dead) (dir 'mcp) (apropos \"zebra\"))",
    ] {
        let ran = eval(source);
        assert!(ran.out.contains(why), "{source}: {}{}", ran.out, ran.err);
    }
    let found = eval("(do (dir 'dead) (dir 'mcp) (apropos \"zebra\"))").out;
    assert!(found.contains("no tool fits"), "{found}");
}

#[test]
fn a_server_named_like_a_prelude_or_the_library_is_told_of_once_and_by_doc() {
    let config = late("hidden");
    let prelude =
        file("hidden-prelude.clj", "(ns mcp \"Things of ours.\")\n(defn hi \"Says hi.\" [] \"hi\")\n");
    let with = ["-p", &prelude, "--upstreams-config", &config];
    let eval = |source: &str| run(&[&["eval", "-e", source][..], &with].concat());
    let ran = eval("(mcp/hi)");
    assert_eq!(ran.out, "\"hi\"\n", "{}", ran.err);
    let note = "upstream 'mcp': mcp/ is a namespace of the prelude; programs call its tools as (tool/call {:server \
                \"mcp\"";
    assert_eq!(ran.err.matches(note).count(), 1, "{}", ran.err);
    let doc = eval("(doc 'mcp)").out;
    assert!(doc.contains("Things of ours.") && doc.contains("There is a server mcp, too"), "{doc}");
    let doc = eval("(doc 'mcp/look_up)").out;
    assert!(doc.contains("Call: (tool/call") && !doc.contains("Or: (mcp/look_up"), "{doc}");
    let checked = run(&[&["check", "-e", "(mcp/hi)"][..], &with].concat());
    assert_eq!((checked.code, checked.err.matches(note).count()), (0, 1), "{}", checked.err);
}

#[test]
fn every_surface_tells_once_of_a_server_that_the_prelude_hides() {
    let config = late("surfaces");
    let prelude =
        file("surfaces-prelude.clj", "(ns mcp \"Things of ours.\")\n(defn hi \"Says hi.\" [] \"hi\")\n");
    let program = file("surfaces-program.clj", "(mcp/hi)");
    let folder = folder("surfaces");
    let agent = format!(
        "prompt = \"Say hi\"\nmodel = \"script:replies.jsonl\"\nupstreams = {config:?}\npreludes = [{prelude:?}]\n"
    );
    let reply = json!({"program": "(return (mcp/hi))"}).to_string();
    write(&folder, &[("agent.toml", &agent), ("replies.jsonl", &reply)]);
    let note =
        "upstream 'mcp': mcp/ is a namespace of the prelude; programs call its tools as (tool/call {:server ";
    let told = |text: &str| text.replace('\\', "").matches(note).count();
    let upstreams = ["--upstreams-config", &config];
    let with = [&["-p", &prelude], &upstreams[..]].concat();
    for (args, more) in [
        (&["check", "-e", "(mcp/hi)"][..], &with[..]),
        (&["eval", "-e", "(mcp/hi)"], &with),
        (&["eval", "--check", "-e", "(mcp/hi)"], &with),
        (&["eval", "--batch"], &with),
        (&["repl", "-e", "(mcp/hi)"], &with),
        (&["plan", &program], &with),
        (&["prelude", "check", &prelude], &upstreams),
        (&["prelude", "inventory", &prelude], &upstreams),
        (&["mcp", "--prelude", &prelude], &upstreams),
        (&["run", "agent.toml"], &[]),
    ] {
        let ran = ptc_in(&folder, &[args, more].concat());
        assert_eq!((ran.code, told(&ran.err)), (0, 1), "{args:?}: {}{}", ran.out, ran.err);
    }
    // It tells before it looks for Restate, which is not there.
    let restate = "http://127.0.0.1:1";
    let mut worker =
        command_in(&folder, &["worker", "--listen", "127.0.0.1:0", "--restate", restate, "agent.toml"]);
    let mut worker = worker.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let lines = std::io::BufReader::new(worker.stderr.take().expect("a pipe")).lines();
    let found = lines.map_while(Result::ok).any(|line| told(&line) == 1);
    worker.kill().expect("it runs");
    worker.wait().expect("it ends");
    assert!(found, "the worker tells it");
}

#[test]
fn a_call_of_a_server_that_is_not_there_is_told_with_its_place_before_anything_runs() {
    let config = late("placed");
    let source = "(println \"it ran\")\n  (tool/call {:server \"mpc\" :tool \"add\"})";
    let with = ["-e", source, "--upstreams-config", &config];
    let checked = run(&[&["check"][..], &with].concat());
    assert!(checked.code == 1 && checked.err.contains("-e:2:3"), "{}", checked.err);
    let ran = run(&[&["eval"][..], &with].concat());
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{}", ran.err);
    for part in [
        "no upstream 'mpc' configured. Configured upstreams: dead, mcp",
        "did you mean :server \"mcp\"?",
        "-e:2:3",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let caught = "(try (tool/call {:server \"mpc\" :tool \"add\"}) (catch Exception e :caught))";
    let ran = run(&["eval", "-e", caught, "--upstreams-config", &config]);
    assert_eq!(ran.out, ":caught\n", "{}", ran.err);
}

#[test]
fn exports_have_the_effect_that_their_author_declares() {
    let config = late("declared");
    let prelude = file(
        "declared-prelude.clj",
        "(ns crm \"Customers.\")\n\
         (defn wipe \"Wipes.\" {:effect :write} [] (tool/call {:server \"mcp\" :tool \"add\" :args {}}))\n\
         (defn look \"Looks.\" {:effect :read} [] (tool/call {:server \"mcp\" :tool \"add\" :args {}}))\n\
         (defn some \"Nobody says.\" [] (tool/call {:server \"mcp\" :tool \"add\" :args {}}))\n",
    );
    let source = "(mapv (fn [f] (:effect (meta f))) ['crm/wipe 'crm/look 'crm/some])";
    let ran = run(&["eval", "-e", source, "-p", &prelude, "--upstreams-config", &config]);
    assert_eq!(ran.out, "[\"write\" \"read\" \"unknown\"]\n", "{}", ran.err);
}
