//! `ptc upstreams`: servers of a configuration are looked at and pinned. The server is a shell script that knows
//! two requests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::Ran;
use super::shell_server::shell_server;

/// The secret that the server is given, and tells everybody. `cargo xtask ci` looks for it in whatever tests print
/// and write.
const SECRET: &str = "ptc-sentinel-7f3a?9d>e1";

/// A server that lists the tools of the file that it is told.
fn listing_a_file() -> String {
    shell_server(r#"answer "{\"tools\":$(sed "s/@TOKEN@/$API_TOKEN/" "$TOOLS")}""#, ":")
}

/// Runs the command with the secret and `variables` in its environment.
fn ptc(args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args(args).env_remove("PTC_RUNNER_MCP_UPSTREAMS").env("THINGS_TOKEN", SECRET);
    let output = command.envs(variables.iter().copied()).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().expect("it ended"), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder with a configuration and the tools of its server.
struct Project(PathBuf);

impl Project {
    fn new(name: &str) -> Project {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("upstreams-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let project = Project(folder);
        project.tools(&json!([
            {"name": "look", "description": "Looks at a thing.\nKnows @TOKEN@.", "annotations": {"readOnlyHint": true},
             "inputSchema": {"type": "object", "properties": {"at": {"type": "string"}, "deep": {"type": "boolean"}}, "required": ["at"]}},
            {"name": "put", "inputSchema": {"type": "object", "properties": {"n": {"type": "int"}}}},
        ]));
        project.config(json!({"file": "pins.json"}));
        project
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    fn tools(&self, tools: &Value) {
        fs::write(self.path("tools.json"), tools.to_string()).expect("a file");
    }

    fn config(&self, pins: Value) {
        let server = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", listing_a_file()],
                            "env": {"TOOLS": self.path("tools.json"), "API_TOKEN": "${THINGS_TOKEN}"}});
        let mut config = json!({"upstreams": {"things": server}});
        if !pins.is_null() {
            config["pins"] = pins;
        }
        fs::write(self.path("upstreams.json"), config.to_string()).expect("a file");
    }

    /// Runs a command with the configuration.
    fn run(&self, command: &str, args: &[&str]) -> Ran {
        let config = self.path("upstreams.json");
        let ran = ptc(&[&["upstreams", command, &config], args].concat(), &[]);
        assert!(
            !ran.out.contains(SECRET) && !ran.err.contains(SECRET),
            "a secret got out: {}{}",
            ran.out,
            ran.err
        );
        ran
    }
}

#[test]
fn a_check_shows_state_tools_and_problems() {
    let project = Project::new("check");
    project.config(Value::Null);
    let ran = project.run("check", &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("things (mcp_stdio): ready in "), "{}", ran.out);
    assert!(lines[0].ends_with(" ms: script 7, protocol 2025-11-25, 2 tools"), "{}", ran.out);
    assert_eq!(lines[1], "  read    look {:at string, :deep boolean?} Looks at a thing. Knows [REDACTED].");
    assert_eq!(lines[2], "  unknown put {:n any?}");
    let problem = "tool 'put': input schema, /properties/n: has the type \"int\", which JSON Schema does not know; it probably means \"integer\"";
    assert_eq!(lines[3..], [format!("  ! {problem}")]);

    assert_eq!(project.run("check", &["--strict"]).code, 1);
    let ran = project.run("check", &["--json"]);
    let told: Value = serde_json::from_str(&ran.out).expect("a document");
    let server = &told["servers"][0];
    assert_eq!(
        (&told["ok"], &server["state"], &server["server"]["name"]),
        (&json!(true), &json!("ready"), &json!("script"))
    );
    assert_eq!(server["tools"][0]["arguments"][0], json!({"key": ":at", "type": "string", "required": true}));
    assert_eq!(server["tools"][1]["problems"].as_array().map(Vec::len), Some(1));
}

/// Whoever mends an entry is told of what it is meant to be.
#[test]
fn an_entry_with_a_mistake_is_called_what_it_is_meant_to_be() {
    let project = Project::new("meant");
    let servers = json!({"mcpServers": {
        "fine": {"command": "true"},
        "far": {"url": "no address"},
        "typed": {"type": "http"},
        "events": {"type": "sse", "url": ""},
        "near": {"command": 1},
    }});
    fs::write(project.path("upstreams.json"), servers.to_string()).expect("a file");
    let ran = project.run("check", &[]);
    for expected in ["far (mcp_http): ", "typed (mcp_http): ", "events (mcp_http): ", "near (mcp_stdio): "] {
        assert!(ran.out.contains(expected), "{expected}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn rules_for_tools_that_are_not_there_are_told_with_what_was_meant() {
    let project = Project::new("rules");
    project.config(Value::Null);
    let mut config: Value =
        serde_json::from_str(&fs::read_to_string(project.path("upstreams.json")).expect("a file"))
            .expect("JSON");
    let things = &mut config["upstreams"]["things"];
    things["effects"] = json!({"loook": "write", "put": "write"});
    // Nothing is left, and the tools that there would be are known all the same.
    things["include_tools"] = json!(["lok", "nothing_like_it", "x*"]);
    things["exclude_tools"] = json!(["putt", "y*"]);
    fs::write(project.path("upstreams.json"), config.to_string()).expect("a file");
    let ran = project.run("check", &[]);
    let told: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("  ! ")).collect();
    let expected = [
        "  ! nothing of this server can be called: \"effects\" names the tool 'loook', which is not there; did you mean 'look'?",
        "  ! \"include_tools\" names the tool 'lok', which is not there; did you mean 'look'?",
        "  ! \"include_tools\" names the tool 'nothing_like_it', which is not there",
        "  ! \"include_tools\" has the pattern 'x*', which no tool fits",
        "  ! \"exclude_tools\" names the tool 'putt', which is not there; did you mean 'put'?",
    ];
    assert_eq!(told, expected, "{}{}", ran.out, ran.err);
    assert_eq!(ran.code, 1, "what a tool does that is not there was meant for another one");
}

/// Programs may write hyphens for underscores; what says what a tool does must name it.
#[test]
fn an_effect_under_almost_the_name_of_a_tool_is_told() {
    let project = Project::new("almost");
    project.tools(&json!([{"name": "write_it", "inputSchema": {"type": "object"}}]));
    project.config(Value::Null);
    let text = fs::read_to_string(project.path("upstreams.json")).expect("a file");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["upstreams"]["things"]["effects"] = json!({"write-it": "read"});
    fs::write(project.path("upstreams.json"), config.to_string()).expect("a file");
    let ran = project.run("check", &[]);
    let told = "  ! nothing of this server can be called: \"effects\" names the tool 'write-it', which is not there; did you \
                mean 'write_it'?\n";
    assert!(ran.code == 1 && ran.out.contains(told), "{}{}", ran.out, ran.err);
}

#[test]
fn operations_of_an_api_are_tools() {
    let project = Project::new("openapi");
    let answer = json!({"200": {"description": "a pet", "content": {"application/json": {"schema": {"type": "object"}}}}});
    let id = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]);
    let operation =
        json!({"operationId": "getPet", "summary": "Finds a pet", "parameters": id, "responses": answer});
    let schema = json!({"openapi": "3.0.0", "info": {"title": "Pets", "version": "1"}, "paths": {"/pets/{id}": {"get": operation}}});
    fs::write(project.path("pets.json"), schema.to_string()).expect("a file");
    let upstream = |operation: &str| {
        let pets = json!({"transport": "openapi", "base_url": "https://pets.example", "schema_file": "pets.json",
                          "include_operations": [operation]});
        fs::write(project.path("upstreams.json"), json!({"upstreams": {"pets": pets}}).to_string())
            .expect("a file");
    };
    upstream("getPet");
    let ran = project.run("check", &[]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 2), "{}{}", ran.out, ran.err);
    assert!(ran.out.ends_with("\n  read    get-pet {:id integer} Finds a pet\n"), "{}", ran.out);
    upstream("getCat");
    let ran = project.run("check", &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("upstream_unavailable") && ran.out.contains("getCat"), "{}", ran.out);
}

