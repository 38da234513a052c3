//! The built-in rows: a template for each endpoint, expanded for each request by the kinds of the
//! fields that the endpoint's row declares. In a template
//!
//! - `only` selects the requests that get its rows, by their arguments (`""` for an argument that
//!   is not sent) and by the known values of their symbol.
//! - `for` repeats a row: this many times, or once for each stock of a market, but at most `most`
//!   times.
//! - `{"range": [low, high, decimals]}` is a number that depends on the seed, `{"pick": [...]}` is
//!   one of these values by the seed, and `{"cycle": [...]}` one of these values by the number of
//!   the row.
//! - A time is counted from the midnight with which the sandbox's today begins: `+3` or `-3` days,
//!   hours and minutes as `04:30`, `-7n` seven days more for each row, `-60m` sixty minutes, `-1w`
//!   one weekday, `+0w` the next weekday, `+90s` fewer than ninety days, by the symbol. A number of
//!   undeclared kind has an `@` before it.
//! - In a text, `{n}` is the number of the row, `{-7:%Y}` a part of a date, `{name}` an argument or
//!   a known value of the security, and `{orders}` the option.
//!
//! A declared field without a value has the empty value of its kind.

use std::{
    collections::BTreeMap,
    iter::{repeat_n, zip},
    sync::LazyLock,
};

use boardlot_service::api::{self, Endpoint, Field, Kind, MICROS_PER_DAY, ResponseShape, Wire};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    calendar::{date_of, weekday},
    rows::Row,
    securities::{Words, stocks},
};
use crate::seeded_rng::SeededRng;

const MICROS_PER_MINUTE: i64 = 60_000_000;

/// Arguments on which the random numbers of a template depend.
const PATH_WORDS: [&str; 3] = ["symbol", "acc_id", "plate_code"];
/// Members of a row that control its repetition.
const REPEAT: [&str; 2] = ["for", "most"];

/// The files of the folder `templates`, by the names of their endpoints.
const SOURCES: &[(&str, &str)] = &[
    ("capital_flow_history", include_str!("templates/capital_flow_history.json")),
    ("crypto_orders", include_str!("templates/crypto_orders.json")),
    ("dividends", include_str!("templates/dividends.json")),
    ("history_kline", include_str!("templates/history_kline.json")),
    ("ipo_list", include_str!("templates/ipo_list.json")),
    ("plate_stocks", include_str!("templates/plate_stocks.json")),
    ("reference_futures", include_str!("templates/reference_futures.json")),
    ("sim_orders", include_str!("templates/sim_orders.json")),
    ("sim_positions", include_str!("templates/sim_positions.json")),
];

