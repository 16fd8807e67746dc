//! Classes, records and protocols: types in name only, over maps.

use super::build::At;
use super::namespaces::simple_class;
use super::node::{Node, NodeKind};
use super::{Analyzer, Result, malformed, wrong_count};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Class names that programs use as values: in `instance?`, `extend-type`, `catch`, dispatch.
const CLASSES: &[&str] = &[
    "String",
    "Long",
    "Integer",
    "Double",
    "Float",
    "Number",
    "Boolean",
    "Character",
    "Object",
    "Keyword",
    "Symbol",
    "BigInteger",
    "BigInt",
    "BigDecimal",
    "MathContext",
    "RoundingMode",
    "DecimalFormat",
    "Ratio",
    "Map",
    "List",
    "Set",
    "Collection",
    "Iterable",
    "CharSequence",
    "Comparable",
    "IPersistentMap",
    "IPersistentVector",
    "IPersistentSet",
    "IPersistentList",
    "IPersistentCollection",
    "PersistentVector",
    "PersistentArrayMap",
    "PersistentHashMap",
    "PersistentHashSet",
    "PersistentList",
    "PersistentTreeMap",
    "PersistentTreeSet",
    "PersistentQueue",
    "LazySeq",
    "ISeq",
    "Sequential",
    "Seqable",
    "Associative",
    "Counted",
    "Indexed",
    "Fn",
    "IFn",
    "AFn",
    "Atom",
    "IDeref",
    "Delay",
    "Volatile",
    "Named",
    "MapEntry",
    "IMapEntry",
    "IRecord",
    "Pattern",
    "UUID",
    "Date",
    "Exception",
    "Throwable",
    "RuntimeException",
    "Error",
    "ExceptionInfo",
    "IExceptionInfo",
    "ArithmeticException",
    "IllegalArgumentException",
    "IllegalStateException",
    "ClassCastException",
    "NullPointerException",
    "IndexOutOfBoundsException",
    "NumberFormatException",
    "UnsupportedOperationException",
    "ArityException",
    "AssertionError",
    "DateTimeParseException",
    "DateTimeException",
    "StackOverflowError",
    "InterruptedException",
    "LocalDate",
    "LocalDateTime",
    "LocalTime",
    "Instant",
    "Duration",
    "Period",
    "ZonedDateTime",
    "OffsetDateTime",
    "ZoneId",
    "DateTimeFormatter",
    "ChronoUnit",
    "DayOfWeek",
    "Month",
    "YearMonth",
    "Year",
    "Var",
    "Inst",
    "Math",
    "StringIndexOutOfBoundsException",
    "Reduced",
    "Cons",
    "Range",
];

/// The simple name of a class that programs may use as a value.
pub fn known_class(name: &str) -> Option<&'static str> {
    let simple = simple_class(name);
    CLASSES.iter().copied().find(|class| *class == simple)
}

