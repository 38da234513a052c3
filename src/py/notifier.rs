//! The thread that wakes event loops which watch no sockets.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use pyo3::prelude::*;

use super::event_loop::Queue;
use crate::{
    error::{Error, Result},
    process::PerProcess,
};

static NOTIFIER: PerProcess<Arc<Notifier>> = PerProcess::new();

/// Takes the place of the runtime's threads, which never touch the interpreter.
pub struct Notifier {
    waiting: Mutex<Waiting>,
    ready: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Waiting {
    queues: Vec<Arc<Queue>>,
    closed: bool,
}

/// The notifier of this process.
pub fn get() -> Result<Arc<Notifier>> {
    Ok((*NOTIFIER.get_or_make(Notifier::start)?).clone())
}

/// Joins the thread, so that it does not attach to an interpreter that is going away.
pub fn close(py: Python<'_>) {
    if let Some(notifier) = NOTIFIER.get() {
        py.detach(|| notifier.close());
    }
}

impl Notifier {
    fn start() -> Result<Arc<Self>> {
        let notifier = Arc::new(Notifier {
            waiting: Mutex::default(),
            ready: Condvar::new(),
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

    /// Something is in this queue.
    pub fn ring(&self, queue: Arc<Queue>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.closed {
            waiting.queues.push(queue);
            self.ready.notify_one();
        }
    }

    fn run(&self) {
        loop {
            let queues = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                while waiting.queues.is_empty() && !waiting.closed {
                    waiting = self.ready.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                }
                if waiting.closed {
                    return;
                }
                std::mem::take(&mut waiting.queues)
            };
            Python::attach(|py| queues.into_iter().for_each(|queue| queue.wake(py)));
        }
    }

    fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.ready.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It only fails if the thread panicked, and then there is nothing to wait for.
            let _ = thread.join();
        }
    }
}