static TEMPLATES: LazyLock<BTreeMap<&str, Vec<Template>>> = LazyLock::new(|| {
    let read = |&(name, json)| (name, serde_json::from_str(json).unwrap_or_default());
    SOURCES.iter().map(read).collect()
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Template {
    #[serde(default)]
    only: BTreeMap<String, Vec<String>>,
    rows: Vec<Map<String, Value>>,
}

/// The values on which all rows depend.
#[derive(Debug, Clone, Copy)]
pub struct Basis {
    pub seed: u64,
    /// The midnight with which the sandbox's today begins.
    pub midnight: i64,
    pub fills: usize,
    pub orders: usize,
    /// The stocks of Hong Kong.
    pub plate_stocks: usize,
}

/// Returns the rows of a request with these known words; `None` if no template is for it.
pub fn expand(endpoint: &Endpoint, words: &Words, basis: Basis) -> Option<Vec<Row>> {
    let fields = match &endpoint.response {
        ResponseShape::Rows(_, schema) => schema.choose(|name| words.get(name).map(String::as_str)),
        _ => [].into(),
    };
    let mut found = None;
    // The seed ignores `request_type`, so that a row in two lists is the same in both.
    let of_path: Vec<&String> = PATH_WORDS.iter().filter_map(|name| words.get(*name)).collect();
    for (number, template) in TEMPLATES.get(&*endpoint.name)?.iter().enumerate() {
        let is_meant = |(name, values): (&String, &Vec<String>)| {
            values.contains(words.get(name).unwrap_or(&String::new()))
        };
        if template.only.iter().all(is_meant) {
            let label = format!("{} {number} {of_path:?}", endpoint.name);
            let rng = SeededRng::new(basis.seed, &label);
            let mut one = Expansion { basis, words: words.clone(), number: 0, rng };
            let rows: &mut Vec<Row> = found.get_or_insert_default();
            template.rows.iter().for_each(|row| one.repeat(&fields, row, rows));
        }
    }
    found
}

/// The expansion of one template.
struct Expansion {
    basis: Basis,
    words: Words,
    number: usize,
    rng: SeededRng,
}

impl Expansion {
    fn repeat(&mut self, fields: &[Field], row: &Map<String, Value>, rows: &mut Vec<Row>) {
        let often = match row.get("for") {
            Some(Value::String(text)) => self.filled(text),
            Some(number) => number.to_string(),
            None => "1".to_owned(),
        };
        let hong_kong = self.basis.plate_stocks;
        let each: Box<dyn Iterator<Item = Words>> = match often.parse() {
            Ok(count) => Box::new(repeat_n(Words::new(), count)),
            Err(_) => Box::new(stocks(&often, hong_kong)),
        };
        let most = row.get("most").and_then(Value::as_u64).map_or(usize::MAX, |most| most as usize);
        for (number, words) in zip(0..most, each) {
            self.number = number;
            self.words.extend(words);
            rows.push(Row::of(&self.members(fields, row)));
        }
    }

    /// Returns the declared fields, or the content of the template.
    fn members<'t>(
        &mut self,
        fields: &'t [Field],
        object: &'t Map<String, Value>,
    ) -> Vec<(&'t str, Value)> {
        if fields.is_empty() {
            let own = object.iter().filter(|(name, _)| !REPEAT.contains(&name.as_str()));
            return own.map(|(name, value)| (name.as_str(), self.value(None, value))).collect();
        }
        let mut members = Vec::with_capacity(fields.len());
        for field in fields {
            let value = match object.get(field.name.as_ref()) {
                Some(value) => self.value(Some(&field.kind), value),
                None if !field.required => continue,
                None => empty(field),
            };
            members.push((field.name.as_ref(), value));
        }
        members
    }

    fn value(&mut self, kind: Option<&Kind>, value: &Value) -> Value {
        let chosen = |name: &str| value.get(name).and_then(Value::as_array);
        if let Some(bounds) = chosen("range") {
            return self.number(kind, bounds);
        }
        let item = match (chosen("pick"), chosen("cycle")) {
            (Some(items), _) => items.get(self.rng.below(items.len() as u64) as usize),
            (_, Some(items)) => items.get(self.number % items.len().max(1)),
            (None, None) => None,
        };
        if let Some(item) = item {
            return self.value(kind, item);
        }
        match (kind, value) {
            (Some(Kind::Object(fields)), Value::Object(object)) => {
                let members = self.members(fields, object).into_iter();
                members.map(|(name, value)| (name.to_owned(), value)).collect()
            }
            (_, Value::String(text)) => self.text(kind, text),
            _ => value.clone(),
        }
    }

    /// Returns a number between two bounds, with this many decimals.
    fn number(&mut self, kind: Option<&Kind>, bounds: &[Value]) -> Value {
        let bound = |index: usize| bounds.get(index).and_then(Value::as_f64).unwrap_or_default();
        let decimals = bound(2) as usize;
        let scale = 10f64.powi(decimals as i32);
        let number = self.rng.between((bound(0) * scale) as i64, (bound(1) * scale) as i64);
        match kind {
            Some(Kind::Number) => json!(number as f64 / scale),
            None | Some(Kind::Integer | Kind::IntegerNotZero) => json!(number),
            Some(_) => json!(format!("{:.decimals$}", number as f64 / scale)),
        }
    }

    fn text(&self, kind: Option<&Kind>, text: &str) -> Value {
        let text = self.filled(text);
        let millis = |text: &str| self.instant(text).map(|micros| micros / 1_000);
        let integer = |text: &str| text.parse().ok().or_else(|| millis(text)).unwrap_or(0);
        match kind {
            Some(Kind::Date) => match self.instant(&text) {
                Some(micros) => json!(date_of(micros).to_string()),
                None => json!(text),
            },
            Some(Kind::Timestamp(unit, wire)) => {
                let micros = self.instant(&text).unwrap_or_default();
                let count = micros / (1_000_000 / unit.per_second());
                if *wire == Wire::Text { json!(count.to_string()) } else { json!(count) }
            }
            Some(Kind::Integer | Kind::IntegerNotZero) => json!(integer(&text)),
            None if text.starts_with('@') => json!(integer(text.trim_start_matches('@'))),
            _ => json!(text),
        }
    }

    /// Replaces the parts of the text in braces.
    fn filled(&self, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, (name, after))) =
            rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            filled.push_str(before);
            match (name, name.split_once(':')) {
                ("n", _) => filled.push_str(&format!("{:04}", self.number)),
                (_, Some((time, format))) => {
                    let date = date_of(self.instant(time).unwrap_or(self.basis.midnight));
                    filled.push_str(&date.strftime(format).to_string());
                }
                _ => filled.push_str(self.words.get(name).map_or("", String::as_str)),
            }
            rest = after;
        }
        filled + rest
    }

    /// Returns a number of days below this one, the same for every date of a symbol.
    fn days_of_symbol(&self, days: u64) -> i64 {
        let symbol = self.words.get("symbol").map_or("", String::as_str);
        SeededRng::new(self.basis.seed, &format!("days {symbol}")).below(days) as i64
    }

    /// Returns the microsecond of a time.
    fn instant(&self, text: &str) -> Option<i64> {
        let (mut day, mut minutes) = (self.basis.midnight / MICROS_PER_DAY, 0);
        let row = self.number as i64;
        for term in text.split(' ') {
            if let Some((hour, minute)) = term.split_once(':') {
                minutes += hour.parse::<i64>().ok()? * 60 + minute.parse::<i64>().ok()?;
                continue;
            }
            if !term.starts_with(['+', '-']) {
                return None;
            }
            let number: i64 = term.trim_end_matches(['m', 'n', 's', 'w']).parse().ok()?;
            match term.chars().last() {
                Some('m') => minutes += number * row,
                Some('n') => day += number * row,
                Some('s') => day += self.days_of_symbol(number.unsigned_abs()) * number.signum(),
                Some('w') => day = weekday(day, number * row, term.starts_with('-')),
                _ => day += number,
            }
        }
        Some(day * MICROS_PER_DAY + minutes * MICROS_PER_MINUTE)
    }
}

