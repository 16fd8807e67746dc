//! Arguments of session tools: closed sets of keys, read strictly.

use serde_json::Value as Json;

use super::super::api::Args;
use super::super::args::known;
use super::super::text::cut;
use super::error::SessionError;

/// Refuses keys that a tool does not have. What says who calls is not an argument and is left out.
pub fn only(args: &mut Args, keys: &[&str]) -> Result<(), SessionError> {
    only_or(args, keys, &[])
}

/// The same for a tool that knows further keys, which it does not offer.
pub fn only_or(args: &mut Args, keys: &[&str], also: &[&str]) -> Result<(), SessionError> {
    const CLAIMS: &[&str] = &["owner", "owner_id", "auth", "auth_claims", "credential"];
    args.retain(|key, _| !key.starts_with('_') && !CLAIMS.contains(&key.as_str()));
    if keys.is_empty() && !args.is_empty() {
        return Err(SessionError::args("lisp_session_list takes no arguments"));
    }
    known(args, keys, also).map_err(SessionError::args)
}

/// The session that is meant.
pub fn session_id(args: &Args) -> Result<&str, SessionError> {
    match args.get("session_id") {
        Some(Json::String(id)) if !id.is_empty() => Ok(id),
        _ => Err(SessionError::args("session_id must be a non-empty string")),
    }
}

/// One of a few words, which may be left out. What is none of them is refused with all of them: a model that is answered
/// with something else than it asked for cannot tell.
pub fn one_of<'a>(args: &'a Args, key: &str, words: &[&str]) -> Result<Option<&'a str>, SessionError> {
    match args.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(word)) if words.contains(&word.as_str()) => Ok(Some(word)),
        Some(other) => {
            let got = match other {
                Json::String(word) => format!("`{}`", cut(word, 40)),
                _ => "no text".to_owned(),
            };
            Err(SessionError::args(format!("{key} must be one of {}; got {got}", words.join(", "))))
        }
    }
}

/// A text that may be left out.
pub fn text(args: &Args, key: &str, most: usize) -> Result<Option<String>, SessionError> {
    match args.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) if text.len() <= most => Ok(Some(text.clone())),
        Some(Json::String(_)) => Err(SessionError::args(format!("{key} has more than {most} bytes"))),
        Some(_) => Err(SessionError::args(format!("{key} must be a string"))),
    }
}

/// Texts that may be left out.
pub fn texts(args: &Args, key: &str) -> Result<Vec<String>, SessionError> {
    let wrong = || SessionError::args(format!("{key} must be an array of strings"));
    match args.get(key) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(items)) => {
            items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}
