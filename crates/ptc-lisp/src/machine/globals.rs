//! Definitions of a session, with what is needed to take back the changes of a failed program.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::heap::Heap;
use crate::names::Name;
use crate::value::{CellObj, Shared, Value};

/// Definitions by slot.
#[derive(Debug, Default)]
pub struct Globals {
    values: Vec<Value>,
    names: Vec<Name>,
    index: HashMap<Name, u32, FixedState>,
    /// Values that definitions had before this program changed them.
    undo: Vec<(u32, Value)>,
    /// Values that atoms had before this program changed them.
    undo_cells: Vec<(Shared<CellObj>, Value)>,
}

impl Globals {
    /// The slot of a definition, made if it is new.
    pub fn slot(&mut self, name: &str, heap: &mut Heap) -> u32 {
        let name = heap.intern(name);
        *self.index.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.values.push(Value::Unbound);
            (self.values.len() - 1) as u32
        })
    }

    /// The value in a slot; `Unbound` if there is none.
    #[inline]
    pub fn get(&self, slot: u32) -> &Value {
        &self.values[slot as usize]
    }

    /// The name of a slot.
    pub fn name(&self, slot: u32) -> Name {
        self.names[slot as usize]
    }

    /// The value of a definition.
    pub fn find(&self, name: Name) -> Option<&Value> {
        let value = self.get(*self.index.get(&name)?);
        (!matches!(value, Value::Unbound)).then_some(value)
    }

    /// Gives a definition a value.
    pub fn set(&mut self, slot: u32, value: Value) {
        let old = std::mem::replace(&mut self.values[slot as usize], value);
        if !self.undo.iter().any(|(known, _)| *known == slot) {
            self.undo.push((slot, old));
        }
    }

    /// All definitions that have a value, in order of first mention.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &Value)> {
        let defined = self.names.iter().copied().zip(&self.values);
        defined.filter(|(_, value)| !matches!(value, Value::Unbound))
    }

    /// All values, for the census.
    pub fn roots(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().chain(self.undo.iter().map(|(_, value)| value))
    }

    /// Keeps the changes.
    pub fn commit(&mut self) {
        self.undo.clear();
        self.undo_cells.clear();
    }

    /// Takes the changes back.
    pub fn rollback(&mut self) {
        for (slot, old) in self.undo.drain(..).rev() {
            self.values[slot as usize] = old;
        }
        for (cell, old) in self.undo_cells.drain(..).rev() {
            cell.state.borrow_mut().value = old;
        }
    }

    /// Remembers what the cells that definitions reach hold now.
    pub fn save_cells(&mut self, cells: &[Shared<CellObj>]) {
        self.undo_cells =
            cells.iter().map(|cell| (cell.clone(), cell.state.borrow().value.clone())).collect();
    }
}
