//! Redacts secrets that only their names reveal, in recordings and in errors of other programs.

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;
use url::form_urlencoded;
use zeroize::Zeroizing;

/// The value of a name is a secret if the name ends in one of these, compared in lower case and
/// without separators.
const SECRETS: &[&str] = &[
    "accesskey",
    "apikey",
    "appkey",
    "appsecret",
    "assertion",
    "authorization",
    "bearer",
    "codeverifier",
    "cookie",
    "credential",
    "credentials",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "pwd",
    "secret",
    "secretkey",
    "sessionid",
    "sessionkey",
    "setcookie",
    "signingkey",
    "token",
];
/// The value of one of these names is a secret in a request; in a response it may be an ordinary
/// field.
const SECRETS_IN_REQUESTS: &[&str] =
    &["auth", "hmac", "jwt", "otp", "pass", "pin", "session", "sid", "sig", "sign", "signature"];
/// Names that end in `token` but are cursors.
const CURSORS: &[&str] = &["next", "page", "continuation", "cursor", "sync", "previous", "prev"];

pub const MASK: &str = "***";
/// Headers that do not identify the caller. Any other header may be a secret.
const PUBLIC_HEADERS: &[&str] =
    &["accept", "accept-language", "content-type", "user-agent", "x-service-client-nnid"];

/// The side of an exchange to which a value belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Request,
    Response,
}

/// Returns true if the value of a member, a field or a parameter of that name is a secret.
pub fn is_secret(name: &str, side: Side) -> bool {
    let name: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let single = name.strip_suffix('s').unwrap_or(&name);
    let is_cursor = single
        .strip_suffix("token")
        .is_some_and(|before| CURSORS.iter().any(|cursor| before.ends_with(cursor)));
    let names_one = |name: &str| SECRETS.iter().any(|secret| name.ends_with(secret));
    let is_one = (names_one(&name) || names_one(single)) && !is_cursor;
    is_one || (side == Side::Request && SECRETS_IN_REQUESTS.contains(&name.as_str()))
}

/// Returns true if the value of a header may be shown and passed to other processes.
pub fn is_public_header(name: &str) -> bool {
    PUBLIC_HEADERS.iter().any(|public| public.eq_ignore_ascii_case(name))
}

/// Redacts the secrets in a query or a form.
pub fn redact_pairs(pairs: &str, side: Side) -> String {
    let redacted = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(&decoded(name), side) => Cow::Owned(format!("{name}={MASK}")),
        _ => Cow::Borrowed(pair),
    });
    redacted.collect::<Vec<_>>().join("&")
}

pub fn decoded(name: &str) -> Cow<'_, str> {
    form_urlencoded::parse(name.as_bytes()).next().map_or(Cow::Borrowed(""), |(name, _)| name)
}

/// Redacts the secrets that their names reveal, in a text that may quote tokens.
pub fn redact_named_secrets(text: &str) -> String {
    redact_text(text, Side::Response)
}

/// Redacts the secrets that their names reveal: in members of JSON, forms, URLs and headers.
pub fn redact_text(text: &str, side: Side) -> String {
    let is_form = text.contains('=')
        && !text.contains(|c: char| c.is_whitespace() || "{[<\"".contains(c))
        && !text.contains("://");
    if is_form { redact_pairs(text, side) } else { redact_named(&redact_members(text, side), side) }
}

