//! Functions on floats as Java defines them, where Rust's own differ or depend on the machine.

/// The power as Java defines it: NaN where C says 1.
pub fn pow(base: f64, exponent: f64) -> f64 {
    /// A power of two that brings a large base into the middle of the range.
    const SHIFT: i64 = 512;
    if exponent == 0.0 {
        return 1.0;
    }
    if !exponent.is_finite() && (base.abs() == 1.0 || base.is_nan()) {
        return f64::NAN;
    }
    // The library has short cuts for these two exponents that overflow on the way.
    if (exponent == -0.5 || exponent == -2.0) && base.abs() > 1e150 && base.is_finite() {
        let power = pxfm::f_pow(scale(base, -SHIFT), exponent);
        return scale(power, (exponent * SHIFT as f64) as i64);
    }
    pxfm::f_pow(base, exponent)
}

/// The hyperbolic sine; zeros keep their sign.
pub fn sinh(x: f64) -> f64 {
    if x == 0.0 { x } else { pxfm::f_sinh(x) }
}

/// The angle of the point (x, y); it has the sign of `y` even where it is zero.
pub fn atan2(y: f64, x: f64) -> f64 {
    pxfm::f_atan2(y, x).copysign(y)
}

/// The sign as a float; zeros and NaN stay.
pub fn signum(x: f64) -> f64 {
    if x == 0.0 || x.is_nan() { x } else { 1f64.copysign(x) }
}

/// The nearest integer, halves up. As in Java NaN gives 0 and what does not fit 64 bits is cut off.
pub fn round_half_up(x: f64) -> i64 {
    let below = x.floor();
    // Not `(x + 0.5).floor()`: the sum of 0.49999999999999994 and 0.5 rounds to 1.
    (if x - below >= 0.5 { below + 1.0 } else { below }) as i64
}

/// The distance to the next float further from zero.
pub fn ulp(x: f64) -> f64 {
    let size = x.abs();
    if !size.is_finite() {
        return size;
    }
    if size == f64::MAX { size - size.next_down() } else { size.next_up() - size }
}

/// The float next to `start` in the direction of `end`.
pub fn next_after(start: f64, end: f64) -> f64 {
    if start < end {
        start.next_up()
    } else if start > end {
        start.next_down()
    } else if start == end {
        end
    } else {
        f64::NAN
    }
}

/// What the exponent bits of 1.0 hold.
const BIAS: i64 = 1023;

/// The exponent in the binary form; that of zero is -1023, that of NaN and the infinities 1024.
pub fn exponent(x: f64) -> i64 {
    i64::try_from((x.to_bits() >> 52) & 0x7ff).unwrap_or_default() - BIAS
}

/// 2 to a power from -1022 to 1023.
fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent + BIAS).clamp(1, 2046).unsigned_abs() << 52)
}

/// `x` times 2 to a power, rounded once.
pub fn scale(x: f64, exponent: i64) -> f64 {
    /// Small enough that all but the last step stay in the range of full precision.
    const DOWN: i64 = -1022 + 53;
    // Beyond this every float is zero or infinite.
    let (mut x, mut exponent) = (x, exponent.clamp(-2200, 2200));
    while exponent > 1023 {
        x *= power_of_two(1023);
        exponent -= 1023;
    }
    while exponent < -1022 {
        x *= power_of_two(DOWN);
        exponent -= DOWN;
    }
    x * power_of_two(exponent)
}

/// What is left of `x` when the quotient is rounded to the nearest integer, halves to the even one.
pub fn nearest_remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    let (y, mut rest) = (y.abs(), x.abs());
    // Two divisors at a time keep whether the quotient is even; a doubled divisor may be infinite.
    if (y + y).is_finite() {
        rest %= y + y;
    }
    // Doubling is exact where halving a divisor next to zero would not be.
    let over_half = |rest: f64| if y < 1.0 { rest + rest > y } else { rest > y / 2.0 };
    let from_half = |rest: f64| if y < 1.0 { rest + rest >= y } else { rest >= y / 2.0 };
    if over_half(rest) {
        rest -= y;
        if from_half(rest) {
            rest -= y;
        }
    }
    rest * 1f64.copysign(x)
}

