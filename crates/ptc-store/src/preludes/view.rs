//! What models may see of the store. Source and metadata come from whoever wrote them, so models get them
//! bounded, and only the keys that are documented.

use serde_json::{Value as Json, json};

use super::model::{Candidate, Metadata, Pin, Version};

/// Most bytes of source in a view.
pub(crate) const MAX_SOURCE: usize = 64 * 1024;
/// Most bytes of any other text.
pub(crate) const MAX_TEXT: usize = 1024;
/// Most references in a list.
const MAX_LISTED: usize = 64;

/// Metadata that are a text or a number.
const SCALARS: &[&str] = &["reason", "parent_version", "parent_checksum", "source_session_id", "created_by"];

/// A text cut to at most `most` bytes, between characters; a cut one ends with `…`.
pub(crate) fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub('…'.len_utf8());
    let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// A source cut to what a view may hold, and whether it was cut.
pub(crate) fn bounded_source(source: &str) -> (&str, bool) {
    let end = (0..=MAX_SOURCE.min(source.len())).rev().find(|end| source.is_char_boundary(*end));
    let end = end.unwrap_or(0);
    (&source[..end], end < source.len())
}

/// The documented keys of metadata, each of its documented kind and bounded.
pub fn public_metadata(metadata: &Metadata) -> Metadata {
    let mut public = Metadata::new();
    for key in SCALARS {
        match metadata.get(*key) {
            Some(Json::String(text)) => public.insert((*key).to_owned(), clipped(text, MAX_TEXT).into()),
            Some(number @ Json::Number(_)) => public.insert((*key).to_owned(), number.clone()),
            _ => None,
        };
    }
    if let Some(Json::Array(listed)) = metadata.get("requires_preludes") {
        let names = listed.iter().take(MAX_LISTED).filter_map(|need| match need {
            Json::String(text) => Some(clipped(text, MAX_TEXT)),
            Json::Object(map) => map.get("id").and_then(Json::as_str).map(|id| clipped(id, MAX_TEXT)),
            _ => None,
        });
        public.insert("requires_preludes".to_owned(), names.collect::<Vec<_>>().into());
    }
    public
}

/// A version without its source, as models may see it.
pub fn public_version(version: &Version) -> Json {
    let mut metadata = public_metadata(&version.metadata);
    if !version.pins.is_empty() {
        let pins: Vec<Json> = version.pins.iter().take(MAX_LISTED).map(Pin::to_json).collect();
        metadata.insert("prelude_deps".to_owned(), pins.into());
    }
    let mut view = json!({
        "id": version.id,
        "version": version.version,
        "checksum": version.checksum,
        "source_bytes": version.source_bytes,
        "created_at": date(version.created_at),
        "current": version.is_current,
        "latest": version.is_latest,
        "metadata": metadata,
    });
    if let Some(selected) = &version.selected {
        view["selected"] = json!({
            "at": date(selected.at),
            "metadata": public_metadata(&selected.metadata),
        });
    }
    view
}

/// A version with its source, as models may see it.
pub fn public_view(candidate: &Candidate) -> Json {
    let mut view = public_version(&candidate.version);
    let (source, truncated) = bounded_source(&candidate.source);
    view["source"] = source.into();
    view["source_truncated"] = truncated.into();
    view
}

/// A moment as RFC 3339 in UTC, to the millisecond.
pub(crate) fn date(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |moment| format!("{moment:.3}"))
}
