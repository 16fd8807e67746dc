//! The machine of an agent. It lives as long as the agent runs, so that definitions last over turns; agents
//! that never run a program never make one.

use std::sync::Arc;

use ptc_lisp::machine::{Answer, Machine, Owner, ProgramEnd, Step};
use ptc_lisp::prelude::Prelude;
use ptc_lisp::view::{Bounds, View};
use ptc_lisp::{Error, ErrorKind, Interrupt, Limits};
use serde_json::{Map, Value as Json};

use super::node::bounded;
use crate::written::WrittenInputs;

/// What a machine is set up with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub prelude: Option<Arc<Prelude>>,
    pub data: Arc<Json>,
    /// Those of the data that are text.
    pub written: Option<WrittenInputs>,
    pub memory: Map<String, Json>,
    pub journal: Map<String, Json>,
    pub seed: u64,
    pub history_bytes: Option<usize>,
    pub firewall: bool,
    /// Whether definitions of a turn may have to be taken back.
    pub takes_back: bool,
    pub owner: Owner,
}

/// A machine that is made when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Sandbox {
    pub machine: Option<Box<Machine>>,
    /// When the program that runs was loaded.
    pub since: u64,
}

impl Sandbox {
    /// The machine, made if there is none yet.
    pub fn open(&mut self, limits: Limits, setup: impl FnOnce() -> Setup) -> Result<&mut Machine, Error> {
        if self.machine.is_none() {
            let setup = setup();
            let mut machine = Machine::new(limits.clone());
            machine.set_owner(setup.owner);
            if let Some(prelude) = &setup.prelude {
                machine.attach(prelude)?;
            }
            machine.set_seed(setup.seed);
            give(&mut machine, &setup.data, setup.written.as_ref())?;
            machine.set_history_bytes(setup.history_bytes);
            machine.set_firewall(setup.firewall);
            machine.set_takes_back(setup.takes_back);
            // Early programs find the results of earlier turns under `ctx/`; others never look there.
            machine.set_overlay(true);
            machine.set_journal(&Json::Object(setup.journal))?;
            for (name, value) in &setup.memory {
                machine.define_json(name, value)?;
            }
            self.machine = Some(Box::new(machine));
        }
        let machine =
            self.machine.as_deref_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no machine"))?;
        machine.set_limits(limits);
        Ok(machine)
    }

    /// Goes on with the program for a slice of fuel, or until it is interrupted.
    pub fn run(&mut self, fuel: u64, interrupt: Interrupt) -> Step {
        match self.machine.as_deref_mut() {
            Some(machine) => {
                machine.set_interrupt(interrupt);
                let step = machine.run(fuel);
                machine.set_interrupt(Interrupt::default());
                step
            }
            None => Step::Failed(Error::new(ErrorKind::Internal, "there is no program")),
        }
    }

    /// Answers a call. An exception has the failure behind it as its data.
    pub fn answer(&mut self, id: u64, answer: Answer, failure: &Json) -> Result<(), Error> {
        let Some(machine) = self.machine.as_deref_mut() else { return Ok(()) };
        match answer {
            Answer::Raise(error) => machine.answer_failed(id, error, failure),
            answer => machine.answer(id, answer),
        }
    }

    /// Gives up the program.
    pub fn cancel(&mut self) {
        if let Some(machine) = self.machine.as_deref_mut() {
            machine.cancel();
        }
    }

    /// The definitions as JSON.
    pub fn memory_json(&self) -> Map<String, Json> {
        let Some(machine) = &self.machine else { return Map::new() };
        let names = machine.definitions();
        names
            .into_iter()
            .filter_map(|name| machine.definition_json(&name).map(|value| (name, bounded(value))))
            .collect()
    }

    /// The definitions that the last program made or changed, as JSON.
    pub fn changed_json(&self) -> Map<String, Json> {
        let Some(machine) = &self.machine else { return Map::new() };
        let value = |name: &String| machine.definition_json(name).map(|value| (name.clone(), bounded(value)));
        machine.changed().iter().filter_map(value).collect()
    }

    /// Bytes of the definitions.
    pub fn memory_bytes(&self) -> usize {
        self.machine.as_ref().map_or(0, |machine| machine.memory_bytes())
    }

    /// The journal.
    pub fn journal(&self) -> Map<String, Json> {
        match self.machine.as_ref().map(|machine| machine.journal()) {
            Some(Json::Object(journal)) => journal,
            _ => Map::new(),
        }
    }

    /// The value of the last program, bounded.
    pub fn result(&self, bounds: &Bounds) -> Option<View> {
        self.machine.as_ref().map(|machine| machine.view_result(bounds))
    }

    /// The value of the last program.
    pub fn result_json(&self) -> Json {
        self.machine.as_ref().map_or(Json::Null, |machine| machine.value_json())
    }
}

/// Gives a machine its inputs. That they do not fit is nothing that a program could change.
pub(crate) fn give(
    machine: &mut Machine,
    inputs: &Json,
    written: Option<&WrittenInputs>,
) -> Result<(), Error> {
    let given = match written {
        None => machine.set_data(inputs),
        Some(written) => read_into(machine, inputs, written),
    };
    given.map_err(|error| match error.kind {
        ErrorKind::MemoryExceeded => {
            let most = machine.limits().memory;
            let message = format!("the inputs are more than fits the {most} bytes of memory of a program");
            // How much would do is not known: reading stops where the memory ends.
            let words = most / 8;
            Error::new(error.kind, message).hint(format!(
                "send less, or raise the agent's option max_heap, which counts words of 8 bytes, above {words} (`ptc run --set max_heap=N`)"
            ))
        }
        _ => error,
    })
}

/// Reads inputs of which some are text, one after the other.
fn read_into(machine: &mut Machine, inputs: &Json, written: &WrittenInputs) -> Result<(), Error> {
    machine.set_data_json("{}")?;
    for (name, value) in inputs.as_object().into_iter().flatten() {
        match written.long(name) {
            Some(text) => machine.add_data_json(name, text)?,
            None => machine.set_input(name, value)?,
        }
    }
    Ok(())
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a value.
    Value(ProgramEnd),
    /// With an error.
    Failed(Error),
}
