//! Large inputs as texts: whatever a run asks, tells and gives is what it would be if they were built.

use std::sync::Arc;

use ptc_agent::model::{Output, Reply};
use ptc_agent::{Agent, AgentRun, AskKind, Builder, Context, Need, RunOptions, SaveError, Supply, Transport};
use serde_json::{Value as Json, json};

use crate::support::{code, eval, scripted};

/// Inputs of which two are large.
fn inputs() -> Json {
    let row = |at: usize| json!({"id": at, "day": format!("2026-11-{:02}", at % 28 + 1), "_key": format!("secret {at} key"), "cost": 1.5});
    let rows: Vec<Json> = (0..3_000).map(row).collect();
    json!({"day": "2026-11-03", "rows": rows, "report": {"title": "October", "lines": vec!["one line"; 9_000]}, "n": 7})
}

const MISSION: &str = "How many of {{rows}} are of {{day}}? {{n}} {{report.title}}";
const SIGNATURE: &str = "(day :string, rows [{id :int, day :string, cost :float, note :string?}], report {title :string, lines [:string]}, \
     n :int, more :int?) -> {n :int, k :any}";

/// A mode with an agent of it and what its model says.
fn cases() -> Vec<(&'static str, Builder, Vec<Reply>)> {
    let agent = || Agent::builder(MISSION).signature(SIGNATURE);
    let look = "(println (first data/rows) (count (:lines data/report)) data/more)";
    let answer = "(return {:n (count data/rows) :k (:_key (last data/rows))})";
    let text = || vec![Reply::text("{\"n\": 1, \"k\": 2}")];
    vec![
        ("content", agent(), vec![code(look), code(answer)]),
        ("samples", agent().set("samples", &json!(3)), vec![code(answer)]),
        ("tool-call", agent().transport(Transport::ToolCall), vec![eval(look), eval(answer)]),
        ("no firewall", agent().set("firewall", &json!(false)), vec![code(look), code(answer)]),
        (
            "sections",
            Agent::builder("{{n}}{{#report}} of {{title}}{{/report}}").signature(SIGNATURE),
            vec![code(answer)],
        ),
        ("combined", Agent::builder("Of {{day}}").combined(), vec![Reply::text("done")]),
        ("text", Agent::builder("Of {{report.title}}").output(Output::Text), text()),
        ("text of all", Agent::builder("Of {{report}}").output(Output::Text), text()),
        ("wrong", Agent::builder("x").signature("(rows [{id :string}]) -> :any"), vec![code("1")]),
        ("missing", Agent::builder("{{report.gone}}").set("on_missing", &json!("error")), vec![code("1")]),
    ]
}

/// Everything that a run asks and gives; it is saved and loaded at each stop if that is said.
fn told(agent: &Arc<Agent>, replies: &[Reply], context: &Context, saves: bool) -> Vec<String> {
    let options = || RunOptions::new(scripted()).context(context.clone());
    let (mut run, mut replies, mut told) =
        (AgentRun::new(agent.clone(), options(), 0), replies.iter(), Vec::new());
    loop {
        match run.next(0) {
            Need::Done(step) => {
                told.push(serde_json::to_string(&step).expect("JSON"));
                return told;
            }
            Need::Asks(asks) => {
                if saves {
                    let state = run.save().expect("bytes");
                    run = AgentRun::load(agent.clone(), options(), &state, 0).expect("the run");
                }
                for ask in asks {
                    let AskKind::Model { request, .. } = &ask.kind else { panic!("{ask:?}") };
                    told.push(format!("{} {:?}", request.system, request.messages));
                    let reply = replies.next().cloned().ok_or_else(|| "the script is over".into());
                    run.supply(ask.id, Supply::Model(reply));
                }
            }
            Need::Busy => {}
            Need::Wait { .. } => panic!("nothing is waited for"),
        }
    }
}

fn as_text(inputs: &Json) -> Context {
    let context = Context::read(&inputs.to_string()).expect("JSON");
    assert!(matches!(context, Context::Written(_)));
    assert_eq!(context.text(), Some(inputs.to_string()));
    context
}

#[test]
fn runs_with_inputs_as_texts_are_those_with_the_values() {
    let built = Context::from(inputs());
    let written = as_text(&inputs());
    for (mode, agent, replies) in cases() {
        let agent = Arc::new(agent.build().unwrap_or_else(|error| panic!("{mode}: {error}")));
        let expected = told(&agent, &replies, &built, false);
        for saves in [false, true] {
            let found = told(&agent, &replies, &written, saves);
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{mode}, saved: {saves}");
            }
            assert_eq!(found.len(), expected.len(), "{mode}, saved: {saves}");
        }
        assert_eq!(agent.validate_context(&written), agent.validate(&inputs()), "{mode}");
        let previews = [agent.preview_context(written.clone()), agent.preview_prompt(&inputs())];
        let [written, built] = previews.map(|preview| preview.map(|it| (it.system, it.user)));
        assert_eq!(written, built, "{mode}");
    }
}

#[test]
fn saved_texts_are_of_version_3_and_must_be_json() {
    let agent = Arc::new(Agent::builder("x").build().expect("an agent"));
    let options = || RunOptions::new(scripted()).context(as_text(&inputs()));
    let mut run = AgentRun::new(agent.clone(), options(), 0);
    assert!(matches!(run.next(0), Need::Asks(_)));
    let mut state = run.save().expect("bytes");
    assert_eq!(state[4], 3);
    let at = state.windows(9).position(|bytes| bytes == b"[{\"id\":0,").expect("the rows");
    state[at] = b'(';
    let error = AgentRun::load(agent, options(), &super::save::sealed(state), 0).expect_err("no JSON");
    assert_eq!(error, SaveError::NotARun("an input is no JSON".to_owned()));
}
