//! The cores of `Sandbox` and `Faults`.

use std::net::IpAddr;

use jiff::civil::Date;

use super::{recorded_request::RecordedRequest, sandbox_rows};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{argument, number_of, text},
    client::endpoint::EndpointCore,
    interpreter::core_of::core_of,
};
use boardlot_client::extension::{api::Argument, os::runtime::runtime};
use boardlot_sandbox as sandbox;

/// The core of a `Sandbox`.
#[pyclass(frozen, name = "_Sandbox", module = "boardlot._core")]
pub struct SandboxCore(sandbox::Sandbox);

#[pymethods]
impl SandboxCore {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number_of::seed)] seed: i128,
        #[pyo3(from_py_with = number_of::port)] port: i128,
        #[pyo3(from_py_with = number_of::fills)] fills: i128,
        #[pyo3(from_py_with = number_of::orders)] orders: i128,
        #[pyo3(from_py_with = number_of::plate_stocks)] plate_stocks: i128,
        #[pyo3(from_py_with = number_of::token_lifetime)] token_lifetime: f64,
        #[pyo3(from_py_with = number_of::clock_offset)] clock_offset: f64,
        #[pyo3(from_py_with = faults_argument)] faults: sandbox::Faults,
        today: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text_of::host)] host: &str,
    ) -> PyResult<Self> {
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
            faults,
            // Whoever has the sandbox's address controls it, like the code that has the object.
            control: sandbox::Control::Allowed,
            log: false,
        };
        let runtime = runtime().or_raise(py)?;
        py.detach(|| sandbox::Sandbox::start(options, runtime.handle()))
            .map(SandboxCore)
            .or_raise(py)
    }

    #[getter]
    fn base_url(&self) -> &str {
        self.0.base_url()
    }

    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        sandbox::ACCOUNTS.into_py_dict(py)
    }

    #[getter]
    fn requests(&self) -> Vec<RecordedRequest> {
        self.0.requests().into_iter().map(RecordedRequest).collect()
    }

    #[getter]
    fn request_count(&self) -> u64 {
        self.0.request_count()
    }

    #[getter]
    fn faults(&self) -> FaultsCore {
        FaultsCore(self.0.faults())
    }

    fn set_faults(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = faults_argument)] faults: sandbox::Faults,
    ) -> PyResult<()> {
        self.0.set_faults(faults).or_raise(py)
    }

    fn serve(
        &self,
        endpoint: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let Some(own) = core_of::<EndpointCore>(endpoint)? else {
            let expected = "an Endpoint; for the rows of a built-in method, use `put`";
            return Err(wrong_type("endpoint", endpoint, expected));
        };
        let row = own.get().row.clone().into();
        self.0
            .serve(row, &sandbox_rows::rows(rows)?, sandbox_rows::only(arguments)?)
            .or_raise(endpoint.py())
    }

    fn put(
        &self,
        name: &Bound<'_, PyAny>,
        rows: &Bound<'_, PyAny>,
        account: Option<&Bound<'_, PyAny>>,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let name = text("name", name)?;
        let mut only = sandbox_rows::only(arguments)?;
        if let Some(account) = account {
            only.extend(sandbox_rows::account(&name, account)?);
        }
        let json = sandbox_rows::rows(rows)?;
        self.0.put(&name, &json, only).or_raise(rows.py())
    }

    fn fail_next(
        &self,
        py: Python<'_>,
        endpoint: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number_of::times)] times: Option<i128>,
        #[pyo3(from_py_with = number_of::status)] status: Option<i128>,
        #[pyo3(from_py_with = number_of::code)] code: Option<i64>,
        #[pyo3(from_py_with = text_of::message)] message: Option<String>,
    ) -> PyResult<()> {
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

    fn upload_key(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::public_pem)] public_pem: &str,
    ) -> PyResult<String> {
        self.0.upload_key(public_pem).or_raise(py)
    }

    fn authorize_demo_user(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::authorize_url)] authorize_url: &str,
        #[pyo3(from_py_with = text_of::scopes)] scopes: Option<Vec<String>>,
    ) -> PyResult<String> {
        self.0.authorize_demo_user(authorize_url, scopes.as_deref()).or_raise(py)
    }

    fn revoke_tokens(&self) {
        self.0.revoke_tokens();
    }

    fn revoke_grants(&self) {
        self.0.revoke_grants();
    }

    fn reset(&self, py: Python<'_>) {
        py.detach(|| self.0.reset());
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}

/// Converts a number to a type that it fits.
fn fitting<T: TryFrom<i128>>(name: &str, number: i128, expected: &str) -> Result<T> {
    T::try_from(number).map_err(|_| Error::argument(name, &number.to_string(), expected))
}

/// Reads a `date`, or the date that a `datetime` shows.
fn date_argument(value: &Bound<'_, PyAny>) -> PyResult<Date> {
    match argument("today", value)? {
        Argument::Date(date) | Argument::Instant(_, date) => Ok(date),
        _ => Err(wrong_type("today", value, "a date, such as datetime.date(2026, 1, 5)")),
    }
}

fn seed_of(seed: i128) -> Result<u64> {
    fitting("seed", seed, "an integer from 0 to 2^64 - 1")
}

/// Reads the faults of an argument; `None` means no faults.
fn faults_argument(value: &Bound<'_, PyAny>) -> PyResult<sandbox::Faults> {
    if value.is_none() {
        return Ok(sandbox::Faults::default());
    }
    match core_of::<FaultsCore>(value)? {
        Some(faults) => Ok(faults.get().0.clone()),
        None => Err(wrong_type("faults", value, "a Faults, or None")),
    }
}

/// The core of a `Faults`.
#[pyclass(frozen, name = "_Faults", module = "boardlot._core")]
pub struct FaultsCore(sandbox::Faults);

#[pymethods]
impl FaultsCore {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = number_of::latency)] latency: f64,
        #[pyo3(from_py_with = number_of::error_rate)] error_rate: f64,
        #[pyo3(from_py_with = number_of::drop_rate)] drop_rate: f64,
        #[pyo3(from_py_with = number_of::truncate_rate)] truncate_rate: f64,
        #[pyo3(from_py_with = number_of::throttle_rate)] throttle_rate: f64,
        #[pyo3(from_py_with = number_of::html_rate)] html_rate: f64,
        #[pyo3(from_py_with = number_of::seed)] seed: i128,
    ) -> PyResult<Self> {
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
        Ok(FaultsCore(faults))
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sandbox::Faults {
            latency,
            error_rate,
            drop_rate,
            truncate_rate,
            throttle_rate,
            html_rate,
            seed,
        } = self.0;
        let rates = [
            ("latency", latency),
            ("error_rate", error_rate),
            ("drop_rate", drop_rate),
            ("truncate_rate", truncate_rate),
            ("throttle_rate", throttle_rate),
            ("html_rate", html_rate),
        ];
        let named = rates.into_py_dict(py)?;
        named.set_item("seed", seed)?;
        Ok(named)
    }
}
