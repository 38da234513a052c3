//! Values that a caller may put into the dicts of `Records`, and their form in JSON.

use std::{borrow::Cow, fmt::Write};

use pyo3::{
    exceptions::PyValueError,
    types::{PyBool, PyFloat, PyInt},
};

use crate::arguments::caller_arguments::{is_bool, plain_number};
use crate::interpreter::{errors::missing_name, reentrant_once::ReentrantOnce};
use crate::prelude::*;
use crate::values::dates::DateClasses;
use boardlot_client::extension::decode::{NOT_A_NUMBER, write_text};

/// Deeper lists and dicts are refused, as JSON readers do.
const MAX_DEPTH: usize = 100;

/// A value of a dict, by its type.
pub enum CallerValue<'py> {
    Null,
    Flag(bool),
    Text(Bound<'py, PyString>),
    Integer(i64),
    /// An integer of more than 64 bits, as its digits.
    LongInteger(String),
    Float(f64),
    Object(Bound<'py, PyDict>),
    List(Bound<'py, PyList>),
    Decimal(Bound<'py, PyAny>),
    /// An aware datetime, and its microseconds since 1970.
    Time(Bound<'py, PyAny>, i64),
    Date(Bound<'py, PyAny>),
}

/// A function that reads a value: `plain` or `read`.
pub type Read = for<'py> fn(&Bound<'py, PyAny>) -> Result<CallerValue<'py>, Refused>;

/// The reason why a column cannot have a value.
pub enum Refused {
    /// JSON has no such value.
    NotPlain,
    /// A description of the value, and of the `EXPECTED` ones, for an error.
    Value(String),
    Python(PyErr),
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Refused::Python(error)
    }
}

/// The values that a column can have, for errors.
pub const EXPECTED: &str = "None, a bool, an int, a float, a str, a Decimal, an aware datetime, a date, \
                            an Enum of these, a dict or a list";

/// Reads a value that JSON has, of exactly the type that a JSON reader makes. Runs no Python code.
#[inline(always)]
pub fn plain<'py>(value: &Bound<'py, PyAny>) -> Result<CallerValue<'py>, Refused> {
    Ok(if let Ok(text) = value.cast_exact::<PyString>() {
        CallerValue::Text(text.clone())
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        match number.extract::<i64>() {
            Ok(number) => CallerValue::Integer(number),
            Err(_) => return Err(Refused::NotPlain),
        }
    } else if value.is_none() {
        CallerValue::Null
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        match number.value() {
            number if number.is_finite() => CallerValue::Float(number),
            _ => return Err(Refused::NotPlain),
        }
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        CallerValue::Flag(flag.is_true())
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        CallerValue::Object(dict.clone())
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        CallerValue::List(list.clone())
    } else {
        return Err(Refused::NotPlain);
    })
}

/// Reads any value that a column can have.
pub fn read<'py>(value: &Bound<'py, PyAny>) -> Result<CallerValue<'py>, Refused> {
    let py = value.py();
    if let Ok(plain) = plain(value) {
        return Ok(plain);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(CallerValue::Text(text.clone()));
    }
    if let Ok(number) = value.cast::<PyInt>() {
        return Ok(match number.extract::<i64>() {
            Ok(number) => CallerValue::Integer(number),
            Err(_) => CallerValue::LongInteger(digits(number)?),
        });
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(CallerValue::Float(number.value()));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(CallerValue::Object(dict.clone()));
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Ok(CallerValue::List(list.clone()));
    }
    let dates = DateClasses::get(py)?;
    if value.is_instance(dates.datetime.bind(py))? {
        return match dates.micros_of(value) {
            Ok(Some(micros)) => Ok(CallerValue::Time(value.clone(), micros)),
            Ok(None) if missing_name(value)?.is_some() => Ok(CallerValue::Null),
            Ok(None) => Err(Refused::Value(
                "a naive datetime; expected an aware one: datetime(..., tzinfo=timezone.utc)"
                    .to_owned(),
            )),
            Err(error) => Err(error.into()),
        };
    }
    if value.is_instance(dates.date.bind(py))? {
        return Ok(CallerValue::Date(value.clone()));
    }
    if is_instance(value, &DECIMAL, "decimal", "Decimal")? {
        return Ok(CallerValue::Decimal(value.clone()));
    }
    if is_instance(value, &ENUM, "enum", "Enum")? {
        return read(&value.getattr(intern!(py, "value"))?);
    }
    if is_bool(value)? {
        return Ok(CallerValue::Flag(value.is_truthy()?));
    }
    if missing_name(value)?.is_some() {
        return Ok(CallerValue::Null);
    }
    // An exact int or float.
    if let Some(number) = plain_number(value)? {
        return read(&number);
    }
    let class = value.get_type().name()?.to_string();
    Err(Refused::Value(format!("of type {class}; expected {EXPECTED}")))
}

