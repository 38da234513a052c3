//! Threads for single blocking jobs. If the system starts no more threads, the call that needs one
//! fails. tokio's own pool panics without a thread, and with all of its threads busy it waits for
//! one of them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread::{Builder, JoinHandle, ThreadId, current},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::{entropy, process};
use crate::error::{Delivery, Error, ErrorKind, Resource, Result};

/// An idle thread ends after this time.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// A job for a thread.
type Job = Box<dyn FnOnce() + Send>;

/// The threads of this process that wait for a job; the last one began to wait last.
#[derive(Debug, Default)]
struct IdleThreads(Mutex<Vec<IdleThread>>);

#[derive(Debug)]
struct IdleThread {
    id: ThreadId,
    jobs: mpsc::Sender<Job>,
}

/// Runs a job on an idle thread, or on a new one.
pub fn run(mut job: Job) -> Result<()> {
    let threads = process::shared::<IdleThreads>()?;
    while let Some(idle) = threads.pop() {
        match idle.jobs.send(job) {
            Ok(()) => return Ok(()),
            Err(unsent) => job = unsent.0,
        }
    }
    start("boardlot-callback", move || threads.work(job))
}

/// Runs a job and passes on its result; nothing if the job panics.
pub fn run_for<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<oneshot::Receiver<T>> {
    let (sender, receiver) = oneshot::channel();
    run(Box::new(move || {
        let _ = sender.send(job());
    }))?;
    Ok(receiver)
}

/// Starts a thread. If it returns an error, the work does not run.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    entropy::check()?;
    Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(|error| unavailable(&error))
}

/// Fails if the system would not start this many more threads. All of them are started at once, and
/// have ended when this returns.
pub fn check_room(count: usize) -> Result<()> {
    let started: Result<Vec<_>> = (0..count).map(|_| Probe::start()).collect();
    started.map(|probes| probes.into_iter().for_each(Probe::end))
}

/// A thread that does nothing.
struct Probe {
    thread: JoinHandle<Option<PathBuf>>,
    end: mpsc::Sender<()>,
}

impl Probe {
    fn start() -> Result<Self> {
        let (end, ended) = mpsc::channel();
        let work = move || {
            let _ = ended.recv();
            fs::read_link("/proc/thread-self").ok()
        };
        let thread = Builder::new().name("boardlot-probe".into()).spawn(work);
        Ok(Probe { thread: thread.map_err(|error| unavailable(&error))?, end })
    }

    /// Ends the thread, and waits until the system no longer counts it: Linux counts it until a
    /// moment after the join.
    fn end(self) {
        drop(self.end);
        let Ok(Some(own)) = self.thread.join() else { return };
        let own = Path::new("/proc").join(own);
        let deadline = Instant::now() + Duration::from_millis(100);
        while own.exists() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
}

/// Returns the error for a thread that cannot be started, with the hint for missing resources.
pub fn unavailable(error: &io::Error) -> Error {
    let message = format!("the system starts no more threads: {error}");
    Error::from(ErrorKind::Transport { message, sent: Delivery::NotSent })
        .with_resource(Resource::Threads)
}

impl IdleThreads {
    fn pop(&self) -> Option<IdleThread> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Runs a job, and then others as they arrive.
    fn work(&self, first: Job) {
        let (jobs, inbox) = mpsc::channel();
        let id = current().id();
        let mut job = first;
        loop {
            job();
            let idle = IdleThread { id, jobs: jobs.clone() };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
            let next = inbox.recv_timeout(IDLE_MAX).or_else(|error| match error {
                RecvTimeoutError::Timeout if self.forget(id) => Err(mpsc::RecvError),
                // The thread was just taken for a job.
                _ => inbox.recv(),
            });
            match next {
                Ok(next) => job = next,
                Err(_) => return,
            }
        }
    }

    /// Removes that thread. Returns true if it was idle.
    fn forget(&self, id: ThreadId) -> bool {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = idle.len();
        idle.retain(|thread| thread.id != id);
        idle.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_used_again_also_after_a_job_that_panics() {
        let id = || run_for(|| current().id()).expect("a thread").blocking_recv().expect("an id");
        let mut ids: Vec<_> = (0..50).map(|_| id()).collect();
        ids.dedup();
        assert!(ids.len() < 50, "{ids:?}");
        let panicked =
            run_for(move || assert!(ids.is_empty(), "a job that panics")).expect("a thread");
        assert!(panicked.blocking_recv().is_err());
        id();
    }
}
