//! `Client` and `AsyncClient`: one class below both; their typed methods are generated.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use ::http::Method;
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyString, PyType},
};

use super::{
    arguments::{self, DateClasses, argument},
    bridge::Face,
    credentials::{ApiKey, credentials},
    errors::{exception, raise},
    pager::PagerBase,
    paging::style,
    progress::Progress,
    records::{Records, records},
};
use crate::{
    api::{Argument, Endpoint, Envelope, endpoint},
    client::{Client as Core, Many},
    decode::RowsAt,
    error::{Error, Result},
    http::{BaseUrl, Body, Draft, Received, SenderOptions, method},
    pages::Listing,
    profile::{Profile, ProfileAuth},
};

/// What `Client` and `AsyncClient` share. Which of the two a subclass is, its `_face` says.
#[pyclass(frozen, subclass, module = "boardlot._core")]
pub struct ClientBase {
    core: Core,
    face: Face,
    closed: AtomicBool,
    /// The arguments as they were given, for pickling.
    given: Py<PyDict>,
}

impl ClientBase {
    fn core(&self, py: Python<'_>) -> PyResult<Core> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(raise(py, Error::config("this client is closed; make a new one")));
        }
        Ok(self.core.clone())
    }
}

type Arguments<'py> = Vec<(String, Bound<'py, PyAny>)>;

#[pymethods]
impl ClientBase {
    #[new]
    #[classmethod]
    #[pyo3(signature = (base_url = None, **options))]
    fn new(
        class: &Bound<'_, PyType>,
        base_url: Option<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let py = class.py();
        let face = match class.getattr("_face")?.extract::<&str>()? {
            "async" => Face::Async,
            _ => Face::Sync,
        };
        let given = match options {
            Some(options) => options.copy()?,
            None => PyDict::new(py),
        };
        given.set_item("base_url", &base_url)?;
        let core = open(py, base_url, options)?;
        Ok(ClientBase { core, face, closed: AtomicBool::new(false), given: given.unbind() })
    }

    /// The service's address.
    #[getter]
    fn base_url(&self) -> &str {
        self.core.sender().base().as_str()
    }

