//! Ratios: lowest terms, limits, and their place among numbers of other kinds.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::BigInt;
use proptest::prelude::*;

use super::{Fraction, MAX_DENOMINATOR_BITS, Ratio, add, div, modulo, mul, rem, sub};
use crate::decimal::Decimal;
use crate::value::Value;

fn ratio(above: i64, below: i64) -> Ratio {
    match Ratio::read(above.into(), below.into()) {
        Some(Ok(ratio)) => ratio,
        other => panic!("{above}/{below} is {other:?}"),
    }
}

fn int(int: i64) -> Fraction<'static> {
    Fraction::of_int(Cow::Owned(BigInt::from(int)))
}

fn text(value: &Value) -> String {
    match value {
        Value::Decimal(exact) => exact.to_string(),
        Value::Big(int) => format!("{int}N"),
        other => format!("{other:?}"),
    }
}

#[test]
fn results_are_in_lowest_terms_and_whole_ones_are_big_integers() {
    let (third, sixth) = (ratio(1, 3), ratio(-1, 6));
    let (third, sixth) = (Fraction::of_ratio(&third), Fraction::of_ratio(&sixth));
    let shown = |value: crate::signal::Res| text(&value.expect("a number"));
    assert_eq!(shown(add(&third, &sixth)), "1/6");
    assert_eq!(shown(sub(&third, &third)), "0N");
    assert_eq!(shown(mul(&third, &int(3))), "1N");
    assert_eq!(shown(div(&third, &sixth)), "-2N");
    assert_eq!(shown(rem(&int(-3), &sixth)), "0N");
    assert_eq!(shown(modulo(&sixth, &third)), "1/6");
    assert!(div(&third, &int(0)).is_err() && modulo(&third, &int(0)).is_err());
}

#[test]
fn a_denominator_that_would_be_too_long_is_refused() {
    let long = BigInt::from(1) << (MAX_DENOMINATOR_BITS - 1);
    let Some(Ok(tiny)) = Ratio::read(BigInt::from(1), long) else { panic!("it is a ratio") };
    let tiny = Fraction::of_ratio(&tiny);
    assert!(mul(&tiny, &tiny).is_err());
    assert!(add(&tiny, &tiny).is_ok());
    assert!(Ratio::read(BigInt::from(1), BigInt::from(1) << MAX_DENOMINATOR_BITS).is_none());
}

proptest! {
    #[test]
    fn ratios_decimals_and_floats_have_one_order(a in -999i64..999, b in 2i64..99, places in 0i64..4, c in -9999i64..9999) {
        let Some(Ok(ratio)) = Ratio::read(a.into(), b.into()) else { return Ok(()) };
        let decimal = Decimal::new(c.into(), places).expect("it is small");
        let float = decimal.to_f64();
        let order = ratio.compare_decimal(&decimal);
        prop_assert_eq!(ratio.compare_float(float), Some(order));
        let wide = i128::from(a) * 10i128.pow(places as u32);
        prop_assert_eq!(order, wide.cmp(&(i128::from(c) * i128::from(b))));
        prop_assert_eq!(ratio.compare(&ratio), Ordering::Equal);
    }

    #[test]
    fn the_text_of_a_ratio_is_no_longer_than_it_says(a: i128, b in 2i128..) {
        if let Some(Ok(ratio)) = Ratio::read(a.into(), b.into()) {
            prop_assert!(ratio.to_string().len() <= ratio.text_len());
        }
    }
}
