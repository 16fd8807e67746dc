//! Programs as trees of forms: enough to swap parts of examples, and to leave out parts of programs that fail.

/// A form as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A name, a number, a text, with the signs before it.
    Atom(String),
    /// A list, vector, map or set; the opening sign with those before it: `#(`, `'[`.
    Group { open: String, items: Vec<Form>, close: char },
}

/// All forms of a text. What does not close ends with the text.
pub fn parse(text: &str) -> Vec<Form> {
    let mut open: Vec<(String, Vec<Form>, char)> = vec![(String::new(), Vec::new(), ' ')];
    let (mut rest, mut prefix) = (text, String::new());
    while let Some(first) = rest.chars().next() {
        let (taken, after) = match first {
            ';' => (rest.find('\n').unwrap_or(rest.len()), None),
            '"' => (string_end(rest), Some(true)),
            '(' | '[' | '{' => {
                let close = [(')', '('), (']', '['), ('}', '{')].iter().find(|pair| pair.1 == first);
                let open_with = std::mem::take(&mut prefix) + &first.to_string();
                open.push((open_with, Vec::new(), close.map_or(')', |pair| pair.0)));
                (1, None)
            }
            ')' | ']' | '}' => {
                if open.len() > 1 {
                    close_last(&mut open);
                }
                (1, None)
            }
            '\'' | '@' | '^' | '`' | '~' => (1, Some(false)),
            '#' if rest[1..].starts_with(['(', '{', '\'', '"', '_', '^']) => (1, Some(false)),
            _ if first.is_whitespace() || first == ',' => (first.len_utf8(), None),
            _ => (atom_end(rest), Some(true)),
        };
        let (head, tail) = rest.split_at(taken.max(1));
        match after {
            Some(true) => {
                let atom = Form::Atom(std::mem::take(&mut prefix) + head);
                if let Some((_, items, _)) = open.last_mut() {
                    items.push(atom);
                }
            }
            Some(false) => prefix.push_str(head),
            None => {}
        }
        rest = tail;
    }
    while open.len() > 1 {
        close_last(&mut open);
    }
    open.pop().map(|(_, items, _)| items).unwrap_or_default()
}

fn close_last(open: &mut Vec<(String, Vec<Form>, char)>) {
    if let Some((open_with, items, close)) = open.pop()
        && let Some((_, around, _)) = open.last_mut()
    {
        around.push(Form::Group { open: open_with, items, close });
    }
}

fn string_end(text: &str) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn atom_end(text: &str) -> usize {
    // A character may be any sign.
    let skipped = match text.strip_prefix('\\') {
        Some(rest) => 1 + rest.chars().next().map_or(0, char::len_utf8),
        None => 0,
    };
    let ends = |c: char| c.is_whitespace() || "()[]{}\",;@^`~".contains(c);
    text[skipped..].find(ends).map_or(text.len(), |at| at + skipped)
}

/// The text of forms.
pub fn write(forms: &[Form]) -> String {
    forms.iter().map(Form::text).collect::<Vec<_>>().join("\n")
}

impl Form {
    pub fn text(&self) -> String {
        match self {
            Form::Atom(text) => text.clone(),
            Form::Group { open, items, close } => {
                let items: Vec<String> = items.iter().map(Form::text).collect();
                format!("{open}{}{close}", items.join(" "))
            }
        }
    }

    /// How many forms it is, itself included.
    pub fn size(&self) -> usize {
        match self {
            Form::Atom(_) => 1,
            Form::Group { items, .. } => 1 + items.iter().map(Form::size).sum::<usize>(),
        }
    }

    /// A form inside, by its number in order of beginning; 0 is the form itself.
    pub fn part(&mut self, number: usize) -> Option<&mut Form> {
        if number == 0 {
            return Some(self);
        }
        let Form::Group { items, .. } = self else { return None };
        let mut left = number - 1;
        for item in items {
            let size = item.size();
            if left < size {
                return item.part(left);
            }
            left -= size;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_written_as_they_were_read() {
        for text in [
            "(a [1 {:b \"x\\\" (\"}] #{\\( \\newline})",
            "#(+ % 1)",
            "@x",
            "#\"a(b\"",
            "##NaN",
            "'(1 2)",
            "#'inc",
        ] {
            assert_eq!(write(&parse(text)), text);
        }
        assert_eq!(write(&parse("(a ; comment\n b")), "(a b)");
    }

    #[test]
    fn parts_are_numbered_in_order() {
        let mut forms = parse("(a (b c) d)");
        let parts: Vec<String> =
            (0..6).map(|n| forms[0].part(n).map_or_else(String::new, |part| part.text())).collect();
        assert_eq!(parts, ["(a (b c) d)", "a", "(b c)", "b", "c", "d"]);
        assert_eq!(forms[0].part(6), None);
    }
}
