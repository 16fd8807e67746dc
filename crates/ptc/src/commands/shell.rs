//! `ptc completions` and `ptc man`: what shells and manuals want to know, made from the command line itself.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal;

/// Print completions for a shell.
///
/// For bash: `ptc completions bash > ~/.local/share/bash-completion/completions/ptc`; for zsh a file `_ptc` in a folder of
/// `fpath`; for fish: `ptc completions fish > ~/.config/fish/completions/ptc.fish`.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual, or write all of them.
#[derive(Debug, clap::Args)]
pub struct Manual {
    /// The command that the page is about; none is `ptc` itself
    command: Vec<String>,

    /// Write the pages of all commands into a directory, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Prints completions.
pub fn completions(args: &Completions) -> anyhow::Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "ptc", &mut text);
    ignore_closed_pipe(terminal::stdout().write_all(&text))?;
    Ok(Outcome::Done)
}

/// Prints or writes pages of the manual.
pub fn manual(args: &Manual) -> anyhow::Result<Outcome> {
    let mut command = crate::Cli::command();
    if let Some(dir) = &args.dir {
        let wrong = || format!("--dir: cannot write into {}", dir.display());
        ptc_system::project::folder(dir).with_context(wrong)?;
        clap_mangen::generate_to(command, dir).with_context(wrong)?;
        return Ok(Outcome::Done);
    }
    command.build();
    for name in &args.command {
        let Some(found) = command.find_subcommand(name) else {
            bail!("there is no command `{name}`; `ptc help` lists them");
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    ignore_closed_pipe(terminal::stdout().write_all(&text))?;
    Ok(Outcome::Done)
}
