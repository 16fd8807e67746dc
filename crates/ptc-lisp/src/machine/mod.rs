//! The machine: runs compiled programs one after the other over lasting definitions.
//!
//! A machine is plain data. It never waits: [`Machine::run`] returns when the program is over, when it
//! needs the answer of a tool, or when its slice of fuel is used up, and the host calls it again. All
//! memory it can reach belongs to it alone.

mod account;
mod advice;
mod answer;
mod asked;
pub(crate) mod attached;
mod call;
mod census;
mod check;
mod fate;
pub(crate) mod fiber;
mod frozen;
mod history;
mod kept;
pub(crate) mod library;
mod link;
pub(crate) mod memory;
mod ops;
mod prepared;
mod run;
mod schedule;
mod shelf;
mod signals;
mod tools;
mod window;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use crate::analyze::{Exports, FORM_BYTES, Manifest, Namespaces, Servers, ToolUse, World, analyze, written};
use crate::code::{Const, Linked, Op, Unit};
use crate::compile::compile;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::interchange::{Keys, from_json, from_json_text};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::names::Name;
use crate::reader::read_all;
use crate::value::stamp::Id;
use crate::value::{ExObj, Value};
pub use answer::{Answer, ValueKind};
pub use asked::{Asked, Pause};
use census::next_census;
pub(crate) use census::room;
pub use check::Discovered;
pub use fate::AnswerUse;
use fiber::Fiber;
pub(crate) use library::is_core;
pub use memory::Function;
use prepared::Prepared;

/// Why a fiber stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It ended with a value.
    Ended(Value),
    /// It asked for the program to end with a value.
    Return(Value),
    /// It asked for the program to end as a failure.
    Fail(Value),
    /// An exception that nobody caught.
    Thrown(Rc<ExObj>),
    /// An error that nobody can catch.
    Failed(Error),
    /// It waits for something.
    Blocked,
    /// Its slice of fuel is used up.
    Yield,
}

/// What the host must do next.
#[derive(Debug)]
pub enum Step {
    /// The program is over; [`Machine::value`] has its value.
    Done(ProgramEnd),
    /// The program waits for these calls, all of which may run at once. Answer each with
    /// [`Machine::resume`]; calls handed out before are not listed again.
    Calls(Vec<Call>),
    /// The program failed; definitions are as before it ran.
    Failed(Error),
    /// The slice of fuel is used up; call [`Machine::run`] again.
    Yield,
}

/// How a program ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// With the value of its last expression.
    Value,
    /// With `(return value)`.
    Return,
    /// With `(fail value)`.
    Fail,
}

/// A tool call that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its number, for [`Machine::resume`].
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments, a JSON object.
    pub args: serde_json::Value,
    /// Whether it asks what there is ([`DISCOVER`]); see [`Machine::set_discovery`].
    pub discovery: bool,
}

/// The name of calls that ask the host what there is.
pub const DISCOVER: &str = "discover";

/// How many uses of tools are kept from program to program; with more, only the names of the tools are.
const MOST_CARRIED: usize = 256;

/// For whom a machine runs. Machines of one owner share what is ready of their programs and preludes; nobody
/// else can tell, not by a clock either. A host that names nobody is the owner of all its machines.
pub type Owner = Option<Arc<str>>;

/// How many bytes the known arguments of such a use may be; of one with more, only the tool is kept.
const MOST_CARRIED_BYTES: usize = 1024;

/// A tool call inside the machine.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) id: u64,
    pub(crate) tool: Name,
    pub(crate) args: Value,
    /// Whether the host has it.
    pub(crate) handed_out: bool,
    /// How much text the arguments are, while the host does not have it.
    pub(crate) bytes: usize,
    /// How much memory JSON of the arguments takes.
    pub(crate) tree: usize,
    /// See [`Call::discovery`].
    pub(crate) discovery: bool,
}

