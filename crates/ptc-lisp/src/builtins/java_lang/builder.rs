//! `StringBuilder`: a mutable cell that holds a string. Appending to it works in place.

use super::super::{Builtin, args, native};
use super::positions::{byte_at, clamped_byte_at};
use super::strings::{made, text_or_char};
use super::{no_method, whole};
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::{CellKind, CellObj, Shared, Text, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "StringBuilder.",
        "[] [text]",
        new,
        "A mutable string for .append; str gives its text.",
        &[(r#"(str (.append (StringBuilder. "a") "b"))"#, r#""ab""#)],
    ),
    native(
        "StringBuffer.",
        "[] [text]",
        new,
        "A mutable string for .append; str gives its text.",
        &[(r#"(str (StringBuffer. "a"))"#, r#""a""#)],
    ),
    native(
        ".append",
        "[builder x]",
        append,
        "Adds the text of a value at the end; gives the builder.",
        &[(r#"(str (.append (.append (StringBuilder.) "a") 1))"#, r#""a1""#)],
    ),
    native(
        ".insert",
        "[builder index x]",
        |heap, args| {
            let more = shown(heap, &args[2].clone())?;
            let at = whole(args, 1)?;
            change(heap, args, more.len(), |text| {
                let at = byte_at(text, at)?;
                text.insert_str(at, &more);
                Ok(())
            })
        },
        "Adds the text of a value at an index; gives the builder.",
        &[(r#"(str (.insert (StringBuilder. "ac") 1 "b"))"#, r#""abc""#)],
    ),
    native(
        ".reverse",
        "[builder]",
        |heap, args| {
            change(heap, args, 0, |text| {
                *text = text.chars().rev().collect();
                Ok(())
            })
        },
        "Turns the text around; gives the builder.",
        &[(r#"(str (.reverse (StringBuilder. "abc")))"#, r#""cba""#)],
    ),
    native(
        ".deleteCharAt",
        "[builder index]",
        |heap, args| {
            let at = whole(args, 1)?;
            change(heap, args, 0, |text| {
                let from = byte_at(text, at)?;
                if from == text.len() {
                    return byte_at(text, at.saturating_add(1)).map(|_| ());
                }
                text.remove(from);
                Ok(())
            })
        },
        "Takes out the character at an index; gives the builder.",
        &[(r#"(str (.deleteCharAt (StringBuilder. "abc") 1))"#, r#""ac""#)],
    ),
    native(
        ".delete",
        "[builder start end]",
        |heap, args| {
            let (start, end) = (whole(args, 1)?, whole(args, 2)?);
            change(heap, args, 0, |text| {
                let from = byte_at(text, start)?;
                let to = clamped_byte_at(text, end);
                if from > to {
                    return illegal("the start must not lie behind the end");
                }
                text.replace_range(from..to, "");
                Ok(())
            })
        },
        "Takes out the characters from start to before end; gives the builder.",
        &[(r#"(str (.delete (StringBuilder. "abc") 0 2))"#, r#""c""#)],
    ),
    native(
        ".setLength",
        "[builder length]",
        |heap, args| {
            let length = whole(args, 1)?;
            change(heap, args, 0, |text| {
                let end = byte_at(text, length)?;
                text.truncate(end);
                // A text that was long is likely to become so again, but it is not counted now.
                text.shrink_to(4 * end + 256);
                Ok(())
            })?;
            Ok(Value::Nil)
        },
        "Cuts the text off at a length.",
        &[(r#"(let [b (StringBuilder. "abc")] (.setLength b 1) (str b))"#, r#""a""#)],
    ),
];

fn new(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = match args.first() {
        // A number is a capacity, which means nothing here.
        None | Some(Value::Int(_)) => Text::new(""),
        Some(_) => text_or_char(args, 0)?,
    };
    Ok(heap.cell(CellKind::Builder, Value::Str(text), true))
}

fn builder(args: &[Value]) -> Res<&Shared<CellObj>> {
    match &args[0] {
        Value::Cell(cell) if cell.kind == CellKind::Builder => Ok(cell),
        _ => Err(no_method(args, "StringBuilder")),
    }
}

/// The text that `.append` adds for a value.
fn shown(heap: &mut Heap, value: &Value) -> Res<String> {
    match value {
        Value::Nil => Ok("null".into()),
        value => heap.display(value),
    }
}

/// Changes the text of a builder, which may grow by `more` bytes.
fn change(
    heap: &mut Heap,
    args: &mut [Value],
    more: usize,
    change: impl FnOnce(&mut String) -> Res<()>,
) -> Res {
    let cell = builder(args)?.clone();
    let size = cell.state.borrow().value.as_str().map_or(0, str::len);
    made(heap, size + more)?;
    let mut text = cell.state.borrow().value.as_str().unwrap_or_default().to_owned();
    change(&mut text)?;
    cell.state.borrow_mut().value = Value::string(text);
    Ok(args::take(args, 0))
}

fn append(heap: &mut Heap, args: &mut [Value]) -> Res {
    let cell = builder(args)?.clone();
    let more = shown(heap, &args[1].clone())?;
    if let Value::Str(Text::Long(text)) = &cell.state.borrow().value {
        heap.may_take_text(text, more.len())?;
    }
    made(heap, more.len())?;
    let mut state = cell.state.borrow_mut();
    if let Value::Str(text) = std::mem::take(&mut state.value) {
        let mut text = text.into_string();
        text.push_str(&more);
        state.value = Value::Str(Text::growing(text));
    }
    drop(state);
    Ok(args::take(args, 0))
}
