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
        QueryDigest(hasher.finalize().first_chunk().copied().unwrap_or_default())
    }

    /// The cursor for the next position.
    pub fn cursor(self, place: u32) -> String {
        format!("{ODD}{}", STANDARD.encode([self.0.as_slice(), &place.to_be_bytes()].concat()))
    }

    /// The position; `None` if the cursor was altered or belongs to another query.
    pub fn read(self, cursor: &str) -> Option<u32> {
        let bytes = STANDARD.decode(cursor.strip_prefix(ODD)?).ok()?;
        let (digest, place) = bytes.split_first_chunk::<8>()?;
        let place = <[u8; 4]>::try_from(place).ok()?;
        (*digest == self.0).then(|| u32::from_be_bytes(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_only_for_its_own_purpose() {
        let digest = QueryDigest::new(7, &["fills", "HK"]);
        let cursor = digest.cursor(4_000_000_000);
        assert_eq!(digest.read(&cursor), Some(4_000_000_000));
        for odd in "/+&= ".chars() {
            assert!(cursor.contains(odd), "{cursor}");
        }
        for other in [&["fills", "US"][..], &["fillsHK"], &["fills", "HK", ""]] {
            assert_eq!(QueryDigest::new(7, other).read(&cursor), None);
        }
        assert_eq!(QueryDigest::new(8, &["fills", "HK"]).read(&cursor), None);
        for altered in ["", "x", cursor.split_at(1).1, &cursor.replace('+', " ")] {
            assert_eq!(digest.read(altered), None, "{altered}");
        }
    }
}
