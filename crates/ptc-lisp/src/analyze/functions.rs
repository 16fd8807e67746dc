//! Functions: `fn`, `#()`, `letfn`, parameters, pre- and postconditions.

use std::rc::Rc;

use super::build::At;
use super::node::{ArityNode, FnNode, LetfnNode, Node, NodeKind};
use super::scope::FnScope;
use super::{Analyzer, Result, malformed};
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// How parameters are written.
const BRACKETS: &str = "parameters stand in brackets: (fn [x] …), (defn name [x y] …)";

/// `%` placeholders beyond this are refused.
const MAX_PLACEHOLDER: usize = 20;

impl Analyzer<'_> {
    /// `(fn name? [params] body…)` or `(fn name? ([params] body…) …)`
    pub(super) fn fn_form(&mut self, items: &[Form], span: Span) -> Result {
        let mut rest = &items[1..];
        let name = rest.first().and_then(Form::as_symbol).map(str::to_owned);
        if name.is_some() {
            rest = &rest[1..];
        }
        let scope = FnScope { self_name: name.clone(), ..FnScope::default() };
        self.function(name, rest, scope, span).map(|node| Node::new(NodeKind::Fn(Box::new(node)), span))
    }

    /// The arities of a function in a scope of its own.
    pub(super) fn function(
        &mut self,
        name: Option<String>,
        clauses: &[Form],
        scope: FnScope,
        span: Span,
    ) -> Result<FnNode> {
        self.scopes.enter(scope);
        self.manifest.repeats += 1;
        let trying = std::mem::take(&mut self.trying);
        let arities = self.arities(clauses, span);
        self.trying = trying;
        self.manifest.repeats -= 1;
        let scope = self.scopes.leave();
        let captures = scope.captures.into_iter().map(|(_, node)| node).collect();
        Ok(FnNode { name, arities: arities?, captures })
    }

    fn arities(&mut self, clauses: &[Form], span: Span) -> Result<Vec<ArityNode>> {
        let first = clauses
            .first()
            .ok_or_else(|| malformed("(fn [params] body…): the vector of parameters is missing", span))?;
        if let Some(params) = first.as_vector() {
            return Ok(vec![self.arity(params, &clauses[1..], first.span)?]);
        }
        let mut arities: Vec<ArityNode> = Vec::new();
        for clause in clauses {
            let Some([params, body @ ..]) = clause.as_list() else {
                return Err(
                    malformed("(fn [params] body…) or (fn ([a] …) ([a b] …))", clause.span).hint(BRACKETS)
                );
            };
            let Some(params) = params.as_vector() else {
                return Err(malformed("a vector of parameters", params.span).hint(BRACKETS));
            };
            let arity = self.arity(params, body, clause.span)?;
            if arities.iter().any(|other| other.params == arity.params && other.variadic == arity.variadic) {
                return Err(malformed("arities with different numbers of parameters", clause.span));
            }
            arities.push(arity);
        }
        Ok(arities)
    }

    fn arity(&mut self, params: &[Form], body: &[Form], span: Span) -> Result<ArityNode> {
        let rest_at = params.iter().position(|param| param.as_symbol() == Some("&"));
        let fixed = &params[..rest_at.unwrap_or(params.len())];
        let rest = match rest_at.map(|at| &params[at + 1..]) {
            None => None,
            Some([rest]) => Some(rest),
            Some(_) => return Err(malformed("exactly one parameter after &", span)),
        };
        let mark = self.scopes.current().restart();
        // Patterns are bound to hidden parameters first and taken apart in the body.
        let mut bindings = Vec::new();
        for param in fixed.iter().chain(rest) {
            match param.as_symbol() {
                Some(name) => {
                    if name.contains('/') && name.len() > 1 {
                        return Err(malformed("plain names as parameters", param.span));
                    }
                    self.scopes.current().declare(name);
                }
                None => {
                    let name = self.gensym("param");
                    self.scopes.current().declare(&name);
                    bindings.extend([param.clone(), At(param.span).sym(&name)]);
                }
            }
        }
        let count = fixed.len() + usize::from(rest.is_some());
        let saved = self.scopes.current().recur.replace(count);
        let body = self.with_conditions(body, span);
        let body = if bindings.is_empty() {
            self.body(&body, span, true)?
        } else {
            let inner = At(span).bind(bindings, body);
            self.form(&inner, true)?
        };
        self.scopes.current().recur = saved;
        self.scopes.current().close(mark);
        let params = u16::try_from(fixed.len()).map_err(|_| malformed("fewer parameters", span))?;
        Ok(ArityNode { params, variadic: rest.is_some(), body })
    }

    /// `{:pre [tests…] :post [tests…]}` at the head of a body with more in it.
    fn with_conditions(&mut self, body: &[Form], span: Span) -> Vec<Form> {
        let [Form { kind: FormKind::Map(items), .. }, rest @ ..] = body else { return body.to_vec() };
        let tests = |name: &str| {
            items
                .chunks_exact(2)
                .find(|pair| pair[0].as_keyword() == Some(name))
                .and_then(|pair| pair[1].as_vector())
                .unwrap_or_default()
        };
        let (pre, post) = (tests("pre"), tests("post"));
        if rest.is_empty() || (pre.is_empty() && post.is_empty()) {
            return body.to_vec();
        }
        let at = At(span);
        let mut out: Vec<Form> = pre.iter().map(|test| at.call("%assert", [test.clone()])).collect();
        if post.is_empty() {
            out.extend(rest.iter().cloned());
            return out;
        }
        let checks = post.iter().map(|test| at.call("%assert", [test.clone()]));
        let inner =
            at.bind(vec![plain(at, "%"), at.do_(rest.iter().cloned())], checks.chain([plain(at, "%")]));
        out.push(inner);
        out
    }

    /// `#(… % …)`
    pub(super) fn short_fn(&mut self, items: &[Form], span: Span) -> Result {
        let mut highest = 0;
        let mut rest = false;
        scan_placeholders(items, &mut highest, &mut rest, 0)?;
        if highest > MAX_PLACEHOLDER {
            return Err(Error::new(
                ErrorKind::InvalidForm,
                format!("%{highest} is beyond %{MAX_PLACEHOLDER}"),
            )
            .hint("write (fn [a b …] …) with names instead")
            .at(span));
        }
        let at = At(span);
        let mut params: Vec<Form> = (1..=highest).map(|n| plain(at, &format!("%{n}"))).collect();
        if rest {
            params.extend([at.sym("&"), plain(at, "%&")]);
        }
        // A body that is one literal or placeholder is its value: #({:a %}) gives the map.
        let body = match items {
            [one]
                if !matches!(one.kind, FormKind::Symbol(ref name) if !name.starts_with('%'))
                    && !matches!(one.kind, FormKind::List(_) | FormKind::Keyword(_)) =>
            {
                one.clone()
            }
            _ => Form::new(FormKind::List(items.into()), span),
        };
        let body = rename_bare(body);
        let form = at.fn_(params, [body]);
        self.form(&form, false)
    }

    /// `(letfn [(name [params] body…) …] body…)`
    pub(super) fn letfn(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let Some(specs) = items.get(1).and_then(Form::as_vector) else {
            return Err(malformed("(letfn [(name [params] body…) …] body…)", span));
        };
        let mut names = Vec::new();
        for spec in specs {
            match spec.as_list().and_then(|list| list.first()).and_then(Form::as_symbol) {
                Some(name) => names.push(name.to_owned()),
                None => return Err(malformed("(name [params] body…) in letfn", spec.span)),
            }
        }
        let names: Rc<[String]> = names.into();
        let mut captures = Vec::new();
        let mut functions = Vec::new();
        for (spec, name) in specs.iter().zip(names.iter()) {
            // One list of captures grows through all functions, so all can share it.
            let scope = FnScope { group: names.clone(), captures, ..FnScope::default() };
            self.scopes.enter(scope);
            self.manifest.repeats += 1;
            let clauses = spec.as_list().map(|list| &list[1..]).unwrap_or_default();
            let arities = self.arities(clauses, spec.span);
            self.manifest.repeats -= 1;
            captures = self.scopes.leave().captures;
            functions.push(FnNode { name: Some(name.clone()), arities: arities?, captures: Vec::new() });
        }
        let mark = self.scopes.current().open();
        let functions = functions
            .into_iter()
            .map(|node| {
                let name = node.name.clone().unwrap_or_default();
                (self.scopes.current().declare(&name), node)
            })
            .collect();
        let body = self.body(&items[2..], span, tail)?;
        self.scopes.current().close(mark);
        let captures = captures.into_iter().map(|(_, node)| node).collect();
        let node = LetfnNode { functions, captures, body };
        Ok(Node::new(NodeKind::Letfn(Box::new(node)), span))
    }
}

