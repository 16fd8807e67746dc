//! Which headers a configuration may set, and how: literal ones under `static_headers`, secret ones through
//! `auth`. Both rules are tables here.

use super::fields::Fields;
use super::problem::{closest, listed};
use crate::credentials::Bindings;

/// Headers that only the client itself may set.
pub(super) const PROTOCOL: &[&str] = &["mcp-protocol-version", "mcp-session-id", "user-agent"];

/// Headers that carry secrets and are therefore no business of `static_headers`.
pub(super) const SECRET: &[&str] =
    &["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"];

/// Headers of the transport that would break requests.
pub(super) const FRAMING: &[&str] =
    &["content-length", "transfer-encoding", "host", "connection", "content-type", "accept", "last-event-id"];

/// How a credential becomes a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthRule {
    /// Which form it takes.
    pub scheme: Scheme,
    /// The name of the credential; its value never stands here.
    pub binding: String,
}

/// The forms of authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer <value>`.
    Bearer,
    /// `Authorization: Basic <base64 of user:pass>`.
    Basic,
    /// `<header>: <value>`, the name in lower case.
    CustomHeader(String),
}

impl Scheme {
    /// The header that it sets, in lower case.
    pub fn header(&self) -> &str {
        match self {
            Scheme::Bearer | Scheme::Basic => "authorization",
            Scheme::CustomHeader(name) => name,
        }
    }
}

#[derive(Clone, Copy)]
enum SchemeName {
    Bearer,
    Basic,
    CustomHeader,
}

const SCHEMES: &[(&str, SchemeName)] = &[
    ("bearer", SchemeName::Bearer),
    ("basic", SchemeName::Basic),
    ("custom_header", SchemeName::CustomHeader),
];

/// Reads `static_headers`: names in lower case, values as written.
pub fn static_headers(fields: &mut Fields) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in fields.text_map("static_headers") {
        let lower = name.to_ascii_lowercase();
        let fault = if !is_token(&name) {
            Some(("is no header name", "use letters, digits and hyphens"))
        } else if SECRET.contains(&lower.as_str()) {
            Some(("carries secrets", "move it to \"auth\" with a credential"))
        } else if PROTOCOL.contains(&lower.as_str()) || FRAMING.contains(&lower.as_str()) {
            Some(("is set by the client itself", "remove it"))
        } else if headers.iter().any(|(known, _)| *known == lower) {
            Some(("stands there twice", "header names do not differ by case; keep one"))
        } else if !is_value(&value) {
            Some(("has a value with control characters", "use visible ASCII characters and spaces"))
        } else {
            None
        };
        match fault {
            Some((what, fix)) => fields.problem("static_headers", format!("header {name:?} {what}"), fix),
            None => headers.push((lower, value)),
        }
    }
    headers
}

/// Reads `auth`, an ordered list of rules; each names a credential of the file.
pub fn auth(fields: &mut Fields, statics: &[(String, String)], bindings: &Bindings) -> Vec<AuthRule> {
    let value = match fields.take("auth") {
        None => return Vec::new(),
        Some(serde_json::Value::Array(items)) => items,
        Some(other) => {
            let message = format!("must be a list, not {}", super::fields::kind(&other));
            fields.problem(
                "auth",
                message,
                "write [{\"scheme\": \"bearer\", \"binding\": \"<credential>\"}]",
            );
            return Vec::new();
        }
    };
    let place = fields.place_of("auth");
    let mut rules: Vec<AuthRule> = Vec::new();
    for (index, item) in value.into_iter().enumerate() {
        let entry = Fields::open(format!("{place}[{index}]"), item, fields.problems());
        let Some(rule) = rule(entry, bindings) else { continue };
        let header = rule.scheme.header();
        let fault = if statics.iter().any(|(name, _)| name == header) {
            Some("also stands in static_headers")
        } else if rules.iter().any(|known| known.scheme.header() == header) {
            Some("is set by two rules")
        } else {
            None
        };
        match fault {
            Some(what) => fields.problem("auth", format!("header '{header}' {what}"), "keep one of the two"),
            None => rules.push(rule),
        }
    }
    rules
}

fn rule(mut entry: Fields, bindings: &Bindings) -> Option<AuthRule> {
    if !entry.has("scheme") {
        entry.problem("scheme", "is missing", "add \"scheme\": \"bearer\", \"basic\" or \"custom_header\"");
    }
    let scheme = entry.word("scheme", SCHEMES);
    let binding = entry.required_text("binding", "name-of-a-credential");
    let header = match scheme {
        Some(SchemeName::CustomHeader) => entry.required_text("header", "X-Api-Key"),
        _ => None,
    };
    if let Some(binding) = binding.as_deref().filter(|binding| !bindings.contains(binding)) {
        let fix = match closest(binding, bindings.names()) {
            Some(best) => format!("did you mean '{best}'?"),
            None if bindings.names().next().is_none() => format!("add \"credentials\": {{\"{binding}\": …}}"),
            None => format!("credentials are {}", listed(bindings.names())),
        };
        entry.problem("binding", format!("references unknown credential binding '{binding}'"), fix);
        entry.close();
        return None;
    }
    let scheme = match (scheme, header) {
        (Some(SchemeName::Bearer), _) => Some(Scheme::Bearer),
        (Some(SchemeName::Basic), _) => Some(Scheme::Basic),
        (Some(SchemeName::CustomHeader), Some(header)) => {
            custom(&mut entry, &header).then(|| Scheme::CustomHeader(header.to_ascii_lowercase()))
        }
        _ => None,
    };
    entry.close();
    Some(AuthRule { scheme: scheme?, binding: binding? })
}

fn custom(entry: &mut Fields, header: &str) -> bool {
    let lower = header.to_ascii_lowercase();
    let fault = if !is_token(header) {
        Some(("is no header name", "use letters, digits and hyphens"))
    } else if lower == "authorization" {
        Some(("is not for custom_header", "use the scheme \"bearer\" or \"basic\""))
    } else if PROTOCOL.contains(&lower.as_str()) || FRAMING.contains(&lower.as_str()) {
        Some(("is set by the client itself", "choose another header"))
    } else {
        None
    };
    if let Some((what, fix)) = fault {
        entry.problem("header", format!("{header:?} {what}"), fix);
    }
    fault.is_none()
}

/// Whether this is a token of RFC 7230.
pub(super) fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Whether this can be the value of a header.
pub fn is_value(value: &str) -> bool {
    value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}
