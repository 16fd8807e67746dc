//! What is kept, and what has to go.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::key::CacheKey;
use crate::preview::call_text;

/// Limits in bytes of JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CacheLimits {
    /// The most that all results together may take.
    pub(crate) total: Option<u64>,
    /// The most that the results of one tool may take, for tools without a limit of their own.
    pub(crate) per_tool: Option<u64>,
    /// Limits of single tools.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, u64>,
}

impl CacheLimits {
    fn of(&self, tool: &str) -> Option<u64> {
        self.tools.get(tool).copied().or(self.per_tool)
    }
}

/// A result that is kept. `C` is what is known of the child agent that gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CacheEntry<C = Json> {
    /// The whole result.
    pub(crate) result: Json,
    /// Its size as JSON text.
    pub(crate) bytes: u64,
    /// The step of the child agent, if the tool is one.
    pub(crate) child: Option<C>,
    /// When it was used last, counted in uses.
    used: u64,
}

/// Which limit made a result go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EvictionCause {
    /// The results of the tool took too much.
    ToolLimit,
    /// All results together took too much.
    TotalLimit,
    /// The result alone is larger than a limit, so it was never kept.
    TooLarge,
}

/// A result that is no longer kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Eviction {
    /// The call that gave it.
    pub(crate) key: CacheKey,
    /// Its size.
    pub(crate) bytes: u64,
    /// Why it went.
    pub(crate) cause: EvictionCause,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Whether it is kept.
    pub(crate) kept: bool,
    /// Its size as JSON text.
    pub(crate) bytes: u64,
}

/// Results of tools by canonical key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    from = "SavedCache<C>",
    into = "SavedCache<C>",
    bound(serialize = "C: Clone + Serialize", deserialize = "C: Deserialize<'de>")
)]
pub(crate) struct ToolCache<C = Json> {
    limits: CacheLimits,
    entries: BTreeMap<CacheKey, CacheEntry<C>>,
    /// Keys by when they were used, the longest ago first.
    order: BTreeMap<u64, CacheKey>,
    /// Bytes per tool.
    tools: BTreeMap<String, u64>,
    total: u64,
    uses: u64,
    evictions: Vec<Eviction>,
}

/// What is written of a cache; the rest follows from it. Keys are structures, so entries are a list.
#[derive(Serialize, Deserialize)]
struct SavedCache<C> {
    limits: CacheLimits,
    entries: Vec<(CacheKey, CacheEntry<C>)>,
    evictions: Vec<Eviction>,
}

impl<C> From<SavedCache<C>> for ToolCache<C> {
    fn from(saved: SavedCache<C>) -> Self {
        let mut cache = ToolCache { evictions: saved.evictions, ..ToolCache::new(saved.limits) };
        let mut entries = saved.entries;
        entries.sort_by_key(|(_, entry)| entry.used);
        for (key, mut entry) in entries {
            // What bytes say is not believed.
            cache.remove(&key);
            entry.bytes = json_bytes(&entry.result);
            cache.put(key, entry);
        }
        cache
    }
}

impl<C> From<ToolCache<C>> for SavedCache<C> {
    fn from(cache: ToolCache<C>) -> Self {
        let entries = cache.entries.into_iter().collect();
        SavedCache { limits: cache.limits, entries, evictions: cache.evictions }
    }
}

impl<C> Default for ToolCache<C> {
    fn default() -> Self {
        ToolCache::new(CacheLimits::default())
    }
}

impl<C> ToolCache<C> {
    /// An empty cache.
    pub(crate) fn new(limits: CacheLimits) -> Self {
        ToolCache {
            limits,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
            tools: BTreeMap::new(),
            total: 0,
            uses: 0,
            evictions: Vec::new(),
        }
    }

    /// The result of a call, if it is kept. It counts as used now.
    pub(crate) fn get(&mut self, key: &CacheKey) -> Option<&CacheEntry<C>> {
        let entry = self.entries.get_mut(key)?;
        let key = self.order.remove(&entry.used)?;
        self.uses += 1;
        entry.used = self.uses;
        self.order.insert(self.uses, key);
        Some(entry)
    }

    /// The result of a call, if it is kept, without counting as a use.
    pub(crate) fn peek(&self, key: &CacheKey) -> Option<&CacheEntry<C>> {
        self.entries.get(key)
    }

    /// Keeps the result of a call, in place of an older one. What has no room any more goes; a result
    /// that is larger than a limit by itself is not kept at all.
    pub(crate) fn insert(&mut self, key: CacheKey, result: Json, child: Option<C>) -> Stored {
        self.remove(&key);
        let bytes = json_bytes(&result);
        let most = [self.limits.of(key.tool()), self.limits.total];
        if most.into_iter().flatten().any(|limit| bytes > limit) {
            self.evictions.push(Eviction { key, bytes, cause: EvictionCause::TooLarge });
            return Stored { kept: false, bytes };
        }
        let tool = key.tool().to_owned();
        self.put(key, CacheEntry { result, bytes, child, used: 0 });
        self.make_room(&tool);
        Stored { kept: true, bytes }
    }

