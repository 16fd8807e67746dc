//! Copies of stores that are made while they are written, and what is found in a store whose log was changed.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ptc_store::effects::{Begun, Effects, NewEffect};
use ptc_store::log_check::Lost;
use ptc_store::rescue::{self, Table};
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
    assert_eq!(damage.lost, Lost::Unknown, "nothing was noted beside it");
    copy::forget_log(&changed).expect("somebody accepts it");
    assert_eq!(log_check::damage(&changed), Ok(None));
    let id = |place: &str| Store::open(place).expect("opens").id().to_owned();
    assert_ne!(id(&changed), id(&whole), "what was done of plans may be lost");
    assert!(known(&changed) < CALLS, "what stood behind the break is gone");
    // Nothing tells a log that was cut off from one that was never longer.
    let cut = other("cut.db", &log[..log.len() / 2]);
    assert_eq!(log_check::damage(&cut), Ok(None));
    assert_eq!(log_check::damage(":memory:"), Ok(None));
}

/// How far the log was on the disk is noted beside it, so that a loss shows also at the end of the log.
#[test]
fn a_log_that_was_cut_off_or_changed_at_its_end_is_found_if_it_had_been_on_the_disk() {
    let folder = Folder::new("noted-logs");
    let live = effects(&folder.place("live.db"));
    (0..CALLS).for_each(|number| begin(&live, number));
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
    let (file, log, noted) = (read("live.db"), read("live.db-wal"), read("live.db-synced"));
    let look = |name: &str, log: &[u8]| {
        for (ending, bytes) in [("", file.as_slice()), ("-wal", log), ("-synced", &noted)] {
            let mut made =
                ptc_system::private::create(&folder.join(&format!("{name}{ending}"))).expect("a file");
            made.write_all(bytes).expect("written");
        }
        log_check::damage(&folder.place(name)).expect("it can be read")
    };
    assert_eq!(look("whole.db", &log), None);
    let changed = |at: usize| {
        let mut log = log.clone();
        log[at] ^= 1;
        log
    };
    for (name, log) in [
        ("middle.db", changed(log.len() / 2)),
        ("last.db", changed(log.len() - 100)),
        ("cut.db", log[..log.len() / 2].to_vec()),
    ] {
        let damage = look(name, &log).unwrap_or_else(|| panic!("{name} is damaged"));
        assert_eq!(damage.lost, Lost::Acknowledged, "{name}: {damage}");
    }
}

#[test]
fn what_can_be_read_of_a_damaged_file_is_told_table_by_table_and_saved() {
    let folder = Folder::new("pages");
    let place = folder.place("store.db");
    let live = effects(&place);
    (0..CALLS).for_each(|number| begin(&live, number));
    drop(live);
    let all = rescue::readable(&place).expect("tables");
    assert!(all.iter().all(|table| table.is_whole), "{all:?}");
    let rows = |tables: &[Table]| tables.iter().find(|table| table.name == "ptc_effects").map(|t| t.rows);
    assert_eq!(rows(&all), Some(CALLS as u64));
    let mut bytes = std::fs::read(&place).expect("the store");
    // In the middle of the table. Pages that it had before may still have the text, and come earlier.
    let text = b"000060mailsend";
    let at = bytes.windows(text.len()).rposition(|window| window == text).expect("a row") / 4_096 * 4_096;
    bytes[at..at + 4_096].fill(0x5a);
    std::fs::write(&place, bytes).expect("changed");
    assert!(copy::check(&place).is_ok_and(|found| !found.is_empty()));
    let left = rescue::readable(&place).expect("tables");
    let whole = |table: &Table| table.is_whole;
    assert!(left.iter().filter(|table| table.name != "ptc_effects").all(whole), "{left:?}");
    assert!(left.iter().any(|table| table.name == "ptc_effects" && !table.is_whole), "{left:?}");
    assert!(rows(&left).is_some_and(|rows| rows < CALLS as u64), "{left:?}");
    assert!(copy::copy(&place, &folder.join("copy.db")).is_err(), "a damaged store is no backup");
    let to = folder.join("saved.db");
    let (draft, saved) = rescue::rescue(&place, &to).expect("saved");
    assert!(!to.exists(), "it has no name yet");
    draft.publish().expect("its name");
    let found = effects(&to.to_string_lossy()).gaps(None).expect("a list").len() as u64;
    assert_eq!((rows(&saved), copy::check(&to.to_string_lossy())), (Some(found), Ok(vec![])));
    assert!(Some(found) > rows(&left), "also those behind the damage: {found} and {left:?}");
    assert!(rescue::rescue(&place, &to).is_err(), "nothing is written over");
}
