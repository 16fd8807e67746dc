//! Exact decimals, as `java.math.BigDecimal` has them: a whole number and how many of its digits are places.
//!
//! Arithmetic ([`ops`]), rounding ([`rounding`]) and text ([`text`]) follow Java digit by digit, scales included.
//! Both parts are bounded, so that no operation takes long: the whole number as large integers are
//! ([`MAX_BITS`]), the scale by [`MAX_SCALE`]. Bringing two numbers to one scale is noted in the ledger.

pub mod context;
pub mod format;
pub mod ops;
pub mod rounding;
pub mod text;

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{Pow, Signed, ToPrimitive, Zero};

use crate::arith::{MAX_BITS, check_bits};
use crate::error::{Error, ErrorKind};
use crate::signal::Res;
use crate::value::ledger;
pub use context::Context;
pub use rounding::Rounding;

/// The most decimal places, and the most zeros that a scale stands for.
pub const MAX_SCALE: i64 = 10_000;

/// `unscaled * 10^-scale`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    unscaled: BigInt,
    scale: i64,
}

impl Decimal {
    /// A decimal, unless one of its parts is too large.
    pub fn new(unscaled: BigInt, scale: i64) -> Res<Decimal> {
        check_bits(unscaled.bits())?;
        check_scale(scale)?;
        Ok(Decimal { unscaled, scale })
    }

    /// The same for readers, which have messages of their own.
    pub fn checked(unscaled: BigInt, scale: i64) -> Option<Decimal> {
        let fits = unscaled.bits() <= MAX_BITS && (-MAX_SCALE..=MAX_SCALE).contains(&scale);
        fits.then_some(Decimal { unscaled, scale })
    }

    /// An integer as a decimal.
    pub fn of_int(int: BigInt) -> Decimal {
        Decimal { unscaled: int, scale: 0 }
    }

    /// Exactly the number that a float is; nothing for NaN and the infinities.
    pub fn exactly(float: f64) -> Option<Decimal> {
        if !float.is_finite() {
            return None;
        }
        let (mantissa, exponent, sign) = num_traits::float::FloatCore::integer_decode(float);
        let zeros = mantissa.trailing_zeros() % 64;
        let (mantissa, exponent) =
            (BigInt::from(mantissa >> zeros) * sign, i64::from(exponent) + i64::from(zeros));
        if mantissa.is_zero() {
            return Some(Decimal::of_int(BigInt::ZERO));
        }
        Some(match u32::try_from(-exponent) {
            Ok(places) => Decimal { unscaled: mantissa * BigInt::from(5).pow(places), scale: places.into() },
            Err(_) => Decimal::of_int(mantissa << exponent.unsigned_abs()),
        })
    }

    /// The whole number.
    pub fn unscaled(&self) -> &BigInt {
        &self.unscaled
    }

    /// How many digits of the whole number are decimal places; negative ones stand for zeros behind it.
    pub fn scale(&self) -> i64 {
        self.scale
    }

    /// How many digits it has; zero has one.
    pub fn precision(&self) -> i64 {
        digits(&self.unscaled)
    }

    /// Whether it is zero, of whatever scale.
    pub fn is_zero(&self) -> bool {
        self.unscaled.is_zero()
    }

    /// Its sign.
    pub fn sign(&self) -> Ordering {
        self.unscaled.sign().cmp(&Sign::NoSign)
    }

    /// How many 64-bit words it has.
    pub fn words(&self) -> usize {
        usize::try_from(self.unscaled.bits() / 64 + 1).unwrap_or(usize::MAX)
    }

    /// Java's `hashCode`, by which 1.0 and 1.00 differ.
    pub fn hash_code(&self) -> i32 {
        let step = |hash: i32, word: u32| hash.wrapping_mul(31).wrapping_add(word.cast_signed());
        let size = self.unscaled.magnitude().to_u32_digits().into_iter().rev().fold(0, step);
        let signed = if self.unscaled.is_negative() { size.wrapping_neg() } else { size };
        signed.wrapping_mul(31).wrapping_add(self.scale as i32)
    }

