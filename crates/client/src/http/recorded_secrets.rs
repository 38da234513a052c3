//! Masks the secrets in a recording: values by the names of their headers, parameters and members,
//! and values that the client holds. Everything else is recorded as it was received.

use std::borrow::Cow;

use super::redact::{MASK, decoded, mask_members, next_string};
use crate::error::Redactor;

/// Names whose values the service document calls secrets.
const DECLARED: &[&str] = &[
    "access_token",
    "client_secret",
    "code_verifier",
    "refresh_token",
    "registration_access_token",
];
/// Headers of responses that are not recorded.
const LEFT_OUT: &[&str] = &["authorization", "set-cookie"];
/// A shorter value that has only letters or only digits may be a word or a number of the service's.
const SHORTEST_OF_ONE_KIND: usize = 16;
/// A shorter value of any kind may be part of a word.
const SHORTEST: usize = 6;

/// The names of secrets: the ones in the service document, and the ones that the caller declares,
/// in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretNames(Vec<String>);

impl SecretNames {
    /// Adds these names to the ones in the service document.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        SecretNames(names.into_iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Returns the names that the caller declares.
    pub fn declared(&self) -> &[String] {
        &self.0
    }

    fn has(&self, name: &str) -> bool {
        let is_name = |known: &str| known.eq_ignore_ascii_case(name);
        DECLARED.iter().copied().any(is_name) || self.0.iter().map(String::as_str).any(is_name)
    }

    /// Returns the value of a response's header as it is recorded; none if it is left out.
    pub fn header<'a>(&self, name: &str, value: Cow<'a, str>) -> Option<Cow<'a, str>> {
        if LEFT_OUT.iter().any(|out| out.eq_ignore_ascii_case(name)) {
            return None;
        }
        Some(if self.has(name) { MASK.into() } else { value })
    }

    /// Masks the values of secrets in a query or a form.
    pub fn pairs(&self, pairs: &str) -> String {
        let masked = pairs.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if self.has(&decoded(name)) => Cow::Owned(format!("{name}={MASK}")),
            _ => Cow::Borrowed(pair),
        });
        masked.collect::<Vec<_>>().join("&")
    }

    /// Masks the values of secrets in a body: a form, or JSON, which stays JSON.
    pub fn body(&self, text: &str) -> String {
        let is_form = text.contains('=')
            && !text.contains(|c: char| c.is_whitespace() || "{[<\"".contains(c));
        if is_form { self.pairs(text) } else { mask_members(text, |name| self.has(name)) }
    }
}

/// Returns true if a value that the client holds may have another meaning in a response: a short
/// value, a word or a number.
pub fn may_be_a_word(value: &str) -> bool {
    let is_of_one_kind = value.bytes().all(|byte| byte.is_ascii_alphabetic())
        || value.bytes().all(|byte| byte.is_ascii_digit());
    value.len() < SHORTEST || (is_of_one_kind && value.len() < SHORTEST_OF_ONE_KIND)
}

/// Masks the values that the client holds in a text; in JSON, only within its strings.
pub fn without_held(text: &str, held: &Redactor) -> String {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return masked(text, held);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((string, after)) = next_string(rest) {
        let start = rest.len() - after.len() - string.len();
        out.push_str(rest.get(..start).unwrap_or_default());
        out.push_str(&masked(string, held));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn masked(text: &str, held: &Redactor) -> String {
    let masked = held.redacted(text.as_bytes());
    let is_string = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    match std::str::from_utf8(&masked) {
        // A string that contains the secret in another spelling is masked whole.
        Ok(masked) if !is_string || (masked.starts_with('"') && masked.ends_with('"')) => {
            masked.to_owned()
        }
        _ if is_string => format!("\"{MASK}\""),
        _ => String::from_utf8_lossy(&masked).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_by_names_that_are_declared_and_by_no_others() {
        let names = SecretNames::new(["Desk-Key".to_owned()]);
        for (text, expected) in [
            ("session=1&pin=2&sign=3", "session=1&pin=2&sign=3"),
            ("a=1&access%5Ftoken=x&desk-key=y", "a=1&access%5Ftoken=***&desk-key=***"),
            (
                r#"{"token":"x","session":1,"api_key":"y"}"#,
                r#"{"token":"x","session":1,"api_key":"y"}"#,
            ),
            (
                r#"{"refresh_token":"x","DESK-KEY":["y"],"qty":1}"#,
                r#"{"refresh_token":"***","DESK-KEY":"***","qty":1}"#,
            ),
            ("client_secret: no form, no JSON", "client_secret: no form, no JSON"),
        ] {
            assert_eq!(names.body(text), expected);
        }
    }

    #[test]
    fn held_values_are_masked_in_strings_and_json_stays_json() {
        let held = Redactor::new(["hunter2", "12345678901234567890"]);
        let text = r#"{"a":"x hunter2 y","b":12345678901234567890,"c":"12345678901234567890"}"#;
        let expected = r#"{"a":"x *** y","b":12345678901234567890,"c":"***"}"#;
        assert_eq!(without_held(text, &held), expected);
        assert_eq!(without_held("plain hunter2", &held), "plain ***");
    }

    #[test]
    fn words_and_numbers_are_not_masked() {
        for word in ["success", "1", "10.5", "HK", "production", "20260105"] {
            assert!(may_be_a_word(word), "{word}");
        }
        for secret in ["hunter2", "an-invented-token", "abcdefghijklmnop", "1234567890123456"] {
            assert!(!may_be_a_word(secret), "{secret}");
        }
    }

    #[test]
    fn all_headers_are_recorded_but_those_that_identify_the_caller() {
        let names = SecretNames::new(["x-desk".to_owned()]);
        assert_eq!(names.header("Set-Cookie", "a=b".into()), None);
        assert_eq!(names.header("ETag", "\"7\"".into()), Some("\"7\"".into()));
        assert_eq!(names.header("X-Desk", "7".into()), Some("***".into()));
    }
}
