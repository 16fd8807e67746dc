//! Vars: the names of definitions as values. A var is its name and nothing else; values, metadata and
//! watches are the heap's ([`Globals`](crate::globals::Globals)), so that a var sees redefinition. Vars
//! of the core library have qualified names.

use std::rc::Rc;

use super::registry::{Entry, registry};
use super::{Builtin, args, constant, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Name;
use crate::reader::{ReadLimits, read_all};
use crate::signal::Res;
use crate::syntax::{Form, FormKind};
use crate::value::{CellObj, Map, Value};

pub(super) static TABLE: &[Builtin] = &[
    constant(
        "clojure.core/*assert*",
        |_| Value::Bool(true),
        "True: assertions are checked.",
        &[("*assert*", "true")],
    ),
    native(
        "clojure.core/var-get",
        "[var]",
        |heap, args| value(heap, var(args)?),
        "The value a var has now.",
        &[("((var-get #'inc) 1)", "2"), ("(do (def x 1) (var-get #'x))", "1")],
    ),
    native(
        "clojure.core/var-set",
        "[var value]",
        var_set,
        "Sets the value that binding gave a var.",
        &[("(do (def ^:dynamic *x* 1) (binding [*x* 2] (var-set #'*x* 3) *x*))", "3")],
    ),
    native(
        "clojure.core/bound?",
        "[& vars]",
        is_bound,
        "Whether all of the vars have a value.",
        &[("(do (def x 1) (declare y) [(bound? #'x) (bound? #'y)])", "[true false]")],
    ),
    native(
        "clojure.core/thread-bound?",
        "[& vars]",
        is_thread_bound,
        "Whether all of the vars have a value given by binding.",
        &[(
            "(do (def ^:dynamic *x* 1) [(thread-bound? #'*x*) (binding [*x* 2] (thread-bound? #'*x*))])",
            "[false true]",
        )],
    ),
    native(
        "clojure.core/get-thread-bindings",
        "[]",
        bindings,
        "The vars that binding gave values, with these values.",
        &[("(do (def ^:dynamic *x* 1) (binding [*x* 2] (get-thread-bindings)))", "{#'*x* 2}")],
    ),
    native(
        "clojure.core/reset-meta!",
        "[ref meta]",
        reset_meta,
        "Gives an atom or var other metadata and returns it.",
        &[
            ("(let [a (atom 1)] (reset-meta! a {:k 1}) (meta a))", "{:k 1}"),
            ("(do (def x 1) (reset-meta! #'x {:k 1}) (meta #'x))", "{:k 1}"),
        ],
    ),
    native("prim/push-bindings", "[map]", push_bindings, "Gives vars values until they are popped.", &[]),
    native("prim/pop-bindings", "[map]", pop_bindings, "Takes away what push-bindings gave.", &[]),
    native("prim/var-root", "[var]", var_root, "The value of a var behind those of binding.", &[]),
    native("prim/set-var-root", "[var value]", set_var_root, "Sets the value behind those of binding.", &[]),
    native("prim/var-watches", "[var]", |heap, args| Ok(heap.globals.watches(var(args)?)), "Watches.", &[]),
    native("prim/set-var-watches", "[var watches]", set_watches, "Sets the watches of a var.", &[]),
    native("prim/describe-var", "[var meta]", describe_var, "Adds to what the text says about a var.", &[]),
];

/// How often one var may stand for another before that counts as a circle.
const CHAIN: usize = 32;

fn var(args: &[Value]) -> Res<Name> {
    match &args[0] {
        Value::Var(name) => Ok(*name),
        _ => args::fail(args, 0, "a var such as #'name"),
    }
}

/// The builtin that a var of the core library names.
pub(crate) fn builtin(heap: &Heap, name: Name) -> Option<&'static Entry> {
    registry().qualified(heap.names.text(name)).map(|id| registry().get(id))
}

