//! What an argument may be, and how it is written on the wire. Everything that the service document
//! rules out is refused here, before anything is sent (sections 4 and 8).

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::{
    parameter::{Argument, EncodedValue, Parameter, ParameterKind},
    values::{Value, ValueSet},
};
use crate::error::{Error, Result};

/// Every prefix in the document has two letters; room is left for those that it does not show.
const MARKET_MAX_CHARACTERS: usize = 4;
const ACCOUNT_ID_MAX_CHARACTERS: usize = 64;
const TEXT_MAX_CHARACTERS: usize = 256;
/// Tokens that carry claims have been seen with some thousand characters.
const SECRET_MAX_CHARACTERS: usize = 16_384;

impl Parameter {
    /// The argument as it goes out, or why it may not. `other` gives the text of another argument.
    pub fn check<'a>(
        &self,
        argument: &Argument,
        other: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<EncodedValue> {
        match self.kind {
            ParameterKind::Symbol { max } => self.symbol(argument, max),
            ParameterKind::Market => self.market(argument),
            ParameterKind::PlateCode => self.plate_code(argument),
            ParameterKind::OneOf(words) => self.one_of(argument, words),
            ParameterKind::ValuesBy { parameter, sets } => {
                let key = other(parameter).unwrap_or_default();
                match sets.iter().find(|(name, _)| *name == key) {
                    Some((_, set)) => self.value_of(argument, set, key),
                    None => Err(self.refuse(argument, &format!("a known {parameter} with it"))),
                }
            }
            ParameterKind::AccountNumber => self.account_number(argument),
            ParameterKind::AccountId => self.account_id(argument),
            ParameterKind::Integer { min, max } => self.integer(argument, min, max),
            ParameterKind::Date => self.date(argument),
            ParameterKind::Micros => self.micros(argument),
            ParameterKind::Text => self.text(argument),
            ParameterKind::TextList => self.texts(argument),
            ParameterKind::Secret => self.secret(argument),
            ParameterKind::Cursor => Err(self.refuse(argument, "no value: the pager sets it")),
        }
    }

    fn refuse(&self, argument: &Argument, expected: &str) -> Error {
        Error::argument(self.name, &argument.shown(), expected)
    }