/// Redacts the value after a name: `name=value`, as in a URL, and `name: value`, as in a header.
/// The text may come from a string in JSON, which stays valid.
fn redact_named(text: &str, side: Side) -> String {
    let (mut redacted, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at(at + 1);
        redacted.push_str(before);
        rest = after;
        let is_header = before.ends_with(':');
        if !ends_in_secret(redacted.get(..redacted.len() - 1).unwrap_or_default(), side) {
            continue;
        }
        let value = after.trim_start_matches(' ');
        let quoted = value.strip_prefix('\'');
        let ends = |c: char| match (quoted, is_header) {
            (Some(_), _) => "'\"\\".contains(c),
            (None, true) => "\r\n,\"'<>\\".contains(c),
            (None, false) => c.is_whitespace() || "&;,\"'<>)]}\\".contains(c),
        };
        let value = quoted.unwrap_or(value);
        let end = value.find(ends).unwrap_or(value.len());
        // An address such as `https://...` is not a value.
        if end > 0 && !value.starts_with("//") {
            redacted.push_str(after.get(..after.len() - value.len()).unwrap_or_default());
            redacted.push_str(MASK);
            rest = value.get(end..).unwrap_or_default();
        }
    }
    redacted.push_str(rest);
    redacted
}

fn ends_in_secret(text: &str, side: Side) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let name = text.trim_end_matches(' ').rsplit(|c| !is_part(c)).next();
    name.is_some_and(|name| is_secret(name, side))
}

/// Redacts the secrets in a JSON document, and leaves everything else unchanged.
fn redact_members(text: &str, side: Side) -> String {
    mask_members(text, |name| is_secret(name, side))
}

/// Masks the values of members whose names are secret in a JSON document.
pub fn mask_members(text: &str, is_secret: impl Fn(&str) -> bool) -> String {
    let (mut redacted, mut at) = (String::with_capacity(text.len()), 0);
    for value in secret_values(text, is_secret) {
        redacted.push_str(text.get(at..value.start).unwrap_or_default());
        redacted.push_str("\"***\"");
        at = value.end;
    }
    redacted.push_str(text.get(at..).unwrap_or_default());
    redacted
}

/// Returns the texts of the secrets in a JSON document.
pub fn secret_members(text: &str, side: Side) -> Vec<Zeroizing<String>> {
    let values = secret_values(text, |name| is_secret(name, side))
        .into_iter()
        .filter_map(|value| text.get(value));
    let strings = values.filter(|value| value.starts_with('"'));
    strings.map(|value| Zeroizing::new(unescaped(value).into_owned())).collect()
}

/// Finds the positions of the secrets in a JSON document, which may be cut off.
fn secret_values(text: &str, is_secret: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let (mut values, mut rest) = (Vec::new(), text);
    while let Some((name, after)) = next_string(rest) {
        rest = after;
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        let Some(value) = value.filter(|_| is_secret(&unescaped(name))) else { continue };
        let is_number = value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        // A plural name with a number may be a count.
        if !value.starts_with(['"', '{', '[']) && (!is_number || name.ends_with("s\"")) {
            continue;
        }
        let size = size_of_value(value);
        let start = text.len() - value.len();
        values.push(start..start + size);
        rest = value.get(size..).unwrap_or_default();
    }
    values
}

/// Returns the next string of a document, with its quotes, and the text after it.
pub fn next_string(text: &str) -> Option<(&str, &str)> {
    let string = text.get(text.find('"')?..)?;
    string.split_at_checked(end_of_string(string)?)
}

/// Finds the end of the string with which the text begins.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}

/// Returns the size of the value with which the text begins; all of the text if it is cut off.
fn size_of_value(text: &str) -> usize {
    if text.starts_with('"') {
        return end_of_string(text).unwrap_or(text.len());
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => values.byte_offset(),
        _ => text.len(),
    }
}

