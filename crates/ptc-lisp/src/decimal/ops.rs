//! Arithmetic on decimals with the scales that Java gives results, exact or to the precision of a context.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};

use super::rounding::Rounding;
use super::{Context, Decimal, MAX_SCALE, digits, shifted};
use crate::arith::{check_bits, zero_divisor};
use crate::error::{Error, ErrorKind};
use crate::signal::{Res, raise};

/// Both whole numbers at the larger of both scales, and that scale.
fn aligned(a: &Decimal, b: &Decimal) -> Res<(BigInt, BigInt, i64)> {
    let scale = a.scale.max(b.scale);
    Ok((shifted(&a.unscaled, scale - a.scale)?, shifted(&b.unscaled, scale - b.scale)?, scale))
}

/// `a + b`
pub fn add(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    if let Some(context) = context.filter(|context| context.precision > 0)
        && (a.is_zero() || b.is_zero())
    {
        return add_zero(a, b, context);
    }
    let sum = if a.scale == b.scale {
        Decimal::new(&a.unscaled + &b.unscaled, a.scale)?
    } else {
        let (x, y, scale) = aligned(a, b)?;
        Decimal::new(x + y, scale)?
    };
    sum.within(context)
}

/// Zero and another number: the other one, with the larger scale as far as the precision allows.
fn add_zero(a: &Decimal, b: &Decimal, context: Context) -> Res<Decimal> {
    let scale = a.scale.max(b.scale);
    let other = if a.is_zero() { b } else { a };
    if other.is_zero() {
        return Decimal::new(BigInt::ZERO, scale);
    }
    let sum = other.clone().rounded(context)?;
    if sum.scale >= scale {
        return Ok(sum.stripped_to(scale));
    }
    let room = i64::from(context.precision) - sum.precision();
    sum.rescaled(sum.scale + room.min(scale - sum.scale), Rounding::Unnecessary)
}

/// `a - b`
pub fn sub(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    add(a, &Decimal { unscaled: -&b.unscaled, scale: b.scale }, context)
}

/// `-a`
pub fn negate(a: &Decimal, context: Option<Context>) -> Res<Decimal> {
    Decimal { unscaled: -&a.unscaled, scale: a.scale }.within(context)
}

/// `a * b`
pub fn mul(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    check_bits(a.unscaled.bits() + b.unscaled.bits())?;
    Decimal { unscaled: &a.unscaled * &b.unscaled, scale: a.scale + b.scale }.within(context)?.kept()
}

impl std::ops::Neg for Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        Decimal { unscaled: -self.unscaled, scale: self.scale }
    }
}

impl Decimal {
    /// The number itself, unless it is too large.
    pub fn kept(self) -> Res<Decimal> {
        Decimal::new(self.unscaled, self.scale)
    }
}

/// `a / b`, exact without a context, and then an error if it has endless places.
pub fn div(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    match context.filter(|context| context.precision > 0) {
        _ if b.is_zero() => zero_divisor(),
        _ if a.is_zero() => Decimal::new(BigInt::ZERO, (a.scale - b.scale).clamp(-MAX_SCALE, MAX_SCALE)),
        Some(context) => div_rounded(a, b, context),
        None => div_exact(a, b),
    }
}

/// How often a prime power divides an integer, at most `most` times, and the rest of the integer.
fn without(int: BigInt, prime: u8, most: u64) -> (u64, BigInt) {
    let (mut rest, mut count) = (int, 0);
    let mut step = 1u32;
    // Steps grow as long as they divide, then shrink to find the rest.
    let mut growing = true;
    while step > 0 {
        let divides = count + u64::from(step) <= most && u64::from(step) * 2 <= rest.bits() + 2;
        let divided = divides.then(|| rest.div_rem(&BigInt::from(prime).pow(step)));
        match divided {
            Some((quotient, remainder)) if remainder.is_zero() => {
                (rest, count) = (quotient, count + u64::from(step));
                step = if growing { step * 2 } else { step / 2 };
            }
            _ => {
                growing = false;
                step /= 2;
            }
        }
    }
    (count, rest)
}

fn div_exact(a: &Decimal, b: &Decimal) -> Res<Decimal> {
    /// More places than any result may have.
    const MOST: u64 = 4 * MAX_SCALE as u64;
    let twos = b.unscaled.trailing_zeros().unwrap_or(0);
    let (fives, rest) = without(&b.unscaled >> twos, 5, MOST);
    let (n, remainder) = a.unscaled.div_rem(&rest);
    if !remainder.is_zero() {
        return Err(endless());
    }
    let own_twos = n.trailing_zeros().unwrap_or(0);
    let (own_fives, _) = without(n.clone(), 5, fives);
    let places = twos.saturating_sub(own_twos).max(fives - own_fives);
    let places = i64::try_from(places).unwrap_or(i64::MAX).min(4 * MAX_SCALE);
    let scale = a.scale - b.scale + places;
    super::check_scale(scale)?;
    let divisor = BigInt::from(5).pow(u32::try_from(fives).unwrap_or(0)) << twos;
    Decimal::new(shifted(&n, places)? / divisor, scale)
}

