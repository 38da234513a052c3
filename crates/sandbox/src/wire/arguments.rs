//! The arguments of a request, read and checked by the endpoint's row in the table.

use std::borrow::Cow;

use boardlot_service::api::{
    Argument, EncodedValue, Endpoint, EndpointRef, FirstPage, Paging, Parameter, ParameterKind,
    ParameterLocation,
};
use serde_json::Value;
use url::form_urlencoded;

use super::envelope::Rejection;

/// The checked arguments of one request.
#[derive(Debug)]
pub struct Arguments {
    pub endpoint: EndpointRef,
    values: Vec<(String, EncodedValue)>,
    /// The cursor of a page after the first.
    pub cursor: Option<String>,
    pub now_ms: i64,
}

impl Arguments {
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(EncodedValue::Text(text)) => text,
            _ => "",
        }
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            // No data of the sandbox reaches beyond 2^63.
            Some(EncodedValue::Integer(number)) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
            _ => None,
        }
    }

    /// An argument as text, declared or not.
    pub fn sent(&self, name: &str) -> Option<String> {
        self.get(name).cloned().map(EncodedValue::into_text)
    }

    /// Returns true if an argument, declared or not, was sent with this value.
    pub fn has(&self, name: &str, value: &str) -> bool {
        match self.get(name) {
            Some(EncodedValue::Text(text)) => text == value,
            Some(other) => other.clone().into_text() == value,
            None => false,
        }
    }

    /// Identifies a list of the endpoint: its name and the arguments except for the size of a
    /// page.
    pub fn identity(&self) -> Vec<String> {
        let mut parts = vec![self.endpoint.name.clone().into_owned()];
        for (name, value) in &self.values {
            if !["limit", "page_size"].contains(&name.as_str()) {
                parts.extend([name.clone(), value.clone().into_text()]);
            }
        }
        parts
    }

    fn get(&self, name: &str) -> Option<&EncodedValue> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, sent)| sent)
    }

    /// Reads what came in; `path` holds the values of the path parameters, already decoded.
    pub fn read(
        endpoint: &EndpointRef,
        path: &[(String, String)],
        query: &str,
        body: &[u8],
        now_ms: i64,
    ) -> Result<Self, Rejection> {
        let query: Vec<(Cow<'_, str>, Cow<'_, str>)> =
            form_urlencoded::parse(query.as_bytes()).collect();
        let body = read_body(endpoint, body)?;
        let raw = |name: &str, place: ParameterLocation| -> Result<Option<Argument>, Rejection> {
            match place {
                ParameterLocation::Path => {
                    let found = path.iter().find(|(known, _)| known == name);
                    Ok(found.map(|(_, text)| Argument::Text(text.clone())))
                }
                ParameterLocation::Query => {
                    let mut found = query.iter().filter(|(known, _)| known == name);
                    let first = found.next();
                    if found.next().is_some() {
                        return Err(Rejection::invalid(format!("{name} is given twice")));
                    }
                    Ok(first.map(|(_, text)| Argument::Text(text.clone().into_owned())))
                }
                ParameterLocation::Body | ParameterLocation::Form => {
                    body.get(name).map(json_argument).transpose()
                }
            }
        };
        let mut arguments =
            Arguments { endpoint: endpoint.clone(), values: Vec::new(), cursor: None, now_ms };
        for parameter in endpoint.arguments() {
            let Some(argument) = raw(&parameter.name, parameter.place)? else {
                if parameter.required {
                    return Err(Rejection::invalid(format!("{} is missing", parameter.name)));
                }
                continue;
            };
            if let Some(sent) = check(parameter, argument, path)? {
                arguments.values.push((parameter.name.clone().into_owned(), sent));
            }
        }
        let cursor = match (endpoint.cursor(), endpoint.undeclared) {
            (Some(Parameter { name, place, .. }), _) => Some((name.as_ref(), *place)),
            (None, Some(place)) => endpoint.undeclared_cursor().map(|name| (name, place)),
            (None, None) => None,
        };
        if let Some(place) = endpoint.undeclared {
            let names: Vec<String> = match place {
                ParameterLocation::Body => body.keys().cloned().collect(),
                _ => query.iter().map(|(name, _)| name.clone().into_owned()).collect(),
            };
            for name in names {
                let is_cursor = cursor.is_some_and(|(cursor, _)| cursor == name);
                if !is_cursor && endpoint.parameter(&name).is_none() {
                    let sent = raw(&name, place)?.map(EncodedValue::from);
                    arguments.values.extend(sent.map(|sent| (name, sent)));
                }
            }
        }
        let Some((name, place)) = cursor else { return Ok(arguments) };
        let required =
            matches!(endpoint.paging, Some(Paging::PageFlag { first: FirstPage::Empty, .. }));
        match raw(name, place)? {
            None if required => return Err(Rejection::invalid(format!("{name} is missing"))),
            Some(Argument::Text(text)) if !text.is_empty() => arguments.cursor = Some(text),
            None | Some(Argument::Text(_)) => {}
            Some(_) => return Err(Rejection::invalid(format!("{name} is not a string"))),
        }
        Ok(arguments)
    }
}