fn unescaped(name: &str) -> Cow<'_, str> {
    serde_json::from_str::<String>(name).map_or(Cow::Borrowed(name), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_is_recognized_by_its_name_in_any_spelling() {
        for name in [
            "token",
            "access_token",
            "id_token",
            "ID-Token",
            "idToken",
            "app_secret",
            "AppSecret",
            "api_key",
            "X-Api-Key",
            "apikey",
            "passwd",
            "user_password",
            "client_secret",
            "session_token",
            "sessionId",
            "Set-Cookie",
            "code_verifier",
            "private_key",
            "passphrase",
            "registration_access_token",
        ] {
            assert!(is_secret(name, Side::Request) && is_secret(name, Side::Response), "{name}");
        }
        for name in ["session", "signature", "Sign", "sig", "pin"] {
            assert!(is_secret(name, Side::Request) && !is_secret(name, Side::Response), "{name}");
        }
        for name in [
            "code",
            "symbol",
            "next_token",
            "pageToken",
            "next_page_token",
            "next_key",
            "page_flag",
            "tokens_left",
            "signed",
            "passed",
            "secretary",
            "",
        ] {
            assert!(!is_secret(name, Side::Request), "{name}");
        }
    }

    #[test]
    fn values_of_every_type_are_redacted_and_nothing_else() {
        let redacted = |text: &str| redact_text(text, Side::Request);
        for (text, expected) in [
            (r#"{"a":{"token":"x\"y"},"b":1}"#, r#"{"a":{"token":"***"},"b":1}"#),
            (r#"{"pin": 1234 ,"b":[1]}"#, r#"{"pin": "***" ,"b":[1]}"#),
            (r#"{"token":["a",{"b":"]"}],"c":"d"}"#, r#"{"token":"***","c":"d"}"#),
            (r#"{"app\u005fsecret":"x"}"#, r#"{"app\u005fsecret":"***"}"#),
            (r#"{"token":null,"b":"token"}"#, r#"{"token":null,"b":"token"}"#),
            (r#"{"token":"cut"#, r#"{"token":"***""#),
            (r#"["token","x"]"#, r#"["token","x"]"#),
            ("no JSON: \"token\": \"x", "no JSON: \"token\": \"***\""),
            (r#"{"tokens":["a","b"],"cookies":{"c":"d"}}"#, r#"{"tokens":"***","cookies":"***"}"#),
            (r#"{"tokens":17,"next_tokens":["a"]}"#, r#"{"tokens":17,"next_tokens":["a"]}"#),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn secrets_are_found_in_urls_forms_and_headers() {
        for text in [
            "a=1&api%5Fkey=hush",
            r#"{"url":"https://a.example/?access_token=hush&b=1"}"#,
            r#"{"url":"https://a.example/?b=1#id_token=hush"}"#,
            r#"["https://a.example/?b=1&api_key=hush"]"#,
            r#"{"log":"Authorization: Bearer hush"}"#,
            r#"{"log":"Set-Cookie: sid=hush; Path=/"}"#,
            r#"{"log":"HTTP/1.1\r\nAuthorization: Bearer hush\r\nHost: a"}"#,
            r#"{"url":"https://a.example/?a=1\u0026token=hush\u0026b=2"}"#,
            "<a token='hush'/>",
            "password = hush, and more",
            "X-Api-Key: hush\r\nHost: a",
            "see https://a.example/?token=hush.",
        ] {
            let redacted = redact_text(text, Side::Request);
            assert!(!redacted.contains("hush") && redacted.contains("***"), "{text}: {redacted}");
            let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
            assert_eq!(is_json(&redacted), is_json(text), "{redacted}");
            assert_eq!(redact_text(&redacted, Side::Request), redacted);
        }
        for text in [
            r#"{"a":"no = here","time":"12:30:00","url":"https://a.example/?symbol=HK.00700"}"#,
            "token://x y",
            "the token is missing",
            "next_token=5 a",
        ] {
            assert_eq!(redact_text(text, Side::Request), text);
        }
    }

    #[test]
    fn secrets_of_a_form_are_recognized_by_their_decoded_names() {
        let text = "a=1&api%5Fkey=x&passwd=&session=y&code=HK.00700&flag";
        let expected = "a=1&api%5Fkey=***&passwd=***&session=***&code=HK.00700&flag";
        assert_eq!(redact_pairs(text, Side::Request), expected);
    }

    proptest! {
        #[test]
        fn redaction_is_idempotent(text in "[\\[\\]{}\":,=&<>\\\\a1é token]{0,80}") {
            let once = redact_text(&text, Side::Request);
            prop_assert_eq!(&redact_text(&once, Side::Request), &once);
        }
    }
}
