//! Makes typed dicts from a list of dicts, without JSON in between: copies in which the values of
//! some kinds are replaced.
//!
//! A list with a value that is unusual for its field is written as JSON and read, as for columns.
//! The tests compare the two ways, and the way through JSON raises the errors.

use pyo3::types::{PyBool, PyFloat, PyInt};

use super::{
    row_builder_pool::RowBuilderPool, row_spec::RowSpec, rows_of_dicts::rows_of_dicts, shape::Shape,
};
use crate::prelude::*;
use crate::{
    interpreter::{signals::check_by_count, thread_end},
    values::converter::{Conversion, Converter},
};
use boardlot_client::extension::{
    api::Field,
    decode::{Raw, write_text},
};

/// A new list of dicts of `Decimal`, `datetime` (UTC), `date` and `None`, as the fields are
/// declared.
#[pyfunction]
#[pyo3(name = "_typed_dicts")]
pub fn typed_dicts<'py>(
    dicts: &Bound<'py, PyList>,
    shape: &Bound<'py, Shape>,
) -> PyResult<Bound<'py, PyList>> {
    let (py, shape) = (dicts.py(), shape.get());
    if shape.selection.is_none()
        && let Some(typed) = copies(dicts, &shape.fields)?
    {
        return Ok(typed);
    }
    let rows = rows_of_dicts(dicts, &shape.fields)?.restricted_to(shape.selection.clone());
    RowBuilderPool::new(RowSpec::dicts(rows.selection())).typed(&rows).list(py, &rows)
}

/// Makes the typed copies of dicts; none if a value is not of a type that a JSON reader makes, or
/// not of its field's kind.
fn copies<'py>(
    dicts: &Bound<'py, PyList>,
    fields: &[Field],
) -> PyResult<Option<Bound<'py, PyList>>> {
    thread_end::register();
    let py = dicts.py();
    let (mut copier, mut objects) = (Copier::new(fields), 0);
    let copies = PyList::empty(py);
    for row in dicts.iter() {
        check_by_count(py, &mut objects)?;
        let Ok(dict) = row.cast_exact::<PyDict>() else { return Ok(None) };
        let Some(copy) = copier.copy(dict)? else { return Ok(None) };
        copies.append(copy)?;
    }
    Ok(Some(copies))
}

/// Copies dicts of the same fields.
struct Copier<'f> {
    fields: &'f [Field],
    /// The members of the previous dict: dicts of one list have the same names in the same order.
    members: Vec<Member<'f>>,
    /// The JSON of a value.
    json: String,
}

struct Member<'f> {
    name: Py<PyString>,
    /// `None` for a field that is not declared, whose value stays as it is.
    converter: Option<Converter>,
    /// Copies the field's values, if they are dicts of declared members.
    inner: Option<Box<Copier<'f>>>,
}

/// The result for a value of the copy.
enum Typed<'py> {
    AsItIs,
    Value(Bound<'py, PyAny>),
    /// The value is unusual: the list is read through JSON.
    Unusual,
}

impl<'f> Copier<'f> {
    fn new(fields: &'f [Field]) -> Self {
        Copier { fields, members: Vec::new(), json: String::new() }
    }

    fn copy<'py>(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let copy = dict.copy()?;
        for (index, (name, value)) in dict.iter().enumerate() {
            let Ok(name) = name.cast_exact::<PyString>() else { return Ok(None) };
            if !self.members.get(index).is_some_and(|member| member.name.is(name)) {
                let Some(member) = Member::new(self.fields, name) else { return Ok(None) };
                self.members.truncate(index);
                self.members.push(member);
            }
            let Some(member) = self.members.get_mut(index) else { return Ok(None) };
            match member.typed(&value, &mut self.json)? {
                Typed::AsItIs => {}
                Typed::Value(value) => copy.set_item(name, value)?,
                Typed::Unusual => return Ok(None),
            }
        }
        Ok(Some(copy))
    }
}

impl<'f> Member<'f> {
    /// None if a name is not Unicode.
    fn new(fields: &'f [Field], name: &Bound<'_, PyString>) -> Option<Self> {
        let text = name.to_str().ok()?;
        let field = fields.iter().find(|field| field.name == text);
        let conversion = field.map(|field| Conversion::of_kind(field.kind));
        let inner = match &conversion {
            Some(Conversion::Object(members)) => Some(Box::new(Copier::new(members))),
            _ => None,
        };
        let name = name.clone().unbind();
        Some(Member { name, converter: conversion.map(Converter::new), inner })
    }

    fn typed<'py>(&mut self, value: &Bound<'py, PyAny>, json: &mut String) -> PyResult<Typed<'py>> {
        let py = value.py();
        let kind = self.converter.as_ref().map(Converter::conversion);
        if value.is_none() {
            return Ok(Typed::AsItIs);
        }
        json.clear();
        if let Ok(text) = value.cast_exact::<PyString>() {
            if matches!(kind, None | Some(Conversion::Text)) {
                return Ok(Typed::AsItIs);
            }
            let Ok(text) = text.to_str() else { return Ok(Typed::Unusual) };
            write_text(text, json);
        } else if let Ok(number) = value.cast_exact::<PyInt>() {
            let Ok(number) = number.extract::<i64>() else { return Ok(Typed::Unusual) };
            let is_null = |zero_is_null: &bool| number == 0 && *zero_is_null;
            match kind {
                None => return Ok(Typed::AsItIs),
                Some(Conversion::Integer { zero_is_null, .. }) if !is_null(zero_is_null) => {
                    return Ok(Typed::AsItIs);
                }
                _ => json.push_str(&number.to_string()),
            }
        } else if let Ok(number) = value.cast_exact::<PyFloat>() {
            let is_number = matches!(kind, None | Some(Conversion::Number));
            return Ok(match is_number && number.value().is_finite() {
                true => Typed::AsItIs,
                false => Typed::Unusual,
            });
        } else if value.cast_exact::<PyBool>().is_ok() {
            return Ok(match kind {
                None | Some(Conversion::Flag) => Typed::AsItIs,
                _ => Typed::Unusual,
            });
        } else if let (Ok(dict), Some(inner)) = (value.cast_exact::<PyDict>(), &mut self.inner) {
            let copy = inner.copy(dict)?;
            return Ok(copy.map_or(Typed::Unusual, |copy| Typed::Value(copy.into_any())));
        } else {
            return Ok(Typed::Unusual);
        }
        let Some(converter) = &mut self.converter else { return Ok(Typed::AsItIs) };
        Ok(match converter.convert(py, Raw::new(json)) {
            Ok(value) => Typed::Value(value),
            Err(failure) if failure.is_null() => Typed::Value(py.None().into_bound(py)),
            Err(_) => Typed::Unusual,
        })
    }
}