/// A machine.
#[derive(Debug)]
pub struct Machine {
    /// Its number, by which debug builds know what is its own.
    pub(crate) id: Id,
    pub(crate) heap: Heap,
    pub(crate) owner: Owner,
    pub(crate) library: Rc<library::Library>,
    pub(crate) units: Vec<Option<Rc<Linked>>>,
    pub(crate) tools: Vec<String>,
    /// Tools that only exports of the prelude may call.
    pub(crate) private: Vec<String>,
    /// Upstream servers whose tools are functions.
    pub(crate) servers: Arc<Servers>,
    /// Names that earlier programs gave to namespaces, as far as the host hands them on.
    pub(crate) required: Option<Arc<Namespaces>>,
    /// The tool that the running program called last, if nothing has changed what it may call since.
    pub(crate) allowed: Option<Name>,
    pub(crate) data: Value,
    pub(crate) history: Vec<Value>,
    pub(crate) source: Arc<str>,
    pub(crate) manifest: Arc<Manifest>,
    /// The program, as machines that run the same find it.
    pub(crate) prepared: Option<Rc<Prepared>>,
    /// Tools that definitions and values of earlier programs may call, sorted.
    pub(crate) carried: Vec<String>,
    /// How they may call them. Of a tool without an entry, as after loading a dump, nothing is known.
    pub(crate) carried_uses: Vec<ToolUse>,
    pub(crate) fiber: Fiber,
    /// Fibers that are not running, by number; the running one's place is empty.
    pub(crate) fibers: Vec<Option<Box<Fiber>>>,
    pub(crate) current: usize,
    pub(crate) ready: VecDeque<usize>,
    pub(crate) pending: Vec<Pending>,
    pub(crate) children: Vec<Value>,
    pub(crate) tool_calls: u64,
    /// Bytes of the arguments that the host was given by the program's calls, and keeps.
    pub(crate) given_bytes: usize,
    /// How often the program asked what there is.
    pub(crate) discoveries: u64,
    pub(crate) result: Value,
    pub(crate) running: bool,
    /// A stop that came up outside of the instruction loop.
    pub(crate) late: Option<Box<Stop>>,
    /// Fuel at which the slice ends.
    pub(crate) stop_at: u64,
    /// Fresh bytes at which a census is due.
    pub(crate) census_at: usize,
    /// Whether the native that runs now has asked for a census before.
    pub(crate) reclaimed: bool,
    /// What outlives a program besides definitions.
    pub(crate) lasting: memory::Lasting,
    /// Whether arithmetic has met something that is counted, which code does not expect: see `residue.rs`.
    pub(crate) large: bool,
    /// Whether it comes from a dump, which may lie about what was where; debug builds then expect less.
    #[cfg(debug_assertions)]
    pub(crate) loaded: bool,
}

impl Machine {
    /// A machine without definitions, tools and inputs.
    pub fn new(limits: Limits) -> Self {
        let census_at = next_census(&limits, 0);
        let heap = Heap::new(crate::core::names(), limits);
        Machine {
            id: Id::next(),
            heap,
            owner: None,
            library: library::Library::shared(),
            units: Vec::new(),
            tools: Vec::new(),
            private: Vec::new(),
            servers: Arc::default(),
            required: None,
            allowed: None,
            data: Value::Nil,
            history: Vec::new(),
            source: Arc::from(""),
            manifest: Arc::default(),
            prepared: None,
            carried: Vec::new(),
            carried_uses: Vec::new(),
            fiber: Fiber::new(),
            fibers: Vec::new(),
            current: 0,
            ready: VecDeque::new(),
            pending: Vec::new(),
            children: Vec::new(),
            tool_calls: 0,
            given_bytes: 0,
            discoveries: 0,
            result: Value::Nil,
            running: false,
            late: None,
            stop_at: 0,
            census_at,
            reclaimed: false,
            lasting: memory::Lasting::default(),
            large: false,
            #[cfg(debug_assertions)]
            loaded: false,
        }
    }

    /// Says for whom the machine runs; see [`Owner`]. It must come before a prelude.
    pub fn set_owner(&mut self, owner: Owner) {
        self.owner = owner;
    }

    /// For whom it runs.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// What programs may use.
    pub fn limits(&self) -> &Limits {
        &self.heap.limits
    }

    /// Sets what the next program may use.
    pub fn set_limits(&mut self, limits: Limits) {
        self.census_at = next_census(&limits, self.heap.live_bytes);
        self.heap.limits = limits;
        self.heap.look_up_later();
    }

    /// Grants tools: programs may call these and no others.
    pub fn set_tools(&mut self, tools: impl IntoIterator<Item = String>) {
        self.tools = tools.into_iter().collect();
        self.allowed = None;
        self.forget_admission();
    }

    /// Keeps granted tools for exports of the prelude: programs cannot name them. Dumps do not keep this.
    pub fn set_private_tools(&mut self, tools: impl IntoIterator<Item = String>) {
        self.private = tools.into_iter().collect();
    }

    /// Says which upstream servers the tool `call` reaches: programs may call their tools as functions, `(server/tool
    /// {…})`. Dumps do not keep this.
    pub fn set_servers(&mut self, servers: Arc<Servers>) {
        self.heap.servers = servers.clone();
        self.servers = servers;
    }

