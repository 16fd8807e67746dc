//! Versions of preludes: how they are written, named, referred to and compared.

use ptc_store::preludes::{Metadata, PreludeError, Preludes, Reason, Ref, checksum};
use serde_json::{Value as Json, json};

use super::{Rule, write};
use crate::support::{at, notes, reason, source};

pub const RULES: &[Rule] = &[
    ("10.11.1 each write makes the next version and the default", writes_are_versions),
    ("10.11.4 ids and namespaces", ids_and_namespaces),
    ("10.11.5 references", references),
    ("10.11.7 the default moves without losing later versions", defaults_move),
    ("10.11.8 every refusal has a name", refusals_have_names),
    ("10.11.9 a write on a stale base is refused", stale_bases),
    ("10.11.11 needs are pinned when written", needs_are_pinned),
    ("10.11.12 the fingerprint is of defaults", fingerprints),
];

fn writes_are_versions(preludes: &Preludes) {
    for expected in 1..=3 {
        let written = preludes
            .write("paged", &source("paged", &expected.to_string()), &Metadata::new())
            .expect("writes");
        assert_eq!(written.version.version, expected);
        assert!(written.version.is_current && written.version.is_latest);
        assert_eq!(written.version.checksum, checksum(&written.source));
    }
    // The same source is a version of its own.
    assert_eq!(write(preludes, "paged", "3"), 4);
    let listed = preludes.list().expect("a list");
    assert_eq!((listed[0].current_version, listed[0].latest_version, listed[0].versions), (4, 4, 4));
    let history = preludes.history("paged").expect("a history");
    assert_eq!(history.iter().map(|version| version.version).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(history.iter().all(|version| version.created_at > 1_600_000_000_000));
}

fn ids_and_namespaces(preludes: &Preludes) {
    for id in ["a", "Crm", "crm.users-v2_x"] {
        assert_eq!(write(preludes, id, "1"), 1, "{id}");
    }
    for id in ["", "1a", "-a", "a b", "a/b", "a@1", "ä", "a\n", &"a".repeat(129)] {
        assert_eq!(reason(preludes.write(id, &source("a", "1"), &Metadata::new())), "invalid_ref", "{id:?}");
    }
    for id in ["tool", "data", "budget", "ptc.core", "mcp", "prelude", "log"] {
        let refused = preludes.write(id, &source(id, "1"), &Metadata::new());
        assert_eq!(reason(refused), "prelude_namespace_violation", "{id}");
    }
    for text in ["(ns other)", "(defn size [] 1)", "", "(ns crm) (ns more)", "(ns crm) (ns crm)"] {
        let refused = preludes.write("crm", text, &Metadata::new());
        assert_eq!(reason(refused), "prelude_namespace_violation", "{text}");
    }
}

fn references(preludes: &Preludes) {
    write(preludes, "paged", "1");
    let second = preludes.write("paged", &source("paged", "2"), &Metadata::new()).expect("writes").version;
    assert_eq!(preludes.read(&at("paged")).expect("reads").version.version, 2);
    assert_eq!(preludes.read(&at("paged@1")).expect("reads").version.version, 1);
    let exact = json!({"id": "paged", "version": 2, "checksum": second.checksum});
    assert_eq!(preludes.read(&Ref::from_json(&exact).expect("a reference")).expect("reads").version, second);
    let other = json!({"id": "paged", "version": 1, "checksum": second.checksum});
    assert_eq!(reason(preludes.read(&Ref::from_json(&other).expect("a reference"))), "checksum_mismatch");
    for missing in ["paged@3", "none", "none@1"] {
        assert_eq!(reason(preludes.read(&at(missing))), "not_found", "{missing}");
    }
    for wrong in [
        "",
        "@1",
        "paged@",
        "paged@0",
        "paged@-1",
        "paged@01",
        "paged@1x",
        "paged@1@2",
        "paged@99999999999999999999",
    ] {
        assert_eq!(reason(Ref::parse(wrong)), "invalid_ref", "{wrong}");
    }
    for wrong in [
        json!(1),
        json!(null),
        json!({}),
        json!({"id": 1}),
        json!({"id": "a", "version": "1"}),
        json!({"id": "a", "version": 0}),
        json!({"id": "a", "checksum": 1}),
        json!({"id": "a", "x": 1}),
    ] {
        assert_eq!(reason(Ref::from_json(&wrong)), "invalid_ref", "{wrong}");
    }
}

fn defaults_move(preludes: &Preludes) {
    write(preludes, "paged", "1");
    write(preludes, "paged", "2");
    let selected = preludes
        .set_default(&at("paged@1"), &notes(json!({"reason": "verifier preferred v1"})))
        .expect("selects");
    assert_eq!((selected.version.version, selected.previous_version, selected.latest_version), (1, 2, 2));
    let listed = &preludes.list().expect("a list")[0];
    assert_eq!((listed.current_version, listed.latest_version), (1, 2));
    assert_eq!(preludes.read(&at("paged")).expect("reads").version.version, 1);
    assert!(preludes.read(&at("paged@2")).is_ok(), "later versions stay");
    let history = preludes.history("paged").expect("a history");
    let selection = history[0].selected.as_ref().expect("a selection");
    assert_eq!(selection.metadata["reason"], "verifier preferred v1");
    assert_eq!(write(preludes, "paged", "3"), 3);
    assert_eq!(
        preludes.read(&at("paged")).expect("reads").version.version,
        3,
        "a write moves it forward again"
    );
    assert_eq!(reason(preludes.set_default(&at("paged"), &Metadata::new())), "invalid_ref");
    assert_eq!(reason(preludes.set_default(&at("paged@9"), &Metadata::new())), "not_found");
}

fn refusals_have_names(preludes: &Preludes) {
    let names: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    for expected in "invalid_ref invalid_argument invalid_config prelude_namespace_violation source_too_large \
        metadata_too_large stale_base prelude_compile_error compile_timeout compile_memory_exceeded not_found \
        checksum_mismatch id_limit_exceeded store_bytes_exceeded unknown_dependency dependency_cycle \
        dependency_conflict invalid_metadata non_current_dependency_pin invalid_snapshot restore_mismatch \
        export_failed"
        .split_whitespace()
    {
        assert!(names.contains(&expected), "{expected}");
    }
    for (text, compile_reason) in [
        ("(ns a) (defn", "parse_error"),
        ("(ns a) (println 1)", "compile_error"),
        ("(ns a) (def x 1) (def x 2)", "duplicate_ref"),
    ] {
        match preludes.write("a", text, &Metadata::new()) {
            Err(PreludeError::Refused {
                reason: Reason::CompileError,
                compile_reason: Some(found),
                message,
            }) => {
                assert_eq!(found, compile_reason, "{text}: {message}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    let twice = notes(json!({"requires_preludes": ["b", "b"]}));
    for wrong in [
        json!({"parent_version": "1"}),
        json!({"parent_checksum": 1}),
        json!({"requires_preludes": "b"}),
        json!({"requires_preludes": ["no id"]}),
        Json::Object(twice),
    ] {
        let refused = preludes.write("a", &source("a", "1"), &notes(wrong.clone()));
        assert_eq!(reason(refused), "invalid_metadata", "{wrong}");
    }
    assert_eq!(preludes.list(), Ok(vec![]), "nothing was stored");
}

fn stale_bases(preludes: &Preludes) {
    let try_write = |metadata: Json| preludes.write("a", &source("a", "9"), &notes(metadata));
    assert_eq!(reason(try_write(json!({"parent_version": 1}))), "stale_base");
    let first = preludes.write("a", &source("a", "1"), &Metadata::new()).expect("writes").version;
    let second = preludes.write("a", &source("a", "2"), &Metadata::new()).expect("writes").version;
    assert_eq!(reason(try_write(json!({"parent_version": 1}))), "stale_base");
    assert_eq!(reason(try_write(json!({"parent_checksum": first.checksum}))), "stale_base");
    assert_eq!(
        reason(try_write(json!({"parent_version": 2, "parent_checksum": first.checksum}))),
        "stale_base"
    );
    let third = try_write(json!({"parent_version": 2, "parent_checksum": second.checksum})).expect("writes");
    assert_eq!(third.version.metadata["parent_version"], 2);
    // The base is the default, wherever it was moved.
    preludes.set_default(&at("a@2"), &Metadata::new()).expect("selects");
    assert_eq!(reason(try_write(json!({"parent_version": 3}))), "stale_base");
    assert_eq!(try_write(json!({"parent_version": 2})).expect("writes").version.version, 4);
    // Versions 3 and 4 have the same source, so its checksum alone does not say which was read.
    let shared = third.version.checksum;
    assert_eq!(reason(try_write(json!({"parent_checksum": shared}))), "stale_base");
    assert_eq!(
        try_write(json!({"parent_checksum": shared, "parent_version": 4})).expect("writes").version.version,
        5
    );
}

fn needs_are_pinned(preludes: &Preludes) {
    let needing = |id: &str, needs: Json| {
        preludes.write(id, &source(id, "1"), &notes(json!({"requires_preludes": needs})))
    };
    assert_eq!(reason(needing("users", json!(["base"]))), "unknown_dependency");
    write(preludes, "base", "1");
    let user = needing("users", json!(["base"])).expect("writes").version;
    assert_eq!((user.pins[0].id.as_str(), user.pins[0].version), ("base", 1));
    write(preludes, "base", "2");
    assert_eq!(preludes.read(&at("users")).expect("reads").version.pins[0].version, 1, "pins stay");
    assert_eq!(reason(needing("other", json!(["base@1"]))), "non_current_dependency_pin");
    assert_eq!(reason(needing("other", json!(["base@9"]))), "unknown_dependency");
    assert_eq!(reason(needing("other", json!(["base", "users"]))), "dependency_conflict");
    assert_eq!(reason(needing("base", json!(["base"]))), "dependency_cycle");
    assert_eq!(reason(needing("base", json!(["users"]))), "dependency_cycle");
    let top = needing("top", json!(["users"])).expect("writes").version;
    assert_eq!(top.pins.len(), 1, "only what was named is pinned");
    let bundle = preludes.resolve(&[at("top")]).expect("a bundle");
    let named: Vec<(String, bool, Vec<String>)> = bundle
        .into_iter()
        .map(|one| {
            let version = one.candidate.version;
            (format!("{}@{}", version.id, version.version), one.selected, one.required_by)
        })
        .collect();
    assert_eq!(
        named,
        [
            ("base@1".to_owned(), false, vec!["users".to_owned()]),
            ("users@1".to_owned(), false, vec!["top".to_owned()]),
            ("top@1".to_owned(), true, vec![]),
        ]
    );
    assert_eq!(reason(preludes.resolve(&[at("top"), at("base")])), "dependency_conflict");
    assert_eq!(reason(preludes.resolve(&[at("none")])), "not_found");
}

fn fingerprints(preludes: &Preludes) {
    let empty = preludes.fingerprint().expect("a fingerprint");
    write(preludes, "b", "1");
    write(preludes, "a", "1");
    write(preludes, "a", "2");
    let before = preludes.fingerprint().expect("a fingerprint");
    assert!(before.starts_with("sha256:") && before.len() == 71 && before != empty);
    preludes.set_default(&at("a@1"), &Metadata::new()).expect("selects");
    assert_ne!(preludes.fingerprint().expect("a fingerprint"), before);
    preludes.set_default(&at("a@2"), &Metadata::new()).expect("selects");
    assert_eq!(preludes.fingerprint().expect("a fingerprint"), before);
    let lines = format!("a\t2\t{}\nb\t1\t{}", checksum(&source("a", "2")), checksum(&source("b", "1")));
    assert_eq!(before, checksum(&lines));
}
