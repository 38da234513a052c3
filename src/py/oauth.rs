//! `login`, `begin_login`, `LoginFlow` and `OAuth`, as Python sees them.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyFloat, PyFrozenSet},
};

use super::{
    arguments::{file_contents, seconds, secret_text},
    bridge::{Call, CallMode, block},
    dates::DateClasses,
    errors::raise,
    observer::PyObserver,
    shutdown_gate::{self, detach},
    stores::{StoreObject, store_of},
};
use crate::{
    auth::{Credentials, OAuth as Core},
    error::{Error, Result},
    http::{BaseUrl, SenderOptions},
    login::{Flow, Options},
    process::runtime,
};

/// The tokens of a login, kept in a store and refreshed for you: before they run out and when the
/// service rejects one, once for all threads, tasks and processes that share the store.
///
/// `OAuth(client_id, *, store, client_secret=None, base_url=None)`: tokens that an earlier
/// `boardlot.login` put into the store. They belong to one service: that of the first client which
/// uses them, or `base_url`. Service document, section 5.1.
#[pyclass(frozen, module = "boardlot._core")]
pub struct OAuth {
    core: Arc<Core>,
    store: StoreObject,
}

impl OAuth {
    pub fn credentials(&self) -> Credentials {
        Credentials::OAuth(self.core.clone())
    }
}

#[pymethods]
impl OAuth {
    #[new]
    #[pyo3(signature = (client_id, *, store, client_secret = None, base_url = None))]
    fn new(
        py: Python<'_>,
        client_id: &str,
        store: &Bound<'_, PyAny>,
        client_secret: Option<&Bound<'_, PyAny>>,
        base_url: Option<&str>,
    ) -> PyResult<Self> {
        let refused = |error| raise(py, error);
        if client_id.is_empty() || client_id.chars().any(char::is_control) {
            let expected = "a non-empty string without control characters";
            return Err(refused(Error::argument("client_id", "not valid", expected)));
        }
        let secret = client_secret.map(secret_text).transpose()?;
        let (store, object) = store_of(py, Some(store))?;
        let core = Core::new(client_id.to_owned(), secret, store);
        if let Some(base_url) = base_url {
            let base = BaseUrl::parse(base_url).map_err(refused)?;
            core.bind(base.as_str()).map_err(refused)?;
        }
        Ok(OAuth { core: Arc::new(core), store: object })
    }

    /// The id that the service gave this client when it registered.
    #[getter]
    fn client_id(&self) -> &str {
        self.core.client_id()
    }

    /// The service that the tokens belong to; None until a client has used them.
    #[getter]
    fn base_url(&self) -> Option<String> {
        self.core.origin().map(|origin| origin.to_string())
    }

    /// What the user consented to, as a frozenset such as `{"quote:read", "accid:*"}`.
    #[getter]
    fn scopes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let core = self.core.clone();
        let _inside = shutdown_gate::enter(py);
        let set = block(py, async move { core.stored_token().await }, |_| Ok(()))?;
        PyFrozenSet::new(py, &set.scopes)
    }

    /// When the access token ends, an aware UTC datetime; it is refreshed before that.
    #[getter]
    fn expires_at<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core.clone();
        let _inside = shutdown_gate::enter(py);
        let set = block(py, async move { core.stored_token().await }, |_| Ok(()))?;
        DateClasses::get(py)?.datetime_of(py, set.expires_at_ms.saturating_mul(1000))
    }

    /// Forgets the tokens and the client's registration: the store holds nothing of it any more.
    /// Succeeds if there is no such login, and then writes nothing. Raises `StoreError` if the store
    /// cannot be read or written.
    fn logout(&self, py: Python<'_>) -> PyResult<()> {
        let core = self.core.clone();
        block(py, async move { core.log_out().await }, |_| Ok(()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.store.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        let client_id = self.core.client_id().escape_debug();
        match self.core.origin() {
            Some(origin) => format!("OAuth('{client_id}', '{origin}')"),
            None => format!("OAuth('{client_id}')"),
        }
    }

    /// A pickle carries the client id and the store, which refuses where it would show a secret.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((String,), Bound<'py, PyDict>)> {
        if self.core.client_secret().is_some() {
            let what = "an OAuth with a client_secret is not pickled: the secret would be too";
            return Err(raise(py, Error::config(what)));
        }
        let named = PyDict::new(py);
        named.set_item("store", self.store.object())?;
        named.set_item("base_url", self.base_url())?;
        Ok(((self.core.client_id().to_owned(),), named))
    }
}

