//! Constants of Java's enumerations: which there are, in which order, and how they are written.

use super::{Field, TimeKind, TimeUnit};

/// An enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Class {
    DayOfWeek,
    Month,
    ChronoUnit,
    ChronoField,
    RoundingMode,
    TextStyle,
    FormatStyle,
    Locale,
    WeekFields,
    Base64,
    MessageDigest,
    NormalizerForm,
}

/// A constant of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// Its enumeration.
    pub class: Class,
    /// Its place there, from zero.
    pub ordinal: u8,
}

impl std::hash::Hash for Class {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.kind().name().hash(state);
    }
}

const DAYS: &[&str] = &["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
const MONTHS: &[&str] = &[
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];
/// The names of days in text, Monday first.
pub(crate) const DAYS_FULL: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// The names of months in text.
pub(crate) const MONTHS_FULL: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const ROUNDING: &[&str] =
    &["UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN", "UNNECESSARY"];
const TEXT_STYLES: &[&str] =
    &["FULL", "FULL_STANDALONE", "SHORT", "SHORT_STANDALONE", "NARROW", "NARROW_STANDALONE"];
const FORMAT_STYLES: &[&str] = &["FULL", "LONG", "MEDIUM", "SHORT"];
const LOCALES: &[&str] = &["ENGLISH", "US", "UK", "CANADA", "ROOT"];
const LOCALE_TAGS: &[&str] = &["en", "en_US", "en_GB", "en_CA", ""];
const WEEK_FIELDS: &[&str] = &["ISO", "SUNDAY_START"];
const BASE64: &[&str] = &[
    "ENCODER",
    "DECODER",
    "URL_ENCODER",
    "URL_DECODER",
    "ENCODER_WITHOUT_PADDING",
    "URL_ENCODER_WITHOUT_PADDING",
];

const DIGESTS: &[&str] = &["MD5", "SHA-256", "SHA-384", "SHA-512"];
const FORMS: &[&str] = &["NFC", "NFD", "NFKC", "NFKD"];

impl Class {
    /// Its type.
    pub fn kind(self) -> TimeKind {
        match self {
            Class::DayOfWeek => TimeKind::DayOfWeek,
            Class::Month => TimeKind::Month,
            Class::ChronoUnit => TimeKind::ChronoUnit,
            Class::ChronoField => TimeKind::ChronoField,
            Class::RoundingMode => TimeKind::RoundingMode,
            Class::TextStyle => TimeKind::TextStyle,
            Class::FormatStyle => TimeKind::FormatStyle,
            Class::Locale => TimeKind::Locale,
            Class::WeekFields => TimeKind::WeekFields,
            Class::Base64 => TimeKind::Base64,
            Class::MessageDigest => TimeKind::MessageDigest,
            Class::NormalizerForm => TimeKind::NormalizerForm,
        }
    }

    /// The names of its constants in order.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Class::DayOfWeek => DAYS,
            Class::Month => MONTHS,
            Class::ChronoUnit => TimeUnit::NAMES,
            Class::ChronoField => Field::NAMES,
            Class::RoundingMode => ROUNDING,
            Class::TextStyle => TEXT_STYLES,
            Class::FormatStyle => FORMAT_STYLES,
            Class::Locale => LOCALES,
            Class::WeekFields => WEEK_FIELDS,
            Class::Base64 => BASE64,
            Class::MessageDigest => DIGESTS,
            Class::NormalizerForm => FORMS,
        }
    }

    /// The constant of this name.
    pub fn constant(self, name: &str) -> Option<Constant> {
        let ordinal = self.names().iter().position(|known| *known == name)?;
        Some(Constant { class: self, ordinal: u8::try_from(ordinal).ok()? })
    }
}

/// How long a name of a day or month is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TextWidth {
    Full,
    Short,
    Narrow,
}

impl TextWidth {
    /// Cuts a full English name.
    pub fn cut(self, name: &'static str) -> &'static str {
        match self {
            TextWidth::Full => name,
            TextWidth::Short => &name[..3],
            TextWidth::Narrow => &name[..1],
        }
    }
}

impl Constant {
    /// The name as it is written in source.
    pub fn name(self) -> &'static str {
        self.class.names().get(usize::from(self.ordinal)).copied().unwrap_or("?")
    }

    /// The text of `str`: units and fields have one of their own (`Days`, `DayOfMonth`).
    pub fn text(self) -> String {
        match self.class {
            Class::ChronoUnit | Class::ChronoField => {
                let word = |part: &str| {
                    let (first, rest) = part.split_at(1);
                    first.to_owned() + &rest.to_lowercase()
                };
                self.name().split('_').map(word).collect()
            }
            Class::Locale => LOCALE_TAGS[usize::from(self.ordinal)].to_owned(),
            _ => self.name().to_owned(),
        }
    }

    /// The English name of a day or month.
    pub fn display_name(self, width: TextWidth) -> Option<&'static str> {
        let at = usize::from(self.ordinal);
        let full = match self.class {
            Class::DayOfWeek => DAYS_FULL.get(at)?,
            Class::Month => MONTHS_FULL.get(at)?,
            _ => return None,
        };
        Some(width.cut(full))
    }

    /// The width that a text style asks for.
    pub fn text_width(self) -> Option<TextWidth> {
        (self.class == Class::TextStyle).then_some(match self.ordinal / 2 {
            0 => TextWidth::Full,
            1 => TextWidth::Short,
            _ => TextWidth::Narrow,
        })
    }
}
