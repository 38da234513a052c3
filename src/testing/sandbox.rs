//! `Sandbox` and `Faults`.

use std::net::IpAddr;

use jiff::civil::Date;
use pyo3::exceptions::PyAttributeError;

use super::{recorded_request::RecordedRequest, sandbox_rows};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{argument, no_more, no_others, number_of, text},
    client::endpoint::Endpoint,
    credentials::static_credentials::ApiKey,
};
use boardlot_client::{
    api::Argument,
    auth::{Algorithm, generate},
    error::did_you_mean,
    os::runtime::runtime,
};
use boardlot_sandbox as sandbox;

/// A simulation of the whole service in this process, for experiments and tests.
///
/// It listens on `host` and `port` (0: any free port) as soon as it is constructed. The same `seed`
/// generates the same data. `fills` is the number of fills in the last 90 days; as many again reach back two
/// years. `orders` is the number of open crypto orders of each account; a simulated account has as many, up
/// to 40. `plate_stocks` is the number of stocks in a plate. `today`, a `date`, fixes the day on which the
/// data end and the service's clock starts, at noon UTC; by default it is the current one. The clock is
/// `clock_offset` seconds ahead. Access tokens are valid for `token_lifetime` seconds. `faults` is a
/// `Faults`. Use it in a `with` block, or call `close()`. Raises `ConfigError` for an argument that is not
/// valid, also in its methods, and for a port that is in use.
///
/// >>> sandbox = bl.Sandbox(seed=7)
/// >>> client = sandbox.client()
/// >>> sandbox.put("dividends", [{"ex_date": "2026/01/05"}], symbol="HK.00700")
/// >>> client.dividends("HK.00700")[0]["ex_date"]
/// '2026/01/05'
/// >>> news = bl.Endpoint("news", "GET", "/api/v1.0/news/{symbol}", rows="data.list")
/// >>> sandbox.serve(news, [{"title": "A title"}], symbol="HK.00700")
/// >>> client.call(news, symbol="HK.00700")[0]["title"]
/// 'A title'
/// >>> sandbox.fail_next("dividends", status=503)  # the client tries again
/// >>> len(client.dividends("HK.00700")), [one.status for one in sandbox.requests[-2:]]
/// (1, [503, 200])
/// >>> key = bl.generate_key()
/// >>> key_id = sandbox.upload_key(key.public_pem)  # or `sandbox.api_key()`, which does both
/// >>> flow = bl.begin_login(sandbox.base_url, store=bl.MemoryStore())
/// >>> login = flow.finish(sandbox.authorize_demo_user(flow.url))
/// >>> async_client = sandbox.async_client(auth=login)
/// >>> sandbox.revoke_tokens()  # its next call refreshes them
/// >>> sandbox.revoke_grants()  # its next call raises LoginRequired
/// >>> sandbox.reset()
/// >>> sandbox.close()
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct Sandbox(sandbox::Sandbox);

