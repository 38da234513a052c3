//! From a plan to a request that is authorized, sent and retried.

mod adaptive_throttle;
mod authorize;
mod base_url;
mod blocking_pool;
mod body;
mod call;
mod cassette;
mod clock;
mod clock_sync;
mod connection;
mod exchange;
mod handoff;
mod observer;
mod options;
mod plan;
mod rate_limit;
mod redact;
mod refresh;
mod request;
mod retry;
mod retry_budget;
mod sender;
mod time_range;
mod transport;
mod wait_times;

pub use base_url::BaseUrl;
pub use blocking_pool::PoolSlot;
pub use body::Body;
pub use cassette::{Cassette, Recorder, Replay};
pub use clock::{Clock, ClockReading, LocalInstant};
pub use observer::{Event, EventKind, Observed, ObservedRequest, Observer};
pub use options::SenderOptions;
pub use plan::{Cursor, RequestPlan};
pub use redact::{is_public_header, redact_named_secrets};
pub use request::{Request, header_pair, method};
pub use sender::{Sender, redactor_of_all_clients};
pub use time_range::{RangeEnd, TimeRange};

/// A response with its whole body.
pub type HttpResponse = ::http::Response<bytes::Bytes>;
