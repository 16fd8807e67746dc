//! Programs that look at a clock while they run, and tapes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptc_agent::model::{Llm, ModelError, Reply, Request};
use ptc_agent::tape::{Divergence, Entry, Given, Question, play};
use ptc_agent::{Agent, AgentRun, AskKind, Need, RunOptions, Step, Supply, ask_model};

const NOW: u64 = 1_000_000;

/// An agent whose first program is one native that takes very long.
fn agent() -> Arc<Agent> {
    let model = |request: &Request| {
        let program = match request.turn {
            1 => "(= (range 1000000000) (range 1000000000))",
            _ => "(return 7)",
        };
        Ok::<Reply, ModelError>(Reply::text(format!("```clojure\n{program}\n```")))
    };
    Arc::new(
        Agent::builder("Answer")
            .llm(Llm::function(model))
            .max_turns(3)
            .timeout_ms(1_000)
            .build()
            .expect("an agent"),
    )
}

/// Runs it, with a clock that shows half a second more at every look, and tapes it. What the run is told between
/// slices never changes.
fn taped() -> (Step, Vec<Entry>) {
    let shown = AtomicU64::new(NOW);
    let mut run = AgentRun::new(agent(), RunOptions::default(), NOW);
    run.set_clock(Arc::new(move || shown.fetch_add(500, Ordering::Relaxed) + 500));
    let mut tape = vec![Entry::Begin { now: NOW }];
    loop {
        tape.push(Entry::Next { now: NOW, times: 1 });
        let need = run.next(NOW);
        tape.extend(run.stopped().map(|look| Entry::Stopped { look }));
        let asks = match need {
            Need::Done(step) => return (*step, tape),
            Need::Asks(asks) => asks,
            Need::Busy => continue,
            Need::Wait { .. } => panic!("there is nothing to wait for"),
        };
        for ask in asks {
            tape.push(Entry::Ask(Question::from(&ask)));
            let AskKind::Model { llm, request, .. } = &ask.kind else { panic!("only the model is asked") };
            let supply = Supply::Model(ask_model(llm, request));
            tape.push(Entry::Answer { id: ask.id, now: NOW, given: Given::from(&supply) });
            run.supply(ask.id, supply);
        }
    }
}

fn played(tape: &[Entry]) -> Result<Step, Divergence> {
    play(agent(), RunOptions::default(), tape, |_, _| {}, || true).map(|played| *played.step)
}

#[test]
fn a_native_that_takes_too_long_is_stopped_in_its_slice() {
    let (step, tape) = taped();
    assert_eq!((&step.value, step.usage.turns), (&7.into(), 2));
    let first = &step.trace()[0];
    assert_eq!(first.result["reason"], "timeout", "{first:?}");
    assert!(tape.contains(&Entry::Stopped { look: 2 }), "the second look is beyond the deadline");
}

#[test]
fn a_tape_stops_the_program_where_the_clock_did() {
    let (step, mut tape) = taped();
    assert_eq!(played(&tape).unwrap(), step);
    let json = |tape: &[Entry]| serde_json::to_value(tape).unwrap();
    assert_eq!(serde_json::from_value::<Vec<Entry>>(json(&tape)).unwrap(), tape);
    // Elsewhere it is another run.
    let at = tape.iter().position(|entry| matches!(entry, Entry::Stopped { .. })).unwrap();
    tape[at] = Entry::Stopped { look: u64::MAX };
    assert!(matches!(played(&tape), Err(Divergence::NotStopped { .. } | Divergence::Asked { .. })));
}