/// Returns the value of a field that a template leaves out.
fn empty(field: &Field) -> Value {
    match (field.kind, field.values.and_then(|set| set.members.first())) {
        _ if field.nullable => Value::Null,
        (_, Some(member)) => match member.value {
            api::Value::Integer(number) => json!(number),
            api::Value::Text(text) => json!(text),
        },
        (Kind::Text | Kind::Date | Kind::Decimal, _) => json!(""),
        (Kind::Timestamp(_, Wire::Text), _) => json!("0"),
        (Kind::Integer | Kind::IntegerNotZero | Kind::Timestamp(..), _) => json!(0),
        (Kind::Number, _) => json!(0.0),
        (Kind::Flag, _) => json!(false),
        (Kind::Object(_), _) => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_read_and_names_declared_fields_only() {
        for &(name, source) in SOURCES {
            let templates: Vec<Template> = serde_json::from_str(source).expect(name);
            let Some(endpoint) = api::endpoint(name) else { continue };
            let ResponseShape::Rows(_, schema) = &endpoint.response else { unreachable!("{name}") };
            let declared = schema.all_fields();
            let rows = templates.iter().flat_map(|template| &template.rows);
            for (member, _) in rows.flatten().filter(|(name, _)| !REPEAT.contains(&name.as_str())) {
                let is_declared = declared.iter().any(|field| field.name == *member);
                assert!(declared.is_empty() || is_declared, "{name}: {member}");
            }
        }
    }

    #[test]
    fn every_endpoint_has_rows() {
        // Code makes the rows of these endpoints.
        let made = ["fills_history", "trading_days"];
        let endpoints = api::ENDPOINTS.iter().map(|endpoint| &*endpoint.name);
        for name in endpoints.filter(|name| !made.contains(name) && *name != "server_time") {
            assert!(
                SOURCES.iter().any(|(listed, _)| *listed == name),
                "list {name}.json in SOURCES"
            );
        }
    }

    #[test]
    fn times_are_counted_from_midnight() {
        // Friday, 2 January 1970.
        let basis =
            Basis { seed: 0, midnight: MICROS_PER_DAY, fills: 0, orders: 0, plate_stocks: 0 };
        let rng = SeededRng::new(0, "");
        let one = Expansion { basis, words: Words::new(), number: 2, rng };
        let minute = |text: &str| one.instant(text).map(|micros| micros / MICROS_PER_MINUTE);
        for (text, day, minutes) in [
            ("+0", 1, 0),
            ("-3 04:30", -2, 270),
            ("-1 -7n", -14, 0),
            ("-150m", 1, -300),
            ("+1 +0w", 4, 0),
            ("+1 -0w 01:00", 1, 60),
            ("+1 -1w", -1, 0),
            ("+1 +1s 01:00", 2, 60),
        ] {
            assert_eq!(minute(text), Some(day * 1_440 + minutes), "{text}");
        }
        for text in ["", "--", "2026-01-05", "3", "+x"] {
            assert_eq!(minute(text), None, "{text}");
        }
        assert_eq!(one.filled("a{n}b {+3:%Y/%m}{unknown}"), "a0002b 1970/01");
    }
}
