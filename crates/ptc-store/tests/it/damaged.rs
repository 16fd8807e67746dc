//! Rows with one value that is damaged, in each column in turn: nobody is kept from the others, a look at the store names the row,
//! and whoever may end it can.

use std::sync::Arc;

use ptc_store::check::{Readers, rows};
use ptc_store::effects::{Effects, Finding, NewEffect};
use ptc_store::requests::{Began, NewRequest, Reply, RequestError, Requests};
use ptc_store::sessions::{NewSession, SessionError, SessionQuota, Sessions};
use ptc_store::tickets::{NewTicket, TicketError, TicketQuota, Tickets};
use ptc_store::{Store, StoreError};
use serde_json::{Value as Json, json};

use crate::postgres::Server;
use crate::support::Folder;

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Text,
    Number,
    /// JSON of any shape.
    Json,
    /// JSON of which only a list is right.
    List,
    Bytes,
}
use Holds::{Bytes, List, Number, Text};

/// Values that a damaged page may hold, as a statement of SQLite says them, and what they are none of. Databases with types hold
/// only those that are bytes.
const VALUES: [(&str, &[Holds]); 5] = [
    ("'zz'", &[Number, Holds::Json, List, Bytes]),
    ("9007199254740.5", &[Number, Holds::Json, List, Bytes]),
    ("x'00ff'", &[Text, Number, Holds::Json, List]),
    ("x'7b7d'", &[Text, Number, List]),
    ("x'6e756c6c'", &[Text, Number, List]),
];

const TICKETS: [(&str, Holds); 13] = [
    ("owner", Text),
    ("kind", Text),
    ("lease", Number),
    ("lease_until", Number),
    ("created_at", Number),
    ("expires_at", Number),
    ("began_at", Number),
    ("used", Number),
    ("about", List),
    ("decided", List),
    ("ended", List),
    ("session", Text),
    ("sealed", Bytes),
];

const CALLS: [(&str, Holds); 10] = [
    ("server", Text),
    ("tool", Text),
    ("args", Holds::Json),
    ("state", Text),
    ("begun_at", Number),
    ("ended_at", Number),
    ("answer", Holds::Json),
    ("note", Text),
    ("maker", Text),
    ("made_until", Number),
];

const REQUESTS: [(&str, Holds); 7] = [
    ("tool", Text),
    ("digest", Bytes),
    ("lease", Number),
    ("lease_until", Number),
    ("begun_at", Number),
    ("ended_at", Number),
    ("reply", Holds::Json),
];

const SESSIONS: [(&str, Holds); 13] = [
    ("owner", Text),
    ("closed", Number),
    ("version", Number),
    ("lease", Number),
    ("lease_until", Number),
    ("created_at", Number),
    ("changed_at", Number),
    ("expires_at", Number),
    ("idle_ms", Number),
    ("ends_at", Number),
    ("meta", Holds::Json),
    ("origin", Holds::Json),
    ("state", Bytes),
];

/// A store in which rows are damaged.
struct Damaged {
    place: String,
    is_file: bool,
    store: Arc<Store>,
}

impl Damaged {
    /// The damages that its columns can have.
    fn of(&self, columns: &[(&'static str, Holds)]) -> Vec<(&'static str, &'static str)> {
        let values = |(column, holds): &(&'static str, Holds)| {
            let (column, holds, is_file) = (*column, *holds, self.is_file);
            let can = move |value: &str| {
                is_file || (value.starts_with('x') && [Holds::Json, List].contains(&holds))
            };
            let all = VALUES.iter().filter(move |(value, wrong)| wrong.contains(&holds) && can(value));
            all.map(move |(value, _)| (column, *value))
        };
        columns.iter().flat_map(values).collect()
    }

    fn change(&self, statement: &str) {
        if self.is_file {
            let changed =
                rusqlite::Connection::open(&self.place).and_then(|sqlite| sqlite.execute_batch(statement));
            changed.unwrap_or_else(|error| panic!("{statement}: {error}"));
            return;
        }
        let mut client = ::postgres::Client::connect(&self.place, ::postgres::NoTls).expect("connects");
        client.batch_execute(&statement.replace("x'", "'\\x")).expect("changed");
    }

    /// What a look at the rows tells.
    fn told(&self) -> Vec<String> {
        let readers = Readers { state: &|_| None, defines: &|_| true, ticket: reads, seal: &|_, _, _| None };
        let looked = rows(&self.place, &readers).expect("it can be looked at");
        looked.found.into_iter().map(|one| one.what).collect()
    }
}

fn reads(about: &Json, decided: Option<&Json>) -> Option<String> {
    let is_right = about.is_array() && decided.is_none_or(Json::is_array);
    (!is_right).then(|| "it has another shape".to_owned())
}

fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { .. })
}

fn everywhere(name: &str, holds: fn(&Damaged)) {
    let (folder, server) = (Folder::new(name), Server::start(name));
    let file = folder.place("store.db");
    let in_database = server.as_ref().map(|server| server.place("damaged"));
    for place in [Some(file.clone()), in_database].into_iter().flatten() {
        let store = Arc::new(Store::open(&place).expect("the store opens"));
        holds(&Damaged { is_file: place == file, place, store });
    }
}

