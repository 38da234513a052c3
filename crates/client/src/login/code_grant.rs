//! The authorization code grant (sections 4.1 and 5.1): the URL of the consent page, and the
//! exchange of the code for tokens.

use tokio::sync::oneshot;
use url::Url;
use zeroize::Zeroizing;

use super::endpoints::send;
use crate::{
    api::{AUTHORIZE, Argument, TOKEN},
    auth::{Attempt, CHALLENGE_METHOD, TokenResponse, now_ms},
    decode::parse_token_response,
    error::{Error, ErrorKind, Login, Redactor, Result},
    http::{RequestPlan, Transport},
    os::{
        origin::{on_behalf_of, origin},
        runtime::spawn_shared,
    },
};

/// A client at its service, and the redirect URI of its users.
pub struct CodeGrant {
    pub transport: Transport,
    pub client_id: String,
    pub client_secret: Option<Zeroizing<String>>,
    /// The redirect URI as it is registered.
    pub redirect_uri: String,
    /// The login that is needed if this grant fails.
    pub login: Login,
}

boardlot_service::shown_as!(CodeGrant, |this| "CodeGrant({})", this.client_id);

impl CodeGrant {
    /// Returns the page on which the user logs in and consents.
    pub fn url(&self, attempt: &Attempt) -> Result<Url> {
        let arguments = [
            ("client_id", Argument::text(&self.client_id)),
            ("code_challenge", Argument::text(&attempt.challenge())),
            ("code_challenge_method", Argument::text(CHALLENGE_METHOD)),
            ("redirect_uri", Argument::text(&self.redirect_uri)),
            ("response_type", Argument::text("code")),
            ("state", Argument::text(&attempt.state)),
        ];
        let plan = RequestPlan::new(&AUTHORIZE, &arguments)?;
        Ok(self.transport.request(&plan, None, None)?.url)
    }

    /// Exchanges the code, once: the token endpoint is not idempotent. Also returns the time at
    /// which the request was sent.
    pub async fn exchange(&self, code: &str, attempt: &Attempt) -> Result<(TokenResponse, i64)> {
        let mut arguments = vec![
            ("grant_type", Argument::text("authorization_code")),
            ("code", Argument::secret(code)),
            ("client_id", Argument::text(&self.client_id)),
            ("redirect_uri", Argument::text(&self.redirect_uri)),
            ("code_verifier", Argument::secret(&attempt.verifier)),
        ];
        if let Some(client_secret) = &self.client_secret {
            arguments.push(("client_secret", Argument::secret(client_secret)));
        }
        let requested_at_ms = now_ms();
        let sent = send(&self.transport, &TOKEN, &arguments, parse_token_response).await;
        let response = sent.map_err(|error| self.start_over(error))?;
        Ok((response, requested_at_ms))
    }

    /// Redacts the secrets of a login, because the author of a callback may repeat them.
    pub fn redacted(&self, error: Error, attempt: &Attempt) -> Error {
        let secret = self.client_secret.as_ref().map(|secret| secret.as_str());
        let secrets = [Some(attempt.verifier.as_str()), secret];
        error.redacted(&Redactor::new(secrets.into_iter().flatten()))
    }

    /// Advises a new login: a code is valid once, so any failure uses it up.
    fn start_over(&self, error: Error) -> Error {
        let Error { endpoint, .. } = error.clone();
        let kind = match error.kind.as_ref() {
            ErrorKind::OAuth { error, description }
            | ErrorKind::GrantRejected { error, description }
                if error == "invalid_grant" =>
            {
                let description = format!(
                    "{description}; the code is unknown, has expired or was used before: start over \
                     with a new login"
                );
                ErrorKind::OAuth { error: error.clone(), description }
            }
            ErrorKind::OAuth { .. } | ErrorKind::GrantRejected { .. } | ErrorKind::Config(_) => {
                return error;
            }
            _ => {
                let kind = ErrorKind::LoginRequired {
                    error: "login_required".to_owned(),
                    message: format!(
                        "the code was sent but the tokens were not received, and a code is valid \
                         once: log in again ({error})"
                    ),
                };
                return Error::from(kind).with_login(Some(self.login.clone()));
            }
        };
        endpoint.iter().fold(kind.into(), |error: Error, name| error.with_endpoint(name))
    }
}

/// Exchanges a code and stores its tokens in a task of its own: a code is valid once, so the task
/// does not end with the callers that wait for it.
pub async fn complete<T: Send + 'static>(
    exchange: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (stored, outcome) = oneshot::channel();
    spawn_shared(on_behalf_of(origin(), async move {
        let _ = stored.send(exchange.await);
    }))?;
    outcome.await.unwrap_or_else(|error| Err(Error::aborted(&error)))
}

/// Checks that a redirect URI is absolute, and passes it on unchanged. The service decides which
/// schemes and hosts may be registered, and its document has no rule for them.
pub fn check_redirect_uri(name: &str, uri: &str) -> Result<Url> {
    let refuse = |expected: &str| {
        // A URI with an @ may carry a password.
        let shown = format!("'{}'", uri.escape_debug());
        let shown = if uri.contains('@') { "not valid" } else { &shown };
        Err(Error::argument(name, shown, expected))
    };
    // The parser would remove control characters.
    match Url::parse(uri) {
        Ok(url) if !uri.chars().any(char::is_control) => Ok(url),
        _ => refuse("an absolute URL such as https://app.example.com/callback"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_absolute() {
        for good in [
            "https://app.example.com/callback",
            "https://app.example.com:8443/cb?x=1",
            "http://127.0.0.1:8000/callback",
            "http://[::1]/callback",
            "http://localhost:8000/callback",
            "http://app.example.com/callback",
            "https://app.example.com/callback#top",
            "https://user:pass@app.example.com/callback",
            "com.example.app:/callback",
            "myapp://callback",
            "urn:ietf:wg:oauth:2.0:oob",
        ] {
            assert!(check_redirect_uri("redirect_uri", good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            "/callback",
            "app.example.com/callback",
            "https://app.example.com/call\nback",
            "user:pass@/callback\r\n",
        ] {
            let error = check_redirect_uri("redirect_uri", wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("redirect_uri is ") && !error.contains("pass@"), "{error}");
        }
    }
}
