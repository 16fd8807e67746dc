//! What tells a store from every other one.

use std::os::unix::fs::symlink;

use ptc_store::{Store, copy};

use crate::postgres::Server;
use crate::support::Folder;

fn id(place: &str) -> String {
    Store::open(place).expect("the store opens").id().to_owned()
}

#[test]
fn a_store_has_its_id_wherever_it_is_and_one_that_is_made_anew_has_another() {
    let folder = Folder::new("ids");
    let (one, two) = (folder.place("one.db"), folder.place("two.db"));
    let first = id(&one);
    assert_eq!(first.len(), 32, "{first}");
    assert_eq!(id(&one), first);
    assert_ne!(id(&two), first);
    assert_ne!(id(":memory:"), id(":memory:"));
    symlink("one.db", folder.join("link.db")).expect("a link");
    assert_eq!(id(&folder.place("link.db")), first);
    std::fs::rename(&one, folder.join("moved.db")).expect("moved");
    assert_eq!(id(&folder.place("moved.db")), first);
    assert_ne!(id(&one), first, "it was made anew");
}

/// SQLite keeps the log of a file beside the name by which it was opened.
#[test]
fn a_file_with_two_names_is_not_taken_by_either() {
    let folder = Folder::new("two-names");
    let (one, two) = (folder.place("one.db"), folder.place("two.db"));
    let first = id(&one);
    std::fs::hard_link(&one, &two).expect("another name");
    for place in [&one, &two] {
        let told = [
            Store::open(place).map(drop),
            Store::open_existing(place).map(drop),
            copy::copy(place, &folder.join("copy.db")).map(drop),
            copy::check(place).map(drop),
        ];
        for (way, told) in told.into_iter().enumerate() {
            let told = told.expect_err("it is refused").to_string();
            assert!(told.contains("has 2 names (hard links)"), "{place} {way}: {told}");
        }
    }
    assert!(!folder.join("copy.db").exists(), "nothing was made");
    std::fs::remove_file(&two).expect("it goes");
    assert_eq!(id(&one), first, "and then it is taken");
}

#[test]
fn processes_that_make_a_store_at_once_agree_about_its_id() {
    let folder = Folder::new("ids-at-once");
    let server = Server::start("ids-at-once");
    for place in [Some(folder.place("store.db")), server.as_ref().map(|server| server.place("shared"))] {
        let Some(place) = place else { continue };
        let ids: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| id(&place))).collect();
            threads.into_iter().map(|thread| thread.join().expect("an id")).collect()
        });
        assert!(ids.iter().all(|each| *each == ids[0]), "{ids:?}");
    }
}

#[test]
fn a_copy_is_another_store() {
    let folder = Folder::new("ids-of-copies");
    let (one, backup) = (folder.place("one.db"), folder.join("backup.db"));
    let first = id(&one);
    copy::copy(&one, &backup).expect("a copy");
    let restored = folder.join("restored.db");
    copy::copy(&backup.to_string_lossy(), &restored).expect("a copy");
    let (backup, restored) = (id(&backup.to_string_lossy()), id(&restored.to_string_lossy()));
    assert!(first != backup && first != restored && backup != restored);
    assert_eq!(id(&one), first, "copying changes nothing");

    let Some(server) = Server::start("ids-of-copies") else { return };
    let place = server.place("one");
    let first = id(&place);
    let dump = server.dump("one");
    let elsewhere = Server::start("ids-of-dumps").expect("it was there before");
    let copy = elsewhere.load("one", &dump);
    assert_ne!(id(&copy), first);
    assert_eq!(id(&copy), id(&copy), "from then on it has one of its own");
    assert_eq!(id(&place), first);
    // The same database, after somebody dropped what was in it.
    let mut client = ::postgres::Client::connect(&place, ::postgres::NoTls).expect("connects");
    client.batch_execute("DROP SCHEMA one CASCADE").expect("dropped");
    assert_ne!(id(&server.load("one", &dump)), first, "it does not know what was done since");
}

#[test]
fn a_place_without_a_store_is_refused_where_one_must_be_and_nothing_is_made() {
    let folder = Folder::new("nothing");
    let missing = folder.place("missing.db");
    let empty = folder.join("empty.db");
    drop(ptc_system::private::create_new(&empty).expect("a file"));
    let server = Server::start("nothing");
    let schema = server.as_ref().map(|server| server.place("empty"));
    let places = [Some(missing.clone()), Some(empty.to_string_lossy().into_owned()), schema.clone()];
    for place in places.into_iter().flatten() {
        for refused in [Store::open_existing(&place).map(drop), copy::check(&place).map(drop)] {
            let message = refused.expect_err("refused").to_string();
            assert!(message.contains("there is no s"), "{message}");
        }
    }
    assert!(!std::path::Path::new(&missing).exists());
    assert_eq!(std::fs::metadata(&empty).expect("it is there").len(), 0);
    let Some(place) = schema else { return };
    let mut client = ::postgres::Client::connect(&place, ::postgres::NoTls).expect("connects");
    let made = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'empty'";
    assert_eq!(client.query_one(made, &[]).expect("a count").get::<_, i64>(0), 0);
    id(&place);
    assert_eq!(copy::check(&place), Ok(vec![]));
}
