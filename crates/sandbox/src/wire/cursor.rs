//! Cursors of pages: a position in a list, bound to its query. They contain characters that need
//! encoding in a URL, so that a client which alters them is detected.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

/// The beginning of every cursor.
const ODD: &str = "p /+&=%?#";

/// A digest of the query that a cursor belongs to: the endpoint with its filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryDigest([u8; 8]);

impl QueryDigest {
    pub fn new(seed: u64, parts: &[impl AsRef<str>]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        for part in parts.iter().map(AsRef::as_ref) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut digest = [0; 8];
        for (byte, hashed) in digest.iter_mut().zip(hasher.finalize()) {
            *byte = hashed;
        }
        QueryDigest(digest)
    }

    /// The cursor for two numbers: the next position, and a second one that stays fixed.
    pub fn cursor(self, place: u32, fixed: u32) -> String {
        let mut bytes = [0; 16];
        let parts = self.0.into_iter().chain(place.to_be_bytes()).chain(fixed.to_be_bytes());
        for (byte, part) in bytes.iter_mut().zip(parts) {
            *byte = part;
        }
        format!("{ODD}{}", STANDARD.encode(bytes))
    }

    /// The two numbers; `None` if the cursor was altered or belongs to another query.
    pub fn read(self, cursor: &str) -> Option<(u32, u32)> {
        let bytes = STANDARD.decode(cursor.strip_prefix(ODD)?).ok()?;
        let (digest, numbers) = bytes.split_first_chunk::<8>()?;
        let (place, fixed) = numbers.split_first_chunk::<4>()?;
        let fixed = <[u8; 4]>::try_from(fixed).ok()?;
        (*digest == self.0).then(|| (u32::from_be_bytes(*place), u32::from_be_bytes(fixed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_only_for_its_own_purpose() {
        let digest = QueryDigest::new(7, &["fills", "HK"]);
        let cursor = digest.cursor(4_000_000_000, 17);
        assert_eq!(digest.read(&cursor), Some((4_000_000_000, 17)));
        for odd in "/+&= ".chars() {
            assert!(cursor.contains(odd), "{cursor}");
        }
        for other in [&["fills", "US"][..], &["fillsHK"], &["fills", "HK", ""]] {
            assert_eq!(QueryDigest::new(7, other).read(&cursor), None);
        }
        assert_eq!(QueryDigest::new(8, &["fills", "HK"]).read(&cursor), None);
        for altered in ["", "x", cursor.trim_end_matches('='), &cursor.replace('+', " ")] {
            assert_eq!(digest.read(altered), None, "{altered}");
        }
    }
}
