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
    let file = open(options().create(true).truncate(false), path)?;
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
    let file = open(&mut options, path)?;
    narrow(&file, path)?;
    Ok(file)
}

/// Gives a file a name that no file has.
pub fn rename_new(file: &Path, to: &Path) -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::errno::Errno;
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        match renameat2(AT_FDCWD, file, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
            // File systems that know nothing of it.
            Err(Errno::EINVAL | Errno::ENOSYS) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(file, to)
}

/// Writes a file so that readers find either the old or the new one, never half of it.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, |beside| {
        let mut file = create_new(beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    })
}

/// Writes a file beside the one that it then takes the place of; `write` makes it anew, so that no link is followed.
pub(crate) fn replace_with(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside: PathBuf = path.with_file_name(name);
    // What a process of that number left, or somebody laid there.
    let _ = std::fs::remove_file(&beside);
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

/// As many links as Linux follows for one name.
#[cfg(unix)]
const LINKS: usize = 40;

/// Opens a file to write to it. A link is followed only if nobody else can have laid it: whoever could would choose which of
/// this user's files is written over.
#[cfg(unix)]
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        options.custom_flags(nix::libc::O_NOFOLLOW);
        let opened = options.open(&path);
        if opened.is_ok() || !path.is_symlink() {
            return opened;
        }
        crate::owned::trusted_link(&path)
            .map_err(|problem| io::Error::new(io::ErrorKind::PermissionDenied, problem))?;
        let target = path.parent().unwrap_or(Path::new("")).join(std::fs::read_link(&path)?);
        if path.exists() && !target.exists() {
            // Pipes of a process, as /proc/self/fd has them, have no name that could be opened.
            options.custom_flags(0);
            return options.open(&path);
        }
        path = target;
    }
    Err(io::Error::other(format!("{}: there are too many links", path.display())))
}

#[cfg(not(unix))]
fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
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
