//! Answers, kept as they came. A request carries a [`Slot`]; when its answer arrives, the text of its result is
//! put there undecoded, after its size was looked at, and rmcp only learns that the request was answered. So
//! no answer is larger than its own call allows, and none is lost to a shape that rmcp does not know. What rmcp decodes
//! itself has few values, which are counted before: no message takes many times its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptc_host::parts;
use rmcp::model::{
    ClientJsonRpcMessage, CustomRequest, ErrorCode, ErrorData, GetExtensions as _, RequestId,
    ServerJsonRpcMessage, ServerRequest, ServerResult,
};
use serde::Deserialize;

use super::skim::Skim;
use crate::model::{Fault, Reason, UNCALLED_VALUES};
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
    /// Whose messages these are.
    upstream: String,
    /// Whether it was told that one was dropped.
    told: AtomicBool,
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
        let fields = parts::fields(text, MOST_FIELDS).map_err(|_| Unreadable)?;
        if fields.len() > MOST_FIELDS {
            return Err(Unreadable);
        }
        for (name, value) in fields {
            let given = (value != "null").then_some(value);
            match name.as_str() {
                // Rmcp would build a list before it says that this is no id.
                "id" if value.starts_with(['[', '{']) => return Err(Unreadable),
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

/// Most fields of a message, of which JSON-RPC knows six.
const MOST_FIELDS: usize = 64;

/// How the reason begins for which an answer was not read that has no slot to say it, as that to a handshake.
pub const UNREAD: &str = "it answered with a message of";

/// What every message of JSON-RPC has in it.
const MARK: &[u8] = b"\"jsonrpc\"";

/// The text of a message cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable;

/// The error of an answer. Its `data`, which may be large, is of no use to anybody here.
#[derive(Deserialize)]
struct SaidError {
    code: ErrorCode,
    message: String,
}

impl Inbox {
    /// For a new connection to this upstream.
    pub fn of(upstream: &str) -> Arc<Inbox> {
        Arc::new(Inbox { upstream: upstream.to_owned(), ..Inbox::default() })
    }

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
        // Messages that come together share it.
        let mut room = UNCALLED_VALUES;
        if text.trim_ascii_start().starts_with('[') {
            let items = parts::items(text).map_err(|_| Unreadable)?;
            return items.filter_map(|item| self.accept_one(item, &mut room).transpose()).collect();
        }
        Ok(self.accept_one(text, &mut room)?.into_iter().collect())
    }

    fn accept_one(&self, text: &str, room: &mut usize) -> Result<Option<ServerJsonRpcMessage>, Unreadable> {
        let envelope = Envelope::of(text)?;
        // Servers log JSON too, with ids of their own; only what says that it answers is taken for an answer.
        let answers = envelope.is_marked || envelope.result.is_some() || envelope.error.is_some();
        let id = envelope.id.as_ref().and_then(number).filter(|_| answers && !envelope.has_method);
        let slot = id.and_then(|id| self.slots().remove(&id).map(|slot| (RequestId::Number(id), slot)));
        let Some((id, slot)) = slot else {
            return Ok(decoded(text, room).unwrap_or_else(|values| self.too_much(envelope, values)));
        };
        if text.len() > slot.cap {
            slot.fail(too_large(text.len(), slot.cap));
            return Ok(Some(failure(id)));
        }
        let Some(result) = envelope.result else {
            let refusal = envelope.error.and_then(|error| serde_json::from_str::<SaidError>(error).ok());
            return Ok(Some(match refusal {
                Some(SaidError { code, message }) => {
                    ServerJsonRpcMessage::error(ErrorData::new(code, message, None), Some(id))
                }
                None => {
                    slot.fail(no_answer(envelope.error));
                    failure(id)
                }
            }));
        };
        slot.keep(result);
        // Whoever reads the result counts its values and says what is wrong with it.
        let shown = slot.shown.then(|| decoded(text, room).ok()).flatten().flatten();
        Ok(Some(shown.unwrap_or_else(|| ServerJsonRpcMessage::response(ServerResult::empty(()), id))))
    }

    /// What rmcp sees of a message with too many values: whoever waits for an answer gets one that says so.
    fn too_much(&self, envelope: Envelope<'_>, values: usize) -> Option<ServerJsonRpcMessage> {
        if !envelope.is_marked {
            return None;
        }
        let why = format!(
            "{values} values, more than the {UNCALLED_VALUES} that are read of what no program called for"
        );
        if envelope.has_method && !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(upstream = %self.upstream, "sent a message of {why}; such messages are dropped");
        }
        match envelope.id? {
            // Requests that rmcp does not know are refused with what stands here.
            id if envelope.has_method => {
                let why = format!("a message of {why}");
                let request = ServerRequest::CustomRequest(CustomRequest::new(why, None));
                Some(ServerJsonRpcMessage::request(request, id))
            }
            id => {
                let error = ErrorData::internal_error(format!("{UNREAD} {why}"), None);
                Some(ServerJsonRpcMessage::error(error, Some(id)))
            }
        }
    }

    fn slots(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What rmcp makes of a message; nothing if it does not know it, which is none of our business. One that has more values
/// than there is room for is not decoded.
fn decoded(text: &str, room: &mut usize) -> Result<Option<ServerJsonRpcMessage>, usize> {
    // The message itself is one too.
    let values = 1 + parts::extent(text.as_bytes()).values;
    *room = room.checked_sub(values).ok_or(values)?;
    Ok(serde_json::from_str(text).ok())
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
    use serde_json::Value as Json;

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
        let odd = after(&answer.replace("\"id\"", "\"x\":[[]],\"id\":[1],\"id\""));
        assert_eq!(odd, Some(Err(unread.to_owned())), "with a list for an id");
        let half = after(&answer.replace("{}", "{\"a\":\"\\ud83d\"}"));
        assert_eq!(half, Some(Ok("{\"a\":\"\\ufffd\"}".to_owned())), "with half of a character");
    }

    /// What rmcp sees of a text when nobody waits for an answer of this id.
    fn seen(text: &str) -> Vec<Json> {
        let seen = Inbox::default().accept(text.as_bytes()).expect("it can be read");
        seen.iter().map(|message| serde_json::to_value(message).expect("a message")).collect()
    }

    #[test]
    fn a_message_with_too_many_values_is_not_decoded_whatever_it_is() {
        let list = |values: usize| format!("[{}0]", "0,".repeat(values - 1));
        let (few, many) = (list(UNCALLED_VALUES / 2), list(UNCALLED_VALUES));
        let told = "values, more than the 100000 that are read of what no program called for";
        let log = |data: &str| {
            let params = format!(r#"{{"level":"info","data":{data}}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#)
        };
        assert_eq!((seen(&log(&few)).len(), seen(&log(&many)).len()), (1, 0));
        assert_eq!(seen(&format!("[{0},{0},{1}]", log(&few), log("1"))).len(), 2, "they share the room");
        let [answer] = &*seen(&format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"_meta":{many}}}}}"#)) else {
            panic!("a greeting is answered with why it is not read");
        };
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(answer["id"] == 0 && message.contains(told), "{answer}");
        let question = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"ping","params":{{"_meta":{many}}}}}"#);
        let [question] = &*seen(&question) else { panic!("a question is passed on to be refused") };
        let method = question["method"].as_str().unwrap_or_default();
        assert!(question["id"] == "a" && method.contains(told), "{question}");
        assert!(seen(&format!(r#"{{"id":0,"msg":{many}}}"#)).is_empty(), "a line of a log");
    }

    #[test]
    fn the_data_of_an_error_is_not_read() {
        let inbox = Inbox::default();
        let slot = Slot::new(1_000_000, false, true);
        inbox.slots().insert(1, slot.clone());
        let data = format!("[{}0]", "0,".repeat(UNCALLED_VALUES));
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-7,"message":"out of stock","data":{data}}}}}"#
        );
        let messages = inbox.accept(text.as_bytes()).expect("it can be read");
        let [ServerJsonRpcMessage::Error(answer)] = &*messages else { panic!("{messages:?}") };
        let error = &answer.error;
        assert_eq!((error.code.0, &*error.message, &error.data), (-7, "out of stock", &None));
    }
}
