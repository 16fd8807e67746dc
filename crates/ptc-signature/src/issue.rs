//! What validation and coercion report: issues with paths, and the modes that decide what they lead to.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::firewall::is_firewalled;
use crate::keys;
use crate::parse::lexer::is_bare_name;
use crate::render::quote;

/// Most issues that are listed. A value has as many as it has parts, and whoever chose it chose their number.
const MOST_ISSUES: usize = 100;
/// What the issue after the last of them begins with.
const MORE: &str = "more does not fit than these";
/// How many bytes of the declared name of a field a path has.
const NAME: usize = 200;
/// How many bytes of a key that nobody declared: it is data, and the beginning tells which one is meant.
const KEY: usize = 30;

/// How strictly a contract is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Check and fail on errors; undeclared fields are fine.
    #[default]
    Enabled,
    /// Check, but report errors as warnings and go on.
    WarnOnly,
    /// Do not check.
    Disabled,
    /// Check and fail on errors; undeclared fields are errors too.
    Strict,
}

impl Mode {
    /// Every mode with the name it has in options.
    pub const ALL: [(Mode, &'static str); 4] = [
        (Mode::Enabled, "enabled"),
        (Mode::WarnOnly, "warn_only"),
        (Mode::Disabled, "disabled"),
        (Mode::Strict, "strict"),
    ];

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.iter().find(|(_, known)| keys::same(known, name)).map(|(mode, _)| *mode)
    }

    /// The name the mode has in options.
    pub fn name(self) -> &'static str {
        Mode::ALL.iter().find(|(mode, _)| *mode == self).map_or("enabled", |(_, name)| name)
    }

    /// Whether every tool must have a signature and the context must satisfy the parameters.
    pub fn requires_signatures(self) -> bool {
        self == Mode::Strict
    }

    /// Runs `check` (told whether undeclared fields are errors) and sorts its findings by this mode.
    pub(crate) fn decide(self, check: impl FnOnce(bool) -> Vec<Issue>) -> Result<Vec<Issue>, Rejection> {
        if self == Mode::Disabled {
            return Ok(Vec::new());
        }
        let errors = check(self == Mode::Strict);
        match self {
            _ if errors.is_empty() => Ok(errors),
            Mode::WarnOnly => Ok(errors),
            _ => Err(Rejection { errors, warnings: Vec::new() }),
        }
    }
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Into a field of a map.
    Field(String),
    /// Into an item of a list, from 0.
    Index(usize),
}

/// Where in a value something is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// Whether the path runs through a firewalled field, so that nothing of the value may be shown.
    pub fn is_firewalled(&self) -> bool {
        self.0.iter().any(|segment| matches!(segment, Segment::Field(name) if is_firewalled(name)))
    }

    /// The path with hyphens in its names, as a model writes them.
    pub fn kebab(&self) -> Path {
        let spell = |segment: &Segment| match segment {
            Segment::Field(name) => Segment::Field(keys::kebab(name)),
            index => index.clone(),
        };
        Path(self.0.iter().map(spell).collect())
    }
}

impl Display for Path {
    /// `results[0].customer.id`, with other names than those in quotes; the empty path is `root`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("root");
        }
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Field(name) if position == 0 => f.write_str(&written(name))?,
                Segment::Field(name) => write!(f, ".{}", written(name))?,
            }
        }
        Ok(())
    }
}

/// A name as a signature writes it. Names may be data: in quotes, on one line, nobody takes them for our words.
fn written(name: &str) -> Cow<'_, str> {
    if is_bare_name(name) {
        return Cow::Borrowed(name);
    }
    let mut quoted = String::new();
    quote(&mut quoted, name);
    Cow::Owned(quoted)
}

/// A step on the way down a value, borrowed so that valid values cost no allocation.
#[derive(Clone)]
pub(crate) enum Step<'a> {
    /// Into a field by its declared name.
    Field(&'a str),
    /// To a key that is data.
    Key(Cow<'a, str>),
    Index(usize),
}

impl<'a> Step<'a> {
    pub(crate) fn field(name: &'a str) -> Step<'a> {
        Step::Field(name)
    }
}

/// Where a walk over a value currently is.
#[derive(Clone, Default)]
pub(crate) struct Trail<'a>(Vec<Step<'a>>);

impl<'a> Trail<'a> {
    pub(crate) fn push(&mut self, step: Step<'a>) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// An issue at this place; `word` is told whether the value must not be shown.
    pub(crate) fn issue(&self, word: impl FnOnce(bool) -> String) -> Issue {
        let owned = |step: &Step<'_>| match step {
            Step::Field(name) => Segment::Field(cut(name, NAME)),
            Step::Key(name) => Segment::Field(cut(name, KEY)),
            Step::Index(index) => Segment::Index(*index),
        };
        let path = Path(self.0.iter().map(owned).collect());
        let message = word(path.is_firewalled());
        Issue { path, message }
    }
}

/// A text, or its beginning with a mark.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.len() > most {
        true => format!("{}…", &text[..text.floor_char_boundary(most)]),
        false => text.to_owned(),
    }
}

