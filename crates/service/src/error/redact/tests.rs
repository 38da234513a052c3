//! Secrets are found in every spelling, and nothing else is.

use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

const SECRET: &str = "aB3+/=_~.-&\"<x'%41\\";

fn redacted(text: &str) -> String {
    let mut text = text.to_owned();
    Redactor::new([SECRET]).redact(&mut text);
    text
}

/// Every way to spell one character.
fn spellings(c: char) -> Vec<String> {
    let code = u32::from(c);
    let mut ways = vec![
        c.to_string(),
        format!("%{code:02x}"),
        format!("%{code:02X}"),
        format!("%25{code:02X}"),
        format!("\\u{code:04x}"),
        format!("\\u{code:04X}"),
        format!("\\\\u{code:04x}"),
        format!("\\x{code:02x}"),
        format!("&#{code};"),
        format!("&#0{code};"),
        format!("&#x{code:x};"),
        format!("&#X{code:X};"),
        format!("&amp;#{code};"),
        format!("%u{code:04x}"),
        format!("%25u{code:04X}"),
    ];
    let named = [
        ('&', "&amp;"),
        ('"', "&quot;"),
        ('<', "&LT;"),
        ('\'', "&apos;"),
        ('+', "&plus;"),
        ('.', "&period;"),
        ('/', "&sol;"),
        ('=', "&equals;"),
        ('_', "&UnderBar;"),
        ('%', "&percnt;"),
    ];
    ways.extend(named.iter().filter(|(known, _)| *known == c).map(|(_, way)| (*way).to_owned()));
    if "/\"\\".contains(c) {
        ways.push(format!("\\{c}"));
    }
    ways
}

#[test]
fn each_spelling_is_found() {
    let most = SECRET.chars().map(|c| spellings(c).len()).max().expect("some");
    for way in 0..most {
        let spelled: String = SECRET
            .chars()
            .map(|c| {
                let ways = spellings(c);
                ways[way.min(ways.len() - 1)].clone()
            })
            .collect();
        assert_eq!(redacted(&format!("a {spelled}, b")), "a ***, b", "{spelled}");
    }
}

#[test]
fn base64_is_found_wherever_the_secret_begins() {
    for before in ["", "x", "xy", "xyz", "Bearer "] {
        for behind in ["", "1", "12", "123"] {
            let whole = format!("{before}{SECRET}{behind}");
            for engine in [&STANDARD, &base64::engine::general_purpose::URL_SAFE] {
                let encoded = engine.encode(&whole);
                for text in [encoded.clone(), encoded.replace('+', "%2B").replace('/', "\\/")] {
                    let shown = redacted(&text);
                    assert!(shown.contains(MASK) && shown.len() < 20, "{whole}: {shown}");
                }
            }
        }
    }
}

#[test]
fn utf_16_is_found_also_within_escapes() {
    let utf_16 = |text: &str, before: &str, behind: &str| -> String {
        text.chars().map(|c| format!("{before}{c}{behind}")).collect()
    };
    let escaped: String = SECRET.chars().map(|c| format!("%{:02X}", u32::from(c))).collect();
    for nul in ["\0", "%00", "\\u0000"] {
        for text in [SECRET, &escaped] {
            for spelled in [utf_16(text, "", nul), utf_16(text, nul, "")] {
                let shown = redacted(&format!("a {spelled}, b"));
                let shown = shown.replace(nul, "");
                assert_eq!(shown, "a ***, b", "{spelled:?}");
            }
        }
    }
}

#[test]
fn only_a_whole_secret_is_in_a_text() {
    let redactor = Redactor::new(["eyJhbGciOiJIUzI1NiJ9.state.signature"]);
    for (text, is_in) in [
        ("eyJhbGciOiJIUzI1NiJ9.state.signature", true),
        ("at=5&token=eyJhbGciOiJIUzI1NiJ9%2Estate%2Esignature", true),
        ("eyJhbGciOiJIUzI1NiJ9.other.signature", false),
        ("eyJhbGciOiJIUzI1NiJ9.state.sign", false),
        ("", false),
    ] {
        assert_eq!(redactor.is_in(text), is_in, "{text}");
    }
    assert!(!Redactor::default().is_in("text"));
}

