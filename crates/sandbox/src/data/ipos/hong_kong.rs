//! Hong Kong: public offers with margin, grey market and placing, and one ETF.

use serde::Serialize;

use super::schedule::{
    Common, Ipo, Row, Schedule,
    Stage::{self, Announced, PendingListing, Subscribable},
};
use crate::{
    markets::prices::{grouped, number},
    seeded_rng::SeededRng,
};

const UTC_OFFSET_HOURS: i64 = 8;
const ROWS: &[Row] = &[
    ("02799", "BLUE HARBOUR ROBOTICS", "蓝湾机器人", "藍灣機器人", Subscribable),
    ("02803", "JADE VALLEY BIO-B", "玉谷生物-B", "玉谷生物-B", Subscribable),
    ("03488", "HARBOUR HK DIVIDEND ETF", "海港高息ETF", "海港高息ETF", Subscribable),
    ("02811", "SUNRISE COLD CHAIN", "朝阳冷链", "朝陽冷鏈", PendingListing),
    ("02815", "STARFERRY CLOUD-W", "星渡云-W", "星渡雲-W", PendingListing),
    ("07855", "LION ROCK SPAC-Z", "狮山收购-Z", "獅山收購-Z", Announced),
    ("02822", "NORTHLIGHT ENERGY", "北光能源", "北光能源", Announced),
];
const ETF: &str = "03488";
const SPAC: &str = "07855";

#[derive(Debug, Serialize)]
pub struct HkIpo {
    #[serde(flatten)]
    common: Common,
    ipo_price_min: f64,
    ipo_price_max: f64,
    list_price: f64,
    lot_size: i64,
    entrance_price: f64,
    apply_start_timestamp: i64,
    apply_end_time: String,
    apply_end_timestamp: i64,
    apply_countdown_secs: i64,
    is_apply_started: bool,
    is_support_apply: bool,
    is_subscribe_status: bool,
    apply_multiple: String,
    lucky_ratio: String,
    win_ratio_msg: &'static str,
    lucky_time: String,
    lucky_timestamp: i64,
    margin_fee_ratio: f64,
    margin_fee_ratio_min: f64,
    margin_fee_ratio_max: f64,
    margin_lever_ratio: f64,
    real_margin_lever_ratio: f64,
    margin_rate: f64,
    dark_trade_date: String,
    dark_trade_timestamp: i64,
    dark_trade_period: &'static str,
    dark_trade_start_timestamp: i64,
    dark_trade_end_timestamp: i64,
    is_support_dark_trade: bool,
    is_support_intl_placing: bool,
    show_intl_placing_info: bool,
    intl_placing_apply_start_timestamp: i64,
    intl_placing_apply_end_timestamp: i64,
    intl_placing_apply_limit: f64,
    intl_placing_apply_limit_str: String,
    placing_countdown_secs: i64,
    offer_type: &'static str,
    security_type: &'static str,
    etf_distributors: &'static str,
    etf_ipo_price_display: &'static str,
    apply_status: &'static str,
    placing_apply_status: &'static str,
    etf_apply_status: &'static str,
}

pub fn list(seed: u64, schedule: &Schedule<'_>) -> Vec<Ipo<HkIpo>> {
    let mut rng = SeededRng::new(seed, "ipos hk");
    ROWS.iter()
        .enumerate()
        .map(|(number, row)| Ipo {
            stage: row.4,
            item: item(number as i64, row, schedule, &mut rng),
        })
        .collect()
}

