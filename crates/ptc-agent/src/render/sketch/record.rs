//! What maps in the same place have in common: fields with names, and how much is told of them.

use std::collections::BTreeMap;

use ptc_lisp::view::{View, is_hidden_name};
use serde_json::{Map, Value as Json, json};

use super::super::FIREWALLED;
use super::super::clojure::key_text;
use super::column::{Column, LookBudget, NARROW, beginning};
use super::keys::{are_data, looks_like_data};
use super::numbers::{grouped, share};
use super::rows::Rows;
use super::texts::Texts;

/// Keys of the other rows of a list that are looked at, so that none of a few rows is missed.
const ALL_KEYS: usize = 200_000;
/// Keys that are told apart.
pub(super) const KEYS: usize = 512;
/// A single map with more keys than this whose values are of one kind is a dictionary: its keys are data.
pub(super) const NAMED: usize = 32;
/// With fewer keys than this, rows that have different keys are not taken for dictionaries.
const FEW: usize = 8;
/// Fields of one map that a schema lists.
pub(super) const FIELDS: usize = 100;
/// Most bytes of a map inside of a line.
pub(super) const INLINE: usize = 400;

/// A key that may name a field, as programs see it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldKey {
    pub name: String,
    /// Whether it is a text; else it is a keyword.
    text: bool,
}

impl FieldKey {
    /// A key of a JSON object: a keyword, or a text where it has a slash.
    pub fn of_json(key: &str) -> Self {
        FieldKey { name: key.to_owned(), text: key.contains('/') }
    }

    /// A key of a map of a program, if it is a keyword or a text.
    pub fn of_view(key: &View) -> Option<Self> {
        match key {
            View::Keyword(name) => Some(FieldKey { name: name.clone(), text: false }),
            View::Str { text, .. } => Some(FieldKey { name: text.clone(), text: true }),
            _ => None,
        }
    }

    /// The key as a program writes it; of one that looks like data only what it looks like.
    fn told(&self) -> String {
        match (looks_like_data(&self.name), self.text) {
            (true, _) => keys_told([self].into_iter()),
            (false, true) => {
                key_text(&View::Str { text: self.name.clone(), chars: self.name.chars().count() })
            }
            (false, false) => key_text(&View::Keyword(self.name.clone())),
        }
    }
}

/// What keys look like that are not told.
fn keys_told<'k>(keys: impl Iterator<Item = &'k FieldKey>) -> String {
    let (mut texts, mut count) = (Texts::default(), 0);
    for key in keys {
        texts.note(beginning(&key.name).0, key.name.chars().count());
        count += 1;
    }
    let told = texts.told().unwrap_or_default();
    if count == 1 { format!("<key {told}>") } else { format!("<{} keys {told}>", grouped(count)) }
}

type FieldColumn = (FieldKey, Column);

/// Maps in the same place.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub maps: usize,
    fields: Vec<FieldColumn>,
    places: BTreeMap<FieldKey, usize>,
    /// Whether there are keys that are not told apart.
    more: bool,
    /// The rest of the list that the maps were taken from, once it was looked at for keys.
    pub rest: Option<Rest>,
}

/// What is known of the maps of a list that were not looked at, but for their keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    /// How many fields were known before.
    known: usize,
    /// How many maps were looked at, those before among them.
    pub maps: usize,
}

impl Record {
    /// How many fields are told apart.
    pub fn count(&self) -> usize {
        self.fields.len()
    }

    pub fn field(&mut self, key: FieldKey) -> Option<&mut Column> {
        let known = self.places.get(&key).copied();
        let at = match known {
            Some(at) => at,
            None if self.fields.len() == KEYS => {
                self.more = true;
                return None;
            }
            None => {
                self.places.insert(key.clone(), self.fields.len());
                self.fields.push((key, Column::default()));
                self.fields.len() - 1
            }
        };
        self.fields.get_mut(at).map(|(_, column)| column)
    }

    /// How many maps were looked at for a key.
    fn maps_for(&self, key: &FieldKey) -> usize {
        match (self.rest, self.places.get(key)) {
            (Some(rest), Some(at)) if *at >= rest.known => rest.maps,
            _ => self.maps,
        }
    }

    /// Looks for keys that the maps of a list which were looked at did not have.
    pub fn note_rest(&mut self, rows: Rows<'_>, looks: &mut LookBudget, depth: usize) {
        let known = self.fields.len();
        let (mut left, mut maps) = (ALL_KEYS, 0);
        for row in rows.items().filter(|row| row.kind() == "map").map(Rows) {
            let Some(room) = left.checked_sub(row.count().max(1)) else { break };
            left = room;
            maps += 1;
            for (name, value) in row.fields() {
                let key = FieldKey::of_json(&name);
                if self.places.get(&key).is_some_and(|at| *at < known) {
                    continue;
                }
                let Some(column) = self.field(key) else { break };
                match looks.firewall && is_hidden_name(&name) {
                    true => column.begin(FIREWALLED),
                    false => column.note_always(value, looks, depth),
                }
            }
        }
        self.rest = Some(Rest { known, maps });
    }

    /// Whether keys are data: most of them look like it, or hardly any map has most of them.
    pub fn has_data_for_keys(&self) -> bool {
        self.keys_differ() || are_data(self.fields.iter().map(|(key, _)| key.name.as_str()))
    }

    /// Whether hardly any map has most of the keys; the fewer there are, the fewer.
    fn keys_differ(&self) -> bool {
        let present: usize = self.fields.iter().map(|(_, column)| column.values).sum();
        let (fields, all) = (self.fields.len(), self.fields.len() * self.maps);
        (fields > NAMED && present < all / 4) || (fields > FEW && present < all / 8)
    }

