//! The options for connecting: of clients, logins, registrations and applications.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use zeroize::Zeroizing;

use super::options::{ConnectKind, connect_options};
use crate::arguments::caller_arguments;
use crate::prelude::*;
use boardlot_client::extension::{
    http::{ClientIdentity, ConnectOptions, check_authorities},
    os::texts::shown_path,
};

/// Reads the options for connecting, whose values are `given` in the order of their table.
pub fn read_connect_options(given: &Bound<'_, PyTuple>) -> PyResult<ConnectOptions> {
    let mut options = ConnectOptions::default();
    for ((name, kind), value) in connect_options().zip(given) {
        if !value.is_none() {
            connect_option(name, kind, &value, &mut options)?;
        }
    }
    Ok(options)
}

/// Reads the contents of a PEM bundle of certificates, checked here so that the errors name the
/// file.
pub fn authorities(py: Python<'_>, name: &str, path: &Path) -> PyResult<Arc<[u8]>> {
    let bundle = caller_arguments::file_contents(py, name, path)?;
    check_authorities(&shown_path(path), &bundle).or_raise(py)?;
    Ok(bundle.into())
}

/// Reads a certificate and its key from one file, or from two. Errors name the file.
pub fn client_identity(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Arc<ClientIdentity>> {
    let py = value.py();
    let read = |file: &Bound<'_, PyAny>| -> PyResult<(PathBuf, Zeroizing<Vec<u8>>)> {
        let path = caller_arguments::path(name, file)?;
        let contents = caller_arguments::file_contents(py, name, &path)?;
        Ok((path, Zeroizing::new(contents)))
    };
    let Ok(files) = value.cast::<PyTuple>() else {
        let (path, both) = read(value)?;
        return identity_of(py, &path, &both, None);
    };
    let Ok((certificate, key)) = files.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
        let expected = "the path of a PEM file, or (certificate, key)";
        return Err(wrong_type(name, value, expected));
    };
    let (path, certificate) = read(&certificate)?;
    let (_, key) = read(&key)?;
    identity_of(py, &path, &certificate, Some(&key))
}

fn identity_of(
    py: Python<'_>,
    path: &Path,
    certificate: &[u8],
    key: Option<&[u8]>,
) -> PyResult<Arc<ClientIdentity>> {
    let file = shown_path(path);
    let identity = ClientIdentity::read_from(Some(&file), certificate, key).or_raise(py)?;
    Ok(Arc::new(identity))
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
        ConnectKind::Proxy(field) => {
            if !value.is_instance_of::<PyString>() {
                let expected = "a URL such as 'http://proxy.example.com:3128', or 'environment'";
                return Err(wrong_type(name, value, expected));
            }
            *field(options) = Some(caller_arguments::text(name, value)?);
        }
        ConnectKind::CertificateFile(field) => {
            let path = caller_arguments::path(name, value)?;
            *field(options) = Some(authorities(value.py(), name, &path)?);
        }
        ConnectKind::ClientCertificate(field) => {
            *field(options) = Some(client_identity(name, value)?);
        }
    }
    Ok(())
}
