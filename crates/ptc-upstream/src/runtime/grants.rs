//! What one run may use of the upstreams: operations and credentials. A narrower view of a runtime, never a
//! wider one.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::catalog::{Catalog, Server};

/// What is granted; everything unless told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// `server/tool`, or `server/*` for all tools of a server; `None` grants all.
    operations: Option<BTreeSet<String>>,
    /// The names of credentials; `None` grants all.
    credentials: Option<BTreeSet<String>>,
}

/// How operations are written in grants of roles.
const OPERATION: &str = "upstream:";

impl Grants {
    /// Everything.
    pub fn all() -> Grants {
        Grants::default()
    }

    /// Only these operations: `server/tool`, `server/*`, both also with `upstream:` in front.
    #[must_use]
    pub fn operations<S: AsRef<str>>(self, operations: impl IntoIterator<Item = S>) -> Grants {
        let plain = |operation: S| {
            let operation = operation.as_ref();
            operation.strip_prefix(OPERATION).unwrap_or(operation).to_owned()
        };
        Grants { operations: Some(operations.into_iter().map(plain).collect()), ..self }
    }

    /// Only upstreams that need no other credentials than these.
    #[must_use]
    pub fn credentials<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Grants {
        Grants { credentials: Some(names.into_iter().map(Into::into).collect()), ..self }
    }

    /// What is granted, as JSON of a fixed form for whatever is bound to it.
    pub fn canonical(&self) -> Json {
        let Grants { operations, credentials } = self;
        json!({"operations": operations, "credentials": credentials})
    }

    /// Whether nothing is held back.
    pub fn is_all(&self) -> bool {
        self.operations.is_none() && self.credentials.is_none()
    }

    /// Whether a tool, by the name that its server gives it, may be called.
    pub fn allows(&self, server: &str, tool: &str) -> bool {
        self.operations.as_ref().is_none_or(|granted| {
            granted.contains(&format!("{server}/{tool}")) || granted.contains(&format!("{server}/*"))
        })
    }

    /// Whether any tool of a server may be called.
    fn names(&self, server: &str) -> bool {
        let of = |operation: &String| operation.split_once('/').is_some_and(|(of, _)| of == server);
        self.operations.as_ref().is_none_or(|granted| granted.iter().any(of))
    }

    /// Whether an upstream that needs these credentials may be reached.
    pub fn reaches<'c>(&self, needed: impl IntoIterator<Item = &'c str>) -> bool {
        self.credentials
            .as_ref()
            .is_none_or(|granted| needed.into_iter().all(|credential| granted.contains(credential)))
    }

    /// The part of a catalog that may be seen: servers that can be reached and of which something is granted, with what is
    /// granted of them. `needed` says which credentials a server needs.
    pub(super) fn view(&self, catalog: &Arc<Catalog>, needed: &dyn Fn(&str) -> Vec<String>) -> Arc<Catalog> {
        if self.is_all() {
            return catalog.clone();
        }
        let seen = |server: &&Arc<Server>| {
            let credentials = needed(&server.name);
            self.names(&server.name) && self.reaches(credentials.iter().map(String::as_str))
        };
        let server = |server: &Arc<Server>| {
            let granted = |name: &str| self.allows(&server.name, name);
            let tools = server.tools.as_ref().map(|tools| {
                let kept = tools.iter().filter(|(name, _)| granted(name));
                kept.map(|(name, tool)| (name.clone(), tool.clone())).collect()
            });
            let held = server.held.iter().filter(|(name, _)| granted(name));
            let held = Arc::new(held.map(|(name, why)| (name.clone(), why.clone())).collect());
            // What was there before is not held against grants.
            Arc::new(Server { tools, held, remembered: None, ..(**server).clone() })
        };
        Arc::new(Catalog::new(catalog.servers().iter().filter(seen).map(server)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_name_tools_servers_and_credentials() {
        let grants = Grants::all().operations(["upstream:fs/read", "github/*"]).credentials(["pat"]);
        for (server, tool, expected) in
            [("fs", "read", true), ("fs", "write", false), ("github", "any", true), ("other", "x", false)]
        {
            assert_eq!(grants.allows(server, tool), expected, "{server}/{tool}");
        }
        assert!(grants.reaches(["pat"]) && grants.reaches([]) && !grants.reaches(["pat", "root"]));
        let canonical = json!({"operations": ["fs/read", "github/*"], "credentials": ["pat"]});
        assert_eq!(grants.canonical(), canonical);
        assert_eq!(Grants::all().canonical(), json!({"operations": null, "credentials": null}));
        assert!(Grants::all().allows("x", "y") && Grants::all().reaches(["any"]) && !grants.is_all());
    }
}
