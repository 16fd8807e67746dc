//! Opening, sharing and refusing stores.

use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::cell::cells;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ptc-store-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn count(store: &Store) -> i64 {
    store.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_preludes", &[])).expect("a count")
}

fn insert(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO ptc_preludes (id, current_version, latest_version) VALUES (?1, ?2, ?3)",
        cells![id, 1_i64, 1_i64],
    )
    .map(|_| ())
}

#[test]
fn a_file_is_created_with_its_folder_and_keeps_what_was_written() {
    let folder = Folder::new("created");
    let place = folder.file("deep/er/store.db");
    Store::open(&place).expect("opens").write("preludes", |tx| insert(tx, "a")).expect("writes");
    assert_eq!(count(&Store::open(&place).expect("opens again")), 1);
    assert_eq!(Store::open(&place).expect("opens").check(), Ok(vec![]));
}

#[cfg(unix)]
#[test]
fn a_new_file_is_readable_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("mode");
    let place = folder.file("store.db");
    let _store = Store::open(&place).expect("opens");
    for name in ["store.db", "store.db-wal"] {
        let mode = std::fs::metadata(folder.file(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_write_that_fails_changes_nothing_and_the_store_goes_on() {
    let store = Store::open(":memory:").expect("opens");
    let failed: Result<(), StoreError> = store.write("preludes", |tx| {
        insert(tx, "a")?;
        Err(tx.damaged("on purpose"))
    });
    assert!(failed.is_err());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.write("preludes", |tx| -> Result<(), StoreError> {
            insert(tx, "b")?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(count(&store), 0);
    store.write("preludes", |tx| insert(tx, "c")).expect("writes");
    assert_eq!(count(&store), 1);
}

#[test]
fn a_statement_that_failed_cannot_be_committed_around() {
    let store = Store::open(":memory:").expect("opens");
    let outcome: Result<(), StoreError> = store.write("preludes", |tx| {
        insert(tx, "a")?;
        assert!(insert(tx, "a").is_err(), "the same key twice");
        Ok(())
    });
    assert!(matches!(outcome, Err(StoreError::Failed { .. })), "{outcome:?}");
    assert_eq!(count(&store), 0);
}

#[test]
fn threads_that_open_and_write_at_once_lose_nothing() {
    let folder = Folder::new("threads");
    let place = folder.file("store.db");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let place = &place;
            scope.spawn(move || {
                let store = Store::open(place).expect("opens");
                for number in 0..10 {
                    let id = format!("t{thread}n{number}");
                    store.write("preludes", |tx| insert(tx, &id)).expect("writes");
                }
            });
        }
    });
    let shared = Arc::new(Store::open(&place).expect("opens"));
    assert_eq!(count(&shared), 80);
    let readers: Vec<_> = (0..20)
        .map(|_| {
            std::thread::spawn({
                let shared = Arc::clone(&shared);
                move || count(&shared)
            })
        })
        .collect();
    assert!(readers.into_iter().all(|reader| reader.join().expect("a count") == 80));
}

#[test]
fn the_log_of_a_file_is_copied_while_it_is_written() {
    let folder = Folder::new("log");
    let place = folder.file("store.db");
    let store = Store::open(&place).expect("opens");
    let text = "x".repeat(100_000);
    let begun = std::time::Instant::now();
    let mut number = 0;
    // The thread that copies needs a moment to begin; the file is empty until then.
    while std::fs::metadata(&place).expect("a file").len() < 10_000_000 {
        assert!(begun.elapsed() < Duration::from_secs(120), "nothing was copied");
        store.note("preludes", |tx| insert(tx, &format!("{number}{text}"))).expect("writes");
        number += 1;
    }
    let log = std::fs::metadata(folder.file("store.db-wal")).expect("a log").len();
    assert!(log > 0);
    drop(store);
    assert!(!std::fs::exists(folder.file("store.db-wal")).expect("looked"), "closed and copied to its end");
    let store = Store::open(&place).expect("opens again");
    assert_eq!((count(&store), store.check()), (number, Ok(vec![])));
}

/// What a write promises beside that is in `durability_tests.rs`.
#[test]
fn writers_that_come_together_are_all_in_the_files() {
    let folder = Folder::new("together");
    let store = Store::open(&folder.file("store.db")).expect("opens");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20 {
                    let id = format!("t{thread}n{number}");
                    match number % 2 {
                        0 => store.write("preludes", |tx| insert(tx, &id)).expect("writes"),
                        _ => store.note("preludes", |tx| insert(tx, &id)).expect("notes"),
                    }
                }
            });
        }
    });
    // As a process finds them that comes after this one was killed.
    for name in ["store.db", "store.db-wal"] {
        std::fs::copy(folder.file(name), folder.file(&format!("left-{name}"))).expect("copied");
    }
    assert_eq!(count(&Store::open(&folder.file("left-store.db")).expect("opens")), 160);
}