    /// Gives programs the names that earlier ones of a session required. Dumps do not keep this.
    pub fn set_required(&mut self, required: Arc<Namespaces>) {
        self.required = Some(required);
    }

    /// Says whether the host answers questions about what there is besides the library: calls named
    /// [`DISCOVER`], with the question in their arguments. They are not granted, not in the manifest and not
    /// counted as tool calls.
    pub fn set_discovery(&mut self, answers: bool) {
        self.heap.discovery = answers;
    }

    /// Gives a program its inputs, which it reads as `data/name`. Keys of objects become keywords.
    pub fn set_data(&mut self, data: &serde_json::Value) -> Result<(), Error> {
        self.data = self.kept(|heap| from_json(heap, data, Keys::Names))?;
        Ok(())
    }

    /// Gives a program its inputs as the text of one JSON object; reads it straight into values.
    pub fn set_data_json(&mut self, text: &str) -> Result<(), Error> {
        self.data = self.kept(|heap| from_json_text(heap, text, Keys::Names))?;
        Ok(())
    }

    /// Gives a program one more input, as JSON text.
    pub fn add_data_json(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let value = self.kept(|heap| from_json_text(heap, text, Keys::Names))?;
        self.put_input(name, value);
        Ok(())
    }

    /// Has somebody asked, every few kilobytes, whether reading inputs, answers and JSON may go on. Not part of a dump.
    pub fn set_interrupt(&mut self, interrupt: Interrupt) {
        self.heap.interrupt = interrupt;
    }

    /// Makes a value that the machine will keep: it counts as live at once, without a census.
    fn kept(&mut self, make: impl Fn(&mut Heap) -> Result<Value, Error>) -> Result<Value, Error> {
        let before = std::mem::take(&mut self.heap.fresh_bytes);
        let made = self.fitted(make);
        self.heap.live_bytes = self.heap.live_bytes.saturating_add(self.heap.fresh_bytes);
        self.heap.fresh_bytes = before;
        self.census_at = next_census(&self.heap.limits, self.heap.live_bytes);
        made
    }

    /// Makes a value of what comes from outside. If it does not seem to fit, the census says what is left.
    fn fitted(&mut self, make: impl Fn(&mut Heap) -> Result<Value, Error>) -> Result<Value, Error> {
        match make(&mut self.heap) {
            Err(error) if error.kind == ErrorKind::MemoryExceeded => {
                self.census();
                make(&mut self.heap)
            }
            made => made,
        }
    }

    /// Sets the program's clock, in milliseconds since 1970.
    pub fn set_clock(&mut self, now_ms: i64) {
        self.heap.now_ms = now_ms;
    }

    /// Seeds the program's random numbers.
    pub fn set_seed(&mut self, seed: u64) {
        self.heap.seed(seed);
    }

    /// Reads, checks and compiles a program, unless a machine that knows the same has done so.
    fn prepare(&mut self, source: &str) -> Result<Rc<Prepared>, Error> {
        let limits = self.read_limits();
        self.source = Arc::default();
        self.forget_garbage();
        self.admit_prelude()?;
        self.heap.work(source.len() / 8).map_err(|signal| match *signal {
            crate::signal::Signal::Raise(error) if error.kind != ErrorKind::FuelExceeded => error,
            _ => Error::new(ErrorKind::FuelExceeded, "reading the program used up its fuel"),
        })?;
        let knows_nothing = self.heap.globals.is_empty()
            && self.carried.is_empty()
            && self.private.is_empty()
            && self.required.is_none();
        let find =
            || prepared::find(&self.owner, source, &self.tools, &self.servers, &limits, self.prelude());
        let known = knows_nothing.then(find).flatten();
        if let Some(known) = known
            && known.steps <= self.heap.fuel_left().saturating_mul(8)
        {
            self.source = known.unit.source.clone();
            self.heap.fuel_used = self.heap.fuel_used.saturating_add(known.steps / 8);
            return Ok(known);
        }
        // A text that is too long is refused by the reader; nobody needs a copy of it.
        self.source = Arc::from(if source.len() > limits.max_bytes { "" } else { source });
        let forms = read_all(source, &limits)?;
        let analysis = analyze(&forms, &AnalysisWorld { machine: self })?;
        // What is left of the fuel bounded it.
        let steps = analysis.steps;
        self.heap.fuel_used = self.heap.fuel_used.saturating_add(steps / 8);
        // Keywords with hyphens are not looked for in a text that has none.
        let written = if source.as_bytes().contains(&b'-') { written(&analysis.body) } else { Vec::new() };
        let unit = Arc::new(compile(analysis.body, self.source.clone())?);
        debug_assert!(crate::verify::verify(&unit).is_ok(), "the compiler makes code that passes");
        let mut manifest = analysis.manifest;
        if self.reaches_back(&unit) {
            self.add_carried(&mut manifest);
        }
        let (tools, manifest, prelude) = (self.tools.clone(), Arc::new(manifest), self.prelude().cloned());
        let (owner, servers) = (self.owner.clone(), self.servers.clone());
        let prepared =
            Rc::new(Prepared { unit, manifest, owner, written, steps, tools, servers, limits, prelude });
        if knows_nothing {
            prepared::remember(&prepared);
        }
        Ok(prepared)
    }

