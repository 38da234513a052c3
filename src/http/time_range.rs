//! The time range of a listing, typed.

use crate::{
    api::{EncodedValue, Endpoint, Paging, TimeSpan},
    error::{Error, Result},
};

/// The time range that a call asks for, in microseconds since 1970; a bound that is none was left
/// open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The earlier bound.
    pub start: Option<i64>,
    /// The later bound.
    pub end: Option<i64>,
    /// How long the range is if a bound is open.
    pub default_days: i64,
    /// The field of the records that the range is about.
    pub time_field: &'static str,
}

impl TimeRange {
    /// The range of a call with these bounds: none if the endpoint has none, or if a bound does not
    /// fit. A range beyond 2^63 microseconds is sent as it was given: no clock reaches that.
    pub(super) fn new(
        endpoint: &Endpoint,
        start: Option<&EncodedValue>,
        end: Option<&EncodedValue>,
    ) -> Option<Self> {
        let Some(Paging::PageFlag {
            span: TimeSpan::StartEnd { default_days, time_field }, ..
        }) = &endpoint.paging
        else {
            return None;
        };
        // To the service, 0 means that the bound was not given.
        let bound = |value: Option<&EncodedValue>| match value {
            Some(EncodedValue::Integer(micros)) => {
                i64::try_from(*micros).ok().map(|micros| (micros > 0).then_some(micros))
            }
            Some(_) => None,
            None => Some(None),
        };
        let (start, end) = (bound(start)?, bound(end)?);
        Some(TimeRange { start, end, default_days: *default_days, time_field })
    }

    /// Whether it depends on the clock.
    pub fn is_open(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }

    /// The range as the service document says that the service would interpret it at this moment.
    pub fn resolve(&self, now_micros: i64) -> (i64, i64) {
        const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;
        let length = self.default_days * MICROS_PER_DAY;
        match (self.start, self.end) {
            (Some(start), Some(end)) => (start, end),
            (Some(start), None) => (start, start.saturating_add(length)),
            (None, Some(end)) => (end.saturating_sub(length).max(1), end),
            (None, None) => (now_micros.saturating_sub(length), now_micros),
        }
    }
}

/// Refuses a range that ends before it starts, as the service document does.
///
/// `shown` is an argument as the caller passed it.
pub(super) fn check_order(
    start: Option<&EncodedValue>,
    end: Option<&EncodedValue>,
    shown: impl Fn(&str) -> String,
) -> Result<()> {
    let backward = match (start, end) {
        (Some(EncodedValue::Integer(start)), Some(EncodedValue::Integer(end))) => {
            *start > 0 && *end > 0 && start >= end
        }
        // yyyy-MM-dd sorts as text.
        (Some(EncodedValue::Text(start)), Some(EncodedValue::Text(end))) => start > end,
        _ => false,
    };
    if backward {
        let expected = format!("a time after start, which is {}", shown("start"));
        return Err(Error::argument("end", &shown("end"), &expected));
    }
    Ok(())
}