fn plain(at: At, name: &str) -> Form {
    Form::new(FormKind::Symbol(name.to_owned()), at.0)
}

/// `%` is another spelling of `%1`.
fn rename_bare(form: Form) -> Form {
    let rename = |forms: &[Form]| forms.iter().cloned().map(rename_bare).collect();
    let Form { kind, span, meta } = form;
    let kind = match kind {
        FormKind::Symbol(name) if name == "%" => FormKind::Symbol("%1".to_owned()),
        FormKind::List(items) => FormKind::List(rename(&items)),
        FormKind::Vector(items) => FormKind::Vector(rename(&items)),
        FormKind::Map(items) => FormKind::Map(rename(&items)),
        FormKind::Set(items) => FormKind::Set(rename(&items)),
        FormKind::Deref(inner) => FormKind::Deref(rename_bare((*inner).clone()).into()),
        other => other,
    };
    Form { kind, span, meta }
}

fn scan_placeholders(forms: &[Form], highest: &mut usize, rest: &mut bool, depth: usize) -> Result<()> {
    if depth > super::MAX_NESTING {
        return Ok(());
    }
    for form in forms {
        match &form.kind {
            FormKind::Symbol(name) => match name.strip_prefix('%') {
                Some("") => *highest = (*highest).max(1),
                Some("&") => *rest = true,
                Some(number) => {
                    if let Ok(number) = number.parse::<usize>() {
                        if number == 0 {
                            return Err(malformed("placeholders from %1 on", form.span));
                        }
                        *highest = (*highest).max(number);
                    }
                }
                None => {}
            },
            FormKind::List(items) | FormKind::Vector(items) | FormKind::Map(items) | FormKind::Set(items) => {
                scan_placeholders(items, highest, rest, depth + 1)?
            }
            FormKind::Deref(inner) => {
                scan_placeholders(std::slice::from_ref(inner), highest, rest, depth + 1)?
            }
            FormKind::ShortFn(_) => {
                return Err(Error::new(ErrorKind::InvalidForm, "#() inside #()")
                    .hint("write the inner one as (fn [x] …)")
                    .at(form.span));
            }
            _ => {}
        }
    }
    Ok(())
}
