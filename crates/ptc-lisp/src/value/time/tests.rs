//! Texts of values, read and written.

use super::*;

#[test]
fn texts_read_back_as_java_writes_them() {
    let cases = [
        (TimeKind::LocalDate, "2024-02-29", "2024-02-29"),
        (TimeKind::LocalDate, "-0044-03-15", "-0044-03-15"),
        (TimeKind::LocalDateTime, "2024-01-01T10:00:00", "2024-01-01T10:00"),
        (TimeKind::LocalDateTime, "2024-01-01T10:00:05.5", "2024-01-01T10:00:05.500"),
        (TimeKind::LocalTime, "10:15", "10:15"),
        (TimeKind::LocalTime, "10:15:30.000001", "10:15:30.000001"),
        (TimeKind::Instant, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        (TimeKind::Instant, "2024-01-01T02:00:00.25+02:00", "2024-01-01T00:00:00.250Z"),
        (
            TimeKind::ZonedDateTime,
            "2024-01-01T10:00+01:00[Europe/Paris]",
            "2024-01-01T10:00+01:00[Europe/Paris]",
        ),
        (TimeKind::ZonedDateTime, "2024-01-01T10:00Z", "2024-01-01T10:00Z"),
        (TimeKind::OffsetDateTime, "2024-01-01T10:00:00-05:00", "2024-01-01T10:00-05:00"),
        (TimeKind::Duration, "PT90M", "PT1H30M"),
        (TimeKind::Duration, "P2DT3H4M", "PT51H4M"),
        (TimeKind::Duration, "PT-1.5S", "PT-1.5S"),
        (TimeKind::Duration, "-PT1H-30M", "PT-30M"),
        (TimeKind::Period, "P1Y2M10D", "P1Y2M10D"),
        (TimeKind::Period, "P2W", "P14D"),
        (TimeKind::YearMonth, "2024-01", "2024-01"),
        (TimeKind::Uuid, "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ];
    for (kind, text, shown) in cases {
        match Time::parse(text, kind) {
            Ok(value) => {
                assert_eq!(value.to_string(), shown);
                assert_eq!(Time::parse(shown, kind), Ok(value), "{shown}");
            }
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

#[test]
fn texts_that_are_nothing_are_refused_with_the_text() {
    let cases = [
        (TimeKind::LocalDate, "2023-02-29"),
        (TimeKind::LocalDate, "2024-1-5"),
        (TimeKind::LocalDate, "2024-01-01T10:00:00"),
        (TimeKind::LocalDate, "not-a-date"),
        (TimeKind::Instant, "2024-01-01"),
        (TimeKind::LocalDateTime, "2024-01-01"),
        (TimeKind::LocalTime, "25:00"),
        (TimeKind::Duration, "PT"),
        (TimeKind::Duration, "1h"),
        (TimeKind::Period, "P1H"),
        (TimeKind::Uuid, "550e8400"),
    ];
    for (kind, text) in cases {
        match Time::parse(text, kind) {
            Ok(value) => panic!("{text} became {value}"),
            Err(error) => assert!(error.message.contains(text), "{error}"),
        }
    }
}
