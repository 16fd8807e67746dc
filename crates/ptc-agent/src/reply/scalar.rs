//! A number, a truth value, a word or a date in a text answer, as people write it: `42`, `**42**`, `Answer: 42.`,
//! `1,842`, `Yes`.

use ptc_signature::{Mode, Type};
use serde_json::Value as Json;

use super::blocks::{fenced, unify_line_ends};
use super::final_value::midnight;
use super::json::parse;
use super::thoughts::without_thoughts;

/// Words before a value that only say that it is one, in lower case.
const LABELS: [&str; 6] =
    ["final answer", "the final answer", "the answer", "answer", "the result", "result"];

/// Up to here every float that is whole is the integer that was written.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of a scalar answer: as JSON or, where the type has text of its own, as it stands. What does not fit the
/// type as it stands is read without what people put around a value, if it fits then.
pub(super) fn scalar(ty: &Type, text: &str) -> Result<Json, String> {
    let text = bare(text);
    let as_it_stands = literal(ty, &text);
    if let Some(value) = as_it_stands.as_ref().ok().and_then(|value| fitting(ty, value)) {
        return Ok(value);
    }
    let others = [written(&text)].into_iter().chain(labelled(&text));
    let mut others = others.flat_map(|text| [signed(&text), Some(text)]).flatten();
    let found = others.find_map(|text| {
        let value = number(&text).or_else(|| literal(ty, &text).ok())?;
        fitting(ty, &value)
    });
    found.map_or(as_it_stands, Ok)
}

fn literal(ty: &Type, text: &str) -> Result<Json, String> {
    match parse(text) {
        Ok(value) if !text_would_fit_better(ty, &value) => Ok(value),
        Err(error) if !takes_text(ty) => truth(text).ok_or(error),
        _ => Ok(Json::String(text.to_owned())),
    }
}

/// Whether values of this type are points in time.
fn is_moment(ty: &Type) -> bool {
    match ty {
        Type::DateTime => true,
        Type::Optional(inner) => is_moment(inner),
        _ => false,
    }
}

/// A value that fits the type: it, the integer that it is (`42.0`), or the moment with which a date begins.
fn fitting(ty: &Type, value: &Json) -> Option<Json> {
    let fits = |value: &Json| ty.coerce(value, Mode::Enabled).is_ok();
    let whole = || value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < EXACT);
    let date = || value.as_str().and_then(midnight).map(Json::String).filter(fits).filter(|_| is_moment(ty));
    match fits(value) {
        true => Some(value.clone()),
        false => whole().map(|number| Json::from(number as i64)).filter(fits).or_else(date),
    }
}

/// The answer without a fence or backticks around it.
fn bare(text: &str) -> String {
    let text = unify_line_ends(text);
    let text = without_thoughts(&text);
    let mut blocks = fenced(&text).into_iter();
    if let (Some(block), None) = (blocks.next(), blocks.next()) {
        return block.text;
    }
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix('`').and_then(|inner| inner.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).unwrap_or(trimmed).to_owned()
}

/// A value without emphasis, quotes and the full stop of its sentence.
fn written(text: &str) -> String {
    let around = |c: char| c.is_whitespace() || "*_`\"'".contains(c);
    text.trim_matches(around).trim_end_matches(['.', '!']).trim_matches(around).to_owned()
}

/// What stands behind a label on the last line: `Answer: 42`, `**The answer is** 42.`
fn labelled(text: &str) -> Option<String> {
    let emphasis = |c: char| c.is_whitespace() || "*_`".contains(c);
    let line = text.lines().map(|line| line.trim_matches(emphasis)).rfind(|line| !line.is_empty())?;
    let label = LABELS
        .iter()
        .find(|label| line.get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label)))?;
    let rest = line.get(label.len()..)?.trim_start_matches(emphasis);
    let rest = [":", "is", "=", "was"].iter().find_map(|sign| rest.strip_prefix(sign))?;
    Some(written(rest.trim_start_matches(|c: char| c == ':' || emphasis(c))))
}