/// The value of a var.
pub(crate) fn value(heap: &Heap, name: Name) -> Res {
    if let Some(value) = heap.globals.find(name) {
        return Ok(value.clone());
    }
    let text = heap.names.text(name);
    match registry().qualified(text) {
        Some(id) => Ok(Value::Builtin(id)),
        None => Err(Error::new(ErrorKind::UnboundVar, format!("{text} has no value yet"))
            .hint(format!("move (def {text} …) before its first use"))
            .into()),
    }
}

/// What a call of a var calls.
pub(crate) fn callee(heap: &Heap, name: Name) -> Res {
    let mut name = name;
    for _ in 0..CHAIN {
        match value(heap, name)? {
            Value::Var(next) => name = next,
            other => return Ok(other),
        }
    }
    Err(Error::new(ErrorKind::NotCallable, format!("{} stands for itself", heap.names.text(name))).into())
}

/// The slot of a var of the program; those of the core library cannot change.
fn slot(heap: &mut Heap, name: Name) -> Res<u32> {
    if builtin(heap, name).is_some() {
        let message = format!("{} is built in and cannot change", heap.names.text(name));
        return Err(Error::new(ErrorKind::Runtime, message).hint("define a name of your own").into());
    }
    Ok(heap.globals.slot(name))
}

fn var_set(heap: &mut Heap, args: &mut [Value]) -> Res {
    let slot = slot(heap, var(args)?)?;
    heap.globals.assign(slot, args[1].clone());
    Ok(args::take(args, 1))
}

fn all_vars(args: &[Value], test: impl Fn(Name) -> bool) -> Res {
    let mut all = true;
    for (at, arg) in args.iter().enumerate() {
        let Value::Var(name) = arg else { return args::fail(args, at, "a var such as #'name") };
        all &= test(*name);
    }
    Ok(Value::Bool(all))
}

fn is_bound(heap: &mut Heap, args: &mut [Value]) -> Res {
    all_vars(args, |name| value(heap, name).is_ok())
}

fn is_thread_bound(heap: &mut Heap, args: &mut [Value]) -> Res {
    let bound = heap.globals.bindings();
    all_vars(args, |name| bound.iter().any(|(known, _)| *known == name))
}

fn bindings(heap: &mut Heap, _: &mut [Value]) -> Res {
    let bound = heap.globals.bindings();
    heap.work(bound.len())?;
    heap.allocated(96 + bound.len() * 2 * size_of::<Value>());
    Ok(Value::map_of(bound.into_iter().map(|(name, value)| (Value::Var(name), value))))
}

/// The vars and values of a map from vars to values.
fn pairs(args: &[Value]) -> Res<Vec<(Name, Value)>> {
    let Value::Map(body) = &args[0] else { return args::fail(args, 0, "a map from vars to values") };
    let pair = |(key, value): (&Value, &Value)| match key {
        Value::Var(name) => Ok((*name, value.clone())),
        _ => args::fail(args, 0, "a map from vars to values"),
    };
    body.iter().map(pair).collect()
}

fn push_bindings(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut slots = Vec::new();
    for (name, value) in pairs(args)? {
        slots.push((slot(heap, name)?, value));
    }
    heap.work(slots.len())?;
    heap.allocated(slots.len() * 2 * size_of::<Value>());
    slots.into_iter().for_each(|(slot, value)| heap.globals.bind(slot, value));
    Ok(Value::Nil)
}

fn pop_bindings(heap: &mut Heap, args: &mut [Value]) -> Res {
    for (name, _) in pairs(args)?.into_iter().rev() {
        let slot = slot(heap, name)?;
        heap.globals.unbind(slot);
    }
    Ok(Value::Nil)
}

fn var_root(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = var(args)?;
    let slot = slot(heap, name)?;
    match heap.globals.root(slot) {
        Value::Unbound => value(heap, name),
        root => Ok(root.clone()),
    }
}

