//! Dates and points in time among the arguments.

use std::ops::Range;

use jiff::civil::{Date, DateTime};

use super::{
    instant::{MICROS_PER_SECOND, micros_of_text, midnight},
    parameter::{Argument, EncodedValue},
    record::TimeUnit,
};

/// Encodes a calendar date as `yyyy-MM-dd`. The error tells what is expected.
pub fn date(argument: &Argument) -> Result<EncodedValue, String> {
    let date = match argument {
        Argument::Date(date) | Argument::Instant(_, date) => Some(*date),
        // jiff's parser would also accept a date followed by a time.
        Argument::Text(text) if text.len() == 10 => text.parse::<Date>().ok(),
        _ => None,
    };
    match date {
        Some(date) if date.year() > 0 => Ok(EncodedValue::Text(date.to_string())),
        _ => {
            let expected = "a calendar date: a date, a datetime with a time zone or 'yyyy-MM-dd'";
            Err(format!("{expected}{}", meant_by_text(argument, TimeUnit::Micros)))
        }
    }
}

/// Encodes a point in time as a count of a unit since 1970. The error tells what is expected.
pub fn time(argument: &Argument, unit: TimeUnit) -> Result<EncodedValue, String> {
    let name = unit.name();
    let micros = match argument {
        // The number is in the endpoint's own unit, in which 0 means that the bound is omitted.
        Argument::Integer(number) if *number == 0 || is_plausible(*number, unit.per_second()) => {
            return Ok(EncodedValue::Integer(*number));
        }
        Argument::Integer(number) => {
            let expected =
                "since 1970, by boardlot's own rule for a time in the years 1990 to 2100";
            return Err(format!("{name} {expected}{}", meant(*number, unit)));
        }
        Argument::Instant(micros, _) => Some(*micros),
        Argument::Date(date) => Some(midnight(*date)),
        Argument::Text(text) => micros_of_text(text)
            .or_else(|| text.parse().ok().filter(|_| text.len() == 10).map(midnight)),
        Argument::Secret(_)
        | Argument::Texts(_)
        | Argument::Number(_)
        | Argument::Flag(..)
        | Argument::Json(..) => None,
    };
    match micros {
        // The first count of 1970 would be 0, which means "omitted".
        Some(micros) if micros >= 0 => {
            let count = micros / (MICROS_PER_SECOND / unit.per_second());
            Ok(EncodedValue::Integer(i128::from(count).max(1)))
        }
        Some(_) => Err("a time since 1970-01-01 UTC".to_owned()),
        None => Err(format!(
            "a date such as '2026-01-05' (midnight UTC), ISO 8601 with an offset such as \
             '2026-01-05T09:30:00+08:00', a datetime with a time zone, or {name} since 1970{}{}",
            meant_by_text(argument, unit),
            offset_missing(argument)
        )),
    }
}

/// The times from 1990-01-01 to 2101-01-01 in seconds. No number stands for such a time in two
/// units, and none of these numbers is a year or a date without hyphens.
const PLAUSIBLE_SECONDS: Range<i128> = 631_152_000..4_133_980_800;

/// Returns true if a caller can have meant this count as a time.
fn is_plausible(number: i128, per_second: i64) -> bool {
    PLAUSIBLE_SECONDS.contains(&number.div_euclid(per_second.into()))
}

/// Suggests the value that a text was meant to be, or says what the text lacks, for the end of an
/// error.
fn meant_by_text(argument: &Argument, unit: TimeUnit) -> String {
    let text = match argument {
        Argument::Text(text) => text,
        // A float, whose digits suffice for a whole number of microseconds.
        Argument::Number(text) => text.strip_suffix(".0").unwrap_or_default(),
        _ => return String::new(),
    };
    let hyphens = text.trim().replace(['/', '.'], "-");
    if let Ok(number) = text.trim().parse() {
        meant(number, unit)
    } else if hyphens.len() == 10
        && hyphens.as_str() != text
        && let Ok(date) = hyphens.parse::<Date>()
    {
        format!("; did you mean '{date}'?")
    } else {
        String::new()
    }
}

/// Names the missing offset of a date with a time, for the end of an error.
fn offset_missing(argument: &Argument) -> &'static str {
    match argument {
        Argument::Text(text)
            if text.get(10..).is_some_and(|time| !time.contains(['+', '-', 'Z', 'z']))
                && text.len() > 10
                && text.parse::<DateTime>().is_ok() =>
        {
            "; without an offset it could be a time of any zone: add Z or +08:00"
        }
        _ => "",
    }
}

