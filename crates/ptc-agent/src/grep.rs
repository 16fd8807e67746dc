//! The builtin tools `grep` and `grep-n`: lines of a text that match a pattern.
//!
//! Patterns are regular expressions that ignore case. Models know grep, so the escapes of its basic
//! expressions, `\|`, `\(` and `\)`, mean what they mean there.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde_json::{Value as Json, json};

/// The most lines that `grep-n` gives.
const MAX_LINES: usize = 100;
/// The most memory that a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A tool that every agent can have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltinTool {
    /// The name it is called by.
    pub(crate) name: &'static str,
    /// What it takes and gives.
    pub(crate) signature: &'static str,
    /// What it does.
    pub(crate) description: &'static str,
    /// The function.
    pub(crate) call: fn(&Json) -> Result<Json, String>,
}

/// The family `grep`.
pub(crate) const GREP_TOOLS: [BuiltinTool; 2] = [
    BuiltinTool {
        name: "grep",
        signature: "(pattern :string, text :string) -> [:string]",
        description: "Lines of text that match a regular expression, ignoring case",
        call: grep,
    },
    BuiltinTool {
        name: "grep-n",
        signature: "(pattern :string, text :string, context :int[0..]?) -> [{line :int, text :string, match :bool}]",
        description: "The same with line numbers, and with so many lines of context around each match",
        call: grep_n,
    },
];

/// `grep`: the lines that match.
pub(crate) fn grep(args: &Json) -> Result<Json, String> {
    let (pattern, text) = (pattern(args)?, text_argument(args, "text")?);
    Ok(lines(text).filter(|line| pattern.is_match(line)).collect())
}

/// `grep-n`: the lines that match and those around them, with their numbers. Output that is cut ends with
/// a row whose line is −1.
pub(crate) fn grep_n(args: &Json) -> Result<Json, String> {
    let (pattern, text) = (pattern(args)?, text_argument(args, "text")?);
    let context = match args.get("context") {
        None | Some(Json::Null) => 0,
        Some(value) => value
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .ok_or_else(|| format!("context: expected a whole number from 0 on, got {value}"))?,
    };
    let lines: Vec<&str> = lines(text).collect();
    let matches: Vec<bool> = lines.iter().map(|line| pattern.is_match(line)).collect();
    let shown = within_context(&matches, context);
    let row = |at: usize| json!({"line": at + 1, "text": lines[at], "match": matches[at]});
    let mut rows: Vec<Json> = shown.iter().take(MAX_LINES).map(|at| row(*at)).collect();
    if let Some(left_out) = shown.len().checked_sub(MAX_LINES).filter(|count| *count > 0) {
        let note = format!("{left_out} more lines; use a narrower pattern or less context");
        rows.push(json!({"line": -1, "text": note, "match": false}));
    }
    Ok(Json::Array(rows))
}

/// The places of matches and of the lines around them, each once.
fn within_context(matches: &[bool], context: usize) -> Vec<usize> {
    let mut shown = Vec::new();
    let mut from = 0;
    for at in (0..matches.len()).filter(|at| matches[*at]) {
        let start = from.max(at.saturating_sub(context));
        let end = at.saturating_add(context).saturating_add(1).min(matches.len());
        shown.extend(start..end);
        from = from.max(end);
    }
    shown
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
}

fn text_argument<'a>(args: &'a Json, name: &str) -> Result<&'a str, String> {
    match args.get(name) {
        Some(Json::String(text)) => Ok(text),
        Some(other) => Err(format!("{name}: expected a string, got {}", kind(other))),
        None => Err(format!("{name}: missing; call it as {{:pattern \"…\" :text …}}")),
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "nil",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    }
}

fn pattern(args: &Json) -> Result<Regex, String> {
    let written = text_argument(args, "pattern")?;
    let extended = from_basic(written);
    // A lone `\(` was meant as a parenthesis.
    compile(&extended)
        .or_else(|error| if extended == written { Err(error) } else { compile(written) })
        .map_err(|error| format!("pattern: `{written}` is no regular expression: {}", reason(&error)))
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_PATTERN_BYTES).build()
}

