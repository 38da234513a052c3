//! The fields of a query or form, checked by the row of the table that declares them.

use url::form_urlencoded;

use crate::api::{Argument, Endpoint};

#[derive(Debug)]
pub struct Fields {
    endpoint: &'static Endpoint,
    pairs: Vec<(String, String)>,
}

/// What is wrong with a field; its value may be a secret and is not repeated.
pub type InvalidField = String;

impl Fields {
    pub fn read(endpoint: &'static Endpoint, raw: &[u8]) -> Self {
        Fields { endpoint, pairs: form_urlencoded::parse(raw).into_owned().collect() }
    }

    /// A required field.
    pub fn required(&self, name: &str) -> Result<&str, InvalidField> {
        self.optional(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// A field without a value is the same as none (RFC 6749, section 3.1).
    pub fn optional(&self, name: &str) -> Result<Option<&str>, InvalidField> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(format!("{name} is given twice"));
        }
        let Some(text) = first.filter(|text| !text.is_empty()) else { return Ok(None) };
        if let Some(parameter) = self.endpoint.parameter(name) {
            let argument = Argument::Text(text.to_owned());
            if parameter.check(&argument, |_| None).is_err() {
                return Err(format!("{name} is malformed: {}", parameter.doc));
            }
        }
        Ok(Some(text))
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// The first name that occurs more than once, declared or not.
    pub fn doubled(&self) -> Option<&str> {
        self.pairs
            .iter()
            .map(|(name, _)| name.as_str())
            .find(|name| self.all(name).nth(1).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TOKEN;

    #[test]
    fn fields_are_there_once_and_fit_their_row() {
        let fields = Fields::read(&TOKEN, b"grant_type=magic&code=a%2Bb+c&client_id=&x=1&x=2");
        assert_eq!(fields.required("code"), Ok("a+b c"));
        assert_eq!(fields.optional("client_id"), Ok(None));
        assert!(fields.required("client_id").expect_err("missing").contains("missing"));
        assert!(fields.required("grant_type").expect_err("no such").contains("malformed"));
        assert!(fields.required("x").expect_err("doubled").contains("twice"));
        assert_eq!(fields.doubled(), Some("x"));
        let long = format!("redirect_uri={}", "a".repeat(300));
        let refused =
            Fields::read(&TOKEN, long.as_bytes()).required("redirect_uri").map(str::to_owned);
        assert!(!refused.expect_err("too long").contains("aaa"));
    }
}
