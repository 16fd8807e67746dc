//! What preludes require is there before anything runs, or nothing runs: every command that runs programs, every way to
//! list tools, and a server that is there, lacks the tool, or is dead. The server counts its calls.

use super::agents::{folder, ptc_in, write};
use super::shell_server::shell_server;
use super::*;

/// An MCP server with the tools of `$TOOLS` that writes down every call. Calling `drop` takes `look` away, which it says
/// before it answers.
fn dropping() -> String {
    let listing = r#"
      list=""
      for tool in ${tools:=$TOOLS}; do
        list="$list,{\"name\":\"$tool\",\"description\":\"Does $tool.\",\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\"}}"
      done
      answer "{\"tools\":[${list#,}]}""#;
    let calling = r#"
      name=$(field name)
      echo "$name" >> "$LOG"
      if [ "$name" = drop ]; then
        tools="other drop"
        printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
      fi
      answer "{\"content\":[],\"structuredContent\":{\"did\":\"$name\"}}""#;
    shell_server(listing, calling)
}

const CRM: &str = "(ns crm \"Doors.\")\n(defn seen \"What is seen there.\" [at]\n  \
                   (:did (:value (tool/call {:server \"things\" :tool \"look\" :args {:at at}}))))\n";

/// The same, with the function of the server.
const CRM_FUNCTION: &str =
    "(ns crm \"Doors.\")\n(defn seen \"What is seen there.\" [at]\n  (:did (things/look {:at at})))\n";

/// Calls something that is there before the export is called.
const PROGRAM: &str =
    "(println (:ok (tool/call {:server \"things\" :tool \"other\" :args {}}))) (crm/seen \"door\")";

/// How a server is found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    There,
    WithoutTheTool,
    Dead,
    NotConfigured,
}

const STATES: [State; 4] = [State::There, State::WithoutTheTool, State::Dead, State::NotConfigured];

/// Every state, with both ways to write the call.
fn cases() -> impl Iterator<Item = (State, &'static str)> {
    STATES.into_iter().flat_map(|state| [CRM, CRM_FUNCTION].map(|prelude| (state, prelude)))
}

impl State {
    /// What is said of it.
    fn told(self) -> &'static str {
        match self {
            State::There => "",
            State::WithoutTheTool => "upstream `things` has no tool `look`",
            State::Dead => "upstream `things` cannot be reached",
            State::NotConfigured => "there is no upstream `things`",
        }
    }

    fn config(self, log: &std::path::Path) -> Value {
        let tools = if self == State::WithoutTheTool { "other drop" } else { "look other drop" };
        let server = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", dropping()],
                            "env": {"LOG": log.display().to_string(), "TOOLS": tools}});
        match self {
            State::There | State::WithoutTheTool => json!({"upstreams": {"things": server}}),
            State::Dead => {
                json!({"upstreams": {"things": {"transport": "mcp_stdio", "command": "/no/such/server"}}})
            }
            State::NotConfigured => json!({"upstreams": {}}),
        }
    }
}

/// A folder with a prelude, an agent and the upstreams in a state.
fn project(name: &str, state: State) -> PathBuf {
    project_with(CRM, name, state)
}

fn project_with(prelude: &str, name: &str, state: State) -> PathBuf {
    let folder = folder(&format!("backing-{name}-{state:?}"));
    let agent = "prompt = \"Look\"\nmodel = \"script:replies.jsonl\"\nupstreams = \"upstreams.json\"\npreludes = [\"crm.clj\"]\n";
    let reply = json!({"program": PROGRAM.replace("(crm/seen \"door\")", "(return (crm/seen \"door\"))")});
    let config = state.config(&folder.join("calls.log")).to_string();
    write(
        &folder,
        &[
            ("crm.clj", prelude),
            ("agent.toml", agent),
            ("replies.jsonl", &format!("{reply}\n")),
            ("program.clj", PROGRAM),
            ("upstreams.json", &config),
        ],
    );
    folder
}

