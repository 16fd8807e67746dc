//! Errors point at what is wrong and say what to write instead; the code that is written is tested where
//! it is used, in `ptc-agent`.

use proc_macro2::TokenStream;

use crate::expand::tool;

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

#[test]
fn errors_point_at_the_token_that_is_wrong() {
    for (item, at, message) in [
        ("fn f<T>(x: T) {}", "T", "a tool cannot be generic"),
        ("fn f(&self, x: i64) {}", "&self", "takes no `self`"),
        ("fn f(query: &str) -> i64 { 0 }", "&", "take `String` for `&str`"),
        ("fn f(x: impl Into<String>) {}", "impl", "needs a concrete type"),
        ("fn f((a, b): (i64, i64)) {}", "(a, b)", "needs a name"),
        ("fn f(a: i64, Point { x, y }: Point) {}", "Point", "needs a name"),
        ("fn f() -> &'static str { \"\" }", "&", "an owned value"),
        ("fn f() -> impl Iterator { }", "impl", "needs a concrete type"),
        ("unsafe fn f() {}", "unsafe", "cannot be unsafe"),
        ("fn fail(x: i64) {}", "fail", "a name of the system"),
        ("fn größe(x: i64) {}", "größe", "letters, digits"),
        ("struct Tool;", "struct", "stands before a function"),
    ] {
        let error = tool(TokenStream::new(), tokens(item)).expect_err(item);
        assert!(error.to_string().contains(message), "{item}: {error}");
        let pointed = error.span().source_text().unwrap_or_default();
        assert!(at.starts_with(&pointed) || pointed.starts_with(at), "{item}: points at {pointed:?}");
        assert!(!pointed.is_empty(), "{item}");
    }
}

#[test]
fn options_that_are_wrong_are_named() {
    for (options, message) in [
        ("nam = \"x\"", "there are `name`, `description`, `approval` and `crate`"),
        ("name = \"two words\"", "letters, digits"),
        ("name = \"lisp_eval\"", "a name of the system"),
        ("name = 3", "expected string literal"),
        ("approval = \"maybe\"", "\"ask\", \"writes\" or \"never\""),
    ] {
        let error = tool(tokens(options), tokens("fn f() {}")).expect_err(options);
        assert!(error.to_string().contains(message), "{options}: {error}");
    }
}

#[test]
fn the_function_stays_as_it_is_without_docs_on_parameters() {
    let item = "/// Adds.\npub fn add(#[doc = \"one\"] a: i64, b: i64) -> i64 { a + b }";
    let code = tool(TokenStream::new(), tokens(item)).expect("code").to_string();
    let function = "pub fn add (a : i64 , b : i64) -> i64 { a + b }";
    assert!(code.contains(function), "{code}");
    assert!(code.contains("pub struct add { }") && code.contains(":: ptc_agent :: typed"), "{code}");
}

#[test]
fn the_path_of_the_crate_can_be_given() {
    let code = tool(tokens("crate = my::runner"), tokens("fn f() {}")).expect("code").to_string();
    assert!(code.contains("my :: runner :: typed") && !code.contains("ptc_agent"), "{code}");
}