/// Keeps a ticket of Ann that waits.
pub(crate) fn put(tickets: &Tickets, id: &str) {
    let about = json!([id]);
    let new = NewTicket {
        id,
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed: id.as_bytes(),
        about: &about,
    };
    tickets.put(&new, TicketQuota { tickets: 1 << 20, bytes: 1 << 30 }, None).expect("kept");
}

#[test]
fn a_ticket_of_which_any_column_is_damaged_is_listed_told_and_rejected_and_keeps_nobody_from_the_others() {
    everywhere("damaged-tickets", |at| {
        let tickets = Tickets::new(at.store.clone()).read_by(reads);
        put(&tickets, "whole");
        for (column, value) in at.of(&TICKETS) {
            for by_owner in [true, false] {
                let (id, case) = ("damaged", format!("{column} = {value}, by its owner: {by_owner}"));
                let (is_owner, is_seal) = (column == "owner", column == "sealed");
                if by_owner && is_owner {
                    continue;
                }
                put(&tickets, id);
                at.change(&match column {
                    "sealed" => format!("UPDATE ptc_ticket_seals SET sealed = {value} WHERE ticket = '{id}'"),
                    _ => format!("UPDATE ptc_tickets SET {column} = {value} WHERE id = '{id}'"),
                });
                let all = tickets.list_all().unwrap_or_else(|error| panic!("{case}: {error}"));
                let own = tickets.list_open("ann").unwrap_or_else(|error| panic!("{case}: {error}"));
                let all: Vec<_> = all.into_iter().map(|(_, ticket)| ticket).collect();
                for (list, shows) in [(&all, true), (&own, !is_owner)] {
                    let found = |id: &str| list.iter().find(|ticket| ticket.id == id);
                    assert!(found("whole").is_some_and(|whole| whole.damaged.is_none()), "{case}: {list:?}");
                    let is_told = |ticket: Option<&ptc_store::tickets::ListedTicket>| {
                        ticket.is_some_and(|ticket| ticket.damaged.is_some() || is_seal) == shows
                    };
                    assert!(is_told(found(id)), "{case}: {list:?}");
                }
                let told = at.told();
                assert!(
                    told.len() == 1 && told[0].starts_with("ticket damaged is damaged: "),
                    "{case}: {told:?}"
                );
                match tickets.take(id, "ann", &json!(["approve"]), 10_000) {
                    Err(TicketError::Owner) if is_owner => {}
                    Err(TicketError::Store(error)) if is_damage(&error) => {}
                    other => panic!("{case}: it is not taken: {other:?}"),
                }
                let owner = match by_owner {
                    true => "ann".to_owned(),
                    false => tickets.owner(id).expect("it is read").expect("it is there"),
                };
                let waiting = tickets.read(id, &owner).unwrap_or_else(|error| panic!("{case}: {error}"));
                assert!(waiting.damage().is_some(), "{case}");
                tickets.end(id, &owner, &json!("no")).unwrap_or_else(|error| panic!("{case}: {error}"));
                let ended = TicketError::Used { ended: json!("no") };
                assert_eq!(tickets.read(id, &owner), Err(ended), "{case}");
                assert_eq!(tickets.list_all().expect("a list").len(), 1, "{case}");
                assert!(is_owner || at.told().is_empty(), "{case}: {:?}", at.told());
                at.change(&format!("DELETE FROM ptc_tickets WHERE id = '{id}'"));
            }
        }
    });
}

#[test]
fn a_call_of_which_any_column_is_damaged_is_listed_told_and_settled_and_keeps_nobody_from_the_others() {
    everywhere("damaged-calls", |at| {
        let effects = Effects::new(at.store.clone()).made_by("process", 10_000);
        let args = json!({"n": 1});
        let begin = |identity: &str| {
            let call = NewEffect { identity, server: "mail", tool: "send", args: &args };
            effects.begin("run", &call).expect("it is begun");
        };
        begin("whole");
        for (column, value) in at.of(&CALLS) {
            let case = format!("{column} = {value}");
            ["open", "done"].iter().for_each(|identity| begin(identity));
            effects.done("run", "done", &json!(1)).expect("it is answered");
            for identity in ["open", "done"] {
                at.change(&format!(
                    "UPDATE ptc_effects SET {column} = {value} WHERE identity = '{identity}'"
                ));
            }
            let gaps = effects.gaps(None).unwrap_or_else(|error| panic!("{case}: {error}"));
            let found = |identity: &str| gaps.iter().find(|gap| gap.identity == identity);
            assert!(found("whole").is_some_and(|whole| whole.args == args), "{case}: {gaps:?}");
            assert!(found("open").is_some_and(|open| open.args["damaged"].is_string()), "{case}: {gaps:?}");
            let open = effects.left_open(|_| false).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(open.iter().any(|open| open.server == "mail" && open.tool == "send"), "{case}: {open:?}");
            assert_eq!(open.iter().map(|open| open.calls).sum::<u64>(), gaps.len() as u64, "{case}");
            effects.over().unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(effects.of_scope("run").expect("a list").len(), 3, "{case}");
            let told = at.told();
            let tells = |identity: &str| {
                told.iter().any(|told| told.starts_with(&format!("call run {identity} is damaged: ")))
            };
            assert!(told.len() == 2 && tells("open") && tells("done"), "{case}: {told:?}");
            let settled = effects.settle("run", "open", &Finding::DidNotHappen, "looked");
            settled.unwrap_or_else(|error| panic!("{case}: {error}"));
            let gaps = effects.gaps(None).expect("a list");
            assert!(gaps.iter().all(|gap| gap.identity != "open"), "{case}: {gaps:?}");
            effects.settled().unwrap_or_else(|error| panic!("{case}: {error}"));
            at.change("DELETE FROM ptc_effects WHERE identity <> 'whole'; DELETE FROM ptc_settled");
        }
    });
}

