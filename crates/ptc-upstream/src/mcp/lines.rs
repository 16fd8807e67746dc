//! Lines from a child process, each bounded. A line that is too long is not kept but read to its end, so that
//! the next one is understood.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use super::skim::Skim;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line that was too long: how long it was, and the id that stood in it.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
        /// The id of the message, if one was found.
        id: Option<i64>,
    },
}

/// Reads lines. Giving up a call to [`Lines::next`] loses nothing.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    cap: usize,
    line: Vec<u8>,
    /// Set once the line is too long: its length so far, and where its id is looked for.
    skipped: Option<(usize, Skim)>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Lines of at most `cap` bytes.
    pub fn new(reader: R, cap: usize) -> Self {
        Lines { reader, cap, line: Vec::new(), skipped: None }
    }

    /// What follows the last line end, once that was reached: no message, but perhaps the last words of a program.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        let rest = std::mem::take(&mut self.line);
        (!rest.is_empty()).then_some(rest)
    }

    /// The next line, `None` at the end. What follows the last line end is not a line.
    pub async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            match &mut self.skipped {
                Some((bytes, skim)) => {
                    *bytes += part.len();
                    skim.see(part);
                }
                None if self.line.len() + part.len() > self.cap => {
                    let mut skim = Skim::default();
                    skim.see(&self.line);
                    skim.see(part);
                    self.skipped = Some((self.line.len() + part.len(), skim));
                    self.line = Vec::new();
                }
                None => self.line.extend_from_slice(part),
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(match self.skipped.take() {
                    Some((bytes, skim)) => Line::TooLong { bytes, id: skim.id() },
                    None => Line::Whole(std::mem::take(&mut self.line)),
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Lines};

    #[tokio::test]
    async fn a_long_line_is_measured_and_the_next_one_is_read() {
        let text = format!("short\n{{\"id\":5,\"x\":\"{}\"}}\n\nlast\nunfinished", "y".repeat(100));
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(8, text.as_bytes()), 20);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.expect("memory can be read") {
            found.push(line);
        }
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        let long = Line::TooLong { bytes: 115, id: Some(5) };
        assert_eq!(found, [whole("short"), long, whole(""), whole("last")]);
        assert_eq!((lines.rest(), lines.rest()), (Some(b"unfinished".to_vec()), None));
    }
}
