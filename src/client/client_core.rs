//! The core of `Client` and `AsyncClient`, which are Python: their typed methods are generated.

use std::sync::{Arc, Mutex, PoisonError};

use ::http::{HeaderMap, Method};
use zeroize::Zeroizing;

use super::{
    client_options::{build_client, changed_options, check_picklable},
    endpoint::EndpointCore,
    endpoint_arguments::{
        ArgumentName, Arguments, BuiltInEndpoint, endpoint_arguments, warn_of_end_date,
    },
    many_keys::ManyKeys,
    paging::paging_argument,
    response::{Explanation, Response},
};
use crate::prelude::*;
use crate::{
    arguments::{
        caller_arguments::{number_of, optional_text, text},
        request_arguments,
    },
    calls::call::{Call, CallMode},
    hooks::observer::{Hooks, PythonObserver},
    interpreter::{
        core_of::core_of,
        errors::{is_refusal, wrong_type},
        weak_ref::StrongRef,
    },
    pager::pages::Pages,
    rows::{page_rows::Rows, row_builder_pool::RowBuilderPool},
    values::dates::DateClasses,
};
use boardlot_client::extension::{
    api::{self, ENDPOINTS},
    client::Client as CoreClient,
    http::{Body, HttpResponse, RequestPlan, method},
    os::process::shared,
    pages::{PagedCall, Windows},
};

/// The core of a `Client` or an `AsyncClient`. Calls and pagers that the core creates keep the
/// client alive, as their `owner`.
#[pyclass(frozen, name = "_ClientCore", module = "boardlot._core")]
pub struct ClientCore {
    core: CoreClient,
    mode: CallMode,
    /// The arguments of the constructor, for pickling.
    given: Py<PyDict>,
    /// The objects to which the core has weak references: the hooks, and the credentials with their
    /// store.
    referents: Vec<Py<PyAny>>,
    observer: Arc<PythonObserver>,
    /// True if this core was derived from another one, and ends with it.
    is_derived: bool,
    /// The objects to which the observer has weak references.
    instrumentation: Mutex<Vec<Py<StrongRef>>>,
}

/// Record builders of each endpoint, in the order of the table. All clients of a process share
/// them: the builder that one thread keeps for one endpoint takes 10 kB, and an application may
/// have a client for each user.
struct Builders(Vec<RowBuilderPool>);

impl Default for Builders {
    fn default() -> Self {
        Builders(ENDPOINTS.iter().map(|_| RowBuilderPool::default()).collect())
    }
}

impl ClientCore {
    fn core(&self, py: Python<'_>) -> PyResult<CoreClient> {
        self.core.transport.check_open().or_raise(py)?;
        Ok(self.core.clone())
    }

    /// Runs a call that spawns no tasks.
    fn run<'py, T: Send + 'static>(
        this: &Bound<'py, Self>,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = this.get();
        let call = call.owned_by(Some(this.clone().into_any().unbind()));
        base.mode.run_pooled(this.py(), &base.core.transport, call)
    }

    /// Returns the builders of an endpoint's records. A custom endpoint keeps its own.
    fn builders_of(given: &Bound<'_, PyAny>, endpoint: &api::Endpoint) -> PyResult<RowBuilderPool> {
        if let Some(own) = core_of::<EndpointCore>(given)? {
            return Ok(own.get().builders.clone());
        }
        let index = match given.cast::<BuiltInEndpoint>() {
            Ok(built_in) => Some(built_in.get().index),
            Err(_) => ENDPOINTS.iter().position(|row| row.name == endpoint.name),
        };
        let all = shared::<Builders>().or_raise(given.py())?;
        Ok(index.and_then(|index| all.0.get(index)).cloned().unwrap_or_default())
    }
}

/// Reads the argument `resume`: a checkpoint.
fn resume_text(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    match value {
        Some(value) if value.is_callable() => {
            Err(wrong_type("resume", value, "a string: call it, as in resume=pager.checkpoint()"))
        }
        value => optional_text("resume", value),
    }
}

#[pymethods]
impl ClientCore {
    #[new]
    fn new(
        py: Python<'_>,
        mode: &str,
        #[pyo3(from_py_with = text_of::base_url)] base_url: Option<String>,
        options: &Bound<'_, PyTuple>,
    ) -> PyResult<Self> {
        let given = PyDict::new(py);
        given.set_item("base_url", &base_url)?;
        let (core, observer, referents) = build_client(base_url, options, &given)?;
        Ok(ClientCore {
            core,
            mode: CallMode::named(mode),
            given: given.unbind(),
            referents,
            observer,
            is_derived: false,
            instrumentation: Mutex::default(),
        })
    }

