//! Numbers and dates from text, without allocating. Each has a simple way beside it, which decides
//! wherever the fast one does not apply, and which the tests hold it against.

use jiff::civil::Date;

use super::bytes::all_digits;

/// The digits behind the point that an exact decimal column keeps.
pub const DECIMAL_SCALE: usize = 18;
pub const DECIMAL_PRECISION: usize = 38;

/// The most digits that a `u64` always holds.
const U64_DIGITS: usize = 19;

/// A whole number of 64 bits, as Rust reads it.
#[inline(always)]
pub fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = signed(text.as_bytes());
    if digits.is_empty() || digits.len() >= U64_DIGITS {
        return text.parse().ok();
    }
    let number = unsigned(digits)?.cast_signed();
    Some(if negative { -number } else { number })
}

/// A decimal number, correctly rounded: not `inf`, `nan` and the other words that Rust would read.
#[inline(always)]
pub fn float(text: &str) -> Option<f64> {
    /// Below 2^53 each integer is a float, and so is each power of ten up to 10^22: one division
    /// of the two rounds once, and so correctly (Clinger's fast path).
    const EXACT: u64 = 1 << 53;
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let (negative, digits) = signed(text.as_bytes());
    let (mut mantissa, mut count, mut point) = (0_u64, 0, None);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                count += 1;
            }
            b'.' if point.is_none() => point = Some(count),
            _ => return float_generally(text),
        }
    }
    let behind = point.map_or(0, |point| count - point);
    match POWERS.get(behind) {
        Some(power) if (1..=U64_DIGITS).contains(&count) && mantissa <= EXACT => {
            let number = mantissa as f64 / power;
            Some(if negative { -number } else { number })
        }
        _ => float_generally(text),
    }
}

#[inline(never)]
fn float_generally(text: &str) -> Option<f64> {
    let looks_so = text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if looks_so { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}

/// The number times 10^18, exactly; nothing where it has more than 20 digits before the point or
/// 18 behind it.
#[inline(always)]
pub fn decimal(text: &str) -> Option<i128> {
    let (negative, digits) = signed(text.as_bytes());
    if digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return decimal_with_exponent(negative, digits);
    }
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (digits.get(..point)?, digits.get(point + 1..).unwrap_or_default());
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole = if whole.len() > U64_DIGITS { significant(whole)? } else { whole };
    // Trailing zeros say nothing.
    let kept = match fraction.get(DECIMAL_SCALE..) {
        Some(rest) if rest.iter().any(|byte| *byte != b'0') => return None,
        Some(_) => fraction.get(..DECIMAL_SCALE)?,
        None => fraction,
    };
    let scale = |power| 10_u64.pow(u32::try_from(power).unwrap_or_default());
    let (lead, tail) = whole.split_at_checked(whole.len().saturating_sub(U64_DIGITS))?;
    let whole =
        u128::from(unsigned(lead)?) * u128::from(scale(U64_DIGITS)) + u128::from(unsigned(tail)?);
    let fraction = unsigned(kept)? * scale(DECIMAL_SCALE - kept.len());
    let units = (whole * u128::from(scale(DECIMAL_SCALE)) + u128::from(fraction)).cast_signed();
    Some(if negative { -units } else { units })
}

/// The same for a number with an exponent, without its sign.
#[inline(never)]
fn decimal_with_exponent(negative: bool, text: &[u8]) -> Option<i128> {
    let at = text.iter().position(|byte| matches!(byte, b'e' | b'E'))?;
    let exponent: i32 = std::str::from_utf8(text.get(at + 1..)?).ok()?.parse().ok()?;
    let mantissa = text.get(..at)?;
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (mantissa.get(..point)?, mantissa.get(point + 1..)?),
        None => (mantissa, &[][..]),
    };
    let mut digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    digits.truncate(digits.len() - zeros);
    let leading = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = digits.get(leading..).filter(|digits| !digits.is_empty());
    let Some(digits) = digits else { return Some(0) };
    // The power of ten that the digits, as a whole number, are to be multiplied by.
    let power = i64::from(exponent) + i64::try_from(zeros).ok()?
        - i64::try_from(fraction.len()).ok()?
        + DECIMAL_SCALE as i64;
    let power = usize::try_from(power).ok()?;
    if digits.len().checked_add(power)? > DECIMAL_PRECISION {
        return None;
    }
    let number: i128 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let units = number.checked_mul(10_i128.checked_pow(u32::try_from(power).ok()?)?)?;
    Some(if negative { -units } else { units })
}

