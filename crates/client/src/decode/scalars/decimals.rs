//! Exact decimals from text, without allocating unless there is an exponent.

use super::digits::{U64_DIGITS, parse_digits, split_sign};

/// Number of digits of an exact decimal column, and how many of them are decimal places.
pub(in crate::decode) const DECIMAL_PRECISION: usize = 38;
pub(in crate::decode) const DECIMAL_SCALE: usize = 18;

/// Returns the number times 10^18, exactly; `None` if it has more than 20 digits before the decimal
/// point or more than 18 after it.
#[inline(always)]
pub(in crate::decode) fn parse_decimal(text: &str) -> Option<i128> {
    let (negative, digits) = split_sign(text.as_bytes());
    if digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return parse_with_exponent(negative, digits);
    }
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (digits.get(..point)?, digits.get(point + 1..).unwrap_or_default());
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole = if whole.len() > U64_DIGITS { without_leading_zeros(whole)? } else { whole };
    // Trailing zeros make no difference.
    let fraction = match fraction.get(DECIMAL_SCALE..) {
        Some(excess) if excess.iter().any(|byte| *byte != b'0') => return None,
        Some(_) => fraction.get(..DECIMAL_SCALE)?,
        None => fraction,
    };
    let scale = |power| 10_u64.pow(u32::try_from(power).unwrap_or_default());
    let (high, low) = whole.split_at_checked(whole.len().saturating_sub(U64_DIGITS))?;
    let whole = u128::from(parse_digits(high)?) * u128::from(scale(U64_DIGITS))
        + u128::from(parse_digits(low)?);
    let fraction = parse_digits(fraction)? * scale(DECIMAL_SCALE - fraction.len());
    let units = (whole * u128::from(scale(DECIMAL_SCALE)) + u128::from(fraction)).cast_signed();
    Some(if negative { -units } else { units })
}

/// Parses a number with an exponent, given without its sign.
#[inline(never)]
fn parse_with_exponent(negative: bool, text: &[u8]) -> Option<i128> {
    let letter = text.iter().position(|byte| matches!(byte, b'e' | b'E'))?;
    let exponent: i32 = std::str::from_utf8(text.get(letter + 1..)?).ok()?.parse().ok()?;
    let mantissa = text.get(..letter)?;
    let point = mantissa.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (mantissa.get(..point)?, mantissa.get(point + 1..)?),
        None => (mantissa, &[][..]),
    };
    let mut digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let trailing_zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
    digits.truncate(digits.len() - trailing_zeros);
    let leading_zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = digits.get(leading_zeros..).filter(|digits| !digits.is_empty());
    let Some(digits) = digits else { return Some(0) };
    // The power of ten to multiply the integer of all digits by.
    let power = i64::from(exponent) + i64::try_from(trailing_zeros).ok()?
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

/// Returns the digits of a long integer without leading zeros, if they fit.
fn without_leading_zeros(whole: &[u8]) -> Option<&[u8]> {
    let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
    whole.get(zeros..).filter(|digits| digits.len() <= DECIMAL_PRECISION - DECIMAL_SCALE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::scalars::testing::NUMBERS;

    /// A simpler implementation, by padding the text.
    fn decimal_by_text(text: &str) -> Option<i128> {
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

    fn assert_parsed_like_text(text: &str) {
        if !text.contains(['e', 'E']) {
            assert_eq!(parse_decimal(text), decimal_by_text(text), "{text}");
        }
    }

    #[test]
    fn edge_cases_match_the_simpler_implementation() {
        NUMBERS.iter().for_each(|text| assert_parsed_like_text(text));
    }

    #[test]
    fn decimals_may_have_exponents() {
        const ONE: i128 = 10_i128.pow(18);
        for (text, units) in [
            ("1E-8", ONE / 100_000_000),
            ("6.5e4", 65_000 * ONE),
            ("-1e-18", -1),
            ("0e99999", 0),
            ("1.000e-18", 1),
            ("100e-20", 1),
        ] {
            assert_eq!(parse_decimal(text), Some(units), "{text}");
        }
        for text in ["1e-19", "1e20", "1e", "e5", ".e5", "1e5e5", "1e99999999999", "1.2.3e4", "1e-"]
        {
            assert_eq!(parse_decimal(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn decimals_match_the_simpler_implementation(
            number in "[+-]?[0-9]{0,24}(\\.[0-9]{0,24})?", odd in "[0-9eE+\\-.x_ ]{0,12}",
        ) {
            assert_parsed_like_text(&number);
            assert_parsed_like_text(&odd);
        }

        #[test]
        fn an_exponent_moves_the_decimal_point(
            sign in "[+-]?", whole in "[0-9]{0,22}", fraction in "[0-9]{0,22}", exponent in -30_i32..30,
            plus in "[+]?", letter in "[eE]",
        ) {
            let places = fraction.len() as i32;
            let digits = format!("{whole}{fraction}");
            // The digits with the point where the exponent moves it to.
            let padded = format!("{:0>60}{digits}{:0>60}", "", "");
            let point = usize::try_from(60 + digits.len() as i32 - places + exponent).expect("a place");
            let (whole_part, rest) = padded.split_at(point);
            let plain = format!("{sign}{whole_part}.{rest}");
            let exponent = if exponent < 0 { exponent.to_string() } else { format!("{plus}{exponent}") };
            let text = format!("{sign}{whole}.{fraction}{letter}{exponent}");
            let expected = if digits.is_empty() { None } else { decimal_by_text(&plain) };
            prop_assert_eq!(parse_decimal(&text), expected, "{} is {}", text, plain);
        }
    }
}