    fn symbol(&self, argument: &Argument, max: Option<usize>) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text)
                if max.is_none_or(|max| text.len() <= max)
                    && text.split_once('.').is_some_and(|(market, code)| {
                        is_market_prefix(market)
                            && !code.is_empty()
                            && code.bytes().all(is_code_byte)
                    }) =>
            {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => {
                let limit = max.map_or(String::new(), |max| format!(", at most {max} characters"));
                let expected = format!(
                    "{{market}}.{{code}}, such as 'HK.00700': letters, digits and . _ - only{limit}"
                );
                Err(self.refuse(argument, &expected))
            }
        }
    }

    fn market(&self, argument: &Argument) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text)
                if text.len() <= MARKET_MAX_CHARACTERS && is_market_prefix(text) =>
            {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => Err(self.refuse(argument, "a market prefix in capital letters, such as 'HK'")),
        }
    }

    fn plate_code(&self, argument: &Argument) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text)
                if text.split_once(".BK").is_some_and(|(market, digits)| {
                    is_market_prefix(market)
                        && !digits.is_empty()
                        && digits.bytes().all(|byte| byte.is_ascii_digit())
                }) =>
            {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => Err(self.refuse(argument, "{market}.BK<digits>, such as 'HK.BK1001'")),
        }
    }

    fn one_of(&self, argument: &Argument, words: &[&str]) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text) if words.contains(&text.as_str()) => {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => Err(self.refuse(argument, &format!("one of {}", words.join(", ")))),
        }
    }

    fn value_of(&self, argument: &Argument, set: &ValueSet, key: &str) -> Result<EncodedValue> {
        if let Argument::Integer(number) = argument
            && set.members.iter().any(|member| match member.value {
                Value::Integer(value) => i128::from(value) == *number,
                Value::Text(_) => false,
            })
        {
            return Ok(EncodedValue::Integer(*number));
        }
        let meanings: Vec<String> = set
            .members
            .iter()
            .map(|member| match member.value {
                Value::Integer(value) => format!("{value} ({})", member.doc),
                Value::Text(value) => value.to_owned(),
            })
            .collect();
        Err(self.refuse(argument, &format!("one of these for {key}: {}", meanings.join(", "))))
    }

    fn account_number(&self, argument: &Argument) -> Result<EncodedValue> {
        let number = match argument {
            Argument::Integer(number) => u64::try_from(*number).ok(),
            Argument::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse::<u64>().ok()
            }
            _ => None,
        };
        match number {
            // Leading zeros would name the same account by another path.
            Some(number) => Ok(EncodedValue::Text(number.to_string())),
            None => Err(self.refuse(argument, "an integer from 0 to 18446744073709551615")),
        }
    }

    fn account_id(&self, argument: &Argument) -> Result<EncodedValue> {
        let text = match argument {
            Argument::Integer(number) if *number >= 0 => number.to_string(),
            Argument::Text(text) => text.clone(),
            _ => String::new(),
        };
        let well_formed = !text.is_empty()
            && text.len() <= ACCOUNT_ID_MAX_CHARACTERS
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if well_formed {
            Ok(EncodedValue::Text(text))
        } else {
            Err(self.refuse(argument, "1 to 64 letters, digits, _ or -, or a non-negative integer"))
        }
    }

    fn integer(&self, argument: &Argument, min: i64, max: i64) -> Result<EncodedValue> {
        match argument {
            Argument::Integer(number) if (i128::from(min)..=i128::from(max)).contains(number) => {
                Ok(EncodedValue::Integer(*number))
            }
            _ => Err(self.refuse(argument, &format!("an integer from {min} to {max}"))),
        }
    }

    fn date(&self, argument: &Argument) -> Result<EncodedValue> {
        let date = match argument {
            Argument::Date(date) | Argument::Instant(_, date) => Some(*date),
            // Strict: jiff's own parser would also take a date with a time behind it.
            Argument::Text(text) if text.len() == 10 => text.parse::<Date>().ok(),
            _ => None,
        };
        match date {
            Some(date) if date.year() > 0 => Ok(EncodedValue::Text(date.to_string())),
            _ => Err(self.refuse(
                argument,
                "a calendar date: a datetime.date, an aware datetime or 'yyyy-MM-dd'",
            )),
        }
    }

    fn micros(&self, argument: &Argument) -> Result<EncodedValue> {
        let instant = match argument {
            // In the endpoint's own unit, where 0 has the meaning that the document gives it.
            Argument::Integer(number) => {
                return match u64::try_from(*number) {
                    Ok(_) => Ok(EncodedValue::Integer(*number)),
                    Err(_) => Err(self.refuse(
                        argument,
                        "microseconds since 1970, from 0 to 18446744073709551615",
                    )),
                };
            }
            Argument::Instant(instant, _) => Some(*instant),
            Argument::Date(date) => midnight(*date),
            // Unix time has no leap seconds, and jiff would read this one as the second before.
            Argument::Text(text) if is_leap_second(text) => None,
            Argument::Text(text) => match text.parse::<Timestamp>() {
                Ok(instant) => Some(instant),
                Err(_) if text.len() == 10 => text.parse().ok().and_then(midnight),
                Err(_) => None,
            },
            Argument::Texts(_) => None,
        };
        match instant {
            // The very beginning of 1970 would be 0, which means "not given".
            Some(instant) if instant >= Timestamp::UNIX_EPOCH => {
                Ok(EncodedValue::Integer(i128::from(instant.as_microsecond()).max(1)))
            }
            Some(_) => Err(self.refuse(argument, "a time since 1970-01-01 UTC")),
            None => Err(self.refuse(
                argument,
                "an aware datetime, a date (midnight UTC), ISO 8601 with an offset such as \
                 '2026-01-05T09:30:00+08:00', or microseconds since 1970",
            )),
        }
    }

    fn text(&self, argument: &Argument) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text)
                if !text.is_empty()
                    && text.chars().count() <= TEXT_MAX_CHARACTERS
                    && !text.chars().any(char::is_control) =>
            {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => Err(self.refuse(argument, "1 to 256 characters without control characters")),
        }
    }

    fn texts(&self, argument: &Argument) -> Result<EncodedValue> {
        let Argument::Texts(texts) = argument else { return self.text(argument) };
        for text in texts {
            self.text(&Argument::Text(text.clone()))?;
        }
        Ok(EncodedValue::Texts(texts.clone()))
    }

    fn secret(&self, argument: &Argument) -> Result<EncodedValue> {
        match argument {
            Argument::Text(text)
                if (1..=SECRET_MAX_CHARACTERS).contains(&text.len())
                    && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) =>
            {
                Ok(EncodedValue::Text(text.clone()))
            }
            _ => Err(Error::argument(self.name, "not valid", "visible ASCII characters")),
        }
    }
}

