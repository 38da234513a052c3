//! The sandbox: the service side over real HTTP, for people without an account and for tests.
//!
//! Routes, methods and parameters come from the table in [`boardlot_service::api`], and the data
//! from a seed. Signatures are verified by other implementations than the client signs with, and
//! the sandbox never uses the client. All data end at midnight UTC of the day on which the sandbox
//! starts.
//!
//! The sandbox's choices where the service document shows nothing:
//! - A missing or wrong credential: HTTP 401 with code -1 in the endpoint's own envelope. A clock
//!   offset beyond the threshold: HTTP 401 with -12006. Credentials are checked in the order header
//!   form, key, clock, signature, nonce; with a bearer token, nothing else is read.
//! - Scopes: endpoints of an account require `trade:read` and that account (`accid:*` or
//!   `accid:<acc_id>`), the server's time requires none, and all other endpoints require
//!   `quote:read`. Without the scope: HTTP 403 with code -10 in the endpoint's own envelope. A
//!   signature may do everything.
//! - OAuth: a registration returns HTTP 201. `registration_client_uri` does not exist, and
//!   `registration_access_token` is not accepted anywhere. A confidential client also gets a
//!   `client_secret`. Redirect URIs are absolute, without a fragment (RFC 6749, section 3.1.2). A
//!   member that is not sent has the default of RFC 7591, but the default authentication method is
//!   `client_secret_post`: the service has no HTTP Basic, which the token endpoint rejects as
//!   `invalid_client`.
//! - Errors of the registration and token endpoints have the form of RFC 6749, section 5.2: `error`
//!   and `error_description`, with HTTP 400, and 401 for `invalid_client`. The two error codes of a
//!   registration are those of RFC 7591. Faults are `temporarily_unavailable` with HTTP 429 or 503.
//!   The consent page has latency, but no faults.
//! - `client_secret` is required to refresh, as the document says. The document does not name it
//!   for a code exchange, in which it is checked if it is sent.
//! - `scope` of an authorization request selects the scopes that the page ticks at first, by
//!   default all but single accounts. `scope` of a refresh may only narrow the granted scopes.
//!   Otherwise: `invalid_scope`.
//! - A client that did not register for `refresh_token` gets none. Refresh tokens do not expire.
//! - The page is a mock: it asks for no password, has no defense against forgery or framing, and
//!   says that it is a sandbox. An unknown client or redirect URI gets a page with HTTP 400. Any
//!   other error of the request is returned to the client, as `invalid_request`, `invalid_scope` or
//!   `unsupported_response_type`, and a denial by the user as `access_denied`. HTTP 401 comes with
//!   `WWW-Authenticate: Bearer`.
//! - Business errors have HTTP 200. Invalid arguments have the code -3, but 1 for crypto orders and
//!   -1200 for fills; an unknown plate has -7. A repeated argument is rejected.
//! - Throttling: HTTP 429 with `Retry-After`, and a code of the sandbox's own, -11. Unknown paths
//!   and other methods: 404.
//! - Markets trade from Monday to Friday, except on 1 January. Trading days: `data.trading_days[]`
//!   with `time`, `trade_date_type`, `trade_second`; ranges of at most 3,660 days.
//! - Plates: `data.stock_list[]`; `limit` is 50 by default and at most 1,000. The header
//!   X-Service-Client-Nnid is not required.
//! - `trd_market` is HK, US, CN, SG, MY, JP, AU or CA; both ends of a time range are included. The
//!   option `fills` is the number of fills in the last 90 days; as many again reach back two years.
//!   They are BUY or SELL, with the status OK or, rarely, CANCELLED. The last page's `page_flag` is
//!   empty.
//! - Crypto times are milliseconds. The market numbers of positions are 1 HK, 2 US, 3 SH. "Today"
//!   in simulated trading is the latest weekday before the data's midnight, and the countdowns of
//!   IPOs start at that midnight.
//! - Dividends of an unsupported market (MY) are an empty list.
//! - The two histories by date range return the latest 100 or `limit` days up to `end`, the
//!   earliest first: `/api/v1.0/quote/{symbol}/capital-flow/history` and
//!   `/api/v1.0/quote/{symbol}/history-kline`, whose `extra.next_time` is the next `end`.
//! - Markets have no daylight saving time.
//! - With `today`, the service's clock starts at noon UTC of that day. A signature is accepted by
//!   that clock and by the local one.
//! - `GET /healthz`, `GET /openapi.json` and the paths below `/_sandbox/` are the sandbox's own:
//!   they have no faults and are not recorded.
//! - Rows of `put` and `serve` stay in their order, but rows of a range of dates are sorted by
//!   their time. Fills of `put` are returned for the default range whatever their times are.

