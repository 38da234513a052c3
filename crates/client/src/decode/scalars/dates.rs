//! Calendar dates from text, without allocating.

use jiff::civil::Date;

/// Parses a `YYYY-MM-DD` or `YYYY/MM/DD`, which a time of day may follow; its time zone is ignored.
#[inline(always)]
pub fn parse_date(text: &str) -> Option<Date> {
    let (day, time) = text.as_bytes().split_first_chunk::<10>()?;
    let date = parse_day(day)?;
    (time.is_empty() || is_time(time)).then_some(date)
}

/// Returns the days from 1970-01-01 to a date.
#[inline(always)]
pub fn days_since_1970(date: Date) -> Option<i32> {
    Date::constant(1970, 1, 1).until(date).map(|span| span.get_days()).ok()
}

/// Returns the year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// jiff's timestamps end at 9999-12-30. The algorithm is `civil_from_days` of
/// <https://howardhinnant.github.io/date_algorithms.html>: years begin in March, so that a leap day
/// is the last of its year, and repeat after 400 years.
pub fn date_of_days(days: i64) -> (i64, u8, u8) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days.saturating_add(719_468);
    let (era, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month as u8, day as u8)
}

fn parse_day(text: &[u8; 10]) -> Option<Date> {
    let [y3, y2, y1, y0, separator, m1, m0, second_separator, d1, d0] = text;
    if separator != second_separator || !matches!(separator, b'-' | b'/') {
        return None;
    }
    let year = i16::from(two_digits(*y3, *y2)?) * 100 + i16::from(two_digits(*y1, *y0)?);
    // Few date libraries have a year 0.
    let year = Some(year).filter(|year| *year > 0)?;
    Date::new(year, two_digits(*m1, *m0)?.cast_signed(), two_digits(*d1, *d0)?.cast_signed()).ok()
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Returns true if this is `T` or a space, `HH:MM[:SS[.FRACTION]]` and optionally `Z`, `+HH:MM` or
/// `+HHMM`.
#[inline(never)]
fn is_time(text: &[u8]) -> bool {
    let [b'T' | b't' | b' ', h1, h0, b':', m1, m0, rest @ ..] = text else { return false };
    if !is_at_most(*h1, *h0, 23) || !is_at_most(*m1, *m0, 59) {
        return false;
    }
    let zone = match rest {
        // Leap seconds are valid.
        [b':', s1, s0, rest @ ..] if is_at_most(*s1, *s0, 60) => match rest {
            [b'.' | b',', digits @ ..] => {
                let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
                digits.get(count..).filter(|_| count > 0)
            }
            _ => Some(rest),
        },
        [b':', ..] => None,
        _ => Some(rest),
    };
    match zone {
        Some([] | [b'Z' | b'z'] | [b' ', b'Z' | b'z']) => true,
        Some([b' ', b'+' | b'-', zone @ ..] | [b'+' | b'-', zone @ ..]) => match zone {
            [h1, h0, b':', m1, m0] | [h1, h0, m1, m0] => {
                is_at_most(*h1, *h0, 23) && is_at_most(*m1, *m0, 59)
            }
            [h1, h0] => is_at_most(*h1, *h0, 23),
            _ => false,
        },
        _ => false,
    }
}

fn is_at_most(tens: u8, ones: u8, maximum: u8) -> bool {
    two_digits(tens, ones).is_some_and(|number| number <= maximum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses a date as another library does.
    fn date_by_jiff(text: &str) -> Option<Date> {
        let parts: Vec<&str> = text.split(if text.contains('/') { '/' } else { '-' }).collect();
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let usual = parts.iter().map(|part| part.len()).eq([4, 2, 2])
            && parts.iter().all(|part| digits(part))
            && parts.first() != Some(&"0000");
        if usual { parts.join("-").parse().ok() } else { None }
    }

    fn assert_parsed_like_jiff(text: &str) {
        if !text.contains(['T', ' ']) {
            assert_eq!(parse_date(text), date_by_jiff(text), "{text}");
        }
    }

    #[test]
    fn edge_cases_match_jiff() {
        for text in [
            "1970-01-01",
            "2024/02/29",
            "2023-02-29",
            "0001-01-01",
            "0000-01-01",
            "9999-12-31",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024/01-02",
            "2024-1-002",
            "2024-W01-1",
            "20240102T0",
            "-001-01-01",
            "2024-01-0\u{661}",
        ] {
            assert_parsed_like_jiff(text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn dates_of_days_match_jiff(days in -719_162_i32..2_932_897) {
            let (year, month, day) = date_of_days(days.into());
            let date = Date::new(year as i16, month.cast_signed(), day.cast_signed()).expect("valid");
            prop_assert_eq!(days_since_1970(date), Some(days));
        }

        #[test]
        fn times_after_dates_match_jiff(
            time in "[ T](0[0-9]|1[0-9]|2[0-5]):[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,9})?)?",
            zone in "(|Z|[+-](0[0-9]|1[0-4]):?[0-5][0-9])",
        ) {
            let text = format!("2024-05-17{time}{zone}");
            let civil = format!("2024-05-17{time}").parse::<jiff::civil::DateTime>();
            prop_assert_eq!(parse_date(&text), civil.ok().map(|time| time.date()), "{}", text);
            for wrong in [format!("{text}x"), format!("{text} "), format!("x{text}")] {
                prop_assert_eq!(parse_date(&wrong), None, "{}", wrong);
            }
        }

        #[test]
        fn dates_match_jiff(date in "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}", odd in "[0-9W/T-]{10}") {
            assert_parsed_like_jiff(&date);
            assert_parsed_like_jiff(&odd);
        }
    }
}
