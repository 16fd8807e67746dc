//! What a message is, before anything is done about it: JSON-RPC requests, notifications and replies, and the
//! answers to what is none of them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use ptc_host::rounded_integer;
use ptc_lisp::json::check_strictly;
use serde_json::{Map, Value as Json, json};

use super::large::{self, Unread};
use super::skim::Skim;

/// The version that is agreed on when a client asks for one that the server does not speak.
pub const PRIMARY: &str = "2025-11-25";

/// Versions that begin with `initialize`.
pub const WITH_INITIALIZE: [&str; 2] = ["2025-06-18", PRIMARY];

/// The version in which every request stands for itself.
pub const STATELESS: &str = "2026-07-28";

/// The name of clients that do not say theirs.
pub const UNKNOWN: &str = "unknown";

/// What a client calls itself, if it does.
pub fn named(name: &str, version: &str) -> Option<Arc<str>> {
    (!name.is_empty() && name != UNKNOWN).then(|| format!("{name} {version}").trim_end().into())
}

/// A parameter, what it must be, and what stands in for it.
type Default = (&'static str, fn(&Json) -> bool, Json);

/// A message that can be handed on.
#[derive(Debug)]
pub struct Message {
    /// The whole message.
    pub json: Json,
    /// Its method; empty for replies of the client.
    pub method: String,
    /// What it is.
    pub kind: MessageKind,
    /// Whether something was filled in or left as text, so that it is not what was sent.
    pub completed: bool,
}

/// Kinds of messages.
#[derive(Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A request with its id, as JSON text.
    Request(String),
    /// A notification.
    Notification,
    /// An answer to a request of the server.
    Reply,
}

/// A message that cannot be handed on, and the error that answers it.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedMessage {
    /// The code of the error.
    pub code: i64,
    /// Its message.
    pub message: Cow<'static, str>,
    /// The id of the request, if it is known.
    pub id: Json,
}

impl RefusedMessage {
    /// What is JSON, but no message.
    pub const INVALID: RefusedMessage =
        RefusedMessage { code: -32600, message: Cow::Borrowed("Invalid Request"), id: Json::Null };

    /// What is too long to be read. Its client waits for an answer to its id, if it has one.
    pub fn too_long(id: Option<Json>) -> RefusedMessage {
        let message = "Parse error: the message is longer than --max-frame-bytes allows; send less, or start the server with more";
        RefusedMessage { code: -32700, message: message.into(), id: id.unwrap_or_default() }
    }

    /// What is no JSON. Its client waits for an answer to the id that it has all the same.
    fn unreadable(bytes: &[u8], error: &serde_json::Error) -> RefusedMessage {
        let mut message = format!("Parse error: the message is no JSON that can be read: {error}");
        if ["hex escape", "surrogate"].iter().any(|half| message.contains(half)) {
            message.push_str("; half of a surrogate pair such as \\ud83d stands for no character");
        }
        RefusedMessage { code: -32700, message: message.into(), id: id_of(bytes).unwrap_or_default() }
    }

    /// What has one field twice, of which readers of JSON take the first, the last or none.
    fn doubled(bytes: &[u8], field: &str) -> RefusedMessage {
        let message = format!("Invalid Request: the message has the field `{field}` twice; send it once");
        RefusedMessage { code: -32600, message: message.into(), id: id_of(bytes).unwrap_or_default() }
    }

    /// The answer.
    pub fn reply(&self) -> Json {
        error(self.id.clone(), self.code, &self.message)
    }

    /// What has an integer that would be rounded.
    fn rounded(bytes: &[u8], number: &str) -> RefusedMessage {
        let number = number.get(..40).map_or(number.to_owned(), |head| format!("{head}…"));
        let message = format!(
            "Invalid params: the integer {number} does not fit 64 bits and would be rounded; send it as a text"
        );
        RefusedMessage { code: -32602, message: message.into(), id: id_of(bytes).unwrap_or_default() }
    }

    /// What has more values than are read.
    fn too_many(bytes: &[u8]) -> RefusedMessage {
        let id = id_of(bytes).unwrap_or_default();
        RefusedMessage { code: -32600, message: large::TOO_MANY.into(), id }
    }
}

/// The id of a request that cannot be read, or is not to be.
fn id_of(bytes: &[u8]) -> Option<Json> {
    let mut skim = Skim::default();
    skim.see(bytes);
    skim.id()
}

