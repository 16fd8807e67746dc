//! Ratios of integers, as `clojure.lang.Ratio` has them: what `1/3` in a program is, and what comes of it.
//!
//! A ratio is in lowest terms, its denominator positive and more than one: a result without a fraction is a big integer,
//! as in Clojure. Denominators are bounded ([`MAX_DENOMINATOR_BITS`]), because finding what two numbers have in common takes
//! time in the square of their length; that time is noted in the ledger.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use crate::arith::{MAX_BITS, check_bits, ratio_to_f64, zero_divisor};
use crate::decimal::{Context, Decimal, Rounding, context, note_shift, ops, ten_to};
use crate::error::{Error, ErrorKind};
use crate::signal::Res;
use crate::value::{Value, ledger};

/// The longest denominator in bits; about 1,200 digits.
pub const MAX_DENOMINATOR_BITS: u64 = 4_096;

/// `numerator / denominator`, in lowest terms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: BigInt,
    denominator: BigInt,
}

/// What two integers make when one is divided by the other.
enum Quotient {
    Whole(BigInt),
    Part(Ratio),
}

impl Ratio {
    /// The ratio of two integers that a reader met: the integer if there is no fraction, and nothing if it is too long or its
    /// denominator is zero.
    pub fn read(numerator: BigInt, denominator: BigInt) -> Option<Result<Ratio, BigInt>> {
        let fits = numerator.bits() <= MAX_BITS && denominator.bits() <= MAX_DENOMINATOR_BITS;
        if !fits || denominator.is_zero() {
            return None;
        }
        Some(match reduced(numerator, denominator) {
            Quotient::Whole(int) => Err(int),
            Quotient::Part(ratio) => Ok(ratio),
        })
    }

    /// What stands above the line.
    pub fn numerator(&self) -> &BigInt {
        &self.numerator
    }

    /// What stands below the line: more than one.
    pub fn denominator(&self) -> &BigInt {
        &self.denominator
    }

    /// Its sign.
    pub fn sign(&self) -> Ordering {
        self.numerator.sign().cmp(&Sign::NoSign)
    }

    /// How many 64-bit words it has.
    pub fn words(&self) -> usize {
        usize::try_from((self.numerator.bits() + self.denominator.bits()) / 64 + 1).unwrap_or(usize::MAX)
    }

    /// The nearest float; infinite beyond the range of floats.
    pub fn to_f64(&self) -> f64 {
        ratio_to_f64(&self.numerator, &self.denominator)
    }

    /// The number without its fraction.
    pub fn to_int(&self) -> BigInt {
        note_division(&self.numerator, &self.denominator);
        &self.numerator / &self.denominator
    }

    /// The number rounded to an integer.
    pub fn rounded(&self, rounding: Rounding) -> Res<BigInt> {
        note_division(&self.numerator, &self.denominator);
        rounding.divide(&self.numerator, &self.denominator)
    }

    /// The decimal that it is, to the precision that `with-precision` sets; an error if it has endless places.
    pub fn to_decimal(&self, context: Option<Context>) -> Res<Decimal> {
        let (above, below) = (self.numerator.clone(), self.denominator.clone());
        ops::div(&Decimal::of_int(above), &Decimal::of_int(below), context)
    }

    /// The order of two ratios by value.
    pub fn compare(&self, other: &Ratio) -> Ordering {
        note_product(&self.numerator, &other.denominator);
        note_product(&other.numerator, &self.denominator);
        (&self.numerator * &other.denominator).cmp(&(&other.numerator * &self.denominator))
    }

    /// The order of a ratio and an integer.
    pub fn compare_int(&self, int: &BigInt) -> Ordering {
        note_product(int, &self.denominator);
        self.numerator.cmp(&(int * &self.denominator))
    }

    /// The order of a ratio and a decimal.
    pub fn compare_decimal(&self, decimal: &Decimal) -> Ordering {
        let scale = decimal.scale();
        note_shift(scale);
        let (up, down) = (ten_to(scale.max(0)), ten_to((-scale).max(0)));
        note_product(&self.numerator, &up);
        note_product(decimal.unscaled(), &down);
        note_product(decimal.unscaled(), &self.denominator);
        (&self.numerator * up).cmp(&(decimal.unscaled() * down * &self.denominator))
    }

    /// The order of a ratio and a float, which counts as the number that decimals take it for. So numbers of all kinds have
    /// one order. Nothing for NaN.
    pub fn compare_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        Some(match Decimal::standing_for(float) {
            Some(decimal) => self.compare_decimal(&decimal),
            None if float > 0.0 => Ordering::Less,
            None => Ordering::Greater,
        })
    }

    /// How long its text is, or a little more.
    pub fn text_len(&self) -> usize {
        // A digit is a bit more than three bits.
        let digits = |int: &BigInt| 1 + usize::try_from(int.bits() * 10 / 33).unwrap_or(usize::MAX);
        let minus = usize::from(self.numerator.is_negative());
        minus + digits(&self.numerator) + 1 + digits(&self.denominator)
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl std::ops::Neg for Ratio {
    type Output = Ratio;

    fn neg(self) -> Ratio {
        Ratio { numerator: -self.numerator, denominator: self.denominator }
    }
}

/// An integer or a ratio as what stands above the line and below it.
#[derive(Clone)]
pub struct Fraction<'a> {
    above: Cow<'a, BigInt>,
    below: Cow<'a, BigInt>,
}

