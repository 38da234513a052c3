//! Answers in the envelope of each endpoint (section 7).

use serde::{Serialize, ser::SerializeMap};
use serde_json::value::{RawValue, to_raw_value};

use crate::api::{Envelope, Failure};

/// The body of a success, or why the service says no.
pub type Reply = Result<Vec<u8>, Refusal>;

/// A refusal, before it is put into an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: i64,
    pub error_code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(code: i64, error_code: &'static str, message: impl Into<String>) -> Self {
        Refusal { code, error_code, message: message.into() }
    }

    pub fn documented(failure: &Failure) -> Self {
        Refusal::new(failure.code, failure.error_code, failure.condition)
    }

    pub fn invalid_symbol(symbol: &str) -> Self {
        Refusal::new(-7, "invalid_symbol", format!("'{}' is not known", symbol.escape_debug()))
    }

    /// An argument that the rows of the table do not rule out by themselves. Each endpoint's own
    /// code takes the place of this one: see [`super::routes`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Refusal::new(INVALID, "invalid_parameter", message)
    }

    /// The refusal in an endpoint's own form.
    pub fn body(&self, envelope: Envelope) -> Vec<u8> {
        #[derive(Serialize)]
        struct RetCode<'a> {
            ret_code: i64,
            ret_msg: &'a str,
            error: ErrorCode,
        }
        #[derive(Serialize)]
        struct ErrorCode {
            code: &'static str,
        }
        #[derive(Serialize)]
        struct Code<'a> {
            code: i64,
            msg: &'a str,
        }
        #[derive(Serialize)]
        struct Status<'a> {
            s: &'static str,
            errcode: i64,
            errmsg: &'a str,
        }
        let message = self.message.as_str();
        match envelope {
            Envelope::RetCode | Envelope::Undocumented | Envelope::Field(_) => json(&RetCode {
                ret_code: self.code,
                ret_msg: message,
                error: ErrorCode { code: self.error_code },
            }),
            Envelope::Code => json(&Code { code: self.code, msg: message }),
            Envelope::Status => json(&Status { s: "error", errcode: self.code, errmsg: message }),
        }
    }
}

/// Stands for the endpoint's own code for arguments that are refused.
pub const INVALID: i64 = -3;

/// `{ret_code: 0, ret_msg: "success", data: {<name>: rows}}`
pub fn ret_code(name: &'static str, rows: &impl Serialize) -> Vec<u8> {
    json(&Success { ret_code: 0, ret_msg: Some("success"), data: Named(name, rows) })
}

/// The same without `ret_msg`, as simulated trading answers.
pub fn ret_code_only(name: &'static str, rows: &impl Serialize) -> Vec<u8> {
    json(&Success { ret_code: 0, ret_msg: None, data: Named(name, rows) })
}

/// `{ret_code: 0, ret_msg: "success", data}`
pub fn ret_code_data(data: &impl Serialize) -> Vec<u8> {
    json(&Success { ret_code: 0, ret_msg: Some("success"), data })
}

pub fn json(value: &impl Serialize) -> Vec<u8> {
    // Of our own structures, none of which can fail to be written.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Rows written once, for pages to be put together from.
pub fn rendered(rows: &[impl Serialize]) -> Vec<Box<RawValue>> {
    rows.iter().filter_map(|row| to_raw_value(row).ok()).collect()
}

#[derive(Serialize)]
struct Success<T> {
    ret_code: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ret_msg: Option<&'static str>,
    data: T,
}

/// An object with one member.
struct Named<'a, T>(&'static str, &'a T);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}
