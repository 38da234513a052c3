//! A secret that occurs exactly is masked, and a text that has it in another spelling is withheld.

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

const SECRET: &str = "aB3+/=_~.-&\"<x'%41\\";
const WITHHELD: &str = "[withheld: it repeats a secret of this client]";

fn shown(secret: &str, text: &str) -> String {
    Redactor::new([secret]).show(text).to_string()
}

fn each(text: &str, spell: impl Fn(u32) -> String) -> String {
    text.chars().map(|c| spell(u32::from(c))).collect()
}

/// Escapes only the characters that have to be escaped, as libraries do.
fn escaped(text: &str, special: &str, spell: impl Fn(u32) -> String) -> String {
    each(text, |code| match char::from_u32(code) {
        Some(c) if !special.contains(c) => c.to_string(),
        _ => spell(code),
    })
}

fn json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The ways in which a service may repeat a secret, other than exactly.
fn spellings(secret: &str) -> Vec<String> {
    let named = secret.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    vec![
        each(secret, |code| format!("%{code:02x}")),
        escaped(secret, "+/=&\"<%\\", |code| format!("%{code:02X}")),
        json(secret),
        each(secret, |code| format!("\\u{code:04x}")),
        escaped(secret, "+/=&\"<'\\", |code| format!("\\u{code:04X}")),
        named,
        each(secret, |code| format!("&#{code};")),
        each(secret, |code| format!("&#x{code:X};")),
        escaped(secret, "+/=&\"<'", |code| format!("&#{code};")),
        STANDARD.encode(secret),
        URL_SAFE.encode(secret),
    ]
}

#[test]
fn a_secret_is_masked_where_it_stands_exactly() {
    let text = format!("a {SECRET}, \n{SECRET}{SECRET}\t\"{SECRET}\"");
    assert_eq!(shown(SECRET, &text), "a ***, \n******\t\"***\"");
}

#[test]
fn a_text_with_a_secret_in_another_spelling_is_withheld() {
    for spelled in spellings(SECRET) {
        assert_eq!(shown(SECRET, &format!("a {spelled}, b")), WITHHELD, "{spelled}");
        assert_eq!(shown(SECRET, &format!("{SECRET} {spelled}")), WITHHELD, "{spelled}");
    }
}

/// Checks a spelling in a JSON string, as the body of a response is shown: its JSON is not undone.
#[test]
fn a_spelling_is_recognized_in_a_json_string() {
    for spelled in spellings(SECRET) {
        let json = json(&spelled).replace('/', "\\/");
        for json in [json.replace('&', "\\u0026").replace('=', "\\u003d"), json] {
            assert_eq!(shown(SECRET, &json), WITHHELD, "{json}");
        }
    }
}

#[test]
fn base64_is_recognized_wherever_the_secret_begins() {
    for before in ["", "x", "xy", "xyz", "Bearer "] {
        for after in ["", "1", "12", "123"] {
            let whole = format!("{before}{SECRET}{after}");
            for encoded in [STANDARD.encode(&whole), URL_SAFE.encode(&whole)] {
                for text in [encoded.replace('+', "%2B").replace('/', "\\/"), encoded] {
                    assert_eq!(shown(SECRET, &text), WITHHELD, "{whole}");
                }
            }
        }
    }
}

#[test]
fn a_plus_is_a_space_in_a_form() {
    let secret = "two words, here+there";
    for text in ["two+words%2C+here%2Bthere", "two%20words%2C%20here%2Bthere"] {
        assert_eq!(shown(secret, text), WITHHELD);
    }
}

#[test]
fn a_secret_that_others_begin_like_is_in_no_text_without_its_end() {
    let secret = "eyJhbGciOiJIUzI1NiJ9.state.signature";
    let redactor = Redactor::new([secret]);
    let encoded = STANDARD.encode(secret);
    for (text, is_in) in [
        (secret, true),
        ("at=5&token=eyJhbGciOiJIUzI1NiJ9%2Estate%2Esignature", true),
        (&encoded, true),
        ("eyJhbGciOiJIUzI1NiJ9.other.signature", false),
        ("eyJhbGciOiJIUzI1NiJ9%2Estate%2Esign", false),
        (encoded.split_at(24).0, false),
        ("", false),
    ] {
        assert_eq!(redactor.is_in(text), is_in, "{text}");
    }
    assert!(!Redactor::default().is_in("text"));
}