#[test]
fn a_plus_and_a_space_are_the_same_in_a_form() {
    let redactor = Redactor::new(["two words here"]);
    for text in ["two words here", "two+words+here", "two%20words+here", "two%20words%20here"] {
        let mut shown = format!("<{text}>");
        redactor.redact(&mut shown);
        assert_eq!(shown, "<***>");
    }
}

#[test]
fn a_short_secret_is_found_only_as_a_whole_word() {
    let redactor = Redactor::new(["a"]);
    let mut text = "Bearer a was refused: \"a\", a%20, banana".to_owned();
    redactor.redact(&mut text);
    assert_eq!(text, "Bearer *** was refused: \"***\", ***%20, banana");
}

#[test]
fn a_truncated_secret_is_not_shown() {
    let secret = "access-0123456789/abcdef";
    let redactor = Redactor::new([secret]);
    let escaped: String = secret.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
    let encoded = STANDARD.encode(secret);
    let begun: String = encoded.chars().take(6).collect();
    let half_escaped = format!("%61{}", secret.trim_start_matches('a'));
    for spelled in [secret.to_owned(), escaped, encoded, half_escaped] {
        for end in 0..spelled.len() {
            let cut: String = spelled.chars().take(end).collect();
            let mut text = format!("the body {cut}");
            redactor.redact_truncated(&mut text);
            let left = String::from_utf8(unescape(text.as_bytes()).bytes.to_vec()).expect("text");
            assert!(!left.contains("acces") && !left.contains(&begun), "{end}: {text}");
        }
    }
}

/// Broken into lines of so many characters, with this between them.
fn wrapped(text: &str, size: usize, between: &str) -> String {
    let lines: Vec<&str> = (0..text.len())
        .step_by(size)
        .filter_map(|from| text.get(from..text.len().min(from + size)))
        .collect();
    lines.join(between)
}

#[test]
fn base64_is_found_in_lines() {
    let secret = "access-0123456789/abcdef.".repeat(12);
    let redactor = Redactor::new([secret.as_str()]);
    for before in ["", "x", "Authorization: Bearer "] {
        let encoded = STANDARD.encode(format!("{before}{secret}"));
        for size in [4, 64, 76] {
            for between in ["\n", "\r\n", "\r\n ", "\\r\\n", "\\n", "%0D%0A", "&#10;", "&NewLine;"]
            {
                let mut text = format!("a {} b", wrapped(&encoded, size, between));
                redactor.redact(&mut text);
                assert!(text.contains(MASK), "{size} {between}: {text}");
                let left = text.replace(between, "");
                let part = |at: usize| encoded.get(at..at + 10);
                assert!(
                    !(30..encoded.len()).filter_map(part).any(|part| left.contains(part)),
                    "{left}"
                );
                assert!(text.starts_with("a ") && text.ends_with(" b"), "{text}");
            }
        }
    }
}

#[test]
fn a_secret_is_found_in_hexadecimal_and_in_the_name_of_a_header() {
    let redactor = Redactor::new(["Access-0123456789/"]);
    for digits in ["4163636573732d303132333435363738392f", "4163636573732D303132333435363738392F"] {
        let mut text = format!("it is {digits}.");
        redactor.redact(&mut text);
        assert_eq!(text, "it is ***.");
    }
    let mut name = "x-access-0123456789/".to_owned();
    redactor.in_lower_case().redact(&mut name);
    assert_eq!(name, "x-***");
}

#[test]
fn white_space_around_a_secret_stays() {
    assert_eq!(redacted(&format!(" \n {SECRET}\t\n x")), " \n ***\t\n x");
}

/// The time to redact a text grows no faster than the text, whatever is in it.
#[test]
fn a_text_without_end_costs_no_more_than_its_beginning() {
    let secret = format!("{}b", "a".repeat(4000));
    let redactor = Redactor::new([secret.as_str()]);
    for unit in ["a", "%25", "%2525", "\\u0061", "&amp;", "&#97;", "%61%25"] {
        let text = unit.repeat((32 << 20) / unit.len());
        // A busy machine may stop this thread in some of the attempts, for longer than it works.
        let took = (0..5).map(|_| {
            let mut text = text.clone();
            let started = std::time::Instant::now();
            redactor.redact_held(&mut text);
            assert!(text.len() <= SHOWN_BYTES);
            started.elapsed()
        });
        assert!(took.min() < Some(std::time::Duration::from_millis(500)), "{unit}");
    }
}

