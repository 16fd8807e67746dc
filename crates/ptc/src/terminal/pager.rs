//! Long text of ours at a terminal, a screen at a time, as `git` and `man` show it.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use super::{ansi, stdout};

/// The variable that names the pager; an empty one, or `cat`, wants none.
const VARIABLE: &str = "PAGER";

/// The pager where the user names none.
const USUAL: &str = "less";

/// What `less` is told unless the user told it something: end at once if all fits, show colours, leave the text there.
const LESS: &str = "FRX";

/// Prints text; on a terminal that it does not fit on, through the pager.
pub fn page(text: &str) -> io::Result<()> {
    let rows = usize::from(console::Term::stdout().size().0);
    if stdout().is_terminal() && text.lines().count() >= rows && paged(text) {
        return Ok(());
    }
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Whether a pager has shown the text.
fn paged(text: &str) -> bool {
    let named = std::env::var(VARIABLE).unwrap_or_else(|_| USUAL.to_owned());
    let mut words = named.split_whitespace();
    let Some(program) = words.next().filter(|program| *program != "cat") else { return false };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    // Ctrl-C is for the pager, which would stay behind on a terminal that it has changed.
    let _ = ctrlc::set_handler(|| {});
    if let Some(mut pipe) = child.stdin.take() {
        // Whoever has seen enough leaves the rest.
        let _ = pipe.write_all(ansi(text).as_bytes());
    }
    child.wait().is_ok()
}
