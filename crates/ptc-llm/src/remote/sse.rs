//! Server-sent events from bytes as they come.

/// Puts bytes together until they are events. Holds no more than what came since the last event.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Bytes of a line that has not ended.
    line: Vec<u8>,
    /// The data of the event so far.
    data: Option<String>,
    /// The last byte was a carriage return, so a newline after it ends no other line.
    after_return: bool,
}

impl Events {
    /// Takes bytes and gives the data of every event that they end. Names of events are not kept: the data
    /// of all providers says what it is.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in bytes {
            let skip = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                _ if skip => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => self.line.push(byte),
            }
        }
        events
    }

    /// What is left at the end, where the last event lacks its empty line.
    pub(super) fn finish(mut self) -> Option<String> {
        self.end_line().or_else(|| self.data.take())
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(data) = line.strip_prefix("data:") {
            let data = data.strip_prefix(' ').unwrap_or(data);
            match &mut self.data {
                Some(before) => {
                    before.push('\n');
                    before.push_str(data);
                }
                None => self.data = Some(data.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_whole_however_the_bytes_are_cut() {
        let text = "event: a\r\ndata: {\"é\":1}\r\n\r\n: comment\n\ndata: one\ndata:two\n\nid: 3\rdata: x\r\rdata: end";
        let wanted = ["{\"é\":1}", "one\ntwo", "x", "end"];
        for size in 1..=text.len() {
            let mut events = Events::default();
            let mut found: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|piece| events.push(piece)).collect();
            found.extend(events.finish());
            assert_eq!(found, wanted, "pieces of {size}");
        }
    }
}
