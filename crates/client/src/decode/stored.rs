//! Records as an archive stores them: the text of each, and pages made of such texts.

use bytes::Bytes;

use super::{
    Page,
    json::{Members, Value, find_member, without_lone_surrogates, write_value},
    parse_page,
    records::RecordRef,
    rows::Rows,
    scalars::parse_whole,
};
use crate::{
    api::{Envelope, RecordsLocation},
    auth::body_hash,
    error::Result,
};

/// A record of a list as an archive stores it: its identity in the list (the values of some fields
/// as JSON, or the digest if it lacks one of them), a digest without the ignored fields, and its
/// text as the service sent it, except for lone surrogates.
pub type StoredRecord = (String, String, String);

/// A fill as an archive stores it: its identity, the time of its update in microseconds (0 if that
/// is not a time), its symbol, and its text.
pub type StoredFill = (String, i64, Option<String>, String);

impl Rows {
    /// Returns each record as an archive stores it.
    ///
    /// `identity` are the fields that identify a record, and `ignored` the fields that are left out
    /// of the digest.
    #[doc(hidden)]
    pub fn to_stored(&self, identity: &[String], ignored: &[String]) -> Result<Vec<StoredRecord>> {
        let stored = self.iter().map(|row| {
            let (text, members) = (row.page.row_text(row.index), row.members()?);
            let digest = digest_of(text, &members, ignored);
            let identity = identity_of(&row, &members, identity)?.unwrap_or_else(|| digest.clone());
            Ok((identity, digest, without_lone_surrogates(text).into_owned()))
        });
        stored.collect()
    }

    /// Returns each fill as an archive stores it.
    #[doc(hidden)]
    pub fn to_stored_fills(&self) -> Result<Vec<StoredFill>> {
        let stored = self.iter().map(|row| {
            let (text, members) = (row.page.row_text(row.index), row.members()?);
            let identity = identity_of(&row, &members, &["deal_id"])?
                .unwrap_or_else(|| digest_of(text, &members, &[]));
            let updated = match value_of(&row, &members, "updated_time")? {
                Value::Text(text) => whole_number(&text),
                Value::Number(text) => whole_number(text),
                _ => 0,
            };
            let code = match value_of(&row, &members, "code")? {
                // No symbol has a U+0000, which PostgreSQL cannot store.
                Value::Text(text) if !text.contains('\0') => Some(text.into_owned()),
                Value::Number(text) => Some(text.to_owned()),
                _ => None,
            };
            Ok((identity, updated, code, without_lone_surrogates(text).into_owned()))
        });
        stored.collect()
    }
}

fn value_of<'a>(row: &RecordRef<'_>, members: &Members<'a>, name: &str) -> Result<Value<'a>> {
    match find_member(members, name) {
        Some(raw) => Value::parse(raw.get()).map_err(|error| row.invalid(&error)),
        None => Ok(Value::Null),
    }
}

/// Returns the values of these fields as JSON; `None` if the record lacks one of them, or if its
/// only one is empty.
fn identity_of(
    row: &RecordRef<'_>,
    members: &Members<'_>,
    names: &[impl AsRef<str>],
) -> Result<Option<String>> {
    let mut identity = String::new();
    for name in names {
        match value_of(row, members, name.as_ref())? {
            Value::Null | Value::List(_) | Value::Object(_) => return Ok(None),
            // An empty id identifies nothing; an empty date may.
            Value::Text(text) if text.is_empty() && names.len() == 1 => return Ok(None),
            scalar => {
                identity.push(if identity.is_empty() { '[' } else { ',' });
                write_value(&scalar, &mut identity);
            }
        }
    }
    identity.push(']');
    Ok(Some(identity))
}

/// Returns a number of at most 19 digits, limited to the maximum of a database; 0 for anything
/// else.
fn whole_number(text: &str) -> i64 {
    if text.is_empty() || text.len() > 19 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_whole(text).unwrap_or_default().max(0);
    }
    text.parse().unwrap_or(i64::MAX)
}

/// Returns a digest of a record without the ignored fields.
fn digest_of(text: &str, members: &Members<'_>, ignored: &[String]) -> String {
    let is_ignored = |name: &str| ignored.iter().any(|other| other == name);
    if !members.iter().any(|(name, _)| is_ignored(name)) {
        return body_hash(text.as_bytes());
    }
    let mut counted = String::with_capacity(text.len());
    for (name, raw) in members {
        if !is_ignored(name) {
            write_value(&Value::Text(name.as_ref().into()), &mut counted);
            counted.push(':');
            counted.push_str(raw.get());
            counted.push(',');
        }
    }
    body_hash(counted.as_bytes())
}

/// Makes a page of these records, which are JSON texts separated by commas. The time at which they
/// were seen, in microseconds, is a member next to them.
pub fn page_of_texts(texts: &[u8], seen_at: Option<i64>) -> Result<Page> {
    const BEFORE: &[u8] = br#"{"rows":["#;
    let after = match seen_at {
        Some(micros) => format!("],\"seen_at\":{micros}}}"),
        None => "]}".to_owned(),
    };
    let body = [BEFORE, texts, after.as_bytes()].concat();
    let at = RecordsLocation::at("rows");
    parse_page(Envelope::Field("rows"), &at, &http::Response::new(Bytes::from(body)))
}
