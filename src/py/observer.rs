//! What happens to requests, told to Python: its `logging`, and a client's `on_request` and
//! `on_response`.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use pyo3::{prelude::*, types::PyDict};

use super::{
    errors::{raise, wrong_type},
    fork_safe_cell::{ForkSafeOnce, intern},
    shutdown_gate::attach,
    weak::{Holder, Weak},
};
use crate::{
    error::Error,
    http::{Event, EventKind, Observed, Observer},
};

/// The observer of a client: its two hooks, besides the loggers of the process.
#[derive(Default)]
pub struct PyObserver(Arc<Hooks>);

#[derive(Default)]
struct Hooks {
    on_request: Option<Weak>,
    on_response: Option<Weak>,
}

impl PyObserver {
    /// The observer, and what has its hooks.
    pub fn new(
        on_request: Option<Bound<'_, PyAny>>,
        on_response: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<Py<Holder>>)> {
        let mut holders = Vec::new();
        let mut callable = |name: &str, hook: Option<Bound<'_, PyAny>>| match hook {
            Some(hook) if !hook.is_callable() => {
                Err(wrong_type(name, &hook, "a function of one argument"))
            }
            Some(hook) if is_async(&hook) => {
                let shown = "an async function, which would not be awaited";
                let expected = "a plain function of one argument";
                Err(raise(hook.py(), Error::argument(name, shown, expected)))
            }
            None => Ok(None),
            Some(hook) => {
                let (holder, weak) = Weak::of(&hook)?;
                holders.push(holder);
                Ok(Some(weak))
            }
        };
        let hooks = Hooks {
            on_request: callable("on_request", on_request)?,
            on_response: callable("on_response", on_response)?,
        };
        Ok((PyObserver(Arc::new(hooks)), holders))
    }
}

fn is_async(hook: &Bound<'_, PyAny>) -> bool {
    /// `inspect.CO_COROUTINE`; the module would take long to load.
    const CO_COROUTINE: u32 = 0x80;
    let flags = hook.getattr("__code__").and_then(|code| code.getattr("co_flags")?.extract());
    flags.is_ok_and(|flags: u32| flags & CO_COROUTINE != 0)
}

impl fmt::Debug for PyObserver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PyObserver(..)")
    }
}

impl Observer for PyObserver {
    fn is_listening(&self) -> bool {
        self.0.on_request.is_some()
            || self.0.on_response.is_some()
            || LISTENING.load(Ordering::Relaxed) != 0
    }

    /// The request waits until Python has been told: what a hook or a log line says has then
    /// happened in that order.
    fn observe(&self, event: Event) -> Observed<'_> {
        let hooks = self.0.clone();
        Box::pin(async move {
            // Hooks may take their time, and the runtime's own threads never touch the interpreter.
            let told = tokio::task::spawn_blocking(move || {
                attach(|py| {
                    if let Err(error) = hooks.call(py, &event).and_then(|()| log(py, &event)) {
                        // A hook that fails is reported, and the request goes on.
                        error.write_unraisable(py, None);
                    }
                    Ok(())
                })
            });
            // At the end of the program nobody is told any more.
            drop(told.await);
        })
    }
}

impl Hooks {
    fn call(&self, py: Python<'_>, event: &Event) -> PyResult<()> {
        let (status, duration, error) = match &event.kind {
            EventKind::Sending => {
                if let Some(hook) = self.on_request.as_ref().and_then(|hook| hook.get(py)) {
                    hook.call1((RequestEvent::of(event),))?;
                }
                return Ok(());
            }
            EventKind::Responded { status, duration } => (Some(*status), duration, None),
            EventKind::Failed { error, duration } => (None, duration, Some(error.clone())),
            _ => return Ok(()),
        };
        if let Some(hook) = self.on_response.as_ref().and_then(|hook| hook.get(py)) {
            let RequestEvent { method, path, attempt } = RequestEvent::of(event);
            let duration = duration.as_secs_f64();
            hook.call1((ResponseEvent { method, path, attempt, status, duration, error },))?;
        }
        Ok(())
    }
}

/// A request that is about to be sent: what `Client(on_request=...)` is called with.
#[pyclass(frozen, get_all, module = "boardlot._core")]
pub struct RequestEvent {
    /// The HTTP method.
    method: String,
    /// The path, without the query.
    path: String,
    /// 1 for the first time that a call is sent, and one more each time that it is sent again.
    attempt: u32,
}

/// A request that has ended: what `Client(on_response=...)` is called with.
#[pyclass(frozen, get_all, module = "boardlot._core")]
pub struct ResponseEvent {
    /// The HTTP method.
    method: String,
    /// The path, without the query.
    path: String,
    /// 1 for the first time that a call is sent, and one more each time that it is sent again.
    attempt: u32,
    /// The HTTP status; None where no answer came.
    status: Option<u16>,
    /// Seconds from the first byte sent to the last of the answer.
    duration: f64,
    /// Why no answer came; None where one did, whatever it said.
    error: Option<String>,
}

impl RequestEvent {
    fn of(event: &Event) -> Self {
        let Event { method, path, attempt, .. } = event.clone();
        RequestEvent { method, path, attempt }
    }
}

