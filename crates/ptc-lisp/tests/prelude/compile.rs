//! What the compiler accepts and what it refuses, with the reason and the place.

use crate::support::{CRM, compile, drive, machine, prelude};
use ptc_lisp::Limits;
use ptc_lisp::prelude::{Effect, Options, Policy, Prelude, Source, Visibility};
use serde_json::Value as Json;

/// The reason, the place and the message of a source that is refused.
fn refused(source: &str) -> (String, String) {
    match compile(source) {
        Ok(_) => panic!("accepted: {source}"),
        Err(problem) => (problem.reason.name().to_owned(), problem.placed()),
    }
}

#[test]
fn r10_1_sources_that_are_wrong_are_refused_with_reason_and_place() {
    let cases = [
        ("(ns a) (defn f [x]", "parse_error", "line 1"),
        ("(ns a) (println 1)", "compile_error", "line 1, column 8: only ns, def, defn and defn-"),
        ("42", "compile_error", "only ns, def, defn and defn-"),
        ("(defn f [] 1)", "missing_namespace", "line 1, column 1: a definition stands before any namespace"),
        ("", "missing_namespace", "declares no namespace"),
        ("(ns tool)", "reserved_namespace", "namespace 'tool' is reserved"),
        ("(ns data)", "reserved_namespace", "namespace 'data' is reserved"),
        ("(ns budget)", "reserved_namespace", "namespace 'budget' is reserved"),
        ("(ns ptc.core)", "reserved_namespace", "namespace 'ptc.core' is reserved"),
        ("(ns str)", "reserved_namespace", "namespace 'str' is reserved"),
        ("(ns LocalDate)", "reserved_namespace", "namespace 'LocalDate' is reserved"),
        ("(ns user)", "reserved_namespace", "namespace 'user' is reserved"),
        ("(ns a/b)", "invalid_namespace", "expected (ns name"),
        ("(ns a 5)", "invalid_namespace", "expected (ns name"),
        ("(ns a) (ns b) (ns a)", "invalid_namespace", "column 15: namespace 'a' is declared more than once"),
        ("(ns a {1 2})", "invalid_metadata", "no keyword"),
        ("(ns a {:visibility :hidden})", "invalid_visibility", "invalid visibility of a"),
        ("(ns a) (defn f {:visibility \"prompt\"} [] 1)", "invalid_visibility", "invalid visibility of a/f"),
        ("(ns a) (defn f {:requires \"x\"} [] 1)", "invalid_requires", ":requires must be a list of strings"),
        ("(ns a) (defn f {:requires [:x]} [] 1)", "invalid_requires", ":requires must be a list of strings"),
        (
            "(ns a) (defn f {:provider-ref 1} [] 1)",
            "invalid_metadata",
            ":provider-ref of a/f must be a string",
        ),
        ("(ns a) (defn f {:effect :maybe} [] 1)", "invalid_metadata", ":effect of a/f must be"),
        (
            "(ns a) (defn f {:require []} [] 1)",
            "invalid_metadata",
            "unknown key :require; did you mean :requires?",
        ),
        ("(ns a) (defn f {:visibilty :prompt} [] 1)", "invalid_metadata", "did you mean :visibility?"),
        (
            "(ns a) (defn ^{:effects :write} f [] 1)",
            "invalid_metadata",
            "column 16: metadata of a/f has an unknown key",
        ),
        (
            "(ns a) (defn f {:owner 1} [] 1)",
            "invalid_metadata",
            "the keys are :visibility, :doc, :effect, :requires,",
        ),
        ("(ns a) (def ^:privat x 1)", "invalid_metadata", "did you mean :private?"),
        ("(ns a {:requires [\"tool:x\"]})", "invalid_metadata", "the keys are :visibility, :doc"),
        ("(ns a) (def x data/foo)", "compile_error", "column 15: a constant reads an input of programs"),
        ("(ns a) (def x (tool/foo {}))", "compile_error", "a/x cannot be computed: it calls a tool"),
        ("(ns a) (defn f {\"effect\" :read} [] 1)", "invalid_metadata", "no keyword"),
        ("(ns a) (defn f [] 1) (defn f [] 2)", "duplicate_ref", "column 28: duplicate ref a/f"),
        ("(ns a) (defn f [] 1) (defn- f [] 2)", "duplicate_ref", "duplicate ref a/f"),
        ("(ns a) (defn f)", "invalid_signature", "has no parameters"),
        ("(ns a) (defn f [x &] x)", "invalid_signature", "parameters of a/f are written wrongly"),
        ("(ns a) (defn f [1] x)", "invalid_signature", "parameters of a/f are written wrongly"),
        ("(ns a) (defn a/f [] 1)", "compile_error", "must be defined by its plain name"),
        ("(ns a) (def x)", "compile_error", "expected (def x value)"),
        ("(ns a) (defn f [] (nowhere 1))", "compile_error", "line 1, column 20: undefined name: nowhere"),
        ("(ns a) (defn f [] (inc 1 2))", "compile_error", "inc takes 1 argument"),
        (
            "(ns a) (defn f [] 1) (defn g [] (a/f))",
            "qualified_self_reference",
            "column 34: a/f names its own",
        ),
        ("(ns a) (defn f [] 1) (defn g [] #(a/f %))", "qualified_self_reference", "a/f names its own"),
        ("(ns a) (defn f [] 1) (defn g [] #{a/f})", "qualified_self_reference", "a/f names its own"),
        ("(ns a) (defn f [] (def x 1))", "compile_error", "a prelude holds no state"),
        ("(ns a) (defn f [] (memory/get :x))", "compile_error", "a prelude holds no state"),
        ("(ns a) (defn f [] *1)", "compile_error", "a prelude holds no state"),
        ("(ns a) (def x (atom 1))", "compile_error", "a/x is not plain data"),
        ("(ns a) (def x (partial + 1))", "compile_error", "a/x is not plain data"),
        ("(ns a) (def x (/ 1 0))", "compile_error", "the constant a/x cannot be computed"),
        ("(ns a) (def x (tool/call {:server \"a\" :tool \"b\"}))", "compile_error", "a/x cannot be computed"),
        ("(ns a) (def x (good/ping))", "compile_error", "a/x cannot be computed: it calls a tool"),
        ("(ns a) (defn f [] (good/ping 1))", "compile_error", "good/ping takes named arguments"),
        (
            "(ns good) (defn f [] (good/ping))",
            "qualified_self_reference",
            "for a tool of a server good write (tool/call {:server \"good\" :tool \"ping\" :args {…}})",
        ),
        ("(ns a) (defn f [x] (strng/join x))", "compile_error", "did you mean clojure.string/join?"),
        (
            "(ns a) (defn f [x] (s/upper-case x))",
            "compile_error",
            "column 21: unknown namespace s/; did you mean clojure.string/upper-case?; for a tool of a server s write \
             (tool/call {:server \"s\"",
        ),
        (
            "(ns crm) (defn user [x] x) (ns b) (defn f [x] (crmm/user x))",
            "compile_error",
            "did you mean crm/user?",
        ),
        ("(ns a) (defn f [x] (csv/read-csv x))", "compile_error", "unknown namespace csv/; write "),
        ("(ns a) (defn f [x] (Wizard/cast x))", "compile_error", "unknown namespace Wizard/"),
        ("(ns a) (defn f [x] (tools/look x))", "compile_error", "unknown namespace tools/; write (tool/look"),
        ("(ns a) (defn f [x] (acme.things/look x))", "compile_error", "unknown namespace acme.things/"),
        ("(ns a) (def x y) (def y 1)", "compile_error", "a/y has no value yet"),
        (
            "(ns a) (ns b) (defn- h [] 1) (ns c) (defn f [] (b/h))",
            "compile_error",
            "b/h is not a public export of b",
        ),
    ];
    for (source, reason, message) in cases {
        let (found, placed) = refused(source);
        assert_eq!(found, reason, "{source}: {placed}");
        assert!(placed.contains(message), "{source}: {placed}");
    }
}

