//! Replies and events of any shape are read or refused; nothing panics and no number overflows.

use proptest::prelude::*;
use serde_json::{Map, Value as Json};

use super::draft::Draft;
use super::{anthropic, bedrock, openai};

/// Words that the formats know, so that made-up JSON gets somewhere.
const WORDS: &[&str] = &[
    "choices",
    "message",
    "delta",
    "content",
    "content_block",
    "refusal",
    "text",
    "type",
    "tool_use",
    "tool_calls",
    "index",
    "function",
    "arguments",
    "input",
    "id",
    "name",
    "partial_json",
    "usage",
    "prompt_tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cost",
    "finish_reason",
    "error",
    "code",
    "content_block_start",
    "content_block_delta",
    "message_delta",
    "message_start",
    "message_stop",
    "output",
    "start",
    "toolUse",
    "toolUseId",
    "inputTokens",
    "cacheReadInputTokens",
];

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        prop_oneof![Just(0), Just(u64::MAX), any::<u64>()].prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        proptest::sample::select(WORDS).prop_map(Json::from),
        ".{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let fields = proptest::collection::vec((proptest::sample::select(WORDS), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Json::from),
            fields.prop_map(|fields| {
                Json::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(events in proptest::collection::vec(json(), 1..5)) {
        for event in [openai::event, anthropic::event] {
            let mut draft = Draft::default();
            let _ = events.iter().try_for_each(|json| event(&json.to_string(), &mut draft).map(drop));
            let _ = draft.finish();
        }
        let mut draft = Draft::default();
        for (event, json) in ["contentBlockStart", "contentBlockDelta", "metadata", "messageStop"].iter().zip(&events) {
            let frame = bedrock::Frame { event: (*event).to_owned(), exception: None, payload: json.to_string().into() };
            let _ = bedrock::frame(&frame, &mut draft);
        }
        let _ = draft.finish();
        for read in [openai::read, anthropic::read, bedrock::read] {
            let mut draft = Draft::default();
            let _ = events.iter().try_for_each(|json| read(json, &mut draft));
            let _ = draft.finish();
        }
    }
}
