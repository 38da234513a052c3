//! The source of the pages of a call.

use std::{future::Future, pin::Pin, sync::atomic::AtomicU64, time::Duration};

use super::PagedCall;
use crate::{
    decode::Page,
    error::{Error, Redactor, Result},
    http::{AuthorizedTransport, LocalInstant},
};

/// The least time between requests of windows and those of one cursor in their place: limits are per second.
const PAUSE: Duration = Duration::from_secs(1);

/// What a source permits for windows that nobody asked for.
#[derive(Debug, Clone, Copy)]
pub struct Permitted {
    /// The requests at a time.
    pub at_once: usize,
    /// True if its requests wait for a rate limit.
    pub has_rate_limit: bool,
}

/// The source of a call's pages.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// The page at a cursor, of the list or of the given part of its time range. `failed_attempts` counts the attempts
    /// that failed, whether or not another one succeeded.
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// The address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// What it permits for windows that nobody asked for.
    fn permitted(&self) -> Permitted {
        Permitted { at_once: usize::MAX, has_rate_limit: false }
    }

    /// The service's time in microseconds, as far as it is known without a request.
    fn time(&self) -> i64 {
        i64::MAX
    }

    /// Waits before a list is read again by one cursor, since windows have failed with this error: whatever several
    /// requests at a time have used up is there again.
    fn pause<'a>(
        &'a self,
        _call: &'a PagedCall,
        _error: &'a Error,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(tokio::time::sleep(PAUSE))
    }

    /// Redacts the secrets that a page may repeat; a source that sends none has none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }

    /// The end in microseconds of the open time range of this call: all that existed at the service
    /// before this was called is earlier, and all that it adds after this has returned is later.
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

    /// As many requests as there are connections. Traffic that is recorded has to be that of every client which
    /// replays it, whatever its options are, so it is that of one cursor.
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
