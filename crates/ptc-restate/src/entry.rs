//! What a mission writes into its journal.

use ptc_runner::Supply;
use restate_sdk::errors::{HandlerError, TerminalError};
use serde::{Deserialize, Serialize};

/// The beginning of a mission.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// The version of these entries.
    pub version: u32,
    /// When it was, in milliseconds since 1970.
    pub now: u64,
    /// The agent, as [`Agent::id`](ptc_runner::Agent::id) says.
    pub agent: String,
}

impl Begin {
    /// The entries that this version writes and reads.
    pub(crate) const VERSION: u32 = 1;

    /// Whether a mission that was begun like this can go on here. If not, a worker that it fits may still come, so
    /// this is no reason to end it.
    pub(crate) fn check(&self, agent: &str) -> Result<(), HandlerError> {
        if self.version != Self::VERSION {
            let (theirs, ours) = (self.version, Self::VERSION);
            return Err(HandlerError::from(format!(
                "the mission was begun with version {theirs} of the journal, this worker has {ours}; serve it with \
                 the version of ptc that began it"
            )));
        }
        if self.agent != agent {
            let theirs = &self.agent;
            return Err(HandlerError::from(format!(
                "the mission was begun with agent {theirs}, this worker has {agent}; serve it with the name, prompt, \
                 signature and tools it was begun with, or cancel the mission"
            )));
        }
        Ok(())
    }
}

/// What came next: an answer, or a time that a limit was waited for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Came {
    /// When, in milliseconds since 1970.
    pub now: u64,
    /// The number of what was asked, and the answer.
    pub answer: Option<(u64, Supply)>,
}

const NUMBER: usize = 8;

impl Came {
    /// The time, the number of the ask, and the answer as [`Supply::to_bytes`] writes it.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>, HandlerError> {
        let mut bytes = self.now.to_be_bytes().to_vec();
        if let Some((id, supply)) = &self.answer {
            bytes.extend(id.to_be_bytes());
            let supply = supply.to_bytes();
            bytes.extend(supply.map_err(|error| TerminalError::new(format!("an answer: {error}")))?);
        }
        Ok(bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, HandlerError> {
        let short = || HandlerError::from("an entry of the journal is cut short");
        let (now, rest) = bytes.split_first_chunk::<NUMBER>().ok_or_else(short)?;
        let now = u64::from_be_bytes(*now);
        if rest.is_empty() {
            return Ok(Came { now, answer: None });
        }
        let (id, supply) = rest.split_first_chunk::<NUMBER>().ok_or_else(short)?;
        let supply = Supply::from_bytes(supply).map_err(|error| HandlerError::from(error.to_string()))?;
        Ok(Came { now, answer: Some((u64::from_be_bytes(*id), supply)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        for answer in [None, Some((7, Supply::Tool(Ok(serde_json::json!({"total": [1, 2.5, "é"]})))))] {
            let came = Came { now: 1_700_000_000_123, answer };
            let bytes = came.to_bytes().expect("bytes");
            assert_eq!(Came::from_bytes(&bytes).expect("an entry"), came);
            for cut in 1..bytes.len() {
                let read = Came::from_bytes(&bytes[..cut]);
                assert!(read.is_err() || cut == NUMBER, "{cut} bytes are no entry");
            }
        }
    }
}
