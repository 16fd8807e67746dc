//! `ptc setup`: what a client keeps from its model, what it passes on to its servers and how long it waits for them, is so behind
//! `ptc mcp` too.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::setup::{Home, kept_servers};
use super::shell_server::{listing_only, shell_server};

#[test]
fn what_a_client_denies_is_denied_behind_ours() {
    let claude = json!({"mcpServers": {"files": {"command": "a"}, "other": {"command": "b"}}});
    let mcp =
        json!({"files": {"type": "local", "command": ["a"]}, "other": {"type": "local", "command": ["b"]}});
    let rules =
        json!({"permissions": {"deny": ["mcp__files__env", "Bash(rm *)"], "ask": ["mcp__files__slow"]}});
    let opencode = ".config/opencode/opencode.json";
    // The client, its file, another one with rules, and whether the first is that of the project.
    let cases = [
        ("claude-code", (".claude.json", claude.clone()), (".claude/settings.json", rules.clone()), false),
        (
            "claude-code",
            ("shop/.mcp.json", claude.clone()),
            ("shop/.claude/settings.local.json", rules.clone()),
            true,
        ),
        // Settings of a project count for what the user has everywhere, too.
        ("claude-code", (".claude.json", claude), ("shop/.claude/settings.json", rules), false),
        (
            "opencode",
            (opencode, json!({"mcp": mcp, "tools": {"files_env": false}})),
            ("shop/opencode.json", json!({"permission": {"files_slow": "ask"}})),
            false,
        ),
        (
            "opencode",
            (opencode, json!({"mcp": mcp, "permission": {"files_env": "deny", "files_slow": "ask"}})),
            ("shop/opencode.json", json!({})),
            false,
        ),
    ];
    for (client, own, other, is_project) in cases {
        let home = Home::new(&format!("denied-{client}"));
        home.write("shop/some.txt", "");
        for (file, content) in [&own, &other] {
            home.write(file, &content.to_string());
        }
        let mut args = vec!["setup", client, "--yes", "--no-check"];
        args.extend(is_project.then_some("--project"));
        let done = home.ptc_in("shop", &args);
        let case = format!("{client}, {}, {}", own.0, other.0);
        assert_eq!(done.code, 0, "{case}: {}{}", done.out, done.err);
        assert!(done.out.contains("  - files\n    without env, which "), "{case}: {}", done.out);
        assert!(done.out.contains("    slow needs approval, as "), "{case}: {}", done.out);
        let servers = kept_servers(&home);
        assert_eq!(servers["files"]["excludeTools"], json!(["env"]), "{case}");
        assert_eq!(servers["files"]["approval"], json!({"slow": "ask"}), "{case}");
        assert_eq!(servers["other"].get("excludeTools"), None, "{case}");
    }
}

#[test]
fn a_server_that_a_client_denies_stays() {
    let home = Home::new("denied-whole");
    home.write(
        ".claude.json",
        "{\"mcpServers\": {\"files\": {\"command\": \"a\"}, \"other\": {\"command\": \"b\"}}}",
    );
    home.write("own/settings.json", "{\"permissions\": {\"deny\": [\"mcp__files\"]}}");
    home.write("own/.claude.json", &home.read(".claude.json"));
    let folder = home.0.join("own");
    let env: [(&str, &Path); 1] = [("CLAUDE_CONFIG_DIR", &folder)];
    let done = home.ptc_with(".", &["setup", "claude-code", "--yes", "--no-check"], &env);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(
        done.out.contains("  = files stays in the client: ") && done.out.contains("denies all its tools"),
        "{}",
        done.out
    );
    let left: Json = serde_json::from_str(&home.read("own/.claude.json")).expect("JSON");
    assert!(left["mcpServers"].get("files").is_some() && left["mcpServers"].get("other").is_none(), "{left}");
}

