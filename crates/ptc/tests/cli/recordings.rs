//! Recordings of programs and of runs that are resumed, made by the real command and played by it elsewhere, where
//! none of their files, tools and servers are.

use std::path::Path;

use super::agents::{folder, ptc_in, write};
use super::approval::{bills, paid};
use super::resume::{kill, only_run, start, ten_steps};
use super::world::World;
use super::*;

/// Plays a recording in a folder that has nothing else.
pub fn played(recording: &Path, more: &[&str]) -> Ran {
    let file = fs::canonicalize(recording).expect("a recording");
    let empty = folder(&format!("played-{}", std::process::id()));
    ptc_in(&empty, &[&["replay", &file.to_string_lossy()], more].concat())
}

/// It was played, with so many calls, and is the same.
#[track_caller]
pub fn equal(recording: &Path, calls: usize) -> Ran {
    let played = played(recording, &[]);
    assert_eq!(played.code, 0, "{}{}", played.out, played.err);
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    assert!(played.out.starts_with(&format!("equal: {calls}, ")), "{}", played.out);
    played
}

const TOOLS: &str = r#"{"price": {"cases": [[{"sku": "a"}, 12], [{"sku": "b"}, 30]], "default": {"$raise": "no such thing"}},
                        "crm/find": {"default": {"$fail": {"reason": "timeout", "message": "no answer"}}},
                        "crm/list": {"default": [{"name": "x"}, {"name": "y"}]}}"#;
const CRM: &str =
    "(ns shop \"Prices.\")\n(defn twice \"Twice the price.\" [sku] (* 2 (tool/price {:sku sku})))\n";

/// Programs with flags, how they end and how many calls they make.
const PROGRAMS: [(&str, &[&str], i32, usize); 18] = [
    ("(+ 1 2)", &[], 0, 0),
    (
        "(println \"hi\") (def x (map inc data/xs)) {:x x :r (rand-int 1000)}",
        &["--data", "xs=[1, 2.50, 123456789012345678901234567890]", "--seed", "7"],
        0,
        0,
    ),
    ("[(rand) (rand)]", &[], 0, 0),
    ("(reduce + (pmap #(tool/price {:sku %}) [\"a\" \"b\" \"a\"]))", &["--tools", "tools.json"], 0, 3),
    ("(try (tool/price {:sku \"c\"}) (catch Exception e (ex-message e)))", &["--tools", "tools.json"], 0, 1),
    ("(tool/price {:sku \"c\"})", &["--tools", "tools.json"], 1, 1),
    ("(:reason (tool/call {:server \"crm\" :tool \"find\" :args {}}))", &["--tools", "tools.json"], 0, 1),
    ("(:value_kind (tool/call {:server \"crm\" :tool \"list\" :args {}}))", &["--tools", "tools.json"], 0, 1),
    ("(map :name (crm/list))", &["--tools", "tools.json"], 0, 1),
    ("(crm/find {:id 1})", &["--tools", "tools.json"], 1, 1),
    ("(crm/list) (crm/lost {})", &["--tools", "tools.json"], 1, 0),
    ("(crm/list) (tool/call {:server \"crn\" :tool \"list\"})", &["--tools", "tools.json"], 1, 0),
    ("(shop/twice \"b\")", &["--tools", "tools.json", "--prelude", "shop.clj"], 0, 1),
    ("(fail {:no \"way\"})", &[], 1, 0),
    ("(+ 1", &[], 1, 0),
    ("(nosuch 1)", &[], 1, 0),
    ("(loop [] (recur))", &["--fuel", "100k"], 3, 0),
    ("(println \"a\") (loop [] (recur))", &["--fuel", "1000g", "--timeout", "300ms"], 3, 0),
];

#[test]
fn programs_are_recorded_and_played_back_to_the_byte() {
    let folder = folder("recorded-programs");
    write(&folder, &[("tools.json", TOOLS), ("shop.clj", CRM)]);
    for (at, (program, flags, code, calls)) in PROGRAMS.into_iter().enumerate() {
        let name = format!("{at}.recording");
        let args = [&["eval", "-e", program, "--record", &name], flags].concat();
        let ran = ptc_in(&folder, &args);
        assert_eq!(ran.code, code, "{program}: {}{}", ran.out, ran.err);
        let unrecorded = ptc_in(&folder, &[&["eval", "-e", program], flags].concat());
        assert_eq!(unrecorded.code, code, "recording changes nothing: {program}");
        let played = equal(&folder.join(&name), calls);
        assert!(
            played.out.contains("not on record:\n  what tools did outside the program"),
            "{}",
            played.out
        );
    }
}

