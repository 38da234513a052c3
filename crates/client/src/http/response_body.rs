//! The body of a response as it arrives: collected, decompressed, and limited in size.

use std::io::{self, Write};

use ::http::{HeaderMap, header::CONTENT_ENCODING};
use bytes::{Bytes, BytesMut};
use flate2::write::MultiGzDecoder;

use crate::error::{Advice, Delivery, Error, ErrorKind, FailureClass, Result};

/// The memory allocated for a body before any of it has arrived. A larger body is collected in
/// chunks of this size: a growing buffer would need the memory of both sizes while it is copied.
const CHUNK: usize = 1 << 20;

/// A body of which more may arrive.
pub enum ResponseBody {
    Plain(Collected),
    /// A body in gzip, which may have several members (RFC 1952, section 2.2): the HTTP library
    /// reads only the first one.
    Gzip {
        decoder: Box<MultiGzDecoder<Collected>>,
        is_empty: bool,
    },
    /// A body in content codings that were not requested.
    Unreadable {
        codings: String,
    },
}

/// The part of a body that has arrived, decompressed.
#[derive(Default)]
pub struct Collected {
    full: Vec<BytesMut>,
    last: BytesMut,
    length: usize,
    limit: usize,
}

impl ResponseBody {
    /// Creates an empty body. The announced length may be wrong: more memory is allocated as the
    /// body arrives.
    pub fn new(response: &reqwest::Response, announced: u64, limit: usize) -> Self {
        let expected = usize::try_from(announced).unwrap_or_default().min(CHUNK);
        let last = BytesMut::with_capacity(expected);
        let collected = Collected { full: Vec::new(), last, length: 0, limit };
        let codings = content_codings(response.headers());
        // One layer is undone; of several layers, none is.
        match codings.as_slice() {
            [] => ResponseBody::Plain(collected),
            [gzip] if matches!(gzip.as_str(), "gzip" | "x-gzip") => {
                let decoder = Box::new(MultiGzDecoder::new(collected));
                ResponseBody::Gzip { decoder, is_empty: true }
            }
            // This status says enough without its body.
            _ if FailureClass::of_status(response.status().as_u16()).is_some() => {
                ResponseBody::Plain(collected)
            }
            _ => ResponseBody::Unreadable { codings: codings.join(", ") },
        }
    }

    pub fn is_compressed(&self) -> bool {
        matches!(self, ResponseBody::Gzip { .. })
    }

    /// Adds bytes that have arrived.
    pub fn add(&mut self, chunk: &[u8]) -> Result<()> {
        match self {
            ResponseBody::Plain(collected) => {
                collected.write_all(chunk).map_err(|_| too_large(collected.limit))
            }
            ResponseBody::Gzip { decoder, is_empty } => {
                *is_empty &= chunk.is_empty();
                decoder.write_all(chunk).map_err(|error| decoder.get_ref().broken(&error))
            }
            // The body is empty, as in the response to a HEAD request.
            ResponseBody::Unreadable { .. } if chunk.is_empty() => Ok(()),
            ResponseBody::Unreadable { codings } => {
                let message =
                    format!("the response's Content-Encoding is '{codings}'; expected gzip, once");
                Err(Error::protocol(message, b""))
            }
        }
    }

    /// Returns the whole body.
    pub fn finish(self) -> Result<Bytes> {
        let collected = match self {
            ResponseBody::Plain(collected) => collected,
            ResponseBody::Gzip { is_empty: true, .. } | ResponseBody::Unreadable { .. } => {
                Collected::default()
            }
            ResponseBody::Gzip { mut decoder, .. } => {
                decoder.try_finish().map_err(|error| decoder.get_ref().broken(&error))?;
                std::mem::take(decoder.get_mut())
            }
        };
        let Collected { mut full, last, .. } = collected;
        if full.is_empty() {
            return Ok(last.freeze());
        }
        full.push(last);
        Ok(Bytes::from(full.concat()))
    }
}

impl Collected {
    fn broken(&self, error: &io::Error) -> Error {
        match self.length > self.limit {
            true => too_large(self.limit),
            false if error.kind() == io::ErrorKind::UnexpectedEof => ended_early(),
            false => Error::protocol(format!("the response cannot be decompressed: {error}"), b""),
        }
    }
}

/// Fails beyond the limit, and from then on.
impl Write for Collected {
    fn write(&mut self, chunk: &[u8]) -> io::Result<usize> {
        self.length = self.length.saturating_add(chunk.len());
        if self.length > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.last.len() + chunk.len() > self.last.capacity() && self.last.len() >= CHUNK / 2 {
            let next = BytesMut::with_capacity(CHUNK);
            self.full.push(std::mem::replace(&mut self.last, next));
        }
        self.last.extend_from_slice(chunk);
        Ok(chunk.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the codings of a body in lower case, in the order in which they were applied (RFC 9110,
/// section 8.4), without the ones that change nothing.
fn content_codings(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(CONTENT_ENCODING).iter();
    let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    let codings = values
        .flat_map(|value| value.split(',').map(|it| it.trim().to_owned()).collect::<Vec<_>>());
    codings.filter(|coding| !matches!(coding.as_str(), "" | "identity")).collect()
}

pub fn too_large(limit: usize) -> Error {
    Error::protocol(format!("the response is larger than max_body_bytes ({limit})"), b"")
        .with_advice(Advice::LargerBody)
}

/// Returns the error of a body whose end is missing.
pub fn ended_early() -> Error {
    let message = "the response ended before its body was complete".to_owned();
    ErrorKind::Transport { message, sent: Delivery::Unknown }.into()
}