fn item(place: i64, row: &Row, schedule: &Schedule<'_>, rng: &mut SeededRng) -> HkIpo {
    let (code, _, _, _, stage) = *row;
    let (etf, spac) = (code == ETF, code == SPAC);
    let plan = stage.days(place);
    let pending = stage == PendingListing;
    let open = stage == Subscribable;
    let millis = |ahead: i64, hour: i64| schedule.millis(ahead, hour, UTC_OFFSET_HOURS);
    // On Hong Kong's ladder between 10 and 20 HKD.
    let min = rng.between(500, 800) * 200;
    let max = min + rng.between(20, 90) * 200;
    let price = min + (max - min) / 400 * 200;
    let lot_size = rng.pick(&[100_i64, 200, 500]);
    let fees = 1.010_085;
    let entrance = (number(max) * lot_size as f64 * fees * 100.0).round() / 100.0;
    let apply_end = millis(plan.end, 12);
    let placing = !etf && !spac && place % 2 == 0;
    let dark = pending && !etf;
    let listing = if pending { Some(2) } else { (open && !etf).then_some(plan.ballot + 1) };
    let dark_day = 1;
    let lever = rng.pick(&[0.0, 10.0, 20.0]);
    let limit = 500_000;
    HkIpo {
        common: schedule.common("HK", row, listing, UTC_OFFSET_HOURS),
        ipo_price_min: number(min),
        ipo_price_max: number(max),
        list_price: if pending { number(price) } else { 0.0 },
        lot_size,
        entrance_price: entrance,
        apply_start_timestamp: millis(plan.start, 9),
        apply_end_time: schedule.date(plan.end).to_string(),
        apply_end_timestamp: apply_end,
        apply_countdown_secs: schedule.countdown(apply_end),
        is_apply_started: stage != Announced,
        is_support_apply: !spac,
        is_subscribe_status: open,
        apply_multiple: if pending {
            format!("{}.{}", rng.between(8, 900), rng.below(10))
        } else {
            String::new()
        },
        lucky_ratio: if pending { format!("{}%", rng.between(2, 80)) } else { String::new() },
        win_ratio_msg: if pending { "Allotment results are out" } else { "" },
        lucky_time: schedule.date(plan.ballot).to_string(),
        lucky_timestamp: millis(plan.ballot, 9),
        margin_fee_ratio: if lever > 0.0 { 2.8 } else { 0.0 },
        margin_fee_ratio_min: if lever > 0.0 { 1.98 } else { 0.0 },
        margin_fee_ratio_max: if lever > 0.0 { 3.8 } else { 0.0 },
        margin_lever_ratio: lever,
        real_margin_lever_ratio: if open { lever } else { 0.0 },
        margin_rate: if lever > 0.0 {
            ((1.0 - 1.0 / lever) * 10_000.0).round() / 10_000.0
        } else {
            0.0
        },
        dark_trade_date: if dark { schedule.date(dark_day).to_string() } else { String::new() },
        dark_trade_timestamp: if dark { millis(dark_day, 0) } else { 0 },
        dark_trade_period: if dark { "16:15-18:30" } else { "" },
        dark_trade_start_timestamp: if dark { millis(dark_day, 16) + 900_000 } else { 0 },
        dark_trade_end_timestamp: if dark { millis(dark_day, 18) + 1_800_000 } else { 0 },
        is_support_dark_trade: !etf && !spac,
        is_support_intl_placing: placing,
        show_intl_placing_info: placing,
        intl_placing_apply_start_timestamp: if placing { millis(plan.start, 9) } else { 0 },
        intl_placing_apply_end_timestamp: if placing { millis(plan.end, 10) } else { 0 },
        intl_placing_apply_limit: if placing { limit as f64 } else { 0.0 },
        intl_placing_apply_limit_str: if placing { grouped(limit) } else { String::new() },
        placing_countdown_secs: if placing { schedule.countdown(millis(plan.end, 10)) } else { 0 },
        offer_type: match (spac, placing) {
            (true, _) => "UNSUPPORTED",
            (_, true) => "PUBLIC_AND_INTER_PLACING",
            _ => "PUBLIC_OFFER_ONLY",
        },
        security_type: match (etf, spac) {
            (true, _) => "HK_ETF",
            (_, true) => "SPAC",
            _ => "NORMAL",
        },
        etf_distributors: if etf { "Harbour Securities" } else { "" },
        etf_ipo_price_display: if etf { "HKD 10.00 per unit" } else { "" },
        apply_status: applied(stage, rng),
        placing_apply_status: "NOT_APPLIED",
        etf_apply_status: if etf { "APPLY_PENDING" } else { "NOT_APPLIED" },
    }
}

fn applied(stage: Stage, rng: &mut SeededRng) -> &'static str {
    match stage {
        PendingListing => rng.pick(&["APPLY_WON", "APPLY_LOST"]),
        Subscribable => rng.pick(&["NOT_APPLIED", "APPLY_PENDING", "APPLY_PROCESSING"]),
        _ => "NOT_APPLIED",
    }
}
