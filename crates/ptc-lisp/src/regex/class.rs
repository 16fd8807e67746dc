//! Sets of characters: what `[…]`, `\w`, `\p{…}` and `.` stand for.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::node::Case;

/// A set of characters, quick to ask for ASCII.
#[derive(Clone, Debug)]
pub(super) struct CharSet {
    ascii: u128,
    ranges: ClassUnicode,
}

impl CharSet {
    pub(super) fn new(ranges: ClassUnicode) -> CharSet {
        let mut ascii = 0u128;
        for range in ranges.iter().take_while(|range| range.start().is_ascii()) {
            for c in u32::from(range.start())..=u32::from(range.end()).min(127) {
                ascii |= 1 << c;
            }
        }
        CharSet { ascii, ranges }
    }

    /// Whether `c` is in it.
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii >> u32::from(c) & 1 == 1;
        }
        let ranges = self.ranges.ranges();
        let at = ranges.partition_point(|range| range.end() < c);
        ranges.get(at).is_some_and(|range| range.start() <= c)
    }

    /// The set as sorted ranges.
    pub(super) fn ranges(&self) -> &ClassUnicode {
        &self.ranges
    }

    /// Bit n says whether the ASCII character n is in it.
    pub(super) fn ascii(&self) -> u128 {
        self.ascii
    }
}

/// The set of all characters in `ranges`.
pub(super) fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|(from, to)| ClassUnicodeRange::new(*from, *to)))
}

/// The characters not in `set`.
pub(super) fn negated(mut set: ClassUnicode) -> ClassUnicode {
    set.negate();
    set
}

/// The set with the other case of its letters.
pub(super) fn folded(mut set: ClassUnicode, case: Case) -> ClassUnicode {
    match case {
        Case::Exact => {}
        Case::Unicode => set.case_fold_simple(),
        Case::Ascii => {
            let mut lower = of_ranges(&[('a', 'z')]);
            lower.intersect(&set);
            let mut upper = of_ranges(&[('A', 'Z')]);
            upper.intersect(&set);
            let shifted = |range: &ClassUnicodeRange, turn: fn(&char) -> char| {
                ClassUnicodeRange::new(turn(&range.start()), turn(&range.end()))
            };
            lower.iter().for_each(|range| set.push(shifted(range, char::to_ascii_uppercase)));
            upper.iter().for_each(|range| set.push(shifted(range, char::to_ascii_lowercase)));
        }
    }
    set
}

