//! A reply while it comes: text and tool calls in pieces, then the whole.

use ptc_agent::model::{Reply, TextSink, Tokens, ToolCall};
use serde_json::{Map, Value as Json};

use super::fault::{Class, Fault};

/// The field that holds an answer whose schema is not that of an object; providers want objects.
pub(super) const WRAPPED: &str = "value";

/// A call in pieces.
#[derive(Debug, Default)]
struct Piece {
    id: String,
    name: String,
    args: String,
}

/// A reply in pieces.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    calls: Vec<Piece>,
    chunk: Option<TextSink>,
    pub(super) tokens: Option<Tokens>,
    /// The provider said that the reply is complete.
    pub(super) ended: bool,
    /// The provider said that the reply was cut at the limit of tokens.
    pub(super) cut: bool,
    /// The answer comes inside an object.
    pub(super) wrapped: bool,
    /// The answer comes as the arguments of a call.
    pub(super) by_call: bool,
}

impl Draft {
    pub(super) fn new(chunk: Option<TextSink>) -> Self {
        Draft { chunk, ..Draft::default() }
    }

    /// Adds text, and hands it on.
    pub(super) fn say(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        if let Some(chunk) = &self.chunk {
            chunk(text);
        }
    }

    /// Adds to the call at this place. Arguments come in pieces; an id or a name that is said again is the same.
    pub(super) fn call(
        &mut self,
        at: usize,
        id: Option<&str>,
        name: Option<&str>,
        args: &str,
    ) -> Result<(), Fault> {
        /// Calls of one reply; more is no model.
        const MOST: usize = 1_000;
        if at >= MOST {
            return Err(Fault::new(Class::Malformed, format!("a reply with a tool call number {at}")));
        }
        if self.calls.len() <= at {
            self.calls.resize_with(at + 1, Piece::default);
        }
        let call = &mut self.calls[at];
        for (known, said) in [(&mut call.id, id), (&mut call.name, name)] {
            if known.is_empty() {
                known.push_str(said.unwrap_or_default());
            }
        }
        call.args.push_str(args);
        Ok(())
    }

    /// The place of a call that is not numbered: that of its id, the next one for a new id, the last without one.
    pub(super) fn place(&self, id: Option<&str>) -> usize {
        match id.filter(|id| !id.is_empty()) {
            Some(id) => self.calls.iter().position(|call| call.id == id).unwrap_or(self.calls.len()),
            None => self.calls.len().saturating_sub(1),
        }
    }

    /// How many calls there are.
    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }

    /// The whole reply.
    pub(super) fn finish(mut self) -> Result<Reply, Fault> {
        if !self.ended {
            return Err(Fault::new(Class::Unavailable, "the connection ended in the middle of the reply"));
        }
        if self.by_call && !self.calls.is_empty() {
            self.text = self.calls.swap_remove(0).args;
            self.calls.clear();
        }
        let text = if self.wrapped { unwrapped(self.text) } else { self.text };
        // Places that a provider left out are no calls.
        let calls = self.calls.into_iter().filter(|call| !call.name.is_empty());
        Ok(Reply {
            content: (!text.is_empty()).then_some(text),
            tool_calls: calls.map(|call| tool_call(call.id, call.name, &call.args)).collect(),
            tokens: self.tokens,
            cut: self.cut,
        })
    }
}

/// A call whose arguments are text. Arguments that cannot be read are the model's to mend.
pub(super) fn tool_call(id: String, name: String, args: &str) -> ToolCall {
    let (args, args_error) = match args.trim() {
        "" => (Json::Object(Map::new()), None),
        text => match serde_json::from_str(text) {
            Ok(args @ Json::Object(_)) => (args, None),
            Ok(_) => (
                Json::Object(Map::new()),
                Some(format!("the arguments must be a JSON object: {}", cut(text))),
            ),
            Err(error) => (
                Json::Object(Map::new()),
                Some(format!("the arguments are no JSON ({error}): {}", cut(text))),
            ),
        },
    };
    ToolCall { id, name, args, args_error }
}

fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The answer inside its object; what is no such object stays as it is.
fn unwrapped(text: String) -> String {
    match serde_json::from_str::<Json>(&text) {
        Ok(Json::Object(mut fields)) if fields.len() == 1 => {
            fields.remove(WRAPPED).map_or(text, |value| value.to_string())
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_become_a_reply() {
        let mut draft = Draft::new(None);
        draft.say("Let me ");
        draft.say("look.");
        draft.call(1, Some("b"), Some("g"), "").unwrap();
        draft.call(0, Some("a"), Some("f"), "{\"x\":").unwrap();
        draft.call(0, None, None, "1}").unwrap();
        draft.ended = true;
        let reply = draft.finish().unwrap();
        assert_eq!(reply.content.as_deref(), Some("Let me look."));
        let calls: Vec<_> =
            reply.tool_calls.iter().map(|call| (&*call.id, &*call.name, &call.args)).collect();
        assert_eq!(calls, [("a", "f", &json!({"x": 1})), ("b", "g", &json!({}))]);
    }

    #[test]
    fn r10_11_arguments_that_cannot_be_read_are_told() {
        for (text, part) in [("{\"x\":", "no JSON"), ("[1]", "must be a JSON object")] {
            let call = tool_call("a".into(), "f".into(), text);
            assert_eq!(call.args, json!({}));
            assert!(call.args_error.as_ref().unwrap().contains(part), "{call:?}");
        }
    }

    #[test]
    fn what_was_cut_is_no_reply_and_wrapped_answers_are_unwrapped() {
        assert_eq!(Draft::default().finish().unwrap_err().class, Class::Unavailable);
        let mut draft = Draft { wrapped: true, ended: true, ..Draft::default() };
        draft.say("{\"value\": [1, 2]}");
        assert_eq!(draft.finish().unwrap().content.as_deref(), Some("[1,2]"));
        assert_eq!(unwrapped("no json".into()), "no json");
    }

    #[test]
    fn replies_that_were_cut_say_so() {
        use crate::remote::{anthropic, bedrock, openai};
        type Read = fn(&Json, &mut Draft) -> Result<(), Fault>;
        let openai_reply =
            |end: &str| serde_json::json!({"choices": [{"message": {"content": "x"}, "finish_reason": end}]});
        let claude =
            |end: &str| serde_json::json!({"content": [{"type": "text", "text": "x"}], "stop_reason": end});
        let bedrock_reply = |end: &str| serde_json::json!({"output": {"message": {"content": [{"text": "x"}]}}, "stopReason": end});
        let cases: [(Read, Json, bool); 6] = [
            (openai::read, openai_reply("length"), true),
            (openai::read, openai_reply("stop"), false),
            (anthropic::read, claude("max_tokens"), true),
            (anthropic::read, claude("end_turn"), false),
            (bedrock::read, bedrock_reply("max_tokens"), true),
            (bedrock::read, bedrock_reply("end_turn"), false),
        ];
        for (read, reply, cut) in cases {
            let mut draft = Draft::default();
            read(&reply, &mut draft).unwrap();
            assert_eq!(draft.finish().unwrap().cut, cut, "{reply}");
        }
        let mut draft = Draft::default();
        let piece = r#"{"choices": [{"delta": {"content": "x"}, "finish_reason": "length"}]}"#;
        openai::event(piece, &mut draft).unwrap();
        let end = r#"{"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}"#;
        let mut streamed = Draft::default();
        anthropic::event(end, &mut streamed).unwrap();
        assert!(draft.cut && streamed.cut);
    }
}