    /// What there is to say about keys that are data.
    pub fn data_keys(&self) -> String {
        let count = grouped(self.fields.len());
        if self.keys_differ() {
            return format!("map (keys differ, {count} of them)");
        }
        let mut keys = Texts::default();
        self.fields.iter().for_each(|(key, _)| keys.note(beginning(&key.name).0, key.name.chars().count()));
        format!("map of {count} keys {}", keys.told().unwrap_or_default())
    }

    /// Bytes of the keys that are told.
    pub fn key_bytes(&self) -> usize {
        if self.has_data_for_keys() {
            return 0;
        }
        let own = |(key, column): &FieldColumn| {
            let bytes = if looks_like_data(&key.name) { 0 } else { key.name.len() + 2 };
            bytes + column.key_bytes()
        };
        self.fields.iter().map(own).sum()
    }

    /// The keys that are told, sorted.
    pub fn names(&self) -> Vec<&str> {
        let names = self.fields.iter().map(|(key, _)| key.name.as_str());
        let mut names: Vec<&str> = names.filter(|name| !looks_like_data(name)).collect();
        names.sort_unstable();
        names
    }

    /// A line for each key, in at most so many bytes: with what is known of them, else with their kinds, else as many
    /// as fit. Several keys that are not told share a line.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let bytes = |lines: &[String]| lines.iter().map(|line| line.len() + 2).sum::<usize>();
        let room = self.room(most);
        let (data, named): (Vec<&FieldColumn>, Vec<&FieldColumn>) =
            self.fields.iter().partition(|(key, _)| looks_like_data(&key.name));
        let (data, shown) =
            if data.len() > 1 { (data, named) } else { (Vec::new(), self.fields.iter().collect()) };
        let unnamed = (!data.is_empty()).then(|| unnamed_text(&data));
        let lines = |inner| {
            let told = shown.iter().map(|field| self.field_text(field, inner));
            told.chain(unnamed.clone()).collect::<Vec<String>>()
        };
        let full = lines(Some(room));
        if bytes(&full) <= most && !self.more {
            return full;
        }
        let brief = lines(None);
        let mut left = most;
        let mut kept: Vec<String> = Vec::new();
        for line in &brief {
            let Some(room) = left.checked_sub(line.len() + 2) else { break };
            left = room;
            kept.push(line.clone());
        }
        let cut_unnamed = kept.len() < brief.len() && !data.is_empty();
        let rest = brief.len() - kept.len() + if cut_unnamed { data.len() - 1 } else { 0 };
        if rest > 0 || self.more {
            let or_more = if self.more { " or more" } else { "" };
            kept.push(format!("and {}{or_more} other keys", grouped(rest)));
        }
        kept
    }

    /// How many bytes each map in the fields may have: where the way is narrow, what the others leave of the room.
    fn room(&self, most: usize) -> usize {
        /// Bytes of a field beside its key and its map, with the count of keys that do not fit.
        const AROUND: usize = 56;
        if self.fields.len() > NARROW {
            return INLINE.min(most);
        }
        let (inner, plain): (Vec<_>, Vec<_>) = self.fields.iter().partition(|(_, column)| column.is_nested());
        let taken = plain.iter().map(|field| self.field_text(field, Some(0)).len()).sum::<usize>()
            + inner.iter().map(|(key, _)| key.name.len() + AROUND).sum::<usize>();
        most.saturating_sub(taken) / inner.len().max(1)
    }

    /// A key, and what is known of its values, with maps in at most so many bytes; else only their kinds.
    fn field_text(&self, (key, column): &FieldColumn, inner: Option<usize>) -> String {
        let mut notes = if inner.is_some() { column.notes() } else { Vec::new() };
        let maps = self.maps_for(key);
        if column.values < maps {
            notes.insert(0, format!("in {}", share(column.values, maps)));
        }
        let key = key.told();
        let what = inner.map_or_else(|| column.merged_kinds().join(" or "), |most| column.what(most));
        let what = if what.is_empty() { "nil".to_owned() } else { what };
        match notes.is_empty() {
            true => format!("{key} {what}"),
            false => format!("{key} {what} ({})", notes.join(", ")),
        }
    }

    pub fn inline(&self, most: usize) -> String {
        format!("{{{}}}", self.lines(most).join(", "))
    }

    pub fn schema(&self) -> (Json, bool) {
        let mut fields: Vec<&FieldColumn> = self.fields.iter().collect();
        let count = fields.len();
        let data = self.has_data_for_keys();
        fields.retain(|(key, _)| !data && !looks_like_data(&key.name));
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        let mut cut = fields.len() > FIELDS || self.more || fields.len() < count;
        let mut properties = Map::new();
        for (key, column) in fields.into_iter().take(FIELDS) {
            let (schema, inner) = column.schema();
            cut |= inner;
            let nested = schema.get("items").unwrap_or(&schema).get("properties").is_some();
            let maps = self.maps_for(key);
            let rows = (column.values < maps).then(|| format!(" (in {})", share(column.values, maps)));
            let told = match nested {
                true => schema,
                false => Json::from(column.schema_word() + &rows.unwrap_or_default()),
            };
            properties.insert(key.name.clone(), told);
        }
        let mut schema = json!({"type": "object"});
        if !properties.is_empty() {
            schema["properties"] = Json::Object(properties);
        }
        if cut {
            schema["truncated"] = json!(true);
        }
        (schema, cut)
    }
}

/// Several keys that are not told, with the kinds of their values.
fn unnamed_text(fields: &[&FieldColumn]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in fields.iter().flat_map(|(_, column)| column.merged_kinds()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let keys = keys_told(fields.iter().map(|(key, _)| key));
    let kinds = if kinds.is_empty() { "nil".to_owned() } else { kinds.join(" or ") };
    format!("{keys} {kinds}")
}