/// A JSON-RPC error.
pub fn error(id: Json, code: i64, message: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Reads a message that is not large.
fn small(bytes: &[u8]) -> Result<(Json, bool), Unread> {
    let json = serde_json::from_slice(bytes)?;
    let text = std::str::from_utf8(bytes).ok();
    // Hardly any message has a field twice, so that is looked at first, in one go.
    let doubled = text.filter(|text| check_strictly(text).is_err());
    let [above @ .., _context] = &large::INPUTS;
    match doubled.and_then(|text| doubled_field(text, above)) {
        Some(field) => Err(Unread::Doubled(field)),
        None => Ok(large::as_sent(json)),
    }
}

/// A field that an object has twice, or that an object in it along this path has, as large messages must not.
fn doubled_field(text: &str, path: &[&str]) -> Option<String> {
    let fields = ptc_host::parts::fields(text, usize::MAX - 1).ok()?;
    let mut seen = BTreeSet::new();
    if let Some((doubled, _)) = fields.iter().find(|(name, _)| !seen.insert(name)) {
        return Some(doubled.clone());
    }
    let (next, rest) = path.split_first()?;
    let (_, value) = fields.iter().find(|(name, _)| name == next)?;
    doubled_field(value, rest)
}

/// Reads a message.
pub fn read(bytes: &[u8]) -> Result<Message, RefusedMessage> {
    let read = match bytes.len() < large::LARGE {
        true => small(bytes),
        false => large::read(bytes).map(|json| (json, true)),
    };
    let (json, has_text) = read.map_err(|unread| match unread {
        Unread::Json(error) => RefusedMessage::unreadable(bytes, &error),
        Unread::TooMany => RefusedMessage::too_many(bytes),
        Unread::Doubled(field) => RefusedMessage::doubled(bytes, &field),
    })?;
    if let Some(number) = std::str::from_utf8(bytes).ok().and_then(rounded_integer) {
        return Err(RefusedMessage::rounded(bytes, number));
    }
    let Json::Object(fields) = &json else { return Err(RefusedMessage::INVALID) };
    if fields.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Err(RefusedMessage::INVALID);
    }
    let reply = fields.contains_key("result") || fields.contains_key("error");
    let method = match fields.get("method") {
        None if reply => {
            return Ok(Message { json, method: String::new(), kind: MessageKind::Reply, completed: false });
        }
        Some(Json::String(method)) => method.clone(),
        _ => return Err(RefusedMessage::INVALID),
    };
    let kind = match fields.get("id") {
        None => MessageKind::Notification,
        Some(id @ Json::String(_)) => MessageKind::Request(id.to_string()),
        Some(id @ Json::Number(number)) if number.is_i64() || number.is_u64() => {
            MessageKind::Request(id.to_string())
        }
        Some(_) => return Err(RefusedMessage::INVALID),
    };
    let mut message = Message { json, method, kind, completed: false };
    message.complete();
    // What was sent must not be read once more in place of this.
    message.completed |= has_text;
    Ok(message)
}

impl Message {
    /// The parameters, if there are any.
    pub fn params(&self) -> Option<&Map<String, Json>> {
        self.json.get("params").and_then(Json::as_object)
    }

    /// The id as it was sent.
    pub fn id(&self) -> Json {
        self.json.get("id").cloned().unwrap_or(Json::Null)
    }

    /// The version that the request itself names.
    pub fn own_version(&self) -> Option<&str> {
        self.params()?.get("_meta")?.get("io.modelcontextprotocol/protocolVersion")?.as_str()
    }

    /// The request that a `notifications/cancelled` is about, as JSON text.
    pub fn cancels(&self) -> Option<String> {
        match self.method.as_str() {
            "notifications/cancelled" => self.params()?.get("requestId").map(Json::to_string),
            _ => None,
        }
    }

    /// The tool and the arguments of a call that says nothing else, taken out of the message.
    pub fn take_plain_call(&mut self) -> Option<(String, Map<String, Json>)> {
        let params = match self.method.as_str() {
            "tools/call" => self.json.get_mut("params")?.as_object_mut()?,
            _ => return None,
        };
        // What is missing was filled in.
        let plain = params.len() == 2
            && params.get("name").is_some_and(Json::is_string)
            && params.get("arguments").is_some_and(Json::is_object);
        match (plain.then(|| params.remove("name"))?, params.remove("arguments")) {
            (Some(Json::String(name)), Some(Json::Object(arguments))) => Some((name, arguments)),
            _ => None,
        }
    }

