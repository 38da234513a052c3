//! Rows of an endpoint, built in or supplied by a test. The endpoint's row in the table determines
//! how they are filtered and paged.

use std::{
    cmp::Ordering,
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use boardlot_service::{
    api::{
        DateRange, Endpoint, EndpointRef, Field, Kind, MICROS_PER_DAY, NextEnd, Paging,
        ResponseShape, Schema, TimeRangeSpec,
    },
    error::{Error, Result},
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    lock,
    wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult, Rejection},
        paging::{page, page_size},
    },
};

const DATE_RANGE_PAGE: usize = 100;
/// Maximum difference between the end of the default range and the current time.
const NOW_TOLERANCE_MICROS: u64 = 600_000_000;
/// Number of lists whose rows are remembered: as many as a client with many windows reads
/// concurrently.
const LISTS_MAX: usize = 64;
/// The fields that the sandbox reads. It only sends the others, which would take most of the
/// memory.
const READ: [&str; 6] =
    ["code", "data_date", "dividend_per_share", "market", "time", "updated_time"];

/// A record as it is sent, and the values that select it.
#[derive(Debug, Clone)]
pub struct Row(Arc<(Box<RawValue>, Map<String, Value>)>);

impl Row {
    /// Creates the record of these members, in their order.
    pub fn of(members: &[(&str, Value)]) -> Self {
        let json = members.iter().map(|(name, value)| format!("{}:{value}", json!(name)));
        let json = format!("{{{}}}", json.collect::<Vec<_>>().join(","));
        let read = members.iter().filter(|(name, _)| READ.contains(name));
        let read = read.map(|(name, value)| ((*name).to_owned(), value.clone()));
        Row(Arc::new((RawValue::from_string(json).unwrap_or_default(), read.collect())))
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.0.1.get(field)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.0.serialize(serializer)
    }
}

/// The rows of the most recent lists, so that not every page of a list has to search all rows.
#[derive(Debug, Default)]
pub struct Lists(Mutex<VecDeque<(String, Arc<[Row]>)>>);

impl Lists {
    /// Answers a request with the rows that pass its filters; for dividends, with at most this
    /// many. Rows that are `of_market` belong to the request's market, whatever their codes say.
    pub fn respond(
        &self,
        seed: u64,
        arguments: &Arguments,
        dividends: usize,
        of_market: bool,
        all: impl FnOnce() -> std::result::Result<Vec<Row>, Rejection>,
    ) -> HandlerResult {
        let is_default = is_default_range(arguments);
        let list = format!("{:?} {is_default}", arguments.identity());
        let known = lock(&self.0).iter().find(|(known, _)| *known == list).cloned();
        if let Some((_, rows)) = known {
            return respond(seed, &rows, arguments, dividends);
        }
        let mut rows = all()?;
        rows.retain(|row| is_wanted(row, arguments, is_default, of_market));
        let rows: Arc<[Row]> = rows.into();
        let mut lists = lock(&self.0);
        lists.truncate(LISTS_MAX - 1);
        lists.push_front((list, Arc::clone(&rows)));
        drop(lists);
        respond(seed, &rows, arguments, dividends)
    }
}

/// Rows that a test supplies: for an endpoint that it declared, or instead of the built-in ones.
#[derive(Debug)]
pub struct CustomRows {
    pub endpoint: EndpointRef,
    /// The arguments of the requests that get these rows.
    only: Vec<(String, String)>,
    pub rows: Vec<Row>,
    pub lists: Lists,
}

impl CustomRows {
    /// Creates rows from `json`, a list of objects, for requests with the arguments `only`.
    pub fn new(endpoint: EndpointRef, json: &str, only: Vec<(String, String)>) -> Result<Self> {
        let list: Vec<Box<RawValue>> = serde_json::from_str(json)
            .map_err(|error| Error::config(format!("rows is not a list: {error}")))?;
        let time_field = time_field(&endpoint)?;
        let is_read = |name: &str| READ.contains(&name) || time_field.as_deref() == Some(name);
        let mut rows: Vec<Row> = list
            .into_iter()
            .enumerate()
            .map(|(index, json)| match serde_json::from_str::<Map<String, Value>>(json.get()) {
                Ok(mut values) => {
                    values.retain(|name, _| is_read(name));
                    Ok(Row(Arc::new((json, values))))
                }
                Err(_) => {
                    let shown: String = json.get().chars().take(40).collect();
                    Err(Error::argument(&format!("rows[{index}]"), &shown, "a dict"))
                }
            })
            .collect::<Result<_>>()?;
        if let Some((name, _)) = only
            .iter()
            .find(|(name, _)| endpoint.parameter(name).is_none() && endpoint.undeclared.is_none())
        {
            let names: Vec<&str> = endpoint.arguments().map(|p| p.name.as_ref()).collect();
            let shown = format!("not an argument of {}", endpoint.name);
            return Err(Error::argument(name, &shown, &format!("one of {}", names.join(", "))));
        }
        if let Some(field) = time_field {
            sort(&mut rows, &field)?;
        }
        Ok(CustomRows { endpoint, only, rows, lists: Lists::default() })
    }

