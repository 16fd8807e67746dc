//! Functions that take patterns, case by case.

use crate::builtins::trial::check;

#[test]
fn split() {
    check(&[
        (r##"(str/split "a,b,,c,," #",")"##, r#"["a" "b" "" "c"]"#),
        (r##"(str/split "a,b,," #"," -1)"##, r#"["a" "b" "" ""]"#),
        (r##"(str/split "a b c" #" " 2)"##, r#"["a" "b c"]"#),
        (r##"(str/split "a b c" #" " 1)"##, r#"["a b c"]"#),
        (r##"(str/split "abc" #"")"##, r#"["a" "b" "c"]"#),
        (r##"(str/split "" #",")"##, r#"[""]"#),
        (r##"(str/split "," #",")"##, "[]"),
        (r##"(str/split " a b" #"\s+")"##, r#"["" "a" "b"]"#),
        (r##"(str/split "a1b22c" #"(\d)+")"##, r#"["a" "b" "c"]"#),
        (r##"(str/split "aXbX" #"(?=X)")"##, r#"["a" "Xb" "X"]"#),
        (r##"(split "a1b" #"(\d)")"##, r#"["a" "1" "b"]"#),
        (
            r#"[(split "abc" "") (split "" ",") (split "a.b" ".") (split "a,,b," ",")]"#,
            r#"[["a" "b" "c"] [""] ["a" "b"] ["a" "" "b" ""]]"#,
        ),
        (r#"(split "a--b" "--")"#, "error: type_error"),
        (r##"(str/split nil #",")"##, "error: type_error"),
        (r##"(str/split #"," "a,b")"##, "error: type_error"),
        (r##"[(re-split #"," "a,b,,") (re-split #"x" "abc")]"##, r#"[["a" "b" "" ""] ["abc"]]"#),
    ]);
}

#[test]
fn replace() {
    check(&[
        (r#"(str/replace "aaa" "aa" "b")"#, r#""ba""#),
        (r#"(str/replace "x" "" "y")"#, r#""yxy""#),
        (r#"(str/replace "price: $5" "$" "USD ")"#, r#""price: USD 5""#),
        (r##"(str/replace "a1b2" #"(\d)" "<$1>")"##, r#""a<1>b<2>""#),
        (r##"(str/replace "a1b2" #"(?<n>\d)" "<${n}>")"##, r#""a<1>b<2>""#),
        (r##"(str/replace "ab" #"(a)(b)" "$2$11$0")"##, r#""ba1ab""#),
        (r##"(str/replace "ab" #"(a)|(b)" "[$1]")"##, r#""[a][]""#),
        (r##"(str/replace "x" #"x" "\\$1")"##, r#""$1""#),
        (r##"(str/replace "xxx" #".*" "-")"##, r#""--""#),
        (r##"(str/replace "abc" #"[ac]" {"a" "1" "c" "3"})"##, r#""1b3""#),
        (r##"(str/replace "a1" #"([a-z])(\d)" {["a1" "a" "1"] "z"})"##, r#""z""#),
        (r##"(str/replace "abc" #"[ac]" {"a" "1"})"##, "error: type_error"),
        (r##"(str/replace "a" #"a" "$1")"##, "error: index_out_of_bounds"),
        (r##"(str/replace "b" #"a" "$1")"##, r#""b""#),
        (r##"(str/replace "a" #"a" "$x")"##, "error: illegal_argument"),
        (r##"(str/replace "a" #"a" "\\")"##, "error: illegal_argument"),
        (r#"(str/replace :foo "foo" "bar")"#, r#"":bar""#),
        (r#"(str/replace [:foo] "foo" "bar")"#, r#""[:bar]""#),
        (r#"(str/replace nil "a" "b")"#, "error: type_error"),
        (r#"(str/replace "a" "a" 1)"#, "error: type_error"),
        (r#"(str/replace "a" 1 "a")"#, "error: type_error"),
        (r#"(str/replace-first "aaa" "a" "b")"#, r#""baa""#),
        (r##"(str/replace-first "foo bar" #"(\w+)" "<$1>")"##, r#""<foo> bar""#),
        (r##"(str/replace "a1b2c" #"\d" (fn [m] (str "<" m ">")))"##, r#""a<1>b<2>c""#),
        (r##"(str/replace-first "a1b2c" #"(\d)" (fn [[m g]] (str m g)))"##, r#""a11b2c""#),
    ]);
}

#[test]
fn matching() {
    check(&[
        (r##"(re-find #"a(b)?c" "ac")"##, r#"["ac" nil]"#),
        (r##"(re-find #"z" "abc")"##, "nil"),
        (r##"(re-find #"(?<=\$)\d+" "cost $45")"##, r#""45""#),
        (r##"(re-find (re-pattern #"a") "a")"##, r#""a""#),
        (r##"(re-find "a" "abc")"##, "error: type_error"),
        (r##"(re-find #"a" nil)"##, "error: type_error"),
        (r##"(re-find "abc" #"a")"##, "error: type_error"),
        (r##"(re-matches #"a|ab" "ab")"##, r#""ab""#),
        (r##"(re-matches #"(a)(b)?" "a")"##, r#"["a" "a" nil]"#),
        (r##"(re-matches #"a$" "a\n")"##, "nil"),
        (r##"(re-matches #"(\w)\1" "aa")"##, r#"["aa" "a"]"#),
        (r##"(re-seq #"(\w)=(\d)" "a=1,b=2")"##, r#"(["a=1" "a" "1"] ["b=2" "b" "2"])"#),
        (r##"(re-seq #"z" "abc")"##, "nil"),
        (r##"(re-seq #"\d*" "1a")"##, r#"("1" "" "")"#),
        (r#"(re-pattern "(")"#, "error: illegal_argument"),
        (r#"(re-pattern 1)"#, "error: type_error"),
        (r##"(str #"a\d")"##, r#""a\\d""#),
        (
            r##"[(extract #"(a)(b)" "ab" 2) (extract #"ab" "ab") (extract #"(a)" "a" 5) (extract "(\\d+)" "x7" 0)]"##,
            r#"["b" nil nil "7"]"#,
        ),
        (
            r##"[(extract-int #"(\d+)/(\d+)" "3/4" 2) (extract-int #"([a-z]+)" "abc" 1 -1) (extract-int "n=(\\d+)" "x")]"##,
            "[4 -1 nil]",
        ),
    ]);
}
