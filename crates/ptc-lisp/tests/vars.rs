//! Vars over the life of a session: what a program changes lasts, what a failed one changes is taken back,
//! and what `binding` puts in front ends with the program at the latest.

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

/// The value of a program, or the name of the kind of its error.
fn answer(machine: &mut Machine, source: &str) -> String {
    if let Err(error) = machine.load(source) {
        return error.kind.reason().to_owned();
    }
    loop {
        match machine.run(1000) {
            Step::Yield => {}
            Step::Done(_) => return machine.value(),
            Step::Failed(error) => return error.kind.reason().to_owned(),
            Step::Calls(_) => panic!("{source} calls a tool"),
        }
    }
}

/// Runs programs one after the other in one machine; each must give the value beside it.
fn session(programs: &[(&str, &str)]) {
    let mut machine = Machine::new(Limits::default());
    for (source, expected) in programs {
        assert_eq!(answer(&mut machine, source), *expected, "{source}");
    }
}

#[test]
fn definitions_keep_their_text_and_metadata() {
    session(&[
        ("(defn f \"doubles\" [x]\n  (* 2 x)) (def ^{:unit :cm} n 1) :ok", ":ok"),
        ("(with-out-str (source f))", r#""(defn f \"doubles\" [x]\n  (* 2 x))\n""#),
        ("[(:doc (meta #'f)) (:arglists (meta #'f)) (:unit (meta #'n))]", r#"["doubles" ([x]) :cm]"#),
        ("(defn f [] 1) (with-out-str (source f))", r#""(defn f [] 1)\n""#),
        ("(:doc (meta #'f))", "nil"),
    ]);
}

#[test]
fn a_var_sees_redefinition_in_later_programs() {
    session(&[
        ("(defn f [] 1) (def handlers {:f #'f :now f}) :ok", ":ok"),
        ("(defn f [] 2) [((:f handlers)) ((:now handlers))]", "[2 1]"),
        ("(alter-var-root #'f (fn [old] (fn [] [:wrapped (old)]))) (f)", "[:wrapped 2]"),
        ("((:f handlers))", "[:wrapped 2]"),
    ]);
}

#[test]
fn a_failed_program_takes_back_what_it_changed_through_vars() {
    session(&[
        ("(def n 1) (def ^:dynamic *d* :own) (def log (atom [])) :ok", ":ok"),
        ("(alter-var-root #'n inc) (alter-meta! #'n assoc :k 1) (/ 1 0)", "arithmetic_error"),
        ("[n (:k (meta #'n))]", "[1 nil]"),
        ("(add-watch #'n :w (fn [& args] (swap! log conj 1))) (/ 1 0)", "arithmetic_error"),
        ("(alter-var-root #'n inc) [n @log]", "[2 []]"),
        ("(binding [*d* :front] (/ 1 0))", "arithmetic_error"),
        ("(binding [*d* :front] (fail :no))", ":no"),
        ("*d*", ":own"),
    ]);
}

#[test]
fn a_program_that_ends_inside_of_binding_leaves_nothing_in_front() {
    session(&[
        ("(def ^:dynamic *d* :own) :ok", ":ok"),
        ("(binding [*d* 1] (binding [*d* 2] (return *d*)))", "2"),
        ("[*d* (thread-bound? #'*d*)]", "[:own false]"),
        ("(def keep-it (binding [*d* 3] (bound-fn [] *d*))) (keep-it)", "3"),
        ("[(keep-it) *d*]", "[3 :own]"),
    ]);
}
