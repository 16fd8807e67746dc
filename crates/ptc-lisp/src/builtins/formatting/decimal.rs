//! Numbers digit by digit. As in Java, the digits are the shortest that read back as the same float, and
//! rounding goes by them, half up: 0.125 and 0.15 round up although the float 0.15 is a little less.

use crate::decimal::Decimal;

/// A number that is not negative: `0.d₁d₂…dₙ × 10^point`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecimalDigits {
    digits: Vec<u8>,
    point: i32,
}

impl DecimalDigits {
    /// The digits of a finite float that is not negative.
    pub(super) fn of(float: f64) -> DecimalDigits {
        let text = format!("{float:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        DecimalDigits { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
    }

    /// An integer's digits.
    pub(super) fn of_digits(text: &str) -> DecimalDigits {
        let digits: Vec<u8> = text.bytes().map(|byte| byte - b'0').collect();
        let point = i32::try_from(digits.len()).unwrap_or(i32::MAX);
        DecimalDigits { digits, point }
    }

    /// The digits of an exact decimal without its sign.
    pub(super) fn of_decimal(decimal: &Decimal) -> DecimalDigits {
        let DecimalDigits { digits, point } =
            DecimalDigits::of_digits(&decimal.unscaled().magnitude().to_string());
        let scale = i32::try_from(decimal.scale()).unwrap_or(i32::MAX);
        DecimalDigits { digits, point: point.saturating_sub(scale) }
    }

    fn is_zero(&self) -> bool {
        self.digits.iter().all(|digit| *digit == 0)
    }

    /// Rounded half up to `count` digits; a negative count leaves nothing.
    fn rounded(&self, count: i32) -> DecimalDigits {
        let Ok(count) = usize::try_from(count) else { return DecimalDigits { digits: vec![0], point: 1 } };
        let Some(dropped) = self.digits.get(count) else { return self.clone() };
        let mut digits = self.digits[..count].to_vec();
        if *dropped < 5 {
            return DecimalDigits { digits, point: self.point };
        }
        for digit in digits.iter_mut().rev() {
            *digit += 1;
            if *digit < 10 {
                return DecimalDigits { digits, point: self.point };
            }
            *digit = 0;
        }
        digits.insert(0, 1);
        DecimalDigits { digits, point: self.point + 1 }
    }

    /// The digit with the value 10^place.
    fn digit(&self, place: i32) -> char {
        let at = usize::try_from(self.point - 1 - place).ok();
        char::from(b'0' + at.and_then(|at| self.digits.get(at)).copied().unwrap_or(0))
    }

    /// `123.45` with so many digits after the point.
    pub(super) fn fixed(&self, precision: usize) -> String {
        let places = i32::try_from(precision).unwrap_or(i32::MAX);
        let number = match self.is_zero() {
            // Where the point of a zero stands shows only in an exponent.
            true => DecimalDigits { digits: vec![0], point: 1 },
            false => self.rounded(self.point.saturating_add(places)),
        };
        let mut out: String = (0..number.point.max(1)).rev().map(|place| number.digit(place)).collect();
        if precision > 0 {
            out.push('.');
            out.extend((1..=places).map(|place| number.digit(-place)));
        }
        out
    }

    /// `1.2345` and `e+02`, with so many digits after the point.
    pub(super) fn scientific(&self, precision: usize) -> (String, String) {
        let places = i32::try_from(precision).unwrap_or(i32::MAX - 1);
        let number = self.rounded(places + 1);
        let exponent = number.point.saturating_sub(1);
        let mantissa = DecimalDigits { digits: number.digits, point: 1 };
        let sign = if exponent < 0 { '-' } else { '+' };
        (mantissa.fixed(precision), format!("e{sign}{:02}", exponent.unsigned_abs()))
    }

    /// So many digits in all: fixed for numbers from 10^-4 up to 10^precision, else scientific; so is a zero of an exact
    /// decimal with an exponent, as in Java.
    pub(super) fn general(&self, precision: usize) -> (String, String) {
        let digits = i32::try_from(precision).unwrap_or(i32::MAX);
        if self.is_zero() && self.point == 1 {
            return (self.fixed(precision - 1), String::new());
        }
        let exponent = self.rounded(digits).point - 1;
        if !self.is_zero() && (-4..digits).contains(&exponent) {
            let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
            return (self.fixed(places), String::new());
        }
        self.scientific(precision - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::DecimalDigits;

    #[test]
    fn floats_round_half_up_on_their_shortest_digits() {
        let cases = [
            (0.125, 2, "0.13"),
            (0.15, 1, "0.2"),
            (2.5, 0, "3"),
            (0.5, 0, "1"),
            (0.49, 0, "0"),
            (99.995, 2, "100.00"),
            (1e10, 2, "10000000000.00"),
            (0.0004, 3, "0.000"),
            (0.0005, 3, "0.001"),
            (0.00004, 3, "0.000"),
            (0.1, 20, "0.10000000000000000000"),
            (0.0, 2, "0.00"),
        ];
        for (float, precision, text) in cases {
            assert_eq!(DecimalDigits::of(float).fixed(precision), text, "{float} to {precision}");
        }
    }
}
