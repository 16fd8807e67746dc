//! Mistakes that are planted to see whether they are found. Each is one that a change could make: a condition of a
//! statement that is left out, two steps in the wrong order, something that is not waited for or not given back.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// How a statement asks for requests that made no calls.
const CALLS: &str = "NOT EXISTS (SELECT 1 FROM ptc_effects e WHERE e.scope = ?1)";

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A reply is kept by whoever has it, also by one that was replaced.
    LeaseCheckLeftOut,
    /// A holder that was replaced still begins calls.
    CallsOfReplaced,
    /// A call is sent first and written down then.
    RowAndSendSwapped,
    /// A call is sent, and a reply given, before the disk has it.
    SyncLeftOut,
    /// What somebody else committed is told before the disk has it.
    RecalledUnsynced,
    /// A reply is kept although there is one.
    ReplyKeptTwice,
    /// A request is taken over although its holder lives.
    RequestTakenWhileHeld,
    /// A session is taken although somebody holds it.
    SessionTakenWhileHeld,
    /// Giving a session back also gives back what somebody else holds.
    ReleaseUnfenced,
    /// A session and the reply to whoever changed it are two transactions.
    ReceiptApart,
    /// The end of a ticket and the reply to whoever decided under a key are two transactions.
    DecisionApart,
    /// Whoever goes on with a ticket after a crash may decide otherwise.
    DecisionForgotten,
    /// A ticket is ended by whoever went on with it, also by one that was replaced.
    TicketEndedByReplaced,
    /// What a program read is not remembered for whoever runs it again.
    ReadsForgotten,
    /// A request that is given back is forgotten although it made calls.
    CallsForgotten,
    /// The reply is given before it is kept.
    ToldBeforeKept,
    /// A call that is given up keeps its permit.
    PermitKept,
    /// A request whose holder died is never taken over.
    NeverTakenOver,
    /// People are asked about calls that were made when the program ran before.
    AskedAgain,
    /// A request that was not carried out is not given back.
    LeaseKept,
    /// That a request cannot go on is told and not kept.
    StaleUnkept,
    /// A request that cannot go on does not tell what it made.
    CallsUntold,
}

impl Fault {
    /// All of them.
    pub const ALL: &[Fault] = &[
        Fault::LeaseCheckLeftOut,
        Fault::CallsOfReplaced,
        Fault::RowAndSendSwapped,
        Fault::SyncLeftOut,
        Fault::RecalledUnsynced,
        Fault::ReplyKeptTwice,
        Fault::RequestTakenWhileHeld,
        Fault::SessionTakenWhileHeld,
        Fault::ReleaseUnfenced,
        Fault::ReceiptApart,
        Fault::DecisionApart,
        Fault::DecisionForgotten,
        Fault::TicketEndedByReplaced,
        Fault::ReadsForgotten,
        Fault::CallsForgotten,
        Fault::ToldBeforeKept,
        Fault::PermitKept,
        Fault::NeverTakenOver,
        Fault::AskedAgain,
        Fault::LeaseKept,
        Fault::StaleUnkept,
        Fault::CallsUntold,
    ];

    /// The mistake of this name.
    pub fn named(name: &str) -> Option<Fault> {
        Fault::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// Its name: that of the variant in lower case.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.extend(letter.to_lowercase());
        }
        name
    }

    /// How it changes statements: how they begin, what stands in them, and what stands there instead.
    fn rewrites(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Fault::LeaseCheckLeftOut => &[("UPDATE ptc_requests SET reply", "lease = ?2", "?2 = ?2")],
            Fault::CallsOfReplaced => &[
                ("SELECT 1 FROM ptc_requests", "lease = ?2", "?2 = ?2"),
                ("SELECT 1 FROM ptc_tickets", "lease = ?2", "?2 = ?2"),
            ],
            Fault::ReplyKeptTwice => &[(
                "UPDATE ptc_requests SET reply",
                "lease = ?2 AND reply IS NULL AND lease_until <> 0",
                "?2 = ?2",
            )],
            Fault::RequestTakenWhileHeld => &[(
                "SELECT scope, tool, digest, lease, lease_until",
                "lease, lease_until",
                "lease, 0 AS lease_until",
            )],
            Fault::SessionTakenWhileHeld => {
                &[("SELECT s.id, s.owner, s.closed, s.version", "s.lease_until", "0 AS lease_until")]
            }
            Fault::ReleaseUnfenced => &[("UPDATE ptc_sessions SET lease_until = 0", "lease = ?2", "?2 = ?2")],
            Fault::DecisionForgotten => &[("SELECT t.id, t.owner, t.kind", "t.decided", "NULL AS decided")],
            Fault::TicketEndedByReplaced => &[("UPDATE ptc_tickets SET used = 1", "lease = ?2", "?2 = ?2")],
            Fault::CallsForgotten => {
                &[("DELETE FROM ptc_requests WHERE scope = ?1 AND lease", CALLS, "1 = 1")]
            }
            Fault::NeverTakenOver => &[("UPDATE ptc_requests SET lease = ?4", "reply IS NULL", "1 = 0")],
            _ => &[],
        }
    }

    /// A statement with the mistake in it.
    pub fn statement(self, sql: &'static str) -> &'static str {
        static CHANGED: Mutex<BTreeMap<(Fault, &str), &str>> = Mutex::new(BTreeMap::new());
        let Some((_, from, to)) = self.rewrites().iter().find(|(begins, ..)| sql.starts_with(begins)) else {
            return sql;
        };
        let mut changed = CHANGED.lock().unwrap_or_else(PoisonError::into_inner);
        // There are a few of them, which are used until the process ends.
        changed.entry((self, sql)).or_insert_with(|| String::leak(sql.replacen(from, to, 1)))
    }
}
