//! Exact numbers with a fraction: decimals (`1.5M`) and ratios (`1/3`).
//!
//! Values hold both in one place, because nearly everything that asks whether a value is a number, what it weighs or how it is
//! kept asks it of both alike. What only one of them can do asks for [`Exact::decimal`] or [`Exact::ratio`].

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::BigInt;

use crate::decimal::Decimal;
use crate::ratio::{self, Ratio};
use crate::signal::Res;

/// A decimal or a ratio. The two are never equal, as in Clojure, but have one order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exact {
    /// `1.5M`
    Decimal(Decimal),
    /// `1/3`, boxed: most constants and forms are no ratios, and should not be as large as one.
    Ratio(Box<Ratio>),
}

impl From<Decimal> for Exact {
    fn from(decimal: Decimal) -> Exact {
        Exact::Decimal(decimal)
    }
}

impl From<Ratio> for Exact {
    fn from(ratio: Ratio) -> Exact {
        Exact::Ratio(Box::new(ratio))
    }
}

impl Exact {
    /// The decimal, if it is one.
    pub fn decimal(&self) -> Option<&Decimal> {
        match self {
            Exact::Decimal(decimal) => Some(decimal),
            Exact::Ratio(_) => None,
        }
    }

    /// The ratio, if it is one.
    pub fn ratio(&self) -> Option<&Ratio> {
        match self {
            Exact::Decimal(_) => None,
            Exact::Ratio(ratio) => Some(ratio),
        }
    }

    /// The decimal that it is; an error if it has endless places and no precision is set.
    pub fn to_decimal(&self) -> Res<Cow<'_, Decimal>> {
        Ok(match self {
            Exact::Decimal(decimal) => Cow::Borrowed(decimal),
            Exact::Ratio(ratio) => Cow::Owned(ratio::as_decimal(ratio)?),
        })
    }

    /// Whether it is zero, which a ratio never is.
    pub fn is_zero(&self) -> bool {
        self.decimal().is_some_and(Decimal::is_zero)
    }

    /// Its sign.
    pub fn sign(&self) -> Ordering {
        match self {
            Exact::Decimal(decimal) => decimal.sign(),
            Exact::Ratio(ratio) => ratio.sign(),
        }
    }

    /// How many 64-bit words it has.
    pub fn words(&self) -> usize {
        match self {
            Exact::Decimal(decimal) => decimal.words(),
            Exact::Ratio(ratio) => ratio.words(),
        }
    }

    /// The nearest float; infinite beyond the range of floats.
    pub fn to_f64(&self) -> f64 {
        match self {
            Exact::Decimal(decimal) => decimal.to_f64(),
            Exact::Ratio(ratio) => ratio.to_f64(),
        }
    }

    /// The number without its fraction.
    pub fn to_int(&self) -> Res<BigInt> {
        match self {
            Exact::Decimal(decimal) => decimal.to_int(),
            Exact::Ratio(ratio) => Ok(ratio.to_int()),
        }
    }

    /// The integer that it is, if it has no fraction.
    pub fn as_int(&self) -> Option<BigInt> {
        self.decimal().and_then(Decimal::as_int)
    }

    /// The order of two by value.
    pub fn compare(&self, other: &Exact) -> Ordering {
        match (self, other) {
            (Exact::Decimal(a), Exact::Decimal(b)) => a.compare(b),
            (Exact::Ratio(a), Exact::Ratio(b)) => a.compare(b),
            (Exact::Ratio(a), Exact::Decimal(b)) => a.compare_decimal(b),
            (Exact::Decimal(a), Exact::Ratio(b)) => b.compare_decimal(a).reverse(),
        }
    }

    /// The order beside an integer.
    pub fn compare_int(&self, int: &BigInt) -> Ordering {
        match self {
            Exact::Decimal(decimal) => decimal.compare(&Decimal::of_int(int.clone())),
            Exact::Ratio(ratio) => ratio.compare_int(int),
        }
    }

    /// The order beside a float, which counts as the number that it prints as. Nothing for NaN.
    pub fn compare_float(&self, float: f64) -> Option<Ordering> {
        match self {
            Exact::Decimal(decimal) => decimal.compare_float(float),
            Exact::Ratio(ratio) => ratio.compare_float(float),
        }
    }

    /// How long its text is, or a little more, without the `M` of a decimal.
    pub fn text_len(&self) -> usize {
        match self {
            Exact::Decimal(decimal) => decimal.text_len(),
            Exact::Ratio(ratio) => ratio.text_len(),
        }
    }
}

impl std::hash::Hash for Exact {
    /// Decimals that are equal by value hash alike.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Exact::Decimal(decimal) => decimal.hash(state),
            Exact::Ratio(ratio) => ratio.hash(state),
        }
    }
}

impl std::fmt::Display for Exact {
    /// As `str` shows it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exact::Decimal(decimal) => decimal.fmt(f),
            Exact::Ratio(ratio) => ratio.fmt(f),
        }
    }
}
