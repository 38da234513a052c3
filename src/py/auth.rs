//! The `auth` argument of a client, or what a profile says in its place.

use pyo3::prelude::*;

use super::{
    credentials::{ApiKey, BearerToken},
    errors::wrong_type,
    oauth::OAuth,
};
use crate::{auth::Credentials, profile::ProfileAuth};

/// The credentials of a client.
pub struct Auth {
    pub credentials: Credentials,
    /// The Python object that they come from: the token store of an `OAuth` lives as long as it does.
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
            return Err(wrong_type("auth", value, "an ApiKey, a BearerToken or an OAuth"));
        };
        Ok(Auth { credentials, object: Some(value.clone().unbind()) })
    }

    pub fn from_profile(py: Python<'_>, auth: ProfileAuth) -> PyResult<Option<Self>> {
        match auth {
            ProfileAuth::None => Ok(None),
            ProfileAuth::ApiKey { key_id, private_key } => {
                let key = ApiKey::open(py, &key_id, private_key, None)?;
                Ok(Some(Auth { credentials: key.credentials(), object: None }))
            }
            ProfileAuth::OAuth { client_id, store } => {
                let login =
                    py.import("boardlot.clients.profile_login")?.getattr("profile_login")?;
                Auth::from_argument(&login.call1((client_id, store))?).map(Some)
            }
        }
    }
}
