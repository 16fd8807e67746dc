//! A program that is run with its writes held back. Reads are made; a call that may change something is noted, and the
//! program goes on only if it cannot look at the answer. Where it can, the plan ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ptc_lisp::machine::{Answer, AnswerUse, Call as Asking, Machine, ProgramEnd, Step};
use ptc_lisp::{Error, ErrorKind, Position};
use ptc_upstream::pins::digest;
use ptc_upstream::runtime::{HeldBack, Rehearsed};
use serde_json::{Value as Json, json};

use super::{Asked, Call, Read, Write};
use crate::attached::Run;

/// Fuel between two looks at the clock.
const SLICE: u64 = 50_000;

/// What a program would change.
#[derive(Clone, Debug, Default)]
pub struct Made {
    pub reads: Vec<Read>,
    pub writes: Vec<Write>,
    /// Hashes of the definitions of the tools.
    pub tools: BTreeMap<String, String>,
    /// Why the plan ends before the program does.
    pub stopped: Option<String>,
    pub notes: Vec<String>,
}

/// A program while its plan is made.
pub struct Maker<'m> {
    pub machine: &'m mut Machine,
    pub run: &'m Run<'m>,
    pub timeout: Duration,
    /// Whether the plan ends at a read that comes after a write to the same server.
    pub strict: bool,
    pub made: Made,
}

/// What is to be done about one call of a step.
enum Due {
    Ask(Asked),
    Hold(Write),
    Tell(Answer),
    /// A read that a person must approve, who is not asked here.
    End(Call),
}

