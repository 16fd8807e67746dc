//! What values in the same place have in common: a column of a table, the items of a list, the field of a map.

use std::collections::BTreeSet;

use ptc_lisp::view::{Part, View, is_hidden_name};
use serde_json::{Value as Json, json};

use super::super::clojure::key_text;
use super::super::type_name;
use super::FIREWALLED;
use super::keys::are_data;
use super::numbers::{grouped, range, share};
use super::record::{FieldKey, INLINE, KEYS, NAMED, Record};
use super::rows::Rows;
use super::texts::Texts;
use crate::hash::fnv;
use crate::written::{Datum, text_parts};

/// Items of a list that are looked at: some from all over it.
const ROWS: usize = 1_000;
/// Values that are looked at in all.
const LOOKS: usize = 50_000;
/// How deep nesting is looked at, in steps of which a level takes [`LEVEL`], and one where the way is narrow.
const DEEPEST: usize = 4 * LEVEL;
const LEVEL: usize = 3;
/// A map with at most so many keys is a narrow way, as the wrappings of answers are.
pub(super) const NARROW: usize = 4;
/// Work of looking at all items of lists of scalars: one for each, and more for long texts.
const SCALARS: usize = 500_000;
/// Different values are counted up to here.
const DISTINCT: usize = 50;
/// Characters of a text that are looked at.
const LOOKED_AT: usize = 128;
/// Bytes of a text whose characters are counted; of a longer one its bytes are told.
const MEASURED: usize = 65_536;

/// How much may still be looked at, and whether hidden names are.
pub(super) struct LookBudget {
    left: usize,
    /// The same for items of lists of scalars.
    scalars: usize,
    pub firewall: bool,
    /// Lists around what is looked at.
    lists: usize,
}

impl LookBudget {
    pub fn new(firewall: bool) -> Self {
        LookBudget { left: LOOKS, scalars: SCALARS, firewall, lists: 0 }
    }
}

/// What values in the same place have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub values: usize,
    nils: usize,
    kinds: Vec<&'static str>,
    range: Option<(f64, f64)>,
    texts: Texts,
    /// Of dates and times, which are no texts.
    times: Texts,
    distinct: BTreeSet<u64>,
    /// Whether of some texts only the beginning is known, so that nobody can say how many differ.
    cut: bool,
    list: Option<Box<List>>,
    record: Option<Box<Record>>,
    dictionary: Option<Box<Dictionary>>,
}

/// Lists in the same place.
#[derive(Clone, Debug, Default)]
struct List {
    items: Column,
    /// How many items all of them have.
    total: usize,
    lists: usize,
    open: bool,
    /// Whether those that were looked at are the first ones.
    first: bool,
}

/// Maps in the same place whose keys are data.
#[derive(Clone, Debug, Default)]
struct Dictionary {
    keys: Texts,
    values: Column,
    /// How many entries all of them have, and how many were looked at.
    total: usize,
    looked: usize,
}

