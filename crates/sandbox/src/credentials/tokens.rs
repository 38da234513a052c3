//! Codes, refresh tokens and access tokens (section 3.4). One lock covers every change, so that concurrent
//! exchanges of a code succeed once.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use boardlot_service::error::Result;
use sha2::{Digest, Sha256};

use super::{random_secret, scopes::Scopes};
use crate::lock;

/// A code is valid for 5 minutes.
pub const CODE_LIFETIME_MS: i64 = 300_000;
/// Access tokens beyond which those that have expired are forgotten.
const ACCESS_MAX: usize = 10_000;
/// RFC 7636, section 4.1.
const VERIFIER_CHARACTERS: std::ops::RangeInclusive<usize> = 43..=128;

#[derive(Debug, Default)]
pub struct Tokens(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Kept after their use, so that a second use is detected.
    codes: HashMap<String, Code>,
    refresh: HashMap<String, Refresh>,
    access: HashMap<String, Access>,
    grants: u64,
}

/// The scopes that the user has allowed, bound to the client's authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub client_id: String,
    pub redirect_uri: String,
    /// BASE64URL(SHA256(code_verifier)), decoded.
    pub challenge: [u8; 32],
    pub scopes: Scopes,
}

#[derive(Debug)]
struct Code {
    consent: Consent,
    until_ms: i64,
    /// The grant of the first use.
    used: Option<u64>,
}

#[derive(Debug)]
struct Refresh {
    client_id: String,
    scopes: Scopes,
    grant: u64,
}

#[derive(Debug)]
struct Access {
    scopes: Scopes,
    until: Instant,
    /// `None` if it was issued without a login.
    grant: Option<u64>,
}

/// A client's request to exchange a code.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    pub code: &'a str,
    pub client_id: &'a str,
    pub redirect_uri: &'a str,
    pub verifier: &'a str,
    /// True if the client registered for refreshing.
    pub refreshes: bool,
}

/// Tokens in the clear, on their way to the client.
pub struct Issued {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub scopes: Scopes,
}

/// Reasons why a grant is invalid.
pub type Invalid = &'static str;

impl Tokens {
    /// A new access token with all scopes, without a login.
    pub fn add(&self, lifetime: Duration) -> String {
        let token = random_secret().unwrap_or_default();
        if !token.is_empty() {
            // Without randomness nothing is stored, so that an empty token is not valid.
            lock(&self.0).add_access(token.clone(), Scopes::all(), lifetime, None);
        }
        token
    }

    /// The scopes of a valid access token.
    pub fn scopes(&self, token: &str) -> Option<Scopes> {
        let state = lock(&self.0);
        let access = state.access.get(token)?;
        (access.until > Instant::now()).then(|| access.scopes.clone())
    }

    pub fn add_code(&self, consent: Consent, now_ms: i64) -> Result<String> {
        let code = random_secret()?;
        let until_ms = now_ms.saturating_add(CODE_LIFETIME_MS);
        lock(&self.0).codes.insert(code.clone(), Code { consent, until_ms, used: None });
        Ok(code)
    }

    /// Tokens for a code, once. A second use revokes those of the first; a use that does not match
    /// the consent leaves the code valid.
    pub fn exchange(
        &self,
        exchange: Exchange<'_>,
        lifetime: Duration,
        now_ms: i64,
    ) -> Result<Issued, Invalid> {
        let (access_token, refresh_token) = (random()?, random()?);
        let mut state = lock(&self.0);
        let grant = state.grants.saturating_add(1);
        let Some(code) = state.codes.get_mut(exchange.code) else {
            return Err("the code is unknown");
        };
        if let Some(first) = code.used {
            state.access.retain(|_, access| access.grant != Some(first));
            state.refresh.retain(|_, refresh| refresh.grant != first);
            return Err("the code was used before; the tokens of its first use are revoked");
        }
        if now_ms >= code.until_ms {
            return Err("the code has expired");
        }
        let consent = &code.consent;
        if consent.client_id != exchange.client_id {
            return Err("the code belongs to another client");
        }
        if consent.redirect_uri != exchange.redirect_uri {
            return Err("redirect_uri differs from that of the authorization request");
        }
        if !fits(exchange.verifier, &consent.challenge) {
            return Err("code_verifier does not match the challenge");
        }
        let scopes = consent.scopes.clone();
        code.used = Some(grant);
        state.grants = grant;
        state.add_access(access_token.clone(), scopes.clone(), lifetime, Some(grant));
        let refresh_token = exchange.refreshes.then_some(refresh_token);
        if let Some(token) = &refresh_token {
            let client_id = exchange.client_id.to_owned();
            let scopes = scopes.clone();
            state.refresh.insert(token.clone(), Refresh { client_id, scopes, grant });
        }
        Ok(Issued { access_token, refresh_token, scopes })
    }

