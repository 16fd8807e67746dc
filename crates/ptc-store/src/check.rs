//! A look at the rows of a store: whether each can be read, and whether what belongs together is there. A row that is damaged
//! ends the look at itself and at no other one, and whoever is told of it is told what to do about it.

use std::fmt;

use crate::cell::{Cell, Row, cells};
use crate::copy;
use crate::effects::CallRow;
use crate::place::{self, Place};
use crate::requests::RequestRow;
use crate::sessions::SessionHead;
use crate::sqlite::SqliteConnection;
use crate::tickets::{TicketReader, TicketRow};
use crate::tx::{Connection, Mode, Tx};
use crate::{StoreError, effects, migrate, pg, requests, sessions, tickets};

/// Something in a row that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongRow {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub then: &'static str,
}

impl fmt::Display for WrongRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what, self.then)
    }
}

/// What only others can say of what is kept in rows.
pub struct Readers<'r> {
    /// Why what a session has defined cannot be loaded, if it cannot.
    pub state: &'r dyn Fn(&[u8]) -> Option<String>,
    /// Whether a session that says this of itself has defined something.
    pub defines: &'r dyn Fn(&[u8]) -> bool,
    /// What is wrong with what is shown of a ticket that waits, and with what was decided, if something is.
    pub ticket: TicketReader,
    /// Why what is sealed in the open ticket of this id and this owner cannot be opened, if it cannot.
    pub seal: &'r SealReader<'r>,
}

/// Says of a ticket, by its id, its owner and what is sealed in it, why that cannot be opened.
pub type SealReader<'r> = dyn Fn(&str, &str, &[u8]) -> Option<WrongSeal> + 'r;

/// Why what is sealed in a ticket cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongSeal {
    /// The key of this id is not there.
    NoKey(String),
    /// The key is there and does not open it; this says of what is sealed what is wrong.
    Damaged(String),
}

/// What a look at the rows has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookedRows {
    /// What is wrong.
    pub found: Vec<WrongRow>,
    /// The key that is missing, for each ticket that waits and cannot be opened.
    pub lacking: Vec<String>,
    /// How many tickets wait.
    pub waiting: u64,
}

const TICKET: &str = "its program cannot go on and can only be rejected: its owner does that on the page /approvals, whoever runs the \
                      servers with `ptc tickets reject`; or restore a backup";
const ENDED: &str =
    "who asks what came of it is refused until its time is over; `ptc effects --done` lists its calls";
const OPEN_CALL: &str =
    "look at the log of its server which call it was, and settle it: ptc effects settle; or restore a backup";
const ANSWER: &str = "whoever runs its program again is refused: look at what it was to change before its client takes another key; or \
                      restore a backup";
const REPLY: &str = "whoever sends the request again is refused: look at what it was to change before its client takes another key; or \
                     restore a backup";
const SESSION: &str =
    "its programs are refused: let its client close it and start one anew; or restore a backup";
const TABLE_OF_FILE: &str = "save what can be read with `ptc store rescue`; or restore a backup";
const TABLE_OF_DATABASE: &str = "look with the tools of the database (`pg_amcheck`) and save what can be read with them (`pg_dump`); or restore a \
                                 backup";

/// KeyedRows that are listed at a time.
const BATCH: i64 = 1_000;

/// Looks at the rows of tickets, requests, calls and sessions. The store is left as it is, and where there is none, none is made.
pub fn rows(place: &str, readers: &Readers<'_>) -> Result<LookedRows, StoreError> {
    let shown = place::shown(place);
    if let Place::Postgres(config) = place::parse(place)? {
        let mut connection = pg::connect(&config, &shown)?;
        if let Some(problem) = connection.absent(place)? {
            return Err(place::nothing(place, problem));
        }
        return looked(&mut connection, TABLE_OF_DATABASE, &shown, readers);
    }
    copy::steadily(
        place,
        |sqlite| looked(&mut SqliteConnection::of(sqlite), TABLE_OF_FILE, &shown, readers),
        |looked| looked.found.is_empty(),
    )
}

fn looked(
    connection: &mut dyn Connection,
    table: &'static str,
    shown: &str,
    readers: &Readers<'_>,
) -> Result<LookedRows, StoreError> {
    let mut look = RowLook { connection, table, shown, is_old: false, seen: LookedRows::default() };
    let steps = look.one("SELECT COALESCE(MAX(number), 0) FROM ptc_migrations", &[]);
    // Stores of earlier versions lack tables and columns.
    look.is_old = steps.is_ok_and(|row| row.and_then(|row| row.int(0).ok()) < Some(migrate::known()));
    look.tickets(readers)?;
    look.requests()?;
    look.calls()?;
    look.sessions(readers)?;
    Ok(look.seen)
}

