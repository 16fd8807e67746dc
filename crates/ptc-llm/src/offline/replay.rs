//! A model that answers from a recording.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_agent::model::{Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};

use super::digest::Digest;
use super::nearest;
use super::recording::Recording;

/// Answers requests that were recorded, by what they are and not by when they come. Anything else is an error
/// that shows the nearest request and the difference.
#[derive(Debug)]
pub struct Replay {
    recording: Recording,
    /// How often each request was made.
    made: Mutex<BTreeMap<Digest, usize>>,
}

impl Replay {
    /// A model that answers from this recording.
    pub fn new(recording: Recording) -> Self {
        Replay { recording, made: Mutex::new(BTreeMap::new()) }
    }

    fn answer(&self, request: &Request) -> Result<Reply, ModelError> {
        let digest = Digest::of(request);
        let before = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let count = made.entry(digest.clone()).or_default();
            *count += 1;
            *count - 1
        };
        match self.recording.find(&digest, before) {
            Some(entry) => entry.outcome(),
            None => {
                let message = nearest::miss(&self.recording, request, digest.short());
                Err(ModelError::new(ModelErrorKind::ConfigError, message))
            }
        }
    }
}

impl Model for Replay {
    fn reply(&self, request: Arc<Request>, _chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        Box::pin(std::future::ready(self.answer(&request)))
    }

    fn name(&self) -> &str {
        "replay"
    }
}
