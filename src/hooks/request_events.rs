//! `RequestEvent` and `ResponseEvent`, the arguments of a client's hooks.

use crate::{interpreter::errors::unchangeable, prelude::*};
use boardlot_client::extension::http::{Event, EventKind};

/// Defines a class of events: the facts that each event of a request has, and the class's own.
macro_rules! event_class {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[pyclass(frozen, get_all, module = "boardlot")]
        pub struct $name {
            /// A number that identifies the attempt in this process: its two events have the same
            /// number.
            id: u64,
            /// The endpoint's name, as in errors: `"dividends"`. It is `"GET /path"` for a request
            /// of your own.
            endpoint: String,
            /// The endpoint's path with its placeholders, of which there are few:
            /// `"/api/v1.0/quote/{symbol}/corporate-actions/dividends"`. None for a request of your
            /// own.
            route: Option<String>,
            /// The HTTP method.
            method: String,
            /// The host, with the port if it is not 443 (80 for `http`).
            host: String,
            /// The path, without the query.
            path: String,
            /// 1 when a call is first sent, and one more for each retry.
            attempt: u32,
            $($(#[$field_meta])* $field: $type,)*
        }

        impl $name {
            pub fn new(event: &Event, $($field: $type),*) -> Self {
                let request = &event.request;
                $name {
                    id: request.id,
                    endpoint: request.endpoint.clone(),
                    route: request.route.as_deref().map(str::to_owned),
                    method: request.method.clone(),
                    host: request.host.clone(),
                    path: request.path.clone(),
                    attempt: request.attempt,
                    $($field,)*
                }
            }
        }
    };
}

event_class! {
    /// A request that is about to be sent: the argument of `Client(on_request=...)`.
    RequestEvent {}
}

event_class! {
    /// A request that has ended: the argument of `Client(on_response=...)`.
    ResponseEvent {
        /// Seconds from sending the first byte to receiving the last.
        duration: f64,
        /// Seconds that the request waited for `rate_limit` before it was sent.
        rate_limit_wait: f64,
        /// The HTTP status; None if there was no response.
        status: Option<u16>,
        /// The reason why there was no response; None if there was a response, whatever its status.
        error: Option<String>,
        /// The class of `error`: `"TransportError"`, `"RequestTimeout"` or `"ProtocolError"`, or
        /// `"cancelled"` if the call ended before the request.
        error_type: Option<&'static str>,
    }
}

impl ResponseEvent {
    /// Returns the end of a request; none for any other event.
    pub fn of(event: &Event) -> Option<Self> {
        let waited = event.request.rate_limit_wait.get().map_or(0.0, |wait| wait.as_secs_f64());
        match &event.kind {
            EventKind::Responded { status, duration } => {
                Some(Self::new(event, duration.as_secs_f64(), waited, Some(*status), None, None))
            }
            EventKind::Failed { error, class, duration } => {
                let (seconds, error) = (duration.as_secs_f64(), error.to_string());
                Some(Self::new(event, seconds, waited, None, Some(error), Some(class)))
            }
            _ => None,
        }
    }
}

#[pymethods]
impl RequestEvent {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    fn __repr__(&self) -> String {
        format!("RequestEvent({} {}, attempt {})", self.method, self.path, self.attempt)
    }
}

#[pymethods]
impl ResponseEvent {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    fn __repr__(&self) -> String {
        let outcome = match (&self.status, &self.error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let Self { method, path, attempt, duration, .. } = self;
        format!("ResponseEvent({method} {path} -> {outcome}, {duration:.3} s, attempt {attempt})")
    }
}
