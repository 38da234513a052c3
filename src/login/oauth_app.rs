//! `OAuthApp` and `AsyncOAuthApp`: the logins of the users of a web application.

use std::sync::Arc;

use pyo3::types::PyFloat;
use zeroize::Zeroizing;

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{number_of, seconds, secret_text, text},
    calls::call::{Call, CallMode},
    client::connect_options::read_connect_options,
    credentials::{oauth::OAuth, store_argument::StoreObject},
    hooks::observer::PythonObserver,
    interpreter::errors::{cannot_pickle, cannot_pickle_secret, shown},
};
use boardlot_client::{
    auth::{self, Attempt},
    error::Error,
    http::{BaseUrl, ConnectOptions, Transport, TransportOptions},
    login::{App, AuthorizationRequest as Core},
};

/// The base class of `OAuthApp` and `AsyncOAuthApp`.
#[pyclass(frozen, subclass, weakref, module = "boardlot._core")]
pub struct OAuthAppBase {
    app: Arc<App>,
    store: StoreObject,
    /// `timeout` and the options for connecting, as they were passed.
    connection: Py<PyDict>,
}

impl OAuthAppBase {
    /// Exchanges the code of a callback. `mode` decides whether the `OAuth` is returned or awaited.
    fn fetch_token<'py>(
        this: &Bound<'py, Self>,
        mode: CallMode,
        callback_url: &str,
        session: [&Bound<'py, PyAny>; 2],
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let [state, verifier] = session;
        let attempt = match (kept("state", state)?, kept("code_verifier", verifier)?) {
            (Some(state), Some(verifier)) => Some(Attempt { verifier, state }),
            _ => None,
        };
        let (app, callback_url) = (this.get().app.clone(), Zeroizing::new(callback_url.to_owned()));
        let user = text("user", user)?;
        let future = async move { app.fetch_token(&callback_url, attempt, Some(user)).await };
        Self::credentials(this, mode, future)
    }

    /// The credentials of a user who has logged in, from the store.
    fn auth<'py>(
        this: &Bound<'py, Self>,
        mode: CallMode,
        user: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (app, user) = (this.get().app.clone(), text("user", user)?);
        Self::credentials(this, mode, async move { app.auth(Some(user)).await })
    }

    fn credentials<'py>(
        this: &Bound<'py, Self>,
        mode: CallMode,
        future: impl Future<Output = Result<Arc<auth::OAuth>, Error>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let store = this.get().store.clone_ref(this.py());
        let finish = move |py: Python<'_>, core| {
            Ok(Py::new(py, OAuth::new_logged_in(core, store))?.into_any())
        };
        let call = Call::new(future, Box::new(finish));
        mode.run_shared(this.py(), call.owned_by(Some(this.clone().into_any().unbind())))
    }
}

/// A string that a session holds; `None` if it holds none.
fn kept(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Zeroizing<String>>> {
    if value.is_none() {
        return Ok(None);
    }
    secret_text(name, value).map(Some)
}

#[pymethods]
impl OAuthAppBase {
    /// The id from the registration.
    #[getter]
    fn client_id(&self) -> &str {
        self.app.client_id()
    }

    /// The address to which users return, as it is registered.
    #[getter]
    fn redirect_uri(&self) -> &str {
        self.app.redirect_uri()
    }

    /// The address of the service.
    #[getter]
    fn base_url(&self) -> &str {
        self.app.base_url()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.connection)?;
        self.store.traverse(&visit)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let (class, app) = (this.get_type().name()?, &this.get().app);
        let (client_id, base_url) = (app.client_id().escape_debug(), app.base_url());
        Ok(format!("{class}('{base_url}', '{client_id}')"))
    }

    /// A pickle contains what the application was created from, and no secret.
    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<((&str, &str), Bound<'py, PyDict>)> {
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
}

fn new_base<'py>(
    py: Python<'py>,
    base_url: &str,
    client_id: String,
    redirect_uri: String,
    store: Option<&Bound<'py, PyAny>>,
    client_secret: Option<&Bound<'py, PyAny>>,
    timeout: f64,
    connect: ConnectOptions,
    connection: Option<&Bound<'py, PyDict>>,
) -> PyResult<OAuthAppBase> {
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
    let connection = connection.map_or_else(|| Ok(PyDict::new(py)), |given| given.copy())?;
    connection.set_item("timeout", timeout)?;
    Ok(OAuthAppBase { app, store, connection: connection.unbind() })
}

/// The options for sending the requests of a login or an application.
pub fn transport_options(
    py: Python<'_>,
    timeout: Option<f64>,
    connect: ConnectOptions,
) -> PyResult<TransportOptions> {
    let mut options = TransportOptions { connect, ..TransportOptions::default() };
    if let Some(timeout) = timeout {
        options.timeout = seconds("timeout", &PyFloat::new(py, timeout))?;
    }
    options.observer = Some(Arc::new(PythonObserver::default()));
    Ok(options)
}

