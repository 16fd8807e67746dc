//! `ptc mcp` itself: settings, `--print-config`, snippets for clients.

use std::process::Output;

use serde_json::{Value as Json, json};

use crate::support::{Folder, StdioServer, TOKEN, ptc};

fn run(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = ptc(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn r3_1_unknown_and_bad_settings_are_refused() {
    for (args, message) in [
        (&["--max-sesions", "3"][..], "--max-sessions"),
        (
            &["--max-sessions", "0"],
            "--max-sessions / PTC_RUNNER_MCP_MAX_SESSIONS must be a positive integer, got: 0",
        ),
        (&["--max-sessions", "-2"], "must be a positive integer, got: -2"),
        (&["--response-profile", "fat"], "must be slim, structured or debug, got: fat"),
        (&["--client", "emacs"], "claude-code"),
        (
            &["--client", "claude-code", "--upstreams-config", "/nonexistent/upstreams.json"],
            "--upstreams-config: there is no file /nonexistent/upstreams.json",
        ),
        (&["--agentic-allow-writes"], "--agentic-allow-writes needs --agentic"),
        (&["--upstreams-config", "/nonexistent/upstreams.json"], "/nonexistent/upstreams.json"),
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(err.contains(message), "{args:?}: {err}");
    }
    let output = ptc(&[]).env("PTC_RUNNER_MCP_MAX_SESION", "3").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("unknown variable PTC_RUNNER_MCP_MAX_SESION"), "{err}");
}

#[test]
fn the_configuration_is_printed_without_secrets() {
    let output = ptc(&["--http-auth-token", TOKEN, "--sessions", "--http-rate=1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let (code, out, _) =
        run(&["--print-config", "--http-auth-token", TOKEN, "--sessions", "--debug-tool=off"]);
    assert_eq!(code, 0);
    let shown: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(shown["sessions"], json!({"value": true, "from": "--sessions"}));
    assert_eq!(shown["debug-tool"]["value"], false);
    assert!(!out.contains(TOKEN));
}

#[test]
fn snippets_start_the_server_that_they_describe() {
    let folder = Folder::new();
    let args = ["--sessions", "--trace-dir", "traces", "--client"];
    let snippet = |client: &str| {
        let output = ptc(&[&args[..], &[client]].concat()).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let desktop: Json = serde_json::from_str(&snippet("claude-desktop")).unwrap();
    let server = &desktop["mcpServers"]["ptc"];
    assert_eq!(server, &serde_json::from_str::<Json>(&snippet("cursor")).unwrap()["mcpServers"]["ptc"]);
    let vscode: Json = serde_json::from_str(&snippet("vscode")).unwrap();
    assert_eq!(vscode["servers"]["ptc"]["args"], server["args"]);
    let absolute = format!("--trace-dir={}", folder.path().join("traces").display());
    assert_eq!(server["args"], json!(["mcp", absolute, "--sessions=true"]));
    let code = snippet("claude-code");
    assert!(code.starts_with("claude mcp add ptc -- /") && code.contains(&absolute), "{code}");
    let codex: toml::Table = snippet("codex").parse().unwrap();
    assert_eq!(codex["mcp_servers"]["ptc"]["args"].as_array().map(Vec::len), Some(3));
    let read = |client: &str| serde_json::from_str::<Json>(&snippet(client)).unwrap();
    for client in ["gemini", "windsurf"] {
        assert_eq!(&read(client)["mcpServers"]["ptc"], server, "{client}");
    }
    assert_eq!(read("zed")["context_servers"]["ptc"]["args"], server["args"]);
    assert_eq!(read("opencode")["mcp"]["ptc"]["command"].as_array().map(Vec::len), Some(4));

    let mut command = std::process::Command::new(server["command"].as_str().unwrap());
    command
        .args(server["args"].as_array().unwrap().iter().filter_map(Json::as_str))
        .env("HOME", "/nonexistent");
    let mut started = StdioServer::spawn(command);
    assert_eq!(started.ask(1, "ping", json!({}))["result"], json!({}));
}

#[test]
fn snippets_for_clients_that_hold_variables_back_name_those_that_are_needed() {
    let folder = Folder::new();
    for servers in [
        json!({"mcpServers": {"x": {"command": "a", "env": {"T": "${MY_TOKEN}"}}}}),
        json!({"credentials": {"t": {"source": "env", "var": "MY_TOKEN"}}, "upstreams": {}}),
    ] {
        std::fs::write(folder.path().join("upstreams.json"), servers.to_string()).unwrap();
        let snippet = |client: &str| {
            let args = ["--upstreams-config", "upstreams.json", "--client", client];
            let output = ptc(&args).current_dir(folder.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let codex: toml::Table = snippet("codex").parse().unwrap();
        let named = codex["mcp_servers"]["ptc"]["env_vars"].as_array().unwrap();
        assert_eq!(named.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>(), ["MY_TOKEN"]);
        let gemini: Json = serde_json::from_str(&snippet("gemini")).unwrap();
        assert_eq!(gemini["mcpServers"]["ptc"]["env"], json!({"MY_TOKEN": "$MY_TOKEN"}));
    }
}

#[test]
fn snippets_for_http_name_the_address_and_no_secret() {
    for client in ["claude-code", "cursor", "vscode", "codex", "opencode", "gemini", "windsurf"] {
        let (code, out, err) =
            run(&["--http", "127.0.0.1:9999", "--http-auth-token", TOKEN, "--client", client]);
        assert_eq!(code, 0, "{err}");
        assert!(out.contains("http://127.0.0.1:9999/mcp") && !out.contains(TOKEN), "{out}");
        assert!(err.starts_with("ptc: "), "it is said where that goes: {err}");
        if let Some(words) = out.strip_prefix("claude ") {
            // What a shell hands on is kept in the client's configuration.
            let mut shell = std::process::Command::new("sh");
            let kept = shell
                .args(["-c", &format!("printf '%s ' {words}")])
                .env("PTC_TOKEN", TOKEN)
                .output()
                .unwrap();
            let kept = String::from_utf8(kept.stdout).unwrap();
            assert!(kept.contains("Authorization: Bearer ${PTC_TOKEN} ") && !kept.contains(TOKEN), "{kept}");
        }
    }
    let (code, _, err) = run(&["--http", "--client", "claude-desktop"]);
    assert!(code == 2 && err.contains("leave out --http"), "{err}");
    let (code, _, err) = run(&["--http-auth-token", TOKEN, "--client", "cursor"]);
    assert!(code == 2 && err.contains("--http-auth-token holds a secret") && !err.contains(TOKEN), "{err}");
}

#[test]
fn help_has_what_people_change_and_all_of_it_on_request() {
    let (code, all, _) = run(&["--help-all"]);
    assert_eq!(code, 0);
    for setting in ptc_server::options::SETTINGS {
        assert!(all.contains(&format!("--{}", setting.flag)), "{}", setting.flag);
        assert!(all.contains(&format!("\n{}:\n", setting.group)), "{}\n{all}", setting.group);
    }
    assert!(!all.contains("<VALUE>"), "{all}");
    let some = "These are the settings that are changed most; `ptc mcp --help-all` shows all of them.";
    assert!(!all.contains(some) && all.contains("Every flag has a variable: "), "{all}");
    for part in [
        "--program-timeout-ms <MILLISECONDS>",
        "--max-program-bytes <BYTES>",
        "--log-level <debug|info|warn|error>",
    ] {
        assert!(all.contains(part), "{part}\n{all}");
    }
    let (code, short, _) = run(&["--help"]);
    assert_eq!(code, 0);
    assert_eq!(run(&["-h"]).0, 0);
    assert!(short.contains(some), "{short}");
    for part in ["\nUpstreams:\n", "--upstreams-config <FILE>", "\nHTTP:\n", "--help-all", "Examples:"] {
        assert!(short.contains(part), "{part}\n{short}");
    }
    assert!(!short.contains("--max-session-print-entries"), "{short}");
    assert!(short.lines().count() < all.lines().count() / 2, "{short}");
}

#[test]
fn probe_19_programs_have_the_prelude_of_the_server() {
    let folder = Folder::new();
    let file = folder.file("prelude.clj", "(ns calc \"Sums.\")\n(defn twice \"Doubles.\" [x] (* 2 x))\n");
    let mut server = StdioServer::ready(&["--prelude", &file]);
    assert_eq!(server.eval(1, "(calc/twice 21)"), "user=> 42");
    let broken = folder.file("broken.clj", "(ns calc)\n(defn twice [x] (* 2 y))\n");
    let (code, _, err) = run(&["--prelude", &broken]);
    assert!(code == 2 && err.contains("broken.clj"), "{err}");
}
