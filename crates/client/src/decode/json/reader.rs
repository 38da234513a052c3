//! A forward-only reader of JSON text that allocates nothing.
//!
//! Every step returns `None` if the text is not as expected, and the reader is useless from then
//! on: the caller falls back to the slow path, which produces the error message. The reader may
//! therefore be stricter than the slow path, but never more lenient.

use super::{
    raw::{ByteRange, Raw},
    tokens::{literal_end, number_end, string_end},
};

/// Maximum nesting: no documented response has more than a handful of levels.
pub(super) const MAX_NESTING: usize = 64;

/// A position in a JSON text.
#[derive(Debug, Clone)]
pub(crate) struct JsonReader<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> JsonReader<'a> {
    pub fn new(text: &'a str, position: usize) -> Self {
        JsonReader { text, position }
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the next byte that is not white space.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.text.as_bytes().get(self.position).copied()?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.position += 1;
        }
    }

    /// Reads an opening bracket, and the closing one if it follows. Returns true if there are
    /// items.
    #[inline(always)]
    pub fn begin_container(&mut self, opening: u8, closing: u8) -> Option<bool> {
        self.expect(opening)?;
        let has_items = self.peek()? != closing;
        self.position += usize::from(!has_items);
        Some(has_items)
    }

    /// Reads the comma or closing bracket after an item. Returns true if another item follows.
    #[inline(always)]
    pub fn has_next(&mut self, closing: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.position += 1;
        match byte {
            b',' => self.peek().map(|_| true),
            _ if byte == closing => Some(false),
            _ => None,
        }
    }

    /// Reads exactly this text if it comes next. Returns true if it does.
    #[inline(always)]
    pub fn read_if(&mut self, expected: &[u8]) -> bool {
        match literal_end(self.text.as_bytes(), self.position, expected) {
            Some(end) => {
                self.position = end;
                !expected.is_empty()
            }
            None => false,
        }
    }

    /// Continues from this position.
    pub fn continue_at(&mut self, position: usize) {
        self.position = position;
    }

    /// Reads a key and its colon.
    pub fn read_key(&mut self) -> Option<Raw<'a>> {
        let start = self.position;
        let escaped = self.read_string()?;
        let name = ByteRange { start, end: self.position, escaped }.of(self.text)?;
        self.expect(b':')?;
        Some(name)
    }

    /// Reads any value that is nested `depth` levels deep.
    #[inline(always)]
    pub fn read_value(&mut self, depth: usize) -> Option<ByteRange> {
        let first = self.peek()?;
        let start = self.position;
        let escaped = match first {
            b'"' => self.read_string()?,
            b'-' | b'0'..=b'9' => {
                self.position = number_end(self.text.as_bytes(), start)?;
                false
            }
            _ => self.read_container_or_literal(first, depth).map(|()| false)?,
        };
        Some(ByteRange { start, end: self.position, escaped })
    }

    fn read_container_or_literal(&mut self, first: u8, depth: usize) -> Option<()> {
        match first {
            b'{' => self.read_object(depth),
            b'[' => self.read_list(depth),
            b't' => self.read_literal(b"true"),
            b'f' => self.read_literal(b"false"),
            b'n' => self.read_literal(b"null"),
            _ => None,
        }
    }

    fn read_literal(&mut self, literal: &[u8]) -> Option<()> {
        self.read_if(literal).then_some(())
    }

    fn read_object(&mut self, depth: usize) -> Option<()> {
        let depth = deeper(depth)?;
        let mut has_next = self.begin_container(b'{', b'}')?;
        while has_next {
            self.read_string()?;
            self.expect(b':')?;
            self.read_value(depth)?;
            has_next = self.has_next(b'}')?;
        }
        Some(())
    }

    fn read_list(&mut self, depth: usize) -> Option<()> {
        let depth = deeper(depth)?;
        let mut has_next = self.begin_container(b'[', b']')?;
        while has_next {
            self.read_value(depth)?;
            has_next = self.has_next(b']')?;
        }
        Some(())
    }

    /// Reads a string. Returns true if it has escapes.
    #[inline(always)]
    fn read_string(&mut self) -> Option<bool> {
        let (end, escaped) = string_end(self.text.as_bytes(), self.position)?;
        self.position = end;
        Some(escaped)
    }

    #[inline(always)]
    fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.position += 1;
        Some(())
    }
}

/// Returns the next nesting level, unless it is too deep.
pub(super) fn deeper(depth: usize) -> Option<usize> {
    (depth < MAX_NESTING).then_some(depth + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text in which serde leaves each lone surrogate as three bytes that are not UTF-8.
    struct Lossy(String);

    impl<'de> serde::Deserialize<'de> for Lossy {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            struct Bytes;
            impl serde::de::Visitor<'_> for Bytes {
                type Value = Lossy;
                fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    out.write_str("a text")
                }
                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                    let (mut text, mut invalid) = (String::new(), 0);
                    for chunk in bytes.utf8_chunks() {
                        text.push_str(chunk.valid());
                        invalid += chunk.invalid().len();
                        if invalid == 3 {
                            text.push('\u{fffd}');
                            invalid = 0;
                        }
                    }
                    Ok(Lossy(text))
                }
            }
            from.deserialize_bytes(Bytes)
        }
    }

    /// Returns true if serde reads the whole text as one value.
    fn serde_accepts(text: &str) -> bool {
        serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    }

    fn accepts(text: &str) -> bool {
        let mut reader = JsonReader::new(text, 0);
        reader.read_value(0).is_some() && reader.peek().is_none()
    }

    #[test]
    fn numbers_and_literals_follow_the_grammar() {
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
            assert!(accepts(text) && serde_accepts(text), "{text}");
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
            assert!(!accepts(text) && !serde_accepts(text), "{text}");
        }
    }

    #[test]
    fn nesting_has_the_same_limit_as_the_slow_path() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = |levels| format!("{}1{}", open.repeat(levels), close.repeat(levels));
            assert!(accepts(&nested(MAX_NESTING)));
            assert!(!accepts(&nested(MAX_NESTING + 1)));
        }
    }

    fn escape() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z\u{e9}\u{4e2d}\u{1f600}]{0,20}",
            any::<u16>().prop_map(|unit| format!("\\u{unit:04x}")),
            (0xd7f0_u16..0xe010).prop_map(|unit| format!("\\u{unit:04X}")),
            any::<char>().prop_filter("outside the basic plane", |c| *c as u32 > 0xffff).prop_map(
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
        fn strings_match_serde(
            parts in proptest::collection::vec(escape(), 0..8),
        ) {
            let text = format!("\"{}\"", parts.concat());
            let theirs = serde_json::from_str::<Lossy>(&text).ok().map(|Lossy(text)| text);
            // As bytes, serde also accepts control characters.
            let theirs = theirs.filter(|_| serde_accepts(&text));
            let mut reader = JsonReader::new(&text, 0);
            let ours = reader.read_value(0).filter(|range| range.end == text.len());
            let ours = ours.map(|range| range.of(&text).unwrap().text().unwrap().into_owned());
            prop_assert_eq!(ours, theirs);
        }
    }
}