#[test]
fn a_store_of_a_later_version_is_refused() {
    let folder = Folder::new("newer");
    let place = folder.file("store.db");
    let store = Store::open(&place).expect("opens");
    store
        .write("migrations", |tx| {
            tx.run(
                "INSERT INTO ptc_migrations (number, name, applied_at) VALUES (?1, ?2, ?3)",
                cells![999_i64, "later", 0_i64],
            )
        })
        .expect("writes");
    let error = Store::open(&place).expect_err("refused");
    assert!(matches!(error, StoreError::Newer { found: 999, .. }), "{error:?}");
    assert!(error.to_string().ends_with("update ptc"), "{error}");
}

#[test]
fn a_store_of_an_earlier_version_gets_an_id_when_it_is_opened() {
    let folder = Folder::new("earlier");
    let place = folder.file("store.db");
    let made = Store::open(&place).expect("opens");
    made.write("migrations", |tx| {
        tx.batch("DROP TABLE ptc_settled; DROP TABLE ptc_identity")?;
        let first = tx.number("SELECT number FROM ptc_migrations WHERE name = ?1", cells!["identity"])?;
        tx.run("DELETE FROM ptc_migrations WHERE number >= ?1", cells![first])
    })
    .expect("as it was before");
    let id = Store::open(&place).expect("opens").id().to_owned();
    assert_ne!(id, made.id());
    assert_eq!(Store::open(&place).expect("opens").id(), id);
}

