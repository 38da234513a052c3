//! Records as an archive stores them: the text of each, and pages made of such texts.

use bytes::Bytes;

use super::{
    Page, RowsAt,
    json::{Value, find_member, write_value},
    parse_page,
    records::RowAt,
    rows::Rows,
};
use crate::{api::Envelope, auth::body_hash, error::Result};

/// A record as it is stored.
#[derive(Debug)]
pub struct StoredRecord<'a> {
    /// The text of the record, as the service sent it.
    pub text: &'a str,
    /// What identifies the record in its list: the values of these fields as JSON, or the digest if
    /// the record lacks one of them.
    pub identity: String,
    /// A digest of the text without the ignored fields.
    pub digest: String,
    /// Other fields as text; `None` for null and missing ones.
    pub values: Vec<Option<String>>,
}

/// Which fields of a record identify it, which do not count as a change, and which are wanted.
#[derive(Debug, Clone, Copy)]
pub struct StoredFields<'f> {
    /// The fields that identify a record.
    pub identity: &'f [String],
    /// The fields that are left out of the digest.
    pub ignored: &'f [String],
    /// The fields that are returned.
    pub values: &'f [String],
}

impl Rows {
    /// Each record as an archive stores it.
    pub fn to_stored(&self, fields: StoredFields<'_>) -> Result<Vec<StoredRecord<'_>>> {
        self.iter().map(|row| stored(row, fields)).collect()
    }
}

fn stored<'a>(row: RowAt<'a>, fields: StoredFields<'_>) -> Result<StoredRecord<'a>> {
    let (text, members) = (row.page.row_text(row.index), row.members()?);
    let value = |name: &String| match find_member(&members, name) {
        Some(raw) => Value::parse(raw.get()).map_err(|error| row.invalid(&error)),
        None => Ok(Value::Null),
    };
    let digest = if members.iter().any(|(name, _)| fields.ignored.iter().any(|other| other == name))
    {
        let mut counted = String::with_capacity(text.len());
        for (name, raw) in &members {
            if !fields.ignored.iter().any(|other| other == name) {
                write_value(&Value::Text(name.as_ref().into()), &mut counted);
                counted.push(':');
                counted.push_str(raw.get());
                counted.push(',');
            }
        }
        body_hash(counted.as_bytes())
    } else {
        body_hash(text.as_bytes())
    };
    let mut identity = String::new();
    for name in fields.identity {
        match value(name)? {
            Value::Null | Value::List(_) | Value::Object(_) => {
                identity.clear();
                break;
            }
            scalar => {
                identity.push(if identity.is_empty() { '[' } else { ',' });
                write_value(&scalar, &mut identity);
            }
        }
    }
    if identity.is_empty() {
        identity.clone_from(&digest);
    } else {
        identity.push(']');
    }
    let to_text = |name: &String| {
        Ok(match value(name)? {
            Value::Text(text) => Some(text.into_owned()),
            Value::Number(text) => Some(text.to_owned()),
            _ => None,
        })
    };
    let values = fields.values.iter().map(to_text).collect::<Result<_>>()?;
    Ok(StoredRecord { text, identity, digest, values })
}

/// The page of these records, which are JSON texts separated by commas.
pub fn page_of_texts(texts: &str) -> Result<Page> {
    const BEFORE: &str = r#"{"rows":["#;
    const AFTER: &str = "]}";
    let mut body = String::with_capacity(BEFORE.len() + texts.len() + AFTER.len());
    body.push_str(BEFORE);
    body.push_str(texts);
    body.push_str(AFTER);
    let at = RowsAt::Path(vec!["rows".to_owned()]);
    parse_page(Envelope::Field("rows"), &at, &http::Response::new(Bytes::from(body)))
}
