//! Numbers at the edges of their kinds, and bounds at which one more or less makes a difference. The values are those
//! of Clojure, but that integers grow where Clojure's overflow, quotients that are not whole are floats, and `=`
//! compares numbers by value (`conformance/DIVERGENCES.md`).

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

const CASES: &[(&str, &str)] = &[
    ("(inc 9223372036854775807)", "9223372036854775808"),
    ("(dec -9223372036854775808)", "-9223372036854775809"),
    ("(+ 9223372036854775807 1)", "9223372036854775808"),
    ("(- -9223372036854775808 1)", "-9223372036854775809"),
    ("(- -9223372036854775808)", "9223372036854775808"),
    ("(* 4294967296 4294967296)", "18446744073709551616"),
    ("(* -4294967296 2147483648)", "-9223372036854775808"),
    ("(- 9223372036854775808 1)", "9223372036854775807"),
    ("(quot -9223372036854775808 -1)", "9223372036854775808"),
    ("(rem -9223372036854775808 -1)", "0"),
    ("(mod -9223372036854775808 -1)", "0"),
    ("(/ -9223372036854775808 -1)", "9223372036854775808"),
    ("(abs -9223372036854775808)", "9223372036854775808"),
    ("[(quot 7 2) (quot -7 2) (quot 7 -2) (quot -7 -2)]", "[3 -3 -3 3]"),
    ("[(rem 7 2) (rem -7 2) (rem 7 -2) (rem -7 -2)]", "[1 -1 1 -1]"),
    ("[(mod 7 2) (mod -7 2) (mod 7 -2) (mod -7 -2) (mod 6 -3) (mod -6 3)]", "[1 1 -1 -1 0 0]"),
    ("[(mod 7.5 2) (mod -7.5 2) (mod 7.5 -2) (mod -7.5 -2) (mod 0.0 -2)]", "[1.5 0.5 -0.5 -1.5 0.0]"),
    ("[(quot 7.5 2) (quot -7.5 2) (rem 7.5 2) (rem -7.5 2)]", "[3.0 -3.0 1.5 -1.5]"),
    (
        "[(quot 10000000000000000000 3) (rem -10000000000000000000 3) (mod -10000000000000000000 3)]",
        "[3333333333333333333 -1 2]",
    ),
    ("(/ 7 2)", "3.5"),
    ("(/ 6 2)", "3"),
    ("(/ -7 2)", "-3.5"),
    ("(/ 1 3)", "0.3333333333333333"),
    ("(/ 1.0 0)", "##Inf"),
    ("(/ -1.0 0)", "##-Inf"),
    ("(/ 0.0 0)", "##NaN"),
    ("(= 1 1.0)", "true"),
    ("(== 1 1.0)", "true"),
    ("(== 9007199254740993 9007199254740992.0)", "false"),
    ("(< 9007199254740992.0 9007199254740993)", "true"),
    ("(> 9007199254740993 9007199254740992.0)", "true"),
    ("(<= 9007199254740993 9007199254740992.0)", "false"),
    ("(< 9223372036854775807 9223372036854775808.0)", "true"),
    ("(== 9223372036854775807 9223372036854775808.0)", "false"),
    ("(compare 9007199254740993 9007199254740992.0)", "1"),
    ("(max 1 2.0)", "2.0"),
    ("(min 1 1.0)", "1.0"),
    ("(max 1 ##NaN)", "##NaN"),
    ("(min ##NaN 1)", "##NaN"),
    ("(< 1 ##NaN)", "false"),
    ("(= ##NaN ##NaN)", "false"),
    (
        "[(Math/round 2.5) (Math/round -2.5) (Math/round 0.49999999999999994) (Math/round 1e300) (Math/round ##NaN)]",
        "[3 -2 0 9223372036854775807 0]",
    ),
    ("[(Math/floor -0.5) (Math/ceil -0.5) (Math/rint 2.5) (Math/rint 3.5)]", "[-1.0 -0.0 2.0 4.0]"),
    ("[(long 1.9) (long -1.9) (int 2.7)]", "[1 -1 2]"),
    ("[(bit-and 12 10) (bit-or 12 10) (bit-xor 12 10) (bit-not 0) (bit-and-not 12 10)]", "[8 14 6 -1 4]"),
    (
        "[(bit-shift-left 1 63) (bit-shift-left 1 64) (bit-shift-right -8 1) (unsigned-bit-shift-right -8 60)]",
        "[9223372036854775808 18446744073709551616 -4 15]",
    ),
    (
        "[(parse-long \"9223372036854775807\") (parse-long \"9223372036854775808\") (parse-long \"-9223372036854775808\") (parse-long \"+5\") (parse-long \"0x10\") (parse-long \" 5\")]",
        "[9223372036854775807 nil -9223372036854775808 5 nil nil]",
    ),
    (
        "[(parse-double \"1e400\") (parse-double \"-1e400\") (parse-double \"1e-400\") (parse-double \"NaN\") (parse-double \"1.\") (parse-double \".5\")]",
        "[##Inf ##-Inf 0.0 ##NaN 1.0 0.5]",
    ),
    (
        "[1e21 1e20 1.0E-7 0.001 1.0E-3 123456789.0 12345678.9 1.0E7 9999999.0 -0.0]",
        "[1.0E21 1.0E20 1.0E-7 0.001 0.001 1.23456789E8 1.23456789E7 1.0E7 9999999.0 -0.0]",
    ),
    ("(hash-map 1 :a 1.0 :b)", "{1 :a, 1.0 :b}"),
    ("(count (set [1 1.0 1N]))", "2"),
    ("[(= 0.0 -0.0) (== 0.0 -0.0) (hash-map 0.0 1)]", "[true true {0.0 1}]"),
    ("(format \"%d %x %o\" -1 255 8)", "\"-1 ff 10\""),
    ("(format \"%.2f %.0f %.0f %.1f\" 2.675 0.5 1.5 0.25)", "\"2.68 1 2 0.3\""),
    ("(format \"%e\" 12345.678)", "\"1.234568e+04\""),
    ("(format \"%,d\" 1234567)", "\"1,234,567\""),
    ("[(even? -3) (odd? -3) (pos? 0) (neg? -0.0) (zero? -0.0)]", "[false true false false true]"),
    ("(reduce + (range 1 101))", "5050"),
    ("(reduce * (range 1 26))", "15511210043330985984000000"),
    ("[(+) (*) (- 5) (/ 4) (/ 2)]", "[0 1 -5 0.25 0.5]"),
    (
        "(range 0 1 0.1)",
        "(0 0.1 0.2 0.30000000000000004 0.4 0.5 0.6 0.7 0.7999999999999999 0.8999999999999999 0.9999999999999999)",
    ),
    ("(count (range 0 1 0.1))", "11"),
    ("(last (range 9223372036854775805 9223372036854775807))", "9223372036854775806"),
    ("[(int \\a) (char 97)]", "[97 \"a\"]"),
    ("[(Math/sqrt -1) (Math/pow 2 0.5) (Math/pow 0 0)]", "[##NaN 1.4142135623730951 1.0]"),
    ("(Integer/toString 255 16)", "\"ff\""),
    ("(Long/toBinaryString -1)", "\"1111111111111111111111111111111111111111111111111111111111111111\""),
    ("(+ 0.1 0.2)", "0.30000000000000004"),
    ("(* 1.1 1.1)", "1.2100000000000002"),
    ("[(range 5 0 -2) (range 3 3) (range -1 2) (range 0 10 3)]", "[(5 3 1) () (-1 0 1) (0 3 6 9)]"),
    (
        "[(< 1 2 3) (< 1 2 2) (<= 1 2 2) (> 3 2 1) (>= 3 3 1) (= 1 1 1) (= 1 1 2) (not= 1 1) (distinct? 1 2 1)]",
        "[true false true true true true false false false]",
    ),
    (
        "[(compare 1 2) (compare 2 1) (compare 1 1) (compare 1.5 1) (sort [3 1.5 -2 10000000000000000000 0.1])]",
        "[-1 1 0 1 (-2 0.1 1.5 3 10000000000000000000)]",
    ),
    ("[(max 3 1 2) (min 3 1 2) (max-key abs -3 2) (min-key abs -3 2)]", "[3 1 -3 2]"),
    (
        "[(nth [1 2 3] 2) (get [1 2 3] 3) (get [1 2 3] -1 :none) (subvec [1 2 3 4] 1 3) (take -1 [1 2]) (drop -1 [1 2])]",
        "[3 nil :none [2 3] () (1 2)]",
    ),
    (
        "[(take 0 [1]) (take 2 [1]) (drop 1 [1]) (take-last 1 [1 2]) (drop-last 1 [1 2]) (partition 2 [1 2 3]) (partition-all 2 [1 2 3])]",
        "[() (1) () (2) (1) ((1 2)) ((1 2) (3))]",
    ),
    ("[(subs \"hello\" 1 3) (subs \"hello\" 5) (subs \"hello\" 0 0)]", "[\"el\" \"\" \"\"]"),
    ("[(bit-test 4 2) (bit-set 0 3) (bit-clear 15 0) (bit-flip 5 1)]", "[true 8 14 7]"),
    ("[(int 2147483647) (long 9.0E18) (double 1) (float 0.1)]", "[2147483647 9000000000000000000 1.0 0.1]"),
    (
        "[(Math/abs -5) (Math/abs -5.5) (Math/signum -2.0) (Math/cbrt 27.0) (Math/hypot 3 4) (Math/floorDiv -7 2) (Math/floorMod -7 2)]",
        "[5 5.5 -1.0 3.0 5.0 -4 1]",
    ),
    (
        "[(number? 1) (integer? 1.0) (int? 1) (float? 1.0) (rational? 1) (nat-int? 0) (pos-int? 0) (neg-int? -1) (infinite? ##Inf) (NaN? ##NaN)]",
        "[true false true true true true false true true true]",
    ),
    (
        "[(str 1.0) (str 100000000.0) (str 1e-5) (str -0.0) (str 123456789012345680.0) (str 0.1) (pr-str 1e100)]",
        "[\"1.0\" \"1.0E8\" \"1.0E-5\" \"-0.0\" \"1.2345678901234568E17\" \"0.1\" \"1.0E100\"]",
    ),
    ("[(quot 5 5) (quot 4 5) (rem 5 5) (rem 4 5) (mod 5 5) (mod -5 5) (mod 4 -5)]", "[1 0 0 4 0 0 -1]"),
    (
        "[(== 10000000000000000000 1.0E19) (< 10000000000000000000 1.0E19) (<= 10000000000000000000 1.0E19) (> 10000000000000000001 1.0E19)]",
        "[true false true true]",
    ),
    (
        "[(zero? 0) (zero? 0.0) (pos? 1e-320) (neg? -1e-320) (pos? 10000000000000000000) (neg? -10000000000000000000)]",
        "[true true true true true true]",
    ),
    ("[(inc 1.5) (dec 0.5) (inc -1) (dec 0) (- 0.0) (- 0)]", "[2.5 -0.5 0 -1 -0.0 0]"),
    (
        "[(Math/round 1.5) (Math/round -1.5) (Math/round 0.5) (Math/round -0.5) (Math/round 4503599627370497.5)]",
        "[2 -1 1 0 4503599627370498]",
    ),
];

#[test]
fn edges_of_numbers_and_bounds() {
    for (source, expected) in CASES {
        let mut machine = Machine::new(Limits::default());
        machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let value = loop {
            match machine.run(100_000) {
                Step::Yield => {}
                Step::Done(_) => break machine.value(),
                Step::Failed(error) => break format!("error: {error}"),
                Step::Calls(_) => panic!("{source} calls a tool"),
            }
        };
        assert_eq!(value, *expected, "{source}");
    }
}

/// Dividing integers by zero is a mistake, whatever kind of division; floats have an answer.
#[test]
fn nothing_is_divided_by_zero() {
    for source in [
        "(/ 1 0)",
        "(quot 1 0)",
        "(rem 1 0)",
        "(mod 1 0)",
        "(mod 5 0.0)",
        "(quot 5.0 0)",
        "(/ 10000000000000000000 0)",
    ] {
        let mut machine = Machine::new(Limits::default());
        machine.load(source).expect("it loads");
        let Step::Failed(error) = machine.run(100_000) else { panic!("{source}") };
        assert_eq!(error.kind, ptc_lisp::ErrorKind::Arithmetic, "{source}");
    }
}
