//! Converts values that are not JSON objects to Python objects: as the service sent them, or of a
//! given type.

use std::sync::Arc;

use pyo3::{
    exceptions::PyValueError,
    types::{PyBool, PyFloat, PyInt},
};

use super::{
    dates::DateClasses,
    instances::ItemTuple,
    objects::{self, ObjectError},
    value_cache::ValueCache,
};
use crate::interpreter::{errors::is_refusal, reentrant_once::ReentrantOnce};
use crate::prelude::*;
use boardlot_client::extension::{
    api::{Field, Kind, TimeUnit, micros_of_text},
    decode::{
        self, Raw, Value,
        scalars::{
            PushError, date, decimal_text, flag, integer, is_null, parse_float, parse_integer,
            timestamp,
        },
    },
};

/// The conversion of a value.
#[derive(Clone)]
pub enum Conversion {
    /// The service's own value.
    AsSent,
    /// The service's own value, if it is a list or an object.
    List,
    Dict,
    /// The text of a string, the JSON of any other value.
    Text,
    /// An integer of 64 bits, or of any size; 0 may be null.
    Integer {
        any_size: bool,
        zero_is_null: bool,
    },
    Number,
    Flag,
    Decimal,
    /// An aware datetime, of a count of this unit or, without a unit, of a text with an offset.
    Datetime(Option<TimeUnit>),
    Date,
    /// The member of an enum that has the service's own value.
    Enum(Arc<Py<PyAny>>),
    /// A dict of these members, by their kinds.
    Object(&'static [Field]),
}

/// A failure to convert a value, or a record, to an object.
///
/// Boxed, so that the outcome of each conversion fits into two registers. Moving outcomes in memory
/// took a third of the time of a dict of three values.
pub struct Failure(Box<(Reason, Option<usize>)>);

pub enum Reason {
    /// The value is not of the type.
    Invalid,
    /// The value is null, or the service's sign for null.
    Null,
    /// The value has no Python object.
    Object(ObjectError),
}

impl Failure {
    /// Returns the failure with the column of its value.
    #[cold]
    pub fn in_column(mut self, column: usize) -> Self {
        self.0.1 = Some(column);
        self
    }

    pub fn is_null(&self) -> bool {
        matches!(self.0.0, Reason::Null)
    }

    /// Returns the reason, and the column if the failure has one.
    pub fn into_parts(self) -> (Reason, Option<usize>) {
        *self.0
    }
}

impl From<Reason> for Failure {
    #[cold]
    fn from(reason: Reason) -> Self {
        Failure(Box::new((reason, None)))
    }
}

impl From<PyErr> for Failure {
    #[cold]
    fn from(error: PyErr) -> Self {
        Reason::Object(error.into()).into()
    }
}

impl From<ObjectError> for Failure {
    #[cold]
    fn from(error: ObjectError) -> Self {
        Reason::Object(error).into()
    }
}

impl From<PushError> for Failure {
    fn from(error: PushError) -> Self {
        if error == PushError::Missing { Reason::Null.into() } else { Reason::Invalid.into() }
    }
}

type Converted<'py> = Result<Bound<'py, PyAny>, Failure>;

impl Conversion {
    /// Returns the conversion of values of a declared kind for typed dicts.
    pub fn of_kind(kind: Kind) -> Self {
        match kind {
            Kind::Text => Conversion::Text,
            Kind::Integer | Kind::IntegerNotZero => {
                Conversion::Integer { any_size: false, zero_is_null: kind.zero_is_null() }
            }
            Kind::Number => Conversion::Number,
            Kind::Flag => Conversion::Flag,
            Kind::Decimal => Conversion::Decimal,
            Kind::Timestamp(unit, _) => Conversion::Datetime(Some(unit)),
            Kind::Date => Conversion::Date,
            Kind::Object(fields) => Conversion::Object(fields),
        }
    }
}

/// Converts the values of one field.
pub struct Converter {
    conversion: Conversion,
    cache: ValueCache,
    /// The arguments of the previous call of the constructor.
    arguments: Option<ItemTuple>,
}

impl Converter {
    pub fn new(conversion: Conversion) -> Self {
        Converter { conversion, cache: ValueCache::default(), arguments: None }
    }

    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    /// Converts a value that is not an object in JSON.
    #[inline(always)]
    pub fn convert<'py>(&mut self, py: Python<'py>, raw: Raw<'_>) -> Converted<'py> {
        // The common cases, without a call.
        match &self.conversion {
            Conversion::AsSent => return self.as_sent(py, raw),
            Conversion::Text => {
                if let Some(text) = raw.plain_text() {
                    return self.cache.get(py, text, || Ok(PyString::new(py, text).into_any()));
                }
            }
            Conversion::Integer { zero_is_null, .. } => {
                if let Some(number) = parse_integer(raw.json)
                    && !(number == 0 && *zero_is_null)
                {
                    return Ok(PyInt::new(py, number).into_any());
                }
            }
            _ => {}
        }
        self.converted(py, raw)
    }

