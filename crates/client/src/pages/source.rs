//! The source of the pages of a call.

use std::{future::Future, pin::Pin, sync::atomic::AtomicU64, time::Duration};

use super::PagedCall;
use crate::{
    decode::Page,
    error::{Error, Redactor, Result},
    http::{AuthorizedTransport, LocalInstant},
};

/// Minimum wait between the requests of windows and the requests of the one cursor that replaces
/// them: limits are per second.
const PAUSE: Duration = Duration::from_secs(1);

/// Permissions of a source for windows that the caller did not ask for.
#[derive(Debug, Clone, Copy)]
pub struct Permitted {
    /// Number of concurrent requests.
    pub at_once: usize,
    /// True if the source's requests wait for a rate limit.
    pub has_rate_limit: bool,
}

/// The source of a call's pages.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// Returns the page at a cursor, of the list or of the given part of its time range.
    /// `failed_attempts` counts failed attempts, even if a later one succeeded.
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// Returns the address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// Returns the permissions for windows that the caller did not ask for.
    fn permitted(&self) -> Permitted {
        Permitted { at_once: usize::MAX, has_rate_limit: false }
    }

    /// Returns the service's time in microseconds, as far as it is known without a request.
    fn time(&self) -> i64 {
        i64::MAX
    }

    /// Waits before one cursor reads a list again whose windows have failed with this error, so
    /// that limits which several concurrent requests have used up are available again.
    fn pause<'a>(
        &'a self,
        _call: &'a PagedCall,
        _error: &'a Error,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(tokio::time::sleep(PAUSE))
    }

    /// Redacts the secrets that a page may repeat. A source that sends no secrets has none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }

    /// Returns the end in microseconds of the open time range of this call: everything that existed
    /// at the service before this was called is earlier, and everything that the service adds after
    /// this has returned is later.
    fn now<'a>(
        &'a self,
        call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>>;
}

impl Source for AuthorizedTransport {
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let plan = &call.plan;
            let request = self.request(&plan.request, call.cursor(cursor), range)?;
            self.call_counted(&request, failed_attempts, |response| plan.parse(response)).await
        })
    }

    fn origin(&self) -> &str {
        self.base.as_str()
    }

    /// Permits as many requests as there are connections. Recorded traffic has to be the same for
    /// every client that replays it, whatever its options, so a recording permits only the requests
    /// of one cursor.
    fn permitted(&self) -> Permitted {
        let at_once = if self.has_cassette() { 1 } else { self.max_connections() };
        Permitted { at_once, has_rate_limit: self.rate().is_some() }
    }

    fn time(&self) -> i64 {
        let now = LocalInstant::now();
        let read = self.clock.reading().map(|reading| reading.latest(now));
        read.unwrap_or_else(|| self.clock.now_ms().saturating_mul(1_000))
    }

    fn pause<'a>(
        &'a self,
        call: &'a PagedCall,
        error: &'a Error,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            if let Ok(request) = self.request(&call.plan.request, call.cursor(None), None) {
                self.pause_after(&request, error, PAUSE).await;
            }
        })
    }

    fn redactor(&self) -> Redactor {
        self.redactor()
    }

    fn now<'a>(
        &'a self,
        call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(self.service_now(|| Some(call.identity())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{BaseUrl, TransportOptions};

    #[test]
    fn a_list_belongs_to_the_service_of_the_client() {
        let base = BaseUrl::parse("https://api.example.com/").expect("a base");
        let transport = AuthorizedTransport::new(base, None, TransportOptions::default());
        assert_eq!(Source::origin(&transport.expect("a transport")), "https://api.example.com");
    }
}
