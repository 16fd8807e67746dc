//! Calls of the real server, recorded by it and played back by the real command, where neither the server nor its
//! upstreams are.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Folder, StdioServer, ptc, text};
use crate::upstreams::config;
use crate::world::World;

/// The recordings of a folder, the oldest first.
fn recordings(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Runs `ptc replay`: its exit code and what it prints.
fn replay(args: &[&str]) -> (i32, String) {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_ptc")).arg("replay").args(args).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code().unwrap(), text)
}

/// A recording was played and is the same, with so many calls.
#[track_caller]
fn equal(file: &Path, calls: usize) -> String {
    let (code, told) = replay(&[file.to_str().unwrap()]);
    assert_eq!(code, 0, "{told}");
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    assert!(told.starts_with(&format!("equal: {calls}, ")), "{told}");
    told
}

fn call(tool: &str, args: &str) -> String {
    format!("(:value (tool/call {{:server \"fix\" :tool \"{tool}\" :args {args}}}))")
}

#[test]
fn every_call_of_a_program_is_recorded_and_played_back_to_the_byte() {
    let folder = Folder::new();
    let upstreams = config(&folder, json!({}));
    let prelude = folder.file(
        "fix.clj",
        &format!("(ns own \"Ours.\")\n(defn text \"Its text.\" [] {})\n", call("text", "{}")),
    );
    let dir = folder.path().join("recordings");
    let flags = [
        "--upstreams-config",
        &upstreams,
        "--prelude",
        &prelude,
        "--record-dir",
        dir.to_str().unwrap(),
        "--sessions",
        "--program-timeout-ms",
        "60000",
    ];
    let mut server = StdioServer::ready(&flags);
    let numbers = format!("(pmap (fn [n] (get {} \"n\")) data/ns)", call("json", "{:n n}"));
    let context = json!({"ns": [3, 1, 2]});
    // Programs of lisp_eval: with calls, with a prelude and questions, with mistakes.
    let result = server.call(1, "lisp_eval", json!({"program": numbers, "context": context}));
    assert_eq!(text(&result), "user=> (3 1 2)");
    assert!(
        server
            .eval(2, "[(own/text) (count (tool/servers)) (rand-int 1000)]")
            .starts_with("user=> [\"just text\" 1 ")
    );
    assert!(server.eval(3, "(println \"a\") (nosuch 1)").contains("nosuch"));
    assert!(server.eval(4, &call("fails", "{}")).contains("nil"));
    // Programs of a session build on each other; the second has the state before it in its recording.
    let started = server.call(5, "lisp_session_start", json!({}));
    let session = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    let mut in_session = |program: &str| {
        text(&server.call(6, "lisp_session_eval", json!({"session_id": session, "program": program})))
    };
    in_session(&format!("(def n (get {} \"n\")) (defn twice [x] (* x 2)) n", call("json", "{:n 21}")));
    let told = in_session("(def m (twice n)) [m *1]");
    assert!(told.starts_with("user=> [42 21]"), "{told}");
    assert!(in_session("(def gone 1) (/ 1 0)").contains("rolled back"));
    assert!(in_session("[n m]").starts_with("user=> [21 42]"));
    drop(server);

    let files = recordings(&dir);
    let calls = [3, 2, 0, 1, 1, 0, 0, 0];
    assert_eq!(files.len(), calls.len());
    for (file, calls) in files.iter().zip(calls) {
        let told = equal(file, calls);
        assert!(!told.contains("the state before"), "{told}");
    }
    let (code, all) = replay(&[dir.to_str().unwrap(), "--last", "7"]);
    assert_eq!(
        (code, all.lines().filter(|line| line.contains(".recording: equal: ")).count()),
        (0, 7),
        "{all}"
    );
    let (code, told) = replay(&[dir.to_str().unwrap(), "--step"]);
    assert_eq!(code, 2);
    assert!(told.contains("is a directory; name one of its recordings"), "{told}");
    let (_, stepped) = replay(&[files[0].to_str().unwrap(), "--step"]);
    assert!(
        stepped.starts_with("call 1, tool call {\"server\":\"fix\",\"tool\":\"json\",\"args\":{\"n\":3}}\n"),
        "{stepped}"
    );
    // A changed answer is found at exactly its call.
    let whole = std::fs::read_to_string(&files[0]).unwrap();
    let answers: Vec<&str> = whole.lines().filter(|line| line.starts_with("{\"answer\"")).collect();
    for (at, answer) in answers.iter().enumerate() {
        let changed = folder.file("changed", &whole.replace(answer, &answer.replace("\"n\":", "\"n\":7")));
        let (code, told) = replay(&[&changed]);
        assert_eq!(code, 1, "{told}");
        assert!(told.starts_with(&format!("changed at call {}, tool call ", at + 1)), "{told}");
        std::fs::copy(&changed, dir.join("changed.recording")).unwrap();
        let (code, all) = replay(&[dir.to_str().unwrap()]);
        assert_eq!(code, 1, "{all}");
        assert!(all.starts_with(&format!("changed.recording: changed at call {}, ", at + 1)), "{all}");
        let (_, diff) = replay(&[files[0].to_str().unwrap(), "--diff", &changed]);
        assert!(
            diff.starts_with(&format!("first difference: call {}, what was answered\n", at + 1)),
            "{diff}"
        );
    }
    // Another prelude would have given another answer.
    let other = Folder::new();
    let other = other.file(
        "fix.clj",
        &format!("(ns own \"Ours.\")\n(defn text \"Its text.\" [] (count {}))\n", call("text", "{}")),
    );
    let (code, told) = replay(&[files[1].to_str().unwrap(), "--against", &other]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains(": another answer\n  at /return\n"), "{told}");
}

#[test]
fn a_task_is_recorded_and_played_back_to_the_byte() {
    let folder = Folder::new();
    let upstreams = config(&folder, json!({}));
    let program = format!("(def n (get {} \"n\")) (println n)", call("json", "{:n 5}"));
    let replies = [
        json!({"program": program}),
        json!({"program": format!("(return (+ n (get {} \"n\")))", call("json_text", "{}"))}),
    ];
    let script = folder.file("replies.jsonl", &replies.map(|reply| format!("{reply}\n")).concat());
    let dir = folder.path().join("recordings");
    let model = format!("script:{script}");
    let flags = [
        "--upstreams-config",
        &upstreams,
        "--agentic",
        "--agentic-model",
        &model,
        "--agentic-max-turns",
        "3",
        "--record-dir",
        dir.to_str().unwrap(),
        "--agentic-allow-writes",
    ];
    let mut server = StdioServer::ready(&flags);
    let result = server.call(1, "lisp_task", json!({"task": "Add two numbers", "context": {"hint": "look"}}));
    assert_eq!(result["structuredContent"]["status"], "ok", "{result}");
    // The model has nothing more to say: a task that fails is recorded, too.
    let result = server.call(2, "lisp_task", json!({"task": "Again"}));
    assert_eq!(result["isError"], true, "{result}");
    drop(server);
    let files = recordings(&dir);
    assert_eq!(files.len(), 2);
    equal(&files[0], 4);
    let (code, told) = replay(&[files[1].to_str().unwrap()]);
    assert_eq!(code, 0, "{told}");
    let whole = std::fs::read_to_string(&files[0]).unwrap();
    let answer =
        whole.lines().find(|line| line.contains("\"n\":5}") && line.starts_with("{\"answer\"")).unwrap();
    let changed = folder.file("changed", &whole.replace(answer, &answer.replace("\"n\":5}", "\"n\":6}")));
    let (code, told) = replay(&[&changed]);
    assert_eq!(code, 1);
    assert!(told.starts_with("changed at call 2, tool call "), "{told}");
    assert!(told.contains("differs at call 3, model "), "what the model is told next is another: {told}");
    let (_, told) = replay(&[files[0].to_str().unwrap(), "--against", &changed]);
    assert!(told.contains("is a task of a server"), "{told}");
}

#[test]
fn programs_that_wait_for_approval_are_recorded_in_their_parts() {
    let folder = Folder::new();
    let upstreams = config(&folder, json!({"approval": "ask"}));
    let dir = folder.path().join("recordings");
    let flags = [
        "--upstreams-config",
        &upstreams,
        "--record-dir",
        dir.to_str().unwrap(),
        "--program-timeout-ms",
        "60000",
        "--approval-by",
        "model",
    ];
    let mut server = StdioServer::ready(&flags);
    let program = format!(
        "(println \"begun\") [(get {} \"n\") (get {} \"n\")]",
        call("json", "{:n 1}"),
        call("json", "{:n 2}")
    );
    let mut result = server.call(1, "lisp_eval", json!({"program": program}));
    let mut parts = 1;
    while let Some(ticket) = result["structuredContent"]["ticket"].as_str().map(str::to_owned) {
        result = server.call(2, "lisp_approve", json!({"ticket": ticket}));
        parts += 1;
    }
    assert!(text(&result).contains("user=> [1 2]"), "{result}");
    drop(server);
    let files = recordings(&dir);
    assert_eq!((files.len(), parts), (3, 3));
    // The first stops at its call, the others begin with the machine that waited.
    for (file, calls) in files.iter().zip([1, 2, 1]) {
        equal(file, calls);
    }
}

const SECRET: &str = "sesame-sesame-sesame-12";

#[test]
fn recordings_are_bounded_and_secrets_are_covered_in_them() {
    let folder = Folder::new();
    let upstreams = config(&folder, json!({"env": {"SECRET": "${PTC_TEST_SECRET}"}}));
    let dir = folder.path().join("recordings");
    let flags = [
        "--upstreams-config",
        &upstreams,
        "--record-dir",
        dir.to_str().unwrap(),
        "--record-max-files",
        "3",
        "--record-max-bytes",
        "6000",
        "--sessions",
        "--program-timeout-ms",
        "60000",
    ];
    let mut command = ptc(&flags);
    command.env("PTC_TEST_SECRET", SECRET);
    let mut server = StdioServer::spawn(command);
    for n in 0..5 {
        assert_eq!(server.eval(n, &format!("(+ {n} 1)")), format!("user=> {}", n + 1));
    }
    let kept = recordings(&dir);
    assert_eq!(kept.len(), 3, "the oldest make room");
    let texts: Vec<String> = kept.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    assert!(texts[0].contains("(+ 2 1)") && texts[2].contains("(+ 4 1)"), "{texts:?}");
    #[cfg(unix)]
    {
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&kept[0]).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    // A recording that grows too long is cut off, and says so; the call is answered all the same.
    let long = format!("(count {})", call("sized", "{:n 9000}"));
    assert_eq!(server.eval(6, &long), "user=> 9000");
    let (code, told) = replay(&[recordings(&dir)[2].to_str().unwrap()]);
    assert_eq!(code, 0, "{told}");
    assert!(told.starts_with("equal so far: 1 call; the recording was cut off"), "{told}");
    assert!(told.contains("the rest: a recording may have 6000 bytes"), "{told}");
    // A client's input with a secret is covered, and so is what a program makes of it; it is played all the same.
    let program = format!("[(str data/key \"!\") {}]", call("echo_secret", "{}"));
    let result = server.call(7, "lisp_eval", json!({"program": program, "context": {"key": SECRET}}));
    assert!(!result.to_string().contains(SECRET), "{result}");
    let told = equal(&recordings(&dir)[2], 1);
    assert!(told.contains("secrets: they were covered in "), "{told}");
    // State of a session that holds a secret is not written down.
    let started = server.call(8, "lisp_session_start", json!({}));
    let session = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    let keep = json!({"session_id": session, "program": "(def key data/key) (count key)", "context": {"key": SECRET}});
    server.call(9, "lisp_session_eval", keep);
    server.call(10, "lisp_session_eval", json!({"session_id": session, "program": "(count key)"}));
    let (code, told) = replay(&[recordings(&dir)[2].to_str().unwrap()]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("the state before it: it is not on record"), "{told}");
    for file in recordings(&dir) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_keeps_the_server_from_starting() {
    let folder = Folder::new();
    let file = folder.file("taken", "");
    let output = ptc(&["--record-dir", &file]).output().unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("--record-dir") && told.contains("taken"), "{told}");
}

#[test]
fn the_recording_of_a_server_that_was_killed_during_a_call_is_played_to_its_last_line() {
    let world = World::start("recorded-killed-server");
    let flags = ["mcp", "--upstreams-config", "upstreams.json", "--record-dir", "recordings"];
    let mut server = StdioServer::spawn(world.command(&flags));
    let put = |key: &str| {
        format!("(:ok (tool/call {{:server \"world\" :tool \"put\" :args {{:key \"{key}\" :value 1}}}}))")
    };
    world.hold(&["did b"]);
    let arguments = json!({"program": format!("[{} {}]", put("a"), put("b"))});
    server.request(1, "tools/call", json!({"name": "lisp_eval", "arguments": arguments}));
    world.wait_for("did b");
    // Dropping it is kill -9.
    drop(server);
    world.hold(&[]);
    let [file] = &recordings(&world.folder.join("recordings"))[..] else { panic!("one recording") };
    let (code, told) = replay(&[file.to_str().unwrap()]);
    assert_eq!(code, 0, "{told}");
    // A call is on record before it is sent, so the one without an answer is too.
    assert!(told.starts_with("equal so far: 2 calls; the recording was cut off"), "{told}");
}
