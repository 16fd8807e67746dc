//! Standard output and standard error, with a filter where they are terminals.
//!
//! Colours are ours alone: [`styled`] marks them with a word that only this process knows, and of all escape sequences
//! the filter lets those through that carry it.

use std::borrow::Cow;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::sync::LazyLock;

/// What makes an escape sequence ours.
static MARK: LazyLock<String> = LazyLock::new(|| format!("{:016x}", ptc_host::random_seed()));

/// Standard output.
pub fn stdout() -> Screen<StdoutLock<'static>> {
    let out = io::stdout().lock();
    Screen { filters: out.is_terminal(), out, begun: Vec::new() }
}

/// Standard error.
pub fn stderr() -> Screen<StderrLock<'static>> {
    let out = io::stderr().lock();
    Screen { filters: out.is_terminal(), out, begun: Vec::new() }
}

/// A stream that people may look at.
pub struct Screen<W> {
    out: W,
    filters: bool,
    /// The beginning of a character whose rest has not been written yet.
    begun: Vec<u8>,
}

impl<W: IsTerminal> Screen<W> {
    /// Whether somebody looks at it.
    pub fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.filters {
            return self.out.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, rest);
        self.out.write_all(ansi(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Text in a style of the terminal, for streams that are one.
pub fn styled(code: &str, text: &str) -> String {
    format!("\x1b{mark}[{code}m{text}\x1b{mark}[0m", mark = *MARK)
}

/// Text as a terminal may have it: our colours, lines and tabs, and everything else that would do something by its number.
pub fn ansi(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| acts(c) && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if rest.starts_with('\n') => out.push(c),
            '\x1b' if rest.starts_with(MARK.as_str()) => {
                out.push(c);
                rest = &rest[MARK.len()..];
            }
            c if acts(c) => number(c, &mut out),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Text that stands on one line and reads as it is written, for names, and for whatever somebody decides about.
pub fn plain(text: &str) -> String {
    ptc_host::visible(text).replace('\n', "\\u000a").replace('\t', "\\u0009")
}

/// Whether a text holds something that a terminal would obey, lines and tabs included.
pub fn obeyed(text: &str) -> bool {
    text.chars().any(acts)
}

/// Whether a character does something to a terminal, turns the direction of writing, or cannot be seen. The joiners of
/// emoji and of some scripts and the empty cell of Braille, which charts are drawn with, are left alone.
fn acts(c: char) -> bool {
    let left_alone = matches!(c, '\u{200c}' | '\u{200d}' | '\u{2800}' | '\u{fe0e}' | '\u{fe0f}');
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || (ptc_host::is_format(c) && !left_alone)
}

fn number(c: char, out: &mut String) {
    out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(filters: bool) -> Screen<Vec<u8>> {
        Screen { out: Vec::new(), filters, begun: Vec::new() }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_comes_through() {
        for (text, shown) in [
            ("\x1b]52;c;cHduZWQ=\x07", "\\u{1b}]52;c;cHduZWQ=\\u{7}"),
            ("\x1b]0;title\x1b\\", "\\u{1b}]0;title\\u{1b}\\"),
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("over\rwritten\x08", "over\\u{d}written\\u{8}"),
            ("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("x\u{ad}\u{3164}\u{e0041}y", "x\\u{ad}\\u{3164}\\u{e0041}y"),
            ("one\r\ntwo\tthree ä ❤\u{fe0f} 👩\u{200d}🚀", "one\r\ntwo\tthree ä ❤\u{fe0f} 👩\u{200d}🚀"),
        ] {
            assert_eq!(ansi(text), shown, "{text:?}");
            let mut out = screen(true);
            write!(out, "{text}").expect("it writes");
            assert_eq!(String::from_utf8_lossy(&out.out), shown);
            let mut out = screen(false);
            write!(out, "{text}").expect("it writes");
            assert_eq!(String::from_utf8_lossy(&out.out), text, "a pipe gets what there is");
        }
    }

    #[test]
    fn colours_are_ours_alone() {
        let ours = styled("1;31", "wrong \x1b[2J");
        assert_eq!(ansi(&ours), "\x1b[1;31mwrong \\u{1b}[2J\x1b[0m");
        assert_eq!(ansi("\x1b0000000000000000[31m"), "\\u{1b}0000000000000000[31m");
    }

    #[test]
    fn a_character_may_come_in_pieces_and_what_is_no_text_does_nothing() {
        let mut out = screen(true);
        for byte in "ä\u{9b}x".bytes() {
            assert_eq!(out.write(&[byte]).expect("it writes"), 1);
        }
        assert_eq!(String::from_utf8_lossy(&out.out), "ä\\u{9b}x");
        let mut out = screen(true);
        out.write_all(b"a\xff\x9bb").expect("it writes");
        assert_eq!(String::from_utf8_lossy(&out.out), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(plain("read\n  write\t\u{200d}"), "read\\u000a  write\\u0009\\u200d");
    }
}
