//! The body of a request: its parts until the request is sent, and its bytes.

use std::fmt;

use ::http::HeaderValue;
use bytes::Bytes;
use serde_json::value::RawValue;
use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// The body of a request.
#[derive(Clone)]
#[non_exhaustive]
pub enum Body {
    /// No body.
    None,
    /// Members of a JSON object in their order, sent compactly.
    Json(Vec<(String, Box<RawValue>)>),
    /// Fields of an `application/x-www-form-urlencoded` body, which holds secrets.
    #[doc(hidden)]
    Form(Form),
    /// Bytes that are sent unchanged, with this content type unless the caller sets another.
    Bytes(Bytes, Option<&'static str>),
}

/// Fields whose values are wiped from memory when they are dropped, and never shown.
#[derive(Clone, Default)]
pub struct Form(pub(super) Vec<(String, Zeroizing<String>)>);

boardlot_service::shown_as!(Form, "Form(..)");

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::None => out.write_str("None"),
            Body::Json(members) => write!(out, "Json({} members)", members.len()),
            Body::Form(_) => out.write_str("Form(..)"),
            Body::Bytes(bytes, _) => write!(out, "Bytes({} bytes)", bytes.len()),
        }
    }
}

impl Body {
    /// Converts a value to JSON.
    pub fn json<T: serde::Serialize>(value: &T) -> Result<Self> {
        let text = serde_json::to_vec(value).map_err(|error| unwritable(&error))?;
        Ok(Body::Bytes(text.into(), Some("application/json")))
    }

    /// Returns the bytes to send. `cursor` becomes a member of the JSON object and replaces a
    /// member of that name.
    pub(super) fn encode(&self, cursor: Option<(&str, &str)>) -> Result<Bytes> {
        match (self, cursor) {
            (Body::Json(members), cursor) => encode_json(members, cursor),
            (Body::None, Some(cursor)) => encode_json(&[], Some(cursor)),
            (Body::None, None) => Ok(Bytes::new()),
            (Body::Form(_) | Body::Bytes(..), Some((name, _))) => Err(Error::config(format!(
                "{name} cannot be set in this body; expected a JSON object"
            ))),
            (Body::Form(form), None) => Ok(encode_form(form)),
            (Body::Bytes(bytes, _), None) => Ok(bytes.clone()),
        }
    }

    /// Returns the content type of the encoded body. The caller's own header replaces it only for
    /// plain bytes.
    pub(super) fn content_type(&self, has_cursor: bool) -> Option<HeaderValue> {
        match self {
            Body::Json(_) => Some(HeaderValue::from_static("application/json")),
            Body::None if has_cursor => Some(HeaderValue::from_static("application/json")),
            Body::Form(_) => Some(HeaderValue::from_static("application/x-www-form-urlencoded")),
            Body::Bytes(_, content_type) => content_type.map(HeaderValue::from_static),
            Body::None => None,
        }
    }
}

/// Makes a member of a JSON body.
pub(super) fn json_member<T: serde::Serialize>(value: &T) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value).map_err(|error| unwritable(&error))
}

/// Makes a member of a text that is already JSON.
pub(super) fn json_text(text: String) -> Result<Box<RawValue>> {
    RawValue::from_string(text).map_err(|error| unwritable(&error))
}

fn encode_json(
    members: &[(String, Box<RawValue>)],
    mut cursor: Option<(&str, &str)>,
) -> Result<Bytes> {
    let mut out = String::from("{");
    let mut write = |name: &str, json: &str| -> Result<()> {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(name).map_err(|error| unwritable(&error))?);
        out.push(':');
        out.push_str(json);
        Ok(())
    };
    for (name, value) in members {
        match cursor.take_if(|(cursor, _)| *cursor == name) {
            Some((_, value)) => write(name, json_member(&value)?.get())?,
            None => write(name, value.get())?,
        }
    }
    if let Some((name, value)) = cursor {
        write(name, json_member(&value)?.get())?;
    }
    out.push('}');
    Ok(out.into())
}

/// Encodes a form in bytes that are wiped when the last request with them is gone.
fn encode_form(form: &Form) -> Bytes {
    // No character becomes more than three bytes, so the buffer is never reallocated, which would
    // leave copies.
    let size = form.0.iter().map(|(name, value)| 3 * (name.len() + value.len()) + 2).sum();
    let mut written = form_urlencoded::Serializer::new(String::with_capacity(size));
    for (name, value) in &form.0 {
        written.append_pair(name, value);
    }
    Bytes::from_owner(Zeroizing::new(written.finish().into_bytes()))
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::config(format!("the body cannot be written as JSON: {error}"))
}
