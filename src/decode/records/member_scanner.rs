//! The members of one object after another: the keys are nearly always those of the object before.

use crate::decode::json::{ByteRange, JsonReader, Raw};

/// The keys and the positions of the values of the object that was read last.
#[derive(Debug, Default)]
pub(crate) struct MemberScanner {
    /// Each key through its colon.
    tokens: Vec<Box<str>>,
    values: Vec<ByteRange>,
}

impl MemberScanner {
    /// Reads an object; `None` if it is not as expected.
    pub fn read(&mut self, reader: &mut JsonReader<'_>) -> Option<()> {
        self.values.clear();
        let mut has_next = reader.begin_container(b'{', b'}')?;
        while has_next {
            let index = self.values.len();
            let expected = self.tokens.get(index).map_or("", |token| token);
            if !reader.read_if(expected.as_bytes()) {
                let token = reader.read_key()?.token.into();
                match self.tokens.get_mut(index) {
                    Some(previous) => *previous = token,
                    None => self.tokens.push(token),
                }
            }
            self.values.push(reader.read_value(1)?);
            has_next = reader.has_next(b'}')?;
        }
        self.tokens.truncate(self.values.len());
        Some(())
    }

    /// The keys through their colons.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.tokens.iter().map(|token| &**token)
    }

    /// The value of the key with this index, in the text that was read.
    #[inline(always)]
    pub fn value<'a>(&self, text: &'a str, index: usize) -> Option<Raw<'a>> {
        self.values.get(index)?.of(text)
    }
}
