//! `if` and all its relatives.

use super::bindings::binding_pairs;
use super::build::At;
use super::node::{Node, NodeKind};
use super::{Analyzer, Result, malformed, wrong_count};
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

impl Analyzer<'_> {
    /// `(if test then else?)`
    pub(super) fn if_form(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let (test, then, other) = match items {
            [_, test, then] => (test, then, None),
            [_, test, then, other] => (test, then, Some(other)),
            _ => return Err(wrong_count("(if test then else?)", span)),
        };
        let test = self.form(test, false)?;
        let then = self.form(then, tail)?;
        let other = other.map_or_else(|| Ok(Node::nil(span)), |form| self.form(form, tail))?;
        Ok(Node::new(NodeKind::If(Box::new(test), Box::new(then), Box::new(other)), span))
    }

    /// `(and …)`, `(or …)`; a bare undefined name in `or` counts as nil.
    pub(super) fn and_or(&mut self, args: &[Form], span: Span, tail: bool, is_and: bool) -> Result {
        let mut nodes = Vec::with_capacity(args.len());
        for (at, form) in args.iter().enumerate() {
            let last = at + 1 == args.len();
            let node = match form.as_symbol() {
                Some(name) if !is_and && self.is_unknown(name) => {
                    Node::new(NodeKind::GlobalOrNil(name.to_owned()), form.span)
                }
                Some(name) if !is_and && !self.scopes.is_local(name) && self.is_global(name) => {
                    Node::new(NodeKind::GlobalOrNil(name.to_owned()), form.span)
                }
                _ => self.form(form, tail && last)?,
            };
            nodes.push(node);
        }
        Ok(match nodes.len() {
            0 if is_and => Node::new(NodeKind::Const(crate::code::Const::Bool(true)), span),
            0 => Node::nil(span),
            1 => nodes.remove(0),
            _ if is_and => Node::new(NodeKind::And(nodes), span),
            _ => Node::new(NodeKind::Or(nodes), span),
        })
    }

    fn is_unknown(&self, name: &str) -> bool {
        !name.contains('/')
            && !name.starts_with('*')
            && !self.scopes.is_local(name)
            && !self.is_global(name)
            && self.core_name(name).is_none()
            && super::types::known_class(name).is_none()
            && !super::special::is_special(name)
    }

    pub(super) fn conditional(
        &mut self,
        name: &str,
        items: &[Form],
        span: Span,
        tail: bool,
    ) -> Option<Result> {
        Some(match name {
            "if-not" => self.if_not(items, span, tail),
            "when" | "when-not" => self.when(name, items, span, tail),
            "if-let" | "if-some" => self.if_let(name, items, span, tail),
            "when-let" | "when-some" => self.when_let(name, items, span, tail),
            "when-first" => self.when_first(items, span, tail),
            "cond" => self.cond(items, span, tail),
            "condp" => self.condp(items, span, tail),
            "case" => self.case(items, span, tail),
            _ => return None,
        })
    }

    fn if_not(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let at = At(span);
        let (test, then, other) = match items {
            [_, test, then] => (test, then.clone(), at.nil()),
            [_, test, then, other] => (test, then.clone(), other.clone()),
            _ => return Err(wrong_count("(if-not test then else?)", span)),
        };
        self.form(&at.if_(test.clone(), other, then), tail)
    }

    fn when(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Result {
        let at = At(span);
        let [_, test, body @ ..] = items else {
            return Err(wrong_count(&format!("({name} test body…)"), span));
        };
        let body = at.do_(body.iter().cloned());
        let form = match name {
            "when" => at.if_(test.clone(), body, at.nil()),
            _ => at.if_(test.clone(), at.nil(), body),
        };
        self.form(&form, tail)
    }

    /// The single pair of a conditional binding.
    fn condition_pair<'f>(&self, name: &str, items: &'f [Form], span: Span) -> Result<(&'f Form, &'f Form)> {
        match binding_pairs(items, name, span)?.as_slice() {
            [pair] => Ok(*pair),
            _ => Err(malformed(&format!("({name} [name value] …) with one pair"), span)),
        }
    }

    fn test_of(&self, name: &str, at: At, value: &str) -> Form {
        match name {
            "if-some" | "when-some" => at.call("%clojure.core/some?", [at.sym(value)]),
            _ => at.sym(value),
        }
    }

    fn if_let(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Result {
        if !(3..=4).contains(&items.len()) {
            return Err(wrong_count(&format!("({name} [name value] then else?)"), span));
        }
        let at = At(span);
        let (pattern, value) = self.condition_pair(name, items, span)?;
        let temp = self.gensym("test");
        let then = at.bind(vec![pattern.clone(), at.sym(&temp)], [items[2].clone()]);
        let other = items.get(3).cloned().unwrap_or_else(|| at.nil());
        let choose = at.if_(self.test_of(name, at, &temp), then, other);
        self.form(&at.bind(vec![at.sym(&temp), value.clone()], [choose]), tail)
    }

    fn when_let(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Result {
        let at = At(span);
        let (pattern, value) = self.condition_pair(name, items, span)?;
        let temp = self.gensym("test");
        let then = at.bind(vec![pattern.clone(), at.sym(&temp)], items[2..].iter().cloned());
        let choose = at.if_(self.test_of(name, at, &temp), then, at.nil());
        self.form(&at.bind(vec![at.sym(&temp), value.clone()], [choose]), tail)
    }

    fn when_first(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let at = At(span);
        let (pattern, value) = self.condition_pair("when-first", items, span)?;
        let temp = self.gensym("seq");
        let first = at.call("%clojure.core/first", [at.sym(&temp)]);
        let then = at.bind(vec![pattern.clone(), first], items[2..].iter().cloned());
        let seq = at.call("%clojure.core/seq", [value.clone()]);
        self.form(&at.bind(vec![at.sym(&temp), seq], [at.if_(at.sym(&temp), then, at.nil())]), tail)
    }

    fn cond(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let clauses = &items[1..];
        if clauses.len() % 2 == 1 {
            let last = clauses.last().map_or(span, |form| form.span);
            return Err(Error::new(ErrorKind::InvalidForm, "cond needs pairs of test and value")
                .hint("the last test has no value; write :else before a default")
                .at(last));
        }
        let mut nodes = Vec::new();
        let depth = self.depth;
        for pair in clauses.chunks_exact(2) {
            // Each clause stands in the else of the one before it.
            self.depth += 1;
            nodes.push((self.form(&pair[0], false)?, self.form(&pair[1], tail)?));
        }
        self.depth = depth;
        Ok(chain(nodes, Node::nil(span), span))
    }

    /// `(condp pred expr test value … default?)`, with `test :>> f`
    fn condp(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let [_, pred, expr, clauses @ ..] = items else {
            return Err(wrong_count("(condp pred expr test value … default?)", span));
        };
        let at = At(span);
        let (pred_name, expr_name) = (self.gensym("pred"), self.gensym("expr"));
        let no_match = at.call("%ptc.impl/no-match", [at.str("condp"), at.sym(&expr_name)]);
        let mut steps = Vec::new();
        let mut rest = clauses;
        let mut default = no_match;
        while let [test, more @ ..] = rest {
            let call = at.list(vec![at.sym(&pred_name), test.clone(), at.sym(&expr_name)]);
            match more {
                [] => {
                    default = test.clone();
                    rest = &[];
                }
                [arrow, function, more @ ..] if arrow.as_keyword() == Some(">>") => {
                    let hit = self.gensym("hit");
                    let apply = at.list(vec![function.clone(), at.sym(&hit)]);
                    steps.push((Some((hit, call)), apply));
                    rest = more;
                }
                [value, more @ ..] => {
                    let hit = self.gensym("hit");
                    steps.push((Some((hit, call)), value.clone()));
                    rest = more;
                }
            }
        }
        let mut form = default;
        for (test, value) in steps.into_iter().rev() {
            if let Some((hit, call)) = test {
                form = at.bind(vec![at.sym(&hit), call], [at.if_(at.sym(&hit), value, form)]);
            }
        }
        let bindings = vec![at.sym(&pred_name), pred.clone(), at.sym(&expr_name), expr.clone()];
        self.form(&at.bind(bindings, [form]), tail)
    }

    /// `(case expr constant value (a b) value … default?)`
    fn case(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let [_, expr, clauses @ ..] = items else {
            return Err(wrong_count("(case expr constant value … default?)", span));
        };
        let at = At(span);
        let name = self.gensym("case");
        let mark = self.scopes.current().open();
        let expr = self.form(expr, false)?;
        let local = self.scopes.current().declare(&name);
        let mut nodes = Vec::new();
        let mut seen: Vec<FormKind> = Vec::new();
        let pairs = clauses.chunks_exact(2);
        let depth = self.depth;
        // Each clause stands in the else of the one before it, and the default in the last one's.
        self.depth += pairs.len();
        let default = match pairs.remainder() {
            [default] => self.form(default, tail)?,
            _ => self.form(&at.call("%ptc.impl/no-match", [at.str("case"), at.sym(&name)]), false)?,
        };
        self.depth = depth;
        for pair in pairs {
            self.depth += 1;
            // `'a` is the group `(quote a)`; that several name `quote` is nobody's mistake.
            let unquoted = match &pair[0].kind {
                FormKind::Quote(inner) => {
                    let quote = at.sym("quote");
                    let known = seen.contains(&quote.kind);
                    Some(
                        [&[(**inner).clone()], [quote].get(usize::from(known)..).unwrap_or_default()]
                            .concat(),
                    )
                }
                _ => None,
            };
            let constants = match (&unquoted, &pair[0].kind) {
                (Some(group), _) => group.as_slice(),
                (None, FormKind::List(group)) => group,
                _ => std::slice::from_ref(&pair[0]),
            };
            let mut tests = Vec::new();
            for constant in constants {
                if seen.contains(&constant.kind) {
                    return Err(Error::new(ErrorKind::DuplicateKey, "case names this constant twice")
                        .hint("keep one of the two clauses")
                        .at(constant.span));
                }
                seen.push(constant.kind.clone());
                let value = Node::new(NodeKind::Const(self.quoted(constant)?), constant.span);
                let test = |name: &str| {
                    let subject = Node::new(NodeKind::Local(local, false), constant.span);
                    let equal = Box::new(self.builtin(name, constant.span));
                    Node::new(NodeKind::Call(equal, vec![subject, value.clone()]), constant.span)
                };
                // Like keys of maps, 1 and 1.0 are two constants, though they are equal.
                tests.push(match has_number(constant) {
                    true => {
                        Node::new(NodeKind::And(vec![test("clojure.core/="), test("prim/same-key?")]), span)
                    }
                    false => test("clojure.core/="),
                });
            }
            let test = match tests.len() {
                1 => tests.remove(0),
                _ => Node::new(NodeKind::Or(tests), pair[0].span),
            };
            nodes.push((test, self.form(&pair[1], tail)?));
        }
        self.depth = depth;
        self.scopes.current().close(mark);
        Ok(Node::new(NodeKind::Let(vec![(local, expr)], Box::new(chain(nodes, default, span))), span))
    }
}

/// Tests in order, each with its value, then a default.
fn chain(clauses: Vec<(Node, Node)>, default: Node, span: Span) -> Node {
    clauses.into_iter().rev().fold(default, |other, (test, then)| {
        Node::new(NodeKind::If(Box::new(test), Box::new(then), Box::new(other)), span)
    })
}

/// Whether a constant is a number or may hold one.
fn has_number(form: &Form) -> bool {
    use FormKind::{BigInt, Float, Int, List, Map, Set, Vector};
    matches!(form.kind, Int(_) | BigInt(_) | Float(_) | List(_) | Vector(_) | Map(_) | Set(_))
}
