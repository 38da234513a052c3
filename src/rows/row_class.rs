//! The classes that `as_type` accepts.

use std::sync::{Arc, atomic::AtomicBool};

use super::row_spec::{ClassField, Construction, FieldDefault, RowClass};
use crate::prelude::*;
use crate::{
    interpreter::reentrant_once::ReentrantOnce,
    values::{converter::Conversion, instances::InstanceMaker},
};
use boardlot_client::extension::{
    api::{Field, Kind},
    decode::field_name,
};

/// A field and its default, as `_support/row_classes.py` returns them.
type Inspected<'py> = (Bound<'py, PyAny>, (String, Py<PyAny>));

/// Inspects a class for records with these declared fields.
pub fn row_class(
    class: &Bound<'_, PyAny>,
    fields: &[Field],
    key_name: Option<&str>,
) -> PyResult<RowClass> {
    static INSPECTED: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
    let py = class.py();
    let inspect = INSPECTED.import(py, "boardlot._support.row_classes", "inspected")?;
    let (construction, inspected): (String, Vec<Inspected<'_>>) =
        inspect.invoke((class,))?.extract()?;
    let class = class.cast::<PyType>()?;
    let (construction, maker) = match construction.as_str() {
        "tuple" => (Construction::Tuple, Some(InstanceMaker::of_tuples(class)?)),
        "attributes" => (Construction::Attributes, Some(InstanceMaker::of_objects(class)?)),
        "positional" => (Construction::Positional, None),
        _ => (Construction::Keywords, None),
    };
    let fields = inspected.into_iter().map(|field| class_field(field, fields, key_name));
    Ok(RowClass {
        name: class.qualname()?.to_string_lossy().into_owned(),
        class: class.clone().into_any().unbind(),
        construction,
        maker,
        fields: fields.collect::<PyResult<_>>()?,
        fits_records: AtomicBool::new(false),
    })
}

fn class_field(
    (field, (default, value)): Inspected<'_>,
    declared: &[Field],
    key_name: Option<&str>,
) -> PyResult<ClassField> {
    let py = field.py();
    let name: String = field.getattr(intern!(py, "name"))?.extract()?;
    let conversion: String = field.getattr(intern!(py, "conversion"))?.extract()?;
    let kind = declared
        .iter()
        .find(|declared| field_name(key_name, &declared.name) == name)
        .map(|declared| declared.kind);
    let is_nullable = field.getattr(intern!(py, "nullable"))?.extract()?;
    let attribute = field.getattr(intern!(py, "attribute"))?.cast_into::<PyString>()?;
    Ok(ClassField {
        attribute: PyString::intern(py, &attribute.to_cow()?).unbind(),
        conversion: match conversion.as_str() {
            "str" => Conversion::Text,
            "int" => Conversion::Integer {
                any_size: true,
                zero_is_null: is_nullable && kind.is_some_and(|kind| kind.zero_is_null()),
            },
            "float" => Conversion::Number,
            "bool" => Conversion::Flag,
            "Decimal" => Conversion::Decimal,
            "datetime" => Conversion::Datetime(match kind {
                Some(Kind::Timestamp(unit, _)) => Some(unit),
                _ => None,
            }),
            "date" => Conversion::Date,
            "enum" => Conversion::Enum(Arc::new(field.getattr(intern!(py, "enum"))?.unbind())),
            "dict" => Conversion::Dict,
            "list" => Conversion::List,
            _ => Conversion::AsSent,
        },
        name,
        is_nullable,
        type_name: field.getattr(intern!(py, "type_name"))?.extract()?,
        default: match default.as_str() {
            "value" => FieldDefault::Value(value),
            "factory" => FieldDefault::Factory(value),
            "constructor" => FieldDefault::OfConstructor,
            _ => FieldDefault::Required,
        },
    })
}
