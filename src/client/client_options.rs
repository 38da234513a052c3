//! The keyword arguments of a client's constructor, read by the table of `options`.

use std::sync::Arc;

use super::{
    cassette::cassette,
    connect_options::{authorities, client_identity, connect_option},
    options::{CLIENT_OPTIONS, ClientOption, ConnectKind, OptionKind},
    rate_limit::{client_rate, profile_rate},
};
use crate::prelude::*;
use crate::{
    arguments::{caller_arguments, request_arguments::headers},
    credentials::auth::Auth,
    hooks::observer::{Hooks, PythonObserver},
    interpreter::{
        caller_context::load_contextvars,
        errors::{cannot_pickle_secret, shown},
    },
};
use boardlot_client::extension::{
    client::{Client as CoreClient, ClientOptions},
    http::{TransportOptions, check_address, is_public_header},
    profile::Profile,
};

const MISSING: &str =
    "base_url is missing; pass base_url or profile: no environment variable BOARDLOT_* is read";

/// Makes a client from its Python arguments. Also returns its observer, and the Python objects to
/// which the client has only weak references: these must live as long as the client. `options` are
/// the values of `CLIENT_OPTIONS`; the values that are not the defaults are stored in `given`.
pub fn build_client(
    base_url: Option<String>,
    options: &Bound<'_, PyTuple>,
    given: &Bound<'_, PyDict>,
) -> PyResult<(CoreClient, Arc<PythonObserver>, Vec<Py<PyAny>>)> {
    let py = options.py();
    let mut transport = TransportOptions::default();
    let mut defaults = TransportOptions::default();
    let (mut auth, mut profile) = (None, None);
    let mut recorded_base_url = None;
    let (mut on_request, mut on_response) = (None, None);
    for (option, value) in CLIENT_OPTIONS.iter().zip(options) {
        let name = option.name;
        if value.is_none() {
            continue;
        }
        match option.kind {
            OptionKind::Credentials => auth = Some(Auth::from_argument(&value)?),
            OptionKind::Profile => {
                profile = Some(Profile::load(&caller_arguments::text(name, &value)?).or_raise(py)?);
            }
            OptionKind::Cassette => {
                let (cassette, base_url) = cassette(name, &value)?;
                transport.cassette = Some(cassette);
                recorded_base_url = base_url;
            }
            OptionKind::RequestHook => on_request = Some(value.clone()),
            OptionKind::ResponseHook => on_response = Some(value.clone()),
            OptionKind::WebSocketUrl => {
                let url = caller_arguments::text(name, &value)?;
                check_address(name, &url, ["wss", "ws"]).or_raise(py)?;
            }
            _ => set_option(option, &value, &mut transport)?,
        }
        if !is_default(option.kind, &mut transport, &mut defaults) {
            given.set_item(name, value)?;
        }
    }
    if let Some(profile) = &profile {
        // A read-only profile stays read-only, whatever the caller passes.
        transport.read_only |= profile.read_only;
        let connect = &mut transport.connect;
        if connect.proxy.is_none() {
            connect.proxy = profile.proxy.clone();
        }
        if let (None, Some(file)) = (&connect.ca_file, &profile.ca_file) {
            connect.ca_file = Some(authorities(py, "ca_file", file)?);
        }
        if let (None, Some(file)) = (&connect.client_cert, &profile.client_cert) {
            let file = file.into_pyobject(py)?;
            connect.client_cert = Some(client_identity("client_cert", file.as_any())?);
        }
        if transport.rate_limit.is_none() {
            transport.rate_limit = profile_rate(profile).or_raise(py)?;
        }
    }
    load_contextvars(py)?;
    let (hooks, strong_refs) = Hooks::new(on_request, on_response)?;
    let observer = Arc::new(PythonObserver::new(hooks));
    transport.observer = Some(observer.clone());
    let is_replay = recorded_base_url.is_some();
    let base_url = base_url
        .or(recorded_base_url)
        .or_else(|| profile.as_ref().map(|profile| profile.base_url.clone()))
        .ok_or_else(|| raise(py, Error::config(MISSING)))?;
    let auth = match (auth, profile) {
        (Some(auth), _) => Some(auth),
        (None, Some(profile)) => {
            Auth::from_profile(py, profile, (!is_replay).then_some(base_url.as_str()))?
        }
        (None, None) => None,
    };
    let (credentials, object) = auth.map(|auth| (auth.credentials, auth.object)).unzip();
    let mut options = ClientOptions::default();
    options.credentials = credentials;
    options.transport = transport;
    // Creating a client may read a file for each authority that the system trusts.
    let core = py.detach(|| CoreClient::new(&base_url, options)).or_raise(py)?;
    let referents = strong_refs.into_iter().map(Py::into_any).chain(object.flatten()).collect();
    Ok((core, observer, referents))
}

