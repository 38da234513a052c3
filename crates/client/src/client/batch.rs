//! Calls one endpoint for many keys, several at a time: all records as one result, or the pages of
//! all keys as one list.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{sync::Semaphore, task::JoinSet};

use super::Client;
use crate::{
    api::{Argument, EncodedValue, Endpoint, EndpointRef, Field, ResponseShape},
    decode::{PageSlice, Rows},
    error::{Error, Result},
    http::{RequestPlan, TimeRange},
    os::origin::{on_behalf_of, origin},
    pages::{Listing, ListingOfKeys, PagedCall, Pages, Windows, check_windows},
};

/// Outcome of a call for many keys: the records in the order of the keys, and the failures.
#[derive(Debug, Default)]
pub struct BatchOutcome {
    /// The records, each with its key.
    pub rows: Rows,
    /// The keys that failed.
    pub errors: Vec<(String, Error)>,
}

/// A key of a call for many keys.
#[derive(Debug, Clone)]
pub struct BatchKey {
    /// Name of the key among the results and failures.
    pub text: String,
    /// Argument for the key, or the reason why it cannot be sent. Such a key fails like one that
    /// the service rejects.
    pub argument: Result<Argument>,
}

impl From<Argument> for BatchKey {
    fn from(argument: Argument) -> Self {
        let text = EncodedValue::from(argument.clone()).into_text();
        BatchKey { text, argument: Ok(argument) }
    }
}

impl Client {
    /// Calls an endpoint for many keys, with at most `concurrency` requests at a time, each with
    /// the `fixed` arguments. With `collect`, failures are collected in `errors`; otherwise the
    /// first failure ends the call. `done` counts finished keys.
    #[doc(hidden)]
    pub async fn fetch_many(
        &self,
        endpoint: EndpointRef,
        keys: Vec<BatchKey>,
        fixed: Vec<(String, Argument)>,
        (concurrency, collect): (usize, bool),
        windows: Option<Windows>,
        done: Arc<AtomicU64>,
    ) -> Result<BatchOutcome> {
        check_windows(&endpoint, windows)?;
        let key_name = key_parameter(&endpoint, &fixed)?.to_owned();
        let arguments_of = |key: &BatchKey, fixed: &[(String, Argument)]| {
            with_key(&endpoint, &key_name, key, fixed)
        };
        let plan = |key| RequestPlan::new(&endpoint, &arguments_of(key, &fixed)?);
        let of_key = |key| is_refused(&endpoint, &key_name, key, &fixed);
        let plans = checked(&keys, keys.iter().map(plan).collect(), collect, of_key)?;
        let mut ranges = plans.into_iter().flatten().filter_map(|plan| plan.time_range);
        let range = ranges.next().filter(TimeRange::is_open);
        let fixed = match range {
            Some(range) => self.with_one_range(range, fixed).await?,
            None => fixed,
        };
        let concurrency = concurrency.max(1);
        // With more keys, the keys are read concurrently.
        let windows = match windows {
            None | Some(Windows::Auto) if keys.len() * 2 < concurrency => Windows::Auto,
            None | Some(Windows::Auto) => Windows::Number(1),
            Some(number) => number,
        };
        let has_windows = endpoint.paging.is_some() && endpoint.time_range().is_some();
        let permits = Arc::new(Semaphore::new(concurrency));
        let mut waiting = keys.into_iter().enumerate();
        let mut running = JoinSet::new();
        let mut outcomes = BTreeMap::new();
        loop {
            while running.len() < concurrency
                && let Some((index, key)) = waiting.next()
            {
                let (client, endpoint) = (self.clone(), endpoint.clone());
                let (arguments, permits) = (arguments_of(&key, &fixed), permits.clone());
                running.spawn(on_behalf_of(origin(), async move {
                    let outcome = match arguments {
                        Err(error) => Err(error),
                        Ok(arguments) if has_windows => {
                            client.call_with_permits(&endpoint, &arguments, windows, permits).await
                        }
                        Ok(arguments) => client.call(&endpoint, &arguments).await,
                    };
                    (index, key.text, outcome)
                }));
            }
            let Some(finished) = running.join_next().await else { break };
            let (index, key, outcome) = finished.map_err(|error| Error::aborted(&error))?;
            done.fetch_add(1, Ordering::Relaxed);
            match outcome {
                Err(error) if !collect => return Err(error.for_key(&key)),
                outcome => outcomes.insert(index, (key, outcome)),
            };
        }
        let mut errors = Vec::new();
        let mut slices = Vec::new();
        let mut fields: Vec<Field> = Vec::new();
        // Adds each name once.
        let mut add = |own: &[Field]| {
            for field in own {
                if fields.iter().all(|known| known.name != field.name) {
                    fields.push(field.clone());
                }
            }
        };
        for (key, outcome) in outcomes.into_values() {
            match outcome {
                Err(error) => {
                    let error = error.for_key(&key);
                    errors.push((key, error));
                }
                Ok(rows) => {
                    let key: Arc<str> = key.into();
                    add(rows.fields());
                    slices.extend(
                        rows.slices()
                            .iter()
                            .map(|slice| PageSlice { key: Some(key.clone()), ..slice.clone() }),
                    );
                }
            }
        }
        if slices.is_empty() {
            // Without a response, the records can have any of the endpoint's fields.
            add(&declared_fields(&endpoint));
        }
        let rows = Rows::new(slices, fields.into()).with_key(&key_name);
        Ok(BatchOutcome { rows, errors })
    }

