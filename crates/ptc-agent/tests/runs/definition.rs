//! Definitions: every violation is an error that names the option (section 1), and what the profiles set.

use std::sync::Arc;

use ptc_agent::model::Output;
use ptc_agent::{Agent, Expose, Multiple, Preview, Profile, REASONS, Reason, Tool, Transport};
use ptc_signature::OnMissing;
use serde_json::json;

use crate::support::{Script, code, reason, run};

fn tool(name: &str) -> Tool {
    Tool::new(name, |_| json!(1))
}

#[test]
fn r1_1_to_r1_36_a_wrong_value_is_refused_by_the_name_of_its_option() {
    for (option, value) in [
        ("prompt", json!(5)),
        ("prompt", json!(" ")),
        ("signature", json!(1)),
        ("signature", json!("{n :banana}")),
        ("max_turns", json!(0)),
        ("max_turns", json!("5")),
        ("retry_turns", json!(-1)),
        ("timeout", json!(null)),
        ("timeout", json!(0)),
        ("mission_timeout", json!(0)),
        ("llm_retry", json!(3)),
        ("prompt_limit", json!([])),
        ("memory_limit", json!(0)),
        ("memory_strategy", json!("loose")),
        ("max_depth", json!(0)),
        ("turn_budget", json!(0)),
        ("name", json!("")),
        ("description", json!("")),
        ("field_descriptions", json!([])),
        ("context_descriptions", json!("x")),
        ("format_options", json!({"mission_log_in": "nowhere"})),
        ("format_options", json!({"context_in_system": "yes"})),
        ("compaction", json!({"strategy": "sum up"})),
        ("compaction", json!({"trigger": {}})),
        ("output", json!("html")),
        ("ptc_transport", json!("post")),
        ("ptc_reference", json!("full")),
        ("thinking", json!("yes")),
        ("llm_query", json!(1)),
        ("builtin_tools", json!("grep")),
        ("max_tool_calls", json!(0)),
        ("plan", json!([["a", "x"], ["a", "y"]])),
        ("journaling", json!(1)),
        ("completion_mode", json!("maybe")),
        ("max_cost_usd", json!(0)),
        ("signature_validation", json!("sometimes")),
        ("no_such_option", json!(1)),
    ] {
        let error = Agent::builder("x").set(option, &value).build().expect_err(option);
        assert_eq!(error.option, option, "{value}: {error}");
        assert!(error.to_string().contains(option), "{error}");
    }
}

#[test]
fn an_option_with_a_slip_of_the_pen_is_told_what_was_meant() {
    for (slip, meant) in
        [("max_turn", "max_turns"), ("signatrue", "signature"), ("floatPrecision", "float_precision")]
    {
        let error = Agent::builder("x").set(slip, &json!(3)).build().expect_err(slip);
        assert_eq!(error.message, format!("no such option; did you mean `{meant}`?"));
    }
    let error = Agent::builder("x").set("colour", &json!(3)).build().expect_err("there is none");
    assert!(error.message.starts_with("no such option; there are prompt, "), "{error}");
}

#[test]
fn r1_4_to_r1_36_defaults_are_those_of_the_table() {
    let agent = Agent::builder("x").build().unwrap();
    let o = agent.options();
    assert_eq!((o.max_turns, o.retry_turns, o.timeout_ms, o.turn_budget, o.max_depth), (5, 0, 5_000, 20, 3));
    assert_eq!((o.memory_limit, o.mission_timeout_ms, o.float_precision), (None, None, None));
    assert_eq!((o.output, o.fallback, o.firewall), (Output::PtcLisp, false, true));
}

#[test]
fn r1_44_r1_45_placeholders_name_parameters_by_their_first_segment() {
    let build = |prompt: &str| Agent::builder(prompt).signature("(user {name :string}) -> :any").build();
    assert!(build("Hello {{user.name}} {{ user.name }}").is_ok());
    let error = build("{{who}} {{what}}").unwrap_err().to_string();
    assert!(error.contains("{{who}}") && error.contains("{{what}}"), "{error}");
    assert!(Agent::builder("{{anything}}").build().is_ok(), "without a signature nothing is checked");
}

#[test]
fn r1_27_r1_50_r1_51_text_agents_have_rules_of_their_own() {
    let text = || Agent::builder("Say {{a}}").signature("(a :int) -> :any").output(Output::Text);
    assert!(text().build().is_ok());
    assert_eq!(text().transport(Transport::Content).build().unwrap_err().option, "ptc_transport");
    assert!(text().transport(Transport::ToolCall).build().is_ok(), "combined");
    assert_eq!(text().set("compaction", &json!(true)).build().unwrap_err().option, "compaction");
    let unused = text().signature("(b :int, a :int, c :int) -> :any").build().unwrap_err().to_string();
    assert!(unused.contains("b, c"), "{unused}");
}

