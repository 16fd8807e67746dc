//! Preludes from files, and to them.

use ptc_store::preludes::{Metadata, Placement, Preludes};
use serde_json::json;

use super::edits::{add, preludes_in_memory, remove, replace, shop};
use super::{Rule, write};
use crate::support::{Folder, at, notes, put, reason, source};

pub const RULES: &[Rule] = &[
    ("10.14.1 a store is seeded from files", seeding),
    ("10.11.2 versions can be compared and exported", comparing_and_exporting),
];

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