/// The classes differ in whether `fetch_token` blocks or is awaited.
macro_rules! app_class {
    ($(#[$doc:meta])* $name:ident, $mode:expr) => {
        $(#[$doc])*
        #[pyclass(frozen, subclass, extends = OAuthAppBase, module = "boardlot")]
        pub struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(
                signature = (base_url, client_id, *, redirect_uri, store = None, client_secret = None, timeout = 30.0, **connection),
                text_signature = "(base_url, client_id, *, redirect_uri, store=None, client_secret=None, timeout=30.0, connect_timeout=5.0, max_connections=64, proxy=None, ca_file=None)"
            )]
            fn new<'py>(
                py: Python<'py>,
                #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
                #[pyo3(from_py_with = text_of::client_id)] client_id: String,
                #[pyo3(from_py_with = text_of::redirect_uri)] redirect_uri: String,
                store: Option<&Bound<'py, PyAny>>,
                client_secret: Option<&Bound<'py, PyAny>>,
                #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
                connection: Option<&Bound<'py, PyDict>>,
            ) -> PyResult<PyClassInitializer<Self>> {
                let connect = read_connect_options(py, stringify!($name), connection)?;
                let base = new_base(
                    py, base_url, client_id, redirect_uri, store, client_secret, timeout, connect, connection,
                )?;
                Ok(PyClassInitializer::from(base).add_subclass($name))
            }

            /// Begins a login and returns an `AuthorizationRequest`: redirect the browser to `.url`, and keep
            /// `.state` and `.code_verifier` in the user's session on the server. Sends nothing and raises nothing.
            fn authorization_url(this: &Bound<'_, Self>) -> PyResult<AuthorizationRequest> {
                let begun = this.as_super().get().app.authorization_request();
                begun.map(AuthorizationRequest).or_raise(this.py())
            }

            /// Completes a login: checks the callback, exchanges its code, saves the tokens of `user`, and
            /// returns the user's `OAuth`.
            ///
            /// `callback_url` is the URL that the browser requested, or its path and query. `state` and
            /// `code_verifier` are those of `authorization_url`, from the session of the user who sends the
            /// callback; None if the session holds none. They are valid for one exchange. Raises
            /// `OAuthError` and sends nothing if the state differs, a parameter occurs twice, or the service
            /// reports an error; `OAuthError` if the code has expired or was used; `LoginRequired` if the
            /// code was sent and the tokens were lost. After any of these errors, start a new login. If the
            /// call is cancelled after the code was sent, the tokens are saved anyway.
            #[pyo3(signature = (callback_url, *, state, code_verifier, user))]
            fn fetch_token<'py>(
                this: &Bound<'py, Self>,
                #[pyo3(from_py_with = text_of::callback_url)] callback_url: &str,
                state: &Bound<'py, PyAny>,
                code_verifier: &Bound<'py, PyAny>,
                user: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let session = [state, code_verifier];
                OAuthAppBase::fetch_token(this.as_super(), $mode, callback_url, session, user)
            }

            /// The credentials of `user`, who has logged in, in any process that has the store. Reads the
            /// store, so that a logout or a new login in another process takes effect. Raises
            /// `LoginRequired` if the store has no tokens of this user, and `StoreError` if it cannot be
            /// read.
            #[pyo3(signature = (*, user))]
            fn auth<'py>(
                this: &Bound<'py, Self>,
                user: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                OAuthAppBase::auth(this.as_super(), $mode, user)
            }
        }
    };
}

app_class! {
    /// A web application with its own users: it sends them to the service's page, receives the callback at
    /// its own address, and calls the service for each of them.
    ///
    /// `client_id` and `client_secret` come from `register_client`, or from wherever the application was
    /// registered; `redirect_uri` is the address to which users return, exactly as it is registered. `store`
    /// (None: the keychain) holds the tokens of all users, in every process. `base_url` is the address of
    /// the service. `timeout`, `connect_timeout`, `max_connections`, `proxy` and `ca_file` are as for
    /// `Client`. Opens no port and no browser; can be shared by threads.
    ///
    /// >>> callback = "https://app.example.com/callback"
    /// >>> client_id = bl.register_client(sandbox.base_url, redirect_uris=[callback]).client_id
    /// >>> store = bl.MemoryStore()
    /// >>> app = bl.OAuthApp(sandbox.base_url, client_id, redirect_uri=callback, store=store)
    /// >>> request = app.authorization_url()
    /// >>> returned = sandbox.authorize_demo_user(request.url)  # what the user does in a browser
    /// >>> session = {"state": request.state, "code_verifier": request.code_verifier}
    /// >>> auth = app.fetch_token(returned, **session, user="alice")
    /// >>> app.auth(user="alice").user
    /// 'alice'
    OAuthApp, CallMode::Sync
}

app_class! {
    /// Like `OAuthApp`, with `fetch_token` and `auth` awaited: the base class of `boardlot.AsyncOAuthApp`.
    AsyncOAuthApp, CallMode::Async
}

/// The start of a login: send the user to the page at `url`; `state` and `code_verifier` are two strings
/// to keep in the user's session until the callback.
#[pyclass(frozen, module = "boardlot")]
pub struct AuthorizationRequest(Core);

#[pymethods]
impl AuthorizationRequest {
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

    /// The proof, sent with the code, that this application began the login; 43 random characters. A secret.
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
