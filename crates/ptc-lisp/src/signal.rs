//! What a native function may answer instead of a value.
//!
//! Natives never call back into the machine. One that needs something only the machine can do says
//! so with a [`Signal`], and the machine does it: raises the error, realises a lazy sequence and asks
//! the native again, or calls another function in the native's place.

use crate::error::{Error, ErrorKind};
use crate::names::Name;
use crate::value::{Items, LazyObj, Shared, Value};

/// The result of a native: a value or a request.
pub type Res<T = Value> = Result<T, Box<Signal>>;

/// A request to the machine.
#[derive(Debug)]
pub enum Signal {
    /// Raise this error; `try` may catch it if its kind allows.
    Raise(Error),
    /// Throw this value (an exception made by the program).
    Throw(Value),
    /// End the program with this value.
    Return(Value),
    /// End the program as a declared failure with this value.
    Fail(Value),
    /// Realise this one lazy sequence, then run the native again with the same arguments.
    Force(Shared<LazyObj>),
    /// Realise every element of this sequence (not what the elements hold), then run again.
    Realise(Value),
    /// Realise every lazy sequence anywhere inside this value, then run again.
    RealiseDeep(Value),
    /// Find out what is live, then run again: `bytes` more are wanted than seem to be left.
    Reclaim(usize),
    /// Call this function with these arguments; its result is the native's result.
    Call(Value, Vec<Value>),
    /// Call a tool; its answer is the native's result.
    Tool(ToolRequest),
    /// Run each function without arguments as a fiber and wait for all; the vector of results is the
    /// native's result. The kind names the error that a failing fiber becomes.
    Parallel(Vec<Value>, ErrorKind),
}

impl Signal {
    /// Whether the native that answered this is to be run again with the same arguments.
    pub(crate) fn runs_again(&self) -> bool {
        matches!(self, Signal::Force(_) | Signal::Realise(_) | Signal::RealiseDeep(_) | Signal::Reclaim(_))
    }
}

/// A call that leaves the machine.
#[derive(Clone, Debug)]
pub struct ToolRequest {
    /// The tool.
    pub tool: Name,
    /// Its arguments: a map that is an object of JSON when its keys are taken as text.
    pub args: Value,
    /// How much text they are, if that is known already; see [`crate::value::extent`].
    pub bytes: Option<usize>,
    /// Whether it asks what there is, which needs no grant and counts as no tool call.
    pub discovery: bool,
}

impl From<Error> for Box<Signal> {
    fn from(error: Error) -> Self {
        Box::new(Signal::Raise(error))
    }
}

/// Raises an error of `kind`.
pub fn raise<T>(kind: ErrorKind, message: impl Into<String>) -> Res<T> {
    Err(Error::new(kind, message).into())
}

/// Raises a type error.
pub fn type_error<T>(message: impl Into<String>) -> Res<T> {
    raise(ErrorKind::Type, message)
}

/// Raises an illegal-argument error.
pub fn illegal<T>(message: impl Into<String>) -> Res<T> {
    raise(ErrorKind::IllegalArgument, message)
}

/// Asks for `items` of a walk to be realised.
pub(crate) fn pending(lazy: Shared<LazyObj>) -> Box<Signal> {
    Box::new(Signal::Force(lazy))
}

/// The items of a value that natives can walk at once: a lazy sequence is realised first.
pub fn realised_items(value: &Value) -> Res<Items> {
    match Items::over(value) {
        Some(items) => Ok(items),
        None => type_error(format!("expected a collection, got {}", value.type_name())),
    }
}
