//! Servers die with us, even if we are killed without a chance to clean up. A shell waits at the end of a pipe
//! whose other end only this process holds; the groups of our children are written into it, and when the pipe
//! closes, whatever is left of them is killed.
//!
//! The alternative, a death signal that the child sets on itself, needs unsafe code between fork and exec, is
//! bound to the thread that forked rather than to the process, and does not reach grandchildren.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads `+ group` and `- group`; at the end of input kills what is left.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
groups=
while read -r sign group; do
  if [ "$sign" = + ]; then groups="$groups $group"; continue; fi
  kept=
  for known in $groups; do [ "$known" = "$group" ] || kept="$kept $known"; done
  groups=$kept
done
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
"#;

static GUARD: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// A process group that dies with us, until this is dropped.
#[derive(Debug)]
pub struct Guarded(u32);

impl Guarded {
    /// Guards the group.
    pub fn new(group: u32) -> Guarded {
        tell(&format!("+ {group}\n"));
        Guarded(group)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        tell(&format!("- {}\n", self.0));
    }
}

/// Without a shell there is no guard; servers still see the end of their input when we die.
fn tell(line: &str) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.is_none() {
        *guard = start();
    }
    if let Some(pipe) = guard.as_mut()
        && let Err(error) = pipe.write_all(line.as_bytes())
    {
        tracing::warn!("the guard of child processes is gone: {error}");
        *guard = None;
    }
}

#[cfg(unix)]
fn start() -> Option<ChildStdin> {
    use std::os::unix::process::CommandExt as _;
    let spawned = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match spawned {
        Ok(mut child) => child.stdin.take(),
        Err(error) => {
            tracing::warn!("no guard for child processes: {error}");
            None
        }
    }
}

#[cfg(not(unix))]
fn start() -> Option<ChildStdin> {
    None
}
