//! Definitions: `def`, `defn`, `defonce`, `declare`, multimethods.

use super::build::At;
use super::node::{Node, NodeKind};
use super::scope::FnScope;
use super::{Analyzer, Result, malformed, wrong_count};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

impl Analyzer<'_> {
    /// Finds every name that some form of the program defines, so that functions may refer to later
    /// ones.
    pub(super) fn collect_definitions(&mut self, forms: &[Form]) {
        // What has no parts defines nothing and need not wait.
        let has_parts = |form: &&Form| {
            use FormKind::{Deref, List, Map, Set, ShortFn, Var, Vector};
            matches!(form.kind, List(_) | Vector(_) | Map(_) | Set(_) | ShortFn(_) | Deref(_) | Var(_))
        };
        let mut pending: Vec<&Form> = forms.iter().collect();
        while let Some(form) = pending.pop() {
            let items = match &form.kind {
                FormKind::List(items) => items,
                FormKind::Vector(items)
                | FormKind::Map(items)
                | FormKind::Set(items)
                | FormKind::ShortFn(items) => {
                    pending.extend(items.iter().filter(has_parts));
                    continue;
                }
                FormKind::Deref(inner) => {
                    pending.push(inner);
                    continue;
                }
                FormKind::Var(inner) => {
                    self.forget_arities(inner);
                    continue;
                }
                _ => continue,
            };
            if let [head, name, ..] = &items[..]
                && let Some(head) = head.as_symbol()
            {
                self.collect_head(head, name, items);
                if matches!(head, "quote" | "comment") {
                    continue;
                }
            }
            pending.extend(items.iter().filter(has_parts));
        }
    }

    fn collect_head(&mut self, head: &str, name: &Form, items: &[Form]) {
        match head {
            "def" | "defn" | "defn-" | "defonce" | "defmulti" | "deftype" | "defrecord" | "defprotocol" => {
                if let Some(name) = name.as_symbol() {
                    self.note_arities(name, head, items);
                    self.define(name);
                    if matches!(head, "defrecord" | "deftype") {
                        self.define(&format!("->{name}"));
                        self.define(&format!("map->{name}"));
                        let fields = items.get(2).and_then(Form::as_vector).unwrap_or_default();
                        self.fields.extend(fields.iter().filter_map(Form::as_symbol).map(str::to_owned));
                    }
                }
                if head == "defprotocol" {
                    let methods = items[2..].iter().filter_map(Form::as_list);
                    for method in methods.filter_map(|method| method.first()?.as_symbol()) {
                        self.define(method);
                    }
                }
            }
            // Another function may stand in for the time being.
            "binding" | "with-redefs" => {
                name.as_vector()
                    .unwrap_or_default()
                    .iter()
                    .step_by(2)
                    .for_each(|name| self.forget_arities(name));
            }
            "declare" => items[1..].iter().filter_map(Form::as_symbol).for_each(|name| self.define(name)),
            "memory/put" => {
                if let FormKind::Keyword(key) | FormKind::Str(key) = &name.kind {
                    self.define(key);
                }
            }
            _ => {}
        }
    }

    /// Remembers how many arguments `(defn name …)` takes, unless the name is defined again.
    fn note_arities(&mut self, name: &str, head: &str, items: &[Form]) {
        let count = |params: &[Form]| match params.iter().position(|param| param.as_symbol() == Some("&")) {
            Some(at) => (at, true),
            None => (params.len(), false),
        };
        let direct = items.iter().find_map(Form::as_vector).map(|params| vec![count(params)]);
        let several = || {
            let clauses = items[2..].iter().filter_map(Form::as_list);
            clauses.map(|clause| clause.first()?.as_vector().map(count)).collect::<Option<Vec<_>>>()
        };
        let arities = if head.starts_with("defn") { direct.or_else(several) } else { None };
        self.scopes.count(self.arities.len());
        if self.scopes.steps() > self.world.fuel() {
            return;
        }
        match self.arities.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = None,
            None => self.arities.push((name.to_owned(), arities.filter(|arities| !arities.is_empty()))),
        }
    }

    /// Says nothing about the arities of a function that the program may change through its var.
    fn forget_arities(&mut self, name: &Form) {
        let Some(name) = name.as_symbol() else { return };
        self.scopes.count(self.arities.len());
        match self.arities.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = None,
            None => self.arities.push((name.to_owned(), None)),
        }
    }

    /// The arities of a function that this program defines once.
    pub(super) fn known_arities(&self, name: &str) -> Option<&[(usize, bool)]> {
        self.scopes.count(self.arities.len());
        let (_, arities) = self.arities.iter().find(|(known, _)| known == name)?;
        arities.as_deref()
    }

    fn define(&mut self, name: &str) {
        self.scopes.count(self.defined.len());
        // Beyond its fuel the program is refused at the next form.
        let out_of_fuel = self.scopes.steps() > self.world.fuel();
        if !out_of_fuel && !self.defined.iter().any(|known| known == name) {
            self.defined.push(name.to_owned());
        }
    }

    /// The name of a definition.
    fn definable<'f>(&self, form: Option<&'f Form>, head: &str, span: Span) -> Result<&'f str> {
        let form = form.ok_or_else(|| wrong_count(&format!("({head} name …)"), span))?;
        let Some(name) = form.as_symbol() else {
            return Err(malformed(&format!("a name after {head}"), form.span));
        };
        self.check_unprotected(name, form.span)?;
        if name.contains('/') && name.len() > 1 {
            return Err(Error::new(
                ErrorKind::InvalidForm,
                format!("cannot define the qualified name {name}"),
            )
            .hint("define a plain name; all definitions live together")
            .at(form.span));
        }
        Ok(name)
    }

    /// `(def name docstring? value)`
    pub(super) fn def(&mut self, items: &[Form], span: Span) -> Result {
        let name = self.definable(items.get(1), "def", span)?;
        let value = match &items[2..] {
            // A name alone is announced, as by `declare`.
            [] => return self.declare(items, span),
            [value] => value,
            [Form { kind: FormKind::Str(_), .. }, value] => value,
            more => {
                let error = wrong_count("(def name value) or (def name \"doc\" value)", span);
                return Err(match more {
                    [Form { kind: FormKind::Vector(_), .. }, ..] => {
                        error.hint("write (defn name [x] …) for a function")
                    }
                    _ if super::bindings::filler(&items[1..]).is_some() => error.hint("leave out the `=`"),
                    _ => error,
                });
            }
        };
        let mut node = self.form(value, false)?;
        if let NodeKind::Fn(function) = &mut node.kind {
            function.name.get_or_insert_with(|| name.to_owned());
        }
        self.define(name);
        self.define_node(&items[1], &[], node, span)
    }

    /// `(defonce name value)`
    pub(super) fn defonce(&mut self, items: &[Form], span: Span) -> Result {
        let name = self.definable(items.get(1), "defonce", span)?;
        if items.len() < 3 {
            return Err(wrong_count("(defonce name value)", span));
        }
        let test = Node::new(NodeKind::HasGlobal(name.to_owned()), span);
        let var = Node::new(NodeKind::Const(Const::Var(name.to_owned())), span);
        let define = self.def(items, span)?;
        Ok(Node::new(NodeKind::If(Box::new(test), Box::new(var), Box::new(define)), span))
    }

    /// `(declare name…)`: the names are known from the start anyway.
    pub(super) fn declare(&mut self, items: &[Form], span: Span) -> Result {
        for form in &items[1..] {
            self.definable(Some(form), "declare", span)?;
        }
        match items.get(1).and_then(Form::as_symbol) {
            Some(name) => Ok(Node::new(NodeKind::Const(Const::Var(name.to_owned())), span)),
            None => Ok(Node::nil(span)),
        }
    }

    /// `(defn name docstring? attributes? [params] body…)`, or with several arities
    pub(super) fn defn(&mut self, items: &[Form], span: Span) -> Result {
        let name = self.definable(items.get(1), "defn", span)?.to_owned();
        let mut rest = &items[2..];
        let mut attributes = Vec::new();
        if let [Form { kind: FormKind::Str(_), .. }, more @ ..] = rest
            && !more.is_empty()
        {
            rest = more;
        }
        if let [map @ Form { kind: FormKind::Map(_), .. }, more @ ..] = rest
            && !more.is_empty()
        {
            attributes.push(map);
            rest = more;
        }
        if let [clauses @ .., map @ Form { kind: FormKind::Map(_), .. }] = rest
            && clauses.iter().all(|clause| clause.as_list().is_some())
            && !clauses.is_empty()
        {
            attributes.push(map);
            rest = clauses;
        }
        if rest.is_empty() {
            return Err(malformed("(defn name [params] body…): the parameters are missing", span));
        }
        self.define(&name);
        let function = self.function(Some(name.clone()), rest, FnScope::default(), span)?;
        let node = Node::new(NodeKind::Fn(Box::new(function)), span);
        self.define_node(&items[1], &attributes, node, span)
    }

    pub(super) fn definition(&mut self, name: &str, items: &[Form], span: Span) -> Option<Result> {
        Some(match name {
            "defmulti" => self.defmulti(items, span),
            "defmethod" => self.defmethod(items, span),
            "defrecord" | "deftype" => self.defrecord(name, items, span),
            "defprotocol" => self.defprotocol(items, span),
            "extend-type" => self.extend_type(items, span),
            "extend-protocol" => self.extend_protocol(items, span),
            "reify" => self.reify(items, span),
            _ => return self.var_form(name, items, span),
        })
    }

    /// `(defmulti name docstring? attributes? dispatch options…)`
    fn defmulti(&mut self, items: &[Form], span: Span) -> Result {
        let name = self.definable(items.get(1), "defmulti", span)?.to_owned();
        let mut rest = &items[2..];
        while let [Form { kind: FormKind::Str(_) | FormKind::Map(_), .. }, more @ ..] = rest {
            rest = more;
        }
        let [dispatch, options @ ..] = rest else {
            return Err(wrong_count("(defmulti name dispatch-fn)", span));
        };
        let at = At(span);
        let option = |wanted: &str| {
            options
                .chunks_exact(2)
                .find(|pair| pair[0].as_keyword() == Some(wanted))
                .map(|pair| pair[1].clone())
        };
        let default = option("default").unwrap_or_else(|| at.kw("default"));
        let hierarchy = option("hierarchy").unwrap_or_else(|| at.nil());
        let make =
            at.call("%ptc.impl/make-multi", [at.quote(at.sym(&name)), dispatch.clone(), default, hierarchy]);
        self.form(&at.call("%defonce", [at.sym(&name), make]), false)
    }

    /// `(defmethod name value [params] body…)`
    fn defmethod(&mut self, items: &[Form], span: Span) -> Result {
        let [_, name, value, rest @ ..] = items else {
            return Err(wrong_count("(defmethod name value [params] body…)", span));
        };
        let at = At(span);
        let function = at.call("%fn", rest.iter().cloned());
        self.form(&at.call("%ptc.impl/add-method", [name.clone(), value.clone(), function]), false)
    }
}