#[test]
fn damaged_and_foreign_files_are_refused_and_left_alone() {
    let folder = Folder::new("damaged");
    let text = folder.file("notes.txt");
    std::fs::write(&text, "these are notes, not tables, and there is quite some text of them".repeat(50))
        .expect("writes");
    private(&text);
    let error = Store::open(&text).expect_err("refused");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");

    let foreign = folder.file("foreign.db");
    rusqlite::Connection::open(&foreign)
        .and_then(|other| other.execute_batch("CREATE TABLE t (a)"))
        .expect("a database");
    private(&foreign);
    let before = std::fs::read(&foreign).expect("bytes");
    let error = Store::open(&foreign).expect_err("refused");
    assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    assert_eq!(std::fs::read(&foreign).expect("bytes"), before);

    let torn = folder.file("torn.db");
    drop(Store::open(&torn).expect("opens"));
    let mut bytes = std::fs::read(&torn).expect("bytes");
    let length = bytes.len();
    bytes[200..length].fill(0x5a);
    std::fs::write(&torn, bytes).expect("writes");
    let error = Store::open(&torn).expect_err("refused");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_file_that_was_cut_to_one_byte_is_refused_and_no_store_is_made_of_it() {
    let folder = Folder::new("one-byte");
    let place = folder.file("store.db");
    drop(Store::open(&place).expect("opens"));
    std::fs::File::options().write(true).open(&place).and_then(|file| file.set_len(1)).expect("it is cut");
    for opened in [Store::open(&place), Store::open_existing(&place)] {
        let error = opened.expect_err("refused");
        assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    }
    let found = crate::copy::check(&place).expect("a look");
    assert_eq!(found, ["only one byte of its file is left"]);
    assert_eq!(std::fs::metadata(&place).expect("it is there").len(), 1, "it is left as it is");
}

#[test]
fn a_store_answers_only_while_it_takes_changes() {
    let folder = Folder::new("answers");
    let store = Store::open(&folder.file("store.db")).expect("opens");
    let id = store.id().to_owned();
    store.answers().expect("it takes changes");
    // As if there were no room: a transaction begins and ends, but no row can be added.
    let set = |sql: &str| {
        let writer = store.writer.as_ref().expect("a file has a writer");
        let mut lent = writer.take(|| store.connect()).expect("a connection");
        lent.get().batch(sql).expect("it is set");
    };
    set("CREATE TEMP TRIGGER no_room BEFORE INSERT ON ptc_identity
         BEGIN SELECT RAISE(ABORT, 'there is no room'); END");
    let error = store.answers().expect_err("nothing can be written");
    assert!(error.to_string().contains("there is no room"), "{error}");
    set("DROP TRIGGER no_room");
    store.answers().expect("it takes changes again");
    drop(store);
    assert_eq!(Store::open(&folder.file("store.db")).expect("opens").id(), id, "nothing was changed");
}

/// A connection that breaks when something is asked.
struct Breaking {
    broken: bool,
}

impl Breaking {
    fn lost<T>(&mut self) -> Result<T, Fault> {
        self.broken = true;
        Err(Fault { kind: FaultKind::Lost, cause: "it broke".to_owned() })
    }
}

impl Connection for Breaking {
    fn begin(&mut self, _: Mode<'_>) -> Result<(), Fault> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), Fault> {
        self.lost()
    }
    fn rollback(&mut self) {}
    fn run(&mut self, _: &'static str, _: &[crate::cell::Cell]) -> Result<u64, Fault> {
        self.lost()
    }
    fn rows(&mut self, _: &'static str, _: &[crate::cell::Cell]) -> Result<Vec<crate::cell::Row>, Fault> {
        self.lost()
    }
    fn batch(&mut self, _: &str) -> Result<(), Fault> {
        self.lost()
    }
    fn now_ms(&mut self) -> Result<i64, Fault> {
        Ok(0)
    }
    fn check(&mut self) -> Result<Vec<String>, Fault> {
        self.lost()
    }
    fn is_broken(&self) -> bool {
        self.broken
    }
}

/// Gives a store that has not looked at anything yet so many connections that break.
fn breaking(store: &Store, count: usize) {
    let broken = || Ok::<Box<dyn Connection>, StoreError>(Box::new(Breaking { broken: false }));
    let lent: Vec<_> = (0..count).map(|_| store.pool.take(broken).expect("there is room")).collect();
    drop(lent);
}

#[test]
fn a_look_whose_connection_breaks_is_tried_once_more() {
    let folder = Folder::new("breaking");
    let store = Store::open(&folder.file("store.db")).expect("opens");
    breaking(&store, 1);
    let count = store.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_identity", &[]));
    assert_eq!(count, Ok(1));
    let another = Store::open(&folder.file("another.db")).expect("opens");
    breaking(&another, 1);
    assert_eq!(another.read(|_| Ok::<_, StoreError>(7)), Ok(7), "also one that breaks at its end");
}

#[test]
fn a_look_whose_connections_break_twice_is_told() {
    let folder = Folder::new("breaking-twice");
    let store = Store::open(&folder.file("store.db")).expect("opens");
    breaking(&store, 2);
    let count = || store.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_identity", &[]));
    let error = count().expect_err("it broke twice");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert_eq!(count(), Ok(1), "there is a new connection");
}

fn private(path: &str) {
    #[cfg(unix)]
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("it changes");
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(unix)]
#[test]
fn a_store_that_others_could_have_written_is_refused_with_the_fix() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("untrusted");
    let place = folder.file("deep/er/store.db");
    let _open = Store::open(&place).expect("opens");
    let mode = |path: &str| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&format!("{place}-wal"))), (0o600, 0o600));
    assert_eq!((mode(&folder.file("deep")), mode(&folder.file("deep/er"))), (0o700, 0o700));
    for part in ["", "-wal"] {
        let file = format!("{place}{part}");
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .expect("it changes");
        let error = Store::open(&place).expect_err("refused");
        assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("chmod 600 {file}")), "{error}");
        private(&file);
    }
    Store::open(&place).expect("opens again");
}

