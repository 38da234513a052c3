//! The thread that wakes event loops which cannot watch sockets.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use pyo3::prelude::*;

use crate::{
    error::{Error, Result},
    process::PerProcess,
};

/// What the notifier can wake.
pub trait Wake: Send + Sync {
    fn wake(self: Arc<Self>, py: Python<'_>);
}

/// Attaches to the interpreter in place of the runtime's worker threads, which never do.
pub struct Notifier {
    pending: Mutex<Pending>,
    not_empty: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Pending {
    wakes: Vec<Arc<dyn Wake>>,
    closed: bool,
}

static NOTIFIER: PerProcess<Arc<Notifier>> = PerProcess::new();

impl Notifier {
    /// The notifier of this process.
    pub fn get() -> Result<Arc<Self>> {
        Ok((*NOTIFIER.get_or_make(Notifier::start)?).clone())
    }

    fn start() -> Result<Arc<Self>> {
        let notifier = Arc::new(Notifier {
            pending: Mutex::default(),
            not_empty: Condvar::new(),
            thread: Mutex::new(None),
        });
        let worker = notifier.clone();
        let thread = std::thread::Builder::new()
            .name("boardlot-notify".into())
            .spawn(move || worker.run())
            .map_err(|error| Error::config(format!("no thread can be started: {error}")))?;
        *notifier.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(notifier)
    }

    pub fn notify(&self, wake: Arc<dyn Wake>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if !pending.closed {
            pending.wakes.push(wake);
            self.not_empty.notify_one();
        }
    }

    fn run(&self) {
        loop {
            let wakes = {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                while pending.wakes.is_empty() && !pending.closed {
                    pending = self.not_empty.wait(pending).unwrap_or_else(PoisonError::into_inner);
                }
                if pending.closed {
                    return;
                }
                std::mem::take(&mut pending.wakes)
            };
            Python::attach(|py| wakes.into_iter().for_each(|wake| wake.wake(py)));
        }
    }

    fn close(&self) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.not_empty.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It only fails if the thread panicked, and then it has ended too.
            let _ = thread.join();
        }
    }
}

/// Joins the thread, so that it does not attach to an interpreter that is shutting down.
pub fn close(py: Python<'_>) {
    if let Some(notifier) = NOTIFIER.get() {
        py.detach(|| notifier.close());
    }
}
