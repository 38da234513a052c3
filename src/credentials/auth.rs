//! The `auth` argument of a client, or what a profile says instead.

use super::{
    oauth::OAuth,
    profile::entry,
    static_credentials::{ApiKey, BearerToken},
};
use crate::prelude::*;
use boardlot_client::extension::{auth::Credentials, profile::Profile};

/// The credentials of a client.
pub struct Auth {
    pub credentials: Credentials,
    /// The Python object that they come from: the token store of an `OAuth` lives as long as it
    /// does.
    pub object: Option<Py<PyAny>>,
}

impl Auth {
    pub fn from_argument(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let credentials = if let Ok(key) = value.cast::<ApiKey>() {
            key.get().credentials()
        } else if let Ok(token) = value.cast::<BearerToken>() {
            token.get().credentials()
        } else if let Ok(oauth) = value.cast::<OAuth>() {
            oauth.get().credentials()
        } else {
            let expected = if value.hasattr("__await__")? {
                "an ApiKey, a BearerToken or an OAuth: write await before it"
            } else if value.is_callable() && !value.is_instance_of::<PyType>() {
                "an ApiKey, a BearerToken or an OAuth: call it, as in auth=sandbox.api_key()"
            } else {
                "an ApiKey('KEY_ID', 'key.pem'), a BearerToken('TOKEN') or an OAuth"
            };
            return Err(wrong_type("auth", value, expected));
        };
        Ok(Auth { credentials, object: Some(value.clone().unbind()) })
    }

    /// Returns the credentials of a profile, for a client of this service; without a service, for a
    /// client that sends nothing.
    pub fn from_profile(
        py: Python<'_>,
        profile: Profile,
        base_url: Option<&str>,
    ) -> PyResult<Option<Self>> {
        let module = import(py, "boardlot._support.credentials.profiles")?;
        let auth = module.getattr("profile_auth")?.invoke((entry(py, profile)?, base_url))?;
        if auth.is_none() { Ok(None) } else { Self::from_argument(&auth).map(Some) }
    }
}
