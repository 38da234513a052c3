//! Token sets and client registrations: what a login returns and a store holds.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{
    error::{Error, ErrorKind, Result},
    os::{simulated, texts::without_mark},
};

/// Format version, incremented with every change that an older release would misread.
const FORMAT_VERSION: u32 = 1;
/// A token is refreshed this long before it expires, or a tenth of its lifetime before if that is
/// less.
const REFRESH_AHEAD_MAX: Duration = Duration::from_secs(60);
/// A hundred years. Longer lifetimes are reduced to it.
const LIFETIME_MAX_SECONDS: f64 = 3.2e9;

/// The response of the token endpoint (section 2.2).
pub struct TokenResponse {
    /// The access token.
    pub access_token: Zeroizing<String>,
    /// The refresh token, on code exchange only.
    pub refresh_token: Option<Zeroizing<String>>,
    /// The lifetime of the access token, if the service says so.
    pub lifetime: Option<Duration>,
    /// Granted scopes. `None` if the response omits them: the scopes are unchanged.
    pub scopes: Option<Vec<String>>,
}

/// The tokens of one client for one service.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenSet {
    version: u32,
    /// The client to which the tokens were issued.
    pub client_id: String,
    /// The application's user to whom the tokens belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The secret of a confidential client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Zeroizing<String>>,
    /// The access token.
    pub access_token: Zeroizing<String>,
    /// The refresh token, if one was issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Zeroizing<String>>,
    /// The expiry by the local clock, in milliseconds since 1970. `None` if the response has no
    /// lifetime: the access token is used until the service rejects it.
    pub expires_at_ms: Option<i64>,
    /// The time at which the access token is refreshed, a little before it expires.
    pub refresh_at_ms: Option<i64>,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The port of the redirect URI that the client is registered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
}

impl TokenSet {
    /// Creates the tokens of a new login; `requested_at_ms` is the time at which the request was
    /// sent.
    #[doc(hidden)]
    pub fn new(client: &Registration, response: TokenResponse, requested_at_ms: i64) -> Self {
        TokenSet {
            client_secret: client.client_secret.clone(),
            redirect_port: Some(client.redirect_port),
            ..Self::of_user(&client.client_id, None, response, requested_at_ms)
        }
    }

    /// Creates the tokens of one user of an application. The application keeps its own client
    /// secret.
    #[doc(hidden)]
    pub fn of_user(
        client_id: &str,
        user: Option<&str>,
        response: TokenResponse,
        requested_at_ms: i64,
    ) -> Self {
        let (expires_at_ms, refresh_at_ms) = times(response.lifetime, requested_at_ms);
        TokenSet {
            version: FORMAT_VERSION,
            client_id: client_id.to_owned(),
            user: user.map(str::to_owned),
            client_secret: None,
            access_token: response.access_token,
            refresh_token: response.refresh_token,
            expires_at_ms,
            refresh_at_ms,
            scopes: response.scopes.unwrap_or_default(),
            redirect_port: None,
        }
    }

    /// Returns the tokens after a refresh. The service does not repeat the refresh token.
    #[must_use]
    #[doc(hidden)]
    pub fn refreshed(&self, response: TokenResponse, requested_at_ms: i64) -> Self {
        let (expires_at_ms, refresh_at_ms) = times(response.lifetime, requested_at_ms);
        TokenSet {
            access_token: response.access_token,
            refresh_token: response.refresh_token.or_else(|| self.refresh_token.clone()),
            expires_at_ms,
            refresh_at_ms,
            scopes: response.scopes.unwrap_or_else(|| self.scopes.clone()),
            ..self.clone()
        }
    }

    /// Returns true if these are the tokens of the same login or refresh.
    pub fn is_same(&self, other: &TokenSet) -> bool {
        self.access_token == other.access_token
            && self.refresh_token == other.refresh_token
            && self.expires_at_ms == other.expires_at_ms
    }

    /// Returns true if the access token should be refreshed before it is used.
    pub fn expires_soon(&self, now_ms: i64) -> bool {
        self.refresh_at_ms.is_some_and(|refresh_at_ms| now_ms >= refresh_at_ms)
    }