#[test]
fn a_server_that_the_project_switches_off_stays_off() {
    let home = Home::new("override");
    home.write(
        ".config/opencode/opencode.json",
        "{\"mcp\": {\"extra\": {\"type\": \"local\", \"command\": [\"a\"]}}}",
    );
    home.write(
        "shop/opencode.json",
        "{\"mcp\": {\"extra\": {\"enabled\": false}, \"own\": {\"type\": \"local\", \"command\": [\"b\"]}}}",
    );
    let done = home.ptc_in("shop", &["setup", "opencode", "--project", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("  = extra stays in the client: server 'extra': it only changes a server that stands in another file"), "{}", done.out);
    let left: Json = serde_json::from_str(&home.read("shop/opencode.json")).expect("JSON");
    assert_eq!(left["mcp"]["extra"], json!({"enabled": false}));
}

#[test]
fn servers_have_the_environment_and_the_time_that_they_had() {
    let home = Home::new("as-before");
    home.write(".claude.json", "{\"mcpServers\": {\"slow\": {\"command\": \"a\", \"timeout\": 90000}}}");
    let done = home.ptc(&["setup", "claude-code", "--yes", "--no-check"]);
    assert!(
        done.out.contains("servers have the whole environment of the client, as before"),
        "{}{}",
        done.out,
        done.err
    );
    let kept = kept_servers(&home);
    assert_eq!(
        (&kept["slow"]["inherit_env"], &kept["slow"]["call_timeout_ms"]),
        (&json!(true), &json!(90_000))
    );
    let own: Json = serde_json::from_str(&home.read(".claude.json")).expect("JSON");
    let own = &own["mcpServers"]["ptc"];
    assert_eq!((&own["timeout"], &own["args"][2]), (&json!(95_000), &json!("--program-timeout-ms=95000")));

    let home = Home::new("as-before-codex");
    home.write(
        ".codex/config.toml",
        "[mcp_servers.slow]\ncommand = \"a\"\ntool_timeout_sec = 90\nstartup_timeout_sec = 20\n\n\
         [mcp_servers.slow.tools.read]\napproval_mode = \"prompt\"\n",
    );
    let done = home.ptc(&["setup", "codex", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let kept = kept_servers(&home);
    assert!(done.out.contains("  - slow\n    read needs approval, as its entry says\n"), "{}", done.out);
    assert_eq!(kept["slow"]["approval"], json!({"read": "ask"}));
    assert_eq!(kept["slow"].get("inherit_env"), None, "Codex holds variables back");
    assert_eq!(
        (&kept["slow"]["call_timeout_ms"], &kept["slow"]["handshake_timeout_ms"]),
        (&json!(90_000), &json!(20_000))
    );
    assert!(
        home.read(".codex/config.toml").contains("tool_timeout_sec = 95"),
        "{}",
        home.read(".codex/config.toml")
    );
}

/// A child that has our whole environment, with secrets in it, tells it: the value of a name that says so is covered.
#[test]
fn an_inherited_environment_reaches_the_child_and_its_secrets_stay_covered() {
    let home = Home::new("inherited");
    home.write(
        "env.sh",
        r#"while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"env","version":"7"},"capabilities":{"tools":{}}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"env","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"profile=%s token=%s own=%s"}]}}\n' "$id" "$AWS_PROFILE" "$SHOP_TOKEN" "$PTC_RUNNER_MCP_HTTP_AUTH_TOKEN" ;;
  esac
done
"#,
    );
    for (inherits, expected) in
        [(true, "profile=shop token=[REDACTED] own="), (false, "profile= token= own=")]
    {
        let script = home.0.join("env.sh");
        let entry =
            json!({"mcpServers": {"x": {"command": "sh", "args": [script], "inherit_env": inherits}}});
        home.write("servers.json", &entry.to_string());
        let env: [(&str, &Path); 3] = [
            ("AWS_PROFILE", Path::new("shop")),
            ("SHOP_TOKEN", Path::new("inherited-token-1234")),
            ("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", Path::new("own-token-12345678")),
        ];
        let args = ["eval", "--upstreams-config", "servers.json", "-e", "(x/env)"];
        let ran = home.ptc_with(".", &args, &env);
        assert_eq!(ran.out.trim(), format!("{expected:?}"), "{inherits}: {}", ran.err);
    }
}

#[test]
fn the_folder_of_a_file_that_is_named_without_one_is_filled_in() {
    let home = Home::new("workspace");
    let text = "{\"mcpServers\": {\"x\": {\"command\": \"${workspaceFolder}/no-such-program\"}}}";
    let folder = home.0.canonicalize().expect("it is there");
    for (here, file, expected) in [
        (".", "ws.json", folder.join("no-such-program")),
        ("shop/.vscode", "mcp.json", folder.join("shop/no-such-program")),
        ("shop", ".vscode/mcp.json", folder.join("shop/no-such-program")),
    ] {
        home.write(&format!("{here}/{file}"), text);
        let checked = home.ptc_in(here, &["upstreams", "check", file]);
        assert!(
            checked.out.contains(&format!("command not found: {}", expected.display())),
            "{file}: {}{}",
            checked.out,
            checked.err
        );
    }
}

#[test]
fn what_cannot_be_written_is_named_and_leaves_nothing() {
    let home = Home::new("unwritable");
    let before = home.write(".claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    // A file where a folder should be stops everybody, root too.
    fs::write(home.0.join("config"), "").expect("a file");
    let config = home.0.join("config");
    let env: [(&str, &Path); 1] = [("XDG_CONFIG_HOME", &config)];
    let refused = home.ptc_with(".", &["setup", "claude-code", "--yes", "--no-check"], &env);
    assert!(
        refused.code == 2 && refused.err.contains("ptc_runner_mcp/setup cannot be written"),
        "{}",
        refused.err
    );
    assert_eq!(home.read(".claude.json"), before);
}

#[test]
fn an_undo_elsewhere_says_where_the_servers_are() {
    let home = Home::new("undo-elsewhere");
    home.write(".claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    assert_eq!(home.ptc(&["setup", "claude-code", "--yes", "--no-check"]).code, 0);
    let other = home.0.join("other");
    let env: [(&str, &Path); 1] = [("XDG_CONFIG_HOME", &other)];
    let refused = home.ptc_with(".", &["setup", "claude-code", "--undo"], &env);
    assert!(
        refused.code == 2
            && refused.err.contains("kept elsewhere")
            && refused.err.contains(".config/ptc_runner_mcp/setup/"),
        "{}",
        refused.err
    );
}

#[test]
fn an_empty_home_is_none() {
    let home = Home::new("empty-home");
    let before = home.write(".claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}");
    let empty: [(&str, &Path); 2] = [("HOME", Path::new("")), ("USERPROFILE", Path::new(""))];
    let refused = home.ptc_with(".", &["setup", "claude-code", "--yes", "--no-check"], &empty);
    assert!(refused.code == 2 && refused.err.contains("HOME is not set"), "{}{}", refused.out, refused.err);
    assert_eq!(home.read(".claude.json"), before);
}

/// Claude Code shows `get.user` to its model as `get_user`, and that is what its rules say.
#[test]
fn rules_hold_for_tools_whose_names_the_client_writes_otherwise() {
    let settings = json!({"permissions": {"deny": ["mcp__script__get_user", "mcp__script__gone"], "allow": ["mcp__script"]}});
    for checks in [true, false] {
        let home = Home::new(&format!("rewritten-{checks}"));
        let script = shell_server(&listing_only("get.user"), ":");
        fs::write(home.0.join("server.sh"), script).expect("a script");
        home.write(
            ".claude.json",
            "{\"mcpServers\": {\"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"]}}}",
        );
        home.write(".claude/settings.json", &settings.to_string());
        let mut args = vec!["setup", "claude-code", "--yes"];
        args.extend((!checks).then_some("--no-check"));
        let done = home.ptc(&args);
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
        let expected = if checks { json!(["get.user", "gone"]) } else { json!(["get_user", "gone"]) };
        assert_eq!(kept_servers(&home)["script"]["excludeTools"], expected, "{}", done.out);
        let told = "    ! no tool is called gone; the rule is kept as it is\n";
        assert_eq!(done.out.contains(told), checks, "{}", done.out);
        // Either way it is not there.
        home.write("servers.json", &json!({"mcpServers": kept_servers(&home)}).to_string());
        let ran = home.ptc(&[
            "eval",
            "--upstreams-config",
            "servers.json",
            "-e",
            "(tool/call {:server \"script\" :tool \"get.user\" :args {}})",
        ]);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains("unknown_tool") || told.contains("no tool 'get.user'"), "{checks}: {told}");
        // And what the model may call without asking is asked about now.
        assert!(
            done.out.contains("the model may call script without asking (mcp__script in "),
            "{}",
            done.out
        );
        assert!(done.out.contains("\"mcp__ptc__lisp_eval\""), "{}", done.out);
    }
}

