//! The shortcuts through `update` and `update-in`, for functions that natives know and values that are no
//! collections: counters and sums by key.

use super::known::Known;
use super::maps::ENTRY;
use super::pure::native_of;
use super::quick::NOT_FOR_ME;
use super::vectors::BODY;
use super::{NativeFn, args, lookup};
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::Value;

/// What stands where nothing is.
const NIL: &Value = &Value::Nil;

/// Longer paths are left to the function: they are walked on the native stack.
const LONGEST: usize = 16;

/// `(update m k f & args)`
pub(super) fn update(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [coll, key, function, more @ ..] = args else { return Ok(NOT_FOR_ME) };
    changed(heap, coll, std::slice::from_ref(key), function, more)
}

/// `(update-in m ks f & args)`
pub(super) fn update_in(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [coll, path, function, more @ ..] = args else { return Ok(NOT_FOR_ME) };
    let path = match path {
        Value::Vec(body) => &body.items[..],
        Value::Seq(body) => body.as_slice(),
        _ => return Ok(NOT_FOR_ME),
    };
    changed(heap, coll, path, function, more)
}

/// A function of a value and more arguments.
enum UpdateFn {
    /// A builtin, and what it has in place of nil.
    Native(NativeFn, Value),
    /// A function of the value alone.
    Known(Known),
}

impl UpdateFn {
    fn of(heap: &Heap, function: &Value, more: usize) -> Option<UpdateFn> {
        match function {
            Value::Builtin(id) => native_of(*id, 1 + more).map(|run| UpdateFn::Native(run, Value::Nil)),
            Value::Fn(body) if is_core(body.unit.id) => {
                if body.unit.function_name(body.func) != Some("fnil") {
                    return None;
                }
                match &*body.captures {
                    [Value::Builtin(id), default] if !default.is_nil() => {
                        native_of(*id, 1 + more).map(|run| UpdateFn::Native(run, default.clone()))
                    }
                    _ => None,
                }
            }
            _ if more == 0 => Known::of(heap, function).map(UpdateFn::Known),
            _ => None,
        }
    }

    fn apply(&mut self, heap: &mut Heap, old: &Value, more: &[Value]) -> Res {
        match self {
            UpdateFn::Native(run, default) => {
                let old = if old.is_nil() { default } else { old };
                match more {
                    [] => run(heap, &mut [old.clone()]),
                    [a] => run(heap, &mut [old.clone(), a.clone()]),
                    more => {
                        let all: Vec<Value> = std::iter::once(old).chain(more).cloned().collect();
                        run(heap, &mut { all })
                    }
                }
            }
            UpdateFn::Known(known) => {
                heap.work(known.cost())?;
                Ok(known.apply(heap, old)?.into_owned())
            }
        }
    }
}

fn changed(heap: &mut Heap, coll: &mut Value, path: &[Value], function: &Value, more: &[Value]) -> Res {
    // A key in the place of its collection: the function would be blamed for the nil that stands nowhere.
    if matches!(coll, Value::Kw(_) | Value::Str(_)) {
        return args::fail(std::slice::from_ref(coll), 0, "a map, vector or nil");
    }
    if path.is_empty() || path.len() > LONGEST || path.iter().any(|key| key.shape().lazy) {
        return Ok(NOT_FOR_ME);
    }
    let Some(mut change) = UpdateFn::of(heap, function, more.len()) else { return Ok(NOT_FOR_ME) };
    heap.work(path.len())?;
    if let Some(slot) = own_slot(coll, path).filter(|slot| slot.is_scalar()) {
        let Ok(new) = change.apply(heap, slot, more) else { return Ok(NOT_FOR_ME) };
        if new.is_scalar() {
            *slot = new;
        } else {
            place(coll, path, new);
        }
        return Ok(std::mem::take(coll));
    }
    let Some(old) = look(heap, coll, path)? else { return Ok(NOT_FOR_ME) };
    // A collection would be copied here, since it stays where it is; the function takes it out.
    if !old.is_scalar() {
        return Ok(NOT_FOR_ME);
    }
    let Ok(new) = change.apply(heap, &old, more) else { return Ok(NOT_FOR_ME) };
    let mut coll = std::mem::take(coll);
    place(&mut coll, path, new);
    Ok(coll)
}

