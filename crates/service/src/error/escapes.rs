//! Undoes escapes of other languages, to find a secret in them, and escapes text for a terminal.

use std::borrow::Cow;

use zeroize::Zeroizing;

/// A text without its escapes, with the positions of its bytes in the original. It may contain secrets,
/// so it is wiped from memory.
pub struct Unescaped {
    pub bytes: Zeroizing<Vec<u8>>,
    /// An index, and how far ahead the original is from there on; after each escape.
    shifts: Vec<(usize, usize)>,
}

/// A text without its white space.
pub struct Squeezed {
    pub bytes: Zeroizing<Vec<u8>>,
    shifts: Vec<(usize, usize)>,
}

/// How many layers of escapes are undone.
const LAYERS: usize = 5;
/// RFC 6749 sets no limit to a description; a terminal does.
const EXCERPT_CHARACTERS: usize = 400;
/// The names of ASCII characters in HTML, and of the space that it does not break lines at.
const NAMED: [(&[u8], u8); 46] = [
    (b"AMP", b'&'),
    (b"DiacriticalGrave", b'`'),
    (b"GT", b'>'),
    (b"Hat", b'^'),
    (b"LT", b'<'),
    (b"NewLine", b'\n'),
    (b"QUOT", b'"'),
    (b"Tab", b'\t'),
    (b"UnderBar", b'_'),
    (b"VerticalLine", b'|'),
    (b"amp", b'&'),
    (b"apos", b'\''),
    (b"ast", b'*'),
    (b"bsol", b'\\'),
    (b"colon", b':'),
    (b"comma", b','),
    (b"commat", b'@'),
    (b"dollar", b'$'),
    (b"equals", b'='),
    (b"excl", b'!'),
    (b"grave", b'`'),
    (b"gt", b'>'),
    (b"lbrace", b'{'),
    (b"lbrack", b'['),
    (b"lcub", b'{'),
    (b"lowbar", b'_'),
    (b"lpar", b'('),
    (b"lsqb", b'['),
    (b"lt", b'<'),
    (b"midast", b'*'),
    (b"nbsp", b' '),
    (b"num", b'#'),
    (b"percnt", b'%'),
    (b"period", b'.'),
    (b"plus", b'+'),
    (b"quest", b'?'),
    (b"quot", b'"'),
    (b"rbrace", b'}'),
    (b"rbrack", b']'),
    (b"rcub", b'}'),
    (b"rpar", b')'),
    (b"rsqb", b']'),
    (b"semi", b';'),
    (b"sol", b'/'),
    (b"verbar", b'|'),
    (b"vert", b'|'),
];
/// Those that browsers also read without a semicolon.
const WITHOUT_SEMICOLON: [&[u8]; 9] =
    [b"AMP", b"GT", b"LT", b"QUOT", b"amp", b"gt", b"lt", b"nbsp", b"quot"];

impl Unescaped {
    /// The position in the original of a byte; the end of the original for the end.
    pub fn position(&self, index: usize) -> usize {
        index + ahead(&self.shifts, index)
    }
}

impl Squeezed {
    /// Where a part of it is in the original. White space around it does not belong to it.
    pub fn span(&self, (from, to): (usize, usize)) -> (usize, usize) {
        let position = |index: usize| index + ahead(&self.shifts, index);
        (position(from), to.checked_sub(1).map_or(0, |last| position(last) + 1))
    }
}

fn ahead(shifts: &[(usize, usize)], index: usize) -> usize {
    let before = shifts.partition_point(|(from, _)| *from <= index).checked_sub(1);
    before.and_then(|last| shifts.get(last)).map_or(0, |(_, ahead)| *ahead)
}

/// Undoes percent-encoding, JSON and HTML escapes in all their layers, and reads a plus as a space, as
/// in a form.
pub fn unescape(text: &[u8]) -> Unescaped {
    unescape_layers(text, LAYERS, false)
}

