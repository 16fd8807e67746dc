//! The writer: what is common to all parts of a dump, and the order of the parts.
//!
//! The state is written first, into a buffer, because only then it is known which names and which code
//! it needs; those go before it.

use std::rc::Rc;

use hashbrown::HashMap;

use super::DumpError;
use super::bytes::{Out, checksum};
use super::format::{ASKING, MAGIC};
use super::read::each_body;
use crate::code::{Linked, Unit};
use crate::machine::{Machine, library};
use crate::names::Name;
use crate::seed::{Seeded, Unseeded};
use crate::value::{CellObj, LazyObj, Value};

/// A dump being written.
pub(super) struct Writer<'m> {
    pub machine: &'m Machine,
    pub out: Out,
    /// Names and other texts that occur more than once, in order of first use.
    texts: Vec<&'m str>,
    text_numbers: HashMap<&'m str, u32, Seeded>,
    /// Numbers of the texts of names, by name; zero is none yet.
    names: Vec<u32>,
    /// Units in the order they are written, their numbers there by those in the machine, and how many of
    /// them share their constants.
    units: Vec<&'m Rc<Linked>>,
    unit_numbers: HashMap<u32, usize, Unseeded>,
    seeding: usize,
    /// Bodies with more than one owner, by address.
    pub shared: HashMap<usize, u32, Unseeded>,
    pub slots: u32,
    /// Lazy sequences and cells, by address.
    pub queued: HashMap<usize, usize, Unseeded>,
    pub lazies: Vec<Rc<LazyObj>>,
    pub cells: Vec<Rc<CellObj>>,
    /// Keys that were written as copies.
    pub copies: Vec<Value>,
    pub depth: u16,
    pub too_deep: bool,
}

/// Writes a machine.
pub(super) fn write(machine: &Machine) -> Result<Vec<u8>, DumpError> {
    let mut writer = Writer {
        machine,
        out: Out { bytes: Vec::with_capacity(1024) },
        texts: Vec::new(),
        text_numbers: HashMap::default(),
        names: Vec::new(),
        units: Vec::new(),
        unit_numbers: HashMap::default(),
        seeding: 0,
        shared: HashMap::default(),
        slots: 0,
        queued: HashMap::default(),
        lazies: Vec::new(),
        cells: Vec::new(),
        copies: Vec::new(),
        depth: 0,
        too_deep: false,
    };
    writer.number_units();
    writer.state_of_machine();
    writer.queues();
    let state = std::mem::take(&mut writer.out);
    writer.write_units();
    let units = std::mem::take(&mut writer.out);
    if writer.too_deep {
        return Err(DumpError::TooDeep);
    }
    let mut out = Out { bytes: Vec::with_capacity(state.bytes.len() + units.bytes.len() + 512) };
    out.raw(MAGIC);
    out.int(writer.version());
    if writer.version() >= ASKING {
        out.text(machine.prelude().map_or("", |prelude| prelude.artifact_hash()));
    }
    out.size(writer.texts.len());
    writer.texts.iter().for_each(|text| out.text(text));
    out.raw(&units.bytes);
    out.raw(&state.bytes);
    let sum = checksum(&out.bytes);
    out.raw(&sum.to_le_bytes());
    Ok(out.bytes)
}

impl<'m> Writer<'m> {
    /// Writes a text that may occur again as its number.
    pub fn text(&mut self, text: &'m str) {
        let number = self.text_number(text);
        self.out.int(u64::from(number));
    }

    fn text_number(&mut self, text: &'m str) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.text_numbers.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        number
    }

    /// Writes a name as the number of its text.
    pub fn name(&mut self, name: Name) {
        let at = name.0 as usize;
        if self.names.len() <= at {
            self.names.resize(at + 1, 0);
        }
        if self.names[at] == 0 {
            self.names[at] = self.text_number(self.machine.heap.names.text(name)) + 1;
        }
        self.out.int(u64::from(self.names[at] - 1));
    }

    /// The number in the dump of the unit with this number in the machine.
    pub fn unit_number(&mut self, id: u32) -> usize {
        let next = self.units.len();
        let number = *self.unit_numbers.entry(id).or_insert(next);
        if number == next {
            self.units.push(self.machine.unit(id));
        }
        number
    }

    /// Units of programs and of running functions come first, and their constants are the first bodies:
    /// constants in registers are shared with the code again after loading.
    fn number_units(&mut self) {
        let machine = self.machine;
        for unit in machine.units.iter().flatten() {
            self.unit_number(unit.id);
        }
        for fiber in machine.fibers.iter().filter_map(Option::as_deref).chain([&machine.fiber]) {
            for frame in &fiber.frames {
                self.unit_number(frame.unit);
            }
        }
        self.seeding = self.units.len();
        for constant in self.units.iter().flat_map(|unit| &unit.consts) {
            each_body(constant, &mut |address, _| {
                self.shared.insert(address, self.slots);
                self.slots += 1;
            });
        }
    }

    fn write_units(&mut self) {
        self.out.size(self.seeding);
        self.out.size(self.units.len());
        // Code refers to no other unit, so the list does not grow any more.
        for at in 0..self.units.len() {
            let unit: &'m Unit = &self.units[at].unit;
            let id = self.units[at].id;
            let prelude = || Some(&self.machine.prelude()?.get(library::prelude_number(id)?)?.full);
            let name =
                library::place(id).map(crate::core::function_name).or_else(|| prelude().map(String::as_str));
            match name {
                Some(name) => {
                    self.out.bool(true);
                    self.text(name);
                    self.code(unit);
                }
                None => {
                    self.out.bool(false);
                    self.out.text(&unit.source);
                    self.code(unit);
                    self.spans(&unit.spans);
                }
            }
        }
    }
}
