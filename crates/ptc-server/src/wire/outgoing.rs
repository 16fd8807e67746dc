//! Secrets are covered in every message that leaves, here and in one place for stdio, HTTP and streams of events: results,
//! errors, notifications and questions, whoever put something into them. Texts that are cut before they leave have their
//! secrets covered before that by the engine, since a cut may leave a part of one.
//!
//! Nearly no message holds a secret, so its text is looked through once and sent as it is. One that does is read and covered
//! value by value, but for what the protocol itself says: ids, types, addresses and names of fields, which a secret that is a
//! word (`text`, `error`) may be found in, and which clients depend on.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use ptc_upstream::Redactor;
use serde_json::Value as Json;
use tokio::sync::Semaphore;

use super::incoming::error;
use super::skim::Skim;

/// Fields whose texts are the protocol's, or the client's own.
const KEPT: [&str; 12] = [
    "enum",
    "method",
    "mimeType",
    "name",
    "progressToken",
    "protocolVersion",
    "requestId",
    "requestState",
    "required",
    "resultType",
    "type",
    "uri",
];

/// Fields that hold what programs and upstreams said, with names of their own.
const FREE: [&str; 2] = ["data", "structuredContent"];

/// A longer answer is looked through where nobody else waits.
const LONG: usize = 64 << 10;

/// Long answers that are looked through at a time.
const LONG_AT_ONCE: usize = 2;

/// Covers secrets in what leaves. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outgoing {
    redactor: Redactor,
    long: Arc<Semaphore>,
}

impl Outgoing {
    /// One that covers these secrets.
    pub fn new(redactor: Redactor) -> Outgoing {
        Outgoing { redactor, long: Arc::new(Semaphore::new(LONG_AT_ONCE)) }
    }

    /// The text of a message.
    pub fn message(&self, text: String) -> String {
        if !self.redactor.finds(&text) {
            return text;
        }
        match serde_json::from_str::<Json>(&text) {
            Ok(mut message) => {
                self.cover(&mut message);
                message.to_string()
            }
            // It nests deeper than can be read. Better no answer than a secret, or one that is no JSON.
            Err(_) => {
                let mut skim = Skim::default();
                skim.see(text.as_bytes());
                let told = "the answer holds a secret and nests too deep for covering it; return less of it";
                error(skim.id().unwrap_or_default(), -32603, told).to_string()
            }
        }
    }

    /// An answer over HTTP: one message, or a stream of events with one each.
    pub async fn response(&self, response: Response, is_stream: bool) -> Response {
        if self.redactor.is_none() {
            return response;
        }
        let (mut head, body) = response.into_parts();
        if is_stream {
            return Response::from_parts(head, self.events(body));
        }
        let Ok(body) = body.collect().await else {
            return Response::from_parts(head, Body::empty());
        };
        let Some(covered) = self.covered(body.to_bytes()).await else {
            return Response::from_parts(head, Body::empty());
        };
        head.headers.remove(CONTENT_LENGTH);
        Response::from_parts(head, Body::from(covered))
    }

    /// A message as it leaves; nothing if that cannot be found out.
    async fn covered(&self, bytes: Bytes) -> Option<Bytes> {
        if bytes.len() <= LONG {
            return Some(self.bytes(bytes));
        }
        let turn = self.long.clone().acquire_owned().await.ok()?;
        let outgoing = self.clone();
        let looked_through = tokio::task::spawn_blocking(move || {
            // Also with a client that is gone.
            let _turn = turn;
            outgoing.bytes(bytes)
        });
        looked_through.await.ok()
    }

    fn bytes(&self, bytes: Bytes) -> Bytes {
        match std::str::from_utf8(&bytes) {
            Ok(text) if self.redactor.finds(text) => Bytes::from(self.message(text.to_owned())),
            _ => bytes,
        }
    }

    /// A stream of events. Each line of it is whole before it is looked at.
    fn events(&self, body: Body) -> Body {
        let begun = (self.clone(), body.into_data_stream(), Vec::new());
        Body::from_stream(stream::unfold(begun, |(outgoing, mut body, mut rest)| async move {
            while let Some(Ok(bytes)) = body.next().await {
                rest.extend_from_slice(&bytes);
                let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { continue };
                let after = rest.split_off(end + 1);
                let lines = outgoing.lines(rest);
                return Some((Ok::<_, Infallible>(lines), (outgoing, body, after)));
            }
            // What an interrupted stream leaves is no event.
            None
        }))
    }

    /// Whole lines of a stream of events.
    fn lines(&self, lines: Vec<u8>) -> Bytes {
        let text = match String::from_utf8(lines) {
            Ok(text) => text,
            Err(other) => return Bytes::from(other.into_bytes()),
        };
        let covered = text.split_inclusive('\n').map(|line| match line.strip_prefix("data:") {
            Some(data) if !data.trim().is_empty() => {
                let end = &data[data.trim_end().len()..];
                format!("data: {}{end}", self.message(data.trim().to_owned()))
            }
            _ => line.to_owned(),
        });
        Bytes::from(covered.collect::<String>())
    }

