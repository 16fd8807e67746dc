//! A recorded run with an agent that changed: would its answer be another? Models answer by their turn, tools by their
//! arguments, as they did on record. What is not on record cannot be told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ptc_agent::model::{ModelError, ModelErrorKind};
use ptc_agent::tape::{Entry, Given, Of, Question};
use ptc_agent::{Agent, AgentRun, Decision, Need, RunOptions, Supply};
use serde_json::Value as Json;

use super::Recording;
use super::diff::{json_of, outcome, parts};
use super::play::Allowance;

/// What would come of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Against {
    /// The same answer.
    Same,
    /// Another one: the path to what differs, what is on record and what it would be.
    Changes {
        /// The path.
        path: String,
        /// On record.
        recorded: Json,
        /// What it would be.
        now: Json,
    },
    /// It cannot be told, for this reason.
    Unknown(String),
    /// The recording has no end to compare with.
    Unfinished,
}

/// Runs what was recorded with another agent.
pub fn against(recording: &Recording, agent: Arc<Agent>, options: RunOptions, most: &Allowance) -> Against {
    let Some(end) = &recording.end else { return Against::Unfinished };
    let Some(Entry::Begin { now }) = recording.tape.get(0) else {
        return missing("what came into it before it was resumed");
    };
    let mut record = OnRecord::new(recording);
    let options = RunOptions { ceiling: Some(most.limits.clone()), ..options };
    let mut run = AgentRun::new(agent, options, now);
    let step = loop {
        if !most.goes_on() {
            return Against::Unknown("it takes longer than --timeout allows".to_owned());
        }
        let need = run.next(now);
        run.take_events();
        match need {
            Need::Done(step) => break step,
            Need::Busy => {}
            // Everything is answered at once, so nothing is left to wait for.
            Need::Wait { .. } => run.cancel(now),
            Need::Asks(asks) => {
                for ask in asks {
                    let supply = record.answer(&Question::from(&ask));
                    run.supply(ask.id, supply);
                }
            }
        }
    };
    if let Some(missing) = record.missing {
        return self::missing(&missing);
    }
    match parts(&outcome(&end.step), &outcome(&json_of(&step))) {
        None => Against::Same,
        Some((path, recorded, now)) => Against::Changes { path, recorded, now },
    }
}

/// What is not on record.
pub(super) fn missing(what: &str) -> Against {
    Against::Unknown(format!("{what} is not on record"))
}

/// Answers of a recording: of models in the order of each agent, of tools by what they were asked.
pub(super) struct OnRecord<'r> {
    recording: &'r Recording,
    replies: BTreeMap<String, VecDeque<u64>>,
    results: BTreeMap<(String, String), VecDeque<u64>>,
    decisions: BTreeMap<(String, String), VecDeque<u64>>,
    /// What was asked for first and is not there.
    pub missing: Option<String>,
}

impl<'r> OnRecord<'r> {
    pub fn new(recording: &'r Recording) -> Self {
        let mut record = OnRecord {
            recording,
            replies: BTreeMap::new(),
            results: BTreeMap::new(),
            decisions: BTreeMap::new(),
            missing: None,
        };
        for call in recording.calls() {
            if call.given.is_none() {
                continue;
            }
            let id = call.question.id;
            match &call.question.of {
                Of::Model { .. } => {
                    record
                        .replies
                        .entry(call.question.agent.clone().unwrap_or_default())
                        .or_default()
                        .push_back(id);
                }
                Of::Tool { tool, args } => {
                    record.results.entry((tool.clone(), args.to_string())).or_default().push_back(id);
                }
                Of::Approval { tool, args, .. } => {
                    record.decisions.entry((tool.clone(), args.to_string())).or_default().push_back(id);
                }
            }
        }
        record
    }

    fn answer(&mut self, question: &Question) -> Supply {
        if let Some(given) = self.found(question) {
            return given.into();
        }
        match &question.of {
            Of::Model { .. } => {
                Supply::Model(Err(ModelError::new(ModelErrorKind::ConfigError, "not on record")))
            }
            Of::Tool { .. } => Supply::Lost("not on record".into()),
            Of::Approval { .. } => Supply::Approval(Decision::Reject("not on record".into())),
        }
    }

    /// What was answered on record; what is not there is noted.
    pub fn found(&mut self, question: &Question) -> Option<Given> {
        let id = match &question.of {
            Of::Model { .. } => self
                .replies
                .get_mut(question.agent.as_deref().unwrap_or_default())
                .and_then(VecDeque::pop_front),
            Of::Tool { tool, args } => {
                let known = self.results.get_mut(&(tool.clone(), args.to_string()));
                // Asked once more than on record, a tool is taken to say the same again.
                known.and_then(
                    |given| if given.len() > 1 { given.pop_front() } else { given.front().copied() },
                )
            }
            // A person decides about each call anew.
            Of::Approval { tool, args, .. } => {
                self.decisions.get_mut(&(tool.clone(), args.to_string())).and_then(VecDeque::pop_front)
            }
        };
        let found = id.and_then(|id| self.recording.tape.given(id));
        if found.is_none() {
            self.missing.get_or_insert_with(|| match &question.of {
                Of::Model { request, .. } => format!("a reply in turn {}", request.turn),
                Of::Tool { tool, args } => format!("tool {tool} {args}"),
                Of::Approval { tool, args, .. } => format!("a decision about tool {tool} {args}"),
            });
        }
        found
    }
}
