//! What was measured, inside texts: how long something took, when it was called, and the identity under which that call is
//! listed. Two runs that do the same tell other ones, so where failures differ in nothing else they are the same, and so is what
//! follows from them.

use std::collections::BTreeSet;

/// What two recordings measured differently so far.
#[derive(Debug, Default)]
pub struct Measured {
    known: BTreeSet<(String, String)>,
}

impl Measured {
    /// Whether two texts say the same. In a failure anything that is measured may differ, and is known from then on; elsewhere only
    /// what is known.
    pub fn same(&mut self, left: &str, right: &str, in_failure: bool) -> bool {
        let (left, right) = (pieces(left), pieces(right));
        let mut found = Vec::new();
        let same = left.len() == right.len()
            && left.into_iter().zip(right).all(|pair| match pair {
                (one, other) if one == other => true,
                (Piece::Measured(one), Piece::Measured(other)) => {
                    let pair = (one.to_owned(), other.to_owned());
                    let is_known = self.known.contains(&pair);
                    found.push(pair);
                    in_failure || is_known
                }
                _ => false,
            });
        if same {
            self.known.extend(found);
        }
        same
    }
}

#[derive(Debug, PartialEq)]
enum Piece<'t> {
    Plain(&'t str),
    Measured(&'t str),
}

/// A text in pieces, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut plain, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let Some(bytes) = measured(text, at) else {
            at += 1;
            continue;
        };
        pieces.push(Piece::Plain(&text[plain..at]));
        pieces.push(Piece::Measured(&text[at..at + bytes]));
        at += bytes;
        plain = at;
    }
    pieces.push(Piece::Plain(&text[plain..]));
    pieces
}

/// How an identity is told.
const IDENTITY: &str = "dentity is ";

/// How many bytes from a place on are something that was measured. All of them are ASCII.
fn measured(text: &str, at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let rest = &text[at..];
    if before.ends_with(IDENTITY) {
        return Some(run(rest, |c| c.is_ascii_alphanumeric() || c == '-')).filter(|bytes| *bytes > 0);
    }
    if before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':')) {
        return None;
    }
    let bytes = time(rest).or_else(|| duration(rest))?;
    (!rest[bytes..].starts_with(char::is_alphanumeric)).then_some(bytes)
}

/// A time such as `2026-07-27T09:14:02Z`.
fn time(text: &str) -> Option<usize> {
    const FORM: &str = "0000-00-00T00:00:00";
    let whole = text.get(..FORM.len())?;
    let fits = |(form, c): (char, char)| if form == '0' { c.is_ascii_digit() } else { form == c };
    let fraction = run(&text[FORM.len()..], |c| c.is_ascii_digit() || c == '.');
    let end = FORM.len() + fraction;
    (FORM.chars().zip(whole.chars()).all(fits) && text[end..].starts_with('Z')).then_some(end + 1)
}

/// A duration such as `998 ms` or `1.2 s`.
fn duration(text: &str) -> Option<usize> {
    let number = run(text, |c| c.is_ascii_digit() || matches!(c, '.' | ','));
    let units = [" ms", " s"].into_iter().find(|unit| text[number..].starts_with(unit))?;
    text.starts_with(|c: char| c.is_ascii_digit()).then_some(number + units.len())
}

/// Bytes of the characters that a text begins with.
fn run(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_the_same_but_for_what_was_measured() {
        let late = |ms: u32, second: u32, identity: &str| {
            format!(
                "outcome unknown: crm/put, called at 2026-07-27T09:14:0{second}Z, was sent and not answered (timeout: no answer \
                 within {ms} ms); its identity is {identity}"
            )
        };
        let mut measured = Measured::default();
        assert!(measured.same(&late(999, 2, "0002-aa"), &late(998, 3, "0002-bb"), true));
        // What a model is told of it.
        let told = |ms: u32, second: u32, identity: &str| {
            format!("=> {{:message {:?}}}", late(ms, second, identity))
        };
        assert!(measured.same(&told(999, 2, "0002-aa"), &told(998, 3, "0002-bb"), false));
        assert!(
            !measured.same(&told(999, 2, "0002-aa"), &told(997, 3, "0002-bb"), false),
            "nobody measured that"
        );
        assert!(!measured.same(&late(999, 2, "a"), &late(999, 2, "a").replace("crm", "erp"), true));
    }

    #[test]
    fn what_a_program_asks_for_is_not_measured() {
        let mut measured = Measured::default();
        assert!(!measured.same("wait 500 ms", "wait 700 ms", false));
        assert!(measured.same("took 500 ms", "took 700 ms", true));
        assert!(measured.same("wait 500 ms", "wait 700 ms", false), "as long as that took");
        for (one, other) in
            [("7 items", "8 items"), ("v1.5 ms", "v1.6 ms"), ("5 msx", "6 msx"), ("é 5", "é 6"), ("", "5 s")]
        {
            assert!(!measured.same(one, other, true), "{one}");
        }
        assert!(measured.same("é 1.2 s, 3 ms", "é 1.3 s, 4 ms", true));
    }
}
