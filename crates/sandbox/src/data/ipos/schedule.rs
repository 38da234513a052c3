//! Stages of an IPO, and the dates that follow from them.

use jiff::{ToSpan, civil::Date};
use serde::Serialize;

use crate::markets::calendar::{Calendar, Opening, midnight_seconds};

/// One IPO with its stage.
#[derive(Debug)]
pub struct Ipo<I> {
    pub stage: Stage,
    pub item: I,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Announced; subscription has not begun.
    Announced,
    Subscribable,
    /// A-shares only: the ballot has been drawn, and payments are due.
    BallotAnnounced,
    PendingListing,
}

/// The fields that all markets share.
#[derive(Debug, Clone, Serialize)]
pub struct Common {
    code: String,
    name: &'static str,
    sc_name: &'static str,
    tc_name: &'static str,
    list_time: String,
    list_timestamp: i64,
}

/// Code, English, Simplified and Traditional Chinese name, stage.
pub type Row = (&'static str, &'static str, &'static str, &'static str, Stage);

impl Stage {
    /// Whether a `request_type` includes it. The markets' two sets of numbers do not overlap.
    pub fn is_in(self, request_type: i64) -> bool {
        match request_type {
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
    pub fn days(self, number: i64) -> StageDays {
        match self {
            Stage::Announced => {
                StageDays { start: 3 + number, end: 7 + number, ballot: 9 + number }
            }
            Stage::Subscribable => {
                StageDays { start: -2, end: 2 + number % 3, ballot: 4 + number % 3 }
            }
            Stage::BallotAnnounced => StageDays { start: -5, end: -4, ballot: -1 },
            Stage::PendingListing => StageDays { start: -8, end: -4, ballot: -2 },
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct StageDays {
    pub start: i64,
    pub end: i64,
    pub ballot: i64,
}

/// Dates and times counted from the data's midnight.
pub struct Schedule<'a> {
    pub as_of: Date,
    pub calendar: &'a Calendar,
}

impl Schedule<'_> {
    pub fn date(&self, ahead: i64) -> Date {
        self.as_of.checked_add(ahead.days()).unwrap_or(self.as_of)
    }

    /// The millisecond of an hour of a day in a market's time.
    pub fn millis(&self, ahead: i64, hour: i64, utc_offset_hours: i64) -> i64 {
        (midnight_seconds(self.date(ahead)) + (hour - utc_offset_hours) * 3_600) * 1_000
    }

    /// Seconds from the data's midnight to a millisecond; 0 if it has passed.
    pub fn countdown(&self, millis: i64) -> i64 {
        (millis / 1_000 - midnight_seconds(self.as_of)).max(0)
    }

    /// The common fields, with the listing on the first trading day at or after a day.
    pub fn common(
        &self,
        market: &str,
        row: &Row,
        ahead: Option<i64>,
        utc_offset_hours: i64,
    ) -> Common {
        let (code, name, sc_name, tc_name, _) = *row;
        // The codes of A-shares include their exchange.
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
