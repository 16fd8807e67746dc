//! What a session shows and forgets between programs: sizes of definitions, earlier results, names that go.

use super::Machine;
use super::kept::hidden;
use crate::builtins::lookup::in_map;
use crate::code::{Const, Op, Unit};
use crate::error::{Error, ErrorKind};
use crate::value::Value;
use crate::view::{Bounds, Glimpse};

impl Machine {
    /// Every definition with its size, counted as [`Machine::memory_bytes`] does, in order of definition. What two of
    /// them share counts for both. A size stops counting beyond `most`.
    pub fn definition_sizes(&self, most: usize) -> Vec<(String, usize)> {
        let sizes = self.heap.globals.defined().map(|(facts, value)| {
            let shown = self.shown_bytes(facts, value, most);
            let hidden = hidden([value], [facts], &[], most.saturating_sub(shown));
            (self.heap.names.text(facts.name).to_owned(), shown.saturating_add(hidden))
        });
        sizes.collect()
    }

    /// Definitions with the bytes of memory that each holds, the largest first. What two of them share counts for both.
    pub fn definition_memory(&self) -> Vec<(String, usize)> {
        let one = |(name, value)| (self.heap.names.text(name).to_owned(), super::census::bytes_of(value));
        let mut all: Vec<(String, usize)> = self.heap.globals.iter().map(one).collect();
        all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all
    }

    /// Forgets a definition; whether there was one. Functions that use it then find it undefined.
    pub fn forget(&mut self, name: &str) -> bool {
        if self.running {
            return false;
        }
        let Some(known) = self.heap.names.find(name) else { return false };
        if self.heap.globals.find(known).is_none() {
            return false;
        }
        let slot = self.heap.globals.slot(known);
        self.heap.globals.set_root(slot, Value::Unbound);
        drop(self.heap.globals.commit());
        self.lasting.before = None;
        true
    }

    /// Forgets `*1 *2 *3`.
    pub fn forget_history(&mut self) {
        self.history.clear();
        self.lasting.before = None;
    }

    /// The last results, newest first.
    pub fn history(&self, bounds: &Bounds) -> Vec<Glimpse> {
        self.history.iter().map(|value| Glimpse::of(value, &self.heap.names, bounds)).collect()
    }

    /// Refuses a program that names an input which is not there, if inputs are strict.
    pub(super) fn has_inputs(&self, unit: &Unit) -> Result<(), Error> {
        if !self.is_strict_about_inputs() {
            return Ok(());
        }
        for (op, span) in unit.ops.iter().zip(&unit.spans) {
            let Op::Data { at, .. } = op else { continue };
            match unit.consts.get(*at as usize) {
                Some(Const::Str(name)) if !self.has_input(name) => {
                    return Err(self.missing_input(name).at(*span));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether there is an input of this name, as the program may spell it.
    fn has_input(&self, name: &str) -> bool {
        let Value::Map(given) = &self.data else { return false };
        [name.to_owned(), name.replace('-', "_"), name.replace('_', "-")]
            .into_iter()
            .any(|spelling| in_map(given, &Value::string(spelling), &self.heap.names).is_some())
    }

    /// The error for an input that is not there.
    pub(super) fn missing_input(&self, name: &str) -> Error {
        let known = self.data_names();
        if let Some((input, part)) = name.split_once('.')
            && known.iter().any(|name| name == input)
            && let Some(hint) = crate::analyze::member(&format!("data/{input}"), part)
        {
            return Error::new(ErrorKind::Runtime, format!("there is no input data/{name}")).hint(hint);
        }
        let hint = match known.as_slice() {
            _ if self.servers.tools_of("data").is_some() => crate::analyze::taken_name("data", "data", name),
            [] => "the program was given no inputs".to_owned(),
            names => {
                let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
                let more = if names.len() > shown.len() { " and more" } else { "" };
                format!("inputs are {}{more}", shown.join(", "))
            }
        };
        Error::new(ErrorKind::Runtime, format!("there is no input data/{name}")).hint(hint)
    }
}
