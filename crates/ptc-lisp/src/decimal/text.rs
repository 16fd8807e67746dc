//! Decimals as text: what Java reads and writes.

use num_bigint::BigInt;
use num_traits::Signed;

use super::{Decimal, ten_to};
use crate::value::print::float_text;

/// The least exponent of a first digit that is written without an exponent.
const LEAST_PLAIN: i64 = -6;

/// The longest text of digits that is read.
pub const MAX_TEXT: usize = 320_000;

impl Decimal {
    /// Reads `-12.50`, `.5`, `1.5e3`. Nothing for other text, and for numbers that are too large.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let bare = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let length = bare.len() + part.len();
        if length == 0 || length > MAX_TEXT || !all_digits(bare) || !all_digits(part) {
            return None;
        }
        let unscaled = BigInt::parse_bytes(format!("{bare}{part}").as_bytes(), 10)?;
        let scale = i64::try_from(part.len()).ok()?.checked_sub(exponent)?;
        Decimal::checked(if whole.starts_with('-') { -unscaled } else { unscaled }, scale)
    }

    /// Whether a text is a number but for marks that people write in it, such as `$1,234.50`.
    pub fn is_number_with_marks(text: &str) -> bool {
        const MOST: usize = 64;
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
        let is_mark = |c: char| c.is_whitespace() || matches!(c, ',' | '_' | '\'' | '$' | '€' | '£' | '¥');
        // Other commas stand for the point.
        let thousands = |(_, end): (&str, &str)| end.chars().take_while(char::is_ascii_digit).count() == 3;
        text.len() <= MOST
            && text.chars().all(|c| is_part(c) || is_mark(c))
            && text.find('.').is_none_or(|point| !text[point..].contains(','))
            && text.rsplit_once(',').is_none_or(thousands)
            && Decimal::parse(&text.chars().filter(|c| is_part(*c)).collect::<String>()).is_some()
    }

    /// Whether text has the form of a decimal, of whatever size.
    pub fn is_form(text: &str) -> bool {
        let (digits, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(d, e)| (d, Some(e)));
        let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent_fits = exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent));
        whole.len() + part.len() > 0 && all_digits(whole) && all_digits(part) && exponent_fits
    }

    /// The decimal that a float prints as, as `BigDecimal/valueOf` makes it; nothing for NaN and the infinities.
    pub fn of_float(float: f64) -> Option<Decimal> {
        if !float.is_finite() {
            return None;
        }
        Decimal::parse(&float_text(float, ["", "", ""]))
    }

    /// The text of `.toPlainString`: without an exponent.
    pub fn plain(&self) -> String {
        if self.scale <= 0 {
            return (&self.unscaled * ten_to(-self.scale)).to_string();
        }
        let places = usize::try_from(self.scale).unwrap_or(0);
        let digits = format!("{:0>width$}", self.unscaled.magnitude().to_string(), width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        format!("{}{whole}.{part}", self.minus())
    }

    /// How long [`Decimal`]'s text is.
    pub fn text_len(&self) -> usize {
        let digits = self.precision();
        let exponent = digits - 1 - self.scale;
        let length = if self.scale >= 0 && exponent >= LEAST_PLAIN {
            digits.max(self.scale + 1) + i64::from(self.scale > 0)
        } else {
            let exponent = exponent.unsigned_abs();
            let written = if exponent == 0 { 0 } else { 3 + i64::from(exponent.ilog10()) };
            digits + i64::from(digits > 1) + written
        };
        usize::try_from(length).unwrap_or(0) + self.minus().len()
    }

    /// How long [`Decimal::plain`] is at most.
    pub fn plain_len(&self) -> usize {
        let zeros = usize::try_from(self.scale.unsigned_abs()).unwrap_or(usize::MAX);
        self.text_len().saturating_add(zeros)
    }

    /// The text of `.toEngineeringString`: an exponent is a multiple of three.
    pub fn engineering(&self) -> String {
        let exponent = self.precision() - 1 - self.scale;
        if self.scale >= 0 && exponent >= LEAST_PLAIN {
            return self.plain();
        }
        let mut digits = self.unscaled.magnitude().to_string();
        let mut before = exponent.rem_euclid(3) + 1;
        let mut exponent = exponent - before + 1;
        if digits == "0" && before > 1 {
            // Zero shows its scale by places.
            let places = 4 - before;
            (before, exponent) = (1, exponent + 3);
            digits.extend(std::iter::repeat_n('0', usize::try_from(places).unwrap_or(0)));
        }
        let before = usize::try_from(before).unwrap_or(1);
        let mut digits = format!("{digits:0<before$}");
        let part = digits.split_off(before);
        let point = if part.is_empty() { "" } else { "." };
        let exponent = if exponent == 0 { String::new() } else { format!("E{exponent:+}") };
        format!("{}{digits}{point}{part}{exponent}", self.minus())
    }

    fn minus(&self) -> &'static str {
        if self.unscaled.is_negative() { "-" } else { "" }
    }
}

/// An exponent that may be larger than any number has.
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

impl std::fmt::Display for Decimal {
    /// Java's `toString`: plain down to six zeros behind the point, else with an exponent.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.unscaled.magnitude().to_string();
        let exponent = digits.len() as i64 - 1 - self.scale;
        if self.scale >= 0 && exponent >= LEAST_PLAIN {
            return f.write_str(&self.plain());
        }
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        write!(f, "{}{first}{point}{rest}", self.minus())?;
        if exponent != 0 { write!(f, "E{exponent:+}") } else { Ok(()) }
    }
}
