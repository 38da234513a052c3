//! Redacts secrets that a service repeats, in any spelling.
//!
//! Text and secrets are both unescaped first: percent-encoding, JSON and HTML escapes are undone, also
//! mixed and nested. A secret that is found in the unescaped text is replaced in the original.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use zeroize::Zeroizing;

use super::escapes::{Unescaped, unescape};

const MASK: &str = "***";
/// A shorter secret could be part of an ordinary word: it is replaced only if it is a whole word.
const SHORT_BYTES: usize = 8;
/// The shortest beginning of a truncated secret that is redacted.
const SHORTEST_BEGINNING: usize = 4;
/// The longest spelling of one character, such as `\\u002B`, with a few layers of escapes.
const SPELLING_BYTES: usize = 16;

/// The spellings of some secrets.
pub struct Redactor(Vec<Pattern>);

struct Pattern {
    /// Not unescaped: the text before a secret may form an escape together with it.
    raw: Zeroizing<Vec<u8>>,
    unescaped: Zeroizing<Vec<u8>>,
    whole_word: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Redactor(..)")
    }
}

impl Redactor {
    /// Redacts these secrets.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Vec::new();
        for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
            let whole_word = secret.len() < SHORT_BYTES;
            let mut add = |bytes: &[u8]| {
                patterns.push(Pattern {
                    raw: Zeroizing::new(bytes.to_vec()),
                    unescaped: Zeroizing::new(unescape(bytes).bytes),
                    whole_word,
                });
            };
            add(secret.as_bytes());
            if !whole_word {
                for encoded in in_base64(secret.as_bytes()) {
                    add(encoded.as_bytes());
                }
            }
        }
        Redactor(patterns)
    }

    /// Redacts a complete text.
    pub fn redact(&self, text: &mut String) {
        if let Some(redacted) = self.redacted(text.as_bytes()) {
            *text = String::from_utf8_lossy(&redacted).into_owned();
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

    /// The bytes without secrets; `None` if they contain none.
    pub fn redacted(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        let unescaped = unescape(text);
        let mut found: Vec<(usize, usize)> = Vec::new();
        for Pattern { raw, unescaped: wanted, whole_word } in &self.0 {
            found.extend(positions(raw, text, *whole_word).map(|at| (at, at + raw.len())));
            let ends = |at| (unescaped.position(at), unescaped.position(at + wanted.len()));
            found.extend(positions(wanted, &unescaped.bytes, *whole_word).map(ends));
        }
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

    /// The position of a truncated secret at the end of the text. The last character may be truncated
    /// in its spelling, too.
    fn truncated_secret(&self, text: &[u8]) -> Option<usize> {
        let longest = self.0.iter().map(|pattern| pattern.raw.len()).max()?;
        let from = text.len().saturating_sub(longest.saturating_mul(SPELLING_BYTES));
        let tail = text.get(from..)?;
        let start = |left_out: usize| {
            let unescaped: Unescaped = unescape(tail.get(..tail.len().checked_sub(left_out)?)?);
            let begins = |pattern: &Pattern| {
                let longest = pattern.unescaped.len().min(unescaped.bytes.len());
                (SHORTEST_BEGINNING..=longest).rev().find(|&size| {
                    pattern.unescaped.get(..size).is_some_and(|s| unescaped.bytes.ends_with(s))
                })
            };
            let whole = self.0.iter().filter(|pattern| !pattern.whole_word);
            let size = whole.filter_map(begins).max()?;
            Some(from + unescaped.position(unescaped.bytes.len() - size))
        };
        (0..SPELLING_BYTES).filter_map(start).min()
    }
}

/// The positions of some bytes in others, with `whole_word` only of whole words.
fn positions<'a>(
    wanted: &'a [u8],
    text: &'a [u8],
    whole_word: bool,
) -> impl Iterator<Item = usize> + 'a {
    let first = wanted.first().copied();
    text.iter().enumerate().filter_map(move |(at, byte)| {
        let found =
            Some(*byte) == first && text.get(at..).is_some_and(|rest| rest.starts_with(wanted));
        let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let within = whole_word
            && (is_word(at.checked_sub(1).and_then(|before| text.get(before)))
                || is_word(text.get(at + wanted.len())));
        (found && !within).then_some(at)
    })
}

