//! Where the command meets the outside: terminals, files of others, environments, seeds, recordings of anybody.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::agents::{command_in, folder, ptc_in, write};
use super::*;

const KEY: &str = "sk-test-5f2a9c71d4";

/// Runs the command on a terminal of its own and gives everything that reaches it.
fn on_a_terminal(folder: &Path, args: &[&str]) -> String {
    let spawn = "import pty, sys; pty.spawn(sys.argv[1:])";
    let ptc = command_in(folder, args);
    let mut command = Command::new("python3");
    command.args(["-c", spawn]).arg(ptc.get_program()).args(ptc.get_args()).current_dir(folder);
    command.envs(ptc.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.env("TERM", "xterm").stdin(Stdio::null()).output().expect("python3 starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode()
        & 0o777
}

/// Everything in a folder that others could read or write.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if mode(&path) & 0o077 != 0 {
            found.push(format!("{:o} {}", mode(&path), path.display()));
        }
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
    }
    found
}

#[test]
fn nothing_that_a_program_or_a_model_says_commands_the_terminal() {
    let folder = folder("terminal");
    // What clipboards, titles and screens obey, in a comment, in a text, printed, and as the answer.
    let program = "; \\u001b]0;title\\u0007\\n(println \\\"\\u001b]52;c;cHduZWQ=\\u0007 \\u202e\\\") (return \\\"\\u001b[2J\\u009b31m\\\")";
    let reply = format!("{{\"program\": \"{program}\"}}\n");
    write(
        &folder,
        &[("agent.toml", "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n"), ("replies.jsonl", &reply)],
    );
    let shown = on_a_terminal(&folder, &["run", "agent.toml"]);
    assert!(shown.contains("\\u{1b}]52;c;cHduZWQ=\\u{7}"), "{shown:?}");
    assert!(shown.contains("\\u{1b}[2J"), "{shown:?}");
    for command in ["\x1b]", "\x1b[2J", "\u{9b}", "\u{202e}"] {
        assert!(!shown.contains(command), "{command:?} in {shown:?}");
    }
    assert!(shown.contains("\x1b["), "colours are ours and stay: {shown:?}");

    // What a tool complains of, and why the agent gave up.
    let tool =
        "prompt = \"x\"\nmodel = \"script:failing.jsonl\"\n[tools.t]\ncommand = [\"sh\", \"complain.sh\"]\n";
    let failing = "{\"program\": \"(tool/t {})\"}\n{\"program\": \"(fail {:message \\\"\\u001b]0;t\\u0007\\u001b[2J\\\"})\"}\n";
    let complain = "printf '\\033]0;title\\007\\033[2J' >&2; exit 1\n";
    write(&folder, &[("tool.toml", tool), ("failing.jsonl", failing), ("complain.sh", complain)]);
    let shown = on_a_terminal(&folder, &["run", "tool.toml"]);
    assert!(shown.contains("ended with exit status: 1") && shown.contains("the agent failed"), "{shown:?}");
    assert!(!shown.contains("\x1b]") && !shown.contains("\x1b[2J"), "{shown:?}");

    let eval = ["eval", "-e", "(println \"\\u001b]52;c;x\\u0007\") (throw (ex-info \"\\u001b[2J\" {}))"];
    let shown = on_a_terminal(&folder, &eval);
    assert!(shown.contains("\\u{1b}]52;c;x\\u{7}"), "{shown:?}");
    assert!(!shown.contains("\x1b]") && !shown.contains("\x1b[2J"), "{shown:?}");
    assert_eq!(
        ptc(&["eval", "-e", "(println \"\\u001b]52;c;x\\u0007\")"]).out,
        "\x1b]52;c;x\x07\nnil\n",
        "a pipe has it all"
    );
}