    /// Returns true if the access token has expired.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|expires_at_ms| now_ms >= expires_at_ms)
    }

    /// Writes the set as JSON, for a store.
    pub fn write(&self) -> Result<Zeroizing<Vec<u8>>> {
        write_json(self)
    }

    /// Reads the output of `write`; `what` names it in errors.
    pub fn read(bytes: &[u8], what: &str) -> Result<Self> {
        let set: TokenSet = read_json(bytes, what)?;
        if is_token(&set.access_token) { Ok(set) } else { Err(unreadable(what)) }
    }

    /// Identifies these tokens without telling anything about them: stored to remember their
    /// refusal.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let refresh_token = self.refresh_token.as_ref().map_or("", |token| token.as_str());
        for text in [self.access_token.as_str(), refresh_token] {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
        hash.update(self.expires_at_ms.unwrap_or_default().to_le_bytes());
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }

    /// Returns every secret of the set, for redaction.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let others = self.refresh_token.iter().chain(&self.client_secret);
        std::iter::once(&self.access_token).chain(others).map(|secret| secret.as_str())
    }
}

boardlot_service::shown_as!(
    TokenSet,
    |this| "TokenSet({}, {:?}, ...)",
    this.client_id,
    this.scopes
);

boardlot_service::shown_as!(TokenResponse, "TokenResponse(...)");

/// A registered client. The service matches the redirect URI exactly, so the port belongs to it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    version: u32,
    /// The id of the client.
    pub client_id: String,
    /// The secret of a confidential client, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<Zeroizing<String>>,
    /// The port of its redirect URI.
    pub redirect_port: u16,
    /// True if a confidential client was requested. The service decides, and may issue the secret
    /// elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
}

impl Registration {
    /// Creates a client that was registered with this port.
    pub fn new(
        client_id: String,
        client_secret: Option<Zeroizing<String>>,
        redirect_port: u16,
    ) -> Self {
        let (version, confidential) = (FORMAT_VERSION, false);
        Registration { version, client_id, client_secret, redirect_port, confidential }
    }

    /// Writes the registration as JSON, for a store.
    pub fn write(&self) -> Result<Zeroizing<Vec<u8>>> {
        write_json(self)
    }

    /// Reads the output of `write`; `what` names it in errors.
    pub fn read(bytes: &[u8], what: &str) -> Result<Self> {
        read_json(bytes, what)
    }
}

boardlot_service::shown_as!(
    Registration,
    |this| "Registration({}, port {})",
    this.client_id,
    this.redirect_port
);

/// The record of a registered client (section 2.1), and its secret. Members that the response lacks
/// are `None`.
#[expect(missing_docs, reason = "the names of the document")]
pub struct RegisteredClient {
    /// The id of the client.
    pub client_id: String,
    /// The secret of a confidential client, if the service issued one.
    pub client_secret: Option<Zeroizing<String>>,
    /// Time of registration, in seconds since 1970.
    pub client_id_issued_at: Option<i64>,
    pub client_name: Option<String>,
    pub redirect_uris: Option<Vec<String>>,
    pub grant_types: Option<Vec<String>>,
    pub token_endpoint_auth_method: Option<String>,
    pub response_types: Option<Vec<String>>,
    pub registration_access_token: Option<Zeroizing<String>>,
    pub registration_client_uri: Option<String>,
    /// The offered scopes, separated by spaces.
    pub scope: Option<String>,
    pub pkce_required: Option<bool>,
}

boardlot_service::shown_as!(RegisteredClient, |this| "RegisteredClient({})", this.client_id);

/// Converts a lifetime in seconds; `None` if it is negative.
pub fn lifetime(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(LIFETIME_MAX_SECONDS)))
}

/// Computes the times at which an access token expires and is refreshed.
fn times(lifetime: Option<Duration>, requested_at_ms: i64) -> (Option<i64>, Option<i64>) {
    let after = |time: Duration| requested_at_ms.saturating_add(millis(time));
    let refresh_after = |lifetime: Duration| lifetime - (lifetime / 10).min(REFRESH_AHEAD_MAX);
    (lifetime.map(after), lifetime.map(refresh_after).map(after))
}

/// Returns true if a string can be sent as a bearer token.
pub fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns the milliseconds since 1970 by the local clock.
pub fn now_ms() -> i64 {
    millis(simulated::since_1970())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Far above the size of any token set, so that the buffer does not move and leave copies of
/// secrets behind.
const JSON_MAX_BYTES: usize = 32 * 1024;

fn write_json(value: &impl Serialize) -> Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(JSON_MAX_BYTES));
    serde_json::to_writer(&mut *bytes, value)
        .map_err(|error| ErrorKind::Store(format!("the tokens cannot be written: {error}")))?;
    Ok(bytes)
}

fn read_json<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    // A parser's message may quote secrets, so it is not shown.
    let bytes = without_mark(bytes);
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(|_| unreadable(what))?;
    check_version(versioned.version, what)?;
    serde_json::from_slice(bytes).map_err(|_| unreadable(what))
}

