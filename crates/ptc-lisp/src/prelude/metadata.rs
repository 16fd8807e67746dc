//! Metadata of namespaces and definitions: `{:visibility :prompt :effect :read …}`, checked key by key.

use super::problem::{Problem, Reason};
use crate::analyze::closest;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Whether an export stands in the prompt or is only found by discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Visibility {
    /// Found by discovery, not in the prompt.
    Discoverable,
    /// In the prompt's inventory, and found by discovery.
    Prompt,
}

impl Visibility {
    /// The name that metadata and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Visibility::Prompt => "prompt",
            Visibility::Discoverable => "discoverable",
        }
    }
}

/// What calling an export does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It only reads.
    Read,
    /// It changes something.
    Write,
    /// Nobody has said.
    Unknown,
}

impl Effect {
    /// The name that metadata and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::Unknown => "unknown",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Effect> {
        [Effect::Read, Effect::Write, Effect::Unknown].into_iter().find(|effect| effect.name() == name)
    }
}

/// The keys of metadata, and whether they say something about a namespace as well as about a definition.
const KEYS: &[(&str, bool)] = &[
    ("visibility", true),
    ("doc", true),
    ("effect", false),
    ("requires", false),
    ("provider-ref", false),
    ("private", false),
];

/// What metadata is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of<'n> {
    /// The namespace of this name.
    Namespace(&'n str),
    /// The definition of this name.
    Definition(&'n str),
}

impl<'n> Of<'n> {
    fn name(self) -> &'n str {
        match self {
            Of::Namespace(name) | Of::Definition(name) => name,
        }
    }

    /// The keys that it may have.
    fn keys(self) -> impl Iterator<Item = &'static str> {
        let of_namespace = matches!(self, Of::Namespace(_));
        KEYS.iter().filter(move |(_, shared)| *shared || !of_namespace).map(|(key, _)| *key)
    }

    /// A key that says nothing would be trusted all the same: one letter that is wrong in `:requires`, and nothing is
    /// required.
    fn refuses(self, key: &str, span: Span) -> Problem {
        let known: Vec<String> = self.keys().map(|key| format!(":{key}")).collect();
        let shown: String = key.chars().take(80).collect();
        let message = format!("metadata of {} has an unknown key :{shown}", self.name());
        let listed = format!("the keys are {}", known.join(", "));
        Problem::at(Reason::InvalidMetadata, span, message).hint(match closest(key, self.keys()) {
            Some(meant) => format!("did you mean :{meant}? {listed}"),
            None => listed,
        })
    }
}

/// What metadata says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Metadata {
    pub visibility: Option<Visibility>,
    pub effect: Option<Effect>,
    pub provider: Option<String>,
    pub requires: Vec<String>,
    pub doc: Option<String>,
    pub private: bool,
}

impl Metadata {
    /// Takes in one map; `of` is what it is said about.
    pub fn read(&mut self, items: &[Form], of: Of<'_>) -> Result<(), Problem> {
        for pair in items.chunks_exact(2) {
            let [key, value] = pair else { continue };
            let Some(name) = key.as_keyword() else {
                let message = format!("metadata of {} has a key that is no keyword", of.name());
                return Err(Problem::at(Reason::InvalidMetadata, key.span, message)
                    .hint("write {:visibility :prompt :effect :read}"));
            };
            let name = name.replace('_', "-");
            if !of.keys().any(|known| known == name) {
                return Err(of.refuses(&name, key.span));
            }
            self.entry(&name, value, of.name())?;
        }
        Ok(())
    }

    /// Takes in what is written before a name: `^:private`, `^{:effect :read}`.
    pub fn read_before(&mut self, forms: &[Form], of: Of<'_>) -> Result<(), Problem> {
        for form in forms {
            match &form.kind {
                FormKind::Map(items) => self.read(items, of)?,
                FormKind::Keyword(name) if name == "private" && matches!(of, Of::Definition(_)) => {
                    self.private = true;
                }
                FormKind::Keyword(name) => return Err(of.refuses(name, form.span)),
                // Hints of types say nothing here.
                _ => {}
            }
        }
        Ok(())
    }

    fn entry(&mut self, key: &str, value: &Form, of: &str) -> Result<(), Problem> {
        match key {
            "visibility" => self.visibility = Some(visibility(value, of)?),
            "effect" => self.effect = Some(effect(value, of)?),
            "provider-ref" => self.provider = Some(text(value, ":provider-ref", of)?),
            "doc" => self.doc = Some(text(value, ":doc", of)?),
            "requires" => self.requires.extend(requires(value, of)?),
            "private" => self.private = matches!(value.kind, FormKind::Bool(true)),
            _ => {}
        }
        Ok(())
    }
}

fn visibility(value: &Form, of: &str) -> Result<Visibility, Problem> {
    match value.as_keyword() {
        Some("prompt") => Ok(Visibility::Prompt),
        Some("discoverable") => Ok(Visibility::Discoverable),
        _ => Err(Problem::at(Reason::InvalidVisibility, value.span, format!("invalid visibility of {of}"))
            .hint("use :prompt or :discoverable; defn- hides a function")),
    }
}

fn effect(value: &Form, of: &str) -> Result<Effect, Problem> {
    value.as_keyword().and_then(Effect::named).ok_or_else(|| {
        let message = format!(":effect of {of} must be :read, :write or :unknown");
        Problem::at(Reason::InvalidMetadata, value.span, message)
    })
}

fn text(value: &Form, key: &str, of: &str) -> Result<String, Problem> {
    match &value.kind {
        FormKind::Str(text) => Ok(text.clone()),
        _ => Err(Problem::at(Reason::InvalidMetadata, value.span, format!("{key} of {of} must be a string"))),
    }
}

fn requires(value: &Form, of: &str) -> Result<Vec<String>, Problem> {
    let refused = |span: Span| {
        Problem::at(Reason::InvalidRequires, span, format!(":requires must be a list of strings, in {of}"))
            .hint("write [\"upstream:server/tool\" \"tool:name\"]")
    };
    let (FormKind::Vector(items) | FormKind::List(items)) = &value.kind else {
        return Err(refused(value.span));
    };
    let string = |item: &Form| match &item.kind {
        FormKind::Str(text) => Ok(text.clone()),
        _ => Err(refused(item.span)),
    };
    items.iter().map(string).collect()
}
