//! Literals: constants, collections, quoted data, duplicate keys.

use super::node::{Node, NodeKind};
use super::{Analyzer, FORM_BYTES, Result};
use crate::code::Const;
use crate::error::{Error, ErrorKind, excerpt};
use crate::syntax::{Form, FormKind};

impl Analyzer<'_> {
    /// A form that is data by itself.
    pub(super) fn constant(&mut self, form: &Form) -> Result<Const> {
        Ok(match &form.kind {
            FormKind::Nil => Const::Nil,
            FormKind::Bool(value) => Const::Bool(*value),
            FormKind::Int(value) => Const::Int(*value),
            FormKind::BigInt(value) => Const::Big(value.clone()),
            FormKind::Decimal(value) => Const::Decimal(value.clone()),
            FormKind::Float(value) => Const::Float(*value),
            FormKind::Str(text) => {
                self.spend(text.len() / FORM_BYTES, form.span)?;
                Const::Str(text.clone())
            }
            FormKind::Keyword(name) => Const::Keyword(self.namespaces.keyword(name)),
            FormKind::Regex(source) => {
                let matcher = crate::regex::Matcher::compile(source).map_err(|error| error.at(form.span))?;
                self.spend(matcher.bytes() / FORM_BYTES, form.span)?;
                Const::Regex(source.clone())
            }
            FormKind::Tagged(tag, inner) => match &inner.kind {
                FormKind::Str(text) if tag == "inst" || tag == "uuid" => {
                    Const::Tagged(tag.clone(), text.clone())
                }
                _ => {
                    return Err(Error::new(ErrorKind::Parse, format!("unknown tag #{}", excerpt(tag)))
                        .hint("#inst \"…\" and #uuid \"…\" are the tags there are")
                        .at(form.span));
                }
            },
            _ => self.quoted(form)?,
        })
    }

    /// A form under a quote: data all the way down.
    pub(super) fn quoted(&mut self, form: &Form) -> Result<Const> {
        self.depth += 1;
        if self.depth > super::MAX_NESTING {
            return Err(
                Error::new(ErrorKind::NestingTooDeep, "quoted data is nested too deeply").at(form.span)
            );
        }
        self.spend(1, form.span)?;
        let value = match &form.kind {
            FormKind::Symbol(name) => Const::Symbol(name.clone()),
            FormKind::List(items) => Const::List(self.all_quoted(items)?),
            FormKind::Vector(items) => Const::Vector(self.all_quoted(items)?),
            FormKind::Set(items) => {
                check_duplicates(items.iter(), "element", "set")?;
                Const::Set(self.all_quoted(items)?)
            }
            FormKind::Map(items) => {
                check_duplicates(items.iter().step_by(2), "key", "map")?;
                let items = self.all_quoted(items)?;
                let mut pairs = Vec::with_capacity(items.len() / 2);
                let mut items = items.into_iter();
                while let (Some(key), Some(value)) = (items.next(), items.next()) {
                    pairs.push((key, value));
                }
                Const::Map(pairs)
            }
            FormKind::Quote(inner) => {
                Const::List(vec![Const::Symbol("quote".to_owned()), self.quoted(inner)?])
            }
            FormKind::Deref(inner) => {
                Const::List(vec![Const::Symbol("clojure.core/deref".to_owned()), self.quoted(inner)?])
            }
            FormKind::Var(inner) => Const::List(vec![Const::Symbol("var".to_owned()), self.quoted(inner)?]),
            FormKind::ShortFn(items) => {
                let mut list = vec![Const::Symbol("fn*".to_owned()), Const::Vector(Vec::new())];
                list.push(Const::List(self.all_quoted(items)?));
                Const::List(list)
            }
            _ => self.constant(form)?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn all_quoted(&mut self, forms: &[Form]) -> Result<Vec<Const>> {
        forms.iter().map(|form| self.quoted(form)).collect()
    }

    /// A vector, map or set: a constant if all its parts are.
    pub(super) fn collection(&mut self, form: &Form) -> Result {
        let kind = match &form.kind {
            FormKind::Vector(items) => NodeKind::Vector(self.forms(items)?),
            FormKind::Set(items) => {
                check_duplicates(items.iter(), "element", "set")?;
                NodeKind::Set(self.forms(items)?)
            }
            FormKind::Map(items) => {
                check_duplicates(items.iter().step_by(2), "key", "map")?;
                let mut pairs = Vec::with_capacity(items.len() / 2);
                for pair in items.chunks_exact(2) {
                    pairs.push((self.form(&pair[0], false)?, self.form(&pair[1], false)?));
                }
                NodeKind::Map(pairs)
            }
            _ => unreachable!("only collections come here"),
        };
        let node = Node::new(fold(kind), form.span);
        if form.meta.is_empty() {
            return Ok(node);
        }
        let meta = self.meta_map(form)?;
        let with_meta = self.builtin("clojure.core/with-meta", form.span);
        Ok(Node::new(NodeKind::Call(Box::new(with_meta), vec![node, meta]), form.span))
    }
}

/// Makes a constant of a collection whose parts are all constants.
fn fold(kind: NodeKind) -> NodeKind {
    let constant = |node: &Node| match &node.kind {
        NodeKind::Const(value) => Some(value.clone()),
        _ => None,
    };
    let folded = match &kind {
        NodeKind::Vector(items) => items.iter().map(constant).collect::<Option<_>>().map(Const::Vector),
        NodeKind::Set(items) => items.iter().map(constant).collect::<Option<_>>().map(Const::Set),
        NodeKind::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| Some((constant(key)?, constant(value)?)))
            .collect::<Option<_>>()
            .map(Const::Map),
        _ => None,
    };
    folded.map_or(kind, NodeKind::Const)
}

