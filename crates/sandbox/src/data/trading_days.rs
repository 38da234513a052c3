//! The trading days of a market (section 4.2).

use jiff::civil::Date;
use serde::Serialize;

use crate::{
    api::MARKETS,
    sandbox::{
        markets::calendar::{Calendar, Opening, sessions},
        wire::{
            arguments::Arguments,
            envelope::{HandlerResult, Rejection, rows},
        },
    },
};

/// Both mainland markets.
const MAINLAND: &str = "CN";
/// The longest range of one request, in days: the sandbox's choice.
const RANGE_MAX_DAYS: i32 = 3_660;

#[derive(Serialize)]
struct TradingDay {
    time: String,
    trade_date_type: &'static str,
    trade_second: i64,
}

pub fn list(calendar: &Calendar, arguments: &Arguments) -> HandlerResult {
    let market = arguments.text("market");
    if !MARKETS.contains(&market) && market != MAINLAND {
        let expected = MARKETS.join(", ");
        return Err(Rejection::invalid(format!(
            "market '{market}' is not a known market; expected one of {expected}, {MAINLAND}"
        )));
    }
    let (start, end) = range(arguments)?;
    let sessions = sessions(market);
    let mut days = Vec::new();
    let mut day = start;
    while day <= end {
        let (trade_date_type, trade_second) = match calendar.opening(market, day) {
            Opening::Closed => ("", 0),
            Opening::Whole => ("WHOLE", sessions.length()),
            Opening::Morning => ("MORNING", sessions.half_day(market)),
            Opening::Afternoon => ("AFTERNOON", sessions.afternoon_length()),
        };
        if !trade_date_type.is_empty() {
            let time = day.to_string();
            days.push(TradingDay { time, trade_date_type, trade_second });
        }
        let Ok(tomorrow) = day.tomorrow() else { break };
        day = tomorrow;
    }
    Ok(rows(&arguments.endpoint, &days))
}

/// The dates `start` and `end` of a request, in order.
fn range(arguments: &Arguments) -> Result<(Date, Date), Rejection> {
    let date = |name: &str| {
        let text = arguments.text(name);
        text.parse::<Date>().map_err(|_| {
            Rejection::invalid(format!("{name} '{text}' is not a valid date; expected yyyy-MM-dd"))
        })
    };
    let (start, end) = (date("start")?, date("end")?);
    let days = start.until(end).map_or(i32::MAX, |span| span.get_days());
    match days {
        ..0 => Err(Rejection::invalid(format!("start {start} is after end {end}"))),
        0..=RANGE_MAX_DAYS => Ok((start, end)),
        _ => Err(Rejection::invalid(format!(
            "the range has {days} days; expected at most {RANGE_MAX_DAYS}"
        ))),
    }
}
