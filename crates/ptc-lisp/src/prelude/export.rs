//! The record of a public export: everything that discovery, prompts, hosts and traces know about it.

use serde_json::{Value as Json, json};

use super::metadata::{Effect, Visibility};
use super::outline::Params;
use super::problem::{Problem, Reason};
use super::{Definition, Prelude};

/// An export that reaches more operations is refused.
const MAX_REQUIRES: usize = 256;

/// What an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A function.
    Function,
    /// A value.
    Constant,
}

impl Kind {
    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Function => "function",
            Kind::Constant => "constant",
        }
    }
}

/// A public export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its qualified name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// Its name in the namespace.
    pub symbol: String,
    /// What it is.
    pub kind: Kind,
    /// The parameters of each arity.
    pub params: Vec<Params>,
    /// The docstring.
    pub doc: Option<String>,
    /// Where it can be seen.
    pub visibility: Visibility,
    /// What calling it does, as its author says; unknown if nobody has said. Upstreams may know more:
    /// [`Export::effect_with`].
    pub effect: Effect,
    /// Whether its author says what it does.
    pub declares_effect: bool,
    /// The operation that stands behind it.
    pub provider: Option<String>,
    /// Ids of operations that the host must grant, sorted.
    pub requires: Vec<String>,
    /// Tools that it may call, sorted.
    pub tools: Vec<String>,
    /// Whether it calls upstreams that are only known when it runs.
    pub dynamic: bool,
    pub(crate) number: u32,
}

impl Export {
    /// The parameter vectors, `[id] [id options]`.
    pub fn arglists(&self) -> String {
        let lists: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        lists.join(" ")
    }

    /// How many arguments it takes, in words: `1`, `1 or 2`, `at least 1`.
    pub fn arity(&self) -> String {
        let word = |params: &Params| match params.rest {
            Some(_) => format!("at least {}", params.fixed.len()),
            None => params.fixed.len().to_string(),
        };
        match self.kind {
            Kind::Constant => "0".to_owned(),
            Kind::Function => self.params.iter().map(word).collect::<Vec<_>>().join(" or "),
        }
    }

    /// The first line of its documentation, with one space between words.
    pub fn summary(&self) -> String {
        let text = self.doc.as_deref().unwrap_or_default();
        // Examples are for those who ask.
        let text = text.split("(comment").next().unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The record as traces have it: nothing of the source, no values.
    pub fn json(&self) -> Json {
        let params: Vec<Json> = self.params.iter().map(|params| params.to_string().into()).collect();
        let mut record = json!({
            "ref": self.name,
            "namespace": self.namespace,
            "symbol": self.symbol,
            "kind": self.kind.name(),
            "params": params,
            "visibility": self.visibility.name(),
            "effect": self.effect.name(),
            "provider": self.provider,
            "requires": self.requires,
        });
        match self.params.as_slice() {
            [] => record["arity"] = 0.into(),
            [Params { fixed, rest: None }] => record["arity"] = fixed.len().into(),
            many => {
                let least = many.iter().map(|params| params.fixed.len()).min().unwrap_or_default();
                record["min_arity"] = least.into();
                record["variadic"] = many.iter().any(|params| params.rest.is_some()).into();
            }
        }
        record
    }
}

/// The records of all public definitions. A problem belongs to the definition with the number.
pub(super) fn records(prelude: &Prelude) -> Result<Vec<Export>, (u32, Problem)> {
    let numbered = prelude.definitions.iter().enumerate().filter(|(_, definition)| !definition.private);
    numbered
        .map(|(number, definition)| {
            let number = number as u32;
            record(prelude, definition, number).map_err(|problem| (number, problem))
        })
        .collect()
}

fn record(prelude: &Prelude, definition: &Definition, number: u32) -> Result<Export, Problem> {
    let inferred = prelude.inferred(number);
    let meta = &definition.meta;
    let provider = meta.provider.clone().or_else(|| inferred.only_upstream().cloned());
    let mut requires = inferred.ids;
    requires.extend(meta.requires.iter().cloned());
    if requires.len() > MAX_REQUIRES {
        let message = format!("{} requires more than {MAX_REQUIRES} operations", definition.full);
        return Err(
            Problem::at(Reason::Compile, definition.span, message).hint("split it into several functions")
        );
    }
    let ns = &prelude.namespaces[definition.ns];
    Ok(Export {
        name: definition.full.clone(),
        namespace: ns.name.clone(),
        symbol: definition.name.clone(),
        kind: definition.kind,
        params: definition.params.clone(),
        doc: definition.doc.clone(),
        visibility: meta.visibility.unwrap_or(ns.visibility),
        effect: meta.effect.unwrap_or(Effect::Unknown),
        declares_effect: meta.effect.is_some(),
        provider,
        requires: requires.into_iter().collect(),
        tools: inferred.tools.into_iter().collect(),
        dynamic: inferred.dynamic,
        number,
    })
}
