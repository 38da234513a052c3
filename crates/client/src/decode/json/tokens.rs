//! Finds the end of a string, number or literal, by the grammar of RFC 8259.

use super::{
    byte_scanner::{find_non_digit, find_special, short_eq},
    escapes::escape_end,
};

/// Finds the end of the string whose opening quote is at `start`, and whether it has escapes.
#[inline(always)]
pub(super) fn string_end(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    if *bytes.get(start)? != b'"' {
        return None;
    }
    let position = find_special(bytes, start + 1);
    match bytes.get(position)? {
        b'"' => Some((position + 1, false)),
        b'\\' => escaped_string_end(bytes, position).map(|end| (end, true)),
        _ => None,
    }
}

/// Finds the end of a string, continued from its first backslash.
#[inline(never)]
fn escaped_string_end(bytes: &[u8], backslash: usize) -> Option<usize> {
    let mut position = backslash;
    loop {
        position = find_special(bytes, escape_end(bytes, position)?);
        match bytes.get(position)? {
            b'"' => return Some(position + 1),
            b'\\' => {}
            _ => return None,
        }
    }
}

/// Finds the end of the number that begins at `start`.
#[inline(always)]
pub(super) fn number_end(bytes: &[u8], start: usize) -> Option<usize> {
    let digits = start + usize::from(*bytes.get(start)? == b'-');
    let mut end = find_non_digit(bytes, digits);
    let leading_zero = end > digits + 1 && bytes.get(digits) == Some(&b'0');
    if end == digits || leading_zero {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = find_non_digit(bytes, fraction);
        if end == fraction {
            return None;
        }
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = find_non_digit(bytes, exponent);
        if end == exponent {
            return None;
        }
    }
    Some(end)
}

/// Returns the end of this text if it begins at `start`.
#[inline(always)]
pub(super) fn literal_end(bytes: &[u8], start: usize, literal: &[u8]) -> Option<usize> {
    let end = start + literal.len();
    short_eq(bytes.get(start..end)?, literal).then_some(end)
}
