//! Answers, kept as they came. A request carries a [`Slot`]; when its answer arrives, the text of its result is
//! put there undecoded, after its size was looked at, and rmcp only learns that the request was answered. So
//! no answer is larger than its own call allows, and none is lost to a shape that rmcp does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use ptc_host::parts;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorData, GetExtensions as _, RequestId, ServerJsonRpcMessage, ServerResult,
};

use super::skim::Skim;
use crate::model::{Fault, Reason};
use crate::wire::too_large;

/// Where the answer of one request goes.
#[derive(Debug)]
pub struct Slot {
    /// How large the answer may be.
    pub cap: usize,
    /// Whether rmcp must see the answer itself, as it must see lists of tools over HTTP.
    pub shown: bool,
    /// Whether the request may change the world.
    pub once: bool,
    kept: Mutex<KeptMessage>,
}

#[derive(Debug, Default)]
enum KeptMessage {
    #[default]
    Nothing,
    Result(String),
    Fault(Fault),
}

impl Slot {
    /// A slot for an answer of at most `cap` bytes.
    pub fn new(cap: usize, shown: bool, once: bool) -> Arc<Slot> {
        Arc::new(Slot { cap, shown, once, kept: Mutex::default() })
    }

    /// Notes why there will be no answer; the first reason counts.
    pub fn fail(&self, fault: Fault) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*kept, KeptMessage::Nothing) {
            *kept = KeptMessage::Fault(fault);
        }
    }

    fn keep(&self, result: &str) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = KeptMessage::Result(result.to_owned());
    }

    /// Takes the text of the result, or why there is none; `None` if nothing came.
    pub fn take(&self) -> Option<Result<String, Fault>> {
        match std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner)) {
            KeptMessage::Nothing => None,
            KeptMessage::Result(text) => Some(Ok(text)),
            KeptMessage::Fault(fault) => Some(Err(fault)),
        }
    }
}

/// How a slot travels with its request.
#[derive(Clone, Debug)]
pub struct Ticket(pub Arc<Slot>);

/// The slots of requests under way on one connection.
#[derive(Debug, Default)]
pub struct Inbox {
    slots: Mutex<BTreeMap<i64, Arc<Slot>>>,
}

/// The parts of a message, undecoded.
#[derive(Default)]
struct Envelope<'t> {
    id: Option<RequestId>,
    has_method: bool,
    /// Whether it says that it is a message of JSON-RPC.
    is_marked: bool,
    result: Option<&'t str>,
    error: Option<&'t str>,
}

impl<'t> Envelope<'t> {
    fn of(text: &'t str) -> Result<Envelope<'t>, Unreadable> {
        let mut envelope = Envelope::default();
        let mut seen = BTreeSet::new();
        for (name, value) in parts::fields(text, usize::MAX - 1).map_err(|_| Unreadable)? {
            let given = (value != "null").then_some(value);
            match name.as_str() {
                "id" => envelope.id = given.map(serde_json::from_str).transpose().map_err(|_| Unreadable)?,
                "method" => envelope.has_method = given.is_some(),
                "result" => envelope.result = given,
                "error" => envelope.error = given,
                "jsonrpc" => envelope.is_marked = true,
                _ => continue,
            }
            // Twice would be two messages in one.
            if !seen.insert(name) {
                return Err(Unreadable);
            }
        }
        Ok(envelope)
    }
}

/// What every message of JSON-RPC has in it.
const MARK: &[u8] = b"\"jsonrpc\"";

/// The text of a message cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

impl Inbox {
    /// Expects an answer to this message, if it is a request with a slot, which is returned.
    pub fn expect(&self, message: &ClientJsonRpcMessage) -> Option<Arc<Slot>> {
        let ClientJsonRpcMessage::Request(request) = message else { return None };
        let Ticket(slot) = request.request.extensions().get::<Ticket>()?;
        let id = number(&request.id)?;
        self.slots().insert(id, slot.clone());
        Some(slot.clone())
    }

    /// Nobody waits for this answer any more.
    pub fn forget(&self, id: &RequestId) {
        if let Some(id) = number(id) {
            self.slots().remove(&id);
        }
    }

    /// Fails the request whose answer this broken text is; nothing if it does not say so, as lines that servers log.
    pub fn fail_broken(&self, text: &[u8]) -> Option<ServerJsonRpcMessage> {
        let marked = text.windows(MARK.len()).any(|window| window == MARK);
        let mut skim = Skim::default();
        skim.see(text);
        let id = skim.id().filter(|_| marked)?;
        self.fail(Some(id), unreadable())
    }

    /// Fails the request of this id, or the only one under way if there is no id. Gives the message by which
    /// rmcp learns of it.
    pub fn fail(&self, id: Option<i64>, fault: Fault) -> Option<ServerJsonRpcMessage> {
        let mut slots = self.slots();
        let id = match id {
            Some(id) => id,
            None if slots.len() == 1 => *slots.keys().next()?,
            None => return None,
        };
        slots.remove(&id)?.fail(fault);
        Some(failure(RequestId::Number(id)))
    }

