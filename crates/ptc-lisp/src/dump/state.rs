//! The state of a machine: meters, limits, what the host gave, definitions and fibers. Writing and
//! reading stand side by side; each pair must agree.

use std::rc::Rc;
use std::sync::Arc;

use super::DumpError;
use super::bytes::Read;
use super::format::{self, error_kind, kind_number};
use super::read::Reader;
use super::write::Writer;
use crate::analyze::{Manifest, ToolUse};
use crate::builtins::exceptions::from_error;
use crate::code::Reg;
use crate::globals::{Facts, Origin};
use crate::limits::Limits;
use crate::machine::Pending;
use crate::machine::fiber::{Cont, Fiber, Frame, Give, Handler, State};
use crate::span::Span;
use crate::value::Value;

/// More than any meter shows, so that adding to one never overflows.
const FULL: u64 = 1 << 60;

/// The end of the year 9999, in milliseconds since 1970.
const LATEST: i64 = 253_402_300_799_999;

impl<'m> Writer<'m> {
    /// Everything.
    pub(super) fn state_of_machine(&mut self) {
        self.scalars();
        self.values();
    }

    /// What needs no code: names, definitions without their values, limits, meters, texts.
    fn scalars(&mut self) {
        let machine = self.machine;
        let heap = &machine.heap;
        self.out.size(heap.names.own_count());
        heap.names.own().for_each(|name| self.text(name));
        self.out.size(heap.globals.facts.len());
        heap.globals.facts.iter().for_each(|facts| self.name(facts.name));
        let limits = &heap.limits;
        for limit in [limits.fuel, limits.tool_calls] {
            self.out.int(limit);
        }
        let (memory, source, depth) = (limits.memory, limits.source_bytes, limits.source_depth);
        for limit in [memory, source, depth, limits.print_bytes, limits.output_bytes] {
            self.out.size(limit);
        }
        for meter in [heap.fuel_used, heap.gensym, machine.tool_calls, machine.stop_at] {
            self.out.int(meter);
        }
        for meter in [heap.fresh_bytes, heap.live_bytes, heap.printed_bytes, machine.census_at] {
            self.out.size(meter);
        }
        self.out.signed(heap.now_ms);
        self.out.raw(&heap.random.to_le_bytes());
        self.out.text(&heap.partial_line);
        for texts in [&heap.prints, &heap.captures, &machine.tools, &machine.carried] {
            self.out.size(texts.len());
            texts.iter().for_each(|text| self.out.text(text));
        }
        self.out.size(heap.steps.iter().len());
        for (id, summary) in heap.steps.iter() {
            self.out.text(id);
            self.out.text(summary);
        }
        self.out.size(machine.manifest.uses.len());
        machine.manifest.uses.iter().for_each(|tool_use| self.tool_use(tool_use));
    }

    fn tool_use(&mut self, tool_use: &'m ToolUse) {
        self.text(&tool_use.tool);
        self.out.bool(tool_use.args.is_some());
        if let Some(args) = &tool_use.args {
            self.fields(args);
        }
        self.out.bool(tool_use.complete);
        self.out.option(tool_use.at_most, |out, most| out.int(most));
    }

    fn values(&mut self) {
        let machine = self.machine;
        let globals = &machine.heap.globals;
        self.source();
        for (value, facts) in globals.values.iter().zip(&globals.facts) {
            self.value(value);
            self.facts(facts);
        }
        self.out.size(globals.undo.len());
        for (slot, value, facts) in &globals.undo {
            self.out.int(u64::from(*slot));
            self.value(value);
            self.facts(facts);
        }
        self.out.size(globals.bound.len());
        for (slot, value) in &globals.bound {
            self.out.int(u64::from(*slot));
            self.value(value);
        }
        self.out.size(globals.undo_cells.len());
        for (cell, old) in &globals.undo_cells {
            self.cell(cell);
            self.value(old);
        }
        self.list(&machine.history);
        let heap = &machine.heap;
        for value in [&machine.data, &machine.result, &heap.budget, &heap.hierarchy, &heap.object_methods] {
            self.value(value);
        }
        self.entries(&heap.journal);
        self.out.bool(machine.running);
        if machine.running {
            self.program();
        }
        if self.version() >= format::LASTING {
            self.lasting();
        }
        if self.version() >= format::ASKING {
            self.discovery();
        }
        if self.version() >= format::VERSION {
            let written = machine.heap.names.written();
            self.out.size(written.len());
            written.for_each(|name| self.name(name));
        }
    }

