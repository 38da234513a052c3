//! Rows that a test brings along: for an endpoint that the user declared, or in place of generated
//! ones. They are filtered and paged as the endpoint's row says.

use std::cmp::Ordering;

use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    api::{
        DateRange, Endpoint, EndpointRef, Kind, MICROS_PER_DAY, NextEnd, Paging, ResponseShape,
        Schema, TimeRangeSpec,
    },
    error::{Error, Result},
    sandbox::wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult},
        paging::{page, page_size},
    },
};

const DATE_RANGE_PAGE: usize = 100;
/// By how much the end of the default range may differ from now.
const NOW_TOLERANCE_MICROS: i64 = 600_000_000;

/// The rows of an endpoint.
#[derive(Debug)]
pub struct CustomRows {
    pub endpoint: EndpointRef,
    /// The arguments of the requests that get these rows.
    only: Vec<(String, String)>,
    rows: Vec<CustomRow>,
    /// The field by which a range of dates selects rows.
    time_field: Option<String>,
}

#[derive(Debug)]
struct CustomRow {
    json: Box<RawValue>,
    values: Map<String, Value>,
}

impl CustomRows {
    /// `json` is a list of objects. The rows are for requests with the arguments `only`.
    pub fn new(endpoint: EndpointRef, json: &str, only: Vec<(String, String)>) -> Result<Self> {
        let list: Vec<Box<RawValue>> = serde_json::from_str(json)
            .map_err(|error| Error::config(format!("rows is not a list: {error}")))?;
        let rows: Vec<CustomRow> = list
            .into_iter()
            .enumerate()
            .map(|(index, json)| match serde_json::from_str(json.get()) {
                Ok(values) => Ok(CustomRow { json, values }),
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
        let time_field = match &endpoint.paging {
            Some(Paging::DateRange(range)) => Some(time_field(&endpoint, range)?),
            _ => None,
        };
        let mut custom = CustomRows { endpoint, only, rows, time_field };
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
        self.only.iter().all(|(name, value)| arguments.sent(name).as_ref() == Some(value))
    }

    /// The earliest row first, if a range of dates selects them.
    fn sort(&mut self) -> Result<()> {
        let Some(field) = &self.time_field else { return Ok(()) };
        for (index, row) in self.rows.iter().enumerate() {
            if !matches!(row.values.get(field), Some(Value::String(_) | Value::Number(_))) {
                let text = format!(
                    "rows[{index}] has no {field}; expected a number or a date in it, by which the \
                     sandbox pages"
                );
                return Err(Error::config(text));
            }
        }
        self.rows.sort_by(|one, other| {
            compare(one.values.get(field), other.values.get(field)).unwrap_or(Ordering::Equal)
        });
        Ok(())
    }

    /// Answers a request.
    pub fn respond(&self, seed: u64, arguments: &Arguments) -> HandlerResult {
        let rows: Vec<&CustomRow> =
            self.rows.iter().filter(|row| self.is_wanted(row, arguments)).collect();
        let mut body = Body::new(&self.endpoint);
        match &self.endpoint.paging {
            None => {
                self.add_totals(&mut body, &rows);
                Ok(body.rows(&raw(&rows)))
            }
            Some(Paging::NextKey | Paging::PageFlag { .. }) => {
                page(body, seed, arguments, &raw(&rows))
            }
            Some(Paging::DateRange(range)) => self.date_page(body, range, &rows, arguments),
        }
    }

    /// The rows up to the end of the range; those of one time are never on two pages.
    fn date_page(
        &self,
        mut body: Body,
        range: &DateRange,
        rows: &[&CustomRow],
        arguments: &Arguments,
    ) -> HandlerResult {
        let field = self.time_field.as_deref().unwrap_or_default();
        let limit = page_size(arguments, "limit", DATE_RANGE_PAGE)?;
        let time = |row: &CustomRow| row.values.get(field).cloned();
        let mut first = rows.len().saturating_sub(limit);
        while let (Some(before), Some(row)) = (first.checked_sub(1), rows.get(first))
            && rows.get(before).is_some_and(|other| time(other) == time(row))
        {
            first = before;
        }
        let earlier = first.checked_sub(1).and_then(|before| rows.get(before));
        body.top("pagination", json!({ "has_more": earlier.is_some() }));
        if let NextEnd::At(path) = &range.next {
            let next =
                earlier.and_then(|row| time(row)).unwrap_or_else(|| Value::String(String::new()));
            body.at(path, next);
        }
        Ok(body.rows(&raw(rows.get(first..).unwrap_or_default())))
    }

    /// The name of the built-in endpoint; none for one that the user declared, whatever its name is.
    pub fn built_in_name(&self) -> Option<&str> {
        matches!(self.endpoint, EndpointRef::BuiltIn(_)).then(|| &*self.endpoint.name)
    }

    /// Whether the filters of the request leave a row in.
    fn is_wanted(&self, row: &CustomRow, arguments: &Arguments) -> bool {
        let text = |name: &str| row.values.get(name).and_then(Value::as_str);
        let within = |field: &str, start: &str, end: &str| {
            let Some(value) = row.values.get(field) else { return true };
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
                    && (self.is_default_range(arguments) || within("updated_time", "start", "end"))
            }
            "trading_days" => within("time", "start", "end"),
            "sim_positions" => {
                let market = row.values.get("market").and_then(Value::as_i64);
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
    fn add_totals(&self, body: &mut Body, rows: &[&CustomRow]) {
        if self.built_in_name() == Some("dividends") {
            let amounts = rows.iter().filter_map(|row| row.values.get("dividend_per_share"));
            let money: f64 = amounts.filter_map(Value::as_f64).sum();
            body.dividend_totals(rows.len(), money);
        }
    }
}

fn raw<'a>(rows: &[&'a CustomRow]) -> Vec<&'a RawValue> {
    rows.iter().map(|row| &*row.json).collect()
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