    /// An answer was too large to be kept.
    pub fn fail_too_large(&self, id: Option<i64>, bytes: usize, cap: usize) -> Option<ServerJsonRpcMessage> {
        self.fail(id, too_large(bytes, cap))
    }

    /// Takes in the text of a message, or of several in a list. Gives what rmcp has to see.
    pub fn accept(&self, text: &[u8]) -> Result<Vec<ServerJsonRpcMessage>, Unreadable> {
        let text = std::str::from_utf8(text).map_err(|_| Unreadable)?;
        let text = &*parts::paired(text.strip_prefix('\u{feff}').unwrap_or(text));
        if text.trim_ascii_start().starts_with('[') {
            let items = parts::items(text).map_err(|_| Unreadable)?;
            return items.into_iter().filter_map(|item| self.accept_one(item).transpose()).collect();
        }
        Ok(self.accept_one(text)?.into_iter().collect())
    }

    fn accept_one(&self, text: &str) -> Result<Option<ServerJsonRpcMessage>, Unreadable> {
        let envelope = Envelope::of(text)?;
        // Servers log JSON too, with ids of their own; only what says that it answers is taken for an answer.
        let answers = envelope.is_marked || envelope.result.is_some() || envelope.error.is_some();
        let id = envelope.id.as_ref().and_then(number).filter(|_| answers && !envelope.has_method);
        let slot = id.and_then(|id| self.slots().remove(&id).map(|slot| (RequestId::Number(id), slot)));
        // Messages that rmcp does not know are none of our business. One that it need not see is not decoded for it.
        let message = || serde_json::from_str(text).ok();
        let Some((id, slot)) = slot else { return Ok(message()) };
        if text.len() > slot.cap {
            slot.fail(too_large(text.len(), slot.cap));
            return Ok(Some(failure(id)));
        }
        let Some(result) = envelope.result else {
            let error = message().filter(|message| matches!(message, ServerJsonRpcMessage::Error(_)));
            return Ok(error.or_else(|| {
                slot.fail(no_answer(envelope.error));
                Some(failure(id))
            }));
        };
        slot.keep(result);
        let shown = slot.shown.then(message).flatten();
        Ok(Some(shown.unwrap_or_else(|| ServerJsonRpcMessage::response(ServerResult::empty(()), id))))
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a request whose slot says why.
pub fn failure(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::internal_error("see slot", None), Some(id))
}

/// Ids that we give are numbers; some servers answer with the same number as a text.
pub fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => text.parse().ok(),
    }
}

/// An answer that has neither a result nor an error of the shape that JSON-RPC gives it. What stands there is told.
fn no_answer(error: Option<&str>) -> Fault {
    match error.map(|error| serde_json::from_str(error).unwrap_or_else(|_| error.to_owned())) {
        Some(error) => Fault::new(Reason::UpstreamError, error),
        None => Fault::unreadable("answered without a result or an error"),
    }
}

/// A line or body that is no message.
pub fn unreadable() -> Fault {
    Fault::unreadable("answered with something that is no JSON-RPC message")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of the only request under way, of id 1, when this text arrives: nothing, or what its slot has then.
    fn after(text: &str) -> Option<Result<String, String>> {
        let inbox = Inbox::default();
        let slot = Slot::new(1_000, false, true);
        inbox.slots().insert(1, slot.clone());
        if inbox.accept(text.as_bytes()).is_err() {
            inbox.fail_broken(text.as_bytes());
        }
        let kept = slot.take().map(|kept| kept.map_err(|fault| fault.message));
        assert_eq!(inbox.slots().is_empty(), kept.is_some(), "it waits for its answer or has one: {text}");
        kept
    }

    #[test]
    fn what_is_no_message_leaves_the_call_waiting() {
        for line in [
            "[INFO] started",
            "{ id: 1, name: 'x' }",
            "[ 'a', 'b' ]",
            "[]",
            "5",
            "null",
            "\"x\"",
            "{\"level\":\"info\",\"msg\":\"hi\"}",
            "{\"id\":1,\"msg\":\"a line of a log with an id\"}",
            "{\"id\":1,\"msg\":\"cut",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard_of\"}",
        ] {
            assert_eq!(after(line), None, "{line}");
        }
    }

    #[test]
    fn a_bad_answer_is_told_at_once() {
        let unread = unreadable().message;
        for (line, told) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"broken", unread.as_str()),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", "answered without a result or an error"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", "answered without a result or an error"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"out of stock\"}", "out of stock"),
            ("{\"id\":1,\"error\":{\"why\":7}}", "{\"why\":7}"),
        ] {
            assert_eq!(after(line), Some(Err(told.to_owned())), "{line}");
        }
        let answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
        assert_eq!(after(answer), Some(Ok("{}".to_owned())));
        assert_eq!(after(&format!("\u{feff}{answer}")), Some(Ok("{}".to_owned())), "with a byte order mark");
        assert_eq!(after(&format!("[{answer}]")), Some(Ok("{}".to_owned())), "in a list");
        let half = after(&answer.replace("{}", "{\"a\":\"\\ud83d\"}"));
        assert_eq!(half, Some(Ok("{\"a\":\"\\ufffd\"}".to_owned())), "with half of a character");
    }
}
