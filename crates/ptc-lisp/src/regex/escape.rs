//! What a backslash and what follows it stand for.

use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::class::{self, CharSet, of_ranges};
use super::node::{Assert, PatternNode};
use super::parse::Parser;
use crate::error::{Error, excerpt};

/// What an escape stands for.
pub(super) enum Escape {
    Char(char),
    Set(ClassUnicode),
    Node(PatternNode),
}

impl Parser<'_> {
    /// What follows a backslash.
    pub(super) fn escape(&mut self) -> Result<Escape, Error> {
        let Some(c) = self.peek() else {
            return Err(
                self.fault("the pattern ends with a lone `\\`", "write \\\\ for the character itself")
            );
        };
        let place = |place| Ok(Escape::Node(PatternNode::Assert(place)));
        let node = match c {
            'b' => place(Assert::Word { negate: false }),
            'B' => place(Assert::Word { negate: true }),
            'A' => place(Assert::TextStart),
            'z' => place(Assert::TextEnd),
            'Z' => place(Assert::LastLineEnd { unix: self.flags.unix_lines }),
            'G' => place(Assert::SearchStart),
            'R' => Ok(Escape::Node(line_break())),
            '1'..='9' => return Ok(Escape::Node(self.numbered_reference())),
            'k' => return self.named_reference().map(Escape::Node),
            _ => return self.class_escape(),
        };
        self.at += 1;
        node
    }

    fn numbered_reference(&mut self) -> PatternNode {
        let mut group = 0;
        // As many digits as name a group; the first one counts in any case.
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            let longer = group * 10 + digit as usize;
            if group > 0 && longer > self.groups {
                break;
            }
            group = longer;
            self.at += 1;
        }
        // The group may come later; a loop leads back from there.
        PatternNode::Backref { group, case: self.flags.case() }
    }

    fn named_reference(&mut self) -> Result<PatternNode, Error> {
        self.at += 1;
        if !self.eat("<") {
            return Err(self.fault("`\\k` needs the name of a group", "write \\k<name>"));
        }
        let name = self.name('>')?;
        match self.names.iter().find(|(other, _)| *other == name) {
            Some((_, group)) => Ok(PatternNode::Backref { group: *group, case: self.flags.case() }),
            None => Err(self.fault(&format!("no group before this is named {}", excerpt(&name)), "")),
        }
    }

    /// An escape that may also stand in a class.
    pub(super) fn class_escape(&mut self) -> Result<Escape, Error> {
        let Some(c) = self.bump() else { return Err(self.fault("the pattern ends with a lone `\\`", "")) };
        Ok(match c {
            'p' | 'P' => Escape::Set(self.property(c == 'P')?),
            '0' => Escape::Char(self.octal()?),
            'x' | 'u' => Escape::Char(self.hex(c)?),
            'c' => match self.bump() {
                Some(c) if c.is_ascii() => Escape::Char(char::from(c as u8 ^ 64)),
                _ => return Err(self.fault("`\\c` needs a character", "")),
            },
            't' => Escape::Char('\t'),
            'n' => Escape::Char('\n'),
            'r' => Escape::Char('\r'),
            'f' => Escape::Char('\u{c}'),
            'a' => Escape::Char('\u{7}'),
            'e' => Escape::Char('\u{1b}'),
            _ if c.is_ascii_alphanumeric() => match class::escape(c, self.flags.unicode_classes) {
                Some(set) => Escape::Set(set),
                None => {
                    self.at -= 1;
                    return Err(self.fault(
                        &format!("`\\{c}` is not an escape"),
                        "this escape is unknown here; for the letter itself leave the `\\` out",
                    ));
                }
            },
            _ => Escape::Char(c),
        })
    }

    /// `\p{Name}`, `\pL`, negated for `\P` and `\p{^Name}`.
    fn property(&mut self, mut negate: bool) -> Result<ClassUnicode, Error> {
        let name = if self.eat("{") {
            let Some((name, _)) = self.rest().split_once('}') else {
                return Err(self.fault("`\\p{` is never closed", "write \\p{Name}"));
            };
            let name = name.to_owned();
            self.at += name.len() + 1;
            name
        } else {
            self.bump().map(String::from).unwrap_or_default()
        };
        let bare = name.strip_prefix('^').inspect(|_| negate = !negate).unwrap_or(&name);
        match class::property(bare, self.flags.unicode_classes, self.flags.case()) {
            Some(set) if negate => Ok(class::negated(set)),
            Some(set) => Ok(set),
            None => {
                let hint = "known are POSIX names (Alpha, Digit, Punct, …), categories (L, Lu, Nd, …), \
                            scripts (IsGreek, …), properties (IsAlphabetic, …) and some blocks (InCyrillic, …)";
                Err(self.fault(&format!("there is no character property named {}", excerpt(&name)), hint))
            }
        }
    }

    /// `\0n`, `\0nn`, `\0mnn` with m up to 3.
    fn octal(&mut self) -> Result<char, Error> {
        let digits: String = self.rest().chars().take(3).take_while(|c| ('0'..='7').contains(c)).collect();
        let most = if digits.starts_with(['0', '1', '2', '3']) { 3 } else { 2 };
        let digits = &digits[..digits.len().min(most)];
        let Some(c) = u32::from_str_radix(digits, 8).ok().and_then(char::from_u32) else {
            return Err(
                self.fault("`\\0` needs octal digits", "write \\0 followed by one to three octal digits")
            );
        };
        self.at += digits.len();
        Ok(c)
    }

    /// `\xhh`, `\x{h…}`, `\uhhhh`; two `\u` may make one character.
    fn hex(&mut self, kind: char) -> Result<char, Error> {
        let code = match kind {
            'x' if self.eat("{") => {
                let digits = self.rest().split_once('}').map(|(digits, _)| digits.to_owned());
                digits.and_then(|digits| {
                    self.at += digits.len() + 1;
                    u32::from_str_radix(&digits, 16).ok()
                })
            }
            'x' => self.hex_digits(2),
            _ => self.hex_digits(4).and_then(|unit| self.surrogates(unit)),
        };
        code.and_then(char::from_u32).ok_or_else(|| {
            self.fault("the hexadecimal escape names no character", "write \\xhh, \\uhhhh or \\x{h…h}")
        })
    }

    fn hex_digits(&mut self, count: usize) -> Option<u32> {
        let digits =
            self.rest().get(..count).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let code = u32::from_str_radix(digits, 16).ok();
        self.at += count;
        code
    }

    fn surrogates(&mut self, unit: u32) -> Option<u32> {
        if !(0xd800..0xdc00).contains(&unit) || !self.eat("\\u") {
            return Some(unit);
        }
        let low = self.hex_digits(4)?;
        Some(0x10000 + ((unit - 0xd800) << 10) + low.checked_sub(0xdc00)?)
    }
}

/// `\R`: a line break, two characters if they belong together.
fn line_break() -> PatternNode {
    let pair = PatternNode::Concat(vec![PatternNode::Char('\r'), PatternNode::Char('\n')]);
    PatternNode::Alt(vec![pair, PatternNode::Set(Arc::new(CharSet::new(of_ranges(class::VERTICAL))))])
}
