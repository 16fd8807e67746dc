//! Results that did not fit an answer, kept for a while so that their owner can read them whole: here, and in the store
//! if there is one, where every server of it finds those of clients over HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use ptc_store::StoreError;
use ptc_store::shelf::{NewItem, Shelf, giving_way};
use serde_json::{Value as Json, json};

use super::api::{Caller, Resource, ResourceError, ResourceLink, Transport};
use super::pulse::in_time;

/// The type of results that are kept.
pub const MIME: &str = "application/json";

/// What addresses begin with.
pub const PREFIX: &str = "ptc://results/";

/// How long results are kept in a store.
const STORED_MS: i64 = 60 * 60 * 1_000;

/// Kept results, the oldest first, read by their owners. Bounded in bytes and per principal, over all of its connections:
/// newer ones push out older ones of the same principal, and of whoever has most.
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
    principal: Arc<str>,
    link: ResourceLink,
    text: Arc<str>,
}

impl Resources {
    /// Room for so many bytes, and so many results of each principal.
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
        self.keep_here(caller, link.clone(), text.clone());
        // A client over stdio has no other server.
        if caller.transport == Transport::Http {
            let (owner, uri, per_owner) = (caller.principal.clone(), link.uri.clone(), self.per_owner);
            let about = json!({"name": name, "bytes": link.size, OF: caller.owner});
            let put = move |shelf: &Shelf| {
                let body = text.as_bytes();
                let item = NewItem { id: &uri, owner: &owner, about: &about, body, ttl_ms: STORED_MS };
                shelf.put(&item, per_owner)
            };
            self.shelved(put).await;
        }
        Some(link)
    }

    fn keep_here(&self, caller: &Caller, link: ResourceLink, text: Arc<str>) {
        let (owner, principal) = (caller.owner.clone(), caller.principal.clone());
        let mut kept = self.kept();
        kept.push_back(KeptResource { owner, principal, link, text });
        let own = kept.iter().filter(|one| one.principal == caller.principal).count();
        if own > self.per_owner
            && let Some(oldest) = kept.iter().position(|one| one.principal == caller.principal)
        {
            kept.remove(oldest);
        }
        if total(&kept) > self.bytes {
            let things = kept.iter().map(|one| (one.principal.clone(), one.text.len() as u64));
            let going = giving_way(&things.collect::<Vec<_>>(), self.bytes as u64);
            drop_all(&mut kept, going);
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

    /// Reads what was kept for this caller.
    pub async fn read(&self, caller: &Caller, uri: &str) -> Result<Resource, ResourceError> {
        let resource = |text| Resource { uri: uri.to_owned(), mime_type: MIME, text };
        let here = self
            .kept()
            .iter()
            .find(|one| one.link.uri == uri && one.owner == caller.owner)
            .map(|one| one.text.clone());
        if let Some(text) = here {
            return Ok(resource(text));
        }
        let (id, account) = (uri.to_owned(), caller.principal.clone());
        let stored = match uri.starts_with(PREFIX) {
            true => self.shelved(move |shelf| shelf.read(&id, &account)).await.flatten(),
            false => None,
        };
        let own = stored.filter(|(about, _)| is_of(about, caller));
        let text = own.and_then(|(_, body)| String::from_utf8(body).ok());
        text.map(|text| resource(text.into())).ok_or(ResourceError::NotFound)
    }

    /// What is kept for this caller, newest first; what only the store has comes last.
    pub async fn list(&self, caller: &Caller) -> Vec<ResourceLink> {
        let mut links = self.list_here(&caller.owner);
        let account = caller.principal.clone();
        for item in self.shelved(move |shelf| shelf.list(&account)).await.unwrap_or_default() {
            let own = item.id.starts_with(PREFIX) && is_of(&item.about, caller);
            if own && !links.iter().any(|link| link.uri == item.id) {
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

/// Where a stored result says whose it is: the store has it on the account of a principal.
const OF: &str = "of";

fn is_of(about: &Json, caller: &Caller) -> bool {
    about[OF] == *caller.owner
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
        let found = async |owner: &str, uri: &str| resources.read(&of(owner), uri).await.is_ok();
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
        assert!(resources.list(&of("anna")).await.is_empty());
        assert_eq!(resources.list(&of("ben")).await[0].uri, large);
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
        let (anna, ben) = (of("anna"), of("ben"));
        assert!(resources.read(&anna, &annas).await.is_ok());
        assert_eq!((resources.list(&ben).await.len(), &resources.list(&ben).await[0].uri), (4, &bens));
        let more = keep("anna", 15).await;
        assert_eq!((resources.list(&anna).await.len(), resources.list(&ben).await.len()), (2, 3));
        assert!(resources.read(&anna, &more).await.is_ok());
    }

    #[tokio::test]
    async fn results_of_many_connections_are_those_of_one_account_and_each_reads_its_own() {
        let store = Arc::new(ptc_store::Store::open(":memory:").expect("it opens"));
        let [alone, first, second] = [None, Some(&store), Some(&store)]
            .map(|store| Resources::new(100, 3, store.map(|store| Shelf::new(store.clone(), 100))));
        let over =
            |connection: usize| Caller { principal: "ben".into(), ..of(&format!("ben over {connection}")) };
        for (writes, reads) in [(&alone, &alone), (&first, &second)] {
            let keep = async |caller: &Caller, bytes: usize| {
                writes.keep(caller, "result", "x".repeat(bytes)).await.expect("it fits").uri
            };
            let annas = keep(&of("anna"), 30).await;
            let mut bens = Vec::new();
            for connection in 0..6 {
                bens.push(keep(&over(connection), 25).await);
            }
            assert!(reads.read(&of("anna"), &annas).await.is_ok(), "what others keep does not push it out");
            // Of what a store kept in one millisecond any may be the older one, but the last that was put down stays.
            let listed = async || {
                let mut sum = 0;
                for connection in 0..6 {
                    sum += reads.list(&over(connection)).await.len();
                }
                sum
            };
            assert_eq!(listed().await, 2, "as much as there is room for");
            assert!(reads.read(&over(5), &bens[5]).await.is_ok());
            assert!(reads.read(&over(4), &bens[5]).await.is_err(), "it is another connection's");
            assert_eq!(reads.list(&over(5)).await.len(), 1);
            for connection in 0..4 {
                keep(&over(connection), 1).await;
            }
            assert_eq!(listed().await, 3, "only three of one account");
        }
    }

    #[tokio::test]
    async fn servers_of_one_store_read_each_others_results() {
        let store = Arc::new(ptc_store::Store::open(":memory:").expect("it opens"));
        let server = || Resources::new(100, 2, Some(Shelf::new(store.clone(), 100)));
        let (first, second) = (server(), server());
        let link = first.keep(&of("anna"), "result", "[1]".to_owned()).await.expect("it fits");
        let (anna, ben) = (of("anna"), of("ben"));
        assert_eq!(&*second.read(&anna, &link.uri).await.expect("it is there").text, "[1]");
        assert!(second.read(&ben, &link.uri).await.is_err());
        assert!(second.read(&anna, "ptc://other").await.is_err());
        assert_eq!(second.list(&anna).await, first.list(&anna).await);
        let own = Caller::new("anna", Transport::Stdio);
        let link = first.keep(&own, "result", "[2]".to_owned()).await.expect("it fits");
        assert!(second.read(&anna, &link.uri).await.is_err(), "nobody else can ask for it");
    }
}
