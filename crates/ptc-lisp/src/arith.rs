//! Arithmetic on values, shared by the machine's instructions and the natives.
//!
//! Integers never overflow: a result that does not fit 64 bits becomes a big integer, and a big result
//! that fits becomes small again, unless an operand was big though it need not be (`1N`). An operation with a
//! float gives a float, one of decimals and integers or ratios a decimal, one of ratios and integers a ratio. `/` on integers
//! gives an integer when it divides evenly and a float otherwise. The paths for two small integers and two floats are inlined; all else is out of line.
//!
//! Results of more than [`MAX_BITS`] bits are refused before they are computed, so no single operation
//! takes long. Operations on big integers cost more than one unit of fuel: [`sum_cost`],
//! [`product_cost`] and [`quotient_cost`] say how much, and are zero for all other numbers.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

use crate::decimal::{Context, Decimal, context, ops};
use crate::error::{Error, ErrorKind};
use crate::exact::Exact;
use crate::float;
use crate::ratio::{self, Fraction};
use crate::signal::{Res, Signal, raise};
use crate::value::order::compare_as_floats;
use crate::value::{Value, ledger};

/// The longest integer in bits; about 300,000 decimal digits.
pub const MAX_BITS: u64 = 1_000_000;

/// `a + b`
#[inline]
pub fn add(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_add(*y) {
            Some(sum) => Ok(Value::Int(sum)),
            None => add_slow(a, b),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x + y)),
        _ => add_slow(a, b),
    }
}

/// `a - b`
#[inline]
pub fn sub(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_sub(*y) {
            Some(difference) => Ok(Value::Int(difference)),
            None => sub_slow(a, b),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x - y)),
        _ => sub_slow(a, b),
    }
}

/// `a * b`
#[inline]
pub fn mul(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_mul(*y) {
            Some(product) => Ok(Value::Int(product)),
            None => mul_slow(a, b),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x * y)),
        _ => mul_slow(a, b),
    }
}

/// `a / b`: an integer if both are and it divides evenly, a float otherwise. Dividing by the integer
/// zero raises when `a` is an integer too.
#[inline]
pub fn div(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match (x.checked_rem(*y), x.checked_div(*y)) {
            (Some(0), Some(quotient)) => Ok(Value::Int(quotient)),
            _ => div_slow(a, b),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::Float(x / y)),
        _ => div_slow(a, b),
    }
}

/// `a / b` without its fraction.
#[inline]
pub fn quot(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_div(*y) {
            Some(quotient) => Ok(Value::Int(quotient)),
            None => quot_slow(a, b),
        },
        _ => quot_slow(a, b),
    }
}

/// What is left of `a` after [`quot`]; it has the sign of `a`.
#[inline]
pub fn rem(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_rem(*y) {
            Some(rest) => Ok(Value::Int(rest)),
            None => rem_slow(a, b),
        },
        _ => rem_slow(a, b),
    }
}

/// What is left of `a` after division rounded down; it has the sign of `b`.
#[inline]
pub fn modulo(a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_rem(*y) {
            Some(rest) if rest != 0 && (rest < 0) != (*y < 0) => Ok(Value::Int(rest + y)),
            Some(rest) => Ok(Value::Int(rest)),
            None => modulo_slow(a, b),
        },
        _ => modulo_slow(a, b),
    }
}

/// `-a`
#[inline]
pub fn negate(a: &Value) -> Res {
    match a {
        Value::Float(x) => Ok(Value::Float(-x)),
        Value::Int(x) if *x != i64::MIN => Ok(Value::Int(-x)),
        Value::Decimal(x) => Ok(match &**x {
            Exact::Decimal(x) => Value::decimal(ops::negate(x, context::current())?),
            Exact::Ratio(x) => Value::decimal(-(**x).clone()),
        }),
        _ => sub_slow(&Value::Int(0), a),
    }
}

/// `a + 1`
#[inline]
pub fn inc(a: &Value) -> Res {
    match a {
        Value::Int(x) if *x != i64::MAX => Ok(Value::Int(x + 1)),
        _ => add(a, &Value::Int(1)),
    }
}

/// `a - 1`
#[inline]
pub fn dec(a: &Value) -> Res {
    match a {
        Value::Int(x) if *x != i64::MIN => Ok(Value::Int(x - 1)),
        _ => sub(a, &Value::Int(1)),
    }
}

