//! Numbers: what the text of a numeric token means.
//!
//! A ratio without a fraction reads as an integer.

use num_bigint::BigInt;
use num_traits::{ToPrimitive, Zero};

use super::ReadLimits;
use super::fault::NumberFault;
use crate::decimal::Decimal;
use crate::ratio::Ratio;
use crate::syntax::FormKind;

/// Whether a token that begins with `first`, followed by `next`, is meant as a number.
pub(super) fn looks_numeric(first: &str, next: Option<char>) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    first.starts_with(is_digit) || (matches!(first, "+" | "-") && next.is_some_and(is_digit))
}

/// The number that `token` writes.
pub(super) fn parse(token: &str, limits: &ReadLimits) -> Result<FormKind, NumberFault> {
    let most = limits.max_digits;
    if token.len() <= most.min(SMALL)
        && let Some(small) = small_integer(token)
    {
        return Ok(FormKind::Int(small));
    }
    if token.len() > most && token.bytes().filter(u8::is_ascii_alphanumeric).count() > most {
        return Err(NumberFault::TooLong);
    }
    let (negative, digits) = match token.as_bytes().first() {
        Some(b'-') => (true, &token[1..]),
        Some(b'+') => (false, &token[1..]),
        _ => (false, token),
    };
    let number = Unsigned { digits, negative, endless: limits.data };
    if let Some((numerator, denominator)) = digits.split_once('/') {
        return number.ratio(numerator, denominator);
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return match hex.strip_suffix('N') {
            Some(hex) => number.integer(hex, 16).map(wide),
            None => number.integer(hex, 16),
        };
    }
    if let Some((radix, digits)) = digits.split_once(['r', 'R']).filter(|(radix, _)| all_digits(radix)) {
        let radix = radix.parse().ok().filter(|radix| (2..=36).contains(radix));
        return number.integer(digits, radix.ok_or(NumberFault::Radix)?);
    }
    let (whole, big) = digits.strip_suffix('N').map_or((digits, false), |whole| (whole, true));
    if !all_digits(whole) {
        return number.float();
    }
    let integer = match whole.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => number
            .integer(octal, 8)
            .map_err(|_| NumberFault::Octal(whole.trim_start_matches('0').to_owned()))?,
        _ => number.integer(whole, 10)?,
    };
    Ok(if big { wide(integer) } else { integer })
}

/// Digits that make a small integer whatever they are.
const SMALL: usize = 18;

/// The integer that most tokens are: at most [`SMALL`] decimal digits, the first of which is no zero unless it is alone.
fn small_integer(token: &str) -> Option<i64> {
    if token.len() != 1 && token.starts_with('0') || token.is_empty() {
        return None;
    }
    token.bytes().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A numeric token without its sign, and the sign.
struct Unsigned<'a> {
    digits: &'a str,
    negative: bool,
    /// Whether one that is too large for a float is infinite.
    endless: bool,
}

impl Unsigned<'_> {
    fn integer(&self, digits: &str, radix: u32) -> Result<FormKind, NumberFault> {
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(NumberFault::Malformed);
        }
        let small = i64::from_str_radix(digits, radix).map(|n| if self.negative { -n } else { n });
        if let Ok(small) = small {
            return Ok(FormKind::Int(small));
        }
        let big = BigInt::parse_bytes(digits.as_bytes(), radix).ok_or(NumberFault::Malformed)?;
        Ok(integer_form(if self.negative { -big } else { big }))
    }

    /// `1.5`, `5.`, `1e9`; with `M` at the end an exact decimal.
    fn float(&self) -> Result<FormKind, NumberFault> {
        let (text, exact) = match self.digits.strip_suffix('M') {
            Some(text) => (text, true),
            None => (self.digits, false),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let fraction_fits = fraction.is_empty() || all_digits(fraction);
        if !all_digits(whole) || !fraction_fits || !all_digits(exponent) {
            return Err(NumberFault::Malformed);
        }
        if exact {
            let decimal = Decimal::parse(text).ok_or(NumberFault::Scale)?;
            let decimal = if self.negative { -decimal } else { decimal };
            return Ok(FormKind::Decimal(decimal.into()));
        }
        let value: f64 = text.parse().map_err(|_| NumberFault::Malformed)?;
        let value = if self.negative { -value } else { value };
        if self.endless { Ok(FormKind::Float(value)) } else { finite(value) }
    }

    fn ratio(&self, numerator: &str, denominator: &str) -> Result<FormKind, NumberFault> {
        if !all_digits(numerator) || !all_digits(denominator) {
            return Err(NumberFault::Malformed);
        }
        let big = |digits: &str| BigInt::parse_bytes(digits.as_bytes(), 10).ok_or(NumberFault::Malformed);
        let (numerator, denominator) = (big(numerator)?, big(denominator)?);
        if denominator.is_zero() {
            return Err(NumberFault::ZeroDenominator);
        }
        let numerator = if self.negative { -numerator } else { numerator };
        Ok(match Ratio::read(numerator, denominator).ok_or(NumberFault::Denominator)? {
            Ok(ratio) => FormKind::Decimal(ratio.into()),
            Err(whole) => integer_form(whole),
        })
    }
}

