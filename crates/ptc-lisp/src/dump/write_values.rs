//! Values to bytes.
//!
//! A body that has more than one owner gets a number when it is written and is only named by it
//! afterwards, so what was shared is shared again after loading. Lazy sequences and cells are always
//! named; their contents come later from a queue, because only through them values can form cycles or
//! nest without bound. Everything else nests no deeper than the machine allows, and lists are walked in
//! a loop.

use std::rc::Rc;

use super::format::{self, Tag, cell_number, flag, kind_number, tag_number};
use super::write::Writer;
use crate::builtins::registry;
use crate::error::Error;
use crate::exact::Exact;
use crate::names::Name;
use crate::value::walk::DEEPEST;
use crate::value::{
    CellObj, Closure, ConsObj, Counted, ExObj, Items, Layout, LazyObj, LazyState, Map, Meta, Ordering,
    SeqObj, SetObj, Shape, SortedObj, Text, Value, VecObj,
};

impl Writer<'_> {
    /// Writes a value.
    pub(super) fn value(&mut self, value: &Value) {
        if value.is_scalar() {
            return self.written(value);
        }
        if self.depth > DEEPEST {
            self.too_deep = true;
            return self.tag(Tag::Nil);
        }
        self.depth += 1;
        self.written(value);
        self.depth -= 1;
    }

    fn written(&mut self, value: &Value) {
        match value {
            Value::Unbound => self.tag(Tag::Unbound),
            Value::Nil => self.tag(Tag::Nil),
            Value::Bool(value) => self.tag(if *value { Tag::True } else { Tag::False }),
            Value::Int(int @ 0..128) => self.out.byte(format::SMALL_INT | *int as u8),
            Value::Int(int) => {
                self.tag(Tag::Int);
                self.out.signed(*int);
            }
            Value::Float(float) => {
                self.tag(Tag::Float);
                self.out.raw(&float.to_bits().to_le_bytes());
            }
            Value::Kw(name) => self.named(Tag::Kw, *name),
            Value::Sym(name) => self.named(Tag::Sym, *name),
            Value::Tool(name) => self.named(Tag::Tool, *name),
            Value::Var(name) => self.named(Tag::Var, *name),
            Value::Type(name) => self.named(Tag::Type, *name),
            Value::Builtin(id) => {
                self.tag(Tag::Builtin);
                self.text(registry().get(*id).name);
            }
            Value::Str(text) => self.string(text),
            Value::Vec(body) => self.vector(body),
            Value::Seq(body) => self.seq(body),
            Value::Cons(cell) => self.cons(cell),
            Value::Lazy(lazy) => self.lazy(lazy),
            Value::Map(body) => self.map(body),
            Value::Set(body) => self.set(body),
            Value::Sorted(body) => self.sorted(body),
            Value::Fn(body) => self.closure(body),
            Value::Cell(cell) => self.cell(cell),
            _ => self.other(value),
        }
    }

    fn other(&mut self, value: &Value) {
        match value {
            Value::Big(body) if self.begin(Tag::Big, body) => self.big(body),
            Value::Decimal(body) => match &**body {
                Exact::Decimal(decimal) if self.begin(Tag::Decimal, body) => self.decimal(decimal),
                Exact::Ratio(ratio) if self.begin(Tag::Ratio, body) => self.ratio(ratio),
                _ => {}
            },
            Value::Range(body) if self.begin(Tag::Range, body) => {
                self.out.signed(body.start);
                self.out.signed(body.step);
                self.out.int(body.count);
            }
            Value::Regex(body) if self.begin(Tag::Regex, body) => self.out.text(&body.source),
            Value::Time(body) if self.begin(Tag::Time, body) => self.out.text(&body.to_wire()),
            Value::Reduced(body) if self.begin(Tag::Reduced, body) => self.value(body),
            Value::Ex(body) => self.exception(body),
            Value::Iter(body) if self.begin(Tag::Iter, body) => self.items(&body.borrow()),
            _ => {}
        }
    }

    fn tag(&mut self, tag: Tag) {
        self.out.byte(tag_number(tag));
    }

    fn named(&mut self, tag: Tag, name: Name) {
        self.tag(tag);
        self.name(name);
    }

    /// Writes the tag of a shared body, or the number it was written under before; then it is done.
    fn begin(&mut self, tag: Tag, body: &impl Counted) -> bool {
        if body.owners() == 1 {
            self.tag(tag);
            return true;
        }
        match self.known(body) {
            Some(number) => {
                self.tag(Tag::Again);
                self.out.int(u64::from(number));
                false
            }
            None => {
                self.out.byte(tag_number(tag) | format::SHARED);
                true
            }
        }
    }

    /// The number a body was written under; if there is none yet, it gets the next one.
    pub(super) fn known(&mut self, body: &impl Counted) -> Option<u32> {
        let next = self.slots;
        match self.shared.entry(body.address()) {
            hashbrown::hash_map::Entry::Occupied(known) => Some(*known.get()),
            hashbrown::hash_map::Entry::Vacant(place) => {
                place.insert(next);
                self.slots += 1;
                None
            }
        }
    }

    fn string(&mut self, text: &Text) {
        let first = match text {
            Text::Short(_) => {
                self.tag(Tag::Str);
                true
            }
            Text::Long(body) => self.begin(Tag::Str, body),
        };
        if first {
            self.out.text(text.as_str());
        }
    }

    /// Flags, then the depth if the parts do not show it. What depends on the order in which things were
    /// made is kept, because fuel depends on it.
    fn flags(&mut self, flags: u8, meta: &Meta, shape: Shape, shown: Shape) {
        let deep = shape.depth > shown.depth;
        let lazy = shape.lazy && !shown.lazy;
        let with = |on: bool, bit: u8| if on { bit } else { 0 };
        let flags = flags | with(deep, flag::DEEP) | with(lazy, flag::LAZY);
        self.out.byte(flags | with(meta.is_some(), flag::META));
        if deep {
            self.out.int(u64::from(shape.depth));
        }
    }

    fn meta(&mut self, meta: &Meta) {
        if let Some(meta) = meta {
            self.value(meta);
        }
    }

    fn vector(&mut self, body: &Rc<VecObj>) {
        if self.begin(Tag::Vec, body) {
            let shown = shown(body.items.iter().chain(body.meta.as_deref()));
            let entry = if body.entry { flag::ENTRY } else { 0 };
            self.flags(entry, &body.meta, body.shape, shown);
            self.out.size(body.items.len());
            body.items.iter().for_each(|item| self.value(item));
            self.meta(&body.meta);
        }
    }

    fn seq(&mut self, body: &Rc<SeqObj>) {
        if self.begin(Tag::Seq, body) {
            let list = if body.list { flag::ENTRY } else { 0 };
            let queue = if body.queue { flag::SPECIAL } else { 0 };
            let part = if body.is_tail() { 0 } else { flag::PART };
            self.flags(list | queue | part, &body.meta, Shape::EMPTY, Shape::EMPTY);
            self.out.size(body.offset);
            if part != 0 {
                self.out.size(body.end);
            }
            self.vector(&body.items);
            self.meta(&body.meta);
        }
    }

    fn cons(&mut self, mut cell: &Rc<ConsObj>) {
        loop {
            if !self.begin(Tag::Cons, cell) {
                return;
            }
            let mut shown = shown([&cell.first].into_iter().chain(cell.meta.as_deref()));
            let rest = shown_part(&cell.rest);
            shown.depth = shown.depth.max(rest.depth);
            shown.lazy |= rest.lazy;
            let list = if cell.list { flag::ENTRY } else { 0 };
            self.flags(list, &cell.meta, cell.shape, shown);
            self.value(&cell.first);
            self.meta(&cell.meta);
            match &cell.rest {
                Value::Cons(next) => cell = next,
                rest => return self.value(rest),
            }
        }
    }

    pub(super) fn lazy(&mut self, lazy: &Rc<LazyObj>) {
        if is_whole(lazy) {
            if self.begin(Tag::Realised, lazy)
                && let LazyState::Done(value) = &*lazy.state.borrow()
            {
                // Together they are one level.
                self.written(value);
            }
            return;
        }
        self.tag(Tag::Lazy);
        let number = self.numbered(Rc::as_ptr(lazy) as usize, self.lazies.len());
        if number == self.lazies.len() {
            self.lazies.push(lazy.clone());
        }
        self.out.size(number);
    }

    pub(super) fn cell(&mut self, cell: &Rc<CellObj>) {
        self.tag(Tag::Cell);
        let number = self.numbered(Rc::as_ptr(cell) as usize, self.cells.len());
        self.out.size(number);
        if number == self.cells.len() {
            self.cells.push(cell.clone());
            self.out.byte(cell_number(cell.kind));
        }
    }

    /// The place in the queue of a lazy sequence or cell; `next` if it is new.
    fn numbered(&mut self, at: usize, next: usize) -> usize {
        *self.queued.entry(at).or_insert(next)
    }

    /// Contents of all lazy sequences and cells met so far and of those met on the way.
    pub(super) fn queues(&mut self) {
        let (mut lazies, mut cells) = (0, 0);
        while lazies < self.lazies.len() || cells < self.cells.len() {
            while let Some(lazy) = self.lazies.get(lazies).cloned() {
                match &*lazy.state.borrow() {
                    LazyState::Thunk(thunk) => self.state(format::lazy::THUNK, thunk),
                    LazyState::Running => self.out.byte(format::lazy::RUNNING),
                    LazyState::Done(value) => self.state(format::lazy::DONE, value),
                }
                lazies += 1;
            }
            while let Some(cell) = self.cells.get(cells).cloned() {
                let state = cell.state.borrow();
                let meta = if state.meta.is_some() { flag::META } else { 0 };
                self.out.byte(u8::from(state.ready) << 1 | meta);
                [&state.value, &state.validator, &state.watches]
                    .into_iter()
                    .for_each(|value| self.value(value));
                self.meta(&state.meta);
                cells += 1;
            }
        }
    }

    fn state(&mut self, number: u8, value: &Value) {
        self.out.byte(number);
        self.value(value);
    }

    fn map(&mut self, body: &Map) {
        if self.begin(Tag::Map, body) {
            let pairs = body.iter().flat_map(|(key, value)| [key, value]);
            let shown = shown(pairs.chain(body.meta().as_deref()));
            let record = if body.record().is_some() { flag::SPECIAL } else { 0 };
            self.flags(record, body.meta(), body.shape(), shown);
            if let Some(record) = body.record() {
                self.name(record);
            }
            self.entries(body);
            self.meta(body.meta());
        }
    }

    fn set(&mut self, body: &Rc<SetObj>) {
        if self.begin(Tag::Set, body) {
            let shown = shown(body.table.keys().chain(body.meta.as_deref()));
            self.flags(0, &body.meta, body.shape, shown);
            self.keys(body.table.layout());
            self.meta(&body.meta);
        }
    }

    /// The keys of a map and its values.
    pub(super) fn entries(&mut self, body: &Map) {
        self.keys(body.layout());
        body.values().for_each(|value| self.value(value));
    }

    /// How many keys there are, and the keys; those that several maps or sets share are written once.
    fn keys(&mut self, layout: Option<&Rc<Layout>>) {
        self.out.size(layout.map_or(0, |layout| layout.len()));
        let Some(layout) = layout.filter(|layout| !layout.is_empty()) else { return };
        let known = if Rc::strong_count(layout) > 1 {
            let known = self.known(layout);
            self.out.int(known.map_or(1, |number| u64::from(number) + 2));
            known
        } else {
            self.out.int(0);
            None
        };
        if known.is_none() {
            let keys = layout.keys().iter().filter(|key| !matches!(key, Value::Unbound));
            keys.for_each(|key| self.key(key));
        }
    }

    /// A key must be whole when its table is made again, so lazy sequences in it, which have been
    /// realised, are written as what they hold.
    fn key(&mut self, key: &Value) {
        match super::keys::without_lazy(key) {
            Some(copy) => {
                self.value(&copy);
                // Parts are told apart by where they are, so it must stay there.
                self.copies.push(copy);
            }
            None => self.value(key),
        }
    }

    fn sorted(&mut self, body: &Rc<SortedObj>) {
        if self.begin(Tag::Sorted, body) {
            let (order, function) = match &body.ordering {
                Ordering::Natural => (0, None),
                Ordering::Reverse => (flag::REVERSE, None),
                Ordering::By(function) => (flag::BY, Some(function)),
            };
            let pairs = body.entries.iter().flat_map(|(key, value)| [key, value]);
            let shown = shown(pairs.chain(function).chain(body.meta.as_deref()));
            let set = if body.is_set { flag::SPECIAL } else { 0 };
            self.flags(order | set, &body.meta, body.shape, shown);
            if let Some(function) = function {
                self.value(function);
            }
            self.out.size(body.entries.len());
            for (key, value) in &body.entries {
                self.value(key);
                if !body.is_set {
                    self.value(value);
                }
            }
            self.meta(&body.meta);
        }
    }

    fn closure(&mut self, body: &Rc<Closure>) {
        if self.begin(Tag::Fn, body) {
            let shared = Rc::strong_count(&body.captures) > 1 && !body.captures.is_empty();
            let mut shown = shown(body.captures.iter().chain(body.meta.as_deref()));
            shown.lazy = body.meta.as_ref().is_some_and(|meta| shown_part(meta).lazy);
            let group = if shared { flag::GROUP } else { 0 };
            self.flags(group, &body.meta, body.shape, shown);
            let unit = self.unit_number(body.unit.id);
            self.out.size(unit);
            self.out.int(u64::from(body.func));
            let known = if shared { self.known(&body.captures) } else { None };
            match known {
                Some(number) => self.out.int(u64::from(number) + 1),
                None => {
                    if shared {
                        self.out.int(0);
                    }
                    self.out.size(body.captures.len());
                    body.captures.iter().for_each(|value| self.value(value));
                }
            }
            self.meta(&body.meta);
        }
    }

    pub(super) fn exception(&mut self, body: &Rc<ExObj>) {
        if self.begin(Tag::Ex, body) {
            self.flags(0, &None, body.shape, shown([&body.data, &body.cause]));
            self.error(&body.error);
            self.value(&body.data);
            self.value(&body.cause);
            self.text(body.class);
        }
    }

    pub(super) fn error(&mut self, error: &Error) {
        self.out.byte(kind_number(error.kind));
        self.out.text(&error.message);
        for text in [&error.function, &error.hint, &error.repaired] {
            self.out.option(text.as_ref(), |out, text| out.text(text));
        }
        self.out.option(error.span, |out, span| {
            out.int(u64::from(span.start));
            out.int(u64::from(span.end));
        });
        self.out.size(error.notes.len());
        for (span, note) in &error.notes {
            self.out.int(u64::from(span.start));
            self.out.int(u64::from(span.end));
            self.out.text(note);
        }
    }

    pub(super) fn items(&mut self, items: &Items) {
        use format::items as tag;
        match items {
            Items::Empty => self.out.byte(tag::EMPTY),
            Items::Slice(body, at) => {
                self.out.byte(tag::SLICE);
                self.vector(body);
                self.out.size(*at);
            }
            Items::Part(body, at, end) => {
                self.out.byte(tag::PART);
                self.vector(body);
                self.out.size(*at);
                self.out.size(*end);
            }
            Items::Range(range) => {
                self.out.byte(tag::RANGE);
                self.out.signed(range.start);
                self.out.signed(range.step);
                self.out.int(range.count);
            }
            Items::Map(body, at) => {
                self.out.byte(tag::MAP);
                self.map(body);
                self.out.size(keys_before(body.layout(), *at));
            }
            Items::Set(body, at) => {
                self.out.byte(tag::SET);
                self.set(body);
                self.out.size(keys_before(body.table.layout(), *at));
            }
            Items::Sorted(body, at) => {
                self.out.byte(tag::SORTED);
                self.sorted(body);
                self.out.size(*at);
            }
            Items::Text(text, at) => {
                self.out.byte(tag::TEXT);
                self.string(text);
                self.out.size(*at);
            }
            Items::Chain(value) => {
                self.out.byte(tag::CHAIN);
                self.value(value);
            }
        }
    }
}