#[pymethods]
impl RequestEvent {
    fn __repr__(&self) -> String {
        format!("RequestEvent({} {}, attempt {})", self.method, self.path, self.attempt)
    }
}

#[pymethods]
impl ResponseEvent {
    fn __repr__(&self) -> String {
        let end = match (&self.status, &self.error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let Self { method, path, attempt, duration, .. } = self;
        format!("ResponseEvent({method} {path} -> {end}, {duration:.3} s, attempt {attempt})")
    }
}

/// The loggers, each with its level in Python's numbers.
#[derive(Clone, Copy)]
enum Logger {
    Http,
    Retry,
    Auth,
}

const DEBUG: u8 = 10;
const INFO: u8 = 20;

impl Logger {
    const ALL: [Logger; 3] = [Logger::Http, Logger::Retry, Logger::Auth];

    const fn name(self) -> &'static str {
        match self {
            Logger::Http => "boardlot.http",
            Logger::Retry => "boardlot.retry",
            Logger::Auth => "boardlot.auth",
        }
    }

    const fn level(self) -> u8 {
        match self {
            Logger::Http => DEBUG,
            Logger::Retry | Logger::Auth => INFO,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    fn get(self, py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
        static HTTP: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
        static RETRY: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
        static AUTH: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
        let place = match self {
            Logger::Http => &HTTP,
            Logger::Retry => &RETRY,
            Logger::Auth => &AUTH,
        };
        place
            .get_or_try_init(py, || {
                let logging = py.import("logging")?;
                Ok(logging.call_method1("getLogger", (self.name(),))?.unbind())
            })
            .map(|logger| logger.bind(py))
    }
}

/// Which loggers want what they are told, a bit each: asked when a call begins, since the
/// runtime's threads cannot ask.
static LISTENING: AtomicU8 = AtomicU8::new(0);

/// Looks whether anybody wants log lines. A program that never imported `logging` does not, and
/// importing it for this would take longer than importing boardlot.
pub fn look_at_logging(py: Python<'_>) {
    LISTENING.store(listening(py).unwrap_or_default(), Ordering::Relaxed);
}

fn listening(py: Python<'_>) -> PyResult<u8> {
    static MODULES: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    let modules = MODULES.import(py, "sys", "modules")?;
    if !modules.contains(intern!(py, "logging"))? {
        return Ok(0);
    }
    let mut bits = 0;
    for logger in Logger::ALL {
        let enabled = logger.get(py)?.call_method1(intern!(py, "isEnabledFor"), (logger.level(),));
        if enabled?.is_truthy()? {
            bits |= logger.bit();
        }
    }
    Ok(bits)
}

fn log(py: Python<'_>, event: &Event) -> PyResult<()> {
    let Event { method, path, attempt, kind } = event;
    let ms = |duration: &Duration| format!("{:.1} ms", duration.as_secs_f64() * 1e3);
    let facts = PyDict::new(py);
    let (logger, text) = match kind {
        EventKind::Sending => return Ok(()),
        EventKind::Responded { status, duration } => {
            facts.set_item("status", status)?;
            facts.set_item("duration", duration.as_secs_f64())?;
            (Logger::Http, format!("{method} {path} -> {status} in {}", ms(duration)))
        }
        EventKind::Failed { error, duration } => {
            facts.set_item("status", py.None())?;
            facts.set_item("duration", duration.as_secs_f64())?;
            (Logger::Http, format!("{method} {path} -> no answer in {}: {error}", ms(duration)))
        }
        EventKind::Retrying { wait, reason } => {
            (Logger::Retry, format!("{method} {path} is sent again in {}: {reason}", ms(wait)))
        }
        EventKind::RetryBudgetExhausted { reason } => (
            Logger::Retry,
            format!("{method} {path} is not sent again, since too many retries failed: {reason}"),
        ),
        EventKind::Throttled { per_second } => (
            Logger::Retry,
            format!("{method} {path} is refused for frequency: {per_second:.1} a second from now"),
        ),
        EventKind::ClockCorrected { offset_ms } => (
            Logger::Auth,
            format!("the service's clock is {offset_ms} ms ahead of this one: signing by that"),
        ),
        EventKind::TokenRefreshed => (Logger::Auth, "the access token was refreshed".to_owned()),
        EventKind::TokenNotRefreshed { reason } => {
            (Logger::Auth, format!("the access token was not refreshed: {reason}"))
        }
    };
    if LISTENING.load(Ordering::Relaxed) & logger.bit() == 0 {
        return Ok(());
    }
    facts.set_item("method", method)?;
    facts.set_item("path", path)?;
    facts.set_item("attempt", attempt)?;
    let named = PyDict::new(py);
    named.set_item("extra", facts)?;
    let text =
        if matches!(logger, Logger::Http) { format!("{text}, attempt {attempt}") } else { text };
    // As an argument, so that no percent sign in it is read as a place for one.
    logger.get(py)?.call_method("log", (logger.level(), "%s", text), Some(&named))?;
    Ok(())
}
