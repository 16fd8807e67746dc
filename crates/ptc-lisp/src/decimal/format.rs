//! Patterns of `java.text.DecimalFormat`: `#,##0.00`, with what stands before and behind the digits.

use super::{Decimal, Rounding, ops};
use crate::error::excerpt;
use crate::signal::{Res, illegal};

/// A pattern, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// What stands before and behind a number, and a negative one.
    positive: [String; 2],
    negative: [String; 2],
    /// How many digits there are.
    digits: Digits,
    /// Zeros that a percent or per mille sign stands for.
    shift: i64,
    /// Whether there is a point although no digit follows.
    always_point: bool,
}

/// How many digits a pattern shows; a formatter can change that.
#[derive(Clone, Debug, PartialEq)]
pub struct Digits {
    /// The least and the largest number of digits before the point.
    pub least_whole: usize,
    /// Digits further to the left are left out, as Java does.
    pub most_whole: usize,
    /// The least number of digits behind the point.
    pub least_places: usize,
    /// The largest number of digits behind the point.
    pub most_places: usize,
    /// The number of digits between separators; zero for none.
    pub group: usize,
    /// Whether separators are wanted.
    pub grouped: bool,
}

impl Default for Digits {
    fn default() -> Self {
        Digits {
            least_whole: 0,
            most_whole: usize::MAX,
            least_places: 0,
            most_places: 0,
            group: 0,
            grouped: false,
        }
    }
}

/// Patterns with more digits are refused.
pub const MOST_PLACES: usize = 340;

/// Longer patterns are refused, in bytes: they are read for every number.
const MOST_BYTES: usize = 1_000;

/// Text beside the digits as a pattern has it: in quotes where it would be read as digits.
fn quoted_affix(text: &str) -> String {
    let text = text.replace('\'', "''");
    if text.contains(['#', '0', ',', '.', ';']) { format!("'{text}'") } else { text }
}

impl Pattern {
    /// Reads a pattern; an empty one shows all places, and no zero before the point.
    pub fn parse(source: &str) -> Res<Pattern> {
        if source.len() > MOST_BYTES {
            let told = format!(
                "a pattern of {} bytes is too long for a DecimalFormat, which takes {MOST_BYTES}",
                source.len()
            );
            return illegal(told);
        }
        if source.is_empty() {
            let digits = Digits { most_places: usize::MAX, group: 3, grouped: true, ..Digits::default() };
            let negative = ["-".to_owned(), String::new()];
            return Ok(Pattern { digits, negative, ..Pattern::default() });
        }
        let (first, second) = halves(source);
        let mut pattern = Pattern::default();
        let mut rest = first.as_str();
        pattern.positive[0] = pattern.affix(&mut rest)?;
        let digits_end = rest.find(|c| !matches!(c, '#' | '0' | ',' | '.')).unwrap_or(rest.len());
        let (digits, mut rest) = rest.split_at(digits_end);
        if rest.starts_with('E') {
            return illegal("a DecimalFormat with an exponent is not supported: use (format \"%e\" x)");
        }
        pattern.read_digits(digits, source)?;
        pattern.positive[1] = pattern.affix(&mut rest)?;
        if !rest.is_empty() {
            return illegal(format!("unquoted digits in the text of the pattern {:?}", excerpt(source)));
        }
        pattern.negative = [format!("-{}", pattern.positive[0]), pattern.positive[1].clone()];
        if let Some(second) = second {
            let mut rest = second.as_str();
            let before = pattern.affix(&mut rest)?;
            let mut rest = rest.trim_start_matches(['#', '0', ',', '.']);
            let after = pattern.affix(&mut rest)?;
            if [&before, &after] != [&pattern.positive[0], &pattern.positive[1]] {
                pattern.negative = [before, after];
            }
        }
        Ok(pattern)
    }

    /// How many digits it shows.
    pub fn digits(&self) -> &Digits {
        &self.digits
    }

    /// The same with another number of digits.
    pub fn with_digits(self, digits: Digits) -> Pattern {
        Pattern { digits, ..self }
    }

    /// The pattern as text, with the numbers of digits that it has now.
    pub fn source(&self) -> String {
        let Digits { least_whole, least_places, most_places, group, grouped, .. } = self.digits;
        let mut digits = String::new();
        let whole = group.max(least_whole) + 1;
        for place in (1..=whole).rev() {
            if place < whole && grouped && group > 0 && place % group == 0 {
                digits.push(',');
            }
            digits.push(if place <= least_whole { '0' } else { '#' });
        }
        let places = most_places.min(MOST_PLACES);
        if places > 0 || self.always_point {
            digits.push('.');
        }
        digits.extend((0..places).map(|place| if place < least_places { '0' } else { '#' }));
        let around = |[before, after]: &[String; 2]| {
            format!("{}{digits}{}", quoted_affix(before), quoted_affix(after))
        };
        let usual = [format!("-{}", self.positive[0]), self.positive[1].clone()];
        match self.negative == usual {
            true => around(&self.positive),
            false => format!("{};{}", around(&self.positive), around(&self.negative)),
        }
    }