#[pymethods]
impl Sandbox {
    #[new]
    #[pyo3(signature = (
        seed = 0, port = 0, fills = 2_000, orders = 120, plate_stocks = 500,
        token_lifetime = 7200.0, clock_offset = 0.0, faults = None, *, today = None,
        host = "127.0.0.1", **others,
    ), text_signature = "(seed=0, port=0, fills=2000, orders=120, plate_stocks=500, token_lifetime=7200.0, clock_offset=0.0, faults=None, *, today=None, host='127.0.0.1')")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number_of::seed)] seed: i128,
        #[pyo3(from_py_with = number_of::port)] port: i128,
        #[pyo3(from_py_with = number_of::fills)] fills: i128,
        #[pyo3(from_py_with = number_of::orders)] orders: i128,
        #[pyo3(from_py_with = number_of::plate_stocks)] plate_stocks: i128,
        #[pyo3(from_py_with = number_of::token_lifetime)] token_lifetime: f64,
        #[pyo3(from_py_with = number_of::clock_offset)] clock_offset: f64,
        faults: Option<&Bound<'_, Faults>>,
        today: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text_of::host)] host: &str,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        no_others(py, "Sandbox", others)?;
        let host: IpAddr = host.parse().map_err(|_| {
            raise(py, Error::argument("host", &format!("'{host}'"), "a numeric IP address"))
        })?;
        let count =
            |name: &str, number: i128| fitting(name, number, "an integer from 0").or_raise(py);
        let options = sandbox::Options {
            seed: seed_of(seed).or_raise(py)?,
            host,
            port: fitting("port", port, "an integer from 0 to 65535").or_raise(py)?,
            fills: count("fills", fills)?,
            orders: count("orders", orders)?,
            plate_stocks: count("plate_stocks", plate_stocks)?,
            token_lifetime,
            clock_offset,
            today: today.map(date_argument).transpose()?,
            faults: faults.map(|faults| faults.get().0.clone()).unwrap_or_default(),
        };
        let runtime = runtime().or_raise(py)?;
        py.detach(|| sandbox::Sandbox::start(options, runtime.handle())).map(Sandbox).or_raise(py)
    }

    /// The base URL, such as `http://127.0.0.1:40123`.
    #[getter]
    fn base_url(&self) -> &str {
        self.0.base_url()
    }

    /// The account ids by kind: `"crypto"`, `"sim"`, `"trade"`.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sandbox::ACCOUNTS.into_py_dict(py)
    }

    /// The last 10,000 requests, oldest first.
    #[getter]
    fn requests(&self) -> Vec<RecordedRequest> {
        self.0.requests().into_iter().map(RecordedRequest).collect()
    }

    /// The number of requests that it has received, with those that are no longer kept.
    #[getter]
    fn _request_count(&self) -> u64 {
        self.0.request_count()
    }

    /// The faults that the sandbox injects. Can be set while it runs; `None` for no faults.
    #[getter]
    fn faults(&self) -> Faults {
        Faults(self.0.faults())
    }

    #[setter]
    fn set_faults(&self, py: Python<'_>, faults: Option<&Bound<'_, Faults>>) -> PyResult<()> {
        let faults = faults.map(|faults| faults.get().0.clone()).unwrap_or_default();
        self.0.set_faults(faults).or_raise(py)
    }

    /// Serves requests of `endpoint`, an `Endpoint`, with `rows`, a list of dicts, checked and paged like
    /// those of the service. With further arguments, only requests that have them get the rows:
    /// `serve(KLINE, rows, symbol="HK.00700")`. For an endpoint that pages by a range of dates, the rows
    /// are sorted by their first declared date or time, or else by its `unique` field. Rows for the same
    /// requests are replaced. Raises `ConfigError` for rows that cannot be served.
    #[pyo3(signature = (endpoint, rows, **arguments))]
    fn serve(
        &self,
        endpoint: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let Ok(own) = endpoint.cast::<Endpoint>() else {
            let expected = "an Endpoint; for the rows of a built-in method, use `put`";
            return Err(wrong_type("endpoint", endpoint, expected));
        };
        let row = own.get().row.clone().into();
        self.0
            .serve(row, &sandbox_rows::rows(rows)?, sandbox_rows::only(arguments)?)
            .or_raise(endpoint.py())
    }

    /// Replaces the rows of the method `name`, such as `"fills_history"`, with your `rows`: for all accounts
    /// or symbols or, with `account` and further arguments, only for these:
    /// `put("dividends", rows, symbol="HK.00700")`. The rows keep their order. The filters of the request
    /// apply; fills of the default range are returned whatever their times are. Raises `ConfigError` for an
    /// unknown name, and for a number where the service sends a text, such as a quantity.
    #[pyo3(signature = (name, rows, *, account = None, **arguments))]
    fn put(
        &self,
        name: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let name = text("name", name)?;
        let mut only = sandbox_rows::only(arguments)?;
        if let Some(account) = account {
            only.extend(sandbox_rows::account(&name, account)?);
        }
        let json = sandbox_rows::rows(rows)?;
        self.0.put(&name, &json, only).or_raise(rows.py())
    }

    /// Fails the next `times` requests (1 by default), or with None all requests until `reset()`. `endpoint`
    /// is the name of a method, an `Endpoint` or a path; by default any request fails. The response has the
    /// HTTP `status`, by default 503; 0 closes the connection without a response. With a `code`, it is the
    /// endpoint's own failure with that code and `message`, by default with HTTP 200. Raises `ConfigError`
    /// for an unknown name and for a failure that would be a success.
    #[pyo3(
        signature = (
            endpoint = None, *more, times = Some(1), status = None, code = None, message = None,
            **others
        ),
        text_signature = "($self, endpoint=None, *, times=1, status=None, code=None, message=None)",
    )]
    fn fail_next(
        &self,
        py: Python<'_>,
        endpoint: Option<&Bound<'_, PyAny>>,
        more: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = number_of::times)] times: Option<i128>,
        #[pyo3(from_py_with = number_of::status)] status: Option<i128>,
        #[pyo3(from_py_with = number_of::code)] code: Option<i64>,
        #[pyo3(from_py_with = text_of::message)] message: Option<String>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        no_more(py, "Sandbox.fail_next", more, others)?;
        let status = status.unwrap_or(if code.is_some() { 200 } else { 503 });
        let times =
            times.map(|times| fitting("times", times, "an integer from 1, or None").or_raise(py));
        let failure = sandbox::PlannedFailure {
            target: endpoint.map(sandbox_rows::failure_target).transpose()?,
            times: times.transpose()?,
            status: fitting("status", status, "an HTTP status from 400 to 599, or 0")
                .or_raise(py)?,
            code,
            message,
        };
        self.0.fail_next(failure).or_raise(py)
    }

    /// Registers the public key `public_pem`, as the developer dashboard does, and returns its key id.
    fn upload_key(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::public_pem)] public_pem: &str,
    ) -> PyResult<String> {
        self.0.upload_key(public_pem).or_raise(py)
    }

    /// Generates and registers a key, for `Client(auth=...)`; `algorithm` is `"Ed25519"` or `"RSA-SHA256"`.
    #[pyo3(signature = (algorithm = "Ed25519"))]
    fn api_key<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::algorithm)] algorithm: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.new_key(py, algorithm)
    }

    /// A `Client` of this sandbox. `auth` is `"Ed25519"`, `"RSA-SHA256"`, `"oauth"` or credentials; the
    /// other arguments are those of `Client`.
    #[pyo3(signature = (auth = None, **options))]
    fn client<'py>(
        this: &Bound<'py, Self>,
        auth: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make_client(this, "Client", auth, options)
    }

    /// An `AsyncClient` of this sandbox; for the arguments, see `Sandbox.client`.
    #[pyo3(signature = (auth = None, **options))]
    fn async_client<'py>(
        this: &Bound<'py, Self>,
        auth: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::make_client(this, "AsyncClient", auth, options)
    }

    /// Allows these `scopes` (by default those that are preselected) at `authorize_url`, as a person would
    /// on the page. Returns the callback URL that a browser would open.
    #[pyo3(signature = (authorize_url, scopes = None))]
    fn authorize_demo_user(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::authorize_url)] authorize_url: &str,
        #[pyo3(from_py_with = text_of::scopes)] scopes: Option<Vec<String>>,
    ) -> PyResult<String> {
        self.0.authorize_demo_user(authorize_url, scopes.as_deref()).or_raise(py)
    }

    /// Revokes all access tokens. Refresh tokens stay valid.
    fn revoke_tokens(&self) {
        self.0.revoke_tokens();
    }

    /// Revokes all access and refresh tokens, so that users have to log in again.
    fn revoke_grants(&self) {
        self.0.revoke_grants();
    }

    /// Restores the initial state: forgets rows of `serve` and `put`, planned failures, requests, nonces,
    /// clients and logins, but not keys.
    fn reset(&self, py: Python<'_>) {
        py.detach(|| self.0.reset());
    }

    /// Stops listening and closes all connections.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<Sandbox at {}>", self.0.base_url())
    }
}