fn set_var_root(heap: &mut Heap, args: &mut [Value]) -> Res {
    let slot = slot(heap, var(args)?)?;
    heap.globals.set_root(slot, args[1].clone());
    Ok(args::take(args, 1))
}

fn set_watches(heap: &mut Heap, args: &mut [Value]) -> Res {
    let slot = slot(heap, var(args)?)?;
    heap.globals.set_watches(slot, args::take(args, 1));
    Ok(Value::Nil)
}

fn as_meta(args: &[Value]) -> Res<Option<Rc<Value>>> {
    match &args[1] {
        Value::Nil => Ok(None),
        Value::Map(_) | Value::Sorted(_) => Ok(Some(Rc::new(args[1].clone()))),
        _ => args::fail(args, 1, "a map or nil"),
    }
}

fn reset_meta(heap: &mut Heap, args: &mut [Value]) -> Res {
    let meta = as_meta(args)?;
    match &args[0] {
        Value::Cell(cell) => reset_cell_meta(cell, meta),
        Value::Var(name) => {
            let slot = slot(heap, *name)?;
            // No metadata at all is an empty map: the text of the definition has nothing to say any more.
            heap.globals.set_meta(slot, Some(meta.unwrap_or_else(|| Value::map_of([]).into())));
        }
        _ => return args::fail(args, 0, "an atom or var"),
    }
    Ok(args::take(args, 1))
}

fn reset_cell_meta(cell: &CellObj, meta: Option<Rc<Value>>) {
    let old = std::mem::replace(&mut cell.state.borrow_mut().meta, meta);
    drop(old);
}

fn describe_var(heap: &mut Heap, args: &mut [Value]) -> Res {
    let name = var(args)?;
    let Value::Map(given) = &args[1] else { return args::fail(args, 1, "a map") };
    let mut table = match meta(heap, name)? {
        Value::Map(body) => body.entries_only(),
        _ => Map::default(),
    };
    for (key, value) in given.iter() {
        table.insert(key.clone(), value.clone());
    }
    heap.allocated(table.bytes());
    let slot = slot(heap, name)?;
    heap.globals.set_meta(slot, Some(Value::Map(table).into()));
    Ok(Value::Nil)
}

/// The metadata of a var: what the program gave it, else what the text of its definition says.
pub(crate) fn meta(heap: &mut Heap, name: Name) -> Res {
    if let Some(meta) = heap.globals.meta(name) {
        return Ok((**meta).clone());
    }
    let facts = match builtin(heap, name) {
        Some(entry) => VarFacts::declared(entry),
        None => match heap.globals.origin(name).map(|origin| origin.text().to_owned()) {
            Some(text) => {
                heap.work(1 + text.len() / 8)?;
                VarFacts::written(&text, heap.names.text(name))
            }
            None => VarFacts::default(),
        },
    };
    facts.into_meta(heap, name)
}

/// The parameter lists, as text, and the docstring that the text of a definition gives a function.
pub(crate) fn described(text: &str, name: &str) -> (Vec<String>, Option<String>) {
    let facts = VarFacts::written(text, name);
    let params = facts.arglists.iter().map(|form| {
        text.get(form.span.start as usize..form.span.end as usize).unwrap_or_default().to_owned()
    });
    (params.collect(), facts.doc)
}

/// What a definition says about itself.
#[derive(Debug, Default)]
struct VarFacts {
    arglists: Vec<Form>,
    doc: Option<String>,
    /// `^:private` and the like, as keys and values.
    marks: Vec<(String, FormKind)>,
}

impl VarFacts {
    fn declared(entry: &Entry) -> Self {
        let arglists = read_all(entry.params(), &ReadLimits::default()).unwrap_or_default();
        VarFacts { arglists, doc: Some(entry.doc().to_owned()), marks: Vec::new() }
    }

