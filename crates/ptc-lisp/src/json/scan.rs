//! The pieces of JSON text: blanks, words, numbers, strings.
//!
//! Strings are searched eight bytes at a time, and numbers are computed from their digits where that is
//! exact, since that is where a reader of data spends its time.

use std::borrow::Cow;

use num_bigint::BigInt;

use super::read::{FaultKind, JsonFault};
use super::shapes::Joint;
use crate::value::Value;

/// Longest integer that is read exactly; reading takes quadratic time in its digits.
const MAX_DIGITS: usize = 10_000;

/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Whole numbers below this are exact as floats.
const EXACT: u64 = 1 << 53;

/// Puts a value in the place of nil. It is made there: a value that is written in parts and then copied at once
/// makes the processor wait.
#[inline(always)]
pub(super) fn put(place: &mut Value, value: Value) {
    // Nil need not be dropped.
    std::mem::forget(std::mem::replace(place, value));
}

/// A position in a text.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scanner { text, bytes: text.as_bytes(), at: 0 }
    }

    pub(super) fn fault<T>(&self, kind: FaultKind) -> Result<T, JsonFault> {
        Err(JsonFault { kind, at: self.at })
    }

    #[cold]
    pub(super) fn syntax<T>(&self, expected: &'static str) -> Result<T, JsonFault> {
        self.fault(FaultKind::Syntax(expected))
    }

    /// The next byte, 0 at the end of the text.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn skip_space(&mut self) {
        if self.peek() > b' ' {
            return;
        }
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    /// Goes past a joint, if it comes next.
    #[inline]
    pub(super) fn eat_joint(&mut self, joint: &Joint) -> bool {
        let len = joint.begins(&self.bytes[self.at..]);
        self.at += len.unwrap_or(0);
        len.is_some()
    }

    /// Goes past `expected`, if it comes next.
    #[inline]
    pub(super) fn eat_all(&mut self, expected: &[u8]) -> bool {
        let there = self.bytes[self.at..].starts_with(expected);
        if there {
            self.at += expected.len();
        }
        there
    }

    /// Puts `true`, `false` or `null` in a place.
    pub(super) fn word(&mut self, place: &mut Value) -> Result<(), JsonFault> {
        let words = [("null", Value::Nil), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.eat_all(word.as_bytes()) {
                put(place, value);
                return Ok(());
            }
        }
        self.syntax("a value")
    }

    /// Goes past digits and puts them behind those of `number`, which wraps once there are too many.
    #[inline]
    fn digits(&mut self, number: &mut u64) -> usize {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            *number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        self.at - start
    }

    /// Puts a number in a place.
    pub(super) fn number(&mut self, place: &mut Value) -> Result<(), JsonFault> {
        let start = self.at;
        let negative = self.eat(b'-');
        let first = self.at;
        let mut digits = 0;
        let whole = self.digits(&mut digits);
        if whole == 0 || (whole > 1 && self.bytes[first] == b'0') {
            return self.syntax("a number without leading zeros");
        }
        if !matches!(self.peek(), b'.' | b'e' | b'E') {
            if whole < 19 {
                let int = digits.cast_signed();
                put(
                    place,
                    match (negative, int) {
                        // As serde_json and JavaScript read it: who sent it may have asked either of them.
                        (true, 0) => Value::Float(-0.0),
                        (true, _) => Value::Int(-int),
                        (false, _) => Value::Int(int),
                    },
                );
                return Ok(());
            }
            return self.large(start, whole, place);
        }
        let mut fraction = 0;
        if self.eat(b'.') {
            fraction = self.digits(&mut digits);
            if fraction == 0 {
                return self.syntax("digits after the point");
            }
        }
        if !matches!(self.peek(), b'e' | b'E') {
            // A quotient of two exact floats is the float nearest to the number.
            if whole + fraction < 19 && digits < EXACT && fraction < POWERS.len() {
                let float = digits as f64 / POWERS[fraction];
                put(place, Value::Float(if negative { -float } else { float }));
                return Ok(());
            }
        } else {
            self.at += 1;
            let _ = self.eat(b'+') || self.eat(b'-');
            if self.digits(&mut 0) == 0 {
                return self.syntax("digits of the exponent");
            }
        }
        match self.text[start..self.at].parse::<f64>() {
            Ok(float) if float.is_finite() => {
                put(place, Value::Float(float));
                Ok(())
            }
            _ => self.syntax("a number that fits a float"),
        }
    }

    /// An integer that may not fit 64 bits.
    #[cold]
    fn large(&self, start: usize, count: usize, place: &mut Value) -> Result<(), JsonFault> {
        if count > MAX_DIGITS {
            return self.syntax("at most 10000 digits");
        }
        put(place, self.text[start..self.at].parse::<BigInt>().map_or(Value::Nil, Value::big));
        Ok(())
    }

    /// A string after its opening quote.
    #[inline]
    pub(super) fn string(&mut self) -> Result<Cow<'a, str>, JsonFault> {
        let start = self.at;
        match self.plain() {
            Some(b'"') => {
                self.at += 1;
                Ok(Cow::Borrowed(&self.text[start..self.at - 1]))
            }
            Some(b'\\') => self.escaped(start).map(Cow::Owned),
            Some(_) => self.syntax("no control characters inside a string; write them as escapes"),
            None => self.syntax("a closing quote"),
        }
    }

    /// Goes to the next byte of a string that is not plain text.
    #[inline]
    fn plain(&mut self) -> Option<u8> {
        while let Some(chunk) = self.bytes[self.at..].first_chunk::<8>() {
            let marks = special(u64::from_le_bytes(*chunk));
            if marks != 0 {
                self.at += (marks.trailing_zeros() / 8) as usize;
                return self.bytes.get(self.at).copied();
            }
            self.at += 8;
        }
        let rest = &self.bytes[self.at..];
        let skip = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        self.at += skip.unwrap_or(rest.len());
        self.bytes.get(self.at).copied()
    }

    fn escaped(&mut self, start: usize) -> Result<String, JsonFault> {
        let mut out = self.text[start..self.at].to_owned();
        loop {
            let from = self.at;
            match self.plain() {
                Some(b'"') => {
                    out.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[from..self.at]);
                    self.at += 1;
                    let c = self.escape()?;
                    out.push(c);
                }
                Some(_) => {
                    return self.syntax("no control characters inside a string; write them as escapes");
                }
                None => return self.syntax("a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonFault> {
        let Some(byte) = self.bytes.get(self.at) else { return self.syntax("a closing quote") };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return self.syntax("an escape such as \\n or \\u00e9"),
        })
    }

    /// `\u` with four digits; two of them may make one character. Half a pair becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, JsonFault> {
        let unit = self.hex()?;
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let back = self.at;
        if self.eat(b'\\') && self.eat(b'u') {
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        self.at = back;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, JsonFault> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return self.syntax("four hexadecimal digits after \\u");
        };
        self.at += 4;
        Ok(code)
    }
}

