//! One file per command. A command parses its arguments, runs and says how it went.

mod batch;
mod complete;
mod eval;
mod repl;
mod signature;

use std::process::ExitCode;

/// What `ptc` can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run a program, or many with --batch.
    Eval(eval::Args),
    /// Type programs and see their values.
    Repl(repl::Args),
    /// Check signatures and translate them to and from JSON Schema.
    Signature(signature::Args),
}

impl Command {
    /// Runs the command. An error is one of usage: arguments or files that make no sense.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Command::Eval(args) => eval::run(args),
            Command::Repl(args) => repl::run(args),
            Command::Signature(args) => match signature::run(args) {
                true => Ok(Outcome::Done),
                false => Ok(Outcome::Failed),
            },
        }
    }
}

/// How a command went, as its exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All went well.
    Done = 0,
    /// The program failed.
    Failed = 1,
    /// The command was asked for something that makes no sense.
    Usage = 2,
    /// A limit stopped the program.
    Limit = 3,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(outcome as u8)
    }
}
