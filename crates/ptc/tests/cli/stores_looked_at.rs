//! What people read of a store and write into it: calls that are settled and listed, checks that change nothing, and
//! addresses without a password.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ptc_server::engine::Keys;
use ptc_store::Store;
use ptc_store::effects::{Begun, Effects, Finding, NewEffect};
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use ptc_store::tickets::{NewTicket, TicketQuota, Tickets};
use serde_json::{Value, json};

/// A folder with a store in it, and commands that are run there.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("looked-at-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Place { folder }
    }

    fn open(&self) -> Arc<Store> {
        Arc::new(Store::open(&self.path("one.db").to_string_lossy()).expect("a store"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The exit code, and what is printed.
    fn run(&self, args: &[&str], variables: &[(&str, &str)]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        for name in ["PTC_RUNNER_MCP_STORE", "PGPASSWORD", "PGPASSFILE"] {
            command.env_remove(name);
        }
        command.args(args).current_dir(&self.folder).env("HOME", &self.folder);
        command.env("XDG_STATE_HOME", &self.folder).envs(variables.iter().copied());
        let output = command.output().expect("the command starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    fn ptc(&self, args: &[&str]) -> (i32, String, String) {
        self.run(args, &[])
    }
}

/// Begins a call without an answer.
fn begin(effects: &Effects, scope: &str, identity: &str, server: &str) {
    let args = json!({"order": 4});
    let call = NewEffect { identity, server, tool: "close", args: &args };
    assert_eq!(effects.begin(scope, &call), Ok(Begun::Fresh));
}

fn gaps(place: &Place) -> usize {
    place.ptc(&["effects", "--json", "--store", "one.db"]).1.lines().count()
}

#[test]
fn a_forgotten_note_settles_nothing() {
    let place = Place::new("forgotten");
    let effects = Effects::new(place.open());
    begin(&effects, "request:anna:k1", "3f2a99c0", "shop");
    begin(&effects, "request:anna:k2", "77b1d2e3", "shop");
    for (args, part) in [
        (&["3f2a99c0", "--did-not-happen", "--upstream", "shop"][..], "one call is named by its identity"),
        (&["3f2a99c0", "looked", "--upstream", "shop"], "one call is named by its identity"),
        (&["--all", "--note", "3f2a", "--did-not-happen"], "`3f2a` is the identity of a call"),
        (&["3f2a99c0", "77b1d2e3"], "`77b1d2e3` is the identity of a call"),
        (&["--all", "3f2a99c0"], "name one call by its identity, or several"),
        (&["--all"], "say what you found: ptc effects settle --all --note"),
        (&["3f2a99c0"], "say what you found: ptc effects settle IDENTITY"),
        (&["3f2a99c0", "--note", "looked"], "--note is for several calls"),
        (&["3f2a99c0", "", "--happened"], "the note is empty"),
        (&["3f2a99c0", " \n"], "the note is empty"),
        (&["--all", "--note", ""], "the note is empty"),
        (&[][..], "name a call"),
    ] {
        let (code, out, err) = place.ptc(&[&["effects", "settle", "--store", "one.db"], args].concat());
        assert!(code == 2 && out.is_empty() && err.contains(part), "{args:?}: {out}{err}");
        assert_eq!(gaps(&place), 2, "{args:?}");
    }
    let (code, out, err) = place.ptc(&[
        "effects",
        "settle",
        "--all",
        "--upstream",
        "shop",
        "--note",
        "looked",
        "--store",
        "one.db",
    ]);
    let named = "settled 3f2a99c0 shop/close\nsettled 77b1d2e3 shop/close\nsettled 2 calls\n";
    assert_eq!((code, out.as_str(), gaps(&place)), (0, named, 0), "{err}");
    assert!(err.contains("the note is kept for people") && err.contains("--did-not-happen"), "{err}");
}

#[test]
fn a_call_that_was_settled_without_a_finding_is_settled_again_with_one() {
    for (flag, known) in [
        ("--happened=7", Begun::Done(json!({"ok": true, "value": 7, "kind": "json"}))),
        ("--did-not-happen", Begun::Fresh),
    ] {
        let place = Place::new(&format!("again{flag}"));
        let effects = Effects::new(place.open());
        begin(&effects, "plan:p", "3f2a99c0", "shop");
        // Noted by a run that makes it again: no person's business.
        begin(&effects, "run:r1", "3f2a-0007", "tool");
        effects.set_aside("run:r1", "3f2a-0007", "made again by `ptc resume --repeat`").expect("noted");
        let settle =
            |args: &[&str]| place.ptc(&[&["effects", "settle", "--store", "one.db", "3f2a"], args].concat());
        let (code, out, err) = settle(&["asked the team"]);
        assert_eq!((code, out.as_str()), (0, "settled 3f2a99c0 shop/close\n"), "{err}");
        assert!(err.contains("settle it again with --happened or --did-not-happen"), "{err}");
        let (code, _, err) = settle(&["asked them again"]);
        assert!(code == 2 && err.contains("not known: asked the team; --happened or"), "{err}");
        let (code, out, err) = settle(&["they looked", flag]);
        assert_eq!((code, out.as_str(), err.as_str()), (0, "settled again 3f2a99c0 shop/close\n", ""));
        let notes: Vec<_> = effects.settled().expect("a list").into_iter().map(|call| call.note).collect();
        assert_eq!(notes, [Some("asked the team".to_owned()), Some("they looked".to_owned())]);
        let (code, _, err) = settle(&["no, they were wrong", "--did-not-happen"]);
        assert!(code == 2 && err.contains("happen") && err.contains(": they looked; `ptc effects"), "{err}");
        let args = json!({"order": 4});
        let call = NewEffect { identity: "3f2a99c0", server: "shop", tool: "close", args: &args };
        assert_eq!(effects.begin("plan:p", &call), Ok(known), "{flag}");
    }
}

#[test]
fn every_list_says_in_one_way_whose_a_call_is() {
    let place = Place::new("whose");
    let store = place.open();
    let about = json!({"pending": []});
    let ticket = NewTicket {
        id: "tkt-1",
        owner: "anna",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed: b"sealed",
        about: &about,
    };
    Tickets::new(store.clone()).put(&ticket, TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    let effects = Effects::new(store);
    let scopes = [
        ("request:anna:order-7", json!("order-7"), "(owner anna, key order-7)"),
        ("call:anna:9f3c", Value::Null, "(owner anna, no key)"),
        ("ticket:tkt-1", Value::Null, "(owner anna, ticket:tkt-1)"),
    ];
    for (scope, ..) in &scopes {
        ["open", "settled", "done"].iter().for_each(|identity| begin(&effects, scope, identity, "shop"));
        effects.settle(scope, "settled", &Finding::DidNotHappen, "looked").expect("settled");
        effects.done(scope, "done", &json!({"ok": true})).expect("answered");
    }
    let mut shape = None;
    for list in [&[][..], &["--settled"], &["--done"]] {
        let text = place.ptc(&[&["effects", "--store", "one.db"], list].concat()).1;
        let lines = place.ptc(&[&["effects", "--json", "--store", "one.db"], list].concat()).1;
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), scopes.len(), "{list:?}: {text}");
        for (scope, key, told) in &scopes {
            assert!(text.contains(told), "{list:?}: {text}");
            let line = lines.iter().find(|line| line["scope"] == *scope).expect("it is listed");
            assert_eq!((&line["owner"], &line["key"]), (&json!("anna"), key), "{list:?}");
            let names: Vec<String> = line.as_object().expect("fields").keys().cloned().collect();
            assert_eq!(*shape.get_or_insert_with(|| names.clone()), names, "{list:?}");
        }
    }
}

#[test]
fn whoever_settles_a_call_of_an_answered_request_is_told_that_its_reply_stays() {
    let place = Place::new("answered");
    let store = place.open();
    let (requests, effects) = (Requests::new(store.clone()), Effects::new(store));
    for (key, identity) in [("answered", "aa11"), ("open", "bb22")] {
        let scope = format!("request:anna:{key}");
        let new = NewRequest { scope: &scope, tool: "lisp_eval", digest: b"d" };
        let Ok(Began::Held { lease, .. }) = requests.begin(&new, 0) else { panic!("nobody holds it") };
        begin(&effects, &scope, identity, "shop");
        if key == "answered" {
            requests.keep(&Reply { lease: &lease, answer: &json!({"text": "unknown"}) }).expect("kept");
        }
    }
    let settle = |identity| {
        place.ptc(&["effects", "settle", identity, "not there", "--did-not-happen", "--store", "one.db"]).1
    };
    let told = settle("aa11");
    assert!(told.contains("was answered already") && told.contains("under another key"), "{told}");
    assert_eq!(settle("bb22"), "settled bb22 shop/close\n");
    let help = place.ptc(&["effects", "settle", "--help"]).1;
    assert!(help.contains("under another key"), "{help}");
}

#[test]
fn calls_that_are_over_are_listed_with_what_became_of_them() {
    let place = Place::new("over");
    let effects = Effects::new(place.open());
    for (identity, scope) in [("aa11", "request:anna:order-7"), ("bb22", "plan:p"), ("cc33", "plan:p")] {
        begin(&effects, scope, identity, "shop");
    }
    effects.done("request:anna:order-7", "aa11", &json!({"ok": true})).expect("noted");
    begin(&effects, "request:anna:order-8", "dd44", "shop");
    let (_, open, _) = place.ptc(&["effects", "--store", "one.db"]);
    assert!(open.contains("(owner anna, key order-8)") && open.contains("(plan:p)"), "{open}");
    let nothing = place.ptc(&["effects", "--settled", "--store", "one.db"]);
    assert_eq!((nothing.0, nothing.1.contains("no call was settled")), (0, true), "{nothing:?}");
    let settle = ["effects", "settle", "bb22", "it is not there", "--did-not-happen", "--store", "one.db"];
    assert_eq!(place.ptc(&settle).0, 0);
    let listed = |flag: &str| {
        let (code, out, err) = place.ptc(&["effects", flag, "--json", "--store", "one.db"]);
        assert_eq!(code, 0, "{err}");
        let calls = out.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        calls.collect::<Vec<Value>>()
    };
    let (done, settled) = (listed("--done"), listed("--settled"));
    assert_eq!((done.len(), settled.len()), (1, 1), "{done:?} {settled:?}");
    let call = &done[0];
    assert_eq!(
        [&call["identity"], &call["owner"], &call["key"], &call["server"], &call["tool"]],
        ["aa11", "anna", "order-7", "shop", "close"]
    );
    assert_eq!((&call["answer_bytes"], &call["finding"]), (&json!(11), &Value::Null));
    assert!(call["begun"].is_string() && call["ended"].is_string(), "{call}");
    let call = &settled[0];
    assert_eq!(
        (&call["identity"], &call["finding"], &call["note"]),
        (&json!("bb22"), &json!("did not happen"), &json!("it is not there"))
    );
    let (_, text, _) = place.ptc(&["effects", "--done", "--store", "one.db"]);
    assert!(text.contains("owner anna, key order-7") && text.contains("11 bytes"), "{text}");
    let (_, text, _) = place.ptc(&["effects", "--settled", "--store", "one.db"]);
    assert!(text.contains("did not happen: it is not there"), "{text}");
    let (code, out, _) = place.ptc(&["effects", "--done", "--upstream", "other", "--store", "one.db"]);
    assert!(code == 0 && out.contains("no such call has an answer"), "{out}");
    // Made after all, and answered: what was found before stays beside that.
    begin(&effects, "plan:p", "bb22", "shop");
    assert_eq!(listed("--settled"), settled);
    effects.done("plan:p", "bb22", &json!({"ok": true})).expect("noted");
    assert_eq!(listed("--settled"), settled);
    let identities: Vec<Value> = listed("--done").into_iter().map(|call| call["identity"].clone()).collect();
    assert_eq!(identities, ["aa11", "bb22"]);
}

/// A file of a store, or nothing.
fn bytes(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

#[test]
fn a_check_changes_neither_the_file_nor_its_log() {
    let place = Place::new("unchanged");
    let store = place.open();
    begin(&Effects::new(store.clone()), "run", "aa11", "shop");
    // As a server that was killed leaves it.
    for ending in ["", "-wal", "-synced"] {
        let (from, to) = (format!("one.db{ending}"), format!("killed.db{ending}"));
        fs::copy(place.path(&from), place.path(&to)).expect("copied");
    }
    drop(store);
    for (name, has_log) in [("killed.db", true), ("one.db", false)] {
        let parts = [name.to_owned(), format!("{name}-wal"), format!("{name}-synced")];
        let read = || parts.iter().map(|part| bytes(&place.path(part))).collect::<Vec<_>>();
        let before = read();
        assert_eq!(before[1].is_some(), has_log, "{name}");
        for _ in 0..2 {
            let (code, out, err) = place.ptc(&["store", "check", name]);
            assert_eq!((code, out), (0, format!("{name}: nothing is wrong\n")), "{err}");
            assert!(read() == before, "{name} was changed");
        }
    }
}

#[test]
fn a_store_whose_log_is_gone_before_anything_of_it_was_copied_is_refused() {
    let place = Place::new("log-gone");
    let store = place.open();
    begin(&Effects::new(store.clone()), "run", "aa11", "shop");
    for ending in ["", "-synced"] {
        let (from, to) = (format!("one.db{ending}"), format!("cut.db{ending}"));
        fs::copy(place.path(&from), place.path(&to)).expect("copied");
    }
    let before = bytes(&place.path("cut.db"));
    let (code, out, err) = place.ptc(&["store", "check", "cut.db"]);
    assert!(code == 1 && out.contains("its log is gone") && out.contains("restore a backup"), "{out}{err}");
    for args in [&["tickets", "--store", "cut.db"][..], &["effects", "--store", "cut.db"]] {
        let (code, out, err) = place.ptc(args);
        assert!(code == 2 && err.contains("its log is gone"), "{args:?}: {out}{err}");
    }
    let (code, out, _) = place.ptc(&["store", "check", "cut.db", "--accept-loss"]);
    assert!(code == 1 && out.contains("move its files away"), "{out}");
    assert_eq!(bytes(&place.path("cut.db")), before, "no store is made in it");
}

/// Sets when a file was written.
fn written(path: &Path, at: SystemTime) {
    fs::File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(at))
        .expect("its time is set");
}

#[test]
fn a_store_whose_log_is_gone_after_a_part_of_it_was_copied_is_refused_until_somebody_accepts_that() {
    let place = Place::new("log-gone-later");
    begin(&Effects::new(place.open()), "run", "aa11", "shop");
    // Closed and opened again: what was done before is in the file, what is done now is in the log.
    let store = place.open();
    begin(&Effects::new(store.clone()), "run", "bb22", "shop");
    let now = SystemTime::now();
    let cut = |name: &str, age: u64| {
        for (ending, age) in [("", age), ("-synced", 60)] {
            let to = place.path(&format!("{name}{ending}"));
            fs::copy(place.path(&format!("one.db{ending}")), &to).expect("copied");
            written(&to, now - Duration::from_secs(age));
        }
    };
    cut("cut.db", 3_600);
    // Another program that uses SQLite copies the log into the file and takes it away.
    cut("copied.db", 1);
    let (code, out, err) = place.ptc(&["store", "check", "cut.db"]);
    let told = "its log is gone, and what was acknowledged since the file was last written";
    assert!(code == 1 && out.contains(told) && out.contains("--accept-loss"), "{out}{err}");
    for args in [&["tickets", "--store", "cut.db"][..], &["effects", "--store", "cut.db"]] {
        let (code, out, err) = place.ptc(args);
        assert!(code == 2 && err.contains(told), "{args:?}: {out}{err}");
    }
    let (code, out, err) = place.ptc(&["store", "check", "cut.db", "--accept-loss"]);
    assert!(code == 0 && out.ends_with("nothing is wrong\n"), "{out}{err}");
    for name in ["cut.db", "copied.db"] {
        let (code, out, err) = place.ptc(&["effects", "--store", name]);
        assert!(code == 1 && out.contains("aa11") && err.is_empty(), "{name}: {out}{err}");
    }
    // A store that was closed has no log, whatever times a copy of it has.
    drop(store);
    cut("closed.db", 3_600);
    let (code, out, err) = place.ptc(&["store", "check", "closed.db"]);
    assert_eq!((code, out.as_str()), (0, "closed.db: nothing is wrong\n"), "{err}");
}

#[test]
fn a_store_is_refused_if_what_was_noted_beside_its_log_is_broken() {
    let place = Place::new("note-broken");
    let store = place.open();
    begin(&Effects::new(store.clone()), "run", "aa11", "shop");
    let note = fs::read(place.path("one.db-synced")).expect("a note");
    let mut changed = note.clone();
    changed[20] ^= 1;
    for (name, note, is_broken) in [
        ("garbage.db", b"garbage".to_vec(), true),
        ("changed.db", changed, true),
        ("short.db", note[..31].to_vec(), true),
        // As one leaves it that was killed before it wrote anything, or whose machine lost its power then.
        ("empty.db", Vec::new(), false),
        ("zeros.db", vec![0; 32], false),
        ("whole.db", note, false),
    ] {
        for ending in ["", "-wal"] {
            let (from, to) = (format!("one.db{ending}"), format!("{name}{ending}"));
            fs::copy(place.path(&from), place.path(&to)).expect("copied");
        }
        let beside = place.path(&format!("{name}-synced"));
        fs::write(&beside, note).expect("a note");
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)).expect("it changes");
        let (code, out, err) = place.ptc(&["store", "check", name]);
        assert_eq!(code, i32::from(is_broken), "{name}: {out}{err}");
        let (code, _, err) = place.ptc(&["tickets", "--store", name]);
        assert_eq!(
            (code, err.contains("(`-synced`) is broken")),
            (if is_broken { 2 } else { 0 }, is_broken),
            "{err}"
        );
        let (code, out, err) = place.ptc(&["store", "check", name, "--accept-loss"]);
        assert!(code == 0 && out.ends_with("nothing is wrong\n"), "{name}: {out}{err}");
        let (code, out, err) = place.ptc(&["effects", "--store", name]);
        assert!(code == 1 && out.contains("aa11"), "{name}: {out}{err}");
    }
}