/// Marks the first byte of eight that is a quote, a backslash or a control character by its top bit;
/// later marks mean nothing.
#[inline]
fn special(chunk: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
    let quote = below(chunk ^ (ONES * u64::from(b'"')), 1);
    let backslash = below(chunk ^ (ONES * u64::from(b'\\')), 1);
    (quote | backslash | below(chunk, 0x20)) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_the_first_special_byte() {
        for special_byte in ['"', '\\', '\u{1f}', '\0', '\n'] {
            for before in
                ["", "a", "sieben7", "achtacht", "more than eight", "žluťoučký kůň", "\u{7f}\u{80}!#[]~"]
            {
                let text = format!("{before}{special_byte}{before}\"");
                let mut scanner = Scanner::new(&text);
                assert_eq!(scanner.plain(), Some(special_byte as u8));
                assert_eq!(scanner.at, before.len());
            }
        }
    }

    #[test]
    fn floats_are_those_of_the_standard_library() {
        let texts = [
            "0.1",
            "12.52",
            "-368.24",
            "9007199254740991.5",
            "900719925474099.1",
            "0.30000000000000004",
            "123456789012345678.9",
            "1e5",
            "-2.5E-3",
            "5e-324",
            "0.0000000000000000000001",
            "1.7976931348623157e308",
        ];
        for text in texts {
            let mut read = Value::Nil;
            Scanner::new(text).number(&mut read).expect("a number");
            let expected: f64 = text.parse().expect("a float");
            assert!(matches!(read, Value::Float(float) if float.to_bits() == expected.to_bits()), "{text}");
        }
    }
}
