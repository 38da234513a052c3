//! The origin of a call: the code that made it, and whether other calls wait for that code.

use std::{any::Any, cell::Cell, sync::Arc};

tokio::task_local! {
    static ORIGIN: Origin;
}

/// The origin of a call.
#[derive(Clone, Default)]
pub struct Origin {
    /// The code that made it.
    pub caller: Option<Caller>,
    /// True if another call waits for that code: a signal handler, a finalizer or a hook. Then this
    /// call must not wait for anything that the other one may hold.
    pub is_nested: bool,
    /// The login slot that is being refreshed by the call which waits for that code, by its address: this
    /// call must not wait for that refresh.
    pub refreshing: Option<usize>,
}

thread_local! {
    static REFRESHING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The login slot that is being refreshed by the call which waits for the code of this thread.
pub fn refreshing() -> Option<usize> {
    REFRESHING.get()
}

/// Runs code of the caller's that a call of this origin waits for.
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

/// The origin of the call that is running; tasks that it spawns have to be given it.
pub fn origin() -> Origin {
    ORIGIN.try_with(Clone::clone).unwrap_or_default()
}

boardlot_service::shown_as!(Origin, |this| "Origin(is_nested: {})", this.is_nested);
