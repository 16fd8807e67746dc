//! The rules of the prelude store, by number. Each holds in memory, in a file and on a server alike.

use std::sync::Arc;

use ptc_store::preludes::{
    Access, Bounds, CheckFault, CheckSource, Edit, Metadata, Part, Placement, PreludeError, PreludeTools,
    Preludes, Reason, Ref, checksum, ledger_arguments, public_view, wrapper,
};
use serde_json::{Value as Json, json};

use crate::postgres::Server;
use crate::support::{Folder, at, notes, preludes, put, reason, source};

type Rule = fn(&Preludes);

const RULES: &[(&str, Rule)] = &[
    ("10.11.1 each write makes the next version and the default", writes_are_versions),
    ("10.11.3 bounds on sources, metadata, ids and bytes", bounds_hold),
    ("10.11.4 ids and namespaces", ids_and_namespaces),
    ("10.11.5 references", references),
    ("10.11.6 retention keeps the latest, selected and needed versions", retention),
    ("10.11.6 superseded versions can be pruned", pruning),
    ("10.11.3 a full store takes new versions", a_full_store_takes_new_versions),
    ("10.11.7 the default moves without losing later versions", defaults_move),
    ("10.11.8 every refusal has a name", refusals_have_names),
    ("10.11.9 a write on a stale base is refused", stale_bases),
    ("10.11.10 models see bounded sources and documented metadata", public_views),
    ("10.11.11 needs are pinned when written", needs_are_pinned),
    ("10.11.12 the fingerprint is of defaults", fingerprints),
    ("10.12.1 edits are a batch against a base", edits),
    ("10.12.2 untouched forms stay byte for byte", edits_touch_nothing_else),
    ("10.12.3 edits that cannot be made are refused by name", refused_edits),
    ("10.12.4 an edit says what it did", edit_results),
    ("10.13.1 the functions of prelude/", model_functions),
    ("10.13.2 model functions answer errors and never fail", model_errors),
    ("10.13.3 set-default takes a checksum", model_set_default),
    ("10.13.4 ledgers summarise sources and filter metadata", ledgers),
    ("10.13.5 reading is a part of writing", model_access),
    ("10.14.1 a store is seeded from files", seeding),
    ("10.11.2 versions can be compared and exported", comparing_and_exporting),
];

#[test]
fn the_rules_hold_in_memory() {
    for (name, rule) in RULES {
        eprintln!("{name}");
        rule(&preludes(":memory:"));
    }
}

#[test]
fn the_rules_hold_in_a_file() {
    let folder = Folder::new("rules");
    for (number, (name, rule)) in RULES.iter().enumerate() {
        eprintln!("{name}");
        rule(&preludes(&folder.place(&format!("{number}.db"))));
    }
}

#[test]
fn the_rules_hold_in_postgresql() {
    let Some(server) = Server::start("rules") else { return };
    for (number, (name, rule)) in RULES.iter().enumerate() {
        eprintln!("{name}");
        rule(&preludes(&server.place(&format!("r{number}"))));
    }
}