    /// The nearest float; infinite beyond the range of floats.
    pub fn to_f64(&self) -> f64 {
        /// More digits than can decide how a float is rounded; the last one stands for all that follow.
        const ENOUGH: i64 = 800;
        let surplus = self.precision() - ENOUGH;
        let text = if surplus > 0 {
            note_cut(&self.unscaled, surplus);
            let (most, rest) = self.unscaled.div_rem(&ten_to(surplus));
            let sticky = u8::from(!rest.is_zero());
            format!("{most}{sticky}e{}", surplus - 1 - self.scale)
        } else {
            format!("{}e{}", self.unscaled, -self.scale)
        };
        text.parse().unwrap_or(f64::NAN)
    }

    /// The float that prints as this number, if there is one: it keeps all digits but zeros at the end.
    pub fn as_f64(&self) -> Option<f64> {
        let float = self.to_f64();
        Decimal::of_float(float).filter(|shown| shown.compare(self).is_eq()).map(|_| float)
    }

    /// The number without its fraction.
    pub fn to_int(&self) -> Res<BigInt> {
        if self.scale <= 0 {
            return shifted(&self.unscaled, -self.scale);
        }
        note_cut(&self.unscaled, self.scale);
        Ok(&self.unscaled / ten_to(self.scale))
    }

    /// The integer that it is, if it has no fraction.
    pub fn as_int(&self) -> Option<BigInt> {
        let stripped = self.stripped_to(0);
        if stripped.scale > 0 && !stripped.is_zero() { None } else { self.to_int().ok() }
    }

    /// The same number without trailing zeros, as far as its scale is more than `least`. Zero keeps its scale.
    pub fn stripped_to(&self, least: i64) -> Decimal {
        let twos = self.unscaled.trailing_zeros().unwrap_or(0);
        let most = (self.scale - least).min(i64::try_from(twos).unwrap_or(i64::MAX));
        let mut stripped = self.clone();
        if most <= 0 || !(&self.unscaled % 5u8).is_zero() {
            return stripped;
        }
        let most = most.min(self.precision() - 1);
        let mut step = most.checked_ilog2().map_or(0, |log| 1i64 << log);
        while step > 0 {
            if stripped.scale - step >= least {
                note_cut(&stripped.unscaled, step);
                let (quotient, rest) = stripped.unscaled.div_rem(&ten_to(step));
                if rest.is_zero() {
                    stripped = Decimal { unscaled: quotient, scale: stripped.scale - step };
                }
            }
            step /= 2;
        }
        stripped
    }

    /// The form that all equal decimals share.
    pub fn normal(&self) -> Decimal {
        if self.is_zero() { Decimal::of_int(BigInt::ZERO) } else { self.stripped_to(i64::MIN / 2) }
    }

    /// The exponent of its first digit, or one less: finding all digits would take longer than a comparison.
    fn magnitude(&self) -> i64 {
        least_digits(&self.unscaled) - self.scale
    }