/// `a < b`; false if one of them is NaN.
#[inline]
pub fn less(a: &Value, b: &Value) -> Res<bool> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => Ok(x < y),
        (Value::Float(x), Value::Float(y)) => Ok(x < y),
        _ => Ok(order(a, b)? == Some(Ordering::Less)),
    }
}

/// `a <= b`; false if one of them is NaN.
#[inline]
pub fn less_eq(a: &Value, b: &Value) -> Res<bool> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => Ok(x <= y),
        (Value::Float(x), Value::Float(y)) => Ok(x <= y),
        _ => Ok(matches!(order(a, b)?, Some(Ordering::Less | Ordering::Equal))),
    }
}

#[cold]
fn order(a: &Value, b: &Value) -> Res<Option<Ordering>> {
    if let (Value::Str(x), Value::Str(y)) = (a, b)
        && !(is_numeric(x.as_str()) && is_numeric(y.as_str()))
    {
        let message = format!("expected a number, got string{}", quoted(x.as_str()));
        return Err(Error::new(ErrorKind::Type, message).hint(COMPARE_TEXT).into());
    }
    check_number(a)?;
    check_number(b)?;
    Ok(compare_as_floats(a, b))
}

/// Two numbers brought to one type.
enum Pair<'a> {
    Floats(f64, f64),
    Ints(Cow<'a, BigInt>, Cow<'a, BigInt>),
    Decimals(Cow<'a, Decimal>, Cow<'a, Decimal>),
    Ratios(Fraction<'a>, Fraction<'a>),
}

impl<'a> Pair<'a> {
    fn of(a: &'a Value, b: &'a Value) -> Res<Pair<'a>> {
        if let (Some(a), Some(b)) = (as_big(a), as_big(b)) {
            return Ok(Pair::Ints(a, b));
        }
        if let (Some(a), Some(b)) = (as_fraction(a), as_fraction(b)) {
            return Ok(Pair::Ratios(a, b));
        }
        if (is_decimal(a) || is_decimal(b))
            && let (Some(a), Some(b)) = (as_decimal(a)?, as_decimal(b)?)
        {
            return Ok(Pair::Decimals(a, b));
        }
        Ok(Pair::Floats(to_f64(a)?, to_f64(b)?))
    }
}

fn as_big(value: &Value) -> Option<Cow<'_, BigInt>> {
    match value {
        Value::Int(int) => Some(Cow::Owned(BigInt::from(*int))),
        Value::Big(big) => Some(Cow::Borrowed(big)),
        _ => None,
    }
}

fn is_decimal(value: &Value) -> bool {
    matches!(value, Value::Decimal(exact) if exact.decimal().is_some())
}

/// An exact number as a decimal; an error if it is a ratio with endless places.
fn as_decimal(value: &Value) -> Res<Option<Cow<'_, Decimal>>> {
    match value {
        Value::Decimal(exact) => exact.to_decimal().map(Some),
        _ => Ok(as_big(value).map(|int| Cow::Owned(Decimal::of_int(int.into_owned())))),
    }
}

/// An integer or a ratio as a fraction.
fn as_fraction(value: &Value) -> Option<Fraction<'_>> {
    match value {
        Value::Decimal(exact) => exact.ratio().map(Fraction::of_ratio),
        _ => as_big(value).map(Fraction::of_int),
    }
}

/// A number as a float; integers beyond its range become infinite.
pub fn to_f64(value: &Value) -> Res<f64> {
    match value {
        Value::Int(int) => Ok(*int as f64),
        Value::Float(float) => Ok(*float),
        Value::Big(big) => Ok(big_to_f64(big)),
        Value::Decimal(decimal) => Ok(decimal.to_f64()),
        _ => Err(not_a_number(value)),
    }
}

/// A big integer as a float. All of it is looked at, for how the float is rounded.
pub fn big_to_f64(big: &BigInt) -> f64 {
    /// Words that are looked at in the time of a unit.
    const WORDS: u64 = 8;
    let units = big.bits() / (64 * WORDS);
    if units > 0 {
        ledger::note(units);
    }
    big.to_f64().unwrap_or(if big.is_negative() { f64::NEG_INFINITY } else { f64::INFINITY })
}

/// Raises unless the value is a number.
#[inline]
pub fn check_number(value: &Value) -> Res<()> {
    match value {
        Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_) => Ok(()),
        _ => Err(not_a_number(value)),
    }
}

