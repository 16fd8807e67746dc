//! The symptoms of the guide's troubleshooting table, each produced. Those of agents are in `ptc-agent`.

use crate::support::{CRM, compile, drive, machine, prelude, value};
use ptc_lisp::machine::Machine;
use ptc_lisp::prelude::{Grants, Offer, Upstreams};
use ptc_lisp::{ErrorKind, Limits};
use serde_json::json;

#[test]
fn unknown_namespace_where_the_prelude_was_not_attached() {
    let mut machine = Machine::new(Limits::default());
    let error = drive(&mut machine, "(crm/get-user 1)", |_| json!(null)).expect_err("it is not attached");
    assert!(error.message.starts_with("unknown namespace crm/"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("only if the prelude is attached")));
}

struct Nothing;

impl Upstreams for Nothing {
    fn offer(&self, _: &str, _: &str) -> Offer {
        Offer::UnknownServer
    }
}

#[test]
fn attach_failed_for_an_upstream_operation() {
    let prelude = prelude(CRM);
    let error =
        prelude.admit(&Grants { tools: &[], upstreams: Some(&Nothing) }).expect_err("there is no upstream");
    assert_eq!(error.kind.reason(), "prelude_attach_failed");
    assert!(error.message.starts_with("prelude attach failed: "), "{error}");
    assert!(error.message.contains("upstream:crm/get_user"), "{error}");
    prelude.admit(&Grants::default()).expect("without a runtime nobody asks");
}

#[test]
fn attach_failed_for_a_tool() {
    let prelude = prelude("(ns log) (defn sessions [] (tool/log_sessions))");
    let mut machine = machine(&prelude, &["other"]);
    let error = machine.load("(println \"never\")").expect_err("the tool is not granted");
    assert_eq!(error.kind, ErrorKind::PreludeAttach);
    assert!(error.message.contains("requires granted tool `log_sessions`"), "{error}");
    machine.set_tools(["log_sessions".to_owned()]);
    machine.load("(log/sessions)").expect("now it is");
    // What is taken away later stops the next program before it begins.
    machine.set_tools([]);
    assert_eq!(machine.load("1").expect_err("it is gone").kind, ErrorKind::PreludeAttach);
}

#[test]
fn protected_names_cannot_be_redefined() {
    let redefined = value(CRM, "(defn crm/get-user [x] x)").expect_err("it is protected");
    assert!(redefined.message.starts_with("cannot redefine crm/get-user"), "{redefined}");
    let defined = value(CRM, "(def crm/mine 1)").expect_err("it is protected");
    assert!(defined.message.contains("crm is a protected namespace"), "{defined}");
}

#[test]
fn namespaces_are_declared_once_and_metadata_is_checked() {
    let cases = [
        ("(ns crm) (defn f [] 1) (ns crm)", "namespace 'crm' is declared more than once"),
        ("(ns crm) (defn f {:visibility :public} [] 1)", "invalid visibility"),
        ("(ns crm) (defn f {:requires [1]} [] 1)", ":requires must be a list of strings"),
        ("(ns crm) (defn f [] 1) (def f 2)", "duplicate ref crm/f"),
        (
            "(ns crm) (def big (apply str (repeat 100000000 \"x\")))",
            "prelude evaluation exceeded sandbox limits",
        ),
    ];
    for (source, message) in cases {
        let problem = compile(source).expect_err(message);
        assert!(problem.placed().contains(message), "{source}: {problem}");
    }
}

#[test]
fn discoverable_exports_are_not_in_the_prompt() {
    let inventory = prelude(CRM).inventory(None).expect("others are");
    assert!(inventory.contains("crm/get-user") && !inventory.contains("list-users"), "{inventory}");
    assert_eq!(value(CRM, "(contains? (ns-publics 'crm) 'list-users)").as_deref(), Ok("true"));
}