    /// The version of an `initialize` request that both sides speak.
    pub fn agreed(&self) -> &'static str {
        let wanted = self.params().and_then(|params| params.get("protocolVersion")).and_then(Json::as_str);
        WITH_INITIALIZE.into_iter().find(|version| Some(*version) == wanted).unwrap_or(PRIMARY)
    }

    /// What the client of an `initialize` request calls itself.
    pub fn client(&self) -> Option<Arc<str>> {
        let info = self.params()?.get("clientInfo")?;
        let text = |name: &str| info.get(name).and_then(Json::as_str).unwrap_or_default();
        named(text("name"), text("version"))
    }

    /// Whether the client of an `initialize` request can show forms. One that names no kind of elicitation means forms.
    pub fn has_forms(&self) -> bool {
        let capabilities = self.params().and_then(|params| params.get("capabilities"));
        let kinds = capabilities.and_then(|capabilities| capabilities.get("elicitation")?.as_object());
        kinds.is_some_and(|kinds| kinds.contains_key("form") || !kinds.contains_key("url"))
    }

    /// Fills in what clients may leave out, so that a call without a name is an unknown tool and not a broken
    /// request.
    fn complete(&mut self) {
        let defaults: &[Default] = match self.method.as_str() {
            "initialize" => &[
                ("protocolVersion", Json::is_string, json!(PRIMARY)),
                ("capabilities", Json::is_object, json!({})),
                ("clientInfo", Json::is_object, json!({"name": UNKNOWN, "version": "0"})),
            ],
            "tools/call" => {
                &[("name", Json::is_string, json!("")), ("arguments", Json::is_object, json!({}))]
            }
            _ => return,
        };
        let Json::Object(fields) = &mut self.json else { return };
        self.completed = !fields.contains_key("params");
        if let Json::Object(params) = fields.entry("params").or_insert_with(|| json!({})) {
            for (name, fits, default) in defaults {
                if !params.get(*name).is_some_and(fits) {
                    params.insert((*name).to_owned(), default.clone());
                    self.completed = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::context::as_text;

    #[test]
    fn inputs_of_large_messages_stay_text_and_other_values_are_few() {
        let call = |arguments: &str| {
            let params = format!(r#"{{"name":"lisp_eval","arguments":{{"program":"1",{arguments}}}}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":"seven"}}"#)
        };
        let list = |item: &str, count: usize| format!(r#"{{"a":[{}]}}"#, vec![item; count].join(","));
        let read = |arguments: String| read(call(&arguments).as_bytes());
        for item in ["[]", "{}", "1", r#""""#] {
            let inputs = list(item, 700_000);
            let message = read(format!(r#""context":{inputs}"#)).expect(item);
            let context = &message.json["params"]["arguments"]["context"];
            assert!(*context == as_text(&inputs) && message.completed, "{item}");
            let refused = read(format!(r#""output_schema":{inputs}"#)).expect_err(item);
            assert_eq!((refused.code, refused.id.clone()), (-32600, json!("seven")), "{item}");
            assert_eq!(refused.message, large::TOO_MANY);
        }
        // What stands in a text is one value.
        assert!(read(format!(r#""other":"{}""#, r#"[{,\",]"#.repeat(300_000))).is_ok());
        // Many fields beside the inputs are many values too.
        let fields: Vec<String> = (0..60_000).map(|n| format!(r#""{n}":1"#)).collect();
        assert_eq!(read(fields.join(",")).expect_err("too many").message, large::TOO_MANY);
        // Inputs that look like text among inputs are not taken for it.
        let message = read(r#""context":{"":"{}"}"#.to_owned()).expect("a message");
        let context = &message.json["params"]["arguments"]["context"];
        assert!(*context == as_text(r#"{"":"{}"}"#) && message.completed, "{context}");
        // What cannot be read in them is found here, as everywhere.
        for (inputs, says) in [(r#""\ud83d""#, "surrogate"), ("1e400", "out of range"), ("tru", "column")] {
            let refused = read(format!(r#""context":{{"x":"{}","y":{inputs}}}"#, "x".repeat(large::LARGE)));
            let refused = refused.expect_err(inputs);
            assert_eq!((refused.code, &refused.id), (-32700, &json!("seven")), "{inputs}");
            assert!(refused.message.contains(says), "{refused:?}");
        }
    }

    #[test]
    fn r1_1_messages_are_told_apart() {
        let request = read(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
        assert_eq!((request.method.as_str(), request.kind), ("ping", MessageKind::Request("1".to_owned())));
        let note = read(br#"{"jsonrpc":"2.0","method":"x"}"#).unwrap();
        assert_eq!(note.kind, MessageKind::Notification);
        assert_eq!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap().kind, MessageKind::Reply);
        for (text, refused) in [
            ("[]", RefusedMessage::INVALID),
            ("1", RefusedMessage::INVALID),
            ("{}", RefusedMessage::INVALID),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, RefusedMessage::INVALID),
            (r#"{"jsonrpc":"2.0","id":1,"method":2}"#, RefusedMessage::INVALID),
            (r#"{"jsonrpc":"2.0","id":1}"#, RefusedMessage::INVALID),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, RefusedMessage::INVALID),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, RefusedMessage::INVALID),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err(), refused, "{text}");
        }
    }

    #[test]
    fn what_has_a_field_twice_is_refused_whatever_its_length() {
        for filler in [0, large::LARGE] {
            let filler = "x".repeat(filler);
            for (doubled, rest) in [
                ("id", r#""params":{},"id":2"#),
                ("name", r#""params":{"name":"a","name":"b"}"#),
                ("params", r#""params":{},"params":{}"#),
                ("program", r#""params":{"arguments":{"program":"1","program":"2"}}"#),
                ("context", r#""params":{"arguments":{"context":{"x":1},"context":{"x":2}}}"#),
            ] {
                let text =
                    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","x":"{filler}",{rest}}}"#);
                let refused = read(text.as_bytes()).expect_err(rest);
                assert_eq!(refused.code, -32600, "{refused:?}");
                assert!(refused.message.contains(&format!("`{doubled}` twice")), "{refused:?}");
            }
        }
    }

    /// A client that gets no answer to its id waits for ever.
    #[test]
    fn what_cannot_be_read_is_answered_with_its_id_and_says_where_it_is_wrong() {
        let deep = format!(r#"{{"id":3,"params":{}"#, "[".repeat(20_000));
        for (text, id, says) in [
            ("", json!(null), "EOF"),
            ("{", json!(null), "EOF"),
            (r#"{"jsonrpc":"2.0","id":7,"params":{"o":"\ud83d"}}"#, json!(7), "surrogate"),
            (r#"{"params":{"id":1,"o":"\ud83d"},"id":"a\"b"}"#, json!("a\"b"), "column"),
            (r#"{"x":"\"id\":5","id":-4,"n":1e400}"#, json!(-4), "number out of range"),
            (r#"{"id":{"id":9},"o":"\ud83d"}"#, json!(null), "surrogate"),
            (deep.as_str(), json!(3), "recursion"),
            ("id 5", json!(null), "column 1"),
        ] {
            let refused = read(text.as_bytes()).unwrap_err();
            assert_eq!((refused.code, &refused.id), (-32700, &id), "{text:.60}");
            assert!(
                refused.message.starts_with("Parse error") && refused.message.contains(says),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn an_integer_beyond_64_bits_is_refused_not_rounded() {
        let call = |n: &str| {
            let arguments = format!(r#"{{"program":"data/n","context":{{"n":{n}}}}}"#);
            let params = format!(r#"{{"name":"lisp_eval","arguments":{arguments}}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":7}}"#)
        };
        let refused = read(call("18446744073709551617").as_bytes()).expect_err("it would be rounded");
        assert_eq!((refused.code, refused.id.clone()), (-32602, json!(7)));
        assert!(refused.message.contains("18446744073709551617 does not fit 64 bits"), "{}", refused.message);
        let long = read(call(&"9".repeat(100_000)).as_bytes()).expect_err("it would be rounded");
        assert!(long.message.len() < 200, "{}", long.message);
        for n in ["18446744073709551615", "-9223372036854775808", "1.25", "\"18446744073709551617\""] {
            assert!(read(call(n).as_bytes()).is_ok(), "{n}");
        }
    }

    #[test]
    fn r1_2_1_versions() {
        let agreed = |version: &str| {
            let json = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": version}});
            read(json.to_string().as_bytes()).unwrap().agreed()
        };
        assert_eq!(agreed("2025-06-18"), "2025-06-18");
        assert_eq!(agreed("2025-11-25"), "2025-11-25");
        assert_eq!(agreed("2024-11-05"), PRIMARY);
        assert_eq!(agreed("2026-07-28"), PRIMARY);
    }

    #[test]
    fn clients_say_whether_they_can_show_forms() {
        let forms = |capabilities: Json| {
            let json = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": capabilities}});
            read(json.to_string().as_bytes()).unwrap().has_forms()
        };
        for yes in [json!({"elicitation": {}}), json!({"elicitation": {"form": {}, "url": {}}})] {
            assert!(forms(yes.clone()), "{yes}");
        }
        for no in [json!({}), json!({"elicitation": null}), json!({"elicitation": {"url": {}}}), json!([])] {
            assert!(!forms(no.clone()), "{no}");
        }
    }

    #[test]
    fn r2_11_4_calls_without_a_name_or_arguments_are_completed() {
        let call =
            read(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":3,"arguments":[]}}"#);
        assert_eq!(call.unwrap().json["params"], json!({"name": "", "arguments": {}}));
        let call = read(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#).unwrap();
        assert_eq!(call.json["params"], json!([]), "left to be refused");
    }
}
