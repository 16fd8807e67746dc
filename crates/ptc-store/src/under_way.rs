//! Calls that processes have under way right now, for people who look at calls without an answer.
//!
//! The journal of effects cannot tell a call that was lost from one that is being made. So whoever makes calls tells from
//! time to time which these are, for a short time: what a process that was killed told is forgotten by itself.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cell::{Row, cells};
use crate::lease::json;
use crate::{Store, StoreError};

/// Whose things these are among those that are kept for a short time. No client is called so.
const OWNER: &str = "ptc:under-way";

/// What transactions are about.
const SUBJECT: &str = "under way";

/// What one process told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Which process, as it says itself.
    pub by: Json,
    /// Scope and identity of each call.
    pub calls: Vec<(String, String)>,
}

/// The calls under way of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::under_way::UnderWay;
/// use serde_json::json;
///
/// let under_way = UnderWay::new(Arc::new(Store::open(":memory:")?));
/// let calls = vec![("request 1".to_owned(), "c0ffee".to_owned())];
/// under_way.tell("server 1", &json!({"pid": 7}), &calls, 60_000)?;
/// assert_eq!(under_way.told()?[0].calls, calls);
/// under_way.tell("server 1", &json!({"pid": 7}), &[], 60_000)?;
/// assert!(under_way.told()?.is_empty());
/// # Ok::<(), ptc_store::StoreError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnderWay {
    store: Arc<Store>,
}

impl UnderWay {
    /// Those of a store.
    pub fn new(store: Arc<Store>) -> Self {
        UnderWay { store }
    }

    /// Tells which calls a process has under way, in the place of what it told before. It holds for so long.
    pub fn tell(
        &self,
        process: &str,
        by: &Json,
        calls: &[(String, String)],
        ttl_ms: i64,
    ) -> Result<(), StoreError> {
        let (about, body) = (by.to_string().into_bytes(), Json::from_iter(calls.iter().map(pair)));
        let body = body.to_string().into_bytes();
        self.store.upkeep(SUBJECT, |tx| {
            let now = tx.now_ms()?;
            tx.run(
                "DELETE FROM ptc_shelf WHERE owner = ?1 AND (id = ?2 OR expires_at <= ?3)",
                cells![OWNER, process, now],
            )?;
            if calls.is_empty() {
                return Ok(());
            }
            let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
            tx.run(
                "INSERT INTO ptc_shelf (id, owner, about, body, bytes, kept_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                cells![process, OWNER, about.clone(), body.clone(), bytes, now, now.saturating_add(ttl_ms)],
            )?;
            Ok(())
        })
    }

    /// What all processes told that still holds.
    pub fn told(&self) -> Result<Vec<Told>, StoreError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            tx.list(
                "SELECT about, body FROM ptc_shelf WHERE owner = ?1 AND expires_at > ?2 ORDER BY id",
                cells![OWNER, now],
                |row: &Row| Ok(Told { by: json(&row.bytes(0)?)?, calls: calls(&json(&row.bytes(1)?)?) }),
            )
        })
    }
}

fn pair((scope, identity): &(String, String)) -> Json {
    serde_json::json!([scope, identity])
}

fn calls(told: &Json) -> Vec<(String, String)> {
    let text = |pair: &Json, at: usize| pair[at].as_str().unwrap_or_default().to_owned();
    told.as_array().into_iter().flatten().map(|pair| (text(pair, 0), text(pair, 1))).collect()
}