    /// What the last program made and left behind is not the next one's, and neither is counting it.
    fn forget_garbage(&mut self) {
        if self.heap.fresh_bytes >= self.census_at {
            let fuel = self.heap.fuel_used;
            self.census();
            self.heap.fuel_used = fuel;
        }
    }

    /// Whether a program uses what earlier ones left behind, which may call the tools they could call.
    fn reaches_back(&self, unit: &Unit) -> bool {
        let known = AnalysisWorld { machine: self };
        unit.globals.iter().any(|name| known.has_global(name))
            || unit.ops.iter().any(|op| matches!(op, Op::History { .. }))
            || unit.consts.iter().any(Const::refers)
    }

    /// Reads, checks and compiles a program and makes it the one to run.
    pub fn load(&mut self, source: &str) -> Result<Manifest, Error> {
        self.cancel();
        self.reset();
        let prepared = self.prepare(source)?;
        self.has_inputs(&prepared.unit)?;
        if let Some(error) = prepared.manifest.failing() {
            return Err(error.clone());
        }
        let linked = self.link(prepared.unit.clone())?;
        prepared.written.iter().for_each(|key| self.heap.names.write_key(key));
        self.manifest = prepared.manifest.clone();
        self.prepared = Some(prepared);
        self.start(&linked);
        Ok((*self.manifest).clone())
    }

    fn start(&mut self, linked: &Rc<Linked>) {
        let arity = &linked.unit.funcs[0].arities[0];
        let registers = arity.registers;
        debug_assert!(self.fiber.is_new(), "what ran before is forgotten");
        self.fiber.regs.resize(1 + usize::from(registers), Value::Nil);
        self.fiber.frames.push(fiber::Frame {
            unit: linked.id,
            pc: arity.entry,
            base: 1,
            registers,
            give: fiber::Give::into(0),
        });
        self.fibers = vec![None];
        self.current = 0;
        self.heap.globals.save_cells(&self.heap.cells);
        self.large = false;
        self.running = true;
    }

    /// Forgets what the program before printed and used up. One that is refused before it is loaded has done neither.
    pub fn forget_output(&mut self) {
        self.heap.start_program();
    }

    /// Forgets the program that ran before; definitions stay.
    fn reset(&mut self) {
        if !self.fiber.is_new() {
            self.fiber = Fiber::new();
        }
        self.fibers.clear();
        self.ready.clear();
        self.pending.clear();
        self.children.clear();
        self.tool_calls = 0;
        self.given_bytes = 0;
        self.discoveries = 0;
        self.allowed = None;
        self.result = Value::Nil;
        self.running = false;
        self.late = None;
        self.heap.start_program();
        self.lasting.start_program();
        self.drop_unused_units();
    }

    /// Adds what definitions and values of earlier programs may call.
    fn add_carried(&self, manifest: &mut Manifest) {
        for tool in self.carried.iter().filter(|tool| self.tools.contains(tool)) {
            let mut known = self.carried_uses.iter().filter(|each| each.tool == *tool).peekable();
            if known.peek().is_none() {
                manifest.add_mention(tool);
            }
            known.for_each(|each| manifest.add_through(each.clone()));
        }
    }

