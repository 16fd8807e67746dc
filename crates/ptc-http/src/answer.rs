//! Answers that wait to be written. They take of the room that bodies share until their last byte was written or their
//! connection is gone: whoever asks for much and reads nothing gets no more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;

use super::body::Bodies;
use super::room::{Full, Share};

/// The room of one answer. It is taken before the answer is made where its length is known by then, and when it was made
/// at the latest.
#[derive(Clone, Debug)]
pub struct Answer(Arc<State>);

#[derive(Debug)]
struct State {
    share: Mutex<Option<Share>>,
    refused: AtomicBool,
    certain: AtomicBool,
}

impl Bodies {
    /// Room for an answer to this owner; none is taken yet.
    pub fn answer(&self, owner: &Arc<str>) -> Answer {
        let share = Mutex::new(Some(self.share(owner)));
        Answer(Arc::new(State { share, refused: AtomicBool::default(), certain: AtomicBool::default() }))
    }
}

impl Answer {
    fn share(&self) -> MutexGuard<'_, Option<Share>> {
        self.0.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer tells of something that happened, and is sent in any case. It takes what there is.
    pub fn is_certain(&self) {
        self.0.certain.store(true, Ordering::Release);
    }

    /// Takes room for an answer of about so many bytes, before it is made. One without room is not to be made.
    pub fn expect(&self, bytes: usize) -> Result<(), Full> {
        let taken = self.share().as_mut().map_or(Ok(()), |share| share.grow_within(bytes));
        self.0.refused.fetch_or(taken.is_err(), Ordering::AcqRel);
        taken
    }

    /// The bytes of the answer, which keep its room for as long as they are there.
    pub fn whole(&self, bytes: Bytes) -> Result<Bytes, Full> {
        let Some(mut share) = self.share().take() else { return Ok(bytes) };
        match self.0.certain.load(Ordering::Acquire) {
            true => share.grow_somehow(bytes.len()),
            false if self.0.refused.load(Ordering::Acquire) => return Err(Full),
            false => share.grow_within(bytes.len())?,
        }
        Ok(Bytes::from_owner(Waiting { bytes, _share: share }))
    }
}

/// What waits to be written.
struct Waiting {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::room::SMALL;

    const HOUR: Duration = Duration::from_secs(3600);

    fn answer(bodies: &Bodies, owner: &str, more: usize) -> Result<Bytes, Full> {
        bodies.answer(&owner.into()).whole(vec![b'x'; SMALL + more].into())
    }

    #[test]
    fn answers_keep_their_room_until_their_last_byte_is_gone() {
        let bodies = Bodies::new(0, HOUR, 400);
        let first = answer(&bodies, "a", 100).expect("there is room");
        let mut second = answer(&bodies, "a", 100).expect("there is room");
        assert_eq!(answer(&bodies, "a", 100), Err(Full), "half of it is left to others");
        assert!(answer(&bodies, "a", 0).is_ok(), "a small one needs none");
        assert!(answer(&bodies, "b", 100).is_ok(), "the other has room");
        let rest = second.split_off(SMALL);
        drop(second);
        assert_eq!(answer(&bodies, "a", 100), Err(Full), "its rest waits");
        drop((first, rest));
        assert!(bodies.room.lock().expect("nobody panicked").is_free());
    }

    #[tokio::test]
    async fn bodies_and_answers_share_one_room() {
        let bodies = Bodies::new(SMALL + 100, HOUR, 0);
        let most = SMALL + 100;
        let waits = answer(&bodies, "a", most).expect("there is room");
        let body = || axum::body::Body::from(vec![b'x'; most]);
        let owner = "a".into();
        assert_eq!(bodies.read(&owner, body()).await.map(|_| ()), Err(crate::BodyError::Full));
        drop(waits);
        assert!(bodies.read(&owner, body()).await.is_ok());
    }

    #[test]
    fn an_answer_without_room_is_not_made_and_one_that_tells_what_happened_is_sent() {
        let bodies = Bodies::new(0, HOUR, 200);
        let waits = answer(&bodies, "a", 100).expect("there is room");
        let refused = bodies.answer(&"a".into());
        assert_eq!(refused.expect(SMALL + 1), Err(Full));
        assert_eq!(refused.whole(Bytes::from_static(b"an error")), Err(Full), "whatever is said instead");
        let certain = bodies.answer(&"a".into());
        certain.is_certain();
        let sent = certain.whole(vec![b'x'; SMALL + 1000].into()).expect("it is sent");
        drop((waits, sent));
        assert!(bodies.room.lock().expect("nobody panicked").is_free());
    }

    #[test]
    fn an_answer_that_is_larger_than_any_share_is_had_by_whoever_waits_for_nothing_else() {
        let bodies = Bodies::new(0, HOUR, 200);
        let large = bodies.answer(&"a".into());
        assert_eq!(large.expect(SMALL + 10_000), Ok(()));
        let large = large.whole(vec![b'x'; SMALL + 20_000].into()).expect("it counts for no more");
        assert_eq!(answer(&bodies, "a", 1), Err(Full));
        drop(large);
        assert!(answer(&bodies, "a", 1).is_ok());
    }
}