    /// Ends the client: later calls are refused. Connections close as they fall idle.
    fn _close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// The service's time as an aware UTC datetime.
    fn _server_time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let finish = |py: Python<'_>, millis: i64| {
            let time = DateClasses::get(py)?.datetime_of(py, millis.saturating_mul(1000))?;
            Ok(time.unbind())
        };
        self.face.run(py, async move { core.server_time().await }, Box::new(finish))
    }

    /// The records of an endpoint of the table.
    fn _call<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: Arguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let (endpoint, arguments) = checked(py, name, &arguments)?;
        let future = async move {
            let arguments: Vec<_> =
                arguments.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            core.call(endpoint, &arguments).await
        };
        self.face.run(py, future, Box::new(records))
    }

    /// The pages of an endpoint of the table.
    fn _pages<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        arguments: Arguments<'py>,
        resume: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let (endpoint, arguments) = checked(py, name, &arguments)?;
        let arguments: Vec<_> =
            arguments.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let pages = core.pages(endpoint, &arguments, resume).map_err(|error| raise(py, error))?;
        PagerBase::open(py, self.face, pages)
    }

    fn _request<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: &str,
        query: Option<&Bound<'py, PyAny>>,
        body: Option<&Bound<'py, PyAny>>,
        headers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let mut draft = draft(py, method, path, query, arguments::body(body)?)?;
        draft.headers = arguments::headers(headers)?;
        let finish =
            |py: Python<'_>, received: Received| Ok(Py::new(py, Response(received))?.into_any());
        self.face.run(py, async move { core.request(&draft).await }, Box::new(finish))
    }

    #[expect(clippy::too_many_arguments, reason = "the public signature")]
    fn _paginate<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: &str,
        paging: &Bound<'py, PyAny>,
        rows: &str,
        query: Option<&Bound<'py, PyAny>>,
        body: Option<&Bound<'py, PyAny>>,
        resume: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let mut draft = draft(py, method, path, query, arguments::body_members(body)?)?;
        if draft.method != Method::GET && draft.method != Method::POST {
            let shown = draft.method.to_string();
            return Err(raise(py, Error::argument("method", &shown, "GET or POST: a listing")));
        }
        draft.repeatable = true;
        let style = style(paging, &draft.method)?;
        let listing = Listing {
            draft,
            envelope: Envelope::NotShown,
            rows_at: RowsAt::Path(rows.split('.').map(str::to_owned).collect()),
            fields: Arc::default(),
            style,
            span: None,
        };
        let pages = core.list(listing, resume).map_err(|error| raise(py, error))?;
        PagerBase::open(py, self.face, pages)
    }

    fn _explain(
        &self,
        py: Python<'_>,
        method: &str,
        path: &str,
        query: Option<&Bound<'_, PyAny>>,
        body: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explanation> {
        let draft = draft(py, method, path, query, arguments::body(body)?)?;
        let explained = self.core(py)?.explain(&draft).map_err(|error| raise(py, error))?;
        Ok(Explanation(explained))
    }

    fn _fetch_many<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        keys: &Bound<'py, PyAny>,
        concurrency: i64,
        on_error: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = self.core(py)?;
        let collect = match on_error {
            "raise" => false,
            "collect" => true,
            other => {
                let error =
                    Error::argument("on_error", &format!("'{other}'"), "'raise', 'collect'");
                return Err(raise(py, error));
            }
        };
        let concurrency = usize::try_from(concurrency)
            .ok()
            .filter(|number| (1..=1024).contains(number))
            .ok_or_else(|| {
                raise(py, Error::argument("concurrency", &concurrency.to_string(), "1 to 1024"))
            })?;
        let (endpoint, _) = checked(py, name, &[])?;
        if keys.is_instance_of::<PyString>() {
            let error = Error::argument("keys", "a text", "a list of keys, such as [\"HK.00700\"]");
            return Err(raise(py, error));
        }
        let keys =
            keys.try_iter()?.map(|key| argument("keys", &key?)).collect::<PyResult<Vec<_>>>()?;
        let count = Arc::new(AtomicU64::new(0));
        let progress = Progress {
            shown: progress,
            label: name,
            unit: "keys",
            total: Some(keys.len()),
            count: count.clone(),
        };
        let future =
            async move { core.fetch_many(endpoint, keys, concurrency, collect, count).await };
        let finish = |py: Python<'_>, many: Many| {
            let errors = PyDict::new(py);
            for (key, error) in &many.errors {
                errors.set_item(key, exception(py, error)?)?;
            }
            Ok(Py::new(py, Records::with_errors(many.rows, errors.unbind()))?.into_any())
        };
        progress.run(py, self.face, future, Box::new(finish))
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let name = this.get_type().name()?.to_string();
        Ok(format!("{name}('{}')", this.get().base_url()))
    }

    /// A pickle carries the arguments; credentials in it are references or refuse.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let rebuild = py.import("boardlot._rebuild")?.getattr("rebuild")?;
        let given = this.get().given.bind(py).copy()?;
        let proxy = given.get_item("proxy")?.map(|proxy| proxy.to_string()).unwrap_or_default();
        if proxy.contains('@') {
            let text =
                "a client whose proxy has a password is not pickled: it would be in the pickle";
            return Err(raise(py, Error::config(text)));
        }
        (rebuild, (this.get_type(), given)).into_pyobject(py).map(Bound::into_any)
    }
}

