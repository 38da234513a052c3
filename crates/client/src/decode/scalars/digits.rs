//! Signs and short runs of digits.

use crate::decode::json::all_digits;

/// The most digits that a `u64` always holds.
pub(super) const U64_DIGITS: usize = 19;

/// Splits off the sign: returns true if the number is negative, and the text after the sign.
#[inline(always)]
pub(super) fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, text),
    }
}

/// Returns the value of at most 19 digits; zero if there are none.
#[inline(always)]
pub(super) fn parse_digits(digits: &[u8]) -> Option<u64> {
    let (chunks, tail) = digits.as_chunks::<8>();
    let mut number = 0_u64;
    for chunk in chunks {
        if !all_digits(chunk) {
            return None;
        }
        number = number * 100_000_000 + parse_eight_digits(chunk);
    }
    for byte in tail {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + u64::from(byte - b'0');
    }
    Some(number)
}

/// Parses eight digits at once: multiplications combine them into pairs, then fours, then all
/// eight.
#[inline(always)]
fn parse_eight_digits(digits: &[u8; 8]) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let ones = u64::from_le_bytes(*digits) & 0x0f0f_0f0f_0f0f_0f0f;
    let tens = ones.wrapping_mul(10).wrapping_add(ones >> 8);
    let upper = (tens & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let lower = ((tens >> 16) & PAIRS).wrapping_mul(1 + (10_000 << 32));
    upper.wrapping_add(lower) >> 32
}
