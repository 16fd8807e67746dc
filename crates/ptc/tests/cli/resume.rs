//! Runs that are interrupted and go on: the real command, killed and stopped, and a server of its own that counts
//! what it is asked.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;

use super::agents::{command_in, folder, ptc_in, write};
use super::eventually::eventually;
use super::*;

/// The counting server of `counting_server.py`.
pub struct Server {
    process: Child,
    pub port: u16,
    folder: PathBuf,
}

impl Server {
    pub fn start(folder: &Path) -> Self {
        let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/counting_server.py");
        let mut process = Command::new("python3")
            .arg(program)
            .args([folder.join("asked.log"), folder.join("hold")])
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut line).expect("its port");
        let port = line.trim().parse().expect("a number");
        let tool = format!(
            "#!/bin/bash\n\
             read -r line\n\
             echo $$ > tool.pid\n\
             exec 3<>/dev/tcp/127.0.0.1/{port}\n\
             printf 'POST /tool HTTP/1.0\\r\\nContent-Length: %d\\r\\n\\r\\n%s' \"${{#line}}\" \"$line\" >&3\n\
             cat <&3 | sed '1,/^\\r$/d'\n"
        );
        write(folder, &[("tool.sh", &tool)]);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder.join("tool.sh"), executable).expect("a script");
        Server { process, port, folder: folder.to_owned() }
    }

    fn model(&self) -> String {
        format!("openai-compat:http://127.0.0.1:{}/v1|planner", self.port)
    }

    /// Everything that was asked, in order.
    pub fn asked(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.join("asked.log")).unwrap_or_default();
        log.lines().map(|line| line.trim_start_matches("asked ").to_owned()).collect()
    }

    pub fn count(&self, name: &str) -> usize {
        self.asked().iter().filter(|asked| *asked == name).count()
    }

    /// Answers to these wait until others are held.
    pub fn hold(&self, names: &[&str]) {
        let draft = self.folder.join("hold.new");
        fs::write(&draft, names.join("\n")).expect("a file");
        fs::rename(draft, self.folder.join("hold")).expect("in its place");
    }

    /// Waits until so much was asked.
    pub fn wait_for(&self, name: &str, times: usize) {
        eventually(&format!("{name} is asked"), || self.count(name) >= times);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Everything that a mission of ten steps asks, in order.
pub fn questions() -> Vec<String> {
    (1..=10)
        .flat_map(|n| [format!("model {n}"), format!("tool {n}")])
        .chain(["model 11".to_owned()])
        .collect()
}

/// A folder with a mission of ten steps and its server.
pub fn ten_steps(name: &str, effect: &str) -> (PathBuf, Server) {
    let folder = folder(name);
    let server = Server::start(&folder);
    let agent = format!(
        "prompt = \"Take ten steps\"\nsignature = \"() -> {{total :int}}\"\nmodel = \"{}\"\n\
         timeout = 100000\n[limits]\nmax_turns = 11\n\
         [tools.step]\nsignature = \"(n :int, total :int?) -> {{total :int}}\"\ncommand = [\"./tool.sh\"]\n{effect}\n",
        server.model()
    );
    write(&folder, &[("agent.toml", &agent)]);
    (folder, server)
}

const RUN: [&str; 5] = ["run", "agent.toml", "--checkpoint", "kept", "--quiet"];
/// Points of the store that a process passes before it is killed, at most.
const POINTS: u64 = 24;
const ANSWER: &str = "{\n  \"total\": 55\n}\n";

/// Starts the command and leaves it to itself.
pub fn start(folder: &Path, args: &[&str]) -> Child {
    command_in(folder, args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

pub fn kill(mut process: Child) {
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
}

/// Starts the command and kills it at a point of its store (`PTC_STORE_HALT`, debug builds only; two for each change);
/// false if it was through before.
pub fn killed_at_point(folder: &Path, args: &[&str], point: u64) -> bool {
    let (halt, reached) = (folder.join("halt"), folder.join("halt.reached"));
    fs::write(&halt, point.to_string()).expect("a file");
    let mut command = command_in(folder, args);
    command.env("PTC_STORE_HALT", &halt).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = command.spawn().expect("the command starts");
    eventually("it comes to a point or ends", || {
        reached.exists() || process.try_wait().expect("a process").is_some()
    });
    let there = reached.exists();
    kill(process);
    for file in [halt, reached] {
        let _ = fs::remove_file(file);
    }
    there
}

/// The runs of the folder `kept`.
pub fn runs(folder: &Path) -> Vec<Value> {
    let ran = ptc_in(folder, &["runs", "--checkpoint", "kept", "--json"]);
    ran.out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

pub fn only_run(folder: &Path) -> (String, String, u64) {
    let runs = runs(folder);
    let [run] = runs.as_slice() else { panic!("one run: {runs:?}") };
    let text = |name: &str| run[name].as_str().expect("text").to_owned();
    (text("run"), text("state"), run["answers"].as_u64().expect("a number"))
}

fn resume(folder: &Path, run: &str) -> Ran {
    ptc_in(folder, &["resume", run, "--checkpoint", "kept", "--quiet"])
}

/// One mission, killed at each of its questions while the server has it and has not answered.
#[test]
fn killed_at_every_step_a_mission_gives_its_answer_and_asks_nothing_twice_that_was_answered() {
    let (folder, server) = ten_steps("killed-always", "effect = \"read\"");
    let mut run = String::new();
    for (answered, question) in questions().iter().enumerate() {
        server.hold(&[question]);
        let process = match run.is_empty() {
            true => start(&folder, &RUN),
            false => start(&folder, &["resume", &run, "--checkpoint", "kept", "--quiet"]),
        };
        server.wait_for(question, 1);
        kill(process);
        let (id, state, answers) = only_run(&folder);
        assert_eq!((state.as_str(), answers), ("interrupted", answered as u64), "killed at {question}");
        run = id;
    }
    server.hold(&[]);
    let ran = resume(&folder, &run);
    assert_eq!((ran.code, ran.out.as_str()), (0, ANSWER), "{}", ran.err);
    // Each was under way when the process was killed once, so each was asked twice; none a third time.
    for question in questions() {
        assert_eq!(server.count(&question), 2, "{question}");
    }
    assert_eq!(only_run(&folder).1, "finished");
    let again = resume(&folder, &run);
    assert_eq!((again.code, again.out.as_str()), (0, ANSWER), "finished runs give their answer again");
    assert_eq!(server.asked().len(), 2 * questions().len());
}

/// Ten missions, each killed at another step and then left alone.
#[test]
fn killed_at_any_one_step_a_mission_gives_its_answer() {
    for step in 1..=10 {
        let (folder, server) = ten_steps(&format!("killed-{step}"), "effect = \"read\"");
        let question = format!("tool {step}");
        server.hold(&[&question]);
        let process = start(&folder, &RUN);
        server.wait_for(&question, 1);
        kill(process);
        server.hold(&[]);
        let ran = resume(&folder, &only_run(&folder).0);
        assert_eq!((ran.code, ran.out.as_str()), (0, ANSWER), "step {step}: {}", ran.err);
        for other in questions() {
            assert_eq!(server.count(&other), 1 + usize::from(other == question), "step {step}: {other}");
        }
    }
}

/// Kills before and after changes of the store that chance chooses, until the mission is through.
#[test]
fn killed_around_any_change_of_its_store_a_mission_goes_on_behind_its_last_answer() {
    let (folder, server) = ten_steps("killed-anywhere", "effect = \"read\"");
    let order = questions();
    let mut random = 0x2545_f491_u64;
    let mut kills = 0;
    loop {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let known = if folder.join("kept/runs.db").exists() { runs(&folder) } else { Vec::new() };
        let answers = known.first().map_or(0, |run| run["answers"].as_u64().expect("a number") as usize);
        let before = server.asked().len();
        let run = known.first().map(|run| run["run"].as_str().expect("an id"));
        let resume = run.map(|run| ["resume", run, "--checkpoint", "kept", "--quiet"]);
        let killed = killed_at_point(&folder, resume.as_ref().unwrap_or(&RUN), (random >> 33) % POINTS);
        kills += u32::from(killed);
        if let Some(first) = server.asked().get(before) {
            assert_eq!(Some(first), order.get(answers), "it goes on behind {answers} answers");
        }
        if !killed {
            break;
        }
    }
    assert!(kills >= 3, "it was through after {kills} kills");
    let ran = resume(&folder, &only_run(&folder).0);
    assert_eq!((ran.code, ran.out.as_str()), (0, ANSWER), "{}", ran.err);
    assert_eq!(only_run(&folder).2, order.len() as u64, "each answer was kept once");
}

#[test]
fn of_calls_at_once_only_the_unanswered_are_made_again() {
    let (folder, server) = ten_steps("at-once", "idempotent = true");
    let program =
        r#"{"program": "(return {:total (reduce + (map :total (pmap #(tool/step {:n %}) (range 1 11))))})"}"#;
    write(&folder, &[("replies.jsonl", program)]);
    let late: Vec<String> = (6..=10).map(|n| format!("tool {n}")).collect();
    server.hold(&late.iter().map(String::as_str).collect::<Vec<_>>());
    let process = start(&folder, &[&RUN[..], &["--model", "script:replies.jsonl"]].concat());
    eventually("five calls and the reply are kept", || {
        folder.join("kept/runs.db").exists() && runs(&folder).first().is_some_and(|run| run["answers"] == 6)
    });
    late.iter().for_each(|name| server.wait_for(name, 1));
    kill(process);
    server.hold(&[]);
    let ran = resume(&folder, &only_run(&folder).0);
    assert_eq!((ran.code, ran.out.as_str()), (0, ANSWER), "{}", ran.err);
    for n in 1..=10 {
        assert_eq!(server.count(&format!("tool {n}")), if n > 5 { 2 } else { 1 }, "tool {n}");
    }
}

#[test]
fn calls_that_may_have_changed_something_are_made_again_only_if_asked_for() {
    let replies = "{\"program\": \"(return (tool/step {:n 55}))\"}\n\
                   {\"program\": \"(return {:total (if (re-find #\\\"outcome unknown\\\" (:message data/fail)) 1 2)})\"}\n";
    for (name, more, code, out, asked) in
        [("unknown", &[][..], 0, "{\n  \"total\": 1\n}\n", 1), ("repeated", &["--repeat"][..], 0, ANSWER, 2)]
    {
        let (folder, server) = ten_steps(name, "");
        write(&folder, &[("replies.jsonl", replies)]);
        server.hold(&["tool 55"]);
        let process = start(&folder, &[&RUN[..], &["--model", "script:replies.jsonl"]].concat());
        server.wait_for("tool 55", 1);
        kill(process);
        server.hold(&[]);
        let run = only_run(&folder).0;
        let args = [&["resume", &run, "--checkpoint", "kept", "--quiet"][..], more].concat();
        let ran = ptc_in(&folder, &args);
        assert_eq!((ran.code, ran.out.as_str()), (code, out), "{name}: {}", ran.err);
        assert_eq!(server.count("tool 55"), asked, "{name}");
    }
}

#[test]
fn a_run_is_told_what_was_settled_about_calls_of_its_own_tools() {
    let replies = "{\"program\": \"(return (tool/step {:n 55}))\"}\n";
    for (name, flag, out, asked) in [
        ("settled-happened", "--happened={\"total\": 7}", "{\n  \"total\": 7\n}\n", 1),
        ("settled-did-not", "--did-not-happen", ANSWER, 2),
    ] {
        let (folder, server) = ten_steps(name, "");
        write(&folder, &[("replies.jsonl", replies)]);
        server.hold(&["tool 55"]);
        let process = start(&folder, &[&RUN[..], &["--model", "script:replies.jsonl"]].concat());
        server.wait_for("tool 55", 1);
        kill(process);
        server.hold(&[]);
        let run = only_run(&folder).0;
        let settle = ["effects", "settle", &run, "looked", flag, "--checkpoint", "kept"];
        let settled = ptc_in(&folder, &settle);
        assert_eq!(settled.code, 0, "{name}: {}", settled.err);
        let ran = resume(&folder, &run);
        assert_eq!((ran.code, ran.out.as_str()), (0, out), "{name}: {}", ran.err);
        assert_eq!(server.count("tool 55"), asked, "{name}");
        let open = ptc_in(&folder, &["effects", "--checkpoint", "kept"]);
        assert_eq!(open.code, 0, "{name}: {}", open.out);
    }
}

/// Ctrl-C is a real signal to a real process.
#[test]
fn ctrl_c_stops_a_run_and_says_how_to_go_on() {
    for (name, more) in [("stopped-kept", &["--checkpoint", "kept"][..]), ("stopped", &[][..])] {
        let (folder, server) = ten_steps(name, "effect = \"read\"");
        server.hold(&["tool 4"]);
        let process = start(&folder, &[&["run", "agent.toml"][..], more].concat());
        server.wait_for("tool 4", 1);
        let tool = fs::read_to_string(folder.join("tool.pid")).expect("the tool's process");
        let sent =
            Command::new("kill").args(["-INT", &process.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let output = process.wait_with_output().expect("it ends");
        let err = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(130), 0), "{err}");
        let tool = PathBuf::from("/proc").join(tool.trim());
        eventually("the tool is stopped too", || !tool.exists());
        let (_, command) = err.split_once("ptc: stopped\n  = go on with: ptc ").expect("how to go on");
        let command: Vec<&str> = command.lines().next().unwrap_or_default().split(' ').collect();
        assert_eq!(command[0], "resume", "{err}");
        server.hold(&[]);
        let listed = ptc_in(&folder, &[&["runs"][..], &command[2..]].concat());
        assert!(listed.out.contains("  interrupted  "), "{}", listed.out);
        let ran = ptc_in(&folder, &[&command[..], &["--json"]].concat());
        let document: Value = serde_json::from_str(&ran.out).expect("one document");
        assert_eq!((ran.code, &document["answer"]), (0, &json!({"total": 55})), "{}", ran.err);
        assert_eq!(document["run"], command[1]);
        assert_eq!((server.count("tool 3"), server.count("tool 4"), server.count("model 4")), (1, 2, 1));
    }
}

#[test]
fn a_run_whose_model_cannot_be_reached_goes_on_when_it_can() {
    let (folder, server) = ten_steps("unreachable", "effect = \"read\"");
    let other = "openai-compat:http://127.0.0.1:1/v1|m";
    let one = "llm_retry={\"max_attempts\": 1}";
    let ran = ptc_in(&folder, &[&RUN[..], &["--model", other, "--set", one]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("gave no reply") && ran.err.contains("= go on with: ptc resume"), "{}", ran.err);
    let (run, state, answers) = only_run(&folder);
    assert_eq!((state.as_str(), answers), ("failed", 0));
    let model = server.model();
    let ran = ptc_in(&folder, &["resume", &run[..4], "--checkpoint", "kept", "-q", "--model", &model]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ANSWER), "{}", ran.err);
}

#[test]
fn one_process_at_a_time_goes_on_with_a_run() {
    let (folder, server) = ten_steps("busy", "effect = \"read\"");
    server.hold(&["tool 1"]);
    let process = start(&folder, &RUN);
    server.wait_for("tool 1", 1);
    let (run, state, _) = only_run(&folder);
    assert_eq!(state, "running");
    let ran = resume(&folder, &run);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains(&format!("run {run} goes on in another process")), "{}", ran.err);
    server.hold(&[]);
    let output = process.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(ptc_in(&folder, &["runs", "--checkpoint", "kept", "--forget", &run]).code, 0);
    assert!(runs(&folder).is_empty());
}

#[test]
fn bad_input_is_told_and_changes_nothing() {
    let (folder, _server) = ten_steps("resume-bad", "effect = \"read\"");
    for (args, part) in [
        (&["resume", "x"][..], "there are no checkpoints in "),
        (&["resume", "x", "--checkpoint", "nowhere"], "there are no checkpoints in nowhere; name the folder"),
        (&["runs", "--checkpoint", "nowhere"], "there are no checkpoints in nowhere"),
        (&["run", "agent.toml", "--checkpoint", "agent.toml"], "--checkpoint: agent.toml is no folder"),
    ] {
        let ran = ptc_in(&folder, args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}\n{}", ran.err);
        assert!(ran.err.contains(part), "{args:?}\n{}", ran.err);
        assert!(!folder.join("nowhere").exists());
    }
    let none = ptc_in(&folder, &["runs"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""), "{}", none.err);
    assert!(none.err.starts_with("no runs are kept; `ptc run --checkpoint DIR` keeps one"), "{}", none.err);
    let said = "{\"text\": \"Hello\"}";
    write(&folder, &[("replies.jsonl", said), ("chat.toml", "prompt = \"Say hello\"\noutput = \"text\"\n")]);
    let script = ["--model", "script:replies.jsonl", "--checkpoint", "kept", "-q"];
    let ran = ptc_in(&folder, &[&["run", "chat.toml"][..], &script].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hello\n"), "{}", ran.err);
    let ran = resume(&folder, "zzz");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no run `zzz` in ") && ran.err.contains("ptc runs"), "{}", ran.err);
}

/// The agent's file says something else than when the run began.
#[test]
fn a_run_goes_on_with_its_own_agent_only() {
    let (folder, server) = ten_steps("changed", "effect = \"read\"");
    server.hold(&["tool 2"]);
    let process = start(&folder, &RUN);
    server.wait_for("tool 2", 1);
    kill(process);
    server.hold(&[]);
    let run = only_run(&folder).0;
    let text = fs::read_to_string(folder.join("agent.toml")).expect("the file");
    fs::write(folder.join("agent.toml"), text.replace("ten steps", "no step")).expect("a file");
    let ran = resume(&folder, &run);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("the run cannot go on") && ran.err.contains("= fix:"), "{}", ran.err);
    fs::remove_file(folder.join("agent.toml")).expect("a file");
    assert!(resume(&folder, &run).err.contains("agent.toml: there is no such file"));
    fs::write(folder.join("agent.toml"), text).expect("a file");
    assert_eq!(resume(&folder, &run).out, ANSWER);
}
