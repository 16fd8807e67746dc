//! The prelude of a machine. Its definitions become values when they are first used, once per thread and owner:
//! machines of one owner share them, so attaching costs the same for one export and for a thousand. What they share
//! is frozen.
//!
//! That works because a machine with a prelude begins with the names of the prelude: keywords and symbols in
//! its code are the same numbers in all of them. So a prelude is attached before anything else brings names.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use super::frozen::{Frozen, FrozenUnit};
use super::library::PRELUDE;
use super::{Machine, Owner, ProgramEnd, Step};
use crate::code::{Const, Linked, Unit};
use crate::error::{Error, ErrorKind};
use crate::names::Names;
use crate::prelude::{Code, Grants, Prelude};
use crate::signal::Res;
use crate::value::Value;

/// A prelude and what of it has become values.
#[derive(Debug)]
pub(crate) struct Attached {
    pub prelude: Arc<Prelude>,
    shelf: Rc<Shelf>,
    /// Whether all tools that it requires are granted, as far as somebody has looked.
    admitted: Cell<bool>,
}

/// The values of definitions, by number.
#[derive(Debug)]
struct Shelf {
    values: Box<[OnceCell<Frozen>]>,
}

/// So many shelves are remembered by a thread; more are filled again for each machine.
const REMEMBERED: usize = 64;

/// A shelf that machines share.
struct SharedShelf {
    prelude: Weak<Prelude>,
    owner: Owner,
    shelf: Rc<Shelf>,
}

thread_local! {
    static SHELVES: RefCell<Vec<SharedShelf>> = const { RefCell::new(Vec::new()) };
}

impl Shelf {
    fn empty(prelude: &Prelude) -> Rc<Self> {
        Rc::new(Shelf { values: (0..prelude.count()).map(|_| OnceCell::new()).collect() })
    }

    /// The shelf that the owner's machines of this thread share.
    fn shared(prelude: &Arc<Prelude>, owner: &Owner) -> Rc<Self> {
        SHELVES.with_borrow_mut(|shelves| {
            let same = |known: &&SharedShelf| {
                known.prelude.as_ptr() == Arc::as_ptr(prelude) && known.owner == *owner
            };
            if let Some(known) = shelves.iter().find(same) {
                return known.shelf.clone();
            }
            shelves.retain(|known| known.prelude.strong_count() > 0);
            shelves.truncate(REMEMBERED - 1);
            let shelf = Shelf::empty(prelude);
            let (prelude, owner) = (Arc::downgrade(prelude), owner.clone());
            shelves.insert(0, SharedShelf { prelude, owner, shelf: shelf.clone() });
            shelf
        })
    }
}

impl Attached {
    /// The value of a definition.
    fn value(&self, number: u32) -> Result<Value, Error> {
        let cell = self.shelf.values.get(number as usize);
        let cell =
            cell.ok_or_else(|| Error::new(ErrorKind::Internal, "the prelude has no such definition"))?;
        if let Some(known) = cell.get() {
            return Ok(known.value().clone());
        }
        let made = link(&self.prelude, number)?;
        Ok(cell.get_or_init(|| made).value().clone())
    }

    /// The unit of a function that runs.
    pub fn unit(&self, number: u32) -> Option<&Rc<Linked>> {
        match self.shelf.values.get(number as usize)?.get()?.value() {
            Value::Fn(body) => Some(&body.unit),
            _ => None,
        }
    }
}

#[cold]
fn link(prelude: &Prelude, number: u32) -> Result<Frozen, Error> {
    let unknown =
        |name: &str| Error::new(ErrorKind::Internal, format!("the prelude does not list the name {name}"));
    let mut lost = None;
    let mut name = |text: &str| {
        prelude.names().find(text).unwrap_or_else(|| {
            lost = Some(unknown(text));
            crate::names::Name(0)
        })
    };
    let value = match prelude.get(number).and_then(|definition| definition.code.get()) {
        Some(Code::Constant(constant)) => Frozen::of(constant, &mut name)?,
        Some(Code::Function(unit)) => Frozen::function(&FrozenUnit::new(unit, PRELUDE + number, &mut name)?),
        None => {
            let name = prelude.get(number).map_or("a definition", |definition| &definition.full);
            return Err(Error::new(ErrorKind::UnboundVar, format!("{name} has no value yet"))
                .hint("constants are computed in order: define it before it is used"));
        }
    };
    lost.map_or(Ok(value), Err)
}

