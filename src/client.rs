//! The client: calls, listings, requests of the caller's own, many keys at once.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::task::JoinSet;

use crate::{
    api::{
        Argument, Contract, EncodedValue, Endpoint, Field, Paging, ParameterLocation,
        ResponseShape, RowsPlace, SERVER_TIME, TimeSpan,
    },
    auth::{Credentials, body_hash, payload},
    decode::{
        Page, PageSlice, Rows, RowsAt, parse_page, refused_credentials, server_time, token_answer,
    },
    error::{Error, Result},
    http::{BaseUrl, Draft, HttpResponse, ResponseParsers, Sender, SenderOptions},
    pages::{Listing, Pages, PagingStyle, TimeRange, WINDOWS_MAX},
};

/// Arguments of a call by name, unchecked.
pub type Arguments<'a> = [(&'a str, Argument)];

/// A client of the service: cheap to clone, safe to share.
#[derive(Debug, Clone)]
pub struct Client {
    sender: Arc<Sender>,
}

/// What a request would be, shown before it is sent.
#[derive(Debug)]
pub struct Explanation {
    pub method: String,
    pub url: String,
    /// The five signed lines; the last is the hash of the body.
    pub payload: Option<String>,
    pub body_hash: String,
    /// Those that describe the request, and the caller's own.
    pub headers: Vec<(String, String)>,
    /// Those that authorize it, a token struck out.
    pub authorization: Vec<(String, String)>,
}

/// The outcome of many calls: records of all keys in the order of the keys, and what failed.
#[derive(Debug, Default)]
pub struct BatchOutcome {
    pub rows: Rows,
    pub errors: Vec<(String, Error)>,
}

impl Client {
    pub fn new(
        base: BaseUrl,
        credentials: Option<Credentials>,
        options: SenderOptions,
    ) -> Result<Self> {
        let readers = ResponseParsers { clock: server_time, token: token_answer };
        Ok(Client { sender: Arc::new(Sender::new(base, credentials, options, readers)?) })
    }

    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The service's time in milliseconds.
    pub async fn server_time(&self) -> Result<i64> {
        let draft = Draft::of(&SERVER_TIME, &[])?;
        self.send(&draft, server_time).await
    }

    /// The records of an endpoint that answers all at once.
    pub async fn call(
        &self,
        endpoint: &'static Endpoint,
        arguments: &Arguments<'_>,
    ) -> Result<Rows> {
        let listing = Plan::new(endpoint, arguments)?;
        let page = self.page(&listing).await?;
        let slices = vec![PageSlice { range: 0..page.len(), page: Arc::new(page), key: None }];
        Ok(Rows::new(slices, listing.fields))
    }

    async fn page(&self, plan: &Plan) -> Result<Page> {
        self.send(&plan.draft, |answer| parse_page(plan.contract, &plan.rows_at, answer)).await
    }

    /// The records of an endpoint that answers in pages. With `windows`, its range of time is split
    /// into so many parts that are fetched side by side.
    pub fn pages(
        &self,
        endpoint: &'static Endpoint,
        arguments: &Arguments<'_>,
        windows: Option<i64>,
        resume: Option<&str>,
    ) -> Result<Pages> {
        self.list(listing(endpoint, arguments, windows)?, resume)
    }

    /// Pages of any listing.
    pub fn list(&self, listing: Listing, resume: Option<&str>) -> Result<Pages> {
        Pages::new(self.sender.clone(), listing, resume)
    }

    /// A request of the caller's own; the envelope is left to the caller.
    pub async fn request(&self, draft: &Draft) -> Result<HttpResponse> {
        self.send(draft, |answer| refused_credentials(answer).map(|()| answer.clone())).await
    }

    /// What a request would be, signed as of now.
    pub fn explain(&self, draft: &Draft) -> Result<Explanation> {
        let prepared = draft.prepare(self.sender.base(), &self.sender.options().headers)?;
        let authorization = self.sender.authorize(&prepared, None)?;
        let timestamp = authorization
            .iter()
            .find(|(name, _)| *name == crate::auth::X_TIMESTAMP)
            .and_then(|(_, value)| value.parse().ok());
        let (url, body) = (&prepared.url, &prepared.body);
        let lines = |timestamp| {
            let query = url.query().unwrap_or_default();
            payload(timestamp, prepared.method.as_str(), url.path(), query, body)
        };
        let headers: Vec<(String, String)> = prepared
            .headers
            .iter()
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        let authorization = authorization.into_iter().map(|(name, value)| {
            // A bearer token is a secret; a signature is not.
            let secret = value.starts_with("Bearer ");
            (name.to_owned(), if secret { "Bearer ***".to_owned() } else { value })
        });
        let authorization = authorization.collect();
        Ok(Explanation {
            method: prepared.method.to_string(),
            url: url.to_string(),
            payload: timestamp.map(|ms| String::from_utf8_lossy(&lines(ms)).into_owned()),
            body_hash: body_hash(body),
            headers,
            authorization,
        })
    }