    /// Returns the pages of an endpoint for many keys as one list, in the order of the keys, each
    /// request with the `fixed` arguments. `concurrency` keys, or windows of them, are read
    /// concurrently. An open time range is the same for all of them. With `collect`, a failed key
    /// is noted and the next one is read.
    #[doc(hidden)]
    pub fn pages_many(
        &self,
        endpoint: &Endpoint,
        keys: &[BatchKey],
        fixed: &[(String, Argument)],
        (concurrency, collects_errors): (usize, bool),
        windows: Option<Windows>,
        resume: Option<&str>,
    ) -> Result<Pages> {
        let key_name = key_parameter(endpoint, fixed)?;
        if endpoint.paging.is_none() {
            return Err(Error::config(format!(
                "{} does not return pages; use fetch_many",
                endpoint.name
            )));
        }
        check_windows(endpoint, windows)?;
        let call =
            |key| PagedCall::new(endpoint, &with_key(endpoint, key_name, key, fixed)?, windows);
        let calls = keys.iter().map(call).collect();
        let of_key = |key| is_refused(endpoint, key_name, key, fixed);
        let calls = checked(keys, calls, collects_errors, of_key)?;
        let fields = calls.iter().flatten().next().map(|call| call.plan.fields.clone());
        let fields = fields.unwrap_or_else(|| declared_fields(endpoint));
        let texts = keys.iter().map(|key| key.text.as_str().into());
        let of_keys = ListingOfKeys { key_name: key_name.into(), concurrency, collects_errors };
        let calls = texts.zip(calls).collect();
        self.list(Listing::of_keys(of_keys, calls, &endpoint.name, fields), resume)
    }
}

/// Returns the arguments of the call for a key, or the reason why it cannot be sent.
fn with_key(
    endpoint: &Endpoint,
    name: &str,
    key: &BatchKey,
    fixed: &[(String, Argument)],
) -> Result<Vec<(String, Argument)>> {
    let argument = key.argument.clone().map_err(|error| error.with_endpoint(&endpoint.name))?;
    Ok(std::iter::once((name.to_owned(), argument)).chain(fixed.iter().cloned()).collect())
}

/// Returns true if the key, and not another argument, is the reason why its call cannot be sent.
fn is_refused(
    endpoint: &Endpoint,
    name: &str,
    key: &BatchKey,
    fixed: &[(String, Argument)],
) -> bool {
    let text = |wanted: &str| match fixed.iter().find(|(name, _)| name == wanted) {
        Some((_, Argument::Text(text))) => Some(text.as_str()),
        _ => None,
    };
    match (&key.argument, endpoint.parameter(name)) {
        (Err(_), _) => true,
        (Ok(argument), Some(parameter)) if !fixed.is_empty() => {
            parameter.check(argument, text).is_err()
        }
        (Ok(_), _) => fixed.is_empty(),
    }
}

