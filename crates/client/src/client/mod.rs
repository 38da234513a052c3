//! The client: calls, lists, custom requests, and one endpoint for many keys.

mod batch;
mod explain;

use std::sync::Arc;

use tokio::sync::Semaphore;

pub use batch::{BatchKey, BatchOutcome};
pub use explain::Explanation;

use crate::{
    api::{Argument, Endpoint, SERVER_TIME},
    auth::Credentials,
    decode::{PageSlice, Rows, check_credentials, parse_server_time},
    error::Result,
    http::{AuthorizedTransport, BaseUrl, HttpResponse, RequestPlan, TransportOptions},
    pages::{Listing, PagedCall, Pages, RecordsCall, Windows},
};

/// A client of the service: cheap to clone, safe to share.
#[derive(Debug, Clone)]
pub struct Client {
    /// The transport that sends its requests.
    pub transport: Arc<AuthorizedTransport>,
}

/// The options of a client. By default it has no credentials.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// The credentials that authorize its requests.
    pub credentials: Option<Credentials>,
    /// The options for sending requests: time limits, retries, connections, a rate limit, headers.
    pub transport: TransportOptions,
}

impl Client {
    /// A client of the service at this address. Checks the options, and binds the credentials to the service.
    /// Sends nothing.
    pub fn new(base_url: &str, options: ClientOptions) -> Result<Self> {
        let ClientOptions { credentials, transport } = options;
        let base = BaseUrl::parse(base_url)?;
        Ok(Client { transport: Arc::new(AuthorizedTransport::new(base, credentials, transport)?) })
    }

    /// A client with the `timeout`, `max_retries` and `headers` of other options. Both share credentials, connections,
    /// limits and clock, and are closed together.
    #[must_use]
    pub fn with_options(&self, other: TransportOptions) -> Self {
        Client { transport: Arc::new(self.transport.with_options(other)) }
    }

    /// The service's time in milliseconds.
    pub async fn server_time(&self) -> Result<i64> {
        self.send(&RequestPlan::new::<&str>(&SERVER_TIME, &[])?, parse_server_time).await
    }

    /// A time of the service in microseconds that is past when this returns, at which a range ends that a
    /// caller fixes for several requests: nothing arrives in it later.
    pub async fn service_now(&self) -> Result<i64> {
        self.transport.service_now(|| None).await
    }

    /// The records of an endpoint; of one that returns pages, those of all pages.
    pub async fn call<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
    ) -> Result<Rows> {
        if endpoint.paging.is_some() {
            let pages = self.pages(endpoint, arguments, None, None)?;
            return rows_of(&pages).await;
        }
        let plan = RecordsCall::new(endpoint, arguments)?;
        let page = self.send(&plan.request, |response| plan.parse_whole(response)).await?;
        let slices = vec![PageSlice { range: 0..page.len(), page: Arc::new(page), key: None }];
        Ok(Rows::new(slices, plan.fields))
    }

    /// The records of an endpoint that returns pages. With a number of `windows`, its time range is split into so
    /// many parts that are fetched concurrently. Without, one cursor reads it, unless everything is collected.
    pub fn pages<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
        windows: Option<Windows>,
        resume: Option<&str>,
    ) -> Result<Pages> {
        self.list(PagedCall::new(endpoint, arguments, windows)?, resume)
    }

    /// One of `parts` windows of a time range that has a start and an end, the latest of which is 0: each
    /// record of the range is in exactly one of them.
    pub fn part_of_pages<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
        (part, parts): (usize, usize),
    ) -> Result<Pages> {
        let call = PagedCall::new(endpoint, arguments, None)?;
        let call = call.restricted_to_part(endpoint, part, parts);
        self.list(call.map_err(|error| error.with_endpoint(&endpoint.name))?, None)
    }

    /// The pages of any list, from the beginning or from a checkpoint.
    pub fn list(&self, call: impl Into<Listing>, resume: Option<&str>) -> Result<Pages> {
        Pages::new(self.transport.clone(), call, resume)
    }

    /// A custom request; the envelope of the response is left to the caller.
    pub async fn request(&self, plan: &RequestPlan) -> Result<HttpResponse> {
        self.send(plan, |response| check_credentials(response).map(|()| response.clone())).await
    }

    /// The records of all pages of one of several lists, which share the permits for requests.
    async fn call_with_permits(
        &self,
        endpoint: &Endpoint,
        arguments: &[(String, Argument)],
        windows: Windows,
        permits: Arc<Semaphore>,
    ) -> Result<Rows> {
        let call = PagedCall::new(endpoint, arguments, Some(windows))?;
        let pages = Pages::with_permits(self.transport.clone(), call, None, Some(permits))?;
        rows_of(&pages).await
    }

    async fn send<T>(
        &self,
        plan: &RequestPlan,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let request = self.transport.request(plan, None, None)?;
        self.transport.call(&request, parse).await
    }
}

async fn rows_of(pages: &Pages) -> Result<Rows> {
    Ok(Rows::new(pages.rest().await?, pages.listing().fields.clone()))
}
