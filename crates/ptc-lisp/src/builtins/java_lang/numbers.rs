//! `Integer`, `Long`, `Double`, `Float` and `Boolean`.

use std::cmp::Ordering;

use super::super::{Builtin, args, constant, native, parsing};
use super::whole;
use crate::arith;
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

macro_rules! constants {
    ($($name:literal $value:expr, $doc:literal => $shown:literal;)*) => {
        &[$(constant($name, |_| $value, $doc, &[($name, $shown)])),*]
    };
}

pub(super) static CONSTANTS: &[Builtin] = constants! {
    "Integer/MAX_VALUE" Value::Int(i32::MAX as i64), "The greatest 32-bit integer." => "2147483647";
    "Integer/MIN_VALUE" Value::Int(i32::MIN as i64), "The smallest 32-bit integer." => "-2147483648";
    "Long/MAX_VALUE" Value::Int(i64::MAX), "The greatest 64-bit integer." => "9223372036854775807";
    "Long/MIN_VALUE" Value::Int(i64::MIN), "The smallest 64-bit integer." => "-9223372036854775808";
    "Short/MAX_VALUE" Value::Int(i16::MAX as i64), "The greatest 16-bit integer." => "32767";
    "Short/MIN_VALUE" Value::Int(i16::MIN as i64), "The smallest 16-bit integer." => "-32768";
    "Byte/MAX_VALUE" Value::Int(i8::MAX as i64), "The greatest 8-bit integer." => "127";
    "Byte/MIN_VALUE" Value::Int(i8::MIN as i64), "The smallest 8-bit integer." => "-128";
    "Double/MAX_VALUE" Value::Float(f64::MAX), "The greatest float." => "1.7976931348623157E308";
    "Double/POSITIVE_INFINITY" Value::Float(f64::INFINITY), "Infinity." => "##Inf";
    "Double/NEGATIVE_INFINITY" Value::Float(f64::NEG_INFINITY), "Negative infinity." => "##-Inf";
    "Double/NaN" Value::Float(f64::NAN), "Not a number." => "##NaN";
    "Float/MAX_VALUE" Value::Float(f32::MAX as f64), "The greatest 32-bit float." => "3.4028234663852886E38";
    "Float/POSITIVE_INFINITY" Value::Float(f64::INFINITY), "Infinity." => "##Inf";
    "Float/NEGATIVE_INFINITY" Value::Float(f64::NEG_INFINITY), "Negative infinity." => "##-Inf";
    "Float/NaN" Value::Float(f64::NAN), "Not a number." => "##NaN";
    "Boolean/TRUE" Value::Bool(true), "true" => "true";
    "Boolean/FALSE" Value::Bool(false), "false" => "false";
};

/// The bits of a Java integer type.
#[derive(Clone, Copy)]
enum Width {
    Int,
    Long,
}

impl Width {
    fn fits(self, int: i64) -> bool {
        matches!(self, Width::Long) || i32::try_from(int).is_ok()
    }

    fn name(self) -> &'static str {
        match self {
            Width::Int => "a 32-bit integer",
            Width::Long => "a 64-bit integer",
        }
    }

    fn count(self) -> u32 {
        match self {
            Width::Int => 32,
            Width::Long => 64,
        }
    }

    /// The two's complement as an unsigned number of this width.
    fn bits(self, int: i64) -> u64 {
        match self {
            Width::Int => u64::from(int as u32),
            Width::Long => int as u64,
        }
    }
}

