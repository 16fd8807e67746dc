//! Whose file it is. What is read from a file is as trustworthy as whoever could have written it.

use std::path::Path;

/// How far others may reach a file that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The user's own, and nobody else may read or write it: stores, and keys that were made beside them.
    Nobody,
    /// Of the user or of root, and nobody else may write it; a group may read it. Secrets that an orchestrator mounts
    /// look like this.
    GroupReads,
    /// The user's own or root's, and nobody else may write it.
    AllRead,
}

/// Says why a file (or folder) may not be taken, and how to mend it. One that is not there is nobody's fault.
pub fn check(path: &Path, reach: Reach) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(meta) = std::fs::metadata(path) else { return Ok(()) };
        // Devices and pipes have no owner who could prepare them.
        if !meta.is_file() && !meta.is_dir() {
            return Ok(());
        }
        let (owner, mode) = (meta.uid(), meta.mode() & 0o777);
        let own = owner == user() || (owner == 0 && reach != Reach::Nobody);
        if !own {
            return Err(anothers(path, owner));
        }
        // Where every user has a group of their own, it has their number, and may write what they make.
        let own_group = meta.gid() == owner;
        let too_much = match reach {
            Reach::Nobody => 0o077,
            Reach::GroupReads => 0o027,
            Reach::AllRead if own_group => 0o002,
            Reach::AllRead => 0o022,
        };
        // In a folder with the sticky bit others may add files, but not change or remove this user's.
        let sticky = meta.is_dir() && meta.mode() & 0o1000 != 0;
        if mode & too_much != 0 && !sticky {
            let shown = path.display();
            let fix = mode & !too_much;
            return Err(format!(
                "{shown} has mode {mode:04o}, so that other users could {}; `chmod {fix:o} {shown}` if its content is to be trusted",
                if mode & 0o022 & too_much == 0 { "read it" } else { "change it" }
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = (path, reach);
    Ok(())
}

/// Whether a file and the folder that it is in belong to the user or to root and nobody else may write to them. Folders
/// further up, and what links lead to, are not looked at.
pub fn trusted(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    check(&path, Reach::AllRead)?;
    path.parent().map_or(Ok(()), |folder| check(folder, Reach::AllRead))
}

/// Whether a link belongs to the user or to root and lies where nobody else could put another in its place.
#[cfg(unix)]
pub(crate) fn trusted_link(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt as _;
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let owner =
        std::fs::symlink_metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.uid();
    if owner != user() && owner != 0 {
        return Err(format!(
            "{} is a link of another user (id {owner}), and is not followed; name the file itself",
            path.display()
        ));
    }
    path.parent().map_or(Ok(()), |folder| check(folder, Reach::AllRead)).map_err(|problem| {
        format!("{} is a link that others could have laid, and is not followed: {problem}", path.display())
    })
}

/// The user that this process acts for.
#[cfg(unix)]
pub(crate) fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}

#[cfg(unix)]
pub(crate) fn anothers(path: &Path, owner: u32) -> String {
    format!(
        "{} belongs to another user (id {owner}, this process runs as {}); name another file, or `chown` it if its content \
         is to be trusted",
        path.display(),
        user()
    )
}