/// An operation on decimals, to the precision that `with-precision` sets.
fn decimals(
    operation: fn(&Decimal, &Decimal, Option<Context>) -> Res<Decimal>,
    a: &Decimal,
    b: &Decimal,
) -> Res {
    operation(a, b, context::current()).map(Value::decimal)
}

#[cold]
fn add_slow(a: &Value, b: &Value) -> Res {
    Ok(match Pair::of(a, b)? {
        Pair::Floats(a, b) => Value::Float(a + b),
        Pair::Ints(x, y) => sized_as(&*x + &*y, a, b)?,
        Pair::Decimals(x, y) => decimals(ops::add, &x, &y)?,
        Pair::Ratios(x, y) => ratio::add(&x, &y)?,
    })
}

#[cold]
fn sub_slow(a: &Value, b: &Value) -> Res {
    Ok(match Pair::of(a, b)? {
        Pair::Floats(a, b) => Value::Float(a - b),
        Pair::Ints(x, y) => sized_as(&*x - &*y, a, b)?,
        // As in Clojure, which adds the negated number: a precision rounds it, too.
        Pair::Decimals(x, y) if is_decimal(b) => {
            decimals(ops::add, &x, &ops::negate(&y, context::current())?)?
        }
        Pair::Decimals(x, y) => decimals(ops::sub, &x, &y)?,
        Pair::Ratios(x, y) => ratio::sub(&x, &y)?,
    })
}

#[cold]
fn mul_slow(a: &Value, b: &Value) -> Res {
    Ok(match Pair::of(a, b)? {
        Pair::Floats(a, b) => Value::Float(a * b),
        Pair::Ints(x, y) => {
            // A product has as many bits as both together, or one less: whether it is one too long shows when it is there.
            check_bits((x.bits() + y.bits()).saturating_sub(1))?;
            sized_as(&*x * &*y, a, b)?
        }
        Pair::Decimals(x, y) => decimals(ops::mul, &x, &y)?,
        Pair::Ratios(x, y) => ratio::mul(&x, &y)?,
    })
}

#[cold]
fn div_slow(a: &Value, b: &Value) -> Res {
    match Pair::of(a, b)? {
        Pair::Floats(a, b) => Ok(Value::Float(a / b)),
        Pair::Ints(_, b) if b.is_zero() => zero_divisor(),
        Pair::Ints(x, y) => {
            let (quotient, rest) = x.div_rem(&y);
            Ok(if rest.is_zero() { big_as(quotient, a, b) } else { Value::Float(ratio_to_f64(&x, &y)) })
        }
        Pair::Decimals(x, y) => decimals(ops::div, &x, &y),
        Pair::Ratios(x, y) => ratio::div(&x, &y),
    }
}

#[cold]
fn quot_slow(a: &Value, b: &Value) -> Res {
    match Pair::of(a, b)? {
        Pair::Floats(a, b) => Ok(Value::Float(whole_quotient(a, b)?)),
        Pair::Ints(_, b) if b.is_zero() => zero_divisor(),
        Pair::Ints(x, y) => Ok(big_as(&*x / &*y, a, b)),
        Pair::Decimals(x, y) => decimals(ops::quot, &x, &y),
        Pair::Ratios(x, y) => ratio::quot(&x, &y),
    }
}

#[cold]
fn rem_slow(a: &Value, b: &Value) -> Res {
    match Pair::of(a, b)? {
        Pair::Floats(a, b) => Ok(Value::Float(float_rem(a, b)?)),
        Pair::Ints(_, b) if b.is_zero() => zero_divisor(),
        Pair::Ints(x, y) => Ok(big_as(&*x % &*y, a, b)),
        Pair::Decimals(x, y) => decimals(ops::rem, &x, &y),
        Pair::Ratios(x, y) => ratio::rem(&x, &y),
    }
}

#[cold]
fn modulo_slow(a: &Value, b: &Value) -> Res {
    match Pair::of(a, b)? {
        Pair::Floats(a, b) => {
            let rest = float_rem(a, b)?;
            let same_side = rest == 0.0 || (a > 0.0) == (b > 0.0);
            Ok(Value::Float(if same_side { rest } else { rest + b }))
        }
        Pair::Ints(_, b) if b.is_zero() => zero_divisor(),
        Pair::Ints(x, y) => Ok(big_as(x.mod_floor(&y), a, b)),
        Pair::Decimals(x, y) => decimals(ops::modulo, &x, &y),
        Pair::Ratios(x, y) => ratio::modulo(&x, &y),
    }
}

