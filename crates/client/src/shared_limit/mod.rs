//! `RateLimit`: one rate for all clients, processes or machines that use the same application key.

mod boot_clock;
mod file;
mod memory;
mod slowdown;
mod state;
mod storage;

use std::{
    sync::{Mutex, PoisonError},
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
    os::process::{PerProcess, origin},
};

/// The time before its turn at which a request leaves the queue of its process. So much is reserved
/// by a process at most, and lost if it ends.
const LOOKAHEAD: Duration = Duration::from_millis(20);
/// A request that is later than this, because its process was stopped or the machine is busy, reserves
/// another time: beside the requests of that moment it would be one too many.
const LATE_MAX: u64 = 20_000_000;

/// A request that has waited so long asks what its time is worth: a database does not tell that another
/// process was told to wait.
const OLD: u64 = 100_000_000;

/// A limit that several clients share.
#[derive(Debug)]
pub struct SharedLimit {
    /// The rate and the burst.
    pub allowance: Allowance,
    name: Option<String>,
    storage: Box<dyn Storage>,
    queue: PerProcess<Queue>,
}

/// The requests of one process, first come, first served: the first of them alone has reserved a time.
#[derive(Debug, Default)]
struct Queue {
    turn: AsyncMutex<()>,
    /// Times that were reserved for requests which were cancelled.
    spare: Mutex<Vec<u64>>,
}

/// The free part of a limit.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Requests per second now: less than what was granted while the service throttles.
    pub rate: f64,
    /// About how many of them are used.
    pub used: f64,
    /// About how many more could be sent: none while the service wants no requests.
    pub free: f64,
    /// The time that a request which is made now would wait.
    pub wait: Duration,
}

impl SharedLimit {
    /// Creates a limit for all clients of this process that are given it.
    pub fn in_process(allowance: Allowance) -> Self {
        Self::new(allowance, None, Box::new(MemoryStorage::default()))
    }

    /// Creates a limit for all processes of this user on this machine.
    pub fn on_machine(allowance: Allowance, name: &str) -> Result<Self> {
        let storage = Box::new(FileStorage::new(name)?);
        Ok(Self::new(allowance, Some(name.to_owned()), storage))
    }

    /// Creates a limit with a state that is stored elsewhere.
    pub fn new(allowance: Allowance, name: Option<String>, storage: Box<dyn Storage>) -> Self {
        SharedLimit { allowance, name, storage, queue: PerProcess::new() }
    }

    /// The name by which processes share it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Who shares it, for people.
    pub fn users(&self) -> &'static str {
        self.storage.users()
    }

    /// Waits until a request may be sent.
    pub async fn wait(&self) -> Result<()> {
        let queue = self.queue.get_or_make(|| Ok(Queue::default()))?;
        loop {
            let reserved = self.next(&queue).await?;
            let waited = reserved.sleep(Duration::ZERO).await;
            let now = boot_nanos();
            let is_late = now > reserved.send_at + LATE_MAX;
            // Meanwhile another process may have been told to wait.
            let known = || self.storage.known();
            let is_held = || waited && known().is_some_and(|(state, now)| state.held_until > now);
            reserved.end();
            if !is_late && !is_held() {
                return Ok(());
            }
        }
    }

    /// Waits for the turn of a request in this process, and until shortly before the time that is reserved
    /// for it.
    async fn next<'a>(&self, queue: &'a Queue) -> Result<ReservedTime<'a>> {
        // A call of a signal handler or hook does not wait behind the call that waits for it.
        let _turn = match origin().is_nested {
            true => queue.turn.try_lock().ok(),
            false => Some(queue.turn.lock().await),
        };
        loop {
            let send_at = match queue.take_spare() {
                Some(send_at) => send_at,
                None => self.storage.change(Change::Reserve, self.allowance).await?.send_at,
            };
            let reserved = ReservedTime { queue, send_at, is_spare: true };
            let since = boot_nanos();
            reserved.sleep(LOOKAHEAD).await;
            if boot_nanos() < since + OLD {
                return Ok(reserved);
            }
            let nothing = Change::Hold(Duration::ZERO);
            if self.storage.change(nothing, self.allowance).await?.held_until <= send_at {
                return Ok(reserved);
            }
            reserved.end();
        }
    }

    /// The service wants no requests for so long.
    pub async fn hold(&self, wait: Duration) -> Result<()> {
        self.storage.change(Change::Hold(wait), self.allowance).await.map(drop)
    }

    /// The service has rejected too many requests, the last of which was sent so long ago.
    pub async fn slow_down(&self, sent_ago: Duration) -> Result<()> {
        self.storage.change(Change::SlowDown(sent_ago), self.allowance).await.map(drop)
    }

    /// The free part of it; none if that is not known.
    pub fn usage(&self) -> Option<Usage> {
        let (state, now) = self.storage.known()?;
        let rate =
            state.slowed_to(now).map_or(self.allowance.rate, |rate| rate.min(self.allowance.rate));
        let used = state.used(now);
        let free = if state.held_until > now { 0.0 } else { (rate - used).max(0.0) };
        Some(Usage { rate, used, free, wait: state.wait(self.allowance, now) })
    }
}

impl Queue {
    /// An earlier time that is not too late.
    fn take_spare(&self) -> Option<u64> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let now = boot_nanos();
        spare.retain(|send_at| *send_at + LATE_MAX > now);
        let earliest = spare.iter().enumerate().min_by_key(|(_, send_at)| **send_at);
        earliest.map(|(place, _)| place).map(|place| spare.swap_remove(place))
    }
}

/// A reserved time. If this is dropped before its end, the next request of this process gets it.
#[derive(Debug)]
struct ReservedTime<'a> {
    queue: &'a Queue,
    send_at: u64,
    is_spare: bool,
}

impl ReservedTime<'_> {
    /// Waits until so long before it; false if that has passed.
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
            let mut spare = self.queue.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(self.send_at);
        }
    }
}