    /// Notes what the definitions and values of the program that ends may call.
    fn carry(&mut self) {
        let unknown =
            |tool: &String| ToolUse { tool: tool.clone(), args: None, complete: false, at_most: None };
        for tool in &self.carried {
            if !self.carried_uses.iter().any(|each| each.tool == *tool) {
                self.carried_uses.push(unknown(tool));
            }
        }
        for tool_use in &self.manifest.uses {
            let mut tool_use = ToolUse { at_most: None, ..tool_use.clone() };
            let args =
                tool_use.args.as_ref().map(|args| serde_json::to_string(args).map_or(0, |text| text.len()));
            if args.is_some_and(|bytes| bytes > MOST_CARRIED_BYTES) {
                tool_use = unknown(&tool_use.tool);
            }
            if !self.carried_uses.contains(&tool_use) {
                self.carried_uses.push(tool_use);
            }
        }
        if self.carried_uses.len() > MOST_CARRIED {
            self.carried_uses.clear();
        }
        let tools = self.manifest.tools().into_iter().map(str::to_owned);
        self.carried.extend(tools);
        self.carried.sort_unstable();
        self.carried.dedup();
    }

    /// Ends the program: keeps or takes back what it defined.
    fn end(&mut self, keep: bool) {
        self.running = false;
        self.heap.flush_prints();
        if keep {
            self.commit();
            self.carry();
        } else {
            self.heap.globals.rollback();
            self.heap.steps = Default::default();
        }
        self.fiber = Fiber::new();
        self.fibers.clear();
        self.ready.clear();
        self.pending.clear();
    }

    /// The value of the program that ended, as text that reads back.
    pub fn value(&self) -> String {
        self.heap.show(&self.result)
    }

    /// The value of the program that ended, as JSON; if it has none, the JSON says why.
    pub fn value_json(&self) -> serde_json::Value {
        self.json_of(&self.result, "the result")
    }

    /// The value of the program that ended, as JSON, or why it has none: two keys of a map are one key in JSON.
    pub fn try_value_json(&self) -> Result<serde_json::Value, Error> {
        self.try_json_of(&self.result, "the result")
    }

    /// Lines that the program printed.
    pub fn prints(&self) -> &[String] {
        &self.heap.prints
    }

    /// Fuel used since the program was loaded.
    pub fn fuel_used(&self) -> u64 {
        self.heap.fuel_used
    }

    /// About how many bytes its values take, at once and at most: what was live at the last census and
    /// everything made since.
    pub fn size_hint(&self) -> usize {
        self.heap.live_bytes + self.heap.fresh_bytes
    }

    /// Bytes that are live now.
    pub fn live_bytes(&mut self) -> usize {
        self.census();
        self.heap.live_bytes
    }

    /// The tools that the loaded program may call.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How many tool calls the program made.
    pub fn tool_calls(&self) -> u64 {
        self.tool_calls
    }

    /// The names of all definitions, in order of definition.
    pub fn definitions(&self) -> Vec<String> {
        self.heap.globals.iter().map(|(name, _)| self.heap.names.text(name).to_owned()).collect()
    }

    /// The text of the program that was loaded last.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// What the analyzer may ask about this machine.
struct AnalysisWorld<'m> {
    machine: &'m Machine,
}

impl World for AnalysisWorld<'_> {
    fn has_global(&self, name: &str) -> bool {
        let heap = &self.machine.heap;
        // Most programs define nothing before they run, and looking a name up hashes it.
        !heap.globals.is_empty()
            && heap.names.find(name).is_some_and(|name| heap.globals.find(name).is_some())
    }

    fn globals(&self) -> Vec<String> {
        self.machine.definitions()
    }

    fn tools(&self) -> Option<&[String]> {
        Some(&self.machine.tools)
    }

    fn servers(&self) -> Option<&Servers> {
        Some(&*self.machine.servers).filter(|servers| !servers.is_empty())
    }

    fn inputs(&self) -> Vec<String> {
        self.machine.data_names()
    }

    fn is_private(&self, tool: &str) -> bool {
        self.machine.private.iter().any(|private| private == tool)
    }

    fn fuel(&self) -> u64 {
        self.machine.heap.fuel_left().saturating_mul(8)
    }

    fn most_forms(&self) -> usize {
        self.machine.heap.limits.memory / FORM_BYTES
    }

    fn ask(&self) -> Result<(), Error> {
        self.machine.heap.interrupt.check()
    }

    fn exports(&self) -> Option<Exports<'_>> {
        self.machine.prelude().map(|prelude| Exports { prelude, home: None })
    }

    fn required(&self) -> Option<&Namespaces> {
        self.machine.required.as_deref()
    }
}

impl Drop for Machine {
    /// Cycles can only go through lazy sequences and cells, so emptying those frees everything.
    fn drop(&mut self) {
        for lazy in std::mem::take(&mut self.heap.lazies) {
            let state = lazy.state.try_borrow_mut().map(|mut state| std::mem::take(&mut *state));
            drop(state);
        }
        for cell in std::mem::take(&mut self.heap.cells) {
            cell.empty();
        }
    }
}
