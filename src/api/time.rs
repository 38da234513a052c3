//! Dates and points in time among the arguments.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{
    parameter::{Argument, EncodedValue},
    record::TimeUnit,
};

/// A calendar date as `yyyy-MM-dd`, or what is expected.
pub fn date(argument: &Argument) -> Result<EncodedValue, &'static str> {
    let date = match argument {
        Argument::Date(date) | Argument::Instant(_, date) => Some(*date),
        // jiff's parser would also accept a date followed by a time.
        Argument::Text(text) if text.len() == 10 => text.parse::<Date>().ok(),
        _ => None,
    };
    match date {
        Some(date) if date.year() > 0 => Ok(EncodedValue::Text(date.to_string())),
        _ => Err("a calendar date: a datetime.date, an aware datetime or 'yyyy-MM-dd'"),
    }
}

/// A point in time as a count of a unit since 1970, or what is expected.
pub fn time(argument: &Argument, unit: TimeUnit) -> Result<EncodedValue, String> {
    let name = unit.name();
    let instant = match argument {
        // In the endpoint's own unit, in which 0 leaves the range open.
        Argument::Integer(number) => {
            return match u64::try_from(*number) {
                Ok(_) => Ok(EncodedValue::Integer(*number)),
                Err(_) => Err(format!("{name} since 1970, from 0 to 18446744073709551615")),
            };
        }
        Argument::Instant(instant, _) => Some(*instant),
        Argument::Date(date) => midnight(*date),
        // Unix time has no leap seconds; jiff would read one as the second before.
        Argument::Text(text) if is_leap_second(text) => None,
        Argument::Text(text) => match text.parse::<Timestamp>() {
            Ok(instant) => Some(instant),
            Err(_) if text.len() == 10 => text.parse().ok().and_then(midnight),
            Err(_) => None,
        },
        Argument::Secret(_)
        | Argument::Texts(_)
        | Argument::Number(_)
        | Argument::Flag(_)
        | Argument::Json(_) => None,
    };
    match instant {
        // The first count of 1970 would be 0, which means "omitted".
        Some(instant) if instant >= Timestamp::UNIX_EPOCH => {
            let count = match unit {
                TimeUnit::Seconds => instant.as_second(),
                TimeUnit::Millis => instant.as_millisecond(),
                TimeUnit::Micros => instant.as_microsecond(),
            };
            Ok(EncodedValue::Integer(i128::from(count).max(1)))
        }
        Some(_) => Err("a time since 1970-01-01 UTC".to_owned()),
        None => Err(format!(
            "an aware datetime, a date (midnight UTC), ISO 8601 with an offset such as \
             '2026-01-05T09:30:00+08:00', or {name} since 1970"
        )),
    }
}

fn midnight(date: Date) -> Option<Timestamp> {
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Whether the seconds of an ISO 8601 time, basic or extended, are 60.
fn is_leap_second(text: &str) -> bool {
    let clock = text.split_once(['T', 't', ' ']).map_or("", |(_, clock)| clock);
    let end = clock.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(clock.len());
    let digits = clock.get(..end).unwrap_or_default().bytes().filter(u8::is_ascii_digit);
    digits.skip(4).take(2).eq(*b"60")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_micros(text: &str) -> Result<EncodedValue, String> {
        time(&Argument::Text(text.to_owned()), TimeUnit::Micros)
    }

    fn sent_date(text: &str) -> Result<EncodedValue, &'static str> {
        date(&Argument::Text(text.to_owned()))
    }

    #[test]
    fn times_become_microseconds() {
        let expected = EncodedValue::Integer(1_767_578_400_000_000);
        for text in ["2026-01-05T10:00:00+08:00", "2026-01-05T02:00:00Z"] {
            assert_eq!(sent_micros(text).expect(text), expected);
        }
        assert_eq!(
            sent_micros("2026-01-05").expect("a date"),
            EncodedValue::Integer(1_767_571_200_000_000)
        );
        for text in ["2026-01-05T10:00:00", "2026-02-30", "yesterday", ""] {
            assert!(sent_micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_leap_second_is_refused_and_not_taken_for_the_second_before() {
        for text in [
            "2016-12-31T23:59:60Z",
            "2016-12-31t23:59:60.5z",
            "2017-01-01 07:59:60+08:00",
            "20161231T235960Z",
        ] {
            assert!(sent_micros(text).is_err(), "{text}");
        }
        for text in ["2016-12-31T23:59:59.60Z", "2016-12-31T23:00:06Z", "2016-12-31T10:59Z"] {
            assert_eq!(sent_micros(text).is_ok(), text.parse::<Timestamp>().is_ok(), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_1970_is_a_time_and_not_the_zero_that_leaves_a_range_open() {
        let epoch = Date::constant(1970, 1, 1);
        let sent = |argument| time(&argument, TimeUnit::Micros);
        for argument in [
            Argument::Date(epoch),
            Argument::Instant(Timestamp::UNIX_EPOCH, epoch),
            Argument::Text("1970-01-01".to_owned()),
            Argument::Text("1970-01-01T08:00:00+08:00".to_owned()),
            Argument::Text("1970-01-01T00:00:00.0000009Z".to_owned()),
        ] {
            assert_eq!(
                sent(argument.clone()).expect("a time"),
                EncodedValue::Integer(1),
                "{argument:?}"
            );
        }
        assert_eq!(sent(Argument::Integer(0)).expect("open"), EncodedValue::Integer(0));
        for before in ["1969-12-31", "1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00+00:01"] {
            let error = sent(Argument::Text(before.to_owned())).expect_err(before);
            assert!(error.contains("since 1970"), "{error}");
        }
    }

    #[test]
    fn a_time_as_a_whole_number_has_64_bits_without_a_sign() {
        let sent = |number| time(&Argument::Integer(number), TimeUnit::Micros);
        for number in [1, i128::from(i64::MAX) + 1, i128::from(u64::MAX)] {
            assert_eq!(sent(number).expect("in range"), EncodedValue::Integer(number));
        }
        assert!(sent(-1).is_err() && sent(i128::from(u64::MAX) + 1).is_err());
    }

    #[test]
    fn an_aware_time_stands_for_the_date_that_its_own_zone_shows() {
        let instant: Timestamp = "2026-01-05T23:30:00Z".parse().expect("a time");
        let argument = Argument::Instant(instant, Date::constant(2026, 1, 6));
        let sent = date(&argument).expect("a date");
        assert_eq!(sent, EncodedValue::Text("2026-01-06".to_owned()));
    }

    #[test]
    fn impossible_dates_are_refused() {
        assert_eq!(
            sent_date("2024-02-29").expect("leap"),
            EncodedValue::Text("2024-02-29".to_owned())
        );
        for text in ["2026-02-29", "2026-13-01", "20260101", "2026-1-1", "2026/01/01"] {
            assert!(sent_date(text).is_err(), "{text}");
        }
    }
}
