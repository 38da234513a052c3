//! How it travels: endpoint and arguments to a final URL and bytes; authorized, sent, retried.

mod clock;
mod connection;
mod lanes;
mod limit;
mod names;
mod observe;
mod options;
mod pace;
mod quota;
mod refresh;
mod request;
mod retry;
mod send;
mod tape;
mod waits;

pub use clock::Clock;
pub use lanes::Lane;
pub use names::is_public_header;
pub use observe::{Event, Observed, Observer, What};
pub use options::SenderOptions;
pub use request::{BaseUrl, Body, Draft, Prepared, header_pair, method};
pub use send::{Readers, Sender};
pub use tape::{Recorder, Replay, Tape};

/// An answer as it came, its body read whole.
pub type Received = ::http::Response<bytes::Bytes>;
