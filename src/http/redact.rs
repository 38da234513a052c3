//! Redaction of recorded traffic: secrets are recognized by their names.

use std::borrow::Cow;

use url::form_urlencoded;
use zeroize::Zeroizing;

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

const MASK: &str = "***";
/// How many texts within each other are redacted.
const NESTED_TEXTS: usize = 4;

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
    let single = name.strip_suffix('s').unwrap_or(&name);
    let is_cursor = single
        .strip_suffix("token")
        .is_some_and(|before| CURSORS.iter().any(|cursor| before.ends_with(cursor)));
    let names_one = |name: &str| SECRETS.iter().any(|secret| name.ends_with(secret));
    let is_one = (names_one(&name) || names_one(single)) && !is_cursor;
    is_one || (side == Side::Request && SECRETS_IN_REQUESTS.contains(&name.as_str()))
}

/// Whether the value of a header may be shown and passed to other processes.
pub fn is_public_header(name: &str) -> bool {
    PUBLIC_HEADERS.iter().any(|public| public.eq_ignore_ascii_case(name))
}

/// Redacts the secrets in a query or a form.
pub fn redact_pairs(pairs: &str, side: Side) -> String {
    redact_nested_pairs(pairs, side, NESTED_TEXTS)
}

fn redact_nested_pairs(pairs: &str, side: Side, levels: usize) -> String {
    let redacted = pairs.split('&').map(|pair| {
        let Some((name, value)) = pair.split_once('=') else { return Cow::Borrowed(pair) };
        if decoded(name).is_some_and(|name| is_secret(&name, side)) {
            return Cow::Owned(format!("{name}={MASK}"));
        }
        // The value may be a URL or a document itself.
        match decoded(value).and_then(|value| changed(&value, side, levels)) {
            Some(value) => {
                let value: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
                Cow::Owned(format!("{name}={value}"))
            }
            None => Cow::Borrowed(pair),
        }
    });
    redacted.collect::<Vec<_>>().join("&")
}

/// The text within another one, if something in it is redacted.
fn changed(text: &str, side: Side, levels: usize) -> Option<String> {
    let levels = levels.checked_sub(1)?;
    if !text.contains(['=', ':', '<']) {
        return None;
    }
    let redacted = redact_nested(text, side, levels);
    (redacted != text).then_some(redacted)
}

fn decoded(name: &str) -> Option<Cow<'_, str>> {
    form_urlencoded::parse(name.as_bytes()).next().map(|(name, _)| name)
}

/// Redacts the secrets that their names tell, in a text that may quote tokens.
pub fn redact_named_secrets(text: &str) -> String {
    redact_text(text, Side::Response)
}

/// Redacts the secrets that their names tell: in a form, in JSON also within its strings, in XML, and in
/// other text as `name=value` or `name: value`.
pub fn redact_text(text: &str, side: Side) -> String {
    redact_nested(text, side, NESTED_TEXTS)
}

fn redact_nested(text: &str, side: Side, levels: usize) -> String {
    let is_form = text.contains('=')
        && !text.contains(|c: char| c.is_whitespace() || "{[<\"".contains(c))
        && !text.contains("://");
    if is_form {
        return redact_nested_pairs(text, side, levels);
    }
    if text.trim_start().starts_with(['{', '[', '"']) {
        return redact_members(text, side, levels);
    }
    redact_named(&redact_members(text, side, levels), side)
}

/// Redacts what follows a name in text without a strict form: `name=value`, `name: value`,
/// `<name>value</name>`.
fn redact_named(text: &str, side: Side) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['=', ':', '>']) {
        let (before, mark) = (text.get(..text.len() - rest.len() + at), rest.get(at..at + 1));
        let after = rest.get(at + 1..).unwrap_or_default();
        redacted.push_str(rest.get(..=at).unwrap_or_default());
        rest = after;
        let is_element = mark == Some(">");
        if !ends_in_secret(before.unwrap_or_default(), is_element, side) {
            continue;
        }
        let space = after.len() - after.trim_start_matches(' ').len();
        let value = after.get(space..).unwrap_or_default();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'') && !is_element);
        let ends = |c: char| match (quote, mark) {
            (Some(quote), _) => c == quote,
            (None, Some(">")) => c == '<',
            (None, Some(":")) => "\r\n,\"'<>".contains(c),
            (None, _) => c.is_whitespace() || "&;,\"'<>)]}".contains(c),
        };
        let from = quote.map_or(0, char::len_utf8);
        let length = value.get(from..).unwrap_or_default().find(ends);
        let end = from + length.unwrap_or(value.len() - from);
        // An address is not a value.
        if end > from && !value.starts_with("//") {
            redacted.push_str(after.get(..space + from).unwrap_or_default());
            redacted.push_str(MASK);
            rest = value.get(end..).unwrap_or_default();
        }
    }
    redacted.push_str(rest);
    redacted
}

