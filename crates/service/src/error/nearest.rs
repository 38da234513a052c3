//! The word that a caller probably meant.

/// The words of other libraries for an argument.
const ELSEWHERE: [(&str, &str); 31] = [
    ("auth", "api_key credentials key token"),
    ("base_url", "url host endpoint"),
    ("ca_file", "ca_bundle cert cafile"),
    ("proxy", "proxies"),
    ("timeout", "timeout_seconds request_timeout read_timeout"),
    ("max_retries", "retries retry"),
    ("query", "params"),
    ("body", "json data payload"),
    ("start", "begin since from from_ start_date start_time date_from from_date begin_time"),
    ("since", "start begin from from_ start_date start_time date_from from_date begin_time"),
    ("end", "until to to_ stop end_date end_time date_to to_date"),
    ("code", "symbol symbols ticker stock security instrument"),
    ("symbol", "code symbols ticker stock security instrument"),
    ("trd_side", "side"),
    ("qty", "quantity size shares volume"),
    ("updated_time", "time timestamp date datetime"),
    ("ex_date", "date"),
    ("out", "output outfile"),
    ("plate_code", "symbol code plate plate_id"),
    ("acc_id", "account account_id accid user_id"),
    ("trd_market", "market exchange trading_market"),
    ("concurrency", "workers max_workers n_jobs threads"),
    ("on_error", "errors raise_on_error ignore_errors"),
    ("password", "passphrase"),
    ("passphrase", "password"),
    ("private_key", "key key_file secret secret_key private_key_path"),
    ("max_items", LIMIT),
    ("record", "fields schema columns"),
    ("unique", "key unique_key id"),
    ("dividends", "symbols symbol"),
    ("fills", "accounts account trades deals"),
];

const LIMIT: &str = "limit n count size nrows max_rows max_results";

const DECIMALS: &str = "decimals typed";
const OF_FRAMES: &str =
    "ask the result for it: `.to_pandas(decimals='decimal')`, or `.to_dicts(typed=True)`";

/// What to do in place of an argument: its names elsewhere, an argument by which the callables are recognized,
/// and the sentence.
const INSTEAD: [(&str, &str, &str); 7] = [
    (
        "verify verify_ssl ssl ssl_context insecure check_hostname",
        "ca_file",
        "certificates are always verified; to trust those of your own authority, pass ca_file='FILE'",
    ),
    (LIMIT, "resume", "rows are limited by `.all(max_items=5)`"),
    (LIMIT, "acc_id", "the result is a list: `[:5]` are its first rows"),
    (LIMIT, "symbol", "the result is a list: `[:5]` are its first rows"),
    (DECIMALS, "acc_id", OF_FRAMES),
    (DECIMALS, "symbol", OF_FRAMES),
    (
        "page page_token cursor offset",
        "resume",
        "pages follow by themselves: iterate, or call `.all()`",
    ),
];

/// `; did you mean 'dividends'?`, what to do instead, or nothing if no known word is near.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    meant(word, known).0
}

/// The same, and the word that it suggests.
pub fn meant<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> (String, Option<&'a str>) {
    let known: Vec<&str> = known.into_iter().collect();
    let is_of = |words: &str| words.split(' ').any(|other| other == word);
    let applies = |words, ours| is_of(words) && known.contains(&ours);
    if let Some((.., text)) = INSTEAD.iter().find(|(words, ours, _)| applies(words, ours)) {
        return (format!("; {text}"), None);
    }
    let same = ELSEWHERE.iter().find(|(ours, words)| applies(words, ours)).map(|(ours, _)| *ours);
    let nearest = same.or_else(|| nearest(word, known.iter().copied()));
    (nearest.map_or(String::new(), |nearest| format!("; did you mean '{nearest}'?")), nearest)
}

/// The known word that needs the fewest changes, if these are at most a third of its characters;
/// otherwise one that begins with the word.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time for each pair of characters.
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
            // A swap is one change.
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

    #[test]
    fn a_word_of_another_library_has_its_counterpart_where_it_exists() {
        for (word, known, expected) in [
            ("begin", ["start", "end"], "; did you mean 'start'?"),
            ("symbol", ["code", "resume"], "; did you mean 'code'?"),
            ("limit", ["code", "resume"], "; rows are limited by `.all(max_items=5)`"),
            ("limit", ["max_items", "max_pages"], "; did you mean 'max_items'?"),
            ("begin", ["fills", "orders"], ""),
            ("side", ["code", "trd_side"], "; did you mean 'trd_side'?"),
            ("decimals", ["symbol", "code"], &format!("; {OF_FRAMES}")),
        ] {
            assert_eq!(did_you_mean(word, known), expected, "{word}");
        }
    }
}