impl Sandbox {
    /// Logs the demo user in; the tokens are kept in memory.
    fn login<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let boardlot = import(py, "boardlot")?;
        let options = PyDict::new(py);
        options.set_item("store", boardlot.invoke_method("MemoryStore", ())?)?;
        let begin_login = boardlot.getattr("begin_login")?;
        let flow = begin_login.invoke_named((self.0.base_url(),), Some(&options))?;
        let callback = self.0.authorize_demo_user(flow.getattr("url")?.extract()?, None);
        let callback = callback.or_raise(py)?;
        flow.invoke_method("finish", (callback,))
    }

    fn new_key<'py>(&self, py: Python<'py>, algorithm: &str) -> PyResult<Bound<'py, PyAny>> {
        let (private, public) = Algorithm::parse(algorithm)
            .and_then(|algorithm| py.detach(|| generate(algorithm, 2048)))
            .or_raise(py)?;
        let key_id = self.upload_key(py, &public)?;
        py.get_type::<ApiKey>().invoke((key_id, private.as_str()))
    }

    fn make_client<'py>(
        this: &Bound<'py, Self>,
        class: &str,
        auth: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, sandbox) = (this.py(), this.get());
        let auth = match auth {
            None => sandbox.new_key(py, "Ed25519")?,
            Some(auth) => match auth.extract::<&str>() {
                Ok("oauth") => sandbox.login(py)?,
                Ok(algorithm @ ("Ed25519" | "RSA-SHA256")) => sandbox.new_key(py, algorithm)?,
                Ok(other) => {
                    let shown = format!("'{}'", other.escape_debug());
                    let nearest = did_you_mean(other, ["Ed25519", "RSA-SHA256", "oauth"]);
                    let expected =
                        format!("'Ed25519', 'RSA-SHA256', 'oauth' or credentials{nearest}");
                    return Err(raise(py, Error::argument("auth", &shown, &expected)));
                }
                Err(_) => auth.clone(),
            },
        };
        let options = match options {
            Some(options) => options.copy()?,
            None => PyDict::new(py),
        };
        options.set_item("auth", auth)?;
        let class: Bound<'py, PyType> = import(py, "boardlot")?.getattr(class)?.cast_into()?;
        let client = class.invoke_named((sandbox.base_url(),), Some(&options))?;
        // The sandbox lives at least as long as its clients.
        client.setattr("_boardlot_sandbox", this)?;
        Ok(client)
    }
}

