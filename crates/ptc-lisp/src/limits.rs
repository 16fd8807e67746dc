//! The limits a program runs under: one place, with defaults that are safe for untrusted programs.
//!
//! Two sorts: what a host sets per machine ([`Limits`]), and what is fixed because code relies on it.
//! [`ALL`] describes both as data; `docs/limits.md` is made from it.

use crate::error::ErrorKind;

/// What a program may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Units of work: about one per instruction, one per element that a native touches.
    pub fuel: u64,
    /// Bytes of live data.
    pub memory: usize,
    /// Bytes of source text.
    pub source_bytes: usize,
    /// Levels of nesting in source text.
    pub source_depth: usize,
    /// Bytes of printed text.
    pub print_bytes: usize,
    /// Bytes of text that leave the machine at once: the result, or the arguments of the tool calls that
    /// wait together.
    pub output_bytes: usize,
    /// Calls of tools.
    pub tool_calls: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: 100_000_000,
            memory: 64 << 20,
            source_bytes: 1_000_000,
            source_depth: 256,
            print_bytes: 1 << 20,
            output_bytes: 4 << 20,
            tool_calls: 1_000,
        }
    }
}

impl Limits {
    /// The smaller of each limit of both.
    #[must_use]
    pub fn within(&self, most: &Limits) -> Limits {
        Limits {
            fuel: self.fuel.min(most.fuel),
            memory: self.memory.min(most.memory),
            source_bytes: self.source_bytes.min(most.source_bytes),
            source_depth: self.source_depth.min(most.source_depth),
            print_bytes: self.print_bytes.min(most.print_bytes),
            output_bytes: self.output_bytes.min(most.output_bytes),
            tool_calls: self.tool_calls.min(most.tool_calls),
        }
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// Units of work.
    Work,
    /// Bytes.
    Bytes,
    /// Things: levels, digits, calls.
    Count,
}

/// A limit, described.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Its name; for those a host sets, the field of [`Limits`].
    pub name: &'static str,
    /// What it counts.
    pub unit: LimitUnit,
    /// What it is unless the host says otherwise, or what it always is.
    pub default: fn() -> u64,
    /// Whether the host sets it.
    pub settable: bool,
    /// Whether literals reach it: then the program does not begin, and there is nothing to catch.
    pub of_literals: bool,
    /// What it bounds, in a sentence.
    pub bounds: &'static str,
    /// The error that a program over the limit ends with.
    pub kind: ErrorKind,
}

/// A limit that a host sets.
const fn set(
    name: &'static str,
    unit: LimitUnit,
    default: fn() -> u64,
    bounds: &'static str,
    kind: ErrorKind,
) -> Limit {
    Limit { name, unit, default, settable: true, of_literals: false, bounds, kind }
}

/// A limit that is what it is.
const fn fixed(
    name: &'static str,
    unit: LimitUnit,
    value: fn() -> u64,
    bounds: &'static str,
    kind: ErrorKind,
) -> Limit {
    Limit { name, unit, default: value, settable: false, of_literals: false, bounds, kind }
}

impl Limit {
    /// The same, of what may stand in the text of a program or be read by it.
    const fn also_of_literals(self) -> Limit {
        Limit { of_literals: true, ..self }
    }
}

