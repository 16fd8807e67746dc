//! Binding forms and destructuring.

use std::collections::BTreeMap;

use super::build::At;
use super::node::{Node, NodeKind};
use super::{Analyzer, Result, malformed, wrong_count};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::names::split_name;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// A plain symbol bound to a value form: what patterns come down to.
pub(super) type BoundForm = (String, Form);

impl Analyzer<'_> {
    /// `(let [pattern value …] body…)`
    pub(super) fn let_form(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let pairs = binding_pairs(items, "let", span)?;
        let mark = self.scopes.current().open();
        let mut bound = Vec::new();
        for (pattern, value) in pairs {
            self.bind_pattern(pattern, value, &mut bound)?;
        }
        let body = self.body(&items[2..], span, tail)?;
        self.scopes.current().close(mark);
        Ok(Node::new(NodeKind::Let(bound, Box::new(body)), span))
    }

    /// Binds a pattern to a value: analyses the value, then whatever takes it apart.
    pub(super) fn bind_pattern(
        &mut self,
        pattern: &Form,
        value: &Form,
        bound: &mut Vec<(super::node::Local, Node)>,
    ) -> Result<()> {
        for (name, form) in self.expand_pattern(pattern, value)? {
            let mut node = self.form(&form, false)?;
            if let NodeKind::Fn(function) = &mut node.kind {
                function.name.get_or_insert_with(|| name.clone());
            }
            let local = self.scopes.current().declare(&name);
            bound.push((local, node));
        }
        Ok(())
    }

    /// A pattern as plain bindings, in order.
    pub(super) fn expand_pattern(&mut self, pattern: &Form, value: &Form) -> Result<Vec<BoundForm>> {
        let mut out = Vec::new();
        self.expand_into(pattern, value.clone(), &mut out)?;
        Ok(out)
    }

    fn expand_into(&mut self, pattern: &Form, value: Form, out: &mut Vec<BoundForm>) -> Result<()> {
        match &pattern.kind {
            FormKind::Symbol(name) => {
                check_bindable(name, pattern.span)?;
                out.push((name.clone(), value));
                Ok(())
            }
            FormKind::Vector(items) => self.expand_vector(items, pattern.span, value, out),
            FormKind::Map(items) => self.expand_map(items, pattern.span, value, out),
            _ => Err(Error::new(
                ErrorKind::InvalidForm,
                "a binding needs a name, [a b] or {:keys [a b]} on its left",
            )
            .at(pattern.span)),
        }
    }

    fn expand_vector(
        &mut self,
        items: &[Form],
        span: Span,
        value: Form,
        out: &mut Vec<BoundForm>,
    ) -> Result<()> {
        let at = At(span);
        let whole = self.gensym("vec");
        let (items, as_name) = split_as(items, span)?;
        // Sequences are taken apart from one realised walk; `&` needs the tail as a sequence.
        out.push((whole.clone(), value));
        if let Some(name) = as_name {
            check_bindable(&name, span)?;
            out.push((name, at.sym(&whole)));
        }
        let mut index = 0;
        let mut items = items.iter();
        while let Some(item) = items.next() {
            if item.as_symbol() == Some("&") {
                let Some(rest) = items.next() else {
                    return Err(malformed("a name after & in a pattern", item.span));
                };
                let tail = at.call("%clojure.core/nthnext", [at.sym(&whole), at.int(index)]);
                self.expand_into(rest, tail, out)?;
                if items.next().is_some() {
                    return Err(malformed("exactly one pattern after &", rest.span));
                }
                break;
            }
            let value = at.call("%prim/nth", [at.sym(&whole), at.int(index)]);
            self.expand_into(item, value, out)?;
            index += 1;
        }
        Ok(())
    }

    fn expand_map(
        &mut self,
        items: &[Form],
        span: Span,
        value: Form,
        out: &mut Vec<BoundForm>,
    ) -> Result<()> {
        let at = At(span);
        let whole = self.gensym("map");
        out.push((whole.clone(), at.call("%prim/bindable-map", [value])));
        let defaults = map_defaults(items)?;
        if let Some(name) = option(items, "as") {
            let name = name.as_symbol().ok_or_else(|| malformed("a name after :as", name.span))?;
            out.push((name.to_owned(), at.sym(&whole)));
        }
        for pair in items.chunks_exact(2) {
            let (left, right) = (&pair[0], &pair[1]);
            match left.as_keyword() {
                Some("or" | "as") => {}
                Some(group) => self.expand_key_group(group, left, right, &whole, &defaults, out)?,
                None => {
                    let value = self.lookup(&whole, right.clone(), default_for(left, &defaults), span);
                    self.expand_into(left, value, out)?;
                }
            }
        }
        Ok(())
    }

    /// `:keys [a b]`, `:strs [a]`, `:syms [a]`, `:ns/keys [a]`
    fn expand_key_group(
        &mut self,
        group: &str,
        left: &Form,
        right: &Form,
        whole: &str,
        defaults: &Defaults,
        out: &mut Vec<BoundForm>,
    ) -> Result<()> {
        let (ns, kind) = split_name(group);
        if !matches!(kind, "keys" | "strs" | "syms") {
            return Err(Error::new(
                ErrorKind::InvalidForm,
                format!("unknown option :{group} in a map pattern"),
            )
            .hint("options are :keys, :strs, :syms, :or and :as; a binding is {name :key}")
            .at(left.span));
        }
        let Some(names) = right.as_vector() else {
            return Err(malformed(&format!("a vector of names after :{group}"), right.span));
        };
        for form in names {
            let text = form
                .as_symbol()
                .or_else(|| form.as_keyword())
                .ok_or_else(|| malformed(&format!("names in the vector of :{group}"), form.span))?;
            let (own_ns, local) = split_name(text);
            check_bindable(local, form.span)?;
            let full = match own_ns.or(ns) {
                Some(ns) => format!("{ns}/{local}"),
                None => local.to_owned(),
            };
            let at = At(form.span);
            let key = match kind {
                "keys" => at.kw(&full),
                "strs" => at.str(&full),
                _ => at.quote(at.sym(&full)),
            };
            let default = defaults.get(local).cloned();
            let value = self.lookup(whole, key, default, form.span);
            out.push((local.to_owned(), value));
        }
        Ok(())
    }

    /// `(get whole key)`, or with a default that is evaluated only if the key is missing.
    fn lookup(&mut self, whole: &str, key: Form, default: Option<Form>, span: Span) -> Form {
        let at = At(span);
        let Some(default) = default else {
            return at.call("%clojure.core/get", [at.sym(whole), key]);
        };
        let found = self.gensym("found");
        let get = at.call("%clojure.core/get", [at.sym(whole), key, at.call("%missing", [])]);
        let missing = at.call("%prim/end?", [at.sym(&found)]);
        at.bind(vec![at.sym(&found), get], [at.if_(missing, default, at.sym(&found))])
    }

    /// `(loop [pattern value …] body…)`
    pub(super) fn loop_form(&mut self, items: &[Form], span: Span) -> Result {
        let pairs = binding_pairs(items, "loop", span)?;
        let mark = self.scopes.current().open();
        let mut bound = Vec::new();
        let mut patterns = Vec::new();
        for (pattern, value) in &pairs {
            // A pattern is bound whole; its parts are bound anew in each round.
            if pattern.as_symbol().is_some() {
                self.bind_pattern(pattern, value, &mut bound)?;
            } else {
                let name = self.gensym("loop");
                let symbol = At(pattern.span).sym(&name);
                self.bind_pattern(&symbol, value, &mut bound)?;
                // Later initial values may use the names of this pattern, so bind them here too.
                patterns.push(((*pattern).clone(), symbol));
            }
        }
        let (saved, repeats) = (self.scopes.current().recur.replace(pairs.len()), self.manifest.repeats);
        self.manifest.repeats += 1;
        let body = if patterns.is_empty() {
            self.body(&items[2..], span, true)?
        } else {
            let at = At(span);
            let bindings = patterns.into_iter().flat_map(|(pattern, symbol)| [pattern, symbol]).collect();
            let inner = at.bind(bindings, items[2..].iter().cloned());
            self.form(&inner, true)?
        };
        self.manifest.repeats = repeats;
        self.scopes.current().recur = saved;
        self.scopes.current().close(mark);
        Ok(Node::new(NodeKind::Loop(bound, Box::new(body)), span))
    }

    /// `(reduce* [acc init item coll] body…)`
    pub(super) fn reduce_form(&mut self, items: &[Form], span: Span) -> Result {
        let Some([acc, init, item, coll]) = items.get(1).and_then(Form::as_vector) else {
            return Err(malformed("(reduce* [acc init item coll] body…)", span));
        };
        let (Some(acc), Some(item)) = (acc.as_symbol(), item.as_symbol()) else {
            return Err(malformed("plain names in reduce*", span));
        };
        let init = self.form(init, false)?;
        let coll = self.form(coll, false)?;
        let mark = self.scopes.current().open();
        let acc = self.scopes.current().declare(acc);
        let item = self.scopes.current().declare(item);
        let saved = self.scopes.current().recur.take();
        self.manifest.repeats += 1;
        let body = self.body(&items[2..], span, false);
        self.manifest.repeats -= 1;
        let body = body?;
        self.scopes.current().recur = saved;
        self.scopes.current().close(mark);
        let node = super::node::ReduceNode { acc, init, item, coll, body };
        Ok(Node::new(NodeKind::Reduce(Box::new(node)), span))
    }

    /// `(take-slot! map key)`
    pub(super) fn take_slot(&mut self, items: &[Form], span: Span) -> Result {
        let [_, map, key] = items else { return Err(wrong_count("(take-slot! map key)", span)) };
        let map = self.form(map, false)?;
        let key = self.form(key, false)?;
        match map.kind {
            NodeKind::Local(local, _) => Ok(Node::new(NodeKind::TakeSlot(local, Box::new(key)), span)),
            _ => Err(malformed("a local name in take-slot!", span)),
        }
    }

    /// The missing marker as a constant.
    pub(super) fn missing(&self, span: Span) -> Node {
        Node::new(NodeKind::Const(Const::Unbound), span)
    }
}