/// What a walk has to say, up to a bound.
#[derive(Default)]
pub(crate) struct Issues(Vec<Issue>);

impl Issues {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() > MOST_ISSUES
    }

    /// Adds an issue at a place.
    pub(crate) fn add(&mut self, trail: &Trail<'_>, word: impl FnOnce(bool) -> String) {
        self.push(|| trail.issue(word));
    }

    /// Adds those of another walk.
    pub(crate) fn append(&mut self, others: Issues) {
        others.0.into_iter().for_each(|issue| self.push(|| issue));
    }

    /// The one after the last says that there are more.
    fn push(&mut self, issue: impl FnOnce() -> Issue) {
        match self.0.len() {
            MOST_ISSUES => {
                let message = format!("{MORE} {MOST_ISSUES}");
                self.0.push(Issue { path: Path(Vec::new()), message });
            }
            listed if listed < MOST_ISSUES => self.0.push(issue()),
            _ => {}
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Issue> {
        self.0
    }
}

/// Something to say about one place in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where it is.
    pub path: Path,
    /// What it is.
    pub message: String,
}

impl Issue {
    /// The issue with hyphens in the names of its path, as a model writes them.
    pub fn kebab(&self) -> Issue {
        Issue { path: self.path.kebab(), message: self.message.clone() }
    }
}

impl Issue {
    /// Whether the text of an issue says that there are more than those that are listed.
    pub fn tells_of_more(text: &str) -> bool {
        text.strip_prefix("root: ").unwrap_or(text).starts_with(MORE)
    }

    /// What it has in common with those of other items: the path without the numbers of items, and what was expected.
    fn kind(&self) -> String {
        let names = self.path.0.iter().map(|segment| match segment {
            Segment::Field(name) => written(name),
            Segment::Index(_) => Cow::Borrowed("[]"),
        });
        let message =
            self.message.split_once(", got ").map_or(self.message.as_str(), |(expected, _)| expected);
        format!("{}: {message}", names.collect::<Vec<_>>().join("."))
    }

    /// The issue with another word for the value: what it was before it became JSON.
    pub fn got(mut self, told: &str) -> Issue {
        const GOT: &str = ", got ";
        if let Some((expected, rest)) = self.message.rsplit_once(GOT) {
            let advice = rest.find(" (").map_or("", |at| &rest[at..]);
            self.message = format!("{expected}{GOT}{told}{advice}");
        }
        self
    }
}

impl Display for Issue {
    /// `limit: expected int, got nil`, and as one sentence `limit is missing (int)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.message.starts_with("is ") { "" } else { ":" };
        write!(f, "{}{colon} {}", self.path, self.message)
    }
}

/// Issues as lines, where what the items of a list have alike is one line with an example and a count.
fn gathered(issues: &[Issue]) -> Vec<String> {
    let endless = issues.iter().any(|issue| issue.message.starts_with(MORE));
    let mut lines: Vec<(String, &Issue, usize)> = Vec::new();
    for issue in issues {
        let kind = issue.kind();
        match lines.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., count)) => *count += 1,
            None => lines.push((kind, issue, 1)),
        }
    }
    let counted = |(_, issue, count): (String, &Issue, usize)| match count - 1 {
        0 => issue.to_string(),
        more if endless => format!("{issue} (and at least {more} more like it)"),
        more => format!("{issue} (and {more} more like it)"),
    };
    lines.into_iter().map(counted).collect()
}

/// A value that breaks its contract: the errors, and what was converted on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejection {
    /// The errors; of very many, the first.
    pub errors: Vec<Issue>,
    /// Conversions and dropped fields.
    pub warnings: Vec<Issue>,
}

impl Rejection {
    /// The lists under a heading of the caller's, `Tool validation` for the arguments of tools.
    pub fn feedback(&self, heading: &str) -> String {
        let mut text = String::new();
        for (kind, issues) in [("errors", &self.errors), ("warnings", &self.warnings)] {
            if issues.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&format!("{heading} {kind}:"));
            for line in gathered(issues) {
                text.push_str(&format!("\n- {line}"));
            }
        }
        text
    }
}

impl Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.feedback("Validation"))
    }
}

impl std::error::Error for Rejection {}
