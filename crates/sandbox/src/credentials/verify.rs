//! Authentication: the four signature headers or a bearer token (section 5), checked in the order
//! header form, key, clock, signature, nonce. Only a request with a valid signature uses up a
//! nonce.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use boardlot_service::{
    canonical_request::payload,
    error::{CLOCK_OFFSET_CODE, Result},
};
use bytes::Bytes;
use http::{HeaderMap, Request};

use super::{keys::UploadedKey, scopes::Scopes, tokens::Tokens};
use crate::{lock, wire::envelope::Rejection};

/// Maximum difference between the clocks, in either direction.
pub const WINDOW_MS: u64 = 5_000;
/// The code for a wrong credential: the sandbox's choice, because the document does not show this
/// response.
pub const UNAUTHENTICATED: i64 = -1;
// Repeated here on purpose, so that a slip in the client's names is detected.
const AUTHORIZATION: &str = "authorization";
const X_API_KEY: &str = "x-api-key";
const X_TIMESTAMP: &str = "x-timestamp";
const X_NONCE: &str = "x-nonce";
const NONCE_MAX_CHARACTERS: usize = 64;
const SWEEP_MS: i64 = 1_000;

/// The uploaded keys, their nonces, and the tokens.
#[derive(Debug)]
pub struct Credentials {
    keys: Mutex<HashMap<String, Arc<UploadedKey>>>,
    nonces: Mutex<Nonces>,
    pub tokens: Tokens,
}

/// Used nonces, each prefixed by the id of its key, with the time after which the clock window
/// rejects it anyway.
#[derive(Debug, Default)]
struct Nonces {
    until_ms: HashMap<String, i64>,
    next_sweep_ms: i64,
}

impl Credentials {
    pub fn new(tokens: Tokens) -> Self {
        Credentials { keys: Mutex::default(), nonces: Mutex::default(), tokens }
    }

    /// Stores a public key under a fresh id.
    pub fn upload(&self, public_pem: &str) -> Result<String> {
        let key = Arc::new(UploadedKey::read(public_pem)?);
        let id = format!("app-{}", self.tokens.secret());
        lock(&self.keys).insert(id.clone(), key);
        Ok(id)
    }

    /// Removes nonces, clients and grants. Keys stay, and so do tokens issued without a login.
    pub fn forget(&self) {
        self.tokens.forget();
        *lock(&self.nonces) = Nonces::default();
    }

    /// Returns the scopes of an authenticated request. A signature may do everything.
    pub fn check(&self, request: &Request<Bytes>, now_ms: i64) -> Result<Scopes, Rejection> {
        let authorization = header(request.headers(), AUTHORIZATION)?;
        if let Some(token) = authorization.strip_prefix("Bearer ") {
            let why = "the access token is unknown, expired or revoked";
            return self.tokens.scopes(token).ok_or_else(|| unauthenticated(why));
        }
        self.check_signature(authorization, request, now_ms).map(|()| Scopes::all())
    }

    fn check_signature(
        &self,
        signature: &str,
        request: &Request<Bytes>,
        now_ms: i64,
    ) -> Result<(), Rejection> {
        let (headers, uri) = (request.headers(), request.uri());
        let key_id = header(headers, X_API_KEY)?;
        let timestamp_ms = timestamp(header(headers, X_TIMESTAMP)?)?;
        let nonce = header(headers, X_NONCE)?;
        if !is_nonce(nonce) {
            return Err(unauthenticated("X-Nonce is not 1 to 64 letters, digits, _ or -"));
        }
        let key = lock(&self.keys).get(key_id).cloned();
        let key = key.ok_or_else(|| unauthenticated("X-Api-Key is not known"))?;
        if now_ms.abs_diff(timestamp_ms) > WINDOW_MS {
            let why = format!("X-Timestamp is over {WINDOW_MS} ms away from the service's clock");
            return Err(Rejection::new(CLOCK_OFFSET_CODE, "clock_offset", why));
        }
        let (method, query) = (request.method().as_str(), uri.query().unwrap_or_default());
        let payload = payload(timestamp_ms, method, uri.path(), query, request.body());
        let passed =
            STANDARD.decode(signature).is_ok_and(|signature| key.verifies(&payload, &signature));
        if !passed {
            return Err(unauthenticated("the signature does not match the request and the key"));
        }
        lock(&self.nonces).use_up(format!("{key_id} {nonce}"), timestamp_ms, now_ms)
    }
}

impl Nonces {
    fn use_up(&mut self, nonce: String, timestamp_ms: i64, now_ms: i64) -> Result<(), Rejection> {
        if now_ms >= self.next_sweep_ms {
            self.until_ms.retain(|_, until_ms| *until_ms >= now_ms);
            self.next_sweep_ms = now_ms.saturating_add(SWEEP_MS);
        }
        if self.until_ms.contains_key(&nonce) {
            return Err(unauthenticated("X-Nonce was used before"));
        }
        self.until_ms.insert(nonce, timestamp_ms.saturating_add(WINDOW_MS as i64));
        Ok(())
    }
}

fn unauthenticated(message: &str) -> Rejection {
    Rejection::new(UNAUTHENTICATED, "unauthenticated", message)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<&'a str, Rejection> {
    let mut values = headers.get_all(name).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (Some(Ok(text)), None) => Ok(text),
        (Some(_), _) => Err(unauthenticated(&format!("the header {name} is malformed"))),
        (None, _) => Err(unauthenticated(&format!("the header {name} is missing"))),
    }
}

