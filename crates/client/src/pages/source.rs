//! The source of the pages of a call.

use std::{future::Future, pin::Pin};

use super::PagedCall;
use crate::{
    decode::Page,
    error::{Redactor, Result},
    http::AuthorizedTransport,
};

/// A long round trip, in seconds. A measured one would make the requests of a list depend on time.
const ROUND_TRIP: f64 = 0.25;

/// The source of a call's pages.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// The page at a cursor, of the list or of the given part of its time range.
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// The address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// The number of requests at a time that are worth sending.
    fn requests_at_once(&self) -> usize {
        16
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
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let plan = &call.plan;
            let request = self.request(&plan.request, call.cursor(cursor), range)?;
            self.call(&request, |response| plan.parse(response)).await
        })
    }

    fn origin(&self) -> &str {
        self.base.as_str()
    }

    /// As many as there are connections. With a rate limit, those that are sent within a long round trip: more
    /// would only wait.
    fn requests_at_once(&self) -> usize {
        let limited = self.rate().map_or(usize::MAX, |rate| (rate * ROUND_TRIP).ceil() as usize);
        self.max_connections().min(limited).max(1)
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
