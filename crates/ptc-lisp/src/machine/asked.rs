//! Tool calls as a host sees them that answers without JSON: what the machine holds, in place.

use std::collections::BTreeSet;

use super::fiber::{Fiber, State};
use super::{Call, Machine, Pending, ProgramEnd};
use crate::error::Error;
use crate::heap::Heap;
use crate::interchange::{JsonRoom, to_json_counted};
use crate::names::Names;
use crate::value::Value;
use crate::value::extent::extent;

/// What the host must do next; [`Step`](super::Step) without the calls.
#[derive(Debug)]
pub enum Pause {
    /// The program is over; [`Machine::value`] has its value.
    Done(ProgramEnd),
    /// The program waits for calls: [`Machine::asked`] shows those that are new.
    Calls,
    /// The program failed; definitions are as before it ran.
    Failed(Error),
    /// The slice of fuel is used up; run it again.
    Yield,
}

/// A tool call that waits for its answer, as the machine holds it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'m> {
    call: &'m Pending,
    names: &'m Names,
    /// About how large JSON of the arguments may be.
    room: JsonRoom,
}

impl Pending {
    /// The call as the host sees it.
    pub(super) fn shown<'m>(&'m self, heap: &'m Heap) -> Asked<'m> {
        Asked { call: self, names: &heap.names, room: heap.room_for_json().for_arguments() }
    }
}

impl<'m> Asked<'m> {
    /// Its number, for the answer.
    pub fn id(&self) -> u64 {
        self.call.id
    }

    /// The tool.
    pub fn tool(&self) -> &'m str {
        self.names.text(self.call.tool)
    }

    /// The argument with a name.
    pub fn arg(&self, name: &str) -> Option<&'m Value> {
        let Value::Map(body) = &self.call.args else { return None };
        let named = |key: &Value| match key {
            Value::Kw(key) => self.names.text(*key) == name,
            key => key.as_str() == Some(name),
        };
        body.iter().find(|(key, _)| named(key)).map(|(_, value)| value)
    }

    /// The call with its arguments as JSON.
    pub fn call(&self) -> Call {
        self.call_counted().0
    }

    /// The same, with about how many bytes its arguments take.
    pub(super) fn call_counted(&self) -> (Call, usize) {
        // They were measured before the program came to wait for them.
        let (args, bytes) = to_json_counted(&self.call.args, self.names, self.room).unwrap_or_default();
        (Call { id: self.id(), tool: self.tool().to_owned(), args, discovery: self.call.discovery }, bytes)
    }
}

impl Machine {
    /// The numbers of the calls that branches of `pmap` and `pcalls` wait for.
    pub fn calls_of_branches(&self) -> BTreeSet<u64> {
        let fibers = self.fibers.iter().filter_map(Option::as_deref).chain([&self.fiber]);
        let of_branch = |fiber: &Fiber| match fiber.state {
            State::Waiting { call, .. } if fiber.parent.is_some() => Some(call),
            _ => None,
        };
        fibers.filter_map(of_branch).collect()
    }

    /// Answers a tool call with a value: numbers, texts, and collections of them. Keywords are names of
    /// this machine. Like other answers it must fit the memory that is left.
    pub fn answer_value(&mut self, id: u64, value: Value) -> Result<(), Error> {
        if !value.is_plain() {
            let bytes = extent(&value, &self.heap.names, self.heap.limits.memory)
                .map_err(|found| found.error("the answer"))?;
            self.fitted(|heap| heap.take_room(bytes).map(|()| Value::Nil))?;
        }
        self.resume_with(id, Ok(value))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::*;
    use crate::Limits;

    #[test]
    fn calls_are_seen_and_answered_without_json() {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["add".to_owned()]);
        machine.load("(tool/add {:a 1 :b-c (tool/add {:a 40 :b-c 1})})").expect("it compiles");
        for (number, answer) in [(1, 41), (2, 42)] {
            assert!(matches!(machine.run_native(u64::MAX), Pause::Calls));
            let asked = machine.asked().expect("it waits");
            assert_eq!((asked.id(), asked.tool()), (number, "add"));
            let [a, b] = ["a", "b_c"].map(|name| asked.arg(name).and_then(Value::as_i64));
            assert_eq!(a.zip(b).map(|(a, b)| a + b), Some(answer));
            assert!(asked.arg("c").is_none());
            assert_eq!(asked.call().args, serde_json::json!({"a": a, "b_c": b}));
            assert!(machine.asked().is_none(), "it is handed out once");
            machine.answer_value(number, Value::Int(answer)).expect("it waits");
        }
        assert!(matches!(machine.run_native(u64::MAX), Pause::Done(ProgramEnd::Value)));
        assert_eq!(machine.value(), "42");
    }

    #[test]
    fn arguments_are_the_same_whether_or_not_they_were_objects_already() {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["t".to_owned()]);
        let programs = [
            "(tool/t {:a 1 :b \"x\" :n nil})",
            "(tool/t {\"a\" 1 :b :x :n nil})",
            "(tool/t :a 1 :b \"x\" :n nil)",
        ];
        let mut used = Vec::new();
        for program in programs {
            machine.load(program).expect("it compiles");
            assert!(matches!(machine.run_native(u64::MAX), Pause::Calls));
            let call = machine.asked().expect("it waits").call();
            assert_eq!(call.args, serde_json::json!({"a": 1, "b": "x", "n": null}), "{program}");
            used.push(call.id);
        }
        assert_eq!(used, [1, 1, 1]);
    }

    #[test]
    fn arguments_of_one_name_are_refused() {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["t".to_owned()]);
        for (program, keys) in [
            ("(tool/t {:a-b 1 :a_b 2})", ":a-b and :a_b"),
            ("(tool/t {:a 1 \"a\" 2})", ":a and \"a\""),
            ("(tool/t {:m {1 :x \"1\" :y}})", "1 and \"1\""),
        ] {
            machine.load(program).expect("it compiles");
            let Step::Failed(error) = machine.run(u64::MAX) else { panic!("{program} is not refused") };
            assert!(error.message.ends_with(keys), "{program}: {}", error.message);
        }
        machine.load("(tool/t {:m {1 :x true 2 (LocalDate/parse \"2025-01-01\") 3}})").expect("it compiles");
        let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it calls") };
        assert_eq!(calls[0].args, serde_json::json!({"m": {"1": "x", "true": 2, "2025-01-01": 3}}));
    }

    #[test]
    fn arguments_that_the_host_was_given_count_until_the_program_ends() {
        let mut machine = Machine::new(Limits { memory: 2 << 20, ..Limits::default() });
        machine.set_tools(["t".to_owned()]);
        machine.load("(let [v (range 5000)] (loop [] (tool/t {:v v}) (recur)))").expect("it compiles");
        let mut calls = 0;
        let error = loop {
            match machine.run(u64::MAX) {
                Step::Calls(asked) => {
                    calls += asked.len();
                    asked
                        .iter()
                        .try_for_each(|call| machine.answer_value(call.id, Value::Nil))
                        .expect("it waits");
                }
                Step::Failed(error) => break error,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(error.kind, crate::ErrorKind::MemoryExceeded);
        // 5,000 numbers take some 350 KB as JSON.
        assert!((4..=12).contains(&calls), "{calls}");
        machine.load("(count (str (range 5000)))").expect("it compiles");
        assert!(matches!(machine.run(u64::MAX), Step::Done(ProgramEnd::Value)));
        assert!(machine.live_bytes() < 1 << 20);
    }
}
