//! Machines with a prelude as bytes: they go on in a process that has the same prelude, and nowhere else.

use crate::support::{machine, prelude};
use ptc_lisp::Limits;
use ptc_lisp::dump::DumpError;
use ptc_lisp::machine::{Machine, Step};
use serde_json::json;

const SOURCE: &str = r#"
(ns crm "Suspends everywhere.")
(def prefix "norm:")
(def rows [{:id 1 :tags #{:a}} {:id 2 :tags #{:b}}])
(defn- tag [id] (str prefix id))
(defn get [id] (tool/call {:server "crm" :tool "get" :args {:id (tag id)}}))
(defn both [a b] [(get a) (get b) prefix])
(defn each [f ids] (mapv (fn [id] (f (:value (get id)))) ids))
(defn all [] (pmap (fn [row] [(:id row) (:value (get (:id row)))]) rows))
(defn guarded [id] (try (get id) (throw (ex-info "after" {:id (tag id)})) (catch Exception e (ex-data e))))
(defn lazy [n] (map get (range n)))
"#;

/// Runs a program; before every answer the machine goes through bytes.
fn through_bytes(program: &str) -> String {
    let lent = prelude(SOURCE);
    let mut machine = machine(&lent, &["call"]);
    machine.set_data(&json!({"ids": [1, 2, 3]})).expect("it fits");
    machine.load(program).unwrap_or_else(|error| panic!("{program}: {error}"));
    // Another artifact with the same hash, as another process would have it.
    let theirs = prelude(SOURCE);
    loop {
        match machine.run(u64::MAX) {
            Step::Yield => {}
            Step::Failed(error) => panic!("{program}: {error}"),
            Step::Done(_) => {
                let bytes = machine.dump().expect("it is at rest");
                let idle = Machine::load_dump_with(&bytes, &Limits::default(), std::slice::from_ref(&theirs))
                    .expect("it loads");
                assert_eq!(idle.value(), machine.value(), "{program}");
                return machine.value();
            }
            Step::Calls(calls) => {
                for call in calls {
                    let bytes = machine.dump().expect("it is at rest");
                    machine =
                        Machine::load_dump_with(&bytes, &Limits::default(), std::slice::from_ref(&theirs))
                            .unwrap_or_else(|error| panic!("{program}: {error}"));
                    let value = json!({"ok": true, "value": call.args["args"]["id"]});
                    machine.resume(call.id, Ok(value)).expect("it waits");
                }
            }
        }
    }
}

#[test]
fn calls_inside_of_exports_survive() {
    let cases = [
        ("(:value (crm/get 1))", "\"norm:1\""),
        ("(map #(if (string? %) % (:value %)) (crm/both 1 2))", "(\"norm:1\" \"norm:2\" \"norm:\")"),
        ("(crm/each str/upper-case data/ids)", "[\"NORM:1\" \"NORM:2\" \"NORM:3\"]"),
        ("(def f crm/get) [(:value (f 1)) (:value (f 2))]", "[\"norm:1\" \"norm:2\"]"),
        ("(let [g (partial crm/each identity)] [(g [1]) (g [2])])", "[[\"norm:1\"] [\"norm:2\"]]"),
        ("(crm/all)", "([1 \"norm:1\"] [2 \"norm:2\"])"),
        ("(crm/guarded 5)", "{:id \"norm:5\"}"),
        ("(mapv :value (crm/lazy 3))", "[\"norm:0\" \"norm:1\" \"norm:2\"]"),
        ("(let [rows crm/rows] (crm/get 1) (conj (:tags (first rows)) :c))", "#{:a :c}"),
    ];
    for (program, expected) in cases {
        assert_eq!(through_bytes(program), expected, "{program}");
    }
}

#[test]
fn a_missing_or_different_prelude_is_refused() {
    let lent = prelude(SOURCE);
    let mut machine = machine(&lent, &["call"]);
    machine.load("(crm/get 1)").expect("it compiles");
    assert!(matches!(machine.run(u64::MAX), Step::Calls(_)));
    let bytes = machine.dump().expect("it is at rest");
    let other = prelude("(ns crm) (defn get [id] id)");
    for there in [Vec::new(), vec![other]] {
        let error = Machine::load_dump_with(&bytes, &Limits::default(), &there).expect_err("it is not there");
        assert_eq!(error, DumpError::Prelude(lent.artifact_hash().to_owned()));
    }
    assert!(Machine::load_dump(&bytes, &Limits::default()).is_err());
    let loaded = Machine::load_dump_with(&bytes, &Limits::default(), std::slice::from_ref(&lent))
        .expect("it is there");
    assert_eq!(
        loaded.prelude().map(|it| it.artifact_hash().to_owned()),
        Some(lent.artifact_hash().to_owned())
    );
}

#[test]
fn fuel_and_memory_are_the_same_through_bytes() {
    let program = "[(crm/both 1 2) (crm/all) (count (str (crm/each identity [1 2 3])))]";
    let finish = |through: bool| {
        let lent = prelude(SOURCE);
        let mut machine = machine(&lent, &["call"]);
        machine.load(program).expect("it compiles");
        loop {
            match machine.run(u64::MAX) {
                Step::Calls(calls) => {
                    if through {
                        let bytes = machine.dump().expect("it is at rest");
                        machine =
                            Machine::load_dump_with(&bytes, &Limits::default(), std::slice::from_ref(&lent))
                                .expect("it loads");
                    }
                    calls.iter().for_each(|call| {
                        let value = json!({"ok": true, "value": call.args["args"]["id"]});
                        machine.resume(call.id, Ok(value)).expect("it waits");
                    });
                }
                Step::Done(_) => return (machine.value(), machine.fuel_used()),
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(finish(true), finish(false));
}

#[test]
fn damaged_bytes_are_refused_or_make_a_machine_that_runs() {
    let lent = prelude(SOURCE);
    let mut machine = machine(&lent, &["call"]);
    machine.load("(crm/both 1 (crm/each identity [2]))").expect("it compiles");
    assert!(matches!(machine.run(u64::MAX), Step::Calls(_)));
    let whole = machine.dump().expect("it is at rest");
    let body = whole.len() - 8;
    let limits = Limits { fuel: 100_000, ..Limits::default() };
    for at in 5..body {
        for flip in [1_u8, 0x40] {
            let mut bytes = whole[..body].to_vec();
            bytes[at] ^= flip;
            let sum = ptc_lisp::dump::checksum(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
            if let Ok(mut loaded) = Machine::load_dump_with(&bytes, &limits, std::slice::from_ref(&lent)) {
                for call in loaded.outstanding() {
                    let _ = loaded.resume(call.id, Ok(json!({"ok": true, "value": 1})));
                }
                let _ = loaded.run(10_000);
            }
        }
    }
}