impl CallerValue<'_> {
    /// Writes the value as JSON. `read` reads the values that it contains. `is_number` is true for
    /// a column of numbers, which may have floats that JSON lacks.
    pub fn write(&self, read: Read, is_number: bool, out: &mut String) -> Result<(), Refused> {
        self.write_at(0, read, is_number, out)
    }

    fn write_at(
        &self,
        depth: usize,
        read: Read,
        is_number: bool,
        out: &mut String,
    ) -> Result<(), Refused> {
        match self {
            CallerValue::Null => out.push_str("null"),
            CallerValue::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            CallerValue::Text(text) => write_text(&text_of(text)?, out),
            CallerValue::Integer(number) => write_integer(*number, out),
            CallerValue::LongInteger(digits) => out.push_str(digits),
            CallerValue::Float(number) if number.is_finite() => write_float(*number, out),
            CallerValue::Float(number) if is_number => {
                let token = match number {
                    number if number.is_nan() => NOT_A_NUMBER[0],
                    number if *number > 0.0 => NOT_A_NUMBER[1],
                    _ => NOT_A_NUMBER[2],
                };
                out.push_str(token);
            }
            CallerValue::Float(number) => write_text(&python_text(*number), out),
            CallerValue::Object(dict) => write_object(dict, depth, read, out)?,
            CallerValue::List(list) => write_list(list, depth, read, out)?,
            CallerValue::Decimal(decimal) => {
                let text = decimal.str()?;
                let text = text_of(&text)?;
                let float = match text.trim_start_matches(['-', 's']) {
                    "Infinity" if text.starts_with('-') => f64::NEG_INFINITY,
                    "Infinity" => f64::INFINITY,
                    name if name.starts_with("NaN") => f64::NAN,
                    _ => 0.0,
                };
                match is_number && !float.is_finite() {
                    true => CallerValue::Float(float).write(read, true, out)?,
                    false => write_text(&text, out),
                }
            }
            CallerValue::Time(value, _) | CallerValue::Date(value) => {
                let text = value.invoke_method(intern!(value.py(), "isoformat"), ())?;
                write_text(&text_of(text.cast::<PyString>().map_err(PyErr::from)?)?, out);
            }
        }
        Ok(())
    }
}

static DECIMAL: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
static ENUM: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();

fn is_instance(
    value: &Bound<'_, PyAny>,
    class: &ReentrantOnce<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<bool> {
    value.is_instance(class.import(value.py(), module, name)?)
}

/// Returns the digits of an integer of any size.
fn digits(number: &Bound<'_, PyInt>) -> Result<String, Refused> {
    let plain = number.py().get_type::<PyInt>().invoke((number,))?;
    let text =
        plain.str().map_err(|error| match error.is_instance_of::<PyValueError>(number.py()) {
            // Python itself refuses to write integers of thousands of digits.
            true => Refused::Value(
                "an integer of more than sys.get_int_max_str_digits() digits".to_owned(),
            ),
            false => Refused::Python(error),
        });
    Ok(text_of(&text?)?.into_owned())
}

fn text_of<'a>(text: &'a Bound<'_, PyString>) -> Result<Cow<'a, str>, Refused> {
    text.to_cow()
        .map_err(|_| Refused::Value("not Unicode text: it has a lone surrogate".to_owned()))
}

/// Writes a finite float as Python does.
fn write_float(number: f64, out: &mut String) {
    let size = number.abs();
    if number == 0.0 || (1e-4..1e16).contains(&size) {
        let _ = write!(out, "{number:?}");
        return;
    }
    out.push_str(&python_text(number));
}

/// Returns the text that Python shows for a float.
fn python_text(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn write_integer(number: i64, out: &mut String) {
    // Writing to a `String` never fails.
    let _ = write!(out, "{number}");
}

fn write_object(
    dict: &Bound<'_, PyDict>,
    depth: usize,
    read: Read,
    out: &mut String,
) -> Result<(), Refused> {
    let depth = deeper(depth)?;
    out.push('{');
    // The loop reads a copy of the items, as reading one may run the caller's code, which may
    // change the dict.
    for (index, item) in dict.items().iter().enumerate() {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        if index > 0 {
            out.push(',');
        }
        write_text(&name_of(&name)?, out);
        out.push(':');
        read(&value)?.write_at(depth, read, false, out)?;
    }
    out.push('}');
    Ok(())
}

/// Reads the name of a member of a dict.
pub fn name_of<'a>(name: &'a Bound<'_, PyAny>) -> Result<Cow<'a, str>, Refused> {
    let text = name.cast::<PyString>().ok().and_then(|name| name.to_cow().ok());
    text.ok_or_else(|| {
        Refused::Value("a dict with a key that is not a str of Unicode text".to_owned())
    })
}

fn write_list(
    list: &Bound<'_, PyList>,
    depth: usize,
    read: Read,
    out: &mut String,
) -> Result<(), Refused> {
    let depth = deeper(depth)?;
    out.push('[');
    for (index, value) in list.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        read(&value)?.write_at(depth, read, false, out)?;
    }
    out.push(']');
    Ok(())
}

fn deeper(depth: usize) -> Result<usize, Refused> {
    if depth < MAX_DEPTH {
        return Ok(depth + 1);
    }
    Err(Refused::Value(format!("nested more than {MAX_DEPTH} deep")))
}
