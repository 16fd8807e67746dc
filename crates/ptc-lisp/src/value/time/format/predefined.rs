//! The formatters with names: `ISO_LOCAL_DATE`, `RFC_1123_DATE_TIME` and their like.

use super::{FormatItem, Formatter, OffsetShape, Sign};
use crate::value::time::Field;
use crate::value::time::constant::TextWidth;

fn number(field: Field, width: u8) -> FormatItem {
    FormatItem::Number { field, min: width, max: width, sign: Sign::Never }
}

fn year() -> FormatItem {
    FormatItem::Number { field: Field::Year, min: 4, max: 10, sign: Sign::ExceedsPad }
}

fn literal(text: &str) -> FormatItem {
    FormatItem::Literal(text.into())
}

fn year_month() -> Vec<FormatItem> {
    vec![year(), literal("-"), number(Field::MonthOfYear, 2)]
}

fn date() -> Vec<FormatItem> {
    let mut items = year_month();
    items.extend([literal("-"), number(Field::DayOfMonth, 2)]);
    items
}

fn time() -> Vec<FormatItem> {
    vec![
        number(Field::HourOfDay, 2),
        literal(":"),
        number(Field::MinuteOfHour, 2),
        FormatItem::OptionalStart,
        literal(":"),
        number(Field::SecondOfMinute, 2),
        FormatItem::OptionalStart,
        FormatItem::Fraction { min: 0, max: 9, point: true },
        FormatItem::OptionalEnd,
        FormatItem::OptionalEnd,
    ]
}

fn date_time() -> Vec<FormatItem> {
    [date(), vec![literal("T")], time()].concat()
}

fn offset() -> Vec<FormatItem> {
    vec![FormatItem::Offset { shape: OffsetShape::SecondsColon, zero: "Z" }]
}

fn optional(items: Vec<FormatItem>) -> Vec<FormatItem> {
    [vec![FormatItem::OptionalStart], items, vec![FormatItem::OptionalEnd]].concat()
}

fn week_date() -> Vec<FormatItem> {
    let year = FormatItem::Number { field: Field::WeekBasedYear, min: 4, max: 10, sign: Sign::ExceedsPad };
    let week = number(Field::WeekOfWeekBasedYear, 2);
    vec![year, literal("-W"), week, literal("-"), number(Field::DayOfWeek, 1)]
}

fn rfc_1123() -> Vec<FormatItem> {
    let mut items = optional(vec![FormatItem::Text(Field::DayOfWeek, TextWidth::Short), literal(", ")]);
    items.extend([
        FormatItem::Number { field: Field::DayOfMonth, min: 1, max: 2, sign: Sign::Never },
        literal(" "),
        FormatItem::Text(Field::MonthOfYear, TextWidth::Short),
        literal(" "),
        number(Field::Year, 4),
        literal(" "),
        number(Field::HourOfDay, 2),
        literal(":"),
        number(Field::MinuteOfHour, 2),
    ]);
    items.extend(optional(vec![literal(":"), number(Field::SecondOfMinute, 2)]));
    items.extend([literal(" "), FormatItem::Offset { shape: OffsetShape::Minutes, zero: "GMT" }]);
    items
}

impl Formatter {
    /// The predefined formatter of this name.
    pub fn predefined(name: &str) -> Option<Formatter> {
        let items = match name {
            "ISO_LOCAL_DATE" => date(),
            "ISO_LOCAL_TIME" => time(),
            "ISO_LOCAL_DATE_TIME" => date_time(),
            "ISO_DATE" => [date(), optional(offset())].concat(),
            "ISO_TIME" => [time(), optional(offset())].concat(),
            "ISO_OFFSET_DATE" => [date(), offset()].concat(),
            "ISO_OFFSET_TIME" => [time(), offset()].concat(),
            "ISO_OFFSET_DATE_TIME" => [date_time(), offset()].concat(),
            "ISO_ZONED_DATE_TIME" => {
                [date_time(), offset(), optional(vec![FormatItem::BracketedZone])].concat()
            }
            "ISO_DATE_TIME" => {
                let zone = [offset(), optional(vec![FormatItem::BracketedZone])].concat();
                [date_time(), optional(zone)].concat()
            }
            "ISO_INSTANT" => vec![FormatItem::Instant],
            "INSTANT_TEXT" => {
                let clock = vec![
                    literal("T"),
                    number(Field::HourOfDay, 2),
                    literal(":"),
                    number(Field::MinuteOfHour, 2),
                    literal(":"),
                    number(Field::SecondOfMinute, 2),
                    FormatItem::Fraction { min: 0, max: 9, point: true },
                ];
                [date(), clock, offset()].concat()
            }
            "ISO_ORDINAL_DATE" => vec![year(), literal("-"), number(Field::DayOfYear, 3)],
            "ISO_WEEK_DATE" => [week_date(), optional(offset())].concat(),
            "BASIC_ISO_DATE" => {
                let date =
                    vec![number(Field::Year, 4), number(Field::MonthOfYear, 2), number(Field::DayOfMonth, 2)];
                let offset = FormatItem::Offset { shape: OffsetShape::Seconds, zero: "Z" };
                [date, optional(vec![offset])].concat()
            }
            "RFC_1123_DATE_TIME" => rfc_1123(),
            "YEAR_MONTH" => year_month(),
            "YEAR" => {
                vec![FormatItem::Number { field: Field::Year, min: 4, max: 10, sign: Sign::ExceedsPad }]
            }
            _ => return None,
        };
        let strict = name != "RFC_1123_DATE_TIME";
        Some(Formatter { source: name.into(), items, strict, ignore_case: true, zone: None, legacy: false })
    }
}
