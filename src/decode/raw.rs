//! A value as it stands in JSON text, and the text that a string's escapes stand for.

use std::borrow::Cow;

use super::bytes::{plain_end, same};

/// Where a value or key stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteRange {
    pub start: usize,
    pub end: usize,
    /// Of a string: whether it has escapes. Of anything else it says nothing.
    pub escaped: bool,
}

/// A value as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    pub json: &'a str,
    pub(super) escaped: bool,
}

impl ByteRange {
    #[inline(always)]
    pub fn of(self, text: &str) -> Option<Raw<'_>> {
        let json = text.get(self.start..self.end)?;
        Some(Raw { json, escaped: self.escaped })
    }
}

impl<'a> Raw<'a> {
    /// A value of which it is not yet known whether it has escapes.
    pub fn new(json: &'a str) -> Self {
        Raw { json, escaped: json.contains('\\') }
    }

    /// By its first byte: what kind of value it is.
    #[inline(always)]
    pub fn starts_with(self, first: u8) -> bool {
        self.json.as_bytes().first() == Some(&first)
    }

    /// Whether both are the same text, number or word: nothing that could be changed.
    #[inline(always)]
    pub fn is_same_plain_value(self, other: Raw<'_>) -> bool {
        same(self.json.as_bytes(), other.json.as_bytes())
            && !self.starts_with(b'{')
            && !self.starts_with(b'[')
    }

    /// What stands between the quotes of a string; nothing if it is none.
    #[inline(always)]
    pub fn quoted(self) -> Option<&'a str> {
        // By hand: the library's calls cost as much as all else that is done to a short text.
        match self.json.as_bytes() {
            [b'"', .., b'"'] => self.json.get(1..self.json.len() - 1),
            _ => None,
        }
    }

    /// The text of a string without escapes, as it stands there.
    #[inline(always)]
    pub fn plain(self) -> Option<&'a str> {
        if self.escaped { None } else { self.quoted() }
    }

    /// The text of a string.
    pub fn string(self) -> Option<Cow<'a, str>> {
        let quoted = self.quoted()?;
        if self.escaped { unescaped(quoted).map(Cow::Owned) } else { Some(Cow::Borrowed(quoted)) }
    }
}

/// The text that a string's escapes stand for.
fn unescaped(quoted: &str) -> Option<String> {
    let bytes = quoted.as_bytes();
    let mut text = String::with_capacity(quoted.len());
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        text.push_str(quoted.get(at..end)?);
        match (bytes.get(end), bytes.get(end + 1)) {
            (None, _) => return Some(text),
            (Some(b'\\'), Some(b'u')) => {
                let (char, next) = escaped_char(bytes, end)?;
                text.push(char);
                at = next;
            }
            (Some(b'\\'), Some(other)) => {
                text.push(simple_escape(*other)?);
                at = end + 2;
            }
            _ => return None,
        }
    }
}

pub fn simple_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

/// The character of a `\uXXXX` or of a pair of them, and the place behind it.
pub fn escaped_char(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let first = code_unit(bytes, at)?;
    // Of the surrogates, `from_u32` takes none.
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|char| (char, at + 6));
    }
    let second = code_unit(bytes, at + 6)?;
    if !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    char::from_u32(code).map(|char| (char, at + 12))
}

fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..)?.first_chunk::<6>()? else { return None };
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}
