//! Tests against texts of Java, and properties that hold for all decimals.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use proptest::prelude::*;

use super::format::Pattern;
use super::*;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text} reads"))
}

#[test]
fn text_is_that_of_java() {
    let cases = [
        ("1.10", "1.10", "1.10", "1.10"),
        ("1e3", "1E+3", "1000", "1E+3"),
        ("12345e3", "1.2345E+7", "12345000", "12.345E+6"),
        ("1e-6", "0.000001", "0.000001", "0.000001"),
        ("-1e-7", "-1E-7", "-0.0000001", "-100E-9"),
        ("123e-10", "1.23E-8", "0.0000000123", "12.3E-9"),
        ("0e-7", "0E-7", "0.0000000", "0.0E-6"),
        ("0e3", "0E+3", "0", "0E+3"),
        ("0e2", "0E+2", "0", "0.0E+3"),
        (".5", "0.5", "0.5", "0.5"),
        ("+5.", "5", "5", "5"),
    ];
    for (source, text, plain, engineering) in cases {
        let number = decimal(source);
        assert_eq!([number.to_string(), number.plain(), number.engineering()], [text, plain, engineering]);
        assert_eq!(number.text_len(), text.len(), "{source}");
        assert!(number.plain_len() >= plain.len(), "{source}");
    }
}

#[test]
fn what_is_no_decimal_does_not_read() {
    for text in
        ["", ".", "-", "e5", "1e", "1e+", "1.2.3", "1_000", " 1", "1 ", "abc", "1e5.0", "٣", "--1", "0x10"]
    {
        assert!(Decimal::parse(text).is_none() && !Decimal::is_form(text), "{text:?}");
    }
    for text in ["1e10001", "1e-10001", "1e999999999999999999999"] {
        assert!(Decimal::parse(text).is_none() && Decimal::is_form(text), "{text:?}");
    }
    assert!(Decimal::parse("1e10000").is_some() && Decimal::parse("1e-10000").is_some());
}

#[test]
fn floats_become_what_they_print_as_or_exactly_what_they_are() {
    let shown = |float| Decimal::of_float(float).map(|decimal| decimal.to_string());
    let exact = |float| Decimal::exactly(float).map(|decimal| decimal.to_string());
    assert_eq!(shown(0.1).as_deref(), Some("0.1"));
    assert_eq!(shown(1e10).as_deref(), Some("1.0E+10"));
    assert_eq!(exact(0.1).as_deref(), Some("0.1000000000000000055511151231257827021181583404541015625"));
    assert_eq!(exact(-2.5).as_deref(), Some("-2.5"));
    assert_eq!(exact(1e23).as_deref(), Some("99999999999999991611392"));
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!((shown(float), exact(float)), (None, None));
    }
    assert_eq!(exact(5e-324).map(|text| text.len()), Some(1079 - 322));
}

#[test]
fn large_results_are_refused_before_they_are_computed() {
    let (far, near) = (decimal("1e9999"), decimal("1e-9999"));
    assert!(ops::add(&far, &near, None).is_ok());
    assert!(ops::mul(&far, &far, None).is_err() && ops::mul(&near, &near, None).is_err());
    assert!(ops::div(&near, &far, None).is_err());
    assert!(ops::pow(&decimal("1.1"), 999_999).is_err());
    assert!(decimal("1").rescaled(2_147_483_647, Rounding::Up).is_err());
    assert!(ops::point_moved(&decimal("1"), i64::MAX).is_err());
    assert!(ops::point_moved(&decimal("1"), i64::MIN).is_err());
}