/// Refuses literal maps and sets that name a key twice.
fn check_duplicates<'f>(keys: impl Iterator<Item = &'f Form>, what: &str, whole: &str) -> Result<()> {
    let keys: Vec<&Form> = keys.collect();
    // Literals are short; the few long ones hold scalars, which sort.
    if keys.len() > 64 {
        let mut texts: Vec<(String, &Form)> =
            keys.iter().filter(|key| is_scalar(key)).map(|key| (spelling(&key.kind), *key)).collect();
        texts.sort_by(|a, b| a.0.cmp(&b.0));
        return match texts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(duplicate(pair[1].1, pair[0].1, what, whole)),
            None => Ok(()),
        };
    }
    for (at, key) in keys.iter().enumerate() {
        if let Some(first) = keys[..at].iter().find(|other| same_literal(other, key)) {
            return Err(duplicate(key, first, what, whole));
        }
    }
    Ok(())
}

/// A scalar in one spelling for all that are equal to it.
fn spelling(kind: &FormKind) -> String {
    let decimal = match kind {
        FormKind::Decimal(exact) => exact.decimal(),
        _ => None,
    };
    decimal.map_or_else(|| format!("{kind:?}"), |decimal| format!("{:?}", decimal.normal()))
}

fn duplicate(again: &Form, first: &Form, what: &str, whole: &str) -> Error {
    Error::new(ErrorKind::DuplicateKey, format!("duplicate {what} in a {whole} literal"))
        .hint(format!("keep one of the two; each {what} may stand once"))
        .at(again.span)
        .note(first.span, "first written here")
}

fn is_scalar(form: &Form) -> bool {
    !matches!(
        form.kind,
        FormKind::List(_)
            | FormKind::Vector(_)
            | FormKind::Map(_)
            | FormKind::Set(_)
            | FormKind::ShortFn(_)
            | FormKind::Quote(_)
            | FormKind::Deref(_)
            | FormKind::Var(_)
            | FormKind::Regex(_)
            | FormKind::Tagged(..)
    )
}

/// Whether two forms are the same key whatever they evaluate to. Calls may differ each time.
fn same_literal(a: &Form, b: &Form) -> bool {
    let all = |a: &[Form], b: &[Form]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_literal(a, b));
    match (&a.kind, &b.kind) {
        (FormKind::Vector(a), FormKind::Vector(b)) => all(a, b),
        (FormKind::Map(a), FormKind::Map(b)) => {
            let same_entry =
                |x: &[Form], y: &[Form]| same_literal(&x[0], &y[0]) && same_literal(&x[1], &y[1]);
            a.len() == b.len() && a.chunks_exact(2).all(|x| b.chunks_exact(2).any(|y| same_entry(x, y)))
        }
        (FormKind::Set(a), FormKind::Set(b)) => {
            a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| same_literal(x, y)))
        }
        (FormKind::Quote(a), FormKind::Quote(b)) => a.kind == b.kind,
        // 1.0M and 1.00M are equal, though they print differently.
        (FormKind::Decimal(a), FormKind::Decimal(b)) => a.compare(b).is_eq(),
        (x, y) => is_scalar(a) && is_scalar(b) && x == y,
    }
}
