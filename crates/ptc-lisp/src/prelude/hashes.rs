//! What identifies a prelude, and the names that its code uses.
//!
//! The hash of the artifact is one of what programs can tell apart, not of instructions: a later build with
//! another compiler gives the same hash to the same prelude, so that machines written to bytes load again.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Code, Options, Prelude, Source};
use crate::code::Const;
use crate::names::Names;

/// A hash as text.
pub(super) fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The prelude with its names and hashes: it does not change any more.
pub(super) fn sealed(prelude: Prelude, parts: &[Source<'_>], options: &Options) -> Prelude {
    let mut prelude = with_names(prelude);
    let sources: Vec<String> = parts.iter().map(|part| hash(part.text)).collect();
    prelude.source_hash = match sources.as_slice() {
        [one] => one.clone(),
        many => hash(&many.join("\n")),
    };
    prelude.artifact_hash = hash(&described(&prelude, parts, options));
    prelude
}

/// Everything that programs can tell apart, as text.
fn described(prelude: &Prelude, parts: &[Source<'_>], options: &Options) -> String {
    let mut text = format!("prelude 1\n{}\n{}\n", prelude.source_hash, options.policy.described());
    for part in parts {
        text.push_str(&format!("part {:?} needs {:?}\n", part.id, part.needs));
    }
    for (number, definition) in prelude.definitions.iter().enumerate() {
        let constant = match definition.code.get() {
            Some(Code::Constant(constant)) => format!(" = {constant:?}"),
            _ => String::new(),
        };
        text.push_str(&format!("{number} {} {}{constant}\n", definition.full, definition.private));
    }
    prelude.exports.iter().for_each(|export| text.push_str(&format!("{}\n", export.json())));
    text
}

/// The prelude with a table of all names in its code and constants.
pub(super) fn with_names(mut prelude: Prelude) -> Prelude {
    let mut names = Names::over(crate::core::names());
    for definition in &prelude.definitions {
        match definition.code.get() {
            Some(Code::Function(unit)) => {
                unit.consts.iter().for_each(|constant| intern(constant, &mut names))
            }
            Some(Code::Constant(constant)) => intern(constant, &mut names),
            None => {}
        }
    }
    prelude.written.iter().for_each(|key| names.write_key(key));
    prelude.names = Arc::new(names);
    prelude
}

/// Constants nest no deeper than values may.
fn intern(constant: &Const, names: &mut Names) {
    match constant {
        Const::Keyword(name)
        | Const::Symbol(name)
        | Const::Type(name)
        | Const::Tool(name)
        | Const::Var(name) => {
            names.intern(name);
        }
        Const::List(items) | Const::Vector(items) | Const::Set(items) => {
            items.iter().for_each(|item| intern(item, names));
        }
        Const::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            intern(key, names);
            intern(value, names);
        }),
        _ => {}
    }
}
