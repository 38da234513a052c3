//! A cursor over JSON text, by hand: the grammar of RFC 8259, nothing allocated, nothing kept.
//!
//! Every step gives `None` where the text is not what it should be, and then the cursor is of no
//! more use: whoever moves it leaves the answer to the general path, which knows how to tell what
//! is wrong. So it may be stricter than that path (it is with lone surrogates), never laxer.

use super::{
    bytes::{digits_end, plain_end, same},
    json::MAX_NESTING,
    raw::{ByteRange, Raw, escaped_char, simple_escape},
};

/// A place in JSON text.
#[derive(Debug, Clone)]
pub struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

/// A key from its quote to behind its colon, and the key alone.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    pub token: &'a str,
    pub name: Raw<'a>,
}

impl<'a> JsonReader<'a> {
    pub fn new(text: &'a str, at: usize) -> Self {
        JsonReader { text, at }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    #[inline(always)]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Steps over an opening bracket; whether something stands before the closing one.
    #[inline(always)]
    pub fn begin_container(&mut self, bracket: u8, closing: u8) -> Option<bool> {
        self.eat(bracket)?;
        let filled = self.peek()? != closing;
        self.at += usize::from(!filled);
        Some(filled)
    }

    /// Steps over what stands behind a member or item; whether another one follows.
    #[inline(always)]
    pub fn more(&mut self, closing: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => self.peek().map(|_| true),
            _ if byte == closing => Some(false),
            _ => None,
        }
    }

    #[inline(always)]
    fn eat(&mut self, wanted: u8) -> Option<()> {
        if self.peek()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Steps over a key with its colon where they are written exactly so.
    #[inline(always)]
    pub fn predicted(&mut self, token: &[u8]) -> bool {
        let hit = match self.text.as_bytes().get(self.at..self.at + token.len()) {
            Some(bytes) => same(bytes, token),
            None => false,
        };
        if hit {
            self.at += token.len();
        }
        hit && !token.is_empty()
    }

    /// Steps over any key and its colon.
    pub fn key(&mut self) -> Option<Key<'a>> {
        let start = self.at;
        let escaped = self.string()?;
        let name = Raw { json: self.text.get(start..self.at)?, escaped };
        self.eat(b':')?;
        Some(Key { token: self.text.get(start..self.at)?, name })
    }

    /// Steps over any value that `depth` brackets stand around.
    #[inline(always)]
    pub fn value(&mut self, depth: usize) -> Option<ByteRange> {
        let first = self.peek()?;
        let start = self.at;
        let escaped = match first {
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number().map(|()| false)?,
            _ => self.other(first, depth).map(|()| false)?,
        };
        Some(ByteRange { start, end: self.at, escaped })
    }

