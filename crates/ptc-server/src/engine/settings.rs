//! What the engine was told, with everything settled that depends on something else.

use std::time::Duration;

use ptc_upstream::catalog::CatalogText;

/// How much of an answer is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Text only.
    #[default]
    Slim,
    /// Text and a compact object.
    Structured,
    /// Everything, as an object and as its text.
    Debug,
}

impl Profile {
    /// The profiles by name.
    pub const NAMES: &[(&str, Profile)] =
        &[("slim", Profile::Slim), ("structured", Profile::Structured), ("debug", Profile::Debug)];
}

/// How much of programs and their inputs records keep.
pub type Payloads = ptc_trace::Policy;

/// What the engine works by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much of an answer is shown.
    pub profile: Profile,
    /// The largest program in bytes.
    pub max_program_bytes: usize,
    /// The largest context in bytes of compact JSON.
    pub max_context_bytes: usize,
    /// Calls that may run programs at once.
    pub max_concurrent_calls: usize,
    /// How long a program may take.
    pub program_timeout: Duration,
    /// How much memory a program may use.
    pub program_memory_bytes: usize,
    /// Whether programs may only call upstream tools that read.
    pub read_only: bool,
    /// How much of the catalog descriptions carry.
    pub catalog: CatalogText,
    /// How much of programs and their inputs records keep.
    pub payloads: Payloads,
    /// Bytes of results that are kept for reading.
    pub resource_bytes: usize,
    /// Results that are kept for one owner.
    pub resources_per_owner: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            profile: Profile::Slim,
            max_program_bytes: 64 << 10,
            max_context_bytes: 4 << 20,
            max_concurrent_calls: cpus.min(8),
            program_timeout: Duration::from_millis(1_000),
            program_memory_bytes: 10 << 20,
            read_only: false,
            catalog: CatalogText::default(),
            payloads: Payloads::default(),
            resource_bytes: 32 << 20,
            resources_per_owner: 16,
        }
    }
}

impl Settings {
    /// The defaults of a server with upstreams, whose programs wait for others.
    pub fn aggregator() -> Self {
        Settings {
            program_timeout: Duration::from_millis(10_000),
            program_memory_bytes: 100 << 20,
            ..Settings::default()
        }
    }
}
