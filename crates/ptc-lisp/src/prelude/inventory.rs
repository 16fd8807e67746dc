//! The inventory that stands in prompts: a compact list of the exports that ask to be there.

use super::grants::{Grants, Upstreams, is_granted};
use super::metadata::{Effect, Visibility};
use super::{Export, Namespace, Prelude};

/// So many exports of a namespace are listed.
const LISTED: usize = 5;

/// Descriptions are cut after so many characters.
const SUMMARY: usize = 160;

impl Prelude {
    /// The inventory, if any export is to be in prompts. Upstreams say what the operations behind exports do.
    pub fn inventory(&self, upstreams: Option<&dyn Upstreams>) -> Option<String> {
        self.listed(upstreams, &|_| true)
    }

    /// The same for one run: without exports that call tools which are not granted.
    pub fn inventory_for(&self, grants: &Grants<'_>) -> Option<String> {
        let callable = |export: &Export| export.tools.iter().all(|tool| is_granted(grants.tools, tool));
        self.listed(grants.upstreams, &callable)
    }

    fn listed(
        &self,
        upstreams: Option<&dyn Upstreams>,
        callable: &dyn Fn(&Export) -> bool,
    ) -> Option<String> {
        let block = |ns: &Namespace| self.block(ns, upstreams, callable);
        let blocks: Vec<String> = self.namespaces.iter().filter_map(block).collect();
        if blocks.is_empty() {
            return None;
        }
        let head =
            ";; === prelude capabilities ===\n;; These APIs are there already; call them as (ns/name ...).";
        let hint = ";; More: (ns-publics 'ns), (doc 'ns/name), (apropos \"words\").";
        Some([&[head.to_owned()], blocks.as_slice(), &[hint.to_owned()]].concat().join("\n\n"))
    }

    fn block(
        &self,
        ns: &Namespace,
        upstreams: Option<&dyn Upstreams>,
        callable: &dyn Fn(&Export) -> bool,
    ) -> Option<String> {
        let own = |export: &&Export| {
            export.namespace == ns.name && export.visibility == Visibility::Prompt && callable(export)
        };
        let mut exports: Vec<&Export> = self.exports.iter().filter(own).collect();
        if exports.is_empty() || self.is_masked(&ns.name) {
            return None;
        }
        exports.sort_by_key(|export| &export.symbol);
        let mut lines = vec![match ns.doc.as_deref().map(flat).filter(|doc| !doc.is_empty()) {
            Some(doc) => format!(";; {} — {doc}", ns.name),
            None => format!(";; {}", ns.name),
        }];
        lines.extend(exports.iter().take(LISTED).map(|export| line(export, export.effect_with(upstreams))));
        if exports.len() > LISTED {
            lines.push(format!(
                "  ;; +{} more — discover via (ns-publics '{})",
                exports.len() - LISTED,
                ns.name
            ));
        }
        Some(lines.join("\n"))
    }
}

/// `  crm/get-user (get-user id) [read] — Return a user.`
fn line(export: &Export, effect: Effect) -> String {
    let call = |params: &super::Params| {
        let names = params.to_string();
        let names = names.strip_prefix('[').and_then(|names| names.strip_suffix(']')).unwrap_or(&names);
        let gap = if names.is_empty() { "" } else { " " };
        format!("({}{gap}{names})", export.symbol)
    };
    let calls: Vec<String> = export.params.iter().map(call).collect();
    let mut line = format!("  {}", export.name);
    if !calls.is_empty() {
        line.push_str(&format!(" {}", calls.join(" ")));
    }
    if effect != Effect::Unknown {
        line.push_str(&format!(" [{}]", effect.name()));
    }
    let summary = flat(&export.summary());
    if !summary.is_empty() {
        line.push_str(&format!(" — {summary}"));
    }
    line
}

/// A text on one line, cut where it gets long.
fn flat(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(SUMMARY) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