impl Column {
    pub fn begin(&mut self, kind: &'static str) {
        self.values += 1;
        if kind == "nil" {
            self.nils += 1;
        } else if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// Takes in a number that is these bytes.
    fn number(&mut self, kind: &'static str, number: f64, bytes: &[u8]) {
        self.begin(kind);
        let (low, high) = self.range.unwrap_or((number, number));
        self.range = Some((low.min(number), high.max(number)));
        self.differs(bytes);
    }

    /// Takes in a decimal by its digits; zeros at the end make no difference, as to `distinct`.
    fn decimal(&mut self, text: &str) {
        let digits = match text.contains('.') && !text.contains('E') {
            true => text.trim_end_matches('0').trim_end_matches('.'),
            false => text,
        };
        // A letter keeps it apart from texts.
        self.number("decimal", text.parse().unwrap_or(f64::NAN), format!("{digits}M").as_bytes());
    }

    /// Takes in a text of so many characters, as much of it as is known.
    fn text(&mut self, text: &str, chars: usize) {
        self.begin("string");
        self.texts.note(beginning(text).0, chars);
        self.differs(text.as_bytes());
    }

    /// Takes in a date, a time or an amount of time by its text.
    fn time(&mut self, kind: &'static str, text: &str) {
        self.begin(kind);
        self.times.note(beginning(text).0, text.chars().count());
        // A sign keeps it apart from texts.
        self.differs(format!("#{text}").as_bytes());
    }

    fn differs(&mut self, bytes: &[u8]) {
        if self.distinct.len() <= DISTINCT {
            self.distinct.insert(fnv(bytes));
        }
    }

    /// Takes in JSON, as much as may be looked at. Of a long text no more is built at once than a part.
    pub fn note(&mut self, datum: Datum<'_>, looks: &mut LookBudget, depth: usize) {
        if looks.left == 0 {
            return;
        }
        if let (Datum::Written(_), None) = (datum, datum.long()) {
            return self.note(Datum::Built(&datum.json()), looks, depth);
        }
        looks.left -= 1;
        match datum.kind() {
            "list" => self.note_items(Rows(datum), looks, depth),
            "map" => self.note_fields(Rows(datum), looks, depth),
            _ => self.note_alone(datum),
        }
    }

    /// Takes in a scalar.
    fn note_alone(&mut self, datum: Datum<'_>) {
        let Some(passage) = datum.long() else { return self.note_scalar(&datum.json()) };
        let (beginning, chars, bytes) = text_parts(passage.text(), LOOKED_AT);
        self.begin("string");
        self.texts.note(&beginning, if bytes > MEASURED { bytes } else { chars });
        self.differs(passage.text().as_bytes());
    }

    fn note_scalar(&mut self, json: &Json) {
        match json {
            Json::Null => self.begin("nil"),
            Json::Bool(_) => self.begin("bool"),
            Json::Number(number) => {
                let kind = if number.is_f64() { "float" } else { "int" };
                let float = number.as_f64().unwrap_or(0.0);
                match (number.as_i64(), number.as_u64()) {
                    (Some(int), _) => self.number(kind, float, &int.to_le_bytes()),
                    (None, Some(int)) => self.number(kind, float, &i128::from(int).to_le_bytes()),
                    (None, None) => self.number(kind, float, &float.to_bits().to_le_bytes()),
                }
            }
            Json::String(text) => self.text(text, beginning(text).1),
            Json::Array(_) | Json::Object(_) => {}
        }
    }

    fn note_items(&mut self, rows: Rows<'_>, looks: &mut LookBudget, depth: usize) {
        self.begin("list");
        let total = rows.count();
        let list = self.list.get_or_insert_default();
        list.lists += 1;
        list.total = list.total.saturating_add(total);
        if depth >= DEEPEST {
            return;
        }
        if let Some(left) = rows.scalars_work().and_then(|work| looks.scalars.checked_sub(work)) {
            looks.scalars = left;
            rows.items().for_each(|item| list.items.note_alone(item));
            return;
        }
        looks.lists += 1;
        let count = total.min(ROWS);
        // The first, the last, and those in between at the same distance.
        let place = |at: usize| if count < 2 { 0 } else { at * (total - 1) / (count - 1) };
        let mut next = 0;
        for (at, item) in rows.items().enumerate() {
            if next < count && at == place(next) {
                next += 1;
                list.items.note(item, looks, depth + LEVEL);
            }
        }
        // Lists inside of others have few items each, or are too many to look at them all.
        if total > count
            && looks.lists == 1
            && let Some(record) = list.items.record.as_deref_mut().filter(|record| record.rest.is_none())
        {
            record.note_rest(rows, looks, depth + 2 * LEVEL);
        }
        looks.lists -= 1;
    }

    fn note_fields(&mut self, rows: Rows<'_>, looks: &mut LookBudget, depth: usize) {
        let count = rows.count();
        // A row that is looked at in part would say that others lack what it has.
        if looks.left < count.min(KEYS) {
            looks.left = 0;
            return;
        }
        self.begin("map");
        if depth >= DEEPEST {
            return;
        }
        if looks.lists == 0 && (count > NAMED && rows.are_alike() || rows.have_data_for_keys()) {
            let dictionary = self.dictionary.get_or_insert_default();
            dictionary.total += count;
            for (key, value) in rows.fields().take(ROWS) {
                dictionary.looked += 1;
                dictionary.keys.note(beginning(&key).0, key.chars().count());
                match looks.firewall && is_hidden_name(&key) {
                    true => dictionary.values.begin(FIREWALLED),
                    false => dictionary.values.note_always(value, looks, depth + LEVEL),
                }
            }
            return;
        }
        let record = self.record.get_or_insert_default();
        record.maps += 1;
        let deeper = depth + level(count);
        for (key, value) in rows.fields() {
            let Some(column) = record.field(FieldKey::of_json(&key)) else { return };
            match looks.firewall && is_hidden_name(&key) {
                true => column.begin(FIREWALLED),
                false => column.note_always(value, looks, deeper),
            }
        }
    }

    /// Takes in JSON; where nothing may be looked at any more, scalars, and of others that they are there.
    pub fn note_always(&mut self, datum: Datum<'_>, looks: &mut LookBudget, depth: usize) {
        let before = self.values;
        self.note(datum, looks, depth);
        if self.values > before {
            return;
        }
        match datum.kind() {
            "list" => {
                self.begin("list");
                let list = self.list.get_or_insert_default();
                list.lists += 1;
                list.total = list.total.saturating_add(Rows(datum).count());
            }
            "map" => self.begin("map"),
            _ => self.note_alone(datum),
        }
    }

    /// Takes in a view.
    pub fn note_view(&mut self, view: &View, in_list: bool, depth: usize) {
        match view {
            View::Int(int) => self.number("int", *int as f64, &int.to_le_bytes()),
            View::Float(float) => self.number("float", *float, &float.to_bits().to_le_bytes()),
            View::Big(text) => self.number("int", text.parse().unwrap_or(f64::NAN), text.as_bytes()),
            View::Decimal(text) => self.decimal(text),
            View::Keyword(name) => {
                self.begin("keyword");
                self.differs(format!(":{name}").as_bytes());
            }
            View::Str { text, chars } => {
                self.text(text, *chars);
                self.cut |= !view.is_whole();
            }
            View::Time { text, .. } => self.time(type_name(view), text),
            View::Vector(part) | View::List(part) => self.note_part("list", part, depth),
            View::Set(part) => self.note_part("set", part, depth),
            View::Map { entries, total } => self.note_entries(entries, *total, in_list, depth),
            other => self.begin(type_name(other)),
        }
    }

    fn note_part(&mut self, kind: &'static str, part: &Part, depth: usize) {
        self.begin(kind);
        let list = self.list.get_or_insert_default();
        list.lists += 1;
        list.total = list.total.saturating_add(part.total);
        list.open |= part.open;
        list.first = true;
        if depth < DEEPEST {
            part.items.iter().for_each(|item| list.items.note_view(item, true, depth + LEVEL));
        }
    }

    fn note_entries(&mut self, entries: &[(View, View)], total: usize, in_list: bool, depth: usize) {
        self.begin("map");
        if depth >= DEEPEST {
            return;
        }
        if !in_list && is_dictionary(entries)
            || !entries.iter().all(|(key, _)| FieldKey::of_view(key).is_some())
        {
            let dictionary = self.dictionary.get_or_insert_default();
            dictionary.total += total;
            for (key, value) in entries {
                // Of a text without its quotes, which would be part of the pattern.
                let (text, chars) = match key {
                    View::Str { text, chars } => (text.clone(), *chars),
                    View::Keyword(name) => (name.clone(), name.chars().count()),
                    other => {
                        let text = key_text(other);
                        let chars = text.chars().count();
                        (text, chars)
                    }
                };
                dictionary.looked += 1;
                dictionary.keys.note(beginning(&text).0, chars);
                dictionary.values.note_view(value, in_list, depth + LEVEL);
            }
            return;
        }
        let record = self.record.get_or_insert_default();
        // A row of which a part is in view would say that it lacks the rest.
        let whole = entries.len() == total;
        if !whole && record.maps > 0 {
            return;
        }
        record.maps += usize::from(whole);
        for (key, value) in entries {
            let Some(key) = FieldKey::of_view(key) else { continue };
            let Some(column) = record.field(key) else { return };
            column.note_view(value, in_list, depth + level(entries.len()));
        }
    }

    /// A line, and the keys on lines of their own where it is a map or a table, in at most so many bytes.
    pub fn told(&self, most: usize) -> (String, Vec<String>) {
        let rows = self.list.as_deref().filter(|_| self.kinds.len() == 1);
        let (line, record) = match (rows, self.record.as_deref()) {
            (Some(list), _) if list.items.is_record() && list.items.nils == 0 => {
                (list.rows(), list.items.record.as_deref())
            }
            (None, Some(record)) if self.is_record() => {
                let keys = record.count();
                (format!("map of {} {}", grouped(keys), if keys == 1 { "key" } else { "keys" }), Some(record))
            }
            _ => return (self.describe(), Vec::new()),
        };
        let Some(record) = record.filter(|record| !record.has_data_for_keys()) else {
            return (self.describe(), Vec::new());
        };
        (line, record.lines(most))
    }

    /// Whether there are maps in it.
    pub fn is_nested(&self) -> bool {
        self.record.is_some()
            || self.dictionary.is_some()
            || self.list.as_ref().is_some_and(|list| list.items.is_nested())
    }

    fn is_record(&self) -> bool {
        self.record.is_some() && self.kinds == ["map"] && self.dictionary.is_none()
    }

    /// What the values are, on a part of a line.
    fn describe(&self) -> String {
        self.described(None, INLINE)
    }

    /// The same with one more note, and maps in at most so many bytes.
    fn described(&self, note: Option<String>, most: usize) -> String {
        let mut notes = self.notes();
        notes.extend(note);
        let what = self.what(most);
        if notes.is_empty() { what } else { format!("{what} ({})", notes.join(", ")) }
    }

    /// Bytes of the keys that are told.
    pub fn key_bytes(&self) -> usize {
        let record = self.record.as_deref().map_or(0, Record::key_bytes);
        let list = self.list.as_deref().map_or(0, |list| list.items.key_bytes());
        let values = self.dictionary.as_deref().map_or(0, |dictionary| dictionary.values.key_bytes());
        record + list + values
    }

    /// Kinds, with what is known of each.
    pub fn what(&self, most: usize) -> String {
        if self.kinds.is_empty() {
            return if self.values > 0 { "nil" } else { "any" }.to_owned();
        }
        self.merged_kinds().into_iter().map(|kind| self.kind(kind, most)).collect::<Vec<_>>().join(" or ")
    }

    /// The kinds, of which several kinds of numbers together are numbers.
    pub fn merged_kinds(&self) -> Vec<&'static str> {
        let is_number = |kind: &&str| ["int", "float", "decimal"].contains(kind);
        let mixed = self.kinds.iter().filter(|kind| is_number(kind)).count() > 1;
        let mut kinds = Vec::new();
        for kind in self.kinds.iter().copied() {
            let kind = if mixed && is_number(&kind) { "number" } else { kind };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn kind(&self, kind: &'static str, most: usize) -> String {
        let more = match kind {
            "int" | "float" | "decimal" | "number" => self.range.and_then(|(low, high)| range(low, high)),
            "list" | "set" => {
                return self.list.as_ref().map_or(kind.to_owned(), |list| list.describe(kind, most));
            }
            "map" => return self.maps(most),
            "string" => self.texts.told(),
            _ => self.times.told(),
        };
        more.map_or(kind.to_owned(), |more| format!("{kind} {more}"))
    }

    fn maps(&self, most: usize) -> String {
        let record = self.record.as_deref().map(|record| match record.has_data_for_keys() {
            true => record.data_keys(),
            false => record.inline(most),
        });
        let dictionary = self.dictionary.as_deref().map(|dictionary| dictionary.describe(most));
        let all: Vec<String> = dictionary.into_iter().chain(record).collect();
        if all.is_empty() { "map".to_owned() } else { all.join(" or ") }
    }

    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.nils > 0 && self.nils < self.values {
            notes.push(format!("{} nil", share(self.nils, self.values)));
        }
        let distinct = self.distinct.len();
        // Only texts, keywords, times and numbers are told apart.
        let apart = |kind: &&str| {
            ["int", "float", "decimal", "string", "keyword", "date", "time", "datetime"].contains(kind)
        };
        let comparable = self.kinds.iter().all(apart);
        if distinct > 0 && distinct <= DISTINCT && distinct * 2 <= self.values && !self.cut && comparable {
            notes.push(format!("{distinct} distinct"));
        }
        notes
    }

    /// The keys of the maps, or of those in the list, sorted.
    pub fn keys(&self) -> Option<Vec<&str>> {
        let holder = match self.kinds.as_slice() {
            ["list"] => &self.list.as_deref()?.items,
            _ => self,
        };
        let record =
            holder.record.as_deref().filter(|record| holder.is_record() && !record.has_data_for_keys())?;
        Some(record.names())
    }

    /// What the values are as JSON Schema tells it, without a word about what they look like; and whether something
    /// is left out.
    pub fn schema(&self) -> (Json, bool) {
        match (self.kinds.as_slice(), self.list.as_deref(), self.record.as_deref()) {
            (["list"], Some(list), _) => {
                let (items, cut) = list.items.schema();
                (json!({"type": "array", "items": items}), cut)
            }
            (["map"], _, Some(record)) if self.dictionary.is_none() => record.schema(),
            ([], ..) if self.values == 0 => (json!({}), false),
            _ => (json!({"type": self.schema_word()}), false),
        }
    }

    pub fn schema_word(&self) -> String {
        let word = |kind: &'static str| match (kind, self.list.as_deref()) {
            ("list", Some(list)) if list.items.values > list.items.nils => {
                format!("array of {}", list.items.schema_word())
            }
            (kind, _) => schema_word(kind).to_owned(),
        };
        let words: Vec<String> = self.merged_kinds().into_iter().map(word).collect();
        if words.is_empty() { "null".to_owned() } else { words.join(" or ") }
    }
}

