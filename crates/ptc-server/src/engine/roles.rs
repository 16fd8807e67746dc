//! The policy file of sessions: which tools of the server are offered, which roles there are, and what each
//! role grants. What is not written down is not granted, unless its default says so; unknown keys are refused.

use std::collections::BTreeMap;

use ptc_store::preludes::{Access, PreludeError, Preludes, Ref};
use ptc_upstream::Grants;
use ptc_upstream::catalog::Catalog;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::sessions::Mode;
use super::text::hex;
use super::tools::Tool;

/// All roles, and what the server offers at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The role of sessions that name none.
    pub default_role: Option<String>,
    /// The tools of the server that are offered; all if nothing is said.
    pub mcp_tools: Option<Vec<String>>,
    /// The roles by name.
    pub roles: BTreeMap<String, Role>,
}

/// What a role grants.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// The server's own tools that programs may use; all if nothing is said.
    pub ptc_tools: Option<Vec<String>>,
    /// Upstream operations, `upstream:server/tool`; `None` for all.
    pub upstream_tools: Option<Vec<String>>,
    /// Credentials whose upstreams may be used.
    pub credentials: Vec<String>,
    /// How much of the prelude store may be used.
    pub prelude_store: Option<Access>,
    /// Exact preludes; all if nothing is said.
    pub preludes: Option<Vec<Ref>>,
    /// Kinds of session.
    pub modes: Vec<Mode>,
    /// Whether programs may call only what they selected, not what that needs.
    pub strict_transitive_calls: bool,
}

/// What there is to grant on a server.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// The upstreams, if there are any.
    pub catalog: Option<&'k Catalog>,
    /// The names of credentials.
    pub credentials: &'k [String],
    /// The server's own tools for programs.
    pub tools: &'k [String],
}

impl Known<'_> {
    /// Whether an operation may exist: a server whose tools were not listed may have any.
    fn operation(&self, operation: &str) -> bool {
        let operation = operation.strip_prefix("upstream:").unwrap_or(operation);
        let Some((server, tool)) = operation.split_once('/') else { return false };
        let Some(server) = self.catalog.and_then(|catalog| catalog.server(server)) else { return false };
        tool == "*" || server.tools.as_ref().is_none_or(|tools| tools.contains_key(tool))
    }
}

impl Default for Role {
    fn default() -> Self {
        Role {
            ptc_tools: None,
            upstream_tools: Some(Vec::new()),
            credentials: Vec::new(),
            prelude_store: Some(Access::Read),
            preludes: None,
            modes: vec![Mode::ReadOnly],
            strict_transitive_calls: false,
        }
    }
}

impl Policy {
    /// Reads a policy; the error says where it is wrong.
    pub fn parse(text: &str) -> Result<Policy, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        let top = object(&json, "the policy", &["default_role", "outer_policy", "roles"])?;
        let mut policy = Policy::default();
        if let Some(outer) = top.get("outer_policy") {
            let outer = object(outer, "outer_policy", &["mcp_tools"])?;
            policy.mcp_tools = texts(outer.get("mcp_tools"), "outer_policy.mcp_tools")?;
            let unknown = policy.mcp_tools.iter().flatten().find(|name| Tool::named(name).is_none());
            if let Some(name) = unknown {
                let shown = super::text::cut(name, 40);
                return Err(format!(
                    "outer_policy.mcp_tools names `{shown}`, which is no tool of this server"
                ));
            }
        }
        let none = Map::new();
        let roles = match top.get("roles") {
            None => &none,
            Some(Json::Object(roles)) => roles,
            Some(_) => return Err("roles must be an object".to_owned()),
        };
        for (name, role) in roles {
            if !is_role_name(name) {
                return Err("a role's name has 1 to 64 letters, digits, `_`, `.` or `-`".to_owned());
            }
            policy.roles.insert(name.clone(), Role::parse(role, &format!("roles.{name}"))?);
        }
        policy.default_role = match top.get("default_role") {
            None | Some(Json::Null) => None,
            Some(Json::String(name)) if policy.roles.contains_key(name) => Some(name.clone()),
            Some(_) => return Err("default_role must be the name of a role".to_owned()),
        };
        Ok(policy)
    }

    /// Refuses roles that grant what there is not: a grant that misses its mark is a mistake.
    pub fn check(&self, known: &Known<'_>) -> Result<(), String> {
        for (name, role) in &self.roles {
            let credentials = role.credentials.iter().filter(|one| !known.credentials.contains(one));
            refuse(name, "credential(s)", credentials)?;
            let operations = role.upstream_tools.iter().flatten().filter(|one| !known.operation(one));
            refuse(name, "upstream operation(s)", operations)?;
            let tools = role.ptc_tools.iter().flatten().filter(|one| !known.tools.contains(one));
            refuse(name, "tool(s)", tools)?;
        }
        Ok(())
    }

    /// Refuses roles that grant preludes which the store does not have.
    pub fn check_preludes(&self, store: Option<&Preludes>) -> Result<(), String> {
        for (name, role) in &self.roles {
            let is_unknown = |wanted: &&Ref| match store {
                Some(store) => matches!(store.read(wanted), Err(PreludeError::Refused { .. })),
                None => true,
            };
            let granted = role.preludes.iter().flatten();
            let unknown: Vec<String> = granted.filter(is_unknown).map(ToString::to_string).collect();
            refuse(name, "prelude(s)", unknown.iter())?;
        }
        Ok(())
    }

    /// The role of a session: the one that is asked for, or the default one. A credential's roles bound both.
    pub fn choose(
        &self,
        wanted: Option<&str>,
        credential: Option<&[String]>,
    ) -> Result<(&str, &Role), &'static str> {
        let allowed = |name: &str| credential.is_none_or(|roles| roles.iter().any(|role| role == name));
        let name = match (wanted, credential) {
            (Some(name), _) if !is_role_name(name) => return Err("invalid role"),
            (Some(name), Some(_)) if !allowed(name) => return Err("role is not allowed for this credential"),
            (Some(name), _) => name,
            (None, _) if self.default_role.as_deref().is_some_and(allowed) => {
                self.default_role.as_deref().unwrap_or_default()
            }
            (None, Some([only])) => only.as_str(),
            (None, Some(_)) => return Err("role is required for this credential"),
            (None, None) => return Err("role is required when session roles are configured"),
        };
        let (name, role) = self.roles.get_key_value(name).ok_or("unknown session role")?;
        Ok((name.as_str(), role))
    }
}

