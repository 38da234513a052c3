//! `RateLimit`, the `rate_limit` of a client.

use std::sync::Arc;

use super::limit_database::DatabaseStorage;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{integer, no_more, rate, text},
    interpreter::{errors::cannot_pickle_secret, weak_ref::StrongRef},
};
use boardlot_client::{
    http::{BaseUrl, ClientRate},
    profile::Profile,
    shared_limit::{Allowance, SharedLimit, Usage},
};

/// More would not be a limit.
const BURST_MAX: usize = 1_000_000;

/// A rate limit that several clients share.
///
/// Without a name, the clients of this process to which it is passed share it. With a name, all processes of
/// this user on this machine share it, through a small file. With a database, all processes that use the
/// database share it, by the clock of the database server.
///
/// Requests are evenly spaced, first come, first served within a process, and processes take turns. A
/// `Retry-After` of the service to one of them, or a request that it throttles, holds back all. Three
/// percent of the rate is not used, so that no second has more requests than the rate plus `burst`, although
/// some requests take longer to reach the service than others. If those who share a limit have different
/// rates, the lowest one with which a request was made in the last ten seconds holds for all.
///
/// `rate` is in requests per second, from 0.001 to 1,000,000. `burst` is the number of requests that may be
/// sent at once after a pause. `name` is any text. `database` is the URL of a PostgreSQL database (extra
/// `postgres`), and needs a name; the table `boardlot_rate_limits` is created in it. Raises `ConfigError` if
/// an argument is invalid, or the state folder or the driver is missing; a call of a client raises
/// `StoreError` if the file cannot be used, and `TransportError` if the database cannot.
///
/// >>> limit = bl.RateLimit(50, burst=5)
/// >>> with sandbox.client(rate_limit=limit) as client:
/// ...     len(client.dividends("HK.00700"))
/// 21
/// >>> limit.rate, limit.burst, limit.free <= 50
/// (50.0, 5, True)
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct RateLimit {
    limit: Arc<SharedLimit>,
    database: Option<Database>,
}

struct Database {
    url: String,
    /// The object to which the core has a weak reference.
    object: Py<StrongRef>,
    has_password: bool,
}

#[pymethods]
impl RateLimit {
    #[new]
    #[pyo3(signature = (rate, *more, burst = None, name = None, database = None, **others))]
    #[pyo3(text_signature = "(rate, *, burst=1, name=None, database=None)")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = positive_rate)] rate: f64,
        more: &Bound<'_, PyTuple>,
        burst: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
        database: Option<&Bound<'_, PyAny>>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        no_more(py, "RateLimit", more, others)?;
        let burst = burst.map(|burst| integer("burst", burst, 1, BURST_MAX)).transpose()?;
        let burst = burst.and_then(|burst| u32::try_from(burst).ok()).unwrap_or(1);
        let allowance = Allowance { rate, burst };
        let name = name.map(|name| text("name", name)).transpose()?;
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(raise(py, Error::argument("name", "''", "any other text, or None")));
        }
        let (limit, database) = match (name, database) {
            (None, None) => (SharedLimit::in_process(allowance), None),
            (Some(name), None) => (SharedLimit::on_machine(allowance, &name).or_raise(py)?, None),
            (None, Some(_)) => {
                let text =
                    "database is set without a name; pass name=, by which processes share it";
                return Err(raise(py, Error::config(text)));
            }
            (Some(name), Some(database)) => {
                let url = text("database", database)?;
                let class =
                    import(py, "boardlot._support.limit_database")?.getattr("LimitDatabase")?;
                let object = class.invoke((&url, &name))?;
                let has_password = object.getattr("has_password")?.extract()?;
                let (storage, object) = DatabaseStorage::new(&object)?;
                let limit = SharedLimit::new(allowance, Some(name), Arc::new(storage));
                (limit, Some(Database { url, object, has_password }))
            }
        };
        Ok(RateLimit { limit: Arc::new(limit), database })
    }

    /// Requests per second.
    #[getter]
    fn rate(&self) -> f64 {
        self.limit.allowance.rate
    }

    /// The number of requests that may be sent at once after a pause.
    #[getter]
    fn burst(&self) -> u32 {
        self.limit.allowance.burst
    }

    /// The name by which processes share it; None if the clients to which it is passed share it.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.limit.name()
    }

    /// The approximate number of requests that all who share the limit have sent in the last second; None if
    /// this process has not used the database yet.
    #[getter]
    fn used(&self) -> Option<f64> {
        self.limit.usage().map(|usage| usage.used)
    }

    /// The approximate number of further requests per second that could be sent now, which is lower while
    /// the service throttles. None if `used` is None.
    #[getter]
    fn free(&self) -> Option<f64> {
        self.limit.usage().map(|usage| usage.free)
    }

    fn __repr__(&self) -> String {
        let Allowance { rate, burst } = self.limit.allowance;
        let burst = if burst == 1 { String::new() } else { format!(", burst={burst}") };
        let name = self.limit.name().map(|name| format!(", name={name:?}")).unwrap_or_default();
        // Its URL may have a password.
        let database = if self.database.is_some() { ", database=..." } else { "" };
        format!("RateLimit({rate}{burst}{name}{database})")
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<RateLimit>().is_ok_and(|other| {
            let other = other.get();
            std::ptr::eq(self, other)
                || (self.limit.name().is_some()
                    && self.limit.name() == other.limit.name()
                    && self.limit.allowance == other.limit.allowance
                    && self.url() == other.url())
        })
    }

    fn __hash__(&self) -> PyResult<u64> {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        Ok(hasher.hash_one((self.limit.name(), self.limit.allowance.rate.to_bits(), self.url())))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((f64,), Bound<'py, PyDict>)> {
        if self.database.as_ref().is_some_and(|database| database.has_password) {
            return Err(cannot_pickle_secret(py, "a RateLimit whose database URL has a password"));
        }
        let named = PyDict::new(py);
        named.set_item("burst", self.limit.allowance.burst)?;
        named.set_item("name", self.limit.name())?;
        named.set_item("database", self.url())?;
        Ok(((self.limit.allowance.rate,), named))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.database.as_ref().map_or(Ok(()), |database| visit.call(&database.object))
    }
}

