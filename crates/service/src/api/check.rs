//! Checks the arguments and encodes them. Everything that the service document rules out is refused
//! before a request is sent (sections 4 and 8), and so are values that the caller cannot have
//! meant.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use super::{
    parameter::{Argument, EncodedValue, Parameter, ParameterKind, SecretText},
    spelling::{suggest_market, suggest_market_and_code, suggest_symbol},
    time,
    values::{Value, ValueSet},
};
use crate::error::{Advice, Error, Result, did_you_mean};

/// Maximum length of a market prefix. Every prefix in the document has two letters; undocumented
/// ones may be longer.
const MARKET_MAX_CHARACTERS: usize = 4;
const ACCOUNT_ID_MAX_CHARACTERS: usize = 64;
const TEXT_MAX_CHARACTERS: usize = 256;
/// Maximum length of a secret. Tokens with claims have thousands of characters.
const SECRET_MAX_CHARACTERS: usize = 16_384;

impl Parameter {
    /// Encodes the argument, or returns an error that says what is expected. `other` returns the
    /// text of another argument by its name.
    pub fn check<'a>(
        &self,
        argument: &Argument,
        other: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<EncodedValue> {
        let refused = |expected: String| self.refuse(argument, &expected);
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
            ParameterKind::Date => {
                time::date(argument).map_err(|expected| self.refuse(argument, &expected))
            }
            ParameterKind::Time(unit) => time::time(argument, unit).map_err(refused),
            ParameterKind::Number => self.number(argument),
            ParameterKind::Decimal => self.decimal(argument),
            ParameterKind::Flag => match argument {
                Argument::Flag(..) => Ok(argument.clone().into()),
                _ => Err(self.refuse(argument, "true or false")),
            },
            ParameterKind::FreeText => self.free_text(argument),
            ParameterKind::Json => match argument {
                Argument::Json(..) => Ok(argument.clone().into()),
                _ => Err(self.refuse(argument, "an object or a list")),
            },
            ParameterKind::Segment => self.segment(argument),
            ParameterKind::Text => self.text(argument),
            ParameterKind::TextList => self.texts(argument),
            ParameterKind::Secret => self.secret(argument),
            ParameterKind::Cursor => Err(self.refuse(argument, "no value: the pager sets it")),
        }
    }

    fn refuse(&self, argument: &Argument, expected: &str) -> Error {
        let error = Error::argument(&self.name, &argument.shown(), expected);
        match argument {
            Argument::Json(..) if self.required => error.with_advice(Advice::SeveralKeys),
            Argument::Json(_, "a list") => {
                error.with_advice("Pass one value: for several, call once for each.")
            }
            _ => error,
        }
    }

    /// Returns the error for a rule that the service document does not state.
    fn own_rule(&self, argument: &Argument, expected: &str, meant: &str) -> Error {
        Error::own_rule(&self.name, &argument.shown(), expected, meant)
    }

    fn symbol(&self, argument: &Argument, max: Option<usize>) -> Result<EncodedValue> {
        let meant = meant(argument, suggest_market_and_code);
        let parts = match argument {
            Argument::Text(text) if max.is_none_or(|max| text.len() <= max) => {
                text.split_once('.').filter(|(market, code)| !market.is_empty() && !code.is_empty())
            }
            _ => None,
        };
        match (argument, parts) {
            (Argument::Text(text), Some((market, code))) => {
                if is_market_prefix(market) && code.bytes().all(is_code_byte) {
                    return Ok(EncodedValue::Text(text.clone()));
                }
                let expected = "{market}.{code}, such as 'HK.00700': 1 to 8 capital letters, and letters, \
                                digits and . _ - only";
                Err(self.own_rule(argument, expected, &meant))
            }
            _ => {
                let limit = max.map_or(String::new(), |max| format!(", at most {max} characters"));
                let expected = format!("{{market}}.{{code}}, such as 'HK.00700'{limit}{meant}");
                Err(self.refuse(argument, &expected))
            }
        }
    }

    fn market(&self, argument: &Argument) -> Result<EncodedValue> {
        let is_prefix = |text: &str| text.len() <= MARKET_MAX_CHARACTERS && is_market_prefix(text);
        text_if(argument, is_prefix).ok_or_else(|| {
            let expected = "a market prefix of 1 to 4 capital letters, such as 'HK'";
            self.own_rule(argument, expected, &meant(argument, suggest_market))
        })
    }

    fn plate_code(&self, argument: &Argument) -> Result<EncodedValue> {
        let parts = match argument {
            Argument::Text(text) => text.split_once(".BK").filter(|(_, digits)| is_digits(digits)),
            _ => None,
        };
        let meant = meant(argument, suggest_symbol);
        let expected = "{market}.BK<digits>, such as 'HK.BK1001'";
        match parts {
            Some((market, _)) if is_market_prefix(market) => Ok(argument.clone().into()),
            Some((market, _)) if !market.is_empty() => {
                let expected = format!("{expected}: 1 to 8 capital letters first");
                Err(self.own_rule(argument, &expected, &meant))
            }
            _ => Err(self.refuse(argument, &format!("{expected}{meant}"))),
        }
    }

    fn one_of(&self, argument: &Argument, words: &[&str]) -> Result<EncodedValue> {
        text_if(argument, |text| words.contains(&text)).ok_or_else(|| {
            let nearest = match argument {
                Argument::Text(text) => did_you_mean(text, words.iter().copied()),
                _ => String::new(),
            };
            self.refuse(argument, &format!("one of {}{nearest}", words.join(", ")))
        })
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
            // The number is sent without leading zeros, which would be another path to the same
            // account.
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
            let expected = "1 to 64 letters, digits, _ or -, or a non-negative integer";
            let several = if text.contains(',') { "; call once for each account" } else { "" };
            Err(self.own_rule(argument, expected, several))
        }
    }

    fn integer(&self, argument: &Argument, min: i128, max: i128) -> Result<EncodedValue> {
        match argument {
            Argument::Integer(number) if (min..=max).contains(number) => {
                Ok(EncodedValue::Integer(*number))
            }
            _ if min < i128::from(i64::MIN) + 1 => Err(self.refuse(argument, "an integer")),
            // The document has no bounds except for page sizes, and no minimum of 1.
            Argument::Integer(number) if max >= i128::from(i32::MAX) || min == 1 && *number < 1 => {
                Err(self.own_rule(argument, &format!("an integer from {min} to {max}"), ""))
            }
            _ => Err(self.refuse(argument, &format!("an integer from {min} to {max}"))),
        }
    }

    fn text(&self, argument: &Argument) -> Result<EncodedValue> {
        let is_short = |text: &str| (1..=TEXT_MAX_CHARACTERS).contains(&text.chars().count());
        text_if(argument, |text| is_short(text) && !text.chars().any(char::is_control)).ok_or_else(
            || self.own_rule(argument, "1 to 256 characters without control characters", ""),
        )
    }

    fn texts(&self, argument: &Argument) -> Result<EncodedValue> {
        let texts = match argument {
            Argument::Texts(texts) => texts.as_slice(),
            Argument::Text(text) => std::slice::from_ref(text),
            _ => return Err(self.refuse(argument, "a list of strings")),
        };
        if texts.iter().any(|text| text.is_empty() || text.chars().any(char::is_control)) {
            let expected = "strings that are not empty and have no control characters";
            return Err(self.refuse(argument, expected));
        }
        Ok(EncodedValue::Texts(texts.to_vec()))
    }

    fn free_text(&self, argument: &Argument) -> Result<EncodedValue> {
        text_if(argument, |text| !text.chars().any(char::is_control))
            .ok_or_else(|| self.own_rule(argument, "a string without control characters", ""))
    }

    fn number(&self, argument: &Argument) -> Result<EncodedValue> {
        match argument {
            Argument::Integer(number) => Ok(EncodedValue::Integer(*number)),
            Argument::Number(_) => Ok(argument.clone().into()),
            _ => Err(self.refuse(argument, "a finite number")),
        }
    }

    fn decimal(&self, argument: &Argument) -> Result<EncodedValue> {
        let text = match argument {
            Argument::Integer(number) => number.to_string(),
            Argument::Text(text) if is_decimal(text) => text.clone(),
            _ => {
                return Err(
                    self.refuse(argument, "a decimal, an integer or a string such as '0.10'")
                );
            }
        };
        Ok(EncodedValue::Text(text))
    }

    /// Checks for a segment that no URL parser takes for another path. Encoding `..` would not
    /// help: parsers resolve `%2e%2e` as well.
    fn segment(&self, argument: &Argument) -> Result<EncodedValue> {
        let text = match argument {
            Argument::Integer(number) if *number >= 0 => number.to_string(),
            Argument::Date(_) => EncodedValue::from(argument.clone()).into_text(),
            Argument::Text(text)
                if !text.is_empty()
                    && text.chars().count() <= TEXT_MAX_CHARACTERS
                    && text != "."
                    && text != ".."
                    && !text.chars().any(|c| c.is_control() || "/\\%".contains(c)) =>
            {
                percent_encoded(text)
            }
            _ => {
                let expected = "1 to 256 characters without / \\ % and control characters, and \
                                neither '.' nor '..'";
                return Err(self.own_rule(argument, expected, ""));
            }
        };
        Ok(EncodedValue::Text(text))
    }

    fn secret(&self, argument: &Argument) -> Result<EncodedValue> {
        let is_valid = |text: &str| {
            (1..=SECRET_MAX_CHARACTERS).contains(&text.len())
                && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        };
        match argument {
            Argument::Text(text) if is_valid(text) => {
                Ok(EncodedValue::Secret(SecretText(Zeroizing::new(text.clone()))))
            }
            Argument::Secret(text) if is_valid(&text.0) => Ok(EncodedValue::Secret(text.clone())),
            _ => Err(Error::argument(&self.name, "not valid", "visible ASCII characters")),
        }
    }
}

/// Suggests the value that a text was meant to be, for the end of an error.
fn meant(argument: &Argument, suggest: impl Fn(&str) -> Option<String>) -> String {
    let Argument::Text(text) = argument else { return String::new() };
    suggest(text).map_or(String::new(), |meant| format!("; did you mean '{meant}'?"))
}

fn is_market_prefix(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns true for digits with an optional sign, point and exponent.
fn is_decimal(text: &str) -> bool {
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    text.len() <= TEXT_MAX_CHARACTERS && [whole, fraction, exponent].into_iter().all(is_digits)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Encodes all characters but the unreserved ones of RFC 3986.
fn percent_encoded(text: &str) -> String {
    const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, &RESERVED).to_string()
}

/// Returns the argument if it is a text that passes the test.
fn text_if(argument: &Argument, holds: impl Fn(&str) -> bool) -> Option<EncodedValue> {
    match argument {
        Argument::Text(text) if holds(text) => Some(argument.clone().into()),
        _ => None,
    }
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
    fn hostile_symbols_are_rejected_by_name_and_value() {
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
