//! Regular expressions: Java's syntax on engines that keep their time bounded.

/// A compiled pattern.
#[derive(Debug)]
pub enum Matcher {
    /// Matches in linear time.
    Linear(regex::Regex),
    /// Look-around and back-references, with a bound on backtracking.
    Backtracking(fancy_regex::Regex),
}
