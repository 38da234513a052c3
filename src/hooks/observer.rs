//! The observer of a client: calls its hooks, `on_request` and `on_response`, and logs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ::http::HeaderMap;
use arc_swap::ArcSwapOption;

use super::{
    logging,
    request_events::{RequestEvent, ResponseEvent},
};
use crate::prelude::*;
use crate::{
    arguments::{
        caller_arguments::{check_takes_one, reject_async},
        request_arguments::headers,
    },
    interpreter::{
        attachment::{self, attach},
        caller_context::CallerContext,
        errors::is_refusal,
        weak_ref::{StrongRef, WeakRef},
    },
};
use boardlot_client::extension::{
    http::{Event, EventKind, Observed, Observer},
    os::{
        callback_pool,
        origin::{self, Origin},
    },
};

/// True if a client of this process has hooks.
static HAS_HOOKS: AtomicBool = AtomicBool::new(false);

/// Returns the origin of a call that starts now, without the caller if no observer would ask for
/// the caller.
pub fn origin(py: Python<'_>) -> PyResult<Origin> {
    let (is_nested, refreshing) = (attachment::is_nested(), origin::refreshing());
    if !HAS_HOOKS.load(Ordering::Relaxed) && !logging::is_enabled() {
        return Ok(Origin { caller: None, is_nested, refreshing });
    }
    let caller = CallerContext::copy(py, logging::is_logging())?;
    Ok(Origin { caller: Some(Arc::new(caller)), is_nested, refreshing })
}

/// Passes the events of requests to Python.
#[derive(Default)]
pub struct PythonObserver(Arc<AllHooks>);

#[derive(Default)]
struct AllHooks {
    /// The hooks that the client was created with.
    own: Hooks,
    /// The hooks of an instrumentation.
    instrumentation: ArcSwapOption<Hooks>,
}

/// A pair of hooks. The references that keep them alive belong to the client.
#[derive(Default)]
pub struct Hooks {
    on_request: Option<WeakRef>,
    on_response: Option<WeakRef>,
}

impl Hooks {
    /// Returns the hooks, and the references that keep them alive.
    pub fn new(
        on_request: Option<Bound<'_, PyAny>>,
        on_response: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Self, Vec<Py<StrongRef>>)> {
        let mut strong_refs = Vec::new();
        let mut callable = |name: &str, hook: Option<Bound<'_, PyAny>>| match hook {
            Some(hook) if !hook.is_callable() => {
                Err(wrong_type(name, &hook, "a function of one argument"))
            }
            None => Ok(None),
            Some(hook) => {
                reject_async(&hook, name, "a plain function of one argument")?;
                check_takes_one(&hook, name)?;
                let (strong, weak) = WeakRef::new(&hook)?;
                strong_refs.push(strong);
                HAS_HOOKS.store(true, Ordering::Relaxed);
                Ok(Some(weak))
            }
        };
        let hooks = Hooks {
            on_request: callable("on_request", on_request)?,
            on_response: callable("on_response", on_response)?,
        };
        Ok((hooks, strong_refs))
    }

    fn is_empty(&self) -> bool {
        self.on_request.is_none() && self.on_response.is_none()
    }
}

impl PythonObserver {
    pub fn new(own: Hooks) -> Self {
        PythonObserver(Arc::new(AllHooks { own, ..AllHooks::default() }))
    }

    /// Replaces the hooks of the instrumentation, which are called besides the client's own.
    pub fn instrument(&self, hooks: Hooks) {
        self.0.instrumentation.store((!hooks.is_empty()).then(|| Arc::new(hooks)));
    }
}

boardlot_client::extension::shown_as!(PythonObserver, "PythonObserver(..)");

impl Observer for PythonObserver {
    fn is_listening(&self) -> bool {
        !self.0.own.is_empty() || self.0.instrumentation.load().is_some() || logging::is_enabled()
    }

