//! Responses in the envelope of each endpoint (section 7).

use boardlot_service::api::{Endpoint, Envelope, Failure, RecordsLocation, ResponseShape};
use serde::{Serialize, ser::SerializeMap};
use serde_json::{Map, Value};

/// The body of a success, or why the request is rejected.
pub type HandlerResult = Result<Vec<u8>, Rejection>;

/// The reason why a request is rejected, before it is put into an envelope.
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

    pub fn unknown_account(id: &str) -> Self {
        Rejection::invalid(format!("acc_id {id} is not a known account"))
    }

    /// An invalid argument. The endpoint's own code replaces this one.
    pub fn invalid(message: impl Into<String>) -> Self {
        Rejection::new(INVALID, "invalid_parameter", message)
    }

    /// The rejection in an endpoint's own envelope.
    pub fn body(&self, envelope: Envelope) -> Vec<u8> {
        let Rejection { code, error_code, .. } = self;
        let message = Value::from(self.message.as_str());
        let body = match envelope {
            Envelope::RetCode | Envelope::Undocumented | Envelope::Unknown | Envelope::Field(_) => {
                format!(
                    r#"{{"ret_code":{code},"ret_msg":{message},"error":{{"code":"{error_code}"}}}}"#
                )
            }
            Envelope::Code => format!(r#"{{"code":{code},"msg":{message}}}"#),
            Envelope::Status => format!(r#"{{"s":"error","errcode":{code},"errmsg":{message}}}"#),
        };
        body.into_bytes()
    }
}

/// The endpoints whose successes have no message.
const WITHOUT_MESSAGE: [&str; 3] = ["plate_stocks", "sim_orders", "sim_positions"];

/// Stands for the endpoint's own code for invalid arguments.
pub const INVALID: i64 = -3;

/// The body of a success that is built part by part, as a JSON object.
#[derive(Debug)]
pub struct Body {
    /// The members that lead to the list.
    path: Vec<String>,
    object: Map<String, Value>,
}

impl Body {
    /// The success mark of an endpoint. One whose envelope is unknown has that of the member that its
    /// list is in; at a location that is undocumented, the list is named as the endpoint is.
    pub fn new(endpoint: &Endpoint) -> Self {
        let path: Vec<String> = match &endpoint.response {
            ResponseShape::Rows(RecordsLocation::At(path), _) => {
                path.split('.').map(str::to_owned).collect()
            }
            ResponseShape::Rows(RecordsLocation::OnlyListOf(member), _) => {
                let list =
                    if endpoint.name == "plate_stocks" { "stock_list" } else { &endpoint.name };
                vec![(*member).to_owned(), list.to_owned()]
            }
            ResponseShape::Rows(RecordsLocation::OnlyList, _) => {
                vec!["data".to_owned(), endpoint.name.to_string()]
            }
            _ => Vec::new(),
        };
        let mark = match endpoint.envelope {
            Envelope::Code => serde_json::json!({ "code": 0, "msg": "success" }),
            Envelope::Status => serde_json::json!({ "s": "ok" }),
            _ if path.first().is_some_and(|first| first == "d") => serde_json::json!({ "s": "ok" }),
            _ => serde_json::json!({ "ret_code": 0, "ret_msg": "success" }),
        };
        let mut object = match mark {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        if WITHOUT_MESSAGE.contains(&&*endpoint.name) {
            object.retain(|name, _| !name.ends_with("msg"));
        }
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

    /// The body with these rows.
    pub fn rows(self, rows: &impl Serialize) -> Vec<u8> {
        json(&WithList { object: &self.object, path: &self.path, rows })
    }
}

/// An object, with a list at the end of a path.
struct WithList<'a, T> {
    object: &'a Map<String, Value>,
    path: &'a [String],
    rows: &'a T,
}

impl<T: Serialize> Serialize for WithList<'_, T> {
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

/// `{server_time_ms}`, which has no envelope.
pub fn server_time(now_ms: i64) -> Vec<u8> {
    format!(r#"{{"server_time_ms":"{now_ms}"}}"#).into_bytes()
}

pub fn json(value: &impl Serialize) -> Vec<u8> {
    // Structures of this crate, whose serialization cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}