    /// The first version that has a place for all of the machine.
    pub(super) fn version(&self) -> u64 {
        let (machine, lasting) = (self.machine, &self.machine.lasting);
        if machine.heap.names.written().len() > 0 {
            return format::VERSION;
        }
        if machine.heap.discovery || machine.discoveries > 0 || machine.prelude().is_some() {
            return format::ASKING;
        }
        let lasts = self.lasting_bits() != 0 || lasting.history_bytes.is_some() || !lasting.overlay.is_nil();
        if lasts { format::LASTING } else { format::PLAIN }
    }

    /// Questions about what there is: whether the host answers them, how many there were and which wait.
    fn discovery(&mut self) {
        let machine = self.machine;
        self.out.bool(machine.heap.discovery);
        self.out.int(machine.discoveries);
        let asked = machine.pending.iter().filter(|call| call.discovery);
        self.out.size(asked.clone().count());
        asked.for_each(|call| self.out.int(call.id));
    }

    fn lasting_bits(&self) -> u8 {
        use format::lasting as bit;
        let lasting = &self.machine.lasting;
        let flags = [
            (self.machine.heap.firewall, bit::FIREWALL),
            (lasting.takes_back, bit::TAKES_BACK),
            (lasting.overlays, bit::OVERLAYS),
            (lasting.history_cut, bit::HISTORY_CUT),
        ];
        flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
    }

    /// What the host has set; what taking back a program needs is not in it.
    fn lasting(&mut self) {
        let machine = self.machine;
        self.out.byte(self.lasting_bits());
        self.out.option(machine.lasting.history_bytes, |out, bytes| out.size(bytes));
        self.value(&machine.lasting.overlay);
    }

    /// What is known about a definition besides its name and value.
    fn facts(&mut self, facts: &Facts) {
        self.out.byte(u8::from(facts.changed) << 1 | u8::from(facts.meta.is_some()));
        match &facts.origin {
            None => self.out.int(format::origin::NONE),
            Some(origin) => match self.unit_with(&origin.source) {
                Some(unit) => {
                    self.out.int(format::origin::UNITS + unit as u64);
                    self.out.int(u64::from(origin.span.start));
                    self.out.int(u64::from(origin.span.end));
                }
                None => {
                    self.out.int(format::origin::TEXT);
                    self.out.text(origin.text());
                }
            },
        }
        self.value(&facts.watches);
        if let Some(meta) = &facts.meta {
            self.value(meta);
        }
    }

    /// The program whose source this is.
    fn unit_with(&self, source: &Arc<str>) -> Option<usize> {
        self.machine.units.iter().flatten().position(|unit| Arc::ptr_eq(&unit.unit.source, source))
    }

    /// The text of the program: that of its code if it is there.
    fn source(&mut self) {
        let source = &self.machine.source;
        let unit = self.unit_with(source);
        self.out.size(unit.map_or(0, |unit| unit + 1));
        if unit.is_none() {
            self.out.text(source);
        }
    }

    fn list(&mut self, values: &[Value]) {
        self.out.size(values.len());
        values.iter().for_each(|value| self.value(value));
    }

    /// The program that runs.
    fn program(&mut self) {
        let machine = self.machine;
        self.fiber(&machine.fiber);
        self.out.size(machine.fibers.len());
        for fiber in &machine.fibers {
            self.out.bool(fiber.is_some());
            if let Some(fiber) = fiber {
                self.fiber(fiber);
            }
        }
        self.out.size(machine.current);
        self.out.size(machine.ready.len());
        machine.ready.iter().for_each(|ready| self.out.size(*ready));
        self.out.size(machine.pending.len());
        for call in &machine.pending {
            self.out.int(call.id);
            self.name(call.tool);
            self.value(&call.args);
            self.out.bool(call.handed_out);
            self.out.size(call.bytes);
        }
    }

