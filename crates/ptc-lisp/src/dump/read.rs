//! The reader: what is common to all parts of a dump, and the order of the parts.

use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::DumpError;
use super::bytes::{In, Read, checksum};
use super::format::{ASKING, MAGIC, PLAIN, VERSION};
use crate::builtins::{BuiltinId, Run, registry};
use crate::code::{Linked, Op, Unit};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::machine::{Machine, Owner};
use crate::names::Name;
use crate::prelude::Prelude;
use crate::residue::settle;
use crate::value::{CellObj, Counted, LazyObj, Text, Value, ledger};
use crate::verify::{CodeLayout, verify};

/// A body that is referred to by number.
pub(super) enum BodySlot {
    /// It is being read: nothing can refer to it yet.
    Open,
    Value(Value),
    Captures(Rc<[Value]>),
    Layout(Rc<crate::value::Layout>),
}

/// A dump being read.
pub(super) struct Reader<'b> {
    pub version: u64,
    pub input: In<'b>,
    pub machine: Machine,
    texts: Vec<&'b str>,
    /// Names of texts that were asked for.
    names: Vec<Option<Name>>,
    pub units: Vec<Rc<Linked>>,
    /// Numbers of units in the dump, by their numbers in the machine.
    unit_numbers: HashMap<u32, usize, FixedState>,
    pub layouts: Vec<CodeLayout>,
    pub slots: Vec<BodySlot>,
    pub lazies: Vec<Rc<LazyObj>>,
    pub cells: Vec<Rc<CellObj>>,
    pub depth: u16,
    /// How many things lists may still make room for before they have been read.
    room: usize,
    /// Fresh, live and printed bytes, and when a census is due.
    pub meters: [usize; 4],
}

/// Code that is not linked yet.
pub(super) enum UnlinkedCode {
    /// A function of the library, the same in this build.
    Library(u32),
    /// A function of the prelude, the same in this build.
    Prelude(u32),
    /// A program, or a function of the library or the prelude as it was in the build that wrote the dump.
    Own(Arc<Unit>),
}

/// Reads a machine. A few bytes may stand for keys that take for ever to hash, a long range for instance,
/// so loading may look at keys only as much as the program may.
pub(super) fn read(bytes: &[u8], limits: &Limits, preludes: &[Arc<Prelude>], owner: &Owner) -> Read<Machine> {
    ledger::open(limits.fuel, &Interrupt::NONE);
    let mut machine = Machine::new(limits.clone());
    machine.set_owner(owner.clone());
    let machine = read_machine(bytes, machine, preludes);
    let exhausted = ledger::left() == 0;
    ledger::close(&Interrupt::NONE);
    if exhausted {
        return Err(DumpError::damaged("its keys take more work than its fuel allows"));
    }
    machine
}

fn read_machine(bytes: &[u8], machine: Machine, preludes: &[Arc<Prelude>]) -> Read<Machine> {
    let (version, input) = body(bytes)?;
    let mut reader = Reader {
        version,
        input: In::new(input),
        machine,
        texts: Vec::new(),
        names: Vec::new(),
        units: Vec::new(),
        unit_numbers: HashMap::default(),
        layouts: Vec::new(),
        slots: Vec::new(),
        lazies: Vec::new(),
        cells: Vec::new(),
        depth: 0,
        room: bytes.len(),
        meters: [0; 4],
    };
    if version >= ASKING {
        reader.attach(preludes)?;
    }
    reader.texts = reader.input.list(In::text)?;
    reader.names = vec![None; reader.texts.len()];
    let seeding = reader.input.small()?;
    let code = reader.listed(Reader::unit_code)?;
    reader.scalars()?;
    reader.link(code, seeding)?;
    reader.values()?;
    reader.queues()?;
    if !reader.input.is_empty() {
        return Err(DumpError::damaged("there is something after the end"));
    }
    reader.check()?;
    reader.sweep();
    reader.machine.large = true;
    #[cfg(debug_assertions)]
    {
        reader.machine.loaded = true;
    }
    reader.set_meters();
    let heap = &mut reader.machine.heap;
    heap.globals.find_context(&heap.names);
    // The lists by which cycles are found and freed.
    reader.machine.heap.lazies.append(&mut reader.lazies);
    reader.machine.heap.cells = std::mem::take(&mut reader.cells);
    Ok(reader.machine)
}

