//! `RateLimit`: one rate for all clients, processes or machines that use the same application key.

mod boot_clock;
mod file;
mod memory;
mod slowdown;
mod state;
mod storage;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::sync::Mutex as AsyncMutex;

pub use self::{
    boot_clock::now as boot_nanos,
    state::{Allowance, Change, State},
    storage::{Reserved, Storage},
};
use self::{file::FileStorage, memory::MemoryStorage};
use crate::{
    error::Result,
    os::{origin::origin, process::shared},
};

/// Time before its turn at which a request leaves the queue of its process. A process reserves at
/// most this much time, which is lost if the process ends.
const LOOKAHEAD: Duration = Duration::from_millis(20);
/// A request that is later than this, because its process was stopped or the machine is busy,
/// reserves another time: it would exceed the limit beside the requests of that moment.
const LATE_MAX: u64 = 20_000_000;

/// A request that has waited this long checks its reserved time again: a database does not announce
/// that another process was told to wait.
const OLD: u64 = 100_000_000;

/// A limit on the requests per second that several clients share.
#[derive(Debug)]
pub struct SharedLimit {
    /// The rate and the burst.
    pub allowance: Allowance,
    name: Option<String>,
    kind: Kind,
    /// Identifies the limit among the open limits of this process.
    id: u64,
}

/// The kinds of storage.
#[derive(Debug)]
enum Kind {
    Memory,
    File(PathBuf),
    Other(Arc<dyn Storage>),
}

/// The limits that are open in this process. A forked child opens them again.
#[derive(Debug, Default)]
struct OpenLimits(Mutex<HashMap<u64, Arc<OpenLimit>>>);

/// A limit in one process: its storage, and the waiting requests, first come, first served. Only
/// the first of them has reserved a time.
#[derive(Debug)]
struct OpenLimit {
    storage: Arc<dyn Storage>,
    turn: AsyncMutex<()>,
    /// Times that were reserved for requests which were then cancelled.
    spare: Mutex<Vec<u64>>,
}

/// The unused part of a limit.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Requests per second now: fewer than granted while the service throttles.
    pub rate: f64,
    /// Approximate number of them that is used.
    pub used: f64,
    /// Approximate number that could still be sent: none while the service wants no requests.
    pub free: f64,
    /// Time that a request made now would wait.
    pub wait: Duration,
}

impl SharedLimit {
    /// Creates a limit for the clients of this process to which it is passed.
    pub fn in_process(allowance: Allowance) -> Self {
        Self::of_kind(allowance, None, Kind::Memory)
    }

    /// Creates a limit for all processes of this user on this machine.
    pub fn on_machine(allowance: Allowance, name: &str) -> Result<Self> {
        let kind = Kind::File(file::path_of(name)?);
        Ok(Self::of_kind(allowance, Some(name.to_owned()), kind))
    }

    /// Creates a limit whose state is stored elsewhere, where each process finds it.
    #[doc(hidden)]
    pub fn new(allowance: Allowance, name: Option<String>, storage: Arc<dyn Storage>) -> Self {
        Self::of_kind(allowance, name, Kind::Other(storage))
    }

    fn of_kind(allowance: Allowance, name: Option<String>, kind: Kind) -> Self {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        SharedLimit { allowance, name, kind, id: LAST_ID.fetch_add(1, Relaxed) }
    }