impl RateLimit {
    fn url(&self) -> Option<&str> {
        self.database.as_ref().map(|database| database.url.as_str())
    }
}

/// The rate limit of an argument: a number for one client, or a limit that others share.
pub fn client_rate(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ClientRate> {
    if let Ok(limit) = value.cast::<RateLimit>() {
        return Ok(ClientRate::Shared(limit.get().limit.clone()));
    }
    if value.is_instance_of::<PyString>() {
        return Err(wrong_type(name, value, "a number of requests per second, or a RateLimit"));
    }
    plausible_rate(name, value).map(ClientRate::Own)
}

fn positive_rate(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    plausible_rate("rate", value)
}

/// The requests per second of a limit. A number that is probably the seconds between two requests is
/// accepted, and warned about.
fn plausible_rate(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    /// Whoever wants fewer knows that it is less than one in ten seconds.
    const PROBABLY_SECONDS: f64 = 0.1;
    let read = rate(name, value)?;
    if read < PROBABLY_SECONDS {
        let inverse = (1.0 / read).round();
        let text = format!(
            "{name} is {read} requests per second, which is one in {inverse} seconds; if {read} seconds between \
             requests are meant, pass {inverse}"
        );
        warn(value.py(), text)?;
    }
    Ok(read)
}

/// The description of a limit for `explain` and the doctor.
pub fn description(rate: Option<&ClientRate>) -> Option<String> {
    Some(match rate? {
        ClientRate::Own(rate) => format!("{rate} requests per second of this client"),
        ClientRate::Shared(limit) => {
            let Allowance { rate, burst } = limit.allowance;
            let (who, name) = (limit.users(), limit.name());
            let name = name.map_or(String::new(), |name| format!(" (name '{name}')"));
            let burst = if burst == 1 { String::new() } else { format!(", up to {burst} at once") };
            let usage = match limit.usage() {
                Some(usage) => shown(&usage),
                None => "how much is free is not known before the first request".to_owned(),
            };
            format!("{rate} requests per second{burst}, shared by {who}{name}; {usage}")
        }
    })
}

fn shown(usage: &Usage) -> String {
    let Usage { rate, free, wait, .. } = usage;
    let wait = wait.as_secs_f64();
    format!("{free:.1} of {rate:.1} per second are free now, the next in {wait:.2} s")
}

/// The rate limit of a profile.
pub fn profile_rate(profile: &Profile) -> boardlot_client::error::Result<Option<ClientRate>> {
    let Some(rate) = profile.rate_limit else { return Ok(None) };
    if !profile.rate_limit_shared {
        return Ok(Some(ClientRate::Own(rate)));
    }
    let name = application_name(&profile.base_url, profile.application())?;
    let limit = SharedLimit::on_machine(Allowance { rate, burst: 1 }, &name)?;
    Ok(Some(ClientRate::Shared(Arc::new(limit))))
}

/// The limit that all processes of this user share which use the same application at a service, whatever
/// the profile: the service grants its rate to the application.
#[pyfunction]
#[pyo3(name = "_application_limit")]
pub fn application_limit(
    py: Python<'_>,
    #[pyo3(from_py_with = positive_rate)] rate: f64,
    base_url: &str,
    application: Option<&str>,
) -> PyResult<RateLimit> {
    let limit = application_name(base_url, application)
        .and_then(|name| SharedLimit::on_machine(Allowance { rate, burst: 1 }, &name));
    let limit = Arc::new(limit.or_raise(py)?);
    Ok(RateLimit { limit, database: None })
}

/// The name of an application's limit.
fn application_name(
    base_url: &str,
    application: Option<&str>,
) -> boardlot_client::error::Result<String> {
    let base_url = BaseUrl::parse(base_url)?;
    Ok(match application {
        Some(application) => format!("{application} at {}", base_url.as_str()),
        None => base_url.as_str().to_owned(),
    })
}
