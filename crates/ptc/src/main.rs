//! The `ptc` command: arguments, terminal and wiring. The work is done in the library crates.

mod agents;
mod attached;
mod commands;
mod exit;
mod plans;
mod report;
mod stubs;
mod terminal;
mod traces;
mod values;

use std::convert::Infallible;
use std::process::ExitCode;

use clap::Parser;

/// Programs allocate many small values, which is what this allocator is good at.
#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

/// Let a language model write one small program in place of twenty tool calls, and run it in a metered sandbox.
#[derive(Debug, Parser)]
#[command(name = "ptc", version, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

const AFTER_HELP: &str = "\
Begin here, no key is needed:
  ptc init mission && ptc run mission --input mission/input.json

Examples:
  ptc eval -e '(reduce + (range 10))'
  ptc eval report.clj --data orders=@orders.json
  ptc repl
  ptc mcp --client claude-code      # the configuration of your MCP client

`ptc help COMMAND` describes a command in full, `ptc docs` is the book.";

fn main() -> ExitCode {
    terminal::tell_panics();
    let cli: Cli = terminal::parse(commands::grouped);
    let worker = std::thread::Builder::new().stack_size(ptc_host::STACK).spawn(move || run(cli.command));
    let message = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(never)) => match never {},
        Ok(Err(_)) => "stopped by a bug of its own, see above".to_owned(),
        Err(error) => format!("cannot start: {error}"),
    };
    complain(&message).into()
}

/// Runs the command and ends the process from here: nobody has to wait until the thread has put its stack away.
fn run(command: commands::Command) -> Infallible {
    let outcome = command.run().unwrap_or_else(|error| complain(&format!("{error:#}")));
    std::process::exit(outcome as i32)
}

fn complain(message: &str) -> exit::Outcome {
    terminal::complain(message);
    exit::Outcome::Usage
}
