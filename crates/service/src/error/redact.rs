//! Redacts secrets that a service repeats, in any spelling.
//!
//! Text and secrets are both unescaped first: percent-encoding, JSON and HTML escapes are undone, also
//! mixed and nested, and line breaks and spaces are left out. A secret that is found in what remains is
//! replaced in the original.

use std::{borrow::Cow, fmt};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use zeroize::{Zeroize, Zeroizing};

use super::{
    escapes::{squeeze, unescape, unescape_lines},
    search::Needle,
};

const MASK: &str = "***";
/// A shorter secret could be part of an ordinary word: it is replaced only if it is a whole word.
const SHORT_BYTES: usize = 8;
/// The shortest beginning of a secret that is redacted anywhere. Unrelated texts have fewer bytes in common.
const TELLING_BYTES: usize = 12;
/// The shortest beginning of a truncated secret that is redacted.
const SHORTEST_BEGINNING: usize = 4;
/// The longest spelling of one character, such as `\\u002B`, with a few layers of escapes.
const SPELLING_BYTES: usize = 16;
/// How much of a text is held until secrets are redacted: one that the cut went through would remain.
pub const HELD_BYTES: usize = 4 * SHOWN_BYTES;
/// How much of a text of the service an error shows.
pub const SHOWN_BYTES: usize = 2048;
/// The longest character: a cut may remove up to this much to keep the last one whole.
const UTF8_LONGEST: usize = 4;

/// The spellings of some secrets.
#[derive(Default)]
pub struct Redactor(Vec<Pattern>);

/// Text that may be shown: only a [`Redactor`] makes it, or a constant.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown(Cow<'static, str>);

struct Pattern {
    /// Not unescaped: the text before a secret may form an escape together with it.
    raw: Needle,
    /// Unescaped, if it is a whole word or has white space.
    unescaped: Option<Needle>,
    /// Unescaped and without white space, unless it is a whole word.
    squeezed: Option<Needle>,
    whole_word: bool,
}

impl Shown {
    /// A constant.
    pub const fn constant(text: &'static str) -> Self {
        Shown(Cow::Borrowed(text))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Redactor(..)")
    }
}

