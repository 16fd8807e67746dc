//! Who may come in: one token for all, tokens with roles from a file, or nobody asks.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ptc_system::owned::{self, Reach};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::options::{MIN_TOKEN_BYTES, Options};
use crate::wire::identity::LOCAL;

/// Why tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("role tokens {file}: {problem}")]
pub struct TokensError {
    file: String,
    problem: String,
}

type Hash = [u8; 32];

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Whom sessions, tickets and requests belong to, and what people are told: the id of a role token, so that another token of
    /// the same id finds all of it; the hash of a token that has no id.
    pub owner: Arc<str>,
    /// The roles of a role token.
    pub roles: Option<Arc<[String]>>,
}

/// The tokens that are accepted, as hashes.
#[derive(Debug, Default)]
pub struct Tokens {
    accepted: Vec<(Hash, Identity)>,
    admin: Option<Hash>,
    /// The tokens themselves, until whoever covers them in what leaves has taken them.
    plain: Vec<SecretString>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    tokens: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    id: String,
    token_env: Option<String>,
    token_file: Option<String>,
    token_literal: Option<String>,
    roles: Vec<String>,
}

impl Tokens {
    /// The tokens that the options name; `lookup` reads the environment.
    pub fn load(options: &Options, lookup: &dyn Fn(&str) -> Option<String>) -> Result<Tokens, TokensError> {
        let mut tokens = Tokens {
            admin: options.http_admin_token.as_ref().map(|token| hash(token.expose_secret())),
            ..Tokens::default()
        };
        tokens.plain.extend(options.http_admin_token.clone());
        tokens.plain.extend(options.http_auth_token.clone());
        if let Some(token) = &options.http_auth_token {
            let hash = hash(token.expose_secret());
            tokens.accepted.push((hash, Identity { owner: owner(&hash).into(), roles: None }));
        }
        if let Some(path) = &options.http_role_tokens {
            let wrong = |problem: String| TokensError { file: path.display().to_string(), problem };
            tokens.roles(path, lookup).map_err(wrong)?;
            tokens.against_policy(options.session_roles.as_deref()).map_err(wrong)?;
        }
        Ok(tokens)
    }

    /// One token for whoever started the server.
    pub fn local(token: &SecretString) -> Tokens {
        let identity = Identity { owner: LOCAL.into(), roles: None };
        Tokens { accepted: vec![(hash(token.expose_secret()), identity)], ..Tokens::default() }
    }

    fn roles(&mut self, path: &Path, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        // Whoever can write it gives himself a role.
        owned::check(path, Reach::AllRead)?;
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
        // The parser's message may quote what it stumbled over, so only the place is told.
        let file: File = serde_json::from_str(&text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!(
                "line {line}, column {column}: expected {{\"tokens\": [{{\"id\", \"roles\", and one of \
                 \"token_env\", \"token_file\", \"token_literal\"}}]}}"
            )
        })?;
        let mut ids = BTreeSet::new();
        for (index, entry) in file.tokens.into_iter().enumerate() {
            let at = format!("tokens[{index}]");
            let named = |text: &str| {
                (1..=64).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
            };
            if !named(&entry.id) {
                return Err(format!("{at}.id must be 1 to 64 letters, digits, `_`, `.` or `-`"));
            }
            if let Some(role) = entry.roles.iter().position(|role| !named(role)) {
                return Err(format!("{at}.roles[{role}] must be 1 to 64 letters, digits, `_`, `.` or `-`"));
            }
            if entry.roles.is_empty() {
                return Err(format!("{at}.roles must name a role"));
            }
            if !ids.insert(entry.id.clone()) {
                return Err(format!("{at}.id is used twice"));
            }
            if is_taken(&entry.id) {
                return Err(format!(
                    "{at}.id stands for callers without an id; an id is neither `{LOCAL}` nor 64 hexadecimal digits"
                ));
            }
            let token = entry.token(&at, lookup)?;
            let hash = hash(token.expose_secret());
            self.plain.push(token);
            if self.accepted.iter().any(|(known, _)| *known == hash) {
                return Err(format!("{at} has the token of another entry"));
            }
            if self.admin == Some(hash) {
                return Err(format!("{at} has the admin token"));
            }
            let roles: Arc<[String]> = entry.roles.into();
            // An id is unique here, and its token may be renewed: what belongs to it stays.
            self.accepted.push((hash, Identity { owner: entry.id.into(), roles: Some(roles) }));
        }
        Ok(())
    }

    /// Roles without a policy that says what they grant are a mistake.
    fn against_policy(&self, policy: Option<&Path>) -> Result<(), String> {
        let text = policy.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let policy: Json = serde_json::from_str(&text).unwrap_or_default();
        if !policy.pointer("/outer_policy/mcp_tools").is_some_and(Json::is_array) {
            return Err("the file of --session-roles must list the tools that clients see, under \
                        outer_policy.mcp_tools"
                .to_owned());
        }
        let known = policy.get("roles").and_then(Json::as_object);
        let named = self
            .accepted
            .iter()
            .filter_map(|(_, identity)| identity.roles.as_ref())
            .flat_map(|all| all.iter());
        let unknown: BTreeSet<&String> =
            named.filter(|role| !known.is_some_and(|known| known.contains_key(role.as_str()))).collect();
        match unknown.is_empty() {
            true => Ok(()),
            false => {
                let unknown: Vec<&str> = unknown.into_iter().map(String::as_str).collect();
                Err(format!("the file of --session-roles has no role {}", unknown.join(", ")))
            }
        }
    }

    /// The tokens, to cover them in whatever leaves. They are given once and not kept.
    pub fn take_secrets(&mut self) -> Vec<SecretString> {
        std::mem::take(&mut self.plain)
    }

    /// Whether a token has to be shown at all.
    pub fn wanted(&self) -> bool {
        !self.accepted.is_empty()
    }

    /// How many owners may call: one for each token, or one if nobody has to show any.
    pub fn owners(&self) -> usize {
        self.accepted.len().max(1)
    }

    /// Whether there is an admin token.
    pub fn has_admin(&self) -> bool {
        self.admin.is_some()
    }

    /// Who a token belongs to. Looks at all tokens, in the same time for each.
    pub fn find(&self, token: &str) -> Option<&Identity> {
        let shown = hash(token);
        self.accepted.iter().fold(None, |found, (known, identity)| match same(known, &shown) {
            true => Some(identity),
            false => found,
        })
    }

    /// Whether it is the admin token.
    pub fn is_admin(&self, token: &str) -> bool {
        self.admin.is_some_and(|admin| same(&admin, &hash(token)))
    }
}

