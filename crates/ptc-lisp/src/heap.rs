//! What natives may touch besides their arguments: names, meters, mutable cells, printed lines, the
//! given clock and the seeded random stream. There is no way from here to the outside world.
//!
//! # Meters
//!
//! *Fuel* is one unit per instruction, counted where control flow leaves the straight line, and one per element that a
//! native touches (`Heap::work`). Hashing and comparing keys and finding characters of a text have no heap at hand: they
//! note their work in `value/ledger.rs`, and the machine charges it after every native. *Memory*: natives report what they
//! allocate and reserve large allocations first (`Heap::reserve`); one that does not know how large its result becomes
//! calls `Heap::grow` before each push. When enough is fresh, the census (`machine/census.rs`) counts live data and
//! compares it with the limit. The machine checks both meters on backward jumps, on calls and after natives, and fuel once
//! more when the program ends.

use std::rc::Rc;
use std::sync::Arc;

use crate::analyze::Servers;
use crate::error::{Error, ErrorKind, QUOTED, excerpt_of_value};
use crate::globals::Globals;
use crate::interchange::JsonRoom;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::machine::attached::Attached;
use crate::names::{Name, Names};
use crate::signal::{Res, Signal, pending};
use crate::steps::Steps;
use crate::value::laziness::{Found, look};
use crate::value::print::{Printer, Style, TooLong};
use crate::value::{
    CellKind, CellObj, CellState, Items, Layouts, LazyObj, LazyState, Map, Shared, Stamp, Value, ledger,
};

/// Whether programs have limits. Only the build with which `cargo xtask counts --meters` measures what limits cost
/// has none. It is no feature of the crate: features of a dependency add up, so that any crate could set it.
pub(crate) const METERED: bool = !cfg!(ptc_unmetered);

/// The state that natives share with the machine.
#[derive(Debug)]
pub struct Heap {
    /// Names of symbols and keywords.
    pub names: Names,
    /// What the program may use.
    pub limits: Limits,
    /// Fuel used so far.
    pub fuel_used: u64,
    /// Fuel at which work looks up: where it ends, or where the host is asked whether to go on. Never beyond the limit.
    pub(crate) looks_up_at: u64,
    /// Bytes allocated since the last census.
    pub fresh_bytes: usize,
    /// Bytes found live by the last census.
    pub live_bytes: usize,
    /// Who says whether work may go on.
    pub(crate) interrupt: Interrupt,
    /// Milliseconds since 1970 as the host gave them; the program's only clock.
    pub now_ms: i64,
    /// Lines printed by the program.
    pub prints: Vec<String>,
    /// Whether printed lines leave out what stands under keys that begin with `_`.
    pub firewall: bool,
    /// Whether the host answers questions about what there is.
    pub discovery: bool,
    /// Upstream servers, of which some may have the name of something else.
    pub(crate) servers: Arc<Servers>,
    /// The prelude.
    pub(crate) attached: Option<Attached>,
    /// Text printed without a newline yet.
    pub partial_line: String,
    pub(crate) printed_bytes: usize,
    /// Captures of `with-out-str`, innermost last.
    pub captures: Vec<String>,
    pub(crate) random: u64,
    pub(crate) gensym: u64,
    /// Results of `task`, by id.
    pub journal: Map,
    /// Steps of the plan that are done.
    pub(crate) steps: Steps,
    /// What `(budget/remaining)` gives.
    pub budget: Value,
    pub(crate) hierarchy: Value,
    pub(crate) object_methods: Value,
    /// Definitions of the session.
    pub globals: Globals,
    /// Keys of maps that the program writes.
    pub layouts: Layouts,
    /// All lazy sequences and cells alive, so that a census can break cycles through them.
    pub lazies: Vec<Shared<LazyObj>>,
    /// See `lazies`.
    pub cells: Vec<Shared<CellObj>>,
}

