//! The core library as machines run it: functions are linked when first called and shared by all
//! machines of a thread, frozen, so that a fresh machine costs nothing for them.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Machine;
use super::frozen::FrozenUnit;
use crate::code::Linked;
use crate::core;

/// Numbers of units from here on are functions of the core library, by place.
const FIRST: u32 = 1 << 31;

/// Numbers of units from here on are functions of the prelude, by number.
pub(crate) const PRELUDE: u32 = 1 << 30;

/// Whether a unit is not the program's: its text is not what people look at.
#[inline]
pub(crate) fn is_foreign(unit: u32) -> bool {
    unit >= PRELUDE
}

/// The number of the definition of the prelude that a unit is, if it is one.
pub(crate) fn prelude_number(unit: u32) -> Option<u32> {
    unit.checked_sub(PRELUDE).filter(|_| !is_core(unit))
}

/// Whether a unit is a function of the core library.
#[inline]
pub(crate) fn is_core(unit: u32) -> bool {
    unit >= FIRST
}

/// The place of the core function that a unit is, if it is one.
pub(crate) fn place(unit: u32) -> Option<u32> {
    unit.checked_sub(FIRST)
}

/// The number of the unit that holds the core function at `place`.
#[inline]
pub(super) fn unit_number(place: u32) -> u32 {
    FIRST + place
}

/// The linked functions of the core library, by place. There is room for them from the first call on: programs that
/// use none do not look for them.
#[derive(Debug, Default)]
pub(crate) struct Library {
    linked: OnceCell<Box<[OnceCell<FrozenUnit>]>>,
}

thread_local! {
    static LIBRARY: Rc<Library> = Rc::default();
}

impl Library {
    /// The library of this thread.
    pub fn shared() -> Rc<Library> {
        LIBRARY.with(Rc::clone)
    }

    /// The function at `place`.
    #[inline]
    pub fn function(&self, place: u32) -> &Rc<Linked> {
        self.linked.get_or_init(room)[place as usize].get_or_init(|| link(place)).linked()
    }
}

#[cold]
fn room() -> Box<[OnceCell<FrozenUnit>]> {
    (0..core::function_count()).map(|_| OnceCell::new()).collect()
}

#[cold]
fn link(place: u32) -> FrozenUnit {
    let names = core::names();
    let mut name = |text: &str| names.find(text).expect("core::NAMES lists every name");
    let linked = FrozenUnit::new(&core::unit(place), unit_number(place), &mut name);
    linked.expect("constants of the core library are valid")
}

impl Machine {
    /// The unit with a number.
    #[inline]
    pub(crate) fn unit(&self, number: u32) -> &Rc<Linked> {
        if is_core(number) {
            return self.library.function(number - FIRST);
        }
        if let Some(at) = prelude_number(number) {
            let attached = self.heap.attached.as_ref().and_then(|attached| attached.unit(at));
            return attached.expect("running code is linked");
        }
        self.units[number as usize].as_ref().expect("running code is linked")
    }
}