    /// Fails for a number where the service sends a text, such as a quantity: code that works with
    /// the number would fail in production. Everything else is left to the test. For a timestamp,
    /// the client reads both forms.
    pub fn check_numbers(&self) -> Result<()> {
        let ResponseShape::Rows(_, schema) = &self.endpoint.response else { return Ok(()) };
        let fields = schema.all_fields();
        let is_text = |field: &Field| {
            field.json_type() == "string" && !matches!(field.kind, Kind::Timestamp(..))
        };
        for (index, row) in self.rows.iter().enumerate() {
            let Ok(members) = serde_json::from_str::<Map<String, Value>>(row.0.0.get()) else {
                continue;
            };
            for (name, value) in members.iter().filter(|(_, value)| value.is_number()) {
                let mut declared = fields.iter().filter(|field| field.name == *name).peekable();
                if declared.peek().is_some() && declared.all(is_text) {
                    let place = format!("rows[{index}]['{}']", name.escape_debug());
                    let expected = format!("a string, as the service sends it: '{value}'");
                    return Err(Error::argument(&place, &value.to_string(), &expected));
                }
            }
        }
        Ok(())
    }

    /// Returns true if the test says which market these rows belong to.
    pub fn of_market(&self) -> bool {
        self.only.iter().any(|(name, _)| name == "trd_market")
    }

    /// Returns true if these are the rows of the same requests.
    pub fn replaces(&self, other: &CustomRows) -> bool {
        self.endpoint.method == other.endpoint.method
            && self.endpoint.path == other.endpoint.path
            && self.only == other.only
    }

    /// Returns true if a request gets these rows.
    pub fn is_for(&self, arguments: &Arguments) -> bool {
        self.endpoint.path == arguments.endpoint.path
            && self.endpoint.method == arguments.endpoint.method
            && self.only.iter().all(|(name, value)| arguments.get(name) == Some(value))
    }
}

/// Sorts the rows, the earliest first, as a range of dates selects them.
fn sort(rows: &mut [Row], field: &str) -> Result<()> {
    let is_sortable =
        |row: &Row| matches!(row.get(field), Some(Value::String(_) | Value::Number(_)));
    if let Some(index) = rows.iter().position(|row| !is_sortable(row)) {
        return Err(Error::config(format!(
            "rows[{index}] has no {field}; expected a number or a date to page by"
        )));
    }
    rows.sort_by(|one, other| compare(one.get(field), other.get(field)).unwrap_or(Ordering::Equal));
    Ok(())
}

/// Returns the requested page of a list; for dividends, at most this many rows.
fn respond(seed: u64, rows: &[Row], arguments: &Arguments, dividends: usize) -> HandlerResult {
    let endpoint = &arguments.endpoint;
    let mut body = Body::new(endpoint);
    match &endpoint.paging {
        None if is_built_in(endpoint, "dividends") => {
            let amounts = rows.iter().filter_map(|row| row.get("dividend_per_share"));
            // The sum of an empty list is -0.0.
            let money = amounts.filter_map(Value::as_f64).sum::<f64>() + 0.0;
            body.beside("total_dividend_count", json!(rows.len()));
            body.beside("total_dividend_money", json!(money));
            Ok(body.rows(&rows.get(..dividends).unwrap_or(rows)))
        }
        None => {
            let limit = arguments.integer("limit").map_or(rows.len(), |limit| limit as usize);
            Ok(body.rows(&rows.get(..limit).unwrap_or(rows)))
        }
        Some(Paging::Cursor(_)) => {
            page(body, seed, arguments, rows.len(), |part| rows.get(part).unwrap_or_default())
        }
        Some(Paging::DateRange(range)) => date_page(body, range, rows, arguments),
    }
}

/// Returns the rows up to the end of the range. Rows with the same time are never split between two
/// pages.
fn date_page(
    mut body: Body,
    range: &DateRange,
    rows: &[Row],
    arguments: &Arguments,
) -> HandlerResult {
    let field = time_field(&arguments.endpoint).ok().flatten().unwrap_or_default();
    let limit = page_size(arguments, "limit", DATE_RANGE_PAGE)?;
    let time = |row: &Row| row.get(&field).cloned();
    let mut first = rows.len().saturating_sub(limit);
    while let (Some(before), Some(row)) = (first.checked_sub(1), rows.get(first))
        && rows.get(before).is_some_and(|other| time(other) == time(row))
    {
        first = before;
    }
    let earlier = first.checked_sub(1).and_then(|before| rows.get(before));
    body.top("pagination", json!({ "has_more": earlier.is_some() }));
    if let NextEnd::At(path) = &range.next {
        let next = earlier.and_then(time).unwrap_or_else(|| Value::String(String::new()));
        body.at(path, next);
    }
    Ok(body.rows(&rows.get(first..).unwrap_or_default()))
}

