//! Recordings of programs of sessions.

use ptc_host::Program;
use ptc_trace::recording::{Begun, Lent};

use super::super::Engine;
use super::super::recordings::Recorded;
use super::Session;

impl Engine {
    /// A program of a session, with what records it.
    pub(super) fn session_recorded(
        &self,
        session: &Session,
        program: Program,
        more: impl FnOnce(Begun) -> Begun,
    ) -> (Program, Recorded) {
        let frozen = &session.frozen;
        self.recordings.program(program, |program| {
            more(Begun {
                name: session.id.clone(),
                prelude: frozen.prelude.as_deref().map(Lent::of),
                private_tools: frozen.private_tools(),
                ..Begun::of("lisp_session_eval", program)
            })
        })
    }
}
