//! A turn of a session, as the log of turns tells it.

use std::time::Instant;

use ptc_upstream::ledger::{LedgerEntry, Status};
use ptc_upstream::runtime::CatalogOp;
use serde_json::{Value as Json, json};

use super::super::Engine;
use super::super::payload::Payload;
use super::super::text::{cut_chars, moment};
use super::super::trace::text_by;
use super::Session;

/// Characters of a result.
const RESULT_CHARS: usize = 4_096;
/// Lines and calls that are listed.
const LISTED: usize = 100;

/// What a program did to the world and read of it.
pub struct Did<'d> {
    /// Calls of upstreams.
    pub ledger: &'d [LedgerEntry],
    /// Questions about upstreams.
    pub asked: &'d [CatalogOp],
    /// What it read of evidence.
    pub reads: Vec<Json>,
}

impl Engine {
    /// Logs a turn, whether it was kept or not.
    pub(super) fn log_turn(
        &self,
        session: &Session,
        source: &str,
        payload: &Payload,
        did: &Did<'_>,
        started: Instant,
    ) {
        if !self.traces.logs_turns() {
            return;
        }
        let payloads = self.settings.payloads;
        let covered = self.redactor.redact_string(source.to_owned());
        let call = |call: &LedgerEntry| {
            json!({
                "server": call.server,
                "tool": call.tool,
                "args_hash": call.args_hash,
                "duration_ms": call.duration_ms,
                "outcome": match call.status { Status::Ok => "ok", Status::Error => "error" },
            })
        };
        let calls: Vec<Json> = did.ledger.iter().take(LISTED).map(call).collect();
        let prints: Vec<Json> =
            payload.prints.iter().take(LISTED).map(|line| text_by(payloads, line)).collect();
        let result = payload.result.as_deref().map(|text| text_by(payloads, cut_chars(text, RESULT_CHARS).0));
        let fail = payload
            .error
            .as_ref()
            .map(|(reason, message)| json!({"reason": reason, "message": text_by(payloads, message)}));
        let (role, fingerprint) = session.role.clone().unzip();
        let (turn, attempt) = {
            let state = session.state();
            (state.turn, state.attempts)
        };
        let mut event = json!({
            "schema_version": 2,
            "event": "turn",
            "driver": "mcp",
            "ts": moment(ptc_host::now_ms()),
            "session_id": session.id,
            "role": role,
            "grant_fingerprint": fingerprint,
            "turn": turn,
            "attempt": attempt,
            "committed": payload.error.is_none(),
            "status": if payload.error.is_none() { "ok" } else { "error" },
            "duration_ms": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "tags": session.tags,
            "data": {
                "program": text_by(payloads, &covered),
                "result_preview": result,
                "prints": prints,
                "memory_diff": {"changed_keys": payload.session.get("memory").map(|memory| &memory["changed_keys"])},
                "tool_calls": calls,
                "catalog_ops": did.asked.iter().take(LISTED).map(CatalogOp::to_json).collect::<Vec<_>>(),
                "evidence_reads": did.reads,
                "limits_hit": payload.session.get("detail"),
                "preludes": session.frozen.refs,
                "prelude_projection": session.frozen.projection,
                "prelude_call_policy": session.frozen.call_policy(),
                "prelude_presentation": {"masked_namespaces": session.frozen.masked},
                "fail": fail,
                "turn_type": "eval",
            },
        });
        self.redactor.redact_json(&mut event);
        if let Some(turns) = &self.turns {
            turns.add(Some((session.owner.clone(), session.principal.clone())), event.clone());
        }
        self.traces.turn(event);
    }
}
