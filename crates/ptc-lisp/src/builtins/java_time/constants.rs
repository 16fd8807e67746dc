//! The constants of enumerations, and what all of them can do.

use super::super::java_lang::no_method;
use super::super::{Builtin, args, constant, native};
use crate::error::excerpt;
use crate::signal::Res;
use crate::value::time::{Class, Field, TimeUnit};
use crate::value::{Time, Value};

/// Constants of a class in order: name and text.
macro_rules! constants {
    ($class:literal $kind:ident $doc:literal: $($name:literal $ordinal:expr => $shown:literal;)*) => {
        &[$(constant(
            concat!($class, "/", $name),
            |_| Value::time(Time::constant(Class::$kind, $ordinal)),
            $doc,
            &[(concat!("(str ", $class, "/", $name, ")"), concat!("\"", $shown, "\""))],
        )),*]
    };
}

pub(super) static DAYS: &[Builtin] = constants! {
    "DayOfWeek" DayOfWeek "A day of the week; Monday is 1.":
    "MONDAY" 0 => "MONDAY"; "TUESDAY" 1 => "TUESDAY"; "WEDNESDAY" 2 => "WEDNESDAY"; "THURSDAY" 3 => "THURSDAY";
    "FRIDAY" 4 => "FRIDAY"; "SATURDAY" 5 => "SATURDAY"; "SUNDAY" 6 => "SUNDAY";
};

pub(super) static MONTHS: &[Builtin] = constants! {
    "Month" Month "A month; January is 1.":
    "JANUARY" 0 => "JANUARY"; "FEBRUARY" 1 => "FEBRUARY"; "MARCH" 2 => "MARCH"; "APRIL" 3 => "APRIL";
    "MAY" 4 => "MAY"; "JUNE" 5 => "JUNE"; "JULY" 6 => "JULY"; "AUGUST" 7 => "AUGUST";
    "SEPTEMBER" 8 => "SEPTEMBER"; "OCTOBER" 9 => "OCTOBER"; "NOVEMBER" 10 => "NOVEMBER";
    "DECEMBER" 11 => "DECEMBER";
};

pub(super) static UNITS: &[Builtin] = constants! {
    "ChronoUnit" ChronoUnit "A unit of time.":
    "NANOS" TimeUnit::Nanos as u8 => "Nanos"; "MICROS" TimeUnit::Micros as u8 => "Micros";
    "MILLIS" TimeUnit::Millis as u8 => "Millis"; "SECONDS" TimeUnit::Seconds as u8 => "Seconds";
    "MINUTES" TimeUnit::Minutes as u8 => "Minutes"; "HOURS" TimeUnit::Hours as u8 => "Hours";
    "HALF_DAYS" TimeUnit::HalfDays as u8 => "HalfDays"; "DAYS" TimeUnit::Days as u8 => "Days";
    "WEEKS" TimeUnit::Weeks as u8 => "Weeks"; "MONTHS" TimeUnit::Months as u8 => "Months";
    "YEARS" TimeUnit::Years as u8 => "Years"; "DECADES" TimeUnit::Decades as u8 => "Decades";
    "CENTURIES" TimeUnit::Centuries as u8 => "Centuries"; "MILLENNIA" TimeUnit::Millennia as u8 => "Millennia";
};

macro_rules! fields {
    ($($class:literal $name:literal $field:ident;)*) => {
        &[$(constant(
            concat!($class, "/", $name),
            |_| Value::time(Time::constant(Class::ChronoField, Field::$field as u8)),
            "A field of dates or times, for .get and .with.",
            &[(concat!("(str ", $class, "/", $name, ")"), concat!("\"", stringify!($field), "\""))],
        )),*]
    };
}