fn refuse<'n>(role: &str, what: &str, unknown: impl Iterator<Item = &'n String>) -> Result<(), String> {
    let unknown: Vec<&str> = unknown.map(String::as_str).collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(format!("role {role} grants unknown {what}: {}", unknown.join(", "))),
    }
}

impl Role {
    fn parse(json: &Json, at: &str) -> Result<Role, String> {
        const KEYS: &[&str] = &[
            "ptc_tools",
            "upstream_tools",
            "credentials",
            "prelude_store",
            "preludes",
            "modes",
            "strict_transitive_calls",
        ];
        let fields = object(json, at, KEYS)?;
        let key = |name: &str| format!("{at}.{name}");
        let mut role = Role {
            ptc_tools: texts(fields.get("ptc_tools"), &key("ptc_tools"))?,
            credentials: texts(fields.get("credentials"), &key("credentials"))?.unwrap_or_default(),
            ..Role::default()
        };
        role.upstream_tools = match fields.get("upstream_tools") {
            Some(Json::String(all)) if all == "all" => None,
            other => {
                let operations = texts(other, &key("upstream_tools"))?.unwrap_or_default();
                let right = |operation: &String| {
                    let parts = operation.strip_prefix("upstream:").and_then(|rest| rest.split_once('/'));
                    parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
                };
                if !operations.iter().all(right) {
                    return Err(format!(
                        "{at}.upstream_tools must be \"all\" or a list of upstream:server/tool"
                    ));
                }
                Some(operations)
            }
        };
        role.prelude_store = match fields.get("prelude_store").map(Json::as_str) {
            None | Some(Some("read")) => Some(Access::Read),
            Some(Some("none")) => None,
            Some(Some("write")) => Some(Access::Write),
            Some(_) => return Err(format!("{at}.prelude_store must be none, read or write")),
        };
        role.preludes = match fields.get("preludes") {
            None => None,
            Some(Json::Array(refs)) => {
                let exact = |(index, json): (usize, &Json)| match Ref::from_json(json) {
                    Ok(one) if one.version.is_some() => Ok(one),
                    _ => Err(format!("{at}.preludes[{index}] must be an exact id@version")),
                };
                Some(refs.iter().enumerate().map(exact).collect::<Result<_, _>>()?)
            }
            Some(_) => return Err(format!("{at}.preludes must be a list")),
        };
        if let Some(modes) = texts(fields.get("modes"), &key("modes"))? {
            let mode =
                |name: &String| Mode::named(name).ok_or_else(|| format!("{at}.modes has no such mode"));
            role.modes = modes.iter().map(mode).collect::<Result<_, _>>()?;
        }
        role.strict_transitive_calls = match fields.get("strict_transitive_calls") {
            None => false,
            Some(Json::Bool(strict)) => *strict,
            Some(_) => return Err(format!("{at}.strict_transitive_calls must be a boolean")),
        };
        Ok(role)
    }

    /// Whether programs may use a tool of the server.
    pub fn allows_tool(&self, name: &str) -> bool {
        self.ptc_tools.as_ref().is_none_or(|tools| tools.iter().any(|tool| tool == name))
    }

    /// Which upstream tools programs of this role may use.
    pub fn grants(&self) -> Grants {
        let grants = match &self.upstream_tools {
            None => Grants::all(),
            Some(operations) => Grants::all().operations(operations),
        };
        grants.credentials(self.credentials.iter().cloned())
    }

