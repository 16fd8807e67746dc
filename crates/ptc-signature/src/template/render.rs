//! Filling a template with values.

use super::{Name, OnMissing, Placeholder, Template, TemplateError, TemplateNode};
use crate::keys;
use crate::shape::{Kind, Shape};

impl Template {
    /// The text with the values of `context` filled in.
    ///
    /// Names are looked up in the innermost section first, then outward; hyphens and underscores are the
    /// same. Mask the context first ([`mask`](crate::mask)) if a model will read the text.
    pub fn render<V: Shape>(&self, context: &V, on_missing: OnMissing) -> Result<String, TemplateError> {
        self.render_or(context, on_missing, |_| None)
    }

    /// The same with a text in place of those placeholders that `instead` has one for. It is asked for what stands
    /// outside of sections, and for sections as a whole.
    pub fn render_or<V: Shape>(
        &self,
        context: &V,
        on_missing: OnMissing,
        instead: impl Fn(&Placeholder) -> Option<String>,
    ) -> Result<String, TemplateError> {
        let mut filling = Filling { on_missing, out: String::new(), missing: Vec::new() };
        for node in &self.nodes {
            match node.placeholder().and_then(|place| instead(&place)) {
                Some(text) => filling.out.push_str(&text),
                None => filling.nodes(std::slice::from_ref(node), &mut vec![context])?,
            }
        }
        match filling.missing.is_empty() {
            true => Ok(filling.out),
            false => Err(TemplateError::Missing(filling.missing)),
        }
    }
}

struct Filling {
    on_missing: OnMissing,
    out: String,
    missing: Vec<String>,
}

impl Filling {
    fn nodes<V: Shape>(&mut self, nodes: &[TemplateNode], stack: &mut Vec<&V>) -> Result<(), TemplateError> {
        for node in nodes {
            match node {
                TemplateNode::Text(text) => self.out.push_str(text),
                TemplateNode::Variable { path, raw } => self.variable(path, raw, stack)?,
                TemplateNode::Section { path, inverted, body } => {
                    self.section(path, *inverted, body, stack)?
                }
            }
        }
        Ok(())
    }

    fn variable<V: Shape>(&mut self, path: &Name, raw: &str, stack: &[&V]) -> Result<(), TemplateError> {
        let Some(value) = find(path, stack) else {
            match self.on_missing {
                OnMissing::Keep => self.out.push_str(raw),
                OnMissing::Error if self.missing.contains(&path.to_string()) => {}
                OnMissing::Error => self.missing.push(path.to_string()),
            }
            return Ok(());
        };
        match value.kind() {
            Kind::Nil => {}
            kind @ (Kind::List | Kind::Map | Kind::Opaque) => {
                return Err(TemplateError::NotText { path: path.to_string(), kind: kind.name() });
            }
            _ => self.out.push_str(&value.print()),
        }
        Ok(())
    }

    fn section<V: Shape>(
        &mut self,
        path: &Name,
        inverted: bool,
        body: &[TemplateNode],
        stack: &mut Vec<&V>,
    ) -> Result<(), TemplateError> {
        let value = find(path, stack).filter(|value| is_truthy(*value));
        match value {
            None if inverted => self.nodes(body, stack),
            None => Ok(()),
            Some(_) if inverted => Ok(()),
            Some(value) => match value.items() {
                Some(items) => items.into_iter().try_for_each(|item| self.inside(item, body, stack)),
                None => self.inside(value, body, stack),
            },
        }
    }

    fn inside<'v, V: Shape>(
        &mut self,
        value: &'v V,
        body: &[TemplateNode],
        stack: &mut Vec<&'v V>,
    ) -> Result<(), TemplateError> {
        stack.push(value);
        let outcome = self.nodes(body, stack);
        stack.pop();
        outcome
    }
}

/// The value of a name: the first segment decides the level, the rest leads down from there.
fn find<'v, V: Shape>(path: &Name, stack: &[&'v V]) -> Option<&'v V> {
    let Some((first, rest)) = path.0.split_first() else {
        return stack.last().copied();
    };
    let start = stack.iter().rev().find_map(|frame| keys::lookup(*frame, first))?;
    rest.iter().try_fold(start, |value, segment| match value.kind() {
        // What belongs to nothing is nothing.
        Kind::Nil => Some(value),
        _ => keys::lookup(value, segment),
    })
}

/// Nil, false, the empty list and the empty string are not; zero is.
fn is_truthy<V: Shape>(value: &V) -> bool {
    match value.kind() {
        Kind::Nil => false,
        Kind::Bool => value.boolean() == Some(true),
        Kind::String => value.text() != Some(""),
        Kind::List => value.items().is_some_and(|mut items| items.next().is_some()),
        _ => true,
    }
}
