//! Results that did not fit an answer, kept for a while so that their owner can read them whole.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::api::{Resource, ResourceError, ResourceLink};

/// The type of results that are kept.
pub const MIME: &str = "application/json";

/// What addresses begin with.
pub const PREFIX: &str = "ptc://results/";

/// Kept results, the oldest first. Bounded in bytes and per owner: newer ones push out older ones.
#[derive(Debug)]
pub struct Resources {
    bytes: usize,
    per_owner: usize,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    owner: Arc<str>,
    link: ResourceLink,
    text: Arc<str>,
}

impl Resources {
    /// Room for so many bytes, and so many results of each owner.
    pub fn new(bytes: usize, per_owner: usize) -> Self {
        Resources { bytes, per_owner: per_owner.max(1), kept: Mutex::default() }
    }

    /// Keeps a text for its owner; `None` if it is larger than all the room there is.
    pub fn keep(&self, owner: &Arc<str>, name: &str, text: String) -> Option<ResourceLink> {
        if text.len() > self.bytes {
            return None;
        }
        let link = ResourceLink {
            uri: format!("{PREFIX}{}", random_id::<16>()),
            name: name.to_owned(),
            description: format!("The whole result as JSON, {} bytes.", text.len()),
            mime_type: MIME,
            size: text.len() as u64,
        };
        let mut kept = self.kept();
        kept.push_back(Kept { owner: owner.clone(), link: link.clone(), text: text.into() });
        let own = kept.iter().filter(|one| one.owner == *owner).count();
        if own > self.per_owner
            && let Some(oldest) = kept.iter().position(|one| one.owner == *owner)
        {
            kept.remove(oldest);
        }
        while total(&kept) > self.bytes {
            kept.pop_front();
        }
        Some(link)
    }

    /// Reads what was kept for this owner.
    pub fn read(&self, owner: &str, uri: &str) -> Result<Resource, ResourceError> {
        let kept = self.kept();
        let found = kept.iter().find(|one| one.link.uri == uri && &*one.owner == owner);
        let found = found.ok_or(ResourceError::NotFound)?;
        Ok(Resource { uri: uri.to_owned(), mime_type: found.link.mime_type, text: found.text.clone() })
    }

    /// What is kept for this owner, newest first.
    pub fn list(&self, owner: &str) -> Vec<ResourceLink> {
        let kept = self.kept();
        let own = kept.iter().rev().filter(|one| &*one.owner == owner);
        own.map(|one| one.link.clone()).collect()
    }

    /// Forgets what belongs to an owner who is gone.
    pub fn forget(&self, owner: &str) {
        self.kept().retain(|one| &*one.owner != owner);
    }

    /// How many results are kept, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let kept = self.kept();
        (kept.len(), total(&kept))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn total(kept: &VecDeque<Kept>) -> usize {
    kept.iter().map(|one| one.text.len()).sum()
}

/// So many random bytes as text for addresses and ids.
pub fn random_id<const BYTES: usize>() -> String {
    let mut bytes = [0u8; BYTES];
    // Without the system's randomness nothing secret can be made: better no server than ids that can be guessed.
    #[expect(clippy::expect_used, reason = "see above")]
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_results_push_out_older_ones_and_owners_see_their_own() {
        let resources = Resources::new(100, 2);
        let (anna, ben): (Arc<str>, Arc<str>) = ("anna".into(), "ben".into());
        let keep = |owner: &Arc<str>, bytes: usize| {
            resources.keep(owner, "result", "x".repeat(bytes)).map(|link| link.uri)
        };
        let first = keep(&anna, 10).expect("it fits");
        let second = keep(&anna, 10).expect("it fits");
        assert!(resources.read("anna", &first).is_ok() && resources.read("ben", &first).is_err());
        let third = keep(&anna, 10).expect("it fits");
        assert!(resources.read("anna", &first).is_err(), "only two of each owner");
        let large = keep(&ben, 85).expect("it fits");
        assert!(resources.read("anna", &second).is_err() && resources.read("anna", &third).is_ok());
        assert_eq!(resources.size(), (2, 95));
        assert_eq!(keep(&ben, 101), None);
        resources.forget("anna");
        assert_eq!((resources.list("anna").len(), resources.list("ben")[0].uri.clone()), (0, large));
    }
}