    /// True if calls are awaited.
    #[getter]
    fn is_async(&self) -> bool {
        self.mode == CallMode::Async
    }

    /// The base URL of the service.
    #[getter]
    fn base_url(&self) -> &str {
        self.core.transport.base.as_str()
    }

    /// The address of the quote WebSocket, if it was passed.
    #[getter]
    fn ws_quote_url<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.given.bind(py).get_item("ws_quote_url")
    }

    /// The address of the trade WebSocket, if it was passed.
    #[getter]
    fn ws_trade_url<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.given.bind(py).get_item("ws_trade_url")
    }

    /// The seconds by which the service's clock is ahead of this machine's. The timestamps of
    /// signed requests are corrected by this offset, which is 0.0 until the service rejects a
    /// timestamp.
    #[getter]
    fn clock_offset(&self) -> f64 {
        // A float represents milliseconds exactly.
        self.core.transport.clock.offset_ms() as f64 / 1e3
    }

    /// Returns a copy of this core for calls that block. The copy keeps this core alive.
    fn blocking(this: &Bound<'_, Self>) -> Self {
        let base = this.get();
        ClientCore {
            core: base.core.clone(),
            mode: CallMode::Sync,
            given: base.given.clone_ref(this.py()),
            referents: vec![this.clone().into_any().unbind()],
            observer: base.observer.clone(),
            is_derived: false,
            instrumentation: Mutex::default(),
        }
    }

    /// Returns a core with other options, which shares everything else with this one. The new core
    /// keeps this one alive, and closes nothing.
    fn with_options<'py>(
        this: &Bound<'py, Self>,
        timeout: Option<Bound<'py, PyAny>>,
        max_retries: Option<Bound<'py, PyAny>>,
        headers: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let (py, base) = (this.py(), this.get());
        let core = base.core(py)?;
        let given = base.given.bind(py).copy()?;
        let changes = [("timeout", timeout), ("max_retries", max_retries), ("headers", headers)];
        let options = changed_options(core.transport.options(), &changes, &given)?;
        Ok(ClientCore {
            core: core.with_options(options),
            mode: base.mode,
            given: given.unbind(),
            referents: vec![this.clone().into_any().unbind()],
            observer: base.observer.clone(),
            is_derived: true,
            instrumentation: Mutex::default(),
        })
    }

    /// Returns the `Authorization` header of the client's token, for other HTTP clients. If that
    /// header is the `rejected` one, the token is refreshed first.
    fn token_header<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = text_of::rejected)] rejected: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = this.get().core(this.py())?;
        let finish = |py: Python<'_>, header: Zeroizing<String>| {
            Ok(PyString::new(py, &header).into_any().unbind())
        };
        let future = async move { core.transport.token_header(rejected.as_deref()).await };
        Self::run(this, Call::new(future, Box::new(finish)))
    }

    /// Closes the idle connections and refuses later calls.
    fn close(&self) {
        if !self.is_derived {
            self.core.transport.close();
        }
    }

    /// Sets hooks to call besides the client's own, in place of the hooks of an earlier call.
    fn instrument(
        &self,
        on_request: Option<Bound<'_, PyAny>>,
        on_response: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (hooks, strong_refs) = Hooks::new(on_request, on_response)?;
        let before = {
            let mut kept = self.instrumentation.lock().unwrap_or_else(PoisonError::into_inner);
            self.observer.instrument(hooks);
            std::mem::replace(&mut *kept, strong_refs)
        };
        // Dropping hooks may run Python code, so the lock is released first.
        drop(before);
        Ok(())
    }

    /// The service's time as an aware UTC datetime.
    fn server_time<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        let core = base.core(py)?;
        let finish = |py: Python<'_>, millis: i64| {
            let time = DateClasses::get(py)?.datetime_of(py, millis.saturating_mul(1000));
            time.map(Bound::unbind).map_err(|error| {
                if !is_refusal(py, &error) {
                    return error;
                }
                let text =
                    format!("server_time is {millis} ms; expected a time in the years 1 to 9999");
                raise(py, Error::protocol(text, b""))
            })
        };
        let future = async move { core.server_time().await };
        Self::run(this, Call::new(future, Box::new(finish)))
    }

    /// The service's time at which an open range ends, in microseconds since 1970. This time is
    /// past when the call returns, and no record that existed at the call is later.
    fn service_now<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let core = this.get().core(this.py())?;
        let finish =
            |py: Python<'_>, micros: i64| Ok(micros.into_pyobject(py)?.into_any().unbind());
        let future = async move { core.service_now().await };
        Self::run(this, Call::new(future, Box::new(finish)))
    }

    /// Fetches the rows of an endpoint.
    fn call<'py>(
        this: &Bound<'py, Self>,
        endpoint: &Bound<'py, PyAny>,
        arguments: Arguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        let core = base.core(py)?;
        let given = endpoint;
        let (endpoint, arguments) = endpoint_arguments(given, &arguments)?;
        let rows = Rows::from_core(&Self::builders_of(given, &endpoint)?);
        let is_paged = endpoint.paging.is_some();
        let future = async move { core.call(&endpoint, &arguments).await };
        let call = Call::new(future, rows);
        if !is_paged {
            return Self::run(this, call);
        }
        // Pages are fetched ahead by tasks of the shared runtime.
        base.mode.run_shared(py, call.owned_by(Some(this.clone().into_any().unbind())))
    }

    /// Returns the pages of one part of a time range. `part` is the index of the part, 0 for the
    /// latest, and the number of parts.
    fn part_of_pages(
        &self,
        owner: &Bound<'_, PyAny>,
        endpoint: &Bound<'_, PyAny>,
        arguments: Arguments<'_>,
        part: (usize, usize),
    ) -> PyResult<Pages> {
        let py = owner.py();
        let core = self.core(py)?;
        let (endpoint, arguments) = endpoint_arguments(endpoint, &arguments)?;
        let pages = core.part_of_pages(&endpoint, &arguments, part);
        let pages = pages.or_raise(py)?;
        Ok(Pages::new(self.mode, pages, Some(owner)))
    }

    /// Returns the pages of an endpoint.
    fn pages(
        &self,
        owner: &Bound<'_, PyAny>,
        endpoint: &Bound<'_, PyAny>,
        arguments: Arguments<'_>,
        #[pyo3(from_py_with = number_of::windows)] windows: Option<Windows>,
        resume: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Pages> {
        let py = owner.py();
        let core = self.core(py)?;
        let resume = resume_text(resume)?;
        let (endpoint, checked) = endpoint_arguments(endpoint, &arguments)?;
        let pages = core.pages(&endpoint, &checked, windows, resume.as_deref()).or_raise(py)?;
        warn_of_end_date(&endpoint, &arguments)?;
        Ok(Pages::new(self.mode, pages, Some(owner)))
    }

    fn request<'py>(
        this: &Bound<'py, Self>,
        method: &Bound<'py, PyAny>,
        path: &Bound<'py, PyAny>,
        query: Option<&Bound<'py, PyAny>>,
        body: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        let core = base.core(py)?;
        let body = request_arguments::body(body)?;
        let headers = request_arguments::headers("headers", headers)?;
        let (method, path) = (text("method", method)?, text("path", path)?);
        let plan = plan(py, &method, &path, query, body, headers)?;
        let finish = |py: Python<'_>, received: HttpResponse| {
            Ok(Py::new(py, Response(received))?.into_any())
        };
        let future = async move { core.request(&plan).await };
        Self::run(this, Call::new(future, Box::new(finish)))
    }

    fn paginate(
        &self,
        owner: &Bound<'_, PyAny>,
        method: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        paging: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        query: Option<&Bound<'_, PyAny>>,
        body: Option<&Bound<'_, PyAny>>,
        resume: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Pages> {
        let py = owner.py();
        let core = self.core(py)?;
        let body = request_arguments::body_members(body)?;
        let (method, path) = (text("method", method)?, text("path", path)?);
        let (rows, resume) = (text("rows", rows)?, resume_text(resume)?);
        let plan = plan(py, &method, &path, query, body, HeaderMap::new())?;
        if plan.method != Method::GET && plan.method != Method::POST {
            let shown = plan.method.to_string();
            return Err(raise(py, Error::argument("method", &shown, "GET or POST")));
        }
        let paging = paging_argument(paging)?;
        let paging = paging.map_err(|what| raise(py, Error::config(format!("paging {what}"))))?;
        let listing = PagedCall::custom(plan, &rows, paging);
        let pages = core.list(listing, resume.as_deref()).or_raise(py)?;
        Ok(Pages::new(self.mode, pages, Some(owner)))
    }

    fn explain<'py>(
        &self,
        py: Python<'py>,
        method: &Bound<'py, PyAny>,
        path: Option<Bound<'py, PyAny>>,
        query: Option<Bound<'py, PyAny>>,
        body: Option<Bound<'py, PyAny>>,
        arguments: Arguments<'py>,
    ) -> PyResult<Explanation> {
        let core = self.core(py)?;
        let explained = if core_of::<EndpointCore>(method)?.is_some() {
            let named = [("path", path), ("query", query), ("body", body)];
            let named = named.into_iter().filter_map(|(name, value)| {
                value.map(|value| (ArgumentName(name.to_owned()), value))
            });
            let arguments: Arguments<'_> = arguments.into_iter().chain(named).collect();
            let (endpoint, arguments) = endpoint_arguments(method, &arguments)?;
            core.explain_call(&endpoint, &arguments)
        } else {
            if let Some((ArgumentName(name), _)) = arguments.first() {
                let text = format!("{name} is not an argument of explain without an Endpoint");
                return Err(raise(py, Error::config(text)));
            }
            let method = text("method", method)?;
            let Some(path) = path else {
                return Err(raise(
                    py,
                    Error::config("path is missing; expected one such as '/path'"),
                ));
            };
            let body = request_arguments::body(body.as_ref())?;
            let path = text("path", &path)?;
            core.explain(&plan(py, &method, &path, query.as_ref(), body, HeaderMap::new())?)
        };
        Ok(Explanation(explained.or_raise(py)?))
    }

    /// Fetches the rows of an endpoint for many keys. Also returns the errors of the keys that
    /// failed.
    fn fetch_many<'py>(
        this: &Bound<'py, Self>,
        endpoint: &Bound<'py, PyAny>,
        keys: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = number_of::concurrency)] concurrency: i64,
        #[pyo3(from_py_with = text_of::on_error)] on_error: &str,
        #[pyo3(from_py_with = number_of::windows)] windows: Option<Windows>,
        #[pyo3(from_py_with = flag_of::progress)] progress: bool,
        arguments: Arguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let base = this.get();
        let core = base.core(this.py())?;
        let fixed = arguments;
        let many = ManyKeys { endpoint, keys, fixed, concurrency, on_error, windows };
        many.fetch(core, base.mode, progress, this.as_any())
    }

    /// Returns the pages of an endpoint for many keys.
    fn pages_many(
        &self,
        owner: &Bound<'_, PyAny>,
        endpoint: &Bound<'_, PyAny>,
        keys: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = number_of::concurrency)] concurrency: i64,
        #[pyo3(from_py_with = text_of::on_error)] on_error: &str,
        #[pyo3(from_py_with = number_of::windows)] windows: Option<Windows>,
        resume: Option<&Bound<'_, PyAny>>,
        arguments: Arguments<'_>,
    ) -> PyResult<Pages> {
        let py = owner.py();
        let core = self.core(py)?;
        let resume = resume_text(resume)?;
        let fixed = arguments;
        let many = ManyKeys { endpoint, keys, fixed, concurrency, on_error, windows };
        let pages = many.pages(py, &core, resume.as_deref())?;
        Ok(Pages::new(self.mode, pages, Some(owner)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.given)?;
        // If the lock is held, a thread is using this object, so it is not garbage.
        if let Ok(kept) = self.instrumentation.try_lock() {
            kept.iter().try_for_each(|object| visit.call(object))?;
        }
        self.referents.iter().try_for_each(|object| visit.call(object))
    }

    /// Constructor arguments that are not the defaults, for a pickle. The pickle contains no
    /// secret, since credentials are pickled by reference or not at all.
    fn given<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let given = self.given.bind(py).copy()?;
        check_picklable(&given)?;
        Ok(given)
    }
}

fn plan(
    py: Python<'_>,
    verb: &str,
    path: &str,
    query: Option<&Bound<'_, PyAny>>,
    body: Body,
    headers: HeaderMap,
) -> PyResult<RequestPlan> {
    let verb = method(verb).or_raise(py)?;
    Ok(RequestPlan::custom(verb, path, request_arguments::query(query)?, body, headers))
}
