//! The options of discovery forms, checked before anybody is asked.

use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::lexical::Query;
use crate::signal::Res;
use crate::value::Value;

/// The most that `apropos` tells.
const MOST_FOUND: usize = 50;

/// What `apropos` looks for.
pub(super) struct AproposQuery {
    pub text: String,
    pub query: Query,
    pub limit: usize,
    /// Whether upstreams that are not loaded yet are to be loaded.
    pub load: bool,
    /// Whether masked namespaces are looked through too.
    pub full: bool,
}

impl AproposQuery {
    /// Reads `(apropos text options?)`.
    pub fn read(heap: &mut Heap, args: &[Value]) -> Res<Self> {
        let text = match &args[0] {
            Value::Str(text) => Some(text.as_str().to_owned()),
            Value::Sym(name) | Value::Kw(name) => Some(heap.names.text(*name).to_owned()),
            _ => None,
        };
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return bad(format!("apropos requires query (non-empty string), got {}", heap.brief(&args[0])));
        };
        let limit = whole(heap, args, "apropos", "limit", 8, (1, MOST_FOUND))?;
        let load = flag(heap, args, "apropos", "load")?;
        let full = flag(heap, args, "apropos", "full")?;
        Ok(AproposQuery { query: Query::new(&text), text, limit, load, full })
    }

    /// The line that says how many more there are, and how to see them.
    pub fn more(&self, left: usize) -> String {
        if self.limit == MOST_FOUND {
            return format!("… {left} more; add a word to the search");
        }
        let limit = self.limit.saturating_add(left).min(MOST_FOUND);
        format!("… {left} more: (apropos {:?} {{:limit {limit}}})", self.text)
    }
}

/// Which part of a list is wanted.
#[derive(Clone, Copy)]
pub(super) struct PageRange {
    pub limit: usize,
    pub offset: usize,
    /// Whether a masked namespace is listed all the same.
    pub full: bool,
}

impl PageRange {
    /// Reads the options of `(dir ref options?)`.
    pub fn read(heap: &mut Heap, args: &[Value]) -> Res<Self> {
        let limit = whole(heap, args, "dir", "limit", 50, (1, 200))?;
        let offset = whole(heap, args, "dir", "offset", 0, (0, usize::MAX))?;
        Ok(PageRange { limit, offset, full: flag(heap, args, "dir", "full")? })
    }

    /// This part of a list.
    pub fn of<T>(self, items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        items.into_iter().skip(self.offset).take(self.limit)
    }
}

/// An option that is true or false, which it is unless told.
pub(super) fn flag(heap: &mut Heap, args: &[Value], form: &str, name: &str) -> Res<bool> {
    match option(heap, args, form, name)? {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(other) => bad(format!("{form} :{name} must be a boolean, got {}", heap.brief(&other))),
    }
}

/// An option, if it is given.
fn option(heap: &mut Heap, args: &[Value], form: &str, name: &str) -> Res<Option<Value>> {
    let key = heap.keyword(name);
    match args.get(1) {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Map(body)) => {
            let found = body.get(&key).or_else(|| body.get(&Value::str(name)));
            Ok(found.filter(|value| !value.is_nil()).cloned())
        }
        Some(other) => bad(format!("{form} takes its options as a map, got {}", heap.brief(other))),
    }
}

fn whole(
    heap: &mut Heap,
    args: &[Value],
    form: &str,
    name: &str,
    default: usize,
    (least, most): (usize, usize),
) -> Res<usize> {
    let Some(given) = option(heap, args, form, name)? else { return Ok(default) };
    let number = match &given {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    };
    match number.filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(number),
        None if most == usize::MAX => {
            bad(format!("{form} :{name} must be a non-negative integer, got {}", heap.brief(&given)))
        }
        None => {
            let given = heap.brief(&given);
            bad(format!("{form} :{name} must be an integer {least}..{most}, got {given}"))
        }
    }
}

fn bad<T>(message: String) -> Res<T> {
    Err(Error::new(ErrorKind::IllegalArgument, message).into())
}