/// The members that `Integer` and `Long` share, once for each.
macro_rules! integers {
    ($class:literal $width:ident $parse:literal) => {
        [
            native(
                concat!($class, "/", $parse),
                "[s] [s radix]",
                |_, args| parse_integer(args, Width::$width),
                "The integer that a string spells; raises if it spells none.",
                &[
                    (concat!("(", $class, "/", $parse, " \"42\")"), "42"),
                    (concat!("(", $class, "/", $parse, " \"ff\" 16)"), "255"),
                ],
            ),
            native(
                concat!($class, "/valueOf"),
                "[s] [s radix]",
                |_, args| match args[0] {
                    Value::Int(_) => Ok(args::take(args, 0)),
                    _ => parse_integer(args, Width::$width),
                },
                "The integer that a string spells, or the integer itself.",
                &[(concat!("(", $class, "/valueOf \"7\")"), "7")],
            ),
            native(
                concat!($class, "."),
                "[x]",
                |_, args| match args[0] {
                    Value::Int(_) => Ok(args::take(args, 0)),
                    _ => parse_integer(args, Width::$width),
                },
                "The integer that a string spells, or the integer itself.",
                &[(concat!("(", $class, ". \"7\")"), "7")],
            ),
            native(
                concat!($class, "/toString"),
                "[n] [n radix]",
                integer_text,
                "The digits of an integer, in base 10 or another.",
                &[(concat!("(", $class, "/toString 255 16)"), "\"ff\"")],
            ),
            native(
                concat!($class, "/toBinaryString"),
                "[n]",
                |_, args| Ok(format!("{:b}", Width::$width.bits(whole(args, 0)?)).into()),
                "The bits of an integer.",
                &[(concat!("(", $class, "/toBinaryString 10)"), "\"1010\"")],
            ),
            native(
                concat!($class, "/toHexString"),
                "[n]",
                |_, args| Ok(format!("{:x}", Width::$width.bits(whole(args, 0)?)).into()),
                "The hexadecimal digits of an integer.",
                &[(concat!("(", $class, "/toHexString 255)"), "\"ff\"")],
            ),
            native(
                concat!($class, "/toOctalString"),
                "[n]",
                |_, args| Ok(format!("{:o}", Width::$width.bits(whole(args, 0)?)).into()),
                "The octal digits of an integer.",
                &[(concat!("(", $class, "/toOctalString 8)"), "\"10\"")],
            ),
            native(
                concat!($class, "/bitCount"),
                "[n]",
                |_, args| Ok(i64::from(Width::$width.bits(whole(args, 0)?).count_ones()).into()),
                "How many bits of an integer are set.",
                &[(concat!("(", $class, "/bitCount 7)"), "3")],
            ),
            native(
                concat!($class, "/numberOfTrailingZeros"),
                "[n]",
                |_, args| {
                    let bits = Width::$width.bits(whole(args, 0)?);
                    Ok(i64::from(bits.trailing_zeros().min(Width::$width.count())).into())
                },
                "How many bits below the lowest set bit are not set.",
                &[(concat!("(", $class, "/numberOfTrailingZeros 8)"), "3")],
            ),
            native(
                concat!($class, "/numberOfLeadingZeros"),
                "[n]",
                |_, args| {
                    let bits = Width::$width.bits(whole(args, 0)?);
                    Ok(i64::from(bits.leading_zeros() - (64 - Width::$width.count())).into())
                },
                "How many bits above the highest set bit are not set.",
                &[(concat!("(", $class, "/numberOfLeadingZeros -1)"), "0")],
            ),
            native(
                concat!($class, "/compare"),
                "[x y]",
                |_, args| Ok(sign(whole(args, 0)?.cmp(&whole(args, 1)?))),
                "-1, 0 or 1 as the first integer is less, equal or greater.",
                &[(concat!("(", $class, "/compare 1 2)"), "-1")],
            ),
            native(
                concat!($class, "/signum"),
                "[n]",
                |_, args| Ok(whole(args, 0)?.signum().into()),
                "-1, 0 or 1 by the sign.",
                &[(concat!("(", $class, "/signum -5)"), "-1")],
            ),
            native(
                concat!($class, "/sum"),
                "[x y]",
                |_, args| crate::arith::add(&args[0], &args[1]),
                "The sum.",
                &[(concat!("(", $class, "/sum 1 2)"), "3")],
            ),
            native(
                concat!($class, "/max"),
                "[x y]",
                |_, args| Ok(whole(args, 0)?.max(whole(args, 1)?).into()),
                "The greater integer.",
                &[(concat!("(", $class, "/max 1 2)"), "2")],
            ),
            native(
                concat!($class, "/min"),
                "[x y]",
                |_, args| Ok(whole(args, 0)?.min(whole(args, 1)?).into()),
                "The smaller integer.",
                &[(concat!("(", $class, "/min 1 2)"), "1")],
            ),
        ]
    };
}

pub(super) static INTEGER: &[Builtin] = &integers!("Integer" Int "parseInt");
pub(super) static LONG: &[Builtin] = &integers!("Long" Long "parseLong");

/// The members that `Double` and `Float` share.
macro_rules! floats {
    ($class:literal $parse:literal) => {
        [
            native(
                concat!($class, "/", $parse),
                "[s]",
                |_, args| parse_float(args),
                "The float that a string spells; raises if it spells none.",
                &[(concat!("(", $class, "/", $parse, " \"1.5\")"), "1.5")],
            ),
            native(
                concat!($class, "/valueOf"),
                "[s]",
                |_, args| match &args[0] {
                    Value::Str(_) | Value::Nil => parse_float(args),
                    _ => Ok(Value::Float(args::float(args, 0)?)),
                },
                "The float that a string spells, or a number as a float.",
                &[(concat!("(", $class, "/valueOf \"2\")"), "2.0")],
            ),
            native(
                concat!($class, "/toString"),
                "[x]",
                |heap, args| {
                    let float = Value::Float(args::float(args, 0)?);
                    Ok(heap.display(&float)?.into())
                },
                "A float as text.",
                &[(concat!("(", $class, "/toString 1.5)"), "\"1.5\"")],
            ),
            native(
                concat!($class, "."),
                "[x]",
                |_, args| match &args[0] {
                    Value::Str(_) | Value::Nil => parse_float(args),
                    _ => Ok(Value::Float(args::float(args, 0)?)),
                },
                "The float that a string spells, or a number as a float.",
                &[(concat!("(", $class, ". \"2\")"), "2.0")],
            ),
            native(
                concat!($class, "/isNaN"),
                "[x]",
                |_, args| Ok(args::float(args, 0)?.is_nan().into()),
                "Whether a float is not a number.",
                &[(concat!("(", $class, "/isNaN ##NaN)"), "true")],
            ),
            native(
                concat!($class, "/isInfinite"),
                "[x]",
                |_, args| Ok(args::float(args, 0)?.is_infinite().into()),
                "Whether a float is infinite.",
                &[(concat!("(", $class, "/isInfinite 1.0)"), "false")],
            ),
            native(
                concat!($class, "/isFinite"),
                "[x]",
                |_, args| Ok(args::float(args, 0)?.is_finite().into()),
                "Whether a float is neither infinite nor NaN.",
                &[(concat!("(", $class, "/isFinite 1.0)"), "true")],
            ),
            native(
                concat!($class, "/compare"),
                "[x y]",
                |_, args| Ok(sign(args::float(args, 0)?.total_cmp(&args::float(args, 1)?))),
                "-1, 0 or 1 as the first float is less, equal or greater.",
                &[(concat!("(", $class, "/compare 1.0 2.0)"), "-1")],
            ),
            native(
                concat!($class, "/sum"),
                "[x y]",
                |_, args| Ok(Value::Float(args::float(args, 0)? + args::float(args, 1)?)),
                "The sum as a float.",
                &[(concat!("(", $class, "/sum 1 2)"), "3.0")],
            ),
        ]
    };
}

