//! Finding the `id` of a JSON-RPC message without keeping or decoding it: the answer that is too large or
//! broken still belongs to a call, and that call should fail at once rather than wait.

/// Looks at the bytes of one message as they pass.
#[derive(Debug, Default)]
pub struct Skim {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The text of the string or number that is being read at the top level, cut at a few bytes.
    word: Vec<u8>,
    /// Whether the word before the colon was `id`.
    after_id: bool,
    id: Option<i64>,
}

/// No id or key of interest is longer.
const LONGEST: usize = 24;

impl Skim {
    /// Looks at the next bytes.
    pub fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id that was found, if it is a number or a text of digits.
    pub fn id(&self) -> Option<i64> {
        self.id
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => self.note(byte),
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                self.word.clear();
            }
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.after_id = self.word == b"id";
                self.word.clear();
            }
            b',' => self.end_of_value(),
            b'-' | b'0'..=b'9' => self.note(byte),
            _ => {}
        }
    }

    fn note(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < LONGEST {
            self.word.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.after_id && self.id.is_none() {
            self.id = std::str::from_utf8(&self.word).ok().and_then(|word| word.parse().ok());
        }
        self.after_id = false;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Skim;

    #[test]
    fn the_id_of_the_message_is_found_and_no_other() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, Some(7)),
            (r#"{"result":{"id":1,"x":[{"id":2}]},"id":7}"#, Some(7)),
            (r#"{"id" : "7" , "result":{}}"#, Some(7)),
            (r#"{"result":"\"id\":9,","id":-3}"#, Some(-3)),
            (r#"{"id":null,"error":{}}"#, None),
            (r#"{"id":"abc"}"#, None),
            (r#"[{"id":7}]"#, None),
            (r#"{"id":7,"result":{"broken"#, Some(7)),
            ("no JSON at all", None),
        ] {
            let mut skim = Skim::default();
            text.as_bytes().chunks(3).for_each(|chunk| skim.see(chunk));
            assert_eq!(skim.id(), id, "{text}");
        }
    }
}