impl Analyzer<'_> {
    /// A class name in value position.
    pub(super) fn class_name(&self, name: &str, span: Span) -> Option<Node> {
        let class = known_class(name)?;
        Some(Node::new(NodeKind::Const(Const::Type(class.to_owned())), span))
    }

    /// Metadata written before a form, as one map.
    pub(super) fn meta_map(&mut self, form: &Form) -> Result {
        let at = At(form.span);
        let mut items: Vec<Form> = Vec::new();
        for meta in &form.meta {
            match &meta.kind {
                FormKind::Keyword(_) => {
                    items.extend([meta.clone(), Form::new(FormKind::Bool(true), meta.span)]);
                }
                FormKind::Symbol(_) | FormKind::Str(_) => {
                    items.extend([at.kw("tag"), at.quote(meta.clone())]);
                }
                FormKind::Map(pairs) => items.extend(pairs.iter().cloned()),
                _ => return Err(malformed("^:keyword, ^Tag or ^{…} as metadata", meta.span)),
            }
        }
        self.form(&at.call("%clojure.core/hash-map", items), false)
    }

    /// `(defrecord Name [fields] Protocol (method [this] …)…)`
    pub(super) fn defrecord(&mut self, head: &str, items: &[Form], span: Span) -> Result {
        let (Some(name), Some(fields)) =
            (items.get(1).and_then(Form::as_symbol), items.get(2).and_then(Form::as_vector))
        else {
            return Err(malformed(&format!("({head} Name [fields] …)"), span));
        };
        let at = At(span);
        let type_form = at.call("%prim/type", [at.quote(at.sym(name))]);
        let mut forms = vec![at.call("%def", [at.sym(name), type_form])];
        let plain: Vec<Form> = fields.iter().filter_map(|field| Some(at.sym(field.as_symbol()?))).collect();
        let pairs =
            plain.iter().flat_map(|field| [at.kw(field.as_symbol().unwrap_or_default()), field.clone()]);
        let body = at.call("%prim/record", [at.sym(name), at.map(pairs.collect())]);
        let make = at.fn_(plain.clone(), [body]);
        forms.push(at.call("%def", [at.sym(&format!("->{name}")), make]));
        let blank = plain.iter().flat_map(|field| [at.kw(field.as_symbol().unwrap_or_default()), at.nil()]);
        let source = at.sym(&self.gensym("source"));
        let merged = at.call("%clojure.core/merge", [at.map(blank.collect()), source.clone()]);
        let from_map = at.fn_(vec![source], [at.call("%prim/record", [at.sym(name), merged])]);
        forms.push(at.call("%def", [at.sym(&format!("map->{name}")), from_map]));
        for (protocol, methods) in protocol_groups(&items[3..])? {
            if self.is_interface(protocol) {
                continue;
            }
            let methods =
                methods.iter().map(|method| with_fields(at, method, &plain)).collect::<Result<Vec<_>>>()?;
            forms.push(self.extend(at, protocol, &at.sym(name), &methods));
        }
        forms.push(at.sym(name));
        self.form(&at.do_(forms), false)
    }

    /// `(defprotocol Name docstring? (method [this …] docstring?)…)`
    pub(super) fn defprotocol(&mut self, items: &[Form], span: Span) -> Result {
        let Some(name) = items.get(1).and_then(Form::as_symbol) else {
            return Err(malformed("(defprotocol Name (method [this]) …)", span));
        };
        let at = At(span);
        let methods: Vec<&str> = items[2..]
            .iter()
            .filter_map(Form::as_list)
            .filter_map(|method| method.first()?.as_symbol())
            .collect();
        let names = at.vector(methods.iter().map(|method| at.str(method)).collect());
        let make = at.call("%ptc.impl/make-protocol", [at.quote(at.sym(name)), names]);
        let mut forms = vec![at.call("%def", [at.sym(name), make])];
        for method in methods {
            let function = at.call("%ptc.impl/protocol-fn", [at.sym(name), at.str(method)]);
            forms.push(at.call("%def", [at.sym(method), function]));
        }
        forms.push(at.quote(at.sym(name)));
        self.form(&at.do_(forms), false)
    }

    /// `(extend-type Type Protocol (method [this] …)…)`
    pub(super) fn extend_type(&mut self, items: &[Form], span: Span) -> Result {
        let [_, target, rest @ ..] = items else {
            return Err(wrong_count("(extend-type Type Protocol (method [this] …)…)", span));
        };
        let at = At(span);
        let mut forms = Vec::new();
        for (protocol, methods) in protocol_groups(rest)? {
            let methods: Vec<Form> = methods.into_iter().cloned().collect();
            forms.push(self.extend(at, protocol, target, &methods));
        }
        forms.push(at.nil());
        self.form(&at.do_(forms), false)
    }

    /// `(extend-protocol Protocol Type (method [this] …)… Type …)`
    pub(super) fn extend_protocol(&mut self, items: &[Form], span: Span) -> Result {
        let [_, protocol, rest @ ..] = items else {
            return Err(wrong_count("(extend-protocol Protocol Type (method [this] …)…)", span));
        };
        let at = At(span);
        let mut forms = Vec::new();
        for (target, methods) in protocol_groups(rest)? {
            let methods: Vec<Form> = methods.into_iter().cloned().collect();
            forms.push(self.extend(at, protocol, target, &methods));
        }
        forms.push(at.nil());
        self.form(&at.do_(forms), false)
    }

    /// `(reify Protocol (method [this] …)…)`: a record of a type of its own.
    pub(super) fn reify(&mut self, items: &[Form], span: Span) -> Result {
        let at = At(span);
        let kind = at.sym(&self.gensym("reify"));
        let name = at.call("%clojure.core/gensym", [at.str("reify")]);
        let mut forms = Vec::new();
        for (protocol, methods) in protocol_groups(&items[1..])? {
            if self.is_interface(protocol) {
                continue;
            }
            let methods: Vec<Form> = methods.into_iter().cloned().collect();
            forms.push(self.extend(at, protocol, &kind, &methods));
        }
        forms.push(at.call("%prim/record", [kind.clone(), at.map(Vec::new())]));
        self.form(&at.bind(vec![kind, at.call("%prim/type", [name])], forms), false)
    }

    /// Gives a type the methods of a protocol, or those of `Object`.
    fn extend(&self, at: At, protocol: &Form, target: &Form, methods: &[Form]) -> Form {
        let table = method_table(at, methods);
        if self.is_object(protocol) {
            return at.call("%ptc.impl/extend-object!", [target.clone(), table]);
        }
        at.call("%ptc.impl/extend-protocol!", [protocol.clone(), target.clone(), table])
    }

    /// Whether a form names `Object`, whose `toString` types may have.
    fn is_object(&self, form: &Form) -> bool {
        form.as_symbol().is_some_and(|name| simple_class(name) == "Object" && !self.is_global(name))
    }

    /// Host interfaces that records of other programs name; there is nothing to extend.
    fn is_interface(&self, form: &Form) -> bool {
        !self.is_object(form) && form.as_symbol().is_some_and(|name| known_class(name).is_some())
    }
}

