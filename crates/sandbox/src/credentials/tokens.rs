//! Clients, codes, refresh tokens and access tokens (sections 2.1 and 3.4). One lock covers every
//! change, so that concurrent exchanges of a code succeed once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::scopes::Scopes;
use crate::{lock, seeded_rng::SeededRng};

/// Lifetime of a code: 5 minutes.
pub const CODE_LIFETIME_MS: i64 = 300_000;
/// Length of a code verifier by RFC 7636, section 4.1.
const VERIFIER_CHARACTERS: std::ops::RangeInclusive<usize> = 43..=128;

#[derive(Debug)]
pub struct Tokens {
    pub base_url: String,
    /// Lifetime of an access token.
    pub lifetime: Duration,
    rng: Mutex<SeededRng>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    clients: HashMap<String, Arc<Client>>,
    /// Codes, kept after their use, so that a second use is detected.
    codes: HashMap<String, Code>,
    refresh: HashMap<String, Grant>,
    access: HashMap<String, (Grant, Instant)>,
}

/// A registered client.
#[derive(Debug)]
pub struct Client {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// True if the client registered for refreshing.
    pub refreshes: bool,
    /// The secret of a confidential client.
    pub secret: Option<String>,
}

/// Scopes that the user has allowed, bound to the client's authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub client_id: String,
    pub redirect_uri: String,
    /// The challenge, BASE64URL(SHA256(code_verifier)), decoded.
    pub challenge: [u8; 32],
    pub scopes: Scopes,
}

#[derive(Debug)]
struct Code {
    consent: Consent,
    until_ms: i64,
    is_used: bool,
}

/// The rights of a token.
#[derive(Debug, Clone)]
struct Grant {
    /// The code that was exchanged for the token; none for a token without a login.
    code: Option<String>,
    client_id: String,
    scopes: Scopes,
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
#[derive(Debug)]
pub struct Issued {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub scopes: Scopes,
}

/// The reason why a grant is rejected: the error of RFC 6749, section 5.2, and a description.
pub type Invalid = (&'static str, &'static str);

const fn invalid_grant(why: &'static str) -> Invalid {
    ("invalid_grant", why)
}

impl Tokens {
    pub fn new(base_url: String, lifetime: Duration, rng: SeededRng) -> Self {
        Tokens { base_url, lifetime, rng: Mutex::new(rng), state: Mutex::default() }
    }

    pub fn client(&self, id: &str) -> Option<Arc<Client>> {
        lock(&self.state).clients.get(id).cloned()
    }

    pub fn register(&self, client: Client) {
        lock(&self.state).clients.insert(client.id.clone(), Arc::new(client));
    }

    /// Returns a secret of 256 random bits.
    pub fn secret(&self) -> String {
        lock(&self.rng).secret()
    }

    /// Creates an access token with all scopes, without a login.
    pub fn add(&self) -> String {
        let grant = Grant { code: None, client_id: String::new(), scopes: Scopes::all() };
        self.issue(&mut lock(&self.state), grant).access_token
    }

    /// Returns the scopes of a valid access token.
    pub fn scopes(&self, token: &str) -> Option<Scopes> {
        let state = lock(&self.state);
        let (grant, until) = state.access.get(token)?;
        (*until > Instant::now()).then(|| grant.scopes.clone())
    }

    pub fn add_code(&self, consent: Consent, now_ms: i64) -> String {
        let code = self.secret();
        let until_ms = now_ms.saturating_add(CODE_LIFETIME_MS);
        lock(&self.state).codes.insert(code.clone(), Code { consent, until_ms, is_used: false });
        code
    }

    /// Exchanges a code for tokens, once. A second use revokes the tokens of the first. A use that
    /// does not match the consent leaves the code valid.
    pub fn exchange(&self, exchange: Exchange<'_>, now_ms: i64) -> Result<Issued, Invalid> {
        let mut state = lock(&self.state);
        let Some(code) = state.codes.get_mut(exchange.code) else {
            return Err(invalid_grant("the code is unknown"));
        };
        if code.is_used {
            let is_other = |grant: &Grant| grant.code.as_deref() != Some(exchange.code);
            state.access.retain(|_, (grant, _)| is_other(grant));
            state.refresh.retain(|_, grant| is_other(grant));
            let why = "the code was used before; the tokens of its first use are revoked";
            return Err(invalid_grant(why));
        }
        if now_ms >= code.until_ms {
            return Err(invalid_grant("the code has expired"));
        }
        let consent = &code.consent;
        let is_same = consent.client_id == exchange.client_id
            && consent.redirect_uri == exchange.redirect_uri
            && fits(exchange.verifier, &consent.challenge);
        if !is_same {
            let why = "client_id, redirect_uri or code_verifier is not that of the authorization";
            return Err(invalid_grant(why));
        }
        code.is_used = true;
        let grant = Grant {
            code: Some(exchange.code.to_owned()),
            client_id: exchange.client_id.to_owned(),
            scopes: consent.scopes.clone(),
        };
        let refresh_token = exchange.refreshes.then(|| self.secret());
        if let Some(token) = &refresh_token {
            state.refresh.insert(token.clone(), grant.clone());
        }
        Ok(Issued { refresh_token, ..self.issue(&mut state, grant) })
    }

