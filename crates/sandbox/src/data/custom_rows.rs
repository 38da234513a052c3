//! Rows that a test brings along: for an endpoint that the user declared, or in place of generated
//! ones. They are filtered and paged as the endpoint's row says.

use std::{
    cmp::Ordering,
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    api::{
        DateRange, Endpoint, EndpointRef, Kind, MICROS_PER_DAY, NextEnd, Paging, ResponseShape,
        Schema, TimeRangeSpec,
    },
    error::{Error, Result},
    sandbox::{
        sync::lock,
        wire::{
            arguments::Arguments,
            envelope::{Body, HandlerResult},
            paging::{page, page_size},
        },
    },
};

const DATE_RANGE_PAGE: usize = 100;
/// By how much the end of the default range may differ from now.
const NOW_TOLERANCE_MICROS: i64 = 600_000_000;
/// The lists whose rows are remembered: as many as a client with many windows reads at a time.
const LISTS_MAX: usize = 64;
/// The fields that are looked at. The others are only sent, and would take most of the memory.
const READ: [&str; 5] = ["code", "dividend_per_share", "market", "time", "updated_time"];

/// The rows of an endpoint.
#[derive(Debug)]
pub struct CustomRows {
    pub endpoint: EndpointRef,
    /// The arguments of the requests that get these rows.
    only: Vec<(String, String)>,
    rows: Vec<CustomRow>,
    /// The field by which a range of dates selects rows.
    time_field: Option<String>,
    /// The rows of the last lists, so that not every page of a list looks through all rows.
    lists: Mutex<VecDeque<(List, Arc<[CustomRow]>)>>,
}

#[derive(Debug, Clone)]
struct CustomRow(Arc<(Box<RawValue>, Map<String, Value>)>);

/// What determines the rows of a list: the arguments, and whether they are for the default range.
type List = (Vec<String>, bool);

impl CustomRow {
    fn get(&self, field: &str) -> Option<&Value> {
        self.0.1.get(field)
    }
}

impl Serialize for CustomRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.0.serialize(serializer)
    }
}

