//! Objects of records: the records of a list nearly always have the same keys in the same order.
//!
//! So what a record becomes is decided once for records with the same keys (`Layout`), and each record is
//! only its values. If the scan knows the layouts of a page's records, the keys of each layout are compared
//! once and values are cut out where the scan found them; other records are split into their members. A dict
//! is a copy of that of the previous record, in which only the values that differ are replaced: no key is
//! created. (Fields whose values rarely repeat are not compared.)

use std::sync::Arc;

use pyo3::exceptions::PySystemError;

use super::{
    row_errors::{missing_field, unconvertible, unreadable},
    row_layout::{Column, Layout, LayoutError, Source},
    row_spec::{Construction, RowSpec, Target},
};
use crate::prelude::*;
use crate::{
    interpreter::signals::check_by_count,
    values::{
        converter::{Conversion, Failure, Reason},
        instances::{ItemTuple, set_attribute},
        objects::ObjectError,
    },
};
use boardlot_client::decode::{
    Members, Raw, RecordRef, RowValues, Value, parse_members, split_members, type_mismatch,
};

/// The number of layouts that are kept: records of some lists alternate between a few.
const MAX_LAYOUTS: usize = 4;
/// The layout of records with more keys is not kept.
const MAX_KEYS: usize = 128;

/// Makes the objects of the records of one list.
pub struct RowBuilder {
    spec: Arc<RowSpec>,
    known: Vec<KnownLayout>,
    /// A page, the index of a layout among those of the page, and its index here.
    page_layout: Option<(u64, usize, usize)>,
    /// The page and the index of the last record, which has that layout: its template has its values.
    last: Option<(u64, usize)>,
    /// The last key of `fetch_many`, and its JSON.
    key: (String, String),
    /// The number of objects it has made.
    count: u32,
}

struct KnownLayout {
    layout: Layout,
    /// The builders of the columns whose values are objects.
    inner: Vec<Option<Box<RowBuilder>>>,
    /// The arguments of a constructor, from its first call on.
    items: Option<ItemTuple>,
}

impl RowBuilder {
    pub fn new(spec: Arc<RowSpec>) -> Self {
        RowBuilder {
            spec,
            known: Vec::new(),
            page_layout: None,
            last: None,
            key: Default::default(),
            count: 0,
        }
    }

    /// The object of a record.
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

