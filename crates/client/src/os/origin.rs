//! The origin of a call: the code that made it, and whether other calls wait for that code.

use std::{any::Any, cell::Cell, sync::Arc};

tokio::task_local! {
    static ORIGIN: Origin;
}

/// The origin of a call.
#[derive(Clone, Default)]
pub struct Origin {
    /// The code that made the call.
    pub caller: Option<Caller>,
    /// True if another call waits for the code that made this one: a signal handler, a finalizer or
    /// a hook. This call must then not wait for anything that the other call may hold.
    pub is_nested: bool,
    /// The login slot, by its address, that is being refreshed by the call which waits for that
    /// code. This call must not wait for that refresh.
    pub refreshing: Option<usize>,
}

thread_local! {
    static REFRESHING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the login slot that is being refreshed by the call which waits for the code of this
/// thread.
pub fn refreshing() -> Option<usize> {
    REFRESHING.get()
}

/// Runs the caller's own code, for which a call of this origin waits.
pub fn waited_for_by<T>(origin: &Origin, work: impl FnOnce() -> T) -> T {
    let before = REFRESHING.replace(origin.refreshing);
    let outcome = work();
    REFRESHING.set(before);
    outcome
}

/// The code that made a call, in a form that only the observers of its requests know.
pub type Caller = Arc<dyn Any + Send + Sync>;

/// Runs a call, or a part of it, with this origin.
pub fn on_behalf_of<F: Future>(origin: Origin, future: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(origin, future)
}

/// Returns the origin of the call that is running. A call has to pass its origin to the tasks that
/// it spawns.
pub fn origin() -> Origin {
    ORIGIN.try_with(Clone::clone).unwrap_or_default()
}

boardlot_service::shown_as!(Origin, |this| "Origin(is_nested: {})", this.is_nested);
