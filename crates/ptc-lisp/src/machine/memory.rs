//! What a host may do with a machine between programs: look at results, definitions and inputs without
//! copying them, give and take away inputs, lend a journal and a budget, take back the last program.

use serde_json::Value as Json;

use super::Machine;
use super::kept::hidden;
use crate::error::{Error, ErrorKind};
use crate::globals::{Facts, Undo};
use crate::interchange::{Keys, from_json, sayable, to_json, to_json_spelt};
use crate::names::Name;
use crate::value::equal::is_same;
use crate::value::extent::extent;
use crate::value::written::written;
use crate::value::{Map, Value};
use crate::view::{Bounds, Glimpse, View, is_hidden_name};

/// Settings and leftovers of the host that outlive a program.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    /// How many bytes each of `*1 *2 *3` may keep.
    pub history_bytes: Option<usize>,
    /// Whether `*1` is only the beginning of the value.
    pub history_cut: bool,
    /// Whether the host may take back a program that ended well.
    pub takes_back: bool,
    /// Whether results that are maps show through `ctx/`.
    pub overlays: bool,
    /// What `ctx/` finds before the inputs: a map, or nil.
    pub overlay: Value,
    /// Names that the last program defined or changed, sorted.
    pub changed: Vec<String>,
    /// How it was before the last program.
    pub before: Option<Box<RollbackState>>,
    /// Whether an input that is not there is an error rather than nil.
    pub strict_inputs: bool,
}

/// What taking back a program needs.
#[derive(Debug)]
pub(crate) struct RollbackState {
    pub undo: Undo,
    pub history: Vec<Value>,
    pub history_cut: bool,
    pub overlay: Value,
}

impl Lasting {
    /// Forgets what belongs to the program before.
    pub fn start_program(&mut self) {
        self.changed.clear();
        self.before = None;
    }
}

/// What is known about a definition that is a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The parameters of each arity, as written: `[x & more]`.
    pub params: Vec<String>,
    /// The docstring.
    pub doc: Option<String>,
}

/// Looking.
impl Machine {
    /// The value of the program that ended.
    pub fn view_result(&self, bounds: &Bounds) -> View {
        View::of(&self.result, &self.heap.names, bounds)
    }

    /// The value of the program that ended, with what a handle on it says.
    pub fn glimpse_result(&self, bounds: &Bounds) -> Glimpse {
        Glimpse::of(&self.result, &self.heap.names, bounds)
    }

    /// Where the value of the program that ended has no JSON form, so that its JSON says something else: the
    /// path to the first such place, `[0].key`. Nothing if all of it is JSON.
    pub fn value_without_json(&self) -> Option<String> {
        crate::interchange::without_json(&self.result, &self.heap.names)
    }

    /// The value of a definition. With a firewall, names that begin with `_` are hidden.
    pub fn view_definition(&self, name: &str, bounds: &Bounds) -> Option<View> {
        self.glimpse_definition(name, bounds).map(|glimpse| glimpse.view)
    }

    /// The same, with what a handle on it says.
    pub fn glimpse_definition(&self, name: &str, bounds: &Bounds) -> Option<Glimpse> {
        let value = self.definition(name)?;
        if bounds.firewall && is_hidden_name(name) {
            return Some(Glimpse::hidden());
        }
        let mut glimpse = Glimpse::of(value, &self.heap.names, bounds);
        if let (Value::Fn(_), Some(function)) = (value, self.function(name)) {
            let params: Vec<&str> =
                function.params.iter().map(|list| list.trim_matches(['[', ']'])).collect();
            glimpse.view = View::Opaque(format!("#fn[{}]", params.join(" | ")));
        }
        Some(glimpse)
    }

    /// An input. With a firewall, names that begin with `_` are hidden.
    pub fn view_data(&self, name: &str, bounds: &Bounds) -> Option<View> {
        let value = self.given(name)?;
        let hidden = bounds.firewall && is_hidden_name(name);
        Some(if hidden { View::Hidden } else { View::of(value, &self.heap.names, bounds) })
    }

