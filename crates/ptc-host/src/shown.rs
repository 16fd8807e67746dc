//! What people see who decide about calls: exactly what will be sent, with nothing that hides or turns around.

use ptc_lisp::json::numbers;
use ptc_lisp::visible::{hides, visible};
use serde_json::Value as Json;

use ptc_lisp::json::strict_json;

/// A value as JSON text over several lines in which every character can be seen. Such characters stand in strings
/// only, so the text reads back as the same value.
pub fn visible_json(value: &Json) -> String {
    visible(&format!("{value:#}")).into_owned()
}

/// Reads the arguments that a person wrote: a JSON object whose keys are told apart and whose numbers can be sent as
/// they stand.
pub fn arguments(text: &str) -> Result<Json, String> {
    let value = strict_json(text)
        .map_err(|error| format!("the new arguments are not JSON that can be used: {error}"))?;
    if !value.is_object() {
        return Err("the new arguments must be a JSON object".to_owned());
    }
    match numbers(text).find(|literal| !is_kept(literal)) {
        Some(literal) => {
            let kept = serde_json::from_str::<Json>(literal).unwrap_or_default();
            Err(format!(
                "the number {literal} cannot be sent exactly, it would become {kept}; write it as a string"
            ))
        }
        None => Ok(value),
    }
}

/// The largest integer up to which programs whose numbers are floats know every one.
const LARGEST_FLOAT_INTEGER: u64 = 1 << 53;

/// Whether whoever reads this JSON text sees what it says: every character shows, and no integer is rounded by programs
/// whose numbers are floats, as those of JavaScript.
pub fn is_read_alike(text: &str) -> bool {
    let exact = |literal: &str| {
        literal.contains(['.', 'e', 'E'])
            || literal.trim_start_matches('-').parse::<u64>().is_ok_and(|n| n <= LARGEST_FLOAT_INTEGER)
    };
    !text.chars().any(hides) && numbers(text).all(exact)
}

/// Whether a number is the same after reading: its digits without zeros at either end, and where its point stands.
fn is_kept(literal: &str) -> bool {
    let read = serde_json::from_str::<Json>(literal).map(|number| number.to_string());
    read.is_ok_and(|read| decimal(&read) == decimal(literal))
}

fn decimal(text: &str) -> (bool, String, i64) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let point = exponent.parse::<i64>().unwrap_or(i64::MAX / 2) + whole.len() as i64;
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let digits = digits.trim_matches('0').to_owned();
    match digits.is_empty() {
        true => (negative, digits, 0),
        false => (negative, digits, point - leading as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_hides_is_shown_and_reads_back_as_the_same_value() {
        let value = json!({"to": "alice\u{202e}bob\u{200b}", "tag\u{e0041}": "a\u{a0}b", "plain": "Grüße, 世界 \u{1f600}"});
        let text = visible_json(&value);
        for escaped in ["\\u202e", "\\u200b", "\\udb40\\udc41", "\\u00a0", "Grüße, 世界 \u{1f600}"] {
            assert!(text.contains(escaped), "{escaped}: {text}");
        }
        assert!(!text.chars().any(hides), "{text}");
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), value);
        assert_eq!(visible("a\u{1b}[2J\r\n"), "a\\u001b[2J\\u000d\n");
        assert_eq!(visible("plain"), "plain");
    }

    #[test]
    fn numbers_of_a_person_are_sent_as_they_stand_or_refused() {
        for exact in [
            "{\"n\": 9007199254740993}",
            "{\"n\": 18446744073709551615, \"m\": -9223372036854775808}",
            "{\"n\": 1.0, \"m\": 1, \"e\": 1e3, \"f\": 1.50, \"z\": 0.0, \"g\": 0.1}",
            "{\"text\": \"12345678901234567890123 \\\" 1e999\", \"k\": [5e-324]}",
        ] {
            arguments(exact).unwrap_or_else(|error| panic!("{exact}: {error}"));
        }
        assert_eq!(arguments("{\"a\": 1.0}").unwrap().to_string(), "{\"a\":1.0}");
        for rounded in
            ["12345678901234567891234", "0.12345678901234567890123", "1e400", "-0.30000000000000000001"]
        {
            let error = arguments(&format!("{{\"n\": [{rounded}]}}")).unwrap_err();
            assert!(error.contains(rounded) || error.contains("out of range"), "{error}");
        }
        assert!(arguments("[1]").unwrap_err().contains("object"));
        assert!(arguments("{").unwrap_err().contains("not JSON"));
        assert!(arguments("{\"a\": {\"n\": 1, \"n\": 2}}").unwrap_err().contains("stands twice"));
    }
}
