//! Response bodies, checked once to be UTF-8.

use bytes::Bytes;

use crate::{
    error::{Error, Result},
    os::texts::without_mark,
};

/// The bytes of a response body, known to be UTF-8.
#[derive(Debug, Clone, Default)]
pub(super) struct Utf8Bytes(Bytes);

impl Utf8Bytes {
    /// Wraps the text without a byte order mark, which is ignored (RFC 8259, section 8.1).
    pub fn new(bytes: &Bytes) -> Result<Self> {
        check_utf8(bytes).map(|text| Utf8Bytes(bytes.slice_ref(text.as_bytes())))
    }

    #[expect(unsafe_code, reason = "values are cut from the text on every access to a record")]
    pub fn as_str(&self) -> &str {
        // SAFETY: `new` has checked these bytes, those of `default` are none, and the bytes behind
        // a `Bytes` never change.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// The body as text, without a byte order mark.
pub(in crate::decode) fn check_utf8(body: &Bytes) -> Result<&str> {
    simdutf8::basic::from_utf8(without_mark(body))
        .map_err(|_| Error::protocol("the response is not UTF-8", body))
}
