//! Undoes the escapes with which a service may repeat a secret.

use memchr::memchr;
use zeroize::Zeroizing;

/// A kind of escape: its first byte, and a function that appends the meaning of the escape, given
/// the bytes after the first one, and returns how many of them belong to the escape.
type Kind = (u8, fn(&[u8], &mut Vec<u8>) -> Option<usize>);

const KINDS: [Kind; 4] = [(b'%', percent), (b'+', plus), (b'\\', backslash), (b'&', entity)];
/// The characters that XML has names for.
const NAMED: [(&[u8], u8); 5] =
    [(b"amp;", b'&'), (b"apos;", b'\''), (b"gt;", b'>'), (b"lt;", b'<'), (b"quot;", b'"')];
/// Length of the longest number of a character in HTML: `#x0010FFFF;`.
const NUMBER_BYTES: usize = 11;

/// Returns the text with one layer of one kind of escape undone, once for each kind that it has.
/// The results may contain secrets, so they are wiped from memory.
pub fn unescaped(text: &[u8]) -> impl Iterator<Item = Zeroizing<Vec<u8>>> {
    KINDS.iter().filter_map(|kind| undo(text, *kind))
}

fn undo(text: &[u8], (mark, append_meaning): Kind) -> Option<Zeroizing<Vec<u8>>> {
    memchr(mark, text)?;
    // No escape is shorter than its meaning, so the buffer never moves.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut rest, mut is_changed) = (text, false);
    while let Some((before, after)) = memchr(mark, rest).and_then(|at| rest.split_at_checked(at)) {
        bytes.extend_from_slice(before);
        let after = after.get(1..).unwrap_or_default();
        let size = append_meaning(after, &mut bytes);
        if size.is_none() {
            bytes.push(mark);
        }
        is_changed |= size.is_some();
        rest = after.get(size.unwrap_or_default()..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    is_changed.then_some(bytes)
}

/// Decodes percent-encoding (RFC 3986, section 2.1).
fn percent(rest: &[u8], bytes: &mut Vec<u8>) -> Option<usize> {
    bytes.push(u8::try_from(number(rest.get(..2)?, 16)?).ok()?);
    Some(2)
}

/// Decodes a space in a form.
fn plus(_rest: &[u8], bytes: &mut Vec<u8>) -> Option<usize> {
    bytes.push(b' ');
    Some(0)
}

/// Decodes an escape in JSON (RFC 8259, section 7).
fn backslash(rest: &[u8], bytes: &mut Vec<u8>) -> Option<usize> {
    let unit = |from: usize| number(rest.get(from..from + 4)?, 16);
    bytes.push(match rest.first()? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let high = unit(1)?;
            let low = rest.get(5..7).filter(|next| *next == b"\\u").and_then(|_| unit(7));
            return match low.filter(|_| (0xd800..0xdc00).contains(&high)) {
                Some(low) => {
                    let low = low.checked_sub(0xdc00)?;
                    append(0x1_0000 + ((high - 0xd800) << 10) + low, bytes).map(|()| 11)
                }
                None => append(high, bytes).map(|()| 5),
            };
        }
        _ => return None,
    });
    Some(1)
}

/// Decodes a character of HTML by its number, or by its name in XML.
fn entity(rest: &[u8], bytes: &mut Vec<u8>) -> Option<usize> {
    if let Some((name, byte)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        bytes.push(*byte);
        return Some(name.len());
    }
    let end = memchr(b';', rest.get(..rest.len().min(NUMBER_BYTES))?)?;
    let code = match rest.get(..end)? {
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16)?,
        [b'#', digits @ ..] => number(digits, 10)?,
        _ => return None,
    };
    append(code, bytes).map(|()| end + 1)
}

fn append(code: u32, bytes: &mut Vec<u8>) -> Option<()> {
    bytes.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
    Some(())
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, base).ok()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    fn texts(text: &str) -> Vec<String> {
        let texts = unescaped(text.as_bytes());
        texts.map(|bytes| String::from_utf8(bytes.to_vec()).expect("text")).collect()
    }

    #[test]
    fn one_layer_of_each_kind_is_undone() {
        for (text, expected) in [
            ("a%2Fb%2fc%C3%A9", "a/b/cé"),
            ("%252F", "%2F"),
            ("two+words", "two words"),
            ("\\u002f\\u002F\\/\\\"\\\\u0041\\n", "///\"\\u0041\n"),
            ("\\ud83d\\ude00\\u00e9", "😀é"),
            ("&amp;lt;&lt;&#60;&#x3c;&#X3C;&quot;&apos;&gt;", "&lt;<<<<\"'>"),
            ("&#128512;&#x0001F600;", "😀😀"),
        ] {
            assert_eq!(texts(text), [expected], "{text}");
        }
        assert_eq!(texts("%41&#66;\\u0043"), ["A&#66;\\u0043", "%41&#66;C", "%41B\\u0043"]);
    }

    #[test]
    fn what_is_not_an_escape_is_unchanged() {
        for text in [
            "", "%", "%g1", "100% é", "\\", "\\q", "\\u12", "\\ud83d", "&", "&#;", "&#65", "&copy;",
        ] {
            assert!(texts(text).is_empty(), "{text}");
        }
        assert_eq!(texts("50% %41"), ["50% A"]);
    }
}