impl List {
    fn rows(&self) -> String {
        let more = if self.open { " or more" } else { "" };
        let looked = self.items.values;
        let rest = self.items.record.as_deref().and_then(|record| record.rest);
        let looks = match (looked < self.total, rest) {
            (false, _) => String::new(),
            (true, None) => format!(", {} looked at", grouped(looked)),
            (true, Some(rest)) if rest.maps < self.total => {
                format!(", {} looked at, the keys of {}", grouped(looked), grouped(rest.maps.max(looked)))
            }
            (true, Some(_)) => format!(", {} looked at, the keys of all", grouped(looked)),
        };
        format!("list of {}{more} maps{looks}", grouped(self.total))
    }

    fn describe(&self, kind: &str, most: usize) -> String {
        let looked = self.items.values;
        let note = (looked < self.total || self.open)
            .then(|| format!("{}{} looked at", if self.first { "the first " } else { "" }, grouped(looked)));
        let items = match looked {
            0 => String::new(),
            _ => format!(" of {}", self.items.described(note, most)),
        };
        match self.lists {
            1 => format!("{kind}[{}{}]{items}", grouped(self.total), if self.open { "+" } else { "" }),
            _ => format!("{kind}{items}"),
        }
    }
}

impl Dictionary {
    fn describe(&self, most: usize) -> String {
        let note = (self.looked < self.total)
            .then(|| format!("{} of {} entries looked at", grouped(self.looked), grouped(self.total)));
        let keys = self.keys.told().unwrap_or_default();
        format!("map from keys {keys} to {}", self.values.described(note, most))
    }
}

