//! Paths that stay where they are. A proxy or a server behind it may decode a path once more than we did and then
//! resolve its steps, so what counts is what a path could become, not what it is.

/// How often a text is decoded before it counts as one that hides something.
const ROUNDS: usize = 8;

/// Whether a path, or a part of one, could lead to another folder: a step `.` or `..` between `/` or `\`, as it is or
/// after any number of percent-decodings.
pub fn has_dot_steps(text: &str) -> bool {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..ROUNDS {
        if bytes.split(|byte| matches!(byte, b'/' | b'\\')).any(is_dots) {
            return true;
        }
        match decoded(&bytes) {
            Some(once_more) => bytes = once_more,
            None => return false,
        }
    }
    true
}

/// Some servers leave out what follows a `;` in a step, or blanks and control characters around it, and take what follows a
/// decoded `?` or `#` for no part of the path.
fn is_dots(step: &[u8]) -> bool {
    let step = step.split(|byte| matches!(byte, b';' | b'?' | b'#')).next().unwrap_or_default();
    let blank = |byte: &u8| *byte <= b' ';
    let from = step.iter().position(|byte| !blank(byte)).unwrap_or(step.len());
    let to = step.iter().rposition(|byte| !blank(byte)).map_or(from, |last| last + 1);
    matches!(&step[from..to], b"." | b"..")
}

/// Percent-decoded once, with overlong UTF-8 read as lenient servers do; nothing if that changes nothing.
fn decoded(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = code.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    for (overlong, byte) in [([0xc0, 0xae], b'.'), ([0xc0, 0xaf], b'/'), ([0xc1, 0x9c], b'\\')] {
        while let Some(at) = out.windows(2).position(|pair| pair == overlong) {
            out.splice(at..at + 2, [byte]);
        }
    }
    (out != bytes).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::has_dot_steps;

    #[test]
    fn steps_are_found_however_they_are_written() {
        for text in [
            ".",
            "..",
            "../x",
            "a/../b",
            "a\\..\\b",
            "a/..",
            "%2e%2e",
            "%2E%2e/x",
            "..%2f..%2Finternal",
            "a%2f..",
            "%252e%252e",
            "%25252e%25252e%25252fx",
            "..;/x",
            "..;a=b/x",
            "..?x",
            "..#x",
            "a/..?b",
            ".%3fx",
            "..%23",
            "a/ ../b",
            "..%00/x",
            "%c0%ae%c0%ae/x",
            "..%c0%afx",
            "a/./b",
            "%5c..%5c",
        ] {
            assert!(has_dot_steps(text), "{text}");
        }
        let hidden = format!("%25{}x", "25".repeat(20));
        assert!(has_dot_steps(&hidden), "decoded more often than anybody means");
    }

    #[test]
    fn names_with_dots_are_names() {
        for text in [
            "a",
            "a.b",
            "...",
            ".git",
            "a..b",
            "x/y",
            "100%",
            "50%25",
            "v1.2/notes.txt",
            "a;b",
            "%zz",
            "",
            "?..",
            "a?..",
            "...?x",
        ] {
            assert!(!has_dot_steps(text), "{text}");
        }
    }
}