/// The quotient of two floats without its fraction. Like Clojure's, it is refused if it is not finite.
fn whole_quotient(a: f64, b: f64) -> Res<f64> {
    if b == 0.0 {
        return zero_divisor();
    }
    let quotient = a / b;
    if quotient.is_finite() {
        // Adding zero turns -0.0 into 0.0, which is what Clojure's way through an integer gives.
        Ok(quotient.trunc() + 0.0)
    } else {
        raise(ErrorKind::Arithmetic, "the quotient is infinite or not a number")
    }
}

/// Clojure's formula rather than an exact remainder, so that the last digits agree with it.
fn float_rem(a: f64, b: f64) -> Res<f64> {
    Ok(a - whole_quotient(a, b)? * b)
}

/// The float nearest to `a / b`, also where one of them is beyond the range of floats.
pub(crate) fn ratio_to_f64(a: &BigInt, b: &BigInt) -> f64 {
    /// Bits of the scaled quotient: enough that one sticky bit decides every rounding.
    const PRECISION: i64 = 66;
    /// Beyond this the result is certainly zero or infinite.
    const RANGE: i64 = 1200;
    let negative = a.is_negative() != b.is_negative();
    let signed = |size: f64| if negative { -size } else { size };
    let length = |int: &BigInt| i64::try_from(int.bits()).unwrap_or(i64::MAX);
    let scale = length(a) - length(b);
    if scale > RANGE {
        return signed(f64::INFINITY);
    }
    if scale < -RANGE {
        return signed(0.0);
    }
    let shift = PRECISION - scale;
    let (up, down) = (shift.max(0).unsigned_abs(), shift.min(0).unsigned_abs());
    let (mut quotient, rest) = (a.magnitude() << up).div_rem(&(b.magnitude() << down));
    if !rest.is_zero() {
        quotient.set_bit(0, true);
    }
    signed(float::scale(quotient.to_f64().unwrap_or(f64::INFINITY), -shift))
}

/// Whether a value is a big integer that need not be.
fn is_wide(value: &Value) -> bool {
    matches!(value, Value::Big(big) if big.bits() < 64)
}

/// The integer that came of two others, big if one of them is big without need.
fn big_as(int: BigInt, a: &Value, b: &Value) -> Value {
    if is_wide(a) || is_wide(b) { Value::wide(int) } else { Value::big(int) }
}

fn sized_as(int: BigInt, a: &Value, b: &Value) -> Res {
    check_bits(int.bits())?;
    Ok(big_as(int, a, b))
}

/// An integer as a value, unless it is too long.
pub fn sized(int: BigInt) -> Res {
    check_bits(int.bits())?;
    Ok(Value::big(int))
}

/// Raises if an integer of `bits` bits is too long.
#[inline]
pub fn check_bits(bits: u64) -> Res<()> {
    if bits > MAX_BITS { Err(too_long(bits)) } else { Ok(()) }
}

#[cold]
fn too_long(bits: u64) -> Box<Signal> {
    Error::new(
        ErrorKind::MemoryExceeded,
        format!("the result would be an integer of about {bits} bits; the limit is {MAX_BITS}"),
    )
    .hint("use floats, or reduce the numbers on the way, for example with mod")
    .into()
}

/// Raises the error for a divisor of zero.
#[cold]
pub fn zero_divisor<T>() -> Res<T> {
    Err(divided_by_zero())
}

#[cold]
#[inline(never)]
fn divided_by_zero() -> Box<Signal> {
    let error = Error::new(ErrorKind::Arithmetic, "Divide by zero");
    error.hint("look at the divisor first: (if (zero? d) nil (/ n d))").into()
}

/// How text is compared, and sorted from its end.
const COMPARE_TEXT: &str = "texts, also dates as text are compared with compare, as in (neg? (compare a b)), and ordered by \
                            sort, sort-by, max-by and min-by; (sort-by f #(compare %2 %1) coll) is the descending order";

/// A short text, as messages show it.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 24;
    if text.len() <= SHOWN { format!(" {text:?}") } else { String::new() }
}

