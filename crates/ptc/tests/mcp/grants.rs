//! What roles take away, tried over HTTP with the token of such a role: tools behind preludes, functions that are not
//! granted and their sources are out of reach whatever a program does.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::support::{Folder, HttpServer, TOKEN, call, text};

const BASE: &str = "(ns base \"Small things.\") (defn- secret-of-base [] 42) (defn twice [n] (* 2 n))";

const SALES: &str = r#"(ns sales "Customers.")
    (defn- dead [] "nobody calls this")
    (defn- put [row] (tool/call {:server "crm" :tool "put" :args row}))
    (defn row "A row of the CRM." [n] (:n (:value (tool/call {:server "crm" :tool "get" :args {:n n}}))))
    (defn store! "Keeps a row." [row] (put row))
    (defn store-all! "Keeps rows." [rows] (mapv store! rows))
    (defn double-row "Twice a row." [n] (base/twice (row n)))"#;

/// A server with a token of one role.
struct Granted {
    folder: Folder,
    server: HttpServer,
    mcp: String,
}

impl Granted {
    fn new(role: Json) -> Granted {
        let folder = Folder::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/approval/counting.py");
        let writes = folder.path().join("writes").display().to_string();
        let upstreams = json!({"upstreams": {"crm": {
            "transport": "mcp_stdio", "command": "python3", "args": [script, writes],
        }}});
        let tokens = json!({"tokens": [{"id": "one", "token_literal": TOKEN, "roles": ["one"]}]});
        let tools = ["lisp_session_start", "lisp_session_eval"];
        let policy =
            json!({"default_role": "one", "outer_policy": {"mcp_tools": tools}, "roles": {"one": role}});
        let upstreams = folder.file("upstreams.json", &upstreams.to_string());
        let tokens = folder.file("tokens.json", &tokens.to_string());
        let policy = folder.file("policy.json", &policy.to_string());
        let seeds = folder.path().join("preludes");
        std::fs::create_dir(&seeds).unwrap();
        for (name, text) in [("base.clj", BASE), ("sales.clj", SALES), ("sales.deps", "base\n")] {
            std::fs::write(seeds.join(name), text).unwrap();
        }
        let server = HttpServer::start(&[
            "--sessions",
            "--sessions-allow-prelude-write",
            "--upstreams-config",
            &upstreams,
            "--http-role-tokens",
            &tokens,
            "--session-roles",
            &policy,
            "--prelude-store-seed",
            &seeds.display().to_string(),
        ]);
        let mcp = server.open(&[("authorization", &format!("Bearer {TOKEN}"))]);
        Granted { folder, server, mcp }
    }

    fn call(&self, tool: &str, arguments: Json) -> Json {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str()), ("mcp-session-id", self.mcp.as_str())];
        self.server.post(&headers, &call(7, tool, arguments)).json()["result"].clone()
    }

    fn start(&self, arguments: Json) -> String {
        let started = self.call("lisp_session_start", arguments);
        started["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned()
    }

    fn eval(&self, session: &str, program: &str) -> (bool, String) {
        let result = self.call("lisp_session_eval", json!({"session_id": session, "program": program}));
        (result["isError"] == false, text(&result))
    }

    fn refuses(&self, session: &str, programs: &[&str]) {
        for program in programs {
            let (went_well, text) = self.eval(session, program);
            assert!(!went_well, "{program}: {text}");
        }
    }
}

#[test]
fn a_role_that_names_what_is_not_there_keeps_the_server_from_starting() {
    let folder = Folder::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/approval/counting.py");
    let writes = folder.path().join("writes").display().to_string();
    let upstreams = json!({"upstreams": {"crm": {
        "transport": "mcp_stdio", "command": "python3", "args": [script, writes],
    }}});
    let upstreams = folder.file("upstreams.json", &upstreams.to_string());
    for (role, told) in [
        (
            json!({"upstream_tools": ["upstream:crm/nope"]}),
            "unknown upstream operation(s): upstream:crm/nope",
        ),
        (json!({"preludes": ["nosuch@1"]}), "unknown prelude(s): nosuch@1"),
    ] {
        let policy = folder.file("policy.json", &json!({"roles": {"one": role}}).to_string());
        let args = ["--sessions", "--upstreams-config", &upstreams, "--session-roles", &policy];
        let output = crate::support::ptc(&args).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && err.contains(told), "{err}\nexpected: {told}");
    }
}

#[test]
fn r14_4_7_private_tools_answer_to_their_exports_only() {
    let granted = Granted::new(json!({"prelude_store": "write", "modes": ["write_capable"]}));
    let session = granted.start(json!({"mode": "write_capable"}));
    granted.refuses(
        &session,
        &[
            "(tool/prelude_store_list {})",
            "(let [f tool/prelude_store_list] (f {}))",
            "(map tool/prelude_store_list [{}])",
            "((fn [g] (g {})) tool/prelude_store_list)",
            "(defn helper [] (tool/prelude_store_list {})) (helper)",
            "(def prelude/list 1)",
            "(defn prelude/list [] (tool/prelude_store_list {}))",
            "(ns prelude) (defn mine [] (tool/prelude_store_list {}))",
            "(tool/prelude-store-list {})",
        ],
    );
    let (_, listed) = granted.eval(&session, "(:status (prelude/list))");
    assert!(listed.starts_with("user=> \"ok\""), "{listed}");
    for reserved in ["tool", "data", "budget", "ptc.core"] {
        let source = format!("(ns {reserved}) (defn f [] 1)");
        let program = format!("(:status (prelude/write {{:id \"{reserved}\" :source {source:?}}}))");
        let (_, written) = granted.eval(&session, &program);
        assert!(written.starts_with("user=> \"error\""), "{reserved}: {written}");
    }
}

#[test]
fn r14_4_7_what_is_taken_away_cannot_be_reached_or_read() {
    let granted = Granted::new(json!({"upstream_tools": ["upstream:crm/get"]}));
    let session = granted.start(json!({"preludes": ["sales"]}));
    let (_, row) = granted.eval(&session, "(sales/double-row 4)");
    assert!(row.starts_with("user=> 8"), "{row}");
    granted.refuses(
        &session,
        &[
            "(sales/store! {:n 1})",
            "(sales/store-all! [{:n 1}])",
            "(let [f sales/store!] (f {:n 1}))",
            "(map sales/store! [{:n 1}])",
            "(sales/put {:n 1})",
            "(sales/dead)",
            "(base/secret-of-base)",
            "(def sales/store! (fn [row] row))",
        ],
    );
    for hidden in ["sales/store!", "sales/put", "sales/dead", "base/secret-of-base"] {
        let (_, text) = granted.eval(&session, &format!("(source {hidden})"));
        assert!(text.contains("no source available") && !text.contains("defn"), "{hidden}: {text}");
    }
    let direct = r#"(:reason (tool/call {:server "crm" :tool "put" :args {:n 1}}))"#;
    let (_, reason) = granted.eval(&session, direct);
    assert!(reason.starts_with("user=> :upstream_tool_denied"), "{reason}");
    assert!(!granted.folder.path().join("writes").exists(), "nothing was written");
}