/// Sets the field of an option for sending requests.
fn set_option(
    option: &ClientOption,
    value: &Bound<'_, PyAny>,
    transport: &mut TransportOptions,
) -> PyResult<()> {
    let name = option.name;
    match option.kind {
        OptionKind::Seconds(field) => *field(transport) = caller_arguments::seconds(name, value)?,
        OptionKind::Integer { min, max, set, .. } => {
            set(transport, caller_arguments::integer(name, value, min, max)?);
        }
        OptionKind::Rate(field) => *field(transport) = Some(client_rate(name, value)?),
        OptionKind::Connect(kind) => {
            connect_option(name, kind, value, &mut transport.connect)?;
        }
        OptionKind::Headers(field) => *field(transport) = headers(name, Some(value))?,
        OptionKind::Flag(field) => {
            if !caller_arguments::is_bool(value)? {
                return Err(wrong_type(name, value, "True or False"));
            }
            *field(transport) = value.is_truthy()?;
        }
        _ => {}
    }
    Ok(())
}

/// Returns the options of a client with some changed. Headers are added to the client's, other
/// options are replaced. The changes are stored in `given`, too.
pub fn changed_options(
    current: &TransportOptions,
    changes: &[(&str, Option<Bound<'_, PyAny>>)],
    given: &Bound<'_, PyDict>,
) -> PyResult<TransportOptions> {
    let mut options = current.clone();
    for option in CLIENT_OPTIONS {
        let change = changes.iter().find(|(name, _)| *name == option.name);
        let Some((name, Some(value))) = change else { continue };
        let OptionKind::Headers(field) = option.kind else {
            set_option(option, value, &mut options)?;
            given.set_item(name, value)?;
            continue;
        };
        let mut all = std::mem::take(field(&mut options));
        set_option(option, value, &mut options)?;
        all.extend(std::mem::take(field(&mut options)));
        let named = PyDict::new(given.py());
        for (name, value) in &all {
            named.set_item(name.as_str(), String::from_utf8_lossy(value.as_bytes()))?;
        }
        given.set_item(name, named)?;
        *field(&mut options) = all;
    }
    Ok(options)
}

/// Checks that an option has its default.
fn is_default(
    kind: OptionKind,
    options: &mut TransportOptions,
    defaults: &mut TransportOptions,
) -> bool {
    match kind {
        OptionKind::Seconds(field) => field(options) == field(defaults),
        OptionKind::Integer { get, .. } => get(options) == get(defaults),
        OptionKind::Flag(field) => field(options) == field(defaults),
        OptionKind::Connect(ConnectKind::Seconds(field)) => {
            field(&mut options.connect) == field(&mut defaults.connect)
        }
        OptionKind::Connect(ConnectKind::Integer { field, .. }) => {
            field(&mut options.connect) == field(&mut defaults.connect)
        }
        // The default of all other options is `None`, which is skipped.
        _ => false,
    }
}

/// Refuses to pickle options that are secrets or may be: a pickle is a file that others can read.
pub fn check_picklable(given: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = given.py();
    let proxy =
        given.get_item("proxy")?.map(|proxy| shown(&proxy)).transpose()?.unwrap_or_default();
    if proxy.contains('@') {
        return Err(cannot_pickle_secret(py, "a client whose proxy has a password"));
    }
    let given = given.get_item("headers")?.filter(|headers| !headers.is_none());
    let headers = headers("headers", given.as_ref())?;
    match headers.keys().find(|name| !is_public_header(name.as_str())) {
        Some(name) => {
            let what = format!("a client with the header '{name}', whose value may be a secret");
            Err(cannot_pickle_secret(py, &what))
        }
        None => Ok(()),
    }
}
