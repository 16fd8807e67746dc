//! Programs without an agent, for recordings: what one is begun from, and the tape of one that runs.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_agent::tape::{Entry, Given, Of, Question};
use ptc_host::{Landed, Limits, Outcome, Program, ProgramEnd, Tape, now_ms};
use ptc_lisp::analyze::Servers;
use ptc_lisp::machine::{Answer, Call, Machine};
use ptc_lisp::prelude::{Effect, Options, Policy, Prelude, Source};
use ptc_lisp::view::Bounds;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::payload::sha256;

use super::{Keeping, PROGRAM_NOT_CAPTURED, Recorder};

/// Where the subject of a recording says that it is a program.
const KEY: &str = "program";

/// Bytes of a definition that stand in a recording.
const SHOWN: usize = 200;

/// Why a program cannot be begun again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BegunError {
    /// What it was begun from makes no sense.
    #[error("what it was begun from makes no sense: {0}")]
    Senseless(String),
    /// Its prelude does not compile.
    #[error("its prelude: {0}")]
    Prelude(String),
    /// It needs more than whoever plays it allows.
    #[error("it needs more than may be used to play it: {0}")]
    TooMuch(String),
    /// The state before it cannot be read.
    #[error("the state before it: {0}")]
    State(String),
}

/// What a program is begun from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// What ran it: `eval`, or the tool of a server.
    pub by: String,
    /// What it is called; the file that it came from.
    pub name: String,
    /// Its text.
    pub source: String,
    /// Its inputs by name, each as JSON text.
    pub inputs: Map<String, Json>,
    /// What it may use, by the names of limits.
    pub limits: Map<String, Json>,
    /// Where random numbers begin.
    pub seed: u64,
    /// What its clock says, in milliseconds since 1970.
    pub clock_ms: i64,
    /// The tools that it may call.
    pub tools: Vec<String>,
    /// Those of them that only preludes may call.
    pub private_tools: Vec<String>,
    /// The upstream servers that it may name, with their tools where those were listed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Option<Vec<String>>>,
    /// What those tools do, by server and tool, where somebody said so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub effects: BTreeMap<String, BTreeMap<String, String>>,
    /// Those tools that it may name and that cannot be called, by server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<String, Vec<String>>,
    /// Whether there were no others, so that a call of something else was a mistake before it ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Whether questions about upstreams are answered.
    pub discovery: bool,
    /// Whether an input that is not there is a mistake.
    pub strict_inputs: bool,
    /// Whether it can be taken back.
    pub takes_back: bool,
    /// Bytes of a result that the next program sees.
    pub history_bytes: Option<usize>,
    /// Its prelude.
    pub prelude: Option<Lent>,
    /// The machine before it, in Base64, if there were programs before it, or if it goes on.
    pub machine: Option<String>,
    /// Whether it goes on where it waited for somebody to decide.
    pub goes_on: bool,
}

/// A prelude, as what it is compiled from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lent {
    /// Its sources.
    pub parts: Vec<Part>,
    exports: Option<Vec<String>>,
    prompt: Option<Vec<String>>,
    withheld: BTreeMap<String, String>,
    masked: Vec<String>,
}

/// A source of a prelude.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it is called.
    pub id: String,
    /// Its text.
    pub text: String,
    /// The sources that it may use.
    pub needs: Vec<String>,
    /// Where it comes from.
    pub origin: String,
}

impl Lent {
    /// What a prelude is compiled from.
    pub fn of(prelude: &Prelude) -> Lent {
        let part = |source: Source<'_>| Part {
            id: source.id.to_owned(),
            text: source.text.to_owned(),
            needs: source.needs.to_vec(),
            origin: source.origin.to_owned(),
        };
        let Policy { exports, prompt, withheld, masked } = prelude.policy().clone();
        Lent { parts: prelude.sources().into_iter().map(part).collect(), exports, prompt, withheld, masked }
    }

    /// The prelude again.
    pub fn compile(&self) -> Result<Arc<Prelude>, BegunError> {
        let parts = self.parts.iter();
        let sources: Vec<Source<'_>> =
            parts.map(|Part { id, text, needs, origin }| Source { id, text, needs, origin }).collect();
        let policy = Policy {
            exports: self.exports.clone(),
            prompt: self.prompt.clone(),
            withheld: self.withheld.clone(),
            masked: self.masked.clone(),
        };
        let compiled = Prelude::compile(&sources, &Options { policy, ..Options::default() });
        compiled.map(Arc::new).map_err(|problem| BegunError::Prelude(problem.placed()))
    }
}

