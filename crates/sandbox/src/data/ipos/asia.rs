//! Singapore and Malaysia.

use serde::Serialize;

use super::schedule::{
    Common, Ipo, Row, Schedule,
    Stage::{Announced, PendingListing, Subscribable},
};
use crate::{
    markets::prices::{grouped, number},
    seeded_rng::SeededRng,
};

const UTC_OFFSET_HOURS: i64 = 8;
const SG_ROWS: &[Row] = &[
    ("BLU", "Straits Blue Logistics", "海峡蓝物流", "海峽藍物流", Subscribable),
    ("MRX", "Merlion Data REIT", "鱼尾狮数据信托", "魚尾獅數據信託", Subscribable),
    ("TKA", "Temasek Kopi", "淡马锡咖啡", "淡馬錫咖啡", PendingListing),
    ("SAE", "Sentosa Asia ETF", "圣淘沙亚洲ETF", "聖淘沙亞洲ETF", PendingListing),
    ("KRN", "Kallang Marine", "加冷海事", "加冷海事", Announced),
];
const SG_ETF: &str = "SAE";
const MY_ROWS: &[Row] = &[
    ("0388", "KINABALU SOLAR", "神山太阳能", "神山太陽能", Subscribable),
    ("0391", "PENANG CHIPTEST", "槟城芯测", "檳城芯測", Subscribable),
    ("5341", "LANGKAWI HOTELS", "浮罗交怡酒店", "浮羅交怡酒店", PendingListing),
    ("0395", "MELAKA FOODS", "马六甲食品", "馬六甲食品", PendingListing),
    ("0397", "JOHOR CLOUD", "柔佛云", "柔佛雲", Announced),
];

#[derive(Debug, Serialize)]
pub struct SgIpo {
    #[serde(flatten)]
    common: Common,
    ipo_price_min: f64,
    ipo_price_max: f64,
    offer_price_display: String,
    issue_size_display: String,
    apply_limit_display: String,
    market_cap_display: String,
    fund_amount_display: String,
    industry_display: &'static str,
    managers_display: &'static str,
    apply_limit: f64,
    ipo_book_link: String,
    security_type: &'static str,
    apply_start_timestamp: i64,
    apply_end_timestamp: i64,
    is_subscribe_status: bool,
    is_user_applied: bool,
}

#[derive(Debug, Serialize)]
pub struct MyIpo {
    #[serde(flatten)]
    common: Common,
    ipo_price: f64,
    issue_size: i64,
    fund_amount: f64,
    market_cap: i64,
    currency: &'static str,
    manager: &'static str,
    industry_plate: &'static str,
    business: &'static str,
    ipo_book_link: String,
    security_type: &'static str,
    apply_start_timestamp: i64,
    apply_end_timestamp: i64,
    draw_timestamp: i64,
    lucky_timestamp: i64,
    apply_limit: f64,
    is_subscribe_status: bool,
    is_user_applied: bool,
    support_leverage: bool,
}

pub fn singapore(seed: u64, schedule: &Schedule<'_>) -> Vec<Ipo<SgIpo>> {
    let mut rng = SeededRng::new(seed, "ipos sg");
    let mut list = Vec::new();
    for (place, row) in SG_ROWS.iter().enumerate() {
        let (code, _, _, _, stage) = *row;
        let plan = stage.days(place as i64);
        let min = rng.between(25, 120) * 100;
        let max = min + rng.between(0, 15) * 100;
        let shares = rng.between(80, 600) * 1_000_000;
        let raised = shares / 10_000 * max;
        let listing = if stage == PendingListing { Some(2) } else { Some(plan.ballot + 1) };
        let item = SgIpo {
            common: schedule.common("SG", row, listing, UTC_OFFSET_HOURS),
            ipo_price_min: number(min),
            ipo_price_max: number(max),
            offer_price_display: format!("SGD {:.2} - {:.2}", number(min), number(max)),
            issue_size_display: format!("{} shares", grouped(shares)),
            apply_limit_display: format!("SGD {:.2}", number(max * 1_000)),
            market_cap_display: format!("SGD {}", grouped(raised * 4)),
            fund_amount_display: format!("SGD {}", grouped(raised)),
            industry_display: rng.pick(&["Logistics", "Real estate", "Consumer", "Marine"]),
            managers_display: rng.pick(&["Straits Brokers", "Merlion Corporate Finance"]),
            apply_limit: number(max * 1_000),
            ipo_book_link: format!("https://prospectus.example/sg/{code}.pdf"),
            security_type: if code == SG_ETF { "SG_ETF" } else { "NORMAL" },
            apply_start_timestamp: schedule.millis(plan.start, 21, UTC_OFFSET_HOURS),
            apply_end_timestamp: schedule.millis(plan.end, 12, UTC_OFFSET_HOURS),
            is_subscribe_status: stage == Subscribable,
            is_user_applied: stage != Announced && rng.chance(0.4),
        };
        list.push(Ipo { stage, item });
    }
    list
}

pub fn malaysia(seed: u64, schedule: &Schedule<'_>) -> Vec<Ipo<MyIpo>> {
    let mut rng = SeededRng::new(seed, "ipos my");
    let mut list = Vec::new();
    for (place, row) in MY_ROWS.iter().enumerate() {
        let (code, _, _, _, stage) = *row;
        let plan = stage.days(place as i64);
        let millis = |ahead: i64, hour: i64| schedule.millis(ahead, hour, UTC_OFFSET_HOURS);
        // Steps of half a sen, below one ringgit.
        let price = rng.between(40, 190) * 50;
        let issued = rng.between(60, 400) * 1_000_000;
        let (industry_plate, business) = rng.pick(&[
            ("Renewable Energy", "Builds and runs solar farms"),
            ("Semiconductors", "Tests chips for others"),
            ("Consumer Products", "Makes packaged foods"),
        ]);
        let listing = if stage == PendingListing { Some(2) } else { Some(plan.ballot + 2) };
        let item = MyIpo {
            common: schedule.common("MY", row, listing, UTC_OFFSET_HOURS),
            ipo_price: number(price),
            issue_size: issued,
            fund_amount: number(price * issued),
            market_cap: price * issued / 10_000 * 4,
            currency: "MYR",
            manager: rng.pick(&["Kinabalu Investment Bank", "Straits Investment Bank"]),
            industry_plate,
            business,
            ipo_book_link: format!("https://prospectus.example/my/{code}.pdf"),
            security_type: "NORMAL",
            apply_start_timestamp: millis(plan.start, 10),
            apply_end_timestamp: millis(plan.end, 17),
            draw_timestamp: millis(plan.ballot, 10),
            lucky_timestamp: millis(plan.ballot, 17),
            apply_limit: number(price * 100),
            is_subscribe_status: stage == Subscribable,
            is_user_applied: stage != Announced && rng.chance(0.4),
            support_leverage: rng.chance(0.3),
        };
        list.push(Ipo { stage, item });
    }
    list
}
