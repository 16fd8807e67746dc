//! A server that asks and does not read what it is answered is read no further: its questions, and our answers to them,
//! would pile up without an end.

use std::sync::Arc;

use rmcp::model::ClientJsonRpcMessage;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Answers to questions of a server that may wait to be written.
const MOST_WAITING: usize = 64;

/// The answers of one connection that wait to be written.
#[derive(Debug)]
pub struct Backpressure(Arc<Semaphore>);

impl Backpressure {
    /// For a new connection.
    pub fn new() -> Backpressure {
        Backpressure(Arc::new(Semaphore::new(MOST_WAITING)))
    }

    /// Counts an answer that is about to be written, until what is returned is dropped. Requests of our own are not counted:
    /// whoever makes them waits for what comes back.
    pub fn count(&self, message: &ClientJsonRpcMessage) -> Option<OwnedSemaphorePermit> {
        let answers = matches!(message, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_));
        answers.then(|| self.0.clone().try_acquire_owned().ok()).flatten()
    }

    /// Waits until more may be read.
    pub async fn room(&self) {
        // Nobody closes it.
        drop(self.0.acquire().await);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use rmcp::model::{ErrorData, RequestId};

    use super::*;

    #[test]
    fn nothing_more_is_read_while_too_many_answers_wait_to_be_written() {
        let answers = Backpressure::new();
        let refusal = ErrorData::method_not_found::<rmcp::model::PingRequestMethod>();
        let answer = ClientJsonRpcMessage::error(refusal, Some(RequestId::Number(1)));
        let mut waiting: Vec<_> = (0..MOST_WAITING).map(|_| answers.count(&answer)).collect();
        assert!(answers.room().now_or_never().is_none(), "{waiting:?}");
        assert!(answers.count(&answer).is_none(), "one that is made all the same is written when it can be");
        waiting.pop();
        assert!(answers.room().now_or_never().is_some());
    }
}