impl Begun {
    /// What a program is begun from, except for what its host does with the machine: inputs, prelude, strictness.
    pub fn of(by: &str, program: &Program) -> Begun {
        Begun {
            by: by.to_owned(),
            source: program.source.to_string(),
            limits: limits_json(&program.limits),
            seed: program.seed,
            clock_ms: program.clock_ms.unwrap_or_else(now_ms),
            tools: program.tools.names().map(str::to_owned).collect(),
            private_tools: program.tools.private_names().map(str::to_owned).collect(),
            servers: named(&program.tools.servers()),
            effects: effects(&program.tools.servers()),
            held: program.tools.servers().held().clone(),
            closed: program.tools.servers().is_closed(),
            discovery: program.tools.has_discovery(),
            prelude: program.prelude.as_deref().map(Lent::of),
            ..Begun::default()
        }
    }

    /// With limits.
    #[must_use]
    pub fn limits(mut self, limits: &Limits) -> Self {
        self.limits = limits_json(limits);
        self
    }

    /// The subject of a recording.
    pub fn subject(&self) -> Json {
        json!({KEY: self})
    }

    /// What the subject of a recording says; nothing if that is no program.
    pub fn read(subject: &Json) -> Option<Result<Begun, BegunError>> {
        let begun = subject.get(KEY)?;
        Some(Begun::deserialize(begun).map_err(|error| BegunError::Senseless(error.to_string())))
    }

    /// The machine, before the program is loaded.
    pub(super) fn machine(&self, most: Option<&Limits>) -> Result<Machine, BegunError> {
        let limits = self.limits_within(most);
        let prelude = self.prelude.as_ref().map(Lent::compile).transpose()?;
        let state = |what: String| BegunError::State(what);
        let mut machine = match &self.machine {
            Some(text) => {
                let bytes = STANDARD.decode(text).map_err(|error| state(error.to_string()))?;
                let preludes: Vec<Arc<Prelude>> = prelude.into_iter().collect();
                let mut machine = Machine::load_dump_with(&bytes, &limits, &preludes)
                    .map_err(|error| state(error.to_string()))?;
                machine.set_private_tools(self.private_tools.iter().cloned());
                machine.set_servers(self.servers());
                machine
            }
            None => self.fresh(limits, prelude.as_ref())?,
        };
        if !self.goes_on {
            machine.set_strict_inputs(self.strict_inputs);
            machine.set_takes_back(self.takes_back);
        }
        Ok(machine)
    }

    /// What the program may use: what it was begun with, and no more than the host allows.
    pub(super) fn limits_within(&self, most: Option<&Limits>) -> Limits {
        let own = limits_of(&self.limits);
        most.map_or(own.clone(), |most| own.within(most))
    }

    /// Why a program failed, if it was for a limit that its recording has wider than is allowed now.
    pub(super) fn beyond(&self, allowed: &Limits, error: &ptc_host::Error) -> Option<String> {
        let own = self.limits_within(None);
        let narrower = match error.kind {
            ptc_host::ErrorKind::FuelExceeded => own.fuel > allowed.fuel,
            ptc_host::ErrorKind::MemoryExceeded => own.memory > allowed.memory,
            _ => false,
        };
        narrower.then(|| format!("{}; --fuel and --memory allow more", error.text()))
    }

    fn servers(&self) -> Arc<Servers> {
        let known = |tools: &BTreeMap<String, String>| -> BTreeMap<String, Effect> {
            tools.iter().filter_map(|(tool, name)| Some((tool.clone(), Effect::named(name)?))).collect()
        };
        let effects = self.effects.iter().map(|(server, tools)| (server.clone(), known(tools))).collect();
        let servers = Servers::new(self.servers.clone()).doing(effects).holding(self.held.clone());
        Arc::new(if self.closed { servers.closed() } else { servers })
    }

