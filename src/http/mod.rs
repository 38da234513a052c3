//! How it travels: endpoint and arguments to a final URL and bytes; authorized, sent, retried.

mod adaptive_throttle;
mod blocking_pool;
mod cassette;
mod clock;
mod connection;
mod names;
mod observer;
mod options;
mod rate_limit;
mod refresh;
mod request;
mod retry;
mod retry_budget;
mod send;
mod waits;

pub use blocking_pool::PoolSlot;
pub use cassette::{Cassette, Recorder, Replay};
pub use clock::Clock;
pub use names::is_public_header;
pub use observer::{Event, EventKind, Observed, Observer};
pub use options::SenderOptions;
pub use request::{BaseUrl, Body, Draft, Prepared, header_pair, method};
pub use send::{ResponseParsers, Sender};

/// An answer as it came, its body read whole.
pub type HttpResponse = ::http::Response<bytes::Bytes>;