/// Suggests the value that a number was meant to be, for the end of an error: the same time in the
/// right unit, or the date that the number shows.
fn meant(number: i128, unit: TimeUnit) -> String {
    const UNITS_PER_SECOND: [i64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];
    let per_second = UNITS_PER_SECOND.into_iter().find(|units| is_plausible(number, *units));
    if let Some(units) = per_second {
        let same = number * i128::from(unit.per_second()) / i128::from(units);
        return format!("; did you mean {same}?");
    }
    if (1..1_990).contains(&number) {
        return format!(
            "; for the last {number} days, subtract {number} days from the time of now"
        );
    }
    let (year, month, day) = match number {
        1_990..=2_100 => (number, 1, 1),
        _ => (number / 10_000, number / 100 % 100, number % 100),
    };
    let date = || {
        let (year, month, day) =
            (year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
        Date::new(year, month, day).ok().filter(|date| (1990..=2100).contains(&date.year()))
    };
    date().map_or(String::new(), |date| format!("; did you mean '{date}'?"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn sent_micros(text: &str) -> Result<EncodedValue, String> {
        time(&Argument::Text(text.to_owned()), TimeUnit::Micros)
    }

    fn sent_date(text: &str) -> Result<EncodedValue, String> {
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
    fn a_text_that_is_nearly_a_time_says_what_is_missing() {
        for (text, end) in [
            ("2026/01/05", "; did you mean '2026-01-05'?"),
            ("2026.01.05", "; did you mean '2026-01-05'?"),
            (" 2026-01-05", "; did you mean '2026-01-05'?"),
            ("20260105", "; did you mean '2026-01-05'?"),
            ("2026", "; did you mean '2026-01-01'?"),
            ("2026-01-05T09:30:00", "add Z or +08:00"),
            ("2026-01-05 09:30", "add Z or +08:00"),
            ("2026-02-30", "since 1970"),
            ("05/01/2026", "since 1970"),
            ("yesterday", "since 1970"),
        ] {
            let error = sent_micros(text).expect_err(text);
            assert!(error.ends_with(end), "{text}: {error}");
        }
        let error = sent_date("2026/01/05").expect_err("slashes");
        assert!(error.ends_with("; did you mean '2026-01-05'?"), "{error}");
    }

    #[test]
    fn a_leap_second_is_rejected_and_not_read_as_the_second_before() {
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
            Argument::Instant(0, epoch),
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
    fn a_number_is_a_time_of_the_years_1990_to_2100_in_its_unit_or_0() {
        for unit in [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros] {
            let sent = |number| time(&Argument::Integer(number), unit);
            let (first, end) = (631_152_000, 4_133_980_800);
            let scale = i128::from(unit.per_second());
            for number in [0, first * scale, 1_790_000_000 * scale, end * scale - 1] {
                assert_eq!(sent(number).expect("in range"), EncodedValue::Integer(number));
            }
            for number in [-1, 1, first * scale - 1, end * scale, i128::MAX, i128::MIN] {
                let error = sent(number).expect_err("out of range");
                assert!(error.contains("1990 to 2100"), "{error}");
            }
        }
    }

    #[test]
    fn a_number_of_another_unit_or_a_date_without_hyphens_names_what_was_meant() {
        let times = [1, 1_000, 1_000_000, 1_000_000_000].map(|scale| 1_790_000_000 * scale);
        for unit in [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros] {
            let right = 1_790_000_000 * i128::from(unit.per_second());
            for number in times.into_iter().filter(|number| *number != right) {
                let error = time(&Argument::Integer(number), unit).expect_err("another unit");
                assert!(error.ends_with(&format!("; did you mean {right}?")), "{error}");
            }
            for (number, date) in [
                (1990, "1990-01-01"),
                (2026, "2026-01-01"),
                (20260131, "2026-01-31"),
                (21001231, "2100-12-31"),
            ] {
                let error = time(&Argument::Integer(number), unit).expect_err("a date");
                assert!(error.ends_with(&format!("; did you mean '{date}'?")), "{error}");
            }
            for number in [-2026, 7, 1989, 20260230, 20261301, 89_991_231, i128::MAX] {
                let error = time(&Argument::Integer(number), unit).expect_err("nothing");
                assert!(!error.contains("did you mean"), "{error}");
            }
        }
    }

    #[test]
    fn the_last_moments_of_the_year_9999_are_times() {
        let last = 253_402_300_799_999_999;
        let date = Date::constant(9999, 12, 31);
        let midnight = last - 86_399_999_999;
        let sent = |argument| time(&argument, TimeUnit::Micros).expect("a time");
        let integer = |micros: i64| EncodedValue::Integer(micros.into());
        assert_eq!(sent(Argument::Instant(last, date)), integer(last));
        assert_eq!(sent(Argument::Date(date)), integer(midnight));
        for text in ["9999-12-31T23:59:59.999999Z", "9999-12-31T15:59:59.9999999-08:00"] {
            assert_eq!(sent(Argument::Text(text.to_owned())), integer(last), "{text}");
        }
        assert_eq!(sent(Argument::Text("9999-12-31".to_owned())), integer(midnight));
        for text in ["9999-12-31T23:59:59", "9999-12-31T23:59:60Z", "9999-12-31T24:00:00Z"] {
            assert!(sent_micros(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_aware_time_means_the_date_in_its_own_zone() {
        let micros = micros_of_text("2026-01-05T23:30:00Z").expect("a time");
        let argument = Argument::Instant(micros, Date::constant(2026, 1, 6));
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
