//! A rate limit whose state is in a database, which Python code reads and writes.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::interpreter::{
    attachment::attach,
    errors::shown,
    weak_ref::{StrongRef, WeakRef},
};
use crate::prelude::*;
use boardlot_client::extension::{
    error::{Delivery, ErrorKind},
    http::redact_named_secrets,
    os::callback_pool,
    shared_limit::{Allowance, Change, Reserved, State, Storage, boot_nanos},
};

/// A `LimitDatabase`.
pub struct DatabaseStorage(Arc<Shared>);

struct Shared {
    object: WeakRef,
    /// The state that the database returned last.
    known: Mutex<Option<Known>>,
}

/// A state by the clock of the database. When the state was received, that clock showed `now`, and
/// the boot clock of this machine showed `received`. The database's clock is taken to be as old as
/// its response at most, so that a request is never sent early.
#[derive(Debug, Clone, Copy)]
struct Known {
    state: State,
    send_at: u64,
    now: u64,
    received: u64,
}

impl Known {
    /// Converts a time of the database's clock to the boot clock.
    fn local(&self, time: u64) -> u64 {
        self.received.saturating_add(time).saturating_sub(self.now)
    }
}

/// A change of the state, which Python code makes in a transaction.
#[pyclass(frozen, module = "boardlot._core")]
struct LimitChange {
    change: Change,
    allowance: Allowance,
    made: Mutex<Option<Known>>,
}

#[pymethods]
impl LimitChange {
    /// Returns the new state. `state` is the current one, and `now` the database's time in
    /// microseconds since 1970.
    fn __call__<'py>(&self, py: Python<'py>, state: &[u8], now: u64) -> Bound<'py, PyBytes> {
        let (now, received) = (now.saturating_mul(1_000), boot_nanos());
        let mut state = State::decode(state, now);
        let send_at = state.apply(self.change, self.allowance, now);
        *lock(&self.made) = Some(Known { state, send_at, now, received });
        PyBytes::new(py, &state.encode())
    }
}

impl DatabaseStorage {
    /// Returns the storage, and the reference that keeps the object alive.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<(Self, Py<StrongRef>)> {
        let (strong, object) = WeakRef::new(object)?;
        Ok((DatabaseStorage(Arc::new(Shared { object, known: Mutex::new(None) })), strong))
    }
}

boardlot_client::extension::shown_as!(DatabaseStorage, "DatabaseStorage(..)");

impl Storage for DatabaseStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        let shared = self.0.clone();
        Box::pin(async move { callback_pool::run(move || shared.change(change, allowance)).await? })
    }

    fn users(&self) -> &'static str {
        "all processes that use its database"
    }

    fn known(&self) -> Option<(State, u64)> {
        let known = (*lock(&self.0.known))?;
        Some((known.state, boot_nanos().saturating_sub(known.received).saturating_add(known.now)))
    }
}

impl Shared {
    fn change(&self, change: Change, allowance: Allowance) -> Result<Reserved> {
        let known = attach(|py| {
            let object = self.object.upgrade(py).ok_or_else(|| {
                Error::config("the rate limit was dropped while it was in use; keep a reference")
            })?;
            let made = LimitChange { change, allowance, made: Mutex::new(None) };
            let made = Bound::new(py, made).map_err(|error| unreachable(py, &error))?;
            object
                .invoke_method(intern!(py, "change"), (&made,))
                .map_err(|error| unreachable(py, &error))?;
            let known = *lock(&made.get().made);
            known.ok_or_else(|| Error::internal("the rate limit's state was not changed"))
        })?;
        *lock(&self.known) = Some(known);
        Ok(Reserved {
            send_at: known.local(known.send_at),
            held_until: known.local(known.state.held_until),
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a database that cannot be used. The request was not sent, so it may be repeated.
fn unreachable(py: Python<'_>, error: &PyErr) -> Error {
    let class = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let text = redact_named_secrets(&shown(error.value(py).as_any()).unwrap_or_default());
    let message = format!("the rate limit's database cannot be used: {class}: {}", text.trim());
    ErrorKind::Transport { message, sent: Delivery::NotSent }.into()
}
