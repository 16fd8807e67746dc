//! Bytes cut into lines of bounded length.

use serde_json::Value as Json;

use super::skim::Skim;

/// A line, or the news that there was one too many bytes of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A line without its end.
    Line(Vec<u8>),
    /// A line that was longer than allowed, with the id of the request that it was; its bytes are gone.
    TooLong(Option<Json>),
}

/// Collects bytes and gives lines. Never holds more than one line of the allowed length.
#[derive(Debug)]
pub struct Frames {
    most: usize,
    line: Vec<u8>,
    /// Where the id of a line is looked for that is longer.
    skipped: Option<Skim>,
}

impl Frames {
    /// Lines of at most so many bytes.
    pub fn new(most: usize) -> Frames {
        Frames { most, line: Vec::new(), skipped: None }
    }

    /// Adds bytes, and gives what is complete with them.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frame)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            bytes = &bytes[end + 1..];
            if let Some(skim) = self.skipped.take() {
                each(Frame::TooLong(skim.id_of_request()));
                continue;
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            each(Frame::Line(line));
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.skipped.is_none() && self.line.len() + bytes.len() > self.most {
            let mut skim = Skim::default();
            skim.see(&std::mem::take(&mut self.line));
            self.skipped = Some(skim);
        }
        match &mut self.skipped {
            Some(skim) => skim.see(bytes),
            None => self.line.extend_from_slice(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(most: usize, pieces: &[&str]) -> Vec<String> {
        let (mut frames, mut out) = (Frames::new(most), Vec::new());
        for piece in pieces {
            frames.push(piece.as_bytes(), |frame| {
                out.push(match frame {
                    Frame::Line(line) => String::from_utf8(line).unwrap(),
                    Frame::TooLong(None) => "(too long)".to_owned(),
                    Frame::TooLong(Some(id)) => format!("(too long: {id})"),
                });
            });
        }
        out
    }

    #[test]
    fn r1_1_1_lines_end_with_a_newline_wherever_pieces_end() {
        assert_eq!(all(9, &["ab", "c\nde\r\n", "\nrest"]), ["abc", "de", ""]);
    }

    #[test]
    fn r1_1_3_an_oversize_line_is_told_once_and_skipped_to_its_end() {
        assert_eq!(all(4, &["12345", "67", "8\nok\n"]), ["(too long)", "ok"]);
        assert_eq!(all(4, &["{\"method\":1,", "\"id\":5}\nok\n"]), ["(too long: 5)", "ok"]);
        assert_eq!(all(4, &["1234\n"]), ["1234"]);
        assert_eq!(all(4, &["12345\n12345\nok\n"]), ["(too long)", "(too long)", "ok"]);
    }
}
