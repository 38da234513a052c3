//! The logins of the users of a web application: any worker process can begin a login, and any
//! other can complete it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use sha2::{Digest, Sha256};
use url::Url;
use zeroize::Zeroizing;

use super::{
    callback::{self, Callback, Verdict},
    code_grant::{CodeGrant, check_redirect_uri, complete},
};
use crate::{
    auth::{Attempt, OAuth, SharedStore, TokenSet, check_client_secret},
    error::{Error, ErrorKind, Login, Result},
    http::Transport,
};

/// A registered client, and the store of its users' tokens.
#[derive(Debug)]
pub struct App {
    grant: Arc<CodeGrant>,
    store: SharedStore,
    /// The states whose code was exchanged: the hashes of the last ones, from old to new. The
    /// service itself also rejects the second use of a code.
    used: Mutex<VecDeque<[u8; 32]>>,
}

const USED_STATES_MAX: usize = 4_096;

/// A login that begins: the page to send the user to, and the values to keep for the callback.
pub struct AuthorizationRequest {
    /// The page on which the user logs in and consents.
    pub url: Url,
    /// The state and the code verifier.
    pub attempt: Attempt,
}

impl App {
    /// Creates the client and checks the options. Sends nothing.
    pub fn new(
        transport: Transport,
        client_id: String,
        client_secret: Option<Zeroizing<String>>,
        redirect_uri: String,
        store: SharedStore,
    ) -> Result<Self> {
        if client_id.is_empty() || client_id.chars().any(char::is_control) {
            let expected = "a non-empty string without control characters";
            return Err(Error::argument("client_id", "not valid", expected));
        }
        check_client_secret(client_secret.as_ref().map(|secret| secret.as_str()))?;
        check_redirect_uri("redirect_uri", &redirect_uri)?;
        let login = Login::OfUser;
        let grant = CodeGrant { transport, client_id, client_secret, redirect_uri, login };
        Ok(App { grant: Arc::new(grant), store, used: Mutex::default() })
    }

    /// Returns the id of the client.
    pub fn client_id(&self) -> &str {
        &self.grant.client_id
    }

    /// Returns the secret of a confidential client.
    pub fn client_secret(&self) -> Option<&str> {
        self.grant.client_secret.as_ref().map(|secret| secret.as_str())
    }

    /// Returns the URL to which users return.
    pub fn redirect_uri(&self) -> &str {
        &self.grant.redirect_uri
    }

    /// Returns the service's address.
    pub fn base_url(&self) -> &str {
        self.grant.transport.base.as_str()
    }

    /// Begins a login. Sends nothing.
    pub fn authorization_request(&self) -> Result<AuthorizationRequest> {
        let attempt = Attempt::new()?;
        Ok(AuthorizationRequest { url: self.grant.url(&attempt)?, attempt })
    }

    /// Completes a login: checks the callback against the values in the user's session, exchanges
    /// the code and saves the tokens. The tokens are saved even if the caller stops waiting once
    /// the code is sent.
    pub async fn fetch_token(
        &self,
        callback_url: &str,
        attempt: Option<Attempt>,
        user: Option<String>,
    ) -> Result<Arc<OAuth>> {
        let oauth = Arc::new(self.credentials(user)?);
        let Some(attempt) = attempt.filter(|attempt| !attempt.state.is_empty()) else {
            return Err(callback::invalid(
                "no login was begun in this session, or it has already ended: start over",
            ));
        };
        if !attempt.has_valid_verifier() {
            let expected = "the code_verifier of authorization_url(), 43 to 128 characters";
            return Err(Error::argument("code_verifier", "not valid", expected));
        }
        let callback = Callback::from_url(callback_url, &self.grant.redirect_uri)?;
        let code = match callback.check(&attempt, self.base_url()) {
            Verdict::Code(code) => code,
            Verdict::Error { error, description } => {
                let error = ErrorKind::OAuth { error, description }.into();
                return Err(self.grant.redacted(error, &attempt));
            }
            Verdict::Unrelated(why) => return Err(callback::invalid(why)),
        };
        self.use_once(&attempt)?;
        let grant = self.grant.clone();
        complete(async move {
            let (response, requested_at_ms) = grant.exchange(&code, &attempt).await?;
            let set = TokenSet::of_user(&grant.client_id, oauth.user(), response, requested_at_ms);
            oauth.save_user(set).await?;
            Ok(oauth)
        })
        .await
    }

    /// Returns the credentials of a user who has logged in, in this process or another.
    pub async fn auth(&self, user: Option<String>) -> Result<Arc<OAuth>> {
        let oauth = Arc::new(self.credentials(user)?);
        oauth.reload().await?;
        Ok(oauth)
    }

    fn credentials(&self, user: Option<String>) -> Result<OAuth> {
        let CodeGrant { client_id, client_secret, .. } = &*self.grant;
        let oauth = OAuth::new(client_id.clone(), client_secret.clone(), self.store.clone());
        let oauth = oauth.of_user(user)?;
        oauth.bind(self.base_url())?;
        Ok(oauth)
    }

    /// Refuses a second use: a second exchange would make the service revoke the tokens of the
    /// first one.
    fn use_once(&self, attempt: &Attempt) -> Result<()> {
        let state = Sha256::digest(attempt.state.as_bytes()).into();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.contains(&state) {
            return Err(callback::invalid("this callback was used before: start over"));
        }
        if used.len() >= USED_STATES_MAX {
            used.pop_front();
        }
        used.push_back(state);
        Ok(())
    }
}

boardlot_service::shown_as!(AuthorizationRequest, "AuthorizationRequest(...)");
