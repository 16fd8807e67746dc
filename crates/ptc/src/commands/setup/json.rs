//! Files in JSON, perhaps with comments.

use std::ops::Range;

use anyhow::{anyhow, bail};
use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value as Json};

use super::file::Texts;

/// The object that the keys lead to; an empty one if there is none.
pub fn object(text: &str, keys: &[String]) -> anyhow::Result<Map<String, Json>> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    ObjectPlace::find(text, keys)?;
    let Some(place) = at(&root(text)?, keys) else { return Ok(Map::new()) };
    match place.to_serde_value() {
        Some(Json::Object(fields)) => Ok(fields),
        _ => bail!("its servers cannot be read"),
    }
}

/// The text with one entry in the place of others.
pub fn replaced(
    text: &str,
    keys: &[String],
    moved: &[String],
    (name, entry): (&str, &Json),
) -> anyhow::Result<String> {
    let root = root(text)?;
    let Some(place) = at(&root, keys) else { bail!("it has no servers") };
    for server in place.properties() {
        let is_moved = server.decoded_name().is_some_and(|name| moved.contains(&name));
        if is_moved {
            server.remove();
        }
    }
    place.append(name, input(entry));
    place.ensure_multiline();
    Ok(root.to_string())
}

/// The text with the missing entries in the place of ours, as they were written.
pub fn restored(texts: &Texts, keys: &[String], name: &str, missing: &[String]) -> anyhow::Result<String> {
    let Some(base) = ObjectPlace::find(texts.base, keys)? else { return Ok(texts.now.to_owned()) };
    let Some(now) = ObjectPlace::find(texts.now, keys)? else { return appended(texts, keys, missing) };
    let after = ObjectPlace::find(texts.after, keys)?;
    if after.is_some_and(|after| texts.after[after.range] == texts.now[now.range.clone()]) {
        return Ok(spliced(texts.now, now.range, &texts.base[base.range]));
    }
    let own = now.entries.iter().find(|(other, _)| other == name);
    match own {
        Some((_, range)) if !missing.is_empty() => {
            Ok(spliced(texts.now, range.clone(), &base.written(texts.base, missing)))
        }
        Some(_) => removed(texts.now, keys, name),
        None => appended(texts, keys, missing),
    }
}

/// An object in a text.
struct ObjectPlace {
    range: Range<usize>,
    /// Its entries, name and value, in order.
    entries: Vec<(String, Range<usize>)>,
}

impl ObjectPlace {
    fn find(text: &str, keys: &[String]) -> anyhow::Result<Option<ObjectPlace>> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
        let parsed = parsed.map_err(|error| anyhow!("it is not JSON: {error}"))?;
        let Some(mut at) = parsed.value.as_ref() else { return Ok(None) };
        for key in keys {
            let Value::Object(object) = at else { return Ok(None) };
            let mut found = object.properties.iter().filter(|entry| named(&entry.name) == key);
            let Some(next) = found.next() else { return Ok(None) };
            if found.next().is_some() {
                bail!(twice(key));
            }
            at = &next.value;
        }
        let Value::Object(object) = at else { return Ok(None) };
        let mut entries: Vec<(String, Range<usize>)> = Vec::new();
        for entry in &object.properties {
            let name = named(&entry.name);
            if entries.iter().any(|(other, _)| other == name) {
                bail!(twice(name));
            }
            entries.push((name.to_owned(), entry.start()..entry.end()));
        }
        Ok(Some(ObjectPlace { range: object.start()..object.end(), entries }))
    }

    /// These entries as they are written: with what stands between them, where nothing else does.
    fn written(&self, text: &str, names: &[String]) -> String {
        let found: Vec<usize> =
            (0..self.entries.len()).filter(|at| names.contains(&self.entries[*at].0)).collect();
        let range = |at: usize| self.entries[at].1.clone();
        match (found.first(), found.last()) {
            (Some(first), Some(last)) if last - first + 1 == found.len() => {
                text[range(*first).start..range(*last).end].to_owned()
            }
            _ => found.iter().map(|at| &text[range(*at)]).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Clients take the last of two entries of one name, and an undo could not tell which is which.
fn twice(name: &str) -> String {
    format!("its key {name:?} stands there twice; leave one")
}

fn named<'n>(name: &'n ObjectPropName<'n>) -> &'n str {
    name.as_str()
}

fn spliced(text: &str, range: Range<usize>, part: &str) -> String {
    format!("{}{part}{}", &text[..range.start], &text[range.end..])
}

/// The text as it is now without our entry.
fn removed(text: &str, keys: &[String], name: &str) -> anyhow::Result<String> {
    let root = root(text)?;
    if let Some(own) = at(&root, keys).and_then(|place| place.get(name)) {
        own.remove();
    }
    Ok(root.to_string())
}

/// The text as it is now with the missing entries behind the others, in a place that is made if there is none.
fn appended(texts: &Texts, keys: &[String], missing: &[String]) -> anyhow::Result<String> {
    if missing.is_empty() {
        return Ok(texts.now.to_owned());
    }
    let entries = object(texts.base, keys)?;
    let root = root(texts.now)?;
    let top = root.object_value_or_create().ok_or_else(|| anyhow!("it is no JSON object"))?;
    let place = keys.iter().try_fold(top, |at, key| {
        at.object_value_or_create(key).ok_or_else(|| anyhow!("its key {key:?} is no object"))
    })?;
    for (name, entry) in entries.iter().filter(|(name, _)| missing.contains(name)) {
        place.append(name, input(entry));
    }
    place.ensure_multiline();
    Ok(root.to_string())
}

fn root(text: &str) -> anyhow::Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| anyhow!("it is not JSON: {error}"))
}

fn at(root: &CstRootNode, keys: &[String]) -> Option<CstObject> {
    keys.iter().try_fold(root.object_value()?, |at, key| at.object_value(key))
}

fn input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(flag) => CstInputValue::Bool(*flag),
        Json::Number(number) => CstInputValue::Number(number.to_string()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Json::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
