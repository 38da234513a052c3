//! Two histories that page backward by moving the end of a date range (section 2.4). The service
//! document names them without their paths, so their rows are here and not in the table. A page
//! holds the latest `limit` days up to `end`, included, in ascending order.

use std::borrow::Cow;

use jiff::civil::Date;
use serde::Serialize;
use serde_json::json;

use crate::{
    api::{
        Endpoint, Envelope, Field, Method, Parameter, ParameterKind, Record, RecordsLocation,
        ResponseShape, Schema,
    },
    sandbox::{
        markets::{
            market::Market,
            prices::{self, number},
            securities::Security,
        },
        seeded_rng::SeededRng,
        wire::{
            arguments::Arguments,
            envelope::{Body, HandlerResult, Rejection},
        },
    },
};

/// How many trading days back the histories reach.
const DEPTH: usize = 520;
const LIMIT: usize = 100;

pub const ENDPOINTS: &[&Endpoint] = &[&CAPITAL_FLOW, &KLINES];

static CAPITAL_FLOW: Endpoint = endpoint(
    "capital_flow_history",
    "/api/v1.0/quote/{symbol}/capital-flow/history",
    "data.capital_flow_list",
);
static KLINES: Endpoint =
    endpoint("history_kline", "/api/v1.0/quote/{symbol}/history-kline", "data.kline_list");

const fn endpoint(name: &'static str, path: &'static str, rows: &'static str) -> Endpoint {
    Endpoint {
        name: Cow::Borrowed(name),
        method: Method::Get,
        path: Cow::Borrowed(path),
        section: "2.4",
        summary: "",
        notes: "",
        python_notes: "",
        parameters: Cow::Borrowed(PARAMETERS),
        undeclared: None,
        envelope: Envelope::RetCode,
        response: ResponseShape::Rows(RecordsLocation::at(rows), Schema::One(&DAY)),
        paging: None,
        failures: &[],
        idempotent: true,
        example: None,
        command: None,
    }
}

const PARAMETERS: &[Parameter] = &[
    Parameter::path("symbol", ParameterKind::Symbol { max: None }, "Such as `HK.00700`."),
    Parameter::query("start", ParameterKind::Date, "First date; the earliest without."),
    Parameter::query("end", ParameterKind::Date, "Last date, included; the latest without."),
    Parameter::query("limit", ParameterKind::Integer { min: 1, max: 1_000 }, "Rows."),
];

const DAY: Record = Record {
    name: "Day",
    section: "2.4",
    doc: "",
    groups: &[&[Field::date("data_date", "In the market's time zone")]],
};

pub fn capital_flow(market_data: &Market, arguments: &Arguments) -> HandlerResult {
    #[derive(Serialize)]
    struct Row {
        data_date: String,
        in_flow: f64,
        super_in_flow: f64,
        big_in_flow: f64,
        mid_in_flow: f64,
        sml_in_flow: f64,
    }
    let page = PageSlice::of(market_data, arguments)?;
    let rows = page.days.iter().map(|day| {
        let mut rng =
            SeededRng::new(market_data.seed, &format!("flow {} {day}", page.security.code));
        let mut flow = || rng.between(-900_000_000, 900_000_000);
        let parts = [flow(), flow(), flow(), flow()];
        let [super_in_flow, big_in_flow, mid_in_flow, sml_in_flow] = parts.map(number);
        Row {
            data_date: day.to_string(),
            in_flow: number(parts.iter().sum()),
            super_in_flow,
            big_in_flow,
            mid_in_flow,
            sml_in_flow,
        }
    });
    Ok(page.body(arguments).rows(&rows.collect::<Vec<Row>>()))
}

pub fn klines(market_data: &Market, arguments: &Arguments) -> HandlerResult {
    #[derive(Serialize)]
    struct Row {
        data_date: String,
        open: String,
        close: String,
        high: String,
        low: String,
        volume: String,
        turnover: String,
    }
    let page = PageSlice::of(market_data, arguments)?;
    let security = page.security;
    let market = security.market;
    // From the latest close backward, each opening near the previous close.
    let mut rng = SeededRng::new(market_data.seed, &format!("klines {}", security.code));
    let mut rows = Vec::with_capacity(page.days.len());
    let mut close = security.price;
    for day in page.all.iter().rev() {
        let earlier = (close + close * rng.between(-220, 220) / 10_000).max(100);
        let open = earlier + earlier * rng.between(-60, 60) / 10_000;
        let high = open.max(close) + open * rng.between(0, 120) / 10_000;
        let low = open.min(close) - open * rng.between(0, 120) / 10_000;
        let volume = rng.between(1_000, 90_000) * i64::from(security.lot_size);
        let prices = [open, close, high, low].map(|price| prices::on_ladder(market, price));
        close = earlier;
        if page.days.first().is_none_or(|first| day < first) {
            break;
        }
        if page.days.last().is_some_and(|last| day <= last) {
            let [open, close, high, low] = prices;
            rows.push(Row {
                data_date: day.to_string(),
                open: prices::shown(market, open),
                close: prices::shown(market, close),
                high: prices::shown(market, high),
                low: prices::shown(market, low),
                volume: volume.to_string(),
                turnover: prices::decimal(volume * ((high + low) / 2), 2),
            });
        }
    }
    rows.reverse();
    let mut body = page.body(arguments);
    // The next `end`; empty if nothing is earlier.
    let next_time = page.earlier.map(|day| day.to_string()).unwrap_or_default();
    body.top("extra", json!({ "next_time": next_time }));
    Ok(body.rows(&rows))
}

/// The days of a page, and the trading day before them if the range has one.
struct PageSlice<'a> {
    security: &'a Security,
    /// All days of the history.
    all: Vec<Date>,
    days: Vec<Date>,
    earlier: Option<Date>,
}

impl<'a> PageSlice<'a> {
    fn body(&self, arguments: &Arguments) -> Body {
        let mut body = Body::new(&arguments.endpoint);
        body.top("pagination", json!({ "has_more": self.earlier.is_some() }));
        body
    }

    fn of(market: &'a Market, arguments: &Arguments) -> Result<Self, Rejection> {
        let security = market.security(arguments)?;
        let (start, end) =
            (arguments.text("start").parse::<Date>(), arguments.text("end").parse::<Date>());
        if let (Ok(start), Ok(end)) = (&start, &end)
            && start > end
        {
            return Err(Rejection::invalid(format!("start {start} is after end {end}")));
        }
        let limit = arguments.integer("limit").map_or(LIMIT, |limit| limit as usize);
        let all = market.calendar.days_before(security.market, market.as_of, DEPTH);
        let mut days = all.clone();
        days.retain(|day| {
            start.as_ref().map_or(true, |start| day >= start)
                && end.as_ref().map_or(true, |end| day <= end)
        });
        let page = days.split_off(days.len().saturating_sub(limit));
        Ok(PageSlice { security, all, days: page, earlier: days.last().copied() })
    }
}
