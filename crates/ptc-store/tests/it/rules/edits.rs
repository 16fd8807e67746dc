//! Edits of single forms.

use std::sync::Arc;

use ptc_store::preludes::{CheckFault, CheckSource, Edit, Metadata, Part, Placement, Preludes, Reason, Ref};
use serde_json::json;

use super::{Rule, write};
use crate::support::{at, notes, preludes, reason, source};

pub const RULES: &[Rule] = &[
    ("10.12.1 edits are a batch against a base", edits),
    ("10.12.2 untouched forms stay byte for byte", edits_touch_nothing_else),
    ("10.12.3 edits that cannot be made are refused by name", refused_edits),
    ("10.12.4 an edit says what it did", edit_results),
];

pub(super) const EDITED: &str = "\
;; License at the top.
(ns shop
  \"Shop helpers.\"   {:visibility :prompt})

(def   page-size 50) ; odd spacing

; about helper
; in two lines
(defn- helper [x]
  (str \"h:\" x))   ; behind

(defn total \"Sum.\" [xs] (reduce + 0 (map helper xs)))
(defn last-one [] page-size)
";

pub(super) fn shop(preludes: &Preludes) {
    preludes.write("shop", EDITED, &Metadata::new()).expect("writes");
}

pub(super) fn replace(name: &str, source: &str) -> Edit {
    Edit::Replace { name: name.to_owned(), source: source.to_owned() }
}

pub(super) fn add(source: &str, placement: Placement) -> Edit {
    Edit::Add { source: source.to_owned(), placement }
}

pub(super) fn remove(name: &str) -> Edit {
    Edit::Remove { name: name.to_owned() }
}

fn edits(preludes: &Preludes) {
    shop(preludes);
    let batch = [
        replace("total", "(defn total \"Sum of all.\" [xs] (reduce + xs))"),
        add("(defn first-one [] 1)", Placement::Before("helper".to_owned())),
        add("(defn middle [] 2)", Placement::After("helper".to_owned())),
        add("(defn end-one [] 3)", Placement::End),
        remove("last-one"),
        Edit::SetNsDoc { doc: "All \"about\" the shop.".to_owned() },
    ];
    let edited = preludes.edit(&at("shop@1"), &batch, &Metadata::new()).expect("edits");
    let expected = "\
;; License at the top.
(ns shop
  \"All \\\"about\\\" the shop.\"   {:visibility :prompt})

(def   page-size 50) ; odd spacing

(defn first-one [] 1)

; about helper
; in two lines
(defn- helper [x]
  (str \"h:\" x))   ; behind

(defn middle [] 2)

(defn total \"Sum of all.\" [xs] (reduce + xs))

(defn end-one [] 3)
";
    assert_eq!(edited.candidate.source, expected);
    assert_eq!(edited.candidate.version.version, 2);
    // The base is not the default any more.
    assert_eq!(reason(preludes.edit(&at("shop@1"), &batch[..1], &Metadata::new())), "stale_base");
    let wrong = Ref { checksum: Some("sha256:0".to_owned()), ..at("shop@2") };
    assert_eq!(reason(preludes.edit(&wrong, &batch[..1], &Metadata::new())), "checksum_mismatch");
    assert_eq!(reason(preludes.edit(&at("shop"), &[], &Metadata::new())), "invalid_argument");
    // What the base needs, the outcome needs.
    write(preludes, "base", "1");
    preludes
        .write("users", &source("users", "1"), &notes(json!({"requires_preludes": ["base"]})))
        .expect("writes");
    let edited = preludes.edit(&at("users"), &[remove("size")], &Metadata::new()).expect("edits");
    assert_eq!(edited.candidate.version.pins[0].id, "base");
}

fn edits_touch_nothing_else(preludes: &Preludes) {
    shop(preludes);
    let base = preludes.forms(&at("shop")).expect("forms").1;
    for form in base.definitions() {
        let single = [
            vec![remove(&form.name)],
            vec![replace(&form.name, &format!("(def {} 1) ; new", form.name))],
            vec![add("(def new 1) ;; note", Placement::Before(form.name.clone()))],
            vec![add("(def new 1) ;; note", Placement::After(form.name.clone()))],
        ];
        for batch in single {
            let scratch = preludes_in_memory();
            shop(&scratch);
            let edited = scratch.edit(&at("shop"), &batch, &Metadata::new()).expect("edits");
            let after = scratch.forms(&at("shop")).expect("forms").1;
            for other in base.definitions().filter(|other| other.name != form.name) {
                let kept = after.definition(&other.name).expect("the form is there");
                assert_eq!(after.text(kept), base.text(other), "{batch:?}");
            }
            assert!(edited.candidate.source.starts_with(";; License at the top.\n(ns shop\n"));
        }
    }
    let scratch = preludes_in_memory();
    shop(&scratch);
    let edited = scratch.edit(&at("shop"), &[remove("helper")], &Metadata::new()).expect("edits");
    let expected = EDITED
        .replace("; about helper\n; in two lines\n(defn- helper [x]\n  (str \"h:\" x))   ; behind\n\n", "");
    assert_eq!(edited.candidate.source, expected, "its comments go with it, and the blank line");
    let one_line = "(ns line) (def a 1) (def b 2) ; both\n";
    scratch.write("line", one_line, &Metadata::new()).expect("writes");
    let batch = [replace("a", "(def a 3) ; why"), add("(def c 4)", Placement::After("a".to_owned()))];
    let edited = scratch.edit(&at("line"), &batch, &Metadata::new()).expect("edits");
    assert_eq!(edited.candidate.source, "(ns line) (def a 3) ; why\n\n\n(def c 4) (def b 2) ; both\n");
}

/// Preludes whose sources are not compiled: edits are about text, and some leave names without a definition.
pub(super) fn preludes_in_memory() -> Preludes {
    struct Anything;
    impl CheckSource for Anything {
        fn check(&self, _: &[Part<'_>]) -> Result<(), CheckFault> {
            Ok(())
        }
    }
    preludes(":memory:").with_check(Arc::new(Anything))
}

fn refused_edits(preludes: &Preludes) {
    shop(preludes);
    let cases: Vec<(&str, Vec<Edit>)> = vec![
        ("invalid_form_source", vec![replace("total", "(defn total")]),
        ("invalid_form_source", vec![replace("total", "(defn total []) (def x 1)")]),
        ("invalid_form_source", vec![replace("total", "; nothing")]),
        ("invalid_form_source", vec![add("(ns other)", Placement::End)]),
        ("invalid_form_source", vec![add("(println 1)", Placement::End)]),
        ("form_name_mismatch", vec![replace("total", "(defn sum [] 1)")]),
        ("form_not_found", vec![replace("none", "(defn none [] 1)")]),
        ("form_not_found", vec![remove("none")]),
        ("form_not_found", vec![add("(def x 1)", Placement::After("none".to_owned()))]),
        ("form_not_found", vec![replace("shop", "(def shop 1)")]),
        ("form_already_exists", vec![add("(defn total [] 1)", Placement::End)]),
        ("conflicting_edit_batch", vec![remove("total"), remove("total")]),
        ("conflicting_edit_batch", vec![remove("total"), add("(defn total [] 1)", Placement::End)]),
        ("conflicting_edit_batch", vec![add("(def x 1)", Placement::End), add("(def x 2)", Placement::End)]),
        (
            "conflicting_edit_batch",
            vec![remove("total"), add("(def x 1)", Placement::After("total".to_owned()))],
        ),
        (
            "conflicting_edit_batch",
            vec![Edit::SetNsDoc { doc: "a".to_owned() }, Edit::SetNsDoc { doc: "b".to_owned() }],
        ),
    ];
    for (expected, batch) in cases {
        assert_eq!(reason(preludes.edit(&at("shop"), &batch, &Metadata::new())), expected, "{batch:?}");
    }
    assert_eq!(preludes.history("shop").expect("a history").len(), 1, "nothing was stored");
    for (json, expected) in [
        (json!(1), "invalid_argument"),
        (json!({"op": "rename"}), "invalid_argument"),
        (json!({"op": "remove_form"}), "invalid_argument"),
        (json!({"op": "add_form", "source": "(def x 1)", "placement": "top"}), "invalid_argument"),
        (json!({"op": "add_form", "source": "(def x 1)", "placement": "after"}), "invalid_argument"),
    ] {
        assert_eq!(reason(Edit::from_json(&json)), expected, "{json}");
    }
    for name in ["base_scan_failed", "ns_form_not_found"] {
        assert!(Reason::ALL.iter().any(|reason| reason.name() == name));
    }
}

fn edit_results(preludes: &Preludes) {
    shop(preludes);
    let base = preludes.read(&at("shop")).expect("reads").version;
    let batch = [
        replace("total", "(defn total \"Sum.\" [xs more] (reduce + xs))"),
        replace("page-size", "(def page-size 60)"),
        replace("helper", "(defn- helper [x y] x)"),
        replace("last-one", "(defn last-one [] 61)"),
        add("(defn extra [] 1)", Placement::End),
        add("(defn- hidden [] 1)", Placement::End),
    ];
    let edited = preludes.edit(&at("shop"), &batch, &notes(json!({"reason": "why"}))).expect("edits");
    assert_eq!((edited.base_version, &edited.parent_checksum), (1, &base.checksum));
    assert_eq!(edited.candidate.version.metadata["parent_version"], 1);
    assert_eq!(edited.candidate.version.metadata["reason"], "why");
    assert_eq!(edited.touched.replaced, ["total", "page-size", "helper", "last-one"]);
    assert_eq!(edited.touched.added, ["extra", "hidden"]);
    assert!(edited.touched.removed.is_empty() && !edited.touched.ns_doc_set);
    // Helpers are nobody's business outside, and neither is a body.
    assert_eq!(edited.surface.added, ["extra"]);
    assert_eq!(edited.surface.changed, ["page-size", "total"]);
    let edited = preludes.edit(&at("shop"), &[remove("extra")], &Metadata::new()).expect("edits");
    assert_eq!(
        (edited.surface.removed, edited.touched.removed),
        (vec!["extra".to_owned()], vec!["extra".to_owned()])
    );
    let undocumented = [Edit::SetNsDoc { doc: String::new() }];
    let edited = preludes.edit(&at("shop"), &undocumented, &Metadata::new()).expect("edits");
    assert!(edited.touched.ns_doc_set && !edited.candidate.source.contains("Shop helpers"));
}