#[test]
fn places_that_cannot_be_reached_say_what_to_do() {
    let folder = Folder::new("unreachable");
    std::fs::write(folder.file("file"), "x").expect("writes");
    for (place, fix) in [
        (folder.file("file/store.db"), "name a file in a folder"),
        ("postgres://nobody@127.0.0.1:1/none?connect_timeout=2".to_owned(), "look whether the server runs"),
    ] {
        let error = Store::open(&place).expect_err("refused");
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains(fix), "{error}");
    }
}

/// Makes a store anew as versions left it that knew only the steps before this one.
fn as_before(place: &str, sql: &str) {
    drop(Store::open(place).expect("opens"));
    let known = migrate::MIGRATIONS.iter().take_while(|step| step.sql != sql);
    let sqlite = rusqlite::Connection::open(place).expect("opens");
    let tables: Vec<String> = {
        let mut named = sqlite
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ptc_%'")
            .expect("a statement");
        let names = named.query_map([], |row| row.get(0)).expect("names");
        names.collect::<rusqlite::Result<_>>().expect("names")
    };
    for table in tables.iter().filter(|table| *table != "ptc_migrations") {
        sqlite.execute_batch(&format!("DROP TABLE {table}")).expect("dropped");
    }
    let mut steps = 0;
    for step in known {
        sqlite.execute_batch(step.sql).expect(step.name);
        steps += 1;
    }
    sqlite.execute("DELETE FROM ptc_migrations WHERE number > ?1", [steps]).expect("forgotten");
}

#[test]
fn a_store_of_an_earlier_version_learns_who_makes_calls_and_keeps_those_without_an_answer() {
    use crate::effects::{Effects, Finding};
    let folder = Folder::new("earlier-makers");
    let place = folder.file("store.db");
    as_before(&place, crate::under_way::COLUMNS);
    let row = "INSERT INTO ptc_effects (scope, identity, server, tool, args, state, begun_at)
               VALUES ('run', 'a', 'mail', 'send', x'6e756c6c', 'begun', 1)";
    rusqlite::Connection::open(&place).and_then(|sqlite| sqlite.execute_batch(row)).expect("a call");
    let effects = Effects::new(Arc::new(Store::open(&place).expect("opens")));
    let gaps = effects.gaps(None).expect("a list");
    assert_eq!((gaps.len(), gaps[0].maker.as_deref()), (1, None));
    effects.settle_unless("run", "a", &Finding::DidNotHappen, "", |_| true).expect("nobody makes it");
    assert_eq!(effects.gaps(None), Ok(vec![]));
}

