//! The state that all pages of an iteration share.

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicU64};

use super::{Listing, Source};
use crate::error::Error;

/// The state that all pages of an iteration share.
#[derive(Debug)]
pub struct Core {
    pub source: Arc<dyn Source>,
    pub listing: Listing,
    /// The number of pages that have been requested.
    pub requests: Arc<AtomicU64>,
    pub known: Mutex<Known>,
}

/// What is known of a list.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// The time range in microseconds since 1970.
    pub range: Option<(i64, i64)>,
    /// The total number of records, if the service has returned it.
    pub total: Option<i64>,
    /// True if the service has returned a record that is not within the time range which was requested.
    pub ignores_ranges: bool,
}

impl Core {
    /// The error with the call, without the secrets that a page may repeat.
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
