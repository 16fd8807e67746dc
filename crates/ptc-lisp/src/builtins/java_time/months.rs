//! Making `YearMonth`, `Year`, `Month` and `DayOfWeek`.

use super::super::java_lang::whole;
use super::super::{Builtin, native};
use super::{from, month, now_as, parse};
use crate::signal::Res;
use crate::value::time::{Class, Field, TimeKind, make_date};
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "YearMonth/of",
        "[year month]",
        |_, args| Ok(Value::time(Time::YearMonth(make_date(whole(args, 0)?, month(args, 1)?, 1)?))),
        "A month of a year.",
        &[("(YearMonth/of 2024 1)", "\"2024-01\"")],
    ),
    native(
        "YearMonth/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::YearMonth),
        "Reads a month such as 2024-01, or one that follows a DateTimeFormatter.",
        &[("(YearMonth/parse \"2024-01\")", "\"2024-01\"")],
    ),
    native(
        "YearMonth/from",
        "[temporal]",
        |_, args| from(args, TimeKind::YearMonth),
        "The month of a date.",
        &[("(YearMonth/from (LocalDate/of 2024 1 31))", "\"2024-01\"")],
    ),
    native(
        "YearMonth/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::YearMonth),
        "This month by the program's clock.",
        &[("(= (YearMonth/now) (YearMonth/now))", "true")],
    ),
    native(
        "Year/of",
        "[year]",
        |_, args| Ok(Value::time(Time::Year(Field::Year.check(whole(args, 0)?)? as i16))),
        "A year.",
        &[("(str (Year/of 2024))", "\"2024\"")],
    ),
    native(
        "Year/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::Year),
        "Reads a year of four digits.",
        &[("(str (Year/parse \"2024\"))", "\"2024\"")],
    ),
    native(
        "Year/from",
        "[temporal]",
        |_, args| from(args, TimeKind::Year),
        "The year of a date.",
        &[("(str (Year/from (LocalDate/of 2024 1 31)))", "\"2024\"")],
    ),
    native(
        "Year/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::Year),
        "This year by the program's clock.",
        &[("(= (Year/now) (Year/now))", "true")],
    ),
    native(
        "Year/isLeap",
        "[year]",
        |_, args| Ok(make_date(whole(args, 0)?, 1, 1)?.in_leap_year().into()),
        "Whether a year has 366 days.",
        &[("(Year/isLeap 2024)", "true")],
    ),
    native(
        "Month/of",
        "[number]",
        |_, args| numbered(args, Field::MonthOfYear, Class::Month),
        "The month of a number; January is 1.",
        &[("(str (Month/of 3))", "\"MARCH\"")],
    ),
    native(
        "Month/from",
        "[temporal]",
        |_, args| from(args, TimeKind::Month),
        "The month of a date.",
        &[("(str (Month/from (LocalDate/of 2024 3 1)))", "\"MARCH\"")],
    ),
    native(
        "DayOfWeek/of",
        "[number]",
        |_, args| numbered(args, Field::DayOfWeek, Class::DayOfWeek),
        "The day of a number; Monday is 1.",
        &[("(str (DayOfWeek/of 5))", "\"FRIDAY\"")],
    ),
    native(
        "DayOfWeek/from",
        "[temporal]",
        |_, args| from(args, TimeKind::DayOfWeek),
        "The day of the week of a date.",
        &[("(str (DayOfWeek/from (LocalDate/of 2024 1 31)))", "\"WEDNESDAY\"")],
    ),
];

fn numbered(args: &[Value], field: Field, class: Class) -> Res {
    let number = field.check(whole(args, 0)?)?;
    Ok(Value::time(Time::constant(class, (number - 1) as u8)))
}
