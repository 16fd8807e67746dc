//! `log/` at the terminal: programs look at the turns of this session, or at those in files.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use ptc_host::{Ran, Tools};
use ptc_lisp::machine::ProgramEnd;
use ptc_lisp::prelude::Prelude;
use ptc_server::engine::host::{Host, HostNamespace, Witness, granted};
use ptc_server::engine::turnlog::{TurnLog, part};
use ptc_upstream::Account;
use serde_json::{Value as Json, json};

/// What `log/` looks at.
#[derive(Debug)]
pub struct Log {
    turns: Arc<TurnLog>,
    part: HostNamespace,
    /// Whether programs of this session are added.
    live: bool,
    attempts: u64,
    kept: u64,
}

impl Log {
    /// Over a file or folder, or over what will be typed.
    pub fn open(source: Option<&Path>) -> anyhow::Result<Log> {
        let turns = match source {
            Some(place) => TurnLog::load(place).map_err(|error| anyhow!("--log-source {error}"))?,
            None => TurnLog::default(),
        };
        let turns = Arc::new(turns);
        Ok(Log { part: part(&turns), turns, live: source.is_none(), attempts: 0, kept: 0 })
    }

    /// The namespace, compiled.
    pub fn prelude(&self) -> anyhow::Result<Option<Arc<Prelude>>> {
        Host(vec![self.part.clone()]).with(None).map_err(anyhow::Error::msg)
    }

    /// The tools behind it, which only its exports may call, beside others.
    pub fn tools(&self, others: Tools) -> Tools {
        granted(&self.part.tools, &Arc::new(Witness::default()), None, others)
    }

    /// Adds a program that was run; its texts have no secrets any more.
    pub fn add(&mut self, program: &str, shown: &str, prints: &[String], ran: &Ran, account: &Account) {
        if !self.live {
            return;
        }
        let fail = match &ran.result {
            Ok(ProgramEnd::Fail) => Some("failed".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.kind.reason().to_owned()),
        };
        self.attempts += 1;
        self.kept += u64::from(fail.is_none());
        let call = |call: &ptc_upstream::ledger::LedgerEntry| {
            json!({"server": call.server, "tool": call.tool, "duration_ms": call.duration_ms,
                   "outcome": if call.reason.is_none() { "ok" } else { "error" }})
        };
        let calls: Vec<Json> = account.calls.iter().map(call).collect();
        self.turns.add(
            None,
            json!({
                "schema_version": 2,
                "event": "turn",
                "driver": "repl",
                "ts": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
                "session_id": "repl",
                "turn": self.kept,
                "attempt": self.attempts,
                "committed": fail.is_none(),
                "status": if fail.is_none() { "ok" } else { "error" },
                "duration_ms": u64::try_from(ran.elapsed.as_millis()).unwrap_or(u64::MAX),
                "tags": {},
                "data": {
                    "program": program,
                    "result_preview": shown.chars().take(4_096).collect::<String>(),
                    "prints": prints,
                    "tool_calls": calls,
                    "fail": fail.map(|reason| json!({"reason": reason})),
                },
            }),
        );
    }
}