/// The place at the end of a path through maps that are all there and that nobody else has.
fn own_slot<'c>(coll: &'c mut Value, path: &[Value]) -> Option<&'c mut Value> {
    path.iter().try_fold(coll, |here, key| match here {
        Value::Map(body) => body.own_slot(key),
        _ => None,
    })
}

/// The value at the end of a path through maps, and room for the copies that a change takes; nothing if
/// the path leads through other things or is spelled differently.
fn look(heap: &mut Heap, coll: &Value, path: &[Value]) -> Res<Option<Value>> {
    let mut shared = false;
    let mut bytes = 0;
    let mut here = coll;
    for key in path {
        match here {
            Value::Nil => {
                bytes += BODY + ENTRY;
                continue;
            }
            Value::Map(body) => {
                shared |= !body.is_own();
                if shared {
                    heap.work(body.len())?;
                    bytes += BODY + body.len() * ENTRY;
                }
                here = match body.get(key) {
                    Some(value) => value,
                    None if lookup::in_map(body, key, &heap.names).is_some() => return Ok(None),
                    None => {
                        bytes += ENTRY;
                        NIL
                    }
                };
            }
            _ => return Ok(None),
        }
    }
    let old = here.clone();
    heap.reserve(bytes)?;
    Ok(Some(old))
}

/// Puts a value at the end of a path that [`look`] has gone. Paths are short, and so deep it recurses.
fn place(here: &mut Value, path: &[Value], new: Value) {
    let [key, rest @ ..] = path else {
        *here = new;
        return;
    };
    match here {
        Value::Map(body) => {
            body.change(key, |slot| place(slot, rest, new));
        }
        _ => {
            let mut inner = Value::Nil;
            place(&mut inner, rest, new);
            *here = Value::map_of([(key.clone(), inner)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::check;

    #[test]
    fn counters_and_sums_give_what_calls_give() {
        check(&[
            ("(update {:a 1} :a inc)", "{:a 2}"),
            ("(update {:a 1} :b (fnil inc 0))", "{:a 1, :b 1}"),
            ("(update {} :n (fnil + 0) 5)", "{:n 5}"),
            ("(update nil :n (fnil + 0 10) 5)", "{:n 5}"),
            ("(update {:a 1} :a + 1 2 3)", "{:a 7}"),
            ("(update {\"a\" 1} :a (fnil inc 0))", "{\"a\" 2}"),
            ("(update {:n 2} :n #(* % %))", "{:n 4}"),
            ("(update {:a nil} :a str)", "{:a \"\"}"),
            ("(update {:a [1]} :a count)", "{:a 1}"),
            ("(update [1 2] 1 inc)", "[1 3]"),
            ("(update {:a 1} :a + :b)", "error: type_error"),
            ("(update 5 :a inc)", "error: type_error"),
            ("(update-in {} [:a :b] (fnil inc 0))", "{:a {:b 1}}"),
            ("(update-in {:a {:b 1 :c 2}} [:a :b] + 5)", "{:a {:b 6, :c 2}}"),
            ("(update-in {\"a\" {:b 1}} [:a :b] inc)", "{\"a\" {:b 2}}"),
            ("(update-in {nil 1} [] inc)", "{nil 2}"),
            ("(update-in {:a 1} [:a :b] inc)", "error: type_error"),
            ("(update-in {:a {:b [1]}} [:a :b] conj 2)", "{:a {:b [1 2]}}"),
            ("(let [m {:a {:b 1}} n (update-in m [:a :b] inc)] [m n])", "[{:a {:b 1}} {:a {:b 2}}]"),
            (
                "(let [in {:b 1} m {:a in} n (update-in m [:a :b] inc)] [in m n])",
                "[{:b 1} {:a {:b 1}} {:a {:b 2}}]",
            ),
            ("(meta (update (with-meta {:a 1} {:m 1}) :a inc))", "{:m 1}"),
        ]);
    }
}