/// `Name (method …)… Name (method …)…` as groups.
fn protocol_groups(forms: &[Form]) -> Result<Vec<(&Form, Vec<&Form>)>> {
    let mut groups: Vec<(&Form, Vec<&Form>)> = Vec::new();
    for form in forms {
        match (&form.kind, groups.last_mut()) {
            (FormKind::Symbol(_) | FormKind::Nil, _) => groups.push((form, Vec::new())),
            (FormKind::List(_), Some((_, methods))) => methods.push(form),
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidForm,
                    "methods must follow the name of a protocol or type",
                )
                .at(form.span));
            }
        }
    }
    Ok(groups)
}

/// `{"method" (fn …) …}`; several arities of one method are gathered.
fn method_table(at: At, methods: &[Form]) -> Form {
    let mut clauses: Vec<(String, Vec<Form>)> = Vec::new();
    for method in methods {
        let Some([name, rest @ ..]) = method.as_list() else { continue };
        let Some(name) = name.as_symbol() else { continue };
        let new: Vec<Form> = match rest.first().map(|form| &form.kind) {
            Some(FormKind::Vector(_)) => vec![at.list(rest.to_vec())],
            _ => rest.to_vec(),
        };
        match clauses.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.extend(new),
            None => clauses.push((name.to_owned(), new)),
        }
    }
    let pairs = clauses.into_iter().flat_map(|(name, clauses)| [at.str(&name), at.call("%fn", clauses)]);
    at.map(pairs.collect())
}

/// A method of a record, with the record's fields as locals.
fn with_fields(at: At, method: &Form, fields: &[Form]) -> Result<Form> {
    let Some([name, rest @ ..]) = method.as_list() else {
        return Err(malformed("(method [this] …)", method.span));
    };
    let Some(params) = rest.first().and_then(Form::as_vector) else { return Ok(method.clone()) };
    let Some(this) = params.first().and_then(Form::as_symbol) else {
        return Err(malformed("a method with the record as its first parameter", method.span));
    };
    let mut bindings = Vec::new();
    for field in fields.iter().filter_map(Form::as_symbol) {
        if !params.iter().any(|param| param.as_symbol() == Some(field)) {
            bindings.extend([at.sym(field), at.call("%clojure.core/get", [at.sym(this), at.kw(field)])]);
        }
    }
    let body = at.bind(bindings, rest[1..].iter().cloned());
    Ok(at.list(vec![name.clone(), rest[0].clone(), body]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_programs_may_name_have_a_package() {
        let is_a_record = |class: &&str| crate::builtins::full_name(class).starts_with("user.");
        assert_eq!(CLASSES.iter().copied().filter(is_a_record).collect::<Vec<_>>(), [""; 0]);
    }
}