#[test]
fn files_are_the_users_own_whatever_the_umask_says() {
    let folder = folder("umask");
    let reply = "{\"program\": \"(return (count (tool/look {})))\"}\n";
    let agent = "prompt = \"x\"\nmodel = \"record:asked.jsonl,script:replies.jsonl\"\n[tools.look]\ncommand = [\"true\"]\n";
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", reply)]);
    let line = "umask 000; exec \"$0\" \"$@\"";
    let under_umask = |args: &[&str]| {
        let ptc = command_in(&folder, args);
        let mut command = Command::new("sh");
        command.args(["-c", line]).arg(ptc.get_program()).args(ptc.get_args()).current_dir(&folder);
        command.envs(ptc.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).output().expect("it runs")
    };
    fs::create_dir(folder.join("out")).expect("a folder");
    let kept = [
        "run",
        "agent.toml",
        "--checkpoint",
        "out/a/runs",
        "--trace",
        "out/b/traces",
        "--record",
        "out/run.recording",
    ];
    let ran = under_umask(&kept);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    under_umask(&["eval", "-e", "1", "--record", "out/eval.recording"]);
    assert_eq!(open_to_others(&folder.join("out")), Vec::<String>::new());
    assert_eq!(mode(&folder.join("asked.jsonl")), 0o600);
    assert!(mode(&folder.join("out/a")) == 0o700 && mode(&folder.join("out/b")) == 0o700);
}

