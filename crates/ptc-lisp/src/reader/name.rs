//! Symbols and keywords: which tokens are names, and which namespace `::` and `#:ns{…}` give them.

use super::fault::NameFault;
use crate::syntax::{Form, FormKind};

/// The namespace programs run in; `::k` means `:user/k`.
const OWN_NAMESPACE: &str = "user";

/// What a token that is no number means: a literal word or a symbol.
pub(super) fn symbol(token: &str) -> Result<FormKind, NameFault> {
    match token {
        "nil" => Ok(FormKind::Nil),
        "true" => Ok(FormKind::Bool(true)),
        "false" => Ok(FormKind::Bool(false)),
        _ if is_division(token) => Err(NameFault::Division),
        _ => check(token).map(|()| FormKind::Symbol(token.to_owned())),
    }
}

/// Whether a symbol has a digit after its slash, as in `total/2`: no name, but division as written in
/// other languages.
fn is_division(token: &str) -> bool {
    token.rsplit_once('/').is_some_and(|(_, name)| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// The keyword written by `token`, which comes without its first colon.
pub(super) fn keyword(token: &str) -> Result<FormKind, NameFault> {
    let text = match token.strip_prefix(':') {
        Some(name) => resolve(name),
        None => token.to_owned(),
    };
    check(&text).map(|()| FormKind::Keyword(text))
}

/// The name that `::name` stands for. There are no aliases, so a written namespace stands for itself.
fn resolve(name: &str) -> String {
    if name.is_empty() || name.contains('/') || name.starts_with(':') {
        name.to_owned()
    } else {
        format!("{OWN_NAMESPACE}/{name}")
    }
}

/// The namespace of `#:ns{…}`, given what stands between `#:` and the brace.
pub(super) fn map_namespace(token: &str) -> Result<String, NameFault> {
    let name = match token.strip_prefix(':') {
        Some("") => OWN_NAMESPACE,
        Some(alias) => alias,
        None => token,
    };
    if name.contains('/') {
        return Err(NameFault::Slash);
    }
    check(name).map(|()| name.to_owned())
}

/// Puts a key of `#:ns{…}` into the namespace: a bare name gets it, `_/name` becomes bare.
pub(super) fn qualify_key(key: &mut Form, namespace: &str) {
    if let FormKind::Keyword(name) | FormKind::Symbol(name) = &mut key.kind {
        if let Some(bare) = name.strip_prefix("_/") {
            *name = bare.to_owned();
        } else if !name.contains('/') || name == "/" {
            *name = format!("{namespace}/{name}");
        }
    }
}

fn check(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.ends_with(':') {
        return Err(NameFault::TrailingColon);
    }
    if name.contains("::") || name.starts_with(':') {
        return Err(NameFault::InnerColons);
    }
    let starts_wrong = name.starts_with('/') && name != "/";
    let ends_wrong = name.ends_with('/') && name != "/" && !name.ends_with("//");
    if starts_wrong || ends_wrong {
        return Err(NameFault::Slash);
    }
    name.chars().find(|c| c.is_control()).map_or(Ok(()), |c| Err(NameFault::Control(c)))
}
