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
