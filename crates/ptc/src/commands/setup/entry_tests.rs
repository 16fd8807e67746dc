//! Entries of all clients before and after the move.

use std::collections::BTreeSet;

use super::super::variables::{needed_variables, variables};
use super::*;

fn origin(client: &str, folder: Option<&'static str>) -> EntryOrigin<'static> {
    EntryOrigin { client: Client::named(client).expect("a client"), folder: folder.map(Path::new) }
}

#[test]
fn variables_of_every_client_keep_their_meaning() {
    for (client, text, expected) in [
        ("claude-code", "${A_B}/x ${A:-b c}", "${A_B}/x ${A:-b c}"),
        ("claude-code", "${env:A} ${a b} ${open", "${$}{env:A} ${$}{a b} ${$}{open"),
        ("cursor", "${env:A_B}/x", "${env:A_B}/x"),
        // Nothing stands for a variable without a value in VS Code, Gemini CLI and opencode.
        ("vscode", "${userHome}${/}${env:A} ${A}", "${userHome}${/}${A:-} ${$}{A}"),
        ("windsurf", "${env:A} $B ${B}", "${env:A} $B ${$}{B}"),
        ("zed", "${A} ${env:B}", "${$}{A} ${$}{env:B}"),
        ("claude-desktop", "${A}", "${$}{A}"),
        ("gemini", "$A_TOKEN", "${A_TOKEN:-}"),
        ("gemini", "Bearer ${A_TOKEN}, $B/c ${C:-d}", "Bearer ${A_TOKEN:-}, ${B:-}/c ${C:-d}"),
        ("gemini", "pa$word $5 ${a b} $", "pa$word $5 ${$}{a b} $"),
        ("opencode", "{env:A_TOKEN}-${B}", "${A_TOKEN:-}-${$}{B}"),
        ("codex", "${A_TOKEN}$B", "${$}{A_TOKEN}$B"),
    ] {
        let entry = json!({"command": "x", "env": {"V": text}});
        let moved = moved(&entry, &origin(client, None)).expect("it moves");
        assert_eq!(moved["env"]["V"], expected, "{client}: {text}");
        let whole = ["claude-code", "opencode", "vscode", "zed"].contains(&client);
        assert_eq!(moved.get("inherit_env"), whole.then_some(&json!(true)), "{client}");
    }
    for (client, text) in [("vscode", "${fileDirname}/x"), ("windsurf", "${file:/run/token}")] {
        let why = moved(&json!({"command": "x", "args": [text]}), &origin(client, None));
        assert!(
            why.as_ref().is_err_and(|why| why.contains("is known to the client only")),
            "{text}: {why:?}"
        );
    }
    let why = moved(&json!({"command": ["x", "{file:~/token}"]}), &origin("opencode", None));
    assert!(why.is_err_and(|why| why.contains("{file:…} is read by the client")));
}

#[test]
fn variables_without_a_value_are_what_the_client_makes_of_them() {
    let entry = json!({"command": "x", "args": ["$A/b"], "env": {"K": "$A"}});
    let kept = moved(&entry, &origin("gemini", None)).expect("it moves");
    assert_eq!((&kept["args"][0], &kept["env"]["K"]), (&json!("${A:-$A}/b"), &json!("${A:-}")));
    let entry = json!({"command": "x", "env": {"K": "${A}"}});
    let kept = moved(&entry, &origin("claude-code", None)).expect("it moves");
    assert_eq!((&kept["unset_variables"], &kept["env"]["K"]), (&json!("keep"), &json!("${A}")));
    let plain = moved(&json!({"command": "x"}), &origin("claude-code", None)).expect("it moves");
    assert_eq!(plain.get("unset_variables"), None);
    let entry = json!({"command": "x", "env_vars": ["A", {"name": "B", "source": "local"}]});
    let kept = moved(&entry, &origin("codex", None)).expect("it moves");
    assert_eq!(kept["env_vars"], entry["env_vars"]);
    assert_eq!(variables(&kept), ["A".to_owned(), "B".to_owned()].into());
}

#[test]
fn commands_of_zed_are_read_in_both_spellings() {
    let inside = json!({"source": "custom", "command": {"path": "x", "args": ["a"], "env": {"K": "${V}"}}});
    let beside = json!({"source": "custom", "command": "x", "args": ["a"], "env": {"K": "${V}"}});
    let expected = json!({"source": "custom", "command": "x", "args": ["a"], "env": {"K": "${$}{V}"}, "call_timeout_ms": 60_000, "inherit_env": true});
    for entry in [inside, beside] {
        assert_eq!(moved(&entry, &origin("zed", None)), Ok(expected.clone()), "{entry}");
    }
    let nested = json!({"command": {"path": "./run"}});
    let kept = moved(&nested, &origin("zed", Some("/x/shop"))).expect("it moves");
    assert_eq!(kept["command"], "/x/shop/run");
}

#[test]
fn what_only_the_client_does_keeps_a_server_there() {
    let far = |key: &str, value: Json| json!({"url": "https://a.example/mcp", key: value});
    let why = moved(&far("oauth", json!({"clientId": "x"})), &origin("opencode", None));
    assert_eq!(
        why,
        Err("\"oauth\" is how the client signs in; write a token into \"headers\" to move it".to_owned())
    );
    assert!(moved(&far("oauth", json!(false)), &origin("opencode", None)).is_ok());
    assert!(moved(&far("auth", json!({"CLIENT_ID": "x"})), &origin("cursor", None)).is_err());
    assert!(moved(&json!({"command": "x", "envFile": ".env"}), &origin("vscode", None)).is_err());
}

#[test]
fn keys_that_switch_a_server_off_mean_what_they_mean_in_the_client() {
    let (disabled, enabled) = (json!({"disabled": true}), json!({"enabled": false}));
    // What is left of the entry, and whether something is said; nothing where the server stays.
    let (kept, on, stays) = (|entry: &Json| Some((entry.clone(), false)), Some((json!({}), true)), None);
    for (client, of_disabled, of_enabled) in [
        ("claude-code", on.clone(), on.clone()),
        ("claude-desktop", stays.clone(), stays.clone()),
        ("cursor", stays.clone(), stays.clone()),
        ("vscode", on.clone(), on.clone()),
        ("codex", on.clone(), kept(&enabled)),
        ("opencode", on.clone(), kept(&enabled)),
        ("gemini", on.clone(), on.clone()),
        ("zed", on.clone(), kept(&enabled)),
        ("windsurf", kept(&disabled), on.clone()),
    ] {
        let client = origin(client, None).client;
        for (entry, expected) in [(&disabled, of_disabled), (&enabled, of_enabled)] {
            let mut left = entry.clone();
            let said = switched(&mut left, client);
            let seen = said.as_ref().ok().map(|said| (left, !said.is_empty()));
            assert_eq!(seen, expected, "{}: {entry}: {said:?}", client.name);
        }
        for mut harmless in [json!({"disabled": false}), json!({"enabled": true}), json!({})] {
            assert_eq!(switched(&mut harmless, client), Ok(Vec::new()), "{}", client.name);
        }
    }
}

#[test]
fn times_of_clients_are_ours_after_the_move() {
    for (client, entry, expected) in [
        ("codex", json!({"tool_timeout_sec": 90, "startup_timeout_sec": 20.5}), (Some(90_000), Some(20_500))),
        // Where an entry says nothing, the client has a time of its own.
        ("codex", json!({"startup_timeout_ms": 9_000}), (Some(60_000), Some(9_000))),
        ("claude-code", json!({}), (Some(600_000), None)),
        ("gemini", json!({}), (Some(600_000), None)),
        ("gemini", json!({"timeout": 30_000}), (Some(30_000), None)),
        ("claude-code", json!({"timeout": 9_000_000}), (Some(600_000), None)),
        ("opencode", json!({"timeout": 8_000}), (Some(8_000), None)),
        ("zed", json!({"timeout": 60}), (Some(60_000), None)),
    ] {
        let mut whole = entry.clone();
        whole["command"] = json!("x");
        let moved = moved(&whole, &origin(client, None)).expect("it moves");
        let time = |key: &str| moved.get(key).and_then(Json::as_u64);
        assert_eq!((time(CALL_TIME), time("handshake_timeout_ms")), expected, "{client}: {entry}");
    }
    let own = origin("codex", None).client.own_entry("ptc", &[], &BTreeSet::new(), Some(95_000));
    assert_eq!(own["tool_timeout_sec"], 95);
}

#[test]
fn what_codex_asks_about_needs_approval() {
    let entry = json!({"command": "x", "default_tools_approval_mode": "prompt", "tools": {"put": {"approval_mode": "prompt"}, "get": {"approval_mode": "approve"}}});
    let moved = moved(&entry, &origin("codex", None)).expect("it moves");
    assert_eq!(moved["approval"], json!({"*": "ask", "put": "ask"}));
    assert_eq!(moved.get("tools"), None, "nothing of it is left that could be told as unknown");
}

#[test]
fn an_entry_that_only_changes_another_one_stays() {
    for (client, entry, expected) in [
        ("opencode", json!({"enabled": false}), "it only changes a server that stands in another file"),
        ("codex", json!({"enabled": false}), "it only changes a server that stands in another file"),
        (
            "zed",
            json!({"source": "extension", "enabled": true}),
            "it is of an extension, and only Zed can start it",
        ),
    ] {
        assert_eq!(moved(&entry, &origin(client, None)), Err(expected.to_owned()), "{client}");
    }
}

#[test]
fn folders_become_absolute_or_are_passed_on() {
    let project = origin("cursor", Some("/x/shop"));
    let entry =
        json!({"command": "./run", "args": ["${workspaceFolder}/a", "${workspaceFolderBasename}", "./b"]});
    let expected =
        json!({"command": "/x/shop/run", "args": ["/x/shop/a", "shop", "./b"], "call_timeout_ms": 60_000});
    assert_eq!(moved(&entry, &project), Ok(expected));
    let entry = json!({"command": "./run", "cwd": "tools"});
    assert_eq!(
        moved(&entry, &project),
        Ok(json!({"command": "./run", "cwd": "/x/shop/tools", "call_timeout_ms": 60_000}))
    );

    let user = origin("cursor", None);
    let kept = moved(&json!({"command": "x", "cwd": "${workspaceFolder}"}), &user).expect("it moves");
    assert_eq!(kept["cwd"], "${PTC_WORKSPACE_FOLDER}");
    assert!(variables(&kept).contains(WORKSPACE));
    let own = user.client.own_entry("ptc", &[], &variables(&kept), None);
    assert_eq!(own["env"], json!({"PTC_WORKSPACE_FOLDER": "${workspaceFolder}"}));
    for entry in [json!({"command": "x", "cwd": "tools"}), json!({"command": "${workspaceFolder}/x"})] {
        assert!(moved(&entry, &origin("claude-code", None)).is_err(), "{entry}");
    }
}

#[test]
fn the_variables_of_a_configuration_are_found() {
    let own = r#"{
        "credentials": {"a": {"source": "env", "var": "A"}, "b": {"source": "file", "path": "${X}", "var": "Y"}},
        "upstreams": {"x": {"command": "${Z}", "env": {"C": "${C_TOKEN}"}}}, // ours
    }"#;
    assert_eq!(needed_variables(own), ["A".to_owned(), "C_TOKEN".to_owned()].into());
    let file =
        r#"{"mcpServers": {"x": {"command": "${workspaceFolder}/x", "args": ["${D:-1}", "${env:E}"]}}}"#;
    assert_eq!(needed_variables(file), ["D".to_owned(), "E".to_owned()].into());
}

#[test]
fn clients_that_hold_variables_back_are_told_which_are_needed() {
    let needed = variables(
        &json!({"headers": {"Authorization": "Bearer ${A_TOKEN}"}, "args": ["${B:-c}", "${$}{D}"]}),
    );
    assert_eq!(needed, ["A_TOKEN".to_owned(), "B".to_owned()].into());
    let entry = |client: &str| origin(client, None).client.own_entry("ptc", &[], &needed, None);
    assert_eq!(entry("codex")["env_vars"], json!(["A_TOKEN", "B"]));
    assert_eq!(entry("gemini")["env"], json!({"A_TOKEN": "$A_TOKEN", "B": "$B"}));
    assert_eq!(entry("opencode").get("environment"), None);
}