#[test]
fn a_short_secret_is_recognized_only_as_a_whole_word() {
    for (secret, text, expected) in [
        ("a", "Bearer a was refused: \"a\", banana", "Bearer *** was refused: \"***\", banana"),
        ("a-a", "a xa-a-a", "a xa-***"),
        ("hunter2", "hunter23, hunter2!", "hunter23, ***!"),
        ("hunter2", "100%hunter23", "100%hunter23"),
        ("hunter2", "%68unter2", WITHHELD),
        ("hunter2", "%68unter23", "%68unter23"),
    ] {
        assert_eq!(shown(secret, text), expected, "{text}");
    }
}

#[test]
fn the_beginning_of_a_secret_is_masked() {
    let secret = "access-0123456789/abcdef";
    for (text, expected) in [
        ("the token access-01234567...", "the token ***..."),
        ("access-01234 access-01235", "*** access-01235"),
        ("access-0123 or access-01239", "access-0123 or access-01239"),
        ("the token access-0123456789%2Fabcd", WITHHELD),
        ("the token \\u0061ccess-01234", WITHHELD),
        (&STANDARD.encode("access-01234567"), WITHHELD),
    ] {
        assert_eq!(shown(secret, text), expected, "{text}");
    }
}

#[test]
fn no_part_of_a_secret_is_left_where_a_text_is_cut() {
    let secret: String = (0..1500u32).map(|n| char::from(b'!' + (n * 7 % 90) as u8)).collect();
    let spelled =
        [secret.clone(), each(&secret, |code| format!("\\u{code:04x}")), STANDARD.encode(&secret)];
    for spelled in spelled {
        for cut_at in [SHOWN_BYTES, HELD_BYTES] {
            for inside in (1..spelled.len().min(cut_at)).step_by(97) {
                let before = " ".repeat(cut_at - inside);
                let mut text = format!("{before}{spelled}{}", " ;".repeat(HELD_BYTES));
                Redactor::new([secret.as_str()]).redact(&mut text);
                let left = text.trim_matches([' ', ';', '*']);
                assert!(left.is_empty() || text == WITHHELD, "{cut_at} {inside}: {left}");
            }
        }
    }
}

#[test]
fn masks_bring_no_later_part_of_a_text_to_light() {
    let secret = "access-0123456789/abcdef".repeat(8);
    let repeated = HELD_BYTES / secret.len();
    let mut text = format!("{}{}", secret.repeat(repeated), "\\u0061".repeat(200));
    for end in 0..200 {
        text.truncate(HELD_BYTES + 400 - end);
        assert!(!shown(&secret, &text).contains("access"));
        assert!(!shown(&secret, &text).contains("\\u"));
    }
}

#[test]
fn the_name_of_a_header_is_in_lower_case() {
    let secret = "Access-0123456789";
    let redactor = Redactor::new([secret]).in_lower_case();
    let encoded = STANDARD.encode(secret).trim_end_matches('=').to_ascii_lowercase();
    assert_eq!(redactor.show("x-access-0123456789").to_string(), "x-***");
    assert_eq!(redactor.show(encoded).to_string(), WITHHELD);
}

#[test]
fn of_a_text_without_end_only_the_beginning_is_read() {
    let secret = format!("{}b", "a".repeat(4000));
    for unit in ["a", "x", "%2525", "\\u0061", "&amp;", "%61%25"] {
        let text = unit.repeat((8 << 20) / unit.len());
        let of_all = shown(&secret, &text);
        assert!(of_all.len() <= SHOWN_BYTES);
        assert_eq!(of_all, shown(&secret, held(&text)));
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    for text in ["", "50% of \\u00e9 &amp; more+", "aB3+/=_~.-&", "%", "\\u", "&#;"] {
        assert_eq!(shown(SECRET, text), text);
        assert_eq!(shown("", text), text);
    }
    assert_eq!(Redactor::default().redacted(b"\xff%41"), b"\xff%41".as_slice());
}

proptest! {
    #[test]
    fn any_secret_is_masked_or_its_text_withheld(
        secret in "[!-~]{8,40}",
        before in "[ a-z]{0,10}",
        choice in any::<prop::sample::Index>(),
    ) {
        prop_assert_eq!(shown(&secret, &format!("{before} {secret}")), format!("{before} ***"));
        let spelled = spellings(&secret);
        let spelled = choice.get(&spelled);
        let shown = shown(&secret, &format!("{before} {spelled}"));
        // An escaped backslash at the start of a secret becomes two, and the secret begins with the
        // second.
        let is_masked = spelled.contains(&secret) && !shown.contains(&secret);
        prop_assert!(shown == WITHHELD || is_masked, "{}", shown);
    }

    #[test]
    fn any_text_is_redacted_without_harm(text in "\\PC{0,200}", secret in "\\PC{0,30}") {
        let shown = shown(&secret, &text);
        prop_assert!(secret.len() < SHORT_BYTES || !shown.contains(&secret));
    }
}
