//! Rows of calls, as far as they can be read: one with a value that is damaged is still a call of which nobody knows what became
//! of it, and stands in lists beside the others.

use serde_json::{Value as Json, json};

use super::{BEGUN, Became, DISMISSED, DONE, Gap, Known, SEEN, VOID};
use crate::cell::{Reading, Row};
use crate::lease::{self, DAMAGED};

/// What a call says of itself.
macro_rules! columns {
    () => {
        "scope, identity, server, tool, args, state, begun_at, ended_at, answer, note, maker, made_until"
    };
}
pub(super) use columns;

/// Whether a call has no answer, as a condition, which indexes serve: the words of all other states in their order. A word that is
/// damaged is none of them.
macro_rules! is_open {
    () => {
        "(state < 'dismissed' OR (state > 'dismissed' AND state < 'done') OR (state > 'done' AND state < 'seen')
              OR (state > 'seen' AND state < 'void') OR state > 'void')"
    };
}
pub(super) use is_open;

/// One call, by its scope and its identity.
pub(crate) const ONE: &str =
    concat!("SELECT ", columns!(), " FROM ptc_effects WHERE scope = ?1 AND identity = ?2");

/// A call as far as it can be read.
pub(crate) struct CallRow {
    scope: String,
    identity: String,
    server: String,
    tool: String,
    args: Json,
    state: String,
    begun_ms: i64,
    answer: Option<Json>,
    note: Option<String>,
    maker: Option<String>,
    made_until: i64,
    /// What of it cannot be read.
    pub wrong: Option<String>,
}

impl CallRow {
    pub fn read(row: &Row) -> CallRow {
        let mut reading = Reading::of(row, columns!());
        let mut found = CallRow {
            scope: reading.text("scope"),
            identity: reading.text("identity"),
            server: reading.text("server"),
            tool: reading.text("tool"),
            args: reading.json("args", "its arguments").unwrap_or_default(),
            state: reading.text("state"),
            begun_ms: reading.int("begun_at").unwrap_or_default(),
            answer: reading.maybe_json("answer", "its answer"),
            note: reading.maybe_text("note"),
            maker: reading.maybe_text("maker"),
            made_until: reading.int("made_until").unwrap_or_default(),
            wrong: None,
        };
        reading.maybe_int("ended_at");
        if ![BEGUN, DONE, VOID, DISMISSED, SEEN].contains(&found.state.as_str()) {
            reading.tell(format!("its column state holds {:?}, which says nothing", found.state));
        }
        found.wrong = reading.wrong();
        found
    }

    /// Whether nobody knows what became of it.
    pub fn is_open(&self) -> bool {
        ![DONE, VOID, DISMISSED, SEEN].contains(&self.state.as_str())
    }

    pub fn gap(self, now: i64) -> Gap {
        let (lately, silent) = match lease::holds(self.made_until, now) {
            true => (self.maker, None),
            false => (None, self.maker.filter(|_| self.made_until != 0)),
        };
        let args = match self.wrong {
            Some(why) => damaged(&why, self.args),
            None => self.args,
        };
        Gap {
            scope: self.scope,
            identity: self.identity,
            server: self.server,
            tool: self.tool,
            args,
            begun_ms: self.begun_ms,
            maker: lately,
            silent_maker: silent,
        }
    }

    pub fn known(self) -> Known {
        let became = match self.state.as_str() {
            VOID => Became::DidNotHappen,
            DISMISSED => Became::Dismissed,
            // An answer that cannot be read is as good as none.
            DONE => self.answer.map_or(Became::Unknown, Became::Answered),
            _ => Became::Unknown,
        };
        let CallRow { identity, server, tool, begun_ms, note, .. } = self;
        Known { identity, server, tool, begun_ms, became, note }
    }
}

/// What stands in a list in place of the arguments of a call that is damaged.
pub(super) fn damaged(why: &str, args: Json) -> Json {
    json!({DAMAGED: why, "args": args})
}