impl Machine {
    /// Gives the machine a prelude, whose exports its programs call by qualified name. It must come before
    /// inputs and programs; the same prelude may come again. Programs are refused as long as a tool that an
    /// export requires is not granted; what upstream operations it requires, [`Prelude::admit`] holds against
    /// a runtime.
    pub fn attach(&mut self, prelude: &Arc<Prelude>) -> Result<(), Error> {
        if let Some(attached) = &self.heap.attached {
            let same = attached.prelude.artifact_hash() == prelude.artifact_hash();
            let error =
                || Error::new(ErrorKind::PreludeAttach, "prelude attach failed: another prelude is attached");
            return if same { Ok(()) } else { Err(error().hint("compose several preludes into one")) };
        }
        if self.heap.names.own_count() > 0 || !self.heap.globals.is_empty() {
            let message = "prelude attach failed: the machine has inputs or definitions already";
            return Err(Error::new(ErrorKind::PreludeAttach, message).hint("attach the prelude first"));
        }
        self.put_prelude(prelude, Shelf::shared(prelude, &self.owner), false);
        Ok(())
    }

    /// Attaches a prelude whatever is granted: for trying exports out.
    pub(crate) fn attach_only(&mut self, prelude: &Arc<Prelude>) -> Result<(), Error> {
        self.attach(prelude)?;
        self.heap.attached.iter().for_each(|attached| attached.admitted.set(true));
        Ok(())
    }

    /// Attaches a prelude that is being compiled; nobody else sees its values.
    pub(crate) fn attach_apart(&mut self, prelude: &Arc<Prelude>) {
        self.put_prelude(prelude, Shelf::empty(prelude), true);
    }

    fn put_prelude(&mut self, prelude: &Arc<Prelude>, shelf: Rc<Shelf>, admitted: bool) {
        self.heap.names = Names::over(prelude.names().clone());
        let attached = Attached { prelude: prelude.clone(), shelf, admitted: Cell::new(admitted) };
        self.heap.attached = Some(attached);
    }

    /// The prelude that is attached.
    pub fn prelude(&self) -> Option<&Arc<Prelude>> {
        self.heap.attached.as_ref().map(|attached| &attached.prelude)
    }

    /// Gives a constant of a prelude that is being compiled its value.
    pub(crate) fn put_constant(&mut self, number: u32, constant: &Const) -> Result<(), Error> {
        let value = Frozen::of(constant, &mut |name| self.heap.intern(name))?;
        let cell =
            self.heap.attached.as_ref().and_then(|attached| attached.shelf.values.get(number as usize));
        // It is computed once, and nothing can have asked for it before with success.
        let _ = cell.map(|cell| cell.set(value));
        Ok(())
    }

    /// Refuses to go on while a required tool is not granted.
    pub(super) fn admit_prelude(&self) -> Result<(), Error> {
        match &self.heap.attached {
            Some(attached) if !attached.admitted.get() => {
                attached.prelude.admit(&Grants { tools: &self.tools, upstreams: None })?;
                attached.admitted.set(true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The grants have changed.
    pub(super) fn forget_admission(&self) {
        self.heap.attached.iter().for_each(|attached| attached.admitted.set(false));
    }

    /// The value of a definition of the prelude.
    pub(super) fn exported(&self, number: u32) -> Res {
        let Some(attached) = &self.heap.attached else {
            return Err(Error::new(ErrorKind::Internal, "no prelude is attached").into());
        };
        Ok(attached.value(number)?)
    }

    /// The code of a function of the prelude.
    pub(crate) fn prelude_unit(&self, number: u32) -> Result<Rc<Linked>, Error> {
        let lost = || Error::new(ErrorKind::Internal, "the prelude has no such function");
        let attached = self.heap.attached.as_ref().ok_or_else(lost)?;
        attached.value(number)?;
        attached.unit(number).cloned().ok_or_else(lost)
    }

    /// Runs a program of its own kind, without tools, to its value.
    pub(crate) fn evaluate(&mut self, unit: Arc<Unit>) -> Result<Value, Error> {
        self.cancel();
        self.reset();
        self.source = unit.source.clone();
        let linked = self.link(unit)?;
        self.start(&linked);
        loop {
            match self.run(u64::MAX) {
                Step::Yield => {}
                Step::Done(ProgramEnd::Value) => return Ok(std::mem::take(&mut self.result)),
                Step::Failed(error) => return Err(error),
                Step::Calls(_) | Step::Done(_) => {
                    return Err(Error::new(
                        ErrorKind::Runtime,
                        "constants are computed without tools, return and fail",
                    )
                    .hint("call tools in a function"));
                }
            }
        }
    }
}
