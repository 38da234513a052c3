//! The core of `OAuthApp` and `AsyncOAuthApp`: the logins of the users of a web application.

use std::sync::Arc;

use pyo3::types::PyFloat;
use zeroize::Zeroizing;

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{number_of, seconds, secret_text, text},
    calls::call::{Call, CallMode},
    client::{connect_options::read_connect_options, options::connect_options},
    credentials::{oauth::OAuth, store_argument::StoreObject},
    hooks::observer::PythonObserver,
    interpreter::errors::{cannot_pickle, cannot_pickle_secret, shown, unchangeable},
};
use boardlot_client::extension::{
    auth::{self, Attempt},
    error::Error,
    http::{BaseUrl, ConnectOptions, Transport, TransportOptions},
    login::{App, AuthorizationRequest as CoreRequest},
};

/// The core of an `OAuthApp` or an `AsyncOAuthApp`.
#[pyclass(frozen, name = "_OAuthApp", module = "boardlot._core")]
pub struct OAuthAppCore {
    app: Arc<App>,
    mode: CallMode,
    store: StoreObject,
    /// `timeout` and the options for connecting that are not None, as passed.
    connection: Py<PyDict>,
}

#[pymethods]
impl OAuthAppCore {
    /// `connection` are the values of the options for connecting.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        mode: &str,
        #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
        #[pyo3(from_py_with = text_of::client_id)] client_id: String,
        #[pyo3(from_py_with = text_of::redirect_uri)] redirect_uri: String,
        store: Option<&Bound<'py, PyAny>>,
        client_secret: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
        connection: &Bound<'py, PyTuple>,
    ) -> PyResult<Self> {
        let connect = read_connect_options(connection)?;
        let base = BaseUrl::parse(base_url).or_raise(py)?;
        let (shared, store) = StoreObject::from_argument(py, store)?;
        let client_secret =
            client_secret.map(|value| secret_text("client_secret", value)).transpose()?;
        let transport = transport_options(py, Some(timeout), connect)?;
        let app = py.detach(|| {
            let transport = Transport::new(base, transport)?;
            App::new(transport, client_id, client_secret, redirect_uri, shared)
        });
        let app = Arc::new(app.or_raise(py)?);
        let given = PyDict::new(py);
        for ((name, _), value) in connect_options().zip(connection) {
            if !value.is_none() {
                given.set_item(name, value)?;
            }
        }
        given.set_item("timeout", timeout)?;
        Ok(OAuthAppCore { app, mode: CallMode::named(mode), store, connection: given.unbind() })
    }

    #[getter]
    fn client_id(&self) -> &str {
        self.app.client_id()
    }

    #[getter]
    fn redirect_uri(&self) -> &str {
        self.app.redirect_uri()
    }

    #[getter]
    fn base_url(&self) -> &str {
        self.app.base_url()
    }

    fn authorization_url(&self, py: Python<'_>) -> PyResult<AuthorizationRequest> {
        self.app.authorization_request().map(AuthorizationRequest).or_raise(py)
    }

    /// Exchanges the code of a callback. The `OAuth` is returned, or awaited.
    fn fetch_token<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = text_of::callback_url)] callback_url: &str,
        state: &Bound<'py, PyAny>,
        code_verifier: &Bound<'py, PyAny>,
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let attempt = match (kept("state", state)?, kept("code_verifier", code_verifier)?) {
            (Some(state), Some(verifier)) => Some(Attempt { verifier, state }),
            _ => None,
        };
        let (app, callback_url) = (this.get().app.clone(), Zeroizing::new(callback_url.to_owned()));
        let user = text("user", user)?;
        let future = async move { app.fetch_token(&callback_url, attempt, Some(user)).await };
        Self::credentials(this, future)
    }

    /// The credentials of a user who has logged in, from the store.
    fn auth<'py>(this: &Bound<'py, Self>, user: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (app, user) = (this.get().app.clone(), text("user", user)?);
        Self::credentials(this, async move { app.auth(Some(user)).await })
    }

    /// The arguments that the application was created from, and no secret.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<((&str, &str), Bound<'py, PyDict>)> {
        let named = self.connection.bind(py).copy()?;
        let proxy =
            named.get_item("proxy")?.map(|proxy| shown(&proxy)).transpose()?.unwrap_or_default();
        if self.app.client_secret().is_some() || proxy.contains('@') {
            let what = "an application with a client_secret or a proxy password";
            return Err(cannot_pickle_secret(py, what));
        }
        named.set_item("redirect_uri", self.app.redirect_uri())?;
        named.set_item("store", &self.store.object)?;
        Ok(((self.app.base_url(), self.app.client_id()), named))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.connection)?;
        self.store.traverse(&visit)
    }
}

impl OAuthAppCore {
    fn credentials<'py>(
        this: &Bound<'py, Self>,
        future: impl Future<Output = Result<Arc<auth::OAuth>, Error>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = this.get();
        let store = base.store.clone_ref(this.py());
        let finish = move |py: Python<'_>, core| {
            Ok(Py::new(py, OAuth::new_logged_in(core, store))?.into_any())
        };
        let call = Call::new(future, Box::new(finish));
        base.mode.run_shared(this.py(), call.owned_by(Some(this.clone().into_any().unbind())))
    }
}

/// A string that a session holds; `None` if the session holds none.
fn kept(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Zeroizing<String>>> {
    if value.is_none() {
        return Ok(None);
    }
    secret_text(name, value).map(Some)
}

/// Reads the options for sending the requests of a login or an application.
pub fn transport_options(
    py: Python<'_>,
    timeout: Option<f64>,
    connect: ConnectOptions,
) -> PyResult<TransportOptions> {
    let mut options = TransportOptions::default();
    options.connect = connect;
    if let Some(timeout) = timeout {
        options.timeout = seconds("timeout", &PyFloat::new(py, timeout))?;
    }
    options.observer = Some(Arc::new(PythonObserver::default()));
    Ok(options)
}

/// The start of a login: send the user to the page at `url`; `state` and `code_verifier` are two
/// strings to keep in the user's session until the callback.
#[pyclass(frozen, module = "boardlot")]
pub struct AuthorizationRequest(CoreRequest);

#[pymethods]
impl AuthorizationRequest {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    /// The page where the user logs in and grants access.
    #[getter]
    fn url(&self) -> &str {
        self.0.url.as_str()
    }

    /// The value that the callback must repeat; 43 random characters.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.0.attempt.state)
    }

    /// The proof, sent with the code, that this application began the login; 43 random characters.
    /// A secret.
    #[getter]
    fn code_verifier<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.0.attempt.verifier)
    }

    fn __repr__(&self) -> &'static str {
        "AuthorizationRequest(...)"
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        let advice = "keep its state and code_verifier in the user's session on the server";
        Err(cannot_pickle(py, "an AuthorizationRequest", advice))
    }
}