/// 10.11.13, between all kinds of places.
#[test]
fn a_snapshot_restores_byte_for_byte_in_every_place() {
    let original = preludes(":memory:");
    let text = "(ns tools \"Ünïcode\\tand \\\"quotes\\\"\")\r\n;; a comment\n(def nul \"a\0b\")\n";
    original
        .write("tools", text, &notes(json!({"reason": "first", "private": [1, 2.5, null]})))
        .expect("writes");
    original.write("tools", &source("tools", "2"), &Metadata::new()).expect("writes");
    original.set_default(&at("tools@1"), &notes(json!({"reason": "better"}))).expect("selects");
    original
        .write("users", &source("users", "1"), &notes(json!({"requires_preludes": ["tools"]})))
        .expect("writes");
    let snapshot = original.snapshot().expect("a snapshot");

    let folder = Folder::new("snapshot");
    let server = Server::start("snapshot");
    let mut places = vec![":memory:".to_owned(), folder.place("restored.db")];
    places.extend(server.as_ref().map(|server| server.place("restored")));
    for place in places {
        let restored = preludes(&place);
        restored.restore(&snapshot).expect("restores");
        assert_eq!(restored.snapshot().expect("a snapshot"), snapshot, "{place}");
        assert_eq!(restored.read(&at("tools@1")).expect("reads").source, text);
        assert_eq!(restored.fingerprint(), original.fingerprint());
        let next = restored.write("tools", &source("tools", "3"), &Metadata::new()).expect("writes");
        assert_eq!(next.version.version, 3, "numbers go on where they were");
        assert_eq!(reason(restored.restore(&snapshot)), "restore_mismatch");
    }
    for (pointer, value, expected) in [
        ("/format", json!(2), "invalid_snapshot"),
        ("/fingerprint", json!("sha256:0"), "restore_mismatch"),
        ("/preludes/0/versions/0/source", json!("(ns tools)"), "restore_mismatch"),
        ("/preludes/0/current_version", json!(7), "restore_mismatch"),
        ("/preludes/0/latest_version", json!(1), "restore_mismatch"),
        ("/preludes/1/versions/0/pins/0/version", json!(2), "restore_mismatch"),
        ("/preludes/0/id", json!("no id"), "invalid_snapshot"),
        ("/preludes/0/versions/1/version", json!(1), "invalid_snapshot"),
        ("/preludes/0/versions/0/created_at", json!("now"), "invalid_snapshot"),
    ] {
        let mut changed = snapshot.clone();
        *changed.pointer_mut(pointer).expect("a part of the snapshot") = value;
        let fresh = preludes(":memory:");
        assert_eq!(reason(fresh.restore(&changed)), expected, "{pointer}");
        assert_eq!(fresh.list(), Ok(vec![]), "{pointer} leaves nothing behind");
    }
}

fn write(preludes: &Preludes, id: &str, body: &str) -> i64 {
    preludes.write(id, &source(id, body), &Metadata::new()).expect("writes").version.version
}

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