/// Whether a text ends in the name of a secret, or if it has to be one in the start tag of an element.
fn ends_in_secret(text: &str, is_element: bool, side: Side) -> bool {
    /// No start tag is longer.
    const TAG_BYTES: usize = 512;
    let mut from = text.len().saturating_sub(TAG_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = text.get(from..).unwrap_or_default();
    let name_of = |text: &str| {
        let part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
        text.rsplit(|c| !part(c)).next().unwrap_or_default().to_owned()
    };
    if !is_element {
        return is_secret(&name_of(text.trim_end_matches(' ')), side);
    }
    let Some((_, tag)) = text.rsplit_once('<') else { return false };
    let name = tag.split_whitespace().next().unwrap_or_default();
    !tag.ends_with('/') && !tag.starts_with('/') && is_secret(&name_of(name), side)
}

/// Redacts the secrets in a JSON document, and leaves everything else unchanged.
fn redact_members(text: &str, side: Side, levels: usize) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((name, after)) = next_string(rest) {
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        let is_name = value.is_some();
        let value = value.filter(|value| {
            let name = unescaped(name);
            // Several may be a number: of how many there are.
            let is_count = name.ends_with('s') && value.starts_with(|c: char| c.is_ascii_digit());
            is_secret(&name, side) && !is_count
        });
        let end = value.and_then(|value| Some((value, end_of_secret(value)?)));
        if let Some((value, end)) = end {
            redacted.push_str(rest.get(..rest.len() - value.len()).unwrap_or_default());
            redacted.push_str("\"***\"");
            rest = value.get(end..).unwrap_or_default();
            continue;
        }
        // A string may be a document or a URL itself.
        let inner = if is_name { None } else { changed(&unescaped(name), side, levels) };
        match inner.and_then(|inner| serde_json::to_string(&inner).ok()) {
            Some(inner) => {
                let before = rest.len() - after.len() - name.len();
                redacted.push_str(rest.get(..before).unwrap_or_default());
                redacted.push_str(&inner);
            }
            None => redacted.push_str(rest.get(..rest.len() - after.len()).unwrap_or_default()),
        }
        rest = after;
    }
    redacted.push_str(rest);
    redacted
}

/// The texts of the secrets in a JSON document.
pub fn secret_members(text: &str, side: Side) -> Vec<Zeroizing<String>> {
    let (mut secrets, mut rest) = (Vec::new(), text);
    while let Some((name, after)) = next_string(rest) {
        let value = after.trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.filter(|_| is_secret(&unescaped(name), side));
        if let Some(value) = value.filter(|value| value.starts_with('"')) {
            let end = end_of_string(value).unwrap_or(value.len());
            let secret = unescaped(value.get(..end).unwrap_or_default()).into_owned();
            secrets.push(Zeroizing::new(secret));
        }
        rest = after;
    }
    secrets
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
    fn secrets_are_found_in_texts_within_texts_and_in_other_forms() {
        for text in [
            r#"{"data":"{\"access_token\":\"hush\"}"}"#,
            r#"{"data":"{\"a\":\"{\\\"token\\\":\\\"hush\\\"}\"}"}"#,
            r#"{"url":"https://a.example/?access_token=hush&b=1"}"#,
            r#"{"url":"https://a.example/?b=1#id_token=hush"}"#,
            r#"["https://a.example/?b=1&api_key=hush"]"#,
            r#"{"log":"Authorization: Bearer hush"}"#,
            r#"{"log":"Set-Cookie: sid=hush; Path=/"}"#,
            "<a><token>hush</token></a>",
            "<a><s:Password type=\"x\">hush</s:Password></a>",
            "<a token=\"hush\" b='1'/>",
            "<a token='hush'/>",
            "password = hush, and more",
            "X-Api-Key: hush\r\nHost: a",
            "see https://a.example/?token=hush.",
            "a=1&next=https%3A%2F%2Fa.example%2F%3Ftoken%3Dhush",
            "a=1&data=%7B%22token%22%3A%22hush%22%7D",
        ] {
            let redacted = redact_text(text, Side::Request);
            assert!(!redacted.contains("hush") && redacted.contains("***"), "{text}: {redacted}");
            assert_eq!(redact_text(&redacted, Side::Request), redacted);
        }
        for text in [
            r#"{"a":"no = here","time":"12:30:00","url":"https://a.example/?symbol=HK.00700"}"#,
            "<a><tokens_left>3</tokens_left></a>",
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