fn check(
    parameter: &Parameter,
    argument: Argument,
    path: &[(String, String)],
) -> Result<Option<EncodedValue>, Rejection> {
    let argument = match (parameter.kind, argument) {
        (
            ParameterKind::Integer { .. } | ParameterKind::ValuesBy { .. } | ParameterKind::Time(_),
            Argument::Text(text),
        ) if parameter.place != ParameterLocation::Body => match integer(&text) {
            Some(number) => Argument::Integer(number),
            None => {
                let shown: String = text.chars().take(40).collect();
                return Err(Rejection::invalid(format!(
                    "{} '{}' is not a valid number; expected an integer",
                    parameter.name,
                    shown.escape_debug()
                )));
            }
        },
        (ParameterKind::Number, Argument::Text(text))
            if parameter.place != ParameterLocation::Body
                && text.parse().is_ok_and(f64::is_finite) =>
        {
            Argument::Number(text)
        }
        (ParameterKind::Flag, Argument::Text(text))
            if parameter.place != ParameterLocation::Body
                && ["true", "false"].contains(&text.as_str()) =>
        {
            Argument::Flag(text == "true")
        }
        (_, argument) => argument,
    };
    let argument = match (parameter.kind, argument) {
        // The client refuses what its caller cannot have meant; the service takes any count.
        (ParameterKind::Time(_), Argument::Integer(number)) if u64::try_from(number).is_ok() => {
            return Ok(Some(EncodedValue::Integer(number)));
        }
        // An optional text that is empty is the same as none.
        (ParameterKind::Symbol { .. } | ParameterKind::Text, Argument::Text(text))
            if text.is_empty() && !parameter.required =>
        {
            return Ok(None);
        }
        (_, argument) => argument,
    };
    let other =
        |name: &str| path.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    parameter
        .check(&argument, other)
        .map(Some)
        .map_err(|error| Rejection::invalid(error.to_string()))
}

fn integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn read_body(
    endpoint: &Endpoint,
    body: &[u8],
) -> Result<serde_json::Map<String, Value>, Rejection> {
    let is_read = endpoint.undeclared == Some(ParameterLocation::Body)
        || endpoint.parameters.iter().any(|p| p.place == ParameterLocation::Body);
    if body.is_empty() || !is_read {
        return Ok(serde_json::Map::new());
    }
    serde_json::from_slice(body)
        .map_err(|error| Rejection::invalid(format!("the body is not a JSON object: {error}")))
}

fn json_argument(value: &Value) -> Result<Argument, Rejection> {
    match value {
        Value::String(text) => Ok(Argument::Text(text.clone())),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Ok(Argument::Integer(integer(&number.to_string()).unwrap_or_default()))
        }
        Value::Number(number) => Ok(Argument::Number(number.to_string())),
        Value::Bool(flag) => Ok(Argument::Flag(*flag)),
        Value::Array(_) | Value::Object(_) => Ok(Argument::Json(value.to_string())),
        Value::Null => Err(Rejection::invalid("null is neither a string nor an integer")),
    }
}

/// The decoded text of a path segment; `None` if it is not valid UTF-8.
pub fn percent_decoded(segment: &str) -> Option<String> {
    if !segment.contains('%') {
        return Some(segment.to_owned());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push((high * 16 + low) as u8);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
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
        assert!(refused("ipo_list", "hk", "request_type=x", "").contains("expected an integer"));
        assert!(refused("ipo_list", "hk", "request_type=4", "").contains("request_type"));
        assert!(refused("plate_stocks", "HK.BK1", "", "[]").contains("JSON object"));
        assert!(refused("plate_stocks", "HK.BK1", "", r#"{"limit":"9"}"#).contains("limit"));
        assert!(refused("plate_stocks", "HK.BK1", "", r#"{"next_key":1}"#).contains("next_key"));
    }

    #[test]
    fn path_segments_are_decoded_once() {
        assert_eq!(percent_decoded("HK%2E00700").as_deref(), Some("HK.00700"));
        assert_eq!(percent_decoded("a+b%252F").as_deref(), Some("a+b%2F"));
        for broken in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(percent_decoded(broken), None, "{broken}");
        }
    }
}
