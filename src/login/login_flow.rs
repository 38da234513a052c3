//! `login`, `begin_login` and `LoginFlow`.

use std::sync::Arc;

use pyo3::types::PyFloat;

use super::{
    client_registration::client_name_text, login_prompt::Prompt, oauth_app::transport_options,
};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{number_of, seconds},
    calls::{
        blocking::{block, block_in},
        call::{Call, CallMode},
    },
    client::connect_options::read_connect_options,
    credentials::{oauth::OAuth, store_argument::StoreObject},
};
use boardlot_client::{
    auth::OAuth as Core,
    http::{BaseUrl, ConnectOptions, PoolSlot},
    login::{Flow, Options},
};

/// A login in progress: the user opens `url`, and a port of this machine listens for the callback.
///
/// `finish` and `wait` raise `OAuthError` if the user or the service refuses the login or it times out, and
/// `StoreError` if the tokens cannot be saved.
///
/// >>> from urllib.request import urlopen
/// >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
/// >>> callback_url = sandbox.authorize_demo_user(flow.url)  # what the user does in a browser
/// >>> auth = flow.finish(callback_url)  # of a browser on another machine
/// >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
/// >>> page = urlopen(sandbox.authorize_demo_user(flow.url))  # of a browser on this machine
/// >>> auth = flow.wait()
/// >>> bl.begin_login(sandbox.base_url, store=bl.MemoryStore()).cancel()
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct LoginFlow {
    flow: Arc<Flow>,
    store: StoreObject,
}

#[pymethods]
impl LoginFlow {
    /// The page where the user logs in and grants access.
    #[getter]
    fn url(&self) -> &str {
        self.flow.url()
    }

    /// Completes the login with `callback_url`, the URL to which the browser was redirected, copied from
    /// its address bar, and returns the `OAuth`. The URL of another login raises `OAuthError`; this login
    /// can still be completed afterwards.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::callback_url)] callback_url: &str,
    ) -> PyResult<Bound<'py, OAuth>> {
        let flow = self.flow.clone();
        let core = block(py, async move { flow.finish(callback_url).await })?;
        Bound::new(py, OAuth::new_logged_in(core, self.store.clone_ref(py)))
    }

    /// Waits for the browser's callback and returns the `OAuth`. Ctrl-C cancels the login.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, OAuth>> {
        let core = block(py, wait(self.flow.clone()))?;
        Bound::new(py, OAuth::new_logged_in(core, self.store.clone_ref(py)))
    }

    /// Like `wait`, in async code: `oauth = await flow`.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        let store = base.store.clone_ref(py);
        let finish = move |py: Python<'_>, core| {
            Ok(Py::new(py, OAuth::new_logged_in(core, store))?.into_any())
        };
        let call = Call::new(wait(base.flow.clone()), Box::new(finish));
        let waiter = CallMode::Async
            .run_shared(py, call.owned_by(Some(this.clone().into_any().unbind())))?;
        waiter.invoke_method("__await__", ())
    }

    /// Cancels the login and closes its port. If the code has already been sent, the tokens are saved
    /// anyway.
    fn cancel(&self) {
        self.flow.cancel();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.store.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        format!("<LoginFlow, port {}>", self.flow.port)
    }
}

/// Begins a login and returns a `LoginFlow` at once. It prints nothing and opens no browser.
///
/// Send the user to `flow.url`. Then `flow.wait()` (or `await flow`) waits for the callback of a browser
/// on this machine, and `flow.finish(callback_url)` takes the callback URL of a browser elsewhere; see
/// `LoginFlow` for an example.
///
/// - `base_url`: the address of the service.
/// - `store`: where the tokens and the registration are kept; None is the keychain.
/// - `client_id`: the id of an earlier registration; by default the one in the store, or else a new one.
/// - `client_name`: the name that the consent page shows.
/// - `redirect_port`: the port of this machine that listens for the callback; 0 is any free one.
/// - `timeout`: the seconds within which the login must be completed.
/// - `confidential`: True if a new registration asks for a client secret.
/// - `connect_timeout`, `max_connections`, `proxy`, `ca_file`: as for `Client`.
///
/// Raises `OAuthError` if the service refuses the registration, `StoreError` if the store cannot be used,
/// and `TransportError` if the service cannot be reached.
#[pyfunction]
#[pyo3(
    signature = (base_url, *, store = None, client_id = None, client_name = None, redirect_port = 0, timeout = 300.0, confidential = false, **connection),
    text_signature = "(base_url, *, store=None, client_id=None, client_name='boardlot', redirect_port=0, timeout=300.0, confidential=False, connect_timeout=5.0, max_connections=64, proxy=None, ca_file=None)"
)]
pub fn begin_login<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
    store: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text_of::client_id)] client_id: Option<String>,
    client_name: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = number_of::redirect_port)] redirect_port: i64,
    #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
    #[pyo3(from_py_with = flag_of::confidential)] confidential: bool,
    connection: Option<&Bound<'py, PyDict>>,
) -> PyResult<LoginFlow> {
    let connect = read_connect_options(py, "begin_login", connection)?;
    begin(
        py,
        base_url,
        LoginArguments {
            store,
            client_id,
            client_name,
            redirect_port,
            timeout,
            confidential,
            connect,
        },
    )
}