/// The pairs of a binding vector.
pub(super) fn binding_pairs<'f>(
    items: &'f [Form],
    what: &str,
    span: Span,
) -> Result<Vec<(&'f Form, &'f Form)>> {
    let Some(bindings) = items.get(1) else {
        return Err(wrong_count(&format!("({what} [name value …] body…)"), span));
    };
    let Some(forms) = bindings.as_vector() else {
        return Err(malformed(
            &format!("a vector of bindings: ({what} [name value …] body…)"),
            bindings.span,
        ));
    };
    if forms.len() % 2 == 1 {
        let last = forms.last().map_or(bindings.span, |form| form.span);
        let hint = filler(forms).unwrap_or_else(|| "this name has no value".to_owned());
        return Err(Error::new(
            ErrorKind::InvalidForm,
            format!("the bindings of {what} come in pairs of name and value"),
        )
        .hint(hint)
        .at(last));
    }
    Ok(forms.chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect())
}

/// The hint for words of other languages between a name and its value: `[x = 1]`, `[x in xs]`.
pub(super) fn filler(forms: &[Form]) -> Option<String> {
    let word = forms.get(1)?;
    let word = word.as_symbol().or_else(|| word.as_keyword())?;
    matches!(word, "=" | ":=" | "<-" | "in" | "of" | "from")
        .then(|| format!("leave out `{word}`: write [name value]"))
}

