//! What one run may use of the upstreams: operations and credentials. A narrower view of a runtime, never a
//! wider one.

use std::collections::BTreeSet;
use std::sync::Arc;

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

    /// Whether an upstream that needs these credentials may be reached.
    pub fn reaches<'c>(&self, needed: impl IntoIterator<Item = &'c str>) -> bool {
        self.credentials
            .as_ref()
            .is_none_or(|granted| needed.into_iter().all(|credential| granted.contains(credential)))
    }

    /// The part of a catalog that may be seen. `needed` says which credentials a server needs.
    pub(super) fn view(&self, catalog: &Arc<Catalog>, needed: &dyn Fn(&str) -> Vec<String>) -> Arc<Catalog> {
        if self.is_all() {
            return catalog.clone();
        }
        let server = |server: &Arc<Server>| {
            let credentials = needed(&server.name);
            let tools =
                server.tools.as_ref().filter(|_| self.reaches(credentials.iter().map(String::as_str)));
            let granted = |name: &str| self.allows(&server.name, name);
            let tools = tools.map(|tools| {
                let kept = tools.iter().filter(|(name, _)| granted(name));
                kept.map(|(name, tool)| (name.clone(), tool.clone())).collect()
            });
            Arc::new(Server { tools, ..(**server).clone() })
        };
        Arc::new(Catalog::new(catalog.servers().iter().map(server)))
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
        assert!(Grants::all().allows("x", "y") && Grants::all().reaches(["any"]) && !grants.is_all());
    }
}
