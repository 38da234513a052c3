//! The outcome of an exchange, as a line of a cassette.

use ::http::{HeaderName, HeaderValue, StatusCode};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    HttpResponse,
    exchange::Received,
    recorded_secrets::{SecretNames, without_held},
};
use crate::error::{Delivery, Error, ErrorClass, ErrorKind, Redactor, Result, Unredacted};

/// The outcome of an exchange.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Recorded {
    Received { status: u16, headers: Vec<(String, String)>, body: RecordedBody },
    Timeout { message: String },
    Malformed { message: String },
    Lost { message: String },
}

/// Bytes in the most readable form from which they can be restored.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RecordedBody {
    Json(Box<RawValue>),
    Text(String),
    Base64(String),
}

impl Recorded {
    /// Records an outcome. `held` masks the values that the client holds, and `redactor` everything
    /// that an error must not show.
    pub(super) fn of(
        outcome: &Result<Received, Unredacted>,
        names: &SecretNames,
        held: &Redactor,
        redactor: &Redactor,
    ) -> Self {
        match outcome {
            Ok(received) => {
                let response = &received.0;
                let kept = |(name, value): (&HeaderName, &HeaderValue)| {
                    let value = String::from_utf8_lossy(value.as_bytes());
                    let value = names.header(name.as_str(), value)?;
                    Some((name.to_string(), without_held(&value, held)))
                };
                Recorded::Received {
                    status: response.status().as_u16(),
                    headers: response.headers().iter().filter_map(kept).collect(),
                    body: RecordedBody::of(response.body(), names, held),
                }
            }
            Err(error) => {
                let message = error.shown(redactor).to_string();
                match error.class() {
                    ErrorClass::RequestTimeout => Recorded::Timeout { message },
                    ErrorClass::ProtocolError => Recorded::Malformed { message },
                    _ => Recorded::Lost { message },
                }
            }
        }
    }

    pub(super) fn into_response(self) -> Result<HttpResponse> {
        let (status, headers, body) = match self {
            Recorded::Received { status, headers, body } => (status, headers, body),
            Recorded::Timeout { message } => return Err(ErrorKind::Timeout(message).into()),
            Recorded::Malformed { message } => return Err(Error::protocol(message, b"")),
            Recorded::Lost { message } => {
                let sent = Delivery::Unknown;
                return Err(ErrorKind::Transport { message, sent }.into());
            }
        };
        let mut response = HttpResponse::new(body.bytes());
        *response.status_mut() = StatusCode::from_u16(status).map_err(|_| {
            Error::config(format!("{status} in a cassette is not a valid HTTP status"))
        })?;
        for (name, value) in &headers {
            let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), HeaderValue::from_bytes(value.as_bytes()))
            else {
                return Err(Error::config(format!("'{name}' in a cassette is not a valid header")));
            };
            response.headers_mut().append(name, value);
        }
        Ok(response)
    }
}

impl RecordedBody {
    pub(super) fn of(bytes: &[u8], names: &SecretNames, held: &Redactor) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return RecordedBody::Base64(STANDARD.encode(held.redacted(bytes)));
        };
        let text = without_held(&names.body(text), held);
        // JSON is recorded unchanged if it is on one line.
        if !text.contains(['\n', '\r'])
            && let Ok(json) = RawValue::from_string(text.clone())
            && json.get() == text
        {
            return RecordedBody::Json(json);
        }
        RecordedBody::Text(text)
    }

    pub(super) fn bytes(&self) -> Bytes {
        match self {
            RecordedBody::Json(json) => json.get().to_owned().into(),
            RecordedBody::Text(text) => text.clone().into(),
            RecordedBody::Base64(text) => STANDARD.decode(text).unwrap_or_default().into(),
        }
    }
}
