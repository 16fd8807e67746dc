//! Numbers of JSON texts as they are written, before a reader makes floats of those that it cannot hold.

/// The first integer of a JSON text that does not fit 64 bits, which readers of JSON would round.
pub fn rounded_integer(text: &str) -> Option<&str> {
    // The shortest such integer has 19 digits.
    const SHORTEST: usize = 19;
    let fits = |literal: &str| {
        literal.len() < SHORTEST
            || literal.contains(['.', 'e', 'E'])
            || literal.parse::<i64>().is_ok()
            || literal.parse::<u64>().is_ok()
    };
    numbers(text).find(|literal| !fits(literal))
}

/// An integer of a JSON text that would be another one where it is read: a wrong id is worse than none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the integer {0} does not fit 64 bits and would be rounded; send it as a text, \"{0}\"")]
pub struct RoundedInteger(String);

/// Sees that a JSON text has no integer that is rounded where it is read.
pub fn exact(text: &str) -> Result<(), RoundedInteger> {
    const SHOWN: usize = 40;
    let Some(number) = rounded_integer(text) else { return Ok(()) };
    Err(RoundedInteger(number.get(..SHOWN).map_or_else(|| number.to_owned(), |head| format!("{head}…"))))
}

/// The numbers of a JSON text, as they are written.
pub fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            rest = &rest[at..];
            if !rest.starts_with('"') {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
                let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
                rest = after;
                return Some(number);
            }
            let mut escaped = false;
            let ends = |c: char| {
                let end = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                end
            };
            let end = rest[1..].find(ends)?;
            rest = &rest[end + 2..];
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_64_bits_are_found() {
        for (text, found) in [
            ("[1, -9223372036854775808, 18446744073709551615, 1e400, 0.12345678901234567890]", None),
            (
                "{\"a\": [\"18446744073709551616\", \"\\\"18446744073709551616\", {\"99999999999999999999\": 1}]}",
                None,
            ),
            ("{\"a\": [18446744073709551616]}", Some("18446744073709551616")),
            ("-9223372036854775809", Some("-9223372036854775809")),
        ] {
            assert_eq!(rounded_integer(text), found, "{text}");
        }
    }
}
