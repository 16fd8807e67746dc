//! Copies of stores that are made while they are written, and what is found in a store whose log was changed.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ptc_store::effects::{Begun, Effects, NewEffect};
use ptc_store::{Store, StoreError, copy, log_check};
use serde_json::json;

use crate::support::Folder;

fn effects(place: &str) -> Effects {
    Effects::new(Arc::new(Store::open(place).expect("the store opens")))
}

fn begin(effects: &Effects, number: usize) {
    let (identity, args) = (format!("{number:06}"), json!({"n": number}));
    let call = NewEffect { identity: &identity, server: "mail", tool: "send", args: &args };
    assert_eq!(effects.begin("run", &call), Ok(Begun::Fresh));
}

/// The calls that a store knows of are those up to some number, without a hole.
fn known(place: &str) -> usize {
    let gaps = effects(place).gaps(None).expect("a list");
    for (number, gap) in gaps.iter().enumerate() {
        assert_eq!(gap.identity, format!("{number:06}"));
    }
    gaps.len()
}

#[test]
fn a_copy_has_everything_that_was_acknowledged_and_of_every_change_all_or_nothing() {
    let folder = Folder::new("copies");
    let place = folder.place("store.db");
    let (written, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let live = effects(&place);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                begin(&live, written.load(Ordering::Acquire));
                written.fetch_add(1, Ordering::AcqRel);
            }
        });
        for number in 1..=5 {
            while written.load(Ordering::Acquire) < number * 20 {
                std::thread::yield_now();
            }
            let before = written.load(Ordering::Acquire);
            let to = folder.join(&format!("copies/{number}.db"));
            copy::copy(&place, &to).expect("a copy");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = std::fs::metadata(&to).expect("a file").permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
            assert!(known(&to.to_string_lossy()) >= before);
            assert!(matches!(copy::copy(&place, &to), Err(StoreError::Unreachable { .. })), "it is there");
        }
        stop.store(true, Ordering::Release);
    });
    assert_eq!(known(&place), written.load(Ordering::Acquire), "copying changes nothing");
    assert_eq!(copy::check(&place), Ok(vec![]));
}

#[test]
fn only_stores_in_files_that_are_there_are_copied() {
    let folder = Folder::new("copies-of-nothing");
    let to = folder.join("copy.db");
    crate::support::put(&folder.join("text"), "this is no store");
    for (place, part) in [
        (folder.place("missing.db"), "there is no such file"),
        ("postgres://localhost/ptc".to_owned(), "pg_dump"),
        (":memory:".to_owned(), "it is no file"),
    ] {
        let refused = copy::copy(&place, &to).expect_err("refused").to_string();
        assert!(refused.contains(part), "{refused}");
    }
    assert!(copy::copy(&folder.place("text"), &to).is_err());
    assert!(!to.exists(), "no half a copy is left");
}

const CALLS: usize = 120;

#[test]
fn a_log_that_was_changed_in_its_middle_is_found_before_the_store_is_opened() {
    let folder = Folder::new("logs");
    let live = effects(&folder.place("live.db"));
    (0..CALLS).for_each(|number| begin(&live, number));
    // What was written since the store was opened is in its log.
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let (file, log) = (read("live.db"), read("live.db-wal"));
    let other = |name: &str, log: &[u8]| {
        for (ending, bytes) in [("", file.as_slice()), ("-wal", log)] {
            let mut made =
                ptc_system::private::create(&folder.join(&format!("{name}{ending}"))).expect("a file");
            made.write_all(bytes).expect("written");
        }
        folder.place(name)
    };
    let whole = other("whole.db", &log);
    assert_eq!(log_check::damage(&whole), Ok(None));
    assert_eq!(known(&whole), CALLS);
    let mut changed = log.clone();
    changed[log.len() / 2] ^= 1;
    let changed = other("changed.db", &changed);
    let damage = log_check::damage(&changed).expect("it can be read").expect("a break");
    assert!(damage.part > 1 && damage.commits > 1, "{damage}");
    copy::forget_log(&changed).expect("somebody accepts it");
    assert_eq!(log_check::damage(&changed), Ok(None));
    assert!(known(&changed) < CALLS, "what stood behind the break is gone");
    // Nothing tells a log that was cut off from one that was never longer.
    let cut = other("cut.db", &log[..log.len() / 2]);
    assert_eq!(log_check::damage(&cut), Ok(None));
    assert_eq!(log_check::damage(":memory:"), Ok(None));
}