#[test]
fn a_changed_answer_of_a_program_is_found_at_exactly_its_call() {
    let folder = folder("recorded-mutated");
    write(&folder, &[("tools.json", TOOLS)]);
    let program = "(let [a (tool/price {:sku \"a\"}) b (tool/price {:sku \"b\"}) c (tool/price {:sku \"a\"})] (+ a b c))";
    let ran = ptc_in(&folder, &["eval", "-e", program, "--tools", "tools.json", "--record", "whole"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "54\n"), "{}", ran.err);
    let text = fs::read_to_string(folder.join("whole")).expect("a recording");
    let answers: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"answer\"")).collect();
    assert_eq!(answers.len(), 3);
    for (at, answer) in answers.iter().enumerate() {
        let call = at + 1;
        let wrong = answer.replace("{\"value\":", "{\"value\":9");
        fs::write(folder.join("changed"), text.replace(answer, &wrong)).expect("a file");
        let found = played(&folder.join("changed"), &[]);
        assert_eq!(found.code, 1, "{}", found.out);
        let told = format!("changed at call {call}, tool price ");
        assert!(found.out.starts_with(&told), "{told}: {}", found.out);
        assert!(
            found.out.contains("differs: the outcome is another\n  at /return\n  - \"54\"\n"),
            "{}",
            found.out
        );
        let diff = ptc_in(&folder, &["replay", "whole", "--diff", "changed"]);
        assert_eq!(diff.code, 1);
        let told = format!("first difference: call {call}, what was answered\n  at /value\n");
        assert!(diff.out.starts_with(&told), "{told}: {}", diff.out);
    }
    // A question that was changed is where the program parts from its recording.
    let asked = text.replacen("\"args\":{\"sku\":\"b\"}", "\"args\":{\"sku\":\"c\"}", 1);
    fs::write(folder.join("asked"), asked).expect("a file");
    let found = played(&folder.join("asked"), &[]);
    assert_eq!(found.code, 1);
    assert!(
        found.out.starts_with(
            "differs at call 2, tool price {\"sku\":\"c\"}: it asks for something else\n  at /tool/args/sku"
        ),
        "{}",
        found.out
    );
    // What was cut off is the same as far as it goes.
    let cut = text.find(answers[2]).expect("the last answer");
    fs::write(folder.join("cut"), &text[..cut]).expect("a file");
    let found = played(&folder.join("cut"), &[]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("equal so far: 3 calls; the recording was cut off"), "{}", found.out);
}

#[test]
fn a_limit_that_is_too_low_to_play_a_program_is_told_as_such() {
    let folder = folder("recorded-limits");
    let rows = format!("rows={}", Value::from((0..20_000).collect::<Vec<_>>()));
    let answers = json!({"rows": {"default": (0..20_000).collect::<Vec<_>>()}});
    write(&folder, &[("tools.json", &answers.to_string())]);
    for args in [
        &["-e", "(count data/rows)", "--data", &rows][..],
        &["-e", "(count (tool/rows {}))", "--tools", "tools.json"],
        &["-e", "(def xs (vec (range 20000))) (count xs)"],
    ] {
        let ran = ptc_in(&folder, &[&["eval", "--record", "r.recording"], args].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, "20000\n"), "{}", ran.err);
        let played = ptc_in(&folder, &["replay", "r.recording", "--memory", "50000"]);
        assert_eq!((played.code, played.out.as_str()), (2, ""), "{args:?}");
        assert!(played.err.contains("it needs more than may be used to play it: "), "{}", played.err);
        assert!(played.err.contains("--fuel and --memory allow more"), "{}", played.err);
        std::fs::remove_file(folder.join("r.recording")).expect("it is there");
    }
}

