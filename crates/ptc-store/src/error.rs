//! What can go wrong between this process and what it stores: where, what, and what to do about it.

/// A failure of the store itself. What a caller asked for wrongly is an error of the module that was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The place is not one that can be opened.
    #[error("store `{place}`: {problem}; {fix}")]
    Place {
        /// The place as it was given, without a password.
        place: String,
        /// What does not fit.
        problem: String,
        /// What to write instead.
        fix: String,
    },
    /// The file or server cannot be reached.
    #[error("store `{place}` cannot be opened: {cause}; {fix}")]
    Unreachable {
        /// Where.
        place: String,
        /// What the system or the server said.
        cause: String,
        /// What to look at.
        fix: String,
    },
    /// The file is not a store, or parts of it are broken.
    #[error("store `{place}` is damaged: {detail}; restore it from a backup, or move it away to begin anew")]
    Damaged {
        /// Where.
        place: String,
        /// What was found.
        detail: String,
    },
    /// Another program's tables are there.
    #[error("store `{place}` is a database of another program; name another file")]
    Foreign {
        /// Where.
        place: String,
    },
    /// Others could have written it, or could read it.
    #[error("store `{place}` is not taken: {problem}")]
    Untrusted {
        /// Where.
        place: String,
        /// Whose it is, and how to fix that.
        problem: String,
    },
    /// The file that is open is not at the place any more.
    #[error(
        "store `{place}` is not where it was opened: {problem}; nothing was changed. Put the file back with its log, or start \
         again with what is there now"
    )]
    Moved {
        /// Where it was.
        place: String,
        /// What is there now.
        problem: String,
    },
    /// A later version has written here.
    #[error(
        "store `{place}` was made by a later version (format {found}, this one knows up to {known}); update ptc"
    )]
    Newer {
        /// Where.
        place: String,
        /// The format that was found.
        found: i64,
        /// The latest format that this version knows.
        known: i64,
    },
    /// Others kept the store locked for too long.
    #[error("store `{place}` is busy: {cause}; nothing was changed, try again")]
    Busy {
        /// Where.
        place: String,
        /// Who or what holds it, as far as the database says.
        cause: String,
    },
    /// The connection broke while a change was being made final.
    #[error(
        "store `{place}` did not acknowledge a change ({cause}); it may or may not be there, read before writing again"
    )]
    Unacknowledged {
        /// Where.
        place: String,
        /// How it broke.
        cause: String,
    },
    /// A statement failed: no room, no permission, or a mistake of this crate.
    #[error("store `{place}` failed at `{statement}`: {cause}")]
    Failed {
        /// Where.
        place: String,
        /// The beginning of the statement.
        statement: String,
        /// What the database said.
        cause: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed later without anybody changing anything.
    pub fn is_temporary(&self) -> bool {
        matches!(self, StoreError::Busy { .. } | StoreError::Unreachable { .. })
    }
}
