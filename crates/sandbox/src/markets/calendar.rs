//! Trading calendars: weekends, holidays, half days and sessions. Lunar holidays are known for 2024
//! to 2027; other years have only the holidays with fixed dates.

use std::collections::HashMap;

use jiff::civil::{Date, Weekday};

use super::holidays::{FIXED, KNOWN_YEARS, OPENINGS};

#[derive(Debug)]
pub struct Calendar {
    /// Days that are not ordinary trading days, by market.
    days: HashMap<&'static str, HashMap<Date, Opening>>,
}

/// How a market opens on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    Closed,
    Whole,
    Morning,
    Afternoon,
}

/// A market's sessions, in seconds since midnight of its own time.
#[derive(Debug, Clone, Copy)]
pub struct Sessions {
    /// Hours ahead of UTC, without daylight saving time.
    pub utc_offset_hours: i64,
    pub morning: (i64, i64),
    pub afternoon: (i64, i64),
}

impl Calendar {
    pub fn new() -> Self {
        let mut days: HashMap<&'static str, HashMap<Date, Opening>> = HashMap::new();
        for (market, year, closed, morning) in OPENINGS {
            let days = days.entry(market).or_default();
            for (list, opening) in [(closed, Opening::Closed), (morning, Opening::Morning)] {
                days.extend(dates(*year, list).map(|date| (date, opening)));
            }
        }
        // Closed in the morning because of a black rainstorm.
        if let Ok(date) = Date::new(2021, 6, 28) {
            days.entry("HK").or_default().insert(date, Opening::Afternoon);
        }
        for (alias, market) in [("SH", "CN"), ("SZ", "CN")] {
            let same = days.get(market).cloned().unwrap_or_default();
            days.insert(alias, same);
        }
        Calendar { days }
    }

    pub fn opening(&self, market: &str, date: Date) -> Opening {
        if matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday) {
            return Opening::Closed;
        }
        if let Some(opening) = self.days.get(market).and_then(|days| days.get(&date)) {
            return *opening;
        }
        let fixed = FIXED.iter().any(|(markets, list)| {
            markets.contains(&market)
                && !KNOWN_YEARS.contains(&date.year())
                && dates(date.year(), list).any(|holiday| holiday == date)
        });
        if fixed { Opening::Closed } else { Opening::Whole }
    }

    /// The last `count` trading days before a date, the earliest first.
    pub fn days_before(&self, market: &str, date: Date, count: usize) -> Vec<Date> {
        let mut found = Vec::with_capacity(count);
        let mut day = date;
        while found.len() < count {
            let Ok(yesterday) = day.yesterday() else { break };
            day = yesterday;
            if self.opening(market, day) != Opening::Closed {
                found.push(day);
            }
        }
        found.reverse();
        found
    }
}

/// When a market trades.
pub fn sessions(market: &str) -> Sessions {
    let at = |hours: i64, minutes: i64| (hours * 60 + minutes) * 60;
    let (utc_offset_hours, morning, afternoon) = match market {
        "HK" => (8, (at(9, 30), at(12, 0)), (at(13, 0), at(16, 0))),
        "SH" | "SZ" | "CN" => (8, (at(9, 30), at(11, 30)), (at(13, 0), at(15, 0))),
        "SG" => (8, (at(9, 0), at(12, 0)), (at(13, 0), at(17, 0))),
        "MY" => (8, (at(9, 0), at(12, 30)), (at(14, 30), at(16, 45))),
        "JP" => (9, (at(9, 0), at(11, 30)), (at(12, 30), at(15, 30))),
        "AU" => (10, (at(10, 0), at(12, 0)), (at(12, 0), at(16, 0))),
        // One session, split at noon so that all markets have the same form.
        _ => (-5, (at(9, 30), at(12, 0)), (at(12, 0), at(16, 0))),
    };
    Sessions { utc_offset_hours, morning, afternoon }
}

impl Sessions {
    /// Seconds of trading in a whole day.
    pub fn length(&self) -> i64 {
        length(self.morning) + length(self.afternoon)
    }

    /// Seconds of trading in an afternoon.
    pub fn afternoon_length(&self) -> i64 {
        length(self.afternoon)
    }

    /// Seconds of trading in a half day: New York closes at 13:00, the others at the end of the
    /// morning.
    pub fn half_day(&self, market: &str) -> i64 {
        length(self.morning) + if market == "US" { 3_600 } else { 0 }
    }

    /// The microsecond since 1970 that is so many microseconds into the trading of a day.
    pub fn at(&self, date: Date, into: i64) -> i64 {
        let morning = length(self.morning) * 1_000_000;
        let second = if into < morning {
            self.morning.0 * 1_000_000 + into
        } else {
            self.afternoon.0 * 1_000_000 + into - morning
        };
        midnight_seconds(date) * 1_000_000 + second - self.utc_offset_hours * 3_600_000_000
    }
}

/// Midnight UTC of a date, in seconds since 1970.
pub fn midnight_seconds(date: Date) -> i64 {
    let epoch = Date::constant(1970, 1, 1);
    epoch.until(date).map_or(0, |span| i64::from(span.get_days())) * 86_400
}

fn length((from, to): (i64, i64)) -> i64 {
    to - from
}

/// The dates of a list such as `0101 0217` in a year.
fn dates(year: i16, list: &'static str) -> impl Iterator<Item = Date> {
    list.split_ascii_whitespace().filter_map(move |text| {
        let (month, day) = text.split_at_checked(2)?;
        Date::new(year, month.parse().ok()?, day.parse().ok()?).ok()
    })
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn known_days_open_as_they_did() {
        let calendar = Calendar::new();
        for (market, day, opening) in [
            ("HK", date(2026, 1, 1), Opening::Closed),
            ("HK", date(2026, 1, 2), Opening::Whole),
            ("HK", date(2026, 1, 3), Opening::Closed),
            ("HK", date(2026, 2, 16), Opening::Morning),
            ("HK", date(2026, 2, 17), Opening::Closed),
            ("HK", date(2021, 6, 28), Opening::Afternoon),
            ("HK", date(2030, 12, 25), Opening::Closed),
            ("US", date(2026, 7, 3), Opening::Closed),
            ("US", date(2025, 11, 28), Opening::Morning),
            ("SH", date(2025, 10, 8), Opening::Closed),
            ("SZ", date(2025, 10, 9), Opening::Whole),
            ("SG", date(2026, 8, 10), Opening::Closed),
            ("MY", date(2026, 8, 31), Opening::Closed),
        ] {
            assert_eq!(calendar.opening(market, day), opening, "{market} {day}");
        }
    }

    #[test]
    fn every_listed_day_is_a_date() {
        for (market, year, closed, morning) in OPENINGS {
            for list in [closed, morning] {
                let words = list.split_ascii_whitespace().count();
                assert_eq!(dates(*year, list).count(), words, "{market} {year}");
            }
        }
    }

    #[test]
    fn sessions_are_in_the_markets_own_time() {
        let opening = sessions("HK").at(date(2026, 1, 5), 0);
        assert_eq!(opening, 1_767_576_600_000_000); // 09:30+08:00
        let afternoon = sessions("HK").at(date(2026, 1, 5), 9_000_000_000);
        assert_eq!(afternoon - opening, 12_600_000_000); // 13:00
        assert_eq!(sessions("US").at(date(2026, 1, 5), 0), 1_767_623_400_000_000);
        assert_eq!(sessions("HK").length(), 19_800);
    }
}