    /// Opens the limit in this process.
    fn open(&self) -> Result<Arc<OpenLimit>> {
        let limits = shared::<OpenLimits>()?;
        let mut limits = limits.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            let storage: Arc<dyn Storage> = match &self.kind {
                Kind::Memory => Arc::new(MemoryStorage::default()),
                Kind::File(path) => Arc::new(FileStorage::new(path.clone())),
                Kind::Other(storage) => storage.clone(),
            };
            Arc::new(OpenLimit { storage, turn: AsyncMutex::default(), spare: Mutex::default() })
        };
        Ok(limits.entry(self.id).or_insert_with(open).clone())
    }

    /// Returns the name by which processes share the limit.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Describes the processes that share the limit, for people.
    #[doc(hidden)]
    pub fn users(&self) -> &'static str {
        match &self.kind {
            Kind::Memory => "the clients of this process to which it is passed",
            Kind::File(_) => "all processes of this user on this machine",
            Kind::Other(storage) => storage.users(),
        }
    }

    /// Waits until a request may be sent.
    #[doc(hidden)]
    pub async fn wait(&self) -> Result<()> {
        let open = self.open()?;
        loop {
            let reserved = open.next(self.allowance).await?;
            let waited = reserved.sleep(Duration::ZERO).await;
            let now = boot_nanos();
            let is_late = now > reserved.send_at + LATE_MAX;
            // In the meantime, another process may have been told to wait.
            let known = || open.storage.known();
            let is_held = || waited && known().is_some_and(|(state, now)| state.held_until > now);
            reserved.end();
            if !is_late && !is_held() {
                return Ok(());
            }
        }
    }

    /// Notes that the service wants no requests for this long.
    #[doc(hidden)]
    pub async fn hold(&self, wait: Duration) -> Result<()> {
        self.open()?.storage.change(Change::Hold(wait), self.allowance).await.map(drop)
    }

    /// Notes that the service has rejected too many requests, the last of which was sent this long
    /// ago.
    #[doc(hidden)]
    pub async fn slow_down(&self, sent_ago: Duration) -> Result<()> {
        self.open()?.storage.change(Change::SlowDown(sent_ago), self.allowance).await.map(drop)
    }

    /// Returns the unused part of the limit; none if it is not known.
    #[doc(hidden)]
    pub fn usage(&self) -> Option<Usage> {
        let (state, now) = self.open().ok()?.storage.known()?;
        let rate =
            state.slowed_to(now).map_or(self.allowance.rate, |rate| rate.min(self.allowance.rate));
        let used = state.used(now);
        let free = if state.held_until > now { 0.0 } else { (rate - used).max(0.0) };
        Some(Usage { rate, used, free, wait: state.wait(self.allowance, now) })
    }
}

impl Drop for SharedLimit {
    fn drop(&mut self) {
        if let Ok(limits) = shared::<OpenLimits>() {
            let open = limits.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
            drop(open);
        }
    }
}

impl OpenLimit {
    /// Waits for the turn of a request in this process, and until shortly before the time that is
    /// reserved for it.
    async fn next(&self, allowance: Allowance) -> Result<ReservedTime<'_>> {
        // A call of a signal handler or hook does not wait behind the call that waits for the
        // handler or hook.
        let _turn = match origin().is_nested {
            true => self.turn.try_lock().ok(),
            false => Some(self.turn.lock().await),
        };
        loop {
            let send_at = match self.take_spare() {
                Some(send_at) => send_at,
                None => self.storage.change(Change::Reserve, allowance).await?.send_at,
            };
            let reserved = ReservedTime { limit: self, send_at, is_spare: true };
            let since = boot_nanos();
            reserved.sleep(LOOKAHEAD).await;
            if boot_nanos() < since + OLD {
                return Ok(reserved);
            }
            let nothing = Change::Hold(Duration::ZERO);
            if self.storage.change(nothing, allowance).await?.held_until <= send_at {
                return Ok(reserved);
            }
            reserved.end();
        }
    }

    /// Returns a spare time that is not yet too late.
    fn take_spare(&self) -> Option<u64> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let now = boot_nanos();
        spare.retain(|send_at| *send_at + LATE_MAX > now);
        let earliest = spare.iter().enumerate().min_by_key(|(_, send_at)| **send_at);
        earliest.map(|(place, _)| place).map(|place| spare.swap_remove(place))
    }
}

/// A reserved time. If this is dropped before that time, the next request of this process gets it.
#[derive(Debug)]
struct ReservedTime<'a> {
    limit: &'a OpenLimit,
    send_at: u64,
    is_spare: bool,
}

impl ReservedTime<'_> {
    /// Waits until this long before the reserved time. Returns false if that moment has passed.
    async fn sleep(&self, before: Duration) -> bool {
        let mut waited = false;
        loop {
            let left = Duration::from_nanos(self.send_at.saturating_sub(boot_nanos()));
            let left = left.saturating_sub(before);
            if left.is_zero() {
                return waited;
            }
            waited = true;
            tokio::time::sleep(left).await;
        }
    }

    fn end(mut self) {
        self.is_spare = false;
    }
}

impl Drop for ReservedTime<'_> {
    fn drop(&mut self) {
        if self.is_spare {
            let mut spare = self.limit.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(self.send_at);
        }
    }
}