fn check_version(version: u32, what: &str) -> Result<()> {
    if version == FORMAT_VERSION {
        return Ok(());
    }
    Err(ErrorKind::Store(format!(
        "the format version of {what} is {version}; expected {FORMAT_VERSION}: use the release of boardlot \
         that wrote it, or delete it and log in again"
    ))
    .into())
}

fn unreadable(what: &str) -> Error {
    ErrorKind::Store(format!("{what} is not a token set; delete it and log in again")).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn response(seconds: u64) -> TokenResponse {
        TokenResponse {
            access_token: Zeroizing::new("access-1".into()),
            refresh_token: Some(Zeroizing::new("refresh-1".into())),
            lifetime: Some(Duration::from_secs(seconds)),
            scopes: Some(vec!["quote:read".into()]),
        }
    }

    fn set(seconds: u64) -> TokenSet {
        TokenSet::new(&Registration::new("c".into(), None, 4000), response(seconds), 1_000_000)
    }

    #[test]
    fn a_token_is_refreshed_a_minute_or_a_tenth_of_its_lifetime_ahead() {
        let long = set(7200);
        assert!(!long.expires_soon(1_000_000 + 7_139_999));
        assert!(long.expires_soon(1_000_000 + 7_140_000));
        let short = set(10);
        assert!(!short.expires_soon(1_000_000 + 8_999));
        assert!(short.expires_soon(1_000_000 + 9_000));
        assert!(!short.is_expired(1_000_000 + 9_999) && short.is_expired(1_010_000));
    }

    #[test]
    fn a_token_of_unknown_lifetime_is_used_until_it_is_rejected() {
        let unknown = set(10).refreshed(TokenResponse { lifetime: None, ..response(0) }, 5);
        assert!(!unknown.expires_soon(i64::MAX) && !unknown.is_expired(i64::MAX));
        assert!(unknown.refreshed(response(10), 5).is_expired(10_005));
    }

    #[test]
    fn a_refresh_keeps_the_refresh_token_and_narrows_the_scopes() {
        let mut renewed = response(5);
        renewed.refresh_token = None;
        renewed.access_token = Zeroizing::new("access-2".into());
        renewed.scopes = Some(Vec::new());
        let next = set(10).refreshed(renewed, 2_000_000);
        assert_eq!(next.refresh_token.as_deref().map(String::as_str), Some("refresh-1"));
        assert_eq!((next.expires_at_ms, next.scopes.len()), (Some(2_005_000), 0));
        let kept = next.refreshed(TokenResponse { scopes: None, ..response(1) }, 0);
        assert!(kept.scopes.is_empty());
    }

    #[test]
    fn extreme_lifetimes_are_reduced_or_rejected() {
        assert_eq!(lifetime(1e300), Some(Duration::from_secs_f64(LIFETIME_MAX_SECONDS)));
        assert_eq!(lifetime(0.0), Some(Duration::ZERO));
        assert_eq!(lifetime(-1.0), None);
        assert_eq!(lifetime(f64::NAN), None);
    }

    #[test]
    fn nothing_secret_is_shown() {
        let shown = format!("{:?} {:?}", set(1), response(1));
        assert!(!shown.contains("access-1") && !shown.contains("refresh-1"), "{shown}");
        assert_eq!(set(1).secrets().count(), 2);
    }

    #[test]
    fn another_version_is_rejected_by_name() {
        let text = r#"{"version":2,"new":true}"#;
        let error = TokenSet::read(text.as_bytes(), "the entry").expect_err("refused").to_string();
        assert!(error.contains("is 2") && error.contains("the entry"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            access in "[!-~]{1,80}",
            refresh in proptest::option::of("\\PC{0,80}"),
            seconds in proptest::option::of(0u64..1_000_000_000),
            scopes in proptest::collection::vec("[!-~]{1,20}", 0..6),
            port in any::<u16>(),
        ) {
            let response = TokenResponse {
                access_token: Zeroizing::new(access),
                refresh_token: refresh.map(Zeroizing::new),
                lifetime: seconds.map(Duration::from_secs),
                scopes: Some(scopes),
            };
            let set = TokenSet::new(&Registration::new("c".into(), None, port), response, 5);
            prop_assert!(TokenSet::read(&set.write().expect("written"), "it").expect("read") == set);
        }

        #[test]
        fn what_is_not_a_token_set_is_a_store_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let error = TokenSet::read(&bytes, "it").expect_err("refused");
            prop_assert!(matches!(error.kind.as_ref(), ErrorKind::Store(_)));
        }
    }
}
