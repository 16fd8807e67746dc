//! Arithmetic against an oracle: whatever the mix of small integers, big integers and floats, integers
//! behave like mathematical integers and floats like IEEE doubles.

use num_traits::One;
use proptest::prelude::*;

use super::*;
use crate::value::equal::equals;

/// Integers of all sizes, most of them near the limits of 64 bits.
fn integers() -> impl Strategy<Value = BigInt> {
    let near =
        prop_oneof![Just(0i128), Just(i128::from(i64::MAX)), Just(i128::from(i64::MIN)), Just(1 << 53)];
    prop_oneof![
        any::<i64>().prop_map(BigInt::from),
        (-20i64..20).prop_map(BigInt::from),
        (near, -3i128..4).prop_map(|(edge, offset)| BigInt::from(edge + offset)),
        any::<i128>().prop_map(BigInt::from),
        (any::<i64>(), 0u32..400, -2i64..3)
            .prop_map(|(digits, shift, offset)| (BigInt::from(digits) << shift) + offset),
    ]
}

fn floats() -> impl Strategy<Value = f64> {
    let special = prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::NAN),
        Just(9_223_372_036_854_775_808.0),
        Just(9_007_199_254_740_992.0),
    ];
    prop_oneof![any::<f64>(), special, (-100i32..100).prop_map(|n| f64::from(n) / 4.0)]
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![2 => integers().prop_map(Value::big), 1 => floats().prop_map(Value::Float)]
}

fn int(value: &Value) -> BigInt {
    match value {
        Value::Int(int) => BigInt::from(*int),
        Value::Big(int) => (**int).clone(),
        other => panic!("expected an integer, got {other:?}"),
    }
}

/// The integer in its one allowed form: big only if it does not fit 64 bits.
fn check_int(result: Res, expected: &BigInt) -> Result<(), TestCaseError> {
    let value = result.map_err(|signal| TestCaseError::fail(format!("{signal:?}")))?;
    prop_assert_eq!(matches!(value, Value::Int(_)), expected.to_i64().is_some());
    prop_assert_eq!(&int(&value), expected);
    Ok(())
}

/// The same bits, or both NaN.
fn check_float(result: Res, expected: f64) -> Result<(), TestCaseError> {
    let Ok(Value::Float(float)) = result else {
        return Err(TestCaseError::fail(format!("expected {expected}, got {result:?}")));
    };
    prop_assert!(float.to_bits() == expected.to_bits() || float.is_nan() && expected.is_nan());
    Ok(())
}

fn kind(result: Res) -> Option<ErrorKind> {
    match *result.err()? {
        Signal::Raise(error) => Some(error.kind),
        _ => None,
    }
}

/// The decimal reader of the standard library rounds correctly, so it is the oracle for conversions.
fn nearest_float(int: &BigInt) -> f64 {
    int.to_string().parse().expect("digits")
}

/// The order of two finite floats or integers by exact integer arithmetic: both times 2^1074.
fn exact(value: &Value) -> BigInt {
    match value {
        Value::Float(float) => {
            let bits = float.to_bits();
            let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
            let (digits, shift) =
                if exponent == 0 { (fraction, 0) } else { (fraction | (1 << 52), exponent - 1) };
            let size = BigInt::from(digits) << shift;
            if float.is_sign_negative() { -size } else { size }
        }
        other => int(other) << 1074u32,
    }
}