#[test]
fn pins_are_written_compared_and_refreshed() {
    let project = Project::new("pin");
    let ran = project.run("check", &[]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("pins.json is not there; run `ptc upstreams pin`"), "{}", ran.err);

    let ran = project.run("pin", &["--dry-run"]);
    assert_eq!((ran.code, fs::exists(project.path("pins.json")).ok()), (0, Some(false)), "{}", ran.out);
    let ran = project.run("pin", &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("things: 2 tools\n  added   look\n  added   put\n"), "{}", ran.out);
    assert_eq!(project.run("check", &[]).code, 0);
    assert!(project.run("pin", &[]).out.starts_with("things: 2 tools\n/"), "nothing changed");

    project.tools(&json!([
        {"name": "look", "description": "Looks at a thing and tells everybody.", "inputSchema": {"type": "object"}},
        {"name": "fresh", "inputSchema": {"type": "object"}},
    ]));
    let ran = project.run("check", &[]);
    assert_eq!(ran.code, 1);
    for change in [
        "tool 'things/fresh' is new since tools were pinned",
        "tool 'things/look' is not as it was pinned: its description, a schema or a hint such as readOnlyHint changed",
        "tool 'things/put' was pinned and is gone",
    ] {
        assert!(ran.out.contains(change), "{change}: {}", ran.out);
    }
    let ran = project.run("check", &["--json"]);
    let told: Value = serde_json::from_str(&ran.out).expect("a document");
    assert_eq!(told["servers"][0]["pin_changes"][0], json!({"tool": "fresh", "change": "added"}));
    project.config(json!({"file": "pins.json", "policy": "warn"}));
    assert_eq!(project.run("check", &[]).code, 0, "a warning");
    // Whoever uses them is told, whether tools are listed at the start or when a program needs them.
    for (mode, program) in
        [("live", "(:ok (tool/call 'things/look {}))"), ("frozen", "1"), ("live", "(count (dir 'things))")]
    {
        let config = project.path("upstreams.json");
        let flags = ["--upstreams-config", &config, "--catalog-snapshot-mode", mode];
        let ran = ptc(&[&["eval", "-e", program], &flags[..]].concat(), &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let told = "ptc: tool 'things/look' is not as it was pinned: its description, a schema or a hint";
        assert_eq!(ran.err.matches(told).count(), 1, "{program}: {}", ran.err);
    }
    let ran = project.run("pin", &[]);
    assert!(ran.out.contains("added   fresh\n  changed look\n  removed put\n"), "{}", ran.out);
    assert_eq!(project.run("check", &[]).code, 0);
}

#[test]
fn a_server_that_is_down_keeps_its_pins() {
    let project = Project::new("down");
    assert_eq!(project.run("pin", &[]).code, 0);
    let before = fs::read_to_string(project.path("pins.json")).expect("pins");
    let config = json!({"pins": {"file": "pins.json"}, "upstreams": {"things": {"transport": "mcp_stdio", "command": "false"}}});
    fs::write(project.path("upstreams.json"), config.to_string()).expect("a file");
    let ran = project.run("check", &[]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.starts_with("things (mcp_stdio): upstream_unavailable: process exited with status 1"),
        "{}",
        ran.out
    );
    let ran = project.run("pin", &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("its pins stay as they were"), "{}", ran.out);
    assert_eq!(fs::read_to_string(project.path("pins.json")).expect("pins"), before);
}

#[test]
fn what_makes_no_sense_is_said_before_anything_starts() {
    let project = Project::new("wrong");
    for (config, message) in [
        (
            r#"{"upstreams": {"x": {"transport": "stdio"}}}"#,
            "upstream 'x', key 'transport': does not know \"stdio\"; use \"mcp_stdio\"",
        ),
        ("{", "JSON decode failed"),
        (
            r#"{"upstreams": {"x": {"transport": "mcp_stdio", "command": "sh", "env": {"A": "${PTC_NO_SUCH_VARIABLE}"}}}}"#,
            "\"A\" needs the environment variable PTC_NO_SUCH_VARIABLE, which is not set",
        ),
    ] {
        fs::write(project.path("upstreams.json"), config).expect("a file");
        let ran = project.run("check", &[]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{config}");
        assert!(ran.err.contains(message), "{config}: {}", ran.err);
    }
    project.config(Value::Null);
    let ran = project.run("check", &["--server", "thing"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no upstream 'thing' configured. Configured upstreams: things"), "{}", ran.err);
    let ran = project.run("pin", &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("names no pins file"), "{}", ran.err);
    assert_eq!(project.run("pin", &["--pins", &project.path("other.json")]).code, 0);
}

#[test]
fn a_configuration_is_found_without_being_named() {
    let project = Project::new("found");
    project.config(Value::Null);
    let text = fs::read_to_string(project.path("upstreams.json")).expect("the configuration");
    let folder = project.0.join("config/ptc_runner_mcp");
    fs::create_dir_all(&folder).expect("a folder");
    let home = project.path("config");
    let check = |named: Option<&str>| {
        let named = named.map(|named| ("PTC_RUNNER_MCP_UPSTREAMS", named));
        let variables: Vec<(&str, &str)> =
            [("XDG_CONFIG_HOME", home.as_str())].into_iter().chain(named).collect();
        let ran = ptc(&["upstreams", "check", "--json"], &variables);
        (Some(ran.code), ran.err)
    };
    let (code, err) = check(None);
    assert_eq!(code, Some(2));
    assert!(err.contains("no upstreams config: name a file, set PTC_RUNNER_MCP_UPSTREAMS"), "{err}");
    assert_eq!(check(Some(&project.path("upstreams.json"))), (Some(0), String::new()), "a file by variable");
    assert_eq!(check(Some(&text)), (Some(0), String::new()), "JSON in the variable");
    fs::write(folder.join("upstreams.json"), text).expect("a file");
    assert_eq!(check(None), (Some(0), String::new()), "the user's folder");
    assert_eq!(check(Some("/no/such/file.json")).0, Some(2), "what is named must be there");
}
