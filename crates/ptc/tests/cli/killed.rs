//! Missions that change the world, killed at every step: each write is made at most once, and what nobody knows of is
//! told.

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::eventually::eventually;
use super::world::World;

/// How many times missions are killed; more with `PTC_KILLS`.
fn kills() -> usize {
    std::env::var("PTC_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

const WRITES: usize = 5;

fn mission(world: &World, run: &str) {
    let program = format!(
        "(return (mapv (fn [i]
           (try (let [r (tool/call {{:server \"world\" :tool \"put\" :args {{:key (str \"{run}-\" i) :value i}}}})]
                  (if (:ok r) \"ok\" (str (:message r))))
                (catch Exception e (ex-message e))))
           [1 2 3 4 5]))"
    );
    agent(world, &program);
}

/// An agent with one program that may change the world.
fn agent(world: &World, program: &str) {
    world.write("replies.jsonl", &format!("{}\n", json!({"program": program})));
    let agent = "prompt = \"Change the world\"\nmodel = \"script:replies.jsonl\"\nupstreams = \"upstreams.json\"\n\
                 allow_writes = true\ntimeout = 100000\n";
    world.write("agent.toml", agent);
}

/// The runs in the folder of a mission.
fn runs(world: &World, kept: &str) -> Vec<Value> {
    let (_, out, _) = world.run(&["runs", "--checkpoint", kept, "--json"]);
    out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

fn start(world: &World, kept: &str) -> Child {
    let runs = runs(world, kept);
    let id = runs.first().and_then(|run| run["run"].as_str()).unwrap_or_default();
    let args = match id {
        "" => vec!["run", "agent.toml", "--checkpoint", kept, "--quiet"],
        id => vec!["resume", id, "--checkpoint", kept, "--quiet"],
    };
    let mut command = world.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// Waits until something was noted, or the mission is over.
fn until(world: &World, mission: &mut Child, line: &str) {
    eventually(line, || world.count(line) > 0 || mission.try_wait().expect("it can be asked").is_some());
}

/// Waits until a run has its lock, or is over.
fn until_kept(world: &World, mission: &mut Child, kept: &str) {
    let is_lock = |name: &std::ffi::OsStr| name.to_string_lossy().ends_with(".lock");
    eventually("the lock of the run", || {
        let files = std::fs::read_dir(world.folder.join(kept)).into_iter().flatten().flatten();
        files.into_iter().any(|file| is_lock(&file.file_name()))
            || mission.try_wait().expect("it can be asked").is_some()
    });
}

fn kill_at(world: &World, run: &str, write: usize, moment: usize) {
    let (came, did) = (format!("came {run}-{write}"), format!("did {run}-{write}"));
    match moment {
        0 => world.hold(&[&came]),
        1 => world.hold(&[&did]),
        _ => world.hold(&[]),
    }
    let mut mission = start(world, run);
    match moment {
        0 => until(world, &mut mission, &came),
        1 => until(world, &mut mission, &did),
        2 => until(world, &mut mission, &format!("said {run}-{write}")),
        _ if write > 1 => until(world, &mut mission, &format!("said {run}-{}", write - 1)),
        // Anywhere before the first write: the run is there.
        _ => until_kept(world, &mut mission, run),
    }
    // One that is over already cannot be killed.
    let _ = mission.kill();
    mission.wait().expect("it is gone");
    world.hold(&[]);
}

/// What was answered before is known, and so is what was never begun: only the write that was under way is not.
#[test]
fn a_mission_killed_in_its_third_write_knows_of_all_others() {
    for moment in ["came", "did"] {
        let world = World::start(&format!("killed-third-{moment}"));
        mission(&world, "m");
        world.hold(&[&format!("{moment} m-3")]);
        let mut killed = start(&world, "m");
        until(&world, &mut killed, &format!("{moment} m-3"));
        killed.kill().expect("it waits for the world");
        killed.wait().expect("it is gone");
        world.hold(&[]);
        let output = start(&world, "m").wait_with_output().expect("it ends");
        let answer: Vec<String> = serde_json::from_slice(&output.stdout).expect("a list");
        let known: Vec<bool> = answer.iter().map(|outcome| outcome == "ok").collect();
        assert_eq!(known, [true, true, false, true, true], "{moment}: {answer:?}");
        let gaps = world.gaps(&["--checkpoint", "m"]);
        let keys: Vec<&str> = gaps.iter().filter_map(|gap| gap["args"]["key"].as_str()).collect();
        assert_eq!(keys, ["m-3"], "{moment}");
        let text = |field: &str| gaps[0][field].as_str().expect("text");
        let (identity, begun) = (text("identity"), text("begun"));
        let told = format!(
            "outcome unknown: world/put, called at {begun}, was begun before and its answer never came, so it may or may \
            not have happened; it is not made again. Look what became of it, and note that with `ptc effects settle`; its identity is \
            {identity}"
        );
        assert_eq!(answer[2], told, "as programs of servers are told");
        for write in 1..=WRITES {
            assert_eq!(world.count(&format!("came m-{write}")), 1, "{moment} {write}");
        }
    }
}

#[test]
fn missions_killed_at_every_step_of_five_writes_make_none_twice() {
    let world = World::start("killed-missions");
    let chains = kills().div_ceil(WRITES);
    let mut unknown = 0;
    for chain in 0..chains {
        let run = format!("m{chain}");
        mission(&world, &run);
        for write in 1..=WRITES {
            kill_at(&world, &run, write, (chain + write) % 4);
        }
        let output = start(&world, &run).wait_with_output().expect("it ends");
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let answer: Vec<String> = serde_json::from_str(&answer)
            .unwrap_or_else(|_| panic!("no answer: {answer}{}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(answer.len(), WRITES);
        let gaps = world.gaps(&["--checkpoint", &run]);
        for (at, outcome) in answer.iter().enumerate() {
            let key = format!("{run}-{}", at + 1);
            let (came, did) = (world.count(&format!("came {key}")), world.count(&format!("did {key}")));
            assert!(came <= 1, "{key} came {came} times");
            let open = gaps.iter().any(|gap| gap["args"]["key"] == key.as_str());
            match outcome.as_str() {
                "ok" => assert_eq!((did, open), (1, false), "{key}"),
                // What was begun and never answered is told to the mission and to people. What was not begun is made.
                told => {
                    assert!(told.contains("outcome unknown") && open, "{key} came {came}, did {did}: {told}")
                }
            }
        }
        assert_eq!(runs(&world, &run)[0]["outcome_unknown"], gaps.len());
        unknown += gaps.len();
    }
    eprintln!("{} kills, {} writes, {unknown} gaps", chains * WRITES, chains * WRITES);
}

/// Whoever goes on with a run is told what somebody found, and nothing else.
#[test]
fn a_mission_is_told_what_was_settled_about_its_calls() {
    let program = "(let [r (tool/call {:server \"world\" :tool \"put\" :args {:key \"s\" :value 1}})]
                     (return [(:ok r) (:reason r) (get-in r [:value \"by\"])]))";
    for (name, finding, told, came) in [
        ("nothing", None, json!([false, "outcome_unknown", null]), 1),
        ("dismissed", Some(&[][..]), json!([false, "outcome_unknown", null]), 1),
        ("happened", Some(&["--happened={\"by\": \"hand\"}"][..]), json!([true, null, "hand"]), 1),
        ("did-not-happen", Some(&["--did-not-happen"][..]), json!([true, null, null]), 2),
    ] {
        let world = World::start(&format!("settled-{name}"));
        agent(&world, program);
        world.hold(&["came s"]);
        let mut killed = start(&world, "kept");
        until(&world, &mut killed, "came s");
        killed.kill().expect("it waits for the world");
        killed.wait().expect("it is gone");
        world.hold(&[]);
        let gaps = world.gaps(&["--checkpoint", "kept"]);
        let [gap] = gaps.as_slice() else { panic!("{name}: {gaps:?}") };
        assert_eq!((&gap["server"], &gap["under_way"]), (&json!("world"), &json!(false)));
        if let Some(flags) = finding {
            let identity = gap["identity"].as_str().expect("text");
            let settle = ["effects", "settle", identity, "looked", "--checkpoint", "kept"];
            let (code, _, err) = world.run(&[&settle[..], flags].concat());
            assert_eq!(code, 0, "{name}: {err}");
        }
        let output = start(&world, "kept").wait_with_output().expect("it ends");
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!((&answer, world.count("came s")), (&told, came), "{name}");
    }
}

#[test]
fn calls_of_a_run_that_goes_on_are_marked_and_cannot_be_settled() {
    let world = World::start("settled-under-way");
    mission(&world, "m");
    world.hold(&["came m-1"]);
    let mut running = start(&world, "m");
    until(&world, &mut running, "came m-1");
    let gaps = world.gaps(&["--checkpoint", "m"]);
    assert_eq!(gaps[0]["under_way"], true, "{gaps:?}");
    let identity = gaps[0]["identity"].as_str().expect("text");
    let (code, _, err) = world.run(&["effects", "settle", identity, "looked", "--checkpoint", "m"]);
    assert!(code == 2 && err.contains("world/put is under way"), "{err}");
    running.kill().expect("it waits for the world");
    running.wait().expect("it is gone");
    assert_eq!(world.run(&["effects", "settle", identity, "looked", "--checkpoint", "m"]).0, 0);
}

/// Nobody waits for such a call any more: whatever its program does next, people can look and settle it.
#[test]
fn a_call_that_was_given_up_is_not_under_way_while_its_run_goes_on() {
    let world = World::start("given-up");
    let put =
        |key: &str| format!("(tool/call {{:server \"world\" :tool \"put\" :args {{:key {key} :value 1}}}})");
    agent(&world, &format!("(return (do (pmap (fn [k] {}) [\"a\"]) (:ok {})))", put("k"), put("\"b\"")));
    world.write("agent.toml", &format!("{}pmap_timeout = 300\n", world.read("agent.toml")));
    world.hold(&["came a", "came b"]);
    let mut running = start(&world, "m");
    until(&world, &mut running, "came b");
    let mut open = Vec::new();
    eventually("the first call is given up", || {
        open = world.gaps(&["--checkpoint", "m"]);
        open.iter().any(|gap| gap["under_way"] == false)
    });
    let told: Vec<_> = open.iter().map(|gap| (&gap["args"]["key"], &gap["under_way"])).collect();
    assert_eq!(told, [(&json!("a"), &json!(false)), (&json!("b"), &json!(true))], "{open:?}");
    for (gap, code) in open.iter().zip([0, 2]) {
        let identity = gap["identity"].as_str().expect("text");
        assert_eq!(
            world.run(&["effects", "settle", identity, "looked", "--checkpoint", "m"]).0,
            code,
            "{gap}"
        );
    }
    world.hold(&[]);
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "true\n");
    assert!(world.gaps(&["--checkpoint", "m"]).is_empty(), "one was settled, and one answered");
}

/// It was kept nowhere before, and its call is known all the same.
#[test]
fn a_run_that_is_stopped_tells_of_the_write_that_was_in_flight() {
    for signal in ["-TERM", "-INT"] {
        let world = World::start(&format!("stopped{signal}"));
        agent(
            &world,
            "(def first (:ok (tool/call {:server \"world\" :tool \"put\" :args {:key \"a\" :value 1}})))
             (return (:reason (tool/call {:server \"world\" :tool \"put\" :args {:key \"b\" :value 1}})))",
        );
        world.hold(&["came b"]);
        let mut command = world.command(&["run", "agent.toml", "--quiet"]);
        let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        world.wait_for("came b");
        let sent = std::process::Command::new("kill").args([signal, &running.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let output = running.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(130), "{told}");
        let open = world.gaps(&[]);
        let calls: Vec<_> = open.iter().map(|gap| (&gap["args"]["key"], &gap["under_way"])).collect();
        assert_eq!(calls, [(&json!("b"), &json!(false))], "{open:?}");
        let identity = open[0]["identity"].as_str().expect("text");
        let (code, _, err) = world.run(&["effects", "settle", identity, "looked", "--did-not-happen"]);
        assert_eq!(code, 0, "{err}");
        world.hold(&[]);
        let (_, runs, _) = world.run(&["runs", "--json"]);
        let run: Value = serde_json::from_str(&runs).expect("one run");
        let (code, out, err) = world.run(&["resume", run["run"].as_str().expect("text"), "--quiet"]);
        assert_eq!((code, out.as_str()), (0, "null\n"), "{err}");
        assert_eq!((world.count("came a"), world.count("came b")), (1, 2), "it was made again, as was found");
        assert!(world.gaps(&[]).is_empty());
    }
}

/// Its answer is waited for no more, and the run goes on without it.
#[test]
fn a_run_that_is_stopped_tells_of_a_call_of_its_own_tool_that_it_had_given_up() {
    let world = World::start("stopped-after-late");
    agent(
        &world,
        "(def late (try (tool/wait {:n 7}) (catch Exception e (ex-message e))))
         (tool/call {:server \"world\" :tool \"put\" :args {:key \"a\" :value 1}})
         (return late)",
    );
    let wait = "[tools.wait]\nsignature = \"(n :int) -> :any\"\neffect = \"write\"\ntimeout = 20\n\
                command = [\"tail\", \"-f\", \"/dev/null\"]\n";
    world.write("agent.toml", &format!("{}{wait}", world.read("agent.toml")));
    world.hold(&["came a"]);
    let mut command = world.command(&["run", "agent.toml", "--quiet"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    world.wait_for("came a");
    let sent = std::process::Command::new("kill").args(["-TERM", &running.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    let output = running.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let open = world.gaps(&[]);
    let mut tools: Vec<_> =
        open.iter().map(|gap| (&gap["server"], &gap["tool"], &gap["under_way"])).collect();
    tools.sort_by_key(|(server, ..)| server.as_str());
    let no = json!(false);
    assert_eq!(
        tools,
        [(&json!("tool"), &json!("wait"), &no), (&json!("world"), &json!("put"), &no)],
        "{open:?}"
    );
    let late = open.iter().find(|gap| gap["tool"] == "wait").expect("it is listed");
    assert_eq!(late["args"], json!({"n": 7}));
    let identity = late["identity"].as_str().expect("text");
    assert_eq!(world.run(&["effects", "settle", identity, "looked"]).0, 0);
    world.hold(&[]);
    let (_, runs, _) = world.run(&["runs", "--json"]);
    let run: Value = serde_json::from_str(&runs).expect("one run");
    let (code, out, err) = world.run(&["resume", run["run"].as_str().expect("text"), "--quiet"]);
    assert!(code == 0 && out.contains("outcome unknown: tool/wait, called at"), "{out}{err}");
    assert_eq!(world.gaps(&[]).len(), 1, "the write that was in flight");
}

/// A run never goes on from an older state than it had.
#[test]
fn a_run_whose_log_is_damaged_does_not_go_on_unless_somebody_accepts_that() {
    let world = World::start("damaged-log");
    mission(&world, "m");
    world.hold(&["came m-5"]);
    let mut killed = start(&world, "m");
    until(&world, &mut killed, "came m-5");
    killed.kill().expect("it waits for the world");
    killed.wait().expect("it is gone");
    world.hold(&[]);
    let log = world.folder.join("m/runs.db-wal");
    let mut bytes = std::fs::read(&log).expect("the log of a killed process");
    // Behind the tables, and before the last commits.
    let at = bytes.len() / 4 * 3;
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).expect("changed");
    for args in [
        &["runs", "--checkpoint", "m"][..],
        &["effects", "--checkpoint", "m"],
        &["effects", "--store", "m/runs.db"],
        &["effects", "settle", "--all", "--did-not-happen", "--note", "looked", "--store", "m/runs.db"],
        &["tickets", "--store", "m/runs.db"],
        &["prelude", "store", "list", "--store", "m/runs.db"],
    ] {
        let (code, _, err) = world.run(args);
        assert!(code == 2 && err.contains("of its log is broken"), "{args:?}: {err}");
    }
    let (code, out, _) = world.run(&["store", "check", "m/runs.db"]);
    assert!(code == 1 && out.contains("--accept-loss"), "{out}");
    let (code, out, err) = world.run(&["store", "check", "m/runs.db", "--accept-loss"]);
    assert!(code == 0 && out.ends_with("nothing is wrong\n"), "{out}{err}");
    assert_eq!(world.run(&["runs", "--checkpoint", "m"]).0, 0);
}
