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

/// `YYYY-MM-DD` or `YYYY/MM/DD`.
pub fn calendar_date(text: &str) -> Option<Date> {
    if text.len() != 10 {
        return None;
    }
    if text.contains('/') { text.replace('/', "-").parse().ok() } else { text.parse().ok() }
}

/// The days from 1970-01-01 to a date in one of these forms.
pub fn days_since_1970(text: &str) -> Option<i32> {
    let date = plain_date(text.as_bytes()).or_else(|| calendar_date(text))?;
    Date::constant(1970, 1, 1).until(date).map(|span| span.get_days()).ok()
}

/// A date where its form is the usual one to the letter.
fn plain_date(text: &[u8]) -> Option<Date> {
    let [y3, y2, y1, y0, first, m1, m0, second, d1, d0] = text else { return None };
    if first != second || !matches!(first, b'-' | b'/') {
        return None;
    }
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| byte - b'0');
    let pair = |tens: &u8, ones: &u8| Some(digit(tens)? * 10 + digit(ones)?);
    let year = i16::from(pair(y3, y2)?) * 100 + i16::from(pair(y1, y0)?);
    Date::new(year, pair(m1, m0)?.cast_signed(), pair(d1, d0)?.cast_signed()).ok()
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

    fn agree(text: &str) {
        assert_eq!(integer(text), text.parse().ok(), "{text}");
        assert_eq!(decimal(text), decimal_simply(text), "{text}");
        let (ours, theirs) = (float(text), float_generally(text));
        assert_eq!(ours.map(f64::to_bits), theirs.map(f64::to_bits), "{text}");
        let since = calendar_date(text)
            .map(|date| Date::constant(1970, 1, 1).until(date).expect("days").get_days());
        assert_eq!(days_since_1970(text), since, "{text}");
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
        fn dates_are_read_alike(date in "[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}", odd in "[0-9W/T-]{10}") {
            agree(&date);
            agree(&odd);
        }
    }
}
