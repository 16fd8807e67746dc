//! Results that did not fit an answer, kept for a while so that their owner can read them whole: here, and in the store
//! if there is one, where every server of it finds those of clients over HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use ptc_store::StoreError;
use ptc_store::shelf::{NewItem, Shelf, giving_way};
use serde_json::json;

use super::api::{Caller, Resource, ResourceError, ResourceLink, Transport};
use super::pulse::in_time;

/// The type of results that are kept.
pub const MIME: &str = "application/json";

/// What addresses begin with.
pub const PREFIX: &str = "ptc://results/";

/// How long results are kept in a store.
const STORED_MS: i64 = 60 * 60 * 1_000;

/// Kept results, the oldest first. Bounded in bytes and per owner: newer ones push out older ones of the same owner, and of
/// whoever has most.
#[derive(Debug)]
pub struct Resources {
    bytes: usize,
    per_owner: usize,
    kept: Mutex<VecDeque<KeptResource>>,
    shelf: Option<Shelf>,
}

#[derive(Debug)]
struct KeptResource {
    owner: Arc<str>,
    link: ResourceLink,
    text: Arc<str>,
}

impl Resources {
    /// Room for so many bytes, and so many results of each owner.
    pub fn new(bytes: usize, per_owner: usize, shelf: Option<Shelf>) -> Self {
        Resources { bytes, per_owner: per_owner.max(1), kept: Mutex::default(), shelf }
    }

    /// Keeps a text for its owner; `None` if it is larger than all the room there is.
    pub async fn keep(&self, caller: &Caller, name: &str, text: String) -> Option<ResourceLink> {
        if text.len() > self.bytes {
            return None;
        }
        let link = link(format!("{PREFIX}{}", random_id::<16>()), name, text.len() as u64);
        let text: Arc<str> = text.into();
        self.keep_here(&caller.owner, link.clone(), text.clone());
        // A client over stdio has no other server.
        if caller.transport == Transport::Http {
            let (owner, uri, per_owner) = (caller.owner.clone(), link.uri.clone(), self.per_owner);
            let about = json!({"name": name, "bytes": link.size});
            let put = move |shelf: &Shelf| {
                let body = text.as_bytes();
                let item = NewItem { id: &uri, owner: &owner, about: &about, body, ttl_ms: STORED_MS };
                shelf.put(&item, per_owner)
            };
            self.shelved(put).await;
        }
        Some(link)
    }

    fn keep_here(&self, owner: &Arc<str>, link: ResourceLink, text: Arc<str>) {
        let mut kept = self.kept();
        kept.push_back(KeptResource { owner: owner.clone(), link, text });
        let own = kept.iter().filter(|one| one.owner == *owner).count();
        if own > self.per_owner
            && let Some(oldest) = kept.iter().position(|one| one.owner == *owner)
        {
            kept.remove(oldest);
        }
        if total(&kept) > self.bytes {
            let things: Vec<_> = kept.iter().map(|one| (one.owner.clone(), one.text.len() as u64)).collect();
            drop_all(&mut kept, giving_way(&things, self.bytes as u64));
        }
    }

    /// Does something with the shelf, if there is one. What it cannot do is no reason to fail a call.
    async fn shelved<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shelf) -> Result<T, StoreError> + Send + 'static,
    ) -> Option<T> {
        let shelf = self.shelf.clone()?;
        let asked = shelf.clone();
        let done = in_time(shelf.store(), tokio::task::spawn_blocking(move || work(&asked))).await?;
        done.inspect_err(|error| tracing::warn!("results cannot be shared with other servers: {error}")).ok()
    }

    /// Where the store keeps them.
    pub fn shelf(&self) -> Option<&Shelf> {
        self.shelf.as_ref()
    }

    /// Reads what was kept for this owner.
    pub async fn read(&self, owner: &str, uri: &str) -> Result<Resource, ResourceError> {
        let resource = |text| Resource { uri: uri.to_owned(), mime_type: MIME, text };
        let here = self
            .kept()
            .iter()
            .find(|one| one.link.uri == uri && &*one.owner == owner)
            .map(|one| one.text.clone());
        if let Some(text) = here {
            return Ok(resource(text));
        }
        let (id, owner) = (uri.to_owned(), owner.to_owned());
        let stored = match uri.starts_with(PREFIX) {
            true => self.shelved(move |shelf| shelf.read(&id, &owner)).await.flatten(),
            false => None,
        };
        let text = stored.and_then(|(_, body)| String::from_utf8(body).ok());
        text.map(|text| resource(text.into())).ok_or(ResourceError::NotFound)
    }

    /// What is kept for this owner, newest first; what only the store has comes last.
    pub async fn list(&self, owner: &str) -> Vec<ResourceLink> {
        let mut links = self.list_here(owner);
        let owner = owner.to_owned();
        for item in self.shelved(move |shelf| shelf.list(&owner)).await.unwrap_or_default() {
            if item.id.starts_with(PREFIX) && !links.iter().any(|link| link.uri == item.id) {
                let name = item.about["name"].as_str().unwrap_or_default();
                links.push(link(item.id, name, item.about["bytes"].as_u64().unwrap_or_default()));
            }
        }
        links
    }

    fn list_here(&self, owner: &str) -> Vec<ResourceLink> {
        let kept = self.kept();
        let own = kept.iter().rev().filter(|one| &*one.owner == owner);
        own.map(|one| one.link.clone()).collect()
    }

    /// Forgets what belongs to an owner who is gone. What is in a store goes by time: other servers may still see it.
    pub fn forget(&self, owner: &str) {
        self.kept().retain(|one| &*one.owner != owner);
    }

    /// How many results are kept, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let kept = self.kept();
        (kept.len(), total(&kept))
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<KeptResource>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn link(uri: String, name: &str, bytes: u64) -> ResourceLink {
    ResourceLink {
        uri,
        name: name.to_owned(),
        description: format!("The whole result as JSON, {bytes} bytes."),
        mime_type: MIME,
        size: bytes,
    }
}

