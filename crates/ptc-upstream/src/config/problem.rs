//! What can be wrong with a configuration: every problem says where it is, what it is and how to fix it, and
//! all of a file's problems are found in one go.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: `upstream 'github', key 'url'`, or empty for the file as a whole.
    pub place: String,
    /// What is wrong there.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn general(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Problem { place: String::new(), message: message.into(), fix: fix.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}", self.message)?;
        if !self.fix.is_empty() {
            write!(f, "; {}", self.fix)?;
        }
        Ok(())
    }
}

/// All that is wrong with a configuration, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, where there is one.
    pub file: Option<std::path::PathBuf>,
    /// What was found, in the order of the file.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// An error of one problem.
    pub fn one(problem: Problem) -> Self {
        ConfigError { file: None, problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "upstreams config {}", file.display())?,
            None => write!(f, "upstreams config")?,
        }
        match self.problems.as_slice() {
            [only] => write!(f, ": {only}"),
            many => {
                write!(f, " has {} problems:", many.len())?;
                many.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// The candidate closest to `name`, if it is close enough to be what was meant.
pub fn closest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let name = plain(name);
    let limit = match name.chars().count() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many characters must be added, removed or changed; long texts are as far apart as they are long.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let changed = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

/// The names as a list for people: `a, b, c`.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}