    /// The objects of this record and those after it in its page, `count` in all, up to the first that
    /// cannot be converted.
    pub fn objects<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        first: RecordRef<'_>,
        count: usize,
        receive: &mut dyn FnMut(Bound<'py, PyAny>),
    ) -> PyResult<()> {
        let page = first.page;
        let last = self.last.take();
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
            let layout = match self.page_layout {
                Some((id, of_page, layout)) if (id, of_page) == (page.id(), values.layout()) => {
                    layout
                }
                _ => {
                    previous = None;
                    self.layout_of_page(py, key_name, row, &values)?
                }
            };
            let Some(known) = self.known.get_mut(layout) else { return Err(unreadable(py, row)) };
            let key = key_name.map(|_| Raw::new(&self.key.1));
            let before = |index: usize| previous.and_then(|values| values.get(index));
            let value = |index: usize| values.get(index);
            let object = known
                .object(py, &self.spec, value, before, key)
                .map_err(|error| known.error(py, &self.spec, row, error, value))?;
            receive(object);
            previous = Some(values);
        }
        self.last = (count > 0).then(|| (page.id(), first.index + count - 1));
        Ok(())
    }

    /// The index of the layout of a record of a page with a grid.
    #[inline(never)]
    fn layout_of_page(
        &mut self,
        py: Python<'_>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
        values: &RowValues<'_>,
    ) -> PyResult<usize> {
        let layout = self.layout_of(py, key_name, values.names());
        let layout = layout.map_err(|error| self.layout_error(py, key_name, row, error))?;
        self.page_layout = Some((row.page.id(), values.layout(), layout));
        Ok(layout)
    }

    /// The object of a record of a page without a grid.
    #[inline(never)]
    fn object_of_members<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        check_by_count(py, &mut self.count)?;
        let split = self.split(py, key_name, row.text());
        let (index, values) = split.map_err(|error| self.layout_error(py, key_name, row, error))?;
        let Some(known) = self.known.get_mut(index) else { return Err(unreadable(py, row)) };
        let key = key_name.map(|_| Raw::new(&self.key.1));
        known.object_of_values(py, &self.spec, &values, key).map_err(|error| {
            known.error(py, &self.spec, row, error, |index| values.get(index).copied())
        })
    }

    /// The values of an object that is not known by positions, and the index of its layout.
    fn split<'t>(
        &mut self,
        py: Python<'_>,
        key_name: Option<&str>,
        json: &'t str,
    ) -> Result<(usize, Vec<Raw<'t>>), LayoutError> {
        if let Some((names, values)) = split_members(json)
            && let Some(index) = self.known_layout(key_name, names.into_iter())
        {
            return Ok((index, values));
        }
        let members = parse_members(json).map_err(LayoutError::Invalid)?;
        let index = self.layout_of(py, key_name, names_of(&members))?;
        Ok((index, members.iter().map(|(_, value)| Raw::new(value.get())).collect()))
    }

    /// The exception for records without a layout.
    fn layout_error(
        &self,
        py: Python<'_>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
        error: LayoutError,
    ) -> PyErr {
        match (error, &self.spec.target) {
            (LayoutError::Python(error), _) => error,
            (LayoutError::Invalid(error), _) => raise(py, row.invalid(&error)),
            (LayoutError::MissingField(index), Target::Class(class)) => {
                missing_field(py, &self.spec, class, index, key_name, row)
            }
            _ => unreadable(py, row),
        }
    }

    /// The object of a JSON object within a record.
    fn inner_object<'py>(
        &mut self,
        py: Python<'py>,
        json: &str,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        check_by_count(py, &mut self.count)?;
        let (index, values) = self.split(py, None, json).map_err(|error| match error {
            LayoutError::Python(error) => Failure::from(error),
            LayoutError::MissingField(_) | LayoutError::Invalid(_) => Reason::Invalid.into(),
        })?;
        let known = self.known.get_mut(index).ok_or(Reason::Invalid)?;
        known.object_of_values(py, &self.spec, &values, None)
    }

    /// The index of the layout of records with these keys.
    fn layout_of<'k>(
        &mut self,
        py: Python<'_>,
        key_name: Option<&str>,
        names: impl ExactSizeIterator<Item = &'k str> + Clone,
    ) -> Result<usize, LayoutError> {
        if let Some(index) = self.known_layout(key_name, names.clone()) {
            return Ok(index);
        }
        let layout = Layout::new(py, &self.spec, key_name, names)?;
        (self.page_layout, self.last) = (None, None);
        self.known.retain(|known| known.layout.width() <= MAX_KEYS);
        if self.known.len() >= MAX_LAYOUTS {
            self.known.remove(0);
        }
        let inner = layout.columns.iter().map(|_| None).collect();
        self.known.push(KnownLayout { layout, inner, items: None });
        Ok(self.known.len() - 1)
    }

    fn known_layout<'k>(
        &self,
        key_name: Option<&str>,
        names: impl ExactSizeIterator<Item = &'k str> + Clone,
    ) -> Option<usize> {
        self.known.iter().position(|known| known.layout.matches(key_name, names.clone()))
    }
}

fn names_of<'a>(members: &'a Members<'_>) -> impl ExactSizeIterator<Item = &'a str> + Clone {
    members.iter().map(|(name, _)| name.as_ref())
}

impl KnownLayout {
    /// The object of a record with these values. There is one copy of the code for it: the other one
    /// is for pages whose values are known by their positions.
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

    /// The object of a record with these values. `previous` are those of the record that the template
    /// was filled with, if it has the same page.
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

    /// The exception for a failure.
    fn error<'t>(
        &self,
        py: Python<'_>,
        spec: &RowSpec,
        row: RecordRef<'_>,
        failure: Failure,
        values: impl Fn(usize) -> Option<Raw<'t>>,
    ) -> PyErr {
        let (reason, index) = failure.into_parts();
        if let Reason::Object(ObjectError::Python(error)) = reason {
            return error;
        }
        let column = index.and_then(|index| self.layout.columns.get(index));
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
}

impl Column {
    /// The value in a record with these values and this key; none of a default.
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

    /// The object of that value.
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

/// The builder of values that are JSON objects, if they become dicts.
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
