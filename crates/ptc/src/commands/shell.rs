//! `ptc completions` and `ptc man`: what shells and manuals want to know, made from the command line itself.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::ignore_closed_pipe;
use crate::agents::Models;
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

/// Any text, with names that shells offer for it.
#[derive(Clone)]
pub struct Named(pub fn() -> Vec<&'static str>);

impl TypedValueParser for Named {
    type Value = String;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(clap::Error::new(ErrorKind::InvalidUtf8).with_cmd(command)),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The names of models, with those of the user's own file.
pub fn models() -> Vec<&'static str> {
    let models = Models::load().ok();
    let names = models.iter().flat_map(|models| models.names());
    // They are asked for once, by a process that prints them and ends.
    names.map(|name| &*name.to_owned().leak()).collect()
}

/// Prints completions.
pub fn completions(args: &Completions) -> anyhow::Result<Outcome> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "ptc", &mut text);
    let text = with_runs(args.shell, &String::from_utf8_lossy(&text));
    ignore_closed_pipe(terminal::stdout().write_all(text.as_bytes()))?;
    Ok(Outcome::Done)
}

/// Completions that know the runs that are kept now, which shells ask `ptc` for when they need them.
fn with_runs(shell: Shell, text: &str) -> String {
    match shell {
        Shell::Bash => format!("{text}{BASH_RUNS}"),
        Shell::Fish => format!("{text}{FISH_RUNS}"),
        Shell::Zsh => {
            let text = text.replacen("#compdef ptc\n", &format!("#compdef ptc\n{ZSH_RUNS}"), 1);
            let run = |line: &str| match line.trim_start().starts_with("':run -- ") {
                true => line.replace(":_default'", ":_ptc_runs'"),
                false => line.to_owned(),
            };
            text.lines().map(|line| run(line) + "\n").collect()
        }
        _ => text.to_owned(),
    }
}

/// The first word of a line of `ptc runs` is a run; lines of its calls are indented.
const BASH_RUNS: &str = r#"
_ptc_and_runs() {
    _ptc "$@"
    if [[ ${COMP_WORDS[1]} == resume && ${COMP_CWORD} -eq 2 && $2 != -* || $3 == --forget ]]; then
        COMPREPLY=( $(compgen -W "$(ptc runs 2>/dev/null | grep -o '^[a-z0-9]*')" -- "$2") )
    fi
}
complete -F _ptc_and_runs -o bashdefault -o default ptc
"#;

const FISH_RUNS: &str = r#"
complete -c ptc -n "__fish_ptc_using_subcommand resume" -f -a "(ptc runs 2>/dev/null | grep -o '^[a-z0-9]*')"
"#;

const ZSH_RUNS: &str = r#"
_ptc_runs() {
    compadd -- ${(f)"$(ptc runs 2>/dev/null | grep -o '^[a-z0-9]*')"}
}
"#;

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