/// The arguments of a login.
struct LoginArguments<'a, 'py> {
    store: Option<&'a Bound<'py, PyAny>>,
    client_id: Option<String>,
    client_name: Option<&'a Bound<'py, PyAny>>,
    redirect_port: i64,
    timeout: f64,
    confidential: bool,
    connect: ConnectOptions,
}

fn begin(py: Python<'_>, base_url: &str, given: LoginArguments<'_, '_>) -> PyResult<LoginFlow> {
    let base = BaseUrl::parse(base_url).or_raise(py)?;
    let (store, object) = StoreObject::from_argument(py, given.store)?;
    let options = Options {
        client_id: given.client_id,
        client_name: client_name_text(given.client_name)?,
        redirect_port: port(given.redirect_port).or_raise(py)?,
        confidential: given.confidential,
        deadline: seconds("timeout", &PyFloat::new(py, given.timeout))?,
        transport: transport_options(py, None, given.connect)?,
        ..Options::new(store)
    };
    let flow = block(py, Flow::begin(base, options))?;
    Ok(LoginFlow { flow: Arc::new(flow), store: object })
}

/// Logs in with the browser and returns the credentials for a client.
///
/// Registers a client if the store has none, opens the browser, waits for its callback, and saves the
/// tokens in `store` (None: the keychain). Without a browser, or with `open_browser=False`, the URL is
/// printed to stderr, with the ways to complete the login from another machine.
///
/// For the other arguments and the errors, see `begin_login`. Raises `OAuthError` also if the login is
/// refused, or not completed within `timeout`.
#[pyfunction]
#[pyo3(
    signature = (base_url, *, store = None, client_id = None, client_name = None, redirect_port = 0, open_browser = true, timeout = 300.0, confidential = false, **connection),
    text_signature = "(base_url, *, store=None, client_id=None, client_name='boardlot', redirect_port=0, open_browser=True, timeout=300.0, confidential=False, connect_timeout=5.0, max_connections=64, proxy=None, ca_file=None)"
)]
pub fn login<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
    store: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = text_of::client_id)] client_id: Option<String>,
    client_name: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = number_of::redirect_port)] redirect_port: i64,
    #[pyo3(from_py_with = flag_of::open_browser)] open_browser: bool,
    #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
    #[pyo3(from_py_with = flag_of::confidential)] confidential: bool,
    connection: Option<&Bound<'py, PyDict>>,
) -> PyResult<OAuth> {
    let connect = read_connect_options(py, "login", connection)?;
    let given = LoginArguments {
        store,
        client_id,
        client_name,
        redirect_port,
        timeout,
        confidential,
        connect,
    };
    let LoginFlow { flow, store } = begin(py, base_url, given)?;
    let opened = open_browser && py.detach(|| flow.open_browser());
    let prompt = if opened { None } else { Some(Prompt::show(py, flow.clone())?) };
    let core = block_in(py, PoolSlot::shared, wait(flow), |py| {
        prompt.as_ref().map_or(Ok(()), |prompt| prompt.poll(py))
    })?;
    Ok(OAuth::new_logged_in(core, store))
}

fn port(number: i64) -> Result<u16> {
    u16::try_from(number).map_err(|_| {
        Error::argument("redirect_port", &number.to_string(), "an integer from 0 to 65535")
    })
}

/// Waits for the end of a login. Dropping the future cancels the login, also before it is polled.
fn wait(flow: Arc<Flow>) -> impl Future<Output = Result<Arc<Core>>> {
    struct CancelOnDrop(Arc<Flow>);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let flow = CancelOnDrop(flow);
    async move { flow.0.wait().await }
}