fn checked<'py>(
    py: Python<'py>,
    name: &str,
    arguments: &[(String, Bound<'py, PyAny>)],
) -> PyResult<(&'static Endpoint, Vec<(String, Argument)>)> {
    let endpoint = endpoint(name).ok_or_else(|| {
        let methods: Vec<&str> = crate::api::ENDPOINTS.iter().map(|row| row.name).collect();
        raise(py, Error::argument("method", &format!("'{name}'"), &methods.join(", ")))
    })?;
    let mut given = Vec::with_capacity(arguments.len());
    for (name, value) in arguments {
        if !value.is_none() {
            given.push((name.clone(), argument(name, value)?));
        }
    }
    Ok((endpoint, given))
}

fn draft(
    py: Python<'_>,
    verb: &str,
    path: &str,
    query: Option<&Bound<'_, PyAny>>,
    body: Body,
) -> PyResult<Draft> {
    let verb = method(verb).map_err(|error| raise(py, error))?;
    Ok(Draft {
        label: format!("{verb} {path}"),
        repeatable: verb.is_safe(),
        method: verb,
        path: path.to_owned(),
        query: arguments::query(query)?,
        body,
        headers: ::http::HeaderMap::new(),
        order: &[],
    })
}

/// An answer as it came; the envelope is the caller's to look into.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Response(Received);

#[pymethods]
impl Response {
    #[getter]
    fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// Names in lower case; values of a repeated header joined by commas.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let headers = PyDict::new(py);
        for name in self.0.headers().keys() {
            let values: Vec<_> = self
                .0
                .headers()
                .get_all(name)
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()))
                .collect();
            headers.set_item(name.as_str(), values.join(", "))?;
        }
        Ok(headers)
    }

    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.body())
    }

    /// The body read as JSON; raises `ProtocolError` where it is none.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.content(py),)).map_err(|error| {
            let text = format!("the answer is no JSON: {}", error.value(py));
            raise(py, Error::protocol(text, self.0.body()))
        })
    }

    fn __repr__(&self) -> String {
        format!("<Response {}, {} bytes>", self.status(), self.0.body().len())
    }
}

/// A request as it would be sent: signed, but without the key.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Explanation(crate::client::Explanation);

#[pymethods]
impl Explanation {
    #[getter]
    fn method(&self) -> &str {
        &self.0.method
    }

    #[getter]
    fn url(&self) -> &str {
        &self.0.url
    }

    /// The five signed lines; empty where the client has no `ApiKey`.
    #[getter]
    fn payload_lines(&self) -> Vec<&str> {
        self.0.payload.as_ref().map(|text| text.split('\n').collect()).unwrap_or_default()
    }

    /// The signed bytes.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.payload.as_deref().unwrap_or_default().as_bytes())
    }

    /// The lowercase hex SHA-256 of the body; empty where there is none.
    #[getter]
    fn body_hash(&self) -> &str {
        &self.0.body_hash
    }

    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let headers = PyDict::new(py);
        for (name, value) in &self.0.headers {
            headers.set_item(name, value)?;
        }
        Ok(headers)
    }

    fn __repr__(&self) -> String {
        let mut text = format!("{} {}\n", self.0.method, self.0.url);
        for (name, value) in &self.0.headers {
            text += &format!("{name}: {value}\n");
        }
        for (number, line) in (1..).zip(self.payload_lines()) {
            text += &format!("signed line {number}: {line}\n");
        }
        text.trim_end().to_owned()
    }
}