/// The `N` after an integer makes it a big one, whatever its size.
fn wide(form: FormKind) -> FormKind {
    match form {
        FormKind::Int(small) => FormKind::BigInt(BigInt::from(small)),
        other => other,
    }
}

fn integer_form(value: BigInt) -> FormKind {
    value.to_i64().map_or_else(|| FormKind::BigInt(value), FormKind::Int)
}

fn finite(value: f64) -> Result<FormKind, NumberFault> {
    if value.is_finite() { Ok(FormKind::Float(value)) } else { Err(NumberFault::OutOfRange) }
}

/// Whether `token` is a number without the digit before its point, such as `.5`.
pub(super) fn lacks_zero(token: &str) -> bool {
    let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
    digits.strip_prefix('.').is_some_and(all_digits)
}

/// The bytes of groups of digits that go on from a number, as in `1,000`. Only those count that no list of numbers has: one
/// of them begins with a zero.
pub(super) fn groups(token: &str, rest: &str) -> usize {
    if !rest.starts_with(',') {
        return 0;
    }
    let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
    if !all_digits(digits) || digits.len() > 3 {
        return 0;
    }
    let (mut bytes, mut zero) = (0, false);
    while let Some(group) =
        rest[bytes..].strip_prefix(',').and_then(|rest| rest.get(..3)).filter(|group| all_digits(group))
    {
        zero |= group.starts_with('0');
        bytes += 1 + group.len();
    }
    let ends = !rest[bytes..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ',');
    if zero && ends { bytes } else { 0 }
}

/// The number that a token means as other languages write it: `1_000`, `10L`, `0.5f`, `1.5m`, `0b101`.
pub(super) fn meant(token: &str, limits: &ReadLimits) -> Option<String> {
    let plain = token.replace('_', "");
    let digits = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let sign = &plain[..plain.len() - digits.len()];
    let written = match digits.get(..2) {
        Some("0b" | "0B") => format!("2r{}", whole_suffix(&digits[2..])),
        Some("0o" | "0O") => format!("8r{}", whole_suffix(&digits[2..])),
        Some("0x" | "0X") => format!("0x{}", whole_suffix(&digits[2..])),
        _ => decimal_meant(digits)?,
    };
    let written = format!("{sign}{written}");
    (written != token && parse(&written, limits).is_ok()).then_some(written)
}

fn decimal_meant(digits: &str) -> Option<String> {
    let after = |from: usize, text: &str| from + text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = after(0, digits);
    if digits[end..].starts_with('.') {
        end = after(end + 1, digits);
    }
    if let Some(exponent) = digits[end..].strip_prefix(['e', 'E']) {
        let signed = usize::from(exponent.starts_with(['+', '-']));
        let behind = after(signed, exponent);
        end += if behind > signed { 1 + behind } else { 0 };
    }
    let (body, suffix) = digits.split_at(end);
    Some(match suffix.to_ascii_lowercase().as_str() {
        "" => body.to_owned(),
        "m" | "bd" | "dec" => format!("{body}M"),
        "n" if all_digits(body) => format!("{body}N"),
        "f" | "d" | "f32" | "f64" if all_digits(body) => format!("{body}.0"),
        "f" | "d" | "f32" | "f64" => body.to_owned(),
        _ if all_digits(body) => whole_suffix(digits).to_owned(),
        _ => return None,
    })
}

/// Digits without what other languages put behind integers of one size.
fn whole_suffix(digits: &str) -> &str {
    const SUFFIXES: &[&str] = &["ul", "ull", "ll", "l", "u", "i32", "i64", "u8", "u32", "u64", "usize"];
    let lower = digits.to_ascii_lowercase();
    let suffix = SUFFIXES.iter().filter(|suffix| lower.ends_with(*suffix)).map(|suffix| suffix.len()).max();
    &digits[..digits.len() - suffix.unwrap_or(0)]
}