/// A server with a variable that is not set works in the client, so it works behind ours.
#[test]
fn a_server_with_a_variable_that_is_not_set_is_there() {
    let entry = |key: &str, value: Json| json!({"command": "sh", "args": ["SERVER"], key: value});
    let opencode =
        json!({"type": "local", "command": ["sh", "SERVER"], "environment": {"K": "{env:NO_SUCH}"}});
    let cases = [
        (
            "claude-code",
            ".claude.json",
            json!({"mcpServers": {"script": entry("env", json!({"K": "${NO_SUCH}"}))}}).to_string(),
            "${NO_SUCH} is not set and is passed on as it stands, as by the client",
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            json!({"mcp": {"script": opencode}}).to_string(),
            "NO_SUCH is not set here: the server gets nothing in its place, as from the client",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            json!({"mcpServers": {"script": entry("env", json!({"K": "$NO_SUCH"}))}}).to_string(),
            "NO_SUCH is not set here: the server gets nothing in its place, as from the client",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.script]\ncommand = \"sh\"\nargs = [\"SERVER\"]\nenv_vars = [\"NO_SUCH\"]\n"
                .to_owned(),
            "NO_SUCH is not set and is left out, as by the client",
        ),
    ];
    for (client, file, text, told) in cases {
        let home = Home::new(&format!("unset-{client}"));
        home.write(file, &text);
        let done = home.ptc(&["setup", client, "--yes"]);
        assert_eq!(done.code, 0, "{client}: {}{}", done.out, done.err);
        assert!(done.out.contains(told), "{client}: {}", done.out);
        assert!(done.out.contains("  script is ready: 1 tool\n"), "{client}: {}", done.out);
    }
}
