//! Calls that may change the world, written down before they are made and after they were answered, so that nothing
//! is sent twice: not by a request that is retried, not by a program that goes on after a crash.
//!
//! A call is known by its identity: the scope that it belongs to, what is called with what, and how many equal calls
//! the scope made before it. Calls of a scope that runs again have the same identities, in the same order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_lisp::machine::ValueKind;
use serde_json::{Value as Json, json};

use crate::call::CallRequest;
use crate::catalog::CatalogTool;
use crate::model::{Fault, Reason};
use crate::pins::digest;

/// A call that is about to be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewEffect<'e> {
    /// What tells it from every other call.
    pub identity: &'e str,
    /// The upstream.
    pub server: &'e str,
    /// The tool.
    pub tool: &'e str,
    /// The arguments, with secrets covered.
    pub args: &'e Json,
}

/// What a journal knows of a call that is about to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// Nothing; from now on it counts as begun.
    Fresh,
    /// It was made, and this is the answer that was kept.
    Done(Json),
    /// It was begun, and what came of it is not known.
    Unknown,
}

/// Where calls are written down. Methods return when what they were given is durable; they may block.
pub trait EffectJournal: Send + Sync {
    /// Writes down that a call is about to be made, unless it was written down before. Of any number that ask at
    /// the same time, one is told [`Begun::Fresh`].
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String>;

    /// Writes down what came of a call.
    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String>;
}

/// The journal of one run.
pub(super) struct Kept {
    scope: Arc<str>,
    journal: Arc<dyn EffectJournal>,
    /// How often equal calls were made so far.
    made: Mutex<BTreeMap<String, u64>>,
}

impl Kept {
    pub fn new(scope: Arc<str>, journal: Arc<dyn EffectJournal>) -> Kept {
        Kept { scope, journal, made: Mutex::default() }
    }

    /// The same before any call.
    pub fn afresh(&self) -> Kept {
        Kept::new(self.scope.clone(), self.journal.clone())
    }

    /// The identity of the next call of this kind. Asked for in the order of the program's calls.
    pub fn identity(&self, request: &CallRequest) -> String {
        let kind = digest(&json!([self.scope, request.server, request.tool.replace('-', "_"), request.args]));
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(kind.clone()).or_default();
        *count += 1;
        let whole = digest(&json!([kind, *count]));
        whole.chars().take(IDENTITY).collect()
    }

    /// Writes down that a call is about to be made.
    pub async fn begin(&self, identity: &str, server: &str, tool: &str, args: Json) -> Result<Begun, String> {
        let (journal, scope) = (self.journal.clone(), self.scope.clone());
        let (identity, server, tool) = (identity.to_owned(), server.to_owned(), tool.to_owned());
        apart(move || {
            let call = NewEffect { identity: &identity, server: &server, tool: &tool, args: &args };
            journal.begin(&scope, &call)
        })
        .await
    }

    /// Writes down what came of a call. Goes on even if nobody waits for it any more.
    pub async fn done(&self, identity: &str, answer: Json) {
        let (journal, scope, identity) = (self.journal.clone(), self.scope.clone(), identity.to_owned());
        let written = apart(move || journal.done(&scope, &identity, &answer));
        if let Err(why) = written.await {
            tracing::error!("the answer to a call cannot be written down, it counts as unknown: {why}");
        }
    }
}

/// Characters of an identity.
const IDENTITY: usize = 32;

async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())?
}

/// A result or fault as it is kept.
pub(super) fn written(result: &Result<(Json, ValueKind), Fault>) -> Json {
    match result {
        Ok((value, kind)) => json!({"ok": true, "value": value, "kind": kind.name()}),
        Err(fault) => json!({"ok": false, "reason": fault.reason.name(), "message": fault.message}),
    }
}

/// What was kept, read again.
pub(super) fn read(mut kept: Json) -> Result<(Json, ValueKind), Fault> {
    let text = |name: &str| kept[name].as_str().unwrap_or_default().to_owned();
    if kept["ok"] == true {
        let kinds = [ValueKind::Json, ValueKind::Text, ValueKind::None];
        let kind = kinds.into_iter().find(|kind| kind.name() == text("kind")).unwrap_or(ValueKind::Json);
        return Ok((kept["value"].take(), kind));
    }
    let reason = Reason::named(&text("reason")).unwrap_or(Reason::UpstreamError);
    Err(Fault::new(reason, text("message")))
}

/// Whether a fault says what became of the call. After all others it may or may not have happened.
pub(super) fn is_known(fault: &Fault) -> bool {
    let silent = [Reason::Timeout, Reason::StreamClosedBeforeResponse, Reason::UpstreamUnavailable];
    fault.unsent || !silent.contains(&fault.reason)
}

/// What a program is told of a call that was begun before and never answered.
pub(super) fn unknown(server: &str, tool: &str, identity: &str) -> Fault {
    let message = format!(
        "outcome unknown: {server}/{tool} was begun before and its answer never came, so it may or may not have \
         happened; it is not made again. Its identity is {identity}"
    );
    Fault::new(Reason::OutcomeUnknown, message)
}

/// The argument by which a tool tells a call that comes twice from two calls, if it takes one.
pub(super) fn key_argument(tool: &CatalogTool) -> Option<&str> {
    let declared = tool.def.input_schema.get("properties").and_then(Json::as_object)?;
    let plain = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let text = |schema: &Json| schema.get("type").is_none_or(|kind| kind == "string");
    declared
        .iter()
        .find(|(name, schema)| plain(name) == "idempotencykey" && text(schema))
        .map(|(name, _)| &**name)
}
