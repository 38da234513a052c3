//! A list that is returned in pages: its plan, how it is paged, and its time range.

use ::http::Method;

use super::{
    date_range::{PreviousRows, advance_range, drop_repeated},
    records_call::RecordsCall,
};
use crate::{
    api::{
        Argument, CursorLocation, CursorPaging, EncodedValue, Endpoint, FirstPage, Paging,
        ParameterLocation,
    },
    auth::body_hash,
    decode::{Page, Value, canonical_json, is_last_page},
    error::{Error, Result},
    http::{Body, Cursor, RequestPlan, TimeRange},
};

/// Maximum number of windows of a time range.
pub const WINDOWS_MAX: usize = 64;

/// The number of windows that a time range is split into, to be fetched concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Windows {
    /// For records that are read as a whole, a number that the first pages suggest; for all others,
    /// one cursor.
    Auto,
    /// Exactly this number, from 1 to 64.
    Number(i64),
}

/// The plan of a list, with its kind of paging and the time range that the client fixes.
#[derive(Debug)]
pub struct PagedCall {
    /// The request to send, and how to read its response.
    pub plan: RecordsCall,
    /// The paging of the list.
    pub paging: Paging,
    /// The part of the request that carries the value that differs from page to page.
    pub place: ParameterLocation,
    /// The time range that the caller left open, which the client fixes.
    pub time_range: Option<TimeRange>,
    /// The number of windows that the time range is split into, to be fetched concurrently.
    pub windows: usize,
    /// True if the first pages choose the number of windows, for records that are read as a whole.
    pub is_auto: bool,
    /// The index of the only window to read, if only one is; the latest is 0.
    pub part: Option<usize>,
    /// The field that identifies a record, if the endpoint declares one.
    pub record_id: Option<String>,
    /// The required arguments of a built-in endpoint, such as `acc_id 281756, trd_market HK` for an
    /// account. The arguments of other requests may be secrets.
    pub subject: Option<String>,
}

impl PagedCall {
    /// Creates the call of an endpoint and checks its arguments.
    pub fn new<N: AsRef<str>>(
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
        windows: Option<Windows>,
    ) -> Result<Self> {
        let plan = RecordsCall::new(endpoint, arguments)?;
        let place = endpoint
            .cursor()
            .map(|parameter| parameter.place)
            .or(endpoint.undeclared)
            .unwrap_or(ParameterLocation::Query);
        let paging = endpoint.paging.clone().ok_or_else(|| {
            Error::config(format!(
                "{} does not return pages; use call, or declare its paging",
                endpoint.name
            ))
        })?;
        let is_auto =
            !matches!(windows, Some(Windows::Number(_))) && plan.request.time_range.is_some();
        let windows = check_windows(endpoint, windows)
            .map_err(|error| error.with_endpoint(&endpoint.name))?;
        let time_range = plan.request.time_range.filter(|range| !range.is_given());
        let record_id = record_id(&paging).or_else(|| endpoint.record_id.map(str::to_owned));
        let subject = subject(endpoint, arguments);
        let part = None;
        Ok(PagedCall {
            plan,
            paging,
            place,
            time_range,
            windows,
            is_auto,
            part,
            record_id,
            subject,
        })
    }

    /// Restricts the call to one of `parts` windows of the time range, the latest of which is 0.
    pub fn restricted_to_part(
        self,
        endpoint: &Endpoint,
        part: usize,
        parts: usize,
    ) -> Result<Self> {
        let range = self.plan.request.time_range.ok_or_else(|| no_time_range(endpoint))?;
        let is_part = range.known().is_some_and(|(start, end)| {
            // A range has at most one window for each microsecond.
            let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            part < parts && parts <= length.max(1)
        });
        if !is_part || self.windows > 1 {
            return Err(Error::config(format!(
                "{part} of {parts} is not a part of this call's time range"
            )));
        }
        Ok(PagedCall { windows: parts, is_auto: false, part: Some(part), ..self })
    }

