//! What traces say about the prelude of a run: enough to run it again, nothing of its source.

use serde_json::{Value as Json, json};

use super::outline::Outline;
use super::{Prelude, Source, hashes};

/// One of the sources that a prelude was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// What it is called.
    pub id: String,
    /// The hash of its text.
    pub source_hash: String,
    /// The namespaces that it declares.
    pub namespaces: Vec<String>,
    /// Where it comes from.
    pub origin: String,
    /// The components that it needs.
    pub needs: Vec<String>,
}

impl Component {
    pub(super) fn of(part: &Source<'_>, number: usize, outline: &Outline) -> Self {
        let own = outline.namespaces.iter().filter(|ns| ns.part == number);
        Component {
            id: part.id.to_owned(),
            source_hash: hashes::hash(part.text),
            namespaces: own.map(|ns| ns.name.clone()).collect(),
            origin: part.origin.to_owned(),
            needs: part.needs.to_vec(),
        }
    }
}

impl Prelude {
    /// The summary: hashes, namespaces, components and the records of exports.
    pub fn trace_summary(&self) -> Json {
        let component = |component: &Component| {
            json!({
                "id": component.id,
                "source_hash": component.source_hash,
                "namespaces": component.namespaces,
                "origin": component.origin,
                "needs": component.needs,
            })
        };
        let namespaces: Vec<&str> = self.namespaces().iter().map(|ns| ns.name.as_str()).collect();
        json!({
            "source_hash": self.source_hash(),
            "artifact_hash": self.artifact_hash(),
            "protected_namespaces": namespaces,
            "components": self.components().iter().map(component).collect::<Vec<_>>(),
            "exports": self.exports().iter().map(super::Export::json).collect::<Vec<_>>(),
            "host_policy_hash": self.policy_hash,
        })
    }
}
