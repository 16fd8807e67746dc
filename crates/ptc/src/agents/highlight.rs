//! Colours for programs and JSON. Without colours the text is what it was.

use std::io::IsTerminal;

use crate::terminal::{self, Screen};

/// Whether and how text is coloured.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    coloured: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Comment,
    Text,
    Keyword,
    Number,
    Head,
    Mark,
    Plain,
}

impl Paint {
    /// For a stream: coloured if it is a terminal and nobody objects.
    pub fn for_stream<W: IsTerminal>(stream: &Screen<W>) -> Self {
        Paint { coloured: terminal::colours(stream) }
    }

    /// For text that stays as it is.
    #[cfg(test)]
    pub fn none() -> Self {
        Paint { coloured: false }
    }

    /// Text in a colour of the terminal.
    fn coloured(self, code: &str, text: &str) -> String {
        match self.coloured && !text.is_empty() {
            true => terminal::styled(code, text),
            false => text.to_owned(),
        }
    }

    /// Something less important.
    pub fn dim(self, text: &str) -> String {
        self.coloured("2", text)
    }

    /// Something important.
    pub fn strong(self, text: &str) -> String {
        self.coloured("1", text)
    }

    /// Code inside prose.
    pub fn code(self, text: &str) -> String {
        self.coloured("36", text)
    }

    /// Something that went wrong.
    pub fn wrong(self, text: &str) -> String {
        self.coloured("1;31", text)
    }

    fn part(self, part: Part, text: &str) -> String {
        match part {
            Part::Comment => self.coloured("2", text),
            Part::Text => self.coloured("32", text),
            Part::Keyword => self.coloured("36", text),
            Part::Number => self.coloured("33", text),
            Part::Head => self.coloured("1;34", text),
            Part::Mark => self.coloured("1;4;35", text),
            Part::Plain => text.to_owned(),
        }
    }
}

/// A program of PTC-Lisp.
pub fn program(source: &str, paint: Paint) -> String {
    program_with(source, paint, &[])
}

/// A program some of whose delimiters stand out.
pub fn program_with(source: &str, paint: Paint, marks: &[usize]) -> String {
    coloured(source, paint, "()[]{}'`~^@", ';', marks)
}

/// A value as JSON, over several lines.
pub fn json(value: &serde_json::Value, paint: Paint) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    // No character begins a comment.
    coloured(&text, paint, "{}[],:", '\0', &[])
}

/// Text with its strings, numbers, keywords, comments and heads of forms in colours.
fn coloured(source: &str, paint: Paint, delimiters: &str, comment: char, marks: &[usize]) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut opened = false;
    while let Some(first) = rest.chars().next() {
        let ends =
            |c: char| c.is_whitespace() || c == ',' || c == '"' || c == comment || delimiters.contains(c);
        let (part, length) = match first {
            '"' => (Part::Text, string(rest)),
            _ if marks.contains(&(source.len() - rest.len())) => (Part::Mark, first.len_utf8()),
            c if c == comment => (Part::Comment, rest.find('\n').unwrap_or(rest.len())),
            c if ends(c) => (Part::Plain, c.len_utf8()),
            c => {
                let length = rest.find(ends).unwrap_or(rest.len());
                let number =
                    rest[..length].trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
                let part = match c {
                    ':' => Part::Keyword,
                    _ if number => Part::Number,
                    _ if opened => Part::Head,
                    _ => Part::Plain,
                };
                (part, length)
            }
        };
        let (piece, after) = rest.split_at(length);
        // A key of JSON is what a keyword is.
        let key = part == Part::Text && comment == '\0' && after.starts_with(':');
        out.push_str(&paint.part(if key { Part::Keyword } else { part }, piece));
        opened = first == '(';
        rest = after;
    }
    out
}

/// The length of the string that a text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOURED: Paint = Paint { coloured: true };

    #[test]
    fn parts_of_programs_have_colours() {
        let shown = program("(map :a [1 \"x;\"]) ; why\ny", COLOURED);
        let shown = terminal::ansi(&shown);
        assert_eq!(
            shown,
            "(\x1b[1;34mmap\x1b[0m \x1b[36m:a\x1b[0m [\x1b[33m1\x1b[0m \x1b[32m\"x;\"\x1b[0m]) \x1b[2m; why\x1b[0m\ny"
        );
    }

    #[test]
    fn without_colours_nothing_changes() {
        for source in ["(f \"open", "#{1 2} 'a ; x", "ä\\ö \"\\\"\" -1.5", ""] {
            assert_eq!(program(source, Paint { coloured: false }), source);
        }
    }

    #[test]
    fn keys_of_json_look_like_keywords() {
        let shown = json(&serde_json::json!({"a": "b"}), COLOURED);
        let shown = terminal::ansi(&shown);
        assert!(
            shown.contains("\x1b[36m\"a\"\x1b[0m") && shown.contains("\x1b[32m\"b\"\x1b[0m"),
            "{shown:?}"
        );
    }
}
