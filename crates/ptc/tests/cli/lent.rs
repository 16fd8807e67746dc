//! Agents of files that name preludes and upstreams: programs use them, and ask about them.

use super::agents::{command_in, folder, write};
use super::shell_server::{listing, shell_server};
use super::*;

/// A secret that the server tells everybody. `cargo xtask ci` looks for it in whatever tests print and write.
const SECRET: &str = "ptc-sentinel-7f3a?9d>e1";

/// An MCP server with one tool, which tells where it looked and the secret.
fn telling() -> String {
    let tools = r#"[{"name":"look","description":"Looks.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}},{"name":"put","description":"Puts.","inputSchema":{"type":"object"}}]"#;
    let calling = r#"answer "{\"content\":[],\"structuredContent\":{\"seen\":\"$(field at)\",\"token\":\"$API_TOKEN\"}}""#;
    shell_server(&listing(tools), calling)
}

/// Runs the command in a folder, with the secret in its environment.
fn ptc_in(folder: &std::path::Path, args: &[&str]) -> Ran {
    let output = command_in(folder, args).env("THINGS_TOKEN", SECRET).output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

fn project(name: &str) -> PathBuf {
    let folder = folder(name);
    let server = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", telling()], "env": {"API_TOKEN": "${THINGS_TOKEN}"}});
    let gone = json!({"transport": "mcp_stdio", "command": "/no/such/server"});
    let config = json!({"upstreams": {"things": server, "gone": gone}});
    let agent =
        "prompt = \"Look around\"\nmodel = \"script:replies.jsonl\"\nupstreams = \"upstreams.json\"\n";
    write(&folder, &[("agent.toml", agent), ("upstreams.json", &config.to_string())]);
    folder
}

fn replies(folder: &std::path::Path, programs: &[&str]) {
    let lines: String = programs.iter().map(|program| format!("{}\n", json!({"program": program}))).collect();
    write(folder, &[("replies.jsonl", &lines)]);
}

#[test]
fn programs_call_the_upstreams_of_their_file() {
    let folder = project("upstreams");
    replies(
        &folder,
        &[
            "(def r (tool/call {:server \"things\" :tool \"look\" :args {:at \"door\"}}))",
            "(return {:seen (:seen (:value r)) :kind (:value_kind r) :ok (:ok r)
                      :servers (mapv :name (tool/servers)) :tools (dir 'things) :unlisted (subs (first (dir 'gone)) 0 12)
                      :gone (:ok (tool/call {:server \"gone\" :tool \"x\" :args {}}))
                      :wrong (try (tool/call {:server \"nobody\" :tool \"x\"}) (catch Exception e :raised))})",
        ],
    );
    let ran = ptc_in(&folder, &["run", "agent.toml", "--json", "--checkpoint", "kept"]);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err));
    let expected = json!({"seen": "door", "kind": "json", "ok": true, "servers": ["gone", "things"],
                          "tools": ["look - Looks.", "put - Puts."], "unlisted": "gone (down: ", "gone": false, "wrong": "raised"});
    assert_eq!(document["answer"], expected, "{}", ran.err);
    assert!(ran.err.contains("upstream gone: "), "what is not there is told: {}", ran.err);
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(SECRET), "a secret got out: {text}");
    }
    for entry in fs::read_dir(folder.join("kept")).expect("a folder") {
        let bytes = fs::read(entry.expect("an entry").path()).expect("a file");
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "a secret was kept");
    }
}

#[test]
fn models_are_told_of_upstreams_and_validate_shows_them() {
    let folder = project("upstreams-shown");
    replies(&folder, &["(return 1)"]);
    let ran = ptc_in(&folder, &["validate", "agent.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  upstream things: mcp_stdio\n"), "{}", ran.out);
    let recording = ["run", "agent.toml", "-q", "--model", "record:calls.jsonl,script:replies.jsonl"];
    assert_eq!(ptc_in(&folder, &recording).out, "1\n");
    let asked = fs::read_to_string(folder.join("calls.jsonl")).expect("a recording");
    assert!(
        asked.contains("tool/call(server")
            && asked.contains("Servers: gone (unavailable); things (look, put)"),
        "{asked}"
    );
    assert!(!asked.contains("tool/discover"), "questions are not asked by name: {asked}");
}

