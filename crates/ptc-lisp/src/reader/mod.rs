//! The reader: program text to forms with their places.
//!
//! It reads Clojure's data syntax. Open forms wait on an explicit stack (`build`), so hostile nesting
//! costs memory up to a bound and never native stack. Time is linear in the length of the text, which
//! makes `source.len()` the fair charge for reading.
//!
//! | file | what it knows |
//! |---|---|
//! | `cursor` | where tokens end |
//! | `lex` | what a token begins with |
//! | `number`, `text`, `name` | what the text of a token means |
//! | `build` | how forms nest |
//! | `repair` | what indentation says about delimiters that do not match |
//! | `fault` | what each mistake is called, and how to fix it |

mod build;
mod cursor;
mod fault;
mod lex;
mod name;
mod number;
mod repair;
mod text;

#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::syntax::Form;

/// Bounds on what the reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Longest source text in bytes.
    pub max_bytes: usize,
    /// Deepest nesting. Whoever walks or drops the tree may recurse this deep on the native stack.
    pub max_depth: usize,
    /// Most digits in one number.
    pub max_digits: usize,
    /// Most forms in all, counting those inside others and those the text discards.
    pub max_forms: usize,
    /// Whether the text is data (EDN) and not a program: escapes that nobody knows, `::name` and `#!` are mistakes there,
    /// and numbers too large for a float are infinite.
    pub data: bool,
}

impl Default for ReadLimits {
    fn default() -> Self {
        ReadLimits {
            max_bytes: 1_000_000,
            max_depth: 256,
            max_digits: 10_000,
            max_forms: 1_000_000,
            data: false,
        }
    }
}

/// All forms of `source`. An error about delimiters carries the repaired text when indentation leaves
/// no doubt about what was meant.
///
/// ```
/// use ptc_lisp::reader::{ReadLimits, read_all};
///
/// let forms = read_all("(def x 1) ; one\n[x x]", &ReadLimits::default()).unwrap();
/// assert_eq!(forms.len(), 2);
/// ```
pub fn read_all(source: &str, limits: &ReadLimits) -> Result<Vec<Form>, Error> {
    match build::read(source, limits, usize::MAX) {
        Ok(read) => Ok(read.forms),
        Err(failure) => Err(repair::explain(failure, source, limits)),
    }
}

/// The first form of `source` and the byte offset just after it; `None` if there is no form.
/// What follows the form is not looked at.
pub fn read_one(source: &str, limits: &ReadLimits) -> Result<Option<(Form, usize)>, Error> {
    let mut read = build::read(source, limits, 1).map_err(|failure| failure.error)?;
    Ok(read.forms.pop().map(|form| (form, read.after)))
}

/// The first form of a text that is data, and what the text discards before its end (`#_`), which has to be data as well.
pub fn read_data(source: &str, limits: &ReadLimits) -> Result<(Option<Form>, Vec<Form>), Error> {
    let limits = ReadLimits { data: true, ..*limits };
    let mut read = build::read(source, &limits, 1).map_err(|failure| failure.error)?;
    Ok((read.forms.pop(), read.discarded))
}

/// Whether more text could still make `source` readable: a delimiter, a string or a regex is open, or
/// a prefix such as `'` waits for its form. Text with any other mistake is not incomplete, but wrong.
pub fn is_incomplete(source: &str) -> bool {
    build::read(source, &ReadLimits::default(), usize::MAX).is_err_and(|failure| failure.incomplete)
}
