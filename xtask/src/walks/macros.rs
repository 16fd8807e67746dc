//! What stands in the arguments of a macro, as far as it can be read as expressions.

use syn::parse::{ParseStream, Parser as _, discouraged::Speculative as _};
use syn::token::{Brace, Bracket, Paren};

/// The expressions in a macro's arguments, wherever they stand: of `format!("{x}", f(y))`, `vec![f(x); 2]` and
/// `json!({"a": f(x)})` all calls are found. `matches!(x, pattern)` is `let pattern = x`.
pub(super) fn expressions(found: &syn::Macro) -> Vec<syn::Expr> {
    let mut all = Vec::new();
    let is_match = found
        .path
        .segments
        .last()
        .is_some_and(|name| name.ident == "matches" || name.ident == "assert_matches");
    if is_match && let Ok(matched) = found.parse_body_with(matched) {
        return matched;
    }
    let read = |input: ParseStream<'_>| {
        scan(input, &mut all);
        Ok(())
    };
    // What cannot be read is passed over token by token, so there is no error.
    let _ = found.parse_body_with(|input: ParseStream<'_>| read.parse2(input.parse()?));
    all
}

/// Macros that write values as text.
const WRITERS: &[&str] = &[
    "format",
    "write",
    "writeln",
    "print",
    "println",
    "eprint",
    "eprintln",
    "format_args",
    "panic",
    "assert",
    "assert_eq",
];

/// Whether a macro writes a value as text.
pub(super) fn formats(found: &syn::Macro) -> bool {
    let named =
        found.path.segments.last().is_some_and(|name| WRITERS.iter().any(|writer| name.ident == writer));
    let has_place = |expression: &syn::Expr| match expression {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => text.value().contains('{'),
        _ => false,
    };
    named && expressions(found).iter().any(has_place)
}

fn matched(input: ParseStream<'_>) -> syn::Result<Vec<syn::Expr>> {
    let expr: syn::Expr = input.parse()?;
    input.parse::<syn::Token![,]>()?;
    let pat = syn::Pat::parse_multi_with_leading_vert(input)?;
    let mut all = vec![syn::Expr::Let(syn::ExprLet {
        attrs: Vec::new(),
        let_token: Default::default(),
        pat: Box::new(pat),
        eq_token: Default::default(),
        expr: Box::new(expr),
    })];
    if input.peek(syn::Token![if]) {
        input.parse::<syn::Token![if]>()?;
        all.push(input.parse()?);
    }
    input.parse::<Option<syn::Token![,]>>()?;
    Ok(all)
}

/// Reads expressions one after the other, into groups, and passes over tokens between them.
fn scan(input: ParseStream<'_>, all: &mut Vec<syn::Expr>) {
    while !input.is_empty() {
        let ahead = input.fork();
        if let Ok(expression) = ahead.parse::<syn::Expr>() {
            input.advance_to(&ahead);
            all.push(expression);
        } else if input.peek(Paren) || input.peek(Brace) || input.peek(Bracket) {
            if group(input, all).is_err() {
                return;
            }
        } else if input
            .step(|cursor| Ok(((), cursor.token_tree().map_or(*cursor, |(_, rest)| rest))))
            .is_err()
        {
            return;
        }
    }
}

fn group(input: ParseStream<'_>, all: &mut Vec<syn::Expr>) -> syn::Result<()> {
    let inside;
    if input.peek(Paren) {
        syn::parenthesized!(inside in input);
    } else if input.peek(Brace) {
        syn::braced!(inside in input);
    } else {
        syn::bracketed!(inside in input);
    }
    scan(&inside, all);
    Ok(())
}
