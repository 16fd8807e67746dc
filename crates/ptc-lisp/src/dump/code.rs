//! Compiled code in a dump: instructions with their places, functions, constants, and the source text.
//!
//! Code is written as it is, not as a hash of its source: a later build with another compiler then goes
//! on with the code the program was compiled to, with the same fuel, where compiling anew would give
//! other registers. What it costs is a few bytes per instruction.

use num_bigint::BigInt;

use super::bytes::Read;
use super::format::constant as tag;
use super::ops::{read_op, write_op};
use super::{DumpError, read::Reader, write::Writer};
use crate::builtins::registry;
use crate::code::{Arity, Const, Func, Unit};
use crate::decimal::Decimal;
use crate::exact::Exact;
use crate::ratio::Ratio;
use crate::span::Span;
use crate::value::MAX_DEPTH;

impl<'m> Writer<'m> {
    /// Writes a unit without its source text.
    pub(super) fn code(&mut self, unit: &'m Unit) {
        self.out.size(unit.consts.len());
        unit.consts.iter().for_each(|constant| self.constant(constant));
        self.out.size(unit.globals.len());
        unit.globals.iter().for_each(|name| self.text(name));
        self.out.size(unit.funcs.len());
        unit.funcs.iter().for_each(|func| self.func(func));
        self.out.size(unit.ops.len());
        unit.ops.iter().for_each(|op| write_op(*op, self));
    }

    fn func(&mut self, func: &'m Func) {
        self.out.bool(func.name.is_some());
        if let Some(name) = &func.name {
            self.text(name);
        }
        self.out.int(u64::from(func.captures));
        self.out.size(func.arities.len());
        for arity in &func.arities {
            self.out.int(u64::from(arity.params) << 1 | u64::from(arity.variadic));
            self.out.int(u64::from(arity.registers));
            self.out.int(u64::from(arity.entry));
        }
    }

    /// Places of instructions. Most are where the one before is.
    pub(super) fn spans(&mut self, spans: &[Span]) {
        let mut before = Span::default();
        self.out.size(spans.len());
        for span in spans {
            if *span == before {
                self.out.int(0);
                continue;
            }
            let step = i64::from(span.start) - i64::from(before.start);
            self.out.int(1 + ((step << 1) ^ (step >> 63)) as u64);
            self.out.signed(i64::from(span.end) - i64::from(span.start));
            before = *span;
        }
    }

    fn constant(&mut self, constant: &'m Const) {
        let mut named = |number, text: &'m str| {
            self.out.byte(number);
            self.text(text);
        };
        match constant {
            Const::Unbound => self.out.byte(tag::UNBOUND),
            Const::Nil => self.out.byte(tag::NIL),
            Const::Bool(value) => self.out.byte(if *value { tag::TRUE } else { tag::FALSE }),
            Const::Int(value) => {
                self.out.byte(tag::INT);
                self.out.signed(*value);
            }
            Const::Big(value) => {
                self.out.byte(tag::BIG);
                self.big(value);
            }
            Const::Decimal(Exact::Decimal(value)) => {
                self.out.byte(tag::DECIMAL);
                self.decimal(value);
            }
            Const::Decimal(Exact::Ratio(value)) => {
                self.out.byte(tag::RATIO);
                self.ratio(value);
            }
            Const::Float(value) => {
                self.out.byte(tag::FLOAT);
                self.out.raw(&value.to_bits().to_le_bytes());
            }
            Const::Str(text) => named(tag::STR, text),
            Const::Keyword(text) => named(tag::KEYWORD, text),
            Const::Symbol(text) => named(tag::SYMBOL, text),
            Const::Type(text) => named(tag::TYPE, text),
            Const::Tool(text) => named(tag::TOOL, text),
            Const::Var(text) => named(tag::VAR, text),
            Const::Builtin(id) => named(tag::BUILTIN, registry().get(*id).name),
            Const::Regex(source) => named(tag::REGEX, source),
            Const::Tagged(name, text) => {
                named(tag::TAGGED, name);
                self.text(text);
            }
            Const::List(items) => self.constants(tag::LIST, items),
            Const::Vector(items) => self.constants(tag::VECTOR, items),
            Const::Set(items) => self.constants(tag::SET, items),
            Const::Map(pairs) => {
                self.out.byte(tag::MAP);
                self.out.size(pairs.len());
                for (key, value) in pairs {
                    self.constant(key);
                    self.constant(value);
                }
            }
        }
    }

    fn constants(&mut self, number: u8, items: &'m [Const]) {
        self.out.byte(number);
        self.out.size(items.len());
        items.iter().for_each(|item| self.constant(item));
    }

    pub(super) fn big(&mut self, value: &BigInt) {
        let bytes = value.to_signed_bytes_le();
        self.out.size(bytes.len());
        self.out.raw(&bytes);
    }

    pub(super) fn decimal(&mut self, value: &Decimal) {
        self.out.signed(value.scale());
        self.big(value.unscaled());
    }

    pub(super) fn ratio(&mut self, value: &Ratio) {
        self.big(value.numerator());
        self.big(value.denominator());
    }
}