impl Heap {
    /// An empty heap.
    pub fn new(base_names: Arc<Names>, limits: Limits) -> Self {
        Heap {
            names: Names::over(base_names),
            looks_up_at: limits.fuel.min(Interrupt::FUEL),
            limits,
            fuel_used: 0,
            fresh_bytes: 0,
            live_bytes: 0,
            interrupt: Interrupt::default(),
            now_ms: 0,
            prints: Vec::new(),
            firewall: false,
            discovery: false,
            servers: Arc::default(),
            attached: None,
            partial_line: String::new(),
            printed_bytes: 0,
            captures: Vec::new(),
            random: 0x5eed,
            gensym: 0,
            journal: Map::default(),
            steps: Steps::default(),
            budget: Value::map_of([]),
            hierarchy: Value::Nil,
            object_methods: Value::Nil,
            globals: Globals::default(),
            layouts: Layouts::default(),
            lazies: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Seeds the random stream.
    pub fn seed(&mut self, seed: u64) {
        self.random = seed;
    }

    /// Charges fuel for `amount` units of work; natives charge one per element they touch.
    #[inline]
    pub fn work(&mut self, amount: usize) -> Res<()> {
        self.spend(amount as u64)?;
        // A native that makes much in small steps is stopped here. The census comes often enough that
        // what is fresh beyond this is not garbage from before.
        let made = self.live_bytes.saturating_add(self.fresh_bytes);
        if METERED && made > self.limits.memory.saturating_add(self.slack()) {
            return Err(self.out_of_memory().into());
        }
        Ok(())
    }

    /// How much more than the memory may be made in small steps before a census says what of it is garbage. Counts free
    /// garbage at once, so this much is rarely there.
    fn slack(&self) -> usize {
        self.limits.memory / 4
    }

    /// Charges fuel for work that is over: of what it left behind, a census may still find that it is garbage.
    #[inline]
    pub fn spend(&mut self, amount: u64) -> Res<()> {
        if METERED {
            self.fuel_used = self.fuel_used.saturating_add(amount);
            if self.fuel_used > self.looks_up_at {
                self.look_up()?;
            }
        }
        Ok(())
    }

    /// Looks at the end of the fuel and asks the host whether to go on.
    #[cold]
    pub(crate) fn look_up(&mut self) -> Res<()> {
        self.interrupt.check()?;
        if self.fuel_used > self.limits.fuel {
            return Err(self.fuel_exceeded().into());
        }
        self.look_up_later();
        Ok(())
    }

    /// Says when to look up. The machine does so at the beginning of each slice, so that limits that were changed count.
    #[inline]
    pub(crate) fn look_up_later(&mut self) {
        self.looks_up_at = self.limits.fuel.min(self.fuel_used.saturating_add(Interrupt::FUEL));
    }

    /// Charges fuel for `count` pieces of work of the same size at once.
    #[inline]
    pub fn work_each(&mut self, amount: usize, count: usize) -> Res<()> {
        self.work(amount.saturating_mul(count))
    }

    /// The error for a program that needs too much memory.
    #[cold]
    pub fn out_of_memory(&self) -> Error {
        let limit = self.limits.memory;
        Error::new(
            ErrorKind::MemoryExceeded,
            format!("the program needs more than its {limit} bytes of memory"),
        )
        .hint("keep less at once: filter early, aggregate with reduce, return less; (into [] (comp (map f) (filter pred)) coll) makes no collections in between")
    }

    /// How much fuel is left, for walks that stop by themselves.
    pub fn fuel_left(&self) -> u64 {
        self.limits.fuel.saturating_sub(self.fuel_used)
    }

    /// The error for a program that used up its fuel.
    #[cold]
    pub(crate) fn fuel_exceeded(&self) -> Error {
        Error::new(
            ErrorKind::FuelExceeded,
            format!("the program used up its {} units of fuel", self.limits.fuel),
        )
        .hint("check for an endless loop, or do less work per run: a search through a collection inside a loop over another is quadratic; build an index once with group-by or (into {} …), or a set; what grows in a reduce or loop grows with (conj acc x) or (into acc xs), not with concat")
    }

    /// Counts an allocation that is small or already bounded by what exists.
    #[inline]
    pub fn allocated(&mut self, bytes: usize) {
        if METERED {
            self.fresh_bytes = self.fresh_bytes.saturating_add(bytes);
        }
    }

    /// Asks for `bytes` before a large allocation. Err means: let the machine count what is live and
    /// come back, or give up.
    pub fn reserve(&mut self, bytes: usize) -> Res<()> {
        if !METERED {
            return Ok(());
        }
        let wanted = self.live_bytes.saturating_add(self.fresh_bytes).saturating_add(bytes);
        // A small piece is a small step, whether it is asked for or reported: near the limit, a census for each would cost
        // more than all the work.
        let slack = if bytes <= self.limits.memory >> 10 { self.slack() } else { 0 };
        if wanted > self.limits.memory.saturating_add(slack) {
            return Err(Signal::Reclaim(bytes).into());
        }
        self.fresh_bytes = self.fresh_bytes.saturating_add(bytes);
        Ok(())
    }

    /// How many bytes may be made before a census is needed to know more.
    pub fn room(&self) -> usize {
        self.limits.memory.saturating_sub(self.live_bytes.saturating_add(self.fresh_bytes))
    }

    /// Asks for `bytes` for what comes from outside, before it is made. None of that is garbage, however small the pieces.
    pub fn take_room(&mut self, bytes: usize) -> Result<(), Error> {
        if METERED && bytes > self.room() {
            return Err(self.out_of_memory());
        }
        self.allocated(bytes);
        Ok(())
    }

    /// Reserves room for `count` values in a vector or list.
    pub fn reserve_values(&mut self, count: usize) -> Res<()> {
        self.reserve(count.saturating_mul(size_of::<Value>()))
    }

    /// Makes room in a collection that a native builds without knowing how large it becomes; call it
    /// before each push. It doubles, and asks for that beforehand.
    #[inline]
    pub fn grow<T>(&mut self, out: &mut Vec<T>) -> Res<()> {
        if out.len() < out.capacity() { Ok(()) } else { self.grow_now(out, 16) }
    }

    /// The same for `more` items at once.
    #[inline]
    pub fn grow_by<T>(&mut self, out: &mut Vec<T>, more: usize) -> Res<()> {
        if more <= out.capacity() - out.len() { Ok(()) } else { self.grow_now(out, more) }
    }

    #[cold]
    fn grow_now<T>(&mut self, out: &mut Vec<T>, least: usize) -> Res<()> {
        let more = out.len().max(least);
        if self.reserve(more * size_of::<T>()).is_err() {
            return Err(Signal::Reclaim(2 * more * size_of::<T>()).into());
        }
        out.reserve_exact(more);
        Ok(())
    }

    /// Whether a collection may take `more` items in place. It may double then, and has to fit beside what it doubles from;
    /// what items take is counted where they are added.
    #[inline]
    pub fn may_take<T>(&mut self, items: &Vec<T>, more: usize) -> Res<()> {
        if more <= items.capacity() - items.len() {
            Ok(())
        } else {
            self.may_double(items.capacity().max(more) * size_of::<T>())
        }
    }

    /// The same for a text.
    pub fn may_take_text(&mut self, text: &String, more: usize) -> Res<()> {
        if more <= text.capacity() - text.len() { Ok(()) } else { self.may_double(text.capacity().max(more)) }
    }

    #[cold]
    fn may_double(&mut self, bytes: usize) -> Res<()> {
        match METERED && bytes > self.room() {
            true => Err(Signal::Reclaim(bytes).into()),
            false => Ok(()),
        }
    }

    /// Makes room for `more` bytes in a text that a native builds up. It doubles, and asks for that beforehand.
    pub fn grow_text(&mut self, out: &mut String, more: usize) -> Res<()> {
        let (needed, capacity) = (out.len().saturating_add(more), out.capacity());
        if needed > capacity {
            let wanted = needed.max(2 * capacity);
            self.reserve(wanted - capacity)?;
            out.reserve_exact(wanted - out.len());
        }
        Ok(())
    }

    /// All items of a sequence, realising it if need be; charges one unit of work each.
    pub fn collect(&mut self, value: &Value) -> Res<Vec<Value>> {
        let Some(mut items) = Items::over(value) else {
            return Err(not_seqable(value).into());
        };
        if let Some(count) = items.len_hint() {
            self.work(count)?;
            self.reserve_values(count)?;
        }
        if let Items::Slice(body, at) = &items {
            return Ok(body.items.get(*at..).unwrap_or_default().to_vec());
        }
        // A walk whose end is not known may lead back to where it began, so it pays as it goes.
        const STRETCH: usize = 1024;
        let counted = items.len_hint().is_some();
        let mut out = Vec::with_capacity(items.len_hint().unwrap_or(0));
        loop {
            if !counted && out.len() % STRETCH == 0 {
                self.work(STRETCH)?;
            }
            match items.next() {
                Ok(Some(item)) => {
                    self.grow(&mut out)?;
                    out.push(item);
                }
                Ok(None) => return Ok(out),
                Err(_) => return Err(Signal::Realise(value.clone()).into()),
            }
        }
    }

    /// The sequence of a value: nil if it is empty. Forces one step of a lazy sequence.
    pub fn seq(&mut self, value: &Value) -> Res {
        match value {
            Value::Seq(body) if !body.as_slice().is_empty() => Ok(value.clone()),
            Value::Cons(_) | Value::Range(_) | Value::Nil => Ok(value.clone()),
            Value::Lazy(lazy) => match lazy.realised() {
                Some(realised) => self.seq(&realised),
                None => Err(pending(lazy.clone())),
            },
            _ => {
                let Some(items) = Items::over(value) else { return Err(not_seqable(value).into()) };
                self.rest_of_walk(items)
            }
        }
    }

    /// What is left of a walk as a sequence, nil if nothing is. Texts, maps and sets have no such form: what is left of
    /// them is copied, however little of it anybody will look at.
    pub fn rest_of_walk(&mut self, walk: Items) -> Res {
        let (count, bytes) = walk.copied_by_seq();
        self.reserve(bytes)?;
        self.work(count)?;
        walk.into_seq().map_err(pending)
    }

    /// Makes sure no lazy sequence hides inside `value`: call it before a deep walk.
    #[inline]
    pub fn realised(&mut self, value: &Value) -> Res<()> {
        if !value.is_scalar() && value.shape().lazy { self.look_for_lazy(value) } else { Ok(()) }
    }

    fn look_for_lazy(&mut self, value: &Value) -> Res<()> {
        let (found, steps) = look(value, self.fuel_left());
        self.work(usize::try_from(steps).unwrap_or(usize::MAX))?;
        match found {
            Found::Realised => Ok(()),
            Found::Lazy => Err(Signal::RealiseDeep(value.clone()).into()),
            Found::TooLong => Err(self.fuel_exceeded().into()),
        }
    }

    /// The text of a value as `str` gives it.
    pub fn display(&mut self, value: &Value) -> Res<String> {
        self.printed(value, Style::Readable, true)
    }

    /// The readable text of a value.
    pub fn readable(&mut self, value: &Value) -> Res<String> {
        self.printed(value, Style::Readable, false)
    }

    /// The text of a value in a style; `top` shows a string or nil as `str` does.
    pub fn printed(&mut self, value: &Value, style: Style, top: bool) -> Res<String> {
        self.realised(value)?;
        self.write_text(style, |printer| if top { printer.display(value) } else { printer.value(value) })
    }

    /// The texts of values for the printed lines, or for the capture of `with-out-str`, which the program
    /// itself reads and which leaves out nothing.
    pub fn printed_line(&mut self, values: &[Value], style: Style, end: &str) -> Res<String> {
        self.row(values, style, end, self.firewall && self.captures.is_empty())
    }

    /// The texts of values with spaces between them, and `end`.
    pub fn printed_row(&mut self, values: &[Value], style: Style, end: &str) -> Res<String> {
        self.row(values, style, end, false)
    }

    /// A row in one piece from the start: parts that are put together would be there twice.
    fn row(&mut self, values: &[Value], style: Style, end: &str, masked: bool) -> Res<String> {
        for value in values {
            self.realised(value)?;
        }
        self.write_text(style, |printer| {
            printer.mask(masked);
            for (at, value) in values.iter().enumerate() {
                printer.text(if at > 0 { " " } else { "" })?;
                printer.value(value)?;
            }
            printer.text(end)
        })
    }

    fn write_text(
        &mut self,
        style: Style,
        write: impl FnOnce(&mut Printer<'_>) -> Result<(), TooLong>,
    ) -> Res<String> {
        const PER_UNIT: usize = 8;
        let limit = self.most_text(PER_UNIT);
        let mut printer = Printer::new(&self.names, style, limit).with_fuel(self.fuel_left());
        let done = write(&mut printer);
        let work = printer.work();
        let text = printer.finish();
        // What ended the walk comes before what it made.
        self.spend(ledger::take())?;
        self.work(work.saturating_add(text.len() / PER_UNIT))?;
        if done.is_err() {
            return Err(self.text_too_long(text.len()));
        }
        self.allocated(text.len());
        Ok(text)
    }

    /// The longest text that may be made without knowing its length: a text that grows is there twice
    /// whenever it moves.
    pub fn room_for_text(&self) -> usize {
        (self.limits.memory.saturating_sub(self.live_bytes) / 2).max(1024)
    }

    /// The same for text of which `per_unit` bytes take a unit of fuel: no more than uses up what is left.
    pub fn most_text(&self, per_unit: usize) -> usize {
        let paid = usize::try_from(self.fuel_left()).unwrap_or(usize::MAX).saturating_add(2);
        self.room_for_text().min(paid.saturating_mul(per_unit))
    }

    /// How large JSON of what leaves the machine may be. It was measured as text, in which an element counts
    /// less than it does in JSON. As a tree it may be as large as the memory.
    pub(crate) fn room_for_json(&self) -> JsonRoom {
        JsonRoom { text: self.limits.output_bytes.saturating_mul(4), tree: self.limits.memory }
    }

    /// The answer of a native whose text of `length` bytes was longer than [`Heap::room_for_text`].
    pub fn text_too_long(&self, length: usize) -> Box<Signal> {
        Signal::Reclaim(length.saturating_mul(2).saturating_add(1)).into()
    }

    /// A short readable text for messages: never fails, never long.
    pub fn brief(&self, value: &Value) -> String {
        let mut printer = Printer::new(&self.names, Style::Readable, 2 * QUOTED);
        // What fits is all that is wanted.
        let _ = printer.value(value);
        excerpt_of_value(&printer.finish())
    }

    /// The keyword named `text`.
    pub fn keyword(&mut self, text: &str) -> Value {
        Value::Kw(self.intern(text))
    }

    /// The name for `text`, its memory counted.
    pub fn intern(&mut self, text: &str) -> Name {
        let before = self.names.bytes();
        let name = self.names.intern(text);
        self.fresh_bytes += self.names.bytes() - before;
        name
    }

    /// The slot of the definition `name`, made if it is new.
    pub fn slot(&mut self, name: &str) -> u32 {
        let name = self.intern(name);
        self.globals.slot(name)
    }

    /// A new mutable cell.
    pub fn cell(&mut self, kind: CellKind, value: Value, ready: bool) -> Value {
        let state = CellState { value, ready, validator: Value::Nil, watches: Value::Nil, meta: None };
        let cell = Rc::new(CellObj { kind, state: state.into(), stamp: Stamp::new() });
        self.cells.push(cell.clone());
        self.allocated(size_of::<CellObj>() + 32);
        Value::Cell(cell)
    }

    /// A new lazy sequence.
    pub fn lazy(&mut self, thunk: Value) -> Value {
        let lazy = Rc::new(LazyObj { state: LazyState::Thunk(thunk).into(), stamp: Stamp::new() });
        self.lazies.push(lazy.clone());
        self.allocated(LazyObj::BYTES + 64);
        Value::Lazy(lazy)
    }

    /// The next number of the seeded stream (SplitMix64).
    pub fn random_u64(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random float in [0, 1).
    pub fn random_f64(&mut self) -> f64 {
        (self.random_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number that no earlier call of this machine gave.
    pub fn gensym(&mut self) -> u64 {
        self.gensym += 1;
        self.gensym
    }

    /// Appends printed text; every newline ends an entry of the print list.
    pub fn print(&mut self, text: &str) -> Res<()> {
        self.work(1 + text.len() / 8)?;
        if !self.captures.is_empty() {
            self.reserve(text.len())?;
            if let Some(capture) = self.captures.last_mut() {
                capture.push_str(text);
            }
            return Ok(());
        }
        // A line takes room even if it is empty.
        const LINE: usize = 32;
        let newlines = text.bytes().filter(|&byte| byte == b'\n').count();
        self.printed_bytes = self.printed_bytes.saturating_add(text.len()).saturating_add(newlines * LINE);
        if self.printed_bytes > self.limits.print_bytes {
            let limit = self.limits.print_bytes;
            return Err(Error::new(
                ErrorKind::OutputExceeded,
                format!("the program printed more than its {limit} bytes"),
            )
            .hint("print a summary, or return the data as the result")
            .into());
        }
        let mut lines = text.split('\n');
        self.partial_line.push_str(lines.next().unwrap_or_default());
        for line in lines {
            self.prints.push(std::mem::replace(&mut self.partial_line, line.to_owned()));
        }
        Ok(())
    }

    /// Forgets what belongs to the program that ran before.
    pub fn start_program(&mut self) {
        self.fuel_used = 0;
        self.prints.clear();
        self.partial_line.clear();
        self.printed_bytes = 0;
        self.captures.clear();
        self.steps = Steps::default();
    }

    /// The atom that holds the machine's hierarchy of `derive`.
    pub fn hierarchy(&mut self) -> Value {
        if self.hierarchy.is_nil() {
            let empty =
                ["parents", "descendants", "ancestors"].map(|key| (self.keyword(key), Value::map_of([])));
            self.hierarchy = self.cell(CellKind::Atom, Value::map_of(empty), true);
        }
        self.hierarchy.clone()
    }

    /// The atom that holds the methods of `Object` by type.
    pub fn object_methods(&mut self) -> Value {
        if self.object_methods.is_nil() {
            self.object_methods = self.cell(CellKind::Atom, Value::map_of([]), true);
        }
        self.object_methods.clone()
    }

    /// The same, if some type has such methods.
    pub fn known_object_methods(&self) -> Option<&Value> {
        Some(&self.object_methods).filter(|methods| !methods.is_nil())
    }

    /// Ends a line that has no newline yet.
    pub fn flush_prints(&mut self) {
        if !self.partial_line.is_empty() {
            self.prints.push(std::mem::take(&mut self.partial_line));
        }
    }

    /// The readable text of a value that was measured when it left the program, for hosts.
    pub fn show(&self, value: &Value) -> String {
        let mut printer = Printer::new(&self.names, Style::Readable, self.room_for_json().text);
        let whole = printer.value(value).is_ok();
        let mut text = printer.finish();
        if !whole {
            text.push('…');
        }
        text
    }
}

/// The error for a value that cannot be walked.
pub fn not_seqable(value: &Value) -> Error {
    let got = match value {
        Value::Int(int) => format!("integer {int}"),
        Value::Bool(bool) => format!("boolean {bool}"),
        other => other.type_name().to_owned(),
    };
    Error::new(ErrorKind::Type, format!("expected a collection, got {got}"))
}
