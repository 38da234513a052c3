//! Suggestions for misspelled symbols and markets, for errors. The document does not rule these
//! spellings out, so errors suggest a correction, and no spelling is corrected silently.

/// Prefixes that the document names (section 4.2).
pub const MARKETS: &[&str] = &["HK", "US", "SH", "SZ", "SG", "CA", "AU", "JP", "MY"];
/// Length of a Hong Kong code in the document's examples.
const HK_DIGITS: usize = 5;

/// Suggests another spelling of a symbol: `HK.00700` for `hk.00700`, `0700.HK`, `HK.700`,
/// `HK:00700` and `HK00700`.
pub fn suggest_symbol(text: &str) -> Option<String> {
    let known = |(market, code)| known_market(market).map(|market| (market, code));
    let dotted = with_dot(text.trim());
    let (market, code) = dotted
        .split_once('.')
        .and_then(known)
        .or_else(|| dotted.rsplit_once('.').map(|(code, market)| (market, code)).and_then(known))?;
    let is_code_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if code.is_empty() || !code.bytes().all(is_code_byte) {
        return None;
    }
    let code = if market == "HK" && code.bytes().all(|byte| byte.is_ascii_digit()) {
        let significant = code.trim_start_matches('0');
        format!("{significant:0>HK_DIGITS$}")
    } else if code.bytes().any(|byte| byte.is_ascii_uppercase()) || code.ends_with("main") {
        // Such codes, as in HK.HSImain, keep their case.
        code.to_owned()
    } else {
        code.to_ascii_uppercase()
    };
    let suggestion = format!("{market}.{code}");
    (suggestion != text).then_some(suggestion)
}

/// Suggests a symbol, also for a code without a market: a few letters belong to the US, a few
/// digits to Hong Kong.
pub fn suggest_market_and_code(text: &str) -> Option<String> {
    let market = match text.len() {
        1..=HK_DIGITS if text.bytes().all(|byte| byte.is_ascii_alphabetic()) => "US",
        1..=HK_DIGITS if text.bytes().all(|byte| byte.is_ascii_digit()) => "HK",
        _ => return suggest_symbol(text),
    };
    let symbol = format!("{market}.{text}");
    Some(suggest_symbol(&symbol).unwrap_or(symbol))
}

/// Writes the symbol with a dot instead of another separator, or between letters and digits.
fn with_dot(text: &str) -> String {
    let first_digit = text.find(|c: char| c.is_ascii_digit());
    match first_digit.and_then(|place| text.split_at_checked(place)) {
        _ if text.contains('.') => text.to_owned(),
        Some((market, code)) if known_market(market).is_some() => format!("{market}.{code}"),
        _ => text.replacen([':', ' ', '_', '-', '/'], ".", 1),
    }
}

/// Suggests a market in capital letters, if the text is one in other letters.
pub fn suggest_market(text: &str) -> Option<String> {
    let market = known_market(text.trim())?;
    (market != text).then(|| market.to_owned())
}

fn known_market(text: &str) -> Option<&'static str> {
    MARKETS.iter().find(|market| market.eq_ignore_ascii_case(text)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_mistakes_have_a_suggestion() {
        for (text, expected) in [
            ("hk.00700", Some("HK.00700")),
            ("0700.HK", Some("HK.00700")),
            ("00700.hk", Some("HK.00700")),
            ("HK.700", Some("HK.00700")),
            ("HK.0000700", Some("HK.00700")),
            ("AAPL.US", Some("US.AAPL")),
            ("us.aapl", Some("US.AAPL")),
            ("US.brk.b", Some("US.BRK.B")),
            ("hk.HSImain", Some("HK.HSImain")),
            ("HK00700", Some("HK.00700")),
            ("hk700", Some("HK.00700")),
            ("SH600519", Some("SH.600519")),
            ("HK:00700", Some("HK.00700")),
            ("HK 700", Some("HK.00700")),
            ("700 HK", Some("HK.00700")),
            ("AAPL-US", Some("US.AAPL")),
            (" HK.00700\n", Some("HK.00700")),
            ("BK1001", None),
            ("AAPL", None),
            ("HK.00700", None),
            ("US.BRK.B", None),
            ("JP.NK225main", None),
            ("XX.1", None),
            ("v1.0", None),
            ("HK.", None),
            ("HK.0/../1", None),
            ("00700", None),
            ("", None),
        ] {
            assert_eq!(suggest_symbol(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("AAPL", Some("US.AAPL")),
            ("aapl", Some("US.AAPL")),
            ("700", Some("HK.00700")),
            ("00700", Some("HK.00700")),
            ("0700.HK", Some("HK.00700")),
            ("600519", None),
            ("Tencent", None),
            ("", None),
        ] {
            assert_eq!(suggest_market_and_code(text).as_deref(), expected, "{text}");
        }
        assert_eq!(suggest_market(" hk").as_deref(), Some("HK"));
        assert_eq!(suggest_market("HK"), None);
        assert_eq!(suggest_market("hkk"), None);
    }
}
