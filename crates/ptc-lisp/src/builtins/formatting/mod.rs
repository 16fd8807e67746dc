//! `format` and `printf`: Java's format strings.
//!
//! `directive` reads a template, `decimal` writes floats digit by digit, `dates` parts of dates, and this file puts values, signs
//! and padding together. Two differences from Java are deliberate: nil is empty text for `%s`, and
//! `%d` takes whole floats as `%f` takes integers.

mod dates;
mod decimal;
mod directive;
#[cfg(test)]
mod tests;

use num_bigint::{BigInt, Sign};
use num_traits::{FromPrimitive, Signed};

use self::decimal::DecimalDigits;
use self::directive::{Directive, TemplatePart};
use super::{Builtin, args, native, shown};
use crate::arith;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::Value;
use crate::value::hash::stable_hash;
use crate::value::text::{byte_offset, char_count, is_character};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/format",
        "[template & xs]",
        format,
        "The template with its directives replaced by the values: %s any, %d integer, %.2f float, %x hex, \
         %e exponent, %b boolean, %c character, %n newline, %% percent; widths and flags as in Java.",
        &[
            (r#"(format "%s has %d items, %.2f" "cart" 3 9.5)"#, r#""cart has 3 items, 9.50""#),
            (r#"(format "%-6s|%6d|%,d" "ab" 42 1234567)"#, r#""ab    |    42|1,234,567""#),
        ],
    ),
    native(
        "clojure.core/printf",
        "[template & xs]",
        printf,
        "Prints what format gives. Returns nil.",
        &[(r#"(printf "%d%%\n" 50)"#, "nil")],
    ),
];

fn format(heap: &mut Heap, args: &mut [Value]) -> Res {
    shown::of_arguments(heap, "clojure.core/format", args)?;
    let template = template(args)?;
    Ok(Value::string(formatted(heap, template, &args[1..])?))
}

/// The template, which comes first.
fn template(args: &[Value]) -> Res<&str> {
    args::text(args, 0).map_err(|signal| match (*signal, args.get(1).and_then(Value::as_str)) {
        (Signal::Raise(error), Some(text)) if text.contains('%') => {
            error.hint("the arguments look swapped: write (format \"%.2f\" x)").into()
        }
        (signal, _) => signal.into(),
    })
}

fn printf(heap: &mut Heap, args: &mut [Value]) -> Res {
    shown::of_arguments(heap, "clojure.core/printf", args)?;
    let template = template(args)?;
    let text = formatted(heap, template, &args[1..])?;
    heap.print(&text)?;
    Ok(Value::Nil)
}

/// A template with its directives replaced by `values`.
pub(super) fn formatted(heap: &mut Heap, template: &str, values: &[Value]) -> Res<String> {
    heap.work(1 + template.len() / 4)?;
    heap.reserve(template.len())?;
    let mut out = String::with_capacity(template.len() + 8 * values.len());
    let (mut next, mut last) = (0, None);
    for part in directive::parts(template) {
        let directive = match part? {
            TemplatePart::Text(text) => {
                out.push_str(text);
                continue;
            }
            TemplatePart::Directive(directive) => directive,
        };
        directive.check()?;
        heap.work(1 + directive.most() / 8)?;
        heap.reserve(directive.most())?;
        if directive.takes_value() {
            let at = match directive.index {
                directive::ArgIndex::Next => next,
                directive::ArgIndex::Number(number) => number - 1,
                directive::ArgIndex::Same => last.unwrap_or(usize::MAX),
            };
            next += usize::from(directive.index == directive::ArgIndex::Next);
            last = Some(at);
            let Some(value) = values.get(at) else { return Err(missing(&directive, values.len()).into()) };
            let text = shown(heap, &directive, value)?;
            heap.grow_text(&mut out, text.len())?;
            out.push_str(&text);
        } else if directive.conversion == 'n' {
            out.push('\n');
        } else {
            out.push_str(&padded(&directive, "%".into()));
        }
    }
    Ok(out)
}

fn missing(directive: &Directive<'_>, count: usize) -> Error {
    let message = format!("there is no value for `{}`: {count} were given", directive.source);
    Error::new(ErrorKind::IllegalArgument, message)
        .hint("give one value for each directive; write %% for a percent sign")
}

/// The error for a value that a conversion cannot show.
fn unfit(directive: &Directive<'_>, value: &Value, fix: &str) -> Error {
    let message = format!("`{}` cannot show a {}", directive.source, value.type_name());
    Error::new(ErrorKind::IllegalArgument, message).hint(fix)
}

/// Pays for the digits of a long number.
fn pay_for_digits(heap: &mut Heap, value: &Value) -> Res<()> {
    let words = arith::words(value);
    let zeros = match value {
        Value::Decimal(exact) => {
            let scale = exact.decimal().map_or(0, |decimal| decimal.scale().unsigned_abs());
            usize::try_from(scale).unwrap_or(usize::MAX)
        }
        _ => 0,
    };
    heap.work(arith::digits_work(words) + zeros / 8)?;
    heap.reserve(words.saturating_mul(20).saturating_add(zeros))
}

fn shown(heap: &mut Heap, directive: &Directive<'_>, value: &Value) -> Res<String> {
    pay_for_digits(heap, value)?;
    let text = match directive.conversion.to_ascii_lowercase() {
        'b' => cut(directive, value.truthy().to_string()),
        _ if value.is_nil() => String::new(),
        's' => cut(directive, heap.display(value)?),
        'h' => cut(directive, format!("{:x}", hash_code(value))),
        'c' => character(directive, value)?,
        'd' => integer(directive, value)?,
        'x' => digits(directive, value, 16)?,
        'o' => digits(directive, value, 8)?,
        't' => dates::part(directive, value)?,
        'a' => hexadecimal(directive, value)?,
        _ => float(directive, value)?,
    };
    let text = if directive.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
    Ok(padded(directive, text))
}

/// Only so many characters as the precision says.
fn cut(directive: &Directive<'_>, mut text: String) -> String {
    if let Some(most) = directive.precision {
        text.truncate(byte_offset(&text, most));
    }
    text
}

/// Fills up to the width with spaces.
fn padded(directive: &Directive<'_>, text: String) -> String {
    let Some(missing) = directive.width.and_then(|width| width.checked_sub(char_count(&text))) else {
        return text;
    };
    let spaces = " ".repeat(missing);
    if directive.has('-') { text + &spaces } else { spaces + &text }
}

fn character(directive: &Directive<'_>, value: &Value) -> Res<String> {
    match value {
        Value::Str(text) if is_character(text.as_str()) => Ok(text.as_str().to_owned()),
        Value::Int(code) => match u32::try_from(*code).ok().and_then(char::from_u32) {
            Some(c) => Ok(c.to_string()),
            None => Err(unfit(directive, value, "give the code of a character").into()),
        },
        _ => Err(unfit(directive, value, "give a one-character string, or use %s").into()),
    }
}

/// The integer a value is; whole floats and decimals count.
fn whole(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(int) => Some(BigInt::from(*int)),
        Value::Big(int) => Some((**int).clone()),
        Value::Float(float) if float.fract() == 0.0 => BigInt::from_f64(*float),
        Value::Decimal(decimal) => decimal.as_int(),
        _ => None,
    }
}

fn integer(directive: &Directive<'_>, value: &Value) -> Res<String> {
    let hint = match value {
        Value::Float(_) | Value::Decimal(_) => "use %.2f for a fraction, or (long x) to cut it off",
        _ => "use %s for any value, %.2f for a float",
    };
    let Some(int) = whole(value) else { return Err(unfit(directive, value, hint).into()) };
    let size = int.magnitude().to_string();
    Ok(signed(directive, int.is_negative(), &size, ""))
}

/// Hexadecimal or octal; a negative integer shows its 64 bits, as Java shows a long.
fn digits(directive: &Directive<'_>, value: &Value, radix: u32) -> Res<String> {
    let prefix = match (directive.has('#'), radix) {
        (true, 16) => "0x",
        (true, _) => "0",
        _ => "",
    };
    let (negative, size) = match value {
        Value::Int(int) if radix == 16 => (false, format!("{int:x}")),
        Value::Int(int) => (false, format!("{int:o}")),
        Value::Big(int) => (int.sign() == Sign::Minus, int.magnitude().to_str_radix(radix)),
        _ => return Err(unfit(directive, value, "%x and %o show integers").into()),
    };
    let sign = if negative { "-" } else { "" };
    Ok(zero_filled(directive, format!("{sign}{prefix}"), &size, ""))
}

fn float(directive: &Directive<'_>, value: &Value) -> Res<String> {
    let (negative, decimal) = match value {
        Value::Float(float) if !float.is_finite() => return Ok(endless(directive, *float)),
        Value::Float(float) => (float.is_sign_negative(), DecimalDigits::of(float.abs())),
        Value::Decimal(exact) => match exact.decimal() {
            Some(decimal) => (decimal.sign().is_lt(), DecimalDigits::of_decimal(decimal)),
            None => return self::float(directive, &Value::Float(exact.to_f64())),
        },
        Value::Int(_) | Value::Big(_) => match whole(value) {
            Some(int) => (int.is_negative(), DecimalDigits::of_digits(&int.magnitude().to_string())),
            None => (false, DecimalDigits::of(0.0)),
        },
        _ => return Err(unfit(directive, value, "%f, %e and %g show numbers; use %s for any value").into()),
    };
    let precision = directive.precision.unwrap_or(6);
    let (size, exponent) = match directive.conversion.to_ascii_lowercase() {
        'e' => decimal.scientific(precision),
        'g' => decimal.general(precision.max(1)),
        _ => (decimal.fixed(precision), String::new()),
    };
    let point = if directive.has('#') && !size.contains('.') { "." } else { "" };
    Ok(signed(directive, negative, &(size + point), &exponent))
}

/// A float in hexadecimal, as `Double/toHexString` writes it.
fn hexadecimal(directive: &Directive<'_>, value: &Value) -> Res<String> {
    let Value::Float(float) = value else { return Err(unfit(directive, value, "%a shows floats").into()) };
    if !float.is_finite() {
        return Ok(endless(directive, *float));
    }
    let bits = float.to_bits();
    let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (exponent, fraction) {
        (0, 0) => (0, 0),
        (0, _) => (0, -1022),
        _ => (1, i64::try_from(exponent).unwrap_or_default() - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        some => some,
    };
    let size = format!("0x{lead}.{digits}p{exponent}");
    Ok(signed(directive, float.is_sign_negative(), &size, ""))
}

/// NaN and the infinities, which are never filled with zeros.
fn endless(directive: &Directive<'_>, float: f64) -> String {
    if float.is_nan() {
        return "NaN".into();
    }
    let plus = if directive.has('+') {
        "+"
    } else if directive.has(' ') {
        " "
    } else {
        ""
    };
    match (float > 0.0, directive.has('(')) {
        (true, _) => format!("{plus}Infinity"),
        (false, true) => "(Infinity)".into(),
        (false, false) => "-Infinity".into(),
    }
}

/// A number with its sign, thousands separators and zeros.
fn signed(directive: &Directive<'_>, negative: bool, size: &str, exponent: &str) -> String {
    let (before, after) = match (negative, directive.has('(')) {
        (true, true) => ("(", ")"),
        (true, false) => ("-", ""),
        (false, _) if directive.has('+') => ("+", ""),
        (false, _) if directive.has(' ') => (" ", ""),
        (false, _) => ("", ""),
    };
    let size = if directive.has(',') { grouped(size) } else { size.to_owned() };
    zero_filled(directive, before.to_owned(), &(size + exponent), after)
}

/// Puts zeros between the sign and the digits if the flag asks for them.
fn zero_filled(directive: &Directive<'_>, before: String, size: &str, after: &str) -> String {
    let used = before.len() + size.len() + after.len();
    let zeros = match directive.width {
        Some(width) if directive.has('0') => width.saturating_sub(used),
        _ => 0,
    };
    before + &"0".repeat(zeros) + size + after
}

/// Commas after every third digit before the point.
fn grouped(size: &str) -> String {
    let (whole, part) = size.split_at(size.find('.').unwrap_or(size.len()));
    let mut out = String::with_capacity(size.len() + size.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + part
}

/// Java's hash code for strings, numbers and booleans; a stable hash for other values.
fn hash_code(value: &Value) -> u32 {
    let of_long = |bits: u64| (bits ^ (bits >> 32)) as u32;
    match value {
        Value::Bool(flag) => {
            if *flag {
                1231
            } else {
                1237
            }
        }
        Value::Int(int) => of_long(*int as u64),
        Value::Float(float) => of_long(float.to_bits()),
        Value::Decimal(exact) if let Some(decimal) = exact.decimal() => decimal.hash_code() as u32,
        Value::Str(text) => text
            .as_str()
            .encode_utf16()
            .fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into())),
        _ => stable_hash(value, 1 << 20).0 as u32,
    }
}
