//! Turns a plan into a request that is authorized, sent and retried.

mod adaptive_throttle;
mod authorize;
mod authorized_transport;
mod base_url;
mod blocking_pool;
mod body;
mod call;
mod cassette;
mod client_identity;
mod clock;
mod clock_sync;
mod connection;
mod connections;
mod exchange;
mod http_client;
mod observer;
mod options;
mod plan;
mod proxy;
mod queued_request;
mod recorded;
mod recorded_secrets;
mod redact;
mod request;
mod resolver;
mod response_body;
mod retry;
mod retry_budget;
mod time_range;
mod tls;
mod transport;
mod wait_times;

pub use authorized_transport::{AuthorizedTransport, redactor_of_all_clients};
pub use base_url::{BaseUrl, check_address, is_loopback};
pub use blocking_pool::PoolSlot;
pub use body::Body;
pub use cassette::{Cassette, Recorder, Replay};
pub use client_identity::ClientIdentity;
pub use clock::{Clock, ClockReading, LocalInstant, local_ms};
pub use observer::{Event, EventKind, Observed, ObservedRequest, Observer};
pub use options::{ClientRate, ConnectOptions, SimulatedExchange, TransportOptions};
pub use plan::{Cursor, RequestPlan};
pub use proxy::{ENVIRONMENT, environment_proxy};
pub use recorded_secrets::SecretNames;
pub use redact::{is_public_header, redact_named_secrets};
pub use request::{Request, header_pair, method};
pub use time_range::{RangeEnd, TimeRange};
pub use tls::check_authorities;
pub use transport::Transport;

/// A response with its whole body.
pub type HttpResponse = ::http::Response<bytes::Bytes>;
