//! Delimiters of a program that is being typed: which belong together, and which form the cursor is in.

/// The delimiters outside strings, comments and characters, each with its place.
fn delimiters(text: &str) -> Vec<(usize, char)> {
    let mut found = Vec::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            // What follows is a character.
            '\\' => drop(chars.next()),
            ';' => drop(chars.find(|(_, c)| *c == '\n')),
            '"' => {
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '(' | ')' | '[' | ']' | '{' | '}' => found.push((at, c)),
            _ => {}
        }
    }
    found
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }
}

/// The delimiter before or under the cursor, and the one that belongs to it.
pub fn pair(text: &str, cursor: usize) -> Option<[usize; 2]> {
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut pairs = Vec::new();
    for (at, c) in delimiters(text) {
        match closing(c) {
            Some(_) => open.push((at, c)),
            None => {
                let (from, opened) = open.pop()?;
                pairs.push([from, at]);
                if closing(opened) != Some(c) {
                    return None;
                }
            }
        }
    }
    let touched = |at: usize| pairs.iter().find(|pair| pair.contains(&at)).copied();
    cursor.checked_sub(1).and_then(touched).or_else(|| touched(cursor))
}

/// The function of the innermost form that is still open.
pub fn open_head(text: &str) -> Option<&str> {
    let mut open = Vec::new();
    for (at, c) in delimiters(text) {
        match closing(c) {
            Some(_) => open.push((at, c)),
            None => drop(open.pop()),
        }
    }
    let (at, _) = open.pop().filter(|(_, c)| *c == '(')?;
    let inside = &text[at + 1..];
    let end = inside.find(|c: char| c.is_whitespace() || "()[]{}\"".contains(c))?;
    Some(&inside[..end]).filter(|head| !head.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_find_their_partners() {
        for (text, cursor, expected) in [
            ("(a [b])", 7, Some([0, 6])),
            ("(a [b])", 3, Some([3, 5])),
            ("(\")\" ; )\n)", 10, Some([0, 9])),
            ("(\\) x)", 6, Some([0, 5])),
            ("(a]", 3, None),
            ("(a", 1, None),
            (")", 1, None),
            ("ä(ö)", 6, Some([2, 5])),
        ] {
            assert_eq!(pair(text, cursor), expected, "{text} at {cursor}");
        }
    }

    #[test]
    fn the_head_is_that_of_the_open_form() {
        for (text, expected) in [
            ("(map ", Some("map")),
            ("(map (inc 1) ", Some("map")),
            ("(map (inc ", Some("inc")),
            ("(map [", None),
            ("(map", None),
            ("(f \"(g ", Some("f")),
            ("1 ", None),
        ] {
            assert_eq!(open_head(text), expected, "{text}");
        }
    }
}