#[test]
fn patterns_show_numbers_as_decimal_format_does() {
    let cases = [
        ("#,##0.00", "1234.565", "1,234.56"),
        ("0.00%", "0.12345", "12.34%"),
        ("#.##", "0", "0"),
        (".##", "0.5", ".5"),
        ("$#,##0.00;($#,##0.00)", "-1234.5", "($1,234.50)"),
        ("0.00", "-0.001", "-0.00"),
        ("'#'0", "5", "#5"),
        ("''0", "1", "'1"),
        ("#,####.0", "123456789", "1,2345,6789.0"),
        ("", "1234.5", "1,234.5"),
        ("0.0‰", "0.5", "500.0‰"),
        ("x", "5.5", "x6"),
    ];
    for (source, number, shown) in cases {
        let pattern = Pattern::parse(source).unwrap_or_else(|_| panic!("{source} reads"));
        let number = decimal(number);
        let scaled = pattern.scaled_decimal(&number).expect("it fits");
        let text = pattern.text(&scaled, number.sign().is_lt(), Rounding::HalfEven).expect("it fits");
        assert_eq!(text, shown, "{source}");
    }
    for source in ["0.0.0", "#0#", "0.0E0", "¤0", "0.#0", "0,"] {
        assert!(Pattern::parse(source).is_err(), "{source}");
    }
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    (any::<i128>(), -40i64..40, 0u32..4).prop_map(|(unscaled, scale, zeros)| {
        Decimal::new(BigInt::from(unscaled >> 64) * BigInt::from(10).pow(zeros), scale).expect("it is small")
    })
}

fn hash_of(decimal: &Decimal) -> u64 {
    FixedState::with_seed(1).hash_one(decimal)
}

proptest! {
    #[test]
    fn text_reads_back(a in any_decimal()) {
        prop_assert_eq!(Decimal::parse(&a.to_string()), Some(a.clone()));
        prop_assert_eq!(a.to_string().len(), a.text_len());
        prop_assert!(decimal(&a.plain()).compare(&a).is_eq());
        prop_assert!(decimal(&a.engineering()).compare(&a).is_eq());
        prop_assert_eq!(a.precision(), a.unscaled.magnitude().to_string().len() as i64);
    }

    #[test]
    fn sums_and_differences_go_back(a in any_decimal(), b in any_decimal()) {
        let sum = ops::add(&a, &b, None).expect("it fits");
        prop_assert_eq!(sum.scale, a.scale.max(b.scale));
        prop_assert!(ops::sub(&sum, &b, None).expect("it fits").compare(&a).is_eq());
    }

    #[test]
    fn quotient_and_rest_make_the_number(a in any_decimal(), b in any_decimal()) {
        prop_assume!(!b.is_zero());
        let (quotient, rest) = (ops::quot(&a, &b, None).expect("it fits"), ops::rem(&a, &b, None).expect("it fits"));
        let product = ops::mul(&quotient, &b, None).expect("it fits");
        prop_assert!(ops::add(&product, &rest, None).expect("it fits").compare(&a).is_eq());
        prop_assert!(rest.is_zero() || rest.sign() == a.sign());
    }

    #[test]
    fn exact_quotients_are_those_of_products(a in any_decimal(), b in any_decimal()) {
        prop_assume!(!b.is_zero());
        let product = ops::mul(&a, &b, None).expect("it fits");
        prop_assert!(ops::div(&product, &b, None).expect("it is exact").compare(&a).is_eq());
    }

    #[test]
    fn equal_numbers_hash_alike(a in any_decimal(), zeros in 0i64..30) {
        let longer = a.rescaled(a.scale + zeros, Rounding::Unnecessary).expect("it fits");
        prop_assert!(a.compare(&longer).is_eq());
        prop_assert_eq!(hash_of(&a), hash_of(&longer));
    }

    #[test]
    fn the_order_with_floats_is_that_of_numbers(a in any_decimal(), b in any::<f64>(), c in any::<f64>()) {
        prop_assume!(b.is_finite() && c.is_finite() && b < c);
        let (with_b, with_c) = (a.compare_float(b), a.compare_float(c));
        prop_assert!(with_b >= with_c, "{a} {b} {c}");
        prop_assert_eq!(Decimal::exactly(b).map(|exact| exact.to_f64()), Some(b));
        prop_assert_eq!(Decimal::of_float(b).map(|shown| shown.to_f64()), Some(b));
    }
}