/// What ends a line.
pub(super) const LINE_ENDS: &[(char, char)] =
    &[('\n', '\n'), ('\r', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')];

/// `\v`
pub(super) const VERTICAL: &[(char, char)] = &[('\n', '\r'), ('\u{85}', '\u{85}'), ('\u{2028}', '\u{2029}')];

const HORIZONTAL: &[(char, char)] = &[
    ('\t', '\t'),
    (' ', ' '),
    ('\u{a0}', '\u{a0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{2000}', '\u{200a}'),
    ('\u{202f}', '\u{202f}'),
    ('\u{205f}', '\u{205f}'),
    ('\u{3000}', '\u{3000}'),
];

/// The set of `.`; `unix` means that only `\n` ends a line.
pub(super) fn dot(all: bool, unix: bool) -> ClassUnicode {
    match (all, unix) {
        (true, _) => of_ranges(&[('\0', char::MAX)]),
        (false, true) => negated(of_ranges(&[('\n', '\n')])),
        (false, false) => negated(of_ranges(LINE_ENDS)),
    }
}

/// The set of a one-letter escape such as `\d`; upper-case letters negate.
pub(super) fn escape(letter: char, unicode: bool) -> Option<ClassUnicode> {
    let set = match (letter.to_ascii_lowercase(), unicode) {
        ('d', false) => of_ranges(&[('0', '9')]),
        ('w', false) => of_ranges(&[('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]),
        ('s', false) => of_ranges(&[('\t', '\r'), (' ', ' ')]),
        ('d', true) => known(r"\d")?,
        ('w', true) => known(r"\w")?,
        ('s', true) => known(r"\s")?,
        ('h', _) => of_ranges(HORIZONTAL),
        ('v', _) => of_ranges(VERTICAL),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() { negated(set) } else { set })
}

/// The set of `\p{name}`.
pub(super) fn property(name: &str, unicode: bool, case: Case) -> Option<ClassUnicode> {
    let set =
        posix(name, unicode).or_else(|| java(name)).or_else(|| block(name)).or_else(|| by_unicode(name))?;
    let about_case = matches!(
        name.trim_start_matches("Is"),
        "Lower"
            | "Upper"
            | "Lu"
            | "Ll"
            | "Lt"
            | "javaLowerCase"
            | "javaUpperCase"
            | "Lowercase"
            | "Uppercase"
    );
    Some(if about_case && case != Case::Exact { folded(set, Case::Unicode) } else { set })
}

fn posix(name: &str, unicode: bool) -> Option<ClassUnicode> {
    if unicode {
        let wide = match name {
            "Lower" => r"\p{Lowercase}",
            "Upper" => r"\p{Uppercase}",
            "Alpha" => r"\p{Alphabetic}",
            "Digit" => r"\p{Nd}",
            "Alnum" => r"[\p{Alphabetic}\p{Nd}]",
            "Punct" => r"\p{P}",
            "Graph" => r"[^\p{White_Space}\p{Cc}\p{Cn}]",
            "Print" => r"[[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}]",
            "Blank" => r"[\p{Zs}\t]",
            "Cntrl" => r"\p{Cc}",
            "XDigit" => r"[\p{Nd}\p{Hex_Digit}]",
            "Space" => r"\p{White_Space}",
            _ => return None,
        };
        return known(wide);
    }
    Some(of_ranges(match name {
        "Lower" => &[('a', 'z')],
        "Upper" => &[('A', 'Z')],
        "ASCII" => &[('\0', '\u{7f}')],
        "Alpha" => &[('a', 'z'), ('A', 'Z')],
        "Digit" => &[('0', '9')],
        "Alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
        "Punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "Graph" => &[('!', '~')],
        "Print" => &[(' ', '~')],
        "Blank" => &[(' ', ' '), ('\t', '\t')],
        "Cntrl" => &[('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')],
        "XDigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        "Space" => &[('\t', '\r'), (' ', ' ')],
        _ => return None,
    }))
}

fn java(name: &str) -> Option<ClassUnicode> {
    match name {
        "javaLowerCase" => known(r"\p{Lowercase}"),
        "javaUpperCase" => known(r"\p{Uppercase}"),
        "javaAlphabetic" => known(r"\p{Alphabetic}"),
        "javaLetter" => known(r"\p{L}"),
        "javaDigit" => known(r"\p{Nd}"),
        "javaLetterOrDigit" => known(r"[\p{L}\p{Nd}]"),
        "javaWhitespace" => known(r"[[\p{Z}\t-\r\x1c-\x1f]&&[^\xa0\u2007\u202f]]"),
        "L1" => Some(of_ranges(&[('\0', '\u{ff}')])),
        "all" => Some(of_ranges(&[('\0', char::MAX)])),
        _ => None,
    }
}

/// Blocks of characters that patterns name (`InCombiningDiacriticalMarks`).
fn block(name: &str) -> Option<ClassUnicode> {
    let name: String = name.strip_prefix("In")?.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    Some(of_ranges(match name.to_ascii_lowercase().as_str() {
        "basiclatin" => &[('\0', '\u{7f}')],
        "latin1supplement" => &[('\u{80}', '\u{ff}')],
        "combiningdiacriticalmarks" => &[('\u{300}', '\u{36f}')],
        "greek" => &[('\u{370}', '\u{3ff}')],
        "cyrillic" => &[('\u{400}', '\u{4ff}')],
        "hebrew" => &[('\u{590}', '\u{5ff}')],
        "arabic" => &[('\u{600}', '\u{6ff}')],
        "hiragana" => &[('\u{3040}', '\u{309f}')],
        "katakana" => &[('\u{30a0}', '\u{30ff}')],
        "cjkunifiedideographs" => &[('\u{4e00}', '\u{9fff}')],
        _ => return None,
    }))
}

/// Categories (`L`, `IsL`, `gc=L`), scripts (`IsGreek`, `script=Greek`) and binary properties
/// (`IsAlphabetic`).
fn by_unicode(name: &str) -> Option<ClassUnicode> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'=');
    // Without `Is` only categories are known, and their names are short.
    let name = match name.strip_prefix("Is") {
        Some(rest) => rest,
        None if name.contains('=') || name.len() <= 2 => name,
        None => return None,
    };
    plain.then(|| known(&format!(r"\p{{{name}}}"))).flatten()
}

/// The set that a pattern of the underlying library stands for.
fn known(pattern: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(pattern).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        HirKind::Class(Class::Bytes(set)) => set.to_unicode_class(),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            Some(of_ranges(&text.chars().map(|c| (c, c)).collect::<Vec<_>>()))
        }
        _ => None,
    }
}