/// A look at the rows of a store.
struct RowLook<'l> {
    connection: &'l mut dyn Connection,
    /// What to do about a table that cannot be read.
    table: &'static str,
    shown: &'l str,
    /// Whether the store is of an earlier version.
    is_old: bool,
    seen: LookedRows,
}

/// KeyedRows of a table: how they are called, and the statements that list their keys behind one, and that read one.
struct KeyedRows {
    what: &'static str,
    /// What to do about one that the database does not give.
    then: &'static str,
    /// The key behind which the first one comes.
    first: &'static [&'static str],
    keys: &'static str,
    one: &'static str,
}

const TICKETS: KeyedRows = KeyedRows {
    what: "ticket",
    then: TICKET,
    first: &[""],
    keys: "SELECT id FROM ptc_tickets WHERE id > ?1 ORDER BY id LIMIT ?2",
    one: tickets::WHOLE,
};

const REQUESTS: KeyedRows = KeyedRows {
    what: "request",
    then: REPLY,
    first: &[""],
    keys: "SELECT scope FROM ptc_requests WHERE scope > ?1 ORDER BY scope LIMIT ?2",
    one: requests::ONE,
};

const CALLS: KeyedRows = KeyedRows {
    what: "call",
    then: ANSWER,
    first: &["", ""],
    keys: "SELECT scope, identity FROM ptc_effects WHERE (scope, identity) > (?1, ?2) ORDER BY scope, identity LIMIT ?3",
    one: effects::ONE,
};

const SESSIONS: KeyedRows = KeyedRows {
    what: "session",
    then: SESSION,
    first: &[""],
    keys: "SELECT id FROM ptc_sessions WHERE id > ?1 ORDER BY id LIMIT ?2",
    one: sessions::HEAD,
};

/// The parts of a session, what each is called, and how it is read while the session is open.
const PARTS: [(SessionPart, &str, &str); 3] = [
    (
        SessionPart::Origin,
        "is made of",
        "SELECT p.origin FROM ptc_sessions s LEFT JOIN ptc_session_origins p ON p.session = s.id
         WHERE s.id = ?1 AND s.closed = 0",
    ),
    (
        SessionPart::Meta,
        "says of itself",
        "SELECT p.meta FROM ptc_sessions s LEFT JOIN ptc_session_metas p ON p.session = s.id
         WHERE s.id = ?1 AND s.closed = 0",
    ),
    (
        SessionPart::State,
        "has defined",
        "SELECT p.state, m.meta FROM ptc_sessions s LEFT JOIN ptc_session_states p ON p.session = s.id
             LEFT JOIN ptc_session_metas m ON m.session = s.id
         WHERE s.id = ?1 AND s.closed = 0",
    ),
];

/// A part of what is kept of a session.
#[derive(Clone, Copy, PartialEq)]
enum SessionPart {
    Origin,
    Meta,
    State,
}

