//! The fields of a query or form, checked by the row of the table that declares them.

use boardlot_service::api::{Argument, Endpoint};
use url::form_urlencoded;

#[derive(Debug)]
pub struct Fields {
    endpoint: &'static Endpoint,
    pairs: Vec<(String, String)>,
}

impl Fields {
    pub fn read(endpoint: &'static Endpoint, raw: &[u8]) -> Self {
        Fields { endpoint, pairs: form_urlencoded::parse(raw).into_owned().collect() }
    }

    /// A required field, or what is wrong with it.
    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.optional(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// A field without a value is the same as none (RFC 6749, section 3.1).
    pub fn optional(&self, name: &str) -> Result<Option<&str>, String> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err(format!("{name} is given twice"));
        }
        let Some(text) = first.filter(|text| !text.is_empty()) else { return Ok(None) };
        let argument = Argument::Text(text.to_owned());
        match self.endpoint.parameter(name) {
            // Its value may be a secret and is not repeated.
            Some(parameter) if parameter.check(&argument, |_| None).is_err() => {
                Err(format!("{name} is malformed: {}", parameter.doc))
            }
            _ => Ok(Some(text)),
        }
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// The first name that occurs more than once, declared or not.
    pub fn doubled(&self) -> Option<&str> {
        let mut names = self.pairs.iter().map(|(name, _)| name.as_str());
        names.find(|name| self.all(name).nth(1).is_some())
    }
}
