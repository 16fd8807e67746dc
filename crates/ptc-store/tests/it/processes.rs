//! Processes that write at once, and processes that are killed while they write. The tests start themselves
//! again as the writers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use ptc_store::preludes::{Bounds, Metadata, Preludes, checksum};
use serde_json::json;

use crate::postgres::Server;
use crate::support::{Folder, notes, preludes, source};

/// Where a writer writes; set only for writers.
const PLACE: &str = "PTC_STORE_TEST_PLACE";
/// What a writer is called.
const NAME: &str = "PTC_STORE_TEST_NAME";
/// How many versions it writes.
const COUNT: &str = "PTC_STORE_TEST_COUNT";

/// Whether this process is a writer; then it has written.
fn wrote(place_of_writer: Option<std::ffi::OsString>) -> bool {
    let Some(place) = place_of_writer else { return false };
    let name = std::env::var(NAME).expect("a name");
    let count: usize = std::env::var(COUNT).expect("a count").parse().expect("a number");
    let preludes = all_kept(&place.to_string_lossy());
    for number in 0..count {
        let text = source("shared", &format!("\"{name} {number}\""));
        let version =
            preludes.write("shared", &text, &notes(json!({"created_by": name}))).expect("writes").version;
        // Said only once it is stored: the line is the acknowledgement.
        writeln!(std::io::stdout(), "stored {} {}", version.version, version.checksum).expect("says so");
    }
    true
}

/// The preludes of a place where no version is ever removed.
fn all_kept(place: &str) -> Preludes {
    let bounds = Bounds { max_versions: 1_000_000, max_total_bytes: 1_000_000_000, ..Bounds::default() };
    preludes(place).with_bounds(bounds).expect("bounds")
}

fn writer(test: &str, place: &str, name: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--nocapture", "--test-threads=2"])
        .env(PLACE, place)
        .env(NAME, name)
        .env(COUNT, count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a writer")
}

/// The version and the checksum that a writer says are stored.
fn acknowledged(line: &str) -> Option<(i64, String)> {
    let mut words = line.strip_prefix("stored ")?.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?.to_owned()))
}

fn eight_writers(test: &str, place: &str) {
    const EACH: usize = 25;
    drop(preludes(place));
    let writers: Vec<Child> = (0..8).map(|number| writer(test, place, &format!("w{number}"), EACH)).collect();
    let mut stored = BTreeMap::new();
    for mut writer in writers {
        let mut said = String::new();
        writer.stdout.take().expect("its output").read_to_string(&mut said).expect("its lines");
        assert!(writer.wait().expect("its end").success());
        let versions: Vec<(i64, String)> = said.lines().filter_map(acknowledged).collect();
        assert_eq!(versions.len(), EACH, "every write was acknowledged");
        assert!(versions.is_sorted_by(|a, b| a.0 < b.0), "versions of one writer go up");
        for (version, checksum) in versions {
            assert_eq!(stored.insert(version, checksum), None, "version {version} was given out twice");
        }
    }
    assert_eq!(
        stored.keys().copied().collect::<Vec<_>>(),
        (1..=200).collect::<Vec<i64>>(),
        "no number is left out"
    );
    assert_stored(place, &stored);
}

/// All of these versions are there and are what they were.
fn assert_stored(place: &str, stored: &BTreeMap<i64, String>) {
    let store = preludes(place);
    let history = store.history("shared").expect("a history");
    let found: BTreeMap<i64, String> =
        history.iter().map(|version| (version.version, version.checksum.clone())).collect();
    for (version, sum) in stored {
        assert_eq!(found.get(version), Some(sum), "version {version} was acknowledged");
    }
    let numbers: Vec<i64> = found.keys().copied().collect();
    let latest = i64::try_from(numbers.len()).expect("a number");
    assert_eq!(numbers, (1..=latest).collect::<Vec<_>>(), "versions have no gaps");
    for version in &history {
        let wanted =
            ptc_store::preludes::Ref::parse(&format!("shared@{}", version.version)).expect("a reference");
        let candidate = store.read(&wanted).expect("reads");
        assert_eq!(checksum(&candidate.source), version.checksum);
    }
    let listed = &store.list().expect("a list")[0];
    assert_eq!((listed.current_version, listed.latest_version), (latest, latest));
}

#[test]
fn eight_processes_lose_no_version_in_a_file() {
    if wrote(std::env::var_os(PLACE)) {
        return;
    }
    let folder = Folder::new("writers");
    let place = folder.place("store.db");
    eight_writers("processes::eight_processes_lose_no_version_in_a_file", &place);
    assert_eq!(ptc_store::Store::open(&place).expect("opens").check(), Ok(vec![]));
}

#[test]
fn eight_processes_lose_no_version_on_a_server() {
    if wrote(std::env::var_os(PLACE)) {
        return;
    }
    let Some(server) = Server::start("writers") else { return };
    eight_writers("processes::eight_processes_lose_no_version_on_a_server", &server.place("shared"));
}

/// Writers that run at the same time until they are killed.
const AT_ONCE: usize = 5;

/// Kills writers while they write, `times` times in all, some at a time so that one often dies while another
/// holds or waits for the lock. How many lines are read before the kill varies, so that it falls everywhere.
fn kill_writers(test: &str, place: &str, times: usize) -> BTreeMap<i64, String> {
    let mut stored = BTreeMap::new();
    drop(preludes(place));
    for round in 0..times / AT_ONCE {
        let mut group: Vec<Child> =
            (0..AT_ONCE).map(|one| writer(test, place, &format!("k{round}-{one}"), 100_000)).collect();
        let mut outputs: Vec<_> =
            group.iter_mut().map(|child| BufReader::new(child.stdout.take().expect("its output"))).collect();
        for line in outputs[round % AT_ONCE].by_ref().lines().map_while(Result::ok) {
            if let Some((version, sum)) = acknowledged(&line) {
                stored.insert(version, sum);
                if usize::try_from(version).expect("a number") % 4 >= round % 4 {
                    break;
                }
            }
        }
        for child in &mut group {
            child.kill().expect("kill -9");
            child.wait().expect("its end");
        }
        for output in outputs {
            stored.extend(output.lines().map_while(Result::ok).filter_map(|line| acknowledged(&line)));
        }
    }
    stored
}

#[test]
fn two_hundred_killed_writers_damage_no_file() {
    if wrote(std::env::var_os(PLACE)) {
        return;
    }
    let folder = Folder::new("killed");
    let place = folder.place("store.db");
    let stored = kill_writers("processes::two_hundred_killed_writers_damage_no_file", &place, 200);
    assert!(stored.len() >= 100, "only {} writes were acknowledged", stored.len());
    assert_stored(&place, &stored);
    assert_eq!(ptc_store::Store::open(&place).expect("opens").check(), Ok(vec![]), "integrity_check");
    // And it goes on.
    let next = all_kept(&place).write("shared", &source("shared", "1"), &Metadata::new()).expect("writes");
    assert!(stored.keys().all(|version| *version < next.version.version));
}

#[test]
fn killed_writers_leave_nothing_half_written_on_a_server() {
    if wrote(std::env::var_os(PLACE)) {
        return;
    }
    let Some(server) = Server::start("killed") else { return };
    let place = server.place("shared");
    let stored = kill_writers("processes::killed_writers_leave_nothing_half_written_on_a_server", &place, 40);
    assert!(stored.len() >= 20, "only {} writes were acknowledged", stored.len());
    assert_stored(&place, &stored);
}