    /// Creates the call of a custom request, with the records at `rows` of the response. The cursor
    /// is sent in the query of a GET, otherwise in the body.
    pub fn custom(request: RequestPlan, rows: &str, paging: Paging) -> Self {
        let is_get = request.method == Method::GET;
        let place = if is_get { ParameterLocation::Query } else { ParameterLocation::Body };
        // Reading a list changes nothing at the service.
        let plan = RecordsCall::custom(request.idempotent(), rows);
        let record_id = record_id(&paging);
        PagedCall {
            plan,
            paging,
            place,
            time_range: None,
            windows: 1,
            is_auto: false,
            part: None,
            record_id,
            subject: None,
        }
    }

    /// Returns the cursor to send; none for the first page of some lists. The caller's own cursor
    /// is sent unchanged.
    pub fn cursor<'a>(&'a self, cursor: Option<&'a str>) -> Option<Cursor<'a>> {
        let (place, name) = (self.place, self.paging.parameter());
        let is_empty = matches!(&self.paging, Paging::Cursor(c) if c.first == FirstPage::Empty);
        let first = || is_empty && self.plan.request.parameter(place, name).is_none();
        let value = cursor.or_else(|| first().then_some(""))?;
        Some(Cursor { place, name, value })
    }

    /// Returns the cursor of the page after the page at `cursor`: none if the service says that
    /// there are no more pages, or if a range of dates is exhausted. An empty page does not end the
    /// list. If the caller named the field that identifies a row, rows that the page repeats from
    /// the previous one are removed. The next page has to be compared with the rows that are
    /// returned.
    pub fn advance(
        &self,
        page: &mut Page,
        cursor: Option<&str>,
        previous: &PreviousRows,
    ) -> Result<(Option<String>, PreviousRows)> {
        let is_last = self.is_last(page)?;
        match &self.paging {
            Paging::Cursor(cursor) => {
                let next = (!is_last).then(|| next_cursor(cursor, page)).transpose()?;
                Ok((next, PreviousRows::default()))
            }
            Paging::DateRange(range) if is_last => {
                drop_repeated(range, page, previous).map(|rows| (None, rows))
            }
            Paging::DateRange(range) => {
                let given = |name| self.plan.request.parameter(self.place, name);
                let start = given("start");
                let end = cursor.map(str::to_owned).or_else(|| given(&range.end));
                advance_range(range, page, (start.as_deref(), end.as_deref()), previous)
            }
        }
    }

    fn is_last(&self, page: &Page) -> Result<bool> {
        let value = |location, name: &str| metadata(page, location, name);
        is_last_page(&self.paging, value).map_err(|name| {
            Error::protocol(format!("the page has no {name}; expected true or false"), page.body())
        })
    }

    /// Returns a short digest of a record: of the field that identifies it, or of the whole record.
    /// Different spellings of the same values have the same digest.
    pub fn digest(&self, page: &Page, index: usize) -> String {
        let id = self.record_id.as_deref().and_then(|name| {
            let mut members = page.row(index).ok()?.into_iter();
            members.find(|(key, _)| key == name).map(|(_, value)| value.get().to_owned())
        });
        let json = id.as_deref().unwrap_or_else(|| page.row_text(index));
        short_digest(&canonical_json(json), 8)
    }

    /// Identifies the call: the same method, path and arguments have the same digest.
    pub fn identity(&self) -> String {
        let request = &self.plan.request;
        let body = match &request.body {
            // A list has no form; the values of a form would be secrets.
            Body::None | Body::Form(_) => String::new(),
            Body::Json(members) => {
                members.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
            }
            Body::Bytes(bytes, _) => body_hash(bytes),
        };
        let (method, path, query) = (&request.method, &request.path, &request.query);
        // In a list with another kind of paging, the same position is a different row.
        let paging = match &self.paging {
            Paging::Cursor(_) => String::new(),
            Paging::DateRange(range) => format!("{range}\n"),
        };
        // The number of windows is not part of the identity, unless only one window is read.
        let windows = match self.part {
            Some(part) => format!("{part}/{}", self.windows),
            None => "1".to_owned(),
        };
        let text = format!("{method}\n{path}\n{query:?}\n{windows}\n{paging}{body}");
        short_digest(&text, 32)
    }
}