    /// Forgets the result of a call.
    pub(crate) fn remove(&mut self, key: &CacheKey) -> Option<CacheEntry<C>> {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.used);
        self.total -= entry.bytes;
        if let Some(bytes) = self.tools.get_mut(key.tool()) {
            *bytes -= entry.bytes;
        }
        Some(entry)
    }

    /// What went since this was last asked.
    pub(crate) fn take_evictions(&mut self) -> Vec<Eviction> {
        std::mem::take(&mut self.evictions)
    }

    /// The bytes of all results.
    pub(crate) fn bytes(&self) -> u64 {
        self.total
    }

    /// The bytes of one tool's results.
    pub(crate) fn tool_bytes(&self, tool: &str) -> u64 {
        self.tools.get(tool).copied().unwrap_or(0)
    }

    /// The number of results.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All keys, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &CacheKey> {
        self.entries.keys()
    }

    fn put(&mut self, key: CacheKey, mut entry: CacheEntry<C>) {
        self.uses += 1;
        entry.used = self.uses;
        self.total += entry.bytes;
        *self.tools.entry(key.tool().to_owned()).or_default() += entry.bytes;
        self.order.insert(self.uses, key.clone());
        self.entries.insert(key, entry);
    }

    /// The newest result is small enough by itself, so it is never the one that goes.
    fn make_room(&mut self, tool: &str) {
        while self.limits.of(tool).is_some_and(|limit| self.tool_bytes(tool) > limit) {
            let oldest = self.order.values().find(|key| key.tool() == tool).cloned();
            self.evict(oldest, EvictionCause::ToolLimit);
        }
        while self.limits.total.is_some_and(|limit| self.total > limit) {
            let oldest = self.order.values().next().cloned();
            self.evict(oldest, EvictionCause::TotalLimit);
        }
    }

    fn evict(&mut self, key: Option<CacheKey>, cause: EvictionCause) {
        let key = key.expect("more bytes than a limit belong to some result");
        let bytes = self.remove(&key).map_or(0, |entry| entry.bytes);
        self.evictions.push(Eviction { key, bytes, cause });
    }
}

/// What a model is told about results that are no longer kept; nothing if there are none.
pub(crate) fn evictions_note(evictions: &[Eviction], firewall: bool) -> Option<String> {
    const SHOWN: usize = 5;
    if evictions.is_empty() {
        return None;
    }
    let mut note = "Not kept any more (calling them again runs the tool again):".to_owned();
    for eviction in evictions.iter().take(SHOWN) {
        let call = call_text(eviction.key.tool(), &without_data(eviction.key.args()), firewall);
        let why = match eviction.cause {
            EvictionCause::ToolLimit => "the results of this tool take too much room",
            EvictionCause::TotalLimit => "all results together take too much room",
            EvictionCause::TooLarge => "the result is too large to keep",
        };
        note.push_str(&format!("\n- {call} ({} bytes): {why}", eviction.bytes));
    }
    if evictions.len() > SHOWN {
        note.push_str(&format!("\n- and {} more", evictions.len() - SHOWN));
    }
    Some(note)
}

/// The arguments of a call as its model may see them: a program may have passed data, which stays out of requests.
fn without_data(mut args: Json) -> Json {
    const SHOWN_BYTES: u64 = 24;
    let values = args.as_object_mut().into_iter().flat_map(|fields| fields.values_mut());
    values.filter(|value| json_bytes(value) > SHOWN_BYTES).for_each(|value| *value = Json::from("…"));
    args
}