/// The same, but an escape may be broken into lines, in any layer. What is left of the white space are
/// spaces for a plus.
pub fn unescape_lines(text: &[u8]) -> Unescaped {
    // One layer to join the lines, another one to undo what was broken.
    unescape_layers(text, 2 * LAYERS + 1, true)
}

fn unescape_layers(text: &[u8], layers: usize, joins_lines: bool) -> Unescaped {
    let bytes = Zeroizing::new(text.to_vec());
    let mut unescaped = Unescaped { bytes, shifts: Vec::new() };
    for _ in 0..layers {
        match unescape_layer(&unescaped, joins_lines) {
            Some(next) => unescaped = next,
            None => break,
        }
    }
    for byte in unescaped.bytes.iter_mut() {
        if *byte == b'+' {
            *byte = b' ';
        }
    }
    unescaped
}

/// Leaves out white space, as an encoder breaks long texts into lines, and NUL, which is every second byte of
/// ASCII as UTF-16.
pub fn squeeze(text: &[u8]) -> Squeezed {
    let bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut squeezed = Squeezed { bytes, shifts: Vec::new() };
    for (at, byte) in text.iter().enumerate() {
        if is_filler(*byte) {
            continue;
        }
        add_shift(&mut squeezed.shifts, squeezed.bytes.len(), at);
        squeezed.bytes.push(*byte);
    }
    squeezed
}

/// Whether it separates what belongs together.
fn is_filler(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

/// Notes the original's position of an index, unless it follows from the one before.
fn add_shift(shifts: &mut Vec<(usize, usize)>, index: usize, original: usize) {
    let now_ahead = original.saturating_sub(index);
    if shifts.last().map_or(0, |(_, ahead)| *ahead) != now_ahead {
        shifts.push((index, now_ahead));
    }
}

/// One layer of escapes undone, if there is one.
fn unescape_layer(previous: &Unescaped, joins_lines: bool) -> Option<Unescaped> {
    let text = previous.bytes.as_slice();
    let is_left_out = |byte: &u8| joins_lines && is_filler(*byte);
    let mut index = text.iter().position(|byte| b"%\\&".contains(byte) || is_left_out(byte))?;
    // No escape is shorter than what it means, so the buffer never moves.
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    bytes.extend_from_slice(text.get(..index)?);
    let before = previous.shifts.partition_point(|(from, _)| *from < index);
    let mut next = Unescaped { bytes, shifts: previous.shifts.get(..before)?.to_vec() };
    // Those of the previous layer that are still to come.
    let mut later = previous.shifts.get(before..)?.iter().peekable();
    let mut previous_ahead = next.shifts.last().map_or(0, |(_, ahead)| *ahead);
    let mut changed = false;
    while let Some(&byte) = text.get(index) {
        if is_left_out(&byte) {
            changed = true;
            index += 1;
            continue;
        }
        let rest = text.get(index + 1..).unwrap_or_default();
        let found = match byte {
            b'%' => percent(rest),
            b'\\' => backslash(rest),
            b'&' => entity(rest),
            _ => None,
        };
        let (meaning, size) = match found {
            Some((meaning, size)) => (meaning, size + 1),
            None => (Meaning::byte(u32::from(byte)), 1),
        };
        changed |= found.is_some();
        while let Some((_, ahead)) = later.next_if(|(from, _)| *from <= index) {
            previous_ahead = *ahead;
        }
        for byte in meaning.bytes() {
            add_shift(&mut next.shifts, next.bytes.len(), index + previous_ahead);
            next.bytes.push(*byte);
        }
        index += size;
    }
    add_shift(&mut next.shifts, next.bytes.len(), previous.position(text.len()));
    changed.then_some(next)
}

/// The meaning of an escape: a byte, or a character of up to four.
#[derive(Clone, Copy)]
struct Meaning([u8; 4], usize);

impl Meaning {
    fn byte(code: u32) -> Self {
        Meaning([u8::try_from(code).unwrap_or_default(), 0, 0, 0], 1)
    }

    fn character(code: u32) -> Option<Self> {
        let mut bytes = [0; 4];
        let size = char::from_u32(code)?.encode_utf8(&mut bytes).len();
        Some(Meaning(bytes, size))
    }

    fn bytes(&self) -> &[u8] {
        self.0.get(..self.1).unwrap_or_default()
    }
}

/// The meaning of what follows a percent sign: a byte, or as `escape` of JavaScript writes it, a UTF-16 unit.
fn percent(rest: &[u8]) -> Option<(Meaning, usize)> {
    if rest.first() == Some(&b'u') {
        let (code, size) = hex(rest.get(1..)?, 4, 4)?;
        return Some((Meaning::character(code)?, size + 1));
    }
    hex(rest, 2, 2).map(|(code, size)| (Meaning::byte(code), size))
}

/// The meaning of what follows a backslash, and how many bytes of it belong to the escape.
fn backslash(rest: &[u8]) -> Option<(Meaning, usize)> {
    let code = |from: usize, least: usize, most: usize| {
        hex(rest.get(from..)?, least, most).map(|(code, size)| (code, from + size))
    };
    let (code, size) = match rest.first()? {
        b'/' | b'\\' | b'"' | b'\'' => {
            return Some((Meaning::byte(u32::from(*rest.first()?)), 1));
        }
        b'n' => return Some((Meaning::byte(u32::from(b'\n')), 1)),
        b'r' => return Some((Meaning::byte(u32::from(b'\r')), 1)),
        b't' => return Some((Meaning::byte(u32::from(b'\t')), 1)),
        b'x' => code(1, 2, 2)?,
        b'U' => code(1, 8, 8)?,
        b'u' if rest.get(1) == Some(&b'{') => {
            let (code, size) = code(2, 1, 6)?;
            (rest.get(size) == Some(&b'}')).then_some((code, size + 1))?
        }
        b'u' => match code(1, 4, 4)? {
            (high @ 0xd800..=0xdbff, _) if rest.get(5..7) == Some(b"\\u") => {
                let (low, size) = code(7, 4, 4)?;
                (0x1_0000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00)?, size)
            }
            other => other,
        },
        _ => return None,
    };
    Some((Meaning::character(code)?, size))
}