    fn other(&mut self, first: u8, depth: usize) -> Option<()> {
        match first {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => None,
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.predicted(word.as_bytes()).then_some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let depth = deeper(depth)?;
        let mut more = self.begin_container(b'{', b'}')?;
        while more {
            self.string()?;
            self.eat(b':')?;
            self.value(depth)?;
            more = self.more(b'}')?;
        }
        Some(())
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let depth = deeper(depth)?;
        let mut more = self.begin_container(b'[', b']')?;
        while more {
            self.value(depth)?;
            more = self.more(b']')?;
        }
        Some(())
    }

    /// Steps over a string; whether it has escapes. A lone surrogate is no text.
    #[inline(always)]
    fn string(&mut self) -> Option<bool> {
        let bytes = self.text.as_bytes();
        if self.byte()? != b'"' {
            return None;
        }
        let end = plain_end(bytes, self.at + 1);
        match bytes.get(end)? {
            b'"' => {
                self.at = end + 1;
                Some(false)
            }
            b'\\' => self.escaped_string(end).map(|()| true),
            _ => None,
        }
    }

    /// Goes on with a string from its first backslash.
    #[inline(never)]
    fn escaped_string(&mut self, mut at: usize) -> Option<()> {
        let bytes = self.text.as_bytes();
        loop {
            at = match bytes.get(at + 1)? {
                b'u' => escaped_char(bytes, at)?.1,
                other => simple_escape(*other).map(|_| at + 2)?,
            };
            at = plain_end(bytes, at);
            match bytes.get(at)? {
                b'"' => break,
                b'\\' => {}
                _ => return None,
            }
        }
        self.at = at + 1;
        Some(())
    }

    #[inline(always)]
    fn number(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let start = self.at + usize::from(self.byte()? == b'-');
        let mut at = digits_end(bytes, start);
        let leading_zero = at > start + 1 && bytes.get(start) == Some(&b'0');
        if at == start || leading_zero {
            return None;
        }
        if bytes.get(at) == Some(&b'.') {
            let fraction = at + 1;
            at = digits_end(bytes, fraction);
            if at == fraction {
                return None;
            }
        }
        if let Some(b'e' | b'E') = bytes.get(at) {
            let exponent = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            at = digits_end(bytes, exponent);
            if at == exponent {
                return None;
            }
        }
        self.at = at;
        Some(())
    }
}

/// One more bracket, if there may be one.
pub fn deeper(depth: usize) -> Option<usize> {
    (depth < MAX_NESTING).then_some(depth + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What serde makes of it: the whole text as one value.
    fn valid(text: &str) -> bool {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    }

    fn taken(text: &str) -> bool {
        let mut reader = JsonReader::new(text, 0);
        reader.value(0).is_some() && reader.peek().is_none()
    }

    #[test]
    fn numbers_and_words_are_those_of_the_grammar() {
        for text in [
            "0",
            "-0",
            "10",
            "-1.50",
            "1e5",
            "1E+05",
            "0.1e-9",
            "true",
            "false",
            "null",
            " [ ] ",
            "12345678901234567890123456789",
            "1.12345678901234567890123456789e12345678901234567890",
        ] {
            assert!(taken(text) && valid(text), "{text}");
        }
        for text in [
            "",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "+1",
            "1e",
            "1e+",
            "1.e5",
            "tru",
            "nul",
            "NaN",
            "[1,]",
            "[,1]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1 2]",
            "[1}",
            "{\"a\":1]",
            "\"",
            "\"\\\"",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u123\"",
            "1 1",
        ] {
            assert!(!taken(text) && !valid(text), "{text}");
        }
    }

    #[test]
    fn nesting_ends_where_the_general_path_ends_it() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |levels| format!("{}1{}", open.repeat(levels), close.repeat(levels));
            assert!(taken(&nested(MAX_NESTING)));
            assert!(!taken(&nested(MAX_NESTING + 1)));
        }
    }

    fn escape() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z\u{e9}\u{4e2d}\u{1f600}]{0,20}",
            any::<u16>().prop_map(|unit| format!("\\u{unit:04x}")),
            (0xd7f0_u16..0xe010).prop_map(|unit| format!("\\u{unit:04X}")),
            any::<char>().prop_filter("above the first plane", |c| *c as u32 > 0xffff).prop_map(
                |c| {
                    c.encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|unit| format!("\\u{unit:04x}"))
                        .collect()
                }
            ),
            "\\\\[\"\\\\/bfnrtux0]",
            "[\u{0}-\u{22}]",
        ]
    }

    proptest! {
        #[test]
        fn strings_are_read_as_serde_reads_them(
            parts in proptest::collection::vec(escape(), 0..8),
        ) {
            let text = format!("\"{}\"", parts.concat());
            let theirs = serde_json::from_str::<String>(&text).ok();
            let mut reader = JsonReader::new(&text, 0);
            let ours = reader.value(0).filter(|span| span.end == text.len());
            let ours = ours.map(|span| span.of(&text).unwrap().string().unwrap().into_owned());
            prop_assert_eq!(ours, theirs);
        }
    }
}
