//! Makes objects of records. The records of a list nearly always have the same keys in the same
//! order.
//!
//! The form of the objects is therefore decided once for all records with the same keys (`Layout`),
//! and only the values of each record are read. If the scan knows the layouts of a page's records,
//! the keys of each layout are compared once, and values are cut out at the positions that the scan
//! found; other records are split into their members. A dict is a copy of the previous record's
//! dict, in which only the values that differ are replaced: no key is created. (Fields whose values
//! rarely repeat are not compared.)

use std::sync::Arc;

use pyo3::exceptions::PySystemError;

use super::{
    known_layouts::{KnownLayout, KnownLayouts},
    row_errors::{layout_error, not_converted, unreadable},
    row_layout::{Column, Layout, LayoutError, Source},
    row_spec::{Construction, RowSpec, Target},
};
use crate::prelude::*;
use crate::{
    interpreter::signals::check_by_count,
    values::{
        converter::{Conversion, Failure, Reason},
        instances::{ItemTuple, set_attribute},
    },
};
use boardlot_client::extension::decode::{Raw, RecordRef, RowValues};

/// Makes the objects of the records of one list.
pub struct RowBuilder {
    spec: Arc<RowSpec>,
    layouts: KnownLayouts<RowBuilder>,
    /// The last key of `fetch_many`, and its JSON.
    key: (String, String),
    /// The number of objects that the builder has made.
    count: u32,
}

impl RowBuilder {
    pub fn new(spec: Arc<RowSpec>) -> Self {
        RowBuilder { spec, layouts: KnownLayouts::new(), key: Default::default(), count: 0 }
    }

    /// Makes the object of a record.
    pub fn object<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut object = None;
        self.objects(py, key_name, row, 1, &mut |made| object = Some(made))?;
        object.ok_or_else(|| unreadable(py, row))
    }

    /// Makes the objects of this record and the following ones of its page, `count` in all, up to
    /// the first record that cannot be converted.
    pub fn objects<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        first: RecordRef<'_>,
        count: usize,
        receive: &mut dyn FnMut(Bound<'py, PyAny>),
    ) -> PyResult<()> {
        let page = first.page;
        let last = self.layouts.last.take();
        let key_name = key_name.filter(|_| first.key.is_some());
        if let Some(key) = first.key.filter(|key| key_name.is_some() && *key != self.key.0) {
            self.key = (key.to_owned(), serde_json::Value::from(key).to_string());
        }
        if page.row_values(first.index).is_none() {
            for number in 0..count {
                receive(self.object_of_members(py, key_name, first.following(number))?);
            }
            return Ok(());
        }
        // Until all values are replaced, the template has values of two records.
        let mut previous = last
            .filter(|last| *last == (page.id(), first.index.wrapping_sub(1)))
            .and_then(|(_, index)| page.row_values(index));
        for number in 0..count {
            check_by_count(py, &mut self.count)?;
            let row = first.following(number);
            let Some(values) = page.row_values(row.index) else { return Err(unreadable(py, row)) };
            let layout = match self.layouts.of_page(page.id(), values.layout()) {
                Some(layout) => layout,
                None => {
                    previous = None;
                    self.layout_of_page(py, key_name, row, &values)?
                }
            };
            let Some(known) = self.layouts.get_mut(layout) else { return Err(unreadable(py, row)) };
            let key = key_name.map(|_| Raw::new(&self.key.1));
            let before = |index: usize| previous.and_then(|values| values.get(index));
            let value = |index: usize| values.get(index);
            let object = known
                .object(py, &self.spec, value, before, key)
                .map_err(|error| not_converted(py, &self.spec, &known.layout, row, error, value))?;
            receive(object);
            previous = Some(values);
        }
        self.layouts.last = (count > 0).then(|| (page.id(), first.index + count - 1));
        Ok(())
    }

    /// Returns the index of the layout of a record of a page with a grid.
    #[inline(never)]
    fn layout_of_page(
        &mut self,
        py: Python<'_>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
        values: &RowValues<'_>,
    ) -> PyResult<usize> {
        let layout = self.layouts.find(py, &self.spec, key_name, values.names());
        let layout = layout.map_err(|error| layout_error(py, &self.spec, key_name, row, error))?;
        self.layouts.remember(row.page.id(), values.layout(), layout);
        Ok(layout)
    }

    /// Makes the object of a record of a page without a grid.
    #[inline(never)]
    fn object_of_members<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_by_count(py, &mut self.count)?;
        let split = self.layouts.split(py, &self.spec, key_name, row.text());
        let (index, values) =
            split.map_err(|error| layout_error(py, &self.spec, key_name, row, error))?;
        let Some(known) = self.layouts.get_mut(index) else { return Err(unreadable(py, row)) };
        let key = key_name.map(|_| Raw::new(&self.key.1));
        known.object_of_values(py, &self.spec, &values, key).map_err(|error| {
            not_converted(py, &self.spec, &known.layout, row, error, |index| {
                values.get(index).copied()
            })
        })
    }

    /// Makes the object of a JSON object within a record.
    fn inner_object<'py>(
        &mut self,
        py: Python<'py>,
        json: &str,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        check_by_count(py, &mut self.count)?;
        let (index, values) =
            self.layouts.split(py, &self.spec, None, json).map_err(|error| match error {
                LayoutError::Python(error) => Failure::from(error),
                LayoutError::MissingField(_) | LayoutError::Invalid(_) => Reason::Invalid.into(),
            })?;
        let known = self.layouts.get_mut(index).ok_or(Reason::Invalid)?;
        known.object_of_values(py, &self.spec, &values, None)
    }
}

