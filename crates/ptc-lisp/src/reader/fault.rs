//! Every mistake the reader can find, each with its one message and its advice.
//!
//! Advice quotes no words of the text: programs read data that is not theirs, and models take advice for ours.

use super::text::CHARACTER_NAMES;
use super::{ReadLimits, number};
use crate::decimal::MAX_SCALE;
use crate::error::{Error, ErrorKind, excerpt};
use crate::ratio::MAX_DENOMINATOR_BITS;
use crate::span::{Position, Span};

/// Why reading stopped.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether the text merely ended too early.
    pub(super) incomplete: bool,
    /// Whether delimiters do not fit each other.
    pub(super) unbalanced: bool,
}

impl Failure {
    fn unbalanced(mut self) -> Self {
        self.unbalanced = true;
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure { error, incomplete: false, unbalanced: false }
    }
}

fn parse(span: Span, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Parse, message).at(span)
}

fn incomplete(error: Error) -> Failure {
    Failure { error, incomplete: true, unbalanced: false }
}

fn place(source: &str, offset: u32) -> String {
    let Position { line, column } = Position::of(source, offset);
    format!("line {line}, column {column}")
}

/// Where the text ends, trailing whitespace left out.
fn end_of(source: &str) -> Span {
    let end = source.trim_end().len();
    Span::new(end, end)
}

/// An opening delimiter that still waits for its closer.
pub(super) struct Opener {
    pub(super) span: Span,
    pub(super) closer: char,
}

// ---- delimiters ----

/// The text ended inside `open` (outermost first, never empty).
pub(super) fn unclosed(source: &str, open: &[Opener]) -> Failure {
    const SHOWN: usize = 4;
    let missing: String = open.iter().rev().map(|opener| opener.closer).collect();
    let innermost = open.last().map_or(Span::default(), |opener| opener.span);
    let text = &source[innermost.start as usize..innermost.end as usize];
    let mut message =
        format!("the text ends, but the `{text}` of {} is still open", place(source, innermost.start));
    if open.len() > 1 {
        message += &format!(" ({} delimiters are open in all)", open.len());
    }
    let mut error =
        parse(end_of(source), message).hint(format!("add the missing `{}`", abbreviate(&missing)));
    for opener in open.iter().rev().take(SHOWN) {
        error = error.note(opener.span, format!("opened here, needs `{}`", opener.closer));
    }
    incomplete(error).unbalanced()
}

/// `found` stands where the innermost opener needs another closer.
pub(super) fn mismatched(source: &str, found: char, span: Span, opener: &Opener) -> Failure {
    let Opener { span: opening, closer } = *opener;
    let text = &source[opening.start as usize..opening.end as usize];
    let message = format!(
        "expected `{closer}` to close the `{text}` of {}, found `{found}`",
        place(source, opening.start)
    );
    let error = parse(span, message)
        .hint(format!("close it with `{closer}` first, or write `{closer}` in place of `{found}`"))
        .note(opening, format!("opened here, needs `{closer}`"));
    Failure::from(error).unbalanced()
}

/// A closer with nothing open.
pub(super) fn surplus(found: char, span: Span) -> Failure {
    let error =
        parse(span, format!("this `{found}` closes nothing: every delimiter before it is already closed"))
            .hint(format!("remove the `{found}`, or add its opening delimiter before it"));
    Failure::from(error).unbalanced()
}

/// A string or regex without its closing quote.
pub(super) fn unclosed_text(what: &str, opening: Span, source: &str) -> Failure {
    incomplete(
        parse(
            opening,
            format!("the {what} that begins at {} has no closing `\"`", place(source, opening.start)),
        )
        .hint("end it with `\"`; inside it write `\\\"` for a quote")
        .note(end_of(source), "the text ends here"),
    )
}

/// A prefix such as `'` with no form after it.
pub(super) fn dangling_prefix(prefix: &str, span: Span, at_end: bool) -> Failure {
    let error = parse(span, format!("`{}` has no form after it", abbreviate(prefix)))
        .hint("write the form that it belongs to behind it, or remove it");
    Failure { error, incomplete: at_end, unbalanced: false }
}

// ---- collections and prefixes ----

