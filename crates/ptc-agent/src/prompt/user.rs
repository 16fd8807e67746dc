//! What earlier turns or chats defined: functions first, then values.

use ptc_signature::{FIREWALLED, is_firewalled};

use super::mission::harmless;
use super::{blocks, one_line};
use crate::render::block;

/// Where the comment of an entry begins.
const COLUMN: usize = 30;

/// A definition as prompts show it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum UserLine {
    /// A function.
    Function {
        /// Its name.
        name: String,
        /// Its parameters, as written: `[x & more]`, one after the other where there are several arities.
        params: String,
        /// Its docstring, if any.
        doc: Option<String>,
        /// What it gives, if known.
        returns: Option<String>,
    },
    /// Anything else.
    Value {
        /// Its name.
        name: String,
        /// What it is like, on one line.
        sketch: String,
    },
}

impl UserLine {
    fn name(&self) -> &str {
        match self {
            UserLine::Function { name, .. } | UserLine::Value { name, .. } => name,
        }
    }

    /// Whether it tells a model anything.
    fn informs(&self) -> bool {
        match self {
            UserLine::Function { .. } => true,
            UserLine::Value { sketch, .. } => {
                !matches!(sketch.as_str(), "nil" | "list[0]" | "set[0]" | "map of 0 keys")
            }
        }
    }

    fn line(&self, firewall: bool) -> String {
        harmless(&match self {
            UserLine::Function { name, params, doc, returns } => {
                let mut head = if params.starts_with('[') {
                    format!("({name} {params})")
                } else {
                    format!("({name} [{params}])")
                };
                if doc.is_some() || returns.is_some() {
                    head = format!("{head:<COLUMN$}");
                }
                let doc = doc.as_deref().map(|doc| format!("; {:?}", one_line(doc))).unwrap_or_default();
                let lead = if doc.is_empty() { ";" } else { "" };
                let returns = returns.as_deref().map(|ty| format!("{lead} -> {ty}")).unwrap_or_default();
                head + &doc + &returns
            }
            UserLine::Value { name, sketch } => {
                let hidden = firewall && is_firewalled(name);
                let sketch = if hidden { FIREWALLED } else { sketch };
                format!("{name:<COLUMN$}; = {sketch}")
            }
        })
    }
}

/// The definitions; nothing if none of them tells anything. Values come from programs and tools, so they
/// stand in a block that says they are no instructions.
pub(crate) fn user_section(lines: &[UserLine], firewall: bool) -> String {
    let mut sorted: Vec<_> = lines.iter().filter(|line| line.informs()).collect();
    sorted.sort_by(|a, b| a.name().cmp(b.name()));
    let of = |function: bool| {
        let chosen = sorted.iter().filter(|line| matches!(line, UserLine::Function { .. }) == function);
        chosen.map(|line| line.line(firewall)).collect::<Vec<_>>().join("\n")
    };
    let (functions, values) = (of(true), of(false));
    let values = if values.is_empty() { values } else { block("memory", &values) };
    let body = blocks([functions, values]);
    if body.is_empty() { body } else { format!(";; === user/ (your prelude) ===\n{body}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str, sketch: &str) -> UserLine {
        UserLine::Value { name: name.into(), sketch: sketch.into() }
    }

    fn function(name: &str, params: &str, doc: Option<&str>, returns: Option<&str>) -> UserLine {
        let (name, params) = (name.into(), params.into());
        UserLine::Function { name, params, doc: doc.map(Into::into), returns: returns.map(Into::into) }
    }

    #[test]
    fn r3_17_functions_come_first_then_values_in_an_untrusted_block() {
        let lines = [
            value("total", "42"),
            function("twice", "x", Some("Doubles x."), Some("int")),
            value("empty", "list[0]"),
            function("add", "x y", None, None),
            value("_secret", "\"k\""),
        ];
        assert_eq!(
            user_section(&lines, true),
            ";; === user/ (your prelude) ===\n\
             (add [x y])\n\
             (twice [x])                   ; \"Doubles x.\" -> int\n\
             \n\
             <untrusted_ptc_output source=\"memory\">\n\
             _secret                       ; = <Firewalled>\n\
             total                         ; = 42\n\
             </untrusted_ptc_output>"
        );
    }

    #[test]
    fn r3_17_the_section_is_left_out_if_nothing_informs() {
        assert_eq!(user_section(&[], true), "");
        let empty = ["nil", "list[0]", "set[0]", "map of 0 keys"].map(|sketch| value("x", sketch));
        assert_eq!(user_section(&empty, true), "");
        for (params, expected) in [("", "(f [])"), ("[x]", "(f [x])"), ("[] [x & more]", "(f [] [x & more])")]
        {
            assert!(user_section(&[function("f", params, None, None)], true).ends_with(expected), "{params}");
        }
    }
}
