//! Examples in docstrings, run as tests: an expression, `;=>`, and the value it must have.
//!
//! ```text
//! "Adds tax.
//!  (comment
//!    (with-tax 100) ;=> 119.0
//!    (with-tax 0)   ;=> 0.0)"
//! ```
//!
//! Names of the namespace need no qualification. What would call a tool is skipped, not failed.

use std::sync::Arc;

use super::Prelude;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::machine::{Machine, ProgramEnd, Step};

/// What stands between an expression and its value.
const ARROW: &str = ";=>";

/// An example in a docstring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doctest {
    /// The definition in whose docstring it stands, by qualified name.
    pub of: String,
    /// The expression.
    pub source: String,
    /// The value that it must have.
    pub expected: String,
}

/// What came of an example.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It has the value.
    Passed,
    /// It has another value.
    Failed(String),
    /// It ended with an error.
    Broken(Error),
    /// It needs a tool.
    Skipped(String),
}

impl Prelude {
    /// All examples, in order of definition.
    pub fn doctests(&self) -> Vec<Doctest> {
        let documented = self.definitions.iter().filter(|definition| !definition.private);
        documented
            .flat_map(|definition| {
                let examples = examples(definition.doc.as_deref().unwrap_or_default());
                let of = definition.full.clone();
                examples.into_iter().map(move |(source, expected)| Doctest {
                    of: of.clone(),
                    source,
                    expected,
                })
            })
            .collect()
    }

    /// Runs an example.
    pub fn run_doctest(self: &Arc<Self>, test: &Doctest, limits: &Limits) -> Verdict {
        match self.try_doctest(test, limits) {
            Ok(verdict) => verdict,
            Err(error) if error.kind == ErrorKind::UnknownTool => Verdict::Skipped(error.message),
            Err(error) => Verdict::Broken(error),
        }
    }

    fn try_doctest(self: &Arc<Self>, test: &Doctest, limits: &Limits) -> Result<Verdict, Error> {
        let (ns, _) = test.of.split_once('/').unwrap_or_default();
        let at = self.namespace_number(ns);
        let names: Vec<&str> = at.map(|at| self.public_names(at).collect()).unwrap_or_default();
        let program = format!(
            "(require '[{ns} :refer [{}]])\n(let [got {} want {}] [(= got want) (pr-str got)])",
            names.join(" "),
            test.source,
            test.expected
        );
        let mut machine = Machine::new(limits.clone());
        machine.attach_only(self)?;
        machine.load(&program)?;
        loop {
            match machine.run(u64::MAX) {
                Step::Yield => {}
                Step::Failed(error) => return Err(error),
                Step::Calls(calls) => {
                    let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
                    return Ok(Verdict::Skipped(format!("it asks for {}", tools.join(", "))));
                }
                Step::Done(ProgramEnd::Value) => break,
                Step::Done(_) => return Ok(Verdict::Failed(machine.value())),
            }
        }
        let value = machine.value_json();
        Ok(match value[0].as_bool() {
            Some(true) => Verdict::Passed,
            _ => Verdict::Failed(value[1].as_str().unwrap_or_default().to_owned()),
        })
    }
}

/// The pairs of expression and value in a docstring. An expression begins after the example before it, after
/// `(comment`, or at the first line that begins with a parenthesis.
fn examples(doc: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut waiting: Vec<&str> = Vec::new();
    for line in doc.lines() {
        let mut line = line.trim();
        if let Some((_, inside)) = line.split_once("(comment") {
            waiting.clear();
            line = inside.trim();
        }
        let (expression, expected) = match line.split_once(ARROW) {
            Some((expression, expected)) => (expression.trim(), Some(expected.trim())),
            None => (line, None),
        };
        if !expression.is_empty()
            && (!waiting.is_empty() || expression.starts_with('(') || expected.is_some())
        {
            waiting.push(expression);
        } else if line.is_empty() {
            waiting.clear();
        }
        if let Some(expected) = expected {
            let source = std::mem::take(&mut waiting).join("\n");
            if !source.is_empty() {
                found.push((source, balanced(expected).to_owned()));
            }
        }
    }
    found
}

/// The text without closing parentheses that nothing opened: those close the `(comment`.
fn balanced(text: &str) -> &str {
    let count = |sign: char| text.matches(sign).count();
    let extra = count(')').saturating_sub(count('('));
    let mut text = text.trim_end();
    for _ in 0..extra {
        text = text.strip_suffix(')').unwrap_or(text).trim_end();
    }
    text
}
