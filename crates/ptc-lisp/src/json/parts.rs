//! The parts of a text that is known to be JSON, as the texts that they are. They come one after the other and nothing is
//! collected, as a list may have millions. Of what is no JSON some parts come, and none is looked for behind its end.
//!
//! Who looks for the next part reads over the one before. Whoever goes into the parts as well would so read a text once
//! for each of its levels: an [`TextOutline`], made once, knows where what is long in a text ends, and walks over a
//! [`Passage`] of the text leave that out in one step.

use std::borrow::Cow;

/// The items of a list.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    Passage::alone(text).items().map(|item| item.text)
}

/// The fields of an object: the text of the name, of which [`name`] says what it is, and that of the value.
pub fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    Passage::alone(text).fields().map(|(name, value)| (name, value.text))
}

/// The name of a field by its text.
pub fn name(text: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).map(Cow::Owned),
    }
}

/// Where the long lists and objects of a text end, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub struct TextOutline(Vec<Stretch>);

/// A list or an object of a text, by its bytes from where the text begins.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    /// How many items or fields it has.
    parts: usize,
    /// How many stretches are inside of it.
    inside: usize,
}

impl TextOutline {
    /// The lists and objects of a text that have more bytes than that. There are no more of them than levels times the
    /// bytes of the text by so many.
    pub fn of(text: &str, long: usize) -> TextOutline {
        let mut walk = PartsWalk { at: 0, ..Passage::alone(text).parts() };
        // Behind those that are known to be long are those that are open, and which these are.
        let (mut found, mut open): (Vec<Stretch>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut is_empty = false;
        while let Some(byte) = walk.byte() {
            match byte {
                b'[' | b'{' => {
                    open.push(found.len());
                    found.push(Stretch { start: walk.at, end: walk.text.len(), parts: 0, inside: 0 });
                }
                b']' | b'}' => {
                    let Some(at) = open.pop() else { break };
                    let inside = found.len() - at - 1;
                    if let Some(stretch) = found.get_mut(at) {
                        (stretch.end, stretch.inside) = (walk.at + 1, inside);
                        stretch.parts += usize::from(!is_empty);
                        // Nothing that is inside of what is short is long.
                        if stretch.end - stretch.start <= long {
                            found.truncate(at);
                        }
                    }
                }
                b',' => {
                    let stretch = open.last().and_then(|at| found.get_mut(*at));
                    stretch.into_iter().for_each(|stretch| stretch.parts += 1);
                }
                _ => {}
            }
            is_empty = matches!(byte, b'[' | b'{') || (is_empty && byte.is_ascii_whitespace());
            match byte {
                b'"' => drop(walk.string()),
                _ => walk.at += 1,
            }
        }
        // What is not closed is no JSON, and nobody knows where it ends.
        found.truncate(open.first().copied().unwrap_or(found.len()));
        TextOutline(found)
    }

    /// All of the text that this is the outline of.
    pub fn passage<'t>(&'t self, text: &'t str) -> Passage<'t> {
        Passage { outline: &self.0, ..Passage::alone(text) }
    }
}

/// A value in a text, without blanks around it, with the outline of what is inside of it.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'t> {
    text: &'t str,
    /// Where it begins in the text of the outline.
    start: usize,
    /// It is the first itself, if it is long.
    outline: &'t [Stretch],
}

impl<'t> Passage<'t> {
    /// A text of which there is no outline: walks read over all of it.
    pub fn alone(text: &'t str) -> Passage<'t> {
        Passage { text: text.trim_ascii(), start: 0, outline: &[] }
    }

    /// The text.
    pub fn text(self) -> &'t str {
        self.text
    }

    /// Whether the outline knows it, so that nobody reads over it.
    pub fn is_outlined(self) -> bool {
        self.outline.first().is_some_and(|stretch| stretch.start == self.start)
    }

    /// How many items or fields it has.
    pub fn count(self) -> usize {
        match self.outline.first() {
            Some(stretch) if stretch.start == self.start => stretch.parts,
            _ if self.text.starts_with('{') => self.fields().count(),
            _ => self.items().count(),
        }
    }

