//! State that all pages of an iteration share.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicU64};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Listing, Source};
use crate::error::Error;

/// The state that all pages of an iteration share.
#[derive(Debug)]
pub struct Shared {
    pub source: Arc<dyn Source>,
    pub listing: Listing,
    /// The number of pages that have been requested.
    pub requests: AtomicU64,
    /// Number of failed attempts of these requests, even if the request succeeded later.
    pub failed_attempts: AtomicU64,
    /// Limit on concurrent requests of all lists that are read together, if there are several.
    pub permits: Option<Arc<Semaphore>>,
    pub known: Mutex<Known>,
}

/// Known properties of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The time range in microseconds since 1970.
    pub range: Option<(i64, i64)>,
    /// The total number of records, if the service has returned it.
    pub total: Option<i64>,
}

impl Shared {
    /// Waits for the permit of a request.
    pub async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.as_ref()?.acquire().await.ok()
    }

    /// Adds the call to an error, and removes the secrets that a page may repeat.
    pub fn located(&self, error: Error) -> Error {
        error.redacted(&self.source.redactor()).with_endpoint(self.listing.label())
    }

    pub fn known(&self) -> Known {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, note: impl FnOnce(&mut Known)) {
        note(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
