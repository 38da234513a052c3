//! Parameters: what an argument may be, and how it is written on the wire. Everything that the
//! service document rules out is refused here, before anything is sent (sections 4 and 8).

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::values::{Value, ValueSet};
use crate::error::{Error, Result};

/// One parameter of an endpoint; its name is the same in Python and on the wire.
#[derive(Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub place: Place,
    pub kind: ParameterKind,
    pub required: bool,
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Path,
    Query,
    /// A member of a JSON body.
    Body,
    /// A field of an `application/x-www-form-urlencoded` body.
    Form,
}

#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// `{market}.{code}`.
    Symbol,
    /// `{market}.BK<digits>`.
    PlateCode,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of the values of the set that belongs to another parameter's value.
    ValuesBy {
        parameter: &'static str,
        sets: &'static [(&'static str, &'static ValueSet)],
    },
    /// A uint64 account id.
    AccountNumber,
    /// A string account id.
    AccountId,
    Integer {
        min: i64,
        max: i64,
    },
    /// A calendar date, sent as `yyyy-MM-dd`.
    Date,
    /// A point in time, sent in microseconds; 0 leaves it open.
    Micros,
    /// Free text: no control characters, not empty.
    Text,
    /// A list of free texts.
    TextList,
    /// What nobody else may see, such as a token: visible ASCII, never shown in an error.
    Secret,
    /// Set by the paging, not by the caller.
    Cursor,
}

/// An argument as the caller gave it, before any check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    Text(String),
    Texts(Vec<String>),
    Integer(i128),
    Date(Date),
    Instant(Timestamp),
}

/// An argument as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    Text(String),
    Texts(Vec<String>),
    Integer(i128),
}

impl Sent {
    pub fn into_text(self) -> String {
        match self {
            Sent::Text(text) => text,
            Sent::Texts(texts) => texts.join(","),
            Sent::Integer(number) => number.to_string(),
        }
    }
}

impl From<Argument> for Sent {
    /// As the caller gave it.
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Text(text) => Sent::Text(text),
            Argument::Texts(texts) => Sent::Texts(texts),
            Argument::Integer(number) => Sent::Integer(number),
            Argument::Date(date) => Sent::Text(date.to_string()),
            Argument::Instant(instant) => Sent::Text(instant.to_string()),
        }
    }
}

/// Section 8 names this limit for reference-future; it is kept for every symbol.
pub const SYMBOL_MAX_CHARACTERS: usize = 32;
const ACCOUNT_ID_MAX_CHARACTERS: usize = 64;
const TEXT_MAX_CHARACTERS: usize = 256;
/// Tokens that carry claims have been seen with some thousand characters.
const SECRET_MAX_CHARACTERS: usize = 16_384;