/// How many keys stand before a slot: keys that are loaded have no gaps.
fn keys_before(layout: Option<&Rc<Layout>>, slot: usize) -> usize {
    let keys = layout.map_or(&[][..], |layout| layout.keys()).iter().take(slot);
    keys.filter(|key| !matches!(key, Value::Unbound)).count()
}

/// The shape of a part as loading finds it: what hangs behind a lazy sequence mostly comes later.
fn shown_part(value: &Value) -> Shape {
    match value {
        Value::Lazy(lazy) if !is_whole(lazy) => Shape { depth: 1, lazy: true },
        _ if value.is_scalar() => Shape::FLAT,
        _ => value.shape(),
    }
}

fn shown<'v>(parts: impl IntoIterator<Item = &'v Value>) -> Shape {
    let mut shape = Shape::EMPTY;
    for part in parts {
        if !part.is_scalar() {
            let part = shown_part(part);
            shape.depth = shape.depth.max(part.depth.saturating_add(1));
            shape.lazy |= part.lazy;
        }
    }
    shape
}

/// Whether a lazy sequence is realised to its end and nothing in it is lazy, so that it can be written in
/// its place. Long lists are not looked at to their end.
fn is_whole(lazy: &LazyObj) -> bool {
    const LOOKED_AT: usize = 64;
    fn ends(value: &Value) -> bool {
        let mut value = value;
        for _ in 0..LOOKED_AT {
            match value {
                Value::Cons(cell) => value = &cell.rest,
                Value::Lazy(_) => return false,
                _ => return true,
            }
        }
        false
    }
    match &*lazy.state.borrow() {
        LazyState::Done(value) => !value.shape().lazy && ends(value),
        _ => false,
    }
}