/// What a look at the rows of a store finds.
fn wrong(place: &str) -> Vec<String> {
    let readers = crate::check::Readers {
        state: &|_| None,
        defines: &|_| false,
        ticket: |_, _| None,
        seal: &|id, _, sealed| (sealed != b"sealed").then(|| crate::check::WrongSeal::NoKey(id.to_owned())),
    };
    let looked = crate::check::rows(place, &readers).expect("a look");
    looked.found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_session_that_is_damaged_is_named_and_keeps_nobody_from_the_others() {
    use crate::sessions::{NewSession, SessionError, SessionQuota, Sessions};
    let folder = Folder::new("damaged-session");
    let place = folder.file("store.db");
    let store = Arc::new(Store::open(&place).expect("opens"));
    let (sessions, meta) = (Sessions::new(store.clone()), serde_json::json!({"turn": 0}));
    for id in ["whole", "torn"] {
        let new =
            NewSession { id, owner: "ann", origin: &meta, meta: &meta, ttl_ms: 60_000, idle_ms: 60_000 };
        sessions.create(&new, SessionQuota { most: 9, per_owner: 9 }).expect("it begins");
    }
    let tear = "UPDATE ptc_session_metas SET meta = ?1 WHERE session = 'torn'";
    store.note("test", |tx| tx.run(tear, cells![b"{\"turn\":".to_vec()])).expect("torn");
    let mut listed = sessions.list("ann").expect("a list");
    listed.sort_by(|one, other| one.id.cmp(&other.id));
    let [torn, whole] = &listed[..] else { panic!("{listed:?}") };
    assert!(torn.damaged.as_ref().is_some_and(|why| why.contains("no JSON")), "{torn:?}");
    assert_eq!((&whole.damaged, &whole.meta), (&None, &meta));
    match sessions.take("torn", "ann", 10_000, None) {
        Err(SessionError::Store(error)) => {
            assert!(
                error.to_string().contains("the meta of session torn: a stored value is no JSON"),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    }
    let found = wrong(&place);
    assert!(
        found.len() == 1 && found[0].contains("what session torn says of itself cannot be read"),
        "{found:?}"
    );
    sessions.close("torn", "ann").expect("it can be closed");
}

#[test]
fn rows_that_are_damaged_keep_nobody_from_the_others() {
    use crate::effects::{Effects, Finding, NewEffect};
    use crate::tickets::{NewTicket, TicketError, TicketQuota, Tickets};
    let folder = Folder::new("damaged-rows");
    let place = folder.file("store.db");
    let store = Arc::new(Store::open(&place).expect("opens"));
    let (effects, tickets) = (Effects::new(store.clone()), Tickets::new(store.clone()));
    let (args, room) = (serde_json::json!({"n": 1}), TicketQuota { tickets: 9, bytes: 1 << 20 });
    for id in ["torn", "whole"] {
        let call = NewEffect { identity: id, server: "mail", tool: "send", args: &args };
        effects.begin("run", &call).expect("begun");
        let new = NewTicket {
            id,
            owner: "ann",
            kind: "k",
            about: &args,
            sealed: b"sealed",
            expires_ms: i64::MAX,
            session: None,
        };
        tickets.put(&new, room, None).expect("kept");
    }
    assert_eq!(wrong(&place), Vec::<String>::new());
    for tear in [
        "UPDATE ptc_tickets SET about = ?1 WHERE id = 'torn'",
        "UPDATE ptc_effects SET args = ?1 WHERE identity = 'torn'",
    ] {
        store.note("test", |tx| tx.run(tear, cells![b"{\"n\":".to_vec()])).expect("torn");
    }
    let found = wrong(&place);
    let begin = [
        "ticket torn is damaged: what is shown of it cannot be read",
        "call run torn is damaged: its arguments cannot be read",
    ];
    assert!(
        found.len() == 2 && begin.iter().zip(&found).all(|(one, told)| told.starts_with(one)),
        "{found:?}"
    );
    let told = |shown: &serde_json::Value| shown["damaged"].as_str().map(str::to_owned);
    let mut gaps = effects.gaps(None).expect("a list");
    gaps.sort_by(|one, other| one.identity.cmp(&other.identity));
    assert!(told(&gaps[0].args).is_some_and(|why| why.contains("no JSON")), "{gaps:?}");
    assert_eq!(gaps[1].args, args);
    effects
        .settle_unless("run", "torn", &Finding::DidNotHappen, "looked", |_| false)
        .expect("it can be settled");
    let mut listed = tickets.list_open("ann").expect("a list");
    listed.sort_by(|one, other| one.id.cmp(&other.id));
    assert!(listed[0].damaged.is_some() && listed[1].damaged.is_none(), "{listed:?}");
    assert_eq!(listed[1].about, args);
    let approve = serde_json::json!("approve");
    let refused = tickets.take("torn", "ann", &approve, 10_000);
    assert!(matches!(refused, Err(TicketError::Store(StoreError::Damaged { .. }))), "{refused:?}");
    tickets.take("whole", "ann", &approve, 10_000).expect("the other can be approved");
    tickets.end("torn", "ann", &serde_json::json!("rejected")).expect("it can be rejected");
}

#[test]
fn a_store_says_for_how_long_its_oldest_transaction_is_under_way() {
    let folder = Folder::new("under-way");
    let store = Store::open(&folder.file("store.db")).expect("opens");
    assert_eq!(store.silent_for(), Duration::ZERO);
    let within = store.read(|_| {
        let before = store.silent_for();
        // Another one is younger.
        let other = std::thread::scope(|scope| {
            scope.spawn(|| store.read(|_| Ok::<_, StoreError>(store.silent_for()))).join().expect("it ends")
        })?;
        Ok::<_, StoreError>((before, other))
    });
    let (before, other) = within.expect("it is read");
    assert!(Duration::ZERO < before && before < other, "{before:?} {other:?}");
    assert_eq!(store.silent_for(), Duration::ZERO);
}

#[cfg(unix)]
#[test]
fn a_store_whose_files_are_not_where_they_were_opened_takes_no_changes_until_they_are_back() {
    use std::fs::rename;
    type Step = fn(&Folder);
    let remade: Step = |folder| drop(Store::open(&folder.file("store.db")).expect("another store"));
    let gone: Step = |_| {};
    // Which files are moved away, what comes in their place, and what is told.
    let all: &[&str] = &["", "-wal", "-shm", "-synced"];
    for (moved, then, told) in [
        (all, gone, "its file is gone"),
        (all, remade, "another file is in the place of its file"),
        (&all[1..2], gone, "its log is gone"),
        (&all[2..3], gone, "its index of the log is gone"),
        (
            &all[1..2],
            |folder| std::fs::write(folder.file("store.db-wal"), "").expect("a file"),
            "another file is in the place of its log",
        ),
    ] {
        let folder = Folder::new("moved");
        let store = Store::open(&folder.file("store.db")).expect("opens");
        store.write("preludes", |tx| insert(tx, "a")).expect("writes");
        let name = |ending: &str| folder.file(&format!("store.db{ending}"));
        let away = |ending: &str| folder.file(&format!("away{ending}"));
        moved.iter().for_each(|ending| rename(name(ending), away(ending)).expect("it moves"));
        then(&folder);
        for refused in [
            store.write("preludes", |tx| insert(tx, "b")),
            store.note("preludes", |tx| insert(tx, "b")),
            store.answers(),
            store.is_in_place(),
        ] {
            assert!(
                matches!(&refused, Err(StoreError::Moved { problem, .. }) if problem == told),
                "{refused:?}"
            );
        }
        // Also who needs a connection of its own makes no store in its place.
        let looked = store.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_preludes", &[]));
        assert!(matches!(looked, Err(StoreError::Moved { .. })), "{looked:?}");
        if told.ends_with("file is gone") {
            assert!(!std::path::Path::new(&name("")).exists());
        }
        moved.iter().for_each(|ending| rename(away(ending), name(ending)).expect("it moves"));
        store.write("preludes", |tx| insert(tx, "c")).expect("it is where it was");
        assert_eq!(store.answers(), Ok(()), "{told}");
        let found: Vec<String> = store
            .read::<_, StoreError>(|tx| {
                tx.list("SELECT id FROM ptc_preludes ORDER BY id", &[], |row| row.text(0))
            })
            .expect("a list");
        assert_eq!(found, ["a", "c"], "{told}");
    }
}
