//! Words of a client that are said back to it: ids of requests, and tokens of progress, which stand in every report. They
//! are as long as the client likes, and answers are made of them that nobody asked for, so long ones are refused, and not
//! with themselves.

use serde_json::Value as Json;

use super::incoming::{Message, MessageKind, RefusedMessage};

/// Bytes of such a word, as JSON.
const MOST: usize = 1024;

/// Refuses a message whose words are too long to be said back.
pub fn bounded(message: Message) -> Result<Message, RefusedMessage> {
    let refused = |text: &'static str, id| RefusedMessage { code: -32600, message: text.into(), id };
    if let MessageKind::Request(id) = &message.kind
        && id.len() > MOST
    {
        return Err(refused("Invalid Request: the id has more than 1024 bytes", Json::Null));
    }
    let token = message.params().and_then(|params| params.get("_meta")?.get("progressToken")?.as_str());
    match token.is_some_and(|token| token.len() > MOST) {
        true => Err(refused("Invalid Request: the progressToken has more than 1024 bytes", message.id())),
        false => Ok(message),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::incoming;

    fn said(message: Json) -> Result<Message, RefusedMessage> {
        incoming::read(message.to_string().as_bytes()).and_then(bounded)
    }

    #[test]
    fn long_ids_and_tokens_of_progress_are_refused_and_not_said_back() {
        let (fits, long) = ("x".repeat(MOST - 2), "x".repeat(MOST + 1));
        let ping = |id: &str, token: &str| {
            said(
                json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"_meta": {"progressToken": token}}}),
            )
        };
        assert!(ping(&fits, &fits).is_ok());
        for (id, token, told) in [(&long, &fits, Json::Null), (&fits, &long, json!(fits))] {
            let refused = ping(id, token).expect_err("it is too long");
            assert_eq!((refused.code, &refused.id), (-32600, &told));
            assert!(!refused.reply().to_string().contains(&long));
        }
        // Such an id answers nothing of ours.
        assert!(said(json!({"jsonrpc": "2.0", "id": long, "result": {}})).is_ok());
    }
}
