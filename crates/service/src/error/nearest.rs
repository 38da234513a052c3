//! The word that a caller probably meant.

/// Returns `; did you mean 'dividends'?`, or an empty text if no known word is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |nearest| format!("; did you mean '{nearest}'?"))
}

/// Returns the known word that needs the fewest changes, if they affect at most a third of its
/// characters; otherwise one that begins with the word.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are not compared, because the time grows with each pair of characters.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let lower = word.to_lowercase();
    let near = known.into_iter().filter(|known| known.len() <= LONGEST).filter_map(|known| {
        let changes = strsim::osa_distance(&lower, &known.to_lowercase());
        let is_near = changes <= known.chars().count().div_ceil(3);
        let is_begin = lower.len() > 2 && known.to_lowercase().starts_with(&lower);
        (is_near || is_begin).then_some((!is_near, changes, known))
    });
    near.min_by_key(|(is_far, changes, _)| (*is_far, *changes)).map(|(.., known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_in_any_case() {
        let known = ["paper", "live", "live-2"];
        for (word, expected) in [
            // Swapping two letters is one change.
            ("papre", Some("paper")),
            ("PAPER", Some("paper")),
            ("liv", Some("live")),
            ("live-3", Some("live-2")),
            ("pap", Some("paper")),
            ("pa", None),
            ("prod", None),
            ("", None),
            ("\u{1f600}", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }
}
