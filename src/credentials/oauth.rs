//! `OAuth`: the tokens of a login.

use std::sync::Arc;

use pyo3::types::PyFrozenSet;

use super::store_argument::StoreObject;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{secret_text, text},
    calls::blocking::block,
    interpreter::errors::cannot_pickle_secret,
    values::dates::DateClasses,
};
use boardlot_client::extension::{
    auth::{Credentials, OAuth as CoreOAuth, TokenSet},
    http::BaseUrl,
};

/// The tokens of a login. They are saved in a store and refreshed automatically, before they expire
/// and when the service rejects them: once for all threads, tasks and processes that share the
/// store.
///
/// The constructor uses the tokens that an earlier `boardlot.login` saved in `store`; with `user`,
/// the tokens that `OAuthApp.fetch_token` saved for this user. `client_id` and `client_secret` come
/// from the registration. The tokens belong to one service: `base_url`, or the service of the first
/// client that uses them. Users share no tokens, refreshes or logouts.
///
/// `scopes`, `expires_at` and every call of a client raise `LoginRequired` if there are no tokens
/// or the service no longer accepts them, and `StoreError` if the store cannot be read or written.
///
/// >>> store = bl.MemoryStore()
/// >>> flow = bl.begin_login(sandbox.base_url, store=store)
/// >>> client_id = flow.finish(sandbox.authorize_demo_user(flow.url)).client_id
/// >>> auth = bl.OAuth(client_id, store=store, base_url=sandbox.base_url)
/// >>> sorted(auth.scopes)[:2]
/// ['accid:*', 'quote:read']
/// >>> auth.logout()
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct OAuth {
    core: Arc<CoreOAuth>,
    store: StoreObject,
}

impl OAuth {
    pub fn new_logged_in(core: Arc<CoreOAuth>, store: StoreObject) -> Self {
        OAuth { core, store }
    }

    pub fn credentials(&self) -> Credentials {
        Credentials::OAuth(self.core.clone())
    }

    fn stored_token(&self, py: Python<'_>) -> PyResult<Arc<TokenSet>> {
        let core = self.core.clone();
        block(py, async move { core.stored_token().await })
    }
}

#[pymethods]
impl OAuth {
    #[new]
    #[pyo3(signature = (client_id, *, store, client_secret = None, base_url = None, user = None))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::client_id)] client_id: &str,
        store: &Bound<'_, PyAny>,
        client_secret: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text_of::base_url)] base_url: Option<&str>,
        user: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if client_id.is_empty() || client_id.chars().any(char::is_control) {
            let expected = "a non-empty string without control characters";
            return Err(raise(py, Error::argument("client_id", "not valid", expected)));
        }
        let secret = client_secret.map(|value| secret_text("client_secret", value)).transpose()?;
        let (store, object) = StoreObject::from_argument(py, Some(store))?;
        let user = user.map(|user| text("user", user)).transpose()?;
        let core =
            CoreOAuth::new(client_id.to_owned(), secret, store).of_user(user).or_raise(py)?;
        if let Some(base_url) = base_url {
            let base = BaseUrl::parse(base_url).or_raise(py)?;
            core.bind(base.as_str()).or_raise(py)?;
        }
        Ok(OAuth { core: Arc::new(core), store: object })
    }

    /// The id that the service assigned to this client when it was registered.
    #[getter]
    fn client_id(&self) -> &str {
        &self.core.client_id
    }

    /// The application's user that the tokens belong to; None for a personal login.
    #[getter]
    fn user(&self) -> Option<&str> {
        self.core.user()
    }

    /// The service that the tokens belong to; None until a client has used them.
    #[getter]
    fn base_url(&self) -> Option<String> {
        self.core.origin().map(|origin| origin.to_string())
    }

    /// The scopes that the user granted, such as `frozenset({"quote:read", "accid:*"})`.
    #[getter]
    fn scopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, &self.stored_token(py)?.scopes)
    }

    /// The time at which the access token expires, as an aware UTC datetime; the token is refreshed
    /// before then. None if the service did not send a lifetime: the token is then refreshed when
    /// the service rejects it.
    #[getter]
    fn expires_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let classes = DateClasses::get(py)?;
        let time = |expires_at_ms: i64| classes.datetime_of(py, expires_at_ms.saturating_mul(1000));
        self.stored_token(py)?.expires_at_ms.map(time).transpose()
    }

    /// Deletes the tokens from the store, and the client's registration unless there is a `user`.
    /// If the store has no tokens, nothing is written. Raises `StoreError` if the store cannot be
    /// read or written.
    fn logout(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core.clone();
        block(py, async move { core.log_out().await })
    }

    /// Sets the profile that the login comes from: hints of errors say how to log in to that
    /// profile again.
    fn _set_profile(&self, #[pyo3(from_py_with = text_of::name)] name: String) {
        self.core.set_profile(name);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.store.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        let mut shown = format!("OAuth('{}'", self.core.client_id.escape_debug());
        if let Some(origin) = self.core.origin() {
            shown.push_str(&format!(", '{origin}'"));
        }
        if let Some(user) = self.core.user() {
            shown.push_str(&format!(", user='{}'", user.escape_debug()));
        }
        shown + ")"
    }

    /// A pickle contains the client id and the store. A store that contains a secret cannot be
    /// pickled.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        if self.core.client_secret().is_some() {
            return Err(cannot_pickle_secret(py, "an OAuth with a client_secret"));
        }
        let named = PyDict::new(py);
        named.set_item("store", &self.store.object)?;
        named.set_item("base_url", self.base_url())?;
        named.set_item("user", self.user())?;
        Ok(((self.core.client_id.clone(),), named))
    }
}