#[test]
fn r1_47_names_of_the_system_are_reserved() {
    for name in ["lisp_eval", "return", "fail"] {
        let error = Agent::builder("x").tool(tool(name)).build().unwrap_err();
        assert_eq!(error.reason, Some(Reason::RESERVED_TOOL_NAME), "{name}");
    }
    assert_eq!(Agent::builder("x").tools([tool("a"), tool("a")]).build().unwrap_err().option, "tools");
}

#[test]
fn r1_48_r1_49_tools_are_checked_with_the_agent() {
    assert!(Agent::builder("x").tool(Tool::this("again")).build().unwrap_err().to_string().contains("again"));
    let preview = || tool("rows").native_result(Preview::Metadata);
    for wrong in [preview(), preview().cached(), preview().expose(Expose::Both)] {
        let error = Agent::builder("x").tool(wrong).build().unwrap_err().to_string();
        assert!(error.contains("rows") && error.contains("expose") && error.contains("cache"), "{error}");
    }
    assert!(Agent::builder("x").tool(preview().cached().expose(Expose::Both)).build().is_ok());
    // A tool that nobody could call is a mistake.
    let programs = || Agent::builder("x");
    let text = || Agent::builder("x").output(Output::Text);
    for (agent, expose) in [
        (programs(), Expose::Native),
        (programs().transport(Transport::ToolCall), Expose::Native),
        (text(), Expose::PtcLisp),
    ] {
        let error = agent.tool(tool("rows").expose(expose)).build().unwrap_err().to_string();
        assert!(error.contains("rows") && error.contains("nobody could call it"), "{error}");
    }
    for expose in [Expose::Native, Expose::PtcLisp, Expose::Both] {
        assert!(programs().combined().tool(tool("rows").expose(expose)).build().is_ok());
    }
    let nameless = Arc::new(Agent::builder("x").build().unwrap());
    let error = Agent::builder("x").tool(Tool::agent("kid", nameless)).build().unwrap_err().to_string();
    assert!(error.contains("kid") && error.contains("description"), "r2.50: {error}");
}

#[test]
fn r1_53_r7_40_strict_validation_wants_signatures_and_inputs() {
    let strict = || Agent::builder("x").signature("(a :int) -> :any").validation(ptc_signature::Mode::Strict);
    assert!(strict().tool(tool("bare")).build().unwrap_err().to_string().contains("bare"));
    let mut script = Script::new([code("(return 1)")]);
    assert_eq!(reason(&run(strict().build().unwrap(), json!({}), &mut script)), "validation_error");
    assert!(script.requests.is_empty());
    assert_eq!(run(strict().build().unwrap(), json!({"a": 1}), &mut script).value, json!(1));
}

#[test]
fn section_19_the_draft_profile_sets_defaults_only() {
    let draft = Agent::builder("x").profile(Profile::Draft).build().unwrap();
    let o = draft.options();
    assert_eq!(o.llm_retry.as_ref().map(|retry| retry.max_attempts), Some(3), "C10");
    assert_eq!(o.mission_timeout_ms, Some(60_000), "C11");
    assert_eq!((o.prompt_limit.list, o.prompt_limit.string), (Some(5), Some(1_000)), "C12");
    assert!(!o.fallback && o.depth_inclusive && !o.tool_errors_as_data, "C5, C13, C16");
    assert_eq!((o.multiple_blocks, o.on_missing), (Multiple::Sequence, OnMissing::Error), "C7, C21");
    let own = Agent::builder("x").profile(Profile::Draft).mission_timeout_ms(5).build().unwrap();
    assert_eq!(own.options().mission_timeout_ms, Some(5));
}

#[test]
fn r15_reasons_go_by_their_draft_names_too() {
    for (name, draft) in [
        ("unknown_tool", "tool_not_found"),
        ("invalid_form", "analysis_error"),
        ("memory_limit_exceeded", "memory_exceeded"),
        ("runtime_error", "eval_error"),
        ("invalid_tool_args", "validation_error"),
    ] {
        assert!(Reason::named(name).is(draft) && Reason::named(name).is(name), "{name}");
    }
    let mut names: Vec<&str> = REASONS.iter().map(|info| info.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), REASONS.len());
}