/// A number that fits its type.
fn fitting<T: TryFrom<i128>>(name: &str, number: i128, expected: &str) -> Result<T> {
    T::try_from(number).map_err(|_| Error::argument(name, &number.to_string(), expected))
}

/// A `date`; a `datetime` is the date that it shows.
fn date_argument(value: &Bound<'_, PyAny>) -> PyResult<Date> {
    match argument("today", value)? {
        Argument::Date(date) | Argument::Instant(_, date) => Ok(date),
        _ => Err(wrong_type("today", value, "a date, such as datetime.date(2026, 1, 5)")),
    }
}

fn seed_of(seed: i128) -> Result<u64> {
    fitting("seed", seed, "an integer from 0 to 2^64 - 1")
}

/// The faults that a sandbox injects.
///
/// `latency` is in seconds, before each response. The others are rates from 0 to 1: `error_rate` of service
/// errors, `drop_rate` of dropped connections, `truncate_rate` of responses that end in the middle,
/// `throttle_rate` of HTTP 429, `html_rate` of HTML pages. The same `seed` produces the same faults. Raises
/// `ConfigError` for a number that is not valid.
///
/// >>> sandbox.faults = bl.Faults(error_rate=0.1, seed=3)
/// >>> sandbox.faults == bl.Faults(error_rate=0.1, seed=3)
/// True
/// >>> sandbox.faults = None
#[pyclass(frozen, eq, module = "boardlot")]
#[derive(PartialEq)]
pub struct Faults(sandbox::Faults);

#[pymethods]
impl Faults {
    #[new]
    #[pyo3(signature = (
        latency = 0.0, error_rate = 0.0, drop_rate = 0.0, truncate_rate = 0.0,
        throttle_rate = 0.0, html_rate = 0.0, seed = 0, **others,
    ), text_signature = "(latency=0.0, error_rate=0.0, drop_rate=0.0, truncate_rate=0.0, throttle_rate=0.0, html_rate=0.0, seed=0)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number_of::latency)] latency: f64,
        #[pyo3(from_py_with = number_of::error_rate)] error_rate: f64,
        #[pyo3(from_py_with = number_of::drop_rate)] drop_rate: f64,
        #[pyo3(from_py_with = number_of::truncate_rate)] truncate_rate: f64,
        #[pyo3(from_py_with = number_of::throttle_rate)] throttle_rate: f64,
        #[pyo3(from_py_with = number_of::html_rate)] html_rate: f64,
        #[pyo3(from_py_with = number_of::seed)] seed: i128,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        no_others(py, "Faults", others)?;
        let seed = seed_of(seed).or_raise(py)?;
        let faults = sandbox::Faults {
            latency,
            error_rate,
            drop_rate,
            truncate_rate,
            throttle_rate,
            html_rate,
            seed,
        };
        faults.validate().or_raise(py)?;
        Ok(Faults(faults))
    }

    fn __setattr__(&self, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        let text =
            format!("faults do not change: assign new ones, sandbox.faults = Faults({name}=...)");
        Err(PyAttributeError::new_err(text))
    }

    fn __repr__(&self) -> String {
        // As Rust shows it, with the signs of Python.
        let shown = format!("{:?}", self.0);
        shown.replace(" { ", "(").replace(": ", "=").replace(" }", ")")
    }
}