const CRM: &str = "(ns crm \"Doors.\")\n(defn seen \"What is seen there.\" [at]\n  \
                   (:seen (:value (tool/call {:server \"things\" :tool \"look\" :args {:at at}}))))\n";

#[test]
fn programs_use_the_preludes_of_their_file() {
    let folder = project("preludes");
    replies(&folder, &["(def x (crm/seen \"door\"))", "(return [x (more/twice 21)])"]);
    let more = "(ns more \"Numbers.\")\n(defn twice \"Two times n.\" [n] (* 2 n))\n";
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the file");
    let agent = format!("{agent}preludes = [\"crm.clj\", \"more.clj\"]\n");
    write(&folder, &[("crm.clj", CRM), ("more.clj", more), ("agent.toml", &agent)]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "--quiet", "--checkpoint", "kept"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[\n  \"door\",\n  42\n]\n"), "{}", ran.err);
    let shown = ptc_in(&folder, &["validate", "agent.toml", "--prompt"]).out;
    assert!(shown.contains("  prelude  crm/seen [at]: ") && shown.contains("What is seen there."), "{shown}");
    // What a prelude calls must be there before anything runs.
    write(&folder, &[("upstreams.json", "{\"upstreams\": {}}")]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("things") && ran.err.contains("prelude_attach_failed"), "{}", ran.err);
}

#[test]
fn a_run_goes_on_after_a_change_only_if_its_file_says_so() {
    let folder = project("writes");
    replies(&folder, &["(tool/call {:server \"things\" :tool \"put\" :args {}})", "(return 1)"]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "--quiet"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("things/put") && ran.err.contains("partial_side_effects"), "{}", ran.err);
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the file");
    write(&folder, &[("agent.toml", &format!("{agent}allow_writes = true\n"))]);
    assert_eq!(ptc_in(&folder, &["run", "agent.toml", "--quiet"]).out, "1\n");
}

#[test]
fn bad_preludes_and_upstreams_are_told_with_their_place() {
    let folder = project("upstreams-bad");
    replies(&folder, &["(return 1)"]);
    let agent =
        |more: &str| format!("prompt = \"x\"\nmodel = \"script:replies.jsonl\"\nupstreams = \"{more}");
    write(
        &folder,
        &[
            ("missing.toml", &agent("gone.json\"\n")),
            ("broken.toml", &agent("broken.json\"\n")),
            ("broken.json", "{\"upstreams\": {\"a\": {\"transport\": \"pigeon\"}}}"),
            ("prelude.toml", "prompt = \"x\"\npreludes = [\"bad.clj\"]\n"),
            ("bad.clj", "(ns bad \"Bad.\")\n(defn f [x] (+ y x))\n"),
            ("nowhere.toml", "prompt = \"x\"\npreludes = [\"nowhere.clj\"]\n"),
            ("taken.toml", &agent("upstreams.json\"\n[tools.call]\ncommand = [\"true\"]\n")),
        ],
    );
    for (file, parts) in [
        ("missing.toml", ["missing.toml:3:1: `upstreams`", "gone.json"]),
        ("broken.toml", ["broken.toml:3:1: `upstreams`", "pigeon"]),
        ("prelude.toml", ["prelude.toml:2:1: `preludes`: bad.clj", "line 2, column"]),
        ("nowhere.toml", ["nowhere.toml:2:1: `preludes`", "nowhere.clj"]),
        ("taken.toml", ["taken.toml:4:8: `tools.call`", "give the tool another name"]),
    ] {
        let ran = ptc_in(&folder, &["run", file, "--checkpoint", "kept"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{file}: {}", ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{file}: {part}\n---\n{}", ran.err);
        }
        assert!(!folder.join("kept").exists(), "{file} wrote something");
    }
}