    /// A new access token; the refresh token stays valid.
    pub fn refresh(
        &self,
        refresh_token: &str,
        client_id: &str,
        lifetime: Duration,
    ) -> Result<Issued, Invalid> {
        let access_token = random()?;
        let mut state = lock(&self.0);
        let Some(refresh) = state.refresh.get(refresh_token) else {
            return Err("the refresh token is unknown or revoked");
        };
        if refresh.client_id != client_id {
            return Err("the refresh token belongs to another client");
        }
        let (scopes, grant) = (refresh.scopes.clone(), refresh.grant);
        state.add_access(access_token.clone(), scopes.clone(), lifetime, Some(grant));
        Ok(Issued { access_token, refresh_token: None, scopes })
    }

    pub fn revoke_access(&self) {
        lock(&self.0).access.clear();
    }

    pub fn revoke_grants(&self) {
        let mut state = lock(&self.0);
        state.access.clear();
        state.refresh.clear();
        state.codes.clear();
    }

    /// Removes all grants; tokens issued without a login stay.
    pub fn forget_grants(&self) {
        let mut state = lock(&self.0);
        state.access.retain(|_, access| access.grant.is_none());
        state.refresh.clear();
        state.codes.clear();
    }
}

impl State {
    fn add_access(
        &mut self,
        token: String,
        scopes: Scopes,
        lifetime: Duration,
        grant: Option<u64>,
    ) {
        if self.access.len() > ACCESS_MAX {
            let now = Instant::now();
            self.access.retain(|_, access| access.until > now);
        }
        if let Some(until) = Instant::now().checked_add(lifetime) {
            self.access.insert(token, Access { scopes, until, grant });
        }
    }
}

fn random() -> Result<String, Invalid> {
    random_secret().map_err(|_| "the operating system returned no random bytes")
}

