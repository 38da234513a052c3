//! A call that is read as one list: a call that returns pages, or one call for each of many keys.

use std::sync::Arc;

use super::{PagedCall, paged_call::short_digest};
use crate::{
    api::Field,
    error::{Error, Result},
    http::TimeRange,
};

/// One call, or the calls of many keys, read as one list.
#[derive(Debug)]
pub struct Listing {
    /// A single call, unless the list has many keys.
    pub(super) calls: Vec<KeyedCall>,
    /// The keys, if this is a list of many keys.
    pub(super) keys: Option<ListingOfKeys>,
    /// Fields that the records can have.
    pub fields: Arc<[Field]>,
    label: String,
}

/// A list of many keys, in their order.
#[derive(Debug, Clone)]
pub struct ListingOfKeys {
    /// The name of the column of keys.
    pub key_name: Arc<str>,
    /// Number of keys that are read concurrently.
    pub concurrency: usize,
    /// True if a failed key is noted and the next one is read.
    pub collects_errors: bool,
}

/// The call of a key, or the error of a key that is not valid.
#[derive(Debug)]
pub(super) struct KeyedCall {
    pub key: Option<Arc<str>>,
    pub call: Result<Arc<PagedCall>>,
}

impl Listing {
    /// Creates a list of many keys: the call of each, or the error of a key that is not valid.
    pub fn of_keys(
        keys: ListingOfKeys,
        calls: Vec<(Arc<str>, Result<PagedCall>)>,
        label: &str,
        fields: Arc<[Field]>,
    ) -> Self {
        let calls = calls
            .into_iter()
            .map(|(key, call)| KeyedCall { key: Some(key), call: call.map(Arc::new) });
        Listing { calls: calls.collect(), keys: Some(keys), fields, label: label.to_owned() }
    }

    /// Returns the method's name, for messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the name of the column of keys, for a list of many keys.
    pub fn key_name(&self) -> Option<&str> {
        self.keys.as_ref().map(|keys| &*keys.key_name)
    }

    /// Returns the time range, if the client fixes it.
    pub(super) fn time_range(&self) -> Option<&TimeRange> {
        self.valid_call().and_then(|call| call.time_range.as_ref())
    }

    /// Returns true if the list may be read in windows that the caller did not ask for. A list of
    /// many keys may not, because its keys are already read concurrently.
    pub(super) fn may_be_in_windows(&self) -> bool {
        self.keys.is_none() && self.valid_call().is_some_and(|call| call.is_auto)
    }

    /// Returns the field of the records to which the time range applies.
    pub(super) fn time_field(&self) -> Option<&'static str> {
        Some(self.valid_call()?.plan.request.time_range?.time_field)
    }

    /// Returns the time range that the caller passed.
    pub(super) fn given_range(&self) -> Option<(i64, i64)> {
        self.valid_call()?.plan.request.time_range?.known()
    }

    /// Returns one call of the list, for properties that are the same for all keys.
    pub(super) fn valid_call(&self) -> Option<&Arc<PagedCall>> {
        self.calls.iter().find_map(|keyed| keyed.call.as_ref().ok())
    }

    /// Returns true if these are numbers of the list's keys, or if it has no keys.
    pub(super) fn has_keys(&self, mut numbers: impl Iterator<Item = usize>) -> bool {
        self.keys.is_none() || numbers.all(|number| number < self.calls.len())
    }

    /// Returns the required arguments of the call, for a call of a built-in endpoint.
    pub(super) fn subject(&self) -> Option<&str> {
        let call = self.valid_call().filter(|_| self.keys.is_none());
        call.and_then(|call| call.subject.as_deref())
    }

    /// Identifies the list: the same calls of the same keys have the same digest.
    pub fn identity(&self) -> String {
        match (&self.keys, self.valid_call()) {
            (None, Some(call)) => call.identity(),
            _ => {
                let identities = self.calls.iter().map(|keyed| match &keyed.call {
                    Ok(call) => call.identity(),
                    Err(_) => format!("{:?}", keyed.key),
                });
                short_digest(&identities.collect::<Vec<_>>().join("\n"), 32)
            }
        }
    }
}

impl From<PagedCall> for Listing {
    fn from(call: PagedCall) -> Self {
        let (label, fields) = (call.plan.request.label.clone(), call.plan.fields.clone());
        Listing {
            calls: vec![KeyedCall { key: None, call: Ok(Arc::new(call)) }],
            keys: None,
            fields,
            label,
        }
    }
}

impl KeyedCall {
    /// Adds the key to its error.
    pub fn located(&self, error: Error) -> Error {
        match &self.key {
            Some(key) => error.for_key(key),
            None => error,
        }
    }
}