/// The meaning of what follows an ampersand: a character by its name or its number.
fn entity(rest: &[u8]) -> Option<(Meaning, usize)> {
    let semicolon = |size: usize| size + usize::from(rest.get(size) == Some(&b';'));
    if rest.first() == Some(&b'#') {
        let (code, size) = if matches!(rest.get(1), Some(b'x' | b'X')) {
            let (code, size) = hex(rest.get(2..)?, 1, 10)?;
            (code, size + 2)
        } else {
            let (code, size) = number(rest.get(1..)?, 10, 1, 10)?;
            (code, size + 1)
        };
        return Some((Meaning::character(code)?, semicolon(size)));
    }
    let known = |name: &&(&[u8], u8)| {
        rest.starts_with(name.0)
            && (rest.get(name.0.len()) == Some(&b';') || WITHOUT_SEMICOLON.contains(&name.0))
    };
    let (name, byte) = NAMED.iter().filter(known).max_by_key(|(name, _)| name.len())?;
    Some((Meaning::byte(u32::from(*byte)), semicolon(name.len())))
}

fn hex(text: &[u8], least: usize, most: usize) -> Option<(u32, usize)> {
    number(text, 16, least, most)
}

/// A number in digits of that base, and how many there are.
fn number(text: &[u8], base: u32, least: usize, most: usize) -> Option<(u32, usize)> {
    let digits = text.iter().take(most).map_while(|byte| char::from(*byte).to_digit(base));
    let (mut value, mut size) = (0u32, 0);
    for digit in digits {
        value = value.checked_mul(base)?.checked_add(digit)?;
        size += 1;
    }
    (size >= least).then_some((value, size))
}