fn timestamp(text: &str) -> Result<i64, Rejection> {
    // Only the shortest form of the digits is accepted, because the payload is made from the
    // number.
    text.parse::<i64>().ok().filter(|number| number.to_string() == text).ok_or_else(|| {
        unauthenticated("X-Timestamp is not an integer; expected milliseconds since 1970")
    })
}

fn is_nonce(text: &str) -> bool {
    (1..=NONCE_MAX_CHARACTERS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        seeded_rng::SeededRng,
        testing::{KeyPair, key, sign_headers},
    };

    const NOW: i64 = 1_790_000_000_000;
    const TARGET: &str = "/p%2E?b=2&a=%20+";

    fn credentials() -> Credentials {
        let hour = std::time::Duration::from_secs(3_600);
        Credentials::new(Tokens::new(String::new(), hour, SeededRng::new(0, "tokens")))
    }

    fn request(target: &str, headers: HeaderMap) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = target.parse().expect("a target");
        *request.headers_mut() = headers;
        request
    }

    fn signed(pair: &KeyPair, id: &str, timestamp_ms: i64, nonce: &str) -> Request<Bytes> {
        request(TARGET, sign_headers(pair, id, timestamp_ms, nonce, ("GET", TARGET, b"")))
    }

    fn code_of<T>(result: Result<T, Rejection>) -> Option<i64> {
        result.err().map(|rejection| rejection.code)
    }

    #[test]
    fn security_34_the_window_is_held_both_ways_to_the_millisecond() {
        for name in ["ed25519", "rsa2048_pkcs8"] {
            let (pair, public) = key(name);
            let credentials = credentials();
            let id = credentials.upload(&public).expect("uploaded");
            for (offset, code) in [
                (-5_001, Some(CLOCK_OFFSET_CODE)),
                (-5_000, None),
                (-4_999, None),
                (0, None),
                (4_999, None),
                (5_000, None),
                (5_001, Some(CLOCK_OFFSET_CODE)),
            ] {
                let nonce = format!("n{}", offset + 6_000);
                let request = signed(&pair, &id, NOW + offset, &nonce);
                assert_eq!(code_of(credentials.check(&request, NOW)), code, "{offset}");
            }
        }
    }

    #[test]
    fn security_34_a_nonce_is_used_up_only_by_a_signature_that_passed() {
        let (pair, public) = key("ed25519");
        let credentials = credentials();
        let id = credentials.upload(&public).expect("uploaded");
        let once = signed(&pair, &id, NOW, "once");
        let other = request("/p%2E?a=%20+&b=2", once.headers().clone());
        assert_eq!(code_of(credentials.check(&other, NOW)), Some(UNAUTHENTICATED));
        assert_eq!(code_of(credentials.check(&once, NOW + 6_000)), Some(CLOCK_OFFSET_CODE));
        assert_eq!(code_of(credentials.check(&once, NOW)), None);
        assert_eq!(code_of(credentials.check(&once, NOW)), Some(UNAUTHENTICATED));
        // Another key has nonces of its own.
        let second = credentials.upload(&public).expect("uploaded");
        assert_eq!(code_of(credentials.check(&signed(&pair, &second, NOW, "once"), NOW)), None);
    }

    #[test]
    fn security_34_nonces_outside_the_window_are_forgotten_and_none_within_it() {
        let mut nonces = Nonces::default();
        for round in 0..30_000 {
            let nonce = format!("n{round}");
            let ahead = if round % 2 == 0 { 5_000 } else { -5_000 };
            nonces.use_up(nonce.clone(), NOW + round + ahead, NOW + round).expect("fresh");
            assert!(nonces.use_up(nonce, NOW + round + ahead, NOW + round).is_err());
        }
        assert!(nonces.until_ms.len() <= 11_000, "{}", nonces.until_ms.len());
        assert!(nonces.use_up("n29998".to_owned(), NOW, NOW + 29_999).is_err());
    }

    #[test]
    fn malformed_headers_are_rejected_by_name() {
        let (pair, public) = key("ed25519");
        let credentials = credentials();
        let id = credentials.upload(&public).expect("uploaded");
        let long = "n".repeat(65);
        let table: &[(&str, Option<&str>)] = &[
            ("x-nonce", Some("")),
            ("x-nonce", Some("a b")),
            ("x-nonce", Some("a.b")),
            ("x-nonce", Some(&long)),
            ("x-nonce", None),
            ("x-timestamp", Some("1e3")),
            ("x-timestamp", Some("+1790000000000")),
            ("x-timestamp", Some("01790000000000")),
            ("x-timestamp", None),
            ("x-api-key", Some("nobody")),
            ("x-api-key", None),
            ("authorization", Some("Basic x")),
            ("authorization", Some("Bearer nothing")),
            ("authorization", None),
        ];
        for (name, value) in table {
            let mut request = signed(&pair, &id, NOW, "nonce");
            let headers = request.headers_mut();
            headers.remove(*name);
            if let Some(value) = value {
                headers.insert(*name, value.parse().expect("a header value"));
            }
            let refused = credentials.check(&request, NOW);
            assert_eq!(code_of(refused), Some(UNAUTHENTICATED), "{name}: {value:?}");
        }
        let longest = signed(&pair, &id, NOW, &"n".repeat(64));
        assert_eq!(code_of(credentials.check(&longest, NOW)), None);
    }

    #[test]
    fn a_bearer_token_passes_alone() {
        let credentials = credentials();
        let token = credentials.tokens.add();
        let mut headers = HeaderMap::new();
        let value = format!("Bearer {token}").parse().expect("a header value");
        headers.insert("authorization", value);
        assert_eq!(code_of(credentials.check(&request(TARGET, headers), NOW)), None);
    }
}