impl Maker<'_> {
    /// Runs the program; its end, if it came there.
    pub fn make(&mut self, source: &str) -> Result<Option<ProgramEnd>, Error> {
        let until = Instant::now() + self.timeout;
        self.machine.load(source)?;
        loop {
            if Instant::now() >= until {
                let message = format!("the program took longer than {:?}", self.timeout);
                return Err(Error::new(ErrorKind::Timeout, message));
            }
            match self.machine.run(SLICE) {
                Step::Yield => {}
                Step::Done(signal) => return Ok(Some(signal)),
                Step::Failed(error) => return Err(error),
                Step::Calls(calls) => {
                    if self.step(calls, until)? {
                        self.machine.cancel();
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Takes one step of the program, all of whose calls may be made at once; true if the plan ends there.
    fn step(&mut self, calls: Vec<Asking>, until: Instant) -> Result<bool, Error> {
        let mut due = Vec::new();
        for call in &calls {
            due.push(self.looked_at(call));
        }
        let written: BTreeSet<String> =
            self.made.writes.iter().map(|write| write.call.server.clone()).collect();
        let mut needed = None;
        for (call, due) in calls.iter().zip(&due) {
            let Due::Hold(write) = due else { continue };
            self.made.writes.push(write.clone());
            if self.machine.answer_use(call.id) != Some(AnswerUse::Nothing) {
                needed = needed.or(Some((call.id, self.made.writes.len())));
            }
        }
        if let Some((id, number)) = needed {
            // Its answer is the value of the program, after which nothing comes.
            let last = calls.len() == 1 && self.machine.answer_use(id) == Some(AnswerUse::Result);
            if !last {
                self.made.stopped = Some(self.needs(id, number));
                return Ok(true);
            }
            self.made.notes.push(format!("the value of the program is the answer of write {number}"));
        }
        if let Some(read) =
            due.iter().find_map(|due| if let Due::End(read) = due { Some(read) } else { None })
        {
            let what = "must be approved by a person, and a plan asks nobody";
            self.made.stopped = Some(format!("the read {read} {what}"));
            return Ok(true);
        }
        for asked in due.iter().filter_map(|due| if let Due::Ask(asked) = due { Some(asked) } else { None }) {
            let Asked::Call(call) = asked else { continue };
            if !written.contains(&call.server) {
                continue;
            }
            if self.strict {
                let what = "asks a server to which a write is held back";
                self.made.stopped =
                    Some(format!("the read {call} {what}, and its answer may depend on that"));
                return Ok(true);
            }
            self.made.notes.push(format!(
                "read {}, {}, comes after a write to the same server, which it has not seen",
                self.made.reads.len() + 1,
                call.target()
            ));
        }
        let answers = self.answers(due, until)?;
        for (call, answer) in calls.iter().zip(answers) {
            self.machine.answer(call.id, answer)?;
        }
        Ok(false)
    }

    /// Why a plan ends at a write whose answer is needed.
    fn needs(&self, id: u64, number: usize) -> String {
        let Write { call: Call { server, tool, .. }, at, .. } = &self.made.writes[number - 1];
        let at = at.as_deref().unwrap_or("its place");
        let form = format!("({server}/");
        let text =
            self.machine.call_span(id).and_then(|span| self.machine.source().get(span.start as usize..));
        let raises = match text.is_some_and(|text| text.starts_with(&form)) {
            true => format!(": {form}{tool} …) raises if its call fails; (tool/call …) does not"),
            false => String::new(),
        };
        format!("the program needs the answer of write {number} (at {at}) to go on{raises}")
    }

    fn looked_at(&mut self, call: &Asking) -> Due {
        if call.discovery {
            return Due::Ask(Asked::Question(call.args.clone()));
        }
        let args = call.args["args"].as_object().cloned().unwrap_or_default();
        match self.run.rehearse(&call.args) {
            Rehearsed::Refused(answer) => Due::Tell(answer),
            Rehearsed::Reads { server, tool } => {
                self.note_tool(&server, &tool);
                let read = Call { server, tool, args };
                if self.run.asks(&call.args) { Due::End(read) } else { Due::Ask(Asked::Call(read)) }
            }
            Rehearsed::Writes(HeldBack { server, tool, args, effect }) => {
                self.note_tool(&server, &tool);
                let place = self.machine.call_span(call.id);
                let place = place.map(|span| Position::of(self.machine.source(), span.start));
                Due::Hold(Write {
                    call: Call { server, tool, args },
                    effect: effect.name().to_owned(),
                    at: place.map(|at| format!("{}:{}", at.line, at.column)),
                })
            }
        }
    }

    fn note_tool(&mut self, server: &str, tool: &str) {
        if let Some(hash) = self.run.definition_hash(server, tool) {
            self.made.tools.insert(format!("{server}/{tool}"), hash);
        }
    }

    /// The answers of a step, in order. Reads are made at the same time.
    fn answers(&mut self, due: Vec<Due>, until: Instant) -> Result<Vec<Answer>, Error> {
        let asked: Vec<&Asked> =
            due.iter().filter_map(|due| if let Due::Ask(asked) = due { Some(asked) } else { None }).collect();
        let left = until.saturating_duration_since(Instant::now());
        let Some(read) = self.run.ask_all(&asked, left) else {
            let message = format!("the program took longer than {:?}", self.timeout);
            return Err(Error::new(ErrorKind::Timeout, message));
        };
        let mut read = read.into_iter();
        let mut answers = Vec::new();
        for due in due {
            answers.push(match due {
                Due::Tell(answer) => answer,
                // Nothing looks at it.
                Due::Hold(_) | Due::End(_) => Answer::Value(Json::Null),
                Due::Ask(asked) => {
                    let answer = read.next().unwrap_or(Answer::Value(Json::Null));
                    self.made.reads.push(Read { asked, answer: answer_hash(&answer) });
                    answer
                }
            });
        }
        Ok(answers)
    }
}

/// The hash of an answer. Of a failure only its kind counts: messages tell times and the like.
pub fn answer_hash(answer: &Answer) -> String {
    digest(&match answer {
        Answer::Value(value) => json!({"value": value}),
        Answer::Json(text) => json!({"text": text}),
        Answer::Upstream { value, kind } => json!({"value": value, "kind": kind.name()}),
        Answer::Fault { reason, .. } => json!({"fault": reason}),
        Answer::Raise(error) => json!({"error": error.kind.reason()}),
    })
}