    /// Reads the text of the form that defined `name`.
    fn written(text: &str, name: &str) -> Self {
        let forms = read_all(text, &ReadLimits::default()).unwrap_or_default();
        let Some([head, named, rest @ ..]) = forms.first().and_then(Form::as_list) else {
            return VarFacts::default();
        };
        if named.as_symbol() != Some(name) {
            // A method of a protocol.
            let mut methods = rest.iter().filter_map(Form::as_list);
            let found = methods.find(|method| method.first().and_then(Form::as_symbol) == Some(name));
            return found.map_or(VarFacts::default(), |method| VarFacts::of_method(&method[1..]));
        }
        let mut facts = match head.as_symbol() {
            Some("defn" | "defn-") => VarFacts::of_function(rest),
            Some("def" | "defonce") if rest.len() < 2 => VarFacts::default(),
            _ => VarFacts { doc: docstring(rest), ..VarFacts::default() },
        };
        if head.as_symbol() == Some("defn-") {
            facts.marks.push(("private".to_owned(), FormKind::Bool(true)));
        }
        for mark in &named.meta {
            match &mark.kind {
                FormKind::Keyword(key) => facts.marks.push((key.clone(), FormKind::Bool(true))),
                FormKind::Symbol(_) | FormKind::Str(_) => {
                    facts.marks.push(("tag".to_owned(), mark.kind.clone()))
                }
                _ => {}
            }
        }
        facts
    }

    /// `docstring? attributes? [params] body…`, or with several arities.
    fn of_function(parts: &[Form]) -> Self {
        let doc = docstring(parts);
        let mut rest = parts;
        while let [Form { kind: FormKind::Str(_) | FormKind::Map(_), .. }, more @ ..] = rest {
            rest = more;
        }
        let arglists = match rest.first() {
            Some(params) if params.as_vector().is_some() => vec![params.clone()],
            _ => rest.iter().filter_map(|clause| clause.as_list()?.first().cloned()).collect(),
        };
        VarFacts { arglists, doc, marks: Vec::new() }
    }

    /// `[params]… docstring?`
    fn of_method(parts: &[Form]) -> Self {
        let arglists = parts.iter().filter(|part| part.as_vector().is_some()).cloned().collect();
        let doc = parts.last().and_then(|last| docstring(std::slice::from_ref(last)));
        VarFacts { arglists, doc, marks: Vec::new() }
    }

    fn into_meta(self, heap: &mut Heap, name: Name) -> Res {
        let mut pairs = Vec::new();
        if !self.arglists.is_empty() {
            let mut lists = Vec::with_capacity(self.arglists.len());
            for form in &self.arglists {
                lists.push(crate::edn::value_of(form, heap)?);
            }
            pairs.push((heap.keyword("arglists"), Value::list(lists)));
        }
        if let Some(doc) = &self.doc {
            heap.reserve(doc.len())?;
            pairs.push((heap.keyword("doc"), Value::str(doc)));
        }
        for (key, kind) in &self.marks {
            let value = match kind {
                FormKind::Bool(flag) => Value::Bool(*flag),
                FormKind::Symbol(tag) => Value::Sym(heap.intern(tag)),
                FormKind::Str(text) => {
                    heap.reserve(text.len())?;
                    Value::str(text)
                }
                _ => Value::Nil,
            };
            pairs.push((heap.keyword(key), value));
        }
        let full = heap.names.text(name).to_owned();
        let (ns, local) = match crate::names::split_name(&full) {
            (Some(ns), local) => (ns, local),
            (None, local) => ("user", local),
        };
        let (ns, local) = (Value::Sym(heap.intern(ns)), Value::Sym(heap.intern(local)));
        pairs.extend([(heap.keyword("name"), local), (heap.keyword("ns"), ns)]);
        heap.allocated(96 + pairs.len() * 2 * size_of::<Value>());
        Ok(Value::map_of(pairs))
    }
}

/// The docstring that parts of a definition begin with.
fn docstring(parts: &[Form]) -> Option<String> {
    match parts.first().map(|part| &part.kind) {
        Some(FormKind::Str(text)) => Some(text.clone()),
        _ => None,
    }
}
