//! The column of keys that `fetch_many` puts before a record's own fields.

use std::borrow::Cow;

/// Description of the column, without a full stop.
pub const KEY_DOC: &str = "The requested key";

/// Returns the name of a record's own field. Next to a key column, a field with the column's name,
/// followed by any number of underscores, gets one more underscore, so that no two names are equal.
pub fn field_name<'a>(key_name: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match key_name.and_then(|key| name.strip_prefix(key)) {
        Some(suffix) if suffix.bytes().all(|byte| byte == b'_') => Cow::Owned(format!("{name}_")),
        _ => Cow::Borrowed(name),
    }
}
