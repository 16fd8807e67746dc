//! Servers and tools whose names or definitions are odd: what a program is told that asks for them, and how it calls them.

use std::path::PathBuf;

use serde_json::json;

use super::shell_server::{listing, shell_server};
use super::{Ran, file, with_env};

fn run(config: &str, args: &[&str]) -> Ran {
    // What is learned does not go into the folder of whoever runs the tests.
    let state = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("state");
    let args = [args, &["--upstreams-config", config]].concat();
    with_env(&args, "", &[("XDG_STATE_HOME", state.to_str().expect("UTF-8"))])
}

fn eval(config: &str, source: &str) -> Ran {
    run(config, &["eval", "-e", source])
}

/// Three servers with the same tools: one that can be read, one whose name breaks its line, and one that nests too deep.
fn servers(name: &str) -> String {
    let deep = format!("{}{{}}{}", "{\"items\":".repeat(200), "}".repeat(200));
    let tools = format!(
        r#"[{{"name":"look","inputSchema":{{"type":"object","properties":{{"q":{{"type":"string"}}}},"required":["q"]}}}},{{"name":"bro\nken","inputSchema":{{"type":"object"}}}},{{"name":"deep","inputSchema":{deep}}}]"#
    );
    let calling = r#"answer '{"content":[{"type":"text","text":"7"}]}'"#;
    let script = file(&format!("{name}-server.sh"), &shell_server(&listing(&tools), calling));
    let own = json!({"transport": "mcp_stdio", "command": "sh", "args": [script]});
    file(
        &format!("{name}-upstreams.json"),
        &json!({"upstreams": {"s": own, "data": own, "3d": own}}).to_string(),
    )
}

#[test]
fn a_tool_that_cannot_be_read_says_why_wherever_it_is_asked_for() {
    let config = servers("unusable");
    let why = "tool 'deep' of upstream 's' cannot be used: its definition nests deeper than the 127 levels that are read";
    for source in ["(s/deep {})", "(doc 's/deep)", "(meta 's/deep)"] {
        let ran = eval(&config, source);
        assert!(ran.code == 1 && ran.err.contains(why), "{source}: {}{}", ran.out, ran.err);
    }
    let ran = eval(&config, "(tool/call 's/deep {})");
    assert!(ran.out.contains(":reason :upstream_error") && ran.out.contains(why), "{}{}", ran.out, ran.err);
    let ran = run(&config, &["check", "-e", "(s/deep {})"]);
    assert!(ran.code == 1 && ran.err.contains(why), "{}{}", ran.out, ran.err);
    // What is no tool at all is still told as that, with names that stay in their line.
    let ran = eval(&config, "(tool/call 's/nope {})");
    assert!(ran.err.contains("no tool 'nope' in upstream 's'. Known tools: bro\\nken, look"), "{}", ran.err);
}

#[test]
fn a_server_with_the_name_of_inputs_is_documented_and_called_by_tool_call() {
    let config = servers("of-data");
    // Where its tools were listed before the program began.
    let asked = ["eval", "--catalog-snapshot-mode", "frozen", "-e", "(println (doc \"data/look\"))"];
    let ran = run(&config, &asked);
    assert!(ran.out.starts_with("data/look\nArgs: :q string\n"), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("Call: (tool/call {:server \"data\" :tool \"look\""), "{}", ran.out);
    assert!(!ran.out.contains("Or: ("), "{}", ran.out);
    let ran = eval(&config, "(println (doc \"data/other\"))");
    let input = "An input of the program.\n  (describe data/other) tells its shape.\n  There is a server data, too: (dir \"data\")";
    assert!(ran.out.contains(input), "{}{}", ran.out, ran.err);
    assert_eq!(
        eval(&config, "(:value (tool/call {:server \"data\" :tool \"look\" :args {:q \"x\"}}))").out,
        "7\n"
    );
}

#[test]
fn a_server_whose_name_is_no_name_of_a_function_is_told_at_start() {
    let config = servers("digit");
    let ran = eval(&config, "(:value (tool/call {:server \"3d\" :tool \"look\" :args {:q \"x\"}}))");
    assert_eq!(ran.out, "7\n", "{}", ran.err);
    let note = "upstream '3d': 3d/ cannot be read as the namespace of a function; programs call its tools as (tool/call \
                {:server \"3d\"";
    assert!(ran.err.contains(note), "{}", ran.err);
    assert!(!ran.err.contains("upstream 's'"), "{}", ran.err);
}

#[test]
fn a_call_without_what_its_tool_requires_is_found_by_a_check() {
    let config = servers("lacking");
    let ran = run(&config, &["check", "-e", "(s/look {})"]);
    assert!(
        ran.code == 1 && ran.err.contains("s/look is called without q, which it requires"),
        "{}",
        ran.err
    );
    let ran = run(&config, &["check", "-e", "(s/look {:q (str 1)})"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn what_keeps_a_server_of_a_client_from_being_used_is_told_once() {
    let config = file(
        "told-once.json",
        "{\"mcpServers\": {\"x\": {\"command\": \"x\", \"type\": \"odd\"}, \"y\": {\"command\": \"true\"}}}",
    );
    let ran = eval(&config, "1");
    assert_eq!(ran.err.matches("does not know \"odd\"").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("upstream 'x' cannot be used: "), "{}", ran.err);
}