impl Reader<'_> {
    /// Reads a unit; its source text is not part of it.
    pub(super) fn code(&mut self) -> Read<Unit> {
        let consts = self.listed(|reader| reader.constant(0))?;
        let globals = self.listed(|reader| reader.text().map(str::to_owned))?;
        let funcs = self.listed(Reader::func)?;
        let ops = self.listed(read_op)?;
        Ok(Unit { consts, globals, funcs, ops, ..Unit::default() })
    }

    fn func(&mut self) -> Read<Func> {
        let name = if self.input.bool()? { Some(self.text()?.to_owned()) } else { None };
        let captures = self.input.small()?;
        let arities = self.listed(|reader| {
            let params = reader.input.small::<u32>()?;
            let too_many = |_| DumpError::damaged("a function has too many parameters");
            Ok(Arity {
                params: u16::try_from(params >> 1).map_err(too_many)?,
                variadic: params & 1 == 1,
                registers: reader.input.small()?,
                entry: reader.input.small()?,
            })
        })?;
        // Whether it looks at itself is seen in its code.
        Ok(Func { name, arities, captures, needs_self: captures > 0 })
    }

    pub(super) fn spans(&mut self) -> Read<Vec<Span>> {
        let mut before = Span::default();
        let moved = |from: u32, step: i64| {
            let to = i64::from(from).checked_add(step);
            to.and_then(|to| u32::try_from(to).ok()).ok_or(DumpError::damaged("a place is out of range"))
        };
        self.listed(|reader| {
            if let Some(folded) = reader.input.int()?.checked_sub(1) {
                let start = moved(before.start, (folded >> 1) as i64 ^ -((folded & 1) as i64))?;
                before = Span { start, end: moved(start, reader.input.signed()?)? };
            }
            Ok(before)
        })
    }

    fn constant(&mut self, depth: u16) -> Read<Const> {
        if depth > MAX_DEPTH {
            return Err(DumpError::TooDeep);
        }
        let number = self.input.byte()?;
        let text = |reader: &mut Self| reader.text().map(str::to_owned);
        let items = |reader: &mut Self| reader.listed(|reader| reader.constant(depth + 1));
        Ok(match number {
            tag::UNBOUND => Const::Unbound,
            tag::NIL => Const::Nil,
            tag::FALSE => Const::Bool(false),
            tag::TRUE => Const::Bool(true),
            tag::INT => Const::Int(self.input.signed()?),
            tag::FLOAT => Const::Float(self.float()?),
            tag::BIG => Const::Big(self.big()?),
            tag::DECIMAL => Const::Decimal(self.decimal()?.into()),
            tag::RATIO => Const::Decimal(self.ratio()?.into()),
            tag::STR => Const::Str(text(self)?),
            tag::KEYWORD => Const::Keyword(text(self)?),
            tag::SYMBOL => Const::Symbol(text(self)?),
            tag::TYPE => Const::Type(text(self)?),
            tag::TOOL => Const::Tool(text(self)?),
            tag::VAR => Const::Var(text(self)?),
            tag::BUILTIN => Const::Builtin(self.builtin()?),
            tag::REGEX => Const::Regex(text(self)?),
            tag::TAGGED => Const::Tagged(text(self)?, text(self)?),
            tag::LIST => Const::List(items(self)?),
            tag::VECTOR => Const::Vector(items(self)?),
            tag::SET => Const::Set(items(self)?),
            tag::MAP => Const::Map(
                self.listed(|reader| Ok((reader.constant(depth + 1)?, reader.constant(depth + 1)?)))?,
            ),
            other => return Err(DumpError::unknown("constant", other)),
        })
    }

    pub(super) fn float(&mut self) -> Read<f64> {
        Ok(f64::from_bits(u64::from_le_bytes(self.input.array()?)))
    }

    pub(super) fn big(&mut self) -> Read<BigInt> {
        let count = self.input.count()?;
        Ok(BigInt::from_signed_bytes_le(self.input.raw(count)?))
    }

    pub(super) fn decimal(&mut self) -> Read<Decimal> {
        let scale = self.input.signed()?;
        Decimal::checked(self.big()?, scale).ok_or(DumpError::damaged("a decimal is too large"))
    }

    pub(super) fn ratio(&mut self) -> Read<Ratio> {
        match Ratio::read(self.big()?, self.big()?) {
            Some(Ok(ratio)) => Ok(ratio),
            _ => Err(DumpError::damaged("a ratio is too large, or none")),
        }
    }
}
