//! Files of a project or a manual: made for others, with the mode that the umask says.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Makes a folder, and those it is in, where they are missing.
pub fn folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// A file that is not there yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes a file so that readers find either the old or the new one, never half of it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    crate::private::replace_with(path, |beside| create_new(beside)?.write_all(bytes))
}
