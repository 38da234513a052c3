//! Values that belong to one process: a forked child begins with its own.
//!
//! Each client has a `PerProcess`. The state that all clients share is in another one, which
//! `shared` reads.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
};

use arc_swap::ArcSwapOption;

use crate::error::{Error, Result};

/// A value that is created on first use in each process. Reading it takes no lock: a lock that
/// another thread holds at the moment of a fork would stay locked in the child forever.
pub struct PerProcess<T>(ArcSwapOption<(u32, Arc<T>)>);

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// Creates a value that is not yet set.
    pub const fn new() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    /// Returns the value of this process, if it was created.
    pub fn get(&self) -> Option<Arc<T>> {
        let entry = self.0.load();
        entry.as_ref().filter(|entry| entry.0 == id()).map(|entry| entry.1.clone())
    }

    /// Forgets this process's value, which lives on for its other holders.
    pub fn forget(&self) {
        if self.get().is_some() {
            self.0.store(None);
        }
    }

    /// Returns the value of this process.
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
                // Another thread was faster.
                break entry.clone();
            }
            let before = self.0.compare_and_swap(&current, Some(created.clone()));
            if arc_ptr(before.as_ref()) == arc_ptr(current.as_ref()) {
                // The entry has the parent's value. Its threads do not exist here, so dropping it
                // could wait for them forever. It is leaked once per fork.
                if let Some(parent) = current {
                    std::mem::forget(parent);
                }
                break created;
            }
        };
        Ok(winner.1.clone())
    }
}

impl<T> Drop for PerProcess<T> {
    /// Does not drop the parent's value: closing its connections here would also close them in the
    /// parent.
    fn drop(&mut self) {
        if let Some(entry) = self.0.swap(None)
            && entry.0 != id()
        {
            std::mem::forget(entry);
        }
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

/// The values that the clients of a process share, such as its runtime and connections: one of each
/// type.
static SHARED: PerProcess<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>> = PerProcess::new();

/// Returns the value of a type that the clients of this process share.
pub fn shared<T: Default + Send + Sync + 'static>() -> Result<Arc<T>> {
    shared_or_make(|| Ok(T::default()))
}

/// Returns the shared value of a type whose first value may fail to be created.
pub fn shared_or_make<T: Send + Sync + 'static>(
    make: impl FnOnce() -> Result<T>,
) -> Result<Arc<T>> {
    let shared = SHARED.get_or_make(|| Ok(Mutex::default()))?;
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let value = match shared.get(&TypeId::of::<T>()) {
        Some(value) => value.clone(),
        None => {
            let value: Arc<dyn Any + Send + Sync> = Arc::new(make()?);
            shared.insert(TypeId::of::<T>(), value.clone());
            value
        }
    };
    value.downcast().map_err(|_| Error::internal("a value of another type is shared"))
}

/// The remembered id of this process; 0 if it is not remembered.
static ID: AtomicU32 = AtomicU32::new(0);
static REMEMBERS_ID: AtomicBool = AtomicBool::new(false);

/// Returns the id of this process.
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

/// Remembers the id from now on: a request would ask the system for it five times. A forked child
/// has to call `forget_id` first.
pub fn remember_id() {
    REMEMBERS_ID.store(true, Relaxed);
}

/// Forgets the id. A forked child calls it, because its id is another one.
pub fn forget_id() {
    ID.store(0, Relaxed);
}
