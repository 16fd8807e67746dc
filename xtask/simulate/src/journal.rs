//! The journal of a program in a simulation: the server's own, asked in place, with mistakes where some are planted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ptc_server::effects::HeldJournal;
use ptc_upstream::EffectJournal;
use ptc_upstream::runtime::{Begun, NewEffect};
use serde_json::Value as Json;

use crate::fault::Fault;

/// A journal with a planted mistake, or without.
pub struct Journal {
    pub held: HeldJournal,
    fault: Option<Fault>,
    /// Calls that were not written down before they were sent.
    unwritten: Mutex<BTreeMap<String, (String, String, Json)>>,
}

impl Journal {
    /// The journal of a program.
    pub fn new(held: HeldJournal, fault: Option<Fault>) -> Journal {
        Journal { held, fault, unwritten: Mutex::default() }
    }
}

impl EffectJournal for Journal {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        if self.fault == Some(Fault::RowAndSendSwapped) {
            let row = (call.server.to_owned(), call.tool.to_owned(), call.args.clone());
            let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
            unwritten.insert(call.identity.to_owned(), row);
            return Ok(Begun::Fresh);
        }
        self.held.begin(scope, call)
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        let late = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).remove(identity);
        if let Some((server, tool, args)) = late {
            self.held.begin(scope, &NewEffect { identity, server: &server, tool: &tool, args: &args })?;
        }
        self.held.done(scope, identity, answer)
    }

    fn known(&self, scope: &str, identity: &str) -> Result<Option<Begun>, String> {
        match self.fault == Some(Fault::AskedAgain) {
            true => Ok(None),
            false => self.held.known(scope, identity),
        }
    }

    fn begun_ms(&self, scope: &str, identity: &str) -> Option<i64> {
        self.held.begun_ms(scope, identity)
    }

    fn blocks(&self) -> bool {
        false
    }

    fn under_way(&self, scope: &str, identity: &str, is: bool) {
        self.held.under_way(scope, identity, is);
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        self.held.unsent(scope, identity)
    }

    fn remembers(&self) -> bool {
        self.held.remembers()
    }

    fn seen(&self, identity: &str) -> Option<Json> {
        self.held.seen(identity)
    }

    fn saw(&self, identity: &str, answer: Json) {
        if self.fault != Some(Fault::ReadsForgotten) {
            self.held.saw(identity, answer);
        }
    }
}
