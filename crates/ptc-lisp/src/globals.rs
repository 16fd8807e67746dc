//! Definitions of a session: their values, what is known about them (where they were written, metadata,
//! watches), the values that `binding` put in front, and what is needed to take back the changes of a
//! failed program.
//!
//! Definitions last from program to program. What a program changed in definitions and atoms is rolled back when it fails
//! or ends with `(fail …)`. A var is the name of a definition, so it sees redefinition; `source`, `doc` and `meta` read
//! the text that each definition keeps. Names of `require` belong to one program; a host that wants them to last, such as
//! `ptc repl`, passes them on (`Machine::set_required`).

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::decimal::context;
use crate::names::{Name, Names};
use crate::seed::Unseeded;
use crate::span::Span;
use crate::value::equal::is_same;
use crate::value::{CellObj, Shared, Time, Value};

/// The text of a definition: a part of the program that made it.
#[derive(Clone, Debug)]
pub struct Origin {
    pub(crate) source: Arc<str>,
    pub(crate) span: Span,
}

impl Origin {
    /// The part of `source` at `span`.
    pub fn new(source: Arc<str>, span: Span) -> Self {
        Origin { source, span }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.source.get(self.span.start as usize..self.span.end as usize).unwrap_or_default()
    }

    /// The text on its own, so that it does not keep the whole program.
    fn trimmed(&self) -> Self {
        let text = self.text();
        if text.len() == self.source.len() {
            return self.clone();
        }
        Origin { source: Arc::from(text), span: Span::new(0, text.len()) }
    }
}

/// What is known about a definition besides its value.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: Name,
    pub(crate) origin: Option<Origin>,
    /// Metadata that the program gave; what the text says need not be here.
    pub(crate) meta: Option<Rc<Value>>,
    /// A map from keys to functions, or nil.
    pub(crate) watches: Value,
    /// Whether the running program has changed the definition.
    pub(crate) changed: bool,
}

/// What takes back the changes of a program.
#[derive(Debug, Default)]
pub struct Undo {
    pub(crate) slots: Vec<(u32, Value, Facts)>,
    pub(crate) cells: Vec<(Shared<CellObj>, Value)>,
}

/// Definitions by slot.
#[derive(Debug, Default)]
pub struct Globals {
    pub(crate) values: Vec<Value>,
    pub(crate) facts: Vec<Facts>,
    pub(crate) index: HashMap<Name, u32, Unseeded>,
    /// Definitions as they were before this program changed them.
    pub(crate) undo: Vec<(u32, Value, Facts)>,
    /// Values that atoms had before this program changed them.
    pub(crate) undo_cells: Vec<(Shared<CellObj>, Value)>,
    /// The values that stand behind those given by `binding`, oldest first.
    pub(crate) bound: Vec<(u32, Value)>,
    /// The definition that holds the precision of decimals, once there is one.
    pub(crate) context: Option<u32>,
}

impl Globals {
    /// The slot of a definition, made if it is new.
    pub fn slot(&mut self, name: Name) -> u32 {
        *self.index.entry(name).or_insert_with(|| {
            // Many sessions have one definition: the first takes no room for others.
            self.values.reserve_exact(usize::from(self.values.capacity() == 0));
            self.facts.reserve_exact(usize::from(self.facts.capacity() == 0));
            self.facts.push(Facts { name, origin: None, meta: None, watches: Value::Nil, changed: false });
            self.values.push(Value::Unbound);
            (self.values.len() - 1) as u32
        })
    }

    /// Whether no program has named a definition.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value in a slot; `Unbound` if there is none.
    #[inline]
    pub fn get(&self, slot: u32) -> &Value {
        &self.values[slot as usize]
    }

    /// The name of a slot.
    pub fn name(&self, slot: u32) -> Name {
        self.facts[slot as usize].name
    }

    /// The value of a definition.
    pub fn find(&self, name: Name) -> Option<&Value> {
        let value = self.get(*self.index.get(&name)?);
        (!matches!(value, Value::Unbound)).then_some(value)
    }

    fn facts(&self, name: Name) -> Option<&Facts> {
        Some(&self.facts[*self.index.get(&name)? as usize])
    }

    /// Where a definition was written.
    pub fn origin(&self, name: Name) -> Option<&Origin> {
        self.facts(name)?.origin.as_ref()
    }

    /// The metadata that the program gave a definition.
    pub fn meta(&self, name: Name) -> Option<&Rc<Value>> {
        self.facts(name)?.meta.as_ref()
    }

    /// The watches of a definition: a map or nil.
    pub fn watches(&self, name: Name) -> Value {
        self.facts(name).map_or(Value::Nil, |facts| facts.watches.clone())
    }

    /// Gives a definition its value, at the place where the program says so.
    pub fn define(&mut self, slot: u32, value: Value, origin: Origin) {
        self.note(slot);
        let facts = &mut self.facts[slot as usize];
        facts.origin = Some(origin);
        facts.meta = None;
        self.values[slot as usize] = value;
    }

    /// Sets the value that a definition has right now, be it its own or one given by `binding`.
    pub fn assign(&mut self, slot: u32, value: Value) {
        self.note(slot);
        self.values[slot as usize] = value;
    }

    /// The value of a definition behind all that `binding` put in front.
    pub fn root(&self, slot: u32) -> &Value {
        let behind = self.bound.iter().find(|(bound, _)| *bound == slot);
        behind.map_or(self.get(slot), |(_, value)| value)
    }

    /// Sets the value of a definition behind all that `binding` put in front.
    pub fn set_root(&mut self, slot: u32, value: Value) {
        self.note(slot);
        match self.bound.iter_mut().find(|(bound, _)| *bound == slot) {
            Some((_, root)) => *root = value,
            None => self.values[slot as usize] = value,
        }
    }

