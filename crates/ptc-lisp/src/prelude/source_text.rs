//! The source of exports, and of the helpers that they reach, for those who ask with `source`.

use super::{Definition, Effect, Prelude};

impl Prelude {
    /// The defining form under a heading, if the name is an export or a helper that an export reaches.
    pub fn source_of(&self, name: &str) -> Option<String> {
        let number = self.find(name)?;
        if !self.is_readable(number) {
            return None;
        }
        let definition = self.definition(number);
        let mut text = self.heading(definition);
        let others: Vec<String> = definition
            .calls
            .iter()
            .filter(|called| **called != number)
            .map(|called| format!("(source {})", self.definition(*called).full))
            .collect();
        if !others.is_empty() {
            text.push_str(&format!("\n;; depends-on: {}", others.join(", ")));
        }
        let span = definition.span;
        let form = self.texts.get(definition.part)?.get(span.start as usize..span.end as usize)?;
        Some(format!("{text}\n{form}"))
    }

    fn heading(&self, definition: &Definition) -> String {
        let Some(export) = self.export(&definition.full) else {
            return format!(";; {} — private helper", definition.full);
        };
        let effect = match export.effect {
            Effect::Unknown => String::new(),
            effect => format!(", effect: {}", effect.name()),
        };
        format!(
            ";; {} — visibility: {}{effect}, arity: {}",
            export.name,
            export.visibility.name(),
            export.arity()
        )
    }

    /// Whether a definition is public, or some public one reaches it.
    fn is_readable(&self, number: u32) -> bool {
        !self.definition(number).private
            || self.exports().iter().any(|export| self.reach(export.number).contains(&number))
    }
}