impl Redactor {
    /// Redacts these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Vec::new();
        for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
            let short = secret.len() < SHORT_BYTES;
            patterns.push(Pattern::new(secret.as_bytes(), short));
            if !short {
                let encoded = in_base64(secret.as_bytes()).into_iter().chain(in_hex(secret));
                patterns.extend(encoded.map(|encoded| Pattern::new(encoded.as_bytes(), false)));
            }
        }
        Redactor(patterns)
    }

    /// The same secrets in lower case, as they are in the name of a header.
    #[must_use]
    pub fn in_lower_case(&self) -> Self {
        let lower = |pattern: &Pattern| {
            let raw = Zeroizing::new(pattern.raw.bytes().to_ascii_lowercase());
            Pattern::new(&raw, pattern.whole_word)
        };
        Redactor(self.0.iter().map(lower).collect())
    }

    /// The text that may be shown.
    pub fn show(&self, text: impl fmt::Display) -> Shown {
        let mut text = text.to_string();
        self.redact_held(&mut text);
        Shown(Cow::Owned(text))
    }

    /// Redacts a complete text.
    pub fn redact(&self, text: &mut String) {
        if let Some(redacted) = self.redacted(text.as_bytes()) {
            let redacted = String::from_utf8_lossy(&redacted).into_owned();
            std::mem::replace(text, redacted).zeroize();
        }
    }

    /// Redacts a truncated text, which may end in the middle of a secret.
    pub fn redact_truncated(&self, text: &mut String) {
        self.redact(text);
        let Some(mut end) = self.truncated_secret(text.as_bytes()) else { return };
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MASK);
    }

    /// Redacts what [`held`] holds of a text, and keeps what is shown of it. No beginning of a secret is
    /// left where the text was cut.
    pub fn redact_held(&self, text: &mut String) {
        if text.len() > HELD_BYTES {
            *text = held(text).to_owned();
        }
        if text.len() + UTF8_LONGEST > HELD_BYTES {
            self.redact_truncated(text);
        } else {
            self.redact(text);
        }
        text.truncate(beginning(text, SHOWN_BYTES).len());
    }

    /// Whether a text has a whole secret, in any spelling. The beginning of one may be that of others: all
    /// tokens of a service may begin with the same words.
    pub fn is_in(&self, text: &str) -> bool {
        !self.find(text.as_bytes(), false).is_empty()
    }

    /// The bytes without secrets; `None` if they contain none.
    pub fn redacted(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut found = self.find(text, true);
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        let mut redacted = Vec::with_capacity(text.len());
        let mut end = 0;
        for (from, to) in found {
            if from >= end {
                redacted.extend_from_slice(text.get(end..from).unwrap_or_default());
                redacted.extend_from_slice(MASK.as_bytes());
            }
            end = end.max(to);
        }
        redacted.extend_from_slice(text.get(end..).unwrap_or_default());
        Some(redacted)
    }

    /// Where secrets are, and if they are wanted, their beginnings.
    fn find(&self, text: &[u8], beginnings: bool) -> Vec<(usize, usize)> {
        let mut found: Vec<(usize, usize)> = Vec::new();
        if self.0.is_empty() {
            return found;
        }
        let unescaped = unescape(text);
        let joined = unescape_lines(text);
        let squeezed = squeeze(&joined.bytes);
        for Pattern { raw, unescaped: wanted, squeezed: pieces, whole_word } in &self.0 {
            let is_whole = |text: &[u8], (from, to): (usize, usize)| {
                let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
                !whole_word
                    || !(is_word(from.checked_sub(1).and_then(|before| text.get(before)))
                        || is_word(text.get(to)))
            };
            found.extend(raw.find_in(text).filter(|&span| is_whole(text, span)));
            let original = |(from, to)| (unescaped.position(from), unescaped.position(to));
            let spans = wanted.iter().flat_map(|wanted| wanted.find_in(&unescaped.bytes));
            found.extend(spans.filter(|&span| is_whole(&unescaped.bytes, span)).map(original));
            let original = |(from, to)| {
                let (from, to) = (joined.position(from), joined.position(to));
                // White space after it does not belong to it.
                (from, from + text.get(from..to).unwrap_or_default().trim_ascii_end().len())
            };
            // Also if the service has cut it.
            let spans = pieces
                .iter()
                .filter(|_| beginnings)
                .flat_map(|pieces| pieces.find_beginnings(&squeezed.bytes, TELLING_BYTES));
            found.extend(spans.map(|span| original(squeezed.span(span))));
            let spans = pieces.iter().flat_map(|pieces| pieces.find_in(&squeezed.bytes));
            found.extend(spans.map(|span| original(squeezed.span(span))));
        }
        found
    }

    /// The position of a truncated secret at the end of the text. The last character may be truncated
    /// in its spelling, too.
    fn truncated_secret(&self, text: &[u8]) -> Option<usize> {
        let longest = self.0.iter().map(|pattern| pattern.raw.bytes().len()).max()?;
        let from = text.len().saturating_sub(longest.saturating_mul(SPELLING_BYTES));
        let tail = text.get(from..)?;
        let start = |left_out: usize| {
            let joined = unescape_lines(tail.get(..tail.len().checked_sub(left_out)?)?);
            let squeezed = squeeze(&joined.bytes);
            let patterns = self.0.iter().filter_map(|pattern| pattern.squeezed.as_ref());
            let begun = patterns.map(|pieces| pieces.begun_in(&squeezed.bytes));
            let size = begun.filter(|&size| size >= SHORTEST_BEGINNING).max()?;
            let (at, _) = squeezed.span((squeezed.bytes.len() - size, squeezed.bytes.len()));
            Some(from + joined.position(at))
        };
        (0..SPELLING_BYTES).filter_map(start).min()
    }
}

impl Pattern {
    fn new(secret: &[u8], short: bool) -> Self {
        let unescaped = unescape(secret).bytes;
        let squeezed = squeeze(&unescape_lines(secret).bytes).bytes;
        // Little more than white space: it is found only with it.
        let whole_word = short || squeezed.len() < SHORT_BYTES;
        let has_space = unescaped.iter().any(u8::is_ascii_whitespace);
        Pattern {
            raw: Needle::new(secret),
            unescaped: (whole_word || has_space).then(|| Needle::new(&unescaped)),
            squeezed: (!whole_word).then(|| Needle::new(&squeezed)),
            whole_word,
        }
    }
}

/// The beginning of a text of the service: a text without end must not cost more than this much of it.
pub fn held(text: &str) -> &str {
    beginning(text, HELD_BYTES)
}

/// At most so many bytes, cut between two characters.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The characters of Base64, in both alphabets, that depend on the secret alone and not on what is
/// encoded before or after it: one text for each position of its first byte in a group of three.
fn in_base64(secret: &[u8]) -> Vec<Zeroizing<String>> {
    let mut texts = Vec::new();
    for (before, undecided) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = Zeroizing::new(Vec::with_capacity(before + secret.len()));
        bytes.resize(before, 0);
        bytes.extend_from_slice(secret);
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = Zeroizing::new(engine.encode(bytes.as_slice()));
            let end = encoded.len() - usize::from(bytes.len() % 3 != 0);
            if let Some(decided) = encoded.get(undecided..end) {
                texts.push(Zeroizing::new(decided.to_owned()));
            }
        }
    }
    texts
}

/// The hexadecimal digits of the secret, in both cases.
fn in_hex(secret: &str) -> [Zeroizing<String>; 2] {
    let halves = secret.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
    let mut lower = Zeroizing::new(String::with_capacity(2 * secret.len()));
    lower.extend(halves.filter_map(|half| char::from_digit(u32::from(half), 16)));
    let upper = Zeroizing::new(lower.to_ascii_uppercase());
    [lower, upper]
}

#[cfg(test)]
mod tests;