impl CustomRows {
    /// `json` is a list of objects. The rows are for requests with the arguments `only`.
    pub fn new(endpoint: EndpointRef, json: &str, only: Vec<(String, String)>) -> Result<Self> {
        let list: Vec<Box<RawValue>> = serde_json::from_str(json)
            .map_err(|error| Error::config(format!("rows is not a list: {error}")))?;
        let time_field = match &endpoint.paging {
            Some(Paging::DateRange(range)) => Some(time_field(&endpoint, range)?),
            _ => None,
        };
        let is_read = |name: &str| READ.contains(&name) || time_field.as_deref() == Some(name);
        let rows: Vec<CustomRow> = list
            .into_iter()
            .enumerate()
            .map(|(index, json)| match serde_json::from_str::<Map<String, Value>>(json.get()) {
                Ok(mut values) => {
                    values.retain(|name, _| is_read(name));
                    Ok(CustomRow(Arc::new((json, values))))
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
        let lists = Mutex::default();
        let mut custom = CustomRows { endpoint, only, rows, time_field, lists };
        custom.sort()?;
        Ok(custom)
    }

    /// Whether these are the rows of the same requests.
    pub fn replaces(&self, other: &CustomRows) -> bool {
        self.endpoint.method == other.endpoint.method
            && self.endpoint.path == other.endpoint.path
            && self.only == other.only
    }

    /// Whether a request gets these rows.
    pub fn is_for(&self, arguments: &Arguments) -> bool {
        self.only.iter().all(|(name, value)| arguments.has(name, value))
    }

    /// The earliest row first, if a range of dates selects them.
    fn sort(&mut self) -> Result<()> {
        let Some(field) = &self.time_field else { return Ok(()) };
        for (index, row) in self.rows.iter().enumerate() {
            if !matches!(row.get(field), Some(Value::String(_) | Value::Number(_))) {
                let text = format!(
                    "rows[{index}] has no {field}; expected a number or a date in it, by which the \
                     sandbox pages"
                );
                return Err(Error::config(text));
            }
        }
        self.rows.sort_by(|one, other| {
            compare(one.get(field), other.get(field)).unwrap_or(Ordering::Equal)
        });
        Ok(())
    }

    /// Answers a request.
    pub fn respond(&self, seed: u64, arguments: &Arguments) -> HandlerResult {
        let rows = self.wanted(arguments);
        let mut body = Body::new(&self.endpoint);
        match &self.endpoint.paging {
            None => {
                self.add_totals(&mut body, &rows);
                Ok(body.rows(&&*rows))
            }
            Some(Paging::NextKey | Paging::PageFlag { .. }) => page(body, seed, arguments, &rows),
            Some(Paging::DateRange(range)) => self.date_page(body, range, &rows, arguments),
        }
    }

    /// The rows that the filters of a request leave.
    fn wanted(&self, arguments: &Arguments) -> Arc<[CustomRow]> {
        let list = (arguments.identity(), self.is_default_range(arguments));
        let known = lock(&self.lists).iter().find(|(known, _)| *known == list).cloned();
        if let Some((_, rows)) = known {
            return rows;
        }
        let is_wanted = |row: &&CustomRow| self.is_wanted(row, arguments, list.1);
        let rows: Arc<[CustomRow]> = self.rows.iter().filter(is_wanted).cloned().collect();
        let mut lists = lock(&self.lists);
        lists.truncate(LISTS_MAX - 1);
        lists.push_front((list, Arc::clone(&rows)));
        rows
    }

    /// The rows up to the end of the range; those of one time are never on two pages.
    fn date_page(
        &self,
        mut body: Body,
        range: &DateRange,
        rows: &[CustomRow],
        arguments: &Arguments,
    ) -> HandlerResult {
        let field = self.time_field.as_deref().unwrap_or_default();
        let limit = page_size(arguments, "limit", DATE_RANGE_PAGE)?;
        let time = |row: &CustomRow| row.get(field).cloned();
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

    /// The name of the built-in endpoint; none for one that the user declared, whatever its name is.
    pub fn built_in_name(&self) -> Option<&str> {
        matches!(self.endpoint, EndpointRef::BuiltIn(_)).then(|| &*self.endpoint.name)
    }

    /// Whether the filters of the request leave a row in.
    fn is_wanted(&self, row: &CustomRow, arguments: &Arguments, is_default_range: bool) -> bool {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let within = |field: &str, start: &str, end: &str| {
            let Some(value) = row.get(field) else { return true };
            let bound = |name: &str| arguments.sent(name).filter(|bound| !bound.is_empty());
            let is_after = |bound: String| compare_text(value, &bound) == Some(Ordering::Greater);
            let is_before = |bound: String| compare_text(value, &bound) == Some(Ordering::Less);
            !bound(start).is_some_and(is_before) && !bound(end).is_some_and(is_after)
        };
        if let (Some(field), Some(Paging::DateRange(range))) =
            (&self.time_field, &self.endpoint.paging)
        {
            return within(field, "start", &range.end);
        }
        match self.built_in_name().unwrap_or_default() {
            "fills_history" => {
                let market = text("code").and_then(|code| code.split_once('.'));
                let wanted = arguments.text("code");
                market.is_none_or(|(market, _)| market == arguments.text("trd_market"))
                    && (wanted.is_empty() || text("code") == Some(wanted))
                    && (is_default_range || within("updated_time", "start", "end"))
            }
            "trading_days" => within("time", "start", "end"),
            "sim_positions" => {
                let market = row.get("market").and_then(Value::as_i64);
                arguments.integer("market").is_none_or(|wanted| market == Some(wanted))
            }
            _ => true,
        }
    }

    /// Whether a request is for the range that stands for an open one: the days up to now. It gets
    /// the rows whatever their times, so that the data of a test do not age.
    fn is_default_range(&self, arguments: &Arguments) -> bool {
        let Some(TimeRangeSpec { default_days, .. }) = self.endpoint.time_range() else {
            return false;
        };
        let bound = |name: &str| arguments.integer(name).filter(|micros| *micros > 0);
        match (bound("start"), bound("end")) {
            (None, None) => true,
            (Some(start), Some(end)) => {
                let now = arguments.now_ms.saturating_mul(1_000);
                let length = default_days * MICROS_PER_DAY;
                end.abs_diff(now) < NOW_TOLERANCE_MICROS.unsigned_abs()
                    && end.saturating_sub(start) == length
            }
            _ => false,
        }
    }

    /// What the service sends beside a list of dividends.
    fn add_totals(&self, body: &mut Body, rows: &[CustomRow]) {
        if self.built_in_name() == Some("dividends") {
            let amounts = rows.iter().filter_map(|row| row.get("dividend_per_share"));
            let money: f64 = amounts.filter_map(Value::as_f64).sum();
            body.dividend_totals(rows.len(), money);
        }
    }
}

/// The field of the records that a range of dates is about.
fn time_field(endpoint: &Endpoint, range: &DateRange) -> Result<String> {
    if let NextEnd::DayBefore(field) = &range.next {
        return Ok(field.clone());
    }
    let declared = match &endpoint.response {
        ResponseShape::Rows(_, Schema::Fields(fields)) => fields
            .iter()
            .find(|field| matches!(field.kind, Kind::Date | Kind::Timestamp(..)))
            .map(|field| field.name.clone().into_owned()),
        _ => None,
    };
    declared.or_else(|| range.unique.clone()).ok_or_else(|| {
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

/// Compares a value with a bound; a time on the day of a bound that is a date belongs to it.
fn compare_text(value: &Value, bound: &str) -> Option<Ordering> {
    match value {
        Value::Number(number) => number.as_f64()?.partial_cmp(&bound.parse().ok()?),
        Value::String(text) => {
            // A date may have slashes, as some of the service's have.
            let text = text.get(..bound.len()).unwrap_or(text).replace('/', "-");
            Some(text.cmp(&bound.replace('/', "-")))
        }
        _ => None,
    }
}
