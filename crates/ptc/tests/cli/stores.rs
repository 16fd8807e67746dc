//! Stores as commands meet them: a plan belongs to one of them, wherever that is, and looking at one changes nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};
use ptc_server::engine::Keys;
use ptc_store::Store;
use ptc_store::sessions::{NewSession, SessionQuota, Sessions};
use ptc_store::tickets::{NewTicket, TicketQuota, Tickets};
use serde_json::{Value, json};

use super::postgres::Server as Postgres;
use super::resume::killed_at_point;
use super::world::World;

const PUT: &str = "(tool/call {:server \"world\" :tool \"put\" :args {:key \"a\" :value 1}})";

/// A world, and a plan of one write that belongs to a store.
fn planned(name: &str, store: &str) -> World {
    let world = World::start(name);
    plan(&world, store);
    world
}

fn plan(world: &World, store: &str) {
    world.write("program.clj", PUT);
    let args =
        ["plan", "program.clj", "--upstreams-config", "upstreams.json", "-o", "plan.json", "--store", store];
    let (code, out, err) = world.run(&args);
    assert_eq!(code, 0, "{out}{err}");
}

fn apply(world: &World, store: &[&str]) -> (i32, String, String) {
    let named = store.iter().flat_map(|store| ["--store", store]);
    world.run(&["apply", "plan.json"].into_iter().chain(named).collect::<Vec<_>>())
}

/// Applies a plan with a store that is refused, before anything is made.
fn refused(world: &World, store: &[&str]) -> String {
    let (code, out, err) = apply(world, store);
    assert_eq!((code, out.as_str(), world.count("came a")), (2, "", 0), "{store:?}: {err}");
    assert!(err.contains("the plan belongs to the store "), "{err}");
    err
}

fn applied(world: &World, store: &[&str]) {
    let (code, out, err) = apply(world, store);
    assert_eq!((code, world.count("came a")), (0, 1), "{store:?}: {out}{err}");
}

#[test]
fn a_plan_is_applied_with_its_store_however_that_is_named_and_wherever_it_was_moved() {
    for (name, place) in [
        ("plan-dots", "./folder/../one.db"),
        ("plan-link", "link.db"),
        ("plan-folder-link", "linked/one.db"),
        ("plan-moved", "moved.db"),
    ] {
        let world = planned(name, "one.db");
        fs::create_dir(world.folder.join("folder")).expect("a folder");
        match name {
            "plan-link" => symlink("one.db", world.folder.join("link.db")).expect("a link"),
            "plan-folder-link" => symlink(".", world.folder.join("linked")).expect("a link"),
            "plan-moved" => {
                fs::rename(world.folder.join("one.db"), world.folder.join("moved.db")).expect("moved");
                let err = refused(&world, &[]);
                assert!(err.contains("/one.db)") && err.contains("there is no such file"), "{err}");
            }
            _ => {}
        }
        applied(&world, &[place]);
        assert_eq!(world.folder.join("one.db").exists(), name != "plan-moved", "no store is made");
    }
}

#[test]
fn a_plan_is_refused_where_another_store_is_and_none_is_made() {
    let world = planned("plan-anew", "one.db");
    let kept = world.folder.join("kept.db");
    fs::rename(world.folder.join("one.db"), &kept).expect("moved");
    refused(&world, &["one.db"]);
    assert!(!world.folder.join("one.db").exists(), "nothing is made in its place");
    // Somebody else made one there.
    assert_eq!(world.run(&["effects", "--store", "kept.db"]).0, 0);
    world.write("other.clj", "1");
    let another = ["plan", "other.clj", "--upstreams-config", "upstreams.json", "--store", "one.db"];
    assert_eq!(world.run(&another).0, 0);
    let err = refused(&world, &[]);
    assert!(err.contains("is another one, "), "{err}");
    applied(&world, &["kept.db"]);
}