    fn fiber(&mut self, fiber: &Fiber) {
        self.list(&fiber.regs[..fiber.end()]);
        // How much room there is decides when a stack grows, and so when the next census is due.
        for room in fiber.rooms() {
            self.out.size(room);
        }
        self.out.size(fiber.frames.len());
        for frame in &fiber.frames {
            let unit = self.unit_number(frame.unit);
            self.out.size(unit);
            self.out.int(u64::from(frame.pc));
            self.out.int(u64::from(frame.base));
            self.register(frame.give.register());
        }
        self.out.size(fiber.handlers.len());
        for handler in &fiber.handlers {
            self.out.size(handler.frames);
            self.out.size(handler.conts);
            self.out.int(u64::from(handler.dst));
            self.out.int(u64::from(handler.to));
        }
        self.out.size(fiber.conts.len());
        fiber.conts.iter().for_each(|cont| self.cont(cont));
        if !fiber.bindings.is_empty() {
            self.out.byte(format::state::BOUND);
            self.out.size(fiber.bindings.len());
            for (slot, value) in &fiber.bindings {
                self.out.int(u64::from(*slot));
                self.value(value);
            }
        }
        self.fiber_state(&fiber.state);
        self.out.option(fiber.parent, |out, (parent, place)| {
            out.size(parent);
            out.size(place);
        });
    }

    /// A register, or none.
    fn register(&mut self, register: Option<Reg>) {
        self.out.int(register.map_or(0, |register| u64::from(register) + 1));
    }

    fn cont(&mut self, cont: &Cont) {
        use format::cont as tag;
        match cont {
            Cont::Force(lazies, thunk) => {
                self.out.byte(tag::FORCE);
                self.out.size(lazies.len());
                lazies.iter().for_each(|lazy| self.lazy(lazy));
                self.value(thunk);
            }
            Cont::Realise(items) => {
                self.out.byte(tag::REALISE);
                self.items(items);
            }
            Cont::RealiseDeep(stack) => {
                self.out.byte(tag::REALISE_DEEP);
                self.out.size(stack.len());
                stack.iter().for_each(|items| self.items(items));
            }
        }
    }

    fn fiber_state(&mut self, state: &State) {
        use format::state as tag;
        match state {
            State::Ready => self.out.byte(tag::READY),
            State::Waiting { call, give } => {
                self.out.byte(tag::WAITING);
                self.out.int(*call);
                self.register(*give);
            }
            State::Answered { answer: Ok(value), give } => {
                self.out.byte(tag::ANSWERED);
                self.value(value);
                self.register(*give);
            }
            State::Answered { answer: Err(ex), give } if ex.data.is_nil() => {
                self.out.byte(tag::REFUSED);
                self.error(&ex.error);
                self.register(*give);
            }
            State::Answered { answer: Err(ex), give } => {
                self.out.byte(tag::THROWN);
                self.value(&Value::Ex(ex.clone()));
                self.register(*give);
            }
            State::Joining { results, left, kind, give } => {
                self.out.byte(tag::JOINING);
                self.list(results);
                self.out.size(*left);
                self.out.byte(kind_number(*kind));
                self.register(*give);
            }
            State::Over => self.out.byte(tag::OVER),
        }
    }
}

