//! Values from bytes; the counterpart of `write_values.rs`.

use std::rc::Rc;

use super::DumpError;
use super::bytes::Read;
use super::format::{self, Tag, cell_kind, error_kind, flag, tag_number, tag_of};
use super::read::{BodySlot, Reader};
use crate::builtins::exceptions::class_named;
use crate::error::Error;
use crate::regex::Matcher;
use crate::span::Span;
use crate::value::walk::DEEPEST;
use crate::value::{
    CellObj, CellState, Closure, ConsObj, ExObj, Items, Layout, LazyObj, LazyState, Map, Meta, Ordering,
    RangeObj, RegexObj, SeqObj, SetObj, Shape, SortedObj, Stamp, Table, Time, Value, VecObj,
};

/// The flags of a container and its depth, if the parts do not show it.
struct ContainerFlags {
    bits: u8,
    depth: u16,
}

impl ContainerFlags {
    fn has(&self, bit: u8) -> bool {
        self.bits & bit != 0
    }

    /// The shape of a container of these parts.
    fn shape<'v>(&self, parts: impl IntoIterator<Item = &'v Value>) -> Read<Shape> {
        let mut shape = Shape::of(parts);
        shape.depth = shape.depth.max(self.depth);
        shape.lazy |= self.has(flag::LAZY);
        if shape.depth > DEEPEST { Err(DumpError::TooDeep) } else { Ok(shape) }
    }
}

/// A cell of a list whose rest is not read yet.
struct OpenCons {
    slot: Option<usize>,
    flags: ContainerFlags,
    first: Value,
    meta: Meta,
}

