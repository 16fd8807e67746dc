//! The `ptc` command: arguments, terminal and wiring. The work is done in the library crates.

mod commands;
mod driver;
mod report;
mod stubs;
mod terminal;
mod values;

use std::process::ExitCode;

use clap::Parser;

/// Run, check and explore PTC-Lisp programs.
#[derive(Debug, Parser)]
#[command(name = "ptc", version, about, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

const AFTER_HELP: &str = "\
Examples:
  ptc eval -e '(reduce + (range 10))'
  ptc eval report.clj --data orders=@orders.json
  ptc repl

`ptc help COMMAND` describes a command in full.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = cli.command.run().unwrap_or_else(|error| {
        eprintln!("ptc: {error:#}");
        commands::Outcome::Usage
    });
    outcome.into()
}
