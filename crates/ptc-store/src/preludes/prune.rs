//! Versions that go: superseded ones, oldest first, when the store is full or somebody says how many are enough.
//!
//! A version stays as long as it is the default or the newest of its prelude, was made the default by hand, or is
//! needed by a version of another prelude.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::error::{PreludeError, Reason, refuse};
use super::model::check_id;
use super::rows;
use super::write::as_i64;
use super::{Preludes, SUBJECT};
use crate::tx::Tx;

/// A version that is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The prelude.
    pub id: String,
    /// The version.
    pub version: i64,
    /// Bytes of its source and metadata, which count for the bound of the store.
    pub bytes: i64,
    /// Bytes of its source, as they are told of every version.
    pub source_bytes: i64,
}

impl Preludes {
    /// Removes superseded versions beyond the latest `keep`, of one prelude or of all. Gives them in order.
    pub fn prune(&self, id: Option<&str>, keep: usize) -> Result<Vec<Pruned>, PreludeError> {
        if keep == 0 {
            return Err(refuse(Reason::InvalidArgument, "at least one version of a prelude is kept"));
        }
        id.map_or(Ok(()), check_id)?;
        self.store.write(SUBJECT, |tx| {
            let latest: BTreeMap<String, i64> =
                rows::list(tx)?.into_iter().map(|listed| (listed.id, listed.latest_version)).collect();
            if let Some(id) = id.filter(|id| !latest.contains_key(*id)) {
                return Err(rows::unknown(id));
            }
            let mut gone = rows::superseded(tx)?;
            gone.retain(|one| {
                let newest = latest.get(&one.id).copied().unwrap_or_default();
                id.is_none_or(|id| id == one.id) && one.version <= newest.saturating_sub(as_i64(keep))
            });
            for one in &gone {
                rows::remove(tx, &one.id, one.version)?;
            }
            Ok(gone)
        })
    }

    /// Removes superseded versions until the store holds no more than it may; refuses if it still would.
    pub(super) fn make_room(&self, tx: &mut Tx<'_>) -> Result<(), PreludeError> {
        let most = as_i64(self.bounds.max_total_bytes);
        let mut total = rows::total_bytes(tx)?;
        if total <= most {
            return Ok(());
        }
        let mut superseded = Superseded::new(rows::superseded(tx)?);
        while total > most {
            let Some(gone) = superseded.next() else {
                let message = format!(
                    "the preludes would have more than {most} bytes, and no version of them is superseded; raise the \
                     bound (`--prelude-store-max-bytes` of `ptc mcp`, `--max-bytes` of `ptc prelude store`)"
                );
                return Err(refuse(Reason::StoreBytesExceeded, message));
            };
            rows::remove(tx, &gone.id, gone.version)?;
            total -= gone.bytes;
        }
        Ok(())
    }
}

/// Superseded versions in the order in which they go: the oldest of the prelude that has most of them in bytes. So who
/// writes much loses history, and not those who write little.
struct Superseded {
    by_id: BTreeMap<String, VecDeque<Pruned>>,
    sizes: BTreeSet<(i64, String)>,
}

impl Superseded {
    /// From versions that are in order.
    fn new(versions: Vec<Pruned>) -> Self {
        let mut by_id: BTreeMap<String, VecDeque<Pruned>> = BTreeMap::new();
        versions.into_iter().for_each(|one| by_id.entry(one.id.clone()).or_default().push_back(one));
        let size =
            |(id, all): (&String, &VecDeque<Pruned>)| (all.iter().map(|one| one.bytes).sum(), id.clone());
        let sizes = by_id.iter().map(size).collect();
        Superseded { by_id, sizes }
    }
}

impl Iterator for Superseded {
    type Item = Pruned;

    fn next(&mut self) -> Option<Pruned> {
        let (bytes, id) = self.sizes.pop_last()?;
        let oldest = self.by_id.get_mut(&id)?.pop_front()?;
        if bytes > oldest.bytes {
            self.sizes.insert((bytes - oldest.bytes, id));
        }
        Some(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_prelude_with_most_goes_first() {
        let version =
            |id: &str, version, bytes| Pruned { id: id.to_owned(), version, bytes, source_bytes: bytes };
        let all = vec![
            version("big", 1, 30),
            version("big", 2, 30),
            version("big", 3, 30),
            version("small", 1, 20),
            version("small", 2, 25),
        ];
        let order: Vec<(String, i64)> = Superseded::new(all).map(|one| (one.id, one.version)).collect();
        let expected = [("big", 1), ("big", 2), ("small", 1), ("big", 3), ("small", 2)];
        assert_eq!(order, expected.map(|(id, version)| (id.to_owned(), version)));
    }
}
