//! Characters that come with pasted or typeset text and that nobody means: invisible ones, unusual
//! spaces, typographic quotes. Strings, regexes, characters and comments are left as they are.

use super::blocks;
use super::repair::{Fix, FixKind};

/// The text with plain characters outside of strings and comments, and what was changed.
pub(super) fn clean(code: &str) -> (String, Vec<Fix>) {
    if code.is_ascii() {
        return (code.to_owned(), Vec::new());
    }
    let mut cleaner = Cleaner { out: String::with_capacity(code.len()), ..Cleaner::default() };
    cleaner.run(code);
    let fixes = cleaner.fixes();
    (cleaner.out, fixes)
}

/// The text without whitespace and invisible characters around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c))
}

/// The text with ASCII for the wide forms of ASCII (`（` for `(`) outside of strings and comments.
/// Some names may be meant with such characters, so this is only for texts that cannot be read.
pub(super) fn narrow(code: &str) -> Option<String> {
    let wide = |c: char| matches!(c, '\u{ff01}'..='\u{ff5e}');
    if !code.contains(wide) {
        return None;
    }
    let mut out = String::with_capacity(code.len());
    for (part, plain) in parts(code) {
        if plain {
            let ascii = |c: char| u8::try_from(u32::from(c) - 0xfee0).map_or(c, char::from);
            out.extend(part.chars().map(|c| if wide(c) { ascii(c) } else { c }));
        } else {
            out.push_str(part);
        }
    }
    Some(out)
}

/// The text with `data/x` for each `~{data/x}`, by which missions name inputs, outside of strings and comments. Nothing
/// else is written like that: programs have no unquote.
pub(super) fn references(code: &str) -> Option<String> {
    if !code.contains("~{") {
        return None;
    }
    let mut out = String::with_capacity(code.len());
    let mut found = false;
    for (part, plain) in parts(code) {
        let mut rest = part;
        while let Some((before, inner, after)) = next_reference(rest).filter(|_| plain) {
            out.push_str(before);
            out.push_str(inner);
            rest = after;
            found = true;
        }
        out.push_str(rest);
    }
    found.then_some(out)
}

/// What stands before, inside and behind the next reference.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices("~{").find_map(|(at, open)| {
        let inside = &text[at + open.len()..];
        let end = inside.find(['{', '}']).filter(|end| inside[*end..].starts_with('}'))?;
        let named = inside[..end].trim();
        let reads = named.starts_with("data/") || named.starts_with("(:");
        reads.then(|| (&text[..at], named, &inside[end + 1..]))
    })
}

/// The text with `\n` at the end of every line, whatever it was before. What stands in a string is data and stays.
pub(super) fn unify_line_ends(code: &str) -> String {
    if !code.contains('\r') {
        return code.to_owned();
    }
    let unified = |(part, _): &(&str, bool)| match part.starts_with('"') {
        true => (*part).to_owned(),
        false => blocks::unify_line_ends(part),
    };
    parts(code).iter().map(unified).collect()
}

/// The text cut into code (`true`) and strings, comments and characters (`false`).
fn parts(code: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let plain = rest.find(['"', ';', '\\']).unwrap_or(rest.len());
        parts.push((&rest[..plain], true));
        rest = &rest[plain..];
        let end = literal_end(rest);
        parts.push((&rest[..end], false));
        rest = &rest[end..];
    }
    parts
}

/// Where the string, comment or character that the text begins with ends.
fn literal_end(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    match first {
        '"' => closing_quote(&text[1..], |c| c == '"').map_or(text.len(), |(end, _)| end + 2),
        ';' => text.find('\n').unwrap_or(text.len()),
        _ => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
    }
}

/// The place of the first character that is wanted and not escaped, and the character.
fn closing_quote(text: &str, wanted: impl Fn(char) -> bool) -> Option<(usize, char)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && wanted(c) {
            return Some((at, c));
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

fn is_curly_double(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟')
}

fn is_curly_single(c: char) -> bool {
    matches!(c, '‘' | '’' | '‚' | '‛')
}

/// Characters that take no room: marks of byte order, of direction, of where a line may break.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{ad}' | '\u{180e}' | '\u{fffe}')
}

/// Joiners belong to the writing of some languages and to some emoji.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_odd_space(c: char) -> bool {
    !c.is_ascii() && c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[derive(Default)]
struct Cleaner {
    out: String,
    invisible: usize,
    spaces: usize,
    quotes: usize,
}

impl Cleaner {
    fn run(&mut self, code: &str) {
        for (part, plain) in parts_with_curly(code) {
            match plain {
                Part::Code => part.split_inclusive('\n').for_each(|line| self.line(line)),
                Part::Literal => self.out.push_str(part),
                Part::CurlyString(content) => {
                    self.quotes += 2;
                    self.out.push('"');
                    self.out.push_str(content);
                    self.out.push('"');
                }
            }
        }
    }

    /// Code of one line, or a part of it.
    fn line(&mut self, line: &str) {
        let closed_until = last_closing_quote(line);
        let mut chars = line.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            let before = self.out.chars().next_back();
            let foreign = |side: Option<char>| side.is_some_and(|c| !c.is_ascii());
            let begins_token = before.is_none_or(|c| c.is_whitespace() || "([{,".contains(c));
            let quotes_form = begins_token && closed_until <= at && next.is_some_and(begins_form);
            if is_joiner(c) && foreign(before) && foreign(next) {
                self.out.push(c);
            } else if is_invisible(c) {
                self.invisible += 1;
            } else if is_odd_space(c) {
                self.spaces += 1;
                self.out.push(' ');
            } else if is_curly_single(c) && quotes_form {
                self.quotes += 1;
                self.out.push('\'');
            } else {
                self.out.push(c);
            }
        }
    }

    fn fixes(&self) -> Vec<Fix> {
        let counted = [
            (self.invisible, FixKind::Invisible, "removed", "invisible character"),
            (self.spaces, FixKind::Space, "replaced", "unusual space"),
            (self.quotes, FixKind::Quote, "replaced", "typographic quote"),
        ];
        let some = counted.into_iter().filter(|(count, ..)| *count > 0);
        some.map(|(count, kind, verb, noun)| {
            let plural = if count == 1 { "" } else { "s" };
            Fix::new(kind, format!("{verb} {count} {noun}{plural}"))
        })
        .collect()
    }
}

