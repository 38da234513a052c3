//! The securities of the sandbox: the listed names, and invented ones if a plate has more
//! constituents than there are names.

use std::{borrow::Cow, collections::HashMap};

use super::{
    listed::{Kind, LISTED},
    prices,
};
use crate::seeded_rng::SeededRng;

#[derive(Debug, Clone)]
pub struct Security {
    pub market: &'static str,
    /// With its market: `HK.00700`.
    pub code: String,
    pub name: Cow<'static, str>,
    pub sc_name: Cow<'static, str>,
    pub tc_name: Cow<'static, str>,
    pub lot_size: u32,
    /// In ten-thousandths, a multiple of the market's tick.
    pub price: i64,
    pub kind: Kind,
}

#[derive(Debug)]
pub struct Securities {
    all: Vec<Security>,
    by_code: HashMap<String, usize>,
}

impl Securities {
    /// The listed names, and as many invented Hong Kong stocks as it takes to have `hong_kong`.
    pub fn new(seed: u64, hong_kong: usize) -> Self {
        let mut securities = Securities { all: Vec::new(), by_code: HashMap::new() };
        for (market, rows) in LISTED {
            for (code, name, sc_name, tc_name, lot_size, price, kind) in *rows {
                securities.add(Security {
                    market,
                    code: format!("{market}.{code}"),
                    name: Cow::Borrowed(name),
                    sc_name: Cow::Borrowed(sc_name),
                    tc_name: Cow::Borrowed(tc_name),
                    lot_size: *lot_size,
                    price: prices::on_ladder(market, prices::from_number(*price)),
                    kind: *kind,
                });
            }
        }
        let listed = securities.stocks("HK").count();
        let mut rng = SeededRng::new(seed, "made-up names");
        let mut number = 2_100;
        for _ in listed..hong_kong {
            let mut code = format!("HK.{number:05}");
            while securities.by_code.contains_key(&code) {
                number += 1;
                code = format!("HK.{number:05}");
            }
            number += 1;
            securities.add(invented(code, &mut rng));
        }
        securities
    }

    fn add(&mut self, security: Security) {
        self.by_code.insert(security.code.clone(), self.all.len());
        self.all.push(security);
    }

    pub fn get(&self, code: &str) -> Option<&Security> {
        self.all.get(*self.by_code.get(code)?)
    }

    pub fn all(&self) -> &[Security] {
        &self.all
    }

    /// The stocks of a market, the listed names first.
    pub fn stocks(&self, market: &str) -> impl Iterator<Item = &Security> {
        self.all
            .iter()
            .filter(move |security| security.market == market && security.kind == Kind::Stock)
    }
}

const PLACES: &[(&str, &str, &str)] = &[
    ("HARBOUR", "海港", "海港"),
    ("LION ROCK", "狮山", "獅山"),
    ("PEARL RIVER", "珠江", "珠江"),
    ("LANTAU", "大屿", "大嶼"),
    ("KOWLOON BAY", "九龙湾", "九龍灣"),
    ("SILVER MINE", "银矿", "銀礦"),
    ("TAI MO", "大帽", "大帽"),
    ("VICTORIA PEAK", "太平山", "太平山"),
    ("EAST GATE", "东门", "東門"),
    ("SOUTH CHINA", "华南", "華南"),
    ("GREEN ISLAND", "青洲", "青洲"),
    ("GOLDEN FIELD", "金田", "金田"),
];

const TRADES: &[(&str, &str, &str)] = &[
    ("TECH", "科技", "科技"),
    ("PHARMA", "医药", "醫藥"),
    ("ENERGY", "能源", "能源"),
    ("FOODS", "食品", "食品"),
    ("LOGISTICS", "物流", "物流"),
    ("PROPERTY", "地产", "地產"),
    ("FINANCE", "金融", "金融"),
    ("MEDIA", "传媒", "傳媒"),
    ("AUTO", "汽车", "汽車"),
    ("MATERIALS", "材料", "材料"),
    ("RETAIL", "零售", "零售"),
    ("WATER", "水务", "水務"),
];

fn invented(code: String, rng: &mut SeededRng) -> Security {
    let (place, sc_place, tc_place) = rng.pick(PLACES);
    let (trade, sc_trade, tc_trade) = rng.pick(TRADES);
    let price = rng.between(1_000, 900_000);
    Security {
        market: "HK",
        code,
        name: Cow::Owned(format!("{place} {trade}")),
        sc_name: Cow::Owned(format!("{sc_place}{sc_trade}")),
        tc_name: Cow::Owned(format!("{tc_place}{tc_trade}")),
        lot_size: rng.pick(&[100, 200, 500, 1000, 2000, 4000]),
        price: prices::on_ladder("HK", price),
        kind: Kind::Stock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_prices_are_on_the_ladder() {
        let securities = Securities::new(7, 3_000);
        assert_eq!(securities.all.len(), securities.by_code.len());
        assert_eq!(securities.stocks("HK").count(), 3_000);
        for security in &securities.all {
            let tick = prices::tick(security.market, security.price);
            assert_eq!(security.price % tick, 0, "{}", security.code);
            assert!(security.lot_size > 0 && security.code.starts_with(security.market));
        }
        assert_eq!(securities.get("HK.00700").expect("known").tc_name, "騰訊控股");
    }
}
