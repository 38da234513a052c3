//! Calendar dates from text, without allocating.

use jiff::civil::Date;

/// The date of a `YYYY-MM-DD` or `YYYY/MM/DD`, which a time of day may follow; its time zone is
/// ignored.
#[inline(always)]
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    let (day, time) = text.as_bytes().split_first_chunk::<10>()?;
    let date = parse_day(day)?;
    (time.is_empty() || is_time(time)).then_some(date)
}

/// The days from 1970-01-01 to a date.
#[inline(always)]
pub(crate) fn days_since_1970(date: Date) -> Option<i32> {
    Date::constant(1970, 1, 1).until(date).map(|span| span.get_days()).ok()
}

fn parse_day(text: &[u8; 10]) -> Option<Date> {
    let [y3, y2, y1, y0, separator, m1, m0, second_separator, d1, d0] = text;
    if separator != second_separator || !matches!(separator, b'-' | b'/') {
        return None;
    }
    let year = i16::from(two_digits(*y3, *y2)?) * 100 + i16::from(two_digits(*y1, *y0)?);
    // Python's dates begin at year 1.
    let year = Some(year).filter(|year| *year > 0)?;
    Date::new(year, two_digits(*m1, *m0)?.cast_signed(), two_digits(*d1, *d0)?.cast_signed()).ok()
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Whether this is `T` or a space, `HH:MM[:SS[.FRACTION]]` and optionally `Z`, `+HH:MM` or `+HHMM`.
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

    /// As another library parses it.
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
