//! What is run and what comes of it: plain data that crosses threads, while machines stay where they
//! were made.

use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptc_lisp::analyze::Manifest;
use ptc_lisp::machine::{Machine, Owner, ProgramEnd};
use ptc_lisp::prelude::Prelude;
use ptc_lisp::{Error, ErrorKind, Limits};
use serde_json::Value as Json;

use crate::cancel::Cancel;
use crate::flight::Called;
use crate::hold::{Held, Resumption};
use crate::tools::Tools;

/// Inputs of a program, which programs may share.
#[derive(Clone, Debug)]
pub enum Data {
    /// A JSON object by name.
    Json(Arc<Json>),
    /// The text of one, read straight into the machine.
    Text(Arc<str>),
}

/// Readies a machine before its program is loaded.
pub type Prepare = Arc<dyn Fn(&mut Machine) -> Result<(), Error> + Send + Sync>;
/// Looks at a machine whose program is over, and may change what came of it.
pub type Look = Arc<dyn Fn(&mut Machine, &mut Outcome) + Send + Sync>;

/// Hears when a program begins to wait for tools, and when it can go on.
#[derive(Clone)]
pub struct Pace(Arc<dyn Fn(Waits) + Send + Sync>);

impl Pace {
    pub(crate) fn tell(&self, waits: Waits) {
        (self.0)(waits);
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pace")
    }
}

/// Whether a program waits for tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It does from now on.
    Begins {
        /// About how many bytes it keeps while it waits. As many as can be where nobody knows, or where it goes on without
        /// asking anybody ([`Tools::gated`](crate::Tools::gated)).
        bytes: usize,
    },
    /// It does no longer.
    Ends,
}

/// What a host does with the machine of a program, on the machine's own thread.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Before the program is loaded, after it was given its inputs.
    pub prepare: Option<Prepare>,
    /// When it is over.
    pub look: Option<Look>,
    /// When it begins to wait for tools, and when it can go on.
    pub pace: Option<Pace>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hooks({}, {}, {})", self.prepare.is_some(), self.look.is_some(), self.pace.is_some())
    }
}

/// A program with all that it may see and use.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its text.
    pub source: Arc<str>,
    /// Its inputs, read as `data/name`. Without any, a program of a session sees those of the one before.
    pub data: Option<Data>,
    /// For whom it runs: programs of one owner share what is ready of them, those of several owners nothing. A host
    /// that runs programs of people who do not trust each other names them.
    pub owner: Owner,
    /// The tools it may call.
    pub tools: Tools,
    /// The prelude whose exports it may call. A session keeps that of its first program.
    pub prelude: Option<Arc<Prelude>>,
    /// What it may use.
    pub limits: Limits,
    /// Where its random numbers begin; nobody can tell beforehand unless it was said.
    pub seed: u64,
    /// What its clock says, in milliseconds since 1970; the real time when it starts unless told.
    pub clock_ms: Option<i64>,
    /// How long it may take, running and waiting for tools. Waiting for its turn in a pool does not
    /// count, so that no program times out because of others.
    pub timeout: Option<Duration>,
    /// A token that stops it.
    pub cancel: Option<Cancel>,
    /// What the host does with its machine before and after.
    pub hooks: Hooks,
    /// Whose share of a pool it uses: lanes have equal turns, however many programs are in each. An account with several
    /// connections has one lane, although each connection may be an owner of its own.
    pub lane: Option<Arc<str>>,
    /// Where it goes on, if it was held: then its source, inputs, seed and clock are those that it has, and
    /// nothing is prepared.
    pub resumption: Option<Arc<Resumption>>,
}

