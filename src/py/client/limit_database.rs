//! A rate limit whose state is in a database, which Python code asks.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use pyo3::prelude::*;

use crate::{
    callback_pool,
    error::{Delivery, Error, ErrorKind, Result},
    http::redact_named_secrets,
    py::interpreter::{
        callback::Invoke,
        fork_safe_cell::intern,
        shutdown_gate::attach,
        weak_ref::{StrongRef, WeakRef},
    },
    shared_limit::{Allowance, Change, Reserved, Slowdown, State, Storage, boot_nanos},
};

/// A `LimitDatabase`.
pub struct DatabaseStorage(Arc<Shared>);

struct Shared {
    object: WeakRef,
    /// What the database said last, by the boot clock of this machine.
    known: Mutex<Option<State>>,
}

/// What the database returns: its time, the reserved one, and its state, in microseconds since 1970.
type Row = (i64, i64, i64, i64, i64, f64, f64, i64, i64, i64);

impl DatabaseStorage {
    /// The storage, and what keeps the object alive.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<(Self, Py<StrongRef>)> {
        let (strong, object) = WeakRef::new(object)?;
        Ok((DatabaseStorage(Arc::new(Shared { object, known: Mutex::new(None) })), strong))
    }
}

impl fmt::Debug for DatabaseStorage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DatabaseStorage(..)")
    }
}

impl Storage for DatabaseStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        let shared = self.0.clone();
        Box::pin(async move { callback_pool::run(move || shared.change(change, allowance)).await? })
    }

    fn known(&self) -> Option<State> {
        *self.0.known()
    }
}

impl Shared {
    fn known(&self) -> std::sync::MutexGuard<'_, Option<State>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: Change, allowance: Allowance) -> Result<Reserved> {
        let (known, now) = (self.known().unwrap_or_default(), boot_nanos());
        let rate = known.rate(allowance, now);
        let row: Row = attach(|py| {
            let object = self.object.upgrade(py).ok_or_else(|| {
                Error::config("the rate limit was dropped while it was in use; keep a reference")
            })?;
            let outcome = match change {
                Change::Reserve => {
                    let (interval, tolerance) = (1e6 / rate, 1e6 * allowance.tolerance());
                    object.invoke_method(intern!(py, "reserve"), (interval, tolerance))
                }
                Change::Hold(wait) => {
                    object.invoke_method(intern!(py, "hold"), (wait.as_secs_f64() * 1e6,))
                }
                Change::SlowDown(sent_ago) => {
                    let Slowdown { low, recovered, .. } = Slowdown::below(rate, now);
                    let sent_ago = sent_ago.as_secs_f64() * 1e6;
                    object.invoke_method(intern!(py, "slow_down"), (sent_ago, low, recovered))
                }
            };
            outcome.and_then(|row| row.extract()).map_err(|error| unreachable(py, &error))
        })?;
        let reserved = by_boot_clock(row, boot_nanos());
        *self.known() = Some(reserved.state);
        Ok(reserved)
    }
}

/// The row by the boot clock of this machine, which shows `received` now. The database's clock is taken to
/// be as old as its response at most: so a request is never sent early.
fn by_boot_clock(row: Row, received: u64) -> Reserved {
    let (now, send_at, held_until, arrival, since, low, recovered, window, in_window, in_previous) =
        row;
    let local = |time: i64| {
        let ahead = time.saturating_sub(now).saturating_mul(1_000);
        received.saturating_add_signed(ahead)
    };
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    // The window of the database's clock that is now, is the one of this clock.
    let windows_ago = count(now / 1_000_000 - window);
    let state = State {
        updated: received,
        arrival: local(arrival),
        held_until: local(held_until),
        slowdown: (since > 0).then(|| Slowdown { since: local(since), low, recovered }),
        window: (received / 1_000_000_000).saturating_sub(windows_ago),
        in_window: count(in_window),
        in_previous: count(in_previous),
    };
    Reserved { send_at: local(send_at), state }
}

/// The request was not sent, so it may be repeated.
fn unreachable(py: Python<'_>, error: &PyErr) -> Error {
    let class = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let text = redact_named_secrets(&error.value(py).to_string());
    let message = format!("the rate limit's database cannot be used: {class}: {}", text.trim());
    ErrorKind::Transport { message, sent: Delivery::NotSent }.into()
}
