//! The moment when a connection takes a request from the HTTP library's queue.
//!
//! A connection that ends just when a request is queued for it may leave the request in its queue,
//! where nothing finds it again (hyperium/hyper#4122). Only that one request waits there, so it is
//! withdrawn and sent on another connection.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The fate of a queued request, decided once.
#[derive(Debug, Clone, Default)]
pub struct QueuedRequest(Arc<OnceLock<QueueState>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueState {
    Taken,
    Withdrawn,
}

impl QueuedRequest {
    /// Returns the request's body.
    pub fn body(&self, data: Bytes) -> reqwest::Body {
        reqwest::Body::wrap(QueuedBody { queued: self.clone(), data })
    }

    /// Withdraws the request. Returns false if a connection has taken it; otherwise it will never
    /// be sent whole.
    pub fn withdraw(&self) -> bool {
        *self.0.get_or_init(|| QueueState::Withdrawn) == QueueState::Withdrawn
    }

    /// Notes that a connection takes the request. Returns false if it was withdrawn.
    pub fn take(&self) -> bool {
        *self.0.get_or_init(|| QueueState::Taken) == QueueState::Taken
    }
}

/// A body in one piece. A connection looks at the body as soon as it takes the request, and before
/// it sends any part of the request.
struct QueuedBody {
    queued: QueuedRequest,
    data: Bytes,
}

impl Body for QueuedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if !self.queued.take() {
            return Poll::Ready(Some(Err(io::Error::other("the request was withdrawn"))));
        }
        let data = std::mem::take(&mut self.data);
        Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.queued.take() && self.data.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        match self.queued.0.get() {
            // A withdrawn body is never complete, even if it is empty.
            Some(QueueState::Withdrawn) => SizeHint::default(),
            _ => SizeHint::with_exact(self.data.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn queued(data: &'static str) -> (QueuedRequest, QueuedBody) {
        let queued = QueuedRequest::default();
        (queued.clone(), QueuedBody { queued, data: Bytes::from(data) })
    }

    fn next(body: &mut QueuedBody) -> Option<Result<Bytes, String>> {
        match Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(frame) => frame.map(|frame| {
                let frame = frame.map_err(|error| error.to_string())?;
                frame.into_data().map_err(|_| "not data".to_owned())
            }),
            Poll::Pending => Some(Err("pending".to_owned())),
        }
    }

    #[test]
    fn a_request_that_a_connection_has_taken_cannot_be_withdrawn() {
        for data in ["", "{}"] {
            let (queued, mut body) = queued(data);
            assert_eq!(body.size_hint().exact(), Some(data.len() as u64));
            assert_eq!(body.is_end_stream(), data.is_empty());
            assert!(!queued.withdraw());
            let whole = (!data.is_empty()).then(|| Ok(Bytes::from(data)));
            assert_eq!(next(&mut body), whole);
            assert!(body.is_end_stream());
        }
    }

    #[test]
    fn a_request_that_was_withdrawn_never_becomes_complete() {
        for data in ["", "{}"] {
            let (queued, mut body) = queued(data);
            assert!(queued.withdraw());
            assert!(queued.withdraw());
            assert!(!body.is_end_stream());
            assert_eq!(body.size_hint().exact(), None);
            assert_eq!(next(&mut body), Some(Err("the request was withdrawn".to_owned())));
        }
    }
}