impl Reader<'_> {
    /// See [`Writer::scalars`].
    pub(super) fn scalars(&mut self) -> Read {
        for _ in 0..self.input.count()? {
            self.name()?;
        }
        for slot in 0..self.input.count()? {
            let name = self.name()?;
            if self.machine.heap.globals.slot(name) as usize != slot {
                return Err(DumpError::damaged("two definitions have one name"));
            }
        }
        self.limits()?;
        let heap = &mut self.machine.heap;
        let input = &mut self.input;
        let mut meter = || Ok(input.int()?.min(FULL));
        heap.fuel_used = meter()?;
        heap.gensym = meter()?;
        self.machine.tool_calls = meter()?;
        self.machine.stop_at = meter()?;
        self.meters = [meter()?, meter()?, meter()?, meter()?].map(|bytes| bytes as usize);
        heap.now_ms = input.signed()?.clamp(-LATEST, LATEST);
        heap.random = u64::from_le_bytes(input.array()?);
        heap.partial_line = input.string()?;
        heap.prints = input.list(|input| input.string())?;
        heap.captures = input.list(|input| input.string())?;
        self.machine.tools = input.list(|input| input.string())?;
        self.machine.carried = input.list(|input| input.string())?;
        for (id, summary) in input.list(|input| Ok((input.string()?, input.string()?)))? {
            heap.steps
                .check(&id, &summary)
                .map_err(|_| DumpError::damaged("more steps than there may be"))?;
            heap.steps.push(id, summary);
        }
        let uses = self.listed(Reader::tool_use)?;
        self.machine.manifest = Arc::new(Manifest::of(uses));
        Ok(())
    }

    /// Of each limit the smaller holds: a dump cannot widen what the host allows.
    fn limits(&mut self) -> Read {
        let (fuel, tool_calls) = (self.input.int()?, self.input.int()?);
        let mut size = || self.input.small::<usize>();
        let (memory, source_bytes, source_depth) = (size()?, size()?, size()?);
        let (print_bytes, output_bytes) = (size()?, size()?);
        let host = &mut self.machine.heap.limits;
        *host = Limits {
            fuel: host.fuel.min(fuel),
            memory: host.memory.min(memory),
            source_bytes: host.source_bytes.min(source_bytes),
            source_depth: host.source_depth.min(source_depth),
            print_bytes: host.print_bytes.min(print_bytes),
            output_bytes: host.output_bytes.min(output_bytes),
            tool_calls: host.tool_calls.min(tool_calls),
        };
        Ok(())
    }

    /// Meters of memory go in last: loading counts too.
    pub(super) fn set_meters(&mut self) {
        let [fresh, live, printed, census_at] = self.meters;
        let heap = &mut self.machine.heap;
        (heap.fresh_bytes, heap.live_bytes, heap.printed_bytes) = (fresh, live, printed);
        self.machine.census_at = census_at.min((heap.limits.memory / 2).max(1 << 16));
    }

    fn tool_use(&mut self) -> Read<ToolUse> {
        Ok(ToolUse {
            tool: self.text()?.to_owned(),
            args: if self.input.bool()? { Some(self.fields(0)?) } else { None },
            complete: self.input.bool()?,
            at_most: self.input.option(|input| input.int())?,
        })
    }

    /// See [`Writer::values`].
    pub(super) fn values(&mut self) -> Read {
        self.source()?;
        for slot in 0..self.machine.heap.globals.values.len() {
            self.machine.heap.globals.values[slot] = self.value()?;
            self.machine.heap.globals.facts[slot] = self.facts(slot)?;
        }
        self.machine.heap.globals.undo = self.listed(|reader| {
            let slot = reader.slot()?;
            Ok((slot, reader.value()?, reader.facts(slot as usize)?))
        })?;
        self.machine.heap.globals.bound = self.listed(|reader| Ok((reader.slot()?, reader.value()?)))?;
        self.machine.heap.globals.undo_cells = self.listed(|reader| {
            let Value::Cell(cell) = reader.value()? else {
                return Err(DumpError::damaged("a cell is expected"));
            };
            Ok((cell, reader.value()?))
        })?;
        self.machine.history = self.listed(Reader::value)?;
        self.machine.data = self.value()?;
        self.machine.result = self.value()?;
        self.machine.heap.budget = self.value()?;
        self.machine.heap.hierarchy = self.value()?;
        self.machine.heap.object_methods = self.value()?;
        self.machine.heap.journal = self.entries()?;
        self.machine.running = self.input.bool()?;
        if self.machine.running {
            self.program()?;
        }
        if self.version >= format::LASTING {
            self.lasting()?;
        }
        if self.version >= format::ASKING {
            self.discovery()?;
        }
        if self.version >= format::VERSION { self.written() } else { Ok(()) }
    }

    /// The keys that programs wrote.
    fn written(&mut self) -> Read {
        for _ in 0..self.input.count()? {
            let name = self.name()?;
            let text = self.machine.heap.names.text(name).to_owned();
            self.machine.heap.names.write_key(&text);
        }
        Ok(())
    }

    /// See [`Writer::discovery`].
    fn discovery(&mut self) -> Read {
        self.machine.heap.discovery = self.input.bool()?;
        self.machine.discoveries = self.input.int()?.min(FULL);
        for id in self.input.list(|input| input.int())? {
            let mut waiting = self.machine.pending.iter_mut();
            let asked = waiting.find(|call| call.id == id).ok_or(DumpError::damaged("nobody asks"))?;
            asked.discovery = true;
        }
        Ok(())
    }

    /// See [`Writer::lasting`].
    fn lasting(&mut self) -> Read {
        use format::lasting as bit;
        let bits = self.input.byte()?;
        if bits >= bit::HISTORY_CUT << 1 {
            return Err(DumpError::damaged("the host has set something unknown"));
        }
        let is = |bit: u8| bits & bit != 0;
        self.machine.heap.firewall = is(bit::FIREWALL);
        let lasting = &mut self.machine.lasting;
        (lasting.takes_back, lasting.overlays) = (is(bit::TAKES_BACK), is(bit::OVERLAYS));
        lasting.history_cut = is(bit::HISTORY_CUT);
        lasting.history_bytes = self.input.option(|input| input.small())?;
        self.machine.lasting.overlay = self.value()?;
        Ok(())
    }

    fn slot(&mut self) -> Read<u32> {
        let slot = self.input.small::<u32>()?;
        let known = (slot as usize) < self.machine.heap.globals.values.len();
        known.then_some(slot).ok_or(DumpError::damaged("a definition is missing"))
    }

    fn facts(&mut self, slot: usize) -> Read<Facts> {
        let name = self.machine.heap.globals.facts[slot].name;
        let bits = self.input.byte()?;
        if bits > 3 {
            return Err(DumpError::damaged("a definition has unknown flags"));
        }
        let origin = self.origin()?;
        let watches = self.value()?;
        let meta = if bits & 1 != 0 { Some(Rc::new(self.value()?)) } else { None };
        Ok(Facts { name, origin, meta, watches, changed: bits & 2 != 0 })
    }

    fn origin(&mut self) -> Read<Option<Origin>> {
        let unit = match self.input.int()? {
            format::origin::NONE => return Ok(None),
            format::origin::TEXT => {
                let text = self.input.text()?;
                return Ok(Some(Origin::new(Arc::from(text), Span::new(0, text.len()))));
            }
            unit => usize::try_from(unit - format::origin::UNITS).ok(),
        };
        let unit = unit.and_then(|unit| self.units.get(unit));
        let source = unit.ok_or(DumpError::damaged("the source text is missing"))?.unit.source.clone();
        Ok(Some(Origin::new(source, Span { start: self.input.small()?, end: self.input.small()? })))
    }

    fn source(&mut self) -> Read {
        self.machine.source = match self.input.small::<usize>()?.checked_sub(1) {
            None => Arc::from(self.input.text()?),
            Some(unit) => {
                let unit = self.units.get(unit).ok_or(DumpError::damaged("the source text is missing"))?;
                unit.unit.source.clone()
            }
        };
        Ok(())
    }

    fn program(&mut self) -> Read {
        self.machine.fiber = self.fiber()?;
        self.machine.fibers = self.listed(|reader| {
            let there = reader.input.bool()?;
            there.then(|| reader.fiber().map(Box::new)).transpose()
        })?;
        self.machine.current = self.input.small()?;
        self.machine.ready = self.input.list(|input| input.small())?.into();
        self.machine.pending = self.listed(|reader| {
            Ok(Pending {
                id: reader.input.int()?,
                tool: reader.name()?,
                args: reader.value()?,
                handed_out: reader.input.bool()?,
                bytes: reader.input.small::<u32>()? as usize,
                // The calls of a dump are handed out, or will be before there are others.
                tree: 0,
                discovery: false,
            })
        })?;
        Ok(())
    }

    fn fiber(&mut self) -> Read<Fiber> {
        let regs = self.listed(Reader::value)?;
        let rooms = [self.input.small()?, self.input.small()?, self.input.small()?, self.input.small()?];
        let frames = self.listed(Reader::frame)?;
        let handlers = self.listed(|reader| {
            let input = &mut reader.input;
            Ok(Handler {
                frames: input.small()?,
                conts: input.small()?,
                dst: input.small()?,
                to: input.small()?,
            })
        })?;
        let conts = self.listed(Reader::cont)?;
        let mut tag = self.input.byte()?;
        let mut bindings = Vec::new();
        if tag == format::state::BOUND {
            bindings = self.listed(|reader| Ok((reader.slot()?, reader.value()?)))?;
            tag = self.input.byte()?;
        }
        let state = self.fiber_state(tag)?;
        let parent = self.input.option(|input| Ok((input.small()?, input.small()?)))?;
        let mut fiber = Fiber { regs, frames, handlers, conts, bindings, state, parent };
        if !fiber.make_rooms(rooms, self.machine.heap.limits.memory) {
            return Err(DumpError::damaged("a stack is larger than the memory"));
        }
        Ok(fiber)
    }

    /// A frame has as many registers as its code says.
    fn frame(&mut self) -> Read<Frame> {
        let number = self.input.small::<usize>()?;
        let unit = self.units.get(number).ok_or(DumpError::damaged("a unit is missing"))?;
        let (unit, pc) = (unit.id, self.input.small::<u32>()?);
        let base = self.input.small()?;
        let give = self.register()?.map_or(Give::CONTINUE, Give::into);
        let registers = self.region(number, pc)?.registers;
        Ok(Frame { unit, pc, base, registers, give })
    }

    fn register(&mut self) -> Read<Option<Reg>> {
        let number = self.input.small::<u32>()?;
        let too_large = |_| DumpError::damaged("there is no such register");
        number.checked_sub(1).map(|register| Reg::try_from(register).map_err(too_large)).transpose()
    }

    fn cont(&mut self) -> Read<Cont> {
        use format::cont as tag;
        Ok(match self.input.byte()? {
            tag::FORCE => {
                let lazies = self.listed(|reader| match reader.value()? {
                    Value::Lazy(lazy) => Ok(lazy),
                    _ => Err(DumpError::damaged("a lazy sequence is expected")),
                })?;
                Cont::Force(lazies, self.value()?)
            }
            tag::REALISE => Cont::Realise(self.items()?),
            tag::REALISE_DEEP => Cont::RealiseDeep(self.listed(Reader::items)?),
            other => return Err(DumpError::unknown("continuation", other)),
        })
    }

    fn fiber_state(&mut self, found: u8) -> Read<State> {
        use format::state as tag;
        Ok(match found {
            tag::READY => State::Ready,
            tag::WAITING => State::Waiting { call: self.input.int()?, give: self.register()? },
            tag::JOINING => State::Joining {
                results: self.listed(Reader::value)?,
                left: self.input.small()?,
                kind: error_kind(self.input.byte()?)?,
                give: self.register()?,
            },
            tag::ANSWERED => State::Answered { answer: Ok(self.value()?), give: self.register()? },
            tag::REFUSED => {
                State::Answered { answer: Err(from_error(self.error()?)), give: self.register()? }
            }
            tag::THROWN => match self.value()? {
                Value::Ex(ex) => State::Answered { answer: Err(ex), give: self.register()? },
                _ => return Err(DumpError::damaged("what is to be thrown is no exception")),
            },
            tag::OVER => State::Over,
            other => return Err(DumpError::unknown("state of a fiber", other)),
        })
    }
}
