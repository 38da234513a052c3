//! Points in time as ISO 8601 text. They are counted in microseconds since 1970, because jiff's
//! timestamps end a day before the year 9999 does.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime},
    fmt::temporal::Pieces,
};

pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// Parses a time with an offset in ISO 8601, as microseconds since 1970.
pub fn micros_of_text(text: &str) -> Option<i64> {
    // Unix time has no leap seconds; jiff would read one as the second before.
    if is_leap_second(text) {
        return None;
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return i64::try_from(instant.as_nanosecond().div_euclid(1_000)).ok();
    }
    // jiff's timestamps end at 9999-12-30.
    let pieces = Pieces::parse(text).ok()?;
    let (time, offset) = (pieces.time()?, pieces.to_numeric_offset()?);
    let seconds =
        i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60 + i64::from(time.second())
            - i64::from(offset.seconds());
    let micros = seconds * MICROS_PER_SECOND + i64::from(time.subsec_nanosecond() / 1_000);
    Some(midnight(pieces.date()) + micros)
}

/// Formats a time in microseconds since 1970 as ISO 8601 in UTC.
pub fn time_text(micros: i64) -> String {
    // A time beyond the year 9999 has no such text.
    let time = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let time = time.checked_add(SignedDuration::from_micros(micros));
    time.map_or_else(|_| format!("{micros} microseconds since 1970"), |time| format!("{time}Z"))
}

/// Returns the beginning of a date in UTC, in microseconds since 1970.
pub fn midnight(date: Date) -> i64 {
    let days = Date::constant(1970, 1, 1).until(date).map_or(0, |span| span.get_days());
    i64::from(days) * MICROS_PER_DAY
}

/// Returns true if the seconds of an ISO 8601 time, basic or extended, are 60.
fn is_leap_second(text: &str) -> bool {
    let clock = text.split_once(['T', 't', ' ']).map_or("", |(_, clock)| clock);
    let end = clock.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(clock.len());
    let digits = clock.get(..end).unwrap_or_default().bytes().filter(u8::is_ascii_digit);
    digits.skip(4).take(2).eq(*b"60")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The range from year 1 to the end of year 9999.
    const MICROS: std::ops::Range<i64> = -62_135_596_800_000_000..253_402_300_800_000_000;

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(micros in MICROS) {
            prop_assert_eq!(micros_of_text(&time_text(micros)), Some(micros));
        }

        #[test]
        fn times_are_read_as_jiff_reads_them(
            text in "[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])?",
        ) {
            if let Ok(time) = text.parse::<Timestamp>() {
                let micros = time.as_nanosecond().div_euclid(1_000);
                prop_assert_eq!(micros_of_text(&text).map(i128::from), Some(micros));
            } else if !text.starts_with("9999-12-3") {
                prop_assert_eq!(micros_of_text(&text), None);
            }
        }
    }

    #[test]
    fn a_time_beyond_the_year_9999_is_shown_as_its_number() {
        assert_eq!(time_text(i64::MAX), "9223372036854775807 microseconds since 1970");
    }
}
