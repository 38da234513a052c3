//! The errors of records that do not fit into typed columns.

use crate::{
    api::Kind,
    decode::records::RecordNumber,
    error::{Advice, Error, record_value},
};

/// The error for a value that is not of its field's kind.
pub fn type_mismatch(field: &str, kind: Kind, number: RecordNumber, json: &str) -> Error {
    let (shown, kind) = (record_value(json), kind.name());
    Error::conversion(format!(
        "{field} of {number} is {shown}, which is not of the field's declared kind, {kind}"
    ))
    .with_advice(Advice::NullInColumn)
}

/// The error for a value of an undeclared field that does not fit into the column of its stream.
pub(super) fn other_kind(
    field: &str,
    kind: Kind,
    (page, row): (usize, usize),
    json: &str,
) -> Error {
    let (field, shown) = (field.escape_debug(), record_value(json));
    Error::conversion(format!(
        "'{field}' of record {row} on page {page} of this stream is {shown}, but its column has been of \
         kind {} since the first page",
        kind.name()
    ))
    .with_advice(Advice::OneBatch)
}

/// The error for an undeclared field that only a later page of a stream has.
pub(super) fn missing_column(field: &str, page: usize) -> Error {
    Error::conversion(format!(
        "page {page} of this stream has a field '{}' that its first page does not have, so the \
         stream has no column for it",
        field.escape_debug()
    ))
    .with_advice(Advice::OneBatch)
}

/// The error for records that would be a table of mostly empty cells.
pub(super) fn too_sparse(fields: usize, rows: usize) -> Error {
    Error::conversion(format!(
        "{rows} records with {fields} or more undeclared fields, nearly all of them empty, are \
         too sparse for columns"
    ))
    .with_advice(Advice::NoColumns)
}

/// The error for a page whose text does not fit into one column.
pub(super) fn page_too_large(bytes: usize, maximum: usize) -> Error {
    Error::conversion(format!(
        "the records of one page have {bytes} bytes, which is too large for columns; expected \
         at most {maximum}"
    ))
    .with_advice("Request smaller pages.".to_owned())
}
