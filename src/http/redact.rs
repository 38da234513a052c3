//! Redaction of recorded traffic: secrets are recognized by their names.

use std::borrow::Cow;

use url::form_urlencoded;

/// The value of a name is a secret if the name ends in one of these, in lower case and without
/// separators.
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
/// The value of one of these names is a secret in a request; in a response it may be an ordinary field.
const SECRETS_IN_REQUESTS: &[&str] =
    &["auth", "hmac", "jwt", "otp", "pass", "pin", "session", "sid", "sig", "sign", "signature"];
/// Names that end in `token` but are cursors.
const CURSORS: &[&str] = &["next", "page", "continuation", "cursor", "sync", "previous", "prev"];

/// Headers that do not identify the caller. Any other may be a secret.
const PUBLIC_HEADERS: &[&str] =
    &["accept", "accept-language", "content-type", "user-agent", "x-service-client-nnid"];

/// What a value is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Request,
    Response,
}

/// Whether the value of a member, a field or a parameter of that name is a secret.
pub fn is_secret(name: &str, side: Side) -> bool {
    let name: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_cursor = name
        .strip_suffix("token")
        .is_some_and(|before| CURSORS.iter().any(|cursor| before.ends_with(cursor)));
    let is_one = SECRETS.iter().any(|secret| name.ends_with(secret)) && !is_cursor;
    is_one || (side == Side::Request && SECRETS_IN_REQUESTS.contains(&name.as_str()))
}

/// Whether the value of a header may be shown and passed to other processes.
pub fn is_public_header(name: &str) -> bool {
    PUBLIC_HEADERS.iter().any(|public| public.eq_ignore_ascii_case(name))
}

/// Redacts the secrets in a query or a form.
pub fn redact_pairs(pairs: &str, side: Side) -> String {
    let redacted = pairs.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if decoded(name).is_some_and(|name| is_secret(&name, side)) => {
            Cow::Owned(format!("{name}=***"))
        }
        _ => Cow::Borrowed(pair),
    });
    redacted.collect::<Vec<_>>().join("&")
}

fn decoded(name: &str) -> Option<Cow<'_, str>> {
    form_urlencoded::parse(name.as_bytes()).next().map(|(name, _)| name)
}

/// Redacts the secrets in a form, or in text that contains JSON.
pub fn redact_text(text: &str, side: Side) -> String {
    let is_form =
        text.contains('=') && !text.contains(|c: char| c.is_whitespace() || "{[<\"".contains(c));
    if is_form { redact_pairs(text, side) } else { redact_members(text, side) }
}

/// Redacts the secrets in a JSON document, and leaves everything else unchanged.
pub fn redact_members(text: &str, side: Side) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((name, after)) = next_string(rest) {
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.filter(|_| is_secret(&unescaped(name), side));
        let end = value.and_then(|value| Some((value, end_of_secret(value)?)));
        let (kept, left) = match end {
            Some((value, end)) => (value, value.get(end..).unwrap_or_default()),
            None => (after, after),
        };
        redacted.push_str(rest.get(..rest.len() - kept.len()).unwrap_or_default());
        if end.is_some() {
            redacted.push_str("\"***\"");
        }
        rest = left;
    }
    redacted.push_str(rest);
    redacted
}

/// The next string of a document, with its quotes, and the text after it.
fn next_string(text: &str) -> Option<(&str, &str)> {
    let begin = text.find('"')?;
    let string = text.get(begin..)?;
    let end = end_of_string(string)?;
    Some((string.get(..end)?, string.get(end..)?))
}

/// The end of the string that the text begins with.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}

/// The end of a value that is to be redacted; null and booleans are not.
fn end_of_secret(value: &str) -> Option<usize> {
    match value.bytes().next()? {
        b'"' => Some(end_of_string(value).unwrap_or(value.len())),
        b'{' | b'[' => Some(end_of_nested(value)),
        b'-' | b'0'..=b'9' => Some(
            value.find(|c: char| ",}]".contains(c) || c.is_whitespace()).unwrap_or(value.len()),
        ),
        _ => None,
    }
}

/// The end of the object or list that the text begins with.
fn end_of_nested(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(rest) = text.get(at..)
        && let Some(byte) = rest.bytes().next()
    {
        match byte {
            b'"' => {
                at += end_of_string(rest).unwrap_or(rest.len());
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
        if depth == 0 {
            break;
        }
    }
    at
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
        let redacted = |text: &str| redact_members(text, Side::Request);
        for (text, expected) in [
            (r#"{"a":{"token":"x\"y"},"b":1}"#, r#"{"a":{"token":"***"},"b":1}"#),
            (r#"{"pin": 1234 ,"b":[1]}"#, r#"{"pin": "***" ,"b":[1]}"#),
            (r#"{"token":["a",{"b":"]"}],"c":"d"}"#, r#"{"token":"***","c":"d"}"#),
            (r#"{"app\u005fsecret":"x"}"#, r#"{"app\u005fsecret":"***"}"#),
            (r#"{"token":null,"b":"token"}"#, r#"{"token":null,"b":"token"}"#),
            (r#"{"token":"cut"#, r#"{"token":"***""#),
            (r#"["token","x"]"#, r#"["token","x"]"#),
            ("no JSON: \"token\": \"x", "no JSON: \"token\": \"***\""),
        ] {
            assert_eq!(redacted(text), expected);
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
        fn redaction_is_idempotent(text in "[\\[\\]{}\":,\\\\a1é token]{0,80}") {
            let once = redact_members(&text, Side::Request);
            prop_assert_eq!(&redact_members(&once, Side::Request), &once);
        }
    }
}
