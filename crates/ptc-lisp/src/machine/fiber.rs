//! A fiber: one thread of execution inside a machine. All of its state is plain data.

use std::rc::Rc;

use crate::code::Reg;
use crate::error::ErrorKind;
use crate::value::{ExObj, Items, LazyObj, LazyState, Shared, Value};

/// A function being executed.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The unit of its code.
    pub unit: u32,
    /// The next instruction.
    pub pc: u32,
    /// Its first register. The register before it holds the function itself.
    pub base: u32,
    /// How many registers it has.
    pub registers: u16,
    /// Where its result goes.
    pub give: Give,
}

// The loop makes and reads one for every call.
const _: () = assert!(size_of::<Frame>() == 16);

/// Where the result of a call goes: into a register of the caller, or to the continuation on top of the fiber's
/// stack of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Give(Reg);

impl Give {
    /// To the continuation. The compiler makes no function with so many registers, and none comes from a dump.
    pub const CONTINUE: Give = Give(Reg::MAX);

    /// Into a register of the caller.
    #[inline]
    pub fn into(register: Reg) -> Give {
        Give(register)
    }

    /// The register of the caller, unless it goes to the continuation.
    #[inline]
    pub fn register(self) -> Option<Reg> {
        (self != Give::CONTINUE).then_some(self.0)
    }
}

/// An open `try`.
#[derive(Clone, Debug)]
pub struct Handler {
    /// How many frames there are.
    pub frames: usize,
    /// How many continuations there are.
    pub conts: usize,
    /// Where the exception goes.
    pub dst: Reg,
    /// Where execution goes on.
    pub to: u32,
}

/// Work of the machine that waits for a function to return.
#[derive(Debug)]
pub enum Cont {
    /// Lazy sequences that turn out to be one and the same, and the thunk of the last.
    Force(Vec<Shared<LazyObj>>, Value),
    /// The rest of a sequence that is being realised.
    Realise(Items),
    /// What is left of a value that is being realised throughout.
    RealiseDeep(Vec<Items>),
}

impl Cont {
    /// Takes back what has begun: an exception passes through.
    pub fn undo(self) {
        if let Cont::Force(lazies, thunk) = self
            && let Some((last, others)) = lazies.split_last()
        {
            *last.state.borrow_mut() = LazyState::Thunk(thunk);
            // An outer sequence that handed over to an inner one will ask it again.
            for lazy in others {
                *lazy.state.borrow_mut() = LazyState::Done(Value::Lazy(Rc::clone(last)));
            }
        }
    }
}

/// What a fiber is doing.
#[derive(Debug)]
pub enum State {
    /// It can run.
    Ready,
    /// It waits for the answer to a tool call.
    Waiting {
        /// The call.
        call: u64,
        /// Where the answer goes; `None` if it is the result of the running function.
        give: Option<Reg>,
    },
    /// The answer is there; it goes on when its turn comes.
    Answered {
        /// A value, or an exception to throw at the place of the call.
        answer: Result<Value, Shared<ExObj>>,
        /// Where the answer goes.
        give: Option<Reg>,
    },
    /// It waits for its children.
    Joining {
        /// Results so far.
        results: Vec<Value>,
        /// How many children still run.
        left: usize,
        /// What a failing child's error becomes.
        kind: ErrorKind,
        /// Where the vector of results goes.
        give: Option<Reg>,
    },
    /// It is over.
    Over,
}

/// One thread of execution.
#[derive(Debug)]
pub struct Fiber {
    /// Registers of all frames. Those above the running frame's window hold nothing that is counted.
    pub regs: Vec<Value>,
    /// Functions being executed, innermost last.
    pub frames: Vec<Frame>,
    /// Open `try`s, innermost last.
    pub handlers: Vec<Handler>,
    /// Continuations, innermost last.
    pub conts: Vec<Cont>,
    /// Definitions and the values that `binding` put in front of them, while another fiber runs.
    pub bindings: Vec<(u32, Value)>,
    /// What it is doing.
    pub state: State,
    /// The fiber that waits for it and its place among the siblings.
    pub parent: Option<(usize, usize)>,
}

impl Fiber {
    /// Whether nothing that is counted stands above all windows, up to a register. A question of debug builds, which
    /// does not look through deep stacks.
    #[cfg(debug_assertions)]
    pub fn is_clear_above(&self, to: usize) -> bool {
        self.frames.len() > 50 || self.regs.iter().take(to).skip(self.end()).all(Value::is_plain)
    }

    /// A fiber with nothing to do.
    pub fn new() -> Self {
        Fiber {
            regs: Vec::new(),
            frames: Vec::new(),
            handlers: Vec::new(),
            conts: Vec::new(),
            bindings: Vec::new(),
            state: State::Ready,
            parent: None,
        }
    }

    /// Whether nothing has happened in it, so that it need not be made anew.
    pub fn is_new(&self) -> bool {
        let rooms =
            self.regs.capacity() | self.frames.capacity() | self.handlers.capacity() | self.conts.capacity();
        rooms == 0
            && self.bindings.capacity() == 0
            && matches!(self.state, State::Ready)
            && self.parent.is_none()
    }

    /// The first register above the running frame's window.
    pub fn top(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.base as usize + usize::from(frame.registers))
    }

    /// The end of the first frame's window.
    pub fn first_end(&self) -> usize {
        self.frames.first().map_or(0, |frame| frame.base as usize + usize::from(frame.registers))
    }

    /// The end of all windows: a caller's may go beyond the running frame's.
    pub fn end(&self) -> usize {
        let ends = self.frames.iter().map(|frame| frame.base as usize + usize::from(frame.registers));
        ends.max().unwrap_or(0)
    }

    /// How many registers, frames, handlers and continuations there is room for.
    pub fn rooms(&self) -> [usize; 4] {
        [self.regs.len(), self.frames.capacity(), self.handlers.capacity(), self.conts.capacity()]
    }

    /// Makes that much room, unless it takes more than `memory` bytes.
    pub fn make_rooms(&mut self, [regs, frames, handlers, conts]: [usize; 4], memory: usize) -> bool {
        let bytes = |room: usize, size: usize| room.saturating_mul(size);
        let wanted = bytes(regs, size_of::<Value>())
            .saturating_add(bytes(frames, size_of::<Frame>()))
            .saturating_add(bytes(handlers, size_of::<Handler>()))
            .saturating_add(bytes(conts, size_of::<Cont>()));
        if wanted > memory {
            return false;
        }
        self.regs.resize(regs.max(self.regs.len()), Value::Nil);
        self.frames.reserve_exact(frames.saturating_sub(self.frames.len()));
        self.handlers.reserve_exact(handlers.saturating_sub(self.handlers.len()));
        self.conts.reserve_exact(conts.saturating_sub(self.conts.len()));
        true
    }

    /// Makes registers up to `end`, and says how many bytes that took.
    pub fn ensure(&mut self, end: usize) -> usize {
        let before = self.regs.len();
        if end <= before {
            return 0;
        }
        self.regs.resize(end.max(before + before / 2).max(16), Value::Nil);
        (self.regs.len() - before) * size_of::<Value>()
    }

    /// Empties the registers from `from` up to `to`.
    #[inline]
    pub fn clear(&mut self, from: usize, to: usize) {
        let to = to.min(self.regs.len());
        for register in self.regs.get_mut(from..to).unwrap_or_default() {
            if !register.is_plain() {
                *register = Value::Nil;
            }
        }
    }
}