/// The last line of a regex error says what is wrong; the lines before it draw the place.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// `\|`, `\(` and `\)` without their backslash.
fn from_basic(pattern: &str) -> Cow<'_, str> {
    if !pattern.contains("\\|") && !pattern.contains("\\(") && !pattern.contains("\\)") {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(next)) => {
                chars.next();
                if !matches!(next, '|' | '(' | ')') {
                    out.push('\\');
                }
                out.push(next);
            }
            (c, _) => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_signature::{Mode, Signature};

    const TEXT: &str = "INFO start\nERROR disk full\r\nwarn: retry\nerror again\n\nfoo(bar)";

    fn found(pattern: &str) -> Json {
        grep(&json!({"pattern": pattern, "text": TEXT})).unwrap()
    }

    fn numbered(pattern: &str, text: &str, context: Json) -> Vec<(i64, bool)> {
        let rows = grep_n(&json!({"pattern": pattern, "text": text, "context": context})).unwrap();
        let rows = rows.as_array().unwrap();
        rows.iter().map(|row| (row["line"].as_i64().unwrap(), row["match"].as_bool().unwrap())).collect()
    }

    #[test]
    fn r8_16_grep_gives_the_lines_that_match() {
        for (pattern, lines) in [
            ("error", json!(["ERROR disk full", "error again"])),
            ("^err", json!(["ERROR disk full", "error again"])),
            ("full$", json!(["ERROR disk full"])),
            ("disk\\|retry", json!(["ERROR disk full", "warn: retry"])),
            ("\\(disk\\|info\\) ", json!(["INFO start", "ERROR disk full"])),
            ("disk|retry", json!(["ERROR disk full", "warn: retry"])),
            ("foo\\(", json!(["foo(bar)"])),
            ("nothing", json!([])),
            ("", json!(["INFO start", "ERROR disk full", "warn: retry", "error again", "", "foo(bar)"])),
        ] {
            assert_eq!(found(pattern), lines, "{pattern}");
        }
    }

    #[test]
    fn r8_16_grep_n_counts_lines_from_one_and_merges_context() {
        let text = "a\nb\nx\nc\nx\nd\ne\nf";
        assert_eq!(numbered("x", text, json!(null)), [(3, true), (5, true)]);
        let merged = [(2, false), (3, true), (4, false), (5, true), (6, false)];
        assert_eq!(numbered("x", text, json!(1)), merged);
        assert_eq!(numbered("a", text, json!(1)), [(1, true), (2, false)]);
        assert_eq!(numbered("f", text, json!(u64::MAX)).len(), 8);
    }

    #[test]
    fn r8_16_long_output_is_cut_with_a_row_that_says_so() {
        let rows = grep_n(&json!({"pattern": "x", "text": "x\n".repeat(250)})).unwrap();
        let rows = rows.as_array().unwrap();
        assert_eq!((rows.len(), &rows[99]["line"], &rows[100]["line"]), (101, &json!(100), &json!(-1)));
        assert!(rows[100]["text"].as_str().unwrap().starts_with("150 more lines"));
        assert_eq!(
            grep_n(&json!({"pattern": "x", "text": "x\n".repeat(100)})).unwrap().as_array().unwrap().len(),
            100
        );
    }

    #[test]
    fn mistakes_say_what_is_wrong() {
        for (args, start) in [
            (json!({"text": "x"}), "pattern: missing"),
            (json!({"pattern": "x", "text": ["x"]}), "text: expected a string, got a list"),
            (json!({"pattern": "(", "text": "x"}), "pattern: `(` is no regular expression: unclosed group"),
            (json!({"pattern": "x", "text": "x", "context": -1}), "context: expected a whole number"),
            (json!({"pattern": "(((x{100}){100}){100})", "text": "x"}), "pattern: "),
        ] {
            let error = grep_n(&args).unwrap_err();
            assert!(error.starts_with(start), "{args}: {error}");
        }
    }

    #[test]
    fn results_fit_the_signatures() {
        for tool in GREP_TOOLS {
            let signature = Signature::parse(tool.signature).unwrap();
            let args = json!({"pattern": "e", "text": TEXT});
            signature.validate_input(&args, Mode::Strict).unwrap();
            signature.validate_output(&(tool.call)(&args).unwrap(), Mode::Strict).unwrap();
        }
    }
}