/// The length of the JSON text of a value.
pub(crate) fn json_bytes(value: &Json) -> u64 {
    struct Counter(u64);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Counting cannot fail, and JSON values always have a text.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(tool: &str, n: u64) -> CacheKey {
        CacheKey::new(tool, &json!({"n": n}))
    }

    /// A result whose JSON text is so long.
    fn sized(bytes: usize) -> Json {
        json!("x".repeat(bytes - 2))
    }

    fn cache(total: Option<u64>, per_tool: Option<u64>) -> ToolCache {
        ToolCache::new(CacheLimits { total, per_tool, tools: BTreeMap::new() })
    }

    fn kept(cache: &ToolCache) -> Vec<String> {
        cache.keys().map(|key| format!("{}{}", key.tool(), key.args()["n"])).collect()
    }

    #[test]
    fn r6_16_a_result_is_found_however_its_numbers_are_written() {
        let mut cache = cache(None, None);
        cache.insert(CacheKey::new("find", &json!({"max_n": 1.0})), json!([1]), None);
        assert_eq!(cache.get(&CacheKey::new("find", &json!({"max_n": 1}))).unwrap().result, json!([1]));
        assert!(cache.get(&CacheKey::new("find", &json!({"max_n": 2}))).is_none());
        assert!(cache.get(&CacheKey::new("other", &json!({"max_n": 1}))).is_none());
    }

    #[test]
    fn r8_9_the_last_of_two_results_for_one_call_stays() {
        let mut cache = cache(None, None);
        cache.insert(key("a", 1), sized(10), None);
        assert_eq!(cache.insert(key("a", 1), sized(30), None), Stored { kept: true, bytes: 30 });
        assert_eq!((cache.len(), cache.bytes(), cache.tool_bytes("a")), (1, 30, 30));
        assert_eq!(cache.take_evictions(), []);
    }

    #[test]
    fn r6_19_the_step_of_a_child_is_kept_with_its_result() {
        let mut cache: ToolCache<String> = ToolCache::default();
        cache.insert(key("child", 1), json!(1), Some("step".to_owned()));
        assert_eq!(cache.peek(&key("child", 1)).unwrap().child.as_deref(), Some("step"));
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let mut cache = cache(Some(100), None);
        for n in 1..=3 {
            cache.insert(key("a", n), sized(30), None);
        }
        cache.get(&key("a", 1));
        cache.insert(key("b", 4), sized(50), None);
        assert_eq!(kept(&cache), ["a1", "b4"], "100 bytes hold these two");
        let gone: Vec<(String, EvictionCause)> =
            cache.take_evictions().into_iter().map(|e| (e.key.args()["n"].to_string(), e.cause)).collect();
        assert_eq!(
            gone,
            [("2".to_owned(), EvictionCause::TotalLimit), ("3".to_owned(), EvictionCause::TotalLimit)]
        );
        assert_eq!(cache.take_evictions(), []);
    }

    #[test]
    fn a_tool_has_its_own_limit() {
        let limits = CacheLimits { total: None, per_tool: Some(1000), tools: [("a".to_owned(), 50)].into() };
        let mut cache: ToolCache = ToolCache::new(limits);
        cache.insert(key("b", 9), sized(500), None);
        cache.insert(key("a", 1), sized(30), None);
        cache.insert(key("a", 2), sized(30), None);
        assert_eq!(kept(&cache), ["a2", "b9"]);
        assert_eq!(cache.take_evictions()[0].cause, EvictionCause::ToolLimit);
    }

    #[test]
    fn what_is_larger_than_a_limit_is_not_kept_and_pushes_nothing_out() {
        let mut cache = cache(Some(100), None);
        cache.insert(key("a", 1), sized(90), None);
        assert_eq!(cache.insert(key("a", 2), sized(101), None), Stored { kept: false, bytes: 101 });
        assert_eq!(kept(&cache), ["a1"]);
        assert_eq!(cache.take_evictions()[0].cause, EvictionCause::TooLarge);
    }

    #[test]
    fn the_model_is_told_what_went() {
        let mut cache = cache(Some(60), None);
        cache.insert(CacheKey::new("find", &json!({"q": "a", "_token": "secret"})), sized(40), None);
        cache.insert(key("find", 2), sized(40), None);
        let note = evictions_note(&cache.take_evictions(), true).unwrap();
        assert_eq!(
            note,
            "Not kept any more (calling them again runs the tool again):\n- (tool/find {:_token \"<Firewalled>\" \
             :q \"a\"}) (40 bytes): all results together take too much room"
        );
        assert_eq!(evictions_note(&[], true), None);
    }

    #[test]
    fn data_in_the_arguments_of_what_went_is_not_told() {
        let mut cache = cache(Some(60), None);
        let args = json!({"rows": [{"name": "Ada"}, {"name": "Grace"}], "q": "a text of more than some words", "n": 5});
        cache.insert(CacheKey::new("save", &args), sized(40), None);
        cache.insert(key("save", 2), sized(40), None);
        let note = evictions_note(&cache.take_evictions(), true).unwrap();
        assert!(note.contains("- (tool/save {:n 5 :q \"…\" :rows \"…\"}) (40 bytes)"), "{note}");
    }

    #[test]
    fn many_that_went_are_only_counted() {
        let mut cache = cache(Some(10), None);
        for n in 0..8 {
            cache.insert(key("a", n), sized(10), None);
        }
        let note = evictions_note(&cache.take_evictions(), true).unwrap();
        assert!(note.ends_with("\n- and 2 more") && note.lines().count() == 7, "{note}");
    }

    #[test]
    fn a_cache_survives_being_saved_with_its_order() {
        let mut cache = cache(Some(100), None);
        for n in 1..=3 {
            cache.insert(key("a", n), sized(30), None);
        }
        cache.get(&key("a", 1));
        let saved = serde_json::to_string(&cache).unwrap();
        let mut loaded: ToolCache = serde_json::from_str(&saved).unwrap();
        assert_eq!((loaded.len(), loaded.bytes(), loaded.tool_bytes("a")), (3, 90, 90));
        loaded.insert(key("a", 4), sized(30), None);
        assert_eq!(kept(&loaded), ["a1", "a3", "a4"], "the order of use is kept");
    }

    #[test]
    fn sizes_are_those_of_the_json_text() {
        for value in [json!(null), json!({"a": [1, 2.5, "ü\n"]}), json!("x")] {
            assert_eq!(json_bytes(&value), value.to_string().len() as u64, "{value}");
        }
    }
}
