//! What the journal says to people who look into it: what became of the calls of one scope, and how many calls have no
//! answer. Nothing here changes anything.

use serde_json::Value as Json;

use super::row::{self, CallRow};
use super::{DISMISSED, DONE, EffectError, Effects, SEEN, VOID};
use crate::cell::{Reading, Row, cells};
use crate::{lease, tickets};

/// A call that was begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Which call of its scope.
    pub identity: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// When it was begun, in milliseconds since 1970.
    pub begun_ms: i64,
    /// What became of it.
    pub became: Became,
    /// What a person noted about it.
    pub note: Option<String>,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Became {
    /// Nobody knows.
    Unknown,
    /// It was answered, or a person says with what it would have been.
    Answered(Json),
    /// A person found that it did not happen, or it was never sent.
    DidNotHappen,
    /// Nobody knows, and a person said that it does not matter.
    Dismissed,
}

/// A call that is over, in a list of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OverCall {
    /// What was being done.
    pub scope: String,
    /// Which call of it.
    pub identity: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
    /// When it was begun, in milliseconds since 1970.
    pub begun_ms: i64,
    /// When it was answered or settled.
    pub ended_ms: Option<i64>,
    /// What became of it.
    pub found: WasFound,
    /// What a person noted about it: then that person said what became of it.
    pub note: Option<String>,
    /// Whose ticket it is of, if it is of one.
    pub owner: Option<String>,
}

/// What became of a call that is over, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WasFound {
    /// It was answered.
    Answered {
        /// Bytes of the answer.
        bytes: u64,
    },
    /// It did not happen.
    DidNotHappen,
    /// Nobody knows, and it does not matter.
    Dismissed,
}

/// Calls of one tool without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How many there are.
    pub calls: u64,
    /// When the oldest was begun, in milliseconds since 1970.
    pub oldest_ms: i64,
}

impl Effects {
    /// Every call of a scope, the oldest first.
    pub fn of_scope(&self, scope: &str) -> Result<Vec<Known>, EffectError> {
        self.store.read(|tx| {
            Ok(tx.list(
                concat!(
                    "SELECT ",
                    row::columns!(),
                    " FROM ptc_effects WHERE scope = ?1 AND state <> ?2 ORDER BY begun_at, identity"
                ),
                cells![scope, SEEN],
                |row| Ok(CallRow::read(row).known()),
            )?)
        })
    }

    /// Every call of a server that is over, the earliest end first. Answers are counted and not given.
    pub fn over(&self) -> Result<Vec<OverCall>, EffectError> {
        self.store.read(|tx| {
            Ok(tx.list(
                "SELECT e.scope, e.identity, e.server, e.tool, e.args, e.begun_at, e.ended_at, e.state,
                     LENGTH(e.answer) AS bytes, e.note, t.owner
                 FROM ptc_effects e LEFT JOIN ptc_tickets t ON e.scope = 'ticket:' || t.id
                 WHERE e.state IN (?1, ?2, ?3) AND e.server <> '' ORDER BY e.ended_at, e.scope, e.identity",
                cells![DONE, VOID, DISMISSED],
                |row| Ok(over(row)),
            )?)
        })
    }

    /// Whether a scope is that of a ticket with which nobody goes on any more.
    pub fn is_of_ended_ticket(&self, scope: &str) -> Result<bool, EffectError> {
        let Some(id) = scope.strip_prefix(tickets::SCOPE) else { return Ok(false) };
        self.store.read(|tx| {
            let ended = "SELECT 1 FROM ptc_tickets WHERE id = ?1 AND used <> 0";
            Ok(tx.first(ended, cells![id], |_| Ok(()))?.is_some())
        })
    }

    /// How many calls of servers have no answer, by server and tool, most first. Those under way are among them.
    pub fn open(&self) -> Result<Vec<Open>, EffectError> {
        self.left_open(|_| false)
    }

    /// The same without calls that are being made: `lives` says whether the process that a row names still does.
    pub fn left_open(&self, lives: impl Fn(&str) -> bool) -> Result<Vec<Open>, EffectError> {
        let rows = self.store.read(|tx| {
            let now = tx.now_ms()?;
            Ok::<_, EffectError>(tx.list(
                concat!(
                    "SELECT server, tool, maker, COUNT(*) AS calls, MIN(begun_at) AS oldest FROM
                         (SELECT server, tool, begun_at,
                              CASE WHEN made_until > ?1 AND made_until <= ?2 THEN maker END AS maker
                          FROM ptc_effects
                          WHERE server <> '' AND ",
                    row::is_open!(),
                    ") AS begun
                     GROUP BY server, tool, maker ORDER BY server, tool"
                ),
                cells![now, lease::last(now)],
                |row: &Row| {
                    // Names and times that are damaged keep nobody from the others.
                    let mut reading = Reading::of(row, "server, tool, maker, calls, oldest");
                    let open = Open {
                        server: reading.text("server"),
                        tool: reading.text("tool"),
                        calls: u64::try_from(row.int(3)?).unwrap_or_default(),
                        oldest_ms: reading.int("oldest").unwrap_or(now),
                    };
                    Ok((reading.maybe_text("maker"), open))
                },
            )?)
        })?;
        let mut all: Vec<Open> = Vec::new();
        for (maker, open) in rows {
            if maker.as_deref().is_some_and(&lives) {
                continue;
            }
            match all.last_mut().filter(|last| (&last.server, &last.tool) == (&open.server, &open.tool)) {
                Some(last) => {
                    last.calls += open.calls;
                    last.oldest_ms = last.oldest_ms.min(open.oldest_ms);
                }
                None => all.push(open),
            }
        }
        all.sort_by_key(|open| std::cmp::Reverse(open.calls));
        Ok(all)
    }
}

/// The columns of a call that is over, in lists.
const OVER: &str = "scope, identity, server, tool, args, begun_at, ended_at, state, bytes, note, owner";

pub(super) fn over(row: &Row) -> OverCall {
    let mut reading = Reading::of(row, OVER);
    let found = match reading.text("state").as_str() {
        VOID => WasFound::DidNotHappen,
        DISMISSED => WasFound::Dismissed,
        _ => WasFound::Answered {
            bytes: reading.maybe_int("bytes").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default(),
        },
    };
    let mut call = OverCall {
        scope: reading.text("scope"),
        identity: reading.text("identity"),
        server: reading.text("server"),
        tool: reading.text("tool"),
        args: reading.json("args", "its arguments").unwrap_or_default(),
        begun_ms: reading.int("begun_at").unwrap_or_default(),
        ended_ms: reading.maybe_int("ended_at"),
        found,
        note: reading.maybe_text("note"),
        owner: reading.maybe_text("owner"),
    };
    if let Some(why) = reading.wrong() {
        call.args = row::damaged(&why, call.args);
    }
    call
}