    /// The order of two decimals by value.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let (a, b) = (self.magnitude(), other.magnitude());
        let by_size = if a.abs_diff(b) > 1 { a.cmp(&b) } else { self.compare_digits(other) };
        if self.unscaled.is_negative() { by_size.reverse() } else { by_size }
    }

    /// The order of two magnitudes whose first digits have about the same exponent.
    fn compare_digits(&self, other: &Decimal) -> Ordering {
        let more = self.scale - other.scale;
        note_shift(more);
        ledger::note(self.words().max(other.words()) as u64 / 4);
        let (a, b) = (self.unscaled.magnitude(), other.unscaled.magnitude());
        match more >= 0 {
            true => a.cmp(&(b * ten_to(more).magnitude())),
            false => (a * ten_to(-more).magnitude()).cmp(b),
        }
    }

    /// The number that a float counts as beside exact ones: the one that it prints as, but for integers that large floats are.
    /// Nothing for NaN and the infinities.
    pub fn standing_for(float: f64) -> Option<Decimal> {
        /// 2^53: from here on floats are integers, which need not be those that they print as.
        const WHOLE: f64 = 9_007_199_254_740_992.0;
        if float.abs() >= WHOLE { Decimal::exactly(float) } else { Decimal::of_float(float) }
    }

    /// The order of a decimal and a float, which counts as the decimal that it prints as; integers that large
    /// floats are, count themselves. So numbers of all kinds have one order. Nothing for NaN.
    pub fn compare_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        Some(match Decimal::standing_for(float) {
            Some(other) => self.compare(&other),
            None if float > 0.0 => Ordering::Less,
            None => Ordering::Greater,
        })
    }
}

impl std::hash::Hash for Decimal {
    /// Numbers that are equal by value hash alike.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let Decimal { unscaled, scale } = self.normal();
        unscaled.hash(state);
        state.write_i64(scale);
    }
}

/// How many decimal digits an integer has.
pub fn digits(int: &BigInt) -> i64 {
    if let Some(small) = int.magnitude().to_u64() {
        return i64::from(small.checked_ilog10().unwrap_or(0)) + 1;
    }
    let least = least_digits(int);
    note_shift(least);
    least + i64::from(int.magnitude() >= ten_to(least).magnitude())
}

/// How many decimal digits an integer has, or one less.
fn least_digits(int: &BigInt) -> i64 {
    /// The logarithm of two to base ten, as a fraction of 2^64.
    const LOG_2: u128 = 0x4D10_4D42_7DE7_FBCC;
    ((u128::from(int.bits().saturating_sub(1)) * LOG_2) >> 64) as i64 + 1
}

/// A power of ten; one for negative powers.
pub fn ten_to(power: i64) -> BigInt {
    match u32::try_from(power) {
        Ok(small @ 0..=19) => BigInt::from(10u64.pow(small)),
        Ok(power) => BigInt::from(10u8).pow(power),
        Err(_) => BigInt::from(1u8),
    }
}

/// An integer with so many zeros behind it, unless it would be too long.
pub fn shifted(int: &BigInt, zeros: i64) -> Res<BigInt> {
    if zeros == 0 || int.is_zero() {
        return Ok(int.clone());
    }
    // Ten is less than 2^(10/3).
    check_bits(int.bits().saturating_add(zeros.unsigned_abs().saturating_mul(10) / 3))?;
    note_shift(zeros);
    Ok(int * ten_to(zeros))
}

/// Notes what a long power of ten costs.
pub fn note_shift(zeros: i64) {
    /// Powers up to this are quick.
    const SHORT: u64 = 64;
    let zeros = zeros.unsigned_abs();
    if zeros > SHORT {
        let words = zeros / 19;
        ledger::note(words * words.isqrt());
    }
}

/// Notes what division by a power of ten costs: long division is quadratic.
fn note_cut(int: &BigInt, zeros: i64) {
    note_shift(zeros);
    let (words, by) = (int.bits() / 64, zeros.unsigned_abs() / 19);
    if words > 1 && by > 1 {
        ledger::note(words.saturating_sub(by) * by / 16);
    }
}

/// Raises if a decimal would have too many places.
pub fn check_scale(scale: i64) -> Res<()> {
    if (-MAX_SCALE..=MAX_SCALE).contains(&scale) {
        return Ok(());
    }
    let what = if scale > 0 { "decimal places" } else { "zeros behind its digits" };
    let message = format!(
        "the result would be a decimal with {} {what}; the limit is {MAX_SCALE}",
        scale.unsigned_abs()
    );
    let error = Error::new(ErrorKind::Arithmetic, message);
    Err(error.hint("round on the way with .setScale or with-precision, or use floats").into())
}

#[cfg(test)]
mod tests;
