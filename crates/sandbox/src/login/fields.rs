//! The fields of a query or form.

use url::form_urlencoded;

#[derive(Debug)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    pub fn read(raw: &[u8]) -> Self {
        Fields(form_urlencoded::parse(raw).into_owned().collect())
    }

    /// Returns a required field. The error tells what is wrong with it.
    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.optional(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// Returns a field that may occur at most once. A field without a value counts as absent (RFC
    /// 6749, section 3.1).
    pub fn optional(&self, name: &str) -> Result<Option<&str>, String> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(format!("{name} is given twice")),
            (first, None) => Ok(first.filter(|text| !text.is_empty())),
        }
    }

    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}