    /// Takes text up to the digits: quotes make anything text, a percent sign multiplies.
    fn affix(&mut self, rest: &mut &str) -> Res<String> {
        let mut text = String::new();
        let mut quoted = false;
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                    chars.next();
                    text.push('\'');
                }
                '\'' => quoted = !quoted,
                _ if quoted => text.push(c),
                '#' | '0' | ',' | '.' => {
                    end = at;
                    break;
                }
                '¤' => return illegal("a currency sign is not supported: write the currency itself"),
                _ => {
                    self.shift = match c {
                        '%' => 2,
                        '‰' => 3,
                        _ => self.shift,
                    };
                    text.push(c);
                }
            }
        }
        *rest = &rest[end..];
        Ok(text)
    }

    /// Reads `#,##0.00`.
    fn read_digits(&mut self, digits: &str, source: &str) -> Res<()> {
        let (whole, part) = match digits.split_once('.') {
            Some((whole, part)) => (whole, Some(part)),
            None => (digits, None),
        };
        let places = part.unwrap_or_default();
        if places.contains('.') {
            return illegal(format!("Multiple decimal separators in pattern {:?}", excerpt(source)));
        }
        let count = |text: &str, wanted: char| text.chars().filter(|c| *c == wanted).count();
        let zeros_stand_right = whole.trim_start_matches(['#', ',']).chars().all(|c| c != '#');
        let zeros_stand_left = places.trim_start_matches('0').chars().all(|c| c == '#');
        if !zeros_stand_right || !zeros_stand_left || places.contains(',') || whole.ends_with(',') {
            return illegal(format!("Malformed pattern {:?}", excerpt(source)));
        }
        let group = whole.rsplit_once(',').map_or(0, |(_, last)| last.len());
        self.digits = Digits {
            least_whole: count(whole, '0'),
            least_places: count(places, '0'),
            most_places: places.len(),
            group,
            grouped: group > 0,
            ..Digits::default()
        };
        self.always_point = part.is_some_and(str::is_empty);
        if self.digits.least_whole.max(places.len()) > MOST_PLACES {
            return illegal(format!("a pattern may have at most {MOST_PLACES} digits"));
        }
        // Without any zero the last digit before the point is always shown.
        if self.digits.least_whole + self.digits.least_places == 0
            && (part.is_none() || count(whole, '#') > 0)
            && !digits.is_empty()
        {
            self.digits.least_whole = usize::from(part.is_some());
        }
        Ok(())
    }

    /// A float, or the percent or per mille that it is: the digits that it prints as, or all that it has where
    /// some have to go. Nothing for NaN and the infinities.
    pub fn of_float(&self, float: f64) -> Option<Decimal> {
        let float = match self.shift {
            2 => float * 100.0,
            3 => float * 1000.0,
            _ => float,
        };
        let shown = Decimal::of_float(float)?.normal();
        let fits = shown.scale() <= i64::try_from(self.digits.most_places).unwrap_or(i64::MAX);
        if fits { Some(shown) } else { Decimal::exactly(float) }
    }

    /// The percent or per mille that a decimal is, if the pattern asks for it.
    pub fn scaled_decimal(&self, decimal: &Decimal) -> Res<Decimal> {
        ops::scaled_by(decimal, self.shift)
    }

    /// NaN and the infinities.
    pub fn endless(&self, float: f64) -> String {
        if float.is_nan() {
            return "NaN".to_owned();
        }
        let [before, after] = if float < 0.0 { &self.negative } else { &self.positive };
        format!("{before}∞{after}")
    }

    /// The text of a number.
    pub fn text(&self, number: &Decimal, negative: bool, rounding: Rounding) -> Res<String> {
        let digits = &self.digits;
        let most = i64::try_from(digits.most_places).unwrap_or(i64::MAX);
        let number = if number.scale() > most { number.rescaled(most, rounding)? } else { number.clone() };
        let plain = number.plain();
        let plain = plain.trim_start_matches('-');
        let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
        let part = part.trim_end_matches('0');
        let part = format!("{part:0<least$}", least = digits.least_places);
        let whole = whole.trim_start_matches('0');
        let whole = &whole[whole.len().saturating_sub(digits.most_whole)..];
        let whole = format!("{whole:0>least$}", least = digits.least_whole);
        // A number with neither digits before nor behind the point is a zero.
        let whole = if whole.is_empty() && part.is_empty() { "0".to_owned() } else { whole };
        let point = if part.is_empty() && !self.always_point { "" } else { "." };
        let [before, after] = if negative { &self.negative } else { &self.positive };
        let group = if digits.grouped { digits.group } else { 0 };
        Ok(format!("{before}{}{point}{part}{after}", grouped(&whole, group)))
    }
}

/// The positive and the negative half of a pattern; a quoted semicolon is text.
fn halves(source: &str) -> (String, Option<String>) {
    let mut quoted = false;
    for (at, c) in source.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            ';' if !quoted => return (source[..at].to_owned(), Some(source[at + 1..].to_owned())),
            _ => {}
        }
    }
    (source.to_owned(), None)
}

/// Separators after every so many digits, counted from the point.
fn grouped(digits: &str, size: usize) -> String {
    if size == 0 || digits.len() <= size {
        return digits.to_owned();
    }
    let mut out = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(size) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
