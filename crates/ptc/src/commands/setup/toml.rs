//! Files in TOML. Servers are tables, inline tables or dotted keys.

use anyhow::{Context, anyhow};
use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::file::Texts;

/// The table that the keys lead to, as JSON; an empty one if there is none.
pub fn table(text: &str, keys: &[String]) -> anyhow::Result<Map<String, Json>> {
    let document = text.parse::<toml::Table>().context("it is not TOML")?;
    let mut at = serde_json::to_value(document)?;
    for key in keys {
        at = at.get_mut(key).map(Json::take).unwrap_or_default();
    }
    Ok(at.as_object().cloned().unwrap_or_default())
}

/// The text with one entry in the place of others.
pub fn replaced(
    text: &str,
    keys: &[String],
    moved: &[String],
    (name, entry): (&str, &Json),
) -> anyhow::Result<String> {
    let mut document = parsed(text)?;
    let table = place(document.as_item_mut(), keys).ok_or_else(|| no_table(keys))?;
    for name in moved {
        remove(table, name);
    }
    insert(table, name, Item::Table(own(entry)));
    Ok(document.to_string())
}

/// The text with the missing entries in the place of ours, as they were written.
pub fn restored(texts: &Texts, keys: &[String], name: &str, missing: &[String]) -> anyhow::Result<String> {
    let mut base = parsed(texts.base)?;
    let mut now = parsed(texts.now)?;
    let Some(from) = place(base.as_item_mut(), keys) else { return Ok(texts.now.to_owned()) };
    if let Some(table) = place(now.as_item_mut(), keys) {
        remove(table, name);
        for name in missing {
            let Some(item) = remove(from, name) else { continue };
            insert(table, name, item);
        }
        in_order(texts, &mut now)?;
        return Ok(now.to_string());
    }
    // The whole place is gone.
    let Some((last, above)) = keys.split_last() else { return Ok(texts.now.to_owned()) };
    let whole = place(base.as_item_mut(), above).and_then(|table| remove(table, last));
    let table = place(now.as_item_mut(), above).ok_or_else(|| no_table(above))?;
    if let Some(whole) = whole.filter(|_| !missing.is_empty()) {
        insert(table, last, whole);
    }
    in_order(texts, &mut now)?;
    Ok(now.to_string())
}

/// Puts every table behind the one that it stood behind before the setup. What came back numbers its tables as they were then,
/// the others as they are now: left alone, they would stand one inside the other.
fn in_order(texts: &Texts, document: &mut DocumentMut) -> anyhow::Result<()> {
    let (mut base, mut now) = (parsed(texts.base)?, parsed(texts.now)?);
    let mut all = Vec::new();
    each_table(document.as_item_mut(), &mut Vec::new(), &mut |path, _| all.push(path.to_vec()));
    let mut order = headings(now.as_item_mut());
    order.retain(|path| all.contains(path));
    let before = headings(base.as_item_mut());
    for (at, path) in before.iter().enumerate().filter(|(_, path)| all.contains(path)) {
        if !order.contains(path) {
            let behind =
                before[..at].iter().rev().find_map(|path| order.iter().position(|known| known == path));
            order.insert(behind.map_or(0, |behind| behind + 1), path.clone());
        }
    }
    each_table(document.as_item_mut(), &mut Vec::new(), &mut |path, table| {
        if let Some(at) = order.iter().position(|known| known == path) {
            table.set_position(isize::try_from(at + 1).ok());
        }
    });
    Ok(())
}

/// The tables that a text has headings of, in its order.
fn headings(document: &mut Item) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    each_table(document, &mut Vec::new(), &mut |path, table| found.push((table.position(), path.to_vec())));
    found.retain(|(position, path)| position.is_some() && !path.is_empty());
    found.sort_by_key(|(position, _)| *position);
    found.into_iter().map(|(_, path)| path).collect()
}

/// Goes through all tables with their keys; those of a list of tables are told apart by their number.
fn each_table(item: &mut Item, path: &mut Vec<String>, seen: &mut dyn FnMut(&[String], &mut Table)) {
    match item {
        Item::Table(table) => {
            if !table.is_dotted() && !table.is_implicit() {
                seen(path, table);
            }
            for (key, item) in table.iter_mut() {
                path.push(key.get().to_owned());
                each_table(item, path, seen);
                path.pop();
            }
        }
        Item::ArrayOfTables(tables) => {
            for (number, table) in tables.iter_mut().enumerate() {
                path.push(number.to_string());
                // A table that is not an item of its own is looked at as one.
                let mut item = Item::Table(std::mem::take(table));
                each_table(&mut item, path, seen);
                if let Item::Table(looked_at) = item {
                    *table = looked_at;
                }
                path.pop();
            }
        }
        Item::None | Item::Value(_) => {}
    }
}

fn parsed(text: &str) -> anyhow::Result<DocumentMut> {
    text.parse().context("it is not TOML")
}

fn no_table(keys: &[String]) -> anyhow::Error {
    anyhow!("it has no table [{}]", keys.join("."))
}

fn place<'i>(top: &'i mut Item, keys: &[String]) -> Option<&'i mut Item> {
    let at = keys.iter().try_fold(top, |at, key| at.as_table_like_mut()?.get_mut(key))?;
    at.is_table_like().then_some(at)
}

fn remove(place: &mut Item, name: &str) -> Option<Item> {
    place.as_table_like_mut()?.remove(name)
}

/// Puts an entry in, inline where all are.
fn insert(place: &mut Item, name: &str, item: Item) {
    let item = match place.is_inline_table() {
        true => item.into_value().map_or_else(|item| item, Item::Value),
        false => item,
    };
    if let Some(table) = place.as_table_like_mut() {
        table.insert(name, item);
    }
}

/// Our entry as a table.
fn own(entry: &Json) -> Table {
    let mut table = Table::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        let value = match value {
            Json::String(text) => Value::from(text.as_str()),
            Json::Array(items) => Value::Array(items.iter().filter_map(Json::as_str).collect::<Array>()),
            Json::Object(fields) => {
                let fields = fields.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
                Value::InlineTable(fields.collect::<InlineTable>())
            }
            Json::Bool(flag) => Value::from(*flag),
            Json::Number(number) => match number.as_i64() {
                Some(number) => Value::from(number),
                None => continue,
            },
            Json::Null => continue,
        };
        table.insert(key, Item::Value(value));
    }
    table
}
