//! A login step by step, as a client and a browser send it. Names and paths are written by hand.

use serde_json::{Value, json};

use crate::testing::{Got, Rig, encoded};

pub const REGISTER: &str = "/oauth2/register";
pub const PAGE: &str = "/oauth2/authorize/confirm";
pub const TOKEN: &str = "/oauth2/token";
pub const REDIRECT: &str = "http://127.0.0.1:8765/callback";
/// The verifier of RFC 7636, appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub const STATE: &str = "a state/with+odd=&signs";
pub const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A valid client registration, which a test may alter.
pub fn metadata() -> Value {
    json!({
        "redirect_uris": [REDIRECT, "https://app.example/cb?tenant=7"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "Kestrel Notes",
    })
}

pub fn register(rig: &Rig, metadata: &Value) -> Got {
    let json = "Content-Type: application/json\r\n";
    rig.send("POST", REGISTER, json, metadata.to_string().as_bytes()).expect("a response")
}

/// Registers a client, and returns its id.
pub fn client(rig: &Rig) -> String {
    text(&register(rig, &metadata()).json()["client_id"])
}

pub fn form(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Returns the parameters of the page, before a test alters them.
pub fn parameters(client_id: &str) -> Vec<(&str, &str)> {
    vec![
        ("client_id", client_id),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("state", STATE),
    ]
}

/// Opens the page with these parameters.
pub fn open(rig: &Rig, parameters: &[(&str, &str)]) -> Got {
    rig.send("GET", &format!("{PAGE}?{}", form(parameters)), "", b"").expect("a response")
}

/// Sends the page's form, which goes to the page's own address.
pub fn decide(rig: &Rig, parameters: &[(&str, &str)], fields: &[(&str, &str)]) -> Got {
    let target = format!("{PAGE}?{}", form(parameters));
    rig.send("POST", &target, FORM, form(fields).as_bytes()).expect("a response")
}

/// Returns a header's value; empty if there is none.
pub fn header(got: &Got, name: &str) -> String {
    let mut headers = got.head.lines().filter_map(|line| line.split_once(": "));
    let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.to_owned()).unwrap_or_default()
}

/// Returns the value of a parameter of a callback URL.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(url).expect("a URL");
    let mut found = url.query_pairs().filter(|(known, _)| known == name);
    let first = found.next().map(|(_, value)| value.into_owned());
    assert!(found.next().is_none(), "{name} comes twice");
    first
}

/// Allows these scopes, and returns the code.
pub fn code(rig: &Rig, client_id: &str, scopes: &[&str]) -> String {
    let mut fields = vec![("decision", "allow")];
    fields.extend(scopes.iter().map(|scope| ("scope", *scope)));
    let got = decide(rig, &parameters(client_id), &fields);
    assert_eq!(got.status, 303, "{}", String::from_utf8_lossy(&got.body));
    let location = header(&got, "location");
    assert_eq!(parameter(&location, "state").as_deref(), Some(STATE));
    parameter(&location, "code").expect("a code")
}

/// Returns the parameters of a code exchange, before a test alters them.
pub fn exchange<'a>(client_id: &'a str, code: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", client_id),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
    ]
}

pub fn refreshing<'a>(client_id: &'a str, refresh_token: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token),
        ("client_id", client_id),
    ]
}

pub fn ask_token(rig: &Rig, pairs: &[(&str, &str)]) -> Got {
    rig.send("POST", TOKEN, FORM, form(pairs).as_bytes()).expect("a response")
}

/// Asserts that a rejection has the form of RFC 6749.
pub fn assert_refused(got: &Got, status: u16, error: &str) {
    let response = got.json();
    assert_eq!((got.status, &response["error"]), (status, &error.into()), "{response}");
    assert!(
        response["error_description"].is_string() && response.as_object().expect("one").len() == 2
    );
    assert_eq!(header(got, "cache-control"), "no-store");
}

pub fn get(rig: &Rig, token: &str, target: &str) -> Got {
    let headers = format!("Authorization: Bearer {token}\r\n");
    rig.send("GET", target, &headers, b"").expect("a response")
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| unreachable!("{value}")).to_owned()
}

/// Changes or removes one parameter.
pub fn altered<'a>(
    pairs: &[(&'a str, &'a str)],
    name: &'a str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    let mut pairs: Vec<_> = pairs.iter().copied().filter(|(known, _)| *known != name).collect();
    pairs.extend(value.map(|value| (name, value)));
    pairs
}
