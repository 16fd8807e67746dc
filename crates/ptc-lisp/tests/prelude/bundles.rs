//! Several sources as one prelude: order, dependencies, components.

use std::sync::Arc;

use crate::support::{drive, machine};
use ptc_lisp::prelude::{Options, Prelude, Problem, Source};
use serde_json::json;

/// Id, text and needs.
type Part<'a> = (&'a str, &'a str, &'a [&'a str]);

fn bundle(parts: &[Part<'_>]) -> Result<Prelude, Problem> {
    let needs: Vec<Vec<String>> =
        parts.iter().map(|(_, _, needs)| needs.iter().map(|need| (*need).to_owned()).collect()).collect();
    let sources: Vec<Source<'_>> = parts
        .iter()
        .zip(&needs)
        .map(|((id, text, _), needs)| Source { id, text, needs, origin: "memory" })
        .collect();
    Prelude::compile(&sources, &Options::default())
}

const LOG: Part<'_> = ("log", "(ns log \"Logs.\") (defn all [] (tool/log_all)) (defn- inner [] 1)", &[]);

#[test]
fn r10_8_sources_are_composed_in_order() {
    let prelude = bundle(&[LOG, ("paged", "(ns paged) (defn first-page [] (take 2 (log/all)))", &["log"])]);
    let prelude = Arc::new(prelude.expect("it compiles"));
    let namespaces: Vec<&str> = prelude.namespaces().iter().map(|ns| ns.name.as_str()).collect();
    assert_eq!(namespaces, ["log", "paged"]);
    let export = prelude.export("paged/first-page").expect("it is public");
    assert_eq!(export.requires, ["tool:log_all"], "needs are inherited from dependencies");
    let summary = prelude.trace_summary();
    let parts: Vec<(&str, &str)> = summary["components"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|part| (part["id"].as_str().unwrap_or(""), part["namespaces"][0].as_str().unwrap_or("")))
        .collect();
    assert_eq!(parts, [("log", "log"), ("paged", "paged")]);
    assert_ne!(summary["components"][0]["source_hash"], summary["components"][1]["source_hash"]);
    let mut machine = machine(&prelude, &["log_all"]);
    let value = drive(&mut machine, "(paged/first-page)", |_| json!([1, 2, 3]));
    assert_eq!(value.as_deref(), Ok("(1 2)"));
}

#[test]
fn r10_8_bundles_that_do_not_fit_are_refused() {
    let cases: &[(&[Part<'_>], &str, &str)] = &[
        (&[LOG, ("mine", "(ns log)", &[])], "invalid_namespace", "log and mine both declare it"),
        (
            &[LOG, ("p", "(ns p) (defn f [] (log/all))", &[])],
            "unknown_dependency",
            "p: line 1, column 20: log/all belongs to log",
        ),
        (&[LOG, ("p", "(ns p)", &["other"])], "unknown_dependency", "p needs other"),
        (&[LOG, ("p", "(ns p) (def x (log/all))", &["log"])], "dep_ref_in_def", "the constant x"),
        (
            &[LOG, ("p", "(ns p) (defn f [] (log/inner))", &["log"])],
            "compile_error",
            "log/inner is not a public export",
        ),
        (&[("a", "(ns a)", &["b"]), ("b", "(ns b)", &["a"])], "dependency_cycle", "a, b"),
        (&[LOG, ("p", "(ns p", &[])], "parse_error", "p: line 1"),
    ];
    for (parts, reason, message) in cases {
        let problem = bundle(parts).expect_err(message);
        assert_eq!(problem.reason.name(), *reason, "{problem}");
        assert!(problem.placed().contains(message), "{problem}");
    }
}

#[test]
fn sources_may_be_used_before_they_come() {
    let parts: &[Part<'_>] =
        &[("p", "(ns p) (defn f [] (q/g 1))", &["q"]), ("q", "(ns q) (defn g [x] (inc x))", &[])];
    let prelude = Arc::new(bundle(parts).expect("order is for traces, needs are for meaning"));
    assert_eq!(drive(&mut machine(&prelude, &[]), "(p/f)", |_| json!(null)).as_deref(), Ok("2"));
}
