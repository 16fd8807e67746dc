//! The account of one run while it is kept: calls in the order in which the program made them, whenever they end.

use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::ledger::{LedgerEntry, Overview, Status, shortened};
use crate::metrics::{Returned, ptc_metrics};
use crate::model::{Fault, Reason};
use crate::outcome::{Unknown, Why};

/// The most bytes of a failure in the account.
const DETAIL: usize = 500;

/// What a run did, once it is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Calls of upstreams, in order.
    pub calls: Vec<LedgerEntry>,
    /// Questions about upstreams, in order.
    pub catalog_ops: Vec<CatalogOp>,
}

impl Account {
    /// `upstream_calls`.
    pub fn upstream_calls(&self) -> Json {
        self.calls.iter().map(LedgerEntry::to_json).collect()
    }

    /// `upstream_results`: overviews of the results that there were.
    pub fn upstream_results(&self) -> Json {
        self.calls.iter().filter_map(LedgerEntry::result_json).collect()
    }

    /// `ptc_metrics` for what the program gave back; nothing if it made no calls.
    pub fn metrics(&self, returned: Returned) -> Option<Json> {
        ptc_metrics(&self.calls, returned)
    }
}

/// One question about upstreams.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogOp {
    /// `servers`, `apropos`, `dir`, `doc` or `meta`.
    pub operation: String,
    /// What was asked.
    pub args: Json,
    /// `ok`, `nil_world_fault` or `error`.
    pub outcome: &'static str,
    /// Why there was no answer.
    pub reason: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

impl CatalogOp {
    /// The question as JSON.
    pub fn to_json(&self) -> Json {
        json!({"operation": self.operation, "args": self.args, "outcome": self.outcome, "reason": self.reason,
               "duration_ms": self.duration_ms})
    }
}

/// The account while the run goes on.
#[derive(Debug, Default)]
pub(super) struct Book {
    calls: Vec<LedgerLine>,
    pub catalog_ops: Vec<CatalogOp>,
}

/// How far the calls of a run are that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnderWay {
    /// The call that is waited for the longest, else the last one that ended: `server/tool`.
    pub call: String,
    /// Calls that have ended.
    pub done: usize,
    /// Calls that have begun and not ended.
    pub open: usize,
}

#[derive(Debug)]
enum LedgerLine {
    Open(Open),
    Done(Box<LedgerEntry>),
    /// The program was wrong and no call was made.
    Void,
}

#[derive(Debug)]
struct Open {
    server: String,
    tool: String,
    effect: &'static str,
    args_hash: String,
    recalled: bool,
    /// Set when it was sent and may have changed something.
    sent: Option<Sent>,
    began: Instant,
}

/// A call that was sent.
#[derive(Debug)]
struct Sent {
    /// What people find it by, if it is written down.
    identity: Option<String>,
    called_ms: Option<i64>,
}

/// How a call ended.
pub(super) enum End {
    /// With a result of this size and look.
    Ok(usize, Overview),
    /// With a failure of the world.
    Failed(Fault),
    /// It was never made.
    Void,
}

impl Book {
    /// Opens a line; its number.
    pub fn open(&mut self, server: &str, tool: &str, args_hash: String) -> usize {
        let (server, tool) = (shortened(server, DETAIL), shortened(tool, DETAIL));
        self.calls.push(LedgerLine::Open(Open {
            server,
            tool,
            effect: "unknown",
            args_hash,
            recalled: false,
            sent: None,
            began: Instant::now(),
        }));
        self.calls.len() - 1
    }

    /// Notes which tool it is and what that does to the world.
    pub fn identify(&mut self, line: usize, tool: &str, effect: &'static str) {
        if let Some(LedgerLine::Open(open)) = self.calls.get_mut(line) {
            open.tool = tool.to_owned();
            open.effect = effect;
        }
    }

    /// Notes that the call is sent now and may change something.
    pub fn sent(&mut self, line: usize, call: &Unknown<'_>) {
        if let Some(LedgerLine::Open(open)) = self.calls.get_mut(line) {
            open.sent = Some(Sent { identity: call.identity.map(str::to_owned), called_ms: call.called_ms });
        }
    }

    /// Notes that the call was not made now, but by an earlier run.
    pub fn recall(&mut self, line: usize) {
        if let Some(LedgerLine::Open(open)) = self.calls.get_mut(line) {
            open.recalled = true;
        }
    }

    /// Closes a line.
    pub fn close(&mut self, line: usize, end: End) {
        let Some(slot) = self.calls.get_mut(line) else { return };
        if let LedgerLine::Open(open) = std::mem::replace(slot, LedgerLine::Void) {
            *slot = match end {
                End::Void => LedgerLine::Void,
                end => LedgerLine::Done(Box::new(open.ended(end))),
            };
        }
    }

    /// How far the calls are; nothing before the first one.
    pub fn under_way(&self) -> Option<UnderWay> {
        let (mut open, mut ended) = (Vec::new(), Vec::new());
        for line in &self.calls {
            match line {
                LedgerLine::Open(call) => open.push((&call.server, &call.tool)),
                LedgerLine::Done(call) => ended.push((&call.server, &call.tool)),
                LedgerLine::Void => {}
            }
        }
        let (server, tool) = open.first().or(ended.last())?;
        Some(UnderWay { call: format!("{server}/{tool}"), done: ended.len(), open: open.len() })
    }

    /// The whole account. Calls that nobody waits for any more may have had their effect and are in it.
    pub fn finish(self) -> Account {
        let entry = |line: LedgerLine| match line {
            LedgerLine::Open(open) => {
                let fault = open.given_up();
                Some(open.ended(End::Failed(fault)))
            }
            LedgerLine::Done(entry) => Some(*entry),
            LedgerLine::Void => None,
        };
        Account { calls: self.calls.into_iter().filter_map(entry).collect(), catalog_ops: self.catalog_ops }
    }
}

impl Open {
    /// What is told of a call that nobody waits for any more.
    fn given_up(&self) -> Fault {
        match &self.sent {
            Some(Sent { identity, called_ms }) => {
                let (server, tool, identity) = (&*self.server, &*self.tool, identity.as_deref());
                Unknown { server, tool, identity, called_ms: *called_ms }.fault(Why::Ended)
            }
            None => Fault::new(Reason::RunContextClosed, "the program ended before the answer came"),
        }
    }

    fn ended(self, end: End) -> LedgerEntry {
        let mut entry = LedgerEntry {
            server: self.server,
            tool: self.tool,
            status: Status::Ok,
            duration_ms: self.began.elapsed().as_millis() as u64,
            result_bytes: None,
            oversize: false,
            reason: None,
            error: None,
            recalled: self.recalled,
            unsent: false,
            effect: self.effect,
            args_hash: self.args_hash,
            overview: None,
        };
        match end {
            End::Ok(bytes, overview) => {
                entry.result_bytes = Some(bytes);
                entry.overview = Some(overview);
            }
            End::Failed(fault) => {
                entry.status = Status::Error;
                entry.oversize = fault.reason == Reason::ResponseTooLarge;
                entry.result_bytes = fault.bytes;
                entry.reason = Some(fault.reason);
                entry.unsent = fault.unsent;
                entry.error = Some(shortened(&fault.message, DETAIL));
            }
            End::Void => {}
        }
        entry
    }
}
