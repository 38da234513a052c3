//! Requests the service's time: for open time ranges, and after a signature was rejected.

use std::sync::Arc;

use super::{
    EventKind, Request, RequestPlan,
    cassette::Cassette,
    clock::{ClockReading, LocalInstant, local_ms},
    transport::Transport,
};
use crate::{
    api::SERVER_TIME,
    decode::parse_server_time,
    error::{Error, Result},
    os::simulated,
};

/// Maximum number of times that one call reads the service's clock.
const READINGS_MAX: usize = 2;

impl Transport {
    /// Returns a time in microseconds at which an open range ends: everything that existed at the
    /// service when this was called is at or before that time, and everything that the service adds
    /// from now on is later. No record therefore arrives in a range that is being read. Waits until
    /// the service's clock has certainly passed that time: at most a round trip and a millisecond,
    /// unless a rate limit makes another request wait for longer.
    ///
    /// Without a precise reading, the service's clock is read, once for all concurrent callers,
    /// which share a failure too. `call` identifies the call whose range ends at that time: a
    /// replay of a cassette uses the time that was recorded for the call, and sends no request.
    pub async fn service_now(&self, call: impl FnOnce() -> Option<String>) -> Result<i64> {
        let cassette = self.options.cassette.as_deref();
        let now = if matches!(cassette, Some(Cassette::Replay(_))) {
            // The time is not used unless the cassette lacks the call, and then it lacks the call's
            // requests as well.
            local_ms().saturating_mul(1_000)
        } else {
            let called = LocalInstant::now();
            let reading = reading_for(self, called).await?;
            let now = reading.latest(called);
            let turn = self.interval();
            simulated::sleep(reading.pause(now, LocalInstant::now(), turn)).await;
            now
        };
        match cassette {
            Some(cassette) => cassette.now(self.base.as_str(), call(), now),
            None => Ok(now),
        }
    }
}

/// Returns a reading for a call at this instant: the last one if it is precise, or a new one.
/// Another caller's request may have been sent before `called`, and the local clock set since; then
/// another request is sent.
async fn reading_for(transport: &Transport, called: LocalInstant) -> Result<Arc<ClockReading>> {
    let (clock, turn) = (&transport.clock, transport.interval());
    for _ in 0..READINGS_MAX {
        // Counted before the reading, so that a request that ends in between is used.
        let requests = clock.requests();
        if let Some(reading) = clock.reading().filter(|reading| reading.is_precise(called, turn)) {
            return Ok(reading);
        }
        read_clock(transport, requests).await?;
    }
    let reading = clock.reading();
    reading.ok_or_else(|| Error::protocol("the response to the clock request has no time", b""))
}

/// Corrects the offset of signatures by the service's clock, once for all calls that were rejected
/// at the same time. `requests` is the clock's count before the rejected attempt.
pub async fn correct_clock(transport: &Transport, requests: u64) -> Result<()> {
    // The correction is part of a call, and makes another call.
    Box::pin(read_clock(transport, requests)).await?;
    let clock = &transport.clock;
    if clock.correct()
        && let Some(span) = transport.span(&time_request(transport)?, 1)
    {
        let _ = span.emit(EventKind::ClockCorrected { offset_ms: clock.offset_ms() }).await;
    }
    Ok(())
}

/// Reads the service's clock, unless another caller has since `requests` was noted.
async fn read_clock(transport: &Transport, requests: u64) -> Result<()> {
    let (state, max_wait) = (transport.state()?, transport.options.timeout);
    let last = &state.clock_request;
    transport.clock.request_once(last, requests, max_wait, || request_time(transport)).await
}

/// Sends the request without credentials, because a signature by a wrong clock would be rejected
/// again. The transport takes the reading from the response.
async fn request_time(transport: &Transport) -> Result<()> {
    let request = time_request(transport)?;
    transport.call_unauthorized(&request, parse_server_time).await.map(drop)
}

fn time_request(transport: &Transport) -> Result<Request> {
    let plan = RequestPlan::new::<&str>(&SERVER_TIME, &[])?;
    // A replay never sends it, so it must not be among the caller's own requests in a cassette.
    Ok(Request { unrecorded: true, ..transport.request(&plan, None, None)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{AuthorizedTransport, BaseUrl, TransportOptions};

    #[test]
    fn a_reading_of_the_clock_is_in_no_cassette() {
        let base = BaseUrl::parse("https://api.example.com").expect("a base");
        let transport = AuthorizedTransport::new(base, None, TransportOptions::default());
        let request = time_request(&transport.expect("a transport")).expect("a request");
        assert!(request.unrecorded);
    }
}