/// The digits of a long whole number without leading zeros, where it still fits.
fn significant(whole: &[u8]) -> Option<&[u8]> {
    let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
    whole.get(zeros..).filter(|rest| rest.len() <= DECIMAL_PRECISION - DECIMAL_SCALE)
}

#[inline(always)]
fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// At most 19 digits; none are zero.
#[inline(always)]
fn unsigned(digits: &[u8]) -> Option<u64> {
    let (eights, rest) = digits.as_chunks::<8>();
    let mut number = 0_u64;
    for eight in eights {
        if !all_digits(eight) {
            return None;
        }
        number = number * 100_000_000 + eight_digits(eight);
    }
    for byte in rest {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(byte - b'0');
    }
    Some(number)
}

/// Eight digits at once: pairs, then fours, then all of them are put together by multiplying.
#[inline(always)]
fn eight_digits(digits: &[u8; 8]) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let ones = u64::from_le_bytes(*digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let tens = ones.wrapping_mul(10).wrapping_add(ones >> 8);
    let upper = (tens & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let lower = ((tens >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    upper.wrapping_add(lower) >> 32
}

/// `YYYY-MM-DD` or `YYYY/MM/DD`, alone or with a time of day behind it, which may have a fraction
/// and a zone: the day as it is written there.
#[inline(always)]
pub fn calendar_date(text: &str) -> Option<Date> {
    let (day, rest) = text.as_bytes().split_first_chunk::<10>()?;
    let date = plain_date(day)?;
    (rest.is_empty() || is_time(rest)).then_some(date)
}

/// The days from 1970-01-01 to a date.
#[inline(always)]
pub fn days_since_1970(date: Date) -> Option<i32> {
    Date::constant(1970, 1, 1).until(date).map(|span| span.get_days()).ok()
}

fn plain_date(text: &[u8; 10]) -> Option<Date> {
    let [y3, y2, y1, y0, first, m1, m0, second, d1, d0] = text;
    if first != second || !matches!(first, b'-' | b'/') {
        return None;
    }
    let year = i16::from(pair(*y3, *y2)?) * 100 + i16::from(pair(*y1, *y0)?);
    // Python's dates begin with the year 1.
    let year = Some(year).filter(|year| *year > 0)?;
    Date::new(year, pair(*m1, *m0)?.cast_signed(), pair(*d1, *d0)?.cast_signed()).ok()
}

fn pair(tens: u8, ones: u8) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// Whether this is `T` or a space, `HH:MM[:SS[.FRACTION]]`, and perhaps `Z`, `+HH:MM` or `+HHMM`.
#[inline(never)]
fn is_time(text: &[u8]) -> bool {
    let [b'T' | b't' | b' ', h1, h0, b':', m1, m0, rest @ ..] = text else { return false };
    if !within(*h1, *h0, 23) || !within(*m1, *m0, 59) {
        return false;
    }
    let zone = match rest {
        // A leap second is a time too.
        [b':', s1, s0, rest @ ..] if within(*s1, *s0, 60) => match rest {
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
                within(*h1, *h0, 23) && within(*m1, *m0, 59)
            }
            [h1, h0] => within(*h1, *h0, 23),
            _ => false,
        },
        _ => false,
    }
}

fn within(tens: u8, ones: u8, most: u8) -> bool {
    pair(tens, ones).is_some_and(|number| number <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by way of text.
    fn decimal_simply(text: &str) -> Option<i128> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        let fraction_digits = fraction.trim_end_matches('0');
        let too_small = fraction_digits.len() > DECIMAL_SCALE;
        if !all_digits || whole.len() + fraction.len() == 0 || too_small {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() > DECIMAL_PRECISION - DECIMAL_SCALE {
            return None;
        }
        let units: i128 = format!("{whole}{fraction_digits:0<DECIMAL_SCALE$}").parse().ok()?;
        Some(if negative { -units } else { units })
    }

    /// The same by another library's reading.
    fn date_simply(text: &str) -> Option<Date> {
        let parts: Vec<&str> = text.split(if text.contains('/') { '/' } else { '-' }).collect();
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let usual = parts.iter().map(|part| part.len()).eq([4, 2, 2])
            && parts.iter().all(|part| digits(part))
            && parts.first() != Some(&"0000");
        if usual { parts.join("-").parse().ok() } else { None }
    }

    fn agree(text: &str) {
        assert_eq!(integer(text), text.parse().ok(), "{text}");
        if !text.contains(['e', 'E']) {
            assert_eq!(decimal(text), decimal_simply(text), "{text}");
        }
        let (ours, theirs) = (float(text), float_generally(text));
        assert_eq!(ours.map(f64::to_bits), theirs.map(f64::to_bits), "{text}");
        if !text.contains(['T', ' ']) {
            assert_eq!(calendar_date(text), date_simply(text), "{text}");
        }
    }

    #[test]
    fn the_edges_are_read_alike() {
        for text in [
            "",
            "+",
            "-",
            ".",
            "-.",
            "0",
            "-0",
            "+0",
            "00",
            "1.",
            ".1",
            "-.5",
            "1..2",
            "1e5",
            "1E400",
            "inf",
            "nan",
            "infinity",
            "9007199254740992",
            "9007199254740993",
            "9007199254740992.5",
            "-9223372036854775808",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551616",
            "0.1",
            "0.30000000000000004",
            "123456789.123456789",
            "12345678901234567890.123456789012345678",
            "99999999999999999999.999999999999999999",
            "100000000000000000000",
            "0000000000000000000000000000001",
            "1.0000000000000000000000",
            "1.0000000000000000001",
            "0.00000000000000000000001",
            "5e-324",
            "\u{661}",
            "1_000",
            " 1",
            "1 ",
            "+-1",
            "--1",
            "1-1",
            "12345678",
            "1234567a",
            "123456789012345a",
        ] {
            agree(text);
        }
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
            agree(text);
        }
    }

    #[test]
    fn exact_decimals_may_have_exponents() {
        const ONE: i128 = 10_i128.pow(18);
        for (text, units) in [
            ("1E-8", ONE / 100_000_000),
            ("6.5e4", 65_000 * ONE),
            ("-1e-18", -1),
            ("0e99999", 0),
            ("1.000e-18", 1),
            ("100e-20", 1),
        ] {
            assert_eq!(decimal(text), Some(units), "{text}");
        }
        for text in ["1e-19", "1e20", "1e", "e5", ".e5", "1e5e5", "1e99999999999", "1.2.3e4", "1e-"]
        {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn numbers_are_read_as_the_simple_ways_read_them(
            number in "[+-]?[0-9]{0,24}(\\.[0-9]{0,24})?", odd in "[0-9eE+\\-.x_ ]{0,12}",
        ) {
            agree(&number);
            agree(&odd);
        }

        #[test]
        fn floats_come_back_to_the_bit(number in any::<f64>(), small in -1e9_f64..1e9) {
            for number in [number, small, (small * 100.0).round() / 100.0] {
                if number.is_finite() {
                    let text = format!("{number}");
                    prop_assert_eq!(float(&text).map(f64::to_bits), Some(number.to_bits()));
                }
            }
        }

        #[test]
        fn an_exponent_moves_the_point_and_loses_nothing(
            sign in "[+-]?", whole in "[0-9]{0,22}", fraction in "[0-9]{0,22}", exponent in -30_i32..30,
            plus in "[+]?", letter in "[eE]",
        ) {
            let places = fraction.len() as i32;
            let digits = format!("{whole}{fraction}");
            // The point written where the exponent moves it to.
            let padded = format!("{:0>60}{digits}{:0>60}", "", "");
            let point = usize::try_from(60 + digits.len() as i32 - places + exponent).expect("a place");
            let (whole_part, rest) = padded.split_at(point);
            let plain = format!("{sign}{whole_part}.{rest}");
            let exponent = if exponent < 0 { exponent.to_string() } else { format!("{plus}{exponent}") };
            let text = format!("{sign}{whole}.{fraction}{letter}{exponent}");
            let expected = if digits.is_empty() { None } else { decimal_simply(&plain) };
            prop_assert_eq!(decimal(&text), expected, "{} is {}", text, plain);
        }

        #[test]
        fn a_time_behind_a_date_is_what_another_reader_takes_for_one(
            time in "[ T](0[0-9]|1[0-9]|2[0-5]):[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,9})?)?",
            zone in "(|Z|[+-](0[0-9]|1[0-4]):?[0-5][0-9])",
        ) {
            let text = format!("2024-05-17{time}{zone}");
            let civil = format!("2024-05-17{time}").parse::<jiff::civil::DateTime>();
            prop_assert_eq!(calendar_date(&text), civil.ok().map(|time| time.date()), "{}", text);
            for wrong in [format!("{text}x"), format!("{text} "), format!("x{text}")] {
                prop_assert_eq!(calendar_date(&wrong), None, "{}", wrong);
            }
        }

        #[test]
        fn dates_are_read_alike(date in "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}", odd in "[0-9W/T-]{10}") {
            agree(&date);
            agree(&odd);
        }
    }
}