impl Program {
    /// A program without inputs and tools, with the default limits and a random seed.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Program {
            source: source.into(),
            data: None,
            owner: None,
            tools: Tools::default(),
            prelude: None,
            limits: Limits::default(),
            seed: random_seed(),
            clock_ms: None,
            timeout: None,
            cancel: None,
            hooks: Hooks::default(),
            lane: None,
            resumption: None,
        }
    }

    /// A program that was held and goes on now. It needs its tools, limits and prelude again; of each limit the
    /// smaller of both counts. On a session its machine takes the place of the session's: whoever does that has
    /// made sure that nothing has happened there since.
    pub fn resumed(resumption: Resumption) -> Self {
        Program { resumption: Some(Arc::new(resumption)), ..Program::new("") }
    }

    /// With inputs: a JSON object by name. An `Arc` shares them between programs.
    #[must_use]
    pub fn data(mut self, data: impl Into<Arc<Json>>) -> Self {
        self.data = Some(Data::Json(data.into()));
        self
    }

    /// With inputs as the text of a JSON object, which saves a detour.
    #[must_use]
    pub fn data_text(mut self, text: impl Into<Arc<str>>) -> Self {
        self.data = Some(Data::Text(text.into()));
        self
    }

    /// For an owner.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<Arc<str>>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// With tools.
    #[must_use]
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = tools;
        self
    }

    /// With a prelude. The program fails with `prelude_attach_failed` before anything of it runs if what an
    /// export requires is not granted.
    #[must_use]
    pub fn prelude(mut self, prelude: Arc<Prelude>) -> Self {
        self.prelude = Some(prelude);
        self
    }

    /// With other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With another beginning of random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With a clock that stands still, in milliseconds since 1970.
    #[must_use]
    pub fn clock_ms(mut self, now: i64) -> Self {
        self.clock_ms = Some(now);
        self
    }

    /// With a limit of time.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// With a token that stops it.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Readied by the host before it is loaded.
    #[must_use]
    pub fn prepare(
        mut self,
        prepare: impl Fn(&mut Machine) -> Result<(), Error> + Send + Sync + 'static,
    ) -> Self {
        self.hooks.prepare = Some(Arc::new(prepare));
        self
    }

    /// In the share of an account.
    #[must_use]
    pub fn lane(mut self, account: Arc<str>) -> Self {
        self.lane = Some(account);
        self
    }

    /// Watched by the host as it waits for tools and goes on.
    #[must_use]
    pub fn pace(mut self, pace: impl Fn(Waits) + Send + Sync + 'static) -> Self {
        self.hooks.pace = Some(Pace(Arc::new(pace)));
        self
    }

    /// Looked at by the host when it is over.
    #[must_use]
    pub fn look(mut self, look: impl Fn(&mut Machine, &mut Outcome) + Send + Sync + 'static) -> Self {
        self.hooks.look = Some(Arc::new(look));
        self
    }

    /// A machine for this program.
    pub(crate) fn machine(&self) -> Machine {
        Machine::new(self.limits.clone())
    }

    /// Gives a machine what this program may see and use.
    pub(crate) fn furnish(&self, machine: &mut Machine) -> Result<(), Error> {
        machine.forget_output();
        machine.set_owner(self.owner.clone());
        machine.set_limits(self.limits.clone());
        if let Some(prelude) = &self.prelude {
            machine.attach(prelude)?;
        }
        self.tools.grant(machine);
        machine.set_clock(self.clock_ms.unwrap_or_else(now_ms));
        machine.set_seed(self.seed);
        match &self.data {
            Some(Data::Json(json)) => machine.set_data(json),
            Some(Data::Text(text)) => machine.set_data_json(text),
            None => Ok(()),
        }?;
        self.hooks.prepare.as_ref().map_or(Ok(()), |prepare| prepare(machine))?;
        // Last, because whoever prepares the machine may attach a prelude.
        self.tools.admit(machine)
    }
}

/// What came of a program.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub result: Result<ProgramEnd, Error>,
    /// Its value as text that reads back; empty if it failed.
    pub value: String,
    /// Its value as JSON; null if it failed.
    pub json: Json,
    /// Lines that it printed.
    pub prints: Vec<String>,
    /// Fuel that it used.
    pub fuel: u64,
    /// Its tool calls in order.
    pub calls: Vec<Called>,
    /// The tools that it could have called.
    pub manifest: Manifest,
    /// How long it took, all told.
    pub elapsed: Duration,
    /// How many turns it had on its thread.
    pub turns: u64,
    /// The program, if it stopped where somebody must decide; the result is then an error of the kind
    /// [`ErrorKind::ApprovalRequired`].
    pub held: Option<Box<Held>>,
}

impl Outcome {
    /// The outcome of a program that never ran.
    pub(crate) fn failed(error: Error) -> Self {
        Outcome {
            result: Err(error),
            value: String::new(),
            json: Json::Null,
            prints: Vec::new(),
            fuel: 0,
            calls: Vec::new(),
            manifest: Manifest::default(),
            elapsed: Duration::ZERO,
            turns: 0,
            held: None,
        }
    }

    /// Reads a machine whose program is over.
    pub(crate) fn of(machine: &mut Machine, ran: Ran, hooks: &Hooks) -> Self {
        let (value, json) = match ran.result {
            Ok(_) => (machine.value(), machine.value_json()),
            Err(_) => (String::new(), Json::Null),
        };
        let mut outcome = Outcome {
            result: ran.result,
            value,
            json,
            prints: machine.prints().to_vec(),
            fuel: machine.fuel_used(),
            calls: ran.calls,
            manifest: ran.manifest,
            elapsed: ran.elapsed,
            turns: ran.turns,
            held: ran.held,
        };
        if let Some(look) = &hooks.look {
            look(machine, &mut outcome);
        }
        outcome
    }
}

/// A program that has been driven to its end; its machine has the value and what was printed.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub result: Result<ProgramEnd, Error>,
    /// Its tool calls in order.
    pub calls: Vec<Called>,
    /// The tools that it could have called.
    pub manifest: Manifest,
    /// How long it took, all told.
    pub elapsed: Duration,
    /// How many turns it had on its thread.
    pub turns: u64,
    /// The program, if it stopped where somebody must decide.
    pub held: Option<Box<Held>>,
}

impl Ran {
    /// The same with what its machine has of it.
    pub fn outcome(self, machine: &mut Machine) -> Outcome {
        Outcome::of(machine, self, &Hooks::default())
    }
}

/// A seed that nobody can tell beforehand, so that what programs make of their random numbers (ids, keys of requests)
/// is theirs alone.
pub fn random_seed() -> u64 {
    // The keys of a hash map come from the system; the hash of nothing under them tells nothing about them.
    RandomState::new().build_hasher().finish()
}

/// The real time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn cancelled(why: &str) -> Error {
    Error::new(ErrorKind::Cancelled, why)
}