pub(super) static DOUBLE: &[Builtin] = &floats!("Double" "parseDouble");
pub(super) static FLOAT: &[Builtin] = &floats!("Float" "parseFloat");

pub(super) static BOOLEAN: &[Builtin] = &[
    constant(
        "Double/MIN_VALUE",
        |_| Value::Float(5e-324),
        "The smallest positive float.",
        &[("(pos? Double/MIN_VALUE)", "true")],
    ),
    native(
        "Boolean/parseBoolean",
        "[s]",
        parse_boolean,
        "Whether a string is \"true\" in any case.",
        &[("(Boolean/parseBoolean \"TRUE\")", "true"), ("(Boolean/parseBoolean \"x\")", "false")],
    ),
    native(
        "Boolean.",
        "[x]",
        |heap, args| match args[0] {
            Value::Bool(_) => Ok(args::take(args, 0)),
            _ => parse_boolean(heap, args),
        },
        "The boolean that a string spells, or the boolean itself.",
        &[("(Boolean. \"true\")", "true")],
    ),
    native(
        "Boolean/valueOf",
        "[x]",
        |heap, args| match args[0] {
            Value::Bool(_) => Ok(args::take(args, 0)),
            _ => parse_boolean(heap, args),
        },
        "The boolean that a string spells, or the boolean itself.",
        &[("(Boolean/valueOf \"true\")", "true")],
    ),
    native(
        "Boolean/toString",
        "[b]",
        |heap, args| Ok(heap.display(&args[0])?.into()),
        "A boolean as text.",
        &[("(Boolean/toString true)", "\"true\"")],
    ),
];

/// An order as -1, 0 or 1.
pub(super) fn sign(order: Ordering) -> Value {
    Value::Int(order as i64)
}

fn not_a_number(text: &str, what: &str, hint: &str) -> Error {
    Error::new(ErrorKind::Format, format!("{:?} is not {what}", excerpt(text))).hint(hint)
}

fn radix(args: &[Value], at: usize) -> Res<u32> {
    if args.len() <= at {
        return Ok(10);
    }
    match u32::try_from(whole(args, at)?) {
        Ok(radix @ 2..=36) => Ok(radix),
        _ => crate::signal::illegal("the radix must be 2 to 36"),
    }
}

fn parse_integer(args: &[Value], width: Width) -> Res {
    let radix = radix(args, 1)?;
    let hint = "use parse-long for text that may be no number: it gives nil";
    if args[0].is_nil() {
        return Err(not_a_number("nil", width.name(), hint).into());
    }
    let text = args::text(args, 0)?;
    match i64::from_str_radix(text, radix) {
        Ok(int) if width.fits(int) => Ok(Value::Int(int)),
        _ if text.contains('.') && text.parse::<f64>().is_ok() => {
            let hint = "use parse-double for a number with a fraction; (long x) drops the fraction";
            Err(not_a_number(text, width.name(), hint).into())
        }
        _ => Err(not_a_number(text, width.name(), hint).into()),
    }
}

fn parse_float(args: &[Value]) -> Res {
    let text = args::text(args, 0)?;
    match parsing::double(text) {
        Some(float) => Ok(Value::Float(float)),
        None => {
            let hint = "use parse-double for text that may be no number: it gives nil";
            Err(not_a_number(text, "a number", hint).into())
        }
    }
}

fn parse_boolean(_: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Nil => Ok(Value::Bool(false)),
        Value::Str(text) => Ok(text.as_str().eq_ignore_ascii_case("true").into()),
        _ => args::fail(args, 0, "a string"),
    }
}

/// An integer with the digits of a radix.
pub(super) fn integer_text(heap: &mut Heap, args: &mut [Value]) -> Res {
    let radix = radix(args, 1)?;
    let words = arith::words(&args[0]);
    heap.work(1 + arith::digits_work(words))?;
    heap.reserve(words.saturating_mul(64))?;
    Ok(args::big(args, 0)?.to_str_radix(radix).into())
}
