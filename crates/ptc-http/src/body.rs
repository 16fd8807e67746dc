//! Reading the bodies of requests that were admitted: each with a bound and a time limit, and all of them together in
//! a room of their own.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a body that need no room: small requests are read however many large ones there are. How many requests
/// there are at a time is bounded by the connections.
const SMALL: usize = 64 << 10;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It has more bytes than allowed.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The client broke off.
    Broken,
    /// The bodies of other requests take all the room.
    Full,
}

/// Reads bodies.
#[derive(Clone, Debug)]
pub struct Bodies {
    most: usize,
    time: Duration,
    room: Arc<Semaphore>,
}

/// A body, with the room that it takes until this is dropped.
#[derive(Debug)]
pub struct Arrived {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its room, if it is not small.
    pub room: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    /// Bodies of at most so many bytes, each in at most that time, and all together of about `room` bytes.
    pub fn new(most: usize, time: Duration, room: usize) -> Bodies {
        let room = room.max(most).min(Semaphore::MAX_PERMITS);
        Bodies { most, time, room: Arc::new(Semaphore::new(room)) }
    }

    /// Reads the body of a request that was admitted.
    pub async fn read(&self, body: Body) -> Result<Arrived, BodyError> {
        tokio::time::timeout(self.time, self.collect(body)).await.unwrap_or(Err(BodyError::TooSlow))
    }

    async fn collect(&self, body: Body) -> Result<Arrived, BodyError> {
        let mut body = Limited::new(body, self.most);
        let (mut bytes, mut room) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => BodyError::TooLarge,
                None => BodyError::Broken,
            })?;
            let Ok(data) = frame.into_data() else { continue };
            self.take(&mut room, bytes.len() + data.len())?;
            bytes.extend_from_slice(&data);
        }
        Ok(Arrived { bytes: bytes.into(), room })
    }

    /// Takes as much more room as a body of so many bytes needs. A body that finds none gives back what it has.
    fn take(&self, room: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), BodyError> {
        let has = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.saturating_sub(SMALL).saturating_sub(has);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| BodyError::TooLarge)?;
        let taken = self.room.clone().try_acquire_many_owned(more).map_err(|_| BodyError::Full)?;
        match room {
            Some(room) => room.merge(taken),
            None => *room = Some(taken),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(most: usize, room: usize) -> Bodies {
        Bodies::new(most, Duration::from_secs(3600), room)
    }

    fn of(bytes: usize) -> Body {
        Body::from(vec![b'x'; bytes])
    }

    #[tokio::test]
    async fn bodies_share_a_room_and_small_ones_need_none() {
        let bodies = bodies(SMALL + 100, SMALL + 100);
        let mut held = Vec::new();
        // Each of them takes 100 bytes of it.
        for _ in 0..(SMALL + 100) / 100 {
            held.push(bodies.read(of(SMALL + 100)).await.expect("there is room"));
        }
        assert_eq!(bodies.read(of(SMALL + 100)).await.map(|_| ()), Err(BodyError::Full));
        assert_eq!(bodies.read(of(SMALL)).await.expect("it is small").bytes.len(), SMALL);
        held.pop();
        assert!(bodies.read(of(SMALL + 100)).await.is_ok(), "one gave its room back");
        drop(held);
        assert_eq!(
            bodies.room.available_permits(),
            SMALL + 100,
            "nothing is lost, also by those that found none"
        );
    }

    #[tokio::test]
    async fn a_body_has_a_bound_of_its_own_and_always_fits_the_room() {
        let bodies = bodies(SMALL * 4, 1);
        assert_eq!(bodies.read(of(SMALL * 4 + 1)).await.map(|_| ()), Err(BodyError::TooLarge));
        assert!(bodies.read(of(SMALL * 4)).await.is_ok());
    }
}
