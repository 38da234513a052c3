//! The service's clock.

use std::ops::Range;

use ::http::Response;
use bytes::Bytes;

use super::{
    envelope::success_members,
    json::{Value, find_member},
    scalars::parse_whole,
};
use crate::{
    api::{ResponseShape, SERVER_TIME},
    error::{Error, Result},
};

/// Returns the service's time in milliseconds since 1970.
pub fn parse_server_time(response: &Response<Bytes>) -> Result<i64> {
    let ResponseShape::ServerTime(field) = SERVER_TIME.response else {
        return Err(Error::internal("the endpoint server-time declares no time field"));
    };
    let top = success_members(SERVER_TIME.contract(), response)?;
    let value = find_member(&top, field).and_then(|raw| Value::parse(raw.get()).ok());
    let text = value.as_ref().and_then(Value::as_token);
    text.filter(|text| text.starts_with(|first: char| first.is_ascii_digit()))
        .and_then(parse_whole)
        .filter(|millis| PLAUSIBLE.contains(millis))
        .ok_or_else(|| {
            let text = format!(
                "{field} is not a valid time; expected milliseconds since 1970 as a string of digits, \
                 between 2010 and 2100"
            );
            Error::protocol(text, response.body())
        })
}

/// 2010-01-01 to 2100-01-01 in milliseconds. Other times cannot sign a request or end a time range.
const PLAUSIBLE: Range<i64> = 1_262_304_000_000..4_102_444_800_000;
