//! Whole prompts of the shapes that agents have, by facts and marks, not by their prose.

use std::collections::BTreeMap;

use ptc_signature::{OnMissing, Signature, Type};
use serde_json::json;

use super::data::data;
use super::tools::tool;
use super::*;

const FIRST: SpecInput<'static> =
    SpecInput { turn: 1, model: "m", memory: &[], messages: &[], result_bytes: 8_192, print_bytes: 8_192 };

/// Asserts that marks stand in a text in this order, each exactly once.
fn in_order(text: &str, marks: &[&str]) {
    let mut from = 0;
    for mark in marks {
        assert_eq!(text.matches(mark).count(), 1, "{mark:?} once in:\n{text}");
        let at = text.find(mark).unwrap();
        assert!(at >= from, "{mark:?} comes too early in:\n{text}");
        from = at;
    }
}

fn system(turns: u32, transport: ProgramTransport, journaling: bool) -> String {
    let behavior = if turns == 1 { Behavior::SingleShot } else { Behavior::ExplicitReturn };
    let spec = LanguageSpec::default_for(behavior, journaling);
    static_system(&SystemPrompt::Standard, &spec, &FIRST, transport, false)
}

fn orders() -> [ToolLine; 1] {
    [tool("find-orders", "(customer_id :int) -> [{id :int, total :float}]", "Orders of one customer")]
}

#[test]
fn r20_the_first_message_of_a_loop() {
    let (tools, inputs) = (orders(), [data("customer_id", ":int", "integer", "7", "")]);
    let output = Type::parse("{order_count :int}").unwrap();
    let context = ContextBlock {
        tools: &tools,
        data: &inputs,
        output: Some(&output),
        firewall: true,
        ..ContextBlock::default()
    };
    let source = "Count orders of {{customer_id}}";
    let text = expand(source, &json!({"customer_id": 7}), Expansion::References, OnMissing::Keep, true)
        .unwrap()
        .text;
    let message = first_message(Some(&context.render()), &text, None);
    assert_eq!(
        message,
        ";; === tools ===\n\
         tool/find-orders(customer-id int) -> [{id int, total float}]  ; Orders of one customer\n\
         ;; Example: (tool/find-orders {:customer-id ...})\n\
         \n\
         ;; === data/ ===\n\
         data/customer_id              ; int, 7\n\
         \n\
         # Expected Output\n\
         The answer has the type `{order-count :int}`.\n\
         Example: `(return {:order-count 42})`\n\
         \n\
         <mission>\n\
         Count orders of ~{data/customer_id}\n\
         </mission>"
    );
    // The model's answer to this message finds what the tool gives.
    let signature = Signature::parse("() -> {order_count :int}").unwrap();
    let answer = ptc_signature::keys::snake_keys(json!({"order-count": 42}));
    assert!(signature.validate_output(&answer, ptc_signature::Mode::Enabled).is_ok());
}

#[test]
fn r3_3_the_system_prompt_of_a_loop_is_fixed_and_holds_nothing_of_the_run() {
    let text = system(5, ProgramTransport::Content, false);
    in_order(&text, &["You write programs", "# Turns", "# Finishing", "# Reply format"]);
    assert_eq!(text, system(3, ProgramTransport::Content, false));
    for mark in [";; ===", "<mission>", "# Journal", "# How to answer", "lisp_eval"] {
        assert!(!text.contains(mark), "{mark}");
    }
    in_order(&system(5, ProgramTransport::Content, true), &["# Finishing", "# Journal", "# Reply format"]);
}

#[test]
fn r3_12_a_single_shot_has_cards_of_its_own_and_the_same_first_message() {
    let text = system(1, ProgramTransport::Content, false);
    in_order(&text, &["You write programs", "# How to answer", "# Reply format"]);
    let source = "Sum {{n}} of {{rows}}";
    let context = json!({"n": 2, "rows": [1, 2]});
    let made = expand(source, &context, Expansion::Short, OnMissing::Keep, true).unwrap();
    assert_eq!(made.text, "Sum 2 of `data/rows`");
}

