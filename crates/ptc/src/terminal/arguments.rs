//! The command line, and what is wrong with it. `clap` would print what it quotes as it is.

use clap::Parser;
use clap::error::ErrorKind;

use super::{colours, errln, stderr, styled};

/// Reads the arguments; tells what is wrong with them, or helps, and ends the process.
pub fn parse<P: Parser>() -> P {
    let error = match P::try_parse() {
        Ok(parsed) => return parsed,
        Err(error) => error,
    };
    // Help is text of ours only.
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    // Without colours, because its escape sequences could not be told from those that it quotes.
    let text = error.render().to_string();
    match text.strip_prefix("error:").filter(|_| colours(&stderr())) {
        Some(rest) => errln!("{}{}", styled("1;31", "error:"), rest.trim_end()),
        None => errln!("{}", text.trim_end()),
    }
    std::process::exit(error.exit_code());
}
