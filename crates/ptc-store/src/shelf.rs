//! Things that are kept for a short time and may be lost: large results that clients read later, and answers that reached
//! another server than the one that asked. Every server of a store finds them.
//!
//! There is room for so much. Where it is short, whoever has most there gives way ([`giving_way`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::cell::{Row, cells};
use crate::lease::{is_key, json};
use crate::tx::Tx;
use crate::{Store, StoreError};

/// Something to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewItem<'a> {
    /// What it is found by.
    pub id: &'a str,
    /// Who may find it.
    pub owner: &'a str,
    /// What it is, for lists.
    pub about: &'a Json,
    /// The thing itself.
    pub body: &'a [u8],
    /// How long it is kept, in milliseconds.
    pub ttl_ms: i64,
}

/// Something that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is found by.
    pub id: String,
    /// What it is.
    pub about: Json,
}

/// The shelf of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::shelf::{NewItem, Shelf};
/// use serde_json::json;
///
/// let shelf = Shelf::new(Arc::new(Store::open(":memory:")?), 1 << 20);
/// let about = json!({"name": "rows"});
/// let item = NewItem { id: "r1", owner: "ann", about: &about, body: b"[1,2,3]", ttl_ms: 60_000 };
/// shelf.put(&item, 8)?;
/// assert_eq!(shelf.read("r1", "ann")?.map(|(_, body)| body), Some(b"[1,2,3]".to_vec()));
/// assert_eq!(shelf.read("r1", "bob")?, None);
/// # Ok::<(), ptc_store::StoreError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shelf {
    store: Arc<Store>,
    most: i64,
}

/// What transactions of the shelf are about: all of it, because putting looks at all.
const SUBJECT: &str = "shelf";

impl Shelf {
    /// The store that it is in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The shelf of a store, with room for so many bytes.
    pub fn new(store: Arc<Store>, bytes: usize) -> Self {
        Shelf { store, most: i64::try_from(bytes).unwrap_or(i64::MAX) }
    }

    /// Keeps something in the place of whatever has its id, beside the newest things of its owner. Something that is
    /// larger than the room is not kept.
    pub fn put(&self, item: &NewItem<'_>, per_owner: usize) -> Result<(), StoreError> {
        let bytes = i64::try_from(item.body.len()).unwrap_or(i64::MAX);
        if bytes > self.most || !is_key(item.id) || !is_key(item.owner) {
            return Ok(());
        }
        self.store.note(SUBJECT, |tx| {
            let now = tx.now_ms()?;
            tx.run(
                "DELETE FROM ptc_shelf WHERE expires_at <= ?1 OR (owner = ?2 AND id = ?3)",
                cells![now, item.owner, item.id],
            )?;
            let others = i64::try_from(per_owner.max(1)).unwrap_or(i64::MAX) - 1;
            tx.run(
                "DELETE FROM ptc_shelf WHERE owner = ?1 AND id NOT IN
                     (SELECT id FROM ptc_shelf WHERE owner = ?1 ORDER BY kept_at DESC, id LIMIT ?2)",
                cells![item.owner, others],
            )?;
            make_room(tx, item, self.most)?;
            tx.run(
                "INSERT INTO ptc_shelf (id, owner, about, body, bytes, kept_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                cells![
                    item.id,
                    item.owner,
                    item.about.to_string().into_bytes(),
                    item.body,
                    bytes,
                    now,
                    now.saturating_add(item.ttl_ms),
                ],
            )?;
            Ok(())
        })
    }

    /// What an owner kept under an id.
    pub fn read(&self, id: &str, owner: &str) -> Result<Option<(Json, Vec<u8>)>, StoreError> {
        self.store.read(|tx| found(tx, id, owner))
    }

    /// The same, for the first who takes it.
    pub fn take(&self, id: &str, owner: &str) -> Result<Option<(Json, Vec<u8>)>, StoreError> {
        // Looking is cheap, and mostly there is nothing.
        if self.read(id, owner)?.is_none() {
            return Ok(None);
        }
        self.store.note(SUBJECT, |tx| {
            let taken = found(tx, id, owner)?;
            tx.run("DELETE FROM ptc_shelf WHERE id = ?1 AND owner = ?2", cells![id, owner])?;
            Ok(taken)
        })
    }

    /// What an owner has here, the newest first.
    pub fn list(&self, owner: &str) -> Result<Vec<Item>, StoreError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            tx.list(
                "SELECT id, about FROM ptc_shelf WHERE owner = ?1 AND expires_at > ?2
                 ORDER BY kept_at DESC, id",
                cells![owner, now],
                |row: &Row| Ok(Item { id: row.text(0)?, about: json(&row.bytes(1)?)? }),
            )
        })
    }
}

