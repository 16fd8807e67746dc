//! Characters that nobody sees, and texts in which all can be seen. What people decide about, what terminals show and what
//! models are told of errors goes through here.

use std::borrow::Cow;
use std::fmt::Write;

/// Text in which every character can be seen. What turns the direction of writing, takes no room, moves a cursor or
/// looks like a space is written as `\u202e`, as JSON and PTC-Lisp write it in strings.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match hides(c) {
            false => out.push(c),
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    Cow::Owned(out)
}

/// Whether a character is seen as nothing, or as another one, or changes how others are seen.
pub fn hides(c: char) -> bool {
    match c {
        ' ' | '\n' => false,
        '\t' => false,
        _ if c.is_ascii() => c.is_control(),
        _ => c.is_control() || c.is_whitespace() || is_format(c),
    }
}

/// Whether a character is seen as nothing, or changes how others are seen, and is no white space.
pub fn is_format(c: char) -> bool {
    FORMAT.iter().any(|(low, high)| (*low..=*high).contains(&c))
}

/// Format characters of Unicode, variation selectors, fillers and blanks that are no white space.
const FORMAT: [(char, char); 26] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];