#[test]
fn a_plan_without_a_store_of_its_own_stays_with_the_one_that_it_was_applied_with_first() {
    let world = World::start("plan-noted");
    world.write("program.clj", PUT);
    let args = ["plan", "program.clj", "--upstreams-config", "upstreams.json", "-o", "plan.json"];
    assert_eq!(world.run(&args).0, 0);
    applied(&world, &["one.db"]);
    let (one, moved) = (world.folder.join("one.db"), world.folder.join("moved.db"));
    fs::rename(&one, &moved).expect("moved");
    let (code, _, err) = apply(&world, &["one.db"]);
    assert!(code == 2 && err.contains("none is made in its place") && !one.exists(), "{err}");
    let (code, out, _) = apply(&world, &["moved.db"]);
    assert!(code == 1 && out.ends_with("the plan was applied already; nothing was done\n"), "{out}");
    assert_eq!(world.count("came a"), 1);
}

/// A copy does not know what is done after it was made, so a plan would be done once in each.
#[test]
fn a_plan_is_applied_with_no_copy_of_its_store() {
    let world = planned("plan-copied", "one.db");
    for args in [&["store", "backup", "one.db", "copy.db"], &["store", "restore", "copy.db", "restored.db"]] {
        let (code, out, err) = world.run(args);
        assert_eq!(code, 0, "{out}{err}");
    }
    refused(&world, &["copy.db"]);
    refused(&world, &["restored.db"]);
    applied(&world, &[]);
}

/// What looks like an address is never made as a file, whose name would have the password in it.
#[test]
fn what_is_kept_in_files_goes_to_no_address_and_no_password_is_shown() {
    let world = planned("no-address", "one.db");
    let listed = || {
        let files = fs::read_dir(&world.folder).expect("a folder");
        let mut names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
        names.retain(|name| !name.to_string_lossy().starts_with("one.db"));
        names.sort();
        names
    };
    let before = listed();
    let (secret, memory) = ("postgres://ptc:ptc-sentinel-7f3a@127.0.0.1:1/ptc", ":memory:");
    for to in [secret, memory, "host=db password=ptc-sentinel-7f3a"] {
        for args in [
            &["store", "backup", "one.db", to][..],
            &["store", "restore", "one.db", to],
            &["store", "rescue", "one.db", to],
            &["effects", "--checkpoint", to],
            &["runs", "--checkpoint", to],
            &["resume", "x", "--checkpoint", to],
        ] {
            let (code, out, err) = world.run(args);
            assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
            assert!(!err.contains("sentinel"), "{args:?}: {err}");
            let part =
                if args[0] == "store" { "name one; what is in a database is copied" } else { "is no folder" };
            assert!(err.contains(part), "{args:?}: {err}");
        }
    }
    for args in [
        &["store", "backup", secret, "two.db"][..],
        &["store", "restore", secret, "two.db"],
        &["store", "rescue", secret, "two.db"],
    ] {
        let (code, out, err) = world.run(args);
        assert!(code == 2 && !format!("{out}{err}").contains("sentinel"), "{args:?}: {out}{err}");
    }
    assert_eq!(listed(), before, "nothing is made");
}

#[test]
fn a_plan_belongs_to_one_store_of_a_database_and_to_no_dump_of_it() {
    let Some(server) = Postgres::start("bound") else { return };
    let (one, two) = (server.place("one"), server.place("two"));
    let world = planned("plan-postgres", &one);
    plan(&world, &two);
    // Both addresses are the same up to the `?`.
    plan(&world, &one);
    let secret = two.replacen("ptc@", "ptc:ptc-sentinel-7f3a@", 1);
    let err = refused(&world, &[&secret]);
    assert!(err.contains("postgres://ptc@") && !err.contains("sentinel"), "{err}");
    let err = refused(&world, &[]);
    assert!(err.contains("give the whole address with --store"), "{err}");
    let dump = server.dump("one");
    let elsewhere = Postgres::start("bound-copy").expect("it was there before");
    let copy = elsewhere.load("one", &dump);
    refused(&world, &[&copy]);
    let empty = elsewhere.place("empty");
    let err = refused(&world, &[&empty]);
    assert!(err.contains("there is no store in this database"), "{err}");
    // In another order, with another name for the connection.
    let (address, query) = one.split_once('?').expect("options");
    let turned: Vec<&str> = query.split('&').rev().collect();
    applied(&world, &[&format!("{address}?application_name=x&{}", turned.join("&"))]);
}