pub(super) static FIELDS: &[Builtin] = fields! {
    "ChronoField" "NANO_OF_SECOND" NanoOfSecond;
    "ChronoField" "NANO_OF_DAY" NanoOfDay;
    "ChronoField" "MICRO_OF_SECOND" MicroOfSecond;
    "ChronoField" "MICRO_OF_DAY" MicroOfDay;
    "ChronoField" "MILLI_OF_SECOND" MilliOfSecond;
    "ChronoField" "MILLI_OF_DAY" MilliOfDay;
    "ChronoField" "SECOND_OF_MINUTE" SecondOfMinute;
    "ChronoField" "SECOND_OF_DAY" SecondOfDay;
    "ChronoField" "MINUTE_OF_HOUR" MinuteOfHour;
    "ChronoField" "MINUTE_OF_DAY" MinuteOfDay;
    "ChronoField" "HOUR_OF_AMPM" HourOfAmpm;
    "ChronoField" "CLOCK_HOUR_OF_AMPM" ClockHourOfAmpm;
    "ChronoField" "HOUR_OF_DAY" HourOfDay;
    "ChronoField" "CLOCK_HOUR_OF_DAY" ClockHourOfDay;
    "ChronoField" "AMPM_OF_DAY" AmpmOfDay;
    "ChronoField" "DAY_OF_WEEK" DayOfWeek;
    "ChronoField" "ALIGNED_DAY_OF_WEEK_IN_MONTH" AlignedDayOfWeekInMonth;
    "ChronoField" "ALIGNED_DAY_OF_WEEK_IN_YEAR" AlignedDayOfWeekInYear;
    "ChronoField" "DAY_OF_MONTH" DayOfMonth;
    "ChronoField" "DAY_OF_YEAR" DayOfYear;
    "ChronoField" "EPOCH_DAY" EpochDay;
    "ChronoField" "ALIGNED_WEEK_OF_MONTH" AlignedWeekOfMonth;
    "ChronoField" "ALIGNED_WEEK_OF_YEAR" AlignedWeekOfYear;
    "ChronoField" "MONTH_OF_YEAR" MonthOfYear;
    "ChronoField" "PROLEPTIC_MONTH" ProlepticMonth;
    "ChronoField" "YEAR_OF_ERA" YearOfEra;
    "ChronoField" "YEAR" Year;
    "ChronoField" "ERA" Era;
    "ChronoField" "INSTANT_SECONDS" InstantSeconds;
    "ChronoField" "OFFSET_SECONDS" OffsetSeconds;
    "IsoFields" "DAY_OF_QUARTER" DayOfQuarter;
    "IsoFields" "QUARTER_OF_YEAR" QuarterOfYear;
    "IsoFields" "WEEK_OF_WEEK_BASED_YEAR" WeekOfWeekBasedYear;
    "IsoFields" "WEEK_BASED_YEAR" WeekBasedYear;
};

macro_rules! styles {
    ($($class:literal $kind:ident $name:literal $ordinal:literal $doc:literal => $shown:literal;)*) => {
        &[$(constant(
            concat!($class, "/", $name),
            |_| Value::time(Time::constant(Class::$kind, $ordinal)),
            $doc,
            &[(concat!("(str ", $class, "/", $name, ")"), concat!("\"", $shown, "\""))],
        )),*]
    };
}

pub(super) static STYLES: &[Builtin] = styles! {
    "RoundingMode" RoundingMode "UP" 0 "Rounds away from zero." => "UP";
    "RoundingMode" RoundingMode "DOWN" 1 "Rounds towards zero." => "DOWN";
    "RoundingMode" RoundingMode "CEILING" 2 "Rounds up." => "CEILING";
    "RoundingMode" RoundingMode "FLOOR" 3 "Rounds down." => "FLOOR";
    "RoundingMode" RoundingMode "HALF_UP" 4 "Rounds to nearest, halves away from zero." => "HALF_UP";
    "RoundingMode" RoundingMode "HALF_DOWN" 5 "Rounds to nearest, halves towards zero." => "HALF_DOWN";
    "RoundingMode" RoundingMode "HALF_EVEN" 6 "Rounds to nearest, halves to even." => "HALF_EVEN";
    "RoundingMode" RoundingMode "UNNECESSARY" 7 "Raises if rounding is needed." => "UNNECESSARY";
    "TextStyle" TextStyle "FULL" 0 "Whole names." => "FULL";
    "TextStyle" TextStyle "FULL_STANDALONE" 1 "Whole names." => "FULL_STANDALONE";
    "TextStyle" TextStyle "SHORT" 2 "Names of three letters." => "SHORT";
    "TextStyle" TextStyle "SHORT_STANDALONE" 3 "Names of three letters." => "SHORT_STANDALONE";
    "TextStyle" TextStyle "NARROW" 4 "Names of one letter." => "NARROW";
    "TextStyle" TextStyle "NARROW_STANDALONE" 5 "Names of one letter." => "NARROW_STANDALONE";
    "FormatStyle" FormatStyle "FULL" 0 "Dates with the day of the week." => "FULL";
    "FormatStyle" FormatStyle "LONG" 1 "Dates with the whole month." => "LONG";
    "FormatStyle" FormatStyle "MEDIUM" 2 "Dates with a short month." => "MEDIUM";
    "FormatStyle" FormatStyle "SHORT" 3 "Dates in numbers." => "SHORT";
    "Locale" Locale "ENGLISH" 0 "English, the only language of names." => "en";
    "Locale" Locale "US" 1 "English, the only language of names." => "en_US";
    "Locale" Locale "UK" 2 "English, the only language of names." => "en_GB";
    "Locale" Locale "CANADA" 3 "English, the only language of names." => "en_CA";
    "Locale" Locale "ROOT" 4 "No language; names are English." => "";
    "WeekFields" WeekFields "ISO" 0 "Weeks from Monday; the first has at least four days." => "ISO";
    "WeekFields" WeekFields "SUNDAY_START" 1 "Weeks from Sunday; the first holds January 1." => "SUNDAY_START";
};