/// Where the last quote at the end of a word is. A quote before it may be the first of a pair, and then it
/// is not the prefix `'`.
fn last_closing_quote(line: &str) -> usize {
    let ends_word = |next: Option<char>| next.is_none_or(|c| c.is_whitespace() || ")]}".contains(c));
    let mut quotes = line.rmatch_indices(is_curly_single);
    let closing = quotes.find(|(at, quote)| ends_word(line[at + quote.len()..].chars().next()));
    closing.map_or(0, |(at, _)| at)
}

fn begins_form(c: char) -> bool {
    c.is_alphanumeric() || "([{".contains(c)
}

enum Part<'a> {
    Code,
    Literal,
    /// A string between typographic quotes; its content.
    CurlyString(&'a str),
}

/// Like [`parts`], with strings between typographic quotes told apart where it is clear where they end.
fn parts_with_curly(code: &str) -> Vec<(&str, Part<'_>)> {
    let mut parts = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let marks = |c: char| matches!(c, '"' | ';' | '\\') || is_curly_double(c);
        let plain = rest.find(marks).unwrap_or(rest.len());
        parts.push((&rest[..plain], Part::Code));
        rest = &rest[plain..];
        let Some(first) = rest.chars().next() else { break };
        let (end, part) = match curly_string(rest, first) {
            Some((content, end)) => (end, Part::CurlyString(content)),
            // Not clear where it ends: the reader says what is wrong.
            None if is_curly_double(first) => (first.len_utf8(), Part::Literal),
            None => (literal_end(rest), Part::Literal),
        };
        parts.push((&rest[..end], part));
        rest = &rest[end..];
    }
    parts
}

/// The content of a string between typographic quotes, and where it ends. One that holds or meets a plain
/// quote could end there too, so it is none.
fn curly_string(text: &str, first: char) -> Option<(&str, usize)> {
    if !is_curly_double(first) {
        return None;
    }
    let start = first.len_utf8();
    let (end, last) = closing_quote(&text[start..], |c| c == '"' || is_curly_double(c))?;
    is_curly_double(last).then(|| (&text[start..start + end], start + end + last.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_25_invisible_characters_and_spaces_go_outside_of_strings() {
        for (code, cleaned) in [
            ("\u{feff}(+ 1\u{a0}2)", "(+ 1 2)"),
            ("(in\u{200b}c 1)", "(inc 1)"),
            ("(in\u{ad}c 1)", "(inc 1)"),
            ("(inc\u{202f}1\u{3000})", "(inc 1 )"),
            ("(str \"a\u{200b}\u{a0}b\")", "(str \"a\u{200b}\u{a0}b\")"),
            ("(f) ; a\u{a0}comment\n(g\u{a0}1)", "(f) ; a\u{a0}comment\n(g 1)"),
            ("(re-find #\"\u{a0}\\\"\u{a0}\" s)", "(re-find #\"\u{a0}\\\"\u{a0}\" s)"),
            ("[:نمی\u{200c}خواهم]", "[:نمی\u{200c}خواهم]"),
        ] {
            assert_eq!(clean(code).0, cleaned, "{code:?}");
        }
    }

    #[test]
    fn r3_25_typographic_quotes_become_plain() {
        for (code, cleaned) in [
            ("(println “hi”)", "(println \"hi\")"),
            ("(f “a b” „c“)", "(f \"a b\" \"c\")"),
            ("(f “say \\\"x\\\"”)", "(f \"say \\\"x\\\"\")"),
            ("(map ’inc [1])", "(map 'inc [1])"),
            ("(first ‘(1 2))", "(first '(1 2))"),
            ("[’a ’b]", "['a 'b]"),
            // In strings and comments they are text.
            ("(f \"“quoted”\") ; it’s", "(f \"“quoted”\") ; it’s"),
            ("\\“", "\\“"),
        ] {
            assert_eq!(clean(code).0, cleaned, "{code:?}");
        }
    }

    #[test]
    fn r3_25_quotes_that_could_end_in_two_places_stay() {
        for code in ["(f “a\" b”)", "(f “a)", "(f ‘a b’)", "(f ‘word’)"] {
            let (cleaned, fixes) = clean(code);
            assert!(cleaned.contains(['“', '‘']), "{code:?} became {cleaned:?} ({fixes:?})");
        }
    }

    #[test]
    fn r3_25_every_change_is_listed() {
        let (_, fixes) = clean("\u{feff}(f\u{a0}“a”\u{200b})");
        let notes: Vec<&str> = fixes.iter().map(|fix| fix.note.as_str()).collect();
        assert_eq!(
            notes,
            ["removed 2 invisible characters", "replaced 1 unusual space", "replaced 2 typographic quotes"]
        );
        assert_eq!(clean("(f 1)").1, []);
    }

    #[test]
    fn wide_forms_become_narrow_outside_of_strings() {
        assert_eq!(narrow("（f “１” \"（\"）").as_deref(), Some("(f “1” \"（\")"));
        assert_eq!(narrow("(f)"), None);
    }
}
