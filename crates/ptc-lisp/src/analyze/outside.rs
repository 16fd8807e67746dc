//! Clojure forms that PTC-Lisp leaves out on purpose: a reason, and what to write instead.

use super::Analyzer;
use crate::error::{Error, ErrorKind};

/// Name, why it is left out, what to write instead.
const OUTSIDE: &[(&str, &str, &str)] = &[
    ("defmacro", "programs cannot define macros", "write a function with defn"),
    ("macroexpand", "there are no macros to expand", "call the form directly"),
    ("macroexpand-1", "there are no macros to expand", "call the form directly"),
    ("eval", "programs cannot run code made at run time", "call functions directly; build data, not code"),
    ("load-string", "programs cannot load code", "put the code into the program"),
    ("load-file", "there are no files", "put the code into the program"),
    ("slurp", "programs cannot read files", "inputs are in data/, other data comes from tools"),
    ("spit", "programs cannot write files", "return the text as the result"),
    ("read-line", "programs cannot read input", "inputs are in data/"),
    ("with-open", "programs cannot open files", "inputs are in data/"),
    ("gen-class", "there are no classes", "use functions and maps"),
    ("proxy", "there are no classes to extend", "use functions, or a protocol with reify"),
    ("definterface", "there are no Java interfaces", "use defprotocol"),
    ("gen-interface", "there are no Java interfaces", "use defprotocol"),
    ("set!", "locals do not change", "use loop/recur, reduce or an atom"),
    ("monitor-enter", "there are no threads", "leave it out"),
    ("go", "there are no channels", "use pmap or pcalls"),
    ("thread", "there are no threads", "use pmap or pcalls"),
    ("exit", "programs end by themselves", "use (return value) to end early"),
];

/// The error for a form that is left out, if `name` is one.
pub fn refusal(name: &str) -> Option<Error> {
    let (_, reason, instead) = OUTSIDE.iter().find(|(known, ..)| *known == name)?;
    Some(
        Error::new(ErrorKind::Unsupported, format!("{name} is not part of PTC-Lisp: {reason}"))
            .hint((*instead).to_owned()),
    )
}

/// All left-out forms with their reasons, for the coverage report.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    OUTSIDE.iter().map(|(name, reason, _)| (*name, *reason))
}

impl Analyzer<'_> {
    /// A name that is a form, not a value.
    pub(super) fn not_a_value(&self, name: &str) -> Option<Error> {
        if let Some(number) = name.strip_prefix('%')
            && (number.is_empty() || number == "&" || number.parse::<u32>().is_ok())
        {
            let message = format!("{name} stands for an argument only inside #(…)");
            return Some(
                Error::new(ErrorKind::InvalidForm, message)
                    .hint("write #(… % …), or give the argument a name with fn; the remainder of a division is (mod a b)"),
            );
        }
        refusal(name)
    }
}
