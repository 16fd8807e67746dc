//! What the host lends a program: the journal of `task`, plan steps, the remaining budget.

use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;
use crate::value::extent::extent;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "budget/remaining",
        "[]",
        remaining,
        "The budget that is left, as the host told it; {} if it did not.",
        &[("(budget/remaining)", "{}")],
    ),
    native("prim/task-get", "[id]", task_get, "The journal's result for a task, or the missing marker.", &[]),
    native("prim/task-put", "[id value]", task_put, "Puts a result into the journal and returns it.", &[]),
    native("prim/task-reset", "[id]", task_reset, "Forgets a task.", &[]),
    native("prim/step-done", "[id summary]", step_done, "Notes that a step of the plan is done.", &[]),
    native("prim/realised", "[x]", realised, "The value with every lazy sequence in it realised.", &[]),
    native(
        "prim/global-hierarchy",
        "[]",
        global_hierarchy,
        "The atom that holds the machine's hierarchy.",
        &[],
    ),
    native("prim/missing", "[]", missing, "The marker for a missing value.", &[]),
];

fn remaining(heap: &mut Heap, _: &mut [Value]) -> Res {
    Ok(heap.budget.clone())
}

fn task_id(args: &[Value]) -> Res<Value> {
    match &args[0] {
        id @ Value::Str(_) => Ok(id.clone()),
        other => Err(Error::new(
            ErrorKind::Type,
            format!("a task needs a string as its id, got {}", other.type_name()),
        )
        .into()),
    }
}

fn task_get(heap: &mut Heap, args: &mut [Value]) -> Res {
    let id = task_id(args)?;
    Ok(heap.journal.get(&id).cloned().unwrap_or(Value::Unbound))
}

/// Bytes of an entry of the journal beside its id and its value.
const ENTRY: usize = 96;

fn task_put(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[1])?;
    let id = task_id(args)?;
    admit(heap, &id, &args[1])?;
    heap.allocated(ENTRY);
    heap.journal.insert(id, args[1].clone());
    Ok(args::take(args, 1))
}

/// The journal leaves the machine as JSON, all of it at once, so a result must fit beside those that are there.
fn admit(heap: &mut Heap, id: &Value, value: &Value) -> Res<()> {
    let limit = heap.limits.output_bytes;
    let others = heap.journal.iter().filter(|(other, _)| other.as_str() != id.as_str());
    let mut bytes = 0usize;
    for value in others.flat_map(|(id, value)| [id, value]).chain([id, value]) {
        let found = extent(value, &heap.names, limit.saturating_sub(bytes));
        bytes = bytes.saturating_add(found.map_err(|found| found.error("the result of the task"))?);
        if bytes > limit {
            break;
        }
    }
    heap.work(bytes / 64)?;
    if bytes <= limit {
        return Ok(());
    }
    let message = format!("the results of all tasks would be more than {limit} bytes of text");
    let error = Error::new(ErrorKind::OutputExceeded, message);
    Err(error.hint("let a task give less: a count, a summary, or the first few with take").into())
}

fn task_reset(heap: &mut Heap, args: &mut [Value]) -> Res {
    let id = task_id(args)?;
    heap.journal.remove(&id);
    Ok(Value::Nil)
}

fn step_done(heap: &mut Heap, args: &mut [Value]) -> Res {
    let id = match &args[0] {
        Value::Str(_) | Value::Int(_) | Value::Kw(_) => heap.display(&args[0])?,
        _ => return args::fail(args, 0, "a string or number"),
    };
    let summary = args::text(args, 1)?;
    heap.steps.check(&id, summary)?;
    heap.work(summary.len() / 8)?;
    heap.reserve(id.len() + summary.len() + size_of::<(String, String)>())?;
    heap.steps.push(id, summary.to_owned());
    Ok(args::take(args, 1))
}

fn realised(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    Ok(args::take(args, 0))
}

fn global_hierarchy(heap: &mut Heap, _: &mut [Value]) -> Res {
    Ok(heap.hierarchy())
}

fn missing(_: &mut Heap, _: &mut [Value]) -> Res {
    Ok(Value::Unbound)
}
