//! A response before it is sent.

use std::{io, time::Duration};

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;

pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Time for the first half of a truncated body to be sent before the connection is closed.
const TRUNCATION_PAUSE: Duration = Duration::from_millis(20);

/// Status, headers and body.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
    /// True if the response ends in the middle of the body.
    pub is_cut: bool,
}

impl HttpResponse {
    fn new(status: StatusCode, kind: HeaderValue, body: Vec<u8>) -> Self {
        HttpResponse { status, headers: HeaderMap::new(), body, is_cut: false }
            .with(CONTENT_TYPE, kind)
    }

    pub fn json(status: StatusCode, body: Vec<u8>) -> Self {
        HttpResponse::new(status, HeaderValue::from_static("application/json"), body)
    }

    pub fn html(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        HttpResponse::new(status, kind, body.into())
    }

    /// Creates a response that does not come from an endpoint.
    pub fn plain(status: StatusCode, message: &str) -> Self {
        let body = serde_json::json!({ "code": status.as_u16(), "msg": message });
        HttpResponse::json(status, body.to_string().into_bytes())
    }

    #[must_use]
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Converts the response for the server.
    pub fn into_response(self) -> Response<Body> {
        let length = self.body.len();
        let mut response = Response::new(match self.is_cut {
            true => first_half(self.body),
            false => Full::from(self.body).map_err(|never| match never {}).boxed_unsync(),
        });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        let headers = response.headers_mut();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.entry(WWW_AUTHENTICATE).or_insert(HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Returns the first half of a body followed by an error, which closes the connection.
fn first_half(mut body: Vec<u8>) -> Body {
    body.truncate(body.len() / 2);
    let half = stream::once(async move { Ok(Frame::data(Bytes::from(body))) });
    let end = stream::once(async {
        tokio::time::sleep(TRUNCATION_PAUSE).await;
        Err(io::Error::from(io::ErrorKind::ConnectionAborted))
    });
    StreamBody::new(half.chain(end)).boxed_unsync()
}