    /// The names of all inputs, sorted.
    pub fn data_names(&self) -> Vec<String> {
        let Value::Map(body) = &self.data else { return Vec::new() };
        let keys = body.keys().filter_map(|key| match key {
            Value::Kw(name) => Some(self.heap.names.text(*name).to_owned()),
            _ => key.as_str().map(str::to_owned),
        });
        let mut names: Vec<String> = keys.collect();
        names.sort_unstable();
        names
    }

    /// A definition as JSON; none if it does not exist or is more than a result may be.
    pub fn definition_json(&self, name: &str) -> Option<Json> {
        let value = self.definition(name)?;
        let limit = self.heap.limits.output_bytes;
        let bytes = extent(value, &self.heap.names, limit).ok()?;
        (bytes <= limit).then(|| self.json_of(value, "the definition"))
    }

    /// A value as JSON that was measured when it came where it is; if it does not fit after all, the JSON says
    /// why.
    pub(super) fn json_of(&self, value: &Value, what: &str) -> Json {
        self.try_json_of(value, what).unwrap_or_else(|error| Json::String(error.message))
    }

    /// A value as JSON, or why there is none; `what` names the value.
    pub(super) fn try_json_of(&self, value: &Value, what: &str) -> Result<Json, Error> {
        to_json(value, &self.heap.names, self.heap.room_for_json()).map_err(|unfit| unfit.error(what))
    }

    /// The result as JSON for hosts: keywords that programs wrote as keys have underscores, keys that data brought along
    /// stay as they are. Two keys of a map that become one by that are an error, as is what JSON has no form for.
    pub fn try_value_json_spelt(&self) -> Result<Json, Error> {
        sayable(&self.result, &self.heap.names, ErrorKind::Type, "the result")?;
        let room = self.heap.room_for_json();
        to_json_spelt(&self.result, &self.heap.names, room).map_err(|unfit| unfit.error("the result"))
    }

    /// A key of a result that is JSON by now, as [`Machine::try_value_json_spelt`] would have it.
    pub fn spelt_key<'k>(&'k self, key: &'k str) -> std::borrow::Cow<'k, str> {
        self.heap.names.find(key).map_or(key.into(), |name| self.heap.names.key(name))
    }

    /// Parameters and docstring of a definition, if it is a function.
    pub fn function(&self, name: &str) -> Option<Function> {
        let known = self.heap.names.find(name)?;
        matches!(self.heap.globals.find(known)?, Value::Fn(_)).then_some(())?;
        let text = self.heap.globals.origin(known).map_or("", |origin| origin.text());
        let (params, doc) = crate::builtins::vars::described(text, name);
        Some(Function { params, doc })
    }

    /// Names that the last program defined or changed, sorted; none if it failed.
    pub fn changed(&self) -> &[String] {
        &self.lasting.changed
    }

    /// Bytes of all definitions: of each its name and its readable text (what `pr-str` writes, UTF-8), of a function
    /// the text of its definition and what it captured; and the memory of what they keep and do not show, which counts
    /// once for all of them (see `kept.rs`). Counting stops beyond the memory that programs may use.
    pub fn memory_bytes(&self) -> usize {
        let (limit, globals) = (self.heap.limits.memory, &self.heap.globals);
        let mut bytes = 0usize;
        for (facts, value) in globals.defined() {
            bytes = bytes.saturating_add(self.shown_bytes(facts, value, limit.saturating_sub(bytes)));
            if bytes > limit {
                return bytes;
            }
        }
        let values = globals.defined().map(|(_, value)| value);
        // What programs derive and extend is no definition, and lasts as those do.
        let held = [&self.heap.hierarchy, &self.heap.object_methods];
        bytes.saturating_add(hidden(values, &globals.facts, &held, limit - bytes))
    }

    /// Bytes of a definition as text, or a number beyond `most` as soon as it is more.
    pub(super) fn shown_bytes(&self, facts: &Facts, value: &Value, most: usize) -> usize {
        let source = facts.origin.as_ref().filter(|_| matches!(value, Value::Fn(_)));
        let around = self.heap.names.text(facts.name).len() + source.map_or(0, |origin| origin.text().len());
        around.saturating_add(written(value, &self.heap.names, most))
    }

    /// Whether `*1` is all of the last value, and not only its beginning.
    pub fn history_is_whole(&self) -> bool {
        !self.lasting.history_cut
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        self.heap.globals.find(self.heap.names.find(name)?)
    }

