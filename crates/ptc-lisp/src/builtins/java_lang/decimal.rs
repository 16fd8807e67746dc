//! Exact decimals: a whole number and how many of its digits are decimal places.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Pow, Signed, Zero};

use super::super::args;
use crate::arith::{check_bits, sized};
use crate::error::{Error, ErrorKind};
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

/// Larger integers take part only in operations on integers; about 4,900 digits.
const MOST_BITS: u64 = 16_384;

/// More places than any sensible program asks for; keeps the numbers small.
pub(super) const MOST_PLACES: i64 = 2000;

/// `unscaled * 10^-scale`
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decimal {
    pub(super) unscaled: BigInt,
    pub(super) scale: i64,
}

pub(super) fn of_number(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(int) => Some(Decimal { unscaled: BigInt::from(*int), scale: 0 }),
        Value::Big(big) if big.bits() <= MOST_BITS => Some(Decimal { unscaled: (**big).clone(), scale: 0 }),
        Value::Float(float) => Decimal::of_float(*float),
        _ => None,
    }
}

/// How to round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
    Unnecessary,
}

impl Rounding {
    const ALL: [Rounding; 8] = [
        Rounding::Up,
        Rounding::Down,
        Rounding::Ceiling,
        Rounding::Floor,
        Rounding::HalfUp,
        Rounding::HalfDown,
        Rounding::HalfEven,
        Rounding::Unnecessary,
    ];

    pub(super) fn argument(args: &[Value], at: usize) -> Res<Rounding> {
        if let Value::Time(time) = &args[at]
            && let Time::Constant(Constant { class: Class::RoundingMode, ordinal }) = **time
        {
            return Ok(Rounding::ALL[usize::from(ordinal) % 8]);
        }
        args::fail(args, at, "a RoundingMode such as RoundingMode/HALF_UP")
    }

    /// `n / d` rounded to an integer; `d` is not zero.
    pub(super) fn divide(self, n: &BigInt, d: &BigInt) -> Res<BigInt> {
        let (quotient, rest) = n.div_rem(d);
        if rest.is_zero() {
            return Ok(quotient);
        }
        let negative = n.is_negative() != d.is_negative();
        let half = (rest.abs() * 2u8).cmp(&d.abs());
        let away = match self {
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::Ceiling => !negative,
            Rounding::Floor => negative,
            Rounding::HalfUp => half.is_ge(),
            Rounding::HalfDown => half.is_gt(),
            Rounding::HalfEven => half.is_gt() || (half.is_eq() && quotient.is_odd()),
            Rounding::Unnecessary => {
                let error = Error::new(ErrorKind::Arithmetic, "the result needs rounding");
                return Err(error.hint("pass a RoundingMode such as RoundingMode/HALF_UP").into());
            }
        };
        Ok(match (away, negative) {
            (false, _) => quotient,
            (true, false) => quotient + 1,
            (true, true) => quotient - 1,
        })
    }
}

pub(super) fn ten_to(power: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power.max(0)).unwrap_or(0))
}

impl Decimal {
    pub(super) fn with(self, change: impl FnOnce(BigInt) -> BigInt) -> Decimal {
        Decimal { unscaled: change(self.unscaled), scale: self.scale }
    }

    /// The decimal that a float prints as; it has at least one place, as in Java.
    pub(super) fn of_float(float: f64) -> Option<Decimal> {
        if !float.is_finite() {
            return None;
        }
        let text = format!("{float:e}");
        let parsed = Decimal::parse(&text)?;
        parsed.rescaled(parsed.scale.max(1), Rounding::Unnecessary).ok()
    }

    /// Reads `-12.50` or `1.5e3`.
    pub(super) fn parse(text: &str) -> Option<Decimal> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let bare = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if bare.len() + part.len() == 0 || !all_digits(bare) || !all_digits(part) || text.len() > 4000 {
            return None;
        }
        let unscaled: BigInt = format!("{bare}{part}").parse().ok()?;
        let scale = i64::try_from(part.len()).ok()?.checked_sub(exponent)?;
        (-MOST_PLACES..=MOST_PLACES).contains(&scale).then_some(())?;
        Some(Decimal { unscaled: if whole.starts_with('-') { -unscaled } else { unscaled }, scale })
    }

    /// The same number with so many places, rounded if need be.
    pub(super) fn rescaled(&self, scale: i64, rounding: Rounding) -> Res<Decimal> {
        let more = scale - self.scale;
        let unscaled = match more >= 0 {
            true => &self.unscaled * ten_to(more),
            false => rounding.divide(&self.unscaled, &ten_to(-more))?,
        };
        Ok(Decimal { unscaled, scale })
    }

    pub(super) fn plain(&self) -> String {
        if self.scale <= 0 {
            return (&self.unscaled * ten_to(-self.scale)).to_string();
        }
        let places = usize::try_from(self.scale).unwrap_or(0);
        let digits = format!("{:0>width$}", self.unscaled.magnitude().to_string(), width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        format!("{}{whole}.{part}", if self.unscaled.is_negative() { "-" } else { "" })
    }

    /// The value of the language: an integer if there are no places, else the nearest float.
    pub(super) fn value(&self, args: &[Value]) -> Res {
        if self.scale <= 0 {
            check_bits(self.unscaled.bits() + self.scale.unsigned_abs() * 4)?;
            return sized(&self.unscaled * ten_to(-self.scale));
        }
        match format!("{}e-{}", self.unscaled, self.scale).parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Value::Float(float)),
            _ => args::fail(args, 0, "a number of ordinary size"),
        }
    }
}

/// Brings both numbers to the same number of places and works on their digits.
pub(super) fn aligned(
    a: Decimal,
    b: Decimal,
    operation: impl FnOnce(BigInt, BigInt) -> Res<BigInt>,
) -> Res<Decimal> {
    let scale = a.scale.max(b.scale);
    let exact = |number: Decimal| number.rescaled(scale, Rounding::Unnecessary);
    Ok(Decimal { unscaled: operation(exact(a)?.unscaled, exact(b)?.unscaled)?, scale })
}

pub(super) fn stripped(mut number: Decimal) -> Decimal {
    let ten = BigInt::from(10);
    while number.scale > 0 && (&number.unscaled % &ten).is_zero() {
        number = Decimal { unscaled: number.unscaled / &ten, scale: number.scale - 1 };
    }
    number
}

/// The quotient, if it has finitely many places.
pub(super) fn exact_quotient(a: &Decimal, b: &Decimal) -> Res<Decimal> {
    let mut rest = &b.unscaled / b.unscaled.gcd(&a.unscaled);
    let mut places = 0;
    for prime in [2u8, 5] {
        let mut count = 0;
        while (&rest % prime).is_zero() {
            rest /= prime;
            count += 1;
        }
        places = places.max(count);
    }
    if !rest.abs().eq(&BigInt::from(1)) {
        let error = Error::new(ErrorKind::Arithmetic, "the exact quotient has endless decimal places");
        return Err(error
            .hint("pass places and a RoundingMode: (.divide a b 2 RoundingMode/HALF_UP)")
            .into());
    }
    let unscaled = &a.unscaled * ten_to(places) / &b.unscaled;
    let scale = a.scale - b.scale + places;
    // Java keeps the places of the first number if the quotient needs no more.
    Ok(match scale < 0 {
        true => Decimal { unscaled: unscaled * ten_to(-scale), scale: 0 },
        false => Decimal { unscaled, scale },
    })
}
