//! Reading the bodies of requests that were admitted: each with a bound and a time limit, and all of them, together with
//! the answers that wait to be written, in a room that owners share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::room::{Full, Room, Share};

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It has more bytes than allowed.
    #[error("the request is too large")]
    TooLarge,
    /// It did not arrive in time.
    #[error("the request did not arrive in time")]
    TooSlow,
    /// The client broke off.
    #[error("the client broke off")]
    Broken,
    /// The bodies of other requests take all the room, or those of this owner its share.
    #[error("other requests take all the room")]
    Full,
}

impl From<Full> for BodyError {
    fn from(_: Full) -> BodyError {
        BodyError::Full
    }
}

/// Reads bodies.
#[derive(Clone, Debug)]
pub struct Bodies {
    pub(crate) most: usize,
    pub(crate) time: Duration,
    pub(crate) room: Arc<Mutex<Room>>,
}

/// A body, with the room that it takes until this is dropped.
#[derive(Debug)]
pub struct Arrived {
    /// Its bytes.
    pub bytes: Bytes,
    _share: Share,
}

impl Bodies {
    /// Bodies of at most so many bytes, each in at most that time, and all together of about `room` bytes, which is at
    /// least twice as much as one may have.
    pub fn new(most: usize, time: Duration, room: usize) -> Bodies {
        let room = Room::new(room.max(most.saturating_mul(2)));
        Bodies { most, time, room: Arc::new(Mutex::new(room)) }
    }

    /// Reads the body of a request that was admitted, for its owner.
    pub async fn read(&self, owner: &Arc<str>, body: Body) -> Result<Arrived, BodyError> {
        tokio::time::timeout(self.time, self.collect(self.share(owner), body))
            .await
            .unwrap_or(Err(BodyError::TooSlow))
    }

    /// A share of the room that is still empty.
    pub(crate) fn share(&self, owner: &Arc<str>) -> Share {
        Share::new(self.room.clone(), owner.clone())
    }

    async fn collect(&self, mut share: Share, body: Body) -> Result<Arrived, BodyError> {
        // One that says that it is too large is not waited for.
        if body.size_hint().lower() > self.most as u64 {
            return Err(BodyError::TooLarge);
        }
        let mut body = Limited::new(body, self.most);
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => BodyError::TooLarge,
                None => BodyError::Broken,
            })?;
            let Ok(data) = frame.into_data() else { continue };
            share.grow(bytes.len() + data.len())?;
            bytes.extend_from_slice(&data);
        }
        Ok(Arrived { bytes: bytes.into(), _share: share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::SMALL;

    /// Bodies that each take 100 bytes of a room of so many.
    fn bodies(room: usize) -> Bodies {
        let mut bodies = Bodies::new(SMALL + 100, Duration::from_secs(3600), 0);
        bodies.room = Arc::new(Mutex::new(Room::new(100 * room)));
        bodies
    }

    fn of(bytes: usize) -> Body {
        Body::from(vec![b'x'; bytes])
    }

    /// As many bodies of an owner as there is room for.
    async fn all_of(bodies: &Bodies, owner: &str) -> Vec<Arrived> {
        let (owner, mut held) = (Arc::from(owner), Vec::new());
        loop {
            match bodies.read(&owner, of(SMALL + 100)).await {
                Ok(arrived) => held.push(arrived),
                Err(error) => {
                    assert_eq!(error, BodyError::Full);
                    return held;
                }
            }
        }
    }

    #[tokio::test]
    async fn bodies_share_a_room_and_small_ones_need_none() {
        let bodies = bodies(6);
        let mut held = all_of(&bodies, "a").await;
        assert_eq!(held.len(), 3, "half of the room is left to others");
        let owner = Arc::from("a");
        assert_eq!(bodies.read(&owner, of(SMALL)).await.expect("it is small").bytes.len(), SMALL);
        held.pop();
        assert!(bodies.read(&owner, of(SMALL + 100)).await.is_ok(), "one gave its room back");
        drop(held);
        let room = bodies.room.lock().expect("nobody panicked");
        assert_eq!(*room, Room::new(600), "nothing is lost, also by those that found none");
    }

    #[tokio::test]
    async fn every_owner_finds_room_whatever_others_have() {
        let bodies = bodies(12);
        let (first, second) = (all_of(&bodies, "a").await, all_of(&bodies, "b").await);
        let third = all_of(&bodies, "c").await;
        assert_eq!([first.len(), second.len(), third.len()], [6, 3, 1]);
        drop(first);
        assert!(bodies.read(&Arc::from("c"), of(SMALL + 100)).await.is_ok());
    }

    /// A body of so many bytes, as its head says, that never comes.
    struct Declared(u64);

    impl axum::body::HttpBody for Declared {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }

        fn size_hint(&self) -> hyper::body::SizeHint {
            hyper::body::SizeHint::with_exact(self.0)
        }
    }

    #[tokio::test]
    async fn a_body_that_says_that_it_is_too_large_is_not_waited_for() {
        let bodies = Bodies::new(SMALL, Duration::from_secs(3600), 1);
        let declared = Body::new(Declared(SMALL as u64 + 1));
        assert_eq!(bodies.read(&Arc::from("a"), declared).await.map(|_| ()), Err(BodyError::TooLarge));
    }

    #[tokio::test]
    async fn a_body_has_a_bound_of_its_own_and_always_fits_the_room() {
        let bodies = Bodies::new(SMALL * 4, Duration::from_secs(3600), 1);
        let owner = Arc::from("a");
        assert_eq!(bodies.read(&owner, of(SMALL * 4 + 1)).await.map(|_| ()), Err(BodyError::TooLarge));
        assert!(bodies.read(&owner, of(SMALL * 4)).await.is_ok());
    }
}