/// The challenge of a client, decoded; `None` if it is not a SHA-256 hash.
pub fn challenge(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Returns true if this is a verifier, and that of the challenge (RFC 7636).
fn fits(verifier: &str, challenge: &[u8; 32]) -> bool {
    VERIFIER_CHARACTERS.contains(&verifier.len())
        && verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
        && *challenge == <[u8; 32]>::from(Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    const NOW: i64 = 1_790_000_000_000;
    const HOUR: Duration = Duration::from_secs(3_600);
    /// RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const REDIRECT: &str = "http://127.0.0.1:8765/callback";

    fn consent() -> Consent {
        Consent {
            client_id: "c1".to_owned(),
            redirect_uri: REDIRECT.to_owned(),
            challenge: challenge(CHALLENGE).expect("decoded"),
            scopes: Scopes::all(),
        }
    }

    fn with(code: &str) -> Exchange<'_> {
        Exchange {
            code,
            client_id: "c1",
            redirect_uri: REDIRECT,
            verifier: VERIFIER,
            refreshes: true,
        }
    }

    fn exchange(tokens: &Tokens, exchange: Exchange<'_>, now_ms: i64) -> Result<Issued, Invalid> {
        tokens.exchange(exchange, HOUR, now_ms)
    }

    #[test]
    fn security_35_a_code_lives_for_300_seconds_to_the_millisecond() {
        for (after, good) in [(0, true), (299_999, true), (300_000, false), (1 << 40, false)] {
            let tokens = Tokens::default();
            let code = tokens.add_code(consent(), NOW).expect("random");
            assert_eq!(exchange(&tokens, with(&code), NOW + after).is_ok(), good, "{after}");
        }
    }

    #[test]
    fn security_35_a_code_is_bound_to_client_redirect_and_challenge() {
        let tokens = Tokens::default();
        let code = tokens.add_code(consent(), NOW).expect("random");
        let good = with(&code);
        let long = "a".repeat(129);
        let (cut, short) = (code.get(1..).expect("text"), VERIFIER.get(..42).expect("text"));
        for wrong in [
            Exchange { code: "", ..good },
            Exchange { code: cut, ..good },
            Exchange { client_id: "c2", ..good },
            Exchange { redirect_uri: "http://127.0.0.1:8765/callback/", ..good },
            Exchange { redirect_uri: "http://127.0.0.1:8766/callback", ..good },
            Exchange { verifier: CHALLENGE, ..good },
            Exchange { verifier: "", ..good },
            Exchange { verifier: short, ..good },
            Exchange { verifier: &long, ..good },
        ] {
            assert!(exchange(&tokens, wrong, NOW).is_err(), "{wrong:?}");
        }
        // None of them has used it up.
        assert!(exchange(&tokens, good, NOW).is_ok());
    }

    #[test]
    fn security_35_a_verifier_outside_the_grammar_is_rejected_though_its_hash_fits() {
        for verifier in ["short".to_owned(), "a".repeat(129), format!("{} ", "a".repeat(43))] {
            let tokens = Tokens::default();
            let challenge = Sha256::digest(&verifier).into();
            let code = tokens.add_code(Consent { challenge, ..consent() }, NOW).expect("random");
            let wrong = Exchange { verifier: &verifier, ..with(&code) };
            assert!(exchange(&tokens, wrong, NOW).is_err(), "{verifier}");
        }
    }

    #[test]
    fn security_35_a_second_use_revokes_what_the_first_got() {
        let tokens = Tokens::default();
        let code = tokens.add_code(consent(), NOW).expect("random");
        let other = tokens.add_code(consent(), NOW).expect("random");
        let first = exchange(&tokens, with(&code), NOW).expect("issued");
        let refresh_token = first.refresh_token.expect("for refreshing");
        let renewed = tokens.refresh(&refresh_token, "c1", HOUR).expect("issued");
        let kept = exchange(&tokens, with(&other), NOW).expect("issued");
        // Also long after it has expired, and from another client.
        let late = Exchange { client_id: "thief", ..with(&code) };
        assert!(exchange(&tokens, late, NOW + 86_400_000).is_err());
        for token in [&first.access_token, &renewed.access_token] {
            assert_eq!(tokens.scopes(token), None);
        }
        assert!(tokens.refresh(&refresh_token, "c1", HOUR).is_err());
        assert_eq!(tokens.scopes(&kept.access_token), Some(Scopes::all()));
    }

    #[test]
    fn revoking_and_forgetting_reach_what_they_say() {
        let tokens = Tokens::default();
        let code = tokens.add_code(consent(), NOW).expect("random");
        let issued = exchange(&tokens, with(&code), NOW).expect("issued");
        let refresh_token = issued.refresh_token.expect("one");
        let refreshed = || tokens.refresh(&refresh_token, "c1", HOUR).is_ok();
        let (handed, short) = (tokens.add(HOUR), tokens.add(Duration::ZERO));
        assert!(tokens.scopes(&handed).is_some() && tokens.scopes(&short).is_none());
        tokens.revoke_access();
        assert!(tokens.scopes(&handed).is_none() && tokens.scopes(&issued.access_token).is_none());
        assert!(refreshed());
        assert!(tokens.refresh(&refresh_token, "c2", HOUR).is_err());
        let handed = tokens.add(HOUR);
        tokens.forget_grants();
        assert!(!refreshed() && tokens.scopes(&handed).is_some());
        tokens.revoke_grants();
        assert!(tokens.scopes(&handed).is_none());
    }
}
