//! Programs that use a prelude: what they can call, what they cannot touch, and what it costs.

use crate::support::{CRM, drive, machine, prelude, value};
use ptc_lisp::machine::Machine;
use ptc_lisp::{ErrorKind, Limits};
use serde_json::json;

#[test]
fn r10_5_1_exports_are_called_by_qualified_name() {
    let source = r#"
        (ns a "Numbers." (:require [clojure.string :as s]))
        (def k 7)
        (def table {:x 1 "y" [1 2 #{:z}] 'w nil})
        (def doubled (mapv #(* 2 %) (range 3)))
        (def last-one (peek doubled))
        (defn- helper [x] (* x k))
        (defn f "Times k." [x] (helper x))
        (defn fact [n] (if (< n 2) 1 (* n (fact (dec n)))))
        (defn even [n] (if (zero? n) true (odd (dec n))))
        (defn odd [n] (if (zero? n) false (even (dec n))))
        (defn shout [& words] (s/upper-case (s/join " " words)))
        (defn adder [n] (fn [x] (+ x n)))
        (defn pick ([m] (pick m :x)) ([m key] (get m key :none)))
        (defn list [x] [:own x])
        (defn use-list [x] (list x))
        (defn opts [{:keys [a b] :or {b 2}}] [a b])
        (defn lazy [n] (map f (range n)))
        (def f2 (fn [x] (f (f x))))
        (ns b) (defn g [x] (a/f x))"#;
    let cases = [
        ("(a/f 6)", "42"),
        ("a/k", "7"),
        ("(a/k)", "7"),
        ("(a/table :x)", "1"),
        ("(get a/table \"y\")", "[1 2 #{:z}]"),
        ("a/doubled", "[0 2 4]"),
        ("a/last-one", "4"),
        ("(a/fact 20)", "2432902008176640000"),
        ("(a/even 100000)", "true"),
        ("(a/shout \"a\" \"b\")", "\"A B\""),
        ("((a/adder 2) 3)", "5"),
        ("(map a/f [1 2])", "(7 14)"),
        (
            "(mapv (comp inc a/f) (range 30))",
            "[1 8 15 22 29 36 43 50 57 64 71 78 85 92 99 106 113 120 127 134 141 148 155 162 169 176 183 190 197 204]",
        ),
        ("(reduce (fn [s x] (+ s (a/f x))) 0 [1 2])", "21"),
        ("[(a/pick {:x 1}) (a/pick {:x 1} :q)]", "[1 :none]"),
        ("[(a/use-list 1) (list 1)]", "[[:own 1] (1)]"),
        ("(a/opts {:a 1})", "[1 2]"),
        ("(take 2 (a/lazy 5))", "(0 7)"),
        ("(a/f2 1)", "49"),
        ("(b/g 2)", "14"),
        ("(do (require '[a :as n :refer [fact]]) [(n/f 1) (fact 3)])", "[7 6]"),
        ("(let [f a/f] (f 2))", "14"),
        ("(def mine a/f) (mine 3)", "21"),
        ("(apply a/shout [\"x\"])", "\"X\""),
        ("(:x a/table)", "1"),
        ("(assoc a/table :x 2)", "{:x 2, \"y\" [1 2 #{:z}], w nil}"),
        ("(pmap a/f [1 2 3])", "(7 14 21)"),
    ];
    for (program, expected) in cases {
        assert_eq!(value(source, program).as_deref(), Ok(expected), "{program}");
    }
}

#[test]
fn r10_5_what_programs_cannot_do() {
    let cases = [
        ("(crm/normalize-id 1)", "crm/normalize-id is not a public export of crm"),
        ("(crm/dead)", "crm/dead is not a public export of crm"),
        ("(crm/get-usr 1)", "crm/get-usr is not a public export of crm"),
        ("(crm/get-user)", "crm/get-user takes 1 argument, got 0"),
        ("(crm/get-user 1 2)", "crm/get-user takes 1 argument, got 2"),
        ("(crm/page-size 1)", "crm/page-size is a constant, not a function"),
        (
            "(def crm/get-user 1)",
            "cannot redefine crm/get-user: it is a public export of the protected namespace crm",
        ),
        ("(defn crm/other [] 1)", "cannot define crm/other: crm is a protected namespace"),
        ("(defn crm/normalize-id [] 1)", "cannot define crm/normalize-id: crm is a protected namespace"),
        ("(defonce crm/x 1)", "cannot define crm/x: crm is a protected namespace"),
        ("(declare crm/x)", "cannot define crm/x: crm is a protected namespace"),
        ("(ns crm) (def x 1)", "crm is a protected namespace"),
        ("(with-redefs [crm/get-user 1] 1)", "cannot redefine crm/get-user"),
        ("(binding [crm/get-user 1] 1)", "cannot redefine crm/get-user"),
        ("(require '[clojure.string :as crm])", "crm is a protected namespace"),
        ("(def other/x 1)", "cannot define the qualified name other/x"),
    ];
    for (program, message) in cases {
        let error = value(CRM, program).expect_err(program);
        assert!(error.text().contains(message), "{program}: {error}");
        assert!(error.span.is_some(), "{program} has a place");
    }
    let near = value(CRM, "(crm/get-usr 1)").expect_err("it is misspelt");
    assert!(near.hint.is_some_and(|hint| hint.contains("did you mean crm/get-user?")));
    let tried = value(CRM, "(alter-var-root #'crm/get-user identity)").expect_err("it is no var");
    assert!(tried.text().contains("alter-var-root: argument 1 must be a var"), "{tried}");
    let tried = value(CRM, "(resolve 'crm/normalize-id)").expect_err("there is no such function");
    assert!(tried.text().contains("undefined name: resolve"), "{tried}");
}

#[test]
fn errors_inside_of_exports_are_placed_at_the_program() {
    let source = "(ns a) (defn f [x] (+ x 1)) (defn deep [x] (map #(nth % 5) [x]))";
    let program = "(def before 1)\n(a/f \"text\")";
    let error = value(source, program).expect_err("text is no number");
    let span = error.span.expect("it has a place");
    assert_eq!(&program[span.start as usize..span.end as usize], "(a/f \"text\")");
    let program = "(defn g [] (a/f nil))\n(g)";
    let error = value(source, program).expect_err("nil is no number");
    let span = error.span.expect("it has a place");
    assert_eq!(&program[span.start as usize..span.end as usize], "(a/f nil)");
    let caught = value(source, "(try (doall (a/deep [1])) (catch Exception e :caught))");
    assert_eq!(caught.as_deref(), Ok(":caught"));
}

#[test]
fn r10_5_1_results_of_wrapped_calls_pass_through() {
    let program = "(def res (crm/get-user \"u_1\"))
                   (if (res :ok) (return {:user (res :value)}) (return {:error (res :reason)}))";
    assert_eq!(value(CRM, program).as_deref(), Ok("{:user {:id \"norm:u_1\"}}"));
    let mut machine = machine(&prelude(CRM), &["call"]);
    let failed = drive(&mut machine, program, |_| json!({"ok": false, "reason": "timeout"}));
    assert_eq!(failed.as_deref(), Ok("{:error \"timeout\"}"));
    let aborted =
        drive(&mut machine, "(crm/get-user! 1) :not-reached", |_| json!({"ok": false, "reason": "gone"}));
    assert_eq!(aborted.as_deref(), Ok("{:reason \"gone\"}"));
}

#[test]
fn r10_5_7_tools_that_an_export_calls_are_checked_before_the_program_runs() {
    let mut machine = machine(&prelude(CRM), &[]);
    assert_eq!(drive(&mut machine, "crm/page-size", |_| json!(null)).as_deref(), Ok("50"));
    let error =
        drive(&mut machine, "(println 1) (crm/get-user 1)", |_| json!(null)).expect_err("no call is granted");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::UnknownTool, "crm/get-user calls tool/call, which is not granted")
    );
    assert!(machine.prints().is_empty(), "nothing ran");
}

#[test]
fn tools_are_found_with_hyphens_for_underscores() {
    let prelude = prelude("(ns log) (defn sessions [] (tool/log-sessions {:n 1}))");
    let mut machine = machine(&prelude, &["log_sessions"]);
    let mut called = Vec::new();
    let value = drive(&mut machine, "(log/sessions) (log/sessions)", |call| {
        called.push(call.tool.clone());
        json!(called.len())
    });
    assert_eq!(value.as_deref(), Ok("2"));
    assert_eq!(called, ["log_sessions", "log_sessions"]);
}

#[test]
fn r10_5_6_private_tools_are_for_exports_only() {
    let prelude = prelude("(ns store) (defn read [id] (tool/store_read {:id id}))");
    let mut machine = machine(&prelude, &["store_read", "echo"]);
    machine.set_private_tools(["store_read".to_owned()]);
    let value = drive(&mut machine, "(store/read 1)", |call| json!([call.tool, call.args]));
    assert_eq!(value.as_deref(), Ok("[\"store_read\" {:id 1}]"));
    for program in ["(tool/store_read {:id 1})", "(map tool/store-read [{}])", "(call \"store_read\" {})"] {
        let error = drive(&mut machine, program, |_| json!(null)).expect_err(program);
        let message = "Private tool may only be called by authorized prelude exports: store_read";
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::UnknownTool, message), "{program}");
    }
    let error = drive(&mut machine, "(tool/store_red {})", |_| json!(null)).expect_err("it is misspelt");
    assert!(!error.hint.unwrap_or_default().contains("store_read"), "private tools are not suggested");
}

#[test]
fn definitions_of_sessions_last_beside_a_prelude_and_are_listed_alone() {
    let mut machine = machine(&prelude(CRM), &["call"]);
    let echo = |call: &ptc_lisp::machine::Call| json!({"ok": true, "value": call.args["args"]});
    drive(&mut machine, "(def mine crm/get-user) (def n crm/page-size)", echo).expect("it runs");
    assert_eq!(machine.definitions(), ["mine", "n"]);
    let manifest = machine.check("(mine 1)").expect("it is fine");
    assert_eq!(manifest.tools(), ["call"], "what was carried over may still call");
    assert_eq!(drive(&mut machine, "[(:ok (mine 1)) n]", echo).as_deref(), Ok("[true 50]"));
}

#[test]
fn a_prelude_comes_first_and_only_once() {
    let crm = prelude(CRM);
    let mut late = Machine::new(Limits::default());
    late.set_data(&json!({"customer": 1})).expect("it fits");
    let error = late.attach(&crm).expect_err("there are inputs");
    assert_eq!(error.kind.reason(), "prelude_attach_failed");
    let mut machine = machine(&crm, &["call"]);
    machine.attach(&prelude(CRM)).expect("the same again");
    let error = machine.attach(&prelude("(ns a)")).expect_err("another");
    assert!(error.message.contains("another prelude is attached"));
}

#[test]
fn a_prelude_that_is_not_used_costs_no_fuel() {
    let program = "(reduce + (map inc (range 100)))";
    let fuel = |mut machine: Machine| {
        drive(&mut machine, program, |_| json!(null)).expect("it runs");
        (machine.fuel_used(), machine.size_hint())
    };
    assert_eq!(fuel(machine(&prelude(CRM), &[])), fuel(Machine::new(Limits::default())));
}

#[test]
fn machines_of_many_threads_share_one_prelude() {
    let crm = prelude(CRM);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let crm = &crm;
            scope.spawn(move || {
                for _ in 0..10 {
                    let mut machine = machine(crm, &["call"]);
                    let value = drive(
                        &mut machine,
                        "[crm/page-size (:value (crm/get-user :x))]",
                        |call| json!({"ok": true, "value": call.args["args"]["id"]}),
                    );
                    assert_eq!(value.as_deref(), Ok("[50 \"norm::x\"]"));
                }
            });
        }
    });
}
