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

use std::process::ExitCode;

use clap::Parser;

/// Programs allocate many small values, which is what this allocator is good at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run agents that write programs; run, check and explore PTC-Lisp.
#[derive(Debug, Parser)]
#[command(name = "ptc", version, about, after_help = AFTER_HELP, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: commands::Command,
}

const AFTER_HELP: &str = "\
Examples:
  ptc init mission && ptc run mission/agent.toml --input mission/input.json
  ptc eval -e '(reduce + (range 10))'
  ptc eval report.clj --data orders=@orders.json
  ptc repl

`ptc help COMMAND` describes a command in full.";

fn main() -> ExitCode {
    let cli = Cli::parse();
    let worker = std::thread::Builder::new().stack_size(ptc_host::STACK).spawn(move || cli.command.run());
    let outcome = match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(outcome)) => outcome.map_err(|error| format!("{error:#}")),
        Ok(Err(_)) => Err("stopped by a bug of its own, see above".to_owned()),
        Err(error) => Err(format!("cannot start: {error}")),
    };
    outcome
        .unwrap_or_else(|message| {
            eprintln!("ptc: {message}");
            exit::Outcome::Usage
        })
        .into()
}
