//! Versions of preludes.

/// The tables of this module. A version's row is written once and changes only when it is made the default
/// by hand; dependencies are pins of exact versions.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_preludes (
    id TEXT PRIMARY KEY,
    current_version INTEGER NOT NULL,
    latest_version INTEGER NOT NULL
);
CREATE TABLE ptc_prelude_versions (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    source BLOB NOT NULL,
    source_bytes INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    selected_at INTEGER,
    selected_metadata TEXT,
    PRIMARY KEY (id, version)
);
CREATE TABLE ptc_prelude_pins (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    needs_id TEXT NOT NULL,
    needs_version INTEGER NOT NULL,
    needs_checksum TEXT NOT NULL,
    PRIMARY KEY (id, version, needs_id)
);
CREATE INDEX ptc_prelude_pins_needed ON ptc_prelude_pins (needs_id, needs_version);
";
