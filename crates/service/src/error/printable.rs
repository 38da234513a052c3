//! Makes texts of a service safe to write to a terminal.

use std::borrow::Cow;

/// Maximum length of a description, to which RFC 6749 sets no limit.
const EXCERPT_CHARACTERS: usize = 400;

/// Makes a text safe to show in a terminal: escapes characters that move the cursor, change the
/// text direction or begin a new line.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if !is_unprintable(c) => shown.push(c),
            c if u32::from(c) < 0x100 => shown.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

/// Returns the beginning of an authorization server's text, safe to show in a terminal.
pub fn excerpt(text: &str) -> String {
    let cut = text
        .char_indices()
        .nth(EXCERPT_CHARACTERS)
        .map_or(text, |(end, _)| text.get(..end).unwrap_or_default());
    printable(cut).into_owned()
}

/// Returns true for C0, DEL and C1, for the marks, embeddings and isolates of bidirectional text,
/// and for line separators.
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// Shows a value of a record in one line, for errors. A long value is cut: it might repeat
/// credentials, which are not known here, and no other values are long.
pub fn record_value(json: &str) -> String {
    const WHOLE: usize = 26;
    const BEGINNING: usize = 8;
    let in_one_line = |c: char| if c.is_control() { ' ' } else { c };
    if json.chars().nth(WHOLE).is_none() {
        return json.chars().map(in_one_line).collect();
    }
    let beginning: String = json.chars().take(BEGINNING).map(in_one_line).collect();
    format!("{beginning}... ({} bytes)", json.len())
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn characters_that_move_the_cursor_are_escaped() {
        let text = "a\x1b[2J\r\n\t\u{7f}\u{9b}\u{202e}\u{2028}\u{2069}é 價";
        let shown = printable(text);
        assert_eq!(shown, "a\\x1b[2J\\r\\n\\t\\x7f\\x9b\\u202e\\u2028\\u2069é 價");
        assert_eq!(printable(&shown), shown);
    }
}
