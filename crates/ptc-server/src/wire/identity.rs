//! What the server says about itself.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The name of the server in the protocol.
pub const NAME: &str = "ptc_lisp";

/// Who is behind a connection that shows no token: whoever may use this computer and its store.
pub const LOCAL: &str = "local";

/// What was built.
#[derive(Debug)]
pub struct Build {
    /// The version of the package.
    pub package: &'static str,
    /// The first twelve digits of the commit, if the build knew it.
    pub commit: Option<&'static str>,
    /// Whether the sources differed from the commit.
    pub dirty: bool,
    /// All of it in one line.
    pub version: String,
}

/// This build. `PTC_RUNNER_MCP_GIT_COMMIT` and `PTC_RUNNER_MCP_GIT_DIRTY` are set by whoever builds a release.
pub static BUILD: LazyLock<Build> = LazyLock::new(|| {
    let package = env!("CARGO_PKG_VERSION");
    let commit = option_env!("PTC_RUNNER_MCP_GIT_COMMIT").and_then(|commit| commit.get(..12));
    let dirty = matches!(option_env!("PTC_RUNNER_MCP_GIT_DIRTY"), Some("1" | "true"));
    let version = match (commit, dirty) {
        (Some(commit), true) => format!("{package}+{commit}.dirty"),
        (Some(commit), false) => format!("{package}+{commit}"),
        (None, _) => package.to_owned(),
    };
    Build { package, commit, dirty, version }
});

/// Random bytes as text for URLs and headers.
pub fn random<const BYTES: usize>() -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<BYTES>())
}

/// Random bytes.
pub fn random_bytes<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    // Without randomness ids could be guessed, so there is no way on.
    if let Err(error) = getrandom::fill(&mut bytes) {
        eprintln!("ptc: the system has no randomness: {error}");
        std::process::abort();
    }
    bytes
}