impl Parameter {
    pub const fn path(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: Place::Path, kind, required: true, doc }
    }
    pub const fn query(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: Place::Query, kind, required: false, doc }
    }
    pub const fn body(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: Place::Body, kind, required: false, doc }
    }
    pub const fn form(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: Place::Form, kind, required: false, doc }
    }
    /// The cursor of a paged listing, in its place among the parameters.
    pub const fn cursor(name: &'static str, place: Place) -> Self {
        let doc = "Cursor of the page; set by the pager.";
        Parameter { name, place, kind: ParameterKind::Cursor, required: false, doc }
    }
    pub const fn required(self) -> Self {
        Parameter { required: true, ..self }
    }

    /// The argument as it goes out, or why it may not. `other` gives the text of another argument.
    pub fn check<'a>(
        &self,
        argument: &Argument,
        other: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Sent> {
        match self.kind {
            ParameterKind::Symbol => self.symbol(argument),
            ParameterKind::PlateCode => self.plate_code(argument),
            ParameterKind::OneOf(words) => self.one_of(argument, words),
            ParameterKind::ValuesBy { parameter, sets } => {
                let key = other(parameter).unwrap_or_default();
                match sets.iter().find(|(name, _)| *name == key) {
                    Some((_, set)) => self.value_of(argument, set, key),
                    None => Err(self.refuse(argument, &format!("a known {parameter} beside it"))),
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
            ParameterKind::Cursor => Err(self.refuse(argument, "none: the paging sets it")),
        }
    }

    fn refuse(&self, argument: &Argument, allowed: &str) -> Error {
        Error::argument(self.name, &argument.shown(), allowed)
    }

    fn symbol(&self, argument: &Argument) -> Result<Sent> {
        let allowed = "{market}.{code}, such as 'HK.00700': letters, digits and . _ - only, at most \
                       32 characters";
        let Argument::Text(text) = argument else { return Err(self.refuse(argument, allowed)) };
        let well_formed = text.len() <= SYMBOL_MAX_CHARACTERS
            && text.split_once('.').is_some_and(|(market, code)| {
                is_market_prefix(market) && !code.is_empty() && code.bytes().all(is_code_byte)
            });
        if well_formed { Ok(Sent::Text(text.clone())) } else { Err(self.refuse(argument, allowed)) }
    }

    fn plate_code(&self, argument: &Argument) -> Result<Sent> {
        let allowed = "{market}.BK<digits>, such as 'HK.BK1001', at most 32 characters";
        let Argument::Text(text) = argument else { return Err(self.refuse(argument, allowed)) };
        let well_formed = text.len() <= SYMBOL_MAX_CHARACTERS
            && text.split_once(".BK").is_some_and(|(market, digits)| {
                is_market_prefix(market)
                    && !digits.is_empty()
                    && digits.bytes().all(|byte| byte.is_ascii_digit())
            });
        if well_formed { Ok(Sent::Text(text.clone())) } else { Err(self.refuse(argument, allowed)) }
    }

    fn one_of(&self, argument: &Argument, words: &[&str]) -> Result<Sent> {
        match argument {
            Argument::Text(text) if words.contains(&text.as_str()) => Ok(Sent::Text(text.clone())),
            _ => Err(self.refuse(argument, &format!("one of {}", words.join(", ")))),
        }
    }

    fn value_of(&self, argument: &Argument, set: &ValueSet, key: &str) -> Result<Sent> {
        if let Argument::Integer(number) = argument
            && set.members.iter().any(|member| match member.value {
                Value::Integer(value) => i128::from(value) == *number,
                Value::Text(_) => false,
            })
        {
            return Ok(Sent::Integer(*number));
        }
        let meanings: Vec<String> = set
            .members
            .iter()
            .map(|member| match member.value {
                Value::Integer(value) => format!("{value} ({})", member.doc),
                Value::Text(value) => value.to_owned(),
            })
            .collect();
        Err(self.refuse(argument, &format!("for {key} one of {}", meanings.join(", "))))
    }

    fn account_number(&self, argument: &Argument) -> Result<Sent> {
        let number = match argument {
            Argument::Integer(number) => u64::try_from(*number).ok(),
            Argument::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse::<u64>().ok()
            }
            _ => None,
        };
        match number {
            // Leading zeros would name the same account by another path.
            Some(number) => Ok(Sent::Text(number.to_string())),
            None => Err(self.refuse(argument, "a whole number from 0 to 18446744073709551615")),
        }
    }

    fn account_id(&self, argument: &Argument) -> Result<Sent> {
        let text = match argument {
            Argument::Integer(number) if *number >= 0 => number.to_string(),
            Argument::Text(text) => text.clone(),
            _ => String::new(),
        };
        let well_formed = !text.is_empty()
            && text.len() <= ACCOUNT_ID_MAX_CHARACTERS
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if well_formed {
            Ok(Sent::Text(text))
        } else {
            Err(self.refuse(argument, "1 to 64 letters, digits, _ or -, or a positive number"))
        }
    }

    fn integer(&self, argument: &Argument, min: i64, max: i64) -> Result<Sent> {
        match argument {
            Argument::Integer(number) if (i128::from(min)..=i128::from(max)).contains(number) => {
                Ok(Sent::Integer(*number))
            }
            _ => Err(self.refuse(argument, &format!("a whole number from {min} to {max}"))),
        }
    }

    fn date(&self, argument: &Argument) -> Result<Sent> {
        let date = match argument {
            Argument::Date(date) => Some(*date),
            // Strict: jiff's own parser would also take a date with a time behind it.
            Argument::Text(text) if text.len() == 10 => text.parse::<Date>().ok(),
            _ => None,
        };
        match date {
            Some(date) if date.year() > 0 => Ok(Sent::Text(date.to_string())),
            _ => Err(self.refuse(argument, "a calendar date: a datetime.date or 'yyyy-MM-dd'")),
        }
    }

    fn micros(&self, argument: &Argument) -> Result<Sent> {
        let micros = match argument {
            Argument::Integer(number) => Some(*number),
            Argument::Instant(instant) => Some(i128::from(instant.as_microsecond())),
            Argument::Date(date) => midnight(*date),
            // Unix time has no leap seconds, and jiff would read this one as the second before.
            Argument::Text(text) if is_leap_second(text) => None,
            Argument::Text(text) => match text.parse::<Timestamp>() {
                Ok(instant) => Some(i128::from(instant.as_microsecond())),
                Err(_) if text.len() == 10 => text.parse().ok().and_then(midnight),
                Err(_) => None,
            },
            Argument::Texts(_) => None,
        };
        match micros {
            Some(micros) if (0..=i128::from(i64::MAX)).contains(&micros) => {
                Ok(Sent::Integer(micros))
            }
            _ => Err(self.refuse(
                argument,
                "an aware datetime, a date (midnight UTC), ISO 8601 with an offset such as \
                 '2026-01-05T09:30:00+08:00', or microseconds since 1970",
            )),
        }
    }

    fn text(&self, argument: &Argument) -> Result<Sent> {
        match argument {
            Argument::Text(text)
                if !text.is_empty()
                    && text.chars().count() <= TEXT_MAX_CHARACTERS
                    && !text.chars().any(char::is_control) =>
            {
                Ok(Sent::Text(text.clone()))
            }
            _ => Err(self.refuse(argument, "1 to 256 characters without control characters")),
        }
    }

    fn texts(&self, argument: &Argument) -> Result<Sent> {
        let Argument::Texts(texts) = argument else { return self.text(argument) };
        for text in texts {
            self.text(&Argument::Text(text.clone()))?;
        }
        Ok(Sent::Texts(texts.clone()))
    }

    fn secret(&self, argument: &Argument) -> Result<Sent> {
        match argument {
            Argument::Text(text)
                if (1..=SECRET_MAX_CHARACTERS).contains(&text.len())
                    && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) =>
            {
                Ok(Sent::Text(text.clone()))
            }
            _ => Err(Error::argument(self.name, "unusable", "visible ASCII characters")),
        }
    }
}