/// A number as JSON has it, that was written with a plus or a long minus, with a sign of money, or without the zero before its
/// point.
fn signed(text: &str) -> Option<String> {
    let minus = |text: &str| text.strip_prefix(['-', '\u{2212}']).map(str::to_owned);
    let (sign, rest) = minus(text).map_or(("", text.to_owned()), |rest| ("-", rest));
    let rest = rest.trim_start_matches(['+', '$', '\u{20ac}', '\u{a3}']);
    let zero = if rest.starts_with('.') { "0" } else { "" };
    let digits = rest.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    digits.then(|| format!("{sign}{zero}{rest}"))
}

/// A number with commas between its thousands.
fn number(text: &str) -> Option<Json> {
    let (whole, places) = text.split_once('.').map_or((text, None), |(whole, places)| (whole, Some(places)));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.strip_prefix('-').unwrap_or(whole).split(',');
    let first = groups.next().is_some_and(|first| digits(first) && first.len() <= 3);
    let mut more = groups.peekable();
    let grouped = more.peek().is_some() && more.all(|group| group.len() == 3 && digits(group));
    (first && grouped && places.is_none_or(digits)).then(|| parse(&text.replace(',', "")).ok()).flatten()
}

/// `True`, `no`, as people write truth.
fn truth(text: &str) -> Option<Json> {
    match text.to_lowercase().as_str() {
        "true" | "yes" => Some(true.into()),
        "false" | "no" => Some(false.into()),
        _ => None,
    }
}

/// Whether values of this type can be text that needs no quotes.
fn takes_text(ty: &Type) -> bool {
    match ty {
        Type::Any | Type::String(_) | Type::Keyword | Type::DateTime | Type::Enum(_) => true,
        Type::Optional(inner) => takes_text(inner),
        Type::Union(members) => members.iter().any(takes_text),
        _ => false,
    }
}

/// Whether the text is JSON only by chance, such as `42` where a string or a keyword is wanted.
fn text_would_fit_better(ty: &Type, value: &Json) -> bool {
    takes_text(ty) && !value.is_string() && ty.validate(value, Mode::Enabled).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_read_as_people_write_them() {
        for (text, ty, value) in [
            ("42", ":int", json!(42)),
            ("**42**", ":int", json!(42)),
            ("42.", ":int", json!(42)),
            ("Answer: 42", ":int", json!(42)),
            ("+42", ":int", json!(42)),
            ("\u{2212}42", ":int", json!(-42)),
            ("The answer is $1,842.50.", ":float", json!(1842.5)),
            ("-.5", ":float", json!(-0.5)),
            ("I counted them.\n\n**Answer:** 42.", ":int", json!(42)),
            ("The answer is 42.", ":int", json!(42)),
            ("1,842", ":int", json!(1842)),
            ("-1,842.50", ":float", json!(-1842.5)),
            ("\"42\"", ":int", json!("42")),
            ("<think>41?</think>42", ":int", json!(42)),
            ("True", ":bool", json!(true)),
            ("No.", ":bool", json!(false)),
            ("**2025-01-31T00:00:00Z**", ":datetime", json!("2025-01-31T00:00:00Z")),
            ("Answer: yes", ":enum[yes no]", json!("yes")),
            ("Answer: on_hold", ":enum[on_hold open]", json!("on_hold")),
            ("**The answer is** `on_hold`.", ":enum[on_hold open]", json!("on_hold")),
        ] {
            let ty = Type::parse(ty).unwrap();
            assert_eq!(scalar(&ty, text), Ok(value), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_value_stays_none() {
        for (text, ty) in
            [("about 42", ":int"), ("1,84", ":int"), ("The answer is unclear", ":int"), ("maybe", ":bool")]
        {
            let ty = Type::parse(ty).unwrap();
            assert!(scalar(&ty, text).is_err(), "{text:?}");
        }
    }
}