impl<'a> Fraction<'a> {
    /// An integer.
    pub fn of_int(int: Cow<'a, BigInt>) -> Fraction<'a> {
        Fraction { above: int, below: Cow::Owned(BigInt::one()) }
    }

    /// A ratio.
    pub fn of_ratio(ratio: &'a Ratio) -> Fraction<'a> {
        Fraction { above: Cow::Borrowed(&ratio.numerator), below: Cow::Borrowed(&ratio.denominator) }
    }
}

/// `a + b`
pub fn add(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    let (x, y) = (product(&a.above, &b.below)?, product(&b.above, &a.below)?);
    value(x + y, product(&a.below, &b.below)?)
}

/// `a - b`
pub fn sub(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    let (x, y) = (product(&a.above, &b.below)?, product(&b.above, &a.below)?);
    value(x - y, product(&a.below, &b.below)?)
}

/// `a * b`
pub fn mul(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    value(product(&a.above, &b.above)?, product(&a.below, &b.below)?)
}

/// `a / b`
pub fn div(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    value(product(&a.above, &b.below)?, product(&a.below, &b.above)?)
}

/// `a / b` without its fraction.
pub fn quot(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    whole_quotient(a, b).map(Value::wide)
}

/// What is left of `a` after [`quot`]; it has the sign of `a`.
pub fn rem(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    let whole = whole_quotient(a, b)?;
    let taken = Fraction { above: Cow::Owned(product(&whole, &b.above)?), below: b.below.clone() };
    sub(a, &taken)
}

/// What is left of `a` after division rounded down; it has the sign of `b`.
pub fn modulo(a: &Fraction<'_>, b: &Fraction<'_>) -> Res {
    let (above, below) = (product(&a.above, &b.below)?, product(&a.below, &b.above)?);
    if below.is_zero() {
        return zero_divisor();
    }
    note_division(&above, &below);
    let whole = above.div_floor(&below);
    let taken = Fraction { above: Cow::Owned(product(&whole, &b.above)?), below: b.below.clone() };
    sub(a, &taken)
}

/// A decimal beside a ratio: the ratio becomes one, too.
pub fn as_decimal(ratio: &Ratio) -> Res<Decimal> {
    ratio.to_decimal(context::current())
}

/// The number that a decimal is as an integer or a ratio.
pub fn of_decimal(decimal: &Decimal) -> Res {
    let scale = decimal.scale();
    value(product(decimal.unscaled(), &ten_to((-scale).max(0)))?, ten_to(scale.max(0)))
}

fn whole_quotient(a: &Fraction<'_>, b: &Fraction<'_>) -> Res<BigInt> {
    let (above, below) = (product(&a.above, &b.below)?, product(&a.below, &b.above)?);
    if below.is_zero() {
        return zero_divisor();
    }
    note_division(&above, &below);
    Ok(above / below)
}

/// The value of a quotient: a big integer or a ratio.
fn value(above: BigInt, below: BigInt) -> Res {
    if below.is_zero() {
        return zero_divisor();
    }
    check_bits(above.bits())?;
    // The common factor is looked for only where that does not take long: two denominators make none longer than this.
    if below.bits() > 2 * MAX_DENOMINATOR_BITS {
        check_denominator(below.bits())?;
    }
    Ok(match reduced(above, below) {
        Quotient::Whole(int) => Value::wide(int),
        Quotient::Part(ratio) => {
            check_denominator(ratio.denominator.bits())?;
            Value::decimal(ratio)
        }
    })
}

/// A quotient in lowest terms. The denominator is not zero.
fn reduced(above: BigInt, below: BigInt) -> Quotient {
    note_division(&above, &below);
    let (whole, rest) = above.div_rem(&below);
    if rest.is_zero() {
        return Quotient::Whole(whole);
    }
    let words = below.bits() / 64;
    ledger::note(words * words * 4);
    let common = rest.gcd(&below);
    let (above, below) = if below.is_negative() { (-above, -below) } else { (above, below) };
    Quotient::Part(match common.is_one() {
        true => Ratio { numerator: above, denominator: below },
        false => Ratio { numerator: above / &common, denominator: below / &common },
    })
}

/// The product of two integers, unless it is too long.
fn product(a: &BigInt, b: &BigInt) -> Res<BigInt> {
    check_bits(a.bits() + b.bits())?;
    note_product(a, b);
    Ok(a * b)
}

/// Notes what a product costs beyond those of short numbers.
fn note_product(a: &BigInt, b: &BigInt) {
    let (a, b) = (a.bits() / 64, b.bits() / 64);
    if a > 1 && b > 1 {
        ledger::note((a + b) * a.min(b).isqrt());
    }
}

/// Notes what a long division costs.
fn note_division(a: &BigInt, b: &BigInt) {
    let (a, b) = (a.bits() / 64, b.bits() / 64);
    if a > 1 && b > 1 {
        ledger::note(a + b + a.saturating_sub(b) * b / 16);
    }
}

/// Raises if a denominator is too long.
fn check_denominator(bits: u64) -> Res<()> {
    if bits <= MAX_DENOMINATOR_BITS {
        return Ok(());
    }
    let message = format!(
        "the result would be a ratio with a denominator of about {bits} bits; the limit is {MAX_DENOMINATOR_BITS}"
    );
    Err(Error::new(ErrorKind::Arithmetic, message).hint("make it a float on the way: (double x)").into())
}

#[cfg(test)]
#[path = "ratio_tests.rs"]
mod tests;
