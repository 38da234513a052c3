//! The address of the service, and the paths below it.

use url::{Host, Url};

use crate::error::{Error, Result};

/// The origin of the service, with a path prefix if it has one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Parses `https`, or `http` to a loopback address, given as an IP address.
    pub fn parse(text: &str) -> Result<Self> {
        let url = check_address("base_url", text, ["https", "http"])?;
        if has_endpoint_path(&url) {
            let origin = url.origin().ascii_serialization();
            let expected = format!(
                "the address of the service without the path of an endpoint; did you mean \
                 '{origin}'?"
            );
            return Err(Error::argument("base_url", &shown(text), &expected));
        }
        Ok(BaseUrl(url))
    }

    /// Returns the URL without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Returns true if connections to the service are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns true if requests to the service need no network, and therefore no proxy.
    #[doc(hidden)]
    pub fn stays_on_this_machine(&self) -> bool {
        is_loopback(&self.0) || self.0.host_str().is_some_and(|host| host == "localhost")
    }

    /// Returns true if the whole path of a URL is this base followed by this path.
    #[doc(hidden)]
    pub fn is_path(&self, whole: &str, path: &str) -> bool {
        whole.strip_suffix(path) == Some(self.0.path().trim_end_matches('/'))
    }

    /// Returns the URL of a path below this base.
    #[doc(hidden)]
    pub fn join(&self, path: &str) -> Result<Url> {
        check_path(path)?;
        let mut url = self.0.clone();
        match self.0.path().trim_end_matches('/') {
            "" => url.set_path(path),
            prefix => url.set_path(&format!("{prefix}{path}")),
        }
        Ok(url)
    }
}

/// Checks an address of the service: any address with the first scheme, which encrypts, or a
/// loopback address with the second scheme.
pub fn check_address(name: &str, text: &str, [secure, plain]: [&str; 2]) -> Result<Url> {
    let refuse = |expected: &str| Err(Error::argument(name, &shown(text), expected));
    // A browser removes these characters or reads them as a slash; other programs read another
    // address.
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return refuse("a URL without white space, control characters and backslashes");
    }
    let url = Url::parse(text).ok().filter(|url| {
        let rest = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
        rest.is_some_and(|rest| !rest.starts_with('/'))
    });
    let Some(url) = url else {
        return refuse(&format!("an absolute URL such as {secure}://api.example.com"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("a URL without a user name and password");
    }
    if url.fragment().is_some() || url.query().is_some() {
        return refuse("a URL without a query or fragment");
    }
    match url.scheme() {
        scheme if scheme == secure && url.has_host() => Ok(url),
        scheme if scheme == plain && is_loopback(&url) => Ok(url),
        scheme if scheme == plain => refuse(&format!(
            "{} {secure}:// URL ({plain}:// is only for a loopback address such as \
             {plain}://127.0.0.1:8080){}",
            article(secure),
            nearest(url, secure).map_or_else(String::new, |url| format!("; did you mean '{url}'?"))
        )),
        _ => refuse(&format!("{} {secure}:// URL", article(secure))),
    }
}

fn article(scheme: &str) -> &'static str {
    if scheme.starts_with('h') { "an" } else { "a" }
}

/// Shows the URL in an error. A URL with an @ or a query may carry a secret.
fn shown(text: &str) -> String {
    match text.contains(['@', '?']) {
        true => "not valid".to_owned(),
        false => format!("'{}'", text.escape_debug()),
    }
}

/// Returns true if a URL has the path of an endpoint, such as `/api/v1.0`, which is added to the
/// base URL.
fn has_endpoint_path(url: &Url) -> bool {
    let path = url.path().trim_end_matches('/');
    let below = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}/"));
    ["/api/v1.0", "/api/v1", "/oauth2"].into_iter().any(below)
}

/// Returns the usable URL that is nearest to one that does not encrypt: the loopback address, or
/// the scheme that encrypts. None if the URL has a port: it is unknown which port of that host
/// encrypts, if any.
fn nearest(mut url: Url, secure: &str) -> Option<String> {
    match url.host_str() {
        Some("localhost") => url.set_host(Some("127.0.0.1")).ok()?,
        _ if url.port().is_some() => return None,
        _ => url.set_scheme(secure).ok()?,
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns true if the host of a URL is a loopback address, written as a number.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}

/// Accepts a path that every URL parser leaves unchanged: without dot segments, plain or encoded.
fn check_path(path: &str) -> Result<()> {
    let hostile = !path.starts_with('/')
        || path.starts_with("//")
        || path.chars().any(|c| c.is_control() || matches!(c, '\\' | '?' | '#'))
        || has_dot_segments(path);
    // RFC 3986, section 3.3. A URL parser encodes other forbidden characters, but leaves these
    // unchanged.
    if !hostile && (path.contains(['|', '[', ']', '^']) || has_broken_escape(path)) {
        let shown: String = path.chars().take(64).collect();
        return Err(Error::argument(
            "path",
            &format!("'{}'", shown.escape_debug()),
            "a path whose special characters are percent-encoded, such as %7C for | and %25 for %",
        ));
    }
    if hostile {
        let shown: String = path.chars().take(64).collect();
        return Err(Error::own_rule(
            "path",
            &format!("'{}'", shown.escape_debug()),
            "an absolute path without a query, fragment, backslash, control character or dot \
             segment",
            if path.contains("://") {
                "; leave out the address, which is the client's"
            } else {
                ""
            },
        ));
    }
    Ok(())
}

/// Returns true if a % is not followed by the two digits of a byte.
fn has_broken_escape(path: &str) -> bool {
    path.split('%').skip(1).any(|rest| {
        !rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Returns true if a path has dot segments, also percent-encoded or with backslashes, as a URL
/// parser may find them.
fn has_dot_segments(path: &str) -> bool {
    let has_dots = |path: &str| path.split('/').any(|segment| matches!(segment, "." | ".."));
    if !path.contains('%') {
        return has_dots(path);
    }
    let plain =
        path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    has_dots(&plain)
}
