//! Redacts secrets that a service repeats. A secret that occurs exactly is masked. A text that has
//! a secret in another spelling (percent-encoded, JSON-escaped, HTML-escaped, in Base64) is
//! withheld whole.

use std::{borrow::Cow, fmt, iter, ops::Range};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use memchr::memmem::Finder;
use zeroize::{Zeroize, Zeroizing};

use super::escapes::unescaped;

const MASK: &[u8] = b"***";
const WITHHELD: &[u8] = b"[withheld: it repeats a secret of this client]";
/// A secret with fewer bytes could be part of an ordinary word, so only whole words are recognized.
const SHORT_BYTES: usize = 8;
/// Minimum length of a secret's beginning that is redacted. Unrelated texts have fewer bytes in
/// common.
const TELLING_BYTES: usize = 12;
/// Number of layers of escapes that are undone: an error shows a response unchanged, so a spelling
/// may occur in JSON that is escaped itself.
const LAYERS: usize = 2;
/// Number of bytes of a text that are held until secrets are redacted. Much less is shown, so that
/// no secret is cut in two before it is found.
pub const HELD_BYTES: usize = 4 * SHOWN_BYTES;
/// Number of bytes of a service's text that an error shows.
pub const SHOWN_BYTES: usize = 2048;

/// The secrets to redact.
#[derive(Default)]
pub struct Redactor(Vec<Secret>);

/// Text that may be shown: only a [`Redactor`] makes it, or a constant.
#[derive(Clone, PartialEq, Eq)]
pub struct Shown(Cow<'static, str>);

struct Secret {
    text: Zeroizing<Vec<u8>>,
    in_base64: Vec<Zeroizing<Vec<u8>>>,
}

impl Shown {
    /// Wraps a constant.
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

crate::shown_as!(Redactor, "Redactor(..)");

impl Redactor {
    /// Redacts these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets =
            secrets.into_iter().filter(|secret| !secret.is_empty()).map(|secret| Secret {
                text: Zeroizing::new(secret.as_bytes().to_vec()),
                in_base64: if secret.len() < SHORT_BYTES { Vec::new() } else { in_base64(secret) },
            });
        Redactor(secrets.collect())
    }

    /// Returns the same secrets in lower case, as in the name of a header.
    #[must_use]
    pub fn in_lower_case(&self) -> Self {
        let lower = |text: &Zeroizing<Vec<u8>>| Zeroizing::new(text.to_ascii_lowercase());
        let secrets = self.0.iter().map(|Secret { text, in_base64 }| Secret {
            text: lower(text),
            in_base64: in_base64.iter().map(lower).collect(),
        });
        Redactor(secrets.collect())
    }

    /// Returns the text that may be shown.
    pub fn show(&self, text: impl fmt::Display) -> Shown {
        let mut text = text.to_string();
        self.redact(&mut text);
        Shown(Cow::Owned(text))
    }

    /// Redacts a text of the service, and keeps only the shown part of it.
    pub fn redact(&self, text: &mut String) {
        if text.len() > HELD_BYTES {
            *text = held(text).to_owned();
        }
        let end = beginning(text, SHOWN_BYTES).len();
        let shown =
            String::from_utf8_lossy(&self.redacted_until(text.as_bytes(), end)).into_owned();
        std::mem::replace(text, shown).zeroize();
        text.truncate(beginning(text, SHOWN_BYTES).len());
    }

    /// Returns the complete text without secrets.
    #[doc(hidden)]
    pub fn redacted<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.redacted_until(text, text.len())
    }

    /// Returns true if a text has a whole secret, in any spelling. The beginning of a secret does
    /// not suffice, because other secrets may have the same one: all tokens of a service may begin
    /// with the same words.
    pub fn is_in(&self, text: &str) -> bool {
        let text = text.as_bytes();
        self.is_exactly_in(text, usize::MAX) || self.is_spelled_in(text, usize::MAX, LAYERS)
    }

    /// Redacts a text up to a position. If a secret is at that position, the text ends before the
    /// secret.
    fn redacted_until<'a>(&self, text: &'a [u8], end: usize) -> Cow<'a, [u8]> {
        let mut found: Vec<_> = self.0.iter().flat_map(|secret| find(text, &secret.text)).collect();
        found.sort_unstable_by_key(|span| span.start);
        if self.is_spelled_in(&masked(text, &found, text.len()), TELLING_BYTES, LAYERS) {
            return Cow::Borrowed(WITHHELD);
        }
        found.extend(self.0.iter().flat_map(|secret| secret.begun_in(text)));
        found.sort_unstable_by_key(|span| span.start);
        masked(text, &found, end)
    }

    /// Returns true if the first bytes of the secret, at most this many, occur in a text.
    fn is_exactly_in(&self, text: &[u8], most: usize) -> bool {
        self.0.iter().any(|secret| find(text, start(&secret.text, most)).next().is_some())
    }

    /// Returns true if these bytes occur in a text in another spelling, within this many layers of
    /// escapes.
    fn is_spelled_in(&self, text: &[u8], most: usize, layers: usize) -> bool {
        let most_encoded = most.saturating_mul(4) / 3;
        let mut encoded = self.0.iter().flat_map(|secret| &secret.in_base64);
        encoded.any(|encoded| find(text, start(encoded, most_encoded)).next().is_some())
            || (layers > 0 && !self.0.is_empty())
                && unescaped(text).any(|text| {
                    self.is_exactly_in(&text, most) || self.is_spelled_in(&text, most, layers - 1)
                })
    }
}

