//! No text, pattern or number makes a date function panic; what was written reads back.

use proptest::prelude::*;

use super::*;

fn a_time() -> impl Strategy<Value = Time> {
    let nanos = -377_000_000_000i128 * NANOS_PER_SECOND..253_000_000_000i128 * NANOS_PER_SECOND;
    let zones =
        prop::sample::select(vec!["Z", "UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "+05:30"]);
    (nanos, 0..9usize, zones).prop_map(|(nanos, kind, zone)| {
        let zone = Zone::parse(zone).expect("a known zone");
        let zoned = zone.at(instant_at(nanos).expect("in range"));
        let time = Time::Zoned(zoned.into());
        let kinds = [
            TimeKind::ZonedDateTime,
            TimeKind::LocalDate,
            TimeKind::LocalDateTime,
            TimeKind::LocalTime,
            TimeKind::Instant,
            TimeKind::OffsetDateTime,
            TimeKind::YearMonth,
            TimeKind::Year,
            TimeKind::DayOfWeek,
        ];
        time.to_kind(kinds[kind]).expect("a zoned time has all parts")
    })
}

fn an_amount() -> impl Strategy<Value = Time> {
    prop_oneof![
        (any::<i64>(), 0..1_000_000_000i32).prop_map(|(seconds, nanos)| Time::Duration(SignedDuration::new(
            seconds.saturating_sub(1),
            nanos
        ))),
        any::<[i32; 3]>().prop_map(|[years, months, days]| Time::Period(Period { years, months, days })),
    ]
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[-+0-9TZPDHMS:.\\[\\]/a-zA-Z é]{0,40}") {
        for kind in [TimeKind::LocalDate, TimeKind::LocalDateTime, TimeKind::LocalTime, TimeKind::Instant, TimeKind::ZonedDateTime,
            TimeKind::OffsetDateTime, TimeKind::Duration, TimeKind::Period, TimeKind::YearMonth, TimeKind::Year, TimeKind::ZoneId, TimeKind::Uuid]
        {
            if let Ok(value) = Time::parse(&text, kind) {
                let shown = value.to_string();
                prop_assert!(kind == TimeKind::Year || Time::parse(&shown, kind) == Ok(value), "{text} shows as {shown}");
            }
        }
    }

    #[test]
    fn any_pattern_writes_and_reads_or_refuses(
        pattern in "[yuMLdDEecHhKkmsSnNAaGQqwWYFzZXxOVv'\\[\\] :./é{}#-]{0,24}",
        text in "[0-9a-zA-Z :./é+-]{0,24}",
        time in a_time(),
    ) {
        if let Ok(formatter) = Formatter::of_pattern(&pattern) {
            let _ = formatter.parse(&text).map(|read| read.best());
            if let Ok(text) = formatter.format(&time) {
                let _ = formatter.parse(&text).map(|read| read.best());
            }
        }
    }

    #[test]
    fn any_amount_moves_or_is_refused(time in a_time(), amount in any::<i64>(), other in a_time(), length in an_amount()) {
        for unit in TimeUnit::ALL {
            let _ = time.plus(amount, unit);
            let _ = length.plus(amount, unit);
            let _ = time.until(&other, unit);
            let _ = time.truncated_to(unit);
        }
        for sign in [1, -1] {
            let _ = time.plus_amount(&length, sign);
            let _ = length.plus_amount(&length, sign);
        }
        let _ = (time.duration_until(&other), time.period_until(&other), length.to_string());
    }

    #[test]
    fn any_field_is_replaced_or_refused(time in a_time(), value in prop_oneof![any::<i64>(), -10..400i64]) {
        for field in Field::ALL {
            if let (Some(_), Ok(changed)) = (time.field(field), time.with_field(field, value)) {
                prop_assert!(changed.field(field).is_some());
            }
        }
    }

    #[test]
    fn moving_there_and_back_keeps_exact_units(time in a_time(), amount in -100_000..100_000i64) {
        for unit in [TimeUnit::Days, TimeUnit::Hours, TimeUnit::Nanos] {
            let exact = !matches!(time, Time::Zoned(_) | Time::Constant(_));
            if let (true, Ok(there)) = (exact, time.plus(amount, unit)) {
                prop_assert_eq!(there.plus(-amount, unit), Ok(time.clone()));
                if !matches!(time, Time::Clock(_)) {
                    prop_assert_eq!(time.until(&there, unit), Ok(amount));
                }
            }
        }
    }

    #[test]
    fn what_is_saved_reads_back(time in a_time(), length in an_amount()) {
        for value in [time, length] {
            prop_assert_eq!(Time::from_wire(&value.to_wire()), Some(value));
        }
    }
}

#[test]
fn every_kind_of_value_reads_back() {
    let formatter = |pattern| Formatter::of_pattern(pattern).expect("a pattern");
    let paris = Zone::parse("Europe/Paris").expect("a zone");
    let values = [
        Time::constant(Class::ChronoUnit, 3),
        Time::constant(Class::RoundingMode, 4),
        Time::Adjuster(Adjuster::LastDayOfMonth),
        Time::Adjuster(Adjuster::InMonth(-1, jiff::civil::Weekday::Friday)),
        Time::Formatter(formatter("yyyy-MM-dd 'at' HH:mm").into()),
        Time::Formatter(formatter("HH:mm").with_zone(paris.clone()).into()),
        Time::Formatter(Formatter::predefined("ISO_DATE").expect("predefined").into()),
        Time::Formatter(Formatter::simple("yyyy").expect("a pattern").into()),
        Time::Zone(paris),
        Time::Zone(Zone::UTC),
        Time::JavaDate(Timestamp::UNIX_EPOCH),
        Time::Uuid(7),
    ];
    for value in values {
        assert_eq!(Time::from_wire(&value.to_wire()), Some(value));
    }
}
