//! The rules of clients, as servers take them along.

use super::*;

fn rules(client: &'static str, said: &[(&str, Verdict)]) -> Rules {
    let rule = |(pattern, verdict): &(&str, Verdict)| Rule {
        pattern: (*pattern).to_owned(),
        verdict: *verdict,
        file: "settings.json".into(),
        agent: None,
    };
    Rules { client, rules: said.iter().map(rule).collect(), off: BTreeMap::new(), allowed: Vec::new() }
}

#[test]
fn rules_of_clients_go_with_the_server() {
    use Verdict::{Allow, Ask, Deny};
    /// A client, what its rules say, and what its server gets.
    type Case<'c> = (&'c str, &'c [(&'c str, Verdict)], Json);
    let cases: &[Case<'_>] = &[
        ("claude-code", &[("mcp__my_files__env", Deny)], json!({"excludeTools": ["env"]})),
        ("claude-code", &[("mcp__my_files__get_*", Ask)], json!({"approval": {"get_*": "ask"}})),
        ("claude-code", &[("mcp__my_files", Ask)], json!({"approval": {"*": "ask"}})),
        ("claude-code", &[("mcp__my", Deny), ("mcp__other__env", Deny), ("Bash", Deny)], json!({})),
        ("claude-code", &[("mcp__*__drop", Deny)], json!({"excludeTools": ["*__drop", "_drop", "drop"]})),
        ("opencode", &[("my_files_env", Deny)], json!({"excludeTools": ["env"]})),
        ("opencode", &[("my_files_*", Deny), ("my_files_look", Allow)], json!({"includeTools": ["look"]})),
        (
            "opencode",
            &[("*", Ask), ("my_files_look", Allow)],
            json!({"approval": {"*": "ask", "look": "never"}}),
        ),
        ("opencode", &[("*", Deny), ("my_*", Allow)], json!({})),
        ("cursor", &[("Mcp(my files:env", Deny)], json!({"excludeTools": ["env"]})),
        ("zed", &[("mcp:my files:env", Ask)], json!({"approval": {"env": "ask"}})),
        (
            "gemini",
            &[("mcp_my_files_env", Deny), ("my_files__put", Deny)],
            json!({"excludeTools": ["env", "put"]}),
        ),
        // A name that was cut keeps both ends.
        (
            "gemini",
            &[("mcp_my_files_read_every_file_t...to_the_caller_in_one_long_text", Deny)],
            json!({"excludeTools": ["read_every_file_t*to_the_caller_in_one_long_text"]}),
        ),
        ("gemini", &[("env", Deny), ("run_shell_command", Deny)], json!({"excludeTools": ["env"]})),
    ];
    for (client, said, expected) in cases {
        let mut entry = json!({});
        let patterns: Vec<&str> = said.iter().map(|(pattern, _)| *pattern).collect();
        rules(client, said).apply("my files", &mut entry).expect("it moves");
        assert_eq!(entry, *expected, "{client}: {patterns:?}");
    }
}

#[test]
fn a_server_that_is_denied_stays() {
    for (client, pattern) in [
        ("claude-code", "mcp__files"),
        ("claude-code", "mcp__files__*"),
        ("claude-code", "mcp__*"),
        ("opencode", "files*"),
        ("opencode", "files_*"),
        ("cursor", "Mcp(files:*"),
    ] {
        let why = rules(client, &[(pattern, Verdict::Deny)]).apply("files", &mut json!({}));
        assert_eq!(why, Err("settings.json denies all its tools".to_owned()), "{client}: {pattern}");
    }
}

#[test]
fn lists_that_are_there_grow() {
    let mut entry = json!({"disabledTools": ["put"]});
    let remarks = rules("claude-code", &[("mcp__files__env", Verdict::Deny)]).apply("files", &mut entry);
    assert_eq!(entry, json!({"disabledTools": ["put", "env"]}));
    assert_eq!(remarks, Ok(vec!["without env, which settings.json denies".to_owned()]));
}

#[test]
fn rules_get_the_names_that_tools_have() {
    let client = |name: &str| Client::named(name).expect("a client");
    let tools = ["get.user", "put", "größe", "a_b", "a.b"];
    let mut entry = json!({
        "excludeTools": ["get_user", "put", "gr__e", "gone", "a_b", "x_*"],
        "approval": {"*": "ask", "get_user": "never"}
    });
    let remarks = with_real_names(client("claude-code"), &mut entry, &tools);
    assert_eq!(entry["excludeTools"], json!(["get.user", "put", "größe", "gone", "a_b", "a.b", "x_*"]));
    assert_eq!(entry["approval"], json!({"*": "ask", "get.user": "never"}));
    assert_eq!(
        remarks,
        [
            "get_user is what the client calls get.user",
            "gr__e is what the client calls größe",
            "! no tool is called gone; the rule is kept as it is",
            "a_b is what the client calls a_b, a.b",
        ]
    );
    // Gemini CLI names tools that there are as the server does, opencode as it shows them.
    for (name, expected) in [("gemini", "get_user"), ("opencode", "get.user")] {
        let mut entry = json!({"includeTools": ["get_user"]});
        with_real_names(client(name), &mut entry, &tools);
        assert_eq!(entry["includeTools"], json!([expected]), "{name}");
    }
}
