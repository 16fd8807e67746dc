//! The steps of a plan that a program noted as done. They leave the machine apart from its values, so they have
//! bounds of their own.

use crate::error::{Error, ErrorKind};

/// Most steps of one program.
pub(crate) const MOST_STEPS: usize = 1_000;

/// Most bytes of the ids and summaries of one program.
pub(crate) const MOST_STEP_BYTES: usize = 256 << 10;

/// Steps in order: id and summary.
#[derive(Debug, Default)]
pub struct Steps {
    done: Vec<(String, String)>,
    bytes: usize,
}

impl Steps {
    /// Whether one more step fits.
    pub fn check(&self, id: &str, summary: &str) -> Result<(), Error> {
        let over = match (self.done.len() < MOST_STEPS, self.bytes + id.len() + summary.len()) {
            (false, _) => format!("the program noted more than {MOST_STEPS} steps as done"),
            (true, bytes) if bytes > MOST_STEP_BYTES => {
                format!("the summaries of steps are more than {MOST_STEP_BYTES} bytes")
            }
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::OutputExceeded, over)
            .hint("(step-done id summary) is for the plan's own steps, each with a line of summary; keep data in a def"))
    }

    /// Notes a step that fits.
    pub fn push(&mut self, id: String, summary: String) {
        self.bytes += id.len() + summary.len();
        self.done.push((id, summary));
    }

    /// All steps, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(String, String)> {
        self.done.iter()
    }

    /// Takes all steps.
    pub fn take(&mut self) -> Vec<(String, String)> {
        std::mem::take(self).done
    }

    /// Bytes that they take.
    pub(crate) fn room(&self) -> usize {
        let Steps { done, bytes } = self;
        bytes + crate::machine::room(done.len()) * size_of::<(String, String)>()
    }
}
