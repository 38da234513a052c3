//! Responses in the envelope of each endpoint (section 7).

use serde::{Serialize, ser::SerializeMap};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use crate::api::{Endpoint, Envelope, Failure, RecordsLocation, ResponseShape};

/// The body of a success, or why the request is rejected.
pub type HandlerResult = Result<Vec<u8>, Rejection>;

/// Why a request is rejected, before it is put into an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub code: i64,
    pub error_code: &'static str,
    pub message: String,
}

impl Rejection {
    pub fn new(code: i64, error_code: &'static str, message: impl Into<String>) -> Self {
        Rejection { code, error_code, message: message.into() }
    }

    pub fn documented(failure: &Failure) -> Self {
        Rejection::new(failure.code, failure.error_code, failure.condition)
    }

    pub fn invalid_symbol(symbol: &str) -> Self {
        Rejection::new(
            -7,
            "invalid_symbol",
            format!("'{}' is not a known symbol", symbol.escape_debug()),
        )
    }

    /// An invalid argument. The endpoint's own code replaces this one.
    pub fn invalid(message: impl Into<String>) -> Self {
        Rejection::new(INVALID, "invalid_parameter", message)
    }

    /// The rejection in an endpoint's own envelope.
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

/// Stands for the endpoint's own code for invalid arguments.
pub const INVALID: i64 = -3;

/// A success that holds these rows in the place that the endpoint's row declares. For a place that
/// is undocumented, the list is named as the endpoint is.
pub fn rows(endpoint: &Endpoint, rows: &impl Serialize) -> Vec<u8> {
    let path: Vec<&str> = match &endpoint.response {
        ResponseShape::Rows(RecordsLocation::At(path), _) => path.split('.').collect(),
        ResponseShape::Rows(RecordsLocation::OnlyListOf(member), _) => vec![member, &endpoint.name],
        _ => Vec::new(),
    };
    let list = Nested(&path, rows);
    match endpoint.envelope {
        Envelope::RetCode | Envelope::Undocumented | Envelope::Field(_) => {
            json(&RetCode { ret_code: 0, ret_msg: Some("success"), list })
        }
        Envelope::Code => json(&Code { code: 0, msg: "success", list }),
        Envelope::Status => json(&Status { s: "ok", list }),
    }
}

/// The body of a success that is built part by part, as a JSON object.
#[derive(Debug)]
pub struct Body {
    /// The members that lead to the list.
    path: Vec<String>,
    object: Map<String, Value>,
}

impl Body {
    /// The success mark of an endpoint. One whose envelope is unknown has that of the member that its
    /// list is in.
    pub fn new(endpoint: &Endpoint) -> Self {
        let path: Vec<String> = match &endpoint.response {
            ResponseShape::Rows(RecordsLocation::At(path), _) => {
                path.split('.').map(str::to_owned).collect()
            }
            ResponseShape::Rows(RecordsLocation::OnlyListOf(member), _) => {
                vec![(*member).to_owned(), endpoint.name.clone().into_owned()]
            }
            _ => Vec::new(),
        };
        let mark = match endpoint.envelope {
            Envelope::Code => serde_json::json!({ "code": 0, "msg": "success" }),
            Envelope::Status => serde_json::json!({ "s": "ok" }),
            _ if path.first().is_some_and(|first| first == "d") => serde_json::json!({ "s": "ok" }),
            _ => serde_json::json!({ "ret_code": 0, "ret_msg": "success" }),
        };
        let object = match mark {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        Body { path, object }
    }

    /// A member at the top.
    pub fn top(&mut self, name: &str, value: Value) {
        self.object.insert(name.to_owned(), value);
    }

    /// A member beside the list.
    pub fn beside(&mut self, name: &str, value: Value) {
        let mut path = self.path.clone();
        path.pop();
        path.push(name.to_owned());
        self.at(&path, value);
    }

    /// A member at a path; objects on the way are created.
    pub fn at(&mut self, path: &[String], value: Value) {
        let Some((last, way)) = path.split_last() else { return };
        let mut object = &mut self.object;
        for name in way {
            let next = object.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(inner) = next else { return };
            object = inner;
        }
        object.insert(last.clone(), value);
    }

    /// The body with these rows, whose text is not changed.
    pub fn rows(self, rows: &[&RawValue]) -> Vec<u8> {
        json(&WithList { object: &self.object, path: &self.path, rows })
    }
}

/// An object, with a list at the end of a path.
struct WithList<'a> {
    object: &'a Map<String, Value>,
    path: &'a [String],
    rows: &'a [&'a RawValue],
}

impl Serialize for WithList<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((name, rest)) = self.path.split_first() else {
            return self.rows.serialize(serializer);
        };
        let empty = Map::new();
        let inner = match self.object.get(name) {
            Some(Value::Object(inner)) => inner,
            _ => &empty,
        };
        let mut map = serializer.serialize_map(None)?;
        for (other, value) in self.object.iter().filter(|(other, _)| *other != name) {
            map.serialize_entry(other, value)?;
        }
        map.serialize_entry(name, &WithList { object: inner, path: rest, rows: self.rows })?;
        map.end()
    }
}

/// A success without `ret_msg`, as simulated trading answers.
pub fn rows_without_message(name: &'static str, rows: &impl Serialize) -> Vec<u8> {
    json(&RetCode { ret_code: 0, ret_msg: None, list: Nested(&["data", name], rows) })
}

/// `{ret_code: 0, ret_msg: "success", data}`
pub fn ret_code_data(data: &impl Serialize) -> Vec<u8> {
    json(&RetCode { ret_code: 0, ret_msg: Some("success"), list: Nested(&["data"], data) })
}

/// `{server_time_ms}`, which has no envelope.
pub fn server_time(now_ms: i64) -> Vec<u8> {
    format!(r#"{{"server_time_ms":"{now_ms}"}}"#).into_bytes()
}

pub fn json(value: &impl Serialize) -> Vec<u8> {
    // Structures of this crate, whose serialization cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Rows serialized once, from which pages are assembled.
pub fn rendered(rows: &[impl Serialize]) -> Vec<Box<RawValue>> {
    rows.iter().filter_map(|row| to_raw_value(row).ok()).collect()
}

#[derive(Serialize)]
struct RetCode<L> {
    ret_code: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ret_msg: Option<&'static str>,
    #[serde(flatten)]
    list: L,
}

#[derive(Serialize)]
struct Code<L> {
    code: i64,
    msg: &'static str,
    #[serde(flatten)]
    list: L,
}

#[derive(Serialize)]
struct Status<L> {
    s: &'static str,
    #[serde(flatten)]
    list: L,
}

/// A value inside an object for each member of the path.
struct Nested<'a, T>(&'a [&'a str], &'a T);

impl<T: Serialize> Serialize for Nested<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some((name, inner)) = self.0.split_first() else {
            return self.1.serialize(serializer);
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(name, &Nested(inner, self.1))?;
        map.end()
    }
}
