//! The proxy of a client: the one that was passed, or the one of the environment.

use hyper_util::client::proxy::matcher::Matcher;
use url::{Position, Url};

use super::{BaseUrl, ConnectOptions};
use crate::error::{Error, Result};

/// The value that selects the proxy of the environment.
pub const ENVIRONMENT: &str = "environment";

/// The variables in curl's order. `HTTP_PROXY` is never used, because addresses with `http` are on
/// this machine.
const PROXIES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Returns the proxy that the environment names for a service: the variable, and the URL, which may
/// have a password. None for a service on this machine, or one that `NO_PROXY` lists. Nobody may
/// change the environment while this runs.
pub fn environment_proxy(base: &BaseUrl) -> Option<(&'static str, String)> {
    if base.stays_on_this_machine() {
        return None;
    }
    let (variable, value) = first(PROXIES)?;
    let address = if value.contains("://") { value } else { format!("http://{value}") };
    // The library is asked only about the exceptions: it ignores a URL that it cannot read.
    let exceptions = first(EXCEPTIONS).map(|(_, list)| list).unwrap_or_default();
    // curl ignores a dot at the end of a name.
    let exceptions = exceptions.split(|c: char| c == ',' || c.is_whitespace());
    let exceptions: Vec<&str> = exceptions.map(|name| name.trim_end_matches('.')).collect();
    let matcher = Matcher::builder().all("http://proxy").no(exceptions.join(",")).build();
    let mut service = Url::parse(base.as_str()).ok()?;
    let host = service.host_str()?.trim_end_matches('.').to_owned();
    service.set_host(Some(&host)).ok()?;
    let service = service.as_str().parse().ok()?;
    matcher.intercept(&service).map(|_| (variable, address))
}

/// Replaces `ENVIRONMENT` by the proxy to use, and returns the variable that names a proxy which is
/// not used.
pub fn resolve(options: &mut ConnectOptions, base: &BaseUrl) -> Result<Option<&'static str>> {
    match options.proxy.as_deref() {
        None => Ok(environment_proxy(base).map(|(variable, _)| variable)),
        Some(ENVIRONMENT) => {
            let named = environment_proxy(base);
            if let Some((variable, address)) = &named
                && !is_usable(address)
            {
                let text = format!(
                    "proxy: the value of {variable} is not a valid proxy; expected a URL such as \
                     http://proxy:3128"
                );
                let advice = format!("Correct {variable}, or pass the URL of a proxy.");
                return Err(Error::misuse(text, advice));
            }
            options.proxy = named.map(|(_, address)| address);
            Ok(None)
        }
        Some(_) => Ok(None),
    }
}

/// Returns true if this is the URL of a proxy that the HTTP library can use. The library accepts
/// other URLs and ignores them. An @ after the host belongs to a password with a slash, whose
/// beginning would be taken for a port.
pub fn is_usable(address: &str) -> bool {
    let is_split = |url: Url| url[Position::BeforePath..].contains('@');
    // A scheme may be in any case (RFC 3986, section 3.1).
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["http", "https"].contains(&&*scheme))
        && reqwest::Proxy::all(address).is_ok()
        && !Url::parse(address).is_ok_and(is_split)
}

fn first<const N: usize>(names: [&'static str; N]) -> Option<(&'static str, String)> {
    let value = |name| std::env::var(name).ok().filter(|value: &String| !value.trim().is_empty());
    names.into_iter().find_map(|name| value(name).map(|value| (name, value.trim().to_owned())))
}
