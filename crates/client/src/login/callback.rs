//! The callback of a login: its parameters, from the browser or pasted by the user, and the checks
//! on them.

use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::{
    auth::Attempt,
    error::{Error, ErrorKind, Result, excerpt},
};

/// The path of the redirect URI.
pub const CALLBACK_PATH: &str = "/callback";
/// The code of RFC 6749 for a malformed request.
const INVALID_REQUEST: &str = "invalid_request";
/// Far above the length of any real URL.
const URL_MAX_BYTES: usize = 32 * 1024;

/// The parameters of a callback, not yet checked.
pub struct Callback(Vec<(Zeroizing<String>, Zeroizing<String>)>);

/// An authorization code, wiped from memory when it is dropped.
pub type Code = Zeroizing<String>;

/// The outcome of a callback for a login.
pub enum Verdict {
    /// The authorization code.
    Code(Code),
    /// The user or the authorization server refused.
    Error {
        /// The error code of RFC 6749.
        error: String,
        /// The server's description of it.
        description: String,
    },
    /// The callback is not for this login, which keeps waiting; and the reason.
    Unrelated(&'static str),
}

boardlot_service::shown_as!(Callback, "Callback(..)");

boardlot_service::shown_as!(Verdict, "Verdict(..)");

impl Callback {
    /// Reads the parameters of a query string.
    pub fn from_query(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes());
        let wiped = |text: std::borrow::Cow<'_, str>| Zeroizing::new(text.into_owned());
        Callback(pairs.map(|(name, value)| (wiped(name), wiped(value))).collect())
    }

    /// Reads the parameters of a callback URL: a whole URL, or its path and query.
    pub fn from_url(text: &str, redirect_uri: &str) -> Result<Self> {
        let text = text.trim();
        // The error shows neither the query, which may have the code of another login, nor a
        // password.
        let unusable = || {
            let shown = Url::parse(text).ok().filter(|url| url.has_host());
            let sent = shown.map_or_else(
                || "the text that was passed".to_owned(),
                |url| format!("{}{}", url.origin().ascii_serialization(), url.path()),
            );
            let sent = excerpt(&sent);
            invalid(&format!("{sent} is not this login's callback URL; expected {redirect_uri}?code=..."))
                .with_advice(
                    "Pass the address that the browser was redirected to; behind a proxy, its path and query alone."
                        .to_owned(),
                )
        };
        let own = Url::parse(redirect_uri).map_err(|_| unusable())?;
        let url = match text {
            _ if text.len() > URL_MAX_BYTES => None,
            _ if text.starts_with('/') => own.join(text).ok(),
            _ => Url::parse(text).ok(),
        };
        let query = url.as_ref().and_then(|url| {
            let ours = url.scheme() == own.scheme()
                && url.host() == own.host()
                && url.port_or_known_default() == own.port_or_known_default()
                && url.path() == own.path()
                && url.username() == own.username()
                && url.password() == own.password();
            if ours { url.query() } else { None }
        });
        query.map(Self::from_query).ok_or_else(unusable)
    }

    /// Checks the state first; without the right state, no other parameter is used. `base_url` is
    /// the service of the login.
    pub fn check(&self, attempt: &Attempt, base_url: &str) -> Verdict {
        let Some(state) = self.only("state") else {
            return Verdict::Unrelated("the callback has no state, or several");
        };
        if attempt.has_verifier(state) {
            return Verdict::Unrelated("state and code_verifier are swapped");
        }
        if !attempt.has_state(state) {
            return Verdict::Unrelated("the state of the callback is not the state of this login");
        }
        // RFC 6749, section 3.1: a parameter is not included more than once.
        if self.0.iter().any(|(name, _)| self.only(name).is_none()) {
            return Verdict::Unrelated("the callback has a parameter more than once");
        }
        // RFC 9207: another service has sent the browser here, and its code would go to this
        // service. The state is right, so no other callback will come.
        if let Some(issuer) = self.only("iss")
            && !is_issued_by(issuer, base_url)
        {
            // The description may repeat the state, or the code, which nobody has exchanged yet.
            let repeats =
                |name| self.only(name).is_some_and(|it| it.len() >= 6 && issuer.contains(it));
            let shown = match ["code", "state"].into_iter().any(repeats) {
                true => "another service's, and repeats a secret of the callback".to_owned(),
                false => format!("'{}'", excerpt(issuer)),
            };
            return Verdict::Error {
                error: INVALID_REQUEST.to_owned(),
                description: format!(
                    "iss is {shown}; expected the service of this login, {base_url}"
                ),
            };
        }
        match (self.only("code"), self.only("error")) {
            (Some(code), None) if !code.is_empty() && self.count("error") == 0 => {
                Verdict::Code(Zeroizing::new(code.to_owned()))
            }
            // A code next to an error is not used.
            (_, Some(error)) if !error.is_empty() => Verdict::Error {
                error: error.to_owned(),
                description: self.only("error_description").unwrap_or_default().to_owned(),
            },
            _ => Verdict::Unrelated("the callback has no code, or several"),
        }
    }