#[test]
fn a_plan_that_was_applied_is_told_as_applied_when_its_server_is_gone() {
    let mut world = planned("plan-offline", "one.db");
    applied(&world, &[]);
    world.stop();
    let (code, out, err) = apply(&world, &[]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(out.contains("was done before\n") && !out.contains("may or may not"), "{out}");
    assert!(out.ends_with("the plan was applied already; nothing was done\n"), "{out}");
    let (code, out, _) = world.run(&["apply", "plan.json", "--json"]);
    assert!(code == 1 && out.contains("\"applied_already\""), "{out}");
}

#[test]
fn a_call_that_never_left_is_told_as_not_made() {
    let mut world = World::start("plan-half");
    world.write("program.clj", &format!("(do {PUT} {})", PUT.replace("\"a\"", "\"b\"")));
    let args = ["plan", "program.clj", "--upstreams-config", "upstreams.json", "-o", "plan.json"];
    assert_eq!(world.run(&args).0, 0);
    world.hold(&["came a"]);
    let mut process = world.command(&["apply", "plan.json"]).spawn().expect("it starts");
    world.wait_for("came a");
    process.kill().expect("kill -9");
    process.wait().expect("it is gone");
    world.stop();
    let identity = world.gaps(&[])[0]["identity"].as_str().expect("text").to_owned();
    assert_eq!(world.run(&["effects", "settle", &identity, "it is there", "--happened"]).0, 0);
    let (code, out, _) = world.run(&["apply", "plan.json"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(code == 1 && lines[0].ends_with("was done before"), "{out}");
    assert!(lines[1].contains("failed: ") && lines[1].ends_with("; it was not made"), "{out}");
}

#[test]
fn a_look_at_a_database_without_a_store_makes_none() {
    let Some(server) = Postgres::start("looked") else { return };
    let (world, place) = (World::start("looked-at"), server.place("empty"));
    let secret = place.replacen("ptc@", "ptc:ptc-sentinel-7f3a@", 1);
    for args in
        [&["store", "check", &secret][..], &["tickets", "--store", &secret], &["effects", "--store", &secret]]
    {
        let (code, out, err) = world.run(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains("there is no store in this database") && !err.contains("sentinel"), "{err}");
    }
    let mut client = ::postgres::Client::connect(&place, ::postgres::NoTls).expect("connects");
    let made = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'empty'";
    assert_eq!(client.query_one(made, &[]).expect("a count").get::<_, i64>(0), 0);
    plan(&world, &place);
    let (code, out, err) = world.run(&["store", "check", &secret]);
    assert!(code == 0 && out.ends_with("nothing is wrong\n") && !out.contains("sentinel"), "{out}{err}");
    assert!(out.contains("tables are there, with ") && out.contains("not looked at"), "{out}");
    client.batch_execute("DROP TABLE empty.ptc_shelf").expect("dropped");
    let (code, out, err) = world.run(&["store", "check", &secret]);
    assert!(code == 1 && out.contains("the table ptc_shelf is missing"), "{out}{err}");
}

#[test]
fn a_store_with_damaged_pages_is_told_with_what_can_be_saved() {
    let world = planned("damaged-pages", "one.db");
    applied(&world, &[]);
    // Whoever uses it last copies the log into the file.
    assert_eq!(world.run(&["effects", "--store", "one.db"]).0, 0);
    let file = world.folder.join("one.db");
    let mut bytes = fs::read(&file).expect("the store");
    // The page of the journal: its rows are the only ones with this text.
    let text = b"worldput";
    let at = bytes.windows(text.len()).position(|window| window == text).expect("a row") / 4_096 * 4_096;
    bytes[at..at + 4_096].fill(0x5a);
    fs::write(&file, &bytes).expect("changed");
    let (code, out, err) = world.run(&["store", "check", "one.db"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    for part in [
        "these tables can be read to their ends: ",
        "these cannot: ptc_effects",
        "store restore",
        "store rescue",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(fs::read(&file).expect("the store"), bytes, "it is left as it is");
    let (code, out, err) = world.run(&["store", "rescue", "one.db", "saved.db"]);
    assert_eq!(code, 6, "rows are lost: {out}{err}");
    assert!(out.contains("ptc_effects: 0 rows; the others cannot be read\n"), "{out}");
    assert!(out.ends_with("saved.db has what could be read of one.db\n"), "{out}");
    assert_eq!(world.run(&["store", "check", "saved.db"]).1, "saved.db: nothing is wrong\n");
    let (code, _, err) = apply(&world, &["saved.db"]);
    assert!(
        code == 2 && err.contains("the plan belongs to the store "),
        "what was done of it is lost: {err}"
    );
    fs::write(&file, [b"SQLite format 3\0".as_slice(), &[0x5a; 8_000]].concat()).expect("changed");
    let (code, out, err) = world.run(&["store", "check", "one.db"]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    assert!(out.contains("no table of it can be read"), "{out}");
}

#[test]
fn a_copy_has_its_name_when_it_is_whole_wherever_its_command_is_killed() {
    for (name, command) in [
        ("killed-backup", ["store", "backup", "one.db", "made.db"]),
        ("killed-restore", ["store", "restore", "one.db", "made.db"]),
        ("killed-rescue", ["store", "rescue", "one.db", "made.db"]),
    ] {
        let world = planned(name, "one.db");
        assert_eq!(world.run(&["effects", "--store", "one.db"]).0, 0);
        world.write("one.db.keys", "the keys");
        fs::set_permissions(world.folder.join("one.db.keys"), fs::Permissions::from_mode(0o600))
            .expect("only this user's");
        let made = |ending: &str| world.folder.join(format!("made.db{ending}"));
        let mut point = 0;
        while killed_at_point(&world.folder, &command, point) {
            point += 1;
            if made("").exists() {
                assert_eq!(fs::read(made(".keys")).expect("its keys"), b"the keys", "{name}");
                assert_eq!(world.run(&["store", "check", "made.db"]).1, "made.db: nothing is wrong\n");
                // It is another store.
                refused(&world, &["made.db"]);
                fs::remove_file(made("")).expect("removed");
                fs::remove_file(made(".keys")).expect("removed");
            } else {
                let (code, _, err) = world.run(&["store", "check", "made.db"]);
                assert!(code == 2 && err.contains("made.db"), "{name}: {err}");
            }
        }
        assert!(point >= 2, "{name}: before and after it has its name");
        let (code, out, err) = world.run(&["store", "check", "made.db"]);
        assert_eq!((code, out.as_str()), (0, "made.db: nothing is wrong\n"), "{name}: {err}");
        assert!(!world.folder.join(".made.db.new").exists(), "{name}: nothing is left beside it");
    }
}

#[test]
fn what_sessions_have_defined_is_looked_at_wherever_a_store_is() {
    let mut machine = Machine::new(Limits::default());
    machine.load("(def x 1)").expect("it compiles");
    assert!(matches!(machine.run(u64::MAX), Step::Done(_)));
    let whole = machine.dump().expect("a dump");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    let postgres = Postgres::start("sessions-looked-at");
    let in_database = postgres.as_ref().map(|server| server.place("looked"));
    for place in [Some("one.db".to_owned()), in_database].into_iter().flatten() {
        let world = World::start("sessions-looked-at");
        let file = world.folder.join(&place).to_string_lossy().into_owned();
        let sessions = Sessions::new(
            Store::open(if place == "one.db" { &file } else { &place }).expect("a store").into(),
        );
        let keep = |id: &str, state: Option<&[u8]>, meta: &Value| {
            let origin = json!({});
            let new =
                NewSession { id, owner: "anna", origin: &origin, meta, ttl_ms: 600_000, idle_ms: 600_000 };
            sessions.create(&new, SessionQuota { most: 9, per_owner: 9 }).expect("it begins");
            let taken = sessions.take(id, "anna", 10_000, None).expect("it is free");
            sessions.commit(&taken.lease, taken.version, meta, state).expect("it is kept");
        };
        keep("whole", Some(&whole), &json!({}));
        keep("new", None, &json!({}));
        let (code, out, err) = world.run(&["store", "check", &place]);
        assert!(code == 0 && out.ends_with("nothing is wrong\n"), "{out}{err}");
        let said = json!({"title": null, "mode": "none", "tags": {}, "role": null, "turn": 1, "attempts": 1,
            "updated_ms": 0, "memory_bytes": 9, "stored": ["x"], "prints": [], "tool_calls": [], "upstream_calls": []});
        keep("lost", None, &said);
        let (code, out, err) = world.run(&["store", "check", &place]);
        assert!(
            code == 1 && out.contains("what session lost has defined is missing; its programs are refused"),
            "{out}{err}"
        );
        keep("damaged", Some(&damaged), &json!({}));
        let (code, out, err) = world.run(&["store", "check", &place]);
        let told = "what session damaged has defined cannot be loaded: the dump is damaged: its checksum does not match; ";
        assert!(code == 1 && out.contains(told) && !out.contains("session whole"), "{out}{err}");
        assert_eq!(out.lines().count(), 2, "both are told: {out}");
    }
}

#[test]
fn the_keys_of_programs_that_wait_in_a_database_are_looked_for_where_somebody_names_them() {
    let Some(server) = Postgres::start("keys-looked-for") else { return };
    let (world, place) = (World::start("keys-looked-for"), server.place("waits"));
    let key = |name: &str, line: &str| {
        world.write(name, line);
        fs::set_permissions(world.folder.join(name), fs::Permissions::from_mode(0o600))
            .expect("only this user's");
    };
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    key("keys", &format!("k1 {KEY}\n"));
    key("others", &format!("k2 {KEY}\n"));
    let keys = Keys::parse(&format!("k1 {KEY}")).expect("keys");
    let sealed = &keys.seal("ptc machine 1\0t1\0anna", b"a program").expect("sealed").to_bytes();
    let about =
        json!({"program": "(f)", "tool": "lisp_eval", "pending": [{"call": 1, "tool": "f", "args": {}}]});
    let new = NewTicket {
        id: "t1",
        owner: "anna",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed,
        about: &about,
    };
    let tickets = Tickets::new(Store::open(&place).expect("a store").into());
    tickets.put(&new, TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    let check = |keys: &[&str]| world.run(&[&["store", "check", &place], keys].concat());
    let (code, out, err) = check(&[]);
    assert!(code == 0 && out.contains("keys of 1 program that waits for people"), "{out}{err}");
    let (code, out, err) = check(&["--ticket-keys", "keys"]);
    assert!(code == 0 && out.ends_with("nothing is wrong\n") && !out.contains("--ticket-keys"), "{out}{err}");
    let (code, out, err) = check(&["--ticket-keys", "others"]);
    assert!(
        code == 1 && out.contains("1 program waits, sealed with the key k1, which others does not have"),
        "{out}{err}"
    );
}

#[test]
fn keys_that_a_killed_command_left_are_told_from_those_of_a_store() {
    let world = planned("left-keys", "one.db");
    let keys = |name: &str, line: &str| {
        world.write(name, line);
        fs::set_permissions(world.folder.join(name), fs::Permissions::from_mode(0o600))
            .expect("only this user's");
    };
    keys("one.db.keys", "its keys");
    keys("made.db.keys", "others");
    let backup = || world.run(&["store", "backup", "one.db", "made.db"]);
    let (code, _, err) = backup();
    assert!(code == 2 && err.contains("a command that was killed may have left it"), "{err}");
    fs::remove_file(world.folder.join("made.db.keys")).expect("removed");
    assert_eq!(backup().0, 0);
    keys("made.db.keys", "others");
    let (code, _, err) = backup();
    assert!(code == 2 && err.contains("is there already") && !err.contains("killed"), "{err}");
}