    /// A checksum of the grant, so that records say under which one a program ran.
    pub fn fingerprint(&self) -> String {
        let sorted = |texts: &[String]| {
            let mut sorted = texts.to_vec();
            sorted.sort_unstable();
            sorted
        };
        let canonical = json!({
            "credentials": sorted(&self.credentials),
            "modes": self.modes.iter().map(|mode| mode.name()).collect::<Vec<_>>(),
            "prelude_store": match self.prelude_store {
                None => "none",
                Some(Access::Read) => "read",
                Some(Access::Write) => "write",
            },
            "preludes": self.preludes.as_ref().map(|refs| {
                sorted(&refs.iter().map(ToString::to_string).collect::<Vec<_>>())
            }),
            "ptc_tools": self.ptc_tools.as_deref().map(sorted),
            "schema_version": 2,
            "strict_transitive_calls": self.strict_transitive_calls,
            "upstream_tools": self.upstream_tools.as_deref().map_or(json!("all"), |tools| json!(sorted(tools))),
        });
        format!("sha256:{}", hex(&Sha256::digest(canonical.to_string().as_bytes())))
    }
}

/// Whether a text can name a role.
pub fn is_role_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn object<'j>(json: &'j Json, at: &str, keys: &[&str]) -> Result<&'j Map<String, Json>, String> {
    let Json::Object(fields) = json else { return Err(format!("{at} must be an object")) };
    match fields.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(fields),
        Some(key) => Err(format!(
            "{at} has the unknown key `{}`; known are {}",
            super::text::cut(key, 40),
            keys.join(", ")
        )),
    }
}

fn texts(json: Option<&Json>, at: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("{at} must be a list of texts");
    match json {
        None => Ok(None),
        Some(Json::Array(items)) => {
            let text = |item: &Json| item.as_str().map(str::to_owned).ok_or_else(wrong);
            items.iter().map(text).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = r#"{"default_role": "reader", "outer_policy": {"mcp_tools": ["lisp_session_start"]},
        "roles": {"reader": {"upstream_tools": ["upstream:crm/get"]},
                  "author": {"upstream_tools": "all", "prelude_store": "write",
                             "modes": ["read_only", "write_capable"], "preludes": ["paged@2"]}}}"#;

    #[test]
    fn r9_5_1_what_is_not_granted_is_not_there() {
        let policy = Policy::parse(POLICY).expect("it is right");
        let (name, reader) = policy.choose(None, None).expect("there is a default");
        assert_eq!((name, reader.modes.as_slice()), ("reader", &[Mode::ReadOnly][..]));
        assert_eq!(reader.prelude_store, Some(Access::Read));
        assert!(reader.grants().allows("crm", "get") && !reader.grants().allows("crm", "put"));
        let (_, author) = policy.choose(Some("author"), None).expect("it is there");
        assert!(author.grants().allows("crm", "put"));
        assert!(author.fingerprint().starts_with("sha256:") && author.fingerprint() != reader.fingerprint());
    }

    #[test]
    fn r9_5_2_and_r1_7_8_roles_are_chosen_within_the_credential() {
        let policy = Policy::parse(POLICY).expect("it is right");
        let (one, both) = (["author".to_owned()], ["author".to_owned(), "other".to_owned()]);
        for (wanted, credential, expected) in [
            (Some("nobody"), None, Err("unknown session role")),
            (Some("no/body"), None, Err("invalid role")),
            (Some("reader"), Some(&one[..]), Err("role is not allowed for this credential")),
            (None, Some(&one[..]), Ok("author")),
            (None, Some(&both[..]), Err("role is required for this credential")),
            (Some("author"), Some(&both[..]), Ok("author")),
        ] {
            assert_eq!(policy.choose(wanted, credential).map(|(name, _)| name), expected, "{wanted:?}");
        }
        let without = Policy { default_role: None, ..policy };
        assert_eq!(
            without.choose(None, None).map(|(name, _)| name),
            Err("role is required when session roles are configured")
        );
    }

    #[test]
    fn r9_5_1_mistakes_are_named() {
        for (text, expected) in [
            ("[", "is not JSON"),
            ("[]", "the policy must be an object"),
            (r#"{"role": {}}"#, "the policy has the unknown key `role`"),
            (r#"{"roles": {"a b": {}}}"#, "a role's name has"),
            (r#"{"roles": {"a": {"upstream": 1}}}"#, "roles.a has the unknown key `upstream`"),
            (r#"{"roles": {"a": {"upstream_tools": ["crm/get"]}}}"#, "roles.a.upstream_tools must be"),
            (r#"{"roles": {"a": {"preludes": ["paged"]}}}"#, "roles.a.preludes[0] must be an exact"),
            (r#"{"roles": {"a": {"modes": ["all"]}}}"#, "roles.a.modes has no such mode"),
            (r#"{"default_role": "x"}"#, "default_role must be"),
            (r#"{"outer_policy": {"mcp_tools": ["lisp_evil"]}}"#, "outer_policy.mcp_tools names `lisp_evil`"),
        ] {
            let error = Policy::parse(text).expect_err("it is wrong");
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