/// Whether a text is a number, so that comparing it with another as one makes sense.
fn is_numeric(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

/// How text becomes a number.
pub const PARSE: &str =
    "turn text into a number first with parse-long or parse-double, or with bigdec for an exact decimal";

/// The error for an operand that is not a number, with the likely fix.
#[cold]
pub fn not_a_number(value: &Value) -> Box<Signal> {
    let text = value.as_str().map(quoted).unwrap_or_default();
    let error = Error::new(ErrorKind::Type, format!("expected a number, got {}{text}", value.type_name()));
    let hint = match value {
        Value::Nil => "a value is missing: check the key or path, or give a default such as (or x 0)",
        Value::Str(text) if is_dated(text.as_str()) => COMPARE_TEXT,
        Value::Str(text) if is_numeric(text.as_str()) => PARSE,
        Value::Str(text) if Decimal::is_number_with_marks(text.as_str()) => {
            "keep what belongs to the number, then read it: (bigdec (str/replace s #\"[^0-9.-]\" \"\")) for money, \
             parse-double in place of bigdec for a float"
        }
        Value::Str(text) if text.as_str().contains(|c: char| c.is_ascii_digit()) => {
            "take the digits that are meant out of the text, then read them with bigdec, parse-long or parse-double"
        }
        Value::Str(_) => {
            "parse-long and parse-double read a number from text that is one; (str a b) joins texts"
        }
        Value::Time(_) => {
            "dates are no numbers: (.between ChronoUnit/DAYS a b) counts the days from a to b, (.plusDays d n) moves a date, \
             (.isBefore a b) and compare say which comes first"
        }
        Value::Fn(_) | Value::Builtin(_) => "call the function: write its name after an opening parenthesis",
        _ => return error.into(),
    };
    error.hint(hint).into()
}

/// Whether a text begins as dates do: `2026-02-01`, `2026-02`.
fn is_dated(text: &str) -> bool {
    matches!(text.as_bytes(), [year @ .., b'-', a, b] | [year @ .., b'-', a, b, b'-', _, _]
        if year.len() == 4 && [*a, *b].iter().chain(year).all(u8::is_ascii_digit))
        || text.get(..10).is_some_and(|day| text.len() > 10 && is_dated(day))
}

/// How many 64-bit words a big integer, decimal or ratio has; zero for all other values.
#[inline]
pub fn words(value: &Value) -> usize {
    match value {
        Value::Big(big) => usize::try_from(big.bits() / 64 + 1).unwrap_or(usize::MAX),
        Value::Decimal(decimal) => decimal.words(),
        _ => 0,
    }
}

/// Fuel for finding the digits of a number of so many words. Measured from 50 words (55 µs) to 50,000 (1.3 s): a
/// digit takes the longer the more there are, but less than in proportion.
#[inline]
pub fn digits_work(words: usize) -> usize {
    words.saturating_mul((2 * words).min(100) + words / 6)
}

/// Fuel for a sum, difference or comparison beyond the first unit.
#[inline]
pub fn sum_cost(a: &Value, b: &Value) -> usize {
    (words(a) + words(b)) / 4
}

/// Fuel for a product beyond the first unit.
#[inline]
pub fn product_cost(a: &Value, b: &Value) -> usize {
    match (words(a), words(b)) {
        (0, 0) => 0,
        (a, b) => (a + b).saturating_mul(a.min(b).isqrt().max(1)),
    }
}

/// Fuel for a quotient or remainder beyond the first unit: long division is quadratic.
#[inline]
pub fn quotient_cost(a: &Value, b: &Value) -> usize {
    match (words(a), words(b)) {
        (0, 0) => 0,
        (a, b) => a + b + a.saturating_sub(b).saturating_mul(b) / 16,
    }
}

/// The sign of a number: negative, zero (and NaN) or positive.
pub fn sign(value: &Value) -> Res<Ordering> {
    match value {
        Value::Int(int) => Ok(int.cmp(&0)),
        Value::Float(float) => Ok(float.partial_cmp(&0.0).unwrap_or(Ordering::Equal)),
        Value::Big(big) => Ok(big.sign().cmp(&Sign::NoSign)),
        Value::Decimal(decimal) => Ok(decimal.sign()),
        _ => Err(not_a_number(value)),
    }
}

#[cfg(test)]
#[path = "arith_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "arith_properties.rs"]
mod properties;
