//! Values over several lines: what does not fit on one is broken at its brackets, entries of maps each on a line of
//! their own, plain items as many as fit.
//!
//! It works on the text of a value, which may have been cut: what is open at its end stays open.

/// A piece of a value.
struct Piece<'t> {
    /// Its text on one line, with a comma behind it if there was one.
    flat: &'t str,
    /// What opens it, its parts and what closes it, if it has any.
    parts: Option<(&'t str, Vec<Piece<'t>>, &'t str)>,
}

/// The text of a value in lines of so many columns, as far as it can be broken.
pub fn broken(text: &str, columns: usize) -> String {
    if text.len() <= columns {
        return text.to_owned();
    }
    let mut page = Page { out: String::with_capacity(text.len() + text.len() / 4), columns, column: 0 };
    for (at, piece) in pieces(text).iter().enumerate() {
        if at > 0 {
            page.line(0);
        }
        page.piece(piece, 0);
    }
    page.out
}

/// A collection whose end was not read yet.
struct Open<'t> {
    /// Where its text begins.
    from: usize,
    opening: &'t str,
    parts: Vec<Piece<'t>>,
}

/// The pieces of a text, one after the other.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut outside = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let from = at;
        at += c.len_utf8();
        let piece = match c {
            c if c.is_whitespace() || c == ',' => continue,
            ')' | ']' | '}' => match open.pop() {
                Some(Open { from, opening, parts }) => {
                    let closing = at - 1;
                    at = behind_comma(text, at);
                    Piece { flat: &text[from..at], parts: Some((opening, parts, &text[closing..at])) }
                }
                // Nothing of ours is printed like that.
                None => Piece { flat: &text[from..at], parts: None },
            },
            '"' => {
                at = behind_string(text, at);
                at = behind_comma(text, at);
                Piece { flat: &text[from..at], parts: None }
            }
            _ => {
                at = behind_word(text, from);
                if text[at..].starts_with(['(', '[', '{']) {
                    at += 1;
                    open.push(Open { from, opening: &text[from..at], parts: Vec::new() });
                    continue;
                }
                at = behind_comma(text, at);
                Piece { flat: &text[from..at], parts: None }
            }
        };
        open.last_mut().map_or(&mut outside, |open| &mut open.parts).push(piece);
    }
    while let Some(Open { from, opening, parts }) = open.pop() {
        let piece = Piece { flat: &text[from..], parts: Some((opening, parts, "")) };
        open.last_mut().map_or(&mut outside, |open| &mut open.parts).push(piece);
    }
    outside
}

/// The end of a string whose first quote is just before `at`.
fn behind_string(text: &str, at: usize) -> usize {
    let mut chars = text[at..].char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => return at + place + 1,
            _ => {}
        }
    }
    text.len()
}

/// The end of a word: a name, a number, a character, or what stands before a bracket, as in `#{`.
fn behind_word(text: &str, from: usize) -> usize {
    let word = &text[from..];
    // A character may be a bracket itself.
    let first: usize =
        if word.starts_with('\\') { word.chars().take(2).map(char::len_utf8).sum() } else { 0 };
    let ends = |c: char| c.is_whitespace() || ",\"()[]{}".contains(c);
    from + word[first..].find(ends).map_or(word.len(), |end| first + end)
}

fn behind_comma(text: &str, at: usize) -> usize {
    at + usize::from(text[at..].starts_with(','))
}

/// What is written so far.
struct Page {
    out: String,
    columns: usize,
    column: usize,
}

impl Page {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn line(&mut self, column: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', column));
        self.column = column;
    }

    /// Whether a piece fits on the line, with so many columns behind it.
    fn fits(&self, piece: &Piece<'_>, behind: usize) -> bool {
        self.column + piece.flat.len() + behind <= self.columns
    }

    /// Writes a piece. Values nest no deeper than the machine allows.
    fn piece(&mut self, piece: &Piece<'_>, behind: usize) {
        let (opening, parts, closing) = match &piece.parts {
            Some(parts) if !self.fits(piece, behind) => parts,
            _ => return self.push(piece.flat),
        };
        self.push(opening);
        let behind = behind + closing.len();
        let is_map = opening.ends_with('{') && *opening != "#{";
        let is_plain = parts.iter().all(|part| part.parts.is_none());
        let column = self.column;
        for (at, part) in parts.iter().enumerate() {
            let behind = if at + 1 == parts.len() { behind } else { 0 };
            let stays = match is_map {
                true => at % 2 == 1,
                false => is_plain && self.column + 1 + part.flat.len() + behind <= self.columns,
            };
            match stays {
                _ if at == 0 => {}
                true => self.push(" "),
                false => self.line(column),
            }
            self.piece(part, behind);
        }
        self.push(closing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        for text in ["{:a 1, :b [1 2]}", "\"a\\n b\"", "nil", "", "#{1 2}", "(a \\( \\) b)"] {
            assert_eq!(broken(text, 20), text);
        }
    }

    #[test]
    fn what_does_not_fit_is_broken_at_its_brackets() {
        for (text, columns, expected) in [
            ("[1 2 3 4 5 6 7 8 9]", 8, "[1 2 3 4\n 5 6 7 8\n 9]"),
            ("{:name \"a b, c\", :id 17}", 20, "{:name \"a b, c\",\n :id 17}"),
            ("[{:a 1, :b 2} {:a 3, :b 4}]", 20, "[{:a 1, :b 2}\n {:a 3, :b 4}]"),
            ("{:rows [{:a 1} {:a 2}], :n 2}", 16, "{:rows [{:a 1}\n        {:a 2}],\n :n 2}"),
            ("#{:one :two :three}", 12, "#{:one :two\n  :three}"),
            ("(\\( \\) \\[ \\] \\space)", 11, "(\\( \\) \\[\n \\] \\space)"),
            ("#user.R{:a 11, :b 22}", 16, "#user.R{:a 11,\n        :b 22}"),
            ("[1 2 3 4 5 [6 7", 8, "[1\n 2\n 3\n 4\n 5\n [6 7"),
            ("\"a very long string stays on its line\"", 8, "\"a very long string stays on its line\""),
        ] {
            assert_eq!(broken(text, columns), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_lost_and_any_text_is_taken() {
        for text in [
            ")",
            "]] [",
            "\"open",
            "\\",
            "{:a",
            "#",
            "[[[[",
            "a\u{0}b ä(ö)",
            "{\"k\" {\"k\" {\"k\" \"vvvv\"}}}",
        ] {
            for columns in [0, 3, 10] {
                let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
                assert_eq!(kept(&broken(text, columns)), kept(text), "{text}");
            }
        }
    }
}