/// How much deeper the values of a map with so many keys are.
fn level(keys: usize) -> usize {
    if keys <= NARROW { 1 } else { LEVEL }
}

/// The name of a kind in JSON Schema.
fn schema_word(kind: &'static str) -> &'static str {
    match kind {
        "nil" => "null",
        "bool" => "boolean",
        "int" => "integer",
        "float" | "decimal" => "number",
        "list" => "array",
        "map" => "object",
        other => other,
    }
}

/// The beginning of a text, and its characters; of a very long text its bytes.
pub(super) fn beginning(text: &str) -> (&str, usize) {
    let end = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(at, _)| at);
    (&text[..end], if text.len() > MEASURED { text.len() } else { text.chars().count() })
}

/// Whether a single map is a dictionary: most keys look like data, or there are many of them or they are texts, and
/// the values are of one kind. What a program groups by has texts for keys, and they are data however short they are.
fn is_dictionary(entries: &[(View, View)]) -> bool {
    let kinds = |entry: &(View, View)| (type_name(&entry.0), type_name(&entry.1));
    let first = entries.first().map(kinds);
    let alike = || entries.iter().all(|entry| Some(kinds(entry)) == first);
    let texts = matches!(entries.first(), Some((View::Str { text, .. }, _)) if !text.contains('/'));
    let keys: Vec<FieldKey> = entries.iter().filter_map(|(key, _)| FieldKey::of_view(key)).collect();
    ((entries.len() > NAMED || texts) && alike()) || are_data(keys.iter().map(|key| key.name.as_str()))
}