/// The version, and what stands between it and the checksum.
pub fn body(bytes: &[u8]) -> Read<(u64, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(DumpError::NotADump)?;
    let mut version = In::new(rest);
    let version = version.int()?;
    if !(PLAIN..=VERSION).contains(&version) {
        return Err(DumpError::Version(version));
    }
    let (written, sum) = bytes.split_last_chunk::<8>().ok_or(DumpError::Truncated)?;
    if checksum(written) != u64::from_le_bytes(*sum) {
        return Err(DumpError::Checksum);
    }
    written.get(MAGIC.len() + 1..).map(|body| (version, body)).ok_or(DumpError::Truncated)
}

impl<'b> Reader<'b> {
    /// Room for `count` things. All lists together get room for as many things as there are bytes, which
    /// is enough for every list that is there; a count that lies takes room from other lies.
    pub fn make_room<T>(&mut self, count: usize) -> Vec<T> {
        let count = count.min(self.room);
        self.room -= count;
        Vec::with_capacity(count)
    }

    /// A counted list.
    pub fn listed<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.input.count()?;
        let mut items = self.make_room(count);
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn text_number(&mut self) -> Read<usize> {
        let number = self.input.small::<usize>()?;
        if number < self.texts.len() { Ok(number) } else { Err(DumpError::damaged("a name is missing")) }
    }

    /// A text by its number.
    pub fn text(&mut self) -> Read<&'b str> {
        let number = self.text_number()?;
        Ok(self.texts[number])
    }

    /// A name by the number of its text.
    pub fn name(&mut self) -> Read<Name> {
        let number = self.text_number()?;
        Ok(match self.names[number] {
            Some(name) => name,
            None => {
                let name = self.machine.heap.names.intern(self.texts[number]);
                self.names[number] = Some(name);
                name
            }
        })
    }

    /// A builtin by the number of its name.
    pub fn builtin(&mut self) -> Read<BuiltinId> {
        let name = self.text()?;
        registry().qualified(name).ok_or_else(|| DumpError::Missing(name.to_owned()))
    }

    /// A unit by number.
    pub fn unit(&mut self) -> Read<Rc<Linked>> {
        let number = self.input.small::<usize>()?;
        self.units.get(number).cloned().ok_or(DumpError::damaged("a unit is missing"))
    }

    /// The number in the dump of a unit of the machine.
    pub fn number_of(&self, id: u32) -> Option<usize> {
        self.unit_numbers.get(&id).copied()
    }

    /// Attaches the prelude that the machine had: the same one must be there.
    fn attach(&mut self, preludes: &[Arc<Prelude>]) -> Read {
        let hash = self.input.text()?;
        if hash.is_empty() {
            return Ok(());
        }
        let same = preludes.iter().find(|prelude| prelude.artifact_hash() == hash);
        let prelude = same.ok_or_else(|| DumpError::Prelude(hash.to_owned()))?;
        self.machine.attach(prelude).map_err(unlinked)
    }

    /// The number of a function of the prelude, if its code is still the same.
    fn number_in_prelude(&self, name: &str, unit: &Unit) -> Option<u32> {
        let prelude = self.machine.prelude()?;
        let number = prelude.find(name)?;
        match prelude.definition(number).code.get()? {
            crate::prelude::Code::Function(own) if same_code(own, unit) => Some(number),
            _ => None,
        }
    }

    /// Definitions that code names are there, and those that a program names are public.
    fn check_exports(&self, unit: &Unit, inside: bool) -> Read {
        let prelude = self.machine.prelude();
        let fits = |op: &Op| match op {
            Op::Export { at, .. } => {
                let definition = prelude.and_then(|prelude| prelude.get(*at));
                definition.is_some_and(|definition| inside || !definition.private)
            }
            _ => true,
        };
        let fault = || DumpError::damaged("a definition of the prelude is missing");
        unit.ops.iter().all(fits).then_some(()).ok_or_else(fault)
    }

    /// Reads and verifies the code of one unit.
    fn unit_code(&mut self) -> Read<UnlinkedCode> {
        let library = if self.input.bool()? { Some(self.text()?) } else { None };
        let source = if library.is_none() { self.input.text()? } else { "" };
        let mut unit = self.code()?;
        let fault = |fault: crate::verify::Fault| {
            DumpError::Damaged(format!("instruction {}: {}", fault.at, fault.what).into())
        };
        let layout = verify(&unit).map_err(fault)?;
        for region in layout.regions() {
            let ops = &mut unit.ops[region.start as usize..region.end as usize];
            unit.funcs[region.func as usize].needs_self |= ops.iter().any(Op::looks_at_self);
            settle(ops, region.body(), &unit.consts);
        }
        self.layouts.push(layout);
        self.check_exports(&unit, library.is_some())?;
        if let Some(number) = library.and_then(|name| self.number_in_prelude(name, &unit)) {
            return Ok(UnlinkedCode::Prelude(number));
        }
        if let Some(place) = library.and_then(|name| place_in_library(name, &unit)) {
            return Ok(UnlinkedCode::Library(place));
        }
        if library.is_none() {
            unit.spans = self.spans()?;
            unit.source = Arc::from(source);
        }
        Ok(UnlinkedCode::Own(Arc::new(unit)))
    }

    /// Links all units. Constants of the first ones are the first bodies that values can refer to.
    fn link(&mut self, code: Vec<UnlinkedCode>, seeding: usize) -> Read {
        for (number, code) in code.into_iter().enumerate() {
            let unit = match code {
                UnlinkedCode::Library(place) => self.machine.library.function(place).clone(),
                UnlinkedCode::Prelude(number) => self.machine.prelude_unit(number).map_err(unlinked)?,
                UnlinkedCode::Own(unit) => self.machine.link(unit).map_err(unlinked)?,
            };
            if number < seeding {
                let slots = &mut self.slots;
                unit.consts.iter().for_each(|value| each_body(value, &mut |_, body| slots.push(body)));
            }
            self.unit_numbers.entry(unit.id).or_insert(number);
            self.units.push(unit);
        }
        Ok(())
    }
}

