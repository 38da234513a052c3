//! The core of `RateLimit`, the `rate_limit` of a client.

use std::sync::Arc;

use super::limit_database::DatabaseStorage;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{integer, rate, text},
    interpreter::{core_of::core_of, errors::cannot_pickle_secret, weak_ref::StrongRef},
};
use boardlot_client::extension::{
    http::{BaseUrl, ClientRate},
    profile::Profile,
    shared_limit::{Allowance, SharedLimit, Usage},
};

/// A larger burst would not be a limit.
const BURST_MAX: usize = 1_000_000;

/// The core of a `RateLimit`.
#[pyclass(frozen, name = "_RateLimit", module = "boardlot._core")]
pub struct RateLimitCore {
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
impl RateLimitCore {
    #[new]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = checked_rate)] rate: f64,
        burst: Option<&Bound<'_, PyAny>>,
        name: Option<&Bound<'_, PyAny>>,
        database: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
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
        Ok(RateLimitCore { limit: Arc::new(limit), database })
    }

    #[getter]
    fn rate(&self) -> f64 {
        self.limit.allowance.rate
    }

    #[getter]
    fn burst(&self) -> u32 {
        self.limit.allowance.burst
    }

    #[getter]
    fn name(&self) -> Option<&str> {
        self.limit.name()
    }

    #[getter]
    fn used(&self) -> Option<f64> {
        self.limit.usage().map(|usage| usage.used)
    }

    #[getter]
    fn free(&self) -> Option<f64> {
        self.limit.usage().map(|usage| usage.free)
    }

    /// The arguments for `repr`.
    fn shown(&self) -> String {
        let Allowance { rate, burst } = self.limit.allowance;
        let burst = if burst == 1 { String::new() } else { format!(", burst={burst}") };
        let name = self.limit.name().map(|name| format!(", name={name:?}")).unwrap_or_default();
        // The URL of a database may have a password.
        let database = if self.database.is_some() { ", database=..." } else { "" };
        format!("{rate}{burst}{name}{database}")
    }

    /// Returns true if both are one limit.
    fn is_same(&self, other: &Bound<'_, Self>) -> bool {
        let other = other.get();
        std::ptr::eq(self, other)
            || (self.limit.name().is_some()
                && self.limit.name() == other.limit.name()
                && self.limit.allowance == other.limit.allowance
                && self.url() == other.url())
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<((f64,), Bound<'py, PyDict>)> {
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

impl RateLimitCore {
    fn url(&self) -> Option<&str> {
        self.database.as_ref().map(|database| database.url.as_str())
    }
}

/// Reads the rate limit of an argument: a number for one client, or a limit that several clients
/// share.
pub fn client_rate(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ClientRate> {
    if let Some(limit) = core_of::<RateLimitCore>(value)? {
        return Ok(ClientRate::Shared(limit.get().limit.clone()));
    }
    if value.is_instance_of::<PyString>() {
        return Err(wrong_type(name, value, "a number of requests per second, or a RateLimit"));
    }
    rate(name, value).map(ClientRate::Own)
}

fn checked_rate(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    rate("rate", value)
}

/// Describes a limit for `explain` and the doctor.
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

/// Returns the rate limit of a profile.
pub fn profile_rate(
    profile: &Profile,
) -> boardlot_client::extension::error::Result<Option<ClientRate>> {
    let Some(rate) = profile.rate_limit else { return Ok(None) };
    if !profile.rate_limit_shared {
        return Ok(Some(ClientRate::Own(rate)));
    }
    let name = application_name(&profile.base_url, profile.application())?;
    let limit = SharedLimit::on_machine(Allowance { rate, burst: 1 }, &name)?;
    Ok(Some(ClientRate::Shared(Arc::new(limit))))
}

/// The limit shared by all processes of this user that use the same application at a service,
/// whatever the profile: the service grants its rate to the application.
#[pyfunction]
#[pyo3(name = "_application_limit")]
pub fn application_limit(
    py: Python<'_>,
    #[pyo3(from_py_with = checked_rate)] rate: f64,
    base_url: &str,
    application: Option<&str>,
) -> PyResult<RateLimitCore> {
    let limit = application_name(base_url, application)
        .and_then(|name| SharedLimit::on_machine(Allowance { rate, burst: 1 }, &name));
    let limit = Arc::new(limit.or_raise(py)?);
    Ok(RateLimitCore { limit, database: None })
}

/// The name of an application's limit.
fn application_name(
    base_url: &str,
    application: Option<&str>,
) -> boardlot_client::extension::error::Result<String> {
    let base_url = BaseUrl::parse(base_url)?;
    Ok(match application {
        Some(application) => format!("{application} at {}", base_url.as_str()),
        None => base_url.as_str().to_owned(),
    })
}