#[test]
fn r4_1_a_tool_call_agent_has_one_native_tool_and_the_rest_in_its_inventory() {
    let text = system(5, ProgramTransport::ToolCall, false);
    in_order(&text, &["# Turns", "# Finishing", "# Reply format"]);
    assert!(text.contains("`lisp_eval`") && !text.contains("Reply with exactly one block"));
    let eval = lisp_eval(EvalProfile::WithAppTools);
    assert_eq!((eval.name.as_str(), &eval.parameters["required"]), ("lisp_eval", &json!(["program"])));
    assert!(
        ContextBlock { tools: &orders(), ..ContextBlock::default() }.render().contains("tool/find-orders(")
    );
}

#[test]
fn r5_the_prompts_of_text_agents() {
    let output = Type::parse("[{id :int, title :string}]").unwrap();
    let json_task = json_message("List them", &output, &BTreeMap::new());
    in_order(
        &json_task,
        &["<task>", "List them", "</task>", "<expected_output>", "- `id` (integer)", "</expected_output>"],
    );
    let context = [ContextLine { name: "limit".into(), description: None, value: "3".into(), shown: 1 }];
    let tools_task = text_tools_message(&context, Some(&output), "List them", true);
    in_order(
        &tools_task,
        &[
            "<context_data>",
            "- limit = 3",
            "<output_format>",
            "JSON array",
            "\"additionalProperties\"",
            "<mission>",
        ],
    );
    for text in [&json_task, &tools_task] {
        assert!(!text.contains(";; ===") && !text.contains("(return"), "nothing of PTC-Lisp: {text}");
    }
    assert!(!text_system(&SystemPrompt::Standard, Card::TextToolsSystem).contains("lisp_eval"));
}

#[test]
fn r6_5_the_prompts_of_a_combined_agent() {
    let tools = [tool("search_logs", "(query :string) -> [:any]", "Search log events.")];
    let text = combined_system(&SystemPrompt::Standard, &tools, 8_192, true);
    in_order(
        &text,
        &[
            "Solve the mission",
            "# Programs",
            "full_result_cached",
            "\n<ptc_tools>\n",
            "(tool/search_logs {...})",
        ],
    );
    assert!(!text.contains("# Turns") && !text.contains("# Reply format"));
    let (mut schemas, names) = native_tools(&tools);
    schemas.push(lisp_eval(EvalProfile::TextMode));
    let shown: Vec<_> = schemas.iter().map(|schema| schema.name.as_str()).collect();
    assert_eq!(shown, ["search_logs", "lisp_eval"]);
    assert_eq!(names.original("search_logs"), Some("search_logs"));
    let message = text_tools_message(&[], None, "How many errors?", true);
    in_order(&message, &["<output_format>", "<mission>\nHow many errors?\n</mission>"]);
    assert!(!message.contains(";; === tools ==="));
}

#[test]
fn r2_10_previews_are_made_of_the_same_pieces() {
    let tools = orders();
    let context = ContextBlock { tools: &tools, firewall: true, ..ContextBlock::default() };
    let user = first_message(Some(&context.render()), "Count", None);
    let preview = preview_ptc(system(5, ProgramTransport::Content, false), user.clone(), &tools, true);
    assert_eq!((preview.user, preview.schema), (user, None));
    assert_eq!(preview.tool_schemas[0]["signature"], "(customer_id :int) -> [{id :int, total :float}]");
    let signature = Signature::parse("() -> {n :int}").unwrap();
    let text = preview_text("S".into(), "U".into(), &[], Some(signature.output_schema()));
    assert_eq!(text.schema.unwrap()["required"], json!(["n"]));
}

#[test]
fn r3_18_no_prompt_shows_what_is_firewalled() {
    let secret = "s3cret";
    let inputs = [data("_token", ":string", "string", "\"s3cret\"", "")];
    let user = [UserLine::Value { name: "_kept".into(), sketch: "\"s3cret\"".into() }];
    let context =
        ContextBlock { data: &inputs, user: &user, firewall: true, ..ContextBlock::default() }.render();
    let line = ContextLine { name: "_token".into(), description: None, value: secret.into(), shown: 1 };
    let values = json!({"_token": secret, "a": 1});
    let texts = [
        context,
        text_tools_message(&[line], None, "M", true),
        expand("{{_token}} {{gone}}", &values, Expansion::References, OnMissing::Keep, true).unwrap().text,
        expand("{{_token}}", &values, Expansion::Values, OnMissing::Keep, true).unwrap().text,
        crate::journal::mission_log(&[("_token".into(), secret.into())], true).unwrap(),
    ];
    for text in texts {
        assert!(text.contains("<Firewalled>") && !text.contains(secret), "{text}");
    }
}
