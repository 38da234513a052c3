//! Recognizes texts that say that a token is invalid or expired. The service document does not show
//! how a rejected token is reported, so the meaning of an error code or a sentence decides.

/// Subjects that can be invalid or expired.
const TOKENS: &[&str] = &["token", "tokens", "accesstoken", "jwt", "bearer"];
/// Other names for things that can expire; "invalid" has another meaning with these.
const LOGINS: &[&str] = &["session", "login", "credential", "credentials", "authorization"];

const EXPIRED: &[&str] = &["expired", "expire"];
const INVALID: &[&str] = &["invalid", "revoked", "malformed", "rejected", "inactive", "illegal"];
/// Words that, negated, are a rejection.
const VALID: &[&str] = &["valid", "active", "accepted", "recognized", "recognised"];
const NEGATIONS: &[&str] = &["no", "not", "isnt", "longer"];
/// Words for a client that the service does not have; the last ones mean that only when negated.
const UNKNOWN: &[&str] =
    &["unknown", "unregistered", "unrecognized", "unrecognised", "nonexistent"];
const NO: &[&str] = &["no", "not", "isnt", "doesnt", "cannot"];
const KNOWN: &[&str] = &["known", "registered", "found", "exist", "exists", "such"];
/// Words that, with "failed", are a rejection.
const CHECKS: &[&str] = &["verification", "validation", "check", "authentication"];

/// Words that may come between the subject and its predicate.
const FILLERS: &str = "a access already an api auth authentication authorization be bearer been either given \
     has have in is jwt login now oauth oauth2 of or provided security session supplied the \
     this user was your";

/// Words before "token" that mean another kind of token, or that come from a parser, a market or a
/// list.
const OTHER_KINDS: &str = "argument base continuation crypto csrf cursor device field idempotency next page \
     pagination paging param parameter previous push quote symbol sync unexpected xsrf";
/// Words after "token" with such a meaning.
const OTHER_THINGS: &[&str] =
    &["address", "amount", "at", "balance", "bucket", "count", "name", "pair", "pairs", "symbol"];
/// Words for a market, whose session ends every day.
const MARKETS: &[&str] = &["market", "trading", "trade", "auction"];
/// Words of a parser, which has tokens of its own.
const PARSERS: &[&str] = &["json", "syntax", "parse", "parser", "parsing", "position", "column"];

/// Words in Chinese, which has no spaces: a rejection has one of the first together with one of the
/// second.
const CHINESE: (&[&str], &[&str]) =
    (&["token", "令牌", "凭证"], &["过期", "失效", "无效", "不合法", "非法", "過期", "無效"]);

const MAX_GAP: usize = 6;
/// Maximum length of a text: an error message is short, and a document about tokens is not.
const MAX_TEXT: usize = 1000;

/// Returns true if a text, an error code or a sentence, says that a token is invalid or expired.
pub fn says_token_rejected(text: &str) -> bool {
    if text.len() > MAX_TEXT {
        return false;
    }
    let words = words(text);
    if words.iter().any(|word| PARSERS.contains(&word.as_str())) {
        return false;
    }
    (0..words.len()).any(|place| is_rejected(&words, place)) || in_chinese(text)
}

/// Returns true if the description of an `invalid_client` says that there is no such client. RFC
/// 6749 uses the same error for a wrong secret.
pub fn says_client_unknown(text: &str) -> bool {
    let words = words(text);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    text.len() <= MAX_TEXT
        && has(&["client"])
        && !has(&["secret", "authentication"])
        && (has(UNKNOWN) || (has(NO) && has(KNOWN)))
}

fn is_rejected(words: &[String], place: usize) -> bool {
    let word = |place: usize| words.get(place).map_or("", String::as_str);
    let before = place.checked_sub(1).map_or("", word);
    let is_token = TOKENS.contains(&word(place))
        && !is_word_of(OTHER_KINDS, before)
        && !OTHER_THINGS.contains(&word(place + 1));
    if !is_token && (!LOGINS.contains(&word(place)) || MARKETS.contains(&before)) {
        return false;
    }
    let says = |place: usize| {
        let word = word(place);
        EXPIRED.contains(&word) || (is_token && INVALID.contains(&word))
    };
    // "token ... expired", "token is no longer valid", "token verification failed"
    let mut after = place + 1;
    while after <= place + MAX_GAP && is_word_of(FILLERS, word(after)) {
        after += 1;
    }
    let mut valid = after;
    while NEGATIONS.contains(&word(valid)) || (valid > after && word(valid) == "a") {
        valid += 1;
    }
    let denied = valid > after && VALID.contains(&word(valid));
    // "authentication" may have been skipped as a filler.
    let failed = [after, after - 1].iter().any(|&at| {
        at > place && CHECKS.contains(&word(at)) && ["failed", "failure"].contains(&word(at + 1))
    });
    if says(after) || (is_token && (denied || failed)) {
        return true;
    }
    // "expired access token", "not a valid token"
    let mut earlier = before_fillers(words, place);
    let Some(said) = earlier else { return false };
    if says(said) {
        return true;
    }
    if !is_token || !VALID.contains(&word(said)) {
        return false;
    }
    earlier = before_fillers(words, said);
    earlier.is_some_and(|place| NEGATIONS.contains(&word(place)))
}

