//! `ptc plan`, `ptc apply` and `ptc effects`, with a real server that counts what it is asked to do.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ptc_store::Store;
use ptc_store::effects::{Effects, NewEffect};
use serde_json::{Value, json};

use super::approval::rows;
use super::world::World;

const CLOSE: &str =
    "(let [n (get-in (tool/call {:server \"world\" :tool \"get\" :args {:key \"n\"}}) [:value :value])]
  (doseq [i (range n)]
    (tool/call {:server \"world\" :tool \"put\" :args {:key (str \"k\" i) :value {:was i}}}))
  (tool/call {:server \"world\" :tool \"poke\" :args {:n 9}})
  :done)";

/// Plans a program; the exit code and what it prints.
fn plan(world: &World, program: &str, more: &[&str]) -> (i32, String, String) {
    world.write("program.clj", program);
    let args = ["plan", "program.clj", "--upstreams-config", "upstreams.json", "-o", "plan.json"];
    world.run(&[&args, more].concat())
}

fn apply(world: &World) -> (i32, String, String) {
    world.run(&["apply", "plan.json"])
}

fn document(world: &World) -> Value {
    serde_json::from_str(&world.read("plan.json")).expect("a document")
}

#[test]
fn a_plan_lists_writes_and_makes_none_and_is_applied_exactly_so_once() {
    let world = World::start("plan");
    world.write("state.json", r#"{"n": 3}"#);
    let (code, out, err) = plan(&world, CLOSE, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(
        out,
        "1 read, 4 writes\n\
         \u{20} 1  world/put {\"key\":\"k0\",\"value\":{\"was\":0}}  at 3:5\n\
         \u{20} 2  world/put {\"key\":\"k1\",\"value\":{\"was\":1}}  at 3:5\n\
         \u{20} 3  world/put {\"key\":\"k2\",\"value\":{\"was\":2}}  at 3:5\n\
         \u{20} 4  world/poke {\"n\":9}  (may write)  at 4:3\n\
         `ptc apply plan.json` makes these calls\n"
    );
    assert_eq!((world.state(), world.read("log").as_str()), (json!({"n": 3}), ""), "nothing was changed");
    let kept = document(&world);
    assert_eq!((&kept["ptc_plan"], &kept["complete"]), (&json!(1), &json!(true)));
    assert_eq!(kept["reads"][0]["call"], json!({"server": "world", "tool": "get", "args": {"key": "n"}}));
    assert_eq!(kept["tools"].as_object().map(|tools| tools.len()), Some(3));

    let (code, out, err) = apply(&world);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("  4  world/poke {\"n\":9}  done\n"), "{out}");
    let expected = json!({"n": 3, "k0": {"was": 0}, "k1": {"was": 1}, "k2": {"was": 2}, "9": true});
    assert_eq!(world.state(), expected);
    let order: Vec<String> =
        world.read("log").lines().filter_map(|line| line.strip_prefix("came ")).map(str::to_owned).collect();
    assert_eq!(order, ["k0", "k1", "k2", "9"]);

    let (code, out, _) = apply(&world);
    assert_eq!(code, 1);
    assert!(out.ends_with("the plan was applied already; nothing was done\n"), "{out}");
    assert_eq!(world.count("came k0"), 1);
    assert_eq!(world.run(&["effects"]).0, 0, "nothing is open");
}

#[test]
fn on_a_terminal_a_call_of_a_plan_cannot_look_like_several() {
    let world = World::start("plan-terminal");
    let row = |text: &str| format!("{text:80}");
    let value = row("") + &row("  2  world/put {\"key\":\"b\"}  at 1:1") + &row("  3  world/put");
    let call = json!({"key": "a", "value": value}).to_string().replace("\":", "\" ");
    world.write("program.clj", &format!("(tool/call {{:server \"world\" :tool \"put\" :args {call}}}) 1"));
    let plain = world.command(&["plan", "program.clj", "--upstreams-config", "upstreams.json"]);
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py"))
        .arg("[]")
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(plain.get_current_dir().expect("the folder of the world"))
        .output()
        .expect("python3 starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    let rows = rows(shown.trim_end());
    assert_eq!(rows[0], "0 reads, 1 write", "{shown}");
    assert!(rows[1].starts_with("  1  world/put {\"key\":\"a\"") && rows.len() > 4, "{shown}");
    for row in &rows[2..] {
        assert!(row.starts_with("  │…"), "{row:?}\n---\n{shown}");
    }
}

#[test]
fn a_plan_whose_reads_drifted_or_whose_tools_changed_is_refused() {
    let world = World::start("drift");
    world.write("state.json", r#"{"n": 1}"#);
    plan(&world, CLOSE, &[]);
    world.write("state.json", r#"{"n": 2}"#);
    let (code, out, _) = apply(&world);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("  read 1, world/get {\"key\":\"n\"}, has another answer than it had\n"), "{out}");
    world.write("state.json", r#"{"n": 1}"#);
    world.write("changed", "");
    let (code, out, _) = apply(&world);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("the tool world/put is not defined as it was"), "{out}");
    assert_eq!(world.read("log"), "", "nothing was changed");
    std::fs::remove_file(world.folder.join("changed")).expect("it is there");
    assert_eq!(apply(&world).0, 0, "as it was");
}

#[test]
fn a_plan_that_was_changed_is_refused() {
    let world = World::start("edited");
    world.write("state.json", r#"{"n": 1}"#);
    plan(&world, CLOSE, &[]);
    let good = world.read("plan.json");
    for (changed, part) in [
        (good.replace("\"was\": 0", "\"was\": 7"), "was changed after it was made"),
        (good.replace("\"ptc_plan\": 1", "\"ptc_plan\": 2"), "has version 2 of plans, known is 1"),
        (good.replacen('{', "{\"more\": 1,", 1), "was changed after it was made"),
        ("[]".to_owned(), "is no plan"),
        (good[..good.len() / 2].to_owned(), "is no plan"),
    ] {
        world.write("plan.json", &changed);
        let (code, out, err) = apply(&world);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.contains(part), "{err}");
    }
    world.write("plan.json", &good);
    let config = world.read("upstreams.json");
    world.write("upstreams.json", &format!("{config}\n"));
    let (code, _, err) = apply(&world);
    assert_eq!(code, 2);
    assert!(err.contains("is not the configuration that the plan was made with"), "{err}");
    assert_eq!(world.read("log"), "", "nothing was changed");
}

#[test]
fn a_plan_ends_where_the_program_needs_an_answer_of_a_write() {
    let world = World::start("dependent");
    let put = |key: &str| {
        format!("(tool/call {{:server \"world\" :tool \"put\" :args {{:key \"{key}\" :value 1}}}})")
    };
    for (program, writes, stopped) in [
        (
            format!("(do {} (if (:ok {}) {} nil))", put("a"), put("b"), put("c")),
            2,
            Some("answer of write 2 (at 1:"),
        ),
        (format!("(def r {}) {}", put("a"), put("b")), 1, Some("answer of write 1")),
        (format!("(pmap (fn [k] {}) [1 2 3])", put("x")), 3, Some("answer of write 1")),
        (
            "(doseq [k [\"a\" \"b\"]] (world/put {:key k :value 1}))".to_owned(),
            1,
            Some("to go on: (world/put …) raises if its call fails; (tool/call …) does not"),
        ),
        (format!("(defn save [] {}) (save) (save) nil", put("a")), 2, None),
        (format!("(do {} {})", put("a"), put("b")), 2, None),
    ] {
        let (code, out, err) = plan(&world, &program, &["--json"]);
        assert_eq!((code, err.as_str()), (0, ""), "{program}: {out}");
        let made: Value = serde_json::from_str(&out).expect("a document");
        assert_eq!(made["writes"].as_array().map(Vec::len), Some(writes), "{program}");
        assert_eq!(made["complete"], stopped.is_none(), "{program}");
        let why = made["stopped"].as_str().unwrap_or_default();
        assert!(why.contains(stopped.unwrap_or_default()), "{program}: {why}");
    }
    let (_, out, _) = plan(&world, &format!("(:ok {})", put("a")), &[]);
    let end = "the plan ends here: the program needs the answer of write 1 (at 1:6) to go on\n";
    assert!(out.contains(end), "{out}");
    assert_eq!(world.read("log"), "", "nothing was changed");
}

#[test]
fn reads_behind_a_write_are_noted_or_end_the_plan() {
    let world = World::start("behind");
    let program = "(tool/call {:server \"world\" :tool \"put\" :args {:key \"a\" :value 1}})
                   (tool/call {:server \"world\" :tool \"get\" :args {:key \"a\"}}) nil";
    let (_, out, _) = plan(&world, program, &[]);
    assert!(out.contains("note: read 1, world/get, comes after a write to the same server"), "{out}");
    let (_, out, _) = plan(&world, program, &["--strict"]);
    assert!(out.contains("the plan ends here: the read world/get {\"key\":\"a\"} asks a server"), "{out}");
}

#[test]
fn a_plan_ends_at_a_read_that_a_person_must_approve_and_does_not_make_it() {
    let world = World::start("approved-reads");
    world.ask_about(json!("ask"));
    let (code, out, err) = plan(&world, CLOSE, &[]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let end = "0 reads, 0 writes\nthe plan ends here: the read world/get {\"key\":\"n\"} must be approved by a person";
    assert!(out.starts_with(end), "{out}");
}

#[test]
fn a_program_that_fails_has_no_plan() {
    let world = World::start("failing");
    for (program, code, part) in [
        ("(tool/call {:server \"world\" :tool \"gone\"})", 1, "no tool 'gone'"),
        ("(fail \"no\")", 1, "failed: \"no\""),
        ("(loop [] (recur))", 3, "fuel"),
        ("(+ 1", 1, "there is no plan"),
    ] {
        let (got, out, err) = plan(&world, program, &["--fuel", "1m"]);
        assert_eq!((got, out.as_str()), (code, ""), "{program}: {err}");
        assert!(err.contains(part), "{program}: {err}");
    }
    assert_eq!(world.read("plan.json"), "");
    let (code, _, err) = world.run(&["plan", "program.clj"]);
    assert_eq!(code, 2);
    assert!(err.contains("--upstreams-config"), "{err}");
}

/// The secret of the configuration. `cargo xtask ci` looks for it in whatever tests print and write.
const SECRET: &str = "ptc-sentinel-7f3a?9d>e1";

#[test]
fn secrets_are_in_no_plan() {
    let world = World::start("secret");
    let mut config: Value = serde_json::from_str(&world.read("upstreams.json")).expect("JSON");
    config["credentials"] = json!({"token": {"source": "env", "var": "WORLD_TOKEN"}});
    world.write("upstreams.json", &config.to_string());
    let half = SECRET.split_at(5);
    let program = format!(
        "(tool/call {{:server \"world\" :tool \"put\" :args {{:key \"a\" :value (str \"{}\" \"{}\")}}}})",
        half.0, half.1
    );
    world.write("program.clj", &program);
    let args = ["plan", "program.clj", "--upstreams-config", "upstreams.json", "-o", "plan.json"];
    let output = world.command(&args).env("WORLD_TOKEN", SECRET).output().expect("it runs");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), world.read("plan.json").as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("write 1 has a secret") && !err.contains(SECRET), "{err}");
}

#[test]
fn a_plan_that_was_interrupted_goes_on_once_it_is_known_what_became_of_its_last_call() {
    let world = World::start("interrupted");
    world.write("state.json", r#"{"n": 4}"#);
    plan(&world, CLOSE, &[]);
    world.hold(&["did k1"]);
    let mut process = world.command(&["apply", "plan.json"]).spawn().expect("it starts");
    world.wait_for("did k1");
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
    world.hold(&[]);
    let gaps = world.gaps(&[]);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!((&gaps[0]["tool"], &gaps[0]["args"]["key"]), (&json!("put"), &json!("k1")));
    let identity = gaps[0]["identity"].as_str().expect("text");

    let (code, out, err) = apply(&world);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].ends_with("was done before"), "{out}");
    assert!(lines[1].contains("outcome unknown") && lines[1].contains(identity), "{out}");
    assert!(lines[2..5].iter().all(|line| line.ends_with("not made")), "{out}");
    assert!(lines[5].starts_with("nobody knows what became of call 2, so nothing after it is made"), "{out}");

    let (code, out, _) =
        world.run(&["effects", "settle", &identity[..8], "looked: it is there", "--happened"]);
    assert_eq!((code, out.contains("settled")), (0, true), "{out}");
    assert_eq!(world.run(&["effects"]).0, 0);
    let (code, out, err) = apply(&world);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(out.matches("was done before\n").count(), 2, "{out}");
    for key in ["k0", "k1", "k2", "k3", "9"] {
        assert_eq!(world.count(&format!("came {key}")), 1, "{key}");
    }
    assert!(apply(&world).1.ends_with("the plan was applied already; nothing was done\n"));
}

#[test]
fn calls_of_a_plan_are_listed_and_settled_whichever_store_its_user_applied_it_with() {
    // Whether the plan says itself which store it belongs to, or is applied with one.
    for bound in [true, false] {
        let world = World::start(&format!("elsewhere-{bound}"));
        world.write("state.json", r#"{"n": 2}"#);
        let store = ["--store", "calls.db"];
        plan(&world, CLOSE, if bound { &store } else { &[] });
        let apply = [&["apply", "plan.json"][..], if bound { &[] } else { &store }].concat();
        world.hold(&["did k1"]);
        let mut process = world.command(&apply).spawn().expect("it starts");
        world.wait_for("did k1");
        process.kill().expect("kill -9");
        process.wait().expect("it is gone");
        world.hold(&[]);
        let gaps = world.gaps(&[]);
        assert_eq!((gaps.len(), &gaps[0]["args"]["key"]), (1, &json!("k1")), "{bound}: {gaps:?}");
        assert_eq!(world.run(&["effects"]).0, 1, "{bound}");
        // What others keep in that store is nobody's business here.
        let journal = Effects::new(Arc::new(
            Store::open(&world.folder.join("calls.db").to_string_lossy()).expect("a store"),
        ));
        let other = NewEffect { identity: "ff00", server: "crm", tool: "put", args: &json!({}) };
        journal.begin("request:ben:k", &other).expect("begun");
        drop(journal);
        assert_eq!(world.gaps(&[]), gaps, "{bound}");
        let (code, out, err) = world.run(&apply);
        assert!(code == 1 && out.contains("calls.db`, or --did-not-happen"), "{bound}: {out}{err}");
        std::fs::rename(world.folder.join("calls.db"), world.folder.join("away.db")).expect("it moves");
        let (_, out, err) = world.run(&["effects"]);
        assert!(
            out.contains("where that can be looked up") && err.contains("calls.db"),
            "{bound}: {out}{err}"
        );
        drop(Store::open(&world.folder.join("calls.db").to_string_lossy()).expect("another store"));
        let (code, _, err) = world.run(&["effects"]);
        assert!(code == 0 && err.contains("by now is another one"), "{bound}: {err}");
        std::fs::rename(world.folder.join("away.db"), world.folder.join("calls.db")).expect("it moves");
        let identity = gaps[0]["identity"].as_str().expect("text");
        let (code, out, err) = world.run(&["effects", "settle", identity, "it is there", "--happened"]);
        assert_eq!(code, 0, "{bound}: {out}{err}");
        assert_eq!(world.run(&["effects"]).0, 0, "{bound}");
        let (code, out, _) = world.run(&["effects", "--settled"]);
        assert!(code == 0 && out.contains("happened: it is there"), "{bound}: {out}");
        let (code, _, err) =
            world.run(&["effects", "settle", &identity[..8], "it is not", "--did-not-happen"]);
        assert!(
            code == 2 && err.contains(", happened: it is there; `ptc effects --settled` lists"),
            "{bound}: {err}"
        );
    }
}

#[test]
fn a_call_that_did_not_happen_is_made_when_the_plan_is_applied_again() {
    let world = World::start("settled");
    world.write("state.json", r#"{"n": 2}"#);
    plan(&world, CLOSE, &[]);
    world.hold(&["came k0"]);
    let mut process = world.command(&["apply", "plan.json"]).spawn().expect("it starts");
    world.wait_for("came k0");
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
    let gaps = world.gaps(&[]);
    let identity = gaps[0]["identity"].as_str().expect("text");
    assert_eq!(world.run(&["effects", "settle", identity, "not there", "--did-not-happen"]).0, 0);
    world.hold(&[]);
    let (code, out, _) = apply(&world);
    assert_eq!(code, 0, "{out}");
    assert_eq!(world.count("came k0"), 2, "a person said so");
    let (code, _, err) = world.run(&["effects", "settle", "nobody", "x"]);
    assert_eq!(code, 2);
    assert!(err.contains("no call without an answer begins with `nobody`"), "{err}");
}

#[test]
fn a_call_that_fails_ends_the_plan() {
    let world = World::start("failed");
    let program = "(doseq [k [\"a\" \"refused\" \"b\"]]
                     (tool/call {:server \"world\" :tool \"put\" :args {:key k :value 1}}))";
    plan(&world, program, &[]);
    let (code, out, _) = world.run(&["apply", "plan.json", "--json"]);
    let told: Value = serde_json::from_str(&out).expect("a document");
    assert_eq!((code, &told["ok"]), (1, &json!(false)));
    let became: Vec<&Value> =
        told["writes"].as_array().expect("a list").iter().map(|write| &write["became"]).collect();
    assert_eq!(became, ["done", "failed", "not_made"]);
    assert_eq!(apply(&world).0, 1, "it fails again, without being made again");
    assert_eq!((world.count("came refused"), world.count("came b")), (1, 0));
}

/// What comes after it may need it. Whether that is told at once or from the journal, a note that finds nothing changes nothing.
#[test]
fn a_call_of_which_nobody_knows_ends_the_plan_each_time_until_somebody_says_what_became_of_it() {
    for (finding, came) in [("--happened", 1), ("--did-not-happen", 2)] {
        let world = World::start(&format!("lost{finding}"));
        let program = "(doseq [k [\"a\" \"lost\" \"b\"]]
                         (tool/call {:server \"world\" :tool \"put\" :args {:key k :value 1}}))";
        plan(&world, program, &[]);
        let ends = |first: &str| {
            let (code, out, err) = apply(&world);
            let lines: Vec<&str> = out.lines().collect();
            assert_eq!((code, err.as_str(), lines.len()), (1, "", 4), "{finding}: {out}");
            assert!(lines[0].ends_with(first) && lines[1].contains("outcome unknown"), "{finding}: {out}");
            assert!(!lines[1].contains("  failed: ") && lines[2].ends_with("not made"), "{finding}: {out}");
            assert!(
                lines[3].contains("of call 2, so nothing after it is made")
                    && lines[3].contains("--happened`, or"),
                "{finding}: {out}"
            );
        };
        ends("  done");
        ends("was done before");
        let identity = world.gaps(&[])[0]["identity"].as_str().expect("text").to_owned();
        let (code, _, err) = world.run(&["effects", "settle", &identity, "asked the team"]);
        assert!(code == 0 && err.contains("a plan goes no further than it"), "{finding}: {err}");
        ends("was done before");
        let told: Value =
            serde_json::from_str(&world.run(&["apply", "plan.json", "--json"]).1).expect("JSON");
        let became: Vec<&Value> =
            told["writes"].as_array().expect("a list").iter().map(|write| &write["became"]).collect();
        assert_eq!(became, ["done_before", "outcome_unknown", "not_made"], "{finding}");
        assert_eq!((world.count("came lost"), world.count("came b")), (1, 0), "{finding}");
        assert_eq!(world.run(&["effects", "settle", &identity, "looked", finding]).0, 0, "{finding}");
        let _ = apply(&world);
        // Whoever said that it did not happen has it made, and lost, once more.
        assert_eq!(
            (world.count("came lost"), world.count("came b")),
            (came, if came == 1 { 1 } else { 0 }),
            "{finding}"
        );
    }
}

/// Moves a store that nobody uses, with its files.
fn moved(world: &World, from: &str, to: &str) {
    for ending in ["", "-wal", "-shm", "-synced"] {
        let file = |name: &str| world.folder.join(format!("{name}{ending}"));
        if file(from).exists() {
            std::fs::rename(file(from), file(to)).expect("it moves");
        }
    }
}

#[test]
fn calls_of_a_plan_are_listed_from_a_store_that_was_restored_and_from_one_that_was_moved() {
    let put = "(tool/call {:server \"world\" :tool \"put\" :args {:key \"lost\" :value 1}})";
    for (name, bound) in [("bound", true), ("noted", false)] {
        let world = World::start(&format!("restored-{name}"));
        let store = ["--store", "s.db"];
        plan(&world, put, if bound { &store } else { &[] });
        let (code, out, _) = world.run(&[&["apply", "plan.json"][..], &store].concat());
        assert!(code == 1 && out.contains("outcome unknown"), "{name}: {out}");
        let gaps = world.gaps(&[]);
        assert_eq!(gaps.len(), 1, "{name}");

        // Moved: whoever applies the plan there says where it is.
        moved(&world, "s.db", "m.db");
        let (code, _, err) = world.run(&["effects"]);
        assert!(code == 0 && err.contains("s.db"), "{name}: {err}");
        let (code, out, _) = world.run(&["apply", "plan.json", "--store", "m.db"]);
        assert!(code == 1 && out.contains("outcome unknown"), "{name}: {out}");
        assert_eq!(world.gaps(&[]), gaps, "{name}");

        // Restored: it is another store, and knows the call.
        assert_eq!(world.run(&["store", "backup", "m.db", "b.db"]).0, 0, "{name}");
        moved(&world, "m.db", "away.db");
        assert_eq!(world.run(&["store", "restore", "b.db", "m.db"]).0, 0, "{name}");
        let (code, out, err) = world.run(&["effects"]);
        let identity = gaps[0]["identity"].as_str().expect("text");
        assert!(code == 1 && out.contains(identity) && err.contains("is another one"), "{name}: {out}{err}");
        let (code, out, err) = world.run(&["effects", "settle", identity, "it is there", "--happened"]);
        assert_eq!(code, 0, "{name}: {out}{err}");
        assert_eq!(world.run(&["effects"]).0, 0, "{name}");
    }
}

#[test]
fn calls_are_settled_by_age_and_server_but_not_while_they_are_under_way() {
    let world = World::start("bulk");
    world.write("state.json", r#"{"n": 2}"#);
    plan(&world, CLOSE, &[]);
    world.hold(&["came k0"]);
    let mut process = world.command(&["apply", "plan.json"]).spawn().expect("it starts");
    world.wait_for("came k0");
    let gaps = world.gaps(&[]);
    assert_eq!(gaps[0]["under_way"], true, "from its row on: {gaps:?}");
    let identity = gaps[0]["identity"].as_str().expect("text");
    let (code, _, err) = world.run(&["effects", "settle", identity, "x", "--did-not-happen"]);
    assert!(code == 2 && err.contains("world/put is under way"), "{err}");
    let settle =
        |flags: &[&str]| world.run(&[&["effects", "settle", "--all", "--note", "looked"], flags].concat());
    assert_eq!(settle(&[]).1, "settled 0 calls; 1 is under way and was left\n");
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
    world.hold(&[]);
    assert_eq!(world.gaps(&[])[0]["under_way"], false, "its process is gone");
    let named = format!("settled {identity} world/put\nsettled 1 call\n");
    for (flags, settled) in [
        (&["--older-than", "1d"][..], "settled 0 calls\n"),
        (&["--upstream", "another"][..], "settled 0 calls\n"),
        (&["--upstream", "world", "--older-than", "1ms"][..], named.as_str()),
        (&[][..], "settled 0 calls\n"),
    ] {
        let (code, out, err) = settle(flags);
        assert_eq!((code, out.as_str()), (0, settled), "{flags:?}: {err}");
    }
    let (code, out, _) = world.run(&["effects", "--upstream", "world"]);
    assert_eq!((code, out.as_str()), (0, "every such call that was written down has its answer\n"));
    for (args, part) in [
        (&["effects", "settle", "looked"][..], "say what you found"),
        (&["effects", "settle", "3f2a", "looked", "--all"], "name one call by its identity, or several"),
    ] {
        let (code, _, err) = world.run(args);
        assert!(code == 2 && err.contains(part), "{args:?}: {err}");
    }
}

/// The plan is one, wherever its files lie.
#[test]
fn a_copy_of_a_plan_that_is_being_applied_is_refused_until_that_has_ended() {
    let world = World::start("copies");
    world.write("state.json", r#"{"n": 2}"#);
    plan(&world, CLOSE, &[]);
    world.write("copy.json", &world.read("plan.json"));
    world.hold(&["came k0"]);
    let mut process = world.command(&["apply", "plan.json"]).spawn().expect("it starts");
    world.wait_for("came k0");
    let (code, out, err) = world.run(&["apply", "copy.json"]);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("is being applied by another process"), "{err}");
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
    world.hold(&[]);
    let (code, out, err) = world.run(&["apply", "copy.json"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.lines().next().is_some_and(|line| line.contains("outcome unknown")), "{out}");
    assert_eq!((world.count("came k0"), world.count("came k1")), (1, 0));
    assert_eq!(world.gaps(&[]).len(), 1, "the one call, and nothing of the plan itself");
}

#[test]
fn a_plan_is_bound_to_no_store_that_is_gone_with_its_process() {
    let world = World::start("in-memory");
    let (code, out, err) = plan(&world, CLOSE, &["--store", ":memory:"]);
    assert_eq!((code, out.as_str(), world.read("plan.json").as_str()), (2, "", ""), "{err}");
    assert!(err.contains("name a file or a database"), "{err}");
    world.write("state.json", r#"{"n": 1}"#);
    plan(&world, CLOSE, &[]);
    let (code, _, err) = world.run(&["apply", "plan.json", "--store", ":memory:"]);
    assert!(code == 2 && err.contains("a store in memory does not"), "{err}");
    assert_eq!(world.read("log"), "", "nothing was changed");
}

/// What was done of a plan is known in one store; with another it would be done again.
#[test]
fn a_plan_belongs_to_the_store_that_it_was_applied_with_first() {
    let put = "(tool/call {:server \"world\" :tool \"put\" :args {:key \"a\" :value 1}})";
    for (name, bound, first, second) in [
        ("named-then-usual", None, Some("one.db"), None),
        ("usual-then-named", None, None, Some("one.db")),
        ("named-then-another", None, Some("one.db"), Some("two.db")),
        ("bound", Some("one.db"), None, Some("two.db")),
    ] {
        let world = World::start(&format!("bound-{name}"));
        let flags = |store: Option<&'static str>| store.map_or(vec![], |store| vec!["--store", store]);
        plan(&world, put, &flags(bound));
        let apply = |store| world.run(&[&["apply", "plan.json"][..], &flags(store)].concat());
        let (code, out, err) = apply(first);
        assert_eq!(code, 0, "{name}: {out}{err}");
        let (code, out, err) = apply(second);
        assert_eq!((code, out.as_str()), (2, ""), "{name}");
        assert!(err.contains("the plan belongs to the store "), "{name}: {err}");
        assert_eq!(world.count("came a"), 1, "{name}");
        let (code, out, _) = apply(first);
        assert!(
            code == 1 && out.ends_with("the plan was applied already; nothing was done\n"),
            "{name}: {out}"
        );
    }
}
