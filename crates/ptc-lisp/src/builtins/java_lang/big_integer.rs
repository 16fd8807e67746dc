//! `BigInteger`: integers of any size, which all integers here are.

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_traits::Signed;

use super::super::numeric::counted;
use super::super::{Builtin, args, constant, native};
use super::{no_method, whole};
use crate::arith::{self, sized};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, illegal, raise};
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "BigInteger.",
        "[s] [s radix]",
        new_integer,
        "An integer of any size from its digits, or from a sign (1, 0 or -1) and bytes.",
        &[
            ("(BigInteger. 1 [1 0])", "256"),
            (r#"(BigInteger. "123456789012345678901234567890")"#, "123456789012345678901234567890"),
            (r#"(BigInteger. "ff" 16)"#, "255"),
        ],
    ),
    native(
        "BigInteger/valueOf",
        "[n]",
        |heap, args| counted(heap, Value::big(args::big(args, 0)?)),
        "The integer itself.",
        &[("(BigInteger/valueOf 5)", "5")],
    ),
    constant("BigInteger/ZERO", |_| Value::Int(0), "Zero.", &[("BigInteger/ZERO", "0")]),
    constant("BigInteger/ONE", |_| Value::Int(1), "One.", &[("BigInteger/ONE", "1")]),
    constant("BigInteger/TWO", |_| Value::Int(2), "Two.", &[("BigInteger/TWO", "2")]),
    constant("BigInteger/TEN", |_| Value::Int(10), "Ten.", &[("BigInteger/TEN", "10")]),
    native(
        ".gcd",
        "[n other]",
        |heap, args| {
            integer_receiver(args)?;
            // Every bit of both may take a subtraction of all words.
            let words = arith::words(&args[0]).max(arith::words(&args[1]));
            heap.work(1 + words.saturating_mul(words).saturating_mul(64))?;
            counted(heap, Value::big(args::big(args, 0)?.gcd(&args::big(args, 1)?)))
        },
        "The greatest common divisor of two integers.",
        &[("(.gcd 12 18)", "6")],
    ),
    native(
        ".modPow",
        "[n exponent modulus]",
        mod_pow,
        "n to a power, modulo a third integer.",
        &[("(.modPow 3 4 5)", "1")],
    ),
    native(
        ".bitLength",
        "[n]",
        |heap, args| {
            integer_receiver(args)?;
            heap.work(arith::words(&args[0]))?;
            let n = args::big(args, 0)?;
            // A negative number is written in two's complement: -8 takes three bits, -9 four.
            let n = if n.is_negative() { -n - 1u8 } else { n };
            Ok(Value::big(n.bits().into()))
        },
        "How many bits an integer needs.",
        &[("(.bitLength 255)", "8")],
    ),
];

fn integer_receiver(args: &[Value]) -> Res<()> {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(()),
        _ => Err(no_method(args, "an integer")),
    }
}

/// The integer whose size is told by bytes, the largest first.
fn of_bytes(heap: &mut Heap, args: &[Value], sign: i64) -> Res {
    let bytes = super::super::java_util::bytes(heap, args, 1)?;
    heap.work(1 + bytes.len() / 8)?;
    heap.reserve(bytes.len())?;
    let sign = match sign {
        1 => Sign::Plus,
        -1 => Sign::Minus,
        0 if bytes.iter().all(|byte| *byte == 0) => Sign::NoSign,
        _ => return args::fail(args, 0, "1, or -1 for a negative number"),
    };
    sized(BigInt::from_bytes_be(sign, &bytes))
}

fn new_integer(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let (Value::Int(sign), 2) = (&args[0], args.len()) {
        return of_bytes(heap, args, *sign);
    }
    let radix = if args.len() > 1 { whole(args, 1)? } else { 10 };
    let text = args::text(args, 0)?;
    // Reading digits takes time in the square of their number.
    heap.work(1 + text.len() + (text.len() / 64).pow(2))?;
    heap.reserve(text.len())?;
    let radix = u32::try_from(radix).ok().filter(|radix| (2..=36).contains(radix));
    let parsed = radix.and_then(|radix| BigInt::parse_bytes(text.as_bytes(), radix));
    match parsed {
        Some(int) => sized(int),
        None => raise(ErrorKind::Format, format!("{} is not an integer", heap.brief(&args[0]))),
    }
}

fn mod_pow(heap: &mut Heap, args: &mut [Value]) -> Res {
    /// Beyond this the work would be out of proportion to its price.
    const MOST_BITS: u64 = 8192;
    integer_receiver(args)?;
    let (base, power, modulus) = (args::big(args, 0)?, args::big(args, 1)?, args::big(args, 2)?);
    if power.is_negative() || !modulus.is_positive() {
        return illegal("the exponent must not be negative and the modulus must be positive");
    }
    if base.bits().max(power.bits()).max(modulus.bits()) > MOST_BITS {
        return illegal(format!("the numbers must have at most {MOST_BITS} bits"));
    }
    let words = usize::try_from(modulus.bits() / 64 + 1).unwrap_or(usize::MAX);
    heap.work(usize::try_from(power.bits()).unwrap_or(usize::MAX).saturating_mul(words * words))?;
    counted(heap, Value::big(base.modpow(&power, &modulus)))
}
