//! Placeholders against the parameters of a signature, when a prompt is made rather than when it is used.

use super::{Name, Template, TemplateError, TemplateNode};
use crate::signature::{Signature, UnknownPath};
use crate::types::Type;

impl Template {
    /// Checks that every placeholder names a parameter, that nested names exist where the type is known, and
    /// that lists and maps are only used as sections.
    pub fn check(&self, signature: &Signature) -> Result<(), TemplateError> {
        self.problems(signature, false)
    }

    /// The same where placeholders may stand for the names of inputs: outside of sections lists and maps have names too.
    pub fn check_names(&self, signature: &Signature) -> Result<(), TemplateError> {
        self.problems(signature, true)
    }

    fn problems(&self, signature: &Signature, names: bool) -> Result<(), TemplateError> {
        let root = Type::Record(signature.input.clone());
        let mut check = TemplateCheck { root: &root, names, problems: Vec::new() };
        check.nodes(&self.nodes, &mut Vec::new());
        match check.problems.is_empty() {
            true => Ok(()),
            false => Err(TemplateError::Mismatch(check.problems)),
        }
    }
}

struct TemplateCheck<'t> {
    root: &'t Type,
    /// Whether lists and maps may stand outside of sections.
    names: bool,
    problems: Vec<String>,
}

/// The type of the current value in each open section, `None` where it is not known.
type Frames<'t> = Vec<Option<&'t Type>>;

impl<'t> TemplateCheck<'t> {
    fn nodes(&mut self, nodes: &[TemplateNode], frames: &mut Frames<'t>) {
        for node in nodes {
            match node {
                TemplateNode::Text(_) => {}
                TemplateNode::Variable { path, .. } => self.variable(path, frames),
                TemplateNode::Section { path, inverted, body } => {
                    let ty = self.resolve(path, frames).unwrap_or(None);
                    if *inverted {
                        self.nodes(body, frames);
                    } else {
                        frames.push(ty.and_then(element));
                        self.nodes(body, frames);
                        frames.pop();
                    }
                }
            }
        }
    }

    fn variable(&mut self, path: &Name, frames: &Frames<'t>) {
        if let Ok(Some(ty)) = self.resolve(path, frames)
            && !ty.is_scalar()
            && !(self.names && frames.is_empty())
        {
            let kind = if ty.is_iterable() { "list" } else { "map" };
            self.problem(path, format!("is a {kind}, use a section: {{{{#{path}}}}}…{{{{/{path}}}}}"));
        }
    }

    /// The type of a name, noting a problem if there is no such name.
    fn resolve(&mut self, path: &Name, frames: &Frames<'t>) -> Result<Option<&'t Type>, ()> {
        let Some((first, rest)) = path.0.split_first() else {
            return match frames.last() {
                Some(frame) => Ok(*frame),
                None => {
                    self.problem(path, "there is no current value outside of a section".to_owned());
                    Err(())
                }
            };
        };
        let mut here = self.first(path, first, frames)?;
        for segment in rest {
            here = match here.map(|ty| ty.required()) {
                None => None,
                Some(Type::List(_)) => {
                    self.problem(path, format!("`{segment}` is inside a list, use a section for the list"));
                    return Err(());
                }
                Some(ty) => match ty.member(segment) {
                    Ok(found) => found,
                    Err(unknown) => {
                        self.problem(path, unknown.to_string());
                        return Err(());
                    }
                },
            };
        }
        Ok(here)
    }

    /// The first segment, looked up in the innermost section first.
    fn first(&mut self, path: &Name, name: &str, frames: &Frames<'t>) -> Result<Option<&'t Type>, ()> {
        for frame in frames.iter().rev() {
            let Some(ty) = frame else { return Ok(None) };
            match ty.required() {
                Type::Record(record) => {
                    if let Some(field) = record.field(name) {
                        return Ok(Some(&field.ty));
                    }
                }
                Type::Any | Type::Map | Type::MapOf(_) | Type::Union(_) => return Ok(None),
                _ => {}
            }
        }
        self.root.member(name).map_err(|unknown: UnknownPath| self.problem(path, unknown.to_string()))
    }

    fn problem(&mut self, path: &Name, text: String) {
        let problem = format!("placeholder {{{{{path}}}}}: {text}");
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// The type a section puts in place of the current value.
fn element(ty: &Type) -> Option<&Type> {
    match ty.required() {
        Type::List(item) => Some(item),
        Type::Any | Type::Union(_) => None,
        other => Some(other),
    }
}