    fn only(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(known, _)| known.as_str() == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(known, _)| known.as_str() == name).count()
    }
}

/// Returns true if an issuer identifier may belong to this service, whose document names none: it
/// has the same origin, and a path above or below the service's own, because an issuer may issue
/// tokens for every path of its origin.
fn is_issued_by(issuer: &str, base_url: &str) -> bool {
    let (Ok(issuer), Ok(base)) = (Url::parse(issuer), Url::parse(base_url)) else { return false };
    issuer.origin() == base.origin()
        && issuer.username().is_empty()
        && issuer.password().is_none()
        && segments(&issuer).zip(segments(&base)).all(|(one, other)| one == other)
}

fn segments(url: &Url) -> impl Iterator<Item = &str> {
    url.path().trim_matches('/').split('/').filter(|segment| !segment.is_empty())
}

/// Returns the redirect URI of a client that listens on this port.
pub fn redirect_uri(port: u16) -> String {
    format!("http://127.0.0.1:{port}{CALLBACK_PATH}")
}

/// Returns the error for a callback that is not accepted.
pub fn invalid(why: &str) -> Error {
    ErrorKind::OAuth { error: INVALID_REQUEST.to_owned(), description: why.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(query: &str) -> String {
        let attempt =
            Attempt { verifier: Zeroizing::new("v".into()), state: Zeroizing::new("right".into()) };
        match Callback::from_query(query).check(&attempt, "https://api.example.com/v1") {
            Verdict::Code(code) => format!("code {}", *code),
            Verdict::Error { error, description } => format!("error {error} {description}"),
            Verdict::Unrelated(_) => "unrelated".into(),
        }
    }

    #[test]
    fn only_one_code_with_the_right_state_counts() {
        assert_eq!(checked("code=a%2Bb&state=right"), "code a+b");
        assert_eq!(checked("state=right&code=a&extra=1"), "code a");
        assert_eq!(checked("code=a&error=x&state=right"), "error x ");
        for query in [
            "",
            "code=a",
            "state=right",
            "code=a&state=wrong",
            "code=a&state=",
            "code=&state=right",
            "code=a&code=b&state=right",
            "code=a&state=right&state=right",
            "error=x&state=wrong",
            "error=x",
            "error=&state=right",
            "code=a&state=right&extra=1&extra=2",
            "error=x&error=y&state=right",
            "error=x&error_description=a&error_description=b&state=right",
        ] {
            assert_eq!(checked(query), "unrelated", "{query}");
        }
    }

    #[test]
    fn a_callback_that_names_another_issuer_ends_the_login_with_an_error() {
        for own in [
            "https://api.example.com",
            "https://api.example.com/",
            "https://api.example.com/v1",
            "https://api.example.com/v1/",
            "https://api.example.com:443/v1/oauth2",
        ] {
            let query = format!("code=a&state=right&iss={own}");
            assert_eq!(checked(&query), "code a", "{own}");
            let query = format!("error=denied&state=right&iss={own}");
            assert_eq!(checked(&query), "error denied ", "{own}");
        }
        for foreign in [
            "",
            "x",
            "https://api.example.com/v10",
            "https://api.example.com/v",
            "https://api.example.com/v2",
            "http://api.example.com/v1",
            "https://api.example.com:8443/v1",
            "https://evil.example/v1",
            "https://api.example.com.evil.example/v1",
            "https://api.example.com@evil.example/v1",
            "https://x@api.example.com/v1",
        ] {
            for query in ["code=a", "error=denied"] {
                let expected = format!(
                    "error invalid_request iss is '{foreign}'; expected the service of this login, \
                     https://api.example.com/v1"
                );
                let right = format!("{query}&state=right&iss={foreign}");
                assert_eq!(checked(&right), expected);
                let wrong = format!("{query}&state=wrong&iss={foreign}");
                assert_eq!(checked(&wrong), "unrelated", "{foreign}");
            }
        }
    }

    #[test]
    fn an_issuer_that_repeats_the_code_is_not_shown() {
        let shown = checked("code=Ab3dEf9h&state=right&iss=https://evil.example/Ab3dEf9h");
        assert!(shown.starts_with("error invalid_request iss is another service's"), "{shown}");
        assert!(!shown.contains("Ab3dEf9h"), "{shown}");
    }

    #[test]
    fn an_error_is_returned_as_the_service_sent_it() {
        let query = "error=access_denied&error_description=no+way&state=right";
        assert_eq!(checked(query), "error access_denied no way");
    }

    #[test]
    fn a_pasted_callback_is_of_this_port_and_path() {
        let own = redirect_uri(4000);
        assert!(
            Callback::from_url(" http://127.0.0.1:4000/callback?code=a&state=b\n", &own).is_ok()
        );
        for text in [
            "",
            "x",
            "http://",
            "\0",
            "code=a&state=b",
            "http://127.0.0.1:4000/callback",
            "http://127.0.0.1:4000/callback#code=a&state=b",
            "http://127.0.0.1:4001/callback?code=a&state=b",
            "https://127.0.0.1:4000/callback?code=a&state=b",
            "http://evil.example:4000/callback?code=a&state=b",
            "http://127.0.0.1:4000/other?code=a&state=b",
        ] {
            let error = Callback::from_url(text, &own).expect_err(text);
            assert!(matches!(error.kind.as_ref(), ErrorKind::OAuth { .. }), "{text}");
        }
    }

    #[test]
    fn the_callback_of_an_application_is_its_redirect_uri_or_the_path_of_it() {
        let own = "https://app.example.com/cb";
        for text in [
            "https://app.example.com/cb?code=a&state=b",
            "https://app.example.com:443/cb?code=a&state=b",
            "/cb?code=a&state=b",
        ] {
            assert!(Callback::from_url(text, own).is_ok(), "{text}");
        }
        for text in [
            "cb?code=a&state=b",
            "?code=a&state=b",
            "/cb",
            "/cb/?code=a&state=b",
            "/CB?code=a&state=b",
            "/other?code=a&state=b",
            "//evil.example/cb?code=a&state=b",
            "/\\evil.example/cb?code=a&state=b",
            "http://app.example.com/cb?code=a&state=b",
            "https://app.example.com:8443/cb?code=a&state=b",
            "https://app.example.com.evil.example/cb?code=a&state=b",
            "https://app.example.com@evil.example/cb?code=a&state=b",
            "https://x@app.example.com/cb?code=a&state=b",
        ] {
            let error = Callback::from_url(text, own).expect_err(text);
            assert!(matches!(error.kind.as_ref(), ErrorKind::OAuth { .. }), "{text}");
        }
        let own = "https://app.example.com";
        assert!(Callback::from_url("https://app.example.com?code=a&state=b", own).is_ok());
    }

    #[test]
    fn a_redirect_uri_may_have_any_scheme_and_host() {
        for own in [
            "http://localhost:8000/callback",
            "http://app.example.com/callback",
            "com.example.app:/callback",
            "com.example.app:callback",
            "myapp://callback",
            "https://user@app.example.com/callback",
        ] {
            let back = format!("{own}?code=a&state=b");
            assert!(Callback::from_url(&back, own).is_ok(), "{own}");
            let other = back.replacen("callback", "other", 1);
            assert!(Callback::from_url(&other, own).is_err(), "{own}");
        }
    }
}