fn bounds_hold(preludes: &Preludes) {
    let small = Bounds {
        max_source_bytes: 200,
        max_versions: 2,
        max_ids: 2,
        max_total_bytes: 600,
        max_metadata_bytes: 100,
    };
    let bounded = preludes.clone().with_bounds(small).expect("bounds");
    let long = source("a", &format!("\"{}\"", "x".repeat(200)));
    assert_eq!(reason(bounded.write("a", &long, &Metadata::new())), "source_too_large");
    let noted = notes(json!({"reason": "x".repeat(100)}));
    assert_eq!(reason(bounded.write("a", &source("a", "1"), &noted)), "metadata_too_large");
    write(&bounded, "a", "1");
    assert_eq!(reason(bounded.set_default(&at("a@1"), &noted)), "metadata_too_large");
    write(&bounded, "b", "1");
    assert_eq!(reason(bounded.write("c", &source("c", "1"), &Metadata::new())), "id_limit_exceeded");
    let filling = |id: &str| source(id, &format!("\"{}\"", "x".repeat(110)));
    bounded.write("a", &filling("a"), &Metadata::new()).expect("fits");
    bounded.write("b", &filling("b"), &Metadata::new()).expect("fits");
    // The oldest version goes first: this one takes the place of a small one.
    bounded.write("a", &filling("a"), &Metadata::new()).expect("fits");
    // This one takes the place of what is superseded, and nothing else goes.
    bounded.write("b", &filling("b"), &Metadata::new()).expect("superseded versions make room");
    let listed = bounded.list().expect("a list");
    assert_eq!(listed.iter().map(|one| one.versions).sum::<i64>(), 3);
    assert_eq!((listed[0].current_version, listed[1].current_version), (3, 3));
    // Without any there is no room, and nothing is stored.
    let tight = Bounds { max_total_bytes: 300, ..small };
    let tight = preludes.clone().with_bounds(tight).expect("bounds");
    assert_eq!(reason(tight.write("b", &filling("b"), &Metadata::new())), "store_bytes_exceeded");
    assert_eq!(bounded.list().expect("a list"), listed, "nothing was stored, and nothing is gone");
    assert_eq!(
        reason(preludes.clone().with_bounds(Bounds { max_ids: 0, ..Bounds::default() })),
        "invalid_config"
    );
    let defaults = Bounds::default();
    assert_eq!(
        (defaults.max_source_bytes, defaults.max_versions, defaults.max_ids, defaults.max_total_bytes),
        (1_000_000, 1000, 1000, 10 * 1024 * 1024)
    );
    assert_eq!(defaults.max_metadata_bytes, 8 * 1024);
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

fn retention(preludes: &Preludes) {
    let kept = preludes.clone().with_bounds(Bounds { max_versions: 2, ..Bounds::default() }).expect("bounds");
    let numbers = |id: &str| {
        kept.history(id).expect("a history").iter().map(|version| version.version).collect::<Vec<_>>()
    };
    write(&kept, "base", "1");
    write(&kept, "base", "2");
    kept.set_default(&at("base@1"), &Metadata::new()).expect("selects");
    write(&kept, "base", "3");
    // Version 3 is the default again, and user needs it.
    kept.write("users", &source("users", "1"), &notes(json!({"requires_preludes": ["base"]})))
        .expect("writes");
    for body in ["4", "5", "6"] {
        write(&kept, "base", body);
    }
    assert_eq!(numbers("base"), [1, 3, 5, 6], "selected, needed and the latest two");
    assert_eq!(reason(kept.read(&at("base@2"))), "not_found");
    // Once no retained version needs it, it goes with the next write.
    write(&kept, "users", "2");
    write(&kept, "users", "3");
    write(&kept, "base", "7");
    assert_eq!(numbers("base"), [1, 6, 7]);
    // The default is kept however old it is, and numbers are never used again.
    kept.set_default(&at("base@6"), &Metadata::new()).expect("selects");
    assert_eq!(write(&kept, "base", "8"), 8);
}

fn pruning(preludes: &Preludes) {
    for body in ["1", "2", "3", "4", "5"] {
        write(preludes, "paged", body);
        write(preludes, "other", body);
    }
    preludes.set_default(&at("paged@2"), &Metadata::new()).expect("selects");
    let gone = |id: Option<&str>, keep| {
        let gone = preludes.prune(id, keep).expect("it prunes");
        gone.into_iter().map(|one| (one.id, one.version)).collect::<Vec<_>>()
    };
    let named = |all: &[(&str, i64)]| {
        all.iter().map(|(id, version)| ((*id).to_owned(), *version)).collect::<Vec<_>>()
    };
    assert_eq!(gone(Some("paged"), 2), named(&[("paged", 1), ("paged", 3)]), "the default stays");
    assert_eq!(gone(None, 2), named(&[("other", 1), ("other", 2), ("other", 3)]));
    assert_eq!(gone(None, 2), []);
    assert_eq!(gone(None, 1), named(&[("other", 4), ("paged", 4)]));
    assert_eq!(reason(preludes.prune(None, 0)), "invalid_argument");
    assert_eq!(reason(preludes.prune(Some("none"), 1)), "not_found");
    assert_eq!(write(preludes, "paged", "6"), 6, "numbers are not used again");
}

/// A store that others fill takes what somebody writes for the first time, and keeps what nobody has superseded.
fn a_full_store_takes_new_versions(preludes: &Preludes) {
    let full = Bounds { max_total_bytes: 4_000, ..Bounds::default() };
    let full = preludes.clone().with_bounds(full).expect("bounds");
    write(&full, "quiet", "1");
    write(&full, "quiet", "2");
    let large = source("loud", &format!("\"{}\"", "x".repeat(900)));
    for _ in 0..20 {
        full.write("loud", &large, &Metadata::new()).expect("older versions make room");
    }
    let kept = |id: &str| full.history(id).expect("a history").len();
    assert_eq!((kept("quiet"), kept("loud")), (2, 4), "who writes much loses history");
    write(&full, "late", "1");
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

fn public_views(preludes: &Preludes) {
    let long = format!("(ns a)\n(def text \"{}\")\n", "é".repeat(40_000));
    let metadata = notes(json!({
        "reason": "r".repeat(5000), "created_by": "ann", "source_session_id": ["not", "a", "text"],
        "secret": "token", "nested": {"reason": "x"}, "prelude_deps": [{"id": "forged"}],
    }));
    let written = preludes.write("a", &long, &metadata).expect("writes");
    assert_eq!(written.source, long, "hosts get everything");
    assert_eq!(written.version.metadata["secret"], "token");
    let view = public_view(&written);
    let shown = view["source"].as_str().expect("a source");
    assert!(shown.len() <= 64 * 1024 && long.starts_with(shown) && view["source_truncated"] == true);
    let keys: Vec<&String> = view["metadata"].as_object().expect("metadata").keys().collect();
    assert_eq!(keys, ["reason", "created_by"]);
    assert!(view["metadata"]["reason"].as_str().expect("a text").len() <= 1024);
    write(preludes, "base", "1");
    let user = preludes
        .write(
            "users",
            &source("users", "1"),
            &notes(json!({"requires_preludes": ["base"], "parent_version": null})),
        )
        .expect("writes");
    let view = public_view(&user);
    assert_eq!(view["source_truncated"], false);
    assert_eq!(view["metadata"]["requires_preludes"], json!(["base"]));
    assert_eq!(view["metadata"]["prelude_deps"][0]["id"], "base");
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

const EDITED: &str = "\
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

fn shop(preludes: &Preludes) {
    preludes.write("shop", EDITED, &Metadata::new()).expect("writes");
}

fn replace(name: &str, source: &str) -> Edit {
    Edit::Replace { name: name.to_owned(), source: source.to_owned() }
}

fn add(source: &str, placement: Placement) -> Edit {
    Edit::Add { source: source.to_owned(), placement }
}

fn remove(name: &str) -> Edit {
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
fn preludes_in_memory() -> Preludes {
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

fn tools(preludes: &Preludes, access: Access) -> PreludeTools {
    PreludeTools::new(preludes.clone(), access).stamped(Some("ptcs_1"), None)
}

fn model_functions(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    let wrapped = wrapper(Access::Write);
    for name in [
        "list",
        "history",
        "read",
        "source",
        "write",
        "set-default",
        "forms",
        "form",
        "form-deps",
        "deps",
        "edit",
    ] {
        let tool = format!("prelude_store_{}", name.replace('-', "_"));
        assert!(tools.names().contains(&tool), "{name}");
        assert!(
            wrapped.contains(&format!("(defn {name}\n")) && wrapped.contains(&format!("(tool/{tool} ")),
            "{name}"
        );
    }
    let call = |tool: &str, args: Json| {
        let answer = tools.call(&format!("prelude_store_{tool}"), &args);
        assert_eq!(answer["status"], "ok", "{tool}: {answer}");
        answer
    };
    let request = json!({"id": "shop", "source": EDITED, "metadata": {"reason": "new", "created_by": "forged", "x": 1}});
    let written = call("write", json!({"request": request}));
    assert_eq!((&written["version"], &written["current"]), (&json!(1), &json!(true)));
    assert_eq!(written["metadata"], json!({"reason": "new", "source_session_id": "ptcs_1"}), "{written}");
    assert_eq!(call("list", json!({}))["preludes"][0]["current_version"], 1);
    assert_eq!(call("read", json!({"ref": "shop@1"}))["source"], EDITED);
    assert_eq!(call("source", json!({"ref": {"id": "shop"}}))["source"], EDITED);
    let forms = call("forms", json!({"ref": "shop"}));
    assert_eq!(
        forms["forms"][2],
        json!({"name": "total", "kind": "defn", "bytes": 53, "doc": "Sum."}),
        "{forms}"
    );
    assert_eq!(
        call("form", json!({"ref": "shop", "name": "last-one"}))["source"],
        "(defn last-one [] page-size)"
    );
    let deps = call("form-deps".replace('-', "_").as_str(), json!({"ref": "shop", "name": "helper"}));
    assert_eq!((&deps["uses"], &deps["used_by"]), (&json!([]), &json!(["total"])));
    let edits = json!([{"op": "remove_form", "name": "last-one"}]);
    let edited = call("edit", json!({"request": {"id": "shop", "version": 1, "edits": edits}}));
    assert_eq!(edited["base_version"], 1);
    assert_eq!(
        edited["forms"],
        json!({"replaced": [], "added": [], "removed": ["last-one"], "ns_doc_set": false})
    );
    assert_eq!(edited["public_surface"], json!({"added": [], "removed": ["last-one"], "changed": []}));
    assert_eq!(call("history", json!({"id": "shop"}))["versions"][0]["version"], 2, "newest first");
    let request =
        json!({"id": "users", "source": source("users", "1"), "metadata": {"requires_preludes": ["shop"]}});
    call("write", json!({"request": request}));
    let deps = call("deps", json!({"ref": "users"}));
    assert_eq!(
        (&deps["prelude_deps"][0]["id"], &deps["prelude_deps"][0]["version"]),
        (&json!("shop"), &json!(2))
    );
}

fn model_errors(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    let long = "x".repeat(100_000);
    let cases = [
        ("read", json!({"ref": "none"}), "not_found"),
        ("read", json!({"ref": 5}), "invalid_ref"),
        ("read", json!({}), "invalid_ref"),
        ("read", json!(null), "invalid_ref"),
        ("read", json!({"ref": long}), "invalid_ref"),
        ("history", json!({"id": [1]}), "invalid_argument"),
        ("source", json!({"ref": "none"}), "not_found"),
        ("forms", json!({"ref": "none"}), "not_found"),
        ("form", json!({"ref": "none", "name": 1}), "not_found"),
        ("form_deps", json!({"ref": "none", "name": "x"}), "not_found"),
        ("deps", json!({"ref": "none"}), "not_found"),
        ("write", json!({"request": long}), "invalid_argument"),
        ("write", json!({"request": {"id": "a"}}), "invalid_argument"),
        ("write", json!({"request": {"id": "a", "source": 1}}), "invalid_argument"),
        ("write", json!({"request": {"id": "a", "source": "(ns a)", "metadata": 1}}), "invalid_metadata"),
        (
            "write",
            json!({"request": {"id": "a", "source": format!("(ns a) ({long}")}}),
            "prelude_compile_error",
        ),
        ("write", json!({"request": {"id": "a", "source": "(ns a)", "extra": 1}}), "invalid_argument"),
        ("edit", json!({"request": {"id": "a", "edits": 1}}), "invalid_argument"),
        ("edit", json!({"request": {"id": "a", "edits": [1]}}), "invalid_argument"),
        (
            "edit",
            json!({"request": {"id": "a", "edits": [{"op": "remove_form", "name": long}]}}),
            "not_found",
        ),
        ("set_default", json!({"request": {"id": "a"}}), "invalid_ref"),
        ("set_default", json!({"request": {"id": "a", "version": 1}}), "not_found"),
        ("nothing", json!({}), "invalid_argument"),
    ];
    for (tool, args, expected) in cases {
        let answer = tools.call(&format!("prelude_store_{tool}"), &args);
        assert_eq!(
            (&answer["status"], &answer["reason"]),
            (&json!("error"), &json!(expected)),
            "{tool}: {answer}"
        );
        for (key, value) in answer.as_object().expect("a map") {
            assert!(value.as_str().is_some_and(|text| text.len() <= 1024), "{tool} {key}");
        }
    }
    let answer = tools.call("prelude_store_write", &json!({"request": {"id": "a", "source": "(ns a) (1)"}}));
    assert_eq!(answer["compile_reason"], "compile_error");
}

#[test]
fn the_wrapper_compiles_for_every_access() {
    for access in [Access::Read, Access::Write] {
        let prelude = ptc_lisp::prelude::Prelude::compile_text(&wrapper(access));
        let prelude = prelude.unwrap_or_else(|problem| panic!("{problem}"));
        let names: Vec<String> = prelude.exports().iter().flat_map(|export| export.tools.clone()).collect();
        let granted = PreludeTools::new(preludes_in_memory(), access).names();
        assert_eq!(names, granted, "each function has its tool");
    }
}

fn model_set_default(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    write(preludes, "a", "1");
    write(preludes, "a", "2");
    let right = checksum(&source("a", "1"));
    let set = |checksum: &str| {
        let request =
            json!({"id": "a", "version": 1, "checksum": checksum, "metadata": {"reason": "verified"}});
        tools.call("prelude_store_set_default", &json!({"request": request}))
    };
    assert_eq!(set("sha256:0")["reason"], "checksum_mismatch");
    assert_eq!(preludes.read(&at("a")).expect("reads").version.version, 2);
    let answer = set(&right);
    assert_eq!(
        answer,
        json!({"id": "a", "current_version": 1, "checksum": right, "previous_version": 2, "latest_version": 2, "status": "ok"})
    );
}

fn ledgers(_: &Preludes) {
    let arguments = json!({"request": {
        "id": "a",
        "source": "(ns a)",
        "metadata": {"reason": "why", "secret": "token"},
        "edits": [{"op": "add_form", "source": "(def x 1)"}],
        "deep": [[[[[[[[["secret"]]]]]]]]],
    }});
    let kept = ledger_arguments(&arguments);
    assert_eq!(kept["request"]["source"]["bytes"], 6);
    assert_eq!(kept["request"]["source"]["sha256"], checksum("(ns a)").trim_start_matches("sha256:"));
    assert_eq!(kept["request"]["metadata"], json!({"reason": "why"}));
    assert_eq!(kept["request"]["edits"][0]["source"]["bytes"], 9);
    let text = kept.to_string();
    assert!(!text.contains("(ns a)") && !text.contains("token") && !text.contains("secret"), "{text}");
}

fn model_access(preludes: &Preludes) {
    write(preludes, "a", "1");
    let reading = tools(preludes, Access::Read);
    let names = reading.names();
    assert!(names.contains(&"prelude_store_read".to_owned()) && names.len() == 8);
    for tool in ["write", "edit", "set_default"] {
        let tool = format!("prelude_store_{tool}");
        assert!(!names.contains(&tool) && !wrapper(Access::Read).contains(&tool));
        assert_eq!(reading.call(&tool, &json!({"request": {"id": "a", "version": 1}}))["status"], "error");
    }
    assert_eq!(reading.call("prelude_store_list", &json!({}))["status"], "ok");
}

fn seeding(preludes: &Preludes) {
    let folder = Folder::new("seeds");
    put(&folder.join("a-top.clj"), &source("top", "1"));
    put(&folder.join("a-top.deps"), "; what it needs\n\nbase\n");
    put(&folder.join("z-base.clj"), &source("base", "1"));
    put(&folder.join("notes.txt"), "not a prelude");
    let names = |pins: &[ptc_store::preludes::Pin]| {
        pins.iter().map(|pin| format!("{}@{}", pin.id, pin.version)).collect::<Vec<_>>()
    };
    let seeded = preludes.seed(&folder.0).expect("seeds");
    assert_eq!(names(&seeded.written), ["base@1", "top@1"], "what is needed comes first");
    let top = preludes.read(&at("top")).expect("reads").version;
    assert_eq!((top.metadata["reason"].as_str(), top.pins[0].version), (Some("boot seed"), 1));
    // The same again changes nothing, also after somebody has improved a prelude.
    write(preludes, "top", "2");
    let seeded = preludes.seed(&folder.0).expect("seeds");
    assert_eq!((seeded.written.len(), seeded.unchanged.len()), (0, 2));
    assert_eq!(preludes.read(&at("top")).expect("reads").version.version, 2);
    // A changed file is a new version, and so is what needs it.
    put(&folder.join("z-base.clj"), &source("base", "2"));
    assert_eq!(names(&preludes.seed(&folder.0).expect("seeds").written), ["base@2", "top@3"]);
    assert!(preludes.resolve(&[at("top"), at("base")]).is_ok(), "they fit together");
    // One file alone.
    assert_eq!(preludes.seed(&folder.join("z-base.clj")).expect("seeds").unchanged, ["base"]);
    // Failures name the file.
    let failing = |name: &str, text: &str, deps: &str| {
        let folder = Folder::new("failing-seeds");
        put(&folder.join(name), text);
        put(&folder.join(name).with_extension("deps"), deps);
        let error = preludes.seed(&folder.0).expect_err("refused");
        assert!(error.to_string().contains(name), "{error}");
        error.reason()
    };
    assert_eq!(failing("x.clj", "(ns x", ""), "prelude_compile_error");
    assert_eq!(failing("x.clj", "(def x 1)", ""), "prelude_namespace_violation");
    assert_eq!(failing("x.clj", &source("x", "1"), "missing"), "unknown_dependency");
    assert_eq!(failing("x.clj", &source("x", "1"), "x"), "dependency_cycle");
    assert_eq!(reason(preludes.seed(&folder.join("none.clj"))), "invalid_config");
}

fn comparing_and_exporting(preludes: &Preludes) {
    shop(preludes);
    let batch = [
        replace("total", "(defn total \"Sum.\" [xs ys] 0)"),
        remove("last-one"),
        add("(defn new [] 1)", Placement::End),
    ];
    preludes.edit(&at("shop"), &batch, &Metadata::new()).expect("edits");
    let diff = preludes.diff(&at("shop@1"), &at("shop@2")).expect("a difference");
    assert_eq!(
        (&diff.added[..], &diff.removed[..], &diff.changed[..]),
        (&["new".to_owned()][..], &["last-one".to_owned()][..], &["total".to_owned()][..])
    );
    assert!(diff.unified.starts_with("--- shop@1\n+++ shop@2\n"), "{}", diff.unified);
    assert!(diff.unified.contains("-(defn last-one [] page-size)\n"), "{}", diff.unified);
    assert_eq!(preludes.diff(&at("shop@1"), &at("shop@1")).expect("a difference").unified, "");
    preludes
        .write("users", &source("users", "1"), &notes(json!({"requires_preludes": ["shop"]})))
        .expect("writes");
    let folder = Folder::new("exports");
    let exported = preludes.export_bundle(&[at("users")], &folder.0).expect("exports");
    assert_eq!(exported.iter().map(|one| one.version.id.as_str()).collect::<Vec<_>>(), ["shop", "users"]);
    assert_eq!(std::fs::read_to_string(folder.join("users.deps")).expect("a file"), "shop\n");
    let other = preludes_in_memory();
    other.seed(&folder.0).expect("seeds");
    assert_eq!(
        other.read(&at("shop")).expect("reads").source,
        preludes.read(&at("shop")).expect("reads").source
    );
    put(&folder.join("file"), "");
    assert_eq!(reason(preludes.export(&at("shop"), &folder.join("file"))), "export_failed");
}
