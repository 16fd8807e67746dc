//! `MathContext`, and what `with-precision` sets.

use super::super::{Builtin, constant, native};
use super::big_decimal::{context, rounding};
use super::{no_method, whole};
use crate::decimal::context::VAR;
use crate::decimal::{Context, MAX_SCALE, Rounding};
use crate::signal::{Res, illegal};
use crate::value::time::Class;
use crate::value::{Time, Value};

/// Constants: name, precision, rounding, text.
macro_rules! contexts {
    ($($name:literal $precision:literal $rounding:ident $shown:literal;)*) => {
        &[$(constant(
            concat!("MathContext/", $name),
            |_| value(Context { precision: $precision, rounding: Rounding::$rounding }),
            "A precision and a way to round to it.",
            &[(concat!("(str MathContext/", $name, ")"), $shown)],
        )),*]
    };
}

pub(super) static CONTEXTS: &[Builtin] = contexts! {
    "UNLIMITED" 0 HalfUp "\"precision=0 roundingMode=HALF_UP\"";
    "DECIMAL32" 7 HalfEven "\"precision=7 roundingMode=HALF_EVEN\"";
    "DECIMAL64" 16 HalfEven "\"precision=16 roundingMode=HALF_EVEN\"";
    "DECIMAL128" 34 HalfEven "\"precision=34 roundingMode=HALF_EVEN\"";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "MathContext.",
        "[digits] [digits rounding]",
        |_, args| {
            let rounding = if args.len() > 1 { rounding(args, 1)? } else { Rounding::HalfUp };
            Ok(value(Context { precision: precision(args)?, rounding }))
        },
        "How many digits results of decimals have, and how they are rounded; HALF_UP if nothing is said.",
        &[("(.divide 2M 3M (MathContext. 5))", "0.66667M")],
    ),
    native(
        ".getPrecision",
        "[context]",
        |_, args| match receiver(args) {
            Some(context) => Ok(Value::Int(context.precision.into())),
            None => Err(no_method(args, "a MathContext")),
        },
        "How many digits a MathContext asks for.",
        &[("(.getPrecision MathContext/DECIMAL32)", "7")],
    ),
    native(
        "prim/push-precision",
        "[digits rounding]",
        |heap, args| {
            let context = Context { precision: precision(args)?, rounding: rounding(args, 1)? };
            heap.allocated(2 * size_of::<Value>());
            let slot = heap.slot(VAR);
            heap.globals.bind_context(slot, value(context));
            Ok(Value::Nil)
        },
        "Sets the precision of decimals until it is popped.",
        &[],
    ),
    native(
        "prim/pop-precision",
        "[]",
        |heap, _| {
            let slot = heap.slot(VAR);
            heap.globals.unbind(slot);
            Ok(Value::Nil)
        },
        "Takes away what push-precision set.",
        &[],
    ),
];

fn value(context: Context) -> Value {
    Value::time(Time::MathContext(context))
}

fn receiver(args: &[Value]) -> Option<Context> {
    context(args, 0).ok()
}

fn precision(args: &[Value]) -> Res<u32> {
    /// As many digits as decimals may have places.
    const MOST: i64 = MAX_SCALE;
    match whole(args, 0)? {
        digits @ 0..=MOST => Ok(u32::try_from(digits).unwrap_or(0)),
        digits if digits < 0 => illegal("Digits < 0: a precision must not be negative"),
        _ => illegal(format!("a precision may be at most {MOST} digits")),
    }
}

/// The RoundingMode of a MathContext.
pub(super) fn rounding_mode(context: Context) -> Value {
    Value::time(Time::constant(Class::RoundingMode, context.rounding as u8))
}
