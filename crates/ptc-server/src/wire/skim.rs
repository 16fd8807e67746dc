//! Finding the `id` of a JSON-RPC message that is not built, because it is broken or too long: a client that gets no answer
//! to its id waits for ever. Bytes are looked at as they pass, and next to nothing of them is kept.

use serde_json::Value as Json;

/// No id of interest is longer.
const LONGEST: usize = 512;

/// Looks at the bytes of one message.
#[derive(Debug, Default)]
pub struct Skim {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The text or number that is being read in the outermost object, cut.
    word: Vec<u8>,
    key: MemberKey,
    id: Option<Json>,
    is_request: bool,
}

/// What the name before the colon was.
#[derive(Debug, Default, PartialEq, Eq)]
enum MemberKey {
    Id,
    #[default]
    Other,
}

impl Skim {
    /// Looks at the next bytes.
    pub fn see(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// The id, once everything was seen: a text or an integer that stands under `id` in the outermost object.
    pub fn id(mut self) -> Option<Json> {
        self.end_of_value();
        self.id
    }

    /// The same of what has a method, so that it waits for an answer.
    pub fn id_of_request(self) -> Option<Json> {
        let is_request = self.is_request;
        self.id().filter(|_| is_request)
    }

    fn step(&mut self, byte: u8) {
        if self.in_text {
            self.note(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.note(byte);
            }
            b'{' | b'[' => {
                (self.depth, self.key) = (self.depth + 1, MemberKey::Other);
                self.word.clear();
            }
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_request |= self.word == b"\"method\"";
                self.key = if self.word == b"\"id\"" { MemberKey::Id } else { MemberKey::Other };
                self.word.clear();
            }
            b',' => self.end_of_value(),
            b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9' => self.note(byte),
            _ => {}
        }
    }

    fn note(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() <= LONGEST {
            self.word.push(byte);
        }
    }

    fn end_of_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.key == MemberKey::Id && self.id.is_none() && self.word.len() <= LONGEST {
            let id = serde_json::from_slice::<Json>(&self.word).ok();
            self.id = id.filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        }
        self.key = MemberKey::Other;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Skim;
    use serde_json::json;

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        let long = "x".repeat(100_000);
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#.to_owned(), Some(json!(7))),
            (
                format!(r#"{{"method":"m","params":{{"id":1,"x":"{long}"}},"jsonrpc":"2.0","id":"a\"b"}}"#),
                Some(json!("a\"b")),
            ),
            (format!(r#"{{"id" : -3 ,"method":"m","params":"{long}"#), Some(json!(-3))),
            (format!(r#"{{"id":"{long}","method":"m"}}"#), None),
            (r#"{"id":1.5,"method":"m"}"#.to_owned(), None),
            (r#"{"id":null,"method":"m"}"#.to_owned(), None),
            (r#"{"id":{"id":9},"method":"m"}"#.to_owned(), None),
            (r#"[{"id":7,"method":"m"}]"#.to_owned(), None),
            // An answer to a question of ours: its id is ours, and no request of the client.
            (format!(r#"{{"id":7,"result":"{long}"}}"#), None),
            (long.clone(), None),
        ] {
            let mut skim = Skim::default();
            text.as_bytes().chunks(3).for_each(|chunk| skim.see(chunk));
            assert_eq!(skim.id_of_request(), id, "{text:.60}");
        }
    }
}
