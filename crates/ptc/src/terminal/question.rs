//! Questions to whoever sits at the terminal. What was typed before a question was there does not answer it.

use std::io::{self, BufRead, Write as _};
use std::time::Duration;

use super::stderr;

/// How long people see what a question is about before it is asked, as on the page of approvals.
const LOOK: Duration = Duration::from_secs(1);

/// Leaves people the time to see that something new stands there. Keys that they press meanwhile were meant for
/// something else, and the next question does not take them.
pub fn look() {
    std::thread::sleep(LOOK);
}

/// Asks for one line, without white space around it. The end of input is none.
pub fn answer(question: &str) -> io::Result<Option<String>> {
    let mut typed = from_now_on()?;
    let mut err = stderr();
    write!(err, "{question}")?;
    err.flush()?;
    drop(err);
    let mut line = String::new();
    match typed.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(line.trim().to_owned())),
    }
}

/// What will be typed: what the terminal holds is dropped, and a new reader holds nothing.
#[cfg(unix)]
fn from_now_on() -> io::Result<impl BufRead> {
    use nix::sys::termios::{FlushArg, tcflush};
    use std::os::fd::AsFd;

    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    tcflush(&stdin, FlushArg::TCIFLUSH)?;
    Ok(io::BufReader::new(std::fs::File::from(stdin)))
}

/// What is typed; nothing can be dropped here.
#[cfg(not(unix))]
fn from_now_on() -> io::Result<impl BufRead> {
    Ok(io::stdin().lock())
}