/// Checks the calls of all keys before anything is sent. A key with invalid arguments is refused
/// unless failures are collected. The other arguments, about which `is_refused` says nothing, are
/// always checked.
fn checked<'a, T>(
    keys: &'a [BatchKey],
    calls: Vec<Result<T>>,
    collect: bool,
    is_refused: impl Fn(&'a BatchKey) -> bool,
) -> Result<Vec<Result<T>>> {
    if !collect {
        return calls.into_iter().map(|call| call.map(Ok)).collect();
    }
    let mut refused = None;
    for (call, key) in calls.iter().zip(keys) {
        match call {
            Ok(_) => return Ok(calls),
            Err(error) if refused.is_none() && !is_refused(key) => refused = Some(error.clone()),
            Err(_) => {}
        }
    }
    refused.map_or(Ok(calls), Err)
}

impl Client {
    /// Resolves an open time range, so that it ends at the same moment for all keys.
    async fn with_one_range(
        &self,
        range: TimeRange,
        mut fixed: Vec<(String, Argument)>,
    ) -> Result<Vec<(String, Argument)>> {
        let (start, end) = range.resolve(self.service_now().await?)?;
        let is_kept = |(name, _): &(String, Argument)| {
            name != "end" && (name != "start" || range.start.is_some())
        };
        fixed.retain(is_kept);
        if range.start.is_none() {
            fixed.push(("start".to_owned(), Argument::Integer(start.into())));
        }
        fixed.push(("end".to_owned(), Argument::Integer(end.into())));
        Ok(fixed)
    }
}

/// Finds the argument that takes the keys: the only required one that is not fixed, or the only
/// declared one.
fn key_parameter<'a>(endpoint: &'a Endpoint, fixed: &[(String, Argument)]) -> Result<&'a str> {
    let open = || {
        endpoint
            .arguments()
            .filter(|parameter| fixed.iter().all(|(name, _)| *name != parameter.name))
    };
    let only = |required: bool| {
        let mut found = open().filter(|parameter| parameter.required == required);
        found.next().filter(|_| found.next().is_none())
    };
    let key = match open().any(|parameter| parameter.required) {
        true => only(true),
        false => only(false).filter(|_| endpoint.undeclared.is_some()),
    };
    match (&endpoint.response, key) {
        (ResponseShape::Rows(..), Some(parameter)) => Ok(&parameter.name),
        _ if endpoint.undeclared.is_some() => Err(Error::config(format!(
            "{} has no argument for the keys; expected exactly one name in its path, or exactly one \
             declared argument",
            endpoint.name
        ))),
        (ResponseShape::Rows(..), None) if open().any(|parameter| parameter.required) => {
            let names: Vec<String> = open()
                .filter(|parameter| parameter.required)
                .skip(1)
                .map(|parameter| format!("{}=", parameter.name))
                .collect();
            Err(Error::config(format!(
                "{} has {} required argument{} besides the keys; pass {} by name, the same for all keys",
                endpoint.name,
                names.len(),
                if names.len() == 1 { "" } else { "s" },
                names.join(" and ")
            )))
        }
        _ => Err(Error::argument(
            "method",
            &format!("'{}'", endpoint.name),
            "a method that returns records and has an argument for the keys, such as 'dividends'",
        )),
    }
}

/// Returns the fields that records of the endpoint can have, whatever its arguments are.
fn declared_fields(endpoint: &Endpoint) -> Arc<[Field]> {
    match &endpoint.response {
        ResponseShape::Rows(_, schema) => schema.all_fields(),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ENDPOINTS;

    #[test]
    fn fields_of_the_same_name_have_the_same_kind_in_all_records_of_an_endpoint() {
        for endpoint in ENDPOINTS {
            let mut kinds = std::collections::HashMap::new();
            for field in declared_fields(endpoint).iter() {
                let kind = format!("{:?}", field.kind);
                let known = kinds.entry(field.name.clone()).or_insert_with(|| kind.clone());
                assert_eq!(*known, kind, "{} of {}", field.name, endpoint.name);
            }
        }
    }
}
