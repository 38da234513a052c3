//! The escapes within JSON strings.

use std::borrow::Cow;

use super::byte_scanner::find_special;

/// Unescapes a string, given the text between its quotes.
pub(super) fn unescape(quoted: &str) -> Option<String> {
    let bytes = quoted.as_bytes();
    let mut text = String::with_capacity(quoted.len());
    let mut position = 0;
    loop {
        let end = find_special(bytes, position);
        text.push_str(quoted.get(position..end)?);
        match (bytes.get(end), bytes.get(end + 1)) {
            (None, _) => return Some(text),
            (Some(b'\\'), Some(b'u')) => {
                let (character, next) = unicode_escape(bytes, end)?;
                text.push(character);
                position = next;
            }
            (Some(b'\\'), Some(letter)) => {
                text.push(simple_escape(*letter)?);
                position = end + 2;
            }
            _ => return None,
        }
    }
}

/// Finds the end of the escape whose backslash is at `start`.
pub(super) fn escape_end(bytes: &[u8], start: usize) -> Option<usize> {
    match bytes.get(start + 1)? {
        b'u' => Some(unicode_escape(bytes, start)?.1),
        letter => simple_escape(*letter).map(|_| start + 2),
    }
}

/// Replaces lone surrogates in JSON by U+FFFD, because databases do not accept them.
pub(in crate::decode) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let (mut text, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(start) = rest.find('\\') {
        let (escape, end) = match unicode_escape(rest.as_bytes(), start) {
            Some((char::REPLACEMENT_CHARACTER, end)) => ("\\ufffd", end),
            Some((_, end)) => (rest.get(start..end).unwrap_or_default(), end),
            None => (rest.get(start..start + 2).unwrap_or_default(), start + 2),
        };
        text.push_str(rest.get(..start).unwrap_or_default());
        text.push_str(escape);
        rest = rest.get(end..).unwrap_or_default();
    }
    Cow::Owned(text + rest)
}

fn simple_escape(letter: u8) -> Option<char> {
    Some(match letter {
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

/// Reads the character of a `\uXXXX` or of a surrogate pair, and the end of the escape. A lone
/// surrogate, which no text can have, becomes U+FFFD.
fn unicode_escape(bytes: &[u8], start: usize) -> Option<(char, usize)> {
    let first = code_unit(bytes, start)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some(second @ 0xdc00..0xe000) = code_unit(bytes, start + 6)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return char::from_u32(code).map(|character| (character, start + 12));
    }
    Some((char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), start + 6))
}

fn code_unit(bytes: &[u8], start: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(start..)?.first_chunk::<6>()? else { return None };
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}
