//! Pickles and copies of records. A pickle has the text of their pages, the fields that are declared for them, and the dicts that
//! were handed out.

use std::sync::Arc;

use super::{
    records::{Records, out_of_range},
    row_builder_pool::RowBuilderPool,
    row_spec::RowSpec,
    web_types::register_encoder,
};
use crate::prelude::*;
use boardlot_client::{
    api::{ENDPOINTS, Field, ResponseShape, declared_field},
    decode::{PageSlice, Rows, Selection, portable_page},
};

/// What `__reduce__` returns: a function, its arguments, and the dicts by their indices.
pub type Pickle<'py> = (Bound<'py, PyAny>, Arguments, Option<Vec<(usize, Bound<'py, PyAny>)>>);

/// The arguments of `records_of_pickle`.
type Arguments = (Vec<PicklePage>, Vec<PickleField>, Names, Option<Py<PyDict>>);
/// The text of a page, and the key of its records.
type PicklePage = (String, Option<String>);
/// Name, kind, unit and description.
type PickleField = (String, String, String, String);
/// The name of the column of keys, and the fields that the records are restricted to.
type Names = (Option<String>, Option<Vec<String>>);

pub fn pickle<'py>(this: &Bound<'py, Records>) -> PyResult<Pickle<'py>> {
    let (py, records) = (this.py(), this.get());
    let rows = records.rows();
    let fields = rows.fields().iter().map(|field| {
        let name = field.name.to_string();
        (name, field.declared_kind().into(), field.unit.into(), field.doc.into())
    });
    let names = rows.selection().map(|all| all.names().map(str::to_owned).collect());
    let names = (rows.key_name().map(str::to_owned), names);
    let pages = py.detach(|| rows.to_portable());
    let dicts = records.kept().made(py, rows)?;
    let function = import(py, "boardlot._core")?.getattr(intern!(py, "_records_of_pickle"))?;
    let arguments = (pages, fields.collect(), names, records.errors_ref(py));
    Ok((function, arguments, Some(dicts).filter(|dicts| !dicts.is_empty())))
}

/// Keeps the dicts of a pickle.
pub fn restore(records: &Records, dicts: Vec<(usize, Bound<'_, PyAny>)>) -> PyResult<()> {
    dicts.into_iter().try_for_each(|(index, dict)| {
        let row = records.rows().get(index).ok_or_else(out_of_range)?;
        records.kept().of_page(dict.py(), row.page)?.keep(row.index, dict).map(|_| ())
    })
}

/// Records with dicts of their own, which have copies of everything.
pub fn deep_copy<'py>(
    this: &Bound<'py, Records>,
    memo: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, Records>> {
    let (py, records) = (this.py(), this.get());
    let (rows, builders) = (records.rows().clone(), records.builders().clone());
    let copy = Bound::new(py, Records::new(py, rows, builders, records.errors_ref(py)))?;
    // A dict may have the records in it.
    memo.set_item(this.as_ptr() as usize, &copy)?;
    records.kept().fill_deep_copy(copy.get().kept(), memo)?;
    Ok(copy)
}

/// The records of a pickle, without dicts.
#[pyfunction]
#[pyo3(name = "_records_of_pickle")]
pub fn records_of_pickle(
    py: Python<'_>,
    pages: Vec<PicklePage>,
    fields: Vec<PickleField>,
    names: Names,
    errors: Option<Py<PyDict>>,
) -> PyResult<Records> {
    let read = || {
        let slices = pages.into_iter().map(|(text, key)| {
            Ok(PageSlice { key: key.map(Into::into), ..portable_page(text)?.into() })
        });
        let rows = Rows::new(slices.collect::<Result<_, Error>>()?, fields_of(&fields)?);
        let rows = match &names.0 {
            Some(key_name) => rows.with_key(key_name),
            None => rows,
        };
        // Without known names any can be selected.
        let selection = names.1.map(|names| Selection::new(names, std::iter::empty()));
        Ok(rows.restricted_to(selection.transpose()?))
    };
    let rows: Rows = py.detach(read).map_err(|error: Error| raise(py, error))?;
    register_encoder(py)?;
    let builders = RowBuilderPool::new(RowSpec::dicts(rows.selection()));
    Ok(Records::new(py, rows, builders, errors))
}

/// The fields: of the service's, all that is known of them.
fn fields_of(pickled: &[PickleField]) -> Result<Arc<[Field]>, Error> {
    let known = ENDPOINTS.iter().filter_map(|endpoint| match &endpoint.response {
        ResponseShape::Rows(_, schema) => Some(schema.records()),
        _ => None,
    });
    let known: Vec<&Field> = known.flatten().flat_map(|record| record.fields()).collect();
    let field = |(name, kind, unit, doc): &PickleField| {
        let is_same = |field: &&&Field| {
            (field.name.as_ref(), field.declared_kind()) == (name, kind)
                && (field.unit, field.doc) == (unit, doc)
        };
        match known.iter().find(is_same) {
            Some(field) => Ok((*field).clone()),
            None => declared_field(name, kind)
                .map_err(|_| Error::config(format!("'{kind}' is not a kind of a field"))),
        }
    };
    pickled.iter().map(field).collect()
}