    /// One endpoint for many keys, `concurrency` at a time. With `collect`, a key that fails goes
    /// into `errors`; else the first failure ends it all.
    pub async fn fetch_many(
        &self,
        endpoint: &'static Endpoint,
        keys: Vec<Argument>,
        concurrency: usize,
        collect: bool,
        done: Arc<AtomicU64>,
    ) -> Result<BatchOutcome> {
        let key_name = key_parameter(endpoint)?;
        if !collect {
            // A key that is no key is refused before anything is sent.
            for key in &keys {
                Draft::of(endpoint, &[(key_name, key.clone())])?;
            }
        }
        let mut waiting = keys.into_iter().enumerate();
        let mut running = JoinSet::new();
        let mut outcomes = BTreeMap::new();
        loop {
            while running.len() < concurrency.max(1)
                && let Some((index, key)) = waiting.next()
            {
                let client = self.clone();
                running.spawn(async move {
                    let outcome = client.all_of(endpoint, key_name, &key).await;
                    (index, EncodedValue::from(key).into_text(), outcome)
                });
            }
            let Some(finished) = running.join_next().await else { break };
            let (index, key, outcome) = finished.map_err(|error| Error::aborted(&error))?;
            done.fetch_add(1, Ordering::Relaxed);
            match outcome {
                Err(error) if !collect => return Err(error.for_key(&key)),
                outcome => outcomes.insert(index, (key, outcome)),
            };
        }
        let mut many = BatchOutcome::default();
        let mut slices = Vec::new();
        let mut fields = Fields::default();
        for (key, outcome) in outcomes.into_values() {
            match outcome {
                Err(error) => {
                    let error = error.for_key(&key);
                    many.errors.push((key, error));
                }
                Ok(rows) => {
                    let key: Arc<str> = key.into();
                    fields.add(rows.fields());
                    slices.extend(
                        rows.slices()
                            .iter()
                            .map(|slice| PageSlice { key: Some(key.clone()), ..slice.clone() }),
                    );
                }
            }
        }
        if fields.fields.is_empty() {
            // Whatever the keys are, these are the fields that records can have.
            fields.add(&declared(endpoint));
        }
        many.rows = Rows::new(slices, fields.fields.into()).with_key(key_name);
        Ok(many)
    }

    async fn all_of(
        &self,
        endpoint: &'static Endpoint,
        key_name: &str,
        key: &Argument,
    ) -> Result<Rows> {
        let arguments = [(key_name, key.clone())];
        if endpoint.paging.is_none() {
            return self.call(endpoint, &arguments).await;
        }
        let mut pages = self.pages(endpoint, &arguments, None, None)?;
        let slices = pages.gather(None, None, &AtomicU64::new(0), Vec::new).await?;
        Ok(Rows::new(slices.concat(), pages.listing().fields.clone()))
    }

    async fn send<T>(
        &self,
        draft: &Draft,
        judge: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let prepared = draft.prepare(self.sender.base(), &self.sender.options().headers)?;
        self.sender.send(&prepared, judge).await
    }
}