    fn given(&self, name: &str) -> Option<&Value> {
        let Value::Map(body) = &self.data else { return None };
        body.get(&Value::Kw(self.heap.names.find(name)?))
    }
}

/// Giving and taking away.
impl Machine {
    /// Gives a definition a value, as `(def name …)` of a program would.
    pub fn define_json(&mut self, name: &str, json: &Json) -> Result<(), Error> {
        self.at_rest()?;
        let value = self.kept(|heap| from_json(heap, json, Keys::Names))?;
        let slot = self.heap.slot(name);
        self.heap.globals.set_root(slot, value);
        drop(self.heap.globals.commit());
        Ok(())
    }

    /// Gives programs one more input, or another value for one.
    pub fn set_input(&mut self, name: &str, json: &Json) -> Result<(), Error> {
        let value = self.kept(|heap| from_json(heap, json, Keys::Names))?;
        self.put_input(name, value);
        Ok(())
    }

    /// Takes an input away; whether it was there.
    pub fn remove_input(&mut self, name: &str) -> bool {
        let (Value::Map(body), Some(name)) = (&self.data, self.heap.names.find(name)) else { return false };
        let mut all = body.entries_only();
        let removed = all.remove(&Value::Kw(name)).is_some();
        self.data = Value::Map(all);
        removed
    }

    pub(super) fn put_input(&mut self, name: &str, value: Value) {
        let name = self.heap.keyword(name);
        let mut all = match &self.data {
            Value::Map(body) => body.entries_only(),
            _ => Map::default(),
        };
        all.insert(name, value);
        self.data = Value::Map(all);
    }

    /// Lends a journal: results of `task` by id, a JSON object.
    pub fn set_journal(&mut self, journal: &Json) -> Result<(), Error> {
        let mut table = Map::default();
        for (id, json) in journal.as_object().into_iter().flatten() {
            let value = self.kept(|heap| from_json(heap, json, Keys::Names))?;
            table.insert(Value::str(id), value);
        }
        self.heap.journal = table;
        Ok(())
    }

    /// Results of `task` by id, a JSON object. Tasks that a failed program completed are in it.
    pub fn journal(&self) -> Json {
        let entries = self.heap.journal.iter().map(|(id, value)| {
            let id = id.as_str().unwrap_or_default().to_owned();
            let json = self.json_of(value, &id);
            (id, json)
        });
        Json::Object(entries.collect())
    }

    /// The steps that the program noted as done, as ids and summaries; none if it failed.
    pub fn take_steps(&mut self) -> Vec<(String, String)> {
        self.heap.steps.take()
    }

    /// Sets what `(budget/remaining)` gives; keys become keywords.
    pub fn set_budget(&mut self, budget: &Json) -> Result<(), Error> {
        self.heap.budget = self.kept(|heap| from_json(heap, budget, Keys::Names))?;
        Ok(())
    }

    /// Whether printed lines show `<Firewalled>` in place of what stands under keys that begin with `_`.
    pub fn set_firewall(&mut self, firewall: bool) {
        self.heap.firewall = firewall;
    }

    /// How many bytes each of `*1 *2 *3` may keep from now on, counted as those of definitions; `None` for whole values.
    pub fn set_history_bytes(&mut self, bytes: Option<usize>) {
        self.lasting.history_bytes = bytes;
    }

    /// Whether `ctx/name` finds the entries of earlier results that are maps before the inputs, as early
    /// programs expect it. `data/name` never does.
    pub fn set_overlay(&mut self, overlays: bool) {
        self.lasting.overlays = overlays;
    }

    /// Whether `data/name` is an error where there is no such input, in place of nil: before the program runs, and where
    /// functions of earlier programs ask. Inputs come before the program. Not part of a dump.
    pub fn set_strict_inputs(&mut self, strict: bool) {
        self.lasting.strict_inputs = strict;
    }

    pub(super) fn is_strict_about_inputs(&self) -> bool {
        self.lasting.strict_inputs
    }

    /// Whether [`Machine::take_back`] is possible, for which a machine keeps old values a little longer.
    pub fn set_takes_back(&mut self, takes_back: bool) {
        self.lasting.takes_back = takes_back;
    }