#[test]
fn r10_1_11_constants_are_computed_once_under_limits() {
    let heavy = ["(ns a) (def x (loop [] (recur)))", "(ns a) (def x (vec (range 10000000)))"];
    for source in heavy {
        let (reason, placed) = refused(source);
        assert_eq!(reason, "compile_error", "{source}");
        assert!(placed.contains("prelude evaluation exceeded sandbox limits"), "{source}: {placed}");
    }
    let options =
        Options { limits: Limits { fuel: 50_000, ..Options::default().limits }, ..Options::default() };
    let many: String = (0..100).map(|at| format!("(def x{at} (reduce + (range 1000)))")).collect();
    let source = format!("(ns a) {many}");
    let problem = Prelude::compile(&[Source::new("", &source)], &options).expect_err("all share one budget");
    assert!(problem.placed().contains("exceeded sandbox limits"), "{problem}");
}

#[test]
fn r10_1_5_documentation_and_metadata_come_in_either_order() {
    let sources = [
        "(ns a) (defn f \"Doc.\" {:effect :write} [x] x)",
        "(ns a) (defn f {:effect :write} \"Doc.\" [x] x)",
        "(ns a) (defn ^{:effect :write :doc \"Doc.\"} f [x] x)",
        "(ns a) (def f \"Doc.\" {:effect :write} (fn [x] x))",
    ];
    for source in sources {
        let prelude = prelude(source);
        let export = prelude.export("a/f").expect("it is public");
        assert_eq!((export.doc.as_deref(), export.effect), (Some("Doc."), Effect::Write), "{source}");
        assert_eq!((export.arglists().as_str(), export.arity().as_str()), ("[x]", "1"), "{source}");
    }
}

