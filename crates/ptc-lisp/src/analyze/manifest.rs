//! The effect manifest: which tools a program may call. There is no eval and no dynamic name, so it
//! is sound: it may name too much, never too little.

use crate::code::Const;

/// A use of a tool in a program.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// Its arguments, where they are literal.
    pub args: Option<Const>,
    /// How often this place can run at most, if that is known.
    pub at_most: Option<u64>,
}

/// The tools a program may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    /// Every place that calls or mentions a tool.
    pub uses: Vec<ToolUse>,
    /// How many loops and functions are around the place being analysed: there a call can repeat.
    pub(super) repeats: usize,
}

impl Manifest {
    /// Notes a use at the place being analysed.
    pub(super) fn add(&mut self, tool: &str, args: Option<Const>) {
        let at_most = (self.repeats == 0 && args.is_some()).then_some(1);
        self.uses.push(ToolUse { tool: tool.to_owned(), args, at_most });
    }

    pub(super) fn settle(&mut self) {
        self.repeats = 0;
    }

    /// The distinct tools, sorted.
    pub fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.uses.iter().map(|tool_use| tool_use.tool.as_str()).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }

    /// Whether the program may call `tool`.
    pub fn allows(&self, tool: &str) -> bool {
        self.uses.iter().any(|tool_use| tool_use.tool == tool)
    }

    /// An upper bound on the number of calls, if there is one.
    pub fn max_calls(&self) -> Option<u64> {
        self.uses.iter().map(|tool_use| tool_use.at_most).sum()
    }
}
