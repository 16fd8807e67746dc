//! Rounding to an integer, to a scale, to a precision.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};

use super::{Context, Decimal, check_scale, note_cut, shifted, ten_to};
use crate::error::{Error, ErrorKind};
use crate::signal::Res;

/// How to round; the order is that of Java's `RoundingMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Rounding {
    Up,
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
    Unnecessary,
}

impl Rounding {
    const ALL: [Rounding; 8] = [
        Rounding::Up,
        Rounding::Down,
        Rounding::Ceiling,
        Rounding::Floor,
        Rounding::HalfUp,
        Rounding::HalfDown,
        Rounding::HalfEven,
        Rounding::Unnecessary,
    ];

    /// The mode with this place in Java's `RoundingMode`, which is also its old number in `BigDecimal`.
    pub fn at(ordinal: u8) -> Option<Rounding> {
        Rounding::ALL.get(usize::from(ordinal)).copied()
    }

    /// `n / d` rounded to an integer; `d` is not zero.
    pub fn divide(self, n: &BigInt, d: &BigInt) -> Res<BigInt> {
        let (quotient, rest) = n.div_rem(d);
        if rest.is_zero() {
            return Ok(quotient);
        }
        let negative = n.is_negative() != d.is_negative();
        let half = (rest.abs() * 2u8).cmp(&d.abs());
        let away = match self {
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::Ceiling => !negative,
            Rounding::Floor => negative,
            Rounding::HalfUp => half.is_ge(),
            Rounding::HalfDown => half.is_gt(),
            Rounding::HalfEven => half.is_gt() || (half.is_eq() && quotient.is_odd()),
            Rounding::Unnecessary => {
                let error = Error::new(ErrorKind::Arithmetic, "Rounding necessary");
                return Err(error.hint("pass a RoundingMode such as RoundingMode/HALF_UP").into());
            }
        };
        Ok(match (away, negative) {
            (false, _) => quotient,
            (true, false) => quotient + 1,
            (true, true) => quotient - 1,
        })
    }
}

impl Decimal {
    /// The same number with so many places, rounded if need be.
    pub fn rescaled(&self, scale: i64, rounding: Rounding) -> Res<Decimal> {
        check_scale(scale)?;
        let more = scale - self.scale;
        let unscaled = match more >= 0 {
            true => shifted(&self.unscaled, more)?,
            false => {
                note_cut(&self.unscaled, more);
                rounding.divide(&self.unscaled, &ten_to(-more))?
            }
        };
        Decimal::new(unscaled, scale)
    }

    /// The number rounded to the precision of a context.
    pub fn rounded(self, context: Context) -> Res<Decimal> {
        let mut number = self;
        if context.precision == 0 {
            return Ok(number);
        }
        // Rounding 99.9 up makes one digit more.
        loop {
            let surplus = number.precision() - i64::from(context.precision);
            if surplus <= 0 {
                return Ok(number);
            }
            note_cut(&number.unscaled, surplus);
            let unscaled = context.rounding.divide(&number.unscaled, &ten_to(surplus))?;
            number = Decimal::new(unscaled, number.scale - surplus)?;
        }
    }

    /// The number rounded to the context, if there is one.
    pub fn within(self, context: Option<Context>) -> Res<Decimal> {
        match context {
            Some(context) => self.rounded(context),
            None => Ok(self),
        }
    }
}