    /// Converts a value by any conversion.
    #[inline(never)]
    fn converted<'py>(&mut self, py: Python<'py>, raw: Raw<'_>) -> Converted<'py> {
        if is_null(raw) {
            return Err(Reason::Null.into());
        }
        let (cache, arguments) = (&mut self.cache, &mut self.arguments);
        match &self.conversion {
            Conversion::AsSent => self.as_sent(py, raw),
            Conversion::Text => {
                let text = decode::scalars::text(raw)?;
                cache.get(py, &text, || Ok(PyString::new(py, &text).into_any()))
            }
            Conversion::Integer { any_size, zero_is_null } => match integer(raw) {
                Ok(0) if *zero_is_null => Err(Reason::Null.into()),
                Ok(number) => Ok(PyInt::new(py, number).into_any()),
                Err(PushError::Invalid) if *any_size && is_integer(raw.json) => {
                    Ok(objects::number(py, raw.json)?)
                }
                Err(error) => Err(error.into()),
            },
            Conversion::Number => Ok(PyFloat::new(py, decode::scalars::number(raw)?).into_any()),
            Conversion::Flag => Ok(PyBool::new(py, flag(raw)?).to_owned().into_any()),
            Conversion::Decimal => {
                let text = decimal_text(raw)?;
                cache.get(py, &text, || {
                    let arguments = ItemTuple::prepare(arguments, py, 1)?;
                    arguments.set(0, PyString::new(py, &text).into_any())?;
                    Ok(arguments.call(decimal_class(py)?)?)
                })
            }
            Conversion::Datetime(Some(unit)) => {
                // The time is within the years that a `datetime` supports.
                let micros = timestamp(raw, *unit)?.saturating_mul(1_000_000 / unit.per_second());
                Ok(DateClasses::get(py)?.next_datetime(py, micros, arguments)?)
            }
            Conversion::Datetime(None) => {
                let text = text_only(raw)?;
                let micros = micros_of_text(&text).ok_or(Reason::Invalid)?;
                let time = DateClasses::get(py)?.next_datetime(py, micros, arguments);
                time.map_err(|error| match is_refusal(py, &error) {
                    true => Reason::Invalid.into(),
                    false => error.into(),
                })
            }
            Conversion::Date => {
                let date = date(raw)?;
                let make = || {
                    let class = DateClasses::get(py)?.date.bind(py);
                    Ok(class.invoke((date.year(), date.month(), date.day()))?)
                };
                cache.get(py, raw.json, make)
            }
            Conversion::Enum(class) => cache.get(py, raw.json, || enum_member(py, class, raw)),
            Conversion::List if raw.json.starts_with('[') => Ok(as_sent_uncached(py, raw)?),
            Conversion::List | Conversion::Dict | Conversion::Object(_) => {
                Err(Reason::Invalid.into())
            }
        }
    }

    #[inline(always)]
    fn as_sent<'py>(&mut self, py: Python<'py>, raw: Raw<'_>) -> Converted<'py> {
        match raw.json.as_bytes().first() {
            Some(b'"') => match raw.plain_text() {
                Some(text) => self.cache.get(py, text, || Ok(PyString::new(py, text).into_any())),
                None => {
                    let text = raw.text().ok_or(Reason::Invalid)?;
                    self.cache.get(py, &text, || Ok(PyString::new(py, &text).into_any()))
                }
            },
            Some(b'-' | b'0'..=b'9') => number(py, raw),
            Some(b'n') => Ok(py.None().into_bound(py)),
            Some(b't') => Ok(PyBool::new(py, true).to_owned().into_any()),
            Some(b'f') => Ok(PyBool::new(py, false).to_owned().into_any()),
            _ => as_sent_uncached(py, raw),
        }
    }
}

/// Converts any value, as the service sent it.
fn as_sent_uncached<'py>(py: Python<'py>, raw: Raw<'_>) -> Converted<'py> {
    let value = Value::parse(raw.json).map_err(|_| Reason::Invalid)?;
    Ok(objects::object(py, &value)?)
}

#[inline(always)]
fn number<'py>(py: Python<'py>, raw: Raw<'_>) -> Converted<'py> {
    if let Some(number) = parse_integer(raw.json) {
        return Ok(PyInt::new(py, number).into_any());
    }
    match parse_float(raw.json).filter(|_| !is_integer(raw.json)) {
        Some(number) => Ok(PyFloat::new(py, number).into_any()),
        // A float that overflows, or an integer of more than 64 bits.
        None => Ok(objects::number(py, raw.json)?),
    }
}

/// Returns true if a JSON number is an integer.
fn is_integer(json: &str) -> bool {
    !json.is_empty() && json.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

fn text_only(raw: Raw<'_>) -> Result<std::borrow::Cow<'_, str>, Failure> {
    let text = raw.text().ok_or(Reason::Invalid)?;
    if text.is_empty() { Err(Reason::Null.into()) } else { Ok(text) }
}

fn enum_member<'py>(py: Python<'py>, class: &Py<PyAny>, raw: Raw<'_>) -> Converted<'py> {
    let value = as_sent_uncached(py, raw)?;
    class.bind(py).invoke((value,)).map_err(|error| {
        if !(error.is_instance_of::<PyValueError>(py) && is_refusal(py, &error)) {
            error.into()
        } else if raw.json == "\"\"" {
            Reason::Null.into()
        } else {
            Reason::Invalid.into()
        }
    })
}

fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DECIMAL: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
    DECIMAL.import(py, "decimal", "Decimal")
}