    /// Gives a definition metadata.
    pub fn set_meta(&mut self, slot: u32, meta: Option<Rc<Value>>) {
        self.note(slot);
        self.facts[slot as usize].meta = meta;
    }

    /// Gives a definition watches.
    pub fn set_watches(&mut self, slot: u32, watches: Value) {
        self.note(slot);
        self.facts[slot as usize].watches = watches;
    }

    /// Puts a value in front of a definition's own until [`Globals::unbind`].
    pub fn bind(&mut self, slot: u32, value: Value) {
        self.note(slot);
        let old = std::mem::replace(&mut self.values[slot as usize], value);
        self.bound.push((slot, old));
        self.show_context();
    }

    /// Takes away the value that was put in front last.
    pub fn unbind(&mut self, slot: u32) {
        if let Some(at) = self.bound.iter().rposition(|(bound, _)| *bound == slot) {
            self.values[slot as usize] = self.bound.remove(at).1;
        }
        self.show_context();
    }

    /// Binds the precision of decimals, which arithmetic has to know.
    pub fn bind_context(&mut self, slot: u32, context: Value) {
        self.context = Some(slot);
        self.bind(slot, context);
    }

    /// Finds the definition that holds the precision of decimals among those of a dump.
    pub fn find_context(&mut self, names: &Names) {
        self.context = names.find(context::VAR).and_then(|name| self.index.get(&name).copied());
    }

    /// Tells arithmetic the precision that is set now.
    #[inline]
    pub fn show_context(&self) {
        let Some(slot) = self.context else { return };
        context::set(match self.values.get(slot as usize) {
            Some(Value::Time(time)) => match **time {
                Time::MathContext(context) => Some(context),
                _ => None,
            },
            _ => None,
        });
    }

    /// Takes away all that is in front, for as long as another fiber runs.
    pub fn park(&mut self) -> Vec<(u32, Value)> {
        let mut parked = Vec::with_capacity(self.bound.len());
        for (slot, behind) in self.bound.drain(..).rev() {
            parked.push((slot, std::mem::replace(&mut self.values[slot as usize], behind)));
        }
        parked.reverse();
        self.show_context();
        parked
    }

    /// Puts in front again what [`Globals::park`] took away.
    pub fn unpark(&mut self, parked: Vec<(u32, Value)>) {
        parked.into_iter().for_each(|(slot, value)| self.bind(slot, value));
    }

    /// The names and present values of definitions that have a value in front.
    pub fn bindings(&self) -> Vec<(Name, Value)> {
        let mut slots: Vec<u32> = self.bound.iter().map(|(slot, _)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.into_iter().map(|slot| (self.name(slot), self.get(slot).clone())).collect()
    }

    /// Remembers what a definition was before the running program.
    fn note(&mut self, slot: u32) {
        let facts = &mut self.facts[slot as usize];
        if !facts.changed {
            self.undo.push((slot, self.values[slot as usize].clone(), facts.clone()));
            facts.changed = true;
        }
    }

    /// All definitions that have a value, in order of first mention.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &Value)> {
        self.defined().map(|(facts, value)| (facts.name, value))
    }

    /// The same, with what is known about them.
    pub(crate) fn defined(&self) -> impl Iterator<Item = (&Facts, &Value)> {
        self.facts.iter().zip(&self.values).filter(|(_, value)| !matches!(value, Value::Unbound))
    }

    /// Keeps the changes; gives what would take them back.
    pub fn commit(&mut self) -> Undo {
        self.unbind_all();
        for (slot, ..) in &self.undo {
            let facts = &mut self.facts[*slot as usize];
            facts.changed = false;
            facts.origin = facts.origin.as_ref().map(Origin::trimmed);
        }
        Undo { slots: std::mem::take(&mut self.undo), cells: std::mem::take(&mut self.undo_cells) }
    }

    /// Takes back changes that were kept.
    pub fn take_back(&mut self, undo: Undo) {
        self.undo = undo.slots;
        self.undo_cells = undo.cells;
        self.rollback();
    }

    /// The names of definitions that the program wrote again or gave another value.
    pub fn rewritten(&self) -> impl Iterator<Item = Name> {
        self.undo
            .iter()
            .filter(|(slot, old, facts)| {
                let now = &self.facts[*slot as usize];
                let written = match (&now.origin, &facts.origin) {
                    (Some(now), Some(old)) => !Arc::ptr_eq(&now.source, &old.source),
                    (now, old) => now.is_some() != old.is_some(),
                };
                let root = self.root(*slot);
                !matches!(root, Value::Unbound) && (written || !is_same(root, old))
            })
            .map(|(slot, ..)| self.name(*slot))
    }

    /// Takes the changes back.
    pub fn rollback(&mut self) {
        self.bound.clear();
        for (slot, value, facts) in self.undo.drain(..).rev() {
            self.values[slot as usize] = value;
            self.facts[slot as usize] = facts;
        }
        for (cell, old) in self.undo_cells.drain(..).rev() {
            cell.state.borrow_mut().value = old;
        }
    }

    /// A program may end inside of `binding`; what it put in front ends with it.
    fn unbind_all(&mut self) {
        for (slot, value) in self.bound.drain(..).rev() {
            self.values[slot as usize] = value;
        }
    }

    /// Remembers what the cells that definitions reach hold now.
    pub fn save_cells(&mut self, cells: &[Shared<CellObj>]) {
        self.undo_cells =
            cells.iter().map(|cell| (cell.clone(), cell.state.borrow().value.clone())).collect();
    }
}