#[test]
fn every_run_has_a_seed_of_its_own_unless_told() {
    let id = |more: &[&str]| ptc(&[&["eval", "-e", "(str (random-uuid))"], more].concat()).out;
    assert_ne!(id(&[]), id(&[]));
    assert_eq!(id(&["--seed", "3"]), id(&["--seed", "3"]));

    let folder = folder("seeds");
    let reply = "{\"program\": \"(return (str (random-uuid)))\"}\n";
    write(
        &folder,
        &[("agent.toml", "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n"), ("replies.jsonl", reply)],
    );
    let run = |more: &[&str]| {
        let ran = ptc_in(&folder, &[&["run", "agent.toml", "-q"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    assert_ne!(run(&[]), run(&["--record", "run.recording", "--trace", "traces", "--trace-payload", "full"]));
    assert_eq!(run(&["--seed", "3"]), run(&["--seed", "3"]));
    let played = ptc_in(&folder, &["replay", "run.recording"]);
    assert_eq!(played.code, 0, "{}", played.out);
    let trace = fs::read_dir(folder.join("traces")).expect("a folder").flatten().next().expect("a trace");
    let text = fs::read_to_string(trace.path()).expect("it reads");
    assert!(text.contains("\"seed\":\""), "{text}");
}

#[test]
fn a_recording_brings_no_limits_of_its_own() {
    let folder = folder("hostile-recording");
    let recorded = [
        "eval",
        "-e",
        "(loop [v [] n 0] (if (< n 20) (recur (conj v n) (inc n)) (count v)))",
        "--record",
        "a.recording",
    ];
    assert_eq!(ptc_in(&folder, &recorded).code, 0);
    let text = fs::read_to_string(folder.join("a.recording")).expect("it reads");
    let (head, rest) = text.split_once('\n').expect("lines");
    let mut head: Value = serde_json::from_str(head).expect("JSON");
    let hostile = |head: &mut Value, source: &str| {
        let program = &mut head["head"]["subject"]["program"];
        program["source"] = source.into();
        program["limits"]["fuel"] = 9_000_000_000_000_000_000_u64.into();
        program["limits"]["memory"] = 900_000_000_000_u64.into();
    };
    let mut play = |source: &str, more: &[&str]| {
        hostile(&mut head, source);
        fs::write(folder.join("b.recording"), format!("{head}\n{rest}")).expect("it writes");
        ptc_in(&folder, &[&["replay", "b.recording"], more].concat())
    };
    let all = play("(loop [v []] (recur (conj v (range 100))))", &["--memory", "16mb"]);
    assert_eq!(all.code, 2, "{}", all.out);
    assert!(
        all.err.contains("it needs more than may be used to play it") && all.err.contains("--memory"),
        "{}",
        all.err
    );
    let late = play("(loop [] (recur))", &["--timeout", "200ms"]);
    assert_eq!(late.code, 2, "{}", late.out);
    assert!(late.err.contains("longer than --timeout allows"), "{}", late.err);
    let fuel = play("(loop [] (recur))", &["--fuel", "1m"]);
    assert!(fuel.err.contains("--fuel"), "{}", fuel.err);
}

#[test]
fn a_recording_that_has_no_place_is_refused_before_anything_runs() {
    let folder = folder("recording-nowhere");
    let agent = "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n";
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", "{\"program\": \"(return 1)\"}\n")]);
    for command in [&["eval", "-e", "(println \"ran\")"][..], &["run", "agent.toml"]] {
        let ran = ptc_in(&folder, &[command, &["--record", "nowhere/x.recording"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        let told = "--record: cannot write nowhere/x.recording: there is no folder nowhere; make it first";
        assert!(ran.err.contains(told), "{}", ran.err);
    }
}

#[test]
fn a_mission_that_needs_more_than_may_be_used_to_play_it_is_told_as_such() {
    let folder = folder("hungry-recording");
    let agent = "prompt = \"Count\"\nmodel = \"script:replies.jsonl\"\n";
    let work = "(loop [n 0] (if (< n 1000000) (recur (inc n)) (return n)))";
    let replies = format!("{}\n", serde_json::json!({"program": work}));
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", &replies)]);
    assert_eq!(ptc_in(&folder, &["run", "agent.toml", "--record", "a.recording", "--quiet"]).code, 0);
    assert_eq!(ptc_in(&folder, &["replay", "a.recording"]).code, 0);
    let held = ptc_in(&folder, &["replay", "a.recording", "--fuel", "1m"]);
    assert_eq!(held.code, 2, "{}", held.out);
    let told = "it needs more than may be used to play it: fuel_exceeded; --fuel and --memory allow more";
    assert!(held.err.contains(told), "{}", held.err);
}

/// An agent whose tool shows the environment that it has.
fn shows_environment(name: &str, env: &str) -> PathBuf {
    let folder = folder(name);
    let agent = format!(
        "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n[tools.look]\ncommand = [\"sh\", \"-c\", \"env | sort\"]\n{env}"
    );
    let reply = "{\"program\": \"(return (tool/look {}))\"}\n";
    write(&folder, &[("agent.toml", &agent), ("replies.jsonl", reply)]);
    folder
}

fn run_with_key(folder: &Path, args: &[&str]) -> Ran {
    let mut command = command_in(folder, args);
    command
        .env("ANTHROPIC_API_KEY", KEY)
        .env("PRIVATE_NOTE", "nobody's business")
        .env("GIVEN_TOKEN", "tok-8f7e6d5c4b");
    let output = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn commands_have_the_environment_that_their_file_names_and_no_keys() {
    let ran = run_with_key(&shows_environment("environment", ""), &["run", "agent.toml"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("PATH="), "{}", ran.out);
    assert!(!ran.out.contains("ANTHROPIC_API_KEY") && !ran.out.contains("PRIVATE_NOTE"), "{}", ran.out);

    let env = "env = { NOTE = \"a ${PRIVATE_NOTE}\", PLAIN = \"b\" }\n";
    let ran = run_with_key(&shows_environment("environment-given", env), &["run", "agent.toml"]);
    assert!(ran.out.contains("NOTE=a nobody's business") && ran.out.contains("PLAIN=b"), "{}", ran.out);

    let ran = run_with_key(
        &shows_environment("environment-missing", "env = { A = \"${NOT_THERE_AT_ALL}\" }\n"),
        &["run", "agent.toml"],
    );
    assert!(ran.err.contains("needs the environment variable NOT_THERE_AT_ALL"), "{}", ran.err);
    let ran = run_with_key(
        &shows_environment("environment-wrong", "env = { A = \"${\" }\n"),
        &["run", "agent.toml"],
    );
    assert!(ran.code == 2 && ran.err.contains("env"), "{}", ran.err);
}

#[test]
fn keys_of_models_and_of_commands_show_neither_in_answers_nor_in_traces_and_recordings() {
    let env = "env = { KEY_COPY = \"${ANTHROPIC_API_KEY}\", OTHER = \"${GIVEN_TOKEN}\" }\n";
    let folder = shows_environment("keys-covered", env);
    // What the command shows is covered before it is recorded; what the model says of it is covered there.
    let program = "(println \"tok-8f7e6d5c4b\") (return (tool/look {}))";
    write(&folder, &[("replies.jsonl", &format!("{}\n", json!({"program": program})))]);
    let ran = run_with_key(
        &folder,
        &[
            "run",
            "agent.toml",
            "--json",
            "--trace",
            "traces",
            "--trace-payload",
            "full",
            "--record",
            "r.recording",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    covered_and_played(&folder.join("r.recording"), 2);
    assert!(ran.out.contains("KEY_COPY=[REDACTED]") && ran.out.contains("OTHER=[REDACTED]"), "{}", ran.out);
    for entry in fs::read_dir(folder.join("traces")).expect("a folder").flatten() {
        let text = fs::read_to_string(entry.path()).expect("it reads");
        assert!(text.contains("[REDACTED]"), "{text}");
        assert!(!text.contains(KEY) && !text.contains("tok-8f7e6d5c4b"), "{text}");
    }
    assert!(!(ran.out + &ran.err).contains(KEY));
}

#[test]
fn secrets_of_the_environment_of_a_command_reach_neither_programs_nor_models() {
    let env = "env = { OTHER = \"${GIVEN_TOKEN}\" }\n";
    let folder = shows_environment("secrets-of-commands", env);
    let program = "(let [seen (tool/look {})] (return [(count (re-seq #\"tok-8f7e\" seen)) (count (re-seq #\"OTHER=.REDACTED.\" seen))]))";
    let replies = [json!({"program": program})].map(|reply| format!("{reply}\n")).concat();
    write(&folder, &[("replies.jsonl", &replies)]);
    let ran = run_with_key(&folder, &["run", "agent.toml"]);
    let counts: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(counts, json!([0, 1]), "{}", ran.err);
    // What it complains of, also where that is cut.
    let agent = "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n[tools.look]\ncommand = [\"sh\", \"-c\", \"head -c 1992 /dev/zero | tr '\\\\0' 'x' >&2; echo $A_TOKEN >&2; exit 1\"]\n";
    let program =
        "(return (try (tool/look {}) (catch Exception e (count (re-seq #\"tok-\" (ex-message e))))))";
    let reply = format!("{}\n", json!({"program": program}));
    let env = "env = { A_TOKEN = \"tok-8f7e6d5c4b\" }\n";
    write(&folder, &[("agent.toml", &format!("{agent}{env}")), ("replies.jsonl", &reply)]);
    let ran = run_with_key(&folder, &["run", "agent.toml"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "0"), "{}", ran.err);
}

/// A recording has no secret, is its owner's alone, and is played all the same.
#[track_caller]
fn covered_and_played(recording: &Path, calls: usize) {
    let text = fs::read_to_string(recording).expect("a recording");
    assert!(text.contains("[REDACTED]"), "{text}");
    assert!(!text.contains(KEY) && !text.contains("tok-8f7e6d5c4b"), "{text}");
    assert_eq!(fs::metadata(recording).expect("a file").permissions().mode() & 0o777, 0o600);
    let told = super::recordings::equal(recording, calls).out;
    assert!(told.contains("secrets: they were covered in "), "{told}");
}

#[test]
fn traces_and_recordings_of_eval_cover_credentials_of_upstreams() {
    let folder = folder("eval-trace");
    let config = json!({
        "credentials": {"token": {"source": "env", "var": "GIVEN_TOKEN"}},
        "upstreams": {"api": {"transport": "openapi", "base_url": "http://127.0.0.1:9", "schema_file": "no.json",
            "allow_insecure_http": true, "allow_insecure_auth": true, "include_operations": ["x"],
            "auth": [{"scheme": "bearer", "binding": "token"}]}},
    });
    write(&folder, &[("up.json", &config.to_string())]);
    let program = "(println \"tok-8f7e6d5c4b\") (throw (ex-info \"has tok-8f7e6d5c4b\" {}))";
    let ran = run_with_key(
        &folder,
        &[
            "eval",
            "-e",
            program,
            "--upstreams-config",
            "up.json",
            "--trace",
            "traces",
            "--trace-payload",
            "full",
            "--data",
            "key=\"tok-8f7e6d5c4b\"",
            "--record",
            "r.recording",
        ],
    );
    assert!(!(ran.out + &ran.err).contains("tok-8f7e6d5c4b"));
    covered_and_played(&folder.join("r.recording"), 0);
    let trace = fs::read_dir(folder.join("traces")).expect("a folder").flatten().next().expect("a trace");
    let text = fs::read_to_string(trace.path()).expect("it reads");
    assert!(text.contains("[REDACTED]") && !text.contains("tok-8f7e6d5c4b"), "{text}");
}

#[test]
fn a_checkpoint_starts_nothing_that_others_could_have_written() {
    let folder = folder("untrusted-checkpoint");
    fs::create_dir(folder.join("evil")).expect("a folder");
    let agent = "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n[tools.look]\ncommand = [\"sh\", \"-c\", \"touch PWNED; echo 1\"]\napproval = \"ask\"\n";
    let reply = "{\"program\": \"(return (tool/look {}))\"}\n";
    write(&folder.join("evil"), &[("agent.toml", agent), ("replies.jsonl", reply)]);
    let waits = ptc_in(&folder, &["run", "evil/agent.toml", "--checkpoint", "runs"]);
    let runs = ptc_in(&folder, &["runs", "--checkpoint", "runs", "--json"]);
    let listed: Value = serde_json::from_str(runs.out.lines().next().unwrap_or_default())
        .unwrap_or_else(|_| panic!("{}{}", waits.err, runs.err));
    let id = listed["run"].as_str().expect("an id").to_owned();
    fs::set_permissions(folder.join("evil"), fs::Permissions::from_mode(0o777)).expect("it changes");
    let resume = |more: &[&str]| {
        ptc_in(&folder, &[&["resume", &id, "--checkpoint", "runs", "--approve", "all"], more].concat())
    };
    let refused = resume(&[]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    assert!(refused.err.contains("its tool look runs: sh -c touch PWNED"), "{}", refused.err);
    assert!(
        refused.err.contains("--agent FILE") && refused.err.contains("could change it"),
        "{}",
        refused.err
    );
    assert!(!folder.join("evil/PWNED").exists());
    let named = resume(&["--agent", "evil/agent.toml"]);
    assert_eq!(named.code, 0, "{}", named.err);
    assert!(folder.join("evil/PWNED").exists(), "who names the agent vouches for it");
}

#[test]
fn a_store_or_key_of_others_is_refused_with_the_fix() {
    let folder = folder("others-store");
    fs::create_dir(folder.join("runs")).expect("a folder");
    write(&folder, &[("runs/runs.db", "")]);
    fs::set_permissions(folder.join("runs/runs.db"), fs::Permissions::from_mode(0o666)).expect("it changes");
    let ran = ptc_in(&folder, &["runs", "--checkpoint", "runs"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("chmod 600") && ran.err.contains("runs.db"), "{}", ran.err);
}

#[test]
fn a_worker_beyond_loopback_wants_the_key_of_its_server() {
    let folder = folder("worker-open");
    write(
        &folder,
        &[("agent.toml", "prompt = \"x\"\nmodel = \"script:replies.jsonl\"\n"), ("replies.jsonl", "")],
    );
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:9080"] {
        let ran = ptc_in(
            &folder,
            &["worker", "--restate", "http://127.0.0.1:1", "--listen", address, "agent.toml"],
        );
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("--identity-key"), "{}", ran.err);
    }
}
