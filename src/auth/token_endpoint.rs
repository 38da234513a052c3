//! The token endpoint, as a refresh uses it; `http` implements it.

use std::{future::Future, pin::Pin};

use zeroize::Zeroizing;

use super::token::TokenResponse;
use crate::error::Result;

/// Sends refresh requests, with the proxy, certificates and limits of the client that uses the tokens.
pub trait TokenEndpoint: Send + Sync + 'static {
    /// Sends one request, and returns the new tokens.
    fn refresh(&self, grant: RefreshGrant) -> RefreshFuture<'_>;
}

/// A refresh that is under way.
pub type RefreshFuture<'a> = Pin<Box<dyn Future<Output = Result<TokenResponse>> + Send + 'a>>;

/// What a refresh request contains.
pub struct RefreshGrant {
    /// The client that the tokens were issued to.
    pub client_id: String,
    /// The secret of a confidential client.
    pub client_secret: Option<Zeroizing<String>>,
    /// The refresh token to use.
    pub refresh_token: Zeroizing<String>,
}

impl std::fmt::Debug for RefreshGrant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RefreshGrant({}, ...)", self.client_id)
    }
}