/// A client from its Python arguments; those not given have the core's defaults.
fn open(
    py: Python<'_>,
    base_url: Option<String>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Core> {
    let refused = |error: Error| raise(py, error);
    let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let value = given.map(|given| given.get_item(name)).transpose()?.flatten();
        Ok(value.filter(|value| !value.is_none()))
    };
    let profile = match get("profile")? {
        Some(name) => Some(Profile::load(&text("profile", &name)?).map_err(refused)?),
        None => None,
    };
    let base_url = base_url
        .or_else(|| profile.as_ref().map(|profile| profile.base_url.clone()))
        .ok_or_else(|| raise(py, Error::config("base_url is missing; give it or a profile")))?;
    let auth = match (get("auth")?, profile.map(|profile| profile.auth)) {
        (Some(auth), _) => Some(credentials(&auth)?),
        (None, Some(ProfileAuth::ApiKey { key_id, private_key })) => {
            let (key, _) = ApiKey::open(&key_id, private_key, None).map_err(refused)?;
            Some(key.credentials().map_err(refused)?)
        }
        (None, Some(ProfileAuth::None) | None) => None,
    };
    for name in ["ws_quote_url", "ws_trade_url"] {
        if let Some(url) = get(name)? {
            check_websocket_url(name, url.extract()?).map_err(refused)?;
        }
    }
    let defaults = SenderOptions::default();
    let options = SenderOptions {
        timeout: seconds("timeout", get("timeout")?, defaults.timeout)?,
        connect_timeout: seconds(
            "connect_timeout",
            get("connect_timeout")?,
            defaults.connect_timeout,
        )?,
        max_retries: whole("max_retries", get("max_retries")?, 0, 100)?
            .map_or(defaults.max_retries, |number| {
                u32::try_from(number).unwrap_or(defaults.max_retries)
            }),
        rate_limit: rate(get("rate_limit")?)?,
        max_connections: whole("max_connections", get("max_connections")?, 1, 65_536)?
            .unwrap_or(defaults.max_connections),
        max_body_bytes: whole("max_body_bytes", get("max_body_bytes")?, 1, isize::MAX as usize)?
            .unwrap_or(defaults.max_body_bytes),
        proxy: get("proxy")?.map(|proxy| text("proxy", &proxy)).transpose()?,
        extra_certificates: match get("ca_file")? {
            Some(path) => Some(read_certificates(path.extract()?).map_err(refused)?),
            None => None,
        },
        headers: match get("headers")? {
            Some(headers) => arguments::headers(Some(&headers))?,
            None => defaults.headers,
        },
    };
    let base = BaseUrl::parse(&base_url).map_err(refused)?;
    Core::new(base, auth, options).map_err(refused)
}

pub fn read_certificates(path: PathBuf) -> Result<Vec<u8>> {
    fs::read(&path).map_err(|error| Error::config(format!("ca_file {}: {error}", path.display())))
}

fn check_websocket_url(name: &str, url: &str) -> Result<()> {
    // The same rules as for the API's own address, by the same code.
    let like = match (url.strip_prefix("wss://"), url.strip_prefix("ws://")) {
        (Some(rest), _) => format!("https://{rest}"),
        (None, Some(rest)) => format!("http://{rest}"),
        (None, None) => String::new(),
    };
    if BaseUrl::parse(&like).is_err() {
        return Err(Error::config(format!("{name} is not usable; allowed is wss://")));
    }
    Ok(())
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value
        .extract()
        .map_err(|_| raise(value.py(), Error::argument(name, "of another type", "a text")))
}

pub fn seconds(
    name: &str,
    value: Option<Bound<'_, PyAny>>,
    default: Duration,
) -> PyResult<Duration> {
    /// A day: every call is bounded.
    const LONGEST: f64 = 86_400.0;
    let Some(value) = value else { return Ok(default) };
    match value.extract::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(raise(
            value.py(),
            Error::argument(name, &value.repr()?.to_string(), "seconds above 0, at most 86400"),
        )),
    }
}

fn rate(value: Option<Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<f64>() {
        Ok(rate) if (0.001..=1_000_000.0).contains(&rate) => Ok(Some(rate)),
        _ => Err(raise(
            value.py(),
            Error::argument(
                "rate_limit",
                &value.repr()?.to_string(),
                "requests a second from 0.001 to 1000000, or None",
            ),
        )),
    }
}

fn whole(
    name: &str,
    value: Option<Bound<'_, PyAny>>,
    min: usize,
    max: usize,
) -> PyResult<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<usize>() {
        Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
        _ => Err(raise(
            value.py(),
            Error::argument(
                name,
                &value.repr()?.to_string(),
                &format!("a whole number from {min} to {max}"),
            ),
        )),
    }
}
