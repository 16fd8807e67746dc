//! What is measured, as one table. Programs are files: `programs/<id>.<language>`.

use crate::data::{self, Input, Inputs};

/// What a measurement takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A new sandbox, source to answer.
    Fresh,
    /// Source to answer in a sandbox that has its inputs.
    Run,
    /// JSON text to values in a sandbox.
    Load,
    /// JSON text to values, then source to answer.
    LoadRun,
}

/// One workload.
pub struct Workload {
    /// Its short name, also of its program files.
    pub id: &'static str,
    /// What it does.
    pub title: &'static str,
    /// What is timed.
    pub mode: Mode,
    /// The largest size; growth is measured at a sixteenth, a quarter and all of it.
    pub size: usize,
    /// Whether the cost should grow with the size.
    pub grows: bool,
    /// Inputs of that size.
    pub inputs: fn(usize) -> Inputs,
    /// How many operations the size stands for, if the time of one is of interest.
    pub per: usize,
    /// The answer at full size, where it is known beforehand.
    pub answer: Option<i64>,
}

const BASE: Workload = Workload {
    id: "",
    title: "",
    mode: Mode::Run,
    size: 1,
    grows: true,
    inputs: number,
    per: 1,
    answer: None,
};

/// All workloads.
pub const ALL: &[Workload] = &[
    Workload {
        id: "w1",
        title: "1 + 2 in a fresh sandbox",
        mode: Mode::Fresh,
        grows: false,
        inputs: |_| Vec::new(),
        answer: Some(3),
        ..BASE
    },
    Workload { id: "w2", title: "pipeline", size: 100_000, answer: Some(2_500_000_000), ..BASE },
    Workload { id: "w3", title: "fib 27", size: 27, grows: false, answer: Some(196_418), ..BASE },
    Workload { id: "w4", title: "loop 1M", size: 1_000_000, answer: Some(499_999_500_000), ..BASE },
    Workload { id: "w5a", title: "JSON in", mode: Mode::Load, size: 100_000, inputs: orders, ..BASE },
    Workload { id: "w5b", title: "filter, group, sum", size: 100_000, inputs: orders, ..BASE },
    Workload { id: "w6", title: "sort by two keys", size: 100_000, inputs: orders, ..BASE },
    Workload { id: "w7", title: "word count", size: 1_000_000, inputs: text, ..BASE },
    Workload {
        id: "w9",
        title: "host call (each)",
        size: 10_000,
        per: 10_000,
        answer: Some(50_005_000),
        ..BASE
    },
    Workload { id: "report", title: "1,000 records in memory", size: 1_000, inputs: orders, ..BASE },
    Workload {
        id: "digest",
        title: "JSON in, small answer out",
        mode: Mode::LoadRun,
        size: 1_000,
        inputs: orders,
        ..BASE
    },
    Workload { id: "tools", title: "50 tool calls", size: 50, ..BASE },
    Workload { id: "cleanup", title: "string clean-up", size: 2_000, inputs: contacts, ..BASE },
    Workload { id: "join", title: "join of 10,000 rows", size: 10_000, inputs: data::tables, ..BASE },
    Workload { id: "nested", title: "nested map updates", size: 10_000, inputs: changes, ..BASE },
    Workload { id: "dates", title: "date arithmetic", size: 1_000, inputs: dates, ..BASE },
];

fn number(size: usize) -> Inputs {
    vec![("n", Input::Int(size as i64))]
}

fn orders(size: usize) -> Inputs {
    vec![("orders", Input::Json(data::orders(size)))]
}

fn text(size: usize) -> Inputs {
    vec![("text", Input::Text(data::text(size)))]
}

fn contacts(size: usize) -> Inputs {
    vec![("contacts", Input::Json(data::contacts(size)))]
}

fn changes(size: usize) -> Inputs {
    vec![("changes", Input::Json(data::changes(size)))]
}

fn dates(size: usize) -> Inputs {
    vec![("dates", Input::Json(data::dates(size)))]
}
