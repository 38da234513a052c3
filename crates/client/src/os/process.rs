//! State and tasks of one process: after a fork, the child creates its own.

use std::{
    any::Any,
    cell::Cell,
    io,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use arc_swap::ArcSwapOption;
use futures_util::future::BoxFuture;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::{
    error::{Delivery, Error, ErrorKind, Result},
    os::simulated,
};

static RUNTIME: PerProcess<Runtime> = PerProcess::new();

/// The most worker threads. Sending, signing and scanning take less time than the one Python thread
/// that uses the responses, so more workers would only wake each other: 16 workers on two cores cost a
/// sixth more CPU for the same requests.
const WORKERS_MAX: usize = 4;

/// The one tokio runtime of this process.
pub fn runtime() -> Result<Arc<Runtime>> {
    RUNTIME.get_or_make(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        build(
            Builder::new_multi_thread()
                .worker_threads(cores.min(WORKERS_MAX))
                .thread_name("boardlot"),
        )
    })
}

/// Builds a runtime.
pub fn build(builder: &mut Builder) -> Result<Runtime> {
    // tokio panics if only its sockets for signals cannot be opened.
    let built = catch_unwind(AssertUnwindSafe(|| builder.enable_all().build()));
    built.unwrap_or_else(|_| Err(io::Error::other("too many open files"))).map_err(|error| {
        let message = format!("no connection can be opened: {error}");
        ErrorKind::Transport { message, sent: Delivery::NotSent }.into()
    })
}

/// Spawns a task that others wait for than the one which is running.
pub fn spawn_shared(task: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    if simulated::is_on() {
        tokio::spawn(task);
    } else {
        runtime()?.spawn(task);
    }
    Ok(())
}

/// The id of this process, if it is remembered; otherwise 0.
static ID: AtomicU32 = AtomicU32::new(0);
static REMEMBERS_ID: AtomicBool = AtomicBool::new(false);

/// The id of this process.
pub fn id() -> u32 {
    match ID.load(Relaxed) {
        0 => {
            let id = std::process::id();
            if REMEMBERS_ID.load(Relaxed) {
                ID.store(id, Relaxed);
            }
            id
        }
        id => id,
    }
}

/// Remembers the id from now on: a request would ask for it five times. In each child that is
/// forked, `forget_id` has to be called first.
pub fn remember_id() {
    REMEMBERS_ID.store(true, Relaxed);
}

/// This is another process.
pub fn forget_id() {
    ID.store(0, Relaxed);
}

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
    /// The token cache that is being refreshed by the call which waits for that code, by its address: this
    /// call must not wait for that refresh.
    pub refreshing: Option<usize>,
}

thread_local! {
    static REFRESHING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The token cache that is being refreshed by the call which waits for the code of this thread.
pub fn refreshing() -> Option<usize> {
    REFRESHING.get()
}

/// Runs code that a call waits for which comes from there.
pub fn waited_for_by<T>(origin: &Origin, work: impl FnOnce() -> T) -> T {
    let before = REFRESHING.replace(origin.refreshing);
    let outcome = work();
    REFRESHING.set(before);
    outcome
}

/// The code that made a call, in a form that only the observers of its requests know.
pub type Caller = Arc<dyn Any + Send + Sync>;

/// Runs a call, or a part of it, that comes from there.
pub fn on_behalf_of<F: Future>(origin: Origin, future: F) -> impl Future<Output = F::Output> {
    ORIGIN.scope(origin, future)
}

/// The origin of the call that is running; tasks that it spawns have to be given it.
pub fn origin() -> Origin {
    ORIGIN.try_with(Clone::clone).unwrap_or_default()
}

boardlot_service::shown_as!(Origin, |this| "Origin(is_nested: {})", this.is_nested);

/// A task on the current runtime that is aborted when this is dropped. After a fork, the child has the
/// handle of a task that does not run there, and leaves it alone.
#[derive(Debug)]
pub struct AbortOnDrop<T> {
    task: Task<T>,
    process: u32,
}

#[derive(Debug)]
enum Task<T> {
    /// It ended at its first poll. `None` once this has been returned.
    Ended(Option<Result<T>>),
    Running(JoinHandle<Result<T>>),
}

impl<T: Send + 'static> AbortOnDrop<T> {
    /// Starts a task, for the same caller. Boxed, so that tokio's code for a task is compiled once for each
    /// `T` and not for each future.
    pub fn spawn(future: BoxFuture<'static, Result<T>>) -> Self {
        Self::new(Task::Running(tokio::spawn(on_behalf_of(origin(), future))))
    }

    /// The same, but what the first poll completes is completed here: to wake a thread for it would
    /// take longer.
    pub fn poll_or_spawn(mut future: BoxFuture<'static, Result<T>>) -> Self {
        // The waker may do nothing, since a spawned future is polled again.
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Self::new(Task::Ended(Some(outcome))),
            Poll::Pending => Self::spawn(future),
        }
    }

    fn new(task: Task<T>) -> Self {
        AbortOnDrop { task, process: id() }
    }

    /// The outcome of the task. If this is cancelled, it can be called again.
    pub async fn join(&mut self) -> Result<T> {
        match &mut self.task {
            Task::Running(task) => task.await.map_err(|error| Error::aborted(&error))?,
            Task::Ended(outcome) => outcome
                .take()
                .unwrap_or_else(|| Err(Error::internal("this task was joined before"))),
        }
    }
}

impl<T> AbortOnDrop<T> {
    /// Returns true if the task runs in this process.
    pub fn runs_here(&self) -> bool {
        self.process == id()
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if let Task::Running(task) = &self.task
            && self.runs_here()
        {
            task.abort();
        }
    }
}

/// A value that is created on first use in each process. Reading it takes no lock: a lock that another
/// thread holds at the moment of a fork would stay locked in the child forever.
pub struct PerProcess<T>(ArcSwapOption<(u32, Arc<T>)>);

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// Creates it without a value.
    pub const fn new() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    /// The value of this process, if it was created.
    pub fn get(&self) -> Option<Arc<T>> {
        let entry = self.0.load();
        entry.as_ref().filter(|entry| entry.0 == id()).map(|entry| entry.1.clone())
    }

    /// Removes this process's value; it lives on for those who hold it.
    pub fn forget(&self) {
        if self.get().is_some() {
            self.0.store(None);
        }
    }

    /// The value of this process.
    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let process = id();
        let created = Arc::new((process, Arc::new(make()?)));
        let winner = loop {
            let current = self.0.load_full();
            if let Some(entry) = &current
                && entry.0 == process
            {
                // Another thread was faster. Dropping a runtime waits for its threads, which is not
                // allowed within a task.
                let entry = entry.clone();
                let loser = std::thread::Builder::new();
                let _ = loser.spawn(move || drop(created));
                break entry;
            }
            let before = self.0.compare_and_swap(&current, Some(created.clone()));
            if arc_ptr(before.as_ref()) == arc_ptr(current.as_ref()) {
                // The parent's value: its threads do not exist here, so dropping it could wait for
                // them forever. It is leaked once per fork.
                if let Some(parent) = current {
                    std::mem::forget(parent);
                }
                break created;
            }
        };
        Ok(winner.1.clone())
    }
}

impl<T: Send + Sync + 'static> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for PerProcess<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PerProcess(..)")
    }
}

fn arc_ptr<T>(arc: Option<&Arc<T>>) -> *const T {
    arc.map_or(std::ptr::null(), Arc::as_ptr)
}