    /// The items of a list.
    pub fn items(self) -> impl Iterator<Item = Passage<'t>> {
        let mut parts = self.parts();
        std::iter::from_fn(move || parts.begin().then(|| parts.value()))
    }

    /// The fields of an object: the text of the name, of which [`name`] says what it is, and the value.
    pub fn fields(self) -> impl Iterator<Item = (&'t str, Passage<'t>)> {
        let mut parts = self.parts();
        std::iter::from_fn(move || {
            if !parts.begin() {
                return None;
            }
            let name = parts.string();
            while parts.byte().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b':') {
                parts.at += 1;
            }
            Some((name, parts.value()))
        })
    }

    fn parts(self) -> PartsWalk<'t> {
        let outline = self.outline.get(usize::from(self.is_outlined())..).unwrap_or_default();
        PartsWalk { text: self.text, start: self.start, at: 1, outline }
    }
}

/// A walk over the parts of a list or an object.
struct PartsWalk<'t> {
    text: &'t str,
    start: usize,
    at: usize,
    /// Of what is still to come.
    outline: &'t [Stretch],
}

impl<'t> PartsWalk<'t> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes to where the next part begins; whether there is one.
    fn begin(&mut self) -> bool {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') {
            self.at += 1;
        }
        !matches!(self.byte(), None | Some(b']' | b'}'))
    }

    /// The string that begins here.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The value that begins here, without blanks around it.
    fn value(&mut self) -> Passage<'t> {
        let (from, start) = (self.at, self.start + self.at);
        let mut outline: &[Stretch] = &[];
        match self.outline.first().filter(|stretch| stretch.start == start) {
            Some(stretch) => {
                self.at += stretch.end - stretch.start;
                let split = self.outline.split_at_checked(stretch.inside + 1);
                (outline, self.outline) = split.unwrap_or((self.outline, &[]));
            }
            None => self.read_over(),
        }
        Passage { text: self.text.get(from..self.at).unwrap_or_default().trim_ascii(), start, outline }
    }

    /// Goes to the end of the value that begins here.
    fn read_over(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' | b',' if depth == 0 => break,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All values in a passage, as their texts, and how many bytes were read over to find them.
    fn all<'t>(passage: Passage<'t>, found: &mut Vec<&'t str>) -> usize {
        found.push(passage.text());
        let parts: Vec<Passage<'_>> = match passage.text().bytes().next() {
            Some(b'[') => passage.items().collect(),
            Some(b'{') => passage.fields().map(|(_, value)| value).collect(),
            _ => return 0,
        };
        assert_eq!(passage.count(), parts.len(), "{}", passage.text());
        let read = |part: Passage<'_>| if part.is_outlined() { 1 } else { part.text().len() };
        parts.into_iter().map(|part| read(part) + all(part, found)).sum()
    }

    #[test]
    fn an_outline_leaves_out_what_is_long_and_changes_no_part() {
        for text in [
            r#" [1, {"a": [2, "]},\\\"["], "b" : {}}, [ ], [[[3 ]]], "x" ] "#,
            r#"{"a":{"b":[{"c":[1,2,3]},[],{}]},"d":[[1],[2]]}"#,
            "[]",
            "{ }",
            "1",
            "",
            // What is no JSON.
            "[1, [2",
            "]",
            "[1]]",
            r#"{"a": [1}, "b"#,
        ] {
            let mut expected = Vec::new();
            all(Passage::alone(text), &mut expected);
            for long in [0, 1, 4, 9, 1_000] {
                let (outline, mut found) = (TextOutline::of(text, long), Vec::new());
                all(outline.passage(text), &mut found);
                assert_eq!(found, expected, "{text} {long}");
            }
        }
    }

    #[test]
    fn a_walk_into_deep_and_broad_texts_reads_them_once() {
        let deep = format!("{}{}{}", "[".repeat(120), vec!["1"; 10_000].join(","), "]".repeat(120));
        let inner = format!("{}{}{}", r#"{"k":["#.repeat(50), "2,".repeat(3_000) + "2", "]}".repeat(50));
        let broad = format!("[{}]", vec![inner.as_str(); 20].join(","));
        for text in [deep, inner, broad] {
            let outline = TextOutline::of(&text, 1_000);
            let bytes = all(outline.passage(&text), &mut Vec::new());
            let without = all(Passage::alone(&text), &mut Vec::new());
            assert!(bytes <= text.len() && without > 40 * text.len(), "{bytes} {without} {}", text.len());
        }
    }
}
