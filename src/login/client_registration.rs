//! `register_client` and `Registration`.

use super::oauth_app::transport_options;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{number_of, optional_text, read},
    calls::blocking::block,
    client::connect_options::read_connect_options,
    interpreter::errors::{cannot_pickle, unchangeable},
    values::dates::DateClasses,
};
use boardlot_client::extension::{
    auth::RegisteredClient,
    http::{BaseUrl, Transport},
    login::{CLIENT_NAME, check_redirect_uri, register},
};

/// A registered client: the record that the service returned, field by field. Its `repr` shows no
/// secret.
#[pyclass(frozen, module = "boardlot")]
pub struct Registration(RegisteredClient);

#[pymethods]
impl Registration {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    /// The id of the client.
    #[getter]
    fn client_id(&self) -> &str {
        &self.0.client_id
    }

    /// The secret of a confidential client; None if the service issued none.
    #[getter]
    fn client_secret<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyString>> {
        self.0.client_secret.as_ref().map(|secret| PyString::new(py, secret))
    }

    /// The name that the consent page shows. Like the other optional attributes, it is None if the
    /// response does not contain it.
    #[getter]
    fn client_name(&self) -> Option<&str> {
        self.0.client_name.as_deref()
    }

    /// The redirect URIs, as the service registered them; the requested ones if the response does
    /// not contain any.
    #[getter]
    fn redirect_uris(&self) -> Vec<String> {
        self.0.redirect_uris.clone().unwrap_or_default()
    }

    /// The grant types, such as authorization_code.
    #[getter]
    fn grant_types(&self) -> Option<Vec<String>> {
        self.0.grant_types.clone()
    }

    /// `none` for a public client, `client_secret_post` for a confidential one.
    #[getter]
    fn token_endpoint_auth_method(&self) -> Option<&str> {
        self.0.token_endpoint_auth_method.as_deref()
    }

    /// The response types, such as code.
    #[getter]
    fn response_types(&self) -> Option<Vec<String>> {
        self.0.response_types.clone()
    }

    /// A secret; the service document does not show its use.
    #[getter]
    fn registration_access_token<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyString>> {
        self.0.registration_access_token.as_ref().map(|secret| PyString::new(py, secret))
    }

    /// A URL of the client; the service document does not show its use.
    #[getter]
    fn registration_client_uri(&self) -> Option<&str> {
        self.0.registration_client_uri.as_deref()
    }

    /// The scopes that users can grant, separated by spaces.
    #[getter]
    fn scope(&self) -> Option<&str> {
        self.0.scope.as_deref()
    }

    /// True if a login needs PKCE, which boardlot always uses.
    #[getter]
    fn pkce_required(&self) -> Option<bool> {
        self.0.pkce_required
    }

    /// The time at which the client was registered, in Unix seconds.
    #[getter]
    fn client_id_issued_at(&self) -> Option<i64> {
        self.0.client_id_issued_at
    }

    /// `client_id_issued_at` as an aware UTC datetime.
    #[getter]
    fn issued_at<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(seconds) = self.0.client_id_issued_at else { return Ok(None) };
        DateClasses::get(py)?.datetime_of(py, seconds.saturating_mul(1_000_000)).map(Some)
    }

    fn __repr__(&self) -> String {
        format!("Registration('{}')", self.0.client_id.escape_debug())
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        let advice = "store its client_id in the configuration, and its client_secret and \
                      registration_access_token with your other secrets";
        Err(cannot_pickle(py, "a Registration", advice))
    }
}

/// Registers a web application. `connection` are the values of the options for connecting.
#[pyfunction]
#[pyo3(name = "_register_client")]
pub fn register_client<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
    redirect_uris: &Bound<'py, PyAny>,
    client_name: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = flag_of::confidential)] confidential: bool,
    #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
    connection: &Bound<'py, PyTuple>,
) -> PyResult<Registration> {
    let connect = read_connect_options(connection)?;
    let base = BaseUrl::parse(base_url).or_raise(py)?;
    let client_name = client_name_text(client_name)?;
    let uris = match read::<Vec<String>>(redirect_uris)? {
        Some(uris) if !redirect_uris.is_instance_of::<PyString>() => uris,
        _ => return Err(wrong_type("redirect_uris", redirect_uris, "a list of URLs")),
    };
    if uris.is_empty() {
        let expected = "at least one callback URL of the application";
        return Err(raise(py, Error::argument("redirect_uris", "empty", expected)));
    }
    for uri in &uris {
        check_redirect_uri("redirect_uris", uri).or_raise(py)?;
    }
    let options = transport_options(py, Some(timeout), connect)?;
    let transport = py.detach(|| Transport::new(base, options)).or_raise(py)?;
    let work = async move { register(&transport, &uris, &client_name, confidential).await };
    block(py, work).map(Registration)
}

/// The name that the consent page shows.
pub fn client_name_text(value: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    Ok(optional_text("client_name", value)?.unwrap_or_else(|| CLIENT_NAME.to_owned()))
}
