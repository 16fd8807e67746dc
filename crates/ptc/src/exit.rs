//! Exit codes: one table each for programs, for agents and for looking at agents. Help shows them; a test holds the pages to
//! those that run something.

use std::process::ExitCode;

/// How a command went, as its exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All went well.
    Done = 0,
    /// The program or the agent failed.
    Failed = 1,
    /// The command was asked for something that makes no sense.
    Usage = 2,
    /// A limit stopped the program or the agent.
    Limit = 3,
    /// The agent waits for a person.
    Waiting = 4,
    /// No program of the agent returned, and its last value answers.
    Fallback = 5,
    /// Something was saved, and not all of it.
    Partly = 6,
    /// The user stopped it.
    Cancelled = 130,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(outcome as u8)
    }
}

/// Exit codes of commands that run programs.
macro_rules! program_codes {
    () => {
        "Exit codes:
  0  the program ran
  1  the program failed, or ended with (fail …)
  2  the command line or a file makes no sense
  3  a limit stopped the program: fuel, memory, time, output, nesting, tool calls
"
    };
}

/// Exit codes of commands that run agents.
macro_rules! agent_codes {
    () => {
        "Exit codes:
  0    the agent answered
  1    the agent failed
  2    the command line, a file, an input or the model cannot be used
  3    a limit stopped the agent: turns, tokens, money, time, fuel, tool calls
  4    calls wait for a person's approval; what it has done so far is kept
  5    no program returned, and the last value answers, as `fallback` allows
  130  it was stopped, with Ctrl-C or SIGTERM; what it has done so far is kept
"
    };
}

/// Exit codes of commands that only look at an agent.
macro_rules! look_codes {
    () => {
        "Exit codes:
  0  the file is valid; what would still stop a run is noted
  2  the command line, the file, an input or the model cannot be used
"
    };
}

pub(crate) use {agent_codes, look_codes, program_codes};

#[cfg(test)]
mod tests {
    /// The table as a page shows it.
    fn page(table: &str) -> String {
        let rows = table.lines().filter_map(|line| line.trim().split_once("  ")).map(|(code, meaning)| {
            format!("| {code} | {} |\n", meaning.trim().replace("(fail …)", "`(fail …)`"))
        });
        format!("| code | meaning |\n|---|---|\n{}", rows.collect::<String>())
    }

    #[test]
    fn the_pages_have_the_same_tables_as_help() {
        for (name, pages, table) in [
            ("cli.md", include_str!("../../../docs/cli.md"), program_codes!()),
            ("running.md", include_str!("../../../docs/running.md"), agent_codes!()),
        ] {
            let wanted = page(table);
            assert!(pages.contains(&wanted), "docs/{name} lacks this table:\n{wanted}");
        }
    }
}