fn check_bindable(name: &str, span: Span) -> Result<()> {
    if name.contains('/') && name.len() > 1 {
        return Err(Error::new(ErrorKind::InvalidForm, format!("cannot bind the qualified name {name}"))
            .hint("use a plain name")
            .at(span));
    }
    Ok(())
}

fn split_as(items: &[Form], span: Span) -> Result<(&[Form], Option<String>)> {
    match items.iter().position(|item| item.as_keyword() == Some("as")) {
        None => Ok((items, None)),
        Some(at) => match items[at + 1..] {
            [ref name] if name.as_symbol().is_some() => {
                Ok((&items[..at], name.as_symbol().map(str::to_owned)))
            }
            _ => Err(malformed("[a b :as name]: a name after :as, at the end", span)),
        },
    }
}

fn option<'f>(items: &'f [Form], name: &str) -> Option<&'f Form> {
    items.chunks_exact(2).find(|pair| pair[0].as_keyword() == Some(name)).map(|pair| &pair[1])
}

/// What names are if the map does not have their keys.
type Defaults = BTreeMap<String, Form>;

fn map_defaults(items: &[Form]) -> Result<Defaults> {
    let Some(defaults) = option(items, "or") else { return Ok(Defaults::new()) };
    let FormKind::Map(pairs) = &defaults.kind else {
        return Err(malformed("a map of names and defaults after :or", defaults.span));
    };
    let name = |form: &Form| form.as_symbol().or_else(|| form.as_keyword()).map(str::to_owned);
    Ok(pairs.chunks_exact(2).filter_map(|pair| Some((name(&pair[0])?, pair[1].clone()))).collect())
}

fn default_for(pattern: &Form, defaults: &Defaults) -> Option<Form> {
    defaults.get(pattern.as_symbol()?).cloned()
}