fn calls(folder: &std::path::Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("calls.log")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

/// Commands with the words that say when tools are listed.
fn surfaces() -> Vec<(&'static str, Vec<&'static str>)> {
    let with = ["-p", "crm.clj", "--upstreams-config", "upstreams.json", "--catalog-snapshot-mode"];
    let mut all = vec![("run", vec!["run", "agent.toml", "--quiet"])];
    for (name, mode, words) in [
        ("eval-live", "live", ["eval", "program.clj"]),
        ("eval-frozen", "frozen", ["eval", "program.clj"]),
        ("repl-live", "live", ["repl", "program.clj"]),
        ("repl-frozen", "frozen", ["repl", "program.clj"]),
    ] {
        all.push((name, words.into_iter().chain(with).chain([mode]).collect()));
    }
    all
}

#[test]
fn nothing_runs_without_what_a_prelude_requires() {
    for (name, words) in surfaces() {
        for (state, prelude) in cases() {
            let folder = project_with(prelude, name, state);
            let ran = ptc_in(&folder, &words);
            let case = format!("{name} {state:?}: {}{}", ran.out, ran.err);
            if state == State::There {
                assert_eq!(
                    (ran.code, calls(&folder)),
                    (0, vec!["other".to_owned(), "look".to_owned()]),
                    "{case}"
                );
                assert!(ran.out.contains("look"), "{case}");
                continue;
            }
            assert_ne!(ran.code, 0, "{case}");
            assert_eq!((ran.out.as_str(), calls(&folder)), ("", Vec::new()), "{case}");
            // A frozen catalog does not begin without its servers.
            if state == State::Dead && name.ends_with("frozen") {
                assert!(ran.err.contains("upstream 'things' cannot be used"), "{case}");
                continue;
            }
            for part in ["prelude_attach_failed", "crm/seen", "upstream:things/look", state.told()] {
                assert!(ran.err.contains(part), "{part}: {case}");
            }
        }
    }
}

#[test]
fn what_is_only_checked_is_held_to_the_same() {
    let checks: [&[&str]; 3] = [
        &["check", "program.clj", "--json"],
        &["eval", "--check", "program.clj", "--json"],
        &["prelude", "check", "crm.clj"],
    ];
    for (state, text) in cases() {
        for words in checks {
            let folder = project_with(text, words[0], state);
            let prelude: &[&str] = if words[0] == "prelude" { &[] } else { &["-p", "crm.clj"] };
            let words = [words, prelude, &["--upstreams-config", "upstreams.json"]].concat();
            let ran = ptc_in(&folder, &words);
            let case = format!("{words:?} {state:?}: {}{}", ran.out, ran.err);
            assert_eq!(ran.code, i32::from(state != State::There), "{case}");
            assert!(format!("{}{}", ran.out, ran.err).contains(state.told()), "{case}");
            assert!(calls(&folder).is_empty(), "{case}");
        }
    }
}

#[test]
fn what_no_run_could_have_is_told_by_validate_without_asking_servers() {
    for (state, told) in
        [(State::There, ""), (State::Dead, ""), (State::NotConfigured, "there is no upstream `things`")]
    {
        let folder = project("validate", state);
        let ran = ptc_in(&folder, &["validate", "agent.toml"]);
        assert_eq!(ran.code, if told.is_empty() { 0 } else { 2 }, "{state:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(told), "{state:?}: {}", ran.err);
    }
    let folder = project("validate-tool", State::There);
    let agent = "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\npreludes = [\"log.clj\"]\n";
    write(&folder, &[("log.clj", "(ns log) (defn all [] (tool/log_sessions))"), ("agent.toml", agent)]);
    let ran = ptc_in(&folder, &["validate", "agent.toml"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("requires granted tool `log_sessions`"), "{}", ran.err);
    let left_out = json!({"transport": "mcp_stdio", "command": "sh", "exclude_tools": ["look"]});
    let folder = project("validate-excluded", State::There);
    write(&folder, &[("upstreams.json", &json!({"upstreams": {"things": left_out}}).to_string())]);
    let ran = ptc_in(&folder, &["validate", "agent.toml"]);
    assert!(ran.code == 2 && ran.err.contains("its configuration leaves the tool out"), "{}", ran.err);
}

#[test]
fn a_run_ends_before_its_next_turn_when_something_is_gone() {
    let folder = project("loss", State::There);
    let programs = [
        "(def a (crm/seen \"door\")) (tool/call {:server \"things\" :tool \"drop\" :args {}})",
        "(tool/call {:server \"things\" :tool \"other\" :args {}})",
        "(return 1)",
    ];
    let replies: String =
        programs.iter().map(|program| format!("{}\n", json!({"program": program}))).collect();
    write(&folder, &[("replies.jsonl", &replies)]);
    let ran = ptc_in(&folder, &["run", "agent.toml", "--quiet", "--record", "lost.recording"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    for part in ["prelude_attach_failed", "crm/seen", "upstream:things/look"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    assert_eq!(calls(&folder), ["look", "drop"], "no other program ran");
    let played = ptc_in(&folder, &["replay", "lost.recording"]);
    assert_eq!(played.code, 0, "{}{}", played.out, played.err);
    assert!(played.out.starts_with("equal: "), "it ends in the same way: {}", played.out);
}

#[test]
fn effects_of_exports_are_those_of_the_tools_behind_them() {
    let folder = project("effects", State::There);
    let with = ["--upstreams-config", "upstreams.json"];
    let check = |more: &[&str]| ptc_in(&folder, &[&["prelude", "check", "crm.clj"], more].concat()).out;
    assert!(check(&[]).contains("crm/seen [at] prompt, unknown, requires"), "{}", check(&[]));
    assert!(check(&with).contains("crm/seen [at] prompt, read, requires"), "{}", check(&with));
    let inventory =
        |more: &[&str]| ptc_in(&folder, &[&["prelude", "inventory", "crm.clj"], more].concat()).out;
    assert!(inventory(&[]).contains("crm/seen (seen at) — What"), "{}", inventory(&[]));
    assert!(inventory(&with).contains("crm/seen (seen at) [read] — What"), "{}", inventory(&with));
}
