//! Ranges and shares in round numbers.

/// A range that holds both numbers, with ends of one digit that is not 0: `0 … 5,000`; nothing for ends that are
/// the same.
pub(super) fn range(low: f64, high: f64) -> Option<String> {
    let (low, high) = (-above(-low), above(high));
    (low.is_finite() && high.is_finite() && low < high).then(|| format!("{} … {}", number(low), number(high)))
}

/// The next number that is not smaller and has one digit that is not 0; a power of ten where numbers are very large
/// or very small.
fn above(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let exponent = number.abs().log10().floor() as i32;
    // Division keeps what is below one exact: 0.3 and not 0.30000000000000004.
    match exponent {
        0..15 => (number / 10f64.powi(exponent)).ceil() * 10f64.powi(exponent),
        -4..0 => (number * 10f64.powi(-exponent)).ceil() / 10f64.powi(-exponent),
        _ if number > 0.0 => format!("1e{}", exponent + 1).parse().unwrap_or(f64::INFINITY),
        _ => format!("-1e{exponent}").parse().unwrap_or(0.0),
    }
}

fn number(number: f64) -> String {
    match number {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => {
            let digits = grouped(whole.abs() as usize);
            if whole < 0.0 { format!("-{digits}") } else { digits }
        }
        large if large.abs() >= 1e15 || large.abs() < 1e-4 => format!("{large:e}"),
        small => small.to_string(),
    }
}

/// A whole number with its thousands apart: `12,345`.
pub fn grouped(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// How many of how many, in percent: all and none are said of all and none only.
pub(in crate::render) fn share(part: usize, whole: usize) -> String {
    match (part * 100).checked_div(whole) {
        _ if part >= whole => "100%".to_owned(),
        Some(0) if part > 0 => "<1%".to_owned(),
        percent => format!("{}%", percent.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_ends_in_round_numbers_around_all_values() {
        let cases = [
            (1.0, 5_000.0, Some("1 … 5,000")),
            (4_501.0, 4_987.0, Some("4,000 … 5,000")),
            (-17.5, 0.0, Some("-20 … 0")),
            (0.031, 0.25, Some("0.03 … 0.3")),
            (42.0, 42.0, Some("40 … 50")),
            (7.0, 7.0, None),
            (1.5e300, 2e300, Some("1e300 … 1e301")),
            (f64::NEG_INFINITY, 1.0, None),
        ];
        for (low, high, expected) in cases {
            assert_eq!(range(low, high).as_deref(), expected, "{low} {high}");
        }
    }

    #[test]
    fn shares_say_all_and_none_only_of_all_and_none() {
        let cases = [(5, 5, "100%"), (199, 200, "99%"), (1, 1_000, "<1%"), (0, 9, "0%"), (2, 5, "40%")];
        for (part, whole, expected) in cases {
            assert_eq!(share(part, whole), expected);
        }
    }
}