/// A login that was begun: `url` waits for the user, a port of this machine for the callback.
#[pyclass(frozen, module = "boardlot._core")]
pub struct LoginFlow {
    flow: Arc<Flow>,
    store: StoreObject,
}

#[pymethods]
impl LoginFlow {
    /// Where the user logs in and consents.
    #[getter]
    fn url(&self) -> &str {
        self.flow.url()
    }

    /// Ends the login by the address that the browser was sent to, as it stands in its address
    /// bar; gives the `OAuth`. One that is not of this login raises `OAuthError`, and the login
    /// goes on.
    fn finish<'py>(&self, py: Python<'py>, callback_url: &str) -> PyResult<Bound<'py, OAuth>> {
        let flow = self.flow.clone();
        let _inside = shutdown_gate::enter(py);
        let core = block(py, async move { flow.finish(callback_url).await }, |_| Ok(()))?;
        Bound::new(py, OAuth { core, store: self.store.clone_ref(py) })
    }

    /// Waits for the browser to come back; gives the `OAuth`. Ctrl-C gives the login up.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, OAuth>> {
        let _inside = shutdown_gate::enter(py);
        let core = block(py, waiting(self.flow.clone()), |_| Ok(()))?;
        Bound::new(py, OAuth { core, store: self.store.clone_ref(py) })
    }

    /// The same as `wait`, in async code: `oauth = await flow`.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        let store = base.store.clone_ref(py);
        let finish = move |py: Python<'_>, core| Ok(Py::new(py, OAuth { core, store })?.into_any());
        let call = Call::new("the login", waiting(base.flow.clone()), Box::new(finish));
        let waiter = CallMode::Async.run(py, call.of(this))?;
        waiter.call_method0("__await__")
    }

    /// Gives the login up and closes its port.
    fn cancel(&self) {
        self.flow.cancel();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.store.traverse(&visit)
    }

    fn __repr__(&self) -> String {
        format!("<LoginFlow, port {}>", self.flow.port())
    }
}

/// Begins a login and returns at once; nothing is printed and no browser is opened.
///
/// `begin_login(base_url, *, store=None, client_id=None, client_name="boardlot", redirect_port=0,
/// timeout=300.0, confidential=False, proxy=None, ca_file=None) -> LoginFlow`. Send the user to
/// `flow.url`; then `flow.wait()` (or `await flow`) waits for the browser to come back to this
/// machine, and `flow.finish(callback_url)` takes the address from a browser elsewhere.
#[pyfunction]
#[pyo3(signature = (base_url, *, store = None, client_id = None, client_name = "boardlot", redirect_port = 0, timeout = 300.0, confidential = false, proxy = None, ca_file = None))]
#[expect(clippy::too_many_arguments, reason = "the public signature")]
pub fn begin_login<'py>(
    py: Python<'py>,
    base_url: &str,
    store: Option<&Bound<'py, PyAny>>,
    client_id: Option<String>,
    client_name: &str,
    redirect_port: i64,
    timeout: f64,
    confidential: bool,
    proxy: Option<String>,
    ca_file: Option<PathBuf>,
) -> PyResult<LoginFlow> {
    let refused = |error| raise(py, error);
    let base = BaseUrl::parse(base_url).map_err(refused)?;
    let (store, object) = store_of(py, store)?;
    let extra_certificates = ca_file.map(|path| file_contents(py, "ca_file", &path)).transpose()?;
    let options = Options {
        store,
        client_id,
        client_name: client_name.to_owned(),
        redirect_port: port(redirect_port).map_err(refused)?,
        confidential,
        deadline: seconds("timeout", &PyFloat::new(py, timeout))?,
        sender: SenderOptions {
            proxy,
            extra_certificates,
            observer: Some(Arc::new(PyObserver::default())),
            ..SenderOptions::default()
        },
    };
    let _inside = shutdown_gate::enter(py);
    let flow = block(py, Flow::begin(base, options), |_| Ok(()))?;
    Ok(LoginFlow { flow: Arc::new(flow), store: object })
}