macro_rules! enumerations {
    ($($class:literal $kind:ident $name:literal => $shown:literal;)*) => {
        [$(
            native(
                concat!($class, "/valueOf"),
                "[name]",
                |_, args| value_of(args, Class::$kind),
                "The constant of a name.",
                &[(concat!("(str (", $class, "/valueOf \"", $name, "\"))"), concat!("\"", $shown, "\""))],
            ),
            native(
                concat!($class, "/values"),
                "[]",
                |_, _| Ok(values(Class::$kind)),
                "All constants in order.",
                &[(concat!("(str (first (", $class, "/values)))"), concat!("\"", $shown, "\""))],
            ),
        )*]
    };
}

pub(super) static ENUMERATIONS: &[Builtin] = &enumerations! {
    "DayOfWeek" DayOfWeek "MONDAY" => "MONDAY";
    "Month" Month "JANUARY" => "JANUARY";
    "ChronoUnit" ChronoUnit "NANOS" => "Nanos";
    "RoundingMode" RoundingMode "UP" => "UP";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".name",
        "[constant]",
        |_, args| match &args[0] {
            Value::Time(time) => match **time {
                Time::Constant(constant) => Ok(constant.name().into()),
                _ => Err(no_method(args, ENUMS)),
            },
            _ => Err(no_method(args, ENUMS)),
        },
        "The name of a constant.",
        &[("(.name DayOfWeek/MONDAY)", "\"MONDAY\"")],
    ),
    native(
        ".ordinal",
        "[constant]",
        |_, args| match &args[0] {
            Value::Time(time) => match **time {
                Time::Constant(constant) => Ok(i64::from(constant.ordinal).into()),
                _ => Err(no_method(args, ENUMS)),
            },
            _ => Err(no_method(args, ENUMS)),
        },
        "The place of a constant in its enumeration, from zero.",
        &[("(.ordinal Month/MARCH)", "2")],
    ),
    native(
        "Locale.",
        "[language] [language country]",
        locale,
        "A locale; only English is known.",
        &[("(str (Locale. \"en\" \"US\"))", "\"en_US\"")],
    ),
    native(
        "Locale/of",
        "[language] [language country]",
        locale,
        "A locale; only English is known.",
        &[("(str (Locale/of \"en\"))", "\"en\"")],
    ),
    native(
        "Locale/forLanguageTag",
        "[tag]",
        locale,
        "A locale; only English is known.",
        &[("(str (Locale/forLanguageTag \"en-US\"))", "\"en_US\"")],
    ),
    native(
        "Locale/getDefault",
        "[]",
        |_, _| Ok(Value::time(Time::constant(Class::Locale, 1))),
        "The locale of the United States.",
        &[("(str (Locale/getDefault))", "\"en_US\"")],
    ),
];

const ENUMS: &str = "a constant such as DayOfWeek/MONDAY";

fn value_of(args: &[Value], class: Class) -> Res {
    let name = args::text(args, 0)?;
    match class.constant(name) {
        Some(constant) => Ok(Value::time(Time::Constant(constant))),
        None => crate::signal::illegal(format!(
            "{} has no constant {:?}, only {}",
            class.kind().name(),
            excerpt(name),
            class.names().join(", ")
        )),
    }
}

fn values(class: Class) -> Value {
    let ordinals = 0..u8::try_from(class.names().len()).unwrap_or(u8::MAX);
    Value::vector(ordinals.map(|ordinal| Value::time(Time::constant(class, ordinal))).collect())
}

fn locale(_: &mut crate::heap::Heap, args: &mut [Value]) -> Res {
    let language = args::text(args, 0)?;
    let country = if args.len() > 1 { args::text(args, 1)? } else { "" };
    let tag = if country.is_empty() { language.replace('-', "_") } else { format!("{language}_{country}") };
    let ordinal = match tag.as_str() {
        "" => 4,
        "en_US" => 1,
        "en_GB" => 2,
        "en_CA" => 3,
        _ if tag == "en" || tag.starts_with("en_") => 0,
        _ => {
            let error = crate::error::Error::new(
                crate::error::ErrorKind::IllegalArgument,
                format!("there are no names for the language {:?}", excerpt(&tag)),
            );
            return Err(error
                .hint("only English is known: use Locale/ENGLISH, or translate in the program")
                .into());
        }
    };
    Ok(Value::time(Time::constant(Class::Locale, ordinal)))
}