#![warn(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod credentials;
mod data;
mod faults;
mod login;
mod options;
mod seeded_rng;
mod service;
mod wire;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

use boardlot_service::{
    api::EndpointRef,
    error::{Error, Result, did_you_mean},
};
use jiff::{Timestamp, tz::TimeZone};
use tokio::{sync::watch, task::JoinHandle};

pub use credentials::keys::KeyAlgorithm;
pub use data::ACCOUNTS;
pub use faults::Faults;
pub use options::{Control, Options};
pub use service::{
    planned_failures::PlannedFailure,
    request_log::RecordedRequest,
    server::{Encryption, Stream},
};

use credentials::{keys::generate, tokens::Tokens, verify::Credentials};
use data::{Data, rows::CustomRows};
use faults::FaultSampler;
use seeded_rng::SeededRng;
use service::{
    server::serve,
    state::{Shared, date_offset_ms},
};

/// The service as an OpenAPI 3.1 description, in JSON, which `tools/generate` writes.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// The longest that `stop` waits for the sockets to be closed.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A running sandbox. Dropping it stops it.
pub struct Sandbox {
    shared: Arc<Shared>,
    /// The server's task, and a channel that is disconnected when all sockets are closed.
    running: Mutex<Option<(JoinHandle<()>, mpsc::Receiver<()>)>>,
    /// Becomes true when the server has to end.
    ending: watch::Sender<bool>,
}

impl Sandbox {
    /// Binds the socket, generates the data and serves on the runtime.
    pub fn start(options: Options, runtime: &tokio::runtime::Handle) -> Result<Sandbox> {
        Sandbox::start_encrypted(options, runtime, None)
    }

    /// Starts the sandbox, over https if there is an encryption.
    pub fn start_encrypted(
        options: Options,
        runtime: &tokio::runtime::Handle,
        encryption: Option<Encryption>,
    ) -> Result<Sandbox> {
        options.validate()?;
        let address = SocketAddr::new(options.host, options.port);
        let listening = |error: std::io::Error| {
            Error::config(format!(
                "the sandbox cannot listen on {address}: {error}; pass another port, or 0 for a \
                 free one"
            ))
            .caused_by(&error)
        };
        let socket = std::net::TcpListener::bind(address).map_err(listening)?;
        socket.set_nonblocking(true).map_err(listening)?;
        let scheme = if encryption.is_some() { "https" } else { "http" };
        let base_url = format!("{scheme}://{}", socket.local_addr().map_err(listening)?);
        let today = options
            .today
            .unwrap_or_else(|| Timestamp::now().to_zoned_datetime(TimeZone::UTC).date());
        let lifetime = Duration::from_secs_f64(options.token_lifetime);
        let tokens = Tokens::new(base_url, lifetime, SeededRng::unpredictable()?);
        let shared = Arc::new(Shared {
            data: Data::new(&options, today),
            credentials: Credentials::new(tokens),
            clock_offset_ms: (options.clock_offset * 1_000.0).round() as i64,
            date_offset_ms: options.today.map_or(0, date_offset_ms),
            requests: Mutex::default(),
            failures: Mutex::default(),
            custom: Mutex::default(),
            sampler: Mutex::new(FaultSampler::new(options.faults)),
            control: options.control,
            has_log: options.log,
        });
        let (open, closed) = mpsc::channel();
        let (ending, ended) = watch::channel(false);
        let _entered = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(socket).map_err(listening)?;
        let task = runtime.spawn(serve(listener, Arc::clone(&shared), encryption, ended, open));
        let running = Mutex::new(Some((task, closed)));
        Ok(Sandbox { shared, running, ending })
    }

    fn tokens(&self) -> &Tokens {
        &self.shared.credentials.tokens
    }

    /// `http://127.0.0.1:PORT`
    pub fn base_url(&self) -> &str {
        &self.tokens().base_url
    }

    /// Uploads a public key (SubjectPublicKeyInfo PEM; Ed25519, or RSA of 2048 bits or more) and
    /// returns its id.
    pub fn upload_key(&self, public_pem: &str) -> Result<String> {
        self.shared.credentials.upload(public_pem)
    }