/// Returns true if a row passes the filters of the request.
fn is_wanted(row: &Row, arguments: &Arguments, is_default_range: bool, of_market: bool) -> bool {
    let endpoint = &arguments.endpoint;
    let within = |field: &str, start: &str, end: &str| {
        let Some(value) = row.get(field) else { return true };
        let bound = |name: &str, beyond: Ordering| {
            let bound = arguments.get(name).filter(|bound| !bound.is_empty());
            bound.and_then(|bound| compare_text(value, bound)) != Some(beyond)
        };
        bound(start, Ordering::Less) && bound(end, Ordering::Greater)
    };
    if let (Ok(Some(field)), Some(Paging::DateRange(range))) =
        (time_field(endpoint), &endpoint.paging)
    {
        return within(&field, "start", &range.end);
    }
    if is_built_in(endpoint, "fills_history") {
        let code = row.get("code").and_then(Value::as_str);
        let market = code.and_then(|code| code.split_once('.'));
        let wanted = arguments.text("code");
        let is_there = |prefix: &str| market_of(prefix) == arguments.text("trd_market");
        return (of_market || market.is_none_or(|(prefix, _)| is_there(prefix)))
            && (wanted.is_empty() || code == Some(wanted))
            && (is_default_range || within("updated_time", "start", "end"));
    }
    if is_built_in(endpoint, "sim_positions") {
        let market = row.get("market").and_then(Value::as_i64);
        return arguments.integer("market").is_none_or(|wanted| market == Some(wanted));
    }
    !is_built_in(endpoint, "trading_days") || within("time", "start", "end")
}

/// Returns the market of codes with this prefix, as `trd_market` names it.
pub fn market_of(prefix: &str) -> &str {
    if matches!(prefix, "SH" | "SZ" | "BJ") { "CN" } else { prefix }
}

fn is_built_in(endpoint: &EndpointRef, name: &str) -> bool {
    matches!(endpoint, EndpointRef::BuiltIn(endpoint) if endpoint.name == name)
}

/// Returns true if a request is for the range that replaces an open one: the days up to now. Such a
/// request gets a test's rows whatever their times, so that the test's data do not age.
fn is_default_range(arguments: &Arguments) -> bool {
    let Some(TimeRangeSpec { default_days, .. }) = arguments.endpoint.time_range() else {
        return false;
    };
    let bound = |name: &str| arguments.integer(name).filter(|micros| *micros > 0);
    match (bound("start"), bound("end")) {
        (None, None) => true,
        (Some(start), Some(end)) => {
            let now = arguments.now_ms.saturating_mul(1_000);
            let length = default_days * MICROS_PER_DAY;
            end.abs_diff(now) < NOW_TOLERANCE_MICROS && end.saturating_sub(start) == length
        }
        _ => false,
    }
}

/// Returns the field of the records to which a range of dates applies; none for an endpoint without
/// such a range.
fn time_field(endpoint: &Endpoint) -> Result<Option<String>> {
    let Some(Paging::DateRange(range)) = &endpoint.paging else { return Ok(None) };
    if let NextEnd::DayBefore(field) = &range.next {
        return Ok(Some(field.clone()));
    }
    let declared = match &endpoint.response {
        ResponseShape::Rows(_, Schema::Fields(fields)) => fields
            .iter()
            .find(|field| matches!(field.kind, Kind::Date | Kind::Timestamp(..)))
            .map(|field| field.name.clone().into_owned()),
        _ => None,
    };
    declared.or_else(|| range.unique.clone()).map(Some).ok_or_else(|| {
        Error::config(format!(
            "the sandbox cannot tell the time of a row of {}; declare a date or time in record, or \
             unique= in its DateRange",
            endpoint.name
        ))
    })
}

fn compare(one: Option<&Value>, other: Option<&Value>) -> Option<Ordering> {
    match (one?, other?) {
        (Value::Number(one), Value::Number(other)) => one.as_f64()?.partial_cmp(&other.as_f64()?),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// Compares a value with a bound. If the bound is a date, all times on that day are equal to it.
fn compare_text(value: &Value, bound: &str) -> Option<Ordering> {
    match value {
        Value::Number(number) => number.as_f64()?.partial_cmp(&bound.parse().ok()?),
        Value::String(text) => {
            // A date may have slashes, as in some of the service's responses.
            let text = text.get(..bound.len()).unwrap_or(text).replace('/', "-");
            Some(text.cmp(&bound.replace('/', "-")))
        }
        _ => None,
    }
}
