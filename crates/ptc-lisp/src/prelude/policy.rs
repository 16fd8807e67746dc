//! What a host takes away from what sources show. It can only narrow: nothing here makes visible what a
//! source keeps to itself.

use std::collections::BTreeMap;

use super::metadata::Visibility;
use super::outline::Outline;

/// Which exports may be seen. Entries are qualified names, or namespaces for all that is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The exports that programs may call and find; all if there is no list.
    pub exports: Option<Vec<String>>,
    /// The exports that may stand in prompts; all if there is no list.
    pub prompt: Option<Vec<String>>,
    /// Exports, by qualified name, that programs may not call, with what they are told when they try.
    pub withheld: BTreeMap<String, String>,
    /// Namespaces that lists leave out unless everything is asked for. They can be called all the same.
    pub masked: Vec<String>,
}

impl Policy {
    /// Whether it takes nothing away.
    pub fn is_open(&self) -> bool {
        self.exports.is_none() && self.prompt.is_none() && self.withheld.is_empty() && self.masked.is_empty()
    }

    /// Makes private what may not be called, and discoverable what may not be in prompts.
    pub(super) fn narrow(&self, outline: &mut Outline) {
        for draft in &mut outline.drafts {
            let ns = &outline.namespaces[draft.ns];
            let withheld = self.withheld.contains_key(&format!("{}/{}", ns.name, draft.name));
            if withheld || !allows(self.exports.as_deref(), &ns.name, &draft.name) {
                draft.private = true;
            }
            let own = draft.meta.visibility.unwrap_or(ns.visibility);
            let most = match allows(self.prompt.as_deref(), &ns.name, &draft.name) {
                true => Visibility::Prompt,
                false => Visibility::Discoverable,
            };
            draft.meta.visibility = Some(own.min(most));
        }
    }

    /// A text that is the same for equal policies.
    pub(super) fn described(&self) -> String {
        let list = |names: &Option<Vec<String>>| match names {
            None => "*".to_owned(),
            Some(names) => {
                let mut names = names.clone();
                names.sort_unstable();
                names.join(" ")
            }
        };
        let mut text = format!("exports {}\nprompt {}", list(&self.exports), list(&self.prompt));
        if !self.withheld.is_empty() {
            text.push_str(&format!("\nwithheld {:?}", self.withheld));
        }
        if !self.masked.is_empty() {
            text.push_str(&format!("\nmasked {}", list(&Some(self.masked.clone()))));
        }
        text
    }
}

fn allows(names: Option<&[String]>, ns: &str, name: &str) -> bool {
    let matches = |entry: &String| match entry.split_once('/') {
        Some((entry_ns, local)) => entry_ns == ns && local == name,
        None => entry == ns,
    };
    names.is_none_or(|names| names.iter().any(matches))
}
