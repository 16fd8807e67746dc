//! Which operations of a document become tools: by `operationId`, by method and path, by pattern, by tag.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::document::Document;
use crate::config::fits;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "patch", "head", "options", "trace"];

/// Where an operation stands.
pub struct Spot<'d> {
    /// Its `operationId`; method and path where it has none.
    pub id: Cow<'d, str>,
    pub path: &'d str,
    /// The method in small letters.
    pub method: &'static str,
    /// What holds for all methods of the path.
    pub item: &'d Json,
    pub operation: &'d Json,
}

/// All operations, in the order of the document.
pub fn operations(document: &Document) -> Vec<Spot<'_>> {
    let mut found = Vec::new();
    let paths = document.0.get("paths").and_then(Json::as_object);
    for (path, item) in paths.into_iter().flatten() {
        let Ok(item) = document.resolve(item) else { continue };
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let id = match operation.get("operationId").and_then(Json::as_str) {
                Some(id) => Cow::Borrowed(id),
                None => Cow::Owned(format!("{} {path}", method.to_uppercase())),
            };
            found.push(Spot { id, path, method, item, operation });
        }
    }
    found
}

/// One entry of `include_operations`.
pub enum Selector<'t> {
    /// An `operationId`, or a pattern for them.
    Id(&'t str),
    /// A path, or a pattern for paths, and the method if it is said.
    Path(Option<&'static str>, &'t str),
    /// `tag:…`
    Tag(&'t str),
}

impl<'t> Selector<'t> {
    /// Reads an entry: `repos/get`, `repos/list-*`, `GET /repos/{owner}/*`, `/repos/*`, `tag:issues`.
    pub fn parse(text: &'t str) -> Selector<'t> {
        if let Some(tag) = text.strip_prefix("tag:") {
            return Selector::Tag(tag.trim());
        }
        if text.starts_with('/') {
            return Selector::Path(None, text);
        }
        let with_method = text.split_once(' ').and_then(|(word, path)| {
            let method = METHODS.iter().find(|method| method.eq_ignore_ascii_case(word))?;
            path.trim().starts_with('/').then(|| Selector::Path(Some(method), path.trim()))
        });
        with_method.unwrap_or(Selector::Id(text))
    }

    /// Whether one operation is meant, which then must be able to become a tool.
    pub fn is_exact(&self) -> bool {
        match self {
            Selector::Id(text) | Selector::Path(Some(_), text) => !text.contains('*'),
            Selector::Path(None, _) | Selector::Tag(_) => false,
        }
    }

    /// Whether an operation is meant.
    pub fn fits(&self, spot: &Spot) -> bool {
        match self {
            Selector::Id(text) if self.is_exact() => spot.id == *text,
            Selector::Id(pattern) => fits(pattern, &spot.id),
            Selector::Path(method, pattern) => {
                method.is_none_or(|method| method == spot.method)
                    && if pattern.contains('*') { fits(pattern, spot.path) } else { spot.path == *pattern }
            }
            Selector::Tag(tag) => {
                let tags = spot.operation.get("tags").and_then(Json::as_array);
                tags.into_iter().flatten().any(|given| given.as_str() == Some(tag))
            }
        }
    }
}
