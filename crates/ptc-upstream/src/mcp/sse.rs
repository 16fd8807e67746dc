//! Server-sent events from bytes, each event bounded.

use sse_stream::Sse;

/// An event was larger than allowed; so many bytes of it were seen.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge(pub usize);

/// Reads events as bytes arrive.
#[derive(Debug)]
pub struct Events {
    cap: usize,
    line: Vec<u8>,
    after_return: bool,
    event: Sse,
    data: Option<Vec<u8>>,
}

impl Events {
    /// Events with at most `cap` bytes of data.
    pub fn new(cap: usize) -> Self {
        Events { cap, line: Vec::new(), after_return: false, event: Sse::default(), data: None }
    }

    /// The events that end within these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Sse>, TooLarge> {
        let mut events = Vec::new();
        for &byte in bytes {
            let ends = byte == b'\n' || byte == b'\r';
            let second = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match ends {
                _ if second => {}
                true => events.extend(self.end_of_line()),
                false => {
                    self.line.push(byte);
                    let seen = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
                    // The name of the field is not part of the data.
                    if seen > self.cap + "data: ".len() {
                        return Err(TooLarge(seen));
                    }
                }
            }
        }
        Ok(events)
    }

    fn end_of_line(&mut self) -> Option<Sse> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            event.data = self.data.take().map(|data| String::from_utf8_lossy(&data).into_owned());
            return (event != Sse::default()).then_some(event);
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line.as_slice(), &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.event.event = Some(text()),
            b"id" => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_across_chunks_and_line_ends() {
        let text = ": hello\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\nevent: message\ndata:c\nretry: 5\n\n\n\rdata\r\rdata: cut";
        for size in [1, 2, 7, 1000] {
            let mut events = Events::new(100);
            let found: Vec<Sse> =
                text.as_bytes().chunks(size).flat_map(|chunk| events.feed(chunk).expect("small")).collect();
            let expected = [
                Sse::default().id("1").data("a\nb"),
                Sse::default().event("message").data("c").retry(5),
                Sse::default().data(""),
            ];
            assert_eq!(found, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn an_event_is_bounded_however_many_lines_it_has() {
        let mut events = Events::new(10);
        assert_eq!(events.feed(b"data: 0123456789\n\n").map(|events| events.len()), Ok(1));
        assert_eq!(events.feed(b"data: 0123456789x"), Err(TooLarge(17)));
        let mut events = Events::new(10);
        assert!(events.feed(b"data: 01234\ndata: 56789\ndata: 0123").is_err());
    }
}
