//! What meets the user's system: the one place that makes files and folders and that says what child processes are
//! told, so that nobody has to remember it.
//!
//! [`private`] is for whatever a user, a model or an upstream said: stores, keys, recordings, traces, logs. Files have
//! mode 0600 and folders 0700, whatever the umask says. [`project`] is for what belongs into a project or a manual and
//! is read by others. [`owned`] says whether a file may be trusted that somebody else could have put there.
//! [`environment`] is what a child process inherits, [`memory`] how much there is of that.
//!
//! `cargo xtask ci` refuses the functions of `std` that do these things anywhere else.

pub mod environment;
pub mod memory;
pub mod owned;
pub mod private;
pub mod project;