/// A text that is safe to show in a terminal: characters that move the cursor, change the text direction
/// or begin a new line are escaped.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if !is_unprintable(c) => shown.push(c),
            c if u32::from(c) < 0x100 => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

/// The beginning of an authorization server's text, safe to show in a terminal.
pub fn excerpt(text: &str) -> String {
    let cut = text
        .char_indices()
        .nth(EXCERPT_CHARACTERS)
        .map_or(text, |(end, _)| text.get(..end).unwrap_or_default());
    printable(cut).into_owned()
}

/// C0, DEL, C1, the marks, embeddings and isolates of bidirectional text, and line separators.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// A value of a record, for errors, in one line. Of a long one, only the beginning: no credentials are known
/// here that it may repeat, and no other value is long.
pub fn record_value(json: &str) -> String {
    const WHOLE: usize = 26;
    const BEGINNING: usize = 8;
    let in_one_line = |c: char| if c.is_control() { ' ' } else { c };
    if json.chars().nth(WHOLE).is_none() {
        return json.chars().map(in_one_line).collect();
    }
    let beginning: String = json.chars().take(BEGINNING).map(in_one_line).collect();
    format!("{beginning}... ({} bytes)", json.len())
}

#[cfg(test)]
mod tests {
    use super::{printable, unescape, unescape_lines};

    fn unescaped(text: &str) -> String {
        String::from_utf8(unescape(text.as_bytes()).bytes.to_vec()).expect("text")
    }

    #[test]
    fn escapes_are_undone_in_all_their_layers() {
        for (text, expected) in [
            ("a%2Fb%2fc", "a/b/c"),
            ("%252F", "/"),
            ("\\u002f\\u002F\\/", "///"),
            ("\\\\u002f", "/"),
            ("\\u00e9%C3%A9&#233;", "ééé"),
            ("\\ud83d\\ude00\\u{1f600}", "😀😀"),
            ("%u0041%u00E9%u4e00%25u0041", "Aé一A"),
            ("&amp;amp;&lt;&#60;&#x3c;&#X3C", "&<<<<"),
            ("a+b", "a b"),
            ("%2B", " "),
        ] {
            assert_eq!(unescaped(text), expected, "{text}");
        }
    }

    #[test]
    fn an_escape_may_be_broken_into_lines() {
        for text in
            ["%\n41", "%4\n1", "%2541", "%25\r\n41", "%25%0A41", "% 2 5 4 1", "&\nam\np;#65;"]
        {
            let unescaped = unescape_lines(text.as_bytes());
            assert_eq!(unescaped.bytes.as_slice(), b"A", "{text}");
            assert_eq!((unescaped.position(0), unescaped.position(1)), (0, text.len()), "{text}");
        }
    }

    #[test]
    fn text_without_escapes_is_unchanged() {
        for text in [
            "",
            "%",
            "%g1",
            "%u004",
            "100% sure",
            "\\",
            "\\q",
            "\\u12",
            "&",
            "&unknown;",
            "&#;",
            "\\ud83d",
        ] {
            assert_eq!(unescaped(text), text);
        }
    }

    #[test]
    fn each_byte_has_its_position() {
        let unescaped = unescape(b"a%2F\\u00e9z");
        assert_eq!(unescaped.bytes.as_slice(), "a/\u{e9}z".as_bytes());
        let positions: Vec<usize> = (0..=5).map(|index| unescaped.position(index)).collect();
        assert_eq!(positions, [0, 1, 4, 4, 10, 11]);
    }

    #[test]
    fn characters_that_move_the_cursor_are_escaped() {
        let text = "a\x1b[2J\r\n\t\u{7f}\u{9b}\u{202e}\u{2028}\u{2069}é 價";
        let shown = printable(text);
        assert_eq!(shown, "a\\x1b[2J\\r\\n\\t\\x7f\\x9b\\u202e\\u2028\\u2069é 價");
        assert_eq!(printable(&shown), shown);
    }
}