#[test]
fn a_request_of_which_any_column_is_damaged_is_told_and_keeps_nobody_from_the_others() {
    everywhere("damaged-requests", |at| {
        let requests = Requests::new(at.store.clone());
        let begin = |scope: &str| requests.begin(&NewRequest { scope, tool: "eval", digest: b"d" }, 10_000);
        let keep = |scope: &str| {
            let Ok(Began::Held { lease, .. }) = begin(scope) else { panic!("nobody holds it") };
            requests.keep(&Reply { lease: &lease, answer: &json!(1) }).expect("it is kept");
        };
        keep("whole");
        for (column, value) in at.of(&REQUESTS) {
            let case = format!("{column} = {value}");
            keep("damaged");
            at.change(&format!("UPDATE ptc_requests SET {column} = {value} WHERE scope = 'damaged'"));
            let told = at.told();
            assert!(
                told.len() == 1 && told[0].starts_with("request damaged is damaged: "),
                "{case}: {told:?}"
            );
            match begin("damaged") {
                Err(RequestError::Store(error)) if is_damage(&error) => {}
                other => panic!("{case}: nothing is told of it: {other:?}"),
            }
            assert_eq!(begin("whole"), Ok(Began::Done(json!(1))), "{case}");
            at.change("DELETE FROM ptc_requests WHERE scope = 'damaged'");
        }
    });
}

#[test]
fn a_session_of_which_any_column_is_damaged_is_listed_told_and_closed_and_keeps_nobody_from_the_others() {
    everywhere("damaged-sessions", |at| {
        let sessions = Sessions::new(at.store.clone());
        let begin = |id: &str| {
            let said = json!({"turn": 0});
            let new = NewSession {
                id,
                owner: "ann",
                origin: &said,
                meta: &said,
                ttl_ms: 600_000,
                idle_ms: 600_000,
            };
            sessions.create(&new, SessionQuota { most: 1_000, per_owner: 1_000 }).expect("it begins");
            let taken = sessions.take(id, "ann", 10_000, None).expect("it is free");
            sessions.commit(&taken.lease, taken.version, &said, Some(b"state")).expect("it is kept");
        };
        begin("whole");
        for (column, value) in at.of(&SESSIONS) {
            let case = format!("{column} = {value}");
            begin("damaged");
            let is_part = ["meta", "origin", "state"].contains(&column);
            at.change(&match is_part {
                true => {
                    format!("UPDATE ptc_session_{column}s SET {column} = {value} WHERE session = 'damaged'")
                }
                false => format!("UPDATE ptc_sessions SET {column} = {value} WHERE id = 'damaged'"),
            });
            let listed = sessions.list("ann").unwrap_or_else(|error| panic!("{case}: {error}"));
            let found = |id: &str| listed.iter().find(|one| one.id == id);
            assert!(found("whole").is_some_and(|whole| whole.damaged.is_none()), "{case}: {listed:?}");
            // What is large is not looked at for a list.
            let shows = column != "owner" && !["origin", "state"].contains(&column);
            assert_eq!(
                found("damaged").is_some_and(|one| one.damaged.is_some()),
                shows,
                "{case}: {listed:?}"
            );
            let told = at.told();
            assert!(told.len() == 1 && told[0].contains("session damaged "), "{case}: {told:?}");
            match sessions.take("damaged", "ann", 10_000, None) {
                Err(SessionError::Owner) if column == "owner" => {}
                Err(SessionError::Store(error)) if is_damage(&error) => {}
                other => panic!("{case}: it cannot be used: {other:?}"),
            }
            if column != "owner" {
                sessions.close("damaged", "ann").unwrap_or_else(|error| panic!("{case}: {error}"));
                let listed = sessions.list("ann").expect("a list");
                assert_eq!(listed.len(), 1, "{case}: {listed:?}");
            }
            for table in ["ptc_session_metas", "ptc_session_origins", "ptc_session_states"] {
                at.change(&format!("DELETE FROM {table} WHERE session = 'damaged'"));
            }
            at.change("DELETE FROM ptc_sessions WHERE id = 'damaged'");
        }
    });
}
