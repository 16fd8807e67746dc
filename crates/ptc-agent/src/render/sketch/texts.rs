//! The pattern of texts: `9` for digits, `a` and `A` for letters, punctuation as it is.

/// Longest pattern, in runs and in characters. It must be less than a text that could be recognised.
const LONGEST: usize = 24;

/// Characters of the same class that follow each other, and how many there are at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    class: char,
    least: usize,
    most: usize,
}

/// What texts have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    noted: bool,
    /// The runs that all of them have; none where they differ.
    runs: Option<Vec<Run>>,
    /// The length of the shortest and of the longest.
    lengths: (usize, usize),
}

impl Texts {
    /// Takes in a text of so many characters, of which the beginning is given.
    pub fn note(&mut self, text: &str, chars: usize) {
        let runs = (chars <= LONGEST * 4).then(|| runs(text)).flatten();
        match (self.noted, runs) {
            (false, runs) => self.runs = runs,
            (true, Some(runs)) => self.join(&runs),
            (true, None) => self.runs = None,
        }
        let (least, most) = if self.noted { self.lengths } else { (chars, chars) };
        self.lengths = (least.min(chars), most.max(chars));
        self.noted = true;
    }

    fn join(&mut self, others: &[Run]) {
        let same = self.runs.as_ref().is_some_and(|runs| {
            runs.len() == others.len() && runs.iter().zip(others).all(|(run, other)| run.class == other.class)
        });
        if !same {
            self.runs = None;
        }
        for (run, other) in self.runs.iter_mut().flatten().zip(others) {
            run.least = run.least.min(other.least);
            run.most = run.most.max(other.most);
        }
    }

    /// The pattern in quotes, else the lengths.
    pub fn told(&self) -> Option<String> {
        if !self.noted {
            return None;
        }
        if let Some(pattern) = self.pattern() {
            return Some(pattern);
        }
        let (least, most) = self.lengths;
        Some(match least == most {
            true => format!("of {} characters", super::grouped(most)),
            false => format!("of {} to {} characters", super::grouped(least), super::grouped(most)),
        })
    }

    fn pattern(&self) -> Option<String> {
        let mut out = String::new();
        for run in self.runs.as_ref()? {
            match run.least == run.most {
                true => out.extend(std::iter::repeat_n(run.class, run.least)),
                false => out.extend([run.class, '+']),
            }
        }
        (out.len() <= LONGEST).then(|| super::quoted(&out))
    }
}

/// The runs of a text, if they are few.
fn runs(text: &str) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for c in text.chars() {
        let (class, count) = (class(c), runs.len());
        match runs.last_mut() {
            Some(run) if run.class == class => {
                run.least += 1;
                run.most += 1;
            }
            _ if count == LONGEST => return None,
            _ => runs.push(Run { class, least: 1, most: 1 }),
        }
    }
    Some(runs)
}

fn class(c: char) -> char {
    match c {
        c if c.is_ascii_punctuation() || c == ' ' => c,
        c if c.is_numeric() => '9',
        c if c.is_uppercase() => 'A',
        c if c.is_lowercase() => 'a',
        _ => 'x',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_pattern_are_told_by_it_and_others_by_their_lengths() {
        let cases: [(&[&str], &str); 8] = [
            (&["2026-11-16", "2025-01-02"], "\"9999-99-99\""),
            (&["SKU-001", "SKU-12"], "\"AAA-9+\""),
            (&["Ann", "Bo"], "\"Aa+\""),
            (&["Ann Lee"], "\"Aaa Aaa\""),
            (&["open", "2 left"], "of 4 to 6 characters"),
            (&["žluť", "дом"], "\"a+\""),
            (&["東京"], "\"xx\""),
            (&["", ""], "\"\""),
        ];
        for (texts, expected) in cases {
            let mut noted = Texts::default();
            texts.iter().for_each(|text| noted.note(text, text.chars().count()));
            assert_eq!(noted.told().as_deref(), Some(expected), "{texts:?}");
        }
        assert_eq!(Texts::default().told(), None);
    }

    #[test]
    fn no_pattern_is_as_long_as_a_text_that_could_be_recognised() {
        for text in ["-".repeat(80), "-+".repeat(40), "- ".repeat(12), "x".repeat(40)] {
            let mut noted = Texts::default();
            noted.note(&text, text.len());
            assert!(noted.told().is_some_and(|told| told.len() < 32), "{:?}", noted.told());
        }
    }
}