/// The characters of Base64, in both alphabets, that depend on the secret alone and not on what is
/// encoded before or after it: one text for each position of its first byte in a group of three.
fn in_base64(secret: &[u8]) -> Vec<Zeroizing<String>> {
    let mut texts = Vec::new();
    for (before, undecided) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = Zeroizing::new(vec![0; before]);
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

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "aB3+/=_~.-&\"<x'%41\\";

    fn redacted(text: &str) -> String {
        let mut text = text.to_owned();
        Redactor::new([SECRET]).redact(&mut text);
        text
    }

    /// Every way to spell one character.
    fn spellings(c: char) -> Vec<String> {
        let code = u32::from(c);
        let mut ways = vec![
            c.to_string(),
            format!("%{code:02x}"),
            format!("%{code:02X}"),
            format!("%25{code:02X}"),
            format!("\\u{code:04x}"),
            format!("\\u{code:04X}"),
            format!("\\\\u{code:04x}"),
            format!("\\x{code:02x}"),
            format!("&#{code};"),
            format!("&#0{code};"),
            format!("&#x{code:x};"),
            format!("&#X{code:X};"),
            format!("&amp;#{code};"),
        ];
        let named =
            [('&', "&amp;"), ('"', "&quot;"), ('<', "&lt;"), ('\'', "&apos;"), ('+', "&plus;")];
        ways.extend(
            named.iter().filter(|(known, _)| *known == c).map(|(_, way)| (*way).to_owned()),
        );
        if "/\"\\".contains(c) {
            ways.push(format!("\\{c}"));
        }
        ways
    }

    #[test]
    fn each_spelling_is_found() {
        let most = SECRET.chars().map(|c| spellings(c).len()).max().expect("some");
        for way in 0..most {
            let spelled: String = SECRET
                .chars()
                .map(|c| {
                    let ways = spellings(c);
                    ways[way.min(ways.len() - 1)].clone()
                })
                .collect();
            assert_eq!(redacted(&format!("a {spelled}, b")), "a ***, b", "{spelled}");
        }
    }

    #[test]
    fn base64_is_found_wherever_the_secret_begins() {
        for before in ["", "x", "xy", "xyz", "Bearer "] {
            for behind in ["", "1", "12", "123"] {
                let whole = format!("{before}{SECRET}{behind}");
                for engine in [&STANDARD, &base64::engine::general_purpose::URL_SAFE] {
                    let encoded = engine.encode(&whole);
                    for text in [encoded.clone(), encoded.replace('+', "%2B").replace('/', "\\/")] {
                        let shown = redacted(&text);
                        assert!(shown.contains(MASK) && shown.len() < 20, "{whole}: {shown}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_plus_and_a_space_are_the_same_in_a_form() {
        let redactor = Redactor::new(["two words here"]);
        for text in ["two words here", "two+words+here", "two%20words+here", "two%20words%20here"] {
            let mut shown = format!("<{text}>");
            redactor.redact(&mut shown);
            assert_eq!(shown, "<***>");
        }
    }

    #[test]
    fn a_short_secret_is_found_only_as_a_whole_word() {
        let redactor = Redactor::new(["a"]);
        let mut text = "Bearer a was refused: \"a\", a%20, banana".to_owned();
        redactor.redact(&mut text);
        assert_eq!(text, "Bearer *** was refused: \"***\", ***%20, banana");
    }

    #[test]
    fn a_truncated_secret_is_not_shown() {
        let secret = "access-0123456789/abcdef";
        let redactor = Redactor::new([secret]);
        let escaped: String = secret.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
        let encoded = STANDARD.encode(secret);
        let begun: String = encoded.chars().take(6).collect();
        let half_escaped = format!("%61{}", secret.trim_start_matches('a'));
        for spelled in [secret.to_owned(), escaped, encoded, half_escaped] {
            for end in 0..spelled.len() {
                let cut: String = spelled.chars().take(end).collect();
                let mut text = format!("the body {cut}");
                redactor.redact_truncated(&mut text);
                let left = String::from_utf8(unescape(text.as_bytes()).bytes).expect("text");
                assert!(!left.contains("acces") && !left.contains(&begun), "{end}: {text}");
            }
        }
    }

    #[test]
    fn text_without_secrets_is_unchanged() {
        for text in ["", "50% of \\u00e9 &amp; more+", "aB3+/=_~.-&", "%", "\\u", "&#;"] {
            assert_eq!(redacted(text), text);
        }
        let mut text = "x".to_owned();
        Redactor::new([]).redact(&mut text);
        Redactor::new([""]).redact_truncated(&mut text);
        assert_eq!(text, "x");
    }

    proptest! {
        #[test]
        fn any_mixture_of_spellings_is_found(
            secret in "[A-Za-z0-9+/=_.~%&\"<-]{8,40}",
            choices in proptest::collection::vec(any::<prop::sample::Index>(), 40),
            before in "[ a-z]{0,10}",
        ) {
            let spelled: String = secret
                .chars()
                .zip(&choices)
                .map(|(c, choice)| choice.get(&spellings(c)).clone())
                .collect();
            let mut text = format!("{before} {spelled}");
            Redactor::new([secret.as_str()]).redact(&mut text);
            prop_assert!(text.starts_with(&format!("{before} ***")), "{}", text);
        }

        #[test]
        fn any_text_is_redacted_without_harm(text in "\\PC{0,200}", secret in "\\PC{0,30}") {
            let mut shown = text.clone();
            Redactor::new([secret.as_str()]).redact_truncated(&mut shown);
            prop_assert!(secret.len() < SHORT_BYTES || !shown.contains(&secret));
        }
    }
}
