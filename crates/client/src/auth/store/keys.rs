//! Keys of a store, and the lock file that guards each key.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

const REFUSED: &str = " %refused";

/// Returns the key of a client's tokens: the service's address and the client.
pub fn token_key(origin: &str, client_id: &str) -> String {
    format!("{origin} {}", one_word(client_id))
}

/// Returns the key of the tokens of an application's user.
pub fn user_key(origin: &str, client_id: &str, user: &str) -> String {
    format!("{} {}", token_key(origin, client_id), one_word(user))
}

/// Returns the key of a service's last registration, so that a new login finds it.
pub fn registration_key(origin: &str) -> String {
    origin.to_owned()
}

/// Returns the key under which the refusal of the tokens of another key is stored. No tokens have
/// such a key, because an encoded word has no such `%`.
pub fn refusal_key(key: &str) -> String {
    format!("{key}{REFUSED}")
}

/// Returns true if tokens are stored under this key, and not a registration or a refusal.
pub fn is_token_key(key: &str) -> bool {
    key.contains(' ') && !key.ends_with(REFUSED)
}

/// Returns the part of a lock file's name that belongs to a key; empty for a key without a user.
/// Users share a fixed number of lock files: there is no file per user.
pub fn lock_slot(key: &str) -> String {
    let has_user = key.split(' ').nth(2).is_some();
    match Sha256::digest(key).first() {
        Some(byte) if has_user => format!("{byte:02x}"),
        _ => String::new(),
    }
}

/// Encodes the characters that would make two keys the same or break a line. Different texts stay
/// different.
fn one_word(text: &str) -> String {
    let is_odd = |c: char| c == '%' || c.is_whitespace() || c.is_control();
    let encoded =
        |c: char| utf8_percent_encode(c.encode_utf8(&mut [0; 4]), NON_ALPHANUMERIC).to_string();
    text.chars().map(|c| if is_odd(c) { encoded(c) } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_tokens_differs_from_those_of_registrations_and_refusals() {
        let origin = "https://api.example.com";
        let (client, user) = (token_key(origin, "c"), user_key(origin, "c", "ann %refused"));
        for key in [client, user] {
            assert!(is_token_key(&key) && !is_token_key(&refusal_key(&key)), "{key}");
        }
        assert!(!is_token_key(&registration_key(origin)));
    }

    #[test]
    fn security_43_no_two_users_share_a_key() {
        let origin = "https://api.example.com";
        let pairs = [
            ("a", None),
            ("a", Some("b")),
            ("a b", None),
            ("a%20b", None),
            ("a", Some("b c")),
            ("a b", Some("c")),
            ("a", Some("b%20c")),
            ("a", Some("b\u{a0}c")),
            ("a", Some("B")),
            ("a", Some("b ")),
            ("a", Some("b\n")),
            ("a", Some("é")),
            ("a", Some("e\u{301}")),
        ];
        let key = |client: &str, user: Option<&str>| {
            user.map_or_else(|| token_key(origin, client), |user| user_key(origin, client, user))
        };
        let pairs = pairs.into_iter().chain([("a", Some("%refused")), ("a", Some("b %refused"))]);
        let keys: Vec<String> = pairs
            .map(|(client, user)| key(client, user))
            .flat_map(|key| [refusal_key(&key), key])
            .collect();
        let different: std::collections::HashSet<&String> = keys.iter().collect();
        assert_eq!(keys.len(), different.len(), "{keys:?}");
        assert!(keys.iter().all(|key| !key.contains(['\n', '\0'])));
        assert_eq!(user_key(origin, "a", "b"), "https://api.example.com a b");
    }

    #[test]
    fn users_share_a_fixed_number_of_lock_files() {
        let slots: std::collections::HashSet<String> = (0..10_000)
            .map(|n| lock_slot(&user_key("https://x", "c", &format!("user-{n}"))))
            .collect();
        assert_eq!(slots.len(), 256);
        assert_eq!(lock_slot(&token_key("https://x", "c d")), "");
    }
}