impl Argument {
    /// How an error message shows it: cut, with nothing that could disturb a terminal.
    fn shown(&self) -> String {
        match self {
            Argument::Text(text) => {
                let cut: String = text.chars().take(64).collect();
                let dots = if cut.len() < text.len() { "..." } else { "" };
                format!("'{}{dots}'", cut.escape_debug())
            }
            Argument::Texts(texts) => format!("a list of {} texts", texts.len()),
            Argument::Integer(number) => number.to_string(),
            Argument::Date(date) => date.to_string(),
            Argument::Instant(instant) => instant.to_string(),
        }
    }
}

fn midnight(date: Date) -> Option<i128> {
    let zoned = date.to_zoned(TimeZone::UTC).ok()?;
    Some(i128::from(zoned.timestamp().as_microsecond()))
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

    const SYMBOL: Parameter = Parameter::path("symbol", ParameterKind::Symbol, "");
    const MICROS: Parameter = Parameter::query("start", ParameterKind::Micros, "");
    const DATE: Parameter = Parameter::query("start", ParameterKind::Date, "");
    const NUMBER: Parameter = Parameter::path("acc_id", ParameterKind::AccountNumber, "");

    fn check(parameter: &Parameter, text: &str) -> Result<Sent> {
        parameter.check(&Argument::Text(text.to_owned()), |_| None)
    }

    #[test]
    fn symbols_of_every_market_pass() {
        for symbol in ["HK.00700", "US.BRK.B", "US..SPX", "SH.600519", "JP.NK225main", "MY.1155"] {
            assert_eq!(check(&SYMBOL, symbol).expect(symbol), Sent::Text(symbol.to_owned()));
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
        let expected = Sent::Integer(1_767_578_400_000_000);
        for text in ["2026-01-05T10:00:00+08:00", "2026-01-05T02:00:00Z"] {
            assert_eq!(check(&MICROS, text).expect(text), expected);
        }
        assert_eq!(
            check(&MICROS, "2026-01-05").expect("a date"),
            Sent::Integer(1_767_571_200_000_000)
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
        for text in ["2016-12-31T23:59:59.60Z", "2016-12-31T23:00:06Z", "2016-12-31T10:60:00Z"] {
            assert_eq!(check(&MICROS, text).is_ok(), text.parse::<Timestamp>().is_ok(), "{text}");
        }
    }

    #[test]
    fn impossible_dates_are_refused() {
        assert_eq!(check(&DATE, "2024-02-29").expect("leap"), Sent::Text("2024-02-29".to_owned()));
        for text in ["2026-02-29", "2026-13-01", "20260101", "2026-1-1", "2026/01/01"] {
            assert!(check(&DATE, text).is_err(), "{text}");
        }
    }

    #[test]
    fn account_numbers_hold_64_bits() {
        assert_eq!(
            check(&NUMBER, "18446744073709551615").expect("largest"),
            Sent::Text("18446744073709551615".to_owned())
        );
        for text in ["18446744073709551616", "-1", "+1", "1.0", "", " 1"] {
            assert!(check(&NUMBER, text).is_err(), "{text}");
        }
    }
}
