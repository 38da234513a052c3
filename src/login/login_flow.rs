//! The core of `LoginFlow`, which `begin_login` and `login` return or wait for.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::types::PyFloat;

use super::{client_registration::client_name_text, oauth_app::transport_options};
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
use boardlot_client::extension::{
    auth::OAuth as CoreOAuth,
    http::{BaseUrl, PoolSlot},
    login::{Flow, Options},
    os::runtime::runtime,
};

/// The core of a `LoginFlow`.
#[pyclass(frozen, name = "_LoginFlow", module = "boardlot._core")]
pub struct LoginFlowCore {
    flow: Arc<Flow>,
    store: StoreObject,
    /// True if the page is open in a browser on this machine.
    has_opened_browser: bool,
    /// The reason why the last URL of `offer` was refused.
    refused: Arc<Mutex<Option<String>>>,
}

#[pymethods]
impl LoginFlowCore {
    /// Begins the login. `connection` are the values of the options for connecting.
    #[new]
    fn new<'py>(
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::base_url)] base_url: &str,
        store: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = text_of::client_id)] client_id: Option<String>,
        client_name: Option<&Bound<'py, PyAny>>,
        #[pyo3(from_py_with = number_of::redirect_port)] redirect_port: i64,
        #[pyo3(from_py_with = flag_of::open_browser)] open_browser: bool,
        #[pyo3(from_py_with = number_of::timeout)] timeout: f64,
        #[pyo3(from_py_with = flag_of::confidential)] confidential: bool,
        connection: &Bound<'py, PyTuple>,
    ) -> PyResult<Self> {
        let connect = read_connect_options(connection)?;
        let base = BaseUrl::parse(base_url).or_raise(py)?;
        let (shared, store) = StoreObject::from_argument(py, store)?;
        let mut options = Options::new(shared);
        options.client_id = client_id;
        options.client_name = client_name_text(client_name)?;
        options.redirect_port = port(redirect_port).or_raise(py)?;
        options.confidential = confidential;
        options.deadline = seconds("timeout", &PyFloat::new(py, timeout))?;
        options.transport = transport_options(py, None, connect)?;
        let flow = Arc::new(block(py, Flow::begin(base, options))?);
        let has_opened_browser = open_browser && py.detach(|| flow.open_browser());
        Ok(LoginFlowCore { flow, store, has_opened_browser, refused: Arc::default() })
    }

    #[getter]
    fn url(&self) -> &str {
        self.flow.url()
    }

    #[getter]
    fn port(&self) -> u16 {
        self.flow.port
    }

    #[getter]
    fn has_opened_browser(&self) -> bool {
        self.has_opened_browser
    }

    fn finish<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::callback_url)] callback_url: &str,
    ) -> PyResult<Bound<'py, OAuth>> {
        let flow = self.flow.clone();
        let core = block(py, async move { flow.finish(callback_url).await })?;
        Bound::new(py, OAuth::new_logged_in(core, self.store.clone_ref(py)))
    }

    /// Waits for the end of the login; calls `poll` regularly, if it is not None.
    fn wait<'py>(&self, py: Python<'py>, poll: Option<Py<PyAny>>) -> PyResult<Bound<'py, OAuth>> {
        let core = block_in(py, PoolSlot::shared, wait(self.flow.clone()), |py| match &poll {
            Some(poll) => poll.bind(py).invoke(()).map(drop),
            None => Ok(()),
        })?;
        Bound::new(py, OAuth::new_logged_in(core, self.store.clone_ref(py)))
    }

    /// Returns the iterator of an `await`, whose result is that of `wait`.
    fn awaited<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
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

    /// Begins to complete the login with a callback URL that was pasted.
    fn offer(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::callback_url)] callback_url: String,
    ) -> PyResult<()> {
        let (flow, refused) = (self.flow.clone(), self.refused.clone());
        runtime().or_raise(py)?.spawn(async move {
            if let Err(error) = flow.offer(&callback_url).await {
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        });
        Ok(())
    }

    /// Returns the reason why the last URL of `offer` was refused, and forgets it.
    fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn cancel(&self) {
        self.flow.cancel();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.store.traverse(&visit)
    }
}

fn port(number: i64) -> Result<u16> {
    u16::try_from(number).map_err(|_| {
        Error::argument("redirect_port", &number.to_string(), "an integer from 0 to 65535")
    })
}

/// Waits for the end of a login. Dropping the future cancels the login, also before it is polled.
fn wait(flow: Arc<Flow>) -> impl Future<Output = Result<Arc<CoreOAuth>>> {
    struct CancelOnDrop(Arc<Flow>);
    impl Drop for CancelOnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let flow = CancelOnDrop(flow);
    async move { flow.0.wait().await }
}