fn is_word_of(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Returns the last word before a position that is not a filler.
fn before_fillers(words: &[String], place: usize) -> Option<usize> {
    let earliest = place.saturating_sub(MAX_GAP);
    (earliest..place)
        .rev()
        .find(|&place| words.get(place).is_some_and(|word| !is_word_of(FILLERS, word.as_str())))
}

/// Returns the words in lower case, with `camelCase` and `snake_case` split; an empty word ends a
/// sentence.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && last.is_lowercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        let ends_sentence = matches!(c, '.' | ';' | '!' | '?')
            && characters.peek().is_none_or(|next| next.is_whitespace());
        if ends_sentence {
            words.push(String::new());
        } else if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        } else if matches!(c, '\'' | '’') && last.is_alphanumeric() {
            // "isn't" is one word.
            if characters.peek().is_some_and(|next| next.is_alphanumeric()) {
                words.pop();
            }
        }
        last = c;
    }
    words
}

fn in_chinese(text: &str) -> bool {
    let text = text.to_lowercase();
    let (things, states) = CHINESE;
    things.iter().any(|thing| text.contains(thing))
        && states.iter().any(|state| text.contains(state))
}

#[cfg(test)]
mod tests {
    use super::{says_client_unknown, says_token_rejected};

    #[test]
    fn a_client_that_does_not_exist_is_told_from_a_wrong_secret() {
        for text in [
            "the client is unknown",
            "Unknown client",
            "unknown client_id",
            "Client not found",
            "The client does not exist.",
            "the client doesn't exist",
            "clientId is not registered",
            "no such client",
        ] {
            assert!(says_client_unknown(text), "{text}");
        }
        for text in [
            "",
            "invalid_client",
            "Client authentication failed",
            "unknown user",
            "client_secret is not the client's",
            "the secret is not known for this client",
            "Client authentication failed (e.g., unknown client, no client authentication included)",
        ] {
            assert!(!says_client_unknown(text), "{text}");
        }
    }

    #[test]
    fn a_rejected_token_is_recognized_in_many_wordings() {
        for text in [
            "invalid_token",
            "INVALID_TOKEN",
            "InvalidToken",
            "invalid-access-token",
            "token_expired",
            "TokenExpired",
            "TOKEN_EXPIRE",
            "access_token_expired",
            "accessTokenExpired",
            "expired_token",
            "ERR_TOKEN_EXPIRED",
            "auth.token.expired",
            "token_revoked",
            "TOKEN_NOT_VALID",
            "access token expired",
            "Access token expired.",
            "The access token expired",
            "The access token is expired",
            "the access token provided is expired, revoked, malformed, or invalid",
            "Your token has expired, please log in again",
            "token: expired",
            "Unauthorized: token is invalid",
            "Invalid or expired access token",
            "invalid bearer token",
            "This access token is no longer valid",
            "token is not valid",
            "The token isn't valid",
            "no valid token",
            "not a valid access token",
            "jwt expired",
            "JWT has expired",
            "bearer token has been revoked",
            "token verification failed",
            "Token authentication failed",
            "session expired",
            "Your login has expired",
            "Bearer realm=\"api\", error=\"invalid_token\", error_description=\"x\"",
            "token已过期",
            "访问令牌无效",
            "Token 失效，请重新登录",
        ] {
            assert!(says_token_rejected(text), "{text}");
        }
    }

    #[test]
    fn other_sentences_about_tokens_are_not_rejections() {
        for text in [
            "",
            "token",
            "invalid",
            "invalid symbol",
            "invalid_parameter",
            "next_token is invalid",
            "invalid page token",
            "the parameter token is invalid",
            "csrf token invalid",
            "cursor expired",
            "Unexpected token < in JSON at position 0",
            "invalid token '<' at position 1",
            "syntax error: invalid token",
            "invalid token pair BTC/USDT",
            "unknown token symbol",
            "the token lacks the scope trade:read",
            "insufficient_scope: the token does not cover this account",
            "token expires in 300 seconds",
            "missing token",
            "Use a token. Invalid symbols are refused.",
            "the trading session expired",
            "invalid session",
            "the order has expired",
            "authorization check passed",
            "股票代码无效",
        ] {
            assert!(!says_token_rejected(text), "{text}");
        }
        let long = format!("{} access token expired", "x".repeat(2000));
        assert!(!says_token_rejected(&long));
    }
}