    /// The request waits until the hook has returned, so that hooks and log records see events in
    /// the order in which they happen.
    fn observe(&self, event: Event) -> Observed<'_> {
        let hooks = self.0.clone();
        Box::pin(async move {
            // Hooks may block, and the runtime's worker threads never attach to the interpreter.
            let event = Announced(event);
            callback_pool::run(move || hooks.observe(&event.0)).await
        })
    }

    fn observe_abandoned(&self, event: Event) {
        let hooks = self.0.clone();
        callback_pool::spawn(move || {
            // The hook that was called for the request may still be running.
            event.request.announced.wait();
            hooks.observe(&event);
        });
    }
}

/// An event whose hooks may never be called, if nobody waits for them any longer. Its request then
/// counts as announced to no hook.
struct Announced(Event);

impl Drop for Announced {
    fn drop(&mut self) {
        if matches!(self.0.kind, EventKind::Sending) {
            // Setting fails if the hooks were called.
            let _ = self.0.request.announced.set(Box::new(ResponseHooks::new()));
        }
    }
}

impl AllHooks {
    /// Attaches to the interpreter. Returns the headers to add.
    fn observe(&self, event: &Event) -> HeaderMap {
        let mut added = HeaderMap::new();
        let mut awaiting_response = ResponseHooks::new();
        let attached = attach(|py| {
            let context = CallerContext::of(event.request.caller.as_ref(), py);
            if matches!(event.kind, EventKind::Sending) {
                let instrumentation = self.instrumentation.load_full();
                for hooks in instrumentation.as_deref().into_iter().chain([&self.own]) {
                    // The client may be gone when on_request returns.
                    awaiting_response.extend(upgrade(&hooks.on_response, py).map(Bound::unbind));
                    added.extend(reported(py, hooks.call_request_hooks(py, &context, event)));
                }
            }
            reported(py, call_response_hooks(py, &context, event));
            if !context.is_logging {
                reported(py, logging::log(py, &context, event));
            }
            Ok(())
        });
        // Attaching fails while the program exits.
        drop(attached);
        if matches!(event.kind, EventKind::Sending) {
            // A request is announced once.
            let _ = event.request.announced.set(Box::new(awaiting_response));
        }
        added
    }
}

/// The hooks to call when a request ends: they are kept until then, even if the client is not.
type ResponseHooks = Vec<Py<PyAny>>;

impl Hooks {
    /// Calls `on_request`. Returns the headers to add.
    fn call_request_hooks(
        &self,
        py: Python<'_>,
        context: &CallerContext,
        event: &Event,
    ) -> PyResult<HeaderMap> {
        let Some(hook) = upgrade(&self.on_request, py) else { return Ok(HeaderMap::new()) };
        let request = Bound::new(py, RequestEvent::new(event))?.into_any();
        let returned = context.run(&hook, &[request], None)?;
        let given = Some(&returned).filter(|returned| !returned.is_none());
        headers("the return value of on_request", given).map_err(|error| {
            // An exception of the caller's own mapping is returned unchanged.
            if !is_refusal(py, &error) {
                return error;
            }
            let text = format!("on_request: {}; the request is sent without it", error.value(py));
            raise(py, Error::config(text))
        })
    }
}

/// Calls the hooks that wait for the end of a request, if this is the event of its end.
fn call_response_hooks(py: Python<'_>, context: &CallerContext, event: &Event) -> PyResult<()> {
    let Some(response) = ResponseEvent::of(event) else { return Ok(()) };
    let response = Bound::new(py, response)?.into_any();
    let hooks = event.request.announced.get();
    let hooks = hooks.and_then(|memory| memory.downcast_ref::<ResponseHooks>());
    for hook in hooks.into_iter().flatten() {
        reported(py, context.run(hook.bind(py), std::slice::from_ref(&response), None).map(drop));
    }
    Ok(())
}

fn upgrade<'py>(hook: &Option<WeakRef>, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
    hook.as_ref().and_then(|hook| hook.upgrade(py))
}

/// Reports an exception of a hook, so that the request continues.
fn reported<T: Default>(py: Python<'_>, outcome: PyResult<T>) -> T {
    outcome.unwrap_or_else(|error| {
        error.write_unraisable(py, None);
        T::default()
    })
}