    /// Makes a key of this algorithm, `Ed25519` or `RSA-SHA256`, and uploads it. Returns its id,
    /// and the private key in PEM.
    pub fn new_key(&self, algorithm: KeyAlgorithm) -> Result<(String, String)> {
        let (private, public) = generate(algorithm)?;
        Ok((self.upload_key(&public)?, private))
    }

    /// Creates an access token with all scopes, without a login.
    pub fn add_bearer_token(&self) -> String {
        self.tokens().add()
    }

    /// Acts as a person on the authorization page: ticks these scopes (`None`: the default ones)
    /// and allows them. Returns the URL to which the browser would go: the client's callback with
    /// `code` and `state`, or with `error` if the request was invalid. An unknown client or
    /// redirect URI is an error, as on the page.
    pub fn authorize_demo_user(
        &self,
        authorize_url: &str,
        scopes: Option<&[String]>,
    ) -> Result<String> {
        login::allow_as_demo_user(self.tokens(), authorize_url, scopes, self.shared.now_ms())
    }

    /// Revokes every access token; refresh tokens stay valid.
    pub fn revoke_tokens(&self) {
        self.tokens().revoke_access();
    }

    /// Revokes every access token, refresh token and code; clients stay.
    pub fn revoke_grants(&self) {
        self.tokens().revoke_grants();
    }

    /// Returns the last 10,000 requests.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).last.iter().cloned().collect()
    }

    /// Returns the number of requests received, including requests that are no longer kept.
    pub fn request_count(&self) -> u64 {
        lock(&self.shared.requests).count
    }

    /// Resets to the state of the seed: removes rows of `serve` and `put`, planned failures,
    /// recorded requests, used nonces, OAuth clients and their grants, and restarts the sequence of
    /// faults. Uploaded keys and the tokens of `add_bearer_token` stay.
    pub fn reset(&self) {
        self.shared.reset();
    }

    /// Answers the requests of an endpoint with these rows, a JSON list of objects, paged as the
    /// endpoint's row in the table says. With `only`, answers just the requests with these
    /// arguments. Rows for the same requests are replaced.
    pub fn serve(
        &self,
        endpoint: EndpointRef,
        rows: &str,
        only: Vec<(String, String)>,
    ) -> Result<()> {
        self.shared.add_custom(CustomRows::new(endpoint, rows, only)?);
        Ok(())
    }

    /// Replaces the generated rows of a built-in endpoint, as `serve` does.
    pub fn put(&self, name: &str, rows: &str, only: Vec<(String, String)>) -> Result<()> {
        self.shared.put("name", name, rows, only)
    }

    /// Fails the next requests. Planned failures come before `Faults`.
    pub fn fail_next(&self, failure: PlannedFailure) -> Result<()> {
        self.shared.fail_next(failure)
    }

    /// Returns the faults that are injected.
    pub fn faults(&self) -> Faults {
        lock(&self.shared.sampler).faults.clone()
    }

    /// Replaces the faults and restarts their sequence.
    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        self.shared.set_faults(faults)
    }

    /// Closes the socket, and each connection when the response that is under way on it has been
    /// sent. Waits no longer than `limit`. Returns true if all responses were sent.
    pub fn finish(&self, limit: Duration) -> bool {
        self.ending.send_replace(true);
        let Some((task, closed)) = lock(&self.running).take() else { return true };
        let is_finished = closed.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Disconnected);
        task.abort();
        is_finished
    }

    /// Closes the socket and every connection. Does nothing the second time.
    pub fn stop(&self) {
        let Some((task, closed)) = lock(&self.running).take() else { return };
        task.abort();
        let _ = closed.recv_timeout(STOP_WAIT);
    }
}

/// Returns the names of endpoints, each once.
fn names(endpoints: impl Iterator<Item = EndpointRef>) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = endpoints.map(|endpoint| endpoint.name.clone().into_owned());
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Returns the error for a name that is not one of these.
fn unknown_endpoint(argument: &str, name: &str, known: Vec<String>) -> Error {
    let nearest = did_you_mean(name, known.iter().map(String::as_str));
    let expected = format!("one of {}{nearest}", known.join(", "));
    Error::argument(argument, &format!("'{}'", name.escape_debug()), &expected)
}

// A panic elsewhere does not poison these locks: no holder leaves its data half changed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop();
    }
}

boardlot_service::shown_as!(Sandbox, |this| "Sandbox({})", this.base_url());
