//! `clojure.string` and its neighbours, case by case.

use crate::builtins::testing::heap;
use crate::builtins::trial::check;
use crate::value::Value;

#[test]
fn str_and_join() {
    check(&[
        (r#"(str "a" 1 :b 2.5 nil true 'd)"#, r#""a1:b2.5trued""#),
        (r#"(str nil)"#, r#""""#),
        (r#"(str 1e10 ##Inf ##NaN)"#, r#""1.0E10InfinityNaN""#),
        (r#"(str [1 "a" :b nil] {:a "x"} #{1} '(1 "a"))"#, r#""[1 \"a\" :b nil]{:a \"x\"}#{1}(1 \"a\")""#),
        (r#"(str 123456789012345678901 -1)"#, r#""123456789012345678901-1""#),
        (r#"(str/join [1 :k nil true])"#, r#""1:ktrue""#),
        (r#"(str/join "," [nil 1])"#, r#"",1""#),
        (r#"(str/join "-" "abc")"#, r#""a-b-c""#),
        (r#"(str/join "," nil)"#, r#""""#),
        (r#"(str/join "," {:a 1})"#, r#""[:a 1]""#),
        (r#"(str/join :x [1 2.0 "é"])"#, r#""1:x2.0:xé""#),
        (r#"(str/join [1 2] ",")"#, "error: type_error"),
        (r#"(str/join "," 5)"#, "error: type_error"),
        (r#"(str/escape "a<b>c" {"<" "&lt;" ">" 1 1 2})"#, r#""a&lt;b1c""#),
        (r#"(str/escape nil {})"#, "error: type_error"),
    ]);
}

#[test]
fn case_and_trimming() {
    check(&[
        (r#"(str/upper-case "éÀß1")"#, r#""ÉÀSS1""#),
        (r#"(str/lower-case "ÉÀß and More Than Fourteen")"#, r#""éàß and more than fourteen""#),
        (r#"(str/lower-case "More Than Fourteen bytes")"#, r#""more than fourteen bytes""#),
        (r#"(str/upper-case :a/b)"#, r#"":A/B""#),
        (r#"(str/upper-case 'some-longer-symbol)"#, r#""SOME-LONGER-SYMBOL""#),
        (r#"(str/upper-case 5)"#, "error: type_error"),
        (r#"(upcase nil)"#, "error: type_error"),
        (r#"(str/capitalize :asDf/aSdf)"#, r#"":asdf/asdf""#),
        (r#"(str/capitalize 1)"#, r#""1""#),
        (r#"(str/capitalize "éCOLE")"#, r#""École""#),
        (r#"(str/capitalize nil)"#, "error: type_error"),
        (r#"(str/reverse "ab\r\ncé")"#, r#""éc\n\rba""#),
        (r#"(str/trim "\t\na \r")"#, r#""a""#),
        ("(str/trim \"\u{2003}a\u{1d}\u{a0}\")", "\"a\u{1d}\u{a0}\""),
        (r#"(str/triml "\t\na \r")"#, r#""a \r""#),
        (r#"(str/trimr "\t\na \r")"#, r#""\t\na""#),
        (r#"(str/trim nil)"#, "error: type_error"),
        (r#"(str/trim-newline "a\r\n\n")"#, r#""a""#),
        (
            r#"[(str/blank? nil) (str/blank? "") (str/blank? " \t") (str/blank? " a ")]"#,
            "[true true true false]",
        ),
        ("(str/blank? \"\u{2007}\")", "false"),
        (r#"(str/blank? 1)"#, "error: type_error"),
    ]);
}

#[test]
fn searching_counts_characters() {
    check(&[
        (r#"(subs "hello" 5)"#, r#""""#),
        (r#"(subs "héllo" 1 2)"#, r#""é""#),
        (r#"(subs "👩‍👩‍👧x" 5)"#, r#""x""#),
        (r#"(subs "hello" -1)"#, "error: index_out_of_bounds"),
        (r#"(subs "hello" 2 1)"#, "error: index_out_of_bounds"),
        (r#"(subs "hello" 1 6)"#, "error: index_out_of_bounds"),
        (r#"(subs nil 1)"#, "error: type_error"),
        (r#"(subs "a" nil)"#, "error: type_error"),
        (
            r#"[(str/index-of "hello" "l") (str/index-of "hello" "z") (str/index-of "hello" "l" 3)]"#,
            "[2 nil 3]",
        ),
        (
            r#"[(str/index-of "hello" "") (str/index-of "hello" "" 9) (str/index-of "hello" "h" -3)]"#,
            "[0 5 0]",
        ),
        (r#"[(str/index-of "éél" "l") (str/index-of "hello" "l" 2.9)]"#, "[2 2]"),
        (
            r#"[(str/last-index-of "ababa" "a" 3) (str/last-index-of "hello" "") (str/last-index-of "aaa" "aa")]"#,
            "[2 5 1]",
        ),
        (
            r#"[(str/last-index-of "hello" "l" 2) (str/last-index-of "hello" "l" -1) (str/last-index-of "ééé" "é" 1)]"#,
            "[2 nil 1]",
        ),
        (
            r#"[(str/starts-with? "héé" "é") (str/ends-with? "héé" "é") (str/starts-with? :ab ":a")]"#,
            "[false true true]",
        ),
        (r#"(str/starts-with? "a" nil)"#, "error: type_error"),
        (r#"(str/includes? ["a"] "a")"#, "error: type_error"),
        (r#"(str/split-lines "a\n\nb\r\nc\r")"#, r#"["a" "" "b" "c\r"]"#),
        (r#"[(str/split-lines "") (str/split-lines "\n\n") (str/split-lines "\r\n")]"#, r#"[[""] [] []]"#),
        (r#"(str/split-lines [])"#, "error: type_error"),
    ]);
}

#[test]
fn characters_are_code_points_in_every_function() {
    check(&[
        (r#"[(count "a\r\nb") (.length "a\r\nb") (seq "\r\n")]"#, r#"[4 4 ("\r" "\n")]"#),
        (r#"[(count "😀x") (.length "😀x") (count "e\u0301")]"#, "[2 2 2]"),
        (r#"[(first "😀x") (last "x😀") (rest "😀x") (second "😀x")]"#, r#"["😀" "😀" ("x") "x"]"#),
        (r#"[(nth "a\r\nb" 2) (get "😀x" 1) (.charAt "😀x" 1) ("x" 0)]"#, "error: not_callable"),
        (r#"[(nth "a\r\nb" 2) (get "😀x" 1) (.charAt "😀x" 1)]"#, r#"["\n" "x" "x"]"#),
        (r#"[(subs "😀xy" 1) (.substring "😀xy" 1 2) (subs "a\r\nb" 2)]"#, r#"["xy" "x" "\nb"]"#),
        (r#"[(.indexOf "😀x" "x") (str/index-of "😀x" "x") (.lastIndexOf "x😀x" "x")]"#, "[1 1 2]"),
        (
            r#"[(str/reverse "a😀") (reverse "\r\n") (map identity "\r\n")]"#,
            r#"["😀a" ("\n" "\r") ("\r" "\n")]"#,
        ),
        (
            r#"[(format "%3s|" "😀") (format "%-4s|" "e\u0301") (format "%.1s" "😀x")]"#,
            r#"["  😀|" "é  |" "😀"]"#,
        ),
        (r#"(let [m (re-matcher #"x" "😀x")] [(.find m) (.start m) (.end m)])"#, "[true 1 2]"),
        (
            r#"[(.codePointAt "😀" 0) (.chars "😀") (vec (.toCharArray "\r\n"))]"#,
            r#"[128512 (128512) ["\r" "\n"]]"#,
        ),
        (
            r#"[(str/split "\r\n" #"") (vec "\r\n") (frequencies "\r\n")]"#,
            r#"[["\r" "\n"] ["\r" "\n"] {"\r" 1, "\n" 1}]"#,
        ),
        (
            r#"[(char? "\r\n") (char? "😀") (contains? "😀x" 1) (take-last 1 "a\r\n")]"#,
            r#"[false true true ("\n")]"#,
        ),
        (r#"(str (.deleteCharAt (StringBuilder. "😀x") 0))"#, r#""x""#),
        (r#"(.charAt "😀" 1)"#, "error: index_out_of_bounds"),
    ]);
}

#[test]
fn a_string_with_one_owner_is_extended_in_place() {
    let mut heap = heap();
    let mut text = Value::string("x".repeat(100));
    let before = text.as_str().map(str::as_ptr);
    text = super::joining::str(&mut heap, &mut [text, Value::Nil, Value::Nil]).expect("text");
    assert_eq!(text.as_str().map(str::as_ptr), before);
    text = super::cases::upper_case(&mut heap, &mut [text]).expect("text");
    assert_eq!(text.as_str().map(str::as_ptr), before);
    assert_eq!(text.as_str(), Some("X".repeat(100).as_str()));
}

#[test]
fn names() {
    check(&[
        (r#"[(name :a) (name "s") (name 'n/x)]"#, r#"["a" "s" "x"]"#),
        ("(name 5)", "error: type_error"),
        ("(name nil)", "error: type_error"),
        ("[(namespace :a/b) (namespace 'a) (namespace 'clojure.core/+)]", r#"["a" nil "clojure.core"]"#),
        ("(namespace nil)", "error: type_error"),
        (
            r#"[(keyword "a b") (keyword 'a) (keyword "n/a") (keyword :k) (keyword 5) (keyword nil)]"#,
            r#"["a b" :a :n/a :k nil nil]"#,
        ),
        (r#"[(keyword "a" "b") (keyword nil "b")]"#, "[:a/b :b]"),
        (r#"(keyword "a" nil)"#, "error: type_error"),
        (r#"(keyword 'a "b")"#, "error: type_error"),
        (r#"[(symbol "a") (symbol :a) (symbol 'a) (symbol "n" "a") (symbol nil "a")]"#, "[a a a n/a a]"),
        ("(symbol nil)", "error: type_error"),
        (r#"(gensym "x")"#, "x1"),
        (r#"[(find-keyword "zz") (keyword "zz") (find-keyword "zz")]"#, "[nil :zz :zz]"),
    ]);
}

#[test]
fn parsing() {
    check(&[
        (
            r#"[(parse-long "+7") (parse-long "007") (parse-long "-9223372036854775808")]"#,
            "[7 7 -9223372036854775808]",
        ),
        (
            r#"[(parse-long "") (parse-long " 4") (parse-long "1e3") (parse-long "9223372036854775808")]"#,
            "[nil nil nil nil]",
        ),
        (r#"[(parse-long "+-5") (parse-long nil) (parse-long 5) (parse-int :a)]"#, "[nil nil 5 nil]"),
        (
            r#"[(parse-double ".5") (parse-double "1.") (parse-double " 1.5 ") (parse-double "1.5f")]"#,
            "[0.5 1.0 1.5 1.5]",
        ),
        (
            r#"[(parse-double "Infinity") (parse-double "-Infinity") (parse-double "NaN")]"#,
            "[##Inf ##-Inf ##NaN]",
        ),
        (
            r#"[(parse-double "inf") (parse-double "0x1") (parse-double "") (parse-double ".") (parse-double "2.6e8E5")]"#,
            "[nil nil nil nil nil]",
        ),
        (
            r#"[(parse-double "0x1.8p3") (parse-double "+-5.6") (parse-double "Infinityd") (parse-double 1.5)]"#,
            "[12.0 nil nil 1.5]",
        ),
        (r#"[(parse-boolean "true") (parse-boolean "TRUE") (parse-boolean nil)]"#, "[true nil nil]"),
        (r#"(parse-uuid 5)"#, "error: type_error"),
        (r#"[(char 65) (char 161) (char "A")]"#, r#"["A" "¡" "A"]"#),
        ("(char -1)", "error: illegal_argument"),
        ("(char 65895)", "error: illegal_argument"),
        ("(char nil)", "error: type_error"),
    ]);
}

#[test]
fn reading_data() {
    check(&[
        (r#"(read-string "(+ 1 'a) ignored")"#, "(+ 1 (quote a))"),
        (r#"(clojure.edn/read-string "")"#, "nil"),
        (r#"(clojure.edn/read-string ";c")"#, "nil"),
        (r#"(clojure.edn/read-string {} " ")"#, "error: format_error"),
        (r#"(clojure.edn/read-string "{:a")"#, "error: parse_error"),
        (r#"(clojure.edn/read-string "{:a 1 :a 2}")"#, "error: duplicate_key"),
        (r##"(clojure.edn/read-string "#{1 1}")"##, "error: duplicate_key"),
        (r##"(clojure.edn/read-string "#foo 1")"##, "error: format_error"),
        (r##"(clojure.edn/read-string "#uuid \"x\"")"##, "error: format_error"),
        (
            r##"(clojure.edn/read-string "[#uuid \"550e8400-e29b-41d4-a716-446655440000\"]")"##,
            r##"[#uuid "550e8400-e29b-41d4-a716-446655440000"]"##,
        ),
        (r#"(clojure.edn/read-string :foo)"#, "error: type_error"),
        (
            r#"(clojure.edn/read-string "^:a [1 2.5 nil true \"s\" :k s 12345678901234567890]")"#,
            r#"[1 2.5 nil true "s" :k s 12345678901234567890]"#,
        ),
    ]);
}

#[test]
fn printing() {
    check(&[
        (r#"(pr-str "a\"b\n" [nil 1.5 :k])"#, r#""\"a\\\"b\\n\" [nil 1.5 :k]""#),
        ("(pr-str)", r#""""#),
        (r#"(print-str nil "a" 17.0 ["b" {:c "d"}])"#, r#""nil a 17.0 [b {:c d}]""#),
        (r#"(println-str "x" 5)"#, r#""x 5\n""#),
        (r#"(prn-str 1 "a")"#, r#""1 \"a\"\n""#),
        (r#"(with-out-str (println "hi" 1) (print "x") (prn "y"))"#, r#""hi 1\nx\"y\"\n""#),
        (r#"(with-out-str (print "a") (print (count (with-out-str (print "in")))))"#, r#""a2""#),
    ]);
}
