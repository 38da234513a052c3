//! The observer of a client: calls its hooks, `on_request` and `on_response`, and logs.

use std::{fmt, sync::Arc, time::Duration};

use pyo3::prelude::*;

use super::{
    errors::{raise, wrong_type},
    logging,
    request_events::{RequestEvent, ResponseEvent},
    shutdown_gate::attach,
    weak_ref::{StrongRef, WeakRef},
};
use crate::{
    error::Error,
    http::{Event, EventKind, Observed, Observer},
};

/// Passes the events of requests to Python.
#[derive(Default)]
pub struct PythonObserver(Arc<Hooks>);

#[derive(Default)]
struct Hooks {
    on_request: Option<WeakRef>,
    on_response: Option<WeakRef>,
}

impl PythonObserver {
    /// The observer, and the references that keep its hooks alive.
    pub fn new(
        on_request: Option<Bound<'_, PyAny>>,
        on_response: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<Py<StrongRef>>)> {
        let mut strong_refs = Vec::new();
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
                let (strong, weak) = WeakRef::new(&hook)?;
                strong_refs.push(strong);
                Ok(Some(weak))
            }
        };
        let hooks = Hooks {
            on_request: callable("on_request", on_request)?,
            on_response: callable("on_response", on_response)?,
        };
        Ok((PythonObserver(Arc::new(hooks)), strong_refs))
    }
}

fn is_async(hook: &Bound<'_, PyAny>) -> bool {
    /// `inspect.CO_COROUTINE`; importing that module takes long.
    const CO_COROUTINE: u32 = 0x80;
    let flags = hook.getattr("__code__").and_then(|code| code.getattr("co_flags")?.extract());
    flags.is_ok_and(|flags: u32| flags & CO_COROUTINE != 0)
}

impl fmt::Debug for PythonObserver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("PythonObserver(..)")
    }
}

impl Observer for PythonObserver {
    fn is_listening(&self) -> bool {
        self.0.on_request.is_some() || self.0.on_response.is_some() || logging::is_enabled()
    }

    /// The request waits until the hook has returned, so that hooks and log records see events in the
    /// order in which they happen.
    fn observe(&self, event: Event) -> Observed<'_> {
        let hooks = self.0.clone();
        Box::pin(async move {
            // Hooks may block, and the runtime's worker threads never attach to the interpreter.
            let observed = tokio::task::spawn_blocking(move || {
                attach(|py| {
                    let outcome = hooks.call(py, &event).and_then(|()| logging::log(py, &event));
                    if let Err(error) = outcome {
                        // An exception of a hook is reported, and the request continues.
                        error.write_unraisable(py, None);
                    }
                    Ok(())
                })
            });
            // It fails while the program exits, and is not reported then.
            drop(observed.await);
        })
    }
}

impl Hooks {
    fn call(&self, py: Python<'_>, event: &Event) -> PyResult<()> {
        let upgrade = |hook: &Option<WeakRef>| hook.as_ref().and_then(|hook| hook.upgrade(py));
        let response = |duration: &Duration, status, error| match upgrade(&self.on_response) {
            Some(hook) => {
                hook.call1((ResponseEvent::new(event, *duration, status, error),)).map(drop)
            }
            None => Ok(()),
        };
        match &event.kind {
            EventKind::Sending => match upgrade(&self.on_request) {
                Some(hook) => hook.call1((RequestEvent::new(event),)).map(drop),
                None => Ok(()),
            },
            EventKind::Responded { status, duration } => response(duration, Some(*status), None),
            EventKind::Failed { error, duration } => response(duration, None, Some(error.clone())),
            _ => Ok(()),
        }
    }
}
