//! Reading a format string: `%[index$][flags][width][.precision]conversion`.

use crate::error::{Error, ErrorKind};

/// Widths and precisions beyond this are refused.
const MOST: usize = 1_000_000;

/// A piece of a template.
pub(super) enum TemplatePart<'t> {
    /// Text that stands for itself.
    Text(&'t str),
    /// A place for a value.
    Directive(Directive<'t>),
}

/// Which value a directive shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgIndex {
    /// The next one.
    Next,
    /// The one the last directive showed (`%<s`).
    Same,
    /// The one with this number, from 1 (`%2$s`).
    Number(usize),
}

/// A directive.
#[derive(Clone, Debug)]
pub(super) struct Directive<'t> {
    /// The directive as written.
    pub(super) source: &'t str,
    pub(super) index: ArgIndex,
    flags: &'t str,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) conversion: char,
    /// What `%t` is to show.
    pub(super) part: Option<char>,
}

/// The parts of a template in order.
pub(super) fn parts(template: &str) -> impl Iterator<Item = Result<TemplatePart<'_>, Error>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let at = rest.find('%').unwrap_or(rest.len());
        if at > 0 {
            let text = &rest[..at];
            rest = &rest[at..];
            return Some(Ok(TemplatePart::Text(text)));
        }
        let directive = read(rest);
        rest = match &directive {
            Ok(directive) => &rest[directive.source.len()..],
            Err(_) => "",
        };
        Some(directive.map(TemplatePart::Directive))
    })
}

/// Reads the directive at the start of `text`.
fn read(text: &str) -> Result<Directive<'_>, Error> {
    const FLAGS: &str = "-#+ 0,(<";
    let mut rest = &text[1..];
    let mut index = ArgIndex::Next;
    let digits = leading(rest, |c| c.is_ascii_digit());
    if !digits.is_empty() && rest[digits.len()..].starts_with('$') {
        index = ArgIndex::Number(number(digits, text)?.max(1));
        rest = &rest[digits.len() + 1..];
    }
    let flags = leading(rest, |c| FLAGS.contains(c));
    rest = &rest[flags.len()..];
    if flags.contains('<') {
        index = ArgIndex::Same;
    }
    let width = leading(rest, |c| c.is_ascii_digit());
    rest = &rest[width.len()..];
    let mut precision = None;
    if let Some(after) = rest.strip_prefix('.') {
        let digits = leading(after, |c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(bad(text, "a precision needs digits after the point"));
        }
        precision = Some(number(digits, text)?);
        rest = &after[digits.len()..];
    }
    let Some(conversion) = rest.chars().next() else {
        return Err(bad(text, "the template ends in the middle of a directive"));
    };
    let mut length = text.len() - rest.len() + conversion.len_utf8();
    let part = rest[conversion.len_utf8()..].chars().next().filter(|_| matches!(conversion, 't' | 'T'));
    length += part.map_or(0, char::len_utf8);
    let source = &text[..length];
    let width = if width.is_empty() { None } else { Some(number(width, text)?) };
    Ok(Directive { source, index, flags, width, precision, conversion, part })
}

fn leading(text: &str, wanted: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !wanted(c)).unwrap_or(text.len())]
}

fn number(digits: &str, text: &str) -> Result<usize, Error> {
    match digits.parse() {
        Ok(number) if number <= MOST => Ok(number),
        _ => Err(bad(text, "widths and precisions go up to 1000000")),
    }
}

fn bad(text: &str, why: &str) -> Error {
    let shown: String = text.chars().take(12).collect();
    Error::new(ErrorKind::IllegalArgument, format!("bad directive `{shown}`: {why}"))
        .hint("write %% for a percent sign")
}

impl Directive<'_> {
    /// Whether a flag is set.
    pub(super) fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Whether it shows a value.
    pub(super) fn takes_value(&self) -> bool {
        !matches!(self.conversion, 'n' | '%')
    }

    /// About the most bytes that width and precision ask for.
    pub(super) fn most(&self) -> usize {
        self.width.unwrap_or(0).max(self.precision.unwrap_or(0))
    }

    /// Whether the conversion exists and takes these flags, as Java has it.
    pub(super) fn check(&self) -> Result<(), Error> {
        let (flags, precise) = match self.conversion {
            's' | 'S' | 'b' | 'B' | 'h' | 'H' => ("-<", true),
            'c' | 'C' => ("-<", false),
            'd' => ("-+ 0,(<", false),
            'x' | 'X' | 'o' => ("-#0<", false),
            'e' | 'E' => ("-#+ 0(<", true),
            'f' => ("-#+ 0,(<", true),
            'g' | 'G' => ("-+ 0,(<", true),
            '%' => ("-", false),
            'n' => ("", false),
            'a' | 'A' => ("-#+ 0<", false),
            't' | 'T' if self.part.is_some_and(super::dates::is_known) => ("-<", false),
            't' | 'T' => {
                return Err(bad(self.source, "there is no such part of a date")
                    .hint("known are %tY %tm %td %tB %tb %tA %ta %tH %tM %tS %tF %tT and others"));
            }
            _ => {
                return Err(bad(self.source, "there is no such conversion")
                    .hint("known are %s %d %f %e %g %a %x %o %b %c %h %t… %n %%"));
            }
        };
        if let Some(flag) = self.flags.chars().find(|flag| !flags.contains(*flag)) {
            return Err(bad(self.source, &format!("the flag `{flag}` does not go with this conversion")));
        }
        let twice = self.flags.char_indices().any(|(at, flag)| self.flags[at + 1..].contains(flag));
        let clash = (self.has('-') && self.has('0')) || (self.has('+') && self.has(' '));
        if twice || clash {
            return Err(bad(self.source, "these flags do not go together"));
        }
        if self.width.is_none() && (self.has('-') || self.has('0')) {
            return Err(bad(self.source, "the flags `-` and `0` need a width"));
        }
        if (self.precision.is_some() && !precise) || (self.width.is_some() && self.conversion == 'n') {
            let error = bad(self.source, "this conversion takes no precision");
            return Err(if self.conversion == 'd' {
                error.hint("%.2f shows a number with two places")
            } else {
                error
            });
        }
        Ok(())
    }
}
