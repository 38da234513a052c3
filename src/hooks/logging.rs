//! The events of requests as records of Python's `logging`.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU8, Ordering},
    time::Duration,
};

use crate::interpreter::{caller_context::CallerContext, reentrant_once::ReentrantOnce};
use crate::prelude::*;
use boardlot_client::extension::http::{Event, EventKind, ObservedRequest};

/// A logger, which logs at one level.
struct Logger {
    name: &'static str,
    level: u8,
    /// The logger's bit in `ENABLED`.
    bit: u8,
    logger: ReentrantOnce<Py<PyAny>>,
}

static HTTP: Logger = Logger::new("boardlot.http", 10, 1);
static RETRY: Logger = Logger::new("boardlot.retry", 20, 2);
static AUTH: Logger = Logger::new("boardlot.auth", 20, 4);

impl Logger {
    const fn new(name: &'static str, level: u8, bit: u8) -> Self {
        Logger { name, level, bit, logger: ReentrantOnce::new() }
    }

    fn get<'py>(&'static self, py: Python<'py>) -> PyResult<&'py Bound<'py, PyAny>> {
        let create = || {
            let logging = import(py, "logging")?;
            Ok(logging.invoke_method("getLogger", (self.name,))?.unbind())
        };
        self.logger.get_or_try_init(create).map(|logger| logger.bind(py))
    }
}

/// The enabled loggers, a bit each. Read when a call starts, since the runtime's worker threads
/// cannot ask Python.
static ENABLED: AtomicU8 = AtomicU8::new(0);

/// Reads from Python which loggers are enabled. A program that never imported `logging` has no
/// enabled loggers, and importing that module here would take longer than importing boardlot.
pub fn refresh_levels(py: Python<'_>) -> PyResult<()> {
    ENABLED.store(enabled_loggers(py)?, Ordering::Relaxed);
    Ok(())
}

pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed) != 0
}

fn enabled_loggers(py: Python<'_>) -> PyResult<u8> {
    static MODULES: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
    let modules = MODULES.import(py, "sys", "modules")?;
    if !modules.contains(intern!(py, "logging"))? {
        return Ok(0);
    }
    let mut bits = 0;
    for logger in [&HTTP, &RETRY, &AUTH] {
        if is_enabled_for(logger.get(py)?, logger.level)? {
            bits |= logger.bit;
        }
    }
    Ok(bits)
}

/// Returns the result of `isEnabledFor` without taking its lock, whose holder may be waiting for
/// this thread: a finalizer that interrupted the holder may read a stream, which DuckDB does on
/// threads of its own.
fn is_enabled_for(logger: &Bound<'_, PyAny>, level: u8) -> PyResult<bool> {
    let py = logger.py();
    let disabled = logger.getattr(intern!(py, "manager"))?.getattr(intern!(py, "disable"))?;
    Ok(!logger.getattr(intern!(py, "disabled"))?.is_truthy()?
        && disabled.lt(level)?
        && logger.invoke_method(intern!(py, "getEffectiveLevel"), ())?.le(level)?)
}

/// Logs an event, if its logger is enabled.
pub fn log(py: Python<'_>, context: &CallerContext, event: &Event) -> PyResult<()> {
    let Event { request, kind } = event;
    let ObservedRequest { method, path, attempt, .. } = &**request;
    let ms = |duration: &Duration| format!("{:.1} ms", duration.as_secs_f64() * 1e3);
    let extra = PyDict::new(py);
    let (logger, text) = match kind {
        EventKind::Sending => return Ok(()),
        EventKind::Responded { status, duration } => {
            extra.set_item("status", status)?;
            extra.set_item("duration", duration.as_secs_f64())?;
            (&HTTP, format!("{method} {path} -> {status} in {}", ms(duration)))
        }
        EventKind::Failed { error, duration, .. } => {
            extra.set_item("status", py.None())?;
            extra.set_item("duration", duration.as_secs_f64())?;
            (&HTTP, format!("{method} {path} -> no response after {}: {error}", ms(duration)))
        }
        EventKind::Retrying { wait, reason } => {
            (&RETRY, format!("{method} {path}: retrying in {}: {reason}", ms(wait)))
        }
        EventKind::RetryBudgetExhausted { reason } => (
            &RETRY,
            format!("{method} {path}: not retrying, the retry budget is exhausted: {reason}"),
        ),
        EventKind::Throttled { per_second } => {
            (&RETRY, format!("{method} {path}: throttled to {per_second:.1} requests per second"))
        }
        EventKind::ClockCorrected { offset_ms } => {
            (&AUTH, format!("corrected the clock: the service is {offset_ms} ms ahead"))
        }
        EventKind::TokenRefreshed => (&AUTH, "refreshed the access token".to_owned()),
        EventKind::TokenNotRefreshed { reason } => {
            (&AUTH, format!("could not refresh the access token: {reason}"))
        }
    };
    if ENABLED.load(Ordering::Relaxed) & logger.bit == 0 {
        return Ok(());
    }
    extra.set_item("method", method)?;
    extra.set_item("path", path)?;
    extra.set_item("endpoint", &request.endpoint)?;
    extra.set_item("route", request.route.as_deref())?;
    extra.set_item("host", &request.host)?;
    extra.set_item("attempt", attempt)?;
    let arguments = PyDict::new(py);
    arguments.set_item("extra", extra)?;
    let text = if logger.bit == HTTP.bit { format!("{text}, attempt {attempt}") } else { text };
    // The text is passed as an argument, so that a percent sign in it is not a placeholder.
    let log = logger.get(py)?.getattr(intern!(py, "log"))?;
    let level = logger.level.into_pyobject(py)?.into_any();
    let text = [PyString::new(py, "%s").into_any(), PyString::new(py, &text).into_any()];
    let was_logging = IS_LOGGING.replace(true);
    let logged = context.run(&log, &[&[level], &text[..]].concat(), Some(&arguments));
    IS_LOGGING.set(was_logging);
    logged.map(drop)
}

thread_local! {
    static IS_LOGGING: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if this thread runs the handlers of a log record of boardlot's.
pub fn is_logging() -> bool {
    IS_LOGGING.get()
}
