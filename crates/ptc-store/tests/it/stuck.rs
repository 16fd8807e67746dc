//! Connections that hang inside a transaction of a PostgreSQL server. Whoever waits for them gives up in the end, and a
//! process that hangs is thrown out before a lease of ten seconds is over. A server that takes no changes says so.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ptc_store::requests::{Began, NewRequest, RequestError, Requests};
use ptc_store::{Store, StoreError};

use crate::eventually::{eventually, found};
use crate::postgres::Server;
use crate::support::Folder;

/// Where a process writes that is to hang; set only for those.
const PLACE: &str = "PTC_STORE_STUCK_PLACE";
/// Points to pass: those of opening the store. The next one is right before a change becomes final.
const OPENED: &str = "2";

const REQUEST: NewRequest<'static> = NewRequest { scope: "ann: k", tool: "eval", digest: b"d" };

fn begin(place: &str) -> Result<Began, RequestError> {
    Requests::new(Arc::new(Store::open(place).expect("opens"))).begin(&REQUEST, 0)
}

fn is_busy(begun: &Result<Began, RequestError>) -> bool {
    matches!(begun, Err(RequestError::Store(StoreError::Busy { .. })))
}

#[test]
fn who_waits_for_a_lock_gives_up_although_its_holder_never_ends() {
    let Some(server) = Server::start("locked") else { return };
    let place = server.place("shared");
    drop(Store::open(&place).expect("opens"));
    let mut holder = server.client();
    holder
        .batch_execute("BEGIN; LOCK TABLE shared.ptc_requests IN ACCESS EXCLUSIVE MODE")
        .expect("it holds the table");
    let refused = begin(&place);
    assert!(is_busy(&refused), "{refused:?}");
    holder.batch_execute("ROLLBACK").expect("it held the table until now");
    assert!(begin(&place).is_ok());
}

/// Ends all other connections and waits until they are gone, so that the next one finds new settings.
const CUT: &str = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";

#[test]
fn a_server_that_takes_no_changes_does_not_answer() {
    let Some(server) = Server::start("read-only") else { return };
    let store = Store::open(&server.place("shared")).expect("opens");
    store.answers().expect("it takes changes");
    let mut other = server.client();
    for (setting, takes) in [("on", false), ("off", true)] {
        let set = format!("ALTER DATABASE postgres SET default_transaction_read_only = {setting}");
        other.batch_execute(&set).expect("it is set for connections to come");
        other.batch_execute(CUT).expect("there are none left");
        let answered = store.answers();
        assert_eq!(answered.is_ok(), takes, "{setting}: {answered:?}");
    }
}

/// A process that stands right before the commit of a change.
struct Stuck {
    process: Child,
    reached: PathBuf,
}

impl Stuck {
    fn start(test: &str, place: &str, folder: &Path) -> Stuck {
        let halt = folder.join("halt");
        std::fs::write(&halt, OPENED).expect("a file");
        let process = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", test])
            .env(PLACE, place)
            .env("PTC_STORE_HALT", &halt)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        Stuck { process, reached: folder.join("halt.reached") }
    }

    fn wait(&self) {
        eventually("it comes to its commit", || self.reached.exists());
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Who waits gives up after five seconds, and the server throws the hanging one out after eight (`pg.rs`), so the second
/// attempt succeeds, unless the machine is so busy that the server comes late.
#[test]
fn a_process_that_hangs_in_a_transaction_holds_others_up_for_less_than_a_lease() {
    if let Some(place) = std::env::var_os(PLACE) {
        let _ = begin(&place.to_string_lossy());
        return;
    }
    let Some(server) = Server::start("stuck") else { return };
    let (place, folder) = (server.place("shared"), Folder::new("stuck"));
    drop(Store::open(&place).expect("opens"));
    let test = "stuck::a_process_that_hangs_in_a_transaction_holds_others_up_for_less_than_a_lease";
    let mut stuck = Stuck::start(test, &place, &folder.0);
    stuck.wait();
    let begun =
        found("the hanging one is thrown out", || Some(begin(&place)).filter(|begun| !is_busy(begun)));
    assert!(
        matches!(begun, Ok(Began::Held { again: false, .. })),
        "nothing of the hanging one was kept: {begun:?}"
    );
    assert_eq!(stuck.process.try_wait().expect("it can be asked"), None, "and it still hangs");
}
