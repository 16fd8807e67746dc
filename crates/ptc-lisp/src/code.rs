//! Compiled code: what the compiler makes, the machine runs, and machines share.

use std::sync::Arc;

use crate::value::Value;

/// A compiled source text.
#[derive(Debug, Default)]
pub struct Unit {
    /// Names of functions, by index.
    pub names: Vec<Option<String>>,
}

/// A unit bound to one machine.
#[derive(Debug)]
pub struct Linked {
    /// The code, shared by all machines.
    pub unit: Arc<Unit>,
    /// Constants as values of this machine.
    pub consts: Vec<Value>,
}

impl Linked {
    /// The name a function was defined with.
    pub fn function_name(&self, func: u32) -> Option<&str> {
        self.unit.names.get(func as usize)?.as_deref()
    }
}