    fn fresh(&self, limits: Limits, prelude: Option<&Arc<Prelude>>) -> Result<Machine, BegunError> {
        let allowed = limits.clone();
        let wrong = |error: ptc_host::Error| match self.beyond(&allowed, &error) {
            Some(why) => BegunError::TooMuch(why),
            None => BegunError::Senseless(error.text()),
        };
        let mut machine = Machine::new(limits);
        if let Some(prelude) = prelude {
            machine.attach(prelude).map_err(wrong)?;
        }
        machine.set_tools(self.tools.iter().cloned());
        machine.set_private_tools(self.private_tools.iter().cloned());
        machine.set_discovery(self.discovery);
        machine.set_servers(self.servers());
        machine.set_clock(self.clock_ms);
        machine.set_seed(self.seed);
        machine.set_history_bytes(self.history_bytes);
        machine.set_data_json("{}").map_err(wrong)?;
        for (name, value) in &self.inputs {
            machine.add_data_json(name, value.as_str().unwrap_or("null")).map_err(wrong)?;
        }
        Ok(machine)
    }
}

/// Servers by name, as a recording has them.
pub fn named(servers: &Servers) -> BTreeMap<String, Option<Vec<String>>> {
    servers.iter().map(|(name, tools)| (name.to_owned(), tools.map(<[String]>::to_vec))).collect()
}

/// What the tools of servers do, as a recording has it.
pub fn effects(servers: &Servers) -> BTreeMap<String, BTreeMap<String, String>> {
    let named = |tools: &BTreeMap<String, Effect>| -> BTreeMap<String, String> {
        tools.iter().map(|(tool, effect)| (tool.clone(), effect.name().to_owned())).collect()
    };
    servers.effects().iter().map(|(server, tools)| (server.clone(), named(tools))).collect()
}

/// Limits by the names of the table that declares them.
fn limits_json(limits: &Limits) -> Map<String, Json> {
    let Limits { fuel, memory, source_bytes, source_depth, print_bytes, output_bytes, tool_calls } = limits;
    let all = json!({
        "fuel": fuel, "memory": memory, "source_bytes": source_bytes, "source_depth": source_depth,
        "print_bytes": print_bytes, "output_bytes": output_bytes, "tool_calls": tool_calls,
    });
    all.as_object().cloned().unwrap_or_default()
}

fn limits_of(fields: &Map<String, Json>) -> Limits {
    let usual = limits_json(&Limits::default());
    let number =
        |name: &str| fields.get(name).or_else(|| usual.get(name)).and_then(Json::as_u64).unwrap_or(0);
    let size = |name: &str| usize::try_from(number(name)).unwrap_or(usize::MAX);
    Limits {
        fuel: number("fuel"),
        memory: size("memory"),
        source_bytes: size("source_bytes"),
        source_depth: size("source_depth"),
        print_bytes: size("print_bytes"),
        output_bytes: size("output_bytes"),
        tool_calls: number("tool_calls"),
    }
}

/// What a program defined, by name: as JSON text, or the hash of a long one.
pub(super) fn defined(machine: &Machine) -> Json {
    let text = |name: &String| machine.definition_json(name).unwrap_or_default().to_string();
    let short = |text: String| if text.len() > SHOWN { sha256(&text) } else { text };
    let one = |name: &String| (name.clone(), short(text(name)).into());
    Json::Object(machine.changed().iter().map(one).collect())
}

/// What came of a program, as recordings have it. Programs that were stopped from outside say so: nothing in them
/// made them stop where they did.
pub fn ended(outcome: &Outcome, defined: Json) -> Json {
    use ptc_host::ErrorKind::{ApprovalRequired, Cancelled, Timeout};
    let fail = outcome.result.as_ref().err().map(|error| {
        let place = error.span.map(|span| [span.start, span.end]);
        json!({"kind": error.kind.reason(), "message": error.text(), "hint": error.hint, "place": place})
    });
    let stopped =
        matches!(&outcome.result, Err(error) if [Timeout, Cancelled, ApprovalRequired].contains(&error.kind));
    let signal = outcome.result.as_ref().ok().map(|signal| match signal {
        ProgramEnd::Value => "value",
        ProgramEnd::Return => "return",
        ProgramEnd::Fail => "fail",
    });
    let value = outcome.result.is_ok().then_some(&outcome.value);
    json!({
        "return": value, "signal": signal, "fail": fail, "stopped": stopped,
        "prints": outcome.prints, "fuel": outcome.fuel, "defined": defined,
    })
}

/// A call as a question.
pub(super) fn question(call: &Call) -> Question {
    Question { id: call.id, agent: None, of: Of::Tool { tool: call.tool.clone(), args: call.args.clone() } }
}

/// An answer as it is kept.
fn given(answer: &Answer) -> Given {
    match Landed::from(answer) {
        Landed::Value(value) => Given::Value(value),
        other => Given::Answer(serde_json::to_value(other).unwrap_or_default()),
    }
}

