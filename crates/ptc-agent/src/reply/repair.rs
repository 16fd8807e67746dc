//! Repair of programs before a turn is spent on them. Only what cannot change the meaning is done, and
//! every change is listed, so that the trace shows it. Misspelt names are never changed: the errors of
//! the language suggest the right ones.

use ptc_lisp::reader::{ReadLimits, read_all};
use serde::{Deserialize, Serialize};

use super::{chars, unwrap};

/// How many wrappings may lie around each other.
const MAX_LAYERS: usize = 4;
/// How often one repair may make another possible.
const MAX_ROUNDS: usize = 4;

/// A change that was made to a program before it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What sort of change.
    pub kind: FixKind,
    /// What was changed, in words.
    pub note: String,
}

impl Fix {
    pub(super) fn new(kind: FixKind, note: impl Into<String>) -> Self {
        Fix { kind, note: note.into() }
    }
}

/// The sorts of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FixKind {
    /// Invisible characters were removed.
    Invisible,
    /// Unusual spaces became plain ones.
    Space,
    /// Typographic quotes became plain ones.
    Quote,
    /// Wide forms of ASCII became ASCII.
    Wide,
    /// Fences or backticks around the program were removed.
    Fence,
    /// The program was taken out of JSON.
    Json,
    /// The name of the language before the program was removed.
    LanguageWord,
    /// Delimiters were balanced.
    Delimiter,
    /// Inputs were written as missions name them.
    Reference,
}

/// A program after repair.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repaired {
    /// The text to run.
    pub(crate) code: String,
    /// What was changed, in order.
    pub(crate) fixes: Vec<Fix>,
}

/// Repairs a program where it is certain what is meant. A program that cannot be repaired stays as it is,
/// for the reader to say what is wrong.
pub(crate) fn repair(code: &str) -> Repaired {
    repair_text(code, false)
}

/// The same for what the model fenced as a program.
pub(super) fn repair_fenced(code: &str) -> Repaired {
    repair_text(code, true)
}

/// One repair can make another possible, so this goes on until nothing changes.
fn repair_text(code: &str, is_fenced: bool) -> Repaired {
    let mut fixes = Vec::new();
    let mut code = trim(&chars::unify_line_ends(code), &mut fixes);
    for _ in 0..MAX_ROUNDS {
        let before = fixes.len();
        code = round(code, is_fenced, &mut fixes);
        if fixes.len() == before {
            break;
        }
    }
    Repaired { code, fixes }
}

fn round(mut code: String, is_fenced: bool, fixes: &mut Vec<Fix>) -> String {
    for _ in 0..MAX_LAYERS {
        let Some(inner) = unwrap::once(&code, is_fenced) else { break };
        fixes.push(Fix::new(inner.kind, inner.note));
        code = trim(&inner.text, fixes);
    }
    let (code, cleaned) = chars::clean(&code);
    fixes.extend(cleaned);
    let code = match chars::references(&code) {
        Some(plain) => {
            fixes.push(Fix::new(FixKind::Reference, "wrote `data/x` for `~{data/x}`"));
            plain
        }
        None => code,
    };
    let (code, made_readable) = make_readable(code);
    fixes.extend(made_readable);
    trim(&code, fixes)
}

/// The code without anything around it that cannot be seen.
fn trim(code: &str, fixes: &mut Vec<Fix>) -> String {
    let trimmed = chars::trim(code);
    if trimmed != code.trim() {
        fixes.push(Fix::new(FixKind::Invisible, "removed invisible characters around the program"));
    }
    trimmed.to_owned()
}

/// Fixes that count only if the program can be read with them and cannot without.
fn make_readable(code: String) -> (String, Option<Fix>) {
    let Err(error) = read_all(&code, &ReadLimits::default()) else { return (code, None) };
    if let Some(repaired) = error.repaired {
        let note = error.hint.unwrap_or(error.message);
        return (repaired, Some(Fix::new(FixKind::Delimiter, note)));
    }
    let narrow = chars::narrow(&code).filter(|narrow| read_all(narrow, &ReadLimits::default()).is_ok());
    match narrow {
        Some(narrow) => (narrow, Some(Fix::new(FixKind::Wide, "replaced wide characters by plain ones"))),
        None => (code, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(code: &str) -> Vec<FixKind> {
        repair(code).fixes.into_iter().map(|fix| fix.kind).collect()
    }

    #[test]
    fn r3_25_delimiters_are_repaired_only_when_sure() {
        for (code, repaired) in [
            ("(+ 1 2))", "(+ 1 2)"),
            ("(let [x 1]\n  (+ x 1)", "(let [x 1]\n  (+ x 1))"),
            ("(def x 1)\n(return {:a 1)", "(def x 1)\n(return {:a 1})"),
        ] {
            assert_eq!(repair(code).code, repaired, "{code:?}");
            assert_eq!(kinds(code), [FixKind::Delimiter], "{code:?}");
        }
        for unsure in ["(+ 1 2", "(+ 1 [2 3)", "(str \"open)"] {
            assert_eq!(repair(unsure), Repaired { code: unsure.to_owned(), fixes: vec![] });
        }
    }

    #[test]
    fn r3_25_programs_that_read_are_not_touched() {
        for code in ["(+ 1 2)", "#_(old) (new)", "(f #_#_a b c)", "(prn \"clojure (f)\")", "(inc data/x’)"]
        {
            assert_eq!(repair(code), Repaired { code: code.to_owned(), fixes: vec![] });
        }
    }

    #[test]
    fn inputs_may_be_written_as_missions_name_them() {
        for (code, repaired) in [
            ("(count ~{data/rows})", "(count data/rows)"),
            ("(str ~{(:name data/user)} ~{ data/q })", "(str (:name data/user) data/q)"),
            ("(str \"~{data/q}\" ~{data/q}) ; ~{data/q}", "(str \"~{data/q}\" data/q) ; ~{data/q}"),
        ] {
            assert_eq!((repair(code).code.as_str(), kinds(code)), (repaired, vec![FixKind::Reference]));
        }
        assert_eq!(kinds("(f ~{:a 1})"), []);
    }

    #[test]
    fn r3_25_misspelt_names_stay() {
        assert_eq!(repair("(fliter odd? [1])").code, "(fliter odd? [1])");
        assert_eq!(repair("(tool/serch {})").code, "(tool/serch {})");
    }

    #[test]
    fn fixes_add_up_and_are_listed_in_order() {
        let wrapped = "```json\n{\"program\": \"clojure\\n(println “hi”))\"}\n```";
        assert_eq!(repair(wrapped).code, "(println \"hi\")");
        let expected =
            [FixKind::Fence, FixKind::Json, FixKind::LanguageWord, FixKind::Quote, FixKind::Delimiter];
        assert_eq!(kinds(wrapped), expected);
    }

    #[test]
    fn wide_characters_are_replaced_where_nothing_else_reads() {
        assert_eq!(repair("（+ 1 2）").code, "(+ 1 2)");
        assert_eq!(kinds("（+ 1 2）"), [FixKind::Wide]);
        assert_eq!(kinds("(def ａ 1)"), []);
    }

    #[test]
    fn fixes_have_a_stable_form() {
        let fix = Fix::new(FixKind::LanguageWord, "removed `clojure` before the program");
        let json = serde_json::to_value(&fix).unwrap();
        let expected = serde_json::json!({
            "kind": "language_word", "note": "removed `clojure` before the program"
        });
        assert_eq!(json, expected);
    }
}
