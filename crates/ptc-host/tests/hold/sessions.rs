//! Held programs of sessions: the session stays as it was, and has what they defined when they come to an end.

use std::sync::Arc;

use ptc_host::{ErrorKind, Judgement, Pool, Program, Resumption, Tool, Tools};
use serde_json::{Value, json};

use crate::support::{approved, carried};

fn tools() -> Tools {
    let asks = |_: &str, _: &Value| Judgement::Ask(json!({}));
    Tools::new().with("pay", Tool::quick(|args: Value| args["n"].clone())).judge(Arc::new(asks))
}

fn program(source: &str) -> Program {
    Program::new(source).tools(tools())
}

#[test]
fn a_session_is_as_before_while_a_program_waits_and_goes_on_with_what_it_defined() {
    let session = Pool::global().session();
    assert!(session.run(program("(def a 1) (def total (atom 10))")).wait().result.is_ok());
    let source = "(def a 2) (swap! total + a) (def b (tool/pay {:n 5})) (swap! total + b)";
    let outcome = session.run(program(source)).wait();
    let held = *outcome.held.expect("it is held");
    assert_eq!(session.run(program("[a @total *1]")).wait().value, "[1 10 #'total]");

    let session = Pool::global().session();
    let outcome = session.run(Program::resumed(approved(carried(&held))).tools(tools())).wait();
    assert_eq!(outcome.value, "17");
    assert_eq!(session.run(program("[a b @total *1]")).wait().value, "[2 5 17 17]");
}

#[test]
fn a_program_that_fails_after_its_approval_leaves_the_session_as_it_was() {
    let session = Pool::global().session();
    session.run(program("(def a 1)")).wait();
    let outcome = session.run(program("(def a (tool/pay {:n 5})) (/ a 0)")).wait();
    let held = *outcome.held.expect("it is held");
    let outcome = session.run(Program::resumed(approved(held)).tools(tools())).wait();
    assert_eq!(outcome.result.expect_err("it fails").kind, ErrorKind::Arithmetic);
    assert_eq!(session.run(program("a")).wait().value, "1");
}

#[test]
fn a_program_that_cannot_be_loaded_leaves_the_session_alone() {
    let session = Pool::global().session();
    session.run(program("(def a 1)")).wait();
    let prelude =
        Arc::new(ptc_lisp::prelude::Prelude::compile_text("(ns crm) (defn f [] 1)").expect("it compiles"));
    let lent = Pool::global().run(program("[(crm/f) (tool/pay {:n 5})]").prelude(prelude)).wait();
    let held = *lent.held.expect("it is held");
    let resumption: Resumption = approved(held);
    let outcome = session.run(Program::resumed(resumption).tools(tools())).wait();
    let error = outcome.result.expect_err("the prelude is missing");
    assert!(error.message.contains("prelude"), "{error}");
    assert_eq!(session.run(program("a")).wait().value, "1");
}
