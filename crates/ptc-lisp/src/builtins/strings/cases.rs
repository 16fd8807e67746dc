//! Upper and lower case, and reversal.

use std::borrow::Cow;

use super::super::args::{take, text};
use super::{named, not_text, read, write};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;
use crate::value::text::{Short, characters};

pub(super) fn upper_case(heap: &mut Heap, args: &mut [Value]) -> Res {
    change_case(
        heap,
        args,
        &CaseChange {
            ascii: <[u8]>::make_ascii_uppercase,
            changes: |byte| byte.is_ascii_lowercase(),
            full: str::to_uppercase,
        },
    )
}

pub(super) fn lower_case(heap: &mut Heap, args: &mut [Value]) -> Res {
    change_case(
        heap,
        args,
        &CaseChange {
            ascii: <[u8]>::make_ascii_lowercase,
            changes: |byte| byte.is_ascii_uppercase(),
            full: str::to_lowercase,
        },
    )
}

struct CaseChange {
    /// Changes ASCII text in place.
    ascii: fn(&mut [u8]),
    /// Whether an ASCII byte has another case to go to.
    changes: fn(u8) -> bool,
    /// Changes any text.
    full: fn(&str) -> String,
}

fn change_case(heap: &mut Heap, args: &mut [Value], case: &CaseChange) -> Res {
    let old = named(heap, args, 0)?;
    if !old.is_ascii() {
        write(heap, old.len())?;
        let new = (case.full)(&old);
        // A letter may become three.
        heap.allocated(new.len().saturating_sub(old.len()));
        return Ok(Value::string(new));
    }
    if !old.bytes().any(case.changes) {
        read(heap, old.len())?;
        return Ok(match &args[0] {
            Value::Str(text) => Value::Str(text.clone()),
            _ => Value::string(old.into_owned()),
        });
    }
    write(heap, old.len())?;
    if old.len() <= Short::CAPACITY {
        let mut bytes = [0; Short::CAPACITY];
        let bytes = &mut bytes[..old.len()];
        bytes.copy_from_slice(old.as_bytes());
        (case.ascii)(bytes);
        return Ok(Value::str(std::str::from_utf8(bytes).unwrap_or_default()));
    }
    let copy = match old {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    };
    // A string nobody else holds is changed where it stands.
    let owned = match (copy, take(args, 0)) {
        (Some(text), _) => text,
        (None, Value::Str(text)) => text.into_string(),
        (None, _) => String::new(),
    };
    let mut bytes = owned.into_bytes();
    (case.ascii)(&mut bytes);
    Ok(Value::string(String::from_utf8(bytes).unwrap_or_default()))
}

pub(super) fn capitalize(heap: &mut Heap, args: &mut [Value]) -> Res {
    if matches!(args.first(), Some(Value::Nil)) {
        return Err(not_text(args, 0).into());
    }
    let shown = match &args[0] {
        Value::Str(text) => text.as_str().to_owned(),
        other => heap.display(other)?,
    };
    write(heap, shown.len())?;
    let mut chars = shown.chars();
    let Some(first) = chars.next() else { return Ok(Value::str("")) };
    let mut out: String = first.to_uppercase().collect();
    out.push_str(&chars.as_str().to_lowercase());
    Ok(Value::string(out))
}

pub(super) fn reverse(heap: &mut Heap, args: &mut [Value]) -> Res {
    let old = text(args, 0)?;
    write(heap, old.len())?;
    Ok(Value::string(characters(old).rev().collect()))
}
