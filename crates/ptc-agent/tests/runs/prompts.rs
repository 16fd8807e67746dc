//! What each mode tells a model before its first turn, whole, in files beside this one, with the tokens that it takes; and
//! that the part which is the same for all missions does not grow.
//!
//! `PTC_WRITE_GOLDEN=1 cargo test -p ptc-agent --test runs prompts` writes the files anew.

#![allow(clippy::disallowed_methods)] // The files are part of the test.

use std::path::Path;

use ptc_agent::model::{Output, Reply, Request};
use ptc_agent::{Agent, Builder, Expose, Tool, Transport};
use serde_json::{Value as Json, json};

use crate::support::{Script, run};
use crate::tokens;

fn find() -> Tool {
    Tool::new("find-rows", |_| json!([{"id": 1}]))
        .signature("(day :string) -> [{id :int, note :string?}]")
        .expect("the signature is right")
        .description("Rows of a day")
}

/// A mode, an agent of it, and the most bytes and tokens that its system prompt and the description of `lisp_eval` may have.
type Case = (&'static str, Builder, Size);

/// Bytes and tokens.
type Size = (usize, u64);

fn cases() -> Vec<Case> {
    let mission = "How many rows of {{day}} are open?";
    let signed =
        || Agent::builder(mission).signature("(day :string, rows [:map]) -> {open :int}").tool(find());
    let plain = || Agent::builder(mission);
    vec![
        ("content", signed(), CONTENT),
        ("content-thinking", signed().thinking(true), CONTENT_THINKING),
        ("single-shot", plain().max_turns(1), SINGLE_SHOT),
        ("tool-call", signed().transport(Transport::ToolCall), TOOL_CALL),
        ("combined", Agent::builder(mission).combined().tool(find().expose(Expose::Both).cached()), COMBINED),
        ("combined-one-turn", Agent::builder(mission).combined().tool(find()).max_turns(1), COMBINED),
        ("text", plain().output(Output::Text), TEXT),
        ("text-tools", plain().output(Output::Text).tool(find()), TEXT_TOOLS),
        ("json", plain().output(Output::Text).signature("(day :string) -> {open :int}"), JSON),
    ]
}

const CONTENT: Size = (3102, 877);
const CONTENT_THINKING: Size = (3247, 913);
const SINGLE_SHOT: Size = (1802, 538);
const TOOL_CALL: Size = (4015, 1091);
const COMBINED: Size = (2094, 527);
const TEXT: Size = (151, 31);
const TEXT_TOOLS: Size = (437, 97);
const JSON: Size = (267, 61);

fn inputs() -> Json {
    let rows: Json = (0..200)
        .map(|id| json!({"id": id, "open": id % 3 == 0, "day": format!("2026-11-{:02}", id % 28 + 1), "note": null}))
        .collect();
    json!({"day": "2026-11-16", "rows": rows})
}

/// The first request of an agent.
fn first(agent: Agent) -> Request {
    let mut script = Script::new([Reply::text("```clojure\n(return {:open 1})\n```")]);
    run(agent, inputs(), &mut script);
    (*script.requests[0]).clone()
}

/// The size of what is the same for all missions: the system prompt, and what is said of `lisp_eval`.
fn fixed(request: &Request) -> Size {
    let tools = request.tools.iter().filter(|tool| tool.name == "lisp_eval");
    let schemas = tools.flat_map(|tool| [tool.description.clone(), tool.parameters.to_string()]);
    let parts: Vec<String> = std::iter::once(request.system.clone()).chain(schemas).collect();
    (parts.iter().map(String::len).sum(), parts.iter().map(|part| tokens::of(part)).sum())
}

fn written(request: &Request) -> String {
    let messages =
        request.messages.iter().map(|message| format!("--- {:?}\n{}\n", message.role, message.content));
    let tools = request
        .tools
        .iter()
        .map(|tool| format!("--- Tool {}\n{}\n{:#}\n", tool.name, tool.description, tool.parameters));
    let ((bytes, fixed), all) = (fixed(request), tokens::of_request(request));
    let head = format!(
        "fixed: {bytes} bytes, {fixed} tokens; all: {all} tokens (o200k_base)\n--- System\n{}\n",
        request.system
    );
    std::iter::once(head).chain(messages).chain(tools).collect()
}

#[test]
fn prompts_of_every_mode_are_as_recorded_and_their_fixed_part_does_not_grow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs/prompts");
    for (name, builder, most) in cases() {
        let request = first(builder.build().unwrap());
        let (path, text) = (folder.join(format!("{name}.txt")), written(&request));
        if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name}");
        let (bytes, tokens) = fixed(&request);
        assert!(bytes <= most.0 && tokens <= most.1, "{name}: {bytes} bytes and {tokens} tokens of {most:?}");
    }
}
