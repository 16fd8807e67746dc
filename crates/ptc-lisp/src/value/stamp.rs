//! Whose an object is: what debug builds check.
//!
//! Nothing of one machine is reachable from another. What machines of a thread share is frozen (see
//! `machine/frozen.rs`); everything else belongs to the machine that made it. Debug builds hold the rest of the
//! code to that: bodies and layouts carry the number of their machine, and whenever a machine writes one into a
//! register or meets one in a census, the number must be its own. In other builds a stamp has no size and nothing
//! is checked.
//!
//! An object is stamped when it is made, with the machine that runs at that time. Where none runs, as when a host
//! hands over inputs or loads a dump, it has no owner until a machine meets it.

use super::Value;

/// Whose an object is. A copy is a new object.
pub struct Stamp {
    #[cfg(debug_assertions)]
    owner: std::cell::Cell<u32>,
}

/// The number of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Id {
    #[cfg(debug_assertions)]
    number: u32,
}

/// As long as it lives, what is made on this thread belongs to a machine, or to all of them.
#[must_use]
pub struct Making {
    #[cfg(debug_assertions)]
    before: u32,
}

/// No machine runs, or none has met the object.
#[cfg(debug_assertions)]
const NOBODY: u32 = 0;
/// All machines of the thread may have it.
#[cfg(debug_assertions)]
const EVERYBODY: u32 = u32::MAX;

#[cfg(debug_assertions)]
thread_local! {
    /// Who owns what is made now.
    static MAKER: std::cell::Cell<u32> = const { std::cell::Cell::new(NOBODY) };
}

impl Id {
    /// The number of a new machine.
    pub fn next() -> Id {
        #[cfg(debug_assertions)]
        {
            use std::sync::atomic::{AtomicU32, Ordering};
            static NEXT: AtomicU32 = AtomicU32::new(NOBODY + 1);
            Id { number: NEXT.fetch_add(1, Ordering::Relaxed) }
        }
        #[cfg(not(debug_assertions))]
        Id {}
    }

    /// The machine runs.
    #[inline(always)]
    pub fn makes(self) -> Making {
        Making {
            #[cfg(debug_assertions)]
            before: MAKER.replace(self.number),
        }
    }
}

impl Making {
    /// What is made now is for all machines.
    #[inline(always)]
    pub fn for_everybody() -> Making {
        Making {
            #[cfg(debug_assertions)]
            before: MAKER.replace(EVERYBODY),
        }
    }
}

impl Drop for Making {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        MAKER.set(self.before);
    }
}

impl Stamp {
    /// The stamp of an object that is made now.
    #[inline(always)]
    pub fn new() -> Stamp {
        Stamp {
            #[cfg(debug_assertions)]
            owner: MAKER.get().into(),
        }
    }

    /// The machine that runs meets the object.
    #[cfg(debug_assertions)]
    fn meet(&self, what: &str) {
        let maker = MAKER.get();
        if maker == NOBODY || maker == EVERYBODY {
            return;
        }
        match self.owner.get() {
            NOBODY => self.owner.set(maker),
            EVERYBODY => {}
            owner => {
                assert!(owner == maker, "foreign object: machine {maker} has a {what} of machine {owner}")
            }
        }
    }

    /// Whether all machines may have the object.
    #[cfg(debug_assertions)]
    pub fn is_everybodys(&self) -> bool {
        self.owner.get() == EVERYBODY
    }
}

impl Default for Stamp {
    #[inline(always)]
    fn default() -> Stamp {
        Stamp::new()
    }
}

impl Clone for Stamp {
    #[inline(always)]
    fn clone(&self) -> Stamp {
        Stamp::new()
    }
}

impl std::fmt::Debug for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

/// The machine that runs gets hold of a value.
#[cfg(debug_assertions)]
pub fn meet(value: &Value) {
    let meet = |stamp: &Stamp| stamp.meet(value.type_name());
    match value {
        Value::Vec(body) => meet(&body.stamp),
        Value::Seq(body) => {
            meet(&body.stamp);
            meet(&body.items.stamp);
        }
        Value::Cons(body) => meet(&body.stamp),
        Value::Lazy(body) => meet(&body.stamp),
        Value::Map(body) => {
            meet(body.stamp());
            body.layout().into_iter().for_each(|layout| meet(layout.stamp()));
        }
        Value::Set(body) => {
            meet(&body.stamp);
            body.table.layout().into_iter().for_each(|layout| meet(layout.stamp()));
        }
        Value::Sorted(body) => meet(&body.stamp),
        Value::Fn(body) => meet(&body.stamp),
        Value::Cell(body) => meet(&body.stamp),
        Value::Regex(body) => meet(&body.stamp),
        Value::Ex(body) => meet(&body.stamp),
        // They hold nothing but themselves, or what is met when it is taken out.
        Value::Str(_)
        | Value::Big(_)
        | Value::Decimal(_)
        | Value::Range(_)
        | Value::Time(_)
        | Value::Reduced(_)
        | Value::Iter(_)
        | Value::Unbound
        | Value::Nil
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Kw(_)
        | Value::Sym(_)
        | Value::Builtin(_)
        | Value::Tool(_)
        | Value::Var(_)
        | Value::Type(_) => {}
    }
}

/// The machine that runs gets hold of a value: only debug builds look.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn meet(_: &Value) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Value {
        Value::list(vec![Value::Int(1)])
    }

    #[test]
    fn an_object_without_owner_belongs_to_the_first_machine_that_meets_it() {
        let (value, machine) = (list(), Id::next());
        let _making = machine.makes();
        meet(&value);
        meet(&value);
    }

    #[test]
    fn frozen_objects_may_be_met_by_all() {
        let value = {
            let _making = Making::for_everybody();
            list()
        };
        for machine in [Id::next(), Id::next()] {
            let _making = machine.makes();
            meet(&value);
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "foreign object")]
    fn an_object_of_another_machine_stops_a_debug_build() {
        let value = {
            let _making = Id::next().makes();
            list()
        };
        let _making = Id::next().makes();
        meet(&value);
    }

    #[test]
    fn a_copy_belongs_to_the_machine_that_makes_it() {
        let value = {
            let _making = Id::next().makes();
            list()
        };
        let Value::Seq(body) = &value else { panic!("a list") };
        let _making = Id::next().makes();
        let items = crate::value::VecObj::clone(&body.items);
        meet(&Value::Vec(items.into()));
    }
}
