//! The command line, and what is wrong with it. `clap` would print what it quotes as it is.

use std::env;

use clap::error::ErrorKind;
use clap::{Command, Parser};

use super::complain;

/// Reads the arguments; tells what is wrong with them, or helps, and ends the process. `grouped` makes the help of the
/// command itself, and is not asked for anything else: most starts need none.
pub fn parse<P: Parser>(grouped: fn(Command) -> Command) -> P {
    let command = match asks_for_help() {
        true => grouped(P::command()),
        false => P::command(),
    };
    let read = command.try_get_matches().and_then(|mut matches| {
        P::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut P::command()))
    });
    let error = match read {
        Ok(parsed) => return parsed,
        Err(error) => error,
    };
    // Help is text of ours only.
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    // Without colours, because its escape sequences could not be told from those that it quotes.
    let text = error.render().to_string();
    complain(text.strip_prefix("error:").unwrap_or(&text).trim());
    std::process::exit(error.exit_code());
}

/// Whether the help of the command itself will be shown.
fn asks_for_help() -> bool {
    env::args_os().nth(1).is_none_or(|first| ["-h", "--help", "help"].iter().any(|help| first == *help))
}
