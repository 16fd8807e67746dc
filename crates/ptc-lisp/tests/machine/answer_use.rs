//! Whether a program looks at the answer to a call, told before it is answered.

use ptc_lisp::Limits;
use ptc_lisp::machine::AnswerUse::{Nothing, Result, Used};
use ptc_lisp::machine::{Answer, AnswerUse, Machine, Step};
use serde_json::{Value as Json, json};

/// What is said of each call, in order; all answers are the same.
fn uses(source: &str, answer: &Json) -> (Vec<AnswerUse>, String, Vec<Json>) {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["w".to_owned()]);
    machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let (mut told, mut made) = (Vec::new(), Vec::new());
    loop {
        match machine.run(50) {
            Step::Yield => {}
            Step::Done(_) => return (told, machine.value(), made),
            Step::Failed(error) => return (told, error.message, made),
            Step::Calls(calls) => {
                told.extend(calls.iter().map(|call| machine.answer_use(call.id).expect("it waits")));
                assert!(calls.iter().all(|call| machine.call_span(call.id).is_some()), "{source}");
                for call in calls {
                    made.push(call.args);
                    machine.answer(call.id, Answer::Value(answer.clone())).expect("it waits");
                }
            }
        }
    }
}

#[test]
fn answers_are_told_apart_by_what_follows() {
    let cases: &[(&str, &[AnswerUse])] = &[
        ("(tool/w {}) 1", &[Nothing]),
        ("(tool/w {})", &[Result]),
        ("(do (tool/w {:n 1}) (tool/w {:n 2}) nil)", &[Nothing, Nothing]),
        ("(doseq [x [1 2 3]] (tool/w {:n x}))", &[Nothing, Nothing, Nothing]),
        ("(doseq [x [1 2] :when (odd? x) y [3 4]] (tool/w {:n [x y]}))", &[Nothing, Nothing]),
        ("(run! #(tool/w {:n %}) [1 2])", &[Nothing, Nothing]),
        ("(dotimes [i 2] (tool/w {:n i}))", &[Nothing, Nothing]),
        ("(let [r (tool/w {})] 5)", &[Nothing]),
        ("(let [r (tool/w {})] (println 1) 5)", &[Nothing]),
        ("(let [r (tool/w {})] r)", &[Result]),
        ("(let [r (tool/w {})] (:ok r))", &[Used]),
        ("(if (tool/w {}) 1 2)", &[Used]),
        ("(when true (tool/w {})) 7", &[Nothing]),
        ("(if (= 1 1) (tool/w {:n 1}) (tool/w {:n 2}))", &[Result]),
        ("(def r (tool/w {})) 1", &[Used]),
        ("(println (tool/w {}))", &[Used]),
        ("[(tool/w {})]", &[Used]),
        ("{:a (tool/w {})}", &[Used]),
        ("(return (tool/w {}))", &[Used]),
        ("(mapv #(tool/w {:n %}) [1 2])", &[Used, Used]),
        ("(pmap #(tool/w {:n %}) [1 2])", &[Used, Used]),
        ("(do (pmap #(tool/w {:n %}) [1 2]) nil)", &[Used, Used]),
        ("(do (pmap #(do (tool/w {:n %}) nil) [1 2]) nil)", &[Nothing, Nothing]),
        ("(defn save [x] (tool/w {:n x})) (save 1) (save 2) nil", &[Nothing, Nothing]),
        ("(defn save [x] (tool/w {:n x})) (save 1) (save 2)", &[Nothing, Result]),
        ("(defn save [x] (tool/w {:n x}) x) (+ (save 1) (save 2))", &[Nothing, Nothing]),
        ("(defn save [x] (tool/w {:n x})) (if (save 1) 1 2)", &[Used]),
        ("(try (tool/w {}) (catch Exception e 1)) 2", &[Nothing]),
        ("(try (tool/w {}) 5 (catch Exception e (ex-message e)))", &[Nothing]),
        ("(let [r (try (tool/w {}) (catch Exception e 1))] (:a r))", &[Used]),
        ("(try (tool/w {}) (finally (println 1))) 3", &[Nothing]),
        ("(loop [i 0] (when (< i 2) (tool/w {:n i}) (recur (inc i))))", &[Nothing, Nothing]),
        ("(loop [i 0 r nil] (if (< i 2) (recur (inc i) (tool/w {:n i})) r))", &[Result, Result]),
        ("(let [a (atom nil)] (reset! a (tool/w {})) 1)", &[Used]),
        ("(let [f (fn [] (tool/w {}))] (f) 1)", &[Nothing]),
        ("(let [r (tool/w {}) g (fn [] r)] 1)", &[Used]),
        ("(->> [1 2] (map #(tool/w {:n %})) dorun)", &[Used, Used]),
        ("(some #(tool/w {:n %}) [1])", &[Used]),
        ("(and (tool/w {}) 1)", &[Used]),
        ("(and 1 (tool/w {})) 2", &[Nothing]),
        ("(as-> 1 x (tool/w {:n x}) 2)", &[Nothing]),
    ];
    for (source, expected) in cases {
        let (told, ..) = uses(source, &json!({"ok": true}));
        assert_eq!(told, *expected, "{source}");
    }
}

/// What is said to be used by nothing changes nothing: other answers give the same calls and the same value.
#[test]
fn what_nothing_uses_changes_nothing() {
    for source in [
        "(doseq [x [1 2 3]] (tool/w {:n x})) :done",
        "(defn save [x] (tool/w {:n x}) (inc x)) (reduce + (map save [1 2]))",
        "(loop [i 0] (when (< i 3) (when (odd? i) (tool/w {:n i})) (recur (inc i)))) 1",
        "(do (pmap #(do (tool/w {:n %}) (tool/w {:n (- %)}) %) [1 2]) (tool/w {:n 0}) nil)",
        "(try (tool/w {:n 1}) (run! #(tool/w {:n %}) [2 3]) (catch Exception e :no)) 4",
    ] {
        let answers = [json!(null), json!(false), json!({"ok": false}), json!([1, 2]), json!("text")];
        let runs = answers.map(|answer| uses(source, &answer));
        assert!(runs[0].0.iter().all(|told| *told == Nothing), "{source}: {:?}", runs[0].0);
        assert!(runs.iter().all(|run| *run == runs[0]), "{source}");
    }
}
