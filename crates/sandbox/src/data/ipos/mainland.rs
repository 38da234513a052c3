//! A-shares: SSE with the STAR Market, SZSE with ChiNext, and BSE.

use serde::Serialize;

use super::schedule::{
    Common, Ipo, Row, Schedule,
    Stage::{Announced, BallotAnnounced, PendingListing, Subscribable},
};
use crate::{markets::prices::number, seeded_rng::SeededRng};

const UTC_OFFSET_HOURS: i64 = 8;
const ROWS: &[Row] = &[
    ("SH.603991", "HENGYUAN PRECISION", "恒源精工", "恆源精工", Subscribable),
    ("SH.688801", "XINGCHEN SEMICONDUCTOR", "星辰半导", "星辰半導", Subscribable),
    ("SZ.301701", "LVTING ENVIRONMENT", "绿亭环保", "綠亭環保", BallotAnnounced),
    ("SZ.001399", "DONGHE FOODS", "东禾食品", "東禾食品", PendingListing),
    ("SH.688809", "JUHUI BIOTECH", "聚晖生物", "聚暉生物", PendingListing),
    ("BJ.920160", "HUAYUE VALVES", "华岳阀门", "華岳閥門", PendingListing),
    ("SZ.301708", "YUNQI SOFTWARE", "云启软件", "雲啟軟件", Announced),
    ("SH.603998", "JIANGNAN TEXTILE", "江南纺织", "江南紡織", Announced),
];

#[derive(Debug, Serialize)]
pub struct CnIpo {
    #[serde(flatten)]
    common: Common,
    apply_code: String,
    apply_upper_limit: i64,
    ipo_price: f64,
    winning_ratio: f64,
    issue_pe_rate: f64,
    apply_timestamp: i64,
    winning_time: String,
    winning_timestamp: i64,
    is_has_won: bool,
}

pub fn list(seed: u64, schedule: &Schedule<'_>) -> Vec<Ipo<CnIpo>> {
    let mut rng = SeededRng::new(seed, "ipos cn");
    let mut list = Vec::new();
    for (place, row) in ROWS.iter().enumerate() {
        let stage = row.4;
        let plan = stage.days(place as i64);
        let priced = stage != Announced;
        let drawn = matches!(stage, BallotAnnounced | PendingListing);
        let listing = (stage == PendingListing).then_some(2);
        let (exchange, digits) = row.0.split_once('.').unwrap_or_default();
        let item = CnIpo {
            common: schedule.common("CN", row, listing, UTC_OFFSET_HOURS),
            // Shanghai gives subscriptions a code of their own.
            apply_code: match (exchange, digits.strip_prefix("603"), digits.strip_prefix("688")) {
                ("SH", Some(rest), _) => format!("732{rest}"),
                ("SH", _, Some(rest)) => format!("787{rest}"),
                _ => digits.to_owned(),
            },
            apply_upper_limit: rng.between(8, 40) * 500,
            ipo_price: if priced { number(rng.between(600, 6_000) * 100) } else { 0.0 },
            winning_ratio: if drawn { number(rng.between(120, 900)) } else { 0.0 },
            issue_pe_rate: if priced { number(rng.between(1_200, 4_500) * 100) } else { 0.0 },
            apply_timestamp: schedule.millis(plan.start, 9, UTC_OFFSET_HOURS),
            winning_time: schedule.date(plan.ballot).to_string(),
            winning_timestamp: schedule.millis(plan.ballot, 0, UTC_OFFSET_HOURS),
            is_has_won: drawn,
        };
        list.push(Ipo { stage, item });
    }
    list
}