fn subject<N: AsRef<str>>(endpoint: &Endpoint, arguments: &[(N, Argument)]) -> Option<String> {
    let is_built_in = endpoint.undeclared.is_none();
    let required = endpoint.parameters.iter().filter(|parameter| parameter.required && is_built_in);
    let shown = required.filter_map(|parameter| {
        let (_, argument) = arguments.iter().find(|(name, _)| name.as_ref() == parameter.name)?;
        let value = EncodedValue::from(argument.clone()).into_text();
        Some(format!("{} {value}", parameter.name))
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    (!shown.is_empty()).then_some(shown)
}

/// Returns the first digits of the digest of a text.
pub(super) fn short_digest(text: &str, digits: usize) -> String {
    body_hash(text.as_bytes()).chars().take(digits).collect()
}

/// Returns the field that the caller named as identifying a record.
fn record_id(paging: &Paging) -> Option<String> {
    match paging {
        Paging::DateRange(range) => range.unique.clone(),
        Paging::Cursor(_) => None,
    }
}

fn next_cursor(cursor: &CursorPaging, page: &Page) -> Result<String> {
    let CursorPaging { name, location, .. } = *cursor;
    let value = metadata(page, location, name);
    value.as_ref().and_then(Value::as_token).map(str::to_owned).ok_or_else(|| {
        Error::protocol(format!("the page has no {name} for the next page"), page.body())
    })
}

fn metadata<'a>(page: &'a Page, location: CursorLocation, name: &str) -> Option<Value<'a>> {
    match location {
        CursorLocation::BesideRows => page.meta_member(name),
        CursorLocation::Pagination => page.pagination(name),
    }
}

/// Returns the time range of a call in microseconds. Sends nothing: without `now_micros`, an open
/// range is none.
pub fn time_range<N: AsRef<str>>(
    endpoint: &Endpoint,
    arguments: &[(N, Argument)],
    now_micros: Option<i64>,
) -> Result<Option<(i64, i64)>> {
    let plan = RequestPlan::new(endpoint, arguments)?;
    let range = plan.time_range.ok_or_else(|| no_time_range(endpoint))?;
    let resolved = now_micros.map_or(Ok(range.known()), |now| range.resolve(now).map(Some));
    resolved.map_err(|error| error.with_endpoint(&endpoint.name))
}

/// Checks the number of windows into which a time range is to be split.
pub fn check_windows(endpoint: &Endpoint, windows: Option<Windows>) -> Result<usize> {
    let Some(windows) = windows else { return Ok(1) };
    if endpoint.time_range().is_none() {
        return Err(no_time_range(endpoint));
    }
    let Windows::Number(windows) = windows else { return Ok(1) };
    usize::try_from(windows).ok().filter(|number| (1..=WINDOWS_MAX).contains(number)).ok_or_else(
        || {
            Error::argument(
                "windows",
                &windows.to_string(),
                &format!("an integer from 1 to {WINDOWS_MAX}, or 'auto'"),
            )
        },
    )
}

fn no_time_range(endpoint: &Endpoint) -> Error {
    Error::config(format!("{} has no time range to split", endpoint.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;

    #[test]
    fn the_range_of_a_call_reaches_until_now_if_its_end_is_open_and_that_is_known() {
        let endpoint = api::endpoint("fills_history").expect("an endpoint");
        let range = |more: &[(&'static str, &str)], now| {
            let given = [("acc_id", "1"), ("trd_market", "HK"), ("start", "2026-01-01T00:00:00Z")];
            let arguments =
                given.iter().chain(more).map(|(name, text)| (*name, Argument::text(text)));
            time_range(endpoint, &arguments.collect::<Vec<_>>(), now).expect("a range")
        };
        let (start, end) = (1_767_225_600_000_000, 1_767_312_000_000_000);
        assert_eq!(range(&[], None), None);
        assert_eq!(range(&[], Some(end)), Some((start, end)));
        assert_eq!(range(&[("end", "2026-01-02T00:00:00Z")], None), Some((start, end)));
    }
}