#[test]
fn where_a_text_is_cut_no_part_of_a_secret_is_left() {
    let secret: String = (0..500u32).map(|n| char::from(b'!' + (n * 7 % 90) as u8)).collect();
    let redactor = Redactor::new([secret.as_str()]);
    let spelled: [fn(&str) -> String; 4] = [
        str::to_owned,
        |text| text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        |text| text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        |text| wrapped(&STANDARD.encode(text), 76, "\r\n"),
    ];
    for spell in spelled {
        let spelled = spell(&secret);
        for cut_at in [SHOWN_BYTES, HELD_BYTES] {
            for inside in (0..spelled.len()).step_by(37) {
                let before = "- ".repeat((cut_at.saturating_sub(inside)) / 2);
                let mut text = format!("{before}{spelled}{}", " ;".repeat(HELD_BYTES));
                redactor.redact_held(&mut text);
                let left = text.replace(MASK, "").replace(['-', ' ', ';'], "");
                assert!(left.len() < SHORTEST_BEGINNING, "{cut_at} {inside}: {left}");
            }
        }
    }
}

#[test]
fn an_escape_in_a_secret_may_be_broken_into_lines() {
    for (secret, size) in [("%Aa~%aAa<%%A", 5), ("<%_~<%00A\"-a", 6)] {
        let mut text = format!("before {} then", wrapped(secret, size, "\n"));
        Redactor::new([secret]).redact(&mut text);
        assert_eq!(text, "before *** then");
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    for text in ["", "50% of \\u00e9 &amp; more+", "aB3+/=_~.-&", "%", "\\u", "&#;"] {
        assert_eq!(redacted(text), text);
    }
    let mut text = "x".to_owned();
    Redactor::new([]).redact(&mut text);
    Redactor::new([""]).redact_truncated(&mut text);
    assert_eq!(text, "x");
}

proptest! {
    #[test]
    fn any_mixture_of_spellings_is_found(
        secret in "[A-Za-z0-9+/=_.~%&\"<-]{8,40}",
        choices in proptest::collection::vec(any::<prop::sample::Index>(), 40),
        before in "[ a-z]{0,10}",
    ) {
        let spelled: String = secret
            .chars()
            .zip(&choices)
            .map(|(c, choice)| choice.get(&spellings(c)).clone())
            .collect();
        let mut text = format!("{before} {spelled}");
        Redactor::new([secret.as_str()]).redact(&mut text);
        prop_assert!(text.starts_with(&format!("{before} ***")), "{}", text);
    }

    #[test]
    fn any_composition_of_spellings_is_found(
        secret in "[A-Za-z0-9/=_.~%&\"<-]{12,60}",
        lines in 0usize..4,
        size in 4usize..80,
        escapes in proptest::collection::vec(0usize..4, 0..3),
        before in "[ a-z]{0,10}",
    ) {
        // An encoder breaks its text into lines, and then the whole may be escaped.
        let written = match lines {
            0 => secret.clone(),
            1 => wrapped(&secret, size, "\n"),
            2 => wrapped(&STANDARD.encode(&secret), size, "\r\n"),
            _ => wrapped(&STANDARD.encode(&secret), size, "\n"),
        };
        let spelled = escapes.iter().fold(written, |text, way| match way {
            0 => text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            1 => text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
            2 => text.chars().map(|c| format!("&#{};", u32::from(c))).collect(),
            _ => text.replace('.', "&period;").replace('/', "\\/").replace('=', "&equals;"),
        });
        let mut text = format!("{before} {spelled}");
        Redactor::new([secret.as_str()]).redact(&mut text);
        prop_assert!(text.starts_with(&format!("{before} ***")), "{}", text);
        // The last character of Base64 and its padding may be left.
        let left = squeeze(&unescape(text.as_bytes()).bytes).bytes.len();
        prop_assert!(left <= before.len() + MASK.len() + 3, "{}", text);
    }

    #[test]
    fn any_text_is_redacted_without_harm(text in "\\PC{0,200}", secret in "\\PC{0,30}") {
        let mut shown = text.clone();
        Redactor::new([secret.as_str()]).redact_truncated(&mut shown);
        prop_assert!(secret.len() < SHORT_BYTES || !shown.contains(&secret));
    }
}
