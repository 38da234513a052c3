//! `fetch_many` and `pages_many`: their arguments, and their results.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicU64},
};

use super::endpoint_arguments::{Arguments, endpoint_arguments, warn_of_end_date};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::argument,
    calls::{
        call::{Call, CallMode},
        progress::{CountFn, Progress},
    },
    interpreter::{
        callback::reading,
        errors::{exception, is_own, is_refusal, shown},
    },
    rows::{page_rows::Rows, row_builder_pool::RowBuilderPool},
};
use boardlot_client::extension::{
    api::{Argument, EndpointRef},
    client::{BatchKey, BatchOutcome, Client},
    error::did_you_mean,
    pages::{Pages, Windows},
};

/// The arguments of `fetch_many` and `pages_many`, unchecked.
pub struct ManyKeys<'a, 'py> {
    pub endpoint: &'a Bound<'py, PyAny>,
    pub keys: &'a Bound<'py, PyAny>,
    /// The arguments that are the same for all keys.
    pub fixed: Arguments<'py>,
    pub concurrency: i64,
    pub on_error: &'a str,
    pub windows: Option<Windows>,
}

/// The arguments of `fetch_many` and `pages_many`, checked.
struct CheckedKeys {
    endpoint: EndpointRef,
    keys: Vec<BatchKey>,
    fixed: Vec<(String, Argument)>,
    concurrency: usize,
    collect: bool,
}

impl<'py> ManyKeys<'_, 'py> {
    /// Calls the endpoint for each key: the rows, and the errors of the keys that failed. `owner`
    /// is the Python client.
    pub fn fetch(
        self,
        core: Client,
        mode: CallMode,
        progress: bool,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = owner.py();
        let own = ["concurrency", "on_error", "windows", "progress"];
        let windows = self.windows;
        let CheckedKeys { endpoint, keys, fixed, concurrency, collect } =
            self.checked(py, "fetch_many", &own)?;
        let name = endpoint.name.clone();
        let count = Arc::new(AtomicU64::new(0));
        let (total, counted) = (keys.len() as u64, count.clone());
        let future = async move {
            core.fetch_many(endpoint, keys, fixed, (concurrency, collect), windows, count).await
        };
        let finish = |py: Python<'_>, many: BatchOutcome| {
            let errors = PyDict::new(py);
            for (key, error) in &many.errors {
                errors.set_item(key, exception(py, error)?)?;
            }
            let rows = Rows::new(many.rows, RowBuilderPool::default());
            Ok((rows, errors).into_pyobject(py)?.into_any().unbind())
        };
        let owner = Some(owner.clone().unbind());
        let call = Call::new(future, Box::new(finish)).owned_by(owner);
        if !progress {
            return mode.run_shared(py, call);
        }
        let total: CountFn = Box::new(move || Some(total));
        Progress { label: &name, unit: "keys", total, count: counted }.run(py, mode, call)
    }

    /// The pages of all keys.
    pub fn pages(self, py: Python<'_>, core: &Client, resume: Option<&str>) -> PyResult<Pages> {
        let own = ["concurrency", "on_error", "windows", "resume"];
        let windows = self.windows;
        let CheckedKeys { endpoint, keys, fixed, concurrency, collect } =
            self.checked(py, "pages_many", &own)?;
        core.pages_many(&endpoint, &keys, &fixed, (concurrency, collect), windows, resume)
            .or_raise(py)
    }

    /// Checks the arguments. `own` are the names of the method's own arguments, to be suggested for
    /// a misspelled one.
    fn checked(&self, py: Python<'_>, method: &str, own: &[&str]) -> PyResult<CheckedKeys> {
        let collect = self.collect(py)?;
        let concurrency = self.concurrency(py)?;
        let (endpoint, fixed) = endpoint_arguments(self.endpoint, &self.fixed)?;
        if endpoint.undeclared.is_none() {
            let unknown = fixed.iter().find(|(given, _)| endpoint.parameter(given).is_none());
            if let Some((given, _)) = unknown {
                let own = own.iter().copied();
                let known: Vec<&str> = own.chain(endpoint.arguments().map(|p| &*p.name)).collect();
                let nearest = did_you_mean(given, known);
                if !nearest.is_empty() {
                    let text = format!("{method} has no argument '{given}'{nearest}");
                    return Err(raise(py, Error::config(text)));
                }
            }
        }
        let keys = reading(py, || self.keys.try_iter());
        let keys = keys.map_err(|error| match is_refusal(py, &error) {
            true => wrong_type("keys", self.keys, "a list of keys"),
            false => error,
        });
        let keys = match self.keys.is_instance_of::<PyString>() {
            true => Err(raise(
                py,
                Error::argument("keys", "a string", "a list of keys, such as [\"HK.00700\"]"),
            )),
            false => keys,
        };
        if self.keys.hasattr("columns")? {
            // Iterating over a frame returns the names of its columns.
            let expected = "a list of keys, such as the column frame[\"symbol\"]";
            return Err(wrong_type("keys", self.keys, expected));
        }
        let keys = keys?;
        let numbered = keys.enumerate();
        let mut keys: Vec<_> = reading(py, || {
            numbered.map(|(index, key)| checked_key(index, &key?, collect)).collect::<PyResult<_>>()
        })?;
        // `1` and `"1"` are the same key, whose rows are fetched once.
        let mut known = HashSet::new();
        keys.retain(|key| known.insert((key.text.clone(), key.argument.is_ok())));
        warn_of_end_date(&endpoint, &self.fixed)?;
        Ok(CheckedKeys { endpoint, keys, fixed, concurrency, collect })
    }

    fn collect(&self, py: Python<'_>) -> PyResult<bool> {
        match self.on_error {
            "raise" => Ok(false),
            "collect" => Ok(true),
            other => {
                let shown = format!("'{other}'");
                Err(raise(py, Error::argument("on_error", &shown, "'raise' or 'collect'")))
            }
        }
    }

    fn concurrency(&self, py: Python<'_>) -> PyResult<usize> {
        let number = usize::try_from(self.concurrency).ok().filter(|n| (1..=1024).contains(n));
        number.ok_or_else(|| {
            let shown = self.concurrency.to_string();
            raise(py, Error::argument("concurrency", &shown, "an integer from 1 to 1024"))
        })
    }
}

/// Checks the key at an index of the list. With `collect`, a key that cannot be sent counts as a
/// failed key.
fn checked_key(index: usize, key: &Bound<'_, PyAny>, collect: bool) -> PyResult<BatchKey> {
    let py = key.py();
    let name = format!("keys[{index}]");
    let checked = match key.is_instance_of::<PyTuple>() {
        true => Err(raise(py, Error::argument(&name, "a tuple", "one value for each key"))),
        false => argument(&name, key),
    };
    match checked {
        Ok(argument) => Ok(argument.into()),
        Err(refusal) if collect && is_own(py, &refusal) => {
            let why = Error::config(shown(refusal.value(py).as_any())?);
            Ok(BatchKey { text: shown(key)?, argument: Err(why) })
        }
        Err(error) => Err(error),
    }
}