fn unlinked(error: crate::error::Error) -> DumpError {
    DumpError::Damaged(format!("a constant cannot be made: {error}").into())
}

/// The place of a library function in this build, if its code is still the same.
fn place_in_library(name: &str, unit: &Unit) -> Option<u32> {
    #[cfg(test)]
    if super::tests::LIBRARY_HAS_CHANGED.get() {
        return None;
    }
    let registry = registry();
    let Run::Core(place) = registry.get(registry.qualified(name)?).run else { return None };
    let own = crate::core::unit(place);
    same_code(&own, unit).then_some(place)
}

fn same_code(own: &Unit, unit: &Unit) -> bool {
    own.ops == unit.ops && own.consts == unit.consts && own.funcs == unit.funcs
}

/// Every body of a constant that something else may share, in a fixed order, with its address.
pub(super) fn each_body(constant: &Value, each: &mut impl FnMut(usize, BodySlot)) {
    fn all<'v>(values: impl IntoIterator<Item = &'v Value>, each: &mut impl FnMut(usize, BodySlot)) {
        values.into_iter().for_each(|value| each_body(value, each));
    }
    let itself = || BodySlot::Value(constant.clone());
    match constant {
        Value::Str(Text::Long(body)) => each(body.address(), itself()),
        Value::Big(body) => each(body.address(), itself()),
        Value::Decimal(body) => each(body.address(), itself()),
        Value::Regex(body) => each(body.address(), itself()),
        Value::Time(body) => each(body.address(), itself()),
        Value::Vec(body) => {
            each(body.address(), itself());
            all(&body.items, each);
        }
        Value::Seq(body) => {
            each(body.address(), itself());
            each(body.items.address(), BodySlot::Value(Value::Vec(body.items.clone())));
            all(&body.items.items, each);
        }
        Value::Map(body) => {
            each(body.address(), itself());
            body.layout().into_iter().for_each(|keys| each(keys.address(), BodySlot::Layout(keys.clone())));
            all(body.iter().flat_map(|(key, value)| [key, value]), each);
        }
        Value::Set(body) => {
            each(body.address(), itself());
            body.table
                .layout()
                .into_iter()
                .for_each(|keys| each(keys.address(), BodySlot::Layout(keys.clone())));
            all(body.table.keys(), each);
        }
        _ => {}
    }
}
