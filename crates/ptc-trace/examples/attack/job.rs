//! What the two sides of `cargo xtask attack` tell each other, a line of JSON each: a job, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A text that only programs of one owner write. Where another owner has it, something of the first was reachable.
pub fn canary(owner: usize) -> String {
    format!("PLANTED-{owner}")
}

/// How programs are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Way {
    /// Each on a machine of its own, traced and recorded, as `ptc eval` and `lisp_eval` do.
    Eval,
    /// On machines that stay from program to program, one per owner, all on one thread.
    Sessions,
    /// As replies of models: those of owner 0 to an agent, those of owner 1 to the agent that it may call.
    Agents,
}

/// What the programs of a job may use, each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    pub fuel: u64,
    pub memory: usize,
    pub millis: u64,
}

/// Inputs of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inputs {
    /// A few rows.
    Small,
    /// An object with so many keys that collide under the hash of a build without a seed, and its text.
    Colliding(usize),
    /// Arrays inside arrays, so deep.
    Deep(usize),
}

/// A program and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub owner: usize,
    pub source: String,
}

/// Programs that are run one after the other, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub number: u64,
    pub way: Way,
    pub allowed: Allowed,
    pub inputs: Inputs,
    /// What an answer is checked against.
    pub signature: Option<String>,
    /// Whether machines have a prelude.
    pub prelude: bool,
    /// Whether machines and runs are written as bytes and loaded between programs.
    pub dump: bool,
    /// Whether there is a trace and a recording, which is played.
    pub record: bool,
    pub steps: Vec<Step>,
}

impl Job {
    /// How many machines it has at a time.
    pub fn owners(&self) -> usize {
        1 + self.steps.iter().map(|step| step.owner).max().unwrap_or(0)
    }
}

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub number: u64,
    /// How each program ended: `value`, `return`, `fail`, or the reason of an error.
    pub ends: Vec<String>,
    /// Ways out that were taken, with the processor time of each in microseconds.
    pub exits: BTreeMap<String, u64>,
    /// The most bytes that were allocated at once, beyond those before the job.
    pub memory: usize,
    /// The processor time of the longest program with all that is done about it, in microseconds.
    pub micros: u64,
    /// Why a dump was refused that had just been written.
    pub refused: Option<String>,
    /// A panic: message and place.
    pub panic: Option<String>,
    /// Something that one owner had of another.
    pub foreign: Option<String>,
}