impl RowLook<'_> {
    fn tickets(&mut self, readers: &Readers<'_>) -> Result<(), StoreError> {
        let now = self.now_ms()?;
        self.each(&TICKETS, |seen, id, row| {
            let mut ticket = TicketRow::whole(row, readers.ticket);
            if ticket.is_over() {
                return ticket.wrong.map(|why| (why, ENDED));
            }
            if let Some(sealed) = ticket.sealed.take().filter(|_| ticket.waits(now)) {
                seen.waiting += 1;
                match (readers.seal)(id, &ticket.owner, &sealed) {
                    Some(WrongSeal::NoKey(key)) => seen.lacking.push(key),
                    Some(WrongSeal::Damaged(why)) => ticket.is_wrong(format!("what is sealed in it {why}")),
                    None => {}
                }
            }
            ticket.wrong.map(|why| (why, TICKET))
        })
    }

    fn requests(&mut self) -> Result<(), StoreError> {
        self.each(&REQUESTS, |_, _, row| RequestRow::read(row).wrong.map(|why| (why, REPLY)))
    }

    fn calls(&mut self) -> Result<(), StoreError> {
        self.each(&CALLS, |_, _, row| {
            let call = CallRow::read(row);
            let then = if call.is_open() { OPEN_CALL } else { ANSWER };
            call.wrong.map(|why| (why, then))
        })
    }

    fn sessions(&mut self, readers: &Readers<'_>) -> Result<(), StoreError> {
        let (mut open, now) = (Vec::new(), self.now_ms()?);
        self.each(&SESSIONS, |_, id, row| {
            let session = SessionHead::read(row, now);
            if !session.is_closed {
                open.push(id.to_owned());
            }
            session.wrong.map(|why| (why, SESSION))
        })?;
        // One part at a time: a state may be as large as the memory of its session.
        for id in open {
            for (part, name, sql) in PARTS {
                let row = self.one(sql, cells![&id]);
                let wrong = match row {
                    Err(error) if !is_damage(&error) => return Err(error),
                    Err(_) if self.is_old => None,
                    Err(error) => Some(format!("cannot be read: {}", cause(error))),
                    // It was closed since.
                    Ok(None) => None,
                    Ok(Some(row)) => wrong_part(part, &row, readers),
                };
                self.seen.found.extend(
                    wrong.map(|why| WrongRow {
                        what: format!("what session {id} {name} {why}"),
                        then: SESSION,
                    }),
                );
            }
        }
        Ok(())
    }

    /// Looks at each row: `look` says what is wrong with it, and what to do. One that is damaged is told, and the others are looked at.
    fn each(
        &mut self,
        rows: &KeyedRows,
        mut look: impl FnMut(&mut LookedRows, &str, &Row) -> Option<(String, &'static str)>,
    ) -> Result<(), StoreError> {
        let mut after: Vec<Cell> = rows.first.iter().map(|text| Cell::from(*text)).collect();
        loop {
            let wanted = [after.as_slice(), &[Cell::Int(BATCH)]].concat();
            let keys = match self.all(rows.keys, &wanted) {
                Ok(keys) => keys,
                Err(error) if !is_damage(&error) => return Err(error),
                Err(_) if self.is_old => return Ok(()),
                Err(error) => {
                    let what = format!("the list of {}s cannot be read: {}", rows.what, cause(error));
                    self.seen.found.push(WrongRow { what, then: self.table });
                    return Ok(());
                }
            };
            let Some(Row(last)) = keys.last() else { return Ok(()) };
            after.clone_from(last);
            let mut left = keys.iter();
            // A transaction that failed can only be taken back, so the rows behind one that cannot be read are in another.
            while left.len() > 0 {
                let mut tx = begun(self.connection, self.shown)?;
                for Row(key) in left.by_ref() {
                    let name = named(key);
                    let (said, failed) = match tx.rows(rows.one, key) {
                        // It went since.
                        Ok(found) if found.is_empty() => continue,
                        Ok(found) => (look(&mut self.seen, &name, &found[0]), false),
                        Err(error) if !is_damage(&error) => return Err(error),
                        Err(_) if self.is_old => return Ok(()),
                        Err(error) => (Some((cause(error), rows.then)), true),
                    };
                    if let Some((why, then)) = said {
                        let what = format!("{} {name} is damaged: {why}", rows.what);
                        self.seen.found.push(WrongRow { what, then });
                    }
                    if failed {
                        break;
                    }
                }
            }
        }
    }

    fn all(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, StoreError> {
        begun(self.connection, self.shown)?.rows(sql, cells)
    }

    fn one(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Option<Row>, StoreError> {
        Ok(self.all(sql, cells)?.into_iter().next())
    }

    fn now_ms(&mut self) -> Result<i64, StoreError> {
        begun(self.connection, self.shown)?.now_ms()
    }
}

fn begun<'c>(connection: &'c mut dyn Connection, shown: &'c str) -> Result<Tx<'c>, StoreError> {
    Tx::begin(connection, shown, Mode::Read).map_err(|fault| fault.at(shown, "look at its rows"))
}

/// Whether a statement failed because of what is stored, and not because the database is away or busy.
fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Damaged { .. } | StoreError::Failed { .. })
}

/// What the database said.
fn cause(error: StoreError) -> String {
    match error {
        StoreError::Damaged { detail, .. } => detail,
        StoreError::Failed { cause, .. } => cause,
        other => other.to_string(),
    }
}

/// What is wrong with a part of an open session.
fn wrong_part(part: SessionPart, row: &Row, readers: &Readers<'_>) -> Option<String> {
    let bytes = match row.maybe_bytes(0) {
        Ok(bytes) => bytes,
        Err(why) => return Some(format!("cannot be read: {why}")),
    };
    match (part, bytes) {
        (SessionPart::State, Some(state)) => {
            (readers.state)(&state).map(|why| format!("cannot be loaded: {why}"))
        }
        (SessionPart::State, None) => {
            let meta = row.maybe_bytes(1).ok().flatten();
            meta.is_some_and(|meta| (readers.defines)(&meta)).then(|| "is missing".to_owned())
        }
        (_, Some(_)) => unread(row, 0),
        (_, None) => Some("is missing".to_owned()),
    }
}

/// Why a column that is to be JSON, or nothing, cannot be read.
fn unread(row: &Row, column: usize) -> Option<String> {
    match row.maybe_bytes(column) {
        Ok(None) => None,
        Ok(Some(bytes)) => {
            let read = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes);
            read.err().map(|error| format!("cannot be read: it is no JSON: {error}"))
        }
        Err(why) => Some(format!("cannot be read: {why}")),
    }
}

/// A key as people see it.
fn named(key: &[Cell]) -> String {
    key.iter().map(Cell::shown).collect::<Vec<_>>().join(" ")
}
