//! Servers that come up when a test says so.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use crate::shell_server::{listing_only, shell_server};
use crate::support::Folder;

/// A named pipe that servers wait at. It is held open at both ends, so that neither a server nor the test waits to open it.
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    /// A gate that is shut, in the place of any other of this name.
    pub fn shut(folder: &Folder, name: &str) -> Gate {
        let path = folder.path().join(name);
        let _ = std::fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success(), "{}", path.display());
        let pipe = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Gate { path, pipe }
    }

    /// What the server is told: where its gate is.
    pub fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Lets servers through, a few times over: one that is started again waits again.
    pub fn open(&mut self) {
        self.pipe.write_all(&[b'\n'; 64]).unwrap();
    }
}

/// Answers as a small server once the gate is open whose path it is given.
pub fn late_server() -> String {
    let calling = r#"answer '{"content":[{"type":"text","text":"looked"}]}'"#;
    format!("read -r _ < \"$1\"\n{}", shell_server(&listing_only("look"), calling))
}
