//! Days, counted from 1970. The sandbox's markets trade from Monday to Friday, except on 1 January.

use boardlot_service::api::MARKETS;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde_json::json;

use super::rows::Row;
use crate::wire::{arguments::Arguments, envelope::Rejection};

/// The market that stands for both mainland markets.
const MAINLAND: &str = "CN";
/// The longest range of one request, in days: the sandbox's choice.
const RANGE_MAX_DAYS: usize = 3_660;

/// Returns the day that contains an instant.
pub fn date_of(micros: i64) -> Date {
    let instant = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::UNIX_EPOCH);
    instant.to_zoned_datetime(TimeZone::UTC).date()
}

/// Returns the weekday that is this many weekdays after a day, or before it if the number is
/// negative. From a weekend, the counting starts at the next weekday in that direction.
pub fn weekday(day: i64, count: i64, is_back: bool) -> i64 {
    let step = if is_back { -1 } else { 1 };
    let is_weekend = |day: i64| (day + 3).rem_euclid(7) > 4;
    let skip = |mut day: i64| {
        while is_weekend(day) {
            day += step;
        }
        day
    };
    let mut day = skip(day) + count / 5 * 7;
    for _ in 0..(count % 5).abs() {
        day = skip(day + step);
    }
    day
}

/// Returns the trading days of a request (section 4.2).
pub fn trading_days(arguments: &Arguments) -> Result<Vec<Row>, Rejection> {
    let market = arguments.text("market");
    if !MARKETS.contains(&market) && market != MAINLAND {
        return Err(Rejection::invalid(format!("market '{market}' is not a known market")));
    }
    let day = |name: &str| arguments.text(name).parse::<Date>().unwrap_or(Date::ZERO);
    let (start, end) = (day("start"), day("end"));
    let dates: Vec<Date> =
        start.series(1.day()).take_while(|day| *day <= end).take(RANGE_MAX_DAYS + 1).collect();
    if dates.is_empty() || dates.len() > RANGE_MAX_DAYS {
        let expected = format!("expected 1 to {RANGE_MAX_DAYS} days");
        return Err(Rejection::invalid(format!("start and end are not a valid range; {expected}")));
    }
    let is_open = |day: &Date| {
        day.weekday().to_monday_zero_offset() < 5 && (day.month(), day.day()) != (1, 1)
    };
    let row = |day: Date| {
        let time = day.to_string();
        Row::of(&[
            ("time", json!(time)),
            ("trade_date_type", json!("WHOLE")),
            ("trade_second", json!(19_800)),
        ])
    };
    Ok(dates.into_iter().filter(is_open).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekdays_are_counted_over_weekends() {
        // 2 January 1970 was a Friday.
        for (day, count, is_back, expected) in [
            (1, 0, true, 1),
            (2, 0, true, 1),
            (3, 0, true, 1),
            (2, 0, false, 4),
            (4, -1, true, 1),
            (4, -5, true, -3),
            (4, -6, true, -6),
            (1, 1, false, 4),
            (1, 6, false, 11),
        ] {
            assert_eq!(weekday(day, count, is_back), expected, "{day} {count}");
        }
    }
}
