//! Room that owners share: for bytes of requests and answers, and for connections that are held.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a body or an answer that need no room: small requests are served however many large ones there are. How many
/// there are at a time is bounded by the connections.
pub const SMALL: usize = 64 << 10;

/// There is no room left, or none for this owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("other requests take all the room")]
pub struct Full;

/// An owner has at most as much as it leaves free: the first half of it, the next half of the rest, and so on. So whoever
/// comes next finds some, though less and less, and nobody has to know how many will.
#[derive(Debug, PartialEq, Eq)]
pub struct Room {
    whole: usize,
    free: usize,
    taken: HashMap<Arc<str>, usize>,
}

impl Room {
    /// Nobody has any of it.
    pub fn new(whole: usize) -> Room {
        Room { whole, free: whole, taken: HashMap::new() }
    }

    /// The most that anybody ever has.
    fn most(&self) -> usize {
        self.whole / 2
    }

    /// How much more an owner may take.
    pub fn left(&self, owner: &str) -> usize {
        let has = self.taken.get(owner).copied().unwrap_or_default();
        self.free.saturating_sub(has) / 2
    }

    /// Takes more for an owner.
    pub fn take(&mut self, owner: &Arc<str>, more: usize) -> Result<(), Full> {
        if more > self.left(owner) {
            return Err(Full);
        }
        self.free -= more;
        *self.taken.entry(owner.clone()).or_default() += more;
        Ok(())
    }

    /// What an owner took is free again.
    pub fn give_back(&mut self, owner: &str, taken: usize) {
        self.free += taken;
        if let Some(has) = self.taken.get_mut(owner) {
            *has -= taken;
            if *has == 0 {
                self.taken.remove(owner);
            }
        }
    }

    /// Whether nobody has any of it.
    pub fn is_free(&self) -> bool {
        self.taken.is_empty()
    }
}

/// What a body or an answer has of the room, until this is dropped.
#[derive(Debug)]
pub struct Share {
    room: Arc<Mutex<Room>>,
    owner: Arc<str>,
    bytes: usize,
}

impl Share {
    /// Nothing yet.
    pub fn new(room: Arc<Mutex<Room>>, owner: Arc<str>) -> Share {
        Share { room, owner, bytes: 0 }
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes as much more room as so many bytes need. What was taken before is kept where there is no more.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        let needs = bytes.saturating_sub(SMALL);
        self.take(|_| needs)
    }

    /// The same for an answer, which counts for no more than anybody may have: one that is larger must be had by whoever
    /// waits for nothing else.
    pub fn grow_within(&mut self, bytes: usize) -> Result<(), Full> {
        let needs = bytes.saturating_sub(SMALL);
        self.take(|room| needs.min(room.most()))
    }

    /// Takes as much of it as there is, for bytes that cannot be refused.
    pub fn grow_somehow(&mut self, bytes: usize) {
        let (needs, has) = (bytes.saturating_sub(SMALL), self.bytes);
        let owner = self.owner.clone();
        // It is never more than there is.
        let _ = self.take(|room| needs.min(has + room.left(&owner)));
    }

    fn take(&mut self, needs: impl FnOnce(&Room) -> usize) -> Result<(), Full> {
        let mut room = self.room();
        let needs = needs(&room);
        let more = needs.saturating_sub(self.bytes);
        if more > 0 {
            room.take(&self.owner, more)?;
            drop(room);
            self.bytes = needs;
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room().give_back(&self.owner, self.bytes);
        }
    }
}