impl Secret {
    /// Finds the positions at which a text has the beginning of the secret, which a service has
    /// cut.
    fn begun_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let telling = self.text.get(..TELLING_BYTES).filter(|_| self.text.len() > TELLING_BYTES);
        for span in telling.into_iter().flat_map(|telling| find(text, telling)) {
            let rest = text.get(span.start..).unwrap_or_default();
            // A part of the last match is not compared again: a text may repeat one character.
            if found.last().is_none_or(|last| last.end <= span.start) {
                let same = rest.iter().zip(self.text.iter()).take_while(|(a, b)| a == b).count();
                found.push(span.start..span.start + same);
            }
        }
        found
    }
}

/// Finds the positions of bytes in a text; short bytes only as a whole word.
fn find<'a>(text: &'a [u8], wanted: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
    let finder = Finder::new(wanted);
    let (size, is_short) = (wanted.len(), wanted.len() < SHORT_BYTES);
    let mut at = 0;
    let spans = iter::from_fn(move || {
        let from = at + finder.find(text.get(at..)?)?;
        at = from + if is_short { 1 } else { size };
        Some(from..from + size)
    });
    let is_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    spans.filter(move |span| {
        !is_short || !(span.start.checked_sub(1).is_some_and(is_word) || is_word(span.end))
    })
}

/// Returns a text up to a position, with a mask for each of these parts, which are sorted.
fn masked<'a>(text: &'a [u8], parts: &[Range<usize>], end: usize) -> Cow<'a, [u8]> {
    if parts.is_empty() {
        return Cow::Borrowed(start(text, end));
    }
    let (mut shown, mut at) = (Vec::with_capacity(text.len()), 0);
    for part in parts.iter().filter(|part| part.start < end) {
        if part.start >= at {
            shown.extend_from_slice(text.get(at..part.start).unwrap_or_default());
            shown.extend_from_slice(MASK);
        }
        at = at.max(part.end);
    }
    shown.extend_from_slice(text.get(at..end).unwrap_or_default());
    Cow::Owned(shown)
}

fn start(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

/// Returns the beginning of a text of the service, so that an endless text costs no more than this
/// much of it.
pub fn held(text: &str) -> &str {
    beginning(text, HELD_BYTES)
}

/// Truncates a text to at most this many bytes, between two characters.
fn beginning(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the Base64 characters, in both alphabets, that depend on the secret alone and not on the
/// bytes encoded before or after it: one text for each position of its first byte in a group of
/// three.
fn in_base64(secret: &str) -> Vec<Zeroizing<Vec<u8>>> {
    let mut texts = Vec::new();
    for (before, undecided) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = Zeroizing::new(Vec::with_capacity(before + secret.len()));
        bytes.resize(before, 0);
        bytes.extend_from_slice(secret.as_bytes());
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = Zeroizing::new(engine.encode(bytes.as_slice()));
            let end = encoded.len() - usize::from(bytes.len() % 3 != 0);
            let decided = encoded.get(undecided..end).unwrap_or_default();
            texts.push(Zeroizing::new(decided.as_bytes().to_vec()));
        }
    }
    texts
}

#[cfg(test)]
mod tests;
