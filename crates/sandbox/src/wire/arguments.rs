//! The arguments of a request, read and checked by the endpoint's row in the table.

use boardlot_service::api::{
    Argument, EncodedValue, Endpoint, EndpointRef, Parameter, ParameterKind, ParameterLocation,
};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::envelope::Rejection;

/// The checked arguments of one request, as texts.
#[derive(Debug)]
pub struct Arguments {
    pub endpoint: EndpointRef,
    values: Vec<(String, String)>,
    /// The cursor of a page after the first.
    pub cursor: Option<String>,
    pub now_ms: i64,
}

/// A part of the request that carries an argument, its name, and the argument.
type Sent = (ParameterLocation, String, Argument);

impl Arguments {
    /// Returns an argument, declared or not.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns an argument; empty if it was not sent.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        // No data of the sandbox reaches beyond 2^63.
        self.get(name)?.parse().ok().map(|number: u64| number.try_into().unwrap_or(i64::MAX))
    }

    /// Identifies a list of the endpoint: its name and the arguments except for the size of a
    /// page.
    pub fn identity(&self) -> Vec<String> {
        let filters = self.values.iter().filter(|(name, _)| name != "limit" && name != "page_size");
        let filters = filters.flat_map(|(name, value)| [name.clone(), value.clone()]);
        [self.endpoint.name.clone().into_owned()].into_iter().chain(filters).collect()
    }

    /// Reads the arguments of a request; `path` holds the values of the path parameters, already
    /// decoded.
    pub fn read(
        endpoint: &EndpointRef,
        path: &[(String, String)],
        query: &str,
        body: &[u8],
        now_ms: i64,
    ) -> Result<Self, Rejection> {
        let text = |place: ParameterLocation| {
            move |(name, text): (String, String)| (place, name, Argument::Text(text))
        };
        let mut sent: Vec<Sent> = path.iter().cloned().map(text(ParameterLocation::Path)).collect();
        let query = form_urlencoded::parse(query.as_bytes()).into_owned();
        sent.extend(query.map(text(ParameterLocation::Query)));
        let members = read_body(endpoint, body)?.into_iter();
        sent.extend(
            members.map(|(name, value)| (ParameterLocation::Body, name, json_argument(&value))),
        );
        let mut arguments =
            Arguments { endpoint: endpoint.clone(), values: Vec::new(), cursor: None, now_ms };
        for parameter in endpoint.parameters.iter() {
            let name = parameter.name.as_ref();
            match once(&sent, parameter.place, name)? {
                Some(argument) => {
                    let value = check(parameter, argument, path)?;
                    arguments.values.extend(value.map(|value| (name.to_owned(), value)));
                }
                None if parameter.required => {
                    return Err(Rejection::invalid(format!("{name} is missing")));
                }
                None => {}
            }
        }
        for (place, name, argument) in &sent {
            let is_declared = endpoint.parameters.iter().any(|one| one.name == *name);
            if endpoint.undeclared == Some(*place) && !is_declared {
                once(&sent, *place, name)?;
                let value = EncodedValue::from(argument.clone()).into_text();
                arguments.values.push((name.clone(), value));
            }
        }
        let name = endpoint.cursor().map(|cursor| &*cursor.name).or(endpoint.undeclared_cursor());
        let place = arguments.values.iter().position(|(known, _)| Some(&**known) == name);
        arguments.cursor = place.map(|place| arguments.values.remove(place).1);
        arguments.cursor.take_if(|cursor| cursor.is_empty());
        Ok(arguments)
    }
}

/// Returns an argument that may be sent at most once.
fn once<'a>(
    sent: &'a [Sent],
    place: ParameterLocation,
    name: &str,
) -> Result<Option<&'a Argument>, Rejection> {
    let mut found = sent.iter().filter(|(at, known, _)| *at == place && known == name);
    let first = found.next().map(|(_, _, argument)| argument);
    match found.next() {
        Some(_) => Err(Rejection::invalid(format!("{name} is given twice"))),
        None => Ok(first),
    }
}

/// Checks the value of an argument. Returns none for an empty optional text.
fn check(
    parameter: &Parameter,
    argument: &Argument,
    path: &[(String, String)],
) -> Result<Option<String>, Rejection> {
    let argument = match argument {
        Argument::Text(text) if parameter.place != ParameterLocation::Body => {
            typed(parameter.kind, text)
        }
        other => other.clone(),
    };
    match (parameter.kind, &argument) {
        // The client refuses values that its caller cannot have meant; the service takes any count.
        (ParameterKind::Time(_), Argument::Integer(number)) if u64::try_from(*number).is_ok() => {
            return Ok(Some(number.to_string()));
        }
        (ParameterKind::Time(_), _) => {
            let name = &parameter.name;
            return Err(Rejection::invalid(format!("{name} is not valid; expected an integer")));
        }
        (ParameterKind::Cursor, Argument::Text(text)) => return Ok(Some(text.clone())),
        (ParameterKind::Symbol { .. } | ParameterKind::Text, Argument::Text(text))
            if text.is_empty() && !parameter.required =>
        {
            return Ok(None);
        }
        _ => {}
    }
    let other =
        |name: &str| path.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    let checked = parameter.check(&argument, other);
    checked
        .map(|value| Some(value.into_text()))
        .map_err(|error| Rejection::invalid(error.to_string()))
}