fn total(kept: &VecDeque<KeptResource>) -> usize {
    kept.iter().map(|one| one.text.len()).sum()
}

/// Drops things by their places.
pub fn drop_all<T>(kept: &mut VecDeque<T>, mut places: Vec<usize>) {
    // From behind, so that the others stay where they are.
    places.sort_unstable();
    for at in places.into_iter().rev() {
        kept.remove(at);
    }
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

    fn of(owner: &str) -> Caller {
        Caller::new(owner, Transport::Http)
    }

    #[tokio::test]
    async fn newer_results_push_out_older_ones_and_owners_see_their_own() {
        let resources = Resources::new(100, 2, None);
        let keep = async |owner: &str, bytes: usize| {
            resources.keep(&of(owner), "result", "x".repeat(bytes)).await.map(|link| link.uri)
        };
        let found = async |owner: &str, uri: &str| resources.read(owner, uri).await.is_ok();
        let first = keep("anna", 10).await.expect("it fits");
        let second = keep("anna", 10).await.expect("it fits");
        assert!(found("anna", &first).await && !found("ben", &first).await);
        let third = keep("anna", 10).await.expect("it fits");
        assert!(!found("anna", &first).await, "only two of each owner");
        let large = keep("ben", 85).await.expect("it fits");
        assert!(!found("anna", &second).await && found("anna", &third).await);
        assert_eq!(resources.size(), (2, 95));
        assert_eq!(keep("ben", 101).await, None);
        resources.forget("anna");
        assert!(resources.list("anna").await.is_empty());
        assert_eq!(resources.list("ben").await[0].uri, large);
    }

    #[tokio::test]
    async fn an_owner_who_keeps_much_pushes_out_none_of_what_others_keep() {
        let resources = Resources::new(100, 100, None);
        let keep = async |owner: &str, bytes: usize| {
            resources.keep(&of(owner), "result", "x".repeat(bytes)).await.expect("it fits").uri
        };
        let annas = keep("anna", 10).await;
        let mut bens = String::new();
        for _ in 0..50 {
            bens = keep("ben", 20).await;
        }
        assert!(resources.read("anna", &annas).await.is_ok());
        assert_eq!((resources.list("ben").await.len(), &resources.list("ben").await[0].uri), (4, &bens));
        let more = keep("anna", 15).await;
        assert_eq!((resources.list("anna").await.len(), resources.list("ben").await.len()), (2, 3));
        assert!(resources.read("anna", &more).await.is_ok());
    }

    #[tokio::test]
    async fn servers_of_one_store_read_each_others_results() {
        let store = Arc::new(ptc_store::Store::open(":memory:").expect("it opens"));
        let server = || Resources::new(100, 2, Some(Shelf::new(store.clone(), 100)));
        let (first, second) = (server(), server());
        let link = first.keep(&of("anna"), "result", "[1]".to_owned()).await.expect("it fits");
        assert_eq!(&*second.read("anna", &link.uri).await.expect("it is there").text, "[1]");
        assert!(second.read("ben", &link.uri).await.is_err());
        assert!(second.read("anna", "ptc://other").await.is_err());
        assert_eq!(second.list("anna").await, first.list("anna").await);
        let own = Caller::new("anna", Transport::Stdio);
        let link = first.keep(&own, "result", "[2]".to_owned()).await.expect("it fits");
        assert!(second.read("anna", &link.uri).await.is_err(), "nobody else can ask for it");
    }
}