#[test]
fn options_of_a_connection_are_never_taken_for_a_path_and_shown() {
    let place = Place::new("options");
    let options = "host=db user=ptc password=ptc-sentinel-7f3a";
    for args in
        [&["store", "check", options][..], &["tickets", "--store", options], &["effects", "--store", options]]
    {
        let (code, out, err) = place.ptc(args);
        assert!(code == 2 && err.contains("write `postgres://"), "{args:?}: {err}");
        assert!(!format!("{out}{err}").contains("sentinel"), "{out}{err}");
    }
}

#[test]
fn a_backup_through_a_link_has_the_keys_that_lie_beside_the_file() {
    let place = Place::new("linked");
    let tickets = Tickets::new(place.open());
    let about =
        json!({"program": "(f)", "tool": "lisp_eval", "pending": [{"call": 1, "tool": "f", "args": {}}]});
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let servers = Keys::parse(&format!("k1 {KEY}")).expect("keys");
    let sealed = &servers.seal("ptc machine 1\0t1\0anna", b"a program").expect("sealed").to_bytes();
    let new = NewTicket {
        id: "t1",
        owner: "anna",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed,
        about: &about,
    };
    tickets.put(&new, TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    symlink("one.db", place.path("link.db")).expect("a link");
    let keys = |name: &str, line: String| {
        fs::write(place.path(name), line).expect("keys");
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o600)).expect("it changes");
    };
    let backup = |args: &[&str]| place.ptc(&[&["store", "backup"], args].concat());
    // Nothing is written before the keys are there, so that the command can be mended and given again.
    keys("other", format!("k2 {KEY}\n"));
    keys("namesake", format!("k1 {}=\n", "A".repeat(43)));
    for (args, part) in [
        (&["link.db", "copy.db"][..], "1 program waits, sealed with the key k1"),
        (&["link.db", "copy.db", "--ticket-keys", "other"], "--without-keys"),
        (&["link.db", "copy.db", "--ticket-keys", "gone"], "there is no gone"),
    ] {
        let (code, out, err) = backup(args);
        assert!(code == 2 && err.contains(part), "{args:?}: {out}{err}");
        assert!(!place.path("copy.db").exists(), "{args:?}");
    }
    let (code, out, err) = backup(&["link.db", "bare.db", "--without-keys"]);
    assert!(code == 0 && out.contains("sealed with the key k1, which is not copied"), "{out}{err}");
    keys("apart", format!("k1 {KEY}\n"));
    let check = |args: &[&str]| place.ptc(&[&["store", "check"], args].concat());
    for name in ["link.db", "bare.db"] {
        for (more, told) in [
            (&[][..], "1 program waits, sealed with the key k1, which "),
            (
                &["--ticket-keys", "namesake"],
                "was sealed with another key that was called k1 as well; its program cannot go on",
            ),
        ] {
            let (code, out, err) = check(&[&[name], more].concat());
            assert!(
                code == 1 && out.contains(told) && !out.contains("nothing is wrong"),
                "{name}: {out}{err}"
            );
        }
        assert_eq!(check(&[name, "--ticket-keys", "apart"]).0, 0, "{name}");
    }
    // The right key does not open what is damaged, and no other one does: the rest is worth its copy.
    let (code, out, err) = backup(&["link.db", "namesakes.db", "--ticket-keys", "namesake"]);
    assert!(code == 0 && out.contains("of 1 program what is sealed is damaged"), "{out}{err}");
    assert!(!out.contains("which is not copied"), "{out}");
    keys("one.db.keys", format!("k1 {KEY}\n"));
    assert_eq!(check(&["link.db"]).0, 0, "they lie beside the file");
    let (code, out, err) = backup(&["link.db", "copy.db"]);
    assert!(code == 0 && out.contains("with the keys of "), "{out}{err}");
    assert_eq!(bytes(&place.path("copy.db.keys")), bytes(&place.path("one.db.keys")));
    let (code, out, err) =
        place.run(&["store", "backup", "named.db"], &[("PTC_RUNNER_MCP_STORE", "link.db")]);
    assert!(code == 0 && place.path("named.db.keys").exists(), "{out}{err}");
}

