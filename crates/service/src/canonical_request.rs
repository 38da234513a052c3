//! The canonical request that is signed (section 5.2): five lines.

use sha2::{Digest, Sha256};

/// Joins the five fields with line feeds. An empty field keeps its separator.
///
/// `path` has no domain and no query; `query` is the final query string as sent, without `?`.
pub fn payload(timestamp_ms: i64, method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let method = method.to_ascii_uppercase();
    format!("{timestamp_ms}\n{method}\n{path}\n{query}\n{}", body_hash(body)).into_bytes()
}

/// Returns the lowercase hexadecimal SHA-256 of the raw body; an empty text for an empty body.
pub fn body_hash(body: &[u8]) -> String {
    if body.is_empty() {
        return String::new();
    }
    let digest = Sha256::digest(body);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_separator_stays_when_a_field_is_empty() {
        assert_eq!(payload(1, "get", "/p", "", b""), b"1\nGET\n/p\n\n");
    }

    #[test]
    fn the_hash_is_that_of_the_raw_bytes() {
        // FIPS 180-4, "abc".
        assert_eq!(
            body_hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    proptest! {
        #[test]
        fn the_fields_can_be_read_back(
            timestamp in any::<i64>(),
            method in "[A-Z]{1,8}",
            path in "/[!-~]{0,40}",
            query in "[!-~]{0,40}",
            body in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let text = String::from_utf8(payload(timestamp, &method, &path, &query, &body))
                .expect("text");
            let lines: Vec<&str> = text.split('\n').collect();
            let (timestamp, hash) = (timestamp.to_string(), body_hash(&body));
            prop_assert_eq!(lines, [&*timestamp, &*method, &*path, &*query, &*hash]);
        }
    }
}
