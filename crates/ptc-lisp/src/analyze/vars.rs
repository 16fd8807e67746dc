//! Forms about vars: `binding`, `with-redefs`, `bound-fn`, `set!`, and the metadata of definitions.

use super::build::At;
use super::node::{Node, NodeKind};
use super::{Analyzer, Result, wrong_count};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

impl Analyzer<'_> {
    pub(super) fn var_form(&mut self, name: &str, items: &[Form], span: Span) -> Option<Result> {
        let at = At(span);
        Some(match (name, &items[1..]) {
            ("binding", _) => self.binding(items, span),
            ("with-redefs", _) => self.with_redefs(items, span),
            ("with-bindings", [map, body @ ..]) => {
                let thunk = at.fn_(Vec::new(), body.iter().cloned());
                self.form(&at.call("%clojure.core/with-bindings*", [map.clone(), thunk]), false)
            }
            ("with-bindings", []) => Err(wrong_count("(with-bindings {#'name value} body…)", span)),
            ("bound-fn", parts) => {
                let function = at.call("%fn", parts.iter().cloned());
                self.form(&at.call("%clojure.core/bound-fn*", [function]), false)
            }
            // Any other target is refused with what to write instead.
            ("set!", [target, value]) if self.settable(target).is_some() => {
                let var = at.var(target.clone());
                self.form(&at.call("%clojure.core/var-set", [var, value.clone()]), false)
            }
            _ => return None,
        })
    }

    /// The name of a definition that the program can change.
    fn settable<'f>(&self, form: &'f Form) -> Option<&'f str> {
        form.as_symbol().filter(|name| !self.scopes.is_local(name) && self.is_global(name))
    }

    /// `[name value …]` with a new name for each value: the pairs `var value`, and their bindings.
    fn var_pairs(&mut self, head: &str, items: &[Form], span: Span) -> Result<VarPairs> {
        let at = At(span);
        let mut found = VarPairs::default();
        for (name, value) in super::bindings::binding_pairs(items, head, span)? {
            self.check_unprotected(name.as_symbol().unwrap_or_default(), name.span)?;
            if self.settable(name).is_none() {
                let message = format!("{head} sets definitions of the program");
                return Err(Error::new(ErrorKind::InvalidForm, message)
                    .hint("define the name first with (def ^:dynamic name value), or use let")
                    .at(name.span));
            }
            let new = at.sym(&self.gensym("new"));
            found.bindings.extend([new.clone(), value.clone()]);
            found.pairs.push((at.var(name.clone()), new));
        }
        Ok(found)
    }

    /// `(binding [name value …] body…)`: gives definitions other values for the time of the body.
    fn binding(&mut self, items: &[Form], span: Span) -> Result {
        let at = At(span);
        let VarPairs { bindings, pairs } = self.var_pairs("binding", items, span)?;
        let given = pairs.iter().flat_map(|(var, new)| [var.clone(), new.clone()]).collect();
        let taken = pairs.iter().flat_map(|(var, _)| [var.clone(), at.nil()]).collect();
        let push = at.call("%prim/push-bindings", [at.map(given)]);
        let pop = at.call("%prim/pop-bindings", [at.map(taken)]);
        let finally = at.list(vec![at.sym("finally"), pop]);
        let body = at.call("%try", items[2..].iter().cloned().chain([finally]));
        self.form(&at.bind(bindings, [push, body]), false)
    }

    /// `(with-redefs [name value …] body…)`: redefines for the time of the body.
    fn with_redefs(&mut self, items: &[Form], span: Span) -> Result {
        let at = At(span);
        let VarPairs { mut bindings, pairs } = self.var_pairs("with-redefs", items, span)?;
        let mut body = Vec::new();
        let mut finally = vec![at.sym("finally")];
        for (var, new) in pairs {
            let old = at.sym(&self.gensym("old"));
            bindings.extend([old.clone(), at.call("%prim/var-root", [var.clone()])]);
            body.push(at.call("%prim/set-var-root", [var.clone(), new]));
            finally.push(at.call("%prim/set-var-root", [var, old]));
        }
        body.extend(items[2..].iter().cloned());
        body.push(at.list(finally));
        self.form(&at.bind(bindings, [at.call("%try", body)]), false)
    }

    /// Sets a definition and gives it the metadata maps that stand with it (`^{…}`, attributes). What its
    /// text says besides is read from there when somebody asks. The value of the form is its var.
    pub(super) fn define_node(&mut self, name: &Form, maps: &[&Form], value: Node, span: Span) -> Result {
        let text = name.as_symbol().unwrap_or_default();
        let var = Node::new(NodeKind::Const(Const::Var(text.to_owned())), span);
        let mut nodes = vec![Node::new(NodeKind::Define(text.to_owned(), Box::new(value)), span)];
        let written = name.meta.iter().rev().chain(maps.iter().copied());
        let items: Vec<Form> = written.filter_map(map_items).flatten().cloned().collect();
        if !items.is_empty() {
            let meta = self.form(&At(span).call("%clojure.core/hash-map", items), false)?;
            let describe = self.builtin("prim/describe-var", span);
            nodes.push(Node::new(NodeKind::Call(Box::new(describe), vec![var.clone(), meta]), span));
        }
        nodes.push(var);
        Ok(Node::new(NodeKind::Do(nodes), span))
    }
}

/// Vars with the names of their new values, and where these come from.
#[derive(Default)]
struct VarPairs {
    bindings: Vec<Form>,
    pairs: Vec<(Form, Form)>,
}

fn map_items(form: &Form) -> Option<&[Form]> {
    match &form.kind {
        FormKind::Map(items) => Some(items),
        _ => None,
    }
}