fn found(tx: &mut Tx<'_>, id: &str, owner: &str) -> Result<Option<(Json, Vec<u8>)>, StoreError> {
    let now = tx.now_ms()?;
    tx.first(
        "SELECT about, body FROM ptc_shelf WHERE id = ?1 AND owner = ?2 AND expires_at > ?3",
        cells![id, owner, now],
        |row| Ok((json(&row.bytes(0)?)?, row.bytes(1)?)),
    )
}

/// Which things go so that all of them together weigh no more than `most`: things of several owners with their weights, the
/// oldest first, of which the last was just put down and stays. The oldest thing of whoever has most goes, of several who have
/// as much that of the owner who put something down: nobody can push out what others keep by keeping much.
pub fn giving_way<O: Ord>(things: &[(O, u64)], most: u64) -> Vec<usize> {
    let Some(((by, own), older)) = things.split_last() else { return Vec::new() };
    let mut held: BTreeMap<&O, (u64, VecDeque<usize>)> = BTreeMap::from([(by, (*own, VecDeque::new()))]);
    for (at, (owner, weight)) in older.iter().enumerate() {
        let (sum, indices) = held.entry(owner).or_default();
        *sum = sum.saturating_add(*weight);
        indices.push_back(at);
    }
    let mut total = things.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
    let mut going = Vec::new();
    while total > most {
        let others = held.iter_mut().filter(|(_, (_, indices))| !indices.is_empty());
        let Some((_, (sum, indices))) = others.max_by_key(|(owner, (sum, _))| (*sum, **owner == by)) else {
            break;
        };
        let Some(oldest) = indices.pop_front() else { break };
        let weight = older[oldest].1;
        *sum = sum.saturating_sub(weight);
        total = total.saturating_sub(weight);
        going.push(oldest);
    }
    going
}

/// Drops things until there is room for another.
fn make_room(tx: &mut Tx<'_>, item: &NewItem<'_>, most: i64) -> Result<(), StoreError> {
    let kept =
        tx.list("SELECT owner, id, bytes FROM ptc_shelf ORDER BY kept_at, id DESC", &[], |row: &Row| {
            Ok((row.text(0)?, row.text(1)?, row.int(2)?))
        })?;
    let weighed = kept.iter().map(|(owner, _, bytes)| (owner.as_str(), u64::try_from(*bytes).unwrap_or(0)));
    let things: Vec<(&str, u64)> = weighed.chain([(item.owner, item.body.len() as u64)]).collect();
    for at in giving_way(&things, u64::try_from(most).unwrap_or(0)) {
        let (owner, id, _) = &kept[at];
        tx.run("DELETE FROM ptc_shelf WHERE owner = ?1 AND id = ?2", cells![owner, id])?;
    }
    Ok(())
}

/// The table of the shelf.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_shelf (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    about BLOB NOT NULL,
    body BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    kept_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE INDEX ptc_shelf_by_owner ON ptc_shelf (owner, kept_at);
CREATE INDEX ptc_shelf_by_end ON ptc_shelf (expires_at);
";