fn midnight(date: Date) -> Option<Timestamp> {
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// Whether the seconds of an ISO 8601 time, basic or extended, are 60.
fn is_leap_second(text: &str) -> bool {
    let clock = text.split_once(['T', 't', ' ']).map_or("", |(_, clock)| clock);
    let end = clock.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(clock.len());
    let digits = clock.get(..end).unwrap_or_default().bytes().filter(u8::is_ascii_digit);
    digits.skip(4).take(2).eq(*b"60")
}

fn is_market_prefix(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_code_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOL: Parameter =
        Parameter::path("symbol", ParameterKind::Symbol { max: Some(32) }, "");
    const ANY_SYMBOL: Parameter =
        Parameter::path("symbol", ParameterKind::Symbol { max: None }, "");
    const MARKET: Parameter = Parameter::query("market", ParameterKind::Market, "");
    const PLATE: Parameter = Parameter::path("plate_code", ParameterKind::PlateCode, "");
    const MICROS: Parameter = Parameter::query("start", ParameterKind::Micros, "");
    const DATE: Parameter = Parameter::query("start", ParameterKind::Date, "");
    const NUMBER: Parameter = Parameter::path("acc_id", ParameterKind::AccountNumber, "");

    fn check(parameter: &Parameter, text: &str) -> Result<EncodedValue> {
        parameter.check(&Argument::Text(text.to_owned()), |_| None)
    }

    #[test]
    fn symbols_of_every_market_pass() {
        for symbol in ["HK.00700", "US.BRK.B", "US..SPX", "SH.600519", "JP.NK225main", "MY.1155"] {
            assert_eq!(
                check(&SYMBOL, symbol).expect(symbol),
                EncodedValue::Text(symbol.to_owned())
            );
        }
    }

    #[test]
    fn hostile_symbols_are_refused_by_name_and_value() {
        let long = format!("HK.{}", "0".repeat(30));
        for symbol in [
            "",
            ".",
            "..",
            "HK",
            "HK.",
            ".00700",
            "HK./..",
            "HK.%2e",
            "HK.a\\b",
            "HK.\n",
            &long,
            "HK.\u{ff10}",
            "HK.a b",
            "hk.00700",
            "HK.00700?x=1",
            "HK.00700#",
        ] {
            let error = check(&SYMBOL, symbol).expect_err(symbol).to_string();
            assert!(error.contains("symbol"), "{error}");
        }
    }

    #[test]
    fn times_become_microseconds() {
        let expected = EncodedValue::Integer(1_767_578_400_000_000);
        for text in ["2026-01-05T10:00:00+08:00", "2026-01-05T02:00:00Z"] {
            assert_eq!(check(&MICROS, text).expect(text), expected);
        }
        assert_eq!(
            check(&MICROS, "2026-01-05").expect("a date"),
            EncodedValue::Integer(1_767_571_200_000_000)
        );
        for text in ["2026-01-05T10:00:00", "2026-02-30", "yesterday", ""] {
            assert!(check(&MICROS, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_leap_second_is_refused_and_not_taken_for_the_second_before() {
        for text in [
            "2016-12-31T23:59:60Z",
            "2016-12-31t23:59:60.5z",
            "2017-01-01 07:59:60+08:00",
            "20161231T235960Z",
        ] {
            assert!(check(&MICROS, text).is_err(), "{text}");
        }
        for text in ["2016-12-31T23:59:59.60Z", "2016-12-31T23:00:06Z", "2016-12-31T10:59Z"] {
            assert_eq!(check(&MICROS, text).is_ok(), text.parse::<Timestamp>().is_ok(), "{text}");
        }
    }

    #[test]
    fn only_a_length_that_the_document_limits_is_limited() {
        let long = format!("HK.{}", "0".repeat(37));
        assert!(check(&SYMBOL, &long).expect_err("too long").to_string().contains("32"));
        assert_eq!(check(&ANY_SYMBOL, &long).expect("any length"), EncodedValue::Text(long));
        let plate = format!("HK.BK{}", "1".repeat(40));
        assert_eq!(check(&PLATE, &plate).expect("any length"), EncodedValue::Text(plate));
    }

    #[test]
    fn a_market_is_a_prefix_of_no_closed_list() {
        for market in ["HK", "BJ", "US"] {
            assert_eq!(
                check(&MARKET, market).expect(market),
                EncodedValue::Text(market.to_owned())
            );
        }
        for market in ["", "hk", "H/K", "HK\n", "H K", "HK.", "\u{ff28}\u{ff2b}"] {
            assert!(check(&MARKET, market).is_err(), "{market}");
        }
    }

    #[test]
    fn the_beginning_of_1970_is_a_time_and_not_the_zero_that_leaves_a_range_open() {
        let epoch = Date::constant(1970, 1, 1);
        let sent = |argument| MICROS.check(&argument, |_| None);
        for argument in [
            Argument::Date(epoch),
            Argument::Instant(Timestamp::UNIX_EPOCH, epoch),
            Argument::Text("1970-01-01".to_owned()),
            Argument::Text("1970-01-01T08:00:00+08:00".to_owned()),
            Argument::Text("1970-01-01T00:00:00.0000009Z".to_owned()),
        ] {
            assert_eq!(
                sent(argument.clone()).expect("a time"),
                EncodedValue::Integer(1),
                "{argument:?}"
            );
        }
        assert_eq!(sent(Argument::Integer(0)).expect("open"), EncodedValue::Integer(0));
        for before in ["1969-12-31", "1969-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00+00:01"] {
            let error = sent(Argument::Text(before.to_owned())).expect_err(before);
            assert!(error.to_string().contains("since 1970"), "{error}");
        }
    }

    #[test]
    fn a_time_as_a_whole_number_has_64_bits_without_a_sign() {
        let sent = |number| MICROS.check(&Argument::Integer(number), |_| None);
        for number in [1, i128::from(i64::MAX) + 1, i128::from(u64::MAX)] {
            assert_eq!(sent(number).expect("in range"), EncodedValue::Integer(number));
        }
        assert!(sent(-1).is_err() && sent(i128::from(u64::MAX) + 1).is_err());
    }

    #[test]
    fn an_aware_time_stands_for_the_date_that_its_own_zone_shows() {
        let instant: Timestamp = "2026-01-05T23:30:00Z".parse().expect("a time");
        let argument = Argument::Instant(instant, Date::constant(2026, 1, 6));
        let sent = DATE.check(&argument, |_| None).expect("a date");
        assert_eq!(sent, EncodedValue::Text("2026-01-06".to_owned()));
    }

    #[test]
    fn impossible_dates_are_refused() {
        assert_eq!(
            check(&DATE, "2024-02-29").expect("leap"),
            EncodedValue::Text("2024-02-29".to_owned())
        );
        for text in ["2026-02-29", "2026-13-01", "20260101", "2026-1-1", "2026/01/01"] {
            assert!(check(&DATE, text).is_err(), "{text}");
        }
    }

    #[test]
    fn account_numbers_hold_64_bits() {
        assert_eq!(
            check(&NUMBER, "18446744073709551615").expect("largest"),
            EncodedValue::Text("18446744073709551615".to_owned())
        );
        for text in ["18446744073709551616", "-1", "+1", "1.0", "", " 1"] {
            assert!(check(&NUMBER, text).is_err(), "{text}");
        }
    }
}