/// A map with a key that has no value. `culprit` is the form that seems to be alone.
pub(super) fn odd_map(source: &str, opening: Span, count: usize, culprit: Span, is_key: bool) -> Failure {
    if let Some(path) = placeholder(source, opening, culprit).filter(|_| count == 1) {
        return unfilled(path, opening.to(culprit));
    }
    let text = abbreviate(&source[culprit.start as usize..culprit.end as usize]);
    let (problem, hint) = if is_key {
        (format!("`{text}` has no value"), "add a value after it, or remove it")
    } else {
        (format!("`{text}` stands where a key should be"), "add a key before it, or remove it")
    };
    parse(
        culprit,
        format!(
            "the map at {} has {count} forms, but keys and values come in pairs: {problem}",
            place(source, opening.start)
        ),
    )
    .hint(hint)
    .note(opening, "the map begins here")
    .into()
}

/// The name in `{{user.name}}`, as templates of prompts have it.
fn placeholder(source: &str, opening: Span, culprit: Span) -> Option<&str> {
    let inside = source[..opening.start as usize].ends_with('{')
        && source[opening.start as usize..opening.end as usize] == *"{"
        && source[culprit.end as usize..].trim_start().starts_with("}}");
    let path = source.get(culprit.start as usize..culprit.end as usize).filter(|_| inside)?;
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    };
    let path = path.strip_prefix("data/").or_else(|| path.strip_prefix("data.")).unwrap_or(path);
    path.split('.').all(is_name).then_some(path)
}

/// A placeholder of a template in a program.
fn unfilled(path: &str, span: Span) -> Failure {
    let written = match path.split('.').collect::<Vec<_>>().as_slice() {
        [input, field] => format!("(:{field} data/{input})"),
        [input, fields @ ..] if !fields.is_empty() => {
            format!("(get-in data/{input} [:{}])", fields.join(" :"))
        }
        _ => format!("data/{path}"),
    };
    parse(span, "`{{…}}` is filled in by templates of prompts; in a program it is no value")
        .hint(format!("write {written}"))
        .into()
}

/// `#()` inside `#()`.
pub(super) fn nested_short_fn(span: Span, outer: Span) -> Failure {
    parse(span, "`#()` cannot stand inside another `#()`: it would not be clear whose `%` is meant")
        .hint("write one of them as `(fn [x] …)`")
        .note(outer, "the outer `#()` begins here")
        .into()
}

/// `#'` before something that is no name.
pub(super) fn var_needs_symbol(span: Span) -> Failure {
    parse(span, "`#'` needs a name after it").hint("write `#'name`").into()
}

/// `^` with something that cannot be metadata.
pub(super) fn bad_meta(span: Span) -> Failure {
    parse(span, "metadata after `^` must be a keyword, a symbol, a string or a map")
        .hint("write `^:key form` or `^{:key value} form`")
        .into()
}

/// `#?` without its list.
pub(super) fn conditional_without_list(span: Span, at_end: bool) -> Failure {
    let error = parse(span, "a reader conditional needs a list")
        .hint("write `#?(:clj form :default form)`, or just the form itself");
    Failure { error, incomplete: at_end, unbalanced: false }
}

/// A reader conditional whose list is not feature/form pairs.
pub(super) fn bad_conditional(span: Span) -> Failure {
    parse(span, "a reader conditional holds pairs of a feature keyword and a form")
        .hint("write `#?(:clj form :default form)`, or just the form itself")
        .into()
}

/// `#?@` with nothing to splice, or nowhere to splice it.
pub(super) fn bad_splice(span: Span) -> Failure {
    parse(span, "`#?@` splices a list or vector into the collection around it")
        .hint("write `#?@(:clj [a b])` inside a list, vector, map or set, or write `#?(…)`")
        .into()
}

// ---- syntax that does not exist here ----

/// `` ` ``, `~` or `~@`.
pub(super) fn syntax_quote(written: &str, span: Span) -> Failure {
    let what =
        if written == "`" { "syntax quote (backtick)".to_owned() } else { format!("unquote (`{written}`)") };
    Error::new(ErrorKind::Unsupported, format!("{what} is not supported: there are no macros"))
        .at(span)
        .hint("write a function, or build the list with `list` and `concat`")
        .into()
}

/// A Markdown fence around the program.
pub(super) fn markdown_fence(span: Span) -> Failure {
    parse(span, "a Markdown code fence is not part of the program")
        .hint("give the program alone, without the ``` lines")
        .into()
}

/// `#=`.
pub(super) fn read_eval(span: Span) -> Failure {
    Error::new(ErrorKind::Unsupported, "`#=` is not supported: nothing is evaluated while reading")
        .at(span)
        .hint("write the expression without `#=`")
        .into()
}

