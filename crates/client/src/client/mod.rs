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
    pages::{Listing, PagedCall, Pages, RecordStream, RecordsCall, Windows},
};

/// A client of the service: cheap to clone, safe to share. Its clones share its connections, limits
/// and clock.
///
/// ```no_run
/// use boardlot_client::{Client, ClientOptions, Credentials, Result, endpoints::DIVIDENDS};
///
/// # async fn print(token: String) -> Result<()> {
/// let options = ClientOptions::of(Credentials::bearer(token)?);
/// let client = Client::new("https://api.example.com", options)?;
/// let dividends = client.call(DIVIDENDS, &[("symbol", "HK.00700".into())]).await?;
/// println!("{} dividends", dividends.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    /// The transport of the client's requests.
    #[doc(hidden)]
    pub transport: Arc<AuthorizedTransport>,
}

/// Options of a client; by default without credentials. Options may be added in later releases:
/// begin with the default or with [`of`](ClientOptions::of), and set fields.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ClientOptions {
    /// The credentials that authorize the client's requests.
    pub credentials: Option<Credentials>,
    /// The options for sending requests: time limits, retries, connections, a rate limit, headers.
    pub transport: TransportOptions,
}

impl ClientOptions {
    /// Creates options with these credentials and the default of every other option.
    pub fn of(credentials: Credentials) -> Self {
        ClientOptions { credentials: Some(credentials), ..ClientOptions::default() }
    }
}

impl Client {
    /// Creates a client of the service at this address: https, or http to a loopback address
    /// such as `http://127.0.0.1:8080`. Checks the options and binds the credentials to the
    /// service. Sends nothing.
    pub fn new(base_url: &str, options: ClientOptions) -> Result<Self> {
        let ClientOptions { credentials, transport } = options;
        let base = BaseUrl::parse(base_url)?;
        Ok(Client { transport: Arc::new(AuthorizedTransport::new(base, credentials, transport)?) })
    }

    /// Returns a client with the `timeout`, `max_retries` and `headers` of other options. Both
    /// clients share credentials, connections, limits and clock, and are closed together.
    #[must_use]
    pub fn with_options(&self, other: TransportOptions) -> Self {
        Client { transport: Arc::new(self.transport.with_options(other)) }
    }

    /// Closes the client: later calls of this client and its clones fail. Idle connections are
    /// closed now unless other clients use them, and busy ones when they become idle. Does not
    /// wait.
    pub fn close(&self) {
        self.transport.close();
    }

    /// Returns the service's time in milliseconds since 1970.
    pub async fn server_time(&self) -> Result<i64> {
        self.send(&RequestPlan::new::<&str>(&SERVER_TIME, &[])?, parse_server_time).await
    }

    /// Returns a time of the service in microseconds that has passed when this returns. A caller
    /// uses it as the end of a range in several requests, because no later record falls into that
    /// range.
    pub async fn service_now(&self) -> Result<i64> {
        self.transport.service_now(|| None).await
    }

    /// Returns the records of an endpoint; for a paged endpoint, the records of all pages.
    /// `arguments` are listed by name on the endpoint's page in [`endpoints`](crate::endpoints).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for an invalid argument; then nothing was
    /// sent.
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

    /// Returns the records of an endpoint one after another, as a stream that borrows neither this
    /// client nor the arguments: a function can return it, and a task can own it. For a paged
    /// endpoint, the next page is requested while the records of the current one are read.
    /// Arguments are checked now; the first request is sent when the first record is requested.
    /// To begin at a checkpoint, see [`pages`](Client::pages).
    ///
    /// ```no_run
    /// use boardlot_client::{Client, Result, endpoints::PLATE_STOCKS};
    /// use futures_util::TryStreamExt;
    ///
    /// # async fn print(client: Client) -> Result<()> {
    /// let mut stocks = client.records(PLATE_STOCKS, &[("plate_code", "HK.BK1001".into())])?;
    /// while let Some(record) = stocks.try_next().await? {
    ///     println!("{}", record.text());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn records<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
    ) -> Result<RecordStream> {
        if endpoint.paging.is_some() {
            return Ok(self.pages(endpoint, arguments, None, None)?.into_records());
        }
        let (client, plan) = (self.clone(), RecordsCall::new(endpoint, arguments)?);
        Ok(RecordStream::of_page(async move {
            client.send(&plan.request, |response| plan.parse_whole(response)).await
        }))
    }

    /// Returns the pages of an endpoint, for [`Pages::into_records`], [`Pages::stream`] or
    /// [`Pages::after`]. With a number of `windows`, its time range is split into that many parts,
    /// which are fetched concurrently. Without it, one cursor reads the range.
    ///
    /// `resume` is a checkpoint of the same call: the same service, endpoint and arguments; the
    /// number of windows may differ. A `start` that is computed from the time of now differs in the
    /// next run: store it with the checkpoint. An open end is fixed when the first page is
    /// requested, and is part of the checkpoint: later records are not in the list.
    ///
    /// ```no_run
    /// use boardlot_client::{Client, Result, endpoints::FILLS_HISTORY};
    /// use futures_util::TryStreamExt;
    ///
    /// # fn store(fill: &str, checkpoint: Option<String>) {}
    /// # async fn read(client: Client, checkpoint: Option<String>) -> Result<()> {
    /// let arguments = [
    ///     ("acc_id", "281756".into()),
    ///     ("trd_market", "HK".into()),
    ///     ("start", "2026-01-01".into()),
    /// ];
    /// let pages = client.pages(FILLS_HISTORY, &arguments, None, checkpoint.as_deref())?;
    /// let mut fills = pages.into_records();
    /// while let Some(fill) = fills.try_next().await? {
    ///     // In one transaction, so that a crash neither loses nor repeats a record.
    ///     store(fill.text(), fill.checkpoint()?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for an invalid argument, an endpoint that
    /// does not return pages, and a checkpoint of another call.
    pub fn pages<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
        windows: Option<Windows>,
        resume: Option<&str>,
    ) -> Result<Pages> {
        self.list(PagedCall::new(endpoint, arguments, windows)?, resume)
    }

    #[doc(hidden)]
    /// Returns one of `parts` windows of a time range that has a start and an end; window 0 is the
    /// latest. Each record of the range is in exactly one window.
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

    #[doc(hidden)]
    /// Returns the pages of any list, from the beginning or from a checkpoint.
    pub fn list(&self, call: impl Into<Listing>, resume: Option<&str>) -> Result<Pages> {
        Pages::new(self.transport.clone(), call, resume)
    }

    /// Returns the response to a custom request. The caller checks the mark of success in its body.
    pub async fn request(&self, plan: &RequestPlan) -> Result<HttpResponse> {
        self.send(plan, |response| check_credentials(response).map(|()| response.clone())).await
    }

    /// Returns the records of all pages of a list that shares the permits for requests with other
    /// lists.
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
