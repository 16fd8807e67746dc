//! What arithmetic gives, case by case.

use super::*;
use crate::names::Names;
use crate::value::print::pr_str;

type Op = fn(&Value, &Value) -> Res;

fn number(text: &str) -> Value {
    match text {
        "##Inf" => Value::Float(f64::INFINITY),
        "##-Inf" => Value::Float(f64::NEG_INFINITY),
        "##NaN" => Value::Float(f64::NAN),
        "nil" => Value::Nil,
        _ if text.starts_with('"') => Value::str(text.trim_matches('"')),
        _ => match text.parse::<BigInt>() {
            Ok(int) => Value::big(int),
            Err(_) => Value::Float(text.parse().expect("a number")),
        },
    }
}

fn shown(result: Res) -> String {
    match result {
        Ok(value) => pr_str(&value, &Names::default()),
        Err(signal) => match *signal {
            Signal::Raise(error) => error.kind.reason().to_owned(),
            other => panic!("unexpected signal {other:?}"),
        },
    }
}

fn operation(name: &str) -> Op {
    match name {
        "+" => add,
        "-" => sub,
        "*" => mul,
        "/" => div,
        "quot" => quot,
        "rem" => rem,
        "mod" => modulo,
        "<" => |a, b| Ok(Value::Bool(less(a, b)?)),
        "<=" => |a, b| Ok(Value::Bool(less_eq(a, b)?)),
        _ => panic!("no operation {name}"),
    }
}

#[test]
fn two_operands() {
    let cases = "
        + 1 2 => 3
        + 9223372036854775807 1 => 9223372036854775808
        + 9223372036854775808 -1 => 9223372036854775807
        + 1.5 2 => 3.5
        + 9223372036854775808 0.5 => 9.223372036854775808E18
        + ##Inf ##-Inf => ##NaN
        + 1 nil => type_error
        + \"5\" 1 => type_error
        - -9223372036854775808 1 => -9223372036854775809
        - -9223372036854775809 -1 => -9223372036854775808
        - 1.5 0.5 => 1.0
        * 123456789012 987654321098 => 121932631136585886175176
        * -9223372036854775808 -1 => 9223372036854775808
        * 0.1 0.2 => 0.020000000000000004
        * ##Inf 0 => ##NaN
        / 6 3 => 2
        / 7 2 => 3.5
        / -7 2 => -3.5
        / 0 5 => 0
        / 1 0 => arithmetic_error
        / 1 0.0 => ##Inf
        / -1.0 0 => ##-Inf
        / ##Inf 0 => ##Inf
        / 1 ##Inf => 0.0
        / -9223372036854775808 -1 => 9223372036854775808
        / 121932631136585886175176 123456789012 => 987654321098
        / 9223372036854775808 4 => 2305843009213693952
        / 1 9223372036854775808 => 1.0842021724855044E-19
        / nil 2 => type_error
        quot 7 -2 => -3
        quot -7.5 2 => -3.0
        quot 5 0.0 => arithmetic_error
        quot 5 0 => arithmetic_error
        quot ##Inf 2 => arithmetic_error
        quot ##NaN 2 => arithmetic_error
        quot -9223372036854775808 -1 => 9223372036854775808
        quot nil 2 => type_error
        rem -7 2 => -1
        rem 7 -2 => 1
        rem 7 2.5 => 2.0
        rem 12345678901234567890 7 => 1
        rem -9223372036854775808 -1 => 0
        rem 5 0 => arithmetic_error
        rem 1 ##Inf => ##NaN
        mod 7 -2 => -1
        mod -7 2 => 1
        mod -7 -2 => -1
        mod -7.5 2 => 0.5
        mod -12345678901234567890 7 => 6
        mod 12345678901234567890 -7 => -6
        mod 5.0 0 => arithmetic_error
        < 1 2 => true
        < 1 1.0 => false
        <= 1 1.0 => true
        < 1 ##NaN => false
        <= ##NaN ##NaN => false
        < 9223372036854775807 9223372036854775808 => true
        < 1 nil => type_error
        < \"a\" \"b\" => type_error
    ";
    for case in cases.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = case.split_whitespace().collect();
        let [name, a, b, "=>", expected] = words[..] else { panic!("bad case {case}") };
        let expected = if expected.contains('E') { shown(Ok(number(expected))) } else { expected.to_owned() };
        assert_eq!(shown(operation(name)(&number(a), &number(b))), expected, "{case}");
    }
}

#[test]
fn results_beyond_the_limit_are_refused() {
    let long = Value::big(BigInt::from(1) << (MAX_BITS - 1));
    assert_eq!(shown(mul(&long, &long)), "memory_exceeded");
    // The longest there is, as a product: 2^(MAX_BITS - 1) has MAX_BITS bits.
    let power = |bits: u64| Value::big(BigInt::from(1) << bits);
    let longest = mul(&power(MAX_BITS / 2), &power(MAX_BITS / 2 - 1));
    assert_eq!(shown(longest.and_then(|product| sub(&product, &long))), "0");
    assert_eq!(shown(mul(&power(MAX_BITS / 2), &power(MAX_BITS / 2))), "memory_exceeded");
    assert_eq!(shown(add(&long, &long)), "memory_exceeded");
    assert_eq!(shown(quot(&long, &long)), "1");
}

#[test]
fn quotients_of_huge_integers_are_exact_to_the_last_bit() {
    let huge = BigInt::from(3) << 5000u32;
    let third = div(&Value::big(huge.clone()), &Value::big(huge.clone() * 3)).map(|value| to_f64(&value));
    assert_eq!(third.expect("a quotient").expect("a float"), 1.0 / 3.0);
    assert_eq!(shown(div(&Value::big(huge.clone() + 1), &Value::Int(2))), "##Inf");
    assert_eq!(shown(div(&Value::Int(-1), &Value::big(huge))), "-0.0");
}

#[test]
fn fuel_for_small_numbers_is_nothing_and_grows_with_size() {
    let long = Value::big(BigInt::from(1) << 64_000u32);
    assert_eq!(product_cost(&Value::Int(1), &Value::Float(2.0)), 0);
    assert_eq!(quotient_cost(&Value::Int(1), &Value::Int(2)), 0);
    assert!(product_cost(&long, &long) > product_cost(&long, &Value::Int(2)));
    assert!(quotient_cost(&long, &Value::Int(2)) >= 1000);
}
