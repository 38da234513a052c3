//! IPO lists of the five markets (section 2.10): companies that do not exist, at every stage.

mod asia;
mod hong_kong;
mod mainland;
mod united_states;

use jiff::{ToSpan, civil::Date};
use serde::Serialize;

use super::{
    arguments::Arguments,
    calendar::{Calendar, Opening, midnight_seconds},
    reply::{Refusal, Reply, ret_code},
};

/// The lists of all markets.
#[derive(Debug)]
pub struct Ipos {
    hk: Vec<Ipo<hong_kong::HkIpo>>,
    us: Vec<Ipo<united_states::UsIpo>>,
    cn: Vec<Ipo<mainland::CnIpo>>,
    sg: Vec<Ipo<asia::SgIpo>>,
    my: Vec<Ipo<asia::MyIpo>>,
}

/// One IPO with its stage.
#[derive(Debug)]
struct Ipo<I> {
    stage: Stage,
    item: I,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Announced; subscription has not begun.
    Announced,
    Subscribable,
    /// A-shares only: the ballot was drawn, and payments are due.
    BallotAnnounced,
    PendingListing,
}

/// The fields that all markets share.
#[derive(Debug, Clone, Serialize)]
struct Common {
    code: String,
    name: &'static str,
    sc_name: &'static str,
    tc_name: &'static str,
    list_time: String,
    list_timestamp: i64,
}

/// Code, English, Simplified and Traditional Chinese name, stage.
type Row = (&'static str, &'static str, &'static str, &'static str, Stage);

impl Ipos {
    pub fn new(seed: u64, anchor: Date, calendar: &Calendar) -> Self {
        let days = Days { anchor, calendar };
        Ipos {
            hk: hong_kong::list(seed, &days),
            us: united_states::list(seed, &days),
            cn: mainland::list(seed, &days),
            sg: asia::singapore(seed, &days),
            my: asia::malaysia(seed, &days),
        }
    }

    pub fn list(&self, asked: &Arguments) -> Reply {
        let wanted = asked.integer("request_type");
        match asked.text("market") {
            "hk" => Ok(chosen(&self.hk, wanted.unwrap_or(11))),
            "us" => Ok(chosen(&self.us, wanted.unwrap_or(11))),
            "cn" => Ok(chosen(&self.cn, wanted.unwrap_or(4))),
            "sg" => Ok(chosen(&self.sg, wanted.unwrap_or(11))),
            "my" => Ok(chosen(&self.my, wanted.unwrap_or(11))),
            other => Err(Refusal::invalid(format!("market '{}'", other.escape_debug()))),
        }
    }
}

fn chosen<I: Serialize>(ipos: &[Ipo<I>], wanted: i64) -> Vec<u8> {
    let items: Vec<&I> =
        ipos.iter().filter(|ipo| ipo.stage.is_in(wanted)).map(|ipo| &ipo.item).collect();
    ret_code("list", &items)
}

impl Stage {
    /// Whether a `request_type` takes it in. The two sets of numbers have none in common.
    fn is_in(self, wanted: i64) -> bool {
        match wanted {
            1 => self == Stage::Announced,
            2 | 9 => self == Stage::Subscribable,
            3 => self == Stage::BallotAnnounced,
            4 | 10 => self == Stage::PendingListing,
            5 | 11 => true,
            _ => false,
        }
    }

    /// The day on which subscription begins, the day it ends and the day of the ballot, counted
    /// from the data's midnight.
    fn days(self, number: i64) -> Plan {
        match self {
            Stage::Announced => Plan { start: 3 + number, end: 7 + number, ballot: 9 + number },
            Stage::Subscribable => Plan { start: -2, end: 2 + number % 3, ballot: 4 + number % 3 },
            Stage::BallotAnnounced => Plan { start: -5, end: -4, ballot: -1 },
            Stage::PendingListing => Plan { start: -8, end: -4, ballot: -2 },
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    start: i64,
    end: i64,
    ballot: i64,
}

/// Dates and times counted from the data's midnight.
struct Days<'a> {
    anchor: Date,
    calendar: &'a Calendar,
}

impl Days<'_> {
    fn date(&self, ahead: i64) -> Date {
        self.anchor.checked_add(ahead.days()).unwrap_or(self.anchor)
    }

    /// The millisecond of an hour of a day in a market's time.
    fn millis(&self, ahead: i64, hour: i64, utc_offset_hours: i64) -> i64 {
        (midnight_seconds(self.date(ahead)) + (hour - utc_offset_hours) * 3_600) * 1_000
    }

    /// Seconds from the data's midnight to a millisecond; 0 where it has passed.
    fn countdown(&self, millis: i64) -> i64 {
        (millis / 1_000 - midnight_seconds(self.anchor)).max(0)
    }

    /// The common fields, with the listing on the first trading day at or after a day.
    fn common(&self, market: &str, row: &Row, ahead: Option<i64>, utc_offset_hours: i64) -> Common {
        let (code, name, sc_name, tc_name, _) = *row;
        // The rows of A-shares name their exchange themselves.
        let prefix = if market == "CN" { String::new() } else { format!("{market}.") };
        let listing = ahead.map(|ahead| {
            let mut day = self.date(ahead);
            while self.calendar.opening(market, day) == Opening::Closed {
                let Ok(next) = day.tomorrow() else { break };
                day = next;
            }
            day
        });
        Common {
            code: format!("{prefix}{code}"),
            name,
            sc_name,
            tc_name,
            list_time: listing.map_or_else(|| "--".to_owned(), |day| day.to_string()),
            list_timestamp: listing
                .map_or(0, |day| (midnight_seconds(day) - utc_offset_hours * 3_600) * 1_000),
        }
    }
}

/// A number with thousands separators.
fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, shown) in
            [(1, "1"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), shown);
        }
    }
}