impl KnownLayout<RowBuilder> {
    /// Makes the object of a record with these values. Not inlined, so that only one other copy of
    /// the code exists: the copy for pages whose values are known by their positions.
    #[inline(never)]
    fn object_of_values<'py>(
        &mut self,
        py: Python<'py>,
        spec: &RowSpec,
        values: &[Raw<'_>],
        key: Option<Raw<'_>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        self.object(py, spec, |index| values.get(index).copied(), |_| None, key)
    }

    /// Makes the object of a record with these values. `previous` are the values of the record that
    /// filled the template, if that record is on the same page.
    #[inline(always)]
    fn object<'py, 't>(
        &mut self,
        py: Python<'py>,
        spec: &RowSpec,
        values: impl Fn(usize) -> Option<Raw<'t>>,
        previous: impl Fn(usize) -> Option<Raw<'t>>,
        key: Option<Raw<'t>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let KnownLayout { layout, inner, items } = self;
        let Layout { columns, template, construction, .. } = layout;
        let columns = columns.iter_mut().zip(inner).enumerate();
        let failed = |index| move |failure: Failure| failure.in_column(index);
        if let Some(template) = template {
            let template = template.bind(py);
            for (index, (column, inner)) in columns {
                let raw = column.raw(&values, key);
                if column.repeats.is_worthwhile()
                    && let (Source::Value(at), Some(value)) = (&column.source, raw)
                    && let Some(before) = previous(*at)
                {
                    let is_repeated = value.is_same_scalar(before);
                    column.repeats.record(is_repeated);
                    if is_repeated {
                        continue;
                    }
                }
                column
                    .object(py, inner, raw)
                    .and_then(|value| Ok(template.set_item(column.name.bind(py), value)?))
                    .map_err(failed(index))?;
            }
            let dict = template.copy()?;
            return match &spec.target {
                Target::Class(class) => Ok(class.class.bind(py).invoke_named((), Some(&dict))?),
                Target::Dict | Target::TypedDict => Ok(dict.into_any()),
            };
        }
        let Target::Class(class) = &spec.target else {
            return Err(PySystemError::new_err("a dict has a template").into());
        };
        match (construction, &class.maker) {
            (Some(Construction::Attributes), Some(maker)) => {
                let object = maker.object(py)?;
                for (index, (column, inner)) in columns {
                    column
                        .object(py, inner, column.raw(&values, key))
                        .and_then(|value| Ok(set_attribute(&object, column.name.bind(py), &value)?))
                        .map_err(failed(index))?;
                }
                Ok(object)
            }
            (construction, maker) => {
                let items = ItemTuple::prepare(items, py, columns.len())?;
                for (index, (column, inner)) in columns {
                    column
                        .object(py, inner, column.raw(&values, key))
                        .and_then(|value| Ok(items.set(index, value)?))
                        .map_err(failed(index))?;
                }
                Ok(match (construction, maker) {
                    (Some(Construction::Tuple), Some(maker)) => maker.tuple(&items)?,
                    _ => items.call(class.class.bind(py))?,
                })
            }
        }
    }
}

impl Column {
    /// Returns the column's value in a record with these values and this key; none for a column
    /// whose value is a default.
    #[inline(always)]
    fn raw<'t>(
        &self,
        values: &impl Fn(usize) -> Option<Raw<'t>>,
        key: Option<Raw<'t>>,
    ) -> Option<Raw<'t>> {
        match self.source {
            Source::Value(index) => values(index),
            Source::Key => key,
            Source::Default(_) | Source::Factory(_) => None,
        }
    }

    /// Makes the object of that value.
    #[inline(always)]
    fn object<'py>(
        &mut self,
        py: Python<'py>,
        inner: &mut Option<Box<RowBuilder>>,
        raw: Option<Raw<'_>>,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        match &self.source {
            Source::Value(_) | Source::Key => {}
            Source::Default(value) => return Ok(value.bind(py).clone()),
            Source::Factory(factory) => return Ok(factory.bind(py).invoke(())?),
        }
        let raw = raw.ok_or(Reason::Invalid)?;
        if raw.starts_with(b'{')
            && let Some(inner) = inner_builder(inner, self.converter.conversion())
        {
            return inner.inner_object(py, raw.json);
        }
        match self.converter.convert(py, raw) {
            Err(failure) if self.is_nullable && failure.is_null() => Ok(py.None().into_bound(py)),
            outcome => outcome,
        }
    }
}

/// Returns the builder for values that are JSON objects, if these become dicts.
fn inner_builder<'a>(
    inner: &'a mut Option<Box<RowBuilder>>,
    conversion: &Conversion,
) -> Option<&'a mut RowBuilder> {
    if inner.is_none() {
        let spec = match conversion {
            Conversion::AsSent | Conversion::Dict => RowSpec::default(),
            Conversion::Object(fields) => {
                let fields = fields.iter().cloned().collect();
                RowSpec { target: Target::TypedDict, fields, selection: None }
            }
            _ => return None,
        };
        *inner = Some(Box::new(RowBuilder::new(Arc::new(spec))));
    }
    inner.as_deref_mut()
}
