//! The limits a program runs under: one place, with defaults that are safe for untrusted programs.

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
            tool_calls: 1_000,
        }
    }
}
