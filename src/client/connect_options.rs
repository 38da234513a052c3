//! The options for connecting, as keyword arguments: of clients, logins, registrations and applications.

use pyo3::exceptions::PyTypeError;

use super::options::{ConnectKind, connect_options};
use crate::arguments::caller_arguments::{self, text};
use crate::prelude::*;
use boardlot_client::http::ConnectOptions;

/// Reads the options for connecting, which are the keyword arguments `given` to a function besides its own.
pub fn read_connect_options(
    function: &str,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<ConnectOptions> {
    let mut options = ConnectOptions::default();
    for (name, value) in given.into_iter().flatten() {
        let name = text("the name of an argument", &name)?;
        let Some((known, kind)) = connect_options().find(|(known, _)| *known == name) else {
            // As PyO3 says it.
            let text = format!("{function}() got an unexpected keyword argument '{name}'");
            return Err(PyTypeError::new_err(text));
        };
        if !value.is_none() {
            connect_option(known, kind, &value, &mut options)?;
        }
    }
    Ok(options)
}

/// Reads one option.
pub fn connect_option(
    name: &str,
    kind: ConnectKind,
    value: &Bound<'_, PyAny>,
    options: &mut ConnectOptions,
) -> PyResult<()> {
    match kind {
        ConnectKind::Seconds(field) => *field(options) = caller_arguments::seconds(name, value)?,
        ConnectKind::Integer { min, max, field } => {
            *field(options) = caller_arguments::integer(name, value, min, max)?;
        }
        ConnectKind::Text(field) => *field(options) = Some(caller_arguments::text(name, value)?),
        ConnectKind::CertificateFile(field) => {
            let path = caller_arguments::path(name, value)?;
            *field(options) = Some(caller_arguments::file_contents(value.py(), name, &path)?);
        }
    }
    Ok(())
}
