//! What the system holds of files in memory.

use std::fs::File;

/// Has the system forget the parts of a file that it holds and that need not be written any more, so that they are read from the
/// disk again. Where there is no such call, nothing is forgotten.
pub fn forget(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
        // Advice: the system may leave it.
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}
