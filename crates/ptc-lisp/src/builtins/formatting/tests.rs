//! Format strings and what Java 17 makes of them, beside the deliberate differences.

use crate::builtins::trial::check;

#[test]
fn text_and_integers() {
    check(&[
        (r#"(format "no args")"#, r#""no args""#),
        (r#"(format "%s %s %s" :a [1 "x"] {:a 1})"#, r#"":a [1 \"x\"] {:a 1}""#),
        (r#"(format "%10s|%-10s|%.3s|%S" "hi" "hi" "abcdef" "abc")"#, r#""        hi|hi        |abc|ABC""#),
        (r#"(format "%s|%5s|%b|%d" nil nil nil nil)"#, r#""|     |false|""#),
        (r#"(format "%b %b %B" 1 false true)"#, r#""true false TRUE""#),
        (r#"(format "%c%c %C" "a" 98 "c")"#, r#""ab C""#),
        (
            r#"(format "%5d|%-5d|%05d|%+d|% d|%(d|%,d" 42 42 42 5 42 -5 -9876543)"#,
            r#""   42|42   |00042|+5| 42|(5)|-9,876,543""#,
        ),
        (r#"(format "%x %X %o %#x %#o %08x" 255 255 8 255 8 48879)"#, r#""ff FF 10 0xff 010 0000beef""#),
        (
            r#"(format "%x %d" -1 123456789012345678901234567890)"#,
            r#""ffffffffffffffff 123456789012345678901234567890""#,
        ),
        (
            r#"(format "%,.2f %,d" 1234567.891 12345678901234567890)"#,
            r#""1,234,567.89 12,345,678,901,234,567,890""#,
        ),
        (r#"(format "%2$s %1$s %<s %s" "a" "b")"#, r#""b a a a""#),
        (r#"(format "%3d%% a%nb|%5%|" 45)"#, r#"" 45% a\nb|    %|""#),
        (r#"(format "%h %h %h" "a" 5 true)"#, r#""61 5 4cf""#),
        (r#"(format "%d %f" 3.0 2)"#, r#""3 2.000000""#),
        (r#"(format "%s" "a" "b")"#, r#""a""#),
    ]);
}

#[test]
fn floats() {
    check(&[
        (r#"(format "%f %.2f %.0f %.1f" 1.5 3.14159 2.5 0.35)"#, r#""1.500000 3.14 3 0.4""#),
        (
            r#"(format "%8.2f|%-8.2f|%08.3f|%+.1f%%" 3.14159 2.5 -3.14159 54.46)"#,
            r#""    3.14|2.50    |-003.142|+54.5%""#,
        ),
        (
            r#"(format "%e %.3e %E %.0e" 12345.678 0.00012345 1.0 15.0)"#,
            r#""1.234568e+04 1.235e-04 1.000000E+00 2e+01""#,
        ),
        (
            r#"(format "%g %g %g %.3g %g" 0.5 123456.0 1234567.0 0.00001234 0.0)"#,
            r#""0.500000 123456 1.23457e+06 1.23e-05 0.00000""#,
        ),
        (
            r#"(format "%.2f %.2f %5.1f|%05.1f" ##NaN ##-Inf ##Inf ##-Inf)"#,
            r#""NaN -Infinity Infinity|-Infinity""#,
        ),
        (r#"(format "%.2f %(.2f %#.0f" -0.001 -1.5 3.0)"#, r#""-0.00 (1.50) 3.""#),
        (r#"(format "%.2f" 1e20)"#, r#""100000000000000000000.00""#),
    ]);
}

#[test]
fn what_java_refuses() {
    for source in [
        r#"(format "%s %s" "a")"#,
        r#"(format "%d" "x")"#,
        r#"(format "%d" 1.5)"#,
        r#"(format "%.2f" "1")"#,
        r#"(format "%x" 1.5)"#,
        r#"(format "%c" "ab")"#,
        r#"(format "%q" 1)"#,
        r#"(format "%")"#,
        r#"(format "%5")"#,
        r#"(format "%.s" "a")"#,
        r#"(format "%-d" 1)"#,
        r#"(format "%-05d" 1)"#,
        r#"(format "%+ d" 1)"#,
        r#"(format "%,s" "a")"#,
        r#"(format "%.2d" 1)"#,
        r#"(format "%<s" 1)"#,
        r#"(format "%3$s" 1)"#,
        r#"(format "%tq" 1)"#,
        r#"(format "%9999999d" 1)"#,
    ] {
        check(&[(source, "error: illegal_argument")]);
    }
    check(&[("(format 5)", "error: type_error")]);
}
