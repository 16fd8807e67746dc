//! Files and folders for one user.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Makes a folder, and those it is in, where they are missing. What is there already is left as it is.
pub fn folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes the folder that a file will be in.
pub fn folder_of(path: &Path) -> io::Result<()> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), folder)
}

/// A file that is not there yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// An empty file, whether it is there or not; it can be read back.
pub fn create(path: &Path) -> io::Result<File> {
    // Nothing is cut off before it is known whose file it is.
    let file = options().create(true).truncate(false).open(path)?;
    narrow(&file, path)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// A file to write behind what is in it.
pub fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    mode(&mut options);
    let file = options.open(path)?;
    narrow(&file, path)?;
    Ok(file)
}

/// Writes a file so that readers find either the old or the new one, never half of it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |beside| {
        let mut file = create(beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    })
}

/// Writes a file beside the one that it then takes the place of.
pub(crate) fn replace_with(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside: PathBuf = path.with_file_name(name);
    let written = write(&beside).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // It may not have been made.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    mode(&mut options);
    options
}

fn mode(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Takes a file that was there from everybody else; one of another user is refused, who could read along. Devices and
/// pipes are left as they are.
#[cfg(unix)]
fn narrow(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Ok(());
    }
    if meta.uid() != crate::owned::user() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            crate::owned::anothers(path, meta.uid()),
        ));
    }
    if meta.mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn narrow(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}
