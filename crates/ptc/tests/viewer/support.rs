//! Folders, runs and traces of the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptc_trace::{ReadBounds, Tree, list, read};

/// A folder of its own for a test, empty.
pub fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("viewer-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

/// The examples of the repository.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The command in a folder, with nothing of the user's own.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args(args).current_dir(folder).env("XDG_CONFIG_HOME", folder).stdin(Stdio::null());
    for variable in ["ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
        command.env_remove(variable);
    }
    command
}

/// Runs the command to its end.
pub fn ptc(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
}

/// What a run wrote to standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The traces of a folder, the newest first.
pub fn trees(dir: &Path) -> Vec<(String, Tree)> {
    let read = |entry: ptc_trace::Entry| {
        (entry.name, Tree::of(&read(&entry.path, ReadBounds::default()).expect("a trace")))
    };
    list(dir, 100).into_iter().map(read).collect()
}