/// Logs in by the browser and gives the credentials for a client.
///
/// `login(base_url, *, store=None, client_id=None, client_name="boardlot", redirect_port=0,
/// open_browser=True, timeout=300.0, confidential=False, proxy=None, ca_file=None) -> OAuth`.
/// Registers a client where the store has none, opens the browser, waits for it to come back, and
/// puts the tokens into `store` (None: the keychain). Without a browser the address is printed to
/// stderr, with the ways to finish from another machine. Service document, section 5.1.
#[pyfunction]
#[pyo3(signature = (base_url, *, store = None, client_id = None, client_name = "boardlot", redirect_port = 0, open_browser = true, timeout = 300.0, confidential = false, proxy = None, ca_file = None))]
#[expect(clippy::too_many_arguments, reason = "the public signature")]
pub fn login<'py>(
    py: Python<'py>,
    base_url: &str,
    store: Option<&Bound<'py, PyAny>>,
    client_id: Option<String>,
    client_name: &str,
    redirect_port: i64,
    open_browser: bool,
    timeout: f64,
    confidential: bool,
    proxy: Option<String>,
    ca_file: Option<PathBuf>,
) -> PyResult<OAuth> {
    let LoginFlow { flow, store } = begin_login(
        py,
        base_url,
        store,
        client_id,
        client_name,
        redirect_port,
        timeout,
        confidential,
        proxy,
        ca_file,
    )?;
    let opened = open_browser && detach(py, || flow.open_browser());
    let prompt = if opened { None } else { Some(Prompt::show(py, flow.clone())?) };
    let core = block(py, waiting(flow), |py| prompt.as_ref().map_or(Ok(()), |p| p.look(py)))?;
    Ok(OAuth { core, store })
}

fn port(number: i64) -> Result<u16> {
    u16::try_from(number).map_err(|_| {
        Error::argument("redirect_port", &number.to_string(), "an integer from 0 to 65535")
    })
}

/// Waits for the end of a login; who gives up waiting gives the login up.
async fn waiting(flow: Arc<Flow>) -> Result<Arc<Core>> {
    struct GiveUp(Arc<Flow>);
    impl Drop for GiveUp {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let flow = GiveUp(flow);
    flow.0.wait().await
}

/// What to do without a browser on this machine, told on stderr; where there is a terminal, the
/// callback can be pasted into it.
struct Prompt {
    flow: Arc<Flow>,
    /// Where lines come from, if anywhere.
    lines: Option<Py<PyAny>>,
    answer: Arc<Mutex<Option<String>>>,
}

impl Prompt {
    fn show(py: Python<'_>, flow: Arc<Flow>) -> PyResult<Self> {
        let lines = terminal(py)?;
        let (url, port) = (flow.url(), flow.port());
        let paste = match lines {
            Some(_) => "paste it here and press Enter",
            None => {
                "give it to flow.finish(callback_url): begin with flow = boardlot.begin_login(...)"
            }
        };
        say(
            py,
            &format!(
                "Open this address in a browser to log in:\n\n    {url}\n\n\
                 If that browser runs on another machine, do one of these:\n\
                 - forward the port first, from that machine to this one:\n\n    \
                 ssh -N -L {port}:127.0.0.1:{port} HOST\n\n\
                 - or log in, copy the address that the browser then cannot open (it begins with \
                 http://127.0.0.1:{port}/callback?), and {paste}.\n"
            ),
        )?;
        Ok(Prompt { flow, lines, answer: Arc::default() })
    }

    /// Called again and again while the login is waited for.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        let refused = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(refused) = refused {
            say(py, &format!("{refused}\n"))?;
        }
        let Some(lines) = &self.lines else { return Ok(()) };
        let ready = py.import("select")?.call_method1("select", ([lines], (), (), 0))?;
        if ready.get_item(0)?.is_empty()? {
            return Ok(());
        }
        let line: String = lines.call_method0(py, "readline")?.extract(py)?;
        if line.trim().is_empty() {
            return Ok(());
        }
        let (flow, answer) = (self.flow.clone(), self.answer.clone());
        let runtime = runtime().map_err(|error| raise(py, error))?;
        runtime.spawn(async move {
            if let Err(error) = flow.finish(&line).await {
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        });
        Ok(())
    }
}

/// stdin, where a person sits before it and it can be waited for.
fn terminal(py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
    let stdin = py.import("sys")?.getattr("stdin")?;
    let sits = cfg!(unix)
        && !stdin.is_none()
        && stdin.call_method0("isatty").and_then(|tty| tty.extract()).unwrap_or(false)
        && stdin.call_method0("fileno").is_ok();
    Ok(sits.then(|| stdin.unbind()))
}

fn say(py: Python<'_>, text: &str) -> PyResult<()> {
    let stderr = py.import("sys")?.getattr("stderr")?;
    if !stderr.is_none() {
        stderr.call_method1("write", (text,))?;
        stderr.call_method0("flush")?;
    }
    Ok(())
}