/// `#` followed by something that has no meaning.
pub(super) fn unknown_dispatch(next: Option<char>, span: Span) -> Failure {
    match next {
        None => incomplete(parse(span, "`#` has nothing after it").hint("remove the `#`")),
        Some(' ' | '\t') => {
            parse(span, "`#` followed by a space has no meaning").hint("a comment begins with `;`").into()
        }
        Some('<') => parse(span, "`#<…>` is how a value without a written form prints; it cannot be read")
            .hint("write the expression that makes the value")
            .into(),
        Some(other) => parse(span, format!("`#{}` has no meaning", other.escape_debug()))
            .hint("after `#` come `{`, `(`, `\"`, `_`, `'`, `?`, `:`, `#` or a tag such as `inst`")
            .into(),
    }
}

/// `##` with an unknown name.
pub(super) fn unknown_symbolic(span: Span, at_end: bool) -> Failure {
    let error = parse(span, "`##` must be followed by `Inf`, `-Inf` or `NaN`")
        .hint("write `##Inf`, `##-Inf` or `##NaN`");
    Failure { error, incomplete: at_end, unbalanced: false }
}

// ---- text ----

/// `\400` and above.
pub(super) fn octal_too_large(span: Span) -> Failure {
    parse(span, "an octal escape goes up to `\\377`").hint("write the character itself, or `\\uXXXX`").into()
}

/// An escape of a string that nobody knows, in data.
pub(super) fn unknown_escape(span: Span) -> Failure {
    parse(span, "a string has an escape that is not known")
        .hint("escapes are `\\n`, `\\t`, `\\r`, `\\b`, `\\f`, `\\\\`, `\\\"`, `\\uXXXX` and octal ones")
        .into()
}

/// Half of a surrogate pair.
pub(super) fn lone_surrogate(span: Span) -> Failure {
    parse(span, "this `\\u` escape is half of a surrogate pair; alone it is no character")
        .hint("write both halves, `\\ud83d\\ude00`, or the character itself")
        .into()
}

/// A backslash at the very end.
pub(super) fn lone_backslash(span: Span) -> Failure {
    incomplete(parse(span, "`\\` begins a character, but nothing follows").hint("write `\\a` or `\\newline`"))
}

/// A character name nobody knows.
pub(super) fn unknown_character(token: &str, span: Span) -> Failure {
    let names: Vec<String> = CHARACTER_NAMES.iter().map(|(name, _)| format!("`\\{name}`")).collect();
    parse(span, format!("`\\{}` is not a character", abbreviate(token)))
        .hint(format!(
            "a character is `\\` and one character, `\\uXXXX`, `\\oNNN` or one of {}; write several characters as a string",
            names.join(" ")
        ))
        .into()
}

// ---- names and numbers ----

/// Why a token is not a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NameFault {
    /// Nothing after the colon.
    Empty,
    /// `name:`
    TrailingColon,
    /// `a::b`
    InnerColons,
    /// `/a`, `a/`
    Slash,
    /// `a/2`
    Division,
    /// A control character.
    Control(char),
    /// “ and its like.
    TypographicQuote,
}

/// A token that should be a name and is not. `written` includes a keyword's colon.
pub(super) fn bad_name(fault: NameFault, written: &str, span: Span) -> Failure {
    let shown = abbreviate(written);
    let (message, hint) = match fault {
        NameFault::Empty => (
            format!("`{shown}` alone is not a keyword"),
            "a keyword is `:` and a name, as in `:name`; in a map the value follows its key without `:`"
                .to_owned(),
        ),
        NameFault::TrailingColon => (
            format!("`{shown}` ends with a colon"),
            "a keyword has its colon in front, as in `:name`".to_owned(),
        ),
        NameFault::InnerColons => (
            format!("`{shown}` is not a name: it has two colons in a row"),
            "write one colon in front".to_owned(),
        ),
        NameFault::Slash => (
            format!("`{shown}` is not a name: `/` must stand between a namespace and a name"),
            "write `namespace/name`, or put spaces around `/` to divide".to_owned(),
        ),
        NameFault::Division => (
            format!("`{shown}` is not a name: what follows `/` begins with a digit"),
            "write division as `(/ a 2)`".to_owned(),
        ),
        NameFault::Control(c) => (
            format!("the control character U+{:04X} cannot be part of a name", u32::from(c)),
            "remove it".to_owned(),
        ),
        NameFault::TypographicQuote => (
            format!("`{shown}` begins with a typographic quote"),
            "write strings with plain `\"` quotes".to_owned(),
        ),
    };
    parse(span, message).hint(hint).into()
}

