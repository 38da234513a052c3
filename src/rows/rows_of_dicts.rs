//! Rows made of a list of dicts. The dicts are written as JSON, which is scanned like a page of the
//! service, so that the service's values and a caller's become columns in one way.
//!
//! A value that JSON lacks, such as a time, is written in the form of its column, and that form
//! depends on all values of the column: see `ColumnPlan`. Nearly all lists have no such values.

use std::{collections::HashMap, sync::Arc};

use super::{
    caller_value::{CallerValue, Refused, name_of, plain, read},
    column_plan::{ColumnPlan, write},
};
use crate::interpreter::{signals::check_by_count, thread_end};
use crate::prelude::*;
use boardlot_client::extension::{
    api::Field,
    decode::{Rows, page_of_texts, write_text},
};

/// Makes rows of the current dicts of a list, with these fields declared.
pub fn rows_of_dicts(list: &Bound<'_, PyList>, fields: &Arc<[Field]>) -> PyResult<Rows> {
    thread_end::register();
    let py = list.py();
    let (json, fields) = match plain_json(list)? {
        Some(json) => (json, fields.clone()),
        None => planned_json(list, fields)?,
    };
    let page = py.detach(|| page_of_texts(json.as_bytes(), None)).or_raise(py)?;
    Ok(Rows::new(vec![page.into()], fields))
}

/// Writes the dicts as JSON; `None` if one has a value that JSON lacks. Runs no Python code except
/// signal handlers.
fn plain_json(list: &Bound<'_, PyList>) -> PyResult<Option<String>> {
    let (mut out, mut objects) = (String::with_capacity(list.len() * 256), 0);
    let mut names = KnownNames::default();
    for (number, row) in list.iter().enumerate() {
        check_by_count(list.py(), &mut objects)?;
        let Ok(dict) = row.cast_exact::<PyDict>() else { return Ok(None) };
        out.push_str(if number == 0 { "{" } else { ",{" });
        for (index, (name, value)) in dict.iter().enumerate() {
            let Ok(name) = name.cast_exact::<PyString>() else { return Ok(None) };
            if index > 0 {
                out.push(',');
            }
            let Some(name) = names.json(index, name) else { return Ok(None) };
            out.push_str(name);
            match plain(&value).and_then(|value| value.write(plain, false, &mut out)) {
                Ok(()) => {}
                Err(Refused::Python(error)) => return Err(error),
                // The error is that of the value's row and field.
                Err(Refused::NotPlain | Refused::Value(_)) => return Ok(None),
            }
        }
        out.push('}');
    }
    Ok(Some(out))
}

/// Names of the previous dict, as JSON with a colon. Dicts of one list share their names.
#[derive(Default)]
struct KnownNames(Vec<(Option<Py<PyString>>, String)>);

impl KnownNames {
    #[inline(always)]
    fn json(&mut self, index: usize, name: &Bound<'_, PyString>) -> Option<&str> {
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Default::default);
        }
        let (known, json) = self.0.get_mut(index)?;
        if !known.as_ref().is_some_and(|known| known.is(name)) {
            json.clear();
            write_text(name.to_str().ok()?, json);
            json.push(':');
            *known = Some(name.clone().unbind());
        }
        Some(json)
    }
}

/// Writes the dicts as JSON. Also returns the fields, which say what their columns are.
fn planned_json(
    list: &Bound<'_, PyList>,
    declared: &Arc<[Field]>,
) -> PyResult<(String, Arc<[Field]>)> {
    let py = list.py();
    let mut plan = ColumnPlan::new(declared);
    let (mut rows, mut objects) = (Vec::with_capacity(list.len()), 0);
    for (number, row) in list.iter().enumerate() {
        check_by_count(py, &mut objects)?;
        let members = members(number, &row)?;
        for (name, value) in &members {
            plan.see(name, value);
        }
        rows.push(members);
    }
    let fields = plan.finish();
    // If two fields have the same name, the first one gets the values.
    let kinds: HashMap<&str, _> =
        fields.iter().rev().map(|field| (field.name.as_ref(), field.kind)).collect();
    let mut out = String::new();
    for (number, members) in rows.iter().enumerate() {
        check_by_count(py, &mut objects)?;
        out.push_str(if number == 0 { "{" } else { ",{" });
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            write_text(name, &mut out);
            out.push(':');
            write(value, kinds.get(name.as_str()).copied(), &mut out)
                .map_err(|refused| refused.raise(py, number, Some(name)))?;
        }
        out.push('}');
    }
    Ok((out, fields))
}

/// Reads the names and values of a row.
fn members<'py>(
    number: usize,
    row: &Bound<'py, PyAny>,
) -> PyResult<Vec<(String, CallerValue<'py>)>> {
    let py = row.py();
    let dict = row.cast::<PyDict>().map_err(|_| {
        let class = row.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        Refused::Value(format!("of type {class}; expected a dict")).raise(py, number, None)
    })?;
    let mut members = Vec::with_capacity(dict.len());
    // The loop reads a copy of the items, as reading one may run the caller's code, which may
    // change the dict.
    for item in dict.items() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = name_of(&name).map_err(|refused| refused.raise(py, number, None))?.into_owned();
        let value = read(&value).map_err(|refused| refused.raise(py, number, Some(&name)))?;
        members.push((name, value));
    }
    Ok(members)
}

impl Refused {
    /// The exception for a value of a row.
    fn raise(self, py: Python<'_>, number: usize, field: Option<&str>) -> PyErr {
        match self {
            Refused::Python(error) => error,
            Refused::NotPlain => raise(py, Error::internal("a value that JSON lacks was not read")),
            Refused::Value(what) => {
                let field = field.map(|name| format!(" of '{}'", name.escape_debug()));
                let field = field.unwrap_or_default();
                raise(py, Error::config(format!("row {number}{field} is {what}")))
            }
        }
    }
}
