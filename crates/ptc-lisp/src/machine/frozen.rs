//! What machines of a thread share: constants and functions of the core library and of preludes.
//!
//! Shared values are of types of their own, which can only be made from [`Const`]s. Those have no place for
//! closures with captures, cells, arrays, lazy sequences, records and metadata, and whatever can remember
//! something is told not to: layouts are frozen, and patterns count alike however they were used. A machine that
//! changes such a value gets a copy of its own, because the constant stays an owner.

use std::rc::Rc;
use std::sync::Arc;

use super::link::{For, value_of};
use crate::code::{Const, Func, Linked, Unit};
use crate::error::Error;
use crate::names::Name;
use crate::value::stamp::Making;
use crate::value::{Closure, Shape, Stamp, Value};

/// A value that any number of machines may have.
#[derive(Debug)]
pub(crate) struct Frozen(Value);

impl Frozen {
    /// The value of a constant.
    pub fn of(constant: &Const, name: &mut impl FnMut(&str) -> Name) -> Result<Frozen, Error> {
        let _making = Making::for_everybody();
        value_of(constant, For::Everybody, name).map(Frozen)
    }

    /// The function of a unit that captures nothing.
    pub fn function(unit: &FrozenUnit) -> Frozen {
        let _making = Making::for_everybody();
        let unit = Rc::clone(&unit.0);
        let simple = unit.unit.funcs.first().map_or_else(|| Func::default().simple(), Func::simple);
        let (captures, shape) = (Rc::from([]), Shape::FLAT);
        let body = Closure { unit, func: 0, simple, captures, shape, meta: None, stamp: Stamp::new() };
        Frozen(Value::Fn(Rc::new(body)))
    }

    /// The value, as machines have it.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

/// Code with constants that any number of machines may have, and without definitions of a machine.
#[derive(Debug)]
pub(crate) struct FrozenUnit(Rc<Linked>);

impl FrozenUnit {
    /// A unit under a number that it has in all machines.
    pub fn new(unit: &Arc<Unit>, id: u32, name: &mut impl FnMut(&str) -> Name) -> Result<FrozenUnit, Error> {
        debug_assert!(unit.globals.is_empty(), "what is shared refers to no definitions of a program");
        let constants: Result<_, Error> =
            unit.consts.iter().map(|constant| Ok(Frozen::of(constant, name)?.0)).collect();
        Ok(FrozenUnit(Rc::new(Linked { unit: unit.clone(), id, consts: constants?, globals: Vec::new() })))
    }

    /// The unit, as machines run it.
    #[inline]
    pub fn linked(&self) -> &Rc<Linked> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    #[cfg(debug_assertions)]
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::limits::Limits;
    use crate::machine::Machine;
    #[cfg(debug_assertions)]
    use crate::machine::Step;
    use crate::prelude::Prelude;

    #[cfg(debug_assertions)]
    fn ran(machine: &mut Machine, source: &str) -> Value {
        machine.load(source).expect("it compiles");
        loop {
            match machine.run(u64::MAX) {
                Step::Yield => {}
                Step::Done(_) => return machine.result.clone(),
                other => panic!("{source}: {other:?}"),
            }
        }
    }

    fn new() -> Machine {
        Machine::new(Limits::default())
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_debug_build_stops_where_a_machine_meets_an_object_of_another() {
        for source in [
            "[1]",
            "'(1)",
            "(cons 1 [2])",
            "(rest [1 2])",
            "{:a 1}",
            "#{1}",
            "(sorted-set 1)",
            "(sorted-map 1 2)",
            "(atom 1)",
            "(fn [x] x)",
            "(delay 1)",
            "(map-indexed vector [1])",
            "(ex-info \"e\" {})",
            "(re-pattern \"a\")",
            "(int-array 3)",
            "(transient [])",
            "(lazy-seq [1])",
        ] {
            let (mut first, mut second) = (new(), new());
            let value = ran(&mut first, source);
            second.data = Value::map_of([(second.heap.keyword("stolen"), value)]);
            let met = catch_unwind(AssertUnwindSafe(|| ran(&mut second, "(some? data/stolen)")));
            assert!(met.is_err(), "{source}");
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_debug_build_finds_what_a_result_leads_to() {
        let (mut first, mut second) = (new(), new());
        let inner = ran(&mut first, "[1]");
        second.data = Value::map_of([(second.heap.keyword("x"), Value::vector(vec![inner]))]);
        assert!(catch_unwind(AssertUnwindSafe(|| ran(&mut second, "{:deep [data/x]}"))).is_err());
    }

    #[test]
    fn machines_share_the_library_but_no_program_and_no_prelude_with_another_owner() {
        let prelude = Prelude::compile_text("(ns p) (def row {:a 1})").map(Arc::new);
        let prelude = prelude.unwrap_or_else(|problem| panic!("{problem}"));
        let source = "(assoc p/row :b (make-hierarchy))";
        let of = |owner: Option<&str>| {
            let mut machine = new();
            machine.set_owner(owner.map(Arc::from));
            machine.attach(&prelude).expect("it is new");
            machine.load(source).expect("it compiles");
            machine
        };
        let unit = |machine: &Machine| machine.prepared.as_ref().map(|prepared| Arc::as_ptr(&prepared.unit));
        let row = |machine: &Machine| match machine.exported(0) {
            Ok(Value::Map(row)) => row.address(),
            other => panic!("{other:?}"),
        };
        let (one, again, other, host) = (of(Some("one")), of(Some("one")), of(Some("other")), of(None));
        assert_eq!((unit(&one), row(&one)), (unit(&again), row(&again)));
        for machine in [&other, &host] {
            assert_ne!(unit(&one), unit(machine));
            assert_ne!(row(&one), row(machine));
        }
        assert_ne!(unit(&other), unit(&host));
        assert_eq!((unit(&host), row(&host)), (unit(&of(None)), row(&of(None))));
        assert_eq!(one.fuel_used(), again.fuel_used());
        assert_eq!(one.fuel_used(), other.fuel_used());
    }

    #[test]
    fn shared_maps_and_sets_are_frozen_at_every_depth() {
        let map = |pairs: Vec<(Const, Const)>| Const::Map(pairs);
        let inner = map(vec![(Const::Int(1), Const::Set(vec![Const::Int(2)]))]);
        let constant = map(vec![(Const::Vector(vec![inner.clone()]), Const::List(vec![inner]))]);
        let frozen = Frozen::of(&constant, &mut |_| Name(0)).expect("it is data");
        let mut waiting = vec![frozen.value().clone()];
        let mut layouts = 0;
        while let Some(value) = waiting.pop() {
            let layout = match &value {
                Value::Map(body) => {
                    waiting.extend(body.iter().flat_map(|(key, value)| [key.clone(), value.clone()]));
                    body.layout()
                }
                Value::Set(body) => body.table.layout(),
                Value::Vec(body) => {
                    waiting.extend(body.items.iter().cloned());
                    None
                }
                Value::Seq(body) => {
                    waiting.extend(body.as_slice().iter().cloned());
                    None
                }
                _ => None,
            };
            if let Some(layout) = layout {
                assert!(layout.is_frozen());
                layouts += 1;
            }
        }
        assert_eq!(layouts, 5);
    }
}
