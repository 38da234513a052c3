//! Responses in the envelope of each endpoint (section 7).

use boardlot_service::api::{Endpoint, Envelope, RecordsLocation, ResponseShape};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The body of a success, or the rejection of the request.
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

    pub fn invalid_symbol(symbol: &str) -> Self {
        let message = format!("'{}' is not a known symbol", symbol.escape_debug());
        Rejection::new(-7, "invalid_symbol", message)
    }

    pub fn unknown_account(id: &str) -> Self {
        Rejection::invalid(format!("acc_id {id} is not a known account"))
    }

    /// Creates the rejection of an invalid argument. The endpoint's own code replaces this code.
    pub fn invalid(message: impl Into<String>) -> Self {
        Rejection::new(INVALID, "invalid_parameter", message)
    }

    /// Returns the rejection in an endpoint's own envelope.
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

/// Placeholder for the endpoint's own code for invalid arguments.
pub const INVALID: i64 = -3;

/// Placeholder for the rows in a body, which are already JSON.
const ROWS: &str = "\u{0}rows";

/// The body of a success, as a JSON object.
#[derive(Debug)]
pub struct Body {
    /// The members that lead to the list.
    path: Vec<String>,
    object: Map<String, Value>,
}

impl Body {
    /// Creates the body with the success mark of an endpoint. If its envelope is unknown, the mark
    /// is that of the member that contains its list. If the location is undocumented, the list has
    /// the endpoint's name.
    pub fn new(endpoint: &Endpoint) -> Self {
        let location = match &endpoint.response {
            ResponseShape::Rows(RecordsLocation::At(path), _) => path.to_string(),
            ResponseShape::Rows(RecordsLocation::OnlyListOf(member), _) => {
                let list =
                    if endpoint.name == "plate_stocks" { "stock_list" } else { &endpoint.name };
                format!("{member}.{list}")
            }
            ResponseShape::Rows(RecordsLocation::OnlyList, _) => format!("data.{}", endpoint.name),
            _ => String::new(),
        };
        let path: Vec<String> = location.split('.').map(str::to_owned).collect();
        let is_status = path.first().is_some_and(|first| first == "d");
        let mut body = Body { path, object: Map::new() };
        let (mark, value, message) = match endpoint.envelope {
            Envelope::Code => ("code", json!(0), "msg"),
            Envelope::Status => ("s", json!("ok"), ""),
            _ if is_status => ("s", json!("ok"), ""),
            _ => ("ret_code", json!(0), "ret_msg"),
        };
        body.top(mark, value);
        if !message.is_empty() && !WITHOUT_MESSAGE.contains(&&*endpoint.name) {
            body.top(message, json!("success"));
        }
        body
    }

    /// Adds a member at the top level.
    pub fn top(&mut self, name: &str, value: Value) {
        self.object.insert(name.to_owned(), value);
    }

    /// Adds a member beside the list.
    pub fn beside(&mut self, name: &str, value: Value) {
        let mut path = self.path.clone();
        path.pop();
        path.push(name.to_owned());
        self.at(&path, value);
    }

    /// Adds a member at a path, and creates the objects on the way.
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

    /// Returns the body with these rows.
    pub fn rows(mut self, rows: &impl Serialize) -> Vec<u8> {
        let path = std::mem::take(&mut self.path);
        self.at(&path, Value::from(ROWS));
        let rows = serde_json::to_string(rows).unwrap_or_default();
        let body = Value::Object(self.object).to_string();
        body.replacen(&Value::from(ROWS).to_string(), &rows, 1).into_bytes()
    }
}
