//! Programs whose data nearly fills the memory: what they drop on the way does not count, and looking for room costs in
//! proportion to the work.

use ptc_lisp::Limits;
use ptc_lisp::machine::{Answer, Machine, Step};
use serde_json::{Value, json};

const ROWS: usize = 8_000;

fn rows() -> Value {
    let row = |n: usize| {
        let code = [42, 500, 7][n * n % 3];
        json!({"id": n, "timestamp": format!("2024-05-01T00:00:{n:06}Z"), "message": format!("error code {code} at node-{}", n % 97)})
    };
    (0..ROWS).map(row).collect()
}

/// What a program about the rows that a tool gives comes to, and the fuel that it takes.
fn about_rows(rows: &Value, memory: usize, program: &str) -> (String, u64) {
    let mut machine = Machine::new(Limits { memory, ..Limits::default() });
    machine.set_tools(["search".to_owned()]);
    machine.load(&format!("(def rows (tool/search {{}})) {program}")).expect("it compiles");
    loop {
        match machine.run(u64::MAX) {
            Step::Calls(calls) => {
                machine.answer(calls[0].id, Answer::Value(rows.clone())).expect("the rows fit");
            }
            Step::Yield => {}
            Step::Done(_) => return (machine.value(), machine.fuel_used()),
            Step::Failed(error) => return (error.to_string(), machine.fuel_used()),
        }
    }
}

/// Bytes that the rows take.
fn size_of_rows(rows: &Value) -> usize {
    let mut machine = Machine::new(Limits::default());
    machine.set_data(&json!({"rows": rows})).expect("they fit");
    machine.live_bytes()
}

#[test]
fn what_is_garbage_is_not_refused_near_the_limit() {
    let rows = rows();
    let size = size_of_rows(&rows);
    let programs = [
        r#"(frequencies (map #(re-find #"code \d+" (:message %)) rows))"#,
        r#"(count (filter #(clojure.string/includes? (clojure.string/upper-case (:message %)) "CODE 42") rows))"#,
        r"(reduce (fn [n row] (+ n (count (assoc row :x 1)))) 0 rows)",
        r"(->> rows (map :id) (filter even?) (reduce +))",
        r"(->> rows (map #(select-keys % [:id])) (map :id) (reduce +))",
        r#"(->> rows (map #(clojure.string/split (:message %) #" ")) (map count) (reduce max 0))"#,
        r"(loop [rows rows n 0] (if (seq rows) (recur (rest rows) (+ n (count (:message (first rows))))) n))",
    ];
    for program in programs {
        let (expected, fuel) = about_rows(&rows, 64 << 20, program);
        for percent in [110, 103] {
            let (value, near) = about_rows(&rows, size / 100 * percent, program);
            assert_eq!(value, expected, "{program} with {percent} %");
            assert!(near < 4 * fuel, "{near} units of fuel in place of {fuel} with {percent} %: {program}");
        }
    }
}