    /// Creates an access token with some or all of the granted scopes. The refresh token stays
    /// valid.
    pub fn refresh(
        &self,
        refresh_token: &str,
        client_id: &str,
        narrower: Option<Scopes>,
    ) -> Result<Issued, Invalid> {
        let mut state = lock(&self.state);
        let Some(grant) = state.refresh.get(refresh_token) else {
            return Err(invalid_grant("the refresh token is unknown or revoked"));
        };
        if grant.client_id != client_id {
            return Err(invalid_grant("the refresh token belongs to another client"));
        }
        let scopes = narrower.unwrap_or_else(|| grant.scopes.clone());
        if !grant.scopes.cover(&scopes) {
            return Err(("invalid_scope", "scope has more than was granted"));
        }
        let grant = Grant { scopes, ..grant.clone() };
        Ok(self.issue(&mut state, grant))
    }

    /// Removes all clients and grants; tokens issued without a login stay.
    pub fn forget(&self) {
        self.forget_grants();
        lock(&self.state).clients.clear();
    }

    pub fn revoke_access(&self) {
        lock(&self.state).access.clear();
    }

    pub fn revoke_grants(&self) {
        self.forget_grants();
        self.revoke_access();
    }

    /// Removes all grants; clients, and tokens issued without a login, stay.
    fn forget_grants(&self) {
        let mut state = lock(&self.state);
        state.access.retain(|_, (grant, _)| grant.code.is_none());
        state.refresh.clear();
        state.codes.clear();
    }

    fn issue(&self, state: &mut State, grant: Grant) -> Issued {
        let (access_token, scopes) = (self.secret(), grant.scopes.clone());
        if let Some(until) = Instant::now().checked_add(self.lifetime) {
            state.access.insert(access_token.clone(), (grant, until));
        }
        Issued { access_token, refresh_token: None, scopes }
    }
}

/// Decodes the challenge of a client; `None` if it is not a SHA-256 hash.
pub fn challenge(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Returns true if this is a verifier, and the one of the challenge (RFC 7636).
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
    /// The verifier of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const REDIRECT: &str = "http://127.0.0.1:8765/callback";

    fn tokens() -> Tokens {
        Tokens::new(String::new(), HOUR, SeededRng::new(0, "tokens"))
    }

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
        tokens.exchange(exchange, now_ms)
    }

    #[test]
    fn security_35_a_code_lives_for_300_seconds_to_the_millisecond() {
        for (after, good) in [(0, true), (299_999, true), (300_000, false), (1 << 40, false)] {
            let tokens = tokens();
            let code = tokens.add_code(consent(), NOW);
            assert_eq!(exchange(&tokens, with(&code), NOW + after).is_ok(), good, "{after}");
        }
    }

    #[test]
    fn security_35_a_code_is_bound_to_client_redirect_and_challenge() {
        let tokens = tokens();
        let code = tokens.add_code(consent(), NOW);
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
        // None of these exchanges has used up the code.
        assert!(exchange(&tokens, good, NOW).is_ok());
    }

    #[test]
    fn security_35_a_verifier_outside_the_grammar_is_rejected_though_its_hash_fits() {
        for verifier in ["short".to_owned(), "a".repeat(129), format!("{} ", "a".repeat(43))] {
            let tokens = tokens();
            let challenge = Sha256::digest(&verifier).into();
            let code = tokens.add_code(Consent { challenge, ..consent() }, NOW);
            let wrong = Exchange { verifier: &verifier, ..with(&code) };
            assert!(exchange(&tokens, wrong, NOW).is_err(), "{verifier}");
        }
    }

    #[test]
    fn security_35_a_second_use_revokes_what_the_first_got() {
        let tokens = tokens();
        let code = tokens.add_code(consent(), NOW);
        let other = tokens.add_code(consent(), NOW);
        let first = exchange(&tokens, with(&code), NOW).expect("issued");
        let refresh_token = first.refresh_token.expect("for refreshing");
        let renewed = tokens.refresh(&refresh_token, "c1", None).expect("issued");
        let kept = exchange(&tokens, with(&other), NOW).expect("issued");
        // A second use is detected even long after the code has expired, and from another client.
        let late = Exchange { client_id: "thief", ..with(&code) };
        assert!(exchange(&tokens, late, NOW + 86_400_000).is_err());
        for token in [&first.access_token, &renewed.access_token] {
            assert_eq!(tokens.scopes(token), None);
        }
        assert!(tokens.refresh(&refresh_token, "c1", None).is_err());
        assert_eq!(tokens.scopes(&kept.access_token), Some(Scopes::all()));
    }

    #[test]
    fn revoking_and_forgetting_reach_what_they_say() {
        let tokens = tokens();
        let code = tokens.add_code(consent(), NOW);
        let issued = exchange(&tokens, with(&code), NOW).expect("issued");
        let refresh_token = issued.refresh_token.expect("one");
        let refreshed = || tokens.refresh(&refresh_token, "c1", None).is_ok();
        let handed = tokens.add();
        assert!(tokens.scopes(&handed).is_some());
        let brief = Tokens::new(String::new(), Duration::ZERO, SeededRng::new(0, "tokens"));
        assert!(brief.scopes(&brief.add()).is_none());
        tokens.revoke_access();
        assert!(tokens.scopes(&handed).is_none() && tokens.scopes(&issued.access_token).is_none());
        assert!(refreshed());
        assert!(tokens.refresh(&refresh_token, "c2", None).is_err());
        let handed = tokens.add();
        tokens.forget_grants();
        assert!(!refreshed() && tokens.scopes(&handed).is_some());
        tokens.revoke_grants();
        assert!(tokens.scopes(&handed).is_none());
    }
}
