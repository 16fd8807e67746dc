//! `ptc init`: a project that runs at once.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use ptc_system::project;

use super::eval::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal;

/// Make a project with an agent that runs at once, without a key.
///
/// Nothing is overwritten: if one of the files is there already, none is written.
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The files of a project.
const FILES: [(&str, &str); 5] = [
    ("agent.toml", include_str!("../template/agent.toml")),
    ("input.json", include_str!("../template/input.json")),
    ("owners.json", include_str!("../template/owners.json")),
    ("replies.jsonl", include_str!("../template/replies.jsonl")),
    ("README.md", include_str!("../template/README.md")),
];

/// Runs the command.
pub fn run(args: InitArgs) -> anyhow::Result<Outcome> {
    let folder = args.folder;
    let taken: Vec<&str> = FILES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| fs::symlink_metadata(folder.join(name)).is_ok())
        .collect();
    if !taken.is_empty() {
        bail!(
            "{} has {} already, and nothing is overwritten; name another folder",
            folder.display(),
            taken.join(", ")
        );
    }
    project::folder(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in FILES {
        let path = folder.join(name);
        project::create_new(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let agent = folder.join("agent.toml");
    let input = folder.join("input.json");
    let written = writeln!(
        terminal::stdout(),
        "{} is ready; try it:\n  ptc run {} --input {}",
        folder.display(),
        agent.display(),
        input.display()
    );
    ignore_closed_pipe(written)?;
    Ok(Outcome::Done)
}