/// The length of the vector (x, y): the sum of squares is kept to twice the precision of a float.
pub fn hypot(x: f64, y: f64) -> f64 {
    if x.is_infinite() || y.is_infinite() {
        return f64::INFINITY;
    }
    let (large, small) = if x.abs() < y.abs() { (y.abs(), x.abs()) } else { (x.abs(), y.abs()) };
    if small == 0.0 || large.is_nan() || small.is_nan() {
        return large + small;
    }
    let size = exponent(large);
    let (a, b) = (scale(large, -size), scale(small, -size));
    let (a2, b2) = (a * a, b * b);
    let sum = a2 + b2;
    let lost = (a2 - sum) + b2 + (a.mul_add(a, -a2) + b.mul_add(b, -b2));
    let root = sum.sqrt();
    let error = (-root).mul_add(root, sum) + lost;
    scale(root + error / (2.0 * root), size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_rounds_once_and_ends_at_zero_and_infinity() {
        let cases = [
            (1.0, 4, 16.0),
            (1.5, -2, 0.375),
            (1.0, 5000, f64::INFINITY),
            (-1.0, -5000, -0.0),
            (1.0, -1074, f64::from_bits(1)),
            (f64::from_bits(1), 1074, 1.0),
            (1.75, -1074, f64::from_bits(2)),
            (f64::MAX, -2098, f64::from_bits(1)),
        ];
        for (x, by, expected) in cases {
            assert_eq!(scale(x, by).to_bits(), f64::to_bits(expected), "{x} * 2^{by}");
        }
    }

    #[test]
    fn remainders_are_nearest_to_zero() {
        let cases = [
            (5.0, 3.0, -1.0),
            (7.0, 2.5, -0.5),
            (-5.0, 3.0, 1.0),
            (3.0, 2.0, -1.0),
            (5.0, 2.0, 1.0),
            (0.75, 0.5, -0.25),
            (1.0, f64::INFINITY, 1.0),
            (f64::MAX, f64::MAX, 0.0),
            (f64::from_bits(3), f64::from_bits(2), -f64::from_bits(1)),
        ];
        for (x, y, expected) in cases {
            assert_eq!(nearest_remainder(x, y), expected, "{x} by {y}");
        }
        assert!(nearest_remainder(1.0, 0.0).is_nan() && nearest_remainder(f64::INFINITY, 1.0).is_nan());
    }

    #[test]
    fn lengths_do_not_overflow_on_the_way() {
        let cases = [
            (3.0, 4.0, 5.0),
            (1.0, 1.0, std::f64::consts::SQRT_2),
            (3e300, 4e300, 5e300),
            (3e-320, 4e-320, 5e-320),
            (0.0, -2.0, 2.0),
            (f64::INFINITY, f64::NAN, f64::INFINITY),
        ];
        for (x, y, expected) in cases {
            assert_eq!(hypot(x, y), expected, "{x} {y}");
        }
    }

    #[test]
    fn special_cases_are_those_of_java() {
        assert!(pow(1.0, f64::NAN).is_nan() && pow(-1.0, f64::INFINITY).is_nan());
        assert_eq!((pow(f64::NAN, 0.0), pow(0.0, -1.0), pow(2.0, 10.0)), (1.0, f64::INFINITY, 1024.0));
        let large = [pow(f64::MAX, -0.5), pow(1e160, -2.0), pow(-1e160, -2.0)];
        assert_eq!(large, [7.458340731200207e-155, 1e-320, 1e-320]);
        assert_eq!([sinh(-0.0), atan2(-5e-324, 2.0)].map(f64::to_bits), [f64::to_bits(-0.0); 2]);
        let rounded = [2.5, -2.5, 0.49999999999999994, f64::NAN, f64::INFINITY].map(round_half_up);
        assert_eq!(rounded, [3, -2, 0, 0, i64::MAX]);
        assert_eq!([1.0, 0.0, f64::INFINITY].map(ulp), [f64::EPSILON, f64::from_bits(1), f64::INFINITY]);
        assert_eq!([1.0, 0.1, 0.0, f64::NAN].map(exponent), [0, -4, -1023, 1024]);
    }
}