#[test]
fn r10_2_exports_say_what_they_take() {
    let prelude = prelude(
        "(ns a) (defn f ([x] x) ([x & more] more)) (defn g [{:keys [a]} [b c] & rest] a) (def k {:a 1})
         (defn- hidden [] 1) (def ^:private secret 2)",
    );
    let shown: Vec<(&str, String, String)> = prelude
        .exports()
        .iter()
        .map(|export| (export.name.as_str(), export.arglists(), export.arity()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a/f", "[x] [x & more]".to_owned(), "1 or at least 1".to_owned()),
            ("a/g", "[{:keys [a]} [b c] & rest]".to_owned(), "at least 2".to_owned()),
            ("a/k", String::new(), "0".to_owned()),
        ]
    );
}

#[test]
fn r10_2_2_visibility_comes_from_the_export_then_the_namespace_and_hosts_only_narrow() {
    let source = "(ns a {:visibility :discoverable}) (defn f [] 1) (defn g {:visibility :prompt} [] 2)
                  (ns b) (defn h [] 3) (defn- i [] 4)";
    let seen = |policy: Policy| -> Vec<(String, Visibility)> {
        let options = Options { policy, ..Options::default() };
        let prelude = Prelude::compile(&[Source::new("", source)], &options).expect("it compiles");
        prelude.exports().iter().map(|export| (export.name.clone(), export.visibility)).collect()
    };
    let (prompt, discoverable) = (Visibility::Prompt, Visibility::Discoverable);
    let of = |pairs: &[(&str, Visibility)]| -> Vec<(String, Visibility)> {
        pairs.iter().map(|(name, visibility)| ((*name).to_owned(), *visibility)).collect()
    };
    assert_eq!(seen(Policy::default()), of(&[("a/f", discoverable), ("a/g", prompt), ("b/h", prompt)]));
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let narrow = Policy { prompt: names(&["a/f", "b"]), ..Policy::default() };
    assert_eq!(seen(narrow), of(&[("a/f", discoverable), ("a/g", discoverable), ("b/h", prompt)]));
    let fewer = Policy { exports: names(&["a", "b/i"]), ..Policy::default() };
    assert_eq!(seen(fewer), of(&[("a/f", discoverable), ("a/g", prompt)]));
}

#[test]
fn what_is_withheld_says_why_and_what_is_masked_is_not_listed() {
    let policy = Policy {
        withheld: [("crm/list-users".to_owned(), "nobody may".to_owned())].into(),
        masked: vec!["crm".to_owned()],
        ..Policy::default()
    };
    let options = Options { policy, ..Options::default() };
    let narrowed =
        std::sync::Arc::new(Prelude::compile(&[Source::new("", CRM)], &options).expect("it compiles"));
    assert_eq!((narrowed.inventory(None), narrowed.sources()[0].text), (None, CRM));
    let run = |program: &str| drive(&mut machine(&narrowed, &["call"]), program, |_| Json::Null);
    let error = run("(crm/list-users)").expect_err("it is withheld");
    assert_eq!(error.message, "crm/list-users may not be called: nobody may");
    let more = [String::new()];
    let caller = Source { needs: &more, ..Source::new("more", "(ns more) (defn all [] (crm/list-users))") };
    let both =
        Prelude::compile(&[Source::new("", CRM), caller], &options).expect("other preludes may call it");
    assert!(both.export("more/all").is_some() && both.export("crm/list-users").is_none());
    for (program, expected) in [
        ("(dir crm)", "[]"),
        ("(count (dir crm {:full true}))", "3"),
        ("(keys (ns-publics 'crm))", "nil"),
        ("(count (ns-publics 'crm {:full true}))", "3"),
        ("crm/page-size", "50"),
    ] {
        assert_eq!(run(program).expect(program), expected, "{program}");
    }
}

#[test]
fn hashes_tell_preludes_apart_and_nothing_else() {
    let one = prelude(CRM);
    let again = prelude(CRM);
    assert_eq!((one.source_hash(), one.artifact_hash()), (again.source_hash(), again.artifact_hash()));
    let spaced = prelude(&format!("{CRM}\n"));
    assert_ne!(one.source_hash(), spaced.source_hash());
    let policy = Policy { prompt: Some(Vec::new()), ..Policy::default() };
    let options = Options { policy, ..Options::default() };
    let narrowed = Prelude::compile(&[Source::new("", CRM)], &options).expect("it compiles");
    assert_eq!(one.source_hash(), narrowed.source_hash());
    assert_ne!(one.artifact_hash(), narrowed.artifact_hash());
}

#[test]
fn artifacts_cross_threads() {
    fn crosses<T: Send + Sync>(_: &T) {}
    crosses(&*prelude(CRM));
}
