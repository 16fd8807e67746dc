//! Compaction by rule.

use serde_json::json;

use super::*;
use crate::model::ToolCall;

fn calling(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "lisp_eval".to_owned(),
        args: json!({"program": "(+ 1 2)"}),
        args_error: None,
    };
    Message::calling("", ids.iter().map(call).collect())
}

/// `m0` of the host, then pairs of the model's reply and feedback.
fn by_content(turns: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("mission")];
    for turn in 1..=turns {
        messages.push(Message::assistant(format!("a{turn}")));
        messages.push(Message::user(format!("u{turn}")));
    }
    messages
}

fn by_calls(turns: usize, calls: usize) -> Vec<Message> {
    let mut messages = vec![Message::user("mission")];
    for turn in 1..=turns {
        let ids: Vec<String> = (0..calls).map(|call| format!("{turn}.{call}")).collect();
        messages.push(calling(&ids.iter().map(String::as_str).collect::<Vec<_>>()));
        messages.extend(ids.iter().map(|id| Message::tool(id, format!("r{id}"))));
    }
    messages
}

fn shown(messages: &[Message]) -> Vec<String> {
    let show = |message: &Message| match message.tool_calls.first() {
        Some(call) => format!("calls {}", call.id),
        None => message.content.clone(),
    };
    messages.iter().map(show).collect()
}

#[test]
fn r11_1_options_are_off_defaults_or_merged_over_defaults() {
    for off in [json!(null), json!(false)] {
        assert!(Compaction::from_json(&off).unwrap().is_none());
    }
    let options = |json: Json| Compaction::from_json(&json).unwrap().unwrap();
    let standard = options(json!(true));
    assert_eq!((standard.trigger_turns, standard.trigger_tokens), (Some(8), None));
    assert_eq!((standard.keep_recent_turns, standard.keep_initial_user), (3, true));
    let own = options(json!({"strategy": "trim", "keep_recent_turns": 2, "keep_initial_user": false}));
    assert_eq!((own.trigger_turns, own.keep_recent_turns, own.keep_initial_user), (Some(8), 2, false));
    let both = options(json!({"trigger": {"turns": 3, "tokens": 4000}}));
    assert_eq!((both.trigger_turns, both.trigger_tokens), (Some(3), Some(4000)));
    let tokens = options(json!({"trigger": {"tokens": 10}}));
    assert_eq!((tokens.trigger_turns, tokens.trigger_tokens), (None, Some(10)));
    assert!([standard, own, both, tokens].iter().all(|options| options.check().is_ok()));
}

#[test]
fn r11_1_options_that_make_no_sense_are_refused() {
    let cases = [
        (json!({}), "empty"),
        (json!([]), "empty"),
        (json!(["trim"]), "expected true, false or options"),
        (json!("trim"), "expected true, false or options"),
        (json!({"keep": 1}), "no option `keep`"),
        (json!({"strategy": "summarize"}), "strategy \"summarize\" is not known"),
        (json!({"strategy": {"module": "Mine"}}), "not supported yet"),
        (json!({"trigger": 8}), "trigger is 8"),
        (json!({"trigger": {}}), "trigger is empty"),
        (json!({"trigger": {"words": 8}}), "has no `words`"),
        (json!({"trigger": {"turns": 0}}), "trigger.turns must be a positive whole number, got 0"),
        (json!({"trigger": {"tokens": -1}}), "trigger.tokens must be a positive whole number, got -1"),
        (json!({"keep_recent_turns": 0}), "keep_recent_turns must be a positive whole number, got 0"),
        (json!({"keep_initial_user": "yes"}), "keep_initial_user must be true or false"),
    ];
    for (json, expected) in cases {
        let text = Compaction::from_json(&json).unwrap_err().to_string();
        assert!(text.starts_with("compaction: ") && text.contains(expected), "{text}");
    }
    let never = Compaction { trigger_turns: None, ..Compaction::default() };
    assert!(never.check().unwrap_err().to_string().contains("trigger is empty"));
    let none = Compaction { keep_recent_turns: 0, ..Compaction::default() };
    assert!(none.check().unwrap_err().to_string().contains("keep_recent_turns"));
}

