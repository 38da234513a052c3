//! Integers and floats from text, without allocating. The standard library decides all cases that
//! the fast paths do not cover, and the tests compare the two.

use super::digits::{U64_DIGITS, parse_digits, split_sign};

/// Parses a 64-bit integer as Rust does.
#[inline(always)]
pub fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text.as_bytes());
    if digits.is_empty() || digits.len() >= U64_DIGITS {
        return text.parse().ok();
    }
    let number = parse_digits(digits)?.cast_signed();
    Some(if negative { -number } else { number })
}

/// Parses a whole number of 64 bits, however it is written: also `5.0` and `1e3`.
#[inline(always)]
pub fn parse_whole(text: &str) -> Option<i64> {
    parse_integer(text).or_else(|| parse_whole_float(text))
}

/// Parses a whole number below 2^53 with a point or an exponent: with at most 16 digits, the float
/// is whole only if the number is.
#[inline(never)]
fn parse_whole_float(text: &str) -> Option<i64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let number = parse_float(text)?;
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, ""));
    let digits = digits.trim_start_matches(['+', '-']).replace('.', "");
    // No decimal reader accepts a longer exponent.
    let is_short = exponent.trim_start_matches(['+', '-']).len() <= 4;
    let digits = digits.trim_matches('0').len();
    let is_exact = digits <= 16 && number.abs() < EXACT && (number != 0.0 || digits == 0);
    (is_short && is_exact && number.fract() == 0.0).then_some(number as i64)
}

/// Parses a decimal number, correctly rounded; rejects `inf`, `nan` and the other words that Rust
/// parses.
#[inline(always)]
pub fn parse_float(text: &str) -> Option<f64> {
    /// Integers up to 2^53 and powers of ten up to 10^22 are exact floats. Dividing one by the
    /// other rounds once, and therefore correctly (Clinger's fast path).
    const EXACT: u64 = 1 << 53;
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let (negative, digits) = split_sign(text.as_bytes());
    let (mut mantissa, mut count, mut point) = (0_u64, 0, None);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                count += 1;
            }
            b'.' if point.is_none() => point = Some(count),
            _ => return parse_float_slow_path(text),
        }
    }
    let decimal_places = point.map_or(0, |point| count - point);
    match POWERS.get(decimal_places) {
        Some(power) if (1..=U64_DIGITS).contains(&count) && mantissa <= EXACT => {
            let number = mantissa as f64 / power;
            Some(if negative { -number } else { number })
        }
        _ => parse_float_slow_path(text),
    }
}

#[inline(never)]
fn parse_float_slow_path(text: &str) -> Option<f64> {
    let has_only_number_characters = text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !has_only_number_characters {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::scalars::testing::NUMBERS;

    fn assert_parsed_like_std(text: &str) {
        assert_eq!(parse_integer(text), text.parse().ok(), "{text}");
        let (fast, slow) = (parse_float(text), parse_float_slow_path(text));
        assert_eq!(fast.map(f64::to_bits), slow.map(f64::to_bits), "{text}");
    }

    #[test]
    fn edge_cases_match_std() {
        NUMBERS.iter().for_each(|text| assert_parsed_like_std(text));
    }

    #[test]
    fn a_whole_number_is_whole_however_it_is_written() {
        for (text, number) in [
            ("5.0", Some(5)),
            ("-5.000", Some(-5)),
            ("0.0", Some(0)),
            ("1e3", Some(1000)),
            ("1.25E2", Some(125)),
            ("120e-1", Some(12)),
            ("1787000000000000.0", Some(1_787_000_000_000_000)),
            ("9007199254740991.0", Some((1 << 53) - 1)),
            ("9007199254740992.0", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("5.5", None),
            ("1e-3", None),
            ("1e16", None),
            ("0e99999", None),
            ("1e-400", None),
            ("0e-400", Some(0)),
            ("5.00000000000000000001", None),
            ("9007199254740993.0", None),
            ("9223372036854775808", None),
            (".", None),
            ("1e", None),
        ] {
            assert_eq!(parse_whole(text), number, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn numbers_match_std(
            number in "[+-]?[0-9]{0,24}(\\.[0-9]{0,24})?", odd in "[0-9eE+\\-.x_ ]{0,12}",
        ) {
            assert_parsed_like_std(&number);
            assert_parsed_like_std(&odd);
        }

        #[test]
        fn floats_round_trip_to_the_bit(number in any::<f64>(), small in -1e9_f64..1e9) {
            for number in [number, small, (small * 100.0).round() / 100.0] {
                if number.is_finite() {
                    let text = format!("{number}");
                    prop_assert_eq!(parse_float(&text).map(f64::to_bits), Some(number.to_bits()));
                }
            }
        }
    }
}