/// A checked request with how to read its answer.
#[derive(Debug)]
pub struct Plan {
    pub draft: Draft,
    pub contract: Contract,
    pub rows_at: RowsAt,
    pub fields: Arc<[&'static Field]>,
}

impl Plan {
    pub fn new(endpoint: &'static Endpoint, arguments: &Arguments<'_>) -> Result<Self> {
        let draft = Draft::of(endpoint, arguments)?;
        let ResponseShape::Rows(place, schema) = endpoint.answer else {
            return Err(Error::config(format!("{} answers without records", endpoint.name)));
        };
        let rows_at = match place {
            RowsPlace::At(path) => RowsAt::Path(path.iter().map(|&name| name.to_owned()).collect()),
            RowsPlace::OnlyListOf(name) => RowsAt::OnlyListOf(name.to_owned()),
        };
        let record = schema.choose(|name| {
            arguments.iter().find(|(n, _)| *n == name).and_then(|(_, argument)| match argument {
                Argument::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        let fields = record.map(|record| record.fields().collect()).unwrap_or_default();
        Ok(Plan { draft, contract: endpoint.contract(), rows_at, fields })
    }
}

/// The list of an endpoint that answers in pages.
pub fn listing(
    endpoint: &'static Endpoint,
    arguments: &Arguments<'_>,
    windows: Option<i64>,
) -> Result<Listing> {
    let plan = Plan::new(endpoint, arguments)?;
    let place = endpoint.cursor().map_or(ParameterLocation::Query, |parameter| parameter.place);
    let (style, span) = match endpoint.paging {
        Some(Paging::NextKey) => (PagingStyle::NextKey(place), TimeSpan::None),
        Some(Paging::PageFlag { first, span }) => (PagingStyle::PageFlag(place, first), span),
        None => return Err(Error::config(format!("{} has no pages", endpoint.name))),
    };
    let windows =
        windows_of(endpoint, windows).map_err(|error| error.with_endpoint(endpoint.name))?;
    let span = span_of(span, &plan.draft, windows);
    if span.is_none() && windows > 1 {
        let error = Error::argument(
            "windows",
            &windows.to_string(),
            "1 for times beyond 2^63 microseconds",
        );
        return Err(error.with_endpoint(endpoint.name));
    }
    let span = span.filter(|span| span.start.is_none() || span.end.is_none() || windows > 1);
    let Plan { draft, contract, rows_at, fields } = plan;
    Ok(Listing { draft, contract, rows_at, fields, style, span })
}

/// The range of time that a call is about, in microseconds. Nothing is sent, so none if its caller
/// left both ends open and `now_micros` does not tell the service's time.
pub fn time_range(
    endpoint: &'static Endpoint,
    arguments: &Arguments<'_>,
    now_micros: Option<i64>,
) -> Result<Option<(i64, i64)>> {
    let draft = Draft::of(endpoint, arguments)?;
    let span = match endpoint.paging {
        Some(Paging::PageFlag { span, .. }) => span_of(span, &draft, 1),
        _ => None,
    };
    let span = span.ok_or_else(|| match endpoint.has_span() {
        true => Error::config("start and end are to be split, and so below 2^63")
            .with_endpoint(endpoint.name),
        false => no_span(endpoint),
    })?;
    let known = !span.is_open() || now_micros.is_some();
    Ok(known.then(|| span.resolve(now_micros.unwrap_or_default())))
}

/// The range of a call; none if it has none, or one that does not fit a count of microseconds here.
fn span_of(span: TimeSpan, draft: &Draft, windows: usize) -> Option<TimeRange> {
    match span {
        TimeSpan::None => None,
        TimeSpan::StartEnd { default_days, time_field } => {
            let (start, end) = range_of(draft)?;
            Some(TimeRange { start, end, default_days, time_field, windows })
        }
    }
}

fn no_span(endpoint: &Endpoint) -> Error {
    Error::config(format!("{} has no range of time to split", endpoint.name))
}

/// Into how many windows a range is to be split.
fn windows_of(endpoint: &Endpoint, windows: Option<i64>) -> Result<usize> {
    let Some(windows) = windows else { return Ok(1) };
    if !endpoint.has_span() {
        return Err(no_span(endpoint));
    }
    usize::try_from(windows).ok().filter(|number| (1..=WINDOWS_MAX).contains(number)).ok_or_else(
        || {
            Error::argument(
                "windows",
                &windows.to_string(),
                &format!("an integer from 1 to {WINDOWS_MAX}"),
            )
        },
    )
}

/// Start and end of a listing's range, where its caller wrote them; 0 is as good as none. A range
/// beyond 2^63 microseconds is sent as it was given: no clock comes near it.
fn range_of(draft: &Draft) -> Option<(Option<i64>, Option<i64>)> {
    let given = |name: &str| {
        let value = draft.query.iter().find(|(n, _)| n == name);
        let micros = value.map_or(Ok(0), |(_, value)| value.parse::<i64>()).ok()?;
        Some((micros > 0).then_some(micros))
    };
    given("start").zip(given("end"))
}

/// The one required argument of an endpoint that can be asked for many keys.
fn key_parameter(endpoint: &'static Endpoint) -> Result<&'static str> {
    let mut required = endpoint.arguments().filter(|parameter| parameter.required);
    match (endpoint.answer, required.next(), required.next()) {
        (ResponseShape::Rows(..), Some(parameter), None) => Ok(parameter.name),
        _ => Err(Error::argument(
            "method",
            &format!("'{}'", endpoint.name),
            "a method with exactly one required argument, such as 'dividends'",
        )),
    }
}

/// The fields that answers of the endpoint can have, whatever its arguments are.
fn declared(endpoint: &'static Endpoint) -> Vec<&'static Field> {
    match endpoint.answer {
        ResponseShape::Rows(_, schema) => {
            schema.records().into_iter().flat_map(|record| record.fields()).collect()
        }
        _ => Vec::new(),
    }
}

/// The fields of several records, each name once.
#[derive(Default)]
struct Fields {
    fields: Vec<&'static Field>,
    names: HashSet<&'static str>,
}

impl Fields {
    fn add(&mut self, fields: &[&'static Field]) {
        self.fields.extend(fields.iter().filter(|field| self.names.insert(field.name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ENDPOINTS;

    #[test]
    fn fields_of_one_name_are_of_one_kind_in_all_records_of_an_endpoint() {
        for endpoint in ENDPOINTS {
            let mut kinds = std::collections::HashMap::new();
            for field in declared(endpoint) {
                let kind = format!("{:?}", field.kind);
                let known = kinds.entry(field.name).or_insert_with(|| kind.clone());
                assert_eq!(*known, kind, "{} of {}", field.name, endpoint.name);
            }
        }
    }
}