/// The answer again.
pub(super) fn answer(given: Given) -> Result<Answer, BegunError> {
    let wrong = || BegunError::Senseless("an answer is none that programs get".to_owned());
    match given {
        Given::Value(value) => Ok(Answer::Value(value)),
        Given::Answer(json) => {
            let landed = Landed::deserialize(json).map_err(|_| wrong())?;
            landed.answer().map_err(BegunError::Senseless)
        }
        _ => Err(wrong()),
    }
}

/// Where a recording goes.
type RecordingTarget = Box<dyn FnOnce() -> PathBuf + Send>;

/// The recording of a program that runs. It is begun when the program is: one that is refused before leaves none.
#[derive(Clone)]
pub struct Taped(Arc<Mutex<State>>);

struct State {
    begun: Begun,
    keeping: Keeping,
    place: Option<RecordingTarget>,
    recorder: Option<io::Result<Recorder>>,
    defined: Json,
}

impl Taped {
    /// Of a program that is begun from this.
    pub fn new(begun: Begun, keeping: Keeping, place: impl FnOnce() -> PathBuf + Send + 'static) -> Taped {
        let place: Option<RecordingTarget> = Some(Box::new(place));
        Taped(Arc::new(Mutex::new(State { begun, keeping, place, recorder: None, defined: json!({}) })))
    }

    /// The program with this tape. Its clock is that of the recording.
    #[must_use]
    pub fn attach(&self, mut program: Program) -> Program {
        let (own, before) = (self.clone(), program.hooks.look.take());
        program.clock_ms = Some(self.with(|state| state.begun.clock_ms));
        program.tools = program.tools.taped(Arc::new(self.clone()));
        program.look(move |machine, outcome| {
            own.look(machine);
            before.iter().for_each(|look| look(machine, outcome));
        })
    }

    /// Looks at a machine whose program is over.
    pub fn look(&self, machine: &Machine) {
        self.with(|state| state.defined = defined(machine));
    }

    /// Ends the recording. Whether there is one.
    pub fn finish(&self, outcome: &Outcome) -> io::Result<bool> {
        let (recorder, defined) = self.with(|state| (state.recorder.take(), state.defined.clone()));
        match recorder {
            None => Ok(false),
            Some(recorder) => recorder?.finish_program(ended(outcome, defined)).map(|()| true),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn entry(&self, entry: Entry) {
        self.with(|state| {
            if let Some(Ok(recorder)) = &mut state.recorder {
                recorder.entry(entry);
            }
        });
    }
}

impl State {
    fn begin(&mut self, machine: &Machine, goes_on: bool) {
        let Some(place) = self.place.take() else { return };
        let mut missing = Vec::new();
        self.begun.goes_on = goes_on;
        let had_programs =
            !machine.definitions().is_empty() || !machine.history(&Bounds::default()).is_empty();
        if goes_on || had_programs {
            self.begun.machine = match machine.dump() {
                Err(error) => {
                    missing.push(format!("the state before the program, which cannot be written: {error}"));
                    None
                }
                Ok(bytes) if self.has_secret(&bytes) => {
                    missing.push("the state before the program, which holds a secret".to_owned());
                    None
                }
                Ok(bytes) => Some(STANDARD.encode(bytes)),
            };
        }
        let keeping = self.keeping.clone();
        let recorder =
            Recorder::begin(&place(), self.begun.subject(), &PROGRAM_NOT_CAPTURED, &missing, keeping);
        self.recorder = Some(recorder.map(|mut recorder| {
            recorder.entry(Entry::Begin { now: u64::try_from(self.begun.clock_ms).unwrap_or(0) });
            recorder
        }));
    }

    /// Texts in a dump stand as they are.
    fn has_secret(&self, bytes: &[u8]) -> bool {
        let Some(cover) = &self.keeping.cover else { return false };
        let whole = Json::from(String::from_utf8_lossy(bytes));
        let mut covered = whole.clone();
        cover(&mut covered);
        covered != whole
    }
}

impl Tape for Taped {
    fn begin(&self, machine: &Machine, source: Option<&str>) {
        self.with(|state| state.begin(machine, source.is_none()));
    }

    fn asked(&self, calls: &[Call]) {
        calls.iter().for_each(|call| self.entry(Entry::Ask(question(call))));
    }

    fn answered(&self, id: u64, answer: &Answer) {
        self.entry(Entry::Answer { id, now: u64::try_from(now_ms()).unwrap_or(0), given: given(answer) });
    }
}
