//! The thread that wakes event loops which cannot watch sockets.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::attachment::with_interpreter;
use crate::os::process::PerProcess;
use crate::py::prelude::*;

/// Receiver of the notifier's wake-ups.
pub trait Wake: Send + Sync {
    fn wake(self: Arc<Self>, py: Python<'_>);
}

/// Attaches to the interpreter on behalf of the runtime's worker threads, which never do.
pub struct Notifier {
    pending: Mutex<Vec<Arc<dyn Wake>>>,
    not_empty: Condvar,
}

static NOTIFIER: PerProcess<Arc<Notifier>> = PerProcess::new();

impl Notifier {
    /// The notifier of this process.
    pub fn get() -> Result<Arc<Self>> {
        Ok((*NOTIFIER.get_or_make(Notifier::start)?).clone())
    }

    fn start() -> Result<Arc<Self>> {
        let notifier = Arc::new(Notifier { pending: Mutex::default(), not_empty: Condvar::new() });
        let worker = notifier.clone();
        std::thread::Builder::new()
            .name("boardlot-notify".into())
            .spawn(move || worker.run())
            .map_err(|error| Error::config(format!("no thread can be started: {error}")))?;
        Ok(notifier)
    }

    pub fn notify(&self, wake: Arc<dyn Wake>) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(wake);
        self.not_empty.notify_one();
    }

    /// Runs until the program exits.
    fn run(&self) {
        loop {
            let wakes = {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                while pending.is_empty() {
                    pending = self.not_empty.wait(pending).unwrap_or_else(PoisonError::into_inner);
                }
                std::mem::take(&mut *pending)
            };
            let woken = with_interpreter(|py| wakes.into_iter().for_each(|wake| wake.wake(py)));
            if woken.is_none() {
                return;
            }
        }
    }
}
