//! Prompts with placeholders: the part of Mustache that prompts need.
//!
//! `{{name}}`, `{{user.name}}`, `{{#items}}…{{/items}}`, `{{^items}}…{{/items}}`, `{{.}}` and `{{! comment}}`.
//! Nothing is escaped, and there are no partials, lambdas or other delimiters. A section or comment tag alone on
//! its line takes the whole line with it.

mod check;
mod parse;
mod render;

use std::collections::BTreeSet;
use std::fmt;

use crate::parse::error::ParseError;
use crate::signature::Signature;

/// A prompt with placeholders, already parsed.
///
/// ```
/// use ptc_signature::{OnMissing, Signature, Template};
/// use serde_json::json;
///
/// let signature = Signature::parse("(user {name :string}, topics [:string]) -> :any")?;
/// let prompt = Template::checked("Mails to {{user.name}} about:{{#topics}} {{.}}{{/topics}}", &signature)?;
/// let context = json!({"user": {"name": "Ada"}, "topics": ["tea", "maths"]});
/// assert_eq!(prompt.render(&context, OnMissing::Error)?, "Mails to Ada about: tea maths");
///
/// let slip = Template::checked("Mails to {{user.nmae}}", &signature).unwrap_err();
/// assert_eq!(slip.to_string(), "placeholder {{user.nmae}}: `nmae` is not declared (did you mean `name`?)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    nodes: Vec<TemplateNode>,
}

/// What a template is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplateNode {
    Text(String),
    /// A variable, with its tag as written.
    Variable {
        path: Name,
        raw: String,
    },
    Section {
        path: Name,
        inverted: bool,
        body: Vec<TemplateNode>,
    },
}

/// A dotted name; the empty one is `.`, the current value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name(Vec<String>);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str(".") } else { f.write_str(&self.0.join(".")) }
    }
}

/// A place in a template that wants a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    /// The dotted name, `.` for the current value.
    pub path: String,
    /// Whether it is a section rather than a variable.
    pub section: bool,
}

/// What happens to a variable that has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// Rendering fails and names all of them.
    #[default]
    Error,
    /// The tag stays as it is written.
    Keep,
}

/// Why a template cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is not a template.
    #[error(transparent)]
    Syntax(#[from] ParseError),
    /// Placeholders do not fit the signature; one line each.
    #[error("{}", .0.join("\n"))]
    Mismatch(Vec<String>),
    /// Variables have no value.
    #[error("missing values for {}", braced(.0))]
    Missing(Vec<String>),
    /// A variable is a list or a map.
    #[error("{{{{{path}}}}} is a {kind}: use a section, {{{{#{path}}}}}…{{{{/{path}}}}}")]
    NotText {
        /// The variable.
        path: String,
        /// What it is.
        kind: &'static str,
    },
}

fn braced(names: &[String]) -> String {
    names.iter().map(|name| format!("{{{{{name}}}}}")).collect::<Vec<_>>().join(", ")
}

impl Template {
    /// Parses a template.
    pub fn parse(source: &str) -> Result<Template, ParseError> {
        Ok(Template { source: source.to_owned(), nodes: parse::nodes(source)? })
    }

    /// Parses a template and checks its placeholders against the parameters of a signature.
    pub fn checked(source: &str, signature: &Signature) -> Result<Template, TemplateError> {
        let template = Template::parse(source)?;
        template.check(signature)?;
        Ok(template)
    }

    /// The text the template was parsed from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every placeholder, in order of appearance, each once.
    pub fn placeholders(&self) -> Vec<Placeholder> {
        let mut all = Vec::new();
        collect(&self.nodes, &mut all);
        let mut seen = BTreeSet::new();
        all.retain(|placeholder| seen.insert((placeholder.path.clone(), placeholder.section)));
        all
    }

    /// How often a placeholder stands in the template.
    pub fn count(&self, placeholder: &Placeholder) -> usize {
        let mut all = Vec::new();
        collect(&self.nodes, &mut all);
        all.iter().filter(|other| *other == placeholder).count()
    }

    /// Whether the template has sections.
    pub fn has_sections(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, TemplateNode::Section { .. }))
    }
}

impl TemplateNode {
    fn placeholder(&self) -> Option<Placeholder> {
        let (path, section) = match self {
            TemplateNode::Text(_) => return None,
            TemplateNode::Variable { path, .. } => (path, false),
            TemplateNode::Section { path, .. } => (path, true),
        };
        Some(Placeholder { path: path.to_string(), section })
    }
}

fn collect(nodes: &[TemplateNode], found: &mut Vec<Placeholder>) {
    for node in nodes {
        found.extend(node.placeholder());
        if let TemplateNode::Section { body, .. } = node {
            collect(body, found);
        }
    }
}