/// Why a numeric token is not a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NumberFault {
    /// It follows no pattern.
    Malformed,
    /// More digits than allowed.
    TooLong,
    /// The radix before `r` is not 2 to 36.
    Radix,
    /// A leading zero before digits that are not octal; holds the digits without it.
    Octal(String),
    /// `1/0`
    ZeroDenominator,
    /// The denominator of a ratio is too long.
    Denominator,
    /// No finite float is that large.
    OutOfRange,
    /// The exponent of a decimal is too large or too small.
    Scale,
}

/// A token that should be a number and is not.
pub(super) fn bad_number(fault: &NumberFault, token: &str, span: Span, limits: &ReadLimits) -> Failure {
    let shown = abbreviate(token);
    let (message, hint) = match fault {
        NumberFault::Malformed => (
            format!("`{shown}` is not a number"),
            match number::meant(token, limits) {
                Some(meant) => format!("write `{}`", abbreviate(&meant)),
                None => "a name cannot begin with a digit; write dates and other text as a string".to_owned(),
            },
        ),
        NumberFault::TooLong => (
            format!("a number may have at most {} digits", limits.max_digits),
            "write a shorter number".to_owned(),
        ),
        NumberFault::Radix => (
            format!("`{shown}` has a radix outside 2 to 36"),
            "write it as in `16rFF` or `2r1010`".to_owned(),
        ),
        NumberFault::Octal(decimal) => (
            format!("`{shown}` is not a number: a leading zero means octal, which has no 8 or 9"),
            format!("write `{}`", abbreviate(decimal)),
        ),
        NumberFault::ZeroDenominator => {
            (format!("`{shown}` divides by zero"), "write another number".to_owned())
        }
        NumberFault::Denominator => (
            format!(
                "`{shown}` is out of the range of ratios: the denominator may have {MAX_DENOMINATOR_BITS} bits"
            ),
            "write a smaller denominator, or a float".to_owned(),
        ),
        NumberFault::OutOfRange => (
            format!("`{shown}` is too large for a float"),
            "write `##Inf` for infinity, or the digits of an integer".to_owned(),
        ),
        NumberFault::Scale => (
            format!("`{shown}` is out of the range of decimals: at most {MAX_SCALE} places or zeros"),
            "write fewer digits, or a float (without `M`)".to_owned(),
        ),
    };
    parse(span, message).hint(hint).into()
}

/// `.5`: Clojure has no numbers without a digit before the point.
pub(super) fn missing_zero(token: &str, span: Span) -> Failure {
    let fixed = token.replacen('.', "0.", 1);
    parse(span, format!("`{}` is not a number: a digit must stand before the point", abbreviate(token)))
        .hint(format!("write `{}`", abbreviate(&fixed)))
        .into()
}

/// `1,000`: a comma is blank space, so that would be the numbers 1 and 0.
pub(super) fn grouped_digits(written: &str, span: Span) -> Failure {
    let shown = abbreviate(written);
    parse(span, format!("`{shown}` is more than one number: a comma is blank space"))
        .hint(format!(
            "write `{}`; for several numbers put a space behind the comma",
            abbreviate(&written.replace(',', ""))
        ))
        .into()
}

// ---- limits ----

/// More bytes than allowed.
pub(super) fn too_many_bytes(length: usize, limits: &ReadLimits) -> Failure {
    let message = format!("the program has {length} bytes; {} are allowed", limits.max_bytes);
    Error::new(ErrorKind::ProgramTooLarge, message)
        .hint("split it, or pass large data as input instead of writing it into the program")
        .into()
}

/// More forms than allowed.
pub(super) fn too_many_forms(span: Span, limits: &ReadLimits) -> Failure {
    let (what, hint) = match limits.data {
        true => ("text", "it takes too much memory as a whole: read it in parts, or pass the data as input"),
        false => ("program", "split it, or pass large data as input instead of writing it into the program"),
    };
    let most = limits.max_forms;
    let message = match most < ReadLimits::default().max_forms {
        true => format!("the {what} has more than {most} forms, for which its memory would not last"),
        false => format!("the {what} has more than {most} forms"),
    };
    Error::new(ErrorKind::ProgramTooLarge, message).at(span).hint(hint).into()
}

/// Deeper nesting than allowed.
pub(super) fn too_deep(span: Span, limits: &ReadLimits) -> Failure {
    let message = format!("forms are nested more than {} levels deep", limits.max_depth);
    Error::new(ErrorKind::NestingTooDeep, message)
        .at(span)
        .hint("name the inner parts with `let` or `defn`")
        .into()
}

/// As much of the first line of a text as an error quotes.
pub(super) fn abbreviate(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let shown = excerpt(line);
    let is_cut = line.len() < text.len() && shown.len() == line.len();
    if is_cut { format!("{shown}…") } else { shown.into_owned() }
}
