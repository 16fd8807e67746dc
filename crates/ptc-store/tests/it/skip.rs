//! Tests that need a program or a right which is not there. All of them say so here, so that none is skipped without a word.

/// Says that a test is skipped because something is missing. Where nothing may be missing, it fails instead:
/// `cargo xtask ci` sets `PTC_SKIPS=fail`, and `cargo xtask test` says in the end how many were skipped, and why.
pub fn skip(missing: &str) {
    let told = format!("skipped: {missing} is missing; `cargo xtask packages` installs programs");
    let refused = std::env::var_os("PTC_SKIPS").is_some_and(|skips| skips == "fail");
    assert!(!refused, "{told}; PTC_SKIPS=fail allows no skipped test");
    eprintln!("{told}");
}
