//! A value as its own JSON text.

use std::borrow::Cow;

use super::escapes::unescape;

/// A value as its own JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// The JSON, without white space around it.
    pub json: &'a str,
    escaped: bool,
}

/// The position of a value or key in a JSON text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteRange {
    pub start: usize,
    pub end: usize,
    /// True if a string has escapes; meaningless for other values.
    pub escaped: bool,
}

impl ByteRange {
    #[inline(always)]
    pub fn of(self, text: &str) -> Option<Raw<'_>> {
        let json = text.get(self.start..self.end)?;
        Some(Raw { json, escaped: self.escaped })
    }
}

impl<'a> Raw<'a> {
    /// Wraps a value that has not been scanned for escapes.
    pub fn new(json: &'a str) -> Self {
        Raw { json, escaped: json.contains('\\') }
    }

    /// Wraps a value that has been scanned for escapes.
    #[inline(always)]
    pub(in crate::decode) fn scanned(json: &'a str, escaped: bool) -> Self {
        Raw { json, escaped }
    }

    #[inline(always)]
    pub(in crate::decode) fn is_escaped(self) -> bool {
        self.escaped
    }

    /// Compares the first byte, which tells the type of the value.
    #[inline(always)]
    pub fn starts_with(self, first: u8) -> bool {
        self.json.as_bytes().first() == Some(&first)
    }

    /// Returns true if both are the same scalar, a value that becomes an immutable object.
    #[inline(always)]
    pub fn is_same_scalar(self, other: Raw<'_>) -> bool {
        super::byte_scanner::short_eq(self.json.as_bytes(), other.json.as_bytes())
            && !self.starts_with(b'{')
            && !self.starts_with(b'[')
    }

    /// Returns the text of a string without escapes.
    #[inline(always)]
    pub fn plain_text(self) -> Option<&'a str> {
        if self.escaped { None } else { self.quoted_text() }
    }

    /// Returns the text of a string, unescaped.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let quoted = self.quoted_text()?;
        if self.escaped { unescape(quoted).map(Cow::Owned) } else { Some(Cow::Borrowed(quoted)) }
    }

    /// Returns the text between the quotes of a string.
    #[inline(always)]
    fn quoted_text(self) -> Option<&'a str> {
        // Written by hand: `strip_prefix` and `strip_suffix` cost as much as all other work on a
        // short text.
        match self.json.as_bytes() {
            [b'"', .., b'"'] => self.json.get(1..self.json.len() - 1),
            _ => None,
        }
    }
}
