//! The options for connecting, as keyword arguments: of clients, logins, registrations and applications.

use super::options::{ConnectKind, connect_options};
use crate::arguments::{caller_arguments, wrong_call};
use crate::prelude::*;
use boardlot_client::http::ConnectOptions;

/// Reads the options for connecting among the keyword arguments `given` to a function, which takes these other
/// arguments by position and by name. `others` by position, and unknown ones by name, are a `TypeError`.
pub fn read_connect_options(
    function: &str,
    positional: &[&str],
    named: &[&str],
    others: &Bound<'_, PyTuple>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<ConnectOptions> {
    let unknown = given.map_or_else(|| Ok(PyDict::new(others.py())), |given| given.copy())?;
    let mut options = ConnectOptions::default();
    for (name, kind) in connect_options() {
        let Some(value) = unknown.get_item(name)? else { continue };
        unknown.del_item(name)?;
        if !value.is_none() {
            connect_option(name, kind, &value, &mut options)?;
        }
    }
    let names: Vec<&str> =
        named.iter().copied().chain(connect_options().map(|(name, _)| name)).collect();
    wrong_call::check(function, positional, &names, Some(others), Some(&unknown))?;
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