#[test]
fn the_store_is_taken_from_the_environment_unless_it_is_named() {
    let place = Place::new("environment");
    let effects = Effects::new(place.open());
    begin(&effects, "run", "aa11", "shop");
    let named = [("PTC_RUNNER_MCP_STORE", "one.db")];
    let (code, out, err) = place.run(&["effects"], &named);
    assert!(code == 1 && out.contains("aa11"), "{out}{err}");
    for args in [&["tickets"][..], &["store", "check"]] {
        let (code, out, err) = place.run(args, &named);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
        let (code, _, err) = place.ptc(args);
        assert!(code == 2 && err.contains("PTC_RUNNER_MCP_STORE"), "{args:?}: {err}");
        let help = place.ptc(&[args, &["--help"]].concat()).1;
        assert!(help.contains("PTC_RUNNER_MCP_STORE"), "{help}");
    }
    let (code, _, err) = place.run(&["tickets", "--store", "typo.db"], &named);
    assert!(code == 2 && err.contains("there is no such file"), "{err}");
    for command in ["effects", "plan", "apply"] {
        let help = place.ptc(&[command, "--help"]).1;
        assert!(help.contains("PTC_RUNNER_MCP_STORE"), "{help}");
    }
}

/// A server that asks whoever connects for a password, and hangs up.
fn asked_for_a_password(listener: &TcpListener) -> String {
    let (mut client, _) = listener.accept().expect("somebody connects");
    let mut length = [0; 4];
    client.read_exact(&mut length).expect("a length");
    let mut rest = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut rest).expect("who connects");
    client.write_all(b"R\0\0\0\x08\0\0\0\x03").expect("asked in the clear");
    let mut head = [0; 5];
    client.read_exact(&mut head).expect("a message");
    assert_eq!(head[0], b'p');
    let mut password = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
    client.read_exact(&mut password).expect("a password");
    String::from_utf8(password).expect("UTF-8").trim_end_matches('\0').to_owned()
}

#[test]
fn the_password_of_a_database_is_taken_from_where_its_other_clients_take_it() {
    let place = Place::new("passwords");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let address = format!("postgres://ptc@127.0.0.1:{port}/ptc");
    let file = place.path(".pgpass");
    fs::write(&file, format!("other:*:*:*:no\n127.0.0.1:{port}:ptc:ptc:from-the-file\n")).expect("a file");
    let readable = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("it changes");
    readable(0o600);
    for (variables, password) in
        [(&[("PGPASSWORD", "from-the-environment")][..], "from-the-environment"), (&[][..], "from-the-file")]
    {
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| asked_for_a_password(&listener));
            let (code, out, err) = place.run(&["store", "check", &address], variables);
            assert_eq!(asked.join().expect("it was asked"), password, "{out}{err}");
            assert!(code == 2 && !format!("{out}{err}").contains(password), "{out}{err}");
        });
    }
    readable(0o644);
    let (code, _, err) = place.ptc(&["store", "check", &address]);
    assert!(code == 2 && err.contains(".pgpass") && !err.contains("from-the-file"), "{err}");
}
