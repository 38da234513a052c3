//! Credentials: API keys and the signature of the canonical request, bearer tokens, and the tokens
//! of a login with their stores. This module sends no requests itself: a refresh sends its request
//! through a trait that `http` implements.

mod key;
mod login_slot;
mod login_slots;
mod oauth;
mod origin;
pub mod pem;
mod pkce;
mod refresh;
mod sign;
pub mod store;
mod store_thread;
#[cfg(test)]
mod tests;
mod token;
mod unreadable;

use std::{fmt, sync::Arc};

use zeroize::Zeroizing;

pub use crate::canonical_request::{body_hash, payload};
pub use key::{Algorithm, KeyPair, encrypted, generate_key, generate_key as generate};
pub use login_slot::TokenEndpoint;
pub use login_slots::{SharedStore, StoreId};
pub use oauth::{OAuth, blocking, check_client_secret};
pub use origin::Origin;
pub use pkce::{Attempt, CHALLENGE_METHOD, challenge};
pub use sign::{AUTHORIZATION, X_API_KEY, X_NONCE, X_TIMESTAMP, signed_headers, target};
pub use token::{
    RegisteredClient, Registration, TokenResponse, TokenSet, is_token, lifetime, now_ms,
};
pub use unreadable::Unreadable;

use crate::error::{Error, Result};

/// The credentials that authorize requests.
#[derive(Clone)]
#[non_exhaustive]
pub enum Credentials {
    /// An API key, which signs each request.
    ApiKey {
        /// The id that the service gave the key.
        key_id: String,
        /// The private key.
        key: Arc<KeyPair>,
        /// The service that the credentials belong to.
        #[doc(hidden)]
        origin: Arc<Origin>,
    },

    /// A bearer token.
    Bearer {
        /// The token.
        token: Arc<Zeroizing<String>>,
        /// The service that the credentials belong to.
        #[doc(hidden)]
        origin: Arc<Origin>,
    },
    /// The tokens of a login.
    OAuth(Arc<OAuth>),
}

impl Credentials {
    /// Creates credentials with an API key: the id that the service gave it, and the private key.
    pub fn api_key(key_id: impl Into<String>, key: impl Into<Arc<KeyPair>>) -> Result<Self> {
        let (key_id, key) = (key_id.into(), key.into());
        if is_header_value(&key_id) {
            Ok(Credentials::ApiKey { key_id, key, origin: Arc::default() })
        } else {
            Err(Error::argument("key_id", "not valid", "visible ASCII characters without spaces"))
        }
    }

    /// Creates credentials with a bearer token, a `String` without the word `Bearer`.
    pub fn bearer(token: impl Into<Zeroizing<String>>) -> Result<Self> {
        let token = token.into();
        if is_header_value(&token) {
            Ok(Credentials::Bearer { token: Arc::new(token), origin: Arc::default() })
        } else {
            let scheme = token.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer "));
            let expected = match scheme {
                true => "the token alone, without the word 'Bearer'",
                false => "visible ASCII characters without spaces",
            };
            Err(Error::argument("token", "not valid", expected))
        }
    }

    /// Returns the secret of the credentials: a bearer token or a client secret.
    #[doc(hidden)]
    pub fn secret(&self) -> Option<&str> {
        match self {
            Credentials::ApiKey { .. } => None,
            Credentials::Bearer { token, .. } => Some(token.as_str()),
            Credentials::OAuth(oauth) => oauth.client_secret(),
        }
    }

    /// Returns the login if the credentials are one.
    #[doc(hidden)]
    pub fn login(&self) -> Option<&OAuth> {
        match self {
            Credentials::OAuth(oauth) => Some(oauth),
            Credentials::ApiKey { .. } | Credentials::Bearer { .. } => None,
        }
    }

    /// Binds the credentials to this service. Fails if they belong to another one.
    #[doc(hidden)]
    pub fn bind(&self, origin: &str) -> Result<()> {
        match self {
            Credentials::ApiKey { origin: own, .. } | Credentials::Bearer { origin: own, .. } => {
                own.bind(origin)
            }
            Credentials::OAuth(oauth) => oauth.bind(origin),
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::ApiKey { key_id, key, .. } => {
                write!(out, "ApiKey({key_id}, {})", key.algorithm().as_str())
            }
            Credentials::OAuth(oauth) => oauth.fmt(out),
            Credentials::Bearer { .. } => out.write_str("BearerToken(...)"),
        }
    }
}

fn is_header_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}
