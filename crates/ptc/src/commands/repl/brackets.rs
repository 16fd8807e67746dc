//! Delimiters of a program that is being typed: which belong together, and which form the cursor is in.

/// Shows every delimiter and every end of a line outside strings and characters, each with its place. Delimiters in
/// comments are none. Gives whether the text ends inside a string.
fn scan(text: &str, mut see: impl FnMut(usize, char)) -> bool {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            // What follows is a character.
            '\\' => drop(chars.next()),
            ';' => {
                if let Some((at, end)) = chars.find(|(_, c)| *c == '\n') {
                    see(at, end);
                }
            }
            '"' => {
                let mut open = true;
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => drop(chars.next()),
                        '"' => {
                            open = false;
                            break;
                        }
                        _ => {}
                    }
                }
                if open {
                    return true;
                }
            }
            '(' | ')' | '[' | ']' | '{' | '}' | '\n' => see(at, c),
            _ => {}
        }
    }
    false
}

/// The delimiters outside strings, comments and characters, each with its place.
fn delimiters(text: &str) -> Vec<(usize, char)> {
    let mut found = Vec::new();
    scan(text, |at, c| {
        if c != '\n' {
            found.push((at, c));
        }
    });
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

/// Lines are not begun further to the right.
const DEEPEST: usize = 60;

/// The column at which the next line of a text begins that is still open: two inside the innermost list, one inside other
/// brackets. The first line stands behind a prompt of so many columns. Nothing inside a string, where spaces count.
pub fn indentation(text: &str, prompt: usize) -> Option<usize> {
    let mut open = Vec::new();
    let in_string = scan(text, |at, c| match closing(c) {
        Some(_) => {
            let line = text[..at].rfind('\n').map(|end| end + 1);
            let before = text[line.unwrap_or(0)..at].chars().count();
            let margin = if line.is_none() { prompt } else { 0 };
            open.push(margin + before + if c == '(' { 2 } else { 1 });
        }
        None if c != '\n' => drop(open.pop()),
        None => {}
    });
    (!in_string).then(|| open.pop().unwrap_or(prompt).min(DEEPEST))
}

/// Where lines behind the first begin with a margin of so many spaces, outside strings.
pub fn margins(text: &str, columns: usize) -> Vec<usize> {
    let mut found = Vec::new();
    scan(text, |at, c| {
        let line = &text[at + c.len_utf8()..];
        if c == '\n' && line.len() >= columns && line.bytes().take(columns).all(|byte| byte == b' ') {
            found.push(at + 1);
        }
    });
    found
}

/// The text without those margins.
pub fn without_margins(text: &str, columns: usize) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for at in margins(text, columns) {
        out.push_str(&text[from..at]);
        from = at + columns;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_inside_what_is_open() {
        for (text, expected) in [
            ("(defn f [x]", Some(7)),
            ("(let [a 1", Some(11)),
            ("{:a", Some(6)),
            ("(defn f [x]\n       (map inc", Some(9)),
            ("(f \"(\\\"\n(\"", Some(7)),
            ("(f ; (\n", Some(7)),
            ("'", Some(5)),
            ("(f \"open", None),
            ("(f \\( [", Some(12)),
        ] {
            assert_eq!(indentation(text, 5), expected, "{text}");
        }
        assert_eq!(indentation(&"(".repeat(200), 5), Some(DEEPEST));
    }

    #[test]
    fn margins_are_no_part_of_the_program() {
        for (text, expected) in [
            ("(a\n       b)", "(a\n  b)"),
            ("(a ; why\n     b)", "(a ; why\nb)"),
            ("(a\n  b)", "(a\n  b)"),
            ("\"a\n     b\"", "\"a\n     b\""),
            ("(a\n     ", "(a\n"),
            ("", ""),
        ] {
            assert_eq!(without_margins(text, 5), expected, "{text:?}");
        }
    }

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
