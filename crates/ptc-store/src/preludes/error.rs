//! Why the prelude store refuses: every reason has a name that programs can branch on.

use crate::StoreError;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Why something was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant),+];

            /// The name that programs and hosts see.
            pub fn name(self) -> &'static str {
                match self {
                    $(Reason::$variant => $name,)+
                }
            }
        }
    };
}

reasons! {
    /// Not `id`, `id@version` or a map of id, version and checksum.
    InvalidRef = "invalid_ref",
    /// An argument of another kind than expected.
    InvalidArgument = "invalid_argument",
    /// Limits that make no sense, or a seed that cannot be read.
    InvalidConfig = "invalid_config",
    /// The source declares another namespace than its id, or the id is reserved.
    NamespaceViolation = "prelude_namespace_violation",
    /// The source is longer than allowed.
    SourceTooLarge = "source_too_large",
    /// The metadata are longer than allowed.
    MetadataTooLarge = "metadata_too_large",
    /// Somebody else has written since the base was read.
    StaleBase = "stale_base",
    /// The source does not compile.
    CompileError = "prelude_compile_error",
    /// Compiling took too long.
    CompileTimeout = "compile_timeout",
    /// Compiling took too much memory.
    CompileMemoryExceeded = "compile_memory_exceeded",
    /// No such prelude, or the version is not retained.
    NotFound = "not_found",
    /// The version has another checksum.
    ChecksumMismatch = "checksum_mismatch",
    /// The store has as many preludes as it may.
    IdLimitExceeded = "id_limit_exceeded",
    /// The store holds as much source as it may.
    StoreBytesExceeded = "store_bytes_exceeded",
    /// A prelude that is needed is not in the store.
    UnknownDependency = "unknown_dependency",
    /// A prelude would need itself.
    DependencyCycle = "dependency_cycle",
    /// Two versions of one prelude would be needed at once.
    DependencyConflict = "dependency_conflict",
    /// Metadata that are no map, or a known key with a value of another kind.
    InvalidMetadata = "invalid_metadata",
    /// A dependency names a version that is not the default.
    NonCurrentDependencyPin = "non_current_dependency_pin",
    /// Not a snapshot of a store.
    InvalidSnapshot = "invalid_snapshot",
    /// A snapshot that contradicts itself or the store it should go into.
    RestoreMismatch = "restore_mismatch",
    /// Files could not be written.
    ExportFailed = "export_failed",
    /// The new text is not one definition.
    InvalidFormSource = "invalid_form_source",
    /// The new text defines another name.
    FormNameMismatch = "form_name_mismatch",
    /// The base has no such definition.
    FormNotFound = "form_not_found",
    /// The base has that definition already.
    FormAlreadyExists = "form_already_exists",
    /// Two edits of a batch touch the same definition.
    ConflictingEditBatch = "conflicting_edit_batch",
    /// The base cannot be taken apart into definitions.
    BaseScanFailed = "base_scan_failed",
    /// The base has no namespace form.
    NsFormNotFound = "ns_form_not_found",
}

/// What the prelude store answers instead of doing as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PreludeError {
    /// What was asked for cannot be done; nothing was changed.
    #[error("{message}")]
    Refused {
        /// Why, by name.
        reason: Reason,
        /// Why, in words, and what to do.
        message: String,
        /// The compiler's own reason.
        compile_reason: Option<String>,
    },
    /// The store itself failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PreludeError {
    /// The reason by name; failures of the store are `store_unavailable`, or `outcome_unknown` where it may have kept the
    /// change.
    pub fn reason(&self) -> &'static str {
        match self {
            PreludeError::Refused { reason, .. } => reason.name(),
            PreludeError::Store(StoreError::Unacknowledged { .. }) => OUTCOME_UNKNOWN,
            PreludeError::Store(_) => "store_unavailable",
        }
    }
}

/// The reason of a change that may or may not be kept.
pub(crate) const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// A refusal.
pub(crate) fn refuse(reason: Reason, message: impl Into<String>) -> PreludeError {
    PreludeError::Refused { reason, message: message.into(), compile_reason: None }
}

/// Text from outside as messages may show it: short, on one line, quoted.
pub(crate) fn quoted(text: &str) -> String {
    let flat: String = text.chars().take(80).map(|char| if char.is_control() { ' ' } else { char }).collect();
    match flat.len() < text.len() {
        true => format!("`{flat}…`"),
        false => format!("`{flat}`"),
    }
}