    fn cover(&self, message: &mut Json) {
        let Some(message) = message.as_object_mut() else { return };
        let parts =
            message.iter_mut().filter(|(name, _)| ["error", "params", "result"].contains(&name.as_str()));
        let mut open: Vec<&mut Json> = parts.map(|(_, part)| part).collect();
        while let Some(part) = open.pop() {
            self.mirror(part);
            match part {
                Json::Object(fields) => {
                    for (name, value) in fields {
                        match (name.as_str(), value) {
                            (name, _) if KEPT.contains(&name) => {}
                            // Names in its outermost object are ours.
                            (name, Json::Object(fields)) if FREE.contains(&name) => {
                                fields.values_mut().for_each(|value| self.redactor.redact_json(value));
                            }
                            (name, value) if FREE.contains(&name) => self.redactor.redact_json(value),
                            (_, value) => open.push(value),
                        }
                    }
                }
                Json::Array(items) => open.extend(items),
                Json::String(text) => *text = self.redactor.redact_string(std::mem::take(text)),
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
    }

    /// Where the text of a result is its object, it stays so: covered as text it could be no JSON any more.
    fn mirror(&self, result: &mut Json) {
        let Some(structured) = result.get("structuredContent") else { return };
        let (before, mut covered) = (structured.to_string(), structured.clone());
        if let Some(fields) = covered.as_object_mut() {
            fields.values_mut().for_each(|value| self.redactor.redact_json(value));
        }
        let texts = result.get_mut("content").and_then(Json::as_array_mut).into_iter().flatten();
        for content in texts {
            if content.get("text").and_then(Json::as_str) == Some(&before) {
                content["text"] = covered.to_string().into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    fn outgoing() -> Outgoing {
        Outgoing::new(Redactor::new(["hunter2-hunter2", "text", "1234567890"].map(SecretString::from).iter()))
    }

    #[test]
    fn whatever_a_message_says_is_covered_but_for_the_words_of_the_protocol() {
        for (message, expected) in [
            (
                json!({"jsonrpc": "2.0", "id": "hunter2-hunter2", "result": {
                    "content": [{"type": "text", "text": "tags: HUNTER2 hunter2"}],
                    "structuredContent": {"text": {"hunter2-hunter2": [1234567890]}, "list": ["hunter2-hunter2"]},
                }}),
                json!({"jsonrpc": "2.0", "id": "hunter2-hunter2", "result": {
                    "content": [{"type": "text", "text": "tags: [REDACTED]"}],
                    "structuredContent": {"text": {"[REDACTED]": ["[REDACTED]"]}, "list": ["[REDACTED]"]},
                }}),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "error": {
                    "code": -32002, "message": "no ptc://hunter2-hunter2", "data": {"uri": "ptc://hunter2-hunter2"},
                }}),
                json!({"jsonrpc": "2.0", "id": 1, "error": {
                    "code": -32002, "message": "no ptc://[REDACTED]", "data": {"uri": "ptc://[REDACTED]"},
                }}),
            ),
            (
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": "hunter2-hunter2", "progress": 1234567890, "message": "hunter2-hunter2",
                }}),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": "hunter2-hunter2", "progress": 1234567890, "message": "[REDACTED]",
                }}),
            ),
            (
                json!({"jsonrpc": "2.0", "id": 1, "result": {"type": "text", "requestState": "a.text.b"}}),
                json!({"jsonrpc": "2.0", "id": 1, "result": {"type": "text", "requestState": "a.text.b"}}),
            ),
        ] {
            assert_eq!(outgoing().message(message.to_string()), expected.to_string());
        }
    }

    #[test]
    fn a_text_that_is_the_object_of_its_result_stays_json() {
        let object = json!({"status": "ok", "total": 1234567890});
        let result =
            json!({"content": [{"type": "text", "text": object.to_string()}], "structuredContent": object});
        let covered = outgoing().message(json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string());
        let covered: Json = serde_json::from_str(&covered).unwrap();
        let text = covered["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, r#"{"status":"ok","total":"[REDACTED]"}"#);
    }

    #[test]
    fn an_answer_that_cannot_be_covered_is_an_error() {
        let deep = format!("{}\"hunter2-hunter2\"{}", "[".repeat(200), "]".repeat(200));
        let covered = outgoing().message(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{deep}}}"#));
        let covered: Json = serde_json::from_str(&covered).unwrap();
        assert_eq!((&covered["id"], &covered["error"]["code"]), (&json!(7), &json!(-32603)));
    }

    #[tokio::test]
    async fn events_are_covered_wherever_their_pieces_end() {
        let events = "data: {\"params\":{\"message\":\"hunter2-hunter2\"}}\n\n: ping\n\ndata: {\"id\":1}\n\n";
        for size in [1, 7, 1000] {
            let pieces: Vec<Result<Bytes, Infallible>> =
                events.as_bytes().chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
            let response = Response::new(Body::from_stream(stream::iter(pieces)));
            let body =
                outgoing().response(response, true).await.into_body().collect().await.unwrap().to_bytes();
            let expected = events.replace("hunter2-hunter2", "[REDACTED]");
            assert_eq!(String::from_utf8_lossy(&body), expected, "{size}");
        }
    }
}