fn endless() -> Box<crate::signal::Signal> {
    let message = "Non-terminating decimal expansion; no exact representable decimal result.";
    let hint =
        "say how to round: (with-precision 10 (/ a b)), (.divide a b 2 RoundingMode/HALF_UP), or (double a)";
    Error::new(ErrorKind::Arithmetic, message).hint(hint).into()
}

/// The quotient to so many digits; an exact one has no more places than it needs.
fn div_rounded(a: &Decimal, b: &Decimal, context: Context) -> Res<Decimal> {
    let preferred = a.scale - b.scale;
    let (x, y) = (digits(&a.unscaled), digits(&b.unscaled));
    // Both as fractions below one: the larger divisor makes the quotient one digit shorter.
    let larger = shifted(&a.unscaled.abs(), (y - x).max(0))? > shifted(&b.unscaled.abs(), (x - y).max(0))?;
    let y = y - i64::from(larger);
    let raise = y - x + i64::from(context.precision);
    let scale = preferred + raise;
    let (n, d) = match raise >= 0 {
        true => (shifted(&a.unscaled, raise)?, b.unscaled.clone()),
        false => (a.unscaled.clone(), shifted(&b.unscaled, -raise)?),
    };
    let (quotient, rest) = n.div_rem(&d);
    let result = match rest.is_zero() {
        true => Decimal { unscaled: quotient, scale }.stripped_to(preferred),
        false => Decimal { unscaled: context.rounding.divide(&n, &d)?, scale },
    };
    result.rounded(context)?.kept()
}

/// The quotient with so many places.
pub fn div_to_scale(a: &Decimal, b: &Decimal, scale: i64, rounding: Rounding) -> Res<Decimal> {
    if b.is_zero() {
        return zero_divisor();
    }
    super::check_scale(scale)?;
    // a / b = (a.unscaled / b.unscaled) * 10^(b.scale - a.scale)
    let power = scale + b.scale - a.scale;
    let unscaled = match power >= 0 {
        true => rounding.divide(&shifted(&a.unscaled, power)?, &b.unscaled)?,
        false => rounding.divide(&a.unscaled, &shifted(&b.unscaled, -power)?)?,
    };
    Decimal::new(unscaled, scale)
}

/// `a / b` without its fraction.
pub fn quot(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    let preferred = (a.scale - b.scale).clamp(-MAX_SCALE, MAX_SCALE);
    if b.is_zero() {
        return zero_divisor();
    }
    let (x, y, _) = aligned(a, b)?;
    let whole = x / y;
    match context.filter(|context| context.precision > 0) {
        _ if whole.is_zero() => Decimal::new(whole, preferred),
        Some(context) => quot_rounded(whole, preferred, context),
        None if preferred >= 0 => Decimal::new(shifted(&whole, preferred)?, preferred),
        None => Ok(Decimal { unscaled: whole, scale: 0 }.stripped_to(preferred)),
    }
}

/// A whole quotient that has to fit a precision, but for zeros at its end.
fn quot_rounded(whole: BigInt, preferred: i64, context: Context) -> Res<Decimal> {
    let surplus = digits(&whole) - i64::from(context.precision);
    let least = Decimal { unscaled: whole, scale: 0 };
    let result = match surplus > 0 {
        true => least.stripped_to(-surplus),
        false => least,
    };
    if result.scale > -surplus.max(0) {
        return raise(ErrorKind::Arithmetic, "Division impossible");
    }
    let room = -surplus.min(0);
    match preferred > result.scale && room > 0 {
        true => result.rescaled(result.scale + room.min(preferred - result.scale), Rounding::Unnecessary),
        false => Ok(result.stripped_to(preferred)),
    }
}

/// What [`quot`] leaves of `a`; it has the sign of `a`.
pub fn rem(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    let quotient = quot(a, b, context)?;
    sub(a, &mul(&quotient, b, None)?, None)
}

/// What is left of `a` after division rounded down; it has the sign of `b`.
pub fn modulo(a: &Decimal, b: &Decimal, context: Option<Context>) -> Res<Decimal> {
    let rest = rem(a, b, context)?;
    let same_side = rest.is_zero() || a.unscaled.is_positive() == b.unscaled.is_positive();
    if same_side { Ok(rest) } else { add(&rest, b, context) }
}

/// A whole, non-negative power.
pub fn pow(a: &Decimal, power: u32) -> Res<Decimal> {
    let scale = a.scale.saturating_mul(power.into());
    super::check_scale(scale)?;
    check_bits(a.unscaled.bits().saturating_sub(1).saturating_mul(power.into()))?;
    Decimal::new(a.unscaled.pow(power), scale)
}

/// The number times a power of ten, by its scale alone.
pub fn scaled_by(a: &Decimal, power: i64) -> Res<Decimal> {
    Decimal::new(a.unscaled.clone(), a.scale.saturating_sub(power))
}

/// The number with its point so many places further to the right; its scale is never negative then.
pub fn point_moved(a: &Decimal, places: i64) -> Res<Decimal> {
    if places == 0 {
        return Ok(a.clone());
    }
    let moved = scaled_by(a, places)?;
    if moved.scale < 0 { moved.rescaled(0, Rounding::Unnecessary) } else { Ok(moved) }
}