impl TokenEntry {
    fn token(&self, at: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<SecretString, String> {
        let token = match (&self.token_env, &self.token_file, &self.token_literal) {
            (Some(name), None, None) => lookup(name)
                .map(SecretString::from)
                .ok_or_else(|| format!("{at}: the variable {name} is not set"))?,
            (None, Some(file), None) => {
                owned::check(Path::new(file), Reach::GroupReads)
                    .map_err(|problem| format!("{at}: {problem}"))?;
                let text = std::fs::read_to_string(file)
                    .map_err(|error| format!("{at}: the file {file} cannot be read: {error}"))?;
                SecretString::from(text.trim_end())
            }
            (None, None, Some(token)) => SecretString::from(token.as_str()),
            _ => return Err(format!("{at} needs exactly one of token_env, token_file, token_literal")),
        };
        match token.expose_secret().len() >= MIN_TOKEN_BYTES {
            true => Ok(token),
            false => Err(format!("{at}: the token must be at least {MIN_TOKEN_BYTES} bytes")),
        }
    }
}

fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

/// Takes the same time wherever the hashes differ.
fn same(left: &Hash, right: &Hash) -> bool {
    left.iter().zip(right).fold(0, |differ, (l, r)| differ | (l ^ r)) == 0
}

/// Whether callers without an id may be called so.
fn is_taken(id: &str) -> bool {
    id == LOCAL || (id.len() == 2 * size_of::<Hash>() && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn owner(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::identity::random;

    /// The tokens of a file with these entries.
    fn loaded(entries: &Json) -> Result<Tokens, String> {
        let folder = std::env::temp_dir().join(format!("ptc-tokens-{}", random::<9>()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("tokens.json");
        std::fs::write(&file, json!({"tokens": entries}).to_string()).expect("a file");
        let mut tokens = Tokens::default();
        let read = tokens.roles(&file, &|_| None).map(|()| tokens);
        let _ = std::fs::remove_dir_all(folder);
        read
    }

    fn entry(id: &str, token: char) -> Json {
        json!({"id": id, "roles": ["one"], "token_literal": token.to_string().repeat(MIN_TOKEN_BYTES)})
    }

    #[test]
    fn a_role_token_is_called_by_its_id_also_when_it_was_renewed() {
        for token in ['a', 'b'] {
            let tokens = loaded(&json!([entry("ann", token), entry("ben", 'x')])).expect("they are right");
            let found = |token: char| {
                let found = tokens.find(&token.to_string().repeat(MIN_TOKEN_BYTES));
                found.map(|identity| identity.owner.to_string())
            };
            assert_eq!(found(token).as_deref(), Some("ann"));
            assert_eq!(found('x').as_deref(), Some("ben"));
            assert_eq!(found(if token == 'a' { 'b' } else { 'a' }), None, "only the token that is there");
        }
    }

    #[test]
    fn no_id_stands_for_two_tokens_or_for_callers_without_one() {
        let twice = loaded(&json!([entry("ann", 'a'), entry("ann", 'b')])).expect_err("one id");
        assert_eq!(twice, "tokens[1].id is used twice");
        for id in [LOCAL.to_owned(), owner(&hash("some token"))] {
            let refused = loaded(&json!([entry(&id, 'a')])).expect_err("a name of others");
            assert!(refused.starts_with("tokens[0].id stands for callers without an id"), "{refused}");
        }
    }
}