#[test]
fn calls_of_a_program_are_shown_and_it_is_held_against_other_code() {
    let folder = folder("recorded-shown");
    write(&folder, &[("tools.json", TOOLS), ("shop.clj", CRM), ("sum.clj", "(+ 1 (shop/twice \"b\"))")]);
    let flags = ["--tools", "tools.json", "--prelude", "shop.clj", "--record", "r.recording"];
    let ran = ptc_in(&folder, &[&["eval", "sum.clj"], &flags[..]].concat());
    assert_eq!((ran.code, ran.out.as_str()), (0, "61\n"), "{}", ran.err);
    let stepped = ptc_in(&folder, &["replay", "r.recording", "--step"]);
    assert!(
        stepped.out.starts_with("call 1, tool price {\"sku\":\"b\"}\n  30\nequal: 1 call, "),
        "{}",
        stepped.out
    );
    let one = ptc_in(&folder, &["replay", "r.recording", "--at", "call", "1"]);
    assert!(one.out.contains("\"sku\": \"b\"") && one.out.contains("\"value\": 30"), "{}", one.out);
    let against = |name: &str, text: &str| {
        fs::create_dir_all(folder.join("new")).expect("a folder");
        write(&folder, &[(&format!("new/{name}"), text)]);
        ptc_in(&folder, &["replay", "r.recording", "--against", &format!("new/{name}")])
    };
    for (name, text, code, told) in [
        (
            "shop.clj",
            "(ns shop \"Prices.\")\n(defn twice \"Twice.\" [sku] (let [p (tool/price {:sku sku})] (+ p p)))\n",
            0,
            "r.recording: the same answer\n",
        ),
        (
            "shop.clj",
            "(ns shop \"Prices.\")\n(defn twice \"Thrice.\" [sku] (* 3 (tool/price {:sku sku})))\n",
            1,
            "r.recording: another answer\n  at /return\n  - \"61\"\n  + \"91\"\n",
        ),
        (
            "sum.clj",
            "(+ 2 (shop/twice \"b\"))",
            1,
            "r.recording: another answer\n  at /return\n  - \"61\"\n  + \"62\"\n",
        ),
        (
            "sum.clj",
            "(shop/twice \"z\")",
            2,
            "r.recording: cannot be told, tool price {\"sku\":\"z\"} is not on record\n",
        ),
    ] {
        let ran = against(name, text);
        assert_eq!((ran.code, ran.out.as_str()), (code, told), "{}", ran.err);
    }
    let agent = against("agent.toml", "prompt = \"x\"");
    assert_eq!(
        (agent.code, agent.out.as_str()),
        (2, "r.recording: is a program, and new/agent.toml is none\n")
    );
    assert!(agent.err.contains("nothing was compared with new/agent.toml"), "{}", agent.err);
}

#[test]
fn programs_with_servers_are_played_without_them() {
    let file = {
        let world = World::start("recorded-world");
        let program = "(let [put #(tool/call {:server \"world\" :tool \"put\" :args {:key % :value 1}})
                             got (pmap put [\"a\" \"b\"])]
                         [(count (tool/servers)) (map :ok got)])";
        let args = ["eval", "-e", program, "--upstreams-config", "upstreams.json", "--record", "r.recording"];
        let (code, out, err) = world.run(&args);
        assert_eq!((code, out.as_str()), (0, "[1 (true true)]\n"), "{err}");
        let refused = [
            "eval",
            "-e",
            "(tool/call {:server \"world\" :tool \"put\" :args {:key 1 :value 1}})",
            "--upstreams-config",
            "upstreams.json",
            "--read-only",
            "--record",
            "none.recording",
        ];
        let (code, _, err) = world.run(&refused);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("nothing is recorded, the program was refused before it ran"), "{err}");
        assert!(!world.folder.join("none.recording").exists());
        world.folder.join("r.recording")
    };
    equal(&file, 3);
}

#[test]
fn a_run_that_waits_for_a_person_is_recorded_and_so_is_the_rest_of_it() {
    let folder = bills("recorded-approval");
    let ran =
        ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "-q", "--record", "first.recording"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    equal(&folder.join("first.recording"), 4);
    let (id, _, _) = only_run(&folder);
    let args =
        ["resume", &id, "--checkpoint", "kept", "-q", "--approve", "all", "--record", "rest.recording"];
    let ran = ptc_in(&folder, &args);
    assert_eq!((ran.code, paid(&folder).len()), (0, 3), "{}", ran.err);
    let rest = equal(&folder.join("rest.recording"), 3);
    let missing = "what came into the run before it was resumed; the run as it was kept then is here";
    assert!(rest.out.contains(missing), "{}", rest.out);
    let stepped = played(&folder.join("rest.recording"), &["--step"]);
    assert!(stepped.out.starts_with("call 1, tool pay {\"sum\":1} (clerk)\n  1\n"), "{}", stepped.out);
}

