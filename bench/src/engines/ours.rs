//! PTC-Lisp: a machine with its meters on and limits that the workloads do not reach.

use std::hint::black_box;

use anyhow::{Result, anyhow, bail};
use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Pause, Step};
use ptc_lisp::value::Value;
use serde_json::Value as Json;

use super::{Engine, Sandbox, Suspension, lookup};
use crate::data::Input;
use crate::stats::median_of;

/// The program that is paused, dumped and resumed.
const PAUSED: &str = include_str!("../../programs/w10.clj");

/// The engine.
pub struct Ours;

impl Engine for Ours {
    type Sandbox = Machine;
    const NAME: &'static str = "ptc-lisp";
    const LANGUAGES: &'static [&'static str] = &["clj"];
    const DEFINITION: &'static str = "(def answer 42)";

    fn sandbox() -> Result<Machine> {
        let mut machine = Machine::new(limits());
        machine.set_tools(["succ".to_owned(), "lookup".to_owned()]);
        Ok(machine)
    }

    fn suspension(repeats: usize) -> Result<Option<Suspension>> {
        let mut machine = Ours::sandbox()?;
        machine.load(PAUSED).map_err(failed)?;
        let Step::Calls(calls) = machine.run(u64::MAX) else { bail!("the program waits for a tool") };
        let bytes = machine.dump().map_err(|error| anyhow!("{error}"))?;
        let dump_ns = median_of(repeats, || drop(black_box(machine.dump())));
        let resume_ns = median_of(repeats, || {
            let mut machine = Machine::load_dump(&bytes, &limits()).expect("it was just written");
            machine.resume(calls[0].id, Ok(Json::from(10))).expect("the call waits");
            assert!(matches!(black_box(machine.run(u64::MAX)), Step::Done(_)), "the program ends");
        });
        Ok(Some(Suspension { dump_ns, resume_ns, bytes: bytes.len() }))
    }
}

fn failed(error: ptc_lisp::Error) -> anyhow::Error {
    anyhow!("{error}")
}

/// Wide limits: all meters run.
pub fn limits() -> Limits {
    Limits { fuel: 1 << 50, memory: 8 << 30, tool_calls: 1 << 40, ..Limits::default() }
}

impl Sandbox for Machine {
    fn set(&mut self, name: &str, input: &Input) -> Result<()> {
        match input {
            Input::Int(int) => self.add_data_json(name, &int.to_string()),
            Input::Text(text) => self.add_data_json(name, &serde_json::to_string(text)?),
            Input::Json(text) => self.add_data_json(name, text),
        }
        .map_err(failed)
    }

    fn eval(&mut self, source: &str) -> Result<Json> {
        self.load(source).map_err(failed)?;
        loop {
            match self.run_native(u64::MAX) {
                Pause::Done(_) => return Ok(self.value_json()),
                Pause::Failed(error) => bail!("{error}"),
                Pause::Yield => {}
                // The machine has stopped: it could be dumped here, and go on elsewhere.
                Pause::Calls => {
                    while let Some(asked) = self.asked() {
                        let id = asked.id();
                        let arg = |name| asked.arg(name).and_then(Value::as_i64).unwrap_or(0);
                        match asked.tool() {
                            "succ" => {
                                let answer = Value::Int(arg("n") + 1);
                                self.answer_value(id, answer)
                            }
                            _ => {
                                let answer = lookup(arg("id"));
                                self.resume(id, Ok(answer))
                            }
                        }
                        .map_err(failed)?;
                    }
                }
            }
        }
    }
}
