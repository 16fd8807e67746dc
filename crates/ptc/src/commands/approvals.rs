//! `ptc approvals`: where people approve the calls of their servers on stdio.
//!
//! Such a server notes the address of its page, with the token, in a file that only its user may read, and keeps a lock
//! on it for as long as it runs. Nothing of it is in what the server tells its client.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal::{self, plain, state_folder};

/// Show where calls of your MCP servers on stdio wait for approval.
///
/// Prints the address of each server's approval page. Whoever has it decides, so it is shown on terminals only. Pages
/// of servers over HTTP are at /approvals, behind the token of the server.
#[derive(Debug, clap::Args)]
pub struct ApprovalsArgs {}

/// Where one server's calls are decided about.
#[derive(Debug, Deserialize, Serialize)]
struct Note {
    /// The address of the page, with its token.
    page: String,
    /// The folder in which the server was started.
    folder: String,
    /// Its process.
    process: u32,
}

/// The note of a server that runs. Dropping it takes the note away.
#[derive(Debug)]
pub struct Posted {
    path: PathBuf,
    _lock: File,
}

impl Drop for Posted {
    fn drop(&mut self) {
        // If it stays, the lock is gone, and the next `ptc approvals` removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Notes the page of this process for `ptc approvals`.
pub fn post(page: &SecretString) -> anyhow::Result<Posted> {
    let folder = folder().context("neither XDG_STATE_HOME nor HOME names a folder for it")?;
    let path = folder.join(format!("{:016x}.json", ptc_host::random_seed()));
    let here = std::env::current_dir().unwrap_or_default();
    let note = Note {
        page: page.expose_secret().to_owned(),
        folder: here.display().to_string(),
        process: std::process::id(),
    };
    let write = || {
        ptc_system::private::folder(&folder)?;
        let mut file = ptc_system::private::create_new(&path)?;
        file.lock_shared()?;
        file.write_all(serde_json::to_string(&note)?.as_bytes())?;
        Ok::<File, std::io::Error>(file)
    };
    let lock = write().with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(Posted { path, _lock: lock })
}

/// Runs the command.
pub fn run(_: ApprovalsArgs) -> anyhow::Result<Outcome> {
    let mut out = terminal::stdout();
    if !out.is_terminal() {
        bail!(
            "addresses with which calls can be approved are shown to people only: run `ptc approvals` in a terminal"
        );
    }
    let folder = folder().context("neither XDG_STATE_HOME nor HOME is set")?;
    let notes = notes(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    if notes.is_empty() {
        let nothing = "no server on stdio with calls that wait for approval is running";
        ignore_closed_pipe(writeln!(out, "{nothing}"))?;
    }
    for note in notes {
        let line = format!("{}\n    process {}, in {}", plain(&note.page), note.process, plain(&note.folder));
        ignore_closed_pipe(writeln!(out, "{line}"))?;
    }
    Ok(Outcome::Done)
}

/// The notes of servers that run; those of servers that died are removed.
fn notes(folder: &Path) -> std::io::Result<Vec<Note>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut notes = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // A server that ends meanwhile takes its file away.
        let Ok(mut file) = File::open(&path) else { continue };
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        // A file without a note is about to get one.
        let Ok(note) = serde_json::from_str::<Note>(&text) else { continue };
        match file.try_lock() {
            Ok(()) => std::fs::remove_file(&path)?,
            Err(_) => notes.push(note),
        }
    }
    notes.sort_by_key(|note| note.process);
    Ok(notes)
}

/// Where the notes are.
fn folder() -> Option<PathBuf> {
    Some(state_folder()?.join("approvals"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_of_a_server_that_died_is_removed() {
        let folder = std::env::temp_dir().join(format!("ptc-notes-{:016x}", ptc_host::random_seed()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let note = Note { page: "http://127.0.0.1:1/approvals#t".into(), folder: "/".into(), process: 1 };
        let text = serde_json::to_string(&note).expect("JSON");
        let (lives, died) = (folder.join("lives.json"), folder.join("died.json"));
        for path in [&lives, &died] {
            std::fs::write(path, &text).expect("it writes");
        }
        let lock = File::open(&lives).expect("it is there");
        lock.lock_shared().expect("a lock");
        assert_eq!(notes(&folder).expect("it reads").len(), 1);
        assert!(lives.exists() && !died.exists());
        drop(lock);
        assert!(notes(&folder).expect("it reads").is_empty());
        std::fs::remove_dir_all(folder).expect("it goes");
    }
}
