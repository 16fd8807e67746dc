//! Floats of answers with so many decimals, by their digits.
//!
//! What people see of a float are its shortest digits, `1.005`, and those are what they expect to be rounded: half up, away from
//! zero, as on paper. `x * 100.0` is another number than a hundred times what is shown, and gives `1.0`.

use serde_json::Value as Json;

/// A value with all its floats rounded.
pub(super) fn floats(value: Json, decimals: u32) -> Json {
    match value {
        Json::Number(number) if number.is_f64() => {
            Json::from(half_up(number.as_f64().unwrap_or_default(), decimals))
        }
        Json::Array(items) => items.into_iter().map(|item| floats(item, decimals)).collect(),
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(name, value)| (name, floats(value, decimals))).collect())
        }
        other => other,
    }
}

/// A float whose shortest digits are rounded half up to so many decimals.
fn half_up(float: f64, decimals: u32) -> f64 {
    // All of the shortest digits, without an exponent.
    let text = float.abs().to_string();
    let Some((whole, places)) = text.split_once('.') else { return float };
    let Some((kept, next)) = usize::try_from(decimals).ok().and_then(|at| {
        let next = places.as_bytes().get(at)?;
        Some((places.get(..at)?, *next))
    }) else {
        return float;
    };
    let mut digits = format!("0{whole}.{kept}").into_bytes();
    if next >= b'5' {
        count_up(&mut digits);
    }
    let rounded = String::from_utf8_lossy(&digits).parse().unwrap_or(float.abs());
    // The sign of what became zero says nothing.
    if rounded == 0.0 { 0.0 } else { rounded.copysign(float) }
}

/// The number that comes next with as many decimals. Its first digit is a zero, so that there is room.
fn count_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev().filter(|digit| digit.is_ascii_digit()) {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digits_that_are_shown_are_rounded_half_up() {
        for (float, decimals, rounded) in [
            (1.005, 2, 1.01),
            (-1.005, 2, -1.01),
            (2.675, 2, 2.68),
            (1.004_999, 2, 1.0),
            (9.995, 2, 10.0),
            (0.5, 0, 1.0),
            (-0.001, 2, 0.0),
            (1e300, 2, 1e300),
            (1e-300, 2, 0.0),
            (5e-324, 400, 5e-324),
            (1.5, u32::MAX, 1.5),
            (9_007_199_254_740_993.0, 2, 9_007_199_254_740_992.0),
        ] {
            let told = half_up(float, decimals);
            assert_eq!(told.to_bits(), f64::to_bits(rounded), "{float} at {decimals}: {told}");
        }
        let value = json!({"a": [0.125, 3, "0.125"], "b": null});
        assert_eq!(floats(value, 2), json!({"a": [0.13, 3, "0.125"], "b": null}));
    }
}
