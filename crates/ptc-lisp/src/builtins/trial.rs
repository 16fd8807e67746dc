//! A little evaluator for tests of natives: calls of builtins on literal arguments, nothing else.

use super::testing::heap;
use super::{Builtin, Run, registry};
use crate::edn;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::reader::{ReadLimits, read_all};
use crate::signal::Signal;
use crate::syntax::{Form, FormKind};
use crate::value::{Table, Value};

/// What `source` evaluates to, printed; an error as `error: kind`.
pub(super) fn shown(source: &str) -> String {
    let mut heap = heap();
    match eval_text(source, &mut heap) {
        Ok(value) => heap.show(&value),
        Err(error) => format!("error: {}", error.kind.reason()),
    }
}

/// Checks that every program gives what stands beside it.
pub(super) fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(source, expected)| {
            let got = shown(source);
            (got != *expected).then(|| format!("{source}\n  gives {got}\n  not   {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks the examples of a family, as far as they call only natives.
pub(super) fn check_examples(table: &[Builtin]) {
    for builtin in table {
        for (source, expected) in builtin.examples {
            let got = shown(source);
            assert!(got == *expected || got == "error: unbound_var", "{source} gives {got}, not {expected}");
        }
    }
}

pub(super) fn eval_text(source: &str, heap: &mut Heap) -> Result<Value, Error> {
    let forms = read_all(source, &ReadLimits::default())?;
    forms.iter().try_fold(Value::Nil, |_, form| eval(form, heap))
}

fn eval(form: &Form, heap: &mut Heap) -> Result<Value, Error> {
    match &form.kind {
        FormKind::List(forms) if !forms.is_empty() => call(forms, heap),
        FormKind::Vector(forms) => Ok(Value::vector(eval_all(forms, heap)?)),
        FormKind::Set(forms) => Ok(Value::set_of(eval_all(forms, heap)?)),
        FormKind::Map(forms) => {
            let values = eval_all(forms, heap)?;
            let pairs = values.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
            Ok(Value::map(pairs.collect::<Table<Value>>()))
        }
        FormKind::Regex(source) => {
            let matcher = crate::regex::Matcher::compile(source)?;
            Ok(Value::Regex(crate::value::RegexObj { source: source.clone(), matcher }.into()))
        }
        FormKind::Quote(inner) => edn::value_of(inner, heap),
        FormKind::Symbol(name) => {
            let id = find(name)?;
            match registry().get(id).decl.run {
                Run::Const(value) => Ok(value(heap)),
                _ => Ok(Value::Builtin(id)),
            }
        }
        _ => edn::value_of(form, heap),
    }
}

fn eval_all(forms: &[Form], heap: &mut Heap) -> Result<Vec<Value>, Error> {
    forms.iter().map(|form| eval(form, heap)).collect()
}

fn find(name: &str) -> Result<super::BuiltinId, Error> {
    let name = name.replace("str/", "clojure.string/").replace("edn/", "clojure.edn/");
    let name = name.replace("clojure.clojure.", "clojure.");
    registry()
        .qualified(&name)
        .or_else(|| registry().unqualified(&name))
        .ok_or_else(|| Error::new(ErrorKind::UnboundVar, name))
}

fn call(forms: &[Form], heap: &mut Heap) -> Result<Value, Error> {
    let head = forms[0].as_symbol().unwrap_or_default();
    let entry = registry().get(find(head)?);
    let mut args = eval_all(&forms[1..], heap)?;
    if !entry.arity.accepts(args.len()) {
        return Err(Error::new(ErrorKind::Arity, head));
    }
    let Run::Native(run) = entry.decl.run else { return Err(Error::new(ErrorKind::UnboundVar, head)) };
    run(heap, &mut args).map_err(|signal| match *signal {
        Signal::Raise(error) => error,
        Signal::Reclaim(_) => Error::new(ErrorKind::MemoryExceeded, "no room"),
        other => Error::new(ErrorKind::Runtime, format!("{other:?}")),
    })
}
