//! Two processes give the same answer and use the same fuel, although their hashes are seeded differently.

use std::process::Command;

use serde_json::Value;

/// A program with keys of every kind, many enough for tables to be indexed by hash.
const PROGRAM: &str = r#"
(def rows (map (fn [i] {:id i :name (str "a name that is long enough to be shared " i) :tags #{i (str i)}}) (range 300)))
(def by-name (into {} (map (juxt :name identity)) rows))
(def nested (reduce (fn [m r] (assoc-in m [(mod (:id r) 7) (select-keys r [:id :tags])] (:name r))) {} rows))
(println (take 3 by-name))
[(keys nested)
 (group-by (comp #(mod % 5) :id) (take 20 rows))
 (frequencies (map (fn [r] [(mod (:id r) 3) {:t (count (:tags r))}]) rows))
 (set (map :tags (take 50 rows)))
 (hash nested)
 (shuffle (range 20))
 (sort-by :name (vals (select-keys by-name (take 5 (keys by-name)))))]
"#;

fn run() -> Value {
    let args = ["eval", "-e", PROGRAM, "--json", "--stats", "--seed", "7", "--now", "0"];
    let output = Command::new(env!("CARGO_BIN_EXE_ptc")).args(args).output().expect("the command runs");
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(answer["ok"], true, "{answer}");
    // Time is the one thing that differs.
    answer["stats"].as_object_mut().expect("stats").remove("ms");
    answer
}

#[test]
fn processes_agree_on_value_prints_fuel_and_memory() {
    let first = run();
    assert!(first["stats"]["fuel"].as_u64().is_some_and(|fuel| fuel > 1_000), "{}", first["stats"]);
    for _ in 0..4 {
        assert_eq!(run(), first);
    }
}