proptest! {
    #[test]
    fn integers_are_mathematical(a in integers(), b in integers()) {
        let (x, y) = (Value::big(a.clone()), Value::big(b.clone()));
        check_int(add(&x, &y), &(&a + &b))?;
        check_int(sub(&x, &y), &(&a - &b))?;
        check_int(mul(&x, &y), &(&a * &b))?;
        check_int(negate(&x), &-&a)?;
        check_int(inc(&x), &(&a + BigInt::one()))?;
        check_int(dec(&x), &(&a - BigInt::one()))?;
        prop_assert_eq!(less(&x, &y).ok(), Some(a < b));
        prop_assert_eq!(less_eq(&x, &y).ok(), Some(a <= b));
        prop_assert_eq!(equals(&x, &y), a == b);
    }

    #[test]
    fn quotients_and_remainders_fit_together(a in integers(), b in integers()) {
        let (x, y) = (Value::big(a.clone()), Value::big(b.clone()));
        if b.is_zero() {
            for operation in [div, quot, rem, modulo] {
                prop_assert_eq!(kind(operation(&x, &y)), Some(ErrorKind::Arithmetic));
            }
            return Ok(());
        }
        let [quotient, rest, floored] = [quot, rem, modulo].map(|operation| operation(&x, &y).map(|v| int(&v)));
        let (Ok(quotient), Ok(rest), Ok(floored)) = (quotient, rest, floored) else {
            return Err(TestCaseError::fail("integers divide"));
        };
        prop_assert_eq!(&quotient * &b + &rest, a.clone());
        prop_assert!(rest.abs() < b.abs() && (rest.is_zero() || rest.is_negative() == a.is_negative()));
        prop_assert!(floored.abs() < b.abs() && (floored.is_zero() || floored.is_negative() == b.is_negative()));
        prop_assert!(((&floored - &a) % &b).is_zero());
        if rest.is_zero() {
            check_int(div(&x, &y), &quotient)?;
        } else {
            let Ok(Value::Float(float)) = div(&x, &y) else {
                return Err(TestCaseError::fail("an uneven quotient is a float"));
            };
            // The nearest float: no neighbour is closer to a / b. All sides are scaled by b and 2^1074.
            let distance = |float: f64| ((&a << 1074u32) - exact(&Value::Float(float)) * &b).abs();
            if float.is_finite() {
                for near in [float.next_up(), float.next_down()] {
                    prop_assert!(!near.is_finite() || distance(float) <= distance(near));
                }
            }
        }
    }

    #[test]
    fn a_float_makes_the_result_a_float(a in numbers(), b in floats(), swap in any::<bool>()) {
        let as_float = match &a {
            Value::Float(float) => *float,
            other => nearest_float(&int(other)),
        };
        let (x, y, p, q) = if swap {
            (Value::Float(b), a, b, as_float)
        } else {
            (a, Value::Float(b), as_float, b)
        };
        check_float(add(&x, &y), p + q)?;
        check_float(sub(&x, &y), p - q)?;
        check_float(mul(&x, &y), p * q)?;
        check_float(div(&x, &y), p / q)?;
        if q == 0.0 || !(p / q).is_finite() {
            for operation in [quot, rem, modulo] {
                prop_assert_eq!(kind(operation(&x, &y)), Some(ErrorKind::Arithmetic));
            }
            return Ok(());
        }
        let whole = (p / q).trunc() + 0.0;
        check_float(quot(&x, &y), whole)?;
        check_float(rem(&x, &y), p - whole * q)?;
    }

    #[test]
    fn order_and_equality_are_exact_and_agree(a in numbers(), b in numbers()) {
        let finite = |value: &Value| !matches!(value, Value::Float(float) if !float.is_finite());
        let nan = |value: &Value| matches!(value, Value::Float(float) if float.is_nan());
        let (below, above, within) = (less(&a, &b).ok(), less(&b, &a).ok(), less_eq(&a, &b).ok());
        if nan(&a) || nan(&b) {
            prop_assert_eq!((below, above, within), (Some(false), Some(false), Some(false)));
            prop_assert!(!equals(&a, &b));
            return Ok(());
        }
        let same = equals(&a, &b);
        prop_assert_eq!(below, Some(!same && above == Some(false)));
        prop_assert_eq!(within, Some(same || below == Some(true)));
        if finite(&a) && finite(&b) {
            let order = exact(&a).cmp(&exact(&b));
            prop_assert_eq!((below, same), (Some(order.is_lt()), order.is_eq()));
        }
    }

    #[test]
    fn only_numbers_count(number in numbers(), at in 0usize..4) {
        let other = [Value::Nil, Value::str("1"), Value::Bool(true), Value::vector(vec![])][at].clone();
        for operation in [add, sub, mul, div, quot, rem, modulo] {
            prop_assert_eq!(kind(operation(&number, &other)), Some(ErrorKind::Type));
            prop_assert_eq!(kind(operation(&other, &number)), Some(ErrorKind::Type));
        }
    }
}