    /// Takes back the definitions, atoms and history of the program that ended well, if none was loaded
    /// since, the machine was told to be ready for it, and has not been dumped; whether it did.
    pub fn take_back(&mut self) -> bool {
        if self.running {
            return false;
        }
        let Some(before) = self.lasting.before.take() else { return false };
        self.heap.globals.take_back(before.undo);
        self.history = before.history;
        self.lasting.history_cut = before.history_cut;
        self.lasting.overlay = before.overlay;
        self.lasting.changed.clear();
        true
    }

    fn at_rest(&self) -> Result<(), Error> {
        match self.running {
            true => Err(Error::new(ErrorKind::Runtime, "a program is running")),
            false => Ok(()),
        }
    }
}

/// At the end of a program.
impl Machine {
    /// Keeps what the program changed.
    pub(super) fn commit(&mut self) {
        self.lasting.changed = self.changed_names();
        let undo = self.heap.globals.commit();
        if self.lasting.takes_back {
            let before = RollbackState {
                undo,
                history: self.history.clone(),
                history_cut: self.lasting.history_cut,
                overlay: self.lasting.overlay.clone(),
            };
            self.lasting.before = Some(Box::new(before));
        }
    }

    /// A definition counts if it was written again, has another value, or is an atom with another content.
    fn changed_names(&self) -> Vec<String> {
        let globals = &self.heap.globals;
        let mut names: Vec<Name> = globals.rewritten().collect();
        let cells = globals.undo_cells.iter();
        let changed: Vec<_> = cells.filter(|(cell, old)| !is_same(&cell.state.borrow().value, old)).collect();
        if !changed.is_empty() {
            let holds = |value: &Value| matches!(value, Value::Cell(cell) if changed.iter().any(|(other, _)| std::rc::Rc::ptr_eq(cell, other)));
            names.extend(globals.iter().filter(|(_, value)| holds(value)).map(|(name, _)| name));
        }
        let mut names: Vec<String> =
            names.iter().map(|name| self.heap.names.text(*name).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Takes note of the value of a program for those that follow.
    pub(super) fn remember(&mut self, value: Value) {
        if self.lasting.overlays
            && let Value::Map(body) = &value
        {
            let mut all = match &self.lasting.overlay {
                Value::Map(overlay) => overlay.entries_only(),
                _ => Map::default(),
            };
            for (key, value) in body.iter() {
                let key = match key {
                    Value::Str(text) => self.heap.keyword(text.as_str()),
                    Value::Kw(_) => key.clone(),
                    _ => continue,
                };
                all.insert(key, value.clone());
            }
            self.lasting.overlay = Value::Map(all);
        }
        // The beginning of an earlier value is still no more than that.
        let is_beginning =
            self.lasting.history_cut && self.history.first().is_some_and(|last| is_same(&value, last));
        let (value, cut) = match self.lasting.history_bytes {
            Some(limit) => super::history::fitted(value, &self.heap.names, limit),
            None => (value, false),
        };
        self.lasting.history_cut = cut || is_beginning;
        self.history.reserve_exact(usize::from(self.history.capacity() == 0));
        self.history.insert(0, value);
        self.history.truncate(3);
    }

    /// An input by name: as written, else with underscores for hyphens or the other way round. A keyword
    /// names one that an earlier result may stand for.
    pub(super) fn input(&mut self, name: &Value) -> Result<Value, Error> {
        let (text, overlay) = match name {
            Value::Str(text) => (text.as_str().to_owned(), Value::Nil),
            Value::Kw(name) => (self.heap.names.text(*name).to_owned(), self.lasting.overlay.clone()),
            _ => return Ok(Value::Nil),
        };
        for given in [overlay, self.data.clone()] {
            if given.is_nil() {
                continue;
            }
            for spelling in [text.clone(), text.replace('-', "_"), text.replace('_', "-")] {
                let key = self.heap.keyword(&spelling);
                let found = crate::builtins::lookup::get_or(&mut self.heap, &given, &key, &Value::Unbound);
                match found {
                    Ok(Value::Unbound) | Err(_) => {}
                    Ok(value) => return Ok(value),
                }
            }
        }
        match self.lasting.strict_inputs {
            true => Err(self.missing_input(&text)),
            false => Ok(Value::Nil),
        }
    }
}