impl Reader<'_> {
    /// Reads a value.
    pub(super) fn value(&mut self) -> Read<Value> {
        let byte = self.input.byte()?;
        self.value_from(byte)
    }

    fn value_from(&mut self, byte: u8) -> Read<Value> {
        if byte & format::SMALL_INT != 0 {
            return Ok(Value::Int(i64::from(byte & !format::SMALL_INT)));
        }
        let tag = tag_of(byte & !format::SHARED)?;
        let slot = self.open_slot(byte);
        if self.depth > DEEPEST {
            return Err(DumpError::TooDeep);
        }
        self.depth += 1;
        let value = self.tagged(tag)?;
        self.depth -= 1;
        self.fill(slot, &value);
        Ok(value)
    }

    /// A place for a body that will be referred to again.
    fn open_slot(&mut self, byte: u8) -> Option<usize> {
        (byte & format::SHARED != 0).then(|| {
            self.slots.push(BodySlot::Open);
            self.slots.len() - 1
        })
    }

    fn fill(&mut self, slot: Option<usize>, value: &Value) {
        if let Some(slot) = slot {
            self.slots[slot] = BodySlot::Value(value.clone());
        }
    }

    /// Reads what follows a tag. Going through a pointer keeps the stack frame of this step small,
    /// which is what a deep value needs.
    fn tagged(&mut self, tag: Tag) -> Read<Value> {
        let read: fn(&mut Self) -> Read<Value> = match tag {
            Tag::Vec => |reader| reader.vector().map(Value::Vec),
            Tag::Seq => Self::seq,
            Tag::Cons => Self::cons,
            Tag::Map => |reader| reader.map().map(Value::Map),
            Tag::Set => |reader| reader.set().map(Value::Set),
            Tag::Sorted => |reader| reader.sorted().map(Value::Sorted),
            Tag::Fn => Self::closure,
            Tag::Realised => Self::realised,
            Tag::Ex => |reader| reader.exception().map(Value::Ex),
            Tag::Reduced => |reader| Ok(Value::Reduced(Rc::new(reader.value()?))),
            Tag::Iter => |reader| Ok(Value::Iter(Rc::new(reader.items()?.into()))),
            leaf => return self.leaf(leaf),
        };
        read(self)
    }

    /// Reads a value that holds no others, or names what is read elsewhere.
    fn leaf(&mut self, tag: Tag) -> Read<Value> {
        Ok(match tag {
            Tag::Unbound => Value::Unbound,
            Tag::Nil => Value::Nil,
            Tag::False => Value::Bool(false),
            Tag::True => Value::Bool(true),
            Tag::Int => Value::Int(self.input.signed()?),
            Tag::Float => Value::Float(self.float()?),
            Tag::Kw => Value::Kw(self.name()?),
            Tag::Sym => Value::Sym(self.name()?),
            Tag::Tool => Value::Tool(self.name()?),
            Tag::Var => Value::Var(self.name()?),
            Tag::Type => Value::Type(self.name()?),
            Tag::Builtin => Value::Builtin(self.builtin()?),
            Tag::Str => Value::str(self.input.text()?),
            Tag::Big => Value::wide(self.big()?),
            Tag::Decimal => Value::decimal(self.decimal()?),
            Tag::Ratio => Value::decimal(self.ratio()?),
            Tag::Again => self.again()?,
            Tag::Range => Value::Range(Rc::new(self.range()?)),
            Tag::Lazy => Value::Lazy(self.lazy()?),
            Tag::Cell => Value::Cell(self.cell()?),
            Tag::Regex => self.regex()?,
            Tag::Time => {
                let time = Time::from_wire(self.input.text()?);
                Value::time(time.ok_or(DumpError::damaged("a date does not read"))?)
            }
            _ => return Err(DumpError::damaged("a value is not where it should be")),
        })
    }

    fn again(&mut self) -> Read<Value> {
        match self.slots.get(self.input.small::<usize>()?) {
            Some(BodySlot::Value(value)) => Ok(value.clone()),
            _ => Err(DumpError::damaged("a value refers to one that is not there")),
        }
    }

    fn flags(&mut self, known: u8) -> Read<ContainerFlags> {
        let bits = self.input.byte()?;
        if bits & !(known | flag::META | flag::DEEP | flag::LAZY) != 0 {
            return Err(DumpError::damaged("a value has unknown flags"));
        }
        let depth = if bits & flag::DEEP != 0 { self.input.small()? } else { 0 };
        Ok(ContainerFlags { bits, depth })
    }

    fn meta(&mut self, flags: &ContainerFlags) -> Read<Meta> {
        Ok(if flags.has(flag::META) { Some(Rc::new(self.value()?)) } else { None })
    }

    fn vector(&mut self) -> Read<Rc<VecObj>> {
        let flags = self.flags(flag::ENTRY)?;
        let items = self.listed(Reader::value)?;
        let meta = self.meta(&flags)?;
        let shape = flags.shape(items.iter().chain(meta.as_deref()))?;
        Ok(Rc::new(VecObj { items, entry: flags.has(flag::ENTRY), shape, meta, stamp: Stamp::new() }))
    }

    /// A part that is one level together with what it is part of.
    fn same_level(&mut self) -> Read<Value> {
        self.depth = self.depth.saturating_sub(1);
        let value = self.value()?;
        self.depth += 1;
        Ok(value)
    }

    fn realised(&mut self) -> Read<Value> {
        let value = self.same_level()?;
        if value.shape().lazy || matches!(value, Value::Lazy(_)) {
            return Err(DumpError::damaged("a lazy sequence is not realised"));
        }
        let lazy = Rc::new(LazyObj { state: LazyState::Done(value).into(), stamp: Stamp::new() });
        self.machine.heap.lazies.push(lazy.clone());
        Ok(Value::Lazy(lazy))
    }

    /// The array of a sequence, which other sequences and vectors may share.
    fn array(&mut self) -> Read<Rc<VecObj>> {
        match self.same_level()? {
            Value::Vec(body) => Ok(body),
            _ => Err(DumpError::damaged("an array is expected")),
        }
    }

    fn seq(&mut self) -> Read<Value> {
        let flags = self.flags(flag::ENTRY | flag::SPECIAL | flag::PART)?;
        let offset = self.input.small()?;
        let end = if flags.has(flag::PART) { Some(self.input.small()?) } else { None };
        let items = self.array()?;
        let end = end.unwrap_or(items.items.len());
        // A queue grows at its end, which must be that of its array.
        let part = end < items.items.len();
        if offset > end || end > items.items.len() || (part && flags.has(flag::SPECIAL)) {
            return Err(DumpError::damaged("a sequence goes beyond its array"));
        }
        let meta = self.meta(&flags)?;
        let (list, queue) = (flags.has(flag::ENTRY), flags.has(flag::SPECIAL));
        Ok(Value::Seq(Rc::new(SeqObj { items, offset, end, list, queue, meta, stamp: Stamp::new() })))
    }

    fn cons(&mut self) -> Read<Value> {
        let mut cells = vec![self.open_cons(None)?];
        let mut rest = loop {
            let byte = self.input.byte()?;
            if byte & !format::SHARED != tag_number(Tag::Cons) {
                break self.value_from(byte)?;
            }
            let slot = self.open_slot(byte);
            cells.push(self.open_cons(slot)?);
        };
        for OpenCons { slot, flags, first, meta } in cells.into_iter().rev() {
            let mut shape = flags.shape([&first].into_iter().chain(meta.as_deref()))?;
            let after = rest.shape();
            shape.depth = shape.depth.max(after.depth);
            shape.lazy |= after.lazy;
            rest = Value::Cons(Rc::new(ConsObj {
                first,
                rest,
                list: flags.has(flag::ENTRY),
                shape,
                meta,
                stamp: Stamp::new(),
            }));
            self.fill(slot, &rest);
        }
        Ok(rest)
    }

    fn open_cons(&mut self, slot: Option<usize>) -> Read<OpenCons> {
        let flags = self.flags(flag::ENTRY)?;
        let first = self.value()?;
        let meta = self.meta(&flags)?;
        Ok(OpenCons { slot, flags, first, meta })
    }

    fn range(&mut self) -> Read<RangeObj> {
        let range =
            RangeObj { start: self.input.signed()?, step: self.input.signed()?, count: self.input.int()? };
        let last =
            i128::from(range.start) + i128::from(range.step) * i128::from(range.count.saturating_sub(1));
        if range.step == 0 || range.count == 0 || i64::try_from(last).is_err() {
            return Err(DumpError::damaged("a range has no end"));
        }
        Ok(range)
    }

    pub(super) fn lazy(&mut self) -> Read<Rc<LazyObj>> {
        let number = self.input.small::<usize>()?;
        if number == self.lazies.len() {
            self.lazies.push(Rc::new(LazyObj { state: LazyState::Running.into(), stamp: Stamp::new() }));
        }
        let known = self.lazies.get(number).cloned();
        known.ok_or(DumpError::damaged("a lazy sequence is missing"))
    }

    pub(super) fn cell(&mut self) -> Read<Rc<CellObj>> {
        let number = self.input.small::<usize>()?;
        if number == self.cells.len() {
            let kind = cell_kind(self.input.byte()?)?;
            let state = CellState {
                value: Value::Nil,
                ready: false,
                validator: Value::Nil,
                watches: Value::Nil,
                meta: None,
            };
            self.cells.push(Rc::new(CellObj { kind, state: state.into(), stamp: Stamp::new() }));
        }
        self.cells.get(number).cloned().ok_or(DumpError::damaged("a cell is missing"))
    }

    /// Contents of all lazy sequences and cells met so far and of those met on the way.
    pub(super) fn queues(&mut self) -> Read {
        let (mut lazies, mut cells) = (0, 0);
        while lazies < self.lazies.len() || cells < self.cells.len() {
            while let Some(lazy) = self.lazies.get(lazies).cloned() {
                let state = match self.input.byte()? {
                    format::lazy::THUNK => LazyState::Thunk(self.value()?),
                    format::lazy::RUNNING => LazyState::Running,
                    format::lazy::DONE => LazyState::Done(self.value()?),
                    other => return Err(DumpError::unknown("state of a lazy sequence", other)),
                };
                *lazy.state.borrow_mut() = state;
                lazies += 1;
            }
            while let Some(cell) = self.cells.get(cells).cloned() {
                self.contents(&cell)?;
                cells += 1;
            }
        }
        self.settle_chains()
    }

    fn contents(&mut self, cell: &CellObj) -> Read {
        let bits = self.input.byte()?;
        if bits > 3 {
            return Err(DumpError::damaged("a cell has unknown flags"));
        }
        let (value, validator, watches) = (self.value()?, self.value()?, self.value()?);
        let meta = if bits & flag::META != 0 { Some(Rc::new(self.value()?)) } else { None };
        let state = CellState { value, ready: bits & 2 != 0, validator, watches, meta };
        *cell.state.borrow_mut() = state;
        Ok(())
    }

    /// A lazy sequence may stand for another one. Each is made to stand for the last of its chain, so
    /// that nothing has to follow chains; one that comes back to itself is refused.
    fn settle_chains(&mut self) -> Read {
        fn next(lazy: &Rc<LazyObj>) -> Option<Rc<LazyObj>> {
            match &*lazy.state.borrow() {
                LazyState::Done(Value::Lazy(next)) => Some(next.clone()),
                _ => None,
            }
        }
        let most = self.lazies.len();
        for lazy in &self.lazies {
            let mut chain = Vec::new();
            let mut last = lazy.clone();
            while let Some(further) = next(&last) {
                chain.push(std::mem::replace(&mut last, further));
                if chain.len() > most {
                    return Err(DumpError::damaged("a lazy sequence stands for itself"));
                }
            }
            for lazy in chain {
                *lazy.state.borrow_mut() = LazyState::Done(Value::Lazy(last.clone()));
            }
        }
        Ok(())
    }

    /// Reads keys, if there are any. They must be whole: what hangs behind a lazy sequence is read later.
    fn keys(&mut self) -> Read<Option<Rc<Layout>>> {
        // Keys that other maps and sets have too are not written again, so this may be more than the bytes that follow.
        let count = self.input.small::<usize>()?;
        if count == 0 {
            return Ok(None);
        }
        let layout = match self.input.small::<usize>()? {
            0 => self.layout(count)?,
            1 => {
                let slot = self.slots.len();
                self.slots.push(BodySlot::Open);
                let layout = self.layout(count)?;
                self.slots[slot] = BodySlot::Layout(layout.clone());
                layout
            }
            number => match self.slots.get(number - 2) {
                Some(BodySlot::Layout(layout)) => layout.clone(),
                _ => return Err(DumpError::damaged("the keys of a map are missing")),
            },
        };
        if layout.slots() != count || layout.len() != count {
            return Err(DumpError::damaged("a map has no value for a key"));
        }
        Ok(Some(layout))
    }

    /// Reads keys and the value of each.
    pub(super) fn entries(&mut self) -> Read<Map> {
        let Some(layout) = self.keys()? else { return Ok(Map::default()) };
        self.input.holds(layout.len())?;
        let mut values = self.make_room(layout.len());
        for _ in 0..layout.len() {
            values.push(self.value()?);
        }
        Map::row(layout, values).ok_or(DumpError::damaged("a map has no value for a key"))
    }

    fn layout(&mut self, count: usize) -> Read<Rc<Layout>> {
        self.input.holds(count)?;
        let mut keys = self.make_room(count);
        for _ in 0..count {
            let key = self.value()?;
            if matches!(key, Value::Unbound) || key.shape().lazy {
                return Err(DumpError::damaged("a key is not a value"));
            }
            keys.push((key, ()));
        }
        let keys: Table<()> = keys.into_iter().collect();
        keys.layout().cloned().ok_or(DumpError::damaged("a map has no keys"))
    }

    fn map(&mut self) -> Read<Map> {
        let flags = self.flags(flag::SPECIAL)?;
        let record = if flags.has(flag::SPECIAL) { Some(self.name()?) } else { None };
        let mut map = self.entries()?;
        let meta = self.meta(&flags)?;
        let pairs = map.iter().flat_map(|(key, value)| [key, value]);
        let shape = flags.shape(pairs.chain(meta.as_deref()))?;
        if record.is_some() || meta.is_some() {
            map.set_record(record);
            map.set_meta(meta);
        }
        map.shape_as(shape);
        Ok(map)
    }

    fn set(&mut self) -> Read<Rc<SetObj>> {
        let flags = self.flags(0)?;
        let table = self.keys()?.map(Table::of_keys).unwrap_or_default();
        let meta = self.meta(&flags)?;
        let shape = flags.shape(table.keys().chain(meta.as_deref()))?;
        Ok(Rc::new(SetObj { table, shape, meta, stamp: Stamp::new() }))
    }

    fn sorted(&mut self) -> Read<Rc<SortedObj>> {
        let flags = self.flags(flag::SPECIAL | flag::REVERSE | flag::BY)?;
        let ordering = match (flags.has(flag::REVERSE), flags.has(flag::BY)) {
            (false, false) => Ordering::Natural,
            (true, false) => Ordering::Reverse,
            (_, true) => Ordering::By(self.value()?),
        };
        let is_set = flags.has(flag::SPECIAL);
        let entries = self.listed(|reader| {
            let key = reader.value()?;
            Ok((key, if is_set { Value::Nil } else { reader.value()? }))
        })?;
        let meta = self.meta(&flags)?;
        let function = match &ordering {
            Ordering::By(function) => Some(function),
            _ => None,
        };
        let pairs = entries.iter().flat_map(|(key, value)| [key, value]);
        let shape = flags.shape(pairs.chain(function).chain(meta.as_deref()))?;
        Ok(Rc::new(SortedObj { entries, ordering, is_set, shape, meta, stamp: Stamp::new() }))
    }

    fn closure(&mut self) -> Read<Value> {
        let flags = self.flags(flag::GROUP)?;
        let unit = self.unit()?;
        let func = self.input.small::<u32>()?;
        let captures = self.captures(flags.has(flag::GROUP))?;
        let meta = self.meta(&flags)?;
        let function = unit.unit.funcs.get(func as usize);
        let Some(function) = function.filter(|function| usize::from(function.captures) == captures.len())
        else {
            return Err(DumpError::damaged("a function does not fit its code"));
        };
        let simple = function.simple();
        let shape = flags.shape(captures.iter().chain(meta.as_deref()))?;
        // What a function captured does not show when it is looked at, so it may be lazy.
        let lazy = flags.has(flag::LAZY) || meta.as_ref().is_some_and(|meta| meta.shape().lazy);
        let shape = Shape { lazy, ..shape };
        Ok(Value::Fn(Rc::new(Closure { unit, func, simple, captures, shape, meta, stamp: Stamp::new() })))
    }

    fn captures(&mut self, shared: bool) -> Read<Rc<[Value]>> {
        let slot = match shared {
            false => None,
            true => match self.input.small::<usize>()?.checked_sub(1) {
                Some(known) => {
                    return match self.slots.get(known) {
                        Some(BodySlot::Captures(captures)) => Ok(captures.clone()),
                        _ => Err(DumpError::damaged("captured values are missing")),
                    };
                }
                None => self.open_slot(format::SHARED),
            },
        };
        let captures: Rc<[Value]> = self.listed(Reader::value)?.into();
        if let Some(slot) = slot {
            self.slots[slot] = BodySlot::Captures(captures.clone());
        }
        Ok(captures)
    }

    fn regex(&mut self) -> Read<Value> {
        let source = self.input.string()?;
        let matcher =
            Matcher::compile(&source).map_err(|_| DumpError::damaged("a pattern does not compile"))?;
        Ok(Value::Regex(Rc::new(RegexObj { source, matcher, stamp: Stamp::new() })))
    }

    fn exception(&mut self) -> Read<Rc<ExObj>> {
        let flags = self.flags(0)?;
        let error = self.error()?;
        let (data, cause) = (self.value()?, self.value()?);
        let class = self.text()?;
        let class = class_named(class).ok_or_else(|| DumpError::Missing(class.to_owned()))?;
        let shape = flags.shape([&data, &cause])?;
        Ok(Rc::new(ExObj { error, data, cause, class, shape, stamp: Stamp::new() }))
    }

    pub(super) fn error(&mut self) -> Read<Error> {
        let kind = error_kind(self.input.byte()?)?;
        let message = self.input.string()?;
        let mut text = || self.input.option(super::bytes::In::string);
        let (function, hint, repaired) = (text()?, text()?, text()?);
        let span = if self.input.bool()? { Some(self.span()?) } else { None };
        let notes = self.listed(|reader| Ok((reader.span()?, reader.input.string()?)))?;
        Ok(Error { kind, message, function, hint, span, notes, repaired })
    }

    fn span(&mut self) -> Read<Span> {
        Ok(Span { start: self.input.small()?, end: self.input.small()? })
    }

    pub(super) fn items(&mut self) -> Read<Items> {
        use format::items as tag;
        // A walk that is over may stand anywhere beyond the end.
        let position = |reader: &mut Self, length: usize| -> Read<usize> {
            Ok(reader.input.small::<usize>()?.min(length))
        };
        let wrong = || DumpError::damaged("a walk goes over something else");
        Ok(match self.input.byte()? {
            tag::EMPTY => Items::Empty,
            tag::SLICE => {
                let body = self.array()?;
                let at = position(self, body.items.len())?;
                Items::Slice(body, at)
            }
            tag::PART => {
                let body = self.array()?;
                let (at, end) = (position(self, body.items.len())?, position(self, body.items.len())?);
                Items::Part(body, at.min(end), end)
            }
            tag::RANGE => {
                let (start, step, count) = (self.input.signed()?, self.input.signed()?, self.input.int()?);
                Items::Range(RangeObj { start, step, count })
            }
            tag::MAP => {
                let Value::Map(body) = self.value()? else { return Err(wrong()) };
                let at = position(self, body.len())?;
                Items::Map(body, at)
            }
            tag::SET => {
                let Value::Set(body) = self.value()? else { return Err(wrong()) };
                let at = position(self, body.table.len())?;
                Items::Set(body, at)
            }
            tag::SORTED => {
                let Value::Sorted(body) = self.value()? else { return Err(wrong()) };
                let at = position(self, body.entries.len())?;
                Items::Sorted(body, at)
            }
            tag::TEXT => {
                let Value::Str(text) = self.value()? else { return Err(wrong()) };
                let at = position(self, text.byte_len())?;
                Items::Text(text, at)
            }
            tag::CHAIN => Items::Chain(self.value()?),
            other => return Err(DumpError::unknown("walk", other)),
        })
    }
}
