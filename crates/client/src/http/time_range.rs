//! The time range of a listing, typed.

use crate::{
    api::{EncodedValue, Endpoint, MICROS_PER_DAY, TimeRangeSpec, time_text},
    error::{Error, Result},
};

/// The time range that a call requests, in microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The earlier bound; none if it was left open.
    pub start: Option<i64>,
    /// The later bound.
    pub end: RangeEnd,
    /// The length of the range, if the service fills in a missing bound.
    pub default_days: i64,
    /// The field of the records to which the range applies.
    pub time_field: &'static str,
}

/// The later bound of a time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeEnd {
    /// Not given: the range ends now.
    Now,
    /// An explicit 0: to the service, `default_days` after the start.
    Default,
    /// A time.
    At(i64),
}

impl TimeRange {
    /// Creates the range of a call with these bounds; none if the endpoint has none.
    pub(super) fn new(
        endpoint: &Endpoint,
        start: Option<&EncodedValue>,
        end: Option<&EncodedValue>,
    ) -> Option<Self> {
        let TimeRangeSpec { default_days, time_field } = endpoint.time_range()?;
        let micros = |bound: Option<&EncodedValue>| match bound {
            Some(EncodedValue::Integer(micros)) => i64::try_from(*micros).ok(),
            _ => None,
        };
        let end = match micros(end) {
            None => RangeEnd::Now,
            Some(0) => RangeEnd::Default,
            Some(end) => RangeEnd::At(end),
        };
        // To the service, 0 means that the bound was not given.
        let start = micros(start).filter(|start| *start > 0);
        Some(TimeRange { start, end, default_days, time_field })
    }

    /// Returns true if the range ends now.
    pub fn is_open(&self) -> bool {
        match self.end {
            RangeEnd::Now => true,
            RangeEnd::Default => self.start.is_none(),
            RangeEnd::At(_) => false,
        }
    }

    /// Returns true if the caller's own bounds are complete, so that they are sent unchanged.
    pub fn is_given(&self) -> bool {
        self.start.is_some() && self.end != RangeEnd::Now
    }

    /// Returns the range at this moment by the service's clock. A missing bound follows the service
    /// document, except that without an end the range reaches until now, however long it is.
    pub fn resolve(&self, now_micros: i64) -> Result<(i64, i64)> {
        let length = self.default_days * MICROS_PER_DAY;
        match (self.start, self.end) {
            (Some(start), RangeEnd::At(end)) => Ok((start, end)),
            (Some(start), RangeEnd::Default) => Ok((start, start.saturating_add(length))),
            // To the service, a range ends after its start. The end at the current time is
            // boardlot's choice.
            (Some(start), RangeEnd::Now) if start >= now_micros => Err(Error::own_rule(
                "start",
                &time_text(start),
                &format!(
                    "a time before the service's current time, which is {}",
                    time_text(now_micros)
                ),
                "",
            )),
            (Some(start), RangeEnd::Now) => Ok((start, now_micros)),
            (None, RangeEnd::At(end)) => Ok((end.saturating_sub(length).max(1), end)),
            (None, RangeEnd::Now | RangeEnd::Default) => {
                Ok((now_micros.saturating_sub(length), now_micros))
            }
        }
    }

    /// Returns the range if it does not depend on the clock.
    pub fn known(&self) -> Option<(i64, i64)> {
        if self.is_open() { None } else { self.resolve(0).ok() }
    }
}

/// Refuses a range that ends before it starts. For times, the service document does so too; for
/// days, it says nothing.
///
/// `shown` is an argument as the caller passed it.
pub(super) fn check_order(
    start: Option<&EncodedValue>,
    end: Option<&EncodedValue>,
    shown: impl Fn(&str) -> String,
) -> Result<()> {
    match (start, end) {
        (Some(EncodedValue::Integer(from)), Some(EncodedValue::Integer(to)))
            if *from > 0 && *to > 0 && from >= to =>
        {
            let expected = format!("a time after start, which is {}", shown("start"));
            Err(Error::argument("end", &shown("end"), &expected))
        }
        // Dates of the form yyyy-MM-dd sort as text.
        (Some(EncodedValue::Text(from)), Some(EncodedValue::Text(to))) if from > to => {
            let expected = format!("a date on or after start, which is {}", shown("start"));
            Err(Error::own_rule("end", &shown("end"), &expected, ""))
        }
        _ => Ok(()),
    }
}