#[test]
fn a_run_that_was_killed_is_recorded_from_where_it_goes_on() {
    let (folder, server) = ten_steps("recorded-killed", "effect = \"read\"");
    server.hold(&["tool 4"]);
    let run = ["run", "agent.toml", "--checkpoint", "kept", "--quiet", "--record", "killed.recording"];
    let process = start(&folder, &run);
    server.wait_for("tool 4", 1);
    kill(process);
    server.hold(&[]);
    // Four turns with a call each; nothing of the killed process is missing, and nothing counts as a difference.
    let killed = played(&folder.join("killed.recording"), &[]);
    assert_eq!(killed.code, 0, "{}{}", killed.out, killed.err);
    assert!(killed.out.starts_with("equal so far: 8 calls; the recording was cut off"), "{}", killed.out);
    told_where_it_ends(&folder);
    let (id, _, _) = only_run(&folder);
    let args = ["resume", &id, "--checkpoint", "kept", "--quiet", "--record", "rest.recording"];
    let ran = ptc_in(&folder, &args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // The call that the killed process had not answered, and everything after it.
    equal(&folder.join("rest.recording"), 14);
    let text = fs::read_to_string(folder.join("rest.recording")).expect("a recording");
    let answers: Vec<&str> = text.lines().filter(|line| line.contains("\"given\":{\"value\"")).collect();
    let answer = answers[2];
    let wrong = answer.replace("{\"total\":", "{\"total\":9");
    assert_ne!(answer, wrong);
    fs::write(folder.join("changed"), text.replace(answer, &wrong)).expect("a file");
    let found = played(&folder.join("changed"), &[]);
    assert_eq!(found.code, 1);
    assert!(found.out.starts_with("changed at call 5, tool step "), "{}", found.out);
    let against = ptc_in(&folder, &["replay", "rest.recording", "--against", "agent.toml"]);
    assert!(
        against.out.contains("cannot be told, what came into it before it was resumed is not on record"),
        "{}",
        against.out
    );
}

/// What the recording of a killed process lacks is no difference to another one of the same mission; what it has may be one.
fn told_where_it_ends(folder: &Path) {
    let diff = |left: &str, right: &str| {
        let ran = ptc_in(folder, &["replay", left, "--diff", right]);
        assert_eq!(ran.err, "");
        (ran.code, ran.out)
    };
    let ran = ptc_in(folder, &["run", "agent.toml", "--quiet", "--record", "whole.recording"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told = "no difference in 8 calls, as far as killed.recording goes: it was cut off before the end\n";
    for (left, right) in [("whole.recording", "killed.recording"), ("killed.recording", "whole.recording")] {
        assert_eq!(diff(left, right), (0, told.to_owned()));
    }
    let text = fs::read_to_string(folder.join("killed.recording")).expect("a recording");
    let lines: Vec<&str> = text.lines().collect();
    // Wherever it is cut, it ends there.
    for end in 1..lines.len() {
        fs::write(folder.join("shorter"), lines[..end].join("\n") + "\n").expect("a file");
        let (code, out) = diff("whole.recording", "shorter");
        assert!(code == 0 && out.contains(", as far as shorter goes: it was cut off"), "line {end}: {out}");
        let (code, out) = diff("killed.recording", "shorter");
        assert!(code == 0 && out.contains(", as far as both go: they were cut off"), "line {end}: {out}");
    }
    let answer = lines.iter().rfind(|line| line.contains("\"given\":{\"value\"")).expect("an answer");
    let wrong = answer.replace("{\"total\":", "{\"total\":9");
    fs::write(folder.join("other"), text.replace(answer, &wrong)).expect("a file");
    let (code, out) = diff("whole.recording", "other");
    assert!(code == 1 && out.starts_with("first difference: call 6, what was answered\n"), "{out}");
}

#[test]
fn a_project_is_compared_with_itself_wherever_it_lies() {
    let agent =
        "prompt = \"Add\"\nsignature = \"(n :int) -> {sum :int}\"\nmodel = \"script:replies.jsonl\"\n";
    let record = |name: &str, program: &str| {
        let folder = folder(name);
        let reply = format!("{{\"program\": \"(return {{:sum {program}}})\"}}");
        write(&folder, &[("agent.toml", agent), ("replies.jsonl", &reply)]);
        let ran = ptc_in(&folder, &["run", "agent.toml", "-q", "--data", "n=1", "--record", "run.recording"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        folder.join("run.recording").display().to_string()
    };
    let one = record("lies-here", "(+ data/n 1)");
    let (same, other) = (record("lies-there", "(+ data/n 1)"), record("lies-elsewhere", "(+ data/n 2)"));
    let diff = |right: &str| {
        let ran = ptc_in(&folder("lies-nowhere"), &["replay", &one, "--diff", right]);
        (ran.code, ran.out)
    };
    assert_eq!(diff(&same), (0, "no difference in 1 call\n".to_owned()));
    let (code, out) = diff(&other);
    assert_eq!(code, 1);
    assert!(out.starts_with("first difference: call 1, what was answered\n"), "{out}");
}
