//! The US: subscription through the broker, with a price range in dollars.

use serde::Serialize;

use super::schedule::{
    Common, Ipo, Row, Schedule,
    Stage::{Announced, PendingListing, Subscribable},
};
use crate::{markets::prices::number, seeded_rng::SeededRng};

const UTC_OFFSET_HOURS: i64 = -5;
const ROWS: &[Row] = &[
    ("BLHR", "Blue Harbor Robotics", "蓝港机器人", "藍港機器人", Subscribable),
    ("NLGT", "Northlight Therapeutics", "北光医疗", "北光醫療", Subscribable),
    ("CDRX", "Cedar Exchange", "雪松交易", "雪松交易", PendingListing),
    ("QPAY", "Quay Payments", "码头支付", "碼頭支付", PendingListing),
    ("TMBR", "Timberline Data Centers", "林线数据中心", "林線數據中心", Announced),
];

#[derive(Debug, Serialize)]
pub struct UsIpo {
    #[serde(flatten)]
    common: Common,
    ipo_price_min: f64,
    ipo_price_max: f64,
    issue_size: i64,
    apply_limit: f64,
    apply_start_timestamp: i64,
    apply_end_timestamp: i64,
    lucky_timestamp: i64,
    stock_status: &'static str,
    is_user_applied: bool,
    offer_type: &'static str,
}

pub fn list(seed: u64, schedule: &Schedule<'_>) -> Vec<Ipo<UsIpo>> {
    let mut rng = SeededRng::new(seed, "ipos us");
    let mut list = Vec::new();
    for (place, row) in ROWS.iter().enumerate() {
        let stage = row.4;
        let plan = stage.days(place as i64);
        let millis = |ahead: i64, hour: i64| schedule.millis(ahead, hour, UTC_OFFSET_HOURS);
        let min = rng.between(10, 40);
        let listing = if stage == PendingListing { Some(2) } else { Some(plan.ballot + 1) };
        let item = UsIpo {
            common: schedule.common("US", row, listing, UTC_OFFSET_HOURS),
            ipo_price_min: number(min * 10_000),
            ipo_price_max: number((min + rng.between(1, 4)) * 10_000),
            issue_size: rng.between(20, 400) * 100_000,
            apply_limit: rng.pick(&[200.0, 500.0, 1_000.0]),
            apply_start_timestamp: millis(plan.start, 9),
            apply_end_timestamp: millis(plan.end, 16),
            lucky_timestamp: millis(plan.ballot, 8),
            stock_status: match stage {
                Announced => "PENDING",
                Subscribable => "APPLYING",
                _ => "CLOSED",
            },
            is_user_applied: stage != Announced && rng.chance(0.5),
            offer_type: "PUBLIC_OFFER_ONLY",
        };
        list.push(Ipo { stage, item });
    }
    list
}
