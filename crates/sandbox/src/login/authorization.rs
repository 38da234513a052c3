//! An authorization request (section 4.1), and the callback URLs of its outcome.

use url::form_urlencoded;

use crate::{
    error::Result,
    sandbox::credentials::{
        hashed_store::Hash,
        scopes::Scopes,
        tokens::{Consent, Tokens},
    },
};

pub const STATE: &str = "state";

/// An authorization request with a known client and one of its redirect URIs.
#[derive(Debug, Clone)]
pub struct AuthorizationRequest {
    pub client_id: String,
    pub client_name: String,
    pub redirect_uri: String,
    pub challenge: Hash,
    pub state: String,
}

impl AuthorizationRequest {
    /// The callback URL with a new code.
    pub fn allowed(&self, tokens: &Tokens, scopes: Scopes, now_ms: i64) -> Result<String> {
        let consent = Consent {
            client_id: self.client_id.clone(),
            redirect_uri: self.redirect_uri.clone(),
            challenge: self.challenge,
            scopes,
        };
        let code = tokens.add_code(consent, now_ms)?;
        Ok(self.callback(&[("code", &code)]))
    }

    /// The callback URL with an error.
    pub fn denied(&self, error: &str, description: &str) -> String {
        self.callback(&[("error", error), ("error_description", description)])
    }

    fn callback(&self, pairs: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        if !self.state.is_empty() {
            query.append_pair(STATE, &self.state);
        }
        let joint = if self.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.redirect_uri, query.finish())
    }
}

/// A request for tests.
#[cfg(test)]
pub fn example() -> AuthorizationRequest {
    AuthorizationRequest {
        client_id: "c1".to_owned(),
        client_name: "one".to_owned(),
        redirect_uri: "https://app.example/cb?x=1".to_owned(),
        challenge: [7; 32],
        state: "a b&c=d%".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callback_keeps_the_query_and_the_state() {
        assert_eq!(
            example().denied("access_denied", "the user"),
            "https://app.example/cb?x=1&error=access_denied&error_description=the+user\
             &state=a+b%26c%3Dd%25"
        );
    }
}