#[test]
fn r11_3_turns_or_tokens_trigger() {
    let messages = by_content(9);
    let turns = Compaction::default();
    assert!(!turns.apply(&messages, 8).1.triggered);
    let stats = turns.apply(&messages, 9).1;
    assert_eq!((stats.triggered, stats.reason), (true, Some(CompactionReason::TurnPressure)));
    let total: u64 = messages.iter().map(|message| estimate(&message.content)).sum();
    let tokens =
        |most| Compaction { trigger_turns: None, trigger_tokens: Some(most), ..Compaction::default() };
    assert!(!tokens(total + 1).apply(&messages, 99).1.triggered);
    let stats = tokens(total).apply(&messages, 1).1;
    assert_eq!((stats.triggered, stats.reason), (true, Some(CompactionReason::TokenPressure)));
}

#[test]
fn r11_3_a_token_is_four_characters_and_at_least_one() {
    let cases = [("", 0), ("a", 1), ("abcdefg", 1), ("abcdefgh", 2), ("äöüßäöüß", 2)];
    for (text, expected) in cases {
        assert_eq!(estimate(text), expected, "{text}");
    }
    let counted =
        Compaction { token_counter: Some(Arc::new(|text| text.len() as u64 * 100)), ..Compaction::default() };
    assert_eq!(counted.apply(&[Message::user("ab")], 1).1.estimated_tokens_before, 200);
    let program = calling(&["1"]);
    assert!(
        Compaction::default().apply(&[program], 1).1.estimated_tokens_before > 0,
        "programs in calls count"
    );
}

#[test]
fn r11_4_the_first_message_and_the_latest_turns_stay() {
    let two = Compaction { keep_recent_turns: 2, ..Compaction::default() };
    // The slice of four begins with a reply, which has lost its question and goes too.
    assert_eq!(shown(&two.apply(&by_content(9), 9).0), ["mission", "u8", "a9", "u9"]);
    let without = Compaction { keep_initial_user: false, ..two.clone() };
    assert_eq!(shown(&without.apply(&by_content(9), 9).0), ["u8", "a9", "u9"]);
    assert_eq!(
        shown(&two.apply(&by_calls(9, 1), 9).0),
        ["mission", "calls 8.0", "r8.0", "calls 9.0", "r9.0"]
    );
    let odd: Vec<_> = by_content(9).into_iter().skip(1).collect();
    let stats = two.apply(&odd, 9).1;
    assert!(stats.triggered && !stats.kept_initial_user, "the first message is not the host's");
}

#[test]
fn r11_4_short_conversations_stay_as_they_are() {
    let three = Compaction::default();
    for turns in 0..=3 {
        let messages = by_content(turns);
        let (sent, stats) = three.apply(&messages, 99);
        assert_eq!(sent, messages);
        assert_eq!((stats.enabled, stats.triggered, stats.reason), (true, false, None));
    }
    assert!(three.apply(&by_content(4), 99).1.triggered);
}

#[test]
fn r11_4_calls_are_never_parted_from_their_results() {
    for calls in 1..=9 {
        for keep in 1..=4 {
            let compaction = Compaction { keep_recent_turns: keep, ..Compaction::default() };
            let messages = by_calls(12, calls);
            let (sent, stats) = compaction.apply(&messages, 12);
            assert!(stats.triggered && sent.len() < messages.len());
            let rest = &sent[1..];
            assert_eq!(rest.first().unwrap().role, Role::Assistant, "{calls} {keep}");
            let asked: Vec<_> =
                rest.iter().flat_map(|m| m.tool_calls.iter().map(|call| call.id.clone())).collect();
            let answered: Vec<_> = rest.iter().filter_map(|message| message.tool_call_id.clone()).collect();
            assert_eq!(asked, answered, "{calls} {keep}");
            assert_eq!(sent.last(), messages.last(), "the latest result stays");
        }
    }
}

#[test]
fn r11_5_stats_have_the_same_keys_always() {
    let keys =
        |stats: &CompactionStats| json!(stats).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let big = Compaction { trigger_turns: None, trigger_tokens: Some(20), ..Compaction::default() };
    let mut messages = by_content(9);
    messages[18].content = "x".repeat(400);
    let stats = big.apply(&messages, 1).1;
    assert!(stats.over_budget && stats.kept_initial_user && stats.kept_recent_turns == 3);
    assert_eq!((stats.messages_before, stats.messages_after), (19, 6));
    assert!(stats.estimated_tokens_after < stats.estimated_tokens_before);
    assert_eq!(json!(stats)["reason"], "token_pressure");
    let calm = big.apply(&by_content(1), 1).1;
    assert_eq!(keys(&calm), keys(&stats));
    assert_eq!(keys(&CompactionStats::default()), keys(&stats));
    assert_eq!(json!(calm)["strategy"], "trim");
}