/// Plays a recording where nothing of its project is.
fn played(folder: &std::path::Path, recording: &str) -> Ran {
    let elsewhere =
        super::agents::folder(&format!("recorded-elsewhere-{}", std::process::id())).join(recording);
    fs::create_dir_all(elsewhere.parent().expect("a folder")).expect("a folder");
    fs::copy(folder.join(recording), &elsewhere).expect("a copy");
    let elsewhere = elsewhere.display().to_string();
    ptc_in(&std::env::temp_dir(), &["replay", &elsewhere, "--times", "3"])
}

#[test]
fn recordings_carry_preludes_and_what_servers_offered() {
    let folder = project("recorded");
    replies(&folder, &["(def x (crm/seen \"door\"))", "(return [x (more/twice 21)])"]);
    let more = "(ns more \"Numbers.\")\n(defn twice \"Two times n.\" [n] (* 2 n))\n";
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the file");
    let lent = format!("{agent}preludes = [\"crm.clj\", \"more.clj\"]\n");
    write(&folder, &[("crm.clj", CRM), ("more.clj", more), ("agent.toml", &lent), ("plain.toml", &agent)]);
    fs::create_dir(folder.join("runs")).expect("a folder");
    let ran = ptc_in(&folder, &["run", "agent.toml", "-q", "--record", "runs/a.recording"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = played(&folder, "runs/a.recording");
    assert!(
        ran.code == 0 && ran.out.starts_with("equal, 3 times: 3 calls, 2 turns"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(ran.out.contains("  definitions of tools of upstreams; only their names"), "{}", ran.out);

    // A prelude that changed is held against what was recorded; other preludes stay as they were.
    fs::create_dir(folder.join("new")).expect("a folder");
    let against = |text: &str, name: &str| {
        write(&folder.join("new"), &[(name, text)]);
        ptc_in(&folder, &["replay", "runs", "--against", &format!("new/{name}")])
    };
    let same = against("(ns more \"Numbers.\")\n(defn twice \"Adds n to n.\" [n] (+ n n))\n", "more.clj");
    assert_eq!((same.code, same.out.as_str()), (0, "a.recording: the same answer\n"), "{}", same.err);
    let other = against(&more.replace("2 n)", "3 n)"), "more.clj");
    let changes = "a.recording: another answer\n  at /return/1\n  - 42\n  + 63\n";
    assert_eq!((other.code, other.out.as_str()), (1, changes), "{}", other.err);
    let asks = against(&CRM.replace(":at at", ":at (str at at)"), "crm.clj");
    assert_eq!(asks.code, 2, "{}", asks.err);
    assert!(asks.out.starts_with("a.recording: cannot be told, tool call {"), "{}", asks.out);
    let unnamed = against(more, "other.clj");
    assert_eq!(unnamed.code, 2, "{}", unnamed.out);
    assert!(
        unnamed
            .err
            .contains("give new/other.clj the name of the prelude that it replaces: crm.clj, more.clj"),
        "{}",
        unnamed.err
    );

    // Runs without a prelude are left out.
    replies(&folder, &["(return 1)"]);
    let ran = ptc_in(&folder, &["run", "plain.toml", "-q", "--record", "runs/b.recording"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let both = against(more, "more.clj");
    assert_eq!(both.out, "b.recording: has no prelude\na.recording: the same answer\n");
}

#[test]
fn recordings_know_what_calls_of_servers_do_to_the_world() {
    let folder = project("recorded-writes");
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the file");
    let program = "(def r (tool/call {:server \"things\" :tool \"put\" :args {}}))";
    replies(&folder, &[program, "(return (:ok r))"]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "-q", "--record", "stopped.recording"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("partial_side_effects"), "{}", ran.err);
    let ran = played(&folder, "stopped.recording");
    assert!(ran.code == 0 && ran.out.starts_with("equal, 3 times: 2 calls"), "{}{}", ran.out, ran.err);

    write(&folder, &[("agent.toml", &format!("{agent}allow_writes = true\n"))]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "-q", "--record", "allowed.recording"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "true\n"), "{}", ran.err);
    let ran = played(&folder, "allowed.recording");
    assert!(ran.code == 0 && ran.out.starts_with("equal, 3 times: 3 calls"), "{}{}", ran.out, ran.err);
}
