//! The errors of records that do not become objects.

use std::sync::atomic::Ordering;

use super::{
    row_layout::{Layout, LayoutError, Source},
    row_spec::{RowClass, RowSpec, Target},
};
use crate::prelude::*;
use crate::values::{
    converter::{Failure, Reason},
    objects::ObjectError,
};
use boardlot_client::extension::{
    api::Kind,
    decode::{Raw, RecordRef, Value, field_name, scalars::parse_date, type_mismatch},
    error::{did_you_mean, record_value},
};

/// The exception for a record that cannot be read.
pub fn unreadable(py: Python<'_>, row: RecordRef<'_>) -> PyErr {
    let error = row.members().err();
    raise(py, error.unwrap_or_else(|| Error::protocol(format!("{} is not valid", row.number), b"")))
}

/// The exception for a value that could not be converted.
pub fn not_converted<'t>(
    py: Python<'_>,
    spec: &RowSpec,
    layout: &Layout,
    row: RecordRef<'_>,
    failure: Failure,
    values: impl Fn(usize) -> Option<Raw<'t>>,
) -> PyErr {
    let (reason, index) = failure.into_parts();
    if let Reason::Object(ObjectError::Python(error)) = reason {
        return error;
    }
    let column = index.and_then(|index| layout.columns.get(index));
    let Some(column) = column else { return unreadable(py, row) };
    let json = match column.source {
        Source::Value(at) => values(at).map_or("", |value| value.json),
        _ => row.key.unwrap_or_default(),
    };
    let name = column.name.bind(py).to_string_lossy().into_owned();
    match (reason, &spec.target, column.field) {
        (Reason::Object(error), ..) => error.raise(py, &name, row.number),
        (reason, Target::Class(class), Some(field)) => {
            unconvertible(py, spec, class, field, &reason, row, json)
        }
        _ => {
            let declared = spec.fields.iter().find(|field| field.name == name);
            match (Value::parse(json), declared) {
                (Err(error), _) => raise(py, row.invalid(&error)),
                (Ok(_), Some(field)) => {
                    raise(py, type_mismatch(&name, field.kind, row.number, json))
                }
                (Ok(_), None) => unreadable(py, row),
            }
        }
    }
}

/// The exception for records without a layout.
pub fn layout_error(
    py: Python<'_>,
    spec: &RowSpec,
    key_name: Option<&str>,
    row: RecordRef<'_>,
    error: LayoutError,
) -> PyErr {
    match (error, &spec.target) {
        (LayoutError::Python(error), _) => error,
        (LayoutError::Invalid(error), _) => raise(py, row.invalid(&error)),
        (LayoutError::MissingField(index), Target::Class(class)) => {
            missing_field(py, spec, class, index, key_name, row)
        }
        _ => unreadable(py, row),
    }
}

/// The exception for a value that does not become the type of its field.
fn unconvertible(
    py: Python<'_>,
    spec: &RowSpec,
    class: &RowClass,
    field: usize,
    reason: &Reason,
    row: RecordRef<'_>,
    json: &str,
) -> PyErr {
    let Some(field) = class.fields.get(field) else { return unreadable(py, row) };
    let attribute = field.attribute.bind(py).to_string_lossy().into_owned();
    let (name, type_name) = (&field.name, &field.type_name);
    let shown = record_value(json);
    let declared = spec.fields.iter().find(|declared| declared.name == *name);
    let is_timestamp = declared.is_some_and(|field| matches!(field.kind, Kind::Timestamp(..)));
    let advice = match reason {
        Reason::Null => format!("annotate it as '{type_name} | None' to accept null"),
        _ if type_name == "date" && is_timestamp => {
            "annotate it as 'datetime', and take the date in a time zone of your choice".to_owned()
        }
        _ if type_name == "datetime" && is_day(json) => {
            "annotate it as 'date', or as 'str' to keep what the service sent".to_owned()
        }
        _ => "annotate it as 'str' to keep what the service sent".to_owned(),
    };
    let text = format!(
        "{name} of {} is {shown}; expected {type_name} for {}.{attribute}: {advice}",
        row.number, class.name
    );
    raise(py, Error::conversion(text))
}

fn is_day(json: &str) -> bool {
    parse_date(json.trim_matches('"')).is_some()
}

/// The exception for a record without a field that the class requires.
fn missing_field(
    py: Python<'_>,
    spec: &RowSpec,
    class: &RowClass,
    field: usize,
    key_name: Option<&str>,
    row: RecordRef<'_>,
) -> PyErr {
    let members = match row.members() {
        Ok(members) => members,
        Err(error) => return raise(py, error),
    };
    let Some(field) = class.fields.get(field) else { return unreadable(py, row) };
    let attribute = field.attribute.bind(py).to_string_lossy().into_owned();
    let own = members.iter().map(|(name, _)| field_name(key_name, name).into_owned());
    let mut names: Vec<String> = key_name.map(str::to_owned).into_iter().chain(own).collect();
    if let Some(selection) = &spec.selection {
        names.retain(|name| selection.contains(name));
    }
    let nearest = did_you_mean(&field.name, names.iter().map(String::as_str));
    names.truncate(64);
    let what = format!(
        "{} has no field '{}'; expected it for {}.{attribute}",
        row.number, field.name, class.name
    );
    let is_declared =
        spec.fields.iter().any(|declared| field_name(key_name, &declared.name) == field.name);
    let is_selected = spec.selection.as_ref().is_none_or(|all| all.contains(&field.name));
    let others_have_it =
        || class.fits_records.load(Ordering::Relaxed) || page_has(row, key_name, &field.name);
    if is_selected && (is_declared || others_have_it()) {
        let text = format!("{what}: the service left it out; give the attribute a default");
        return raise(py, Error::conversion(text));
    }
    let names = names.join(", ");
    let text = format!("{what}: give the attribute a default, or use one of {names}{nearest}");
    let advice = "Correct the class, or select the field.".to_owned();
    raise(py, Error::config(text).with_advice(advice))
}

/// Returns true if any record of the page has this field.
fn page_has(row: RecordRef<'_>, key_name: Option<&str>, name: &str) -> bool {
    (0..row.page.len()).any(|index| {
        let members = row.page.row(index).unwrap_or_default();
        members.iter().any(|(known, _)| field_name(key_name, known) == name)
    })
}
