//! Token sets and registrations: what they state, and how they are stored.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use boardlot_client::extension::{
    api::{Argument, EncodedValue},
    auth::{Registration, TokenResponse, TokenSet, is_token, lifetime, now_ms},
};
use zeroize::Zeroizing;

pub fn token_response(access: &str, refresh: Option<&str>, seconds: u64) -> TokenResponse {
    TokenResponse {
        access_token: Zeroizing::new(access.to_owned()),
        refresh_token: refresh.map(|token| Zeroizing::new(token.to_owned())),
        lifetime: Some(Duration::from_secs(seconds)),
        scopes: Some(vec!["quote:read".to_owned()]),
    }
}

/// The arguments of a refresh request.
pub type Arguments = Vec<(&'static str, Argument)>;

/// One of them, as it is sent.
pub fn sent(arguments: &Arguments, name: &str) -> Option<String> {
    let found = arguments.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| EncodedValue::from(value.clone()).into_text())
}

pub fn set(access: &str, refresh: Option<&str>, seconds: u64, requested_at_ms: i64) -> TokenSet {
    let registration = Registration::new("c".to_owned(), None, 4000);
    TokenSet::new(&registration, token_response(access, refresh, seconds), requested_at_ms)
}

#[test]
fn tokens_are_the_same_by_access_refresh_and_end_and_so_is_their_fingerprint() {
    let one = set("a", Some("r"), 10, 0);
    assert!(one.is_same(&one.clone()));
    assert_eq!(one.fingerprint(), one.clone().fingerprint());
    for other in [
        set("b", Some("r"), 10, 0),
        set("a", Some("s"), 10, 0),
        set("a", None, 10, 0),
        set("a", Some("r"), 10, 1),
        set("ar", None, 10, 0),
    ] {
        assert!(!one.is_same(&other));
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}

#[test]
fn a_refresh_renews_end_and_life() {
    let renewed = set("a", Some("r"), 10, 0).refreshed(token_response("b", Some("s"), 20), 5_000);
    assert_eq!((renewed.expires_at_ms, renewed.refresh_at_ms), (Some(25_000), Some(23_000)));
    assert_eq!(renewed.access_token.as_str(), "b");
    assert_eq!(renewed.refresh_token.as_deref().map(String::as_str), Some("s"));
    assert_eq!(renewed.scopes, ["quote:read"]);
    assert_eq!(renewed.redirect_port, Some(4000));
}

#[test]
fn the_age_of_a_token_is_measured_by_the_local_clock() {
    let local = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        i64::try_from(since.as_millis()).expect("in range")
    };
    let (before, now, after) = (local(), now_ms(), local());
    assert!((before..=after).contains(&now));
    assert_eq!(lifetime(2.5), Some(Duration::from_millis(2_500)));
}

#[test]
fn a_stored_access_token_is_one_that_can_be_sent() {
    assert!(is_token("!~azAZ09._-"));
    for unusable in ["", "a b", "a\n", "\u{e9}", "a\u{7f}"] {
        assert!(!is_token(unusable));
        let written = set(unusable, None, 10, 0).write().expect("written");
        let error = TokenSet::read(&written, "the entry").expect_err("refused").to_string();
        assert!(error.contains("the entry is not a token set"), "{error}");
    }
}

#[test]
fn a_registration_is_read_as_it_was_written() {
    let secret = || Some(Zeroizing::new("secret".to_owned()));
    let public = Registration::new("c".to_owned(), None, 4000);
    let known = Registration::new("c".to_owned(), secret(), 4000);
    assert!(!public.confidential && !known.confidential);
    let mut unknown = public.clone();
    unknown.confidential = true;
    for registration in [public, known, unknown] {
        let written = registration.write().expect("written");
        assert!(Registration::read(&written, "it").expect("read") == registration);
    }
    let other = br#"{"version":2,"client_id":"c","redirect_port":1}"#;
    let error = Registration::read(other, "the entry").expect_err("refused").to_string();
    assert!(error.contains("the format version of the entry is 2"), "{error}");
}

#[test]
fn what_is_written_does_not_move_and_leave_copies_behind() {
    // A buffer that has grown is larger or smaller than the one that was made for any token set.
    let written = set("a", Some("r"), 10, 0).write().expect("written");
    assert_eq!(written.capacity(), 32 * 1024);
}
