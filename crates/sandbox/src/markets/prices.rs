//! Prices: whole ten-thousandths of the currency, on the tick sizes of each market.

/// One unit of the currency.
pub const UNIT: i64 = 10_000;

/// The step of a market's ladder at a price.
pub fn tick(market: &str, price: i64) -> i64 {
    let ladder: &[(i64, i64)] = match market {
        // Hong Kong's ladder changed in August 2025 from 10 to 50 HKD: there, ticks that are valid
        // before and after.
        "HK" => &[
            (2_500, 10),
            (5_000, 50),
            (100_000, 100),
            (200_000, 200),
            (500_000, 1_000),
            (1_000_000, 500),
            (2_000_000, 1_000),
            (5_000_000, 2_000),
            (10_000_000, 5_000),
            (20_000_000, 10_000),
            (50_000_000, 20_000),
            (i64::MAX, 50_000),
        ],
        "SG" => &[(2_000, 10), (10_000, 50), (i64::MAX, 100)],
        "MY" => &[(10_000, 50), (100_000, 100), (1_000_000, 200), (i64::MAX, 1_000)],
        "JP" => &[(30_000_000, 10_000), (50_000_000, 50_000), (i64::MAX, 100_000)],
        _ => &[(i64::MAX, 100)],
    };
    ladder.iter().find(|(below, _)| price < *below).map_or(100, |(_, step)| *step)
}

/// The nearest price at or below that is a multiple of the tick, and not zero.
pub fn on_ladder(market: &str, price: i64) -> i64 {
    let price = price.max(10);
    let step = tick(market, price);
    (price - price % step).max(step)
}

/// A price as a decimal string: three decimals if the ticks are tenths of a cent, none in yen.
pub fn shown(market: &str, price: i64) -> String {
    match market {
        "HK" | "SG" | "MY" => decimal(price, 3),
        "JP" => decimal(price, 0),
        _ => decimal(price, 2),
    }
}

/// Ten-thousandths as a decimal string, truncated to 0 to 4 decimals.
pub fn decimal(value: i64, decimals: usize) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    let (whole, rest) = (value / UNIT.unsigned_abs(), value % UNIT.unsigned_abs());
    let rest = format!("{rest:04}");
    match rest.get(..decimals) {
        Some(rest) if !rest.is_empty() => format!("{sign}{whole}.{rest}"),
        _ => format!("{sign}{whole}"),
    }
}

/// Ten-thousandths as a JSON number.
pub fn number(value: i64) -> f64 {
    value as f64 / UNIT as f64
}

/// A price in ten-thousandths.
pub fn from_number(price: f64) -> i64 {
    (price * UNIT as f64).round() as i64
}

/// A number with thousands separators.
pub fn grouped(number: i64) -> String {
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
    fn prices_are_on_the_ladder() {
        for market in ["HK", "US", "SG", "MY", "JP", "SH"] {
            for price in (1..20_000_000).step_by(7_919) {
                let rounded = on_ladder(market, price);
                assert!(rounded > 0 && rounded % tick(market, rounded) == 0, "{market} {price}");
            }
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(shown("HK", 6_005_000), "600.500");
        assert_eq!(shown("US", 1_234_500), "123.45");
        assert_eq!(shown("JP", 30_000_000), "3000");
        assert_eq!(decimal(-12_345, 4), "-1.2345");
        assert_eq!(decimal(-5, 4), "-0.0005");
        assert_eq!(decimal(10_000, 0), "1");
    }

    #[test]
    fn thousands_are_separated() {
        for (number, shown) in
            [(1, "1"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), shown);
        }
    }
}