/// Converts a text of the path or query to the argument that its parameter takes.
fn typed(kind: ParameterKind, text: &str) -> Argument {
    match kind {
        ParameterKind::Integer { .. } | ParameterKind::ValuesBy { .. } | ParameterKind::Time(_) => {
            integer(text).map_or_else(|| Argument::Text(text.to_owned()), Argument::Integer)
        }
        ParameterKind::Number if text.parse().is_ok_and(f64::is_finite) => {
            Argument::Number(text.to_owned())
        }
        ParameterKind::Flag if ["true", "false"].contains(&text) => Argument::flag(text == "true"),
        _ => Argument::Text(text.to_owned()),
    }
}

fn integer(text: &str) -> Option<i128> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}

fn read_body(endpoint: &Endpoint, body: &[u8]) -> Result<Map<String, Value>, Rejection> {
    let is_read = endpoint.undeclared == Some(ParameterLocation::Body)
        || endpoint.parameters.iter().any(|p| p.place == ParameterLocation::Body);
    if body.is_empty() || !is_read {
        return Ok(Map::new());
    }
    serde_json::from_slice(body)
        .map_err(|error| Rejection::invalid(format!("the body is not a JSON object: {error}")))
}

fn json_argument(value: &Value) -> Argument {
    match value {
        Value::String(text) => Argument::Text(text.clone()),
        Value::Number(number) => {
            let text = number.to_string();
            integer(&text).map_or(Argument::Number(text), Argument::Integer)
        }
        Value::Bool(flag) => Argument::flag(*flag),
        Value::Null | Value::Array(_) | Value::Object(_) => Argument::json(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use boardlot_service::api::endpoint;

    use super::*;

    fn row(name: &str) -> EndpointRef {
        endpoint(name).expect("an endpoint").into()
    }

    fn refused(name: &str, path: &str, query: &str, body: &str) -> String {
        let endpoint = row(name);
        let path = [(endpoint.parameters[0].name.to_string(), path.to_owned())];
        Arguments::read(&endpoint, &path, query, body.as_bytes(), 0).expect_err("refused").message
    }

    #[test]
    fn arguments_are_read_from_path_query_and_body() {
        let path = [("acc_id".to_owned(), "7".to_owned())];
        let query = "trd_market=HK&page_flag=a%2Bb+c%3D&page_size=10&code=&start=5&unknown=1";
        let read = Arguments::read(&row("fills_history"), &path, query, b"", 9).expect("read");
        assert_eq!(read.text("acc_id"), "7");
        assert_eq!(read.text("trd_market"), "HK");
        assert_eq!(read.integer("page_size"), Some(10));
        assert_eq!(read.integer("start"), Some(5));
        assert_eq!((read.integer("end"), read.text("code")), (None, ""));
        assert_eq!(read.cursor.as_deref(), Some("a+b c="));

        let path = [("plate_code".to_owned(), "HK.BK1001".to_owned())];
        let body = br#"{"next_key":"","limit":20}"#;
        let read = Arguments::read(&row("plate_stocks"), &path, "", body, 9).expect("read");
        assert_eq!((read.integer("limit"), read.cursor), (Some(20), None));
    }

    #[test]
    fn what_is_missing_doubled_or_of_another_kind_is_named() {
        assert!(refused("fills_history", "7", "page_flag=", "").contains("trd_market is missing"));
        assert!(
            refused("fills_history", "7", "trd_market=HK", "").contains("page_flag is missing")
        );
        let doubled = "trd_market=HK&trd_market=US&page_flag=";
        assert!(refused("fills_history", "7", doubled, "").contains("twice"));
        assert!(refused("crypto_orders", "7", "page_size=51", "").contains("page_size"));
        assert!(refused("crypto_orders", "-7", "", "").contains("acc_id"));
        assert!(refused("ipo_list", "hk", "request_type=x", "").contains("request_type"));
        assert!(refused("ipo_list", "hk", "request_type=4", "").contains("request_type"));
        assert!(refused("plate_stocks", "HK.BK1", "", "[]").contains("JSON object"));
        assert!(refused("plate_stocks", "HK.BK1", "", r#"{"limit":"9"}"#).contains("limit"));
        assert!(refused("plate_stocks", "HK.BK1", "", r#"{"next_key":1}"#).contains("next_key"));
    }
}