/// All limits.
pub static ALL: &[Limit] = &[
    set(
        "fuel",
        LimitUnit::Work,
        || Limits::default().fuel,
        "Work: one unit per instruction, and in functions of the library one per element touched or per \
         eight bytes of text. A call of `map`, `filter`, `reduce` and their like costs some units for each item, about \
         as many as what the function does has calls and names, and up to a dozen more where the function is a value and \
         not written in the call. Reading, analysing and compiling the program count too.",
        ErrorKind::FuelExceeded,
    ),
    set(
        "memory",
        LimitUnit::Bytes,
        || Limits::default().memory as u64,
        "Live data: collections, strings, closures, cells, formats, patterns, exceptions, names, the code and text of \
         programs that definitions keep, and the stack of calls, so it also bounds how deep calls nest. \
         Large pieces are asked for before they are made; small ones are counted once a sixteenth of the memory was made \
         anew, so that what is garbage by then does not count.",
        ErrorKind::MemoryExceeded,
    ),
    set(
        "source_bytes",
        LimitUnit::Bytes,
        || Limits::default().source_bytes as u64,
        "The text of a program.",
        ErrorKind::ProgramTooLarge,
    ),
    set(
        "source_depth",
        LimitUnit::Count,
        || Limits::default().source_depth as u64,
        "How deep forms nest in the text of a program.",
        ErrorKind::NestingTooDeep,
    ),
    set(
        "print_bytes",
        LimitUnit::Bytes,
        || Limits::default().print_bytes as u64,
        "What a program prints, each line counting 32 bytes more. What `with-out-str` captures counts as \
         memory instead.",
        ErrorKind::OutputExceeded,
    ),
    set(
        "output_bytes",
        LimitUnit::Bytes,
        || Limits::default().output_bytes as u64,
        "What leaves at once: the result of a program, the arguments of all tool calls that wait together, or the \
         results of all tasks. Counted as text, each element of a collection as at least 16 bytes.",
        ErrorKind::OutputExceeded,
    ),
    set(
        "tool_calls",
        LimitUnit::Count,
        || Limits::default().tool_calls,
        "Calls of tools in one program, parallel branches included.",
        ErrorKind::ToolCallLimit,
    ),
    fixed(
        "plan steps",
        LimitUnit::Count,
        || crate::steps::MOST_STEPS as u64,
        "Calls of `step-done` in one program.",
        ErrorKind::OutputExceeded,
    ),
    fixed(
        "plan step bytes",
        LimitUnit::Bytes,
        || crate::steps::MOST_STEP_BYTES as u64,
        "The ids and summaries that `step-done` notes in one program, together.",
        ErrorKind::OutputExceeded,
    ),
    fixed(
        "value depth",
        LimitUnit::Count,
        || u64::from(crate::value::MAX_DEPTH),
        "How deep values nest. What hangs behind a lazy sequence, an array or another cell is not counted \
         until it leaves the machine.",
        ErrorKind::NestingTooDeep,
    ),
    fixed(
        "form depth",
        LimitUnit::Count,
        || crate::analyze::MAX_NESTING as u64,
        "How deep forms nest after macros such as `->` and `cond` are rewritten. What a macro begins and ends with counts as \
         well: a `->`, `->>`, `case` or `cond` may have two or three steps fewer.",
        ErrorKind::NestingTooDeep,
    ),
    fixed(
        "forms",
        LimitUnit::Count,
        || crate::reader::ReadLimits::default().max_forms as u64,
        "Forms in the text of a program; fewer where the memory would not last for them, or for what macros make of them.",
        ErrorKind::ProgramTooLarge,
    ),
    fixed(
        "number digits",
        LimitUnit::Count,
        || crate::reader::ReadLimits::default().max_digits as u64,
        "Digits of one integer in a text. A program with a longer one in its own text does not begin. In JSON the error is a \
         `format_error`. Texts that `bigint`, `biginteger`, `bigdec` and the constructors of `BigInteger` and `BigDecimal` make \
         numbers of may have as many digits as fit the bits of an integer.",
        ErrorKind::Parse,
    )
    .also_of_literals(),
    fixed(
        "integer bits",
        LimitUnit::Count,
        || crate::arith::MAX_BITS,
        "Bits of an integer.",
        ErrorKind::MemoryExceeded,
    ),
    fixed(
        "pattern bytes",
        LimitUnit::Bytes,
        || crate::regex::MAX_PATTERN as u64,
        "The text of a regular expression. A program with a longer one in its own text does not begin.",
        ErrorKind::IllegalArgument,
    )
    .also_of_literals(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_settable_ones_end_the_program() {
        for (at, limit) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|other| other.name != limit.name), "{}", limit.name);
            assert!((limit.default)() > 0 && limit.bounds.ends_with('.'), "{}", limit.name);
            let before_it_runs = limit.kind == ErrorKind::ProgramTooLarge;
            assert!(!limit.settable || before_it_runs || !limit.kind.is_catchable(), "{}", limit.name);
        }
    }
}
