//! How much a store takes, and what it keeps.

use ptc_store::preludes::{Bounds, Metadata, Preludes};
use serde_json::json;

use super::{Rule, write};
use crate::support::{at, notes, reason, source};

pub const RULES: &[Rule] = &[
    ("10.11.3 bounds on sources, metadata, ids and bytes", bounds_hold),
    ("10.11.6 retention keeps the latest, selected and needed versions", retention),
    ("10.11.6 superseded versions can be pruned", pruning),
    ("10.11.3 a full store takes new versions", a_full_store_takes_new_versions),
];

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
