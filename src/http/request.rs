//! From an endpoint and its arguments to the final URL and bytes: what is signed is what is sent.

use ::http::{HeaderMap, HeaderName, HeaderValue, Method, header::CONTENT_TYPE};
use bytes::Bytes;
use serde_json::value::RawValue;
use url::{Host, Url, form_urlencoded};
use zeroize::Zeroizing;

use crate::{
    api::{Argument, EncodedValue, Endpoint, Parameter, ParameterLocation},
    auth,
    error::{Error, Result},
};

/// A request in the making: all but the origin and the cursor.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The endpoint's name, or `METHOD /path` for a request of the caller's own.
    pub label: String,
    pub method: Method,
    /// The path below the base URL.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub body: Body,
    pub headers: HeaderMap,
    /// Whether sending it twice does the same as sending it once.
    pub idempotent: bool,
    /// The endpoint's parameters, in whose order the query goes out; empty for the caller's own.
    pub order: &'static [Parameter],
}

/// Fields whose values are wiped from memory when they are dropped, and shown nowhere.
#[derive(Clone, Default)]
pub struct Form(Vec<(String, Zeroizing<String>)>);

impl std::fmt::Debug for Form {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[derive(Debug, Clone)]
pub enum Body {
    None,
    /// Members of a JSON object in their order, sent compactly.
    Json(Vec<(String, Box<RawValue>)>),
    /// Fields of an `application/x-www-form-urlencoded` body, which holds secrets.
    Form(Form),
    /// As they are, with the content type that belongs to them.
    Bytes(Bytes, Option<&'static str>),
}

/// A request ready to be signed and sent, any number of times.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub label: String,
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub idempotent: bool,
    /// Whether a tape must not hold it, such as a body with secrets, which a response may repeat.
    pub unrecorded: bool,
}

impl Draft {
    /// Checks the arguments against the endpoint's row and puts each in its place.
    pub fn of(endpoint: &'static Endpoint, arguments: &[(&str, Argument)]) -> Result<Draft> {
        Draft::checked(endpoint, arguments).map_err(|error| error.with_endpoint(endpoint.name))
    }

    fn checked(endpoint: &'static Endpoint, arguments: &[(&str, Argument)]) -> Result<Draft> {
        let given = |name: &str| arguments.iter().find(|(n, _)| *n == name).map(|(_, a)| a);
        if let Some((name, _)) = arguments.iter().find(|(n, _)| endpoint.parameter(n).is_none()) {
            return Err(Error::config(format!("there is no argument {name}")));
        }
        let text = |name: &str| match given(name) {
            Some(Argument::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let mut draft = Draft {
            label: endpoint.name.to_owned(),
            method: method(endpoint.method.as_str())?,
            path: endpoint.path.to_owned(),
            query: Vec::new(),
            body: Body::None,
            headers: HeaderMap::new(),
            idempotent: endpoint.idempotent,
            order: endpoint.parameters,
        };
        for parameter in endpoint.arguments() {
            match given(parameter.name) {
                Some(argument) => draft.put(parameter, parameter.check(argument, text)?)?,
                None if parameter.required => {
                    return Err(Error::config(format!("{} is missing", parameter.name)));
                }
                None => {}
            }
        }
        draft.check_span()?;
        Ok(draft)
    }

    fn put(&mut self, parameter: &Parameter, sent: EncodedValue) -> Result<()> {
        match (parameter.place, sent) {
            (ParameterLocation::Path, sent) => {
                let hole = format!("{{{}}}", parameter.name);
                self.path = self.path.replace(&hole, &sent.into_text());
            }
            (ParameterLocation::Body, EncodedValue::Integer(number)) => {
                self.set_member(parameter.name, &number.to_string())?;
            }
            (ParameterLocation::Body, EncodedValue::Texts(texts)) => {
                let json = serde_json::to_string(&texts).map_err(|error| unwritable(&error))?;
                self.set_member(parameter.name, &json)?;
            }
            (place, sent) => self.set(place, parameter.name, &sent.into_text())?,
        }
        Ok(())
    }

    /// A range that ends before it starts is ruled out by the document.
    fn check_span(&self) -> Result<()> {
        let value = |name| self.query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let (Some(start), Some(end)) = (value("start"), value("end")) else { return Ok(()) };
        let backward = match (start.parse::<u64>(), end.parse::<u64>()) {
            (Ok(start_micros), Ok(end_micros)) => {
                start_micros > 0 && end_micros > 0 && start_micros >= end_micros
            }
            // yyyy-MM-dd sorts as text.
            _ => start > end,
        };
        if backward {
            return Err(Error::argument("end", end, &format!("a time after start ({start})")));
        }
        Ok(())
    }

    /// A parameter in the query or the JSON body, as text.
    pub fn get(&self, place: ParameterLocation, name: &str) -> Option<String> {
        match (place, &self.body) {
            (ParameterLocation::Query, _) => {
                self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            }
            (ParameterLocation::Body, Body::Json(members)) => {
                let (_, raw) = members.iter().find(|(known, _)| known == name)?;
                let text = serde_json::from_str::<String>(raw.get());
                Some(text.unwrap_or_else(|_| raw.get().to_owned()))
            }
            _ => None,
        }
    }

    /// Sets a text parameter, in the place of an earlier value where there was one.
    pub fn set(&mut self, place: ParameterLocation, name: &str, value: &str) -> Result<()> {
        match place {
            ParameterLocation::Query => {
                match self.query.iter_mut().find(|(n, _)| n == name) {
                    Some(pair) => value.clone_into(&mut pair.1),
                    None => self.query.push((name.to_owned(), value.to_owned())),
                }
                Ok(())
            }
            ParameterLocation::Body => {
                let quoted = serde_json::to_string(value).map_err(|e| unwritable(&e))?;
                self.set_member(name, &quoted)
            }
            ParameterLocation::Form => {
                if matches!(self.body, Body::None) {
                    self.body = Body::Form(Form::default());
                }
                let Body::Form(form) = &mut self.body else {
                    return Err(Error::config(format!(
                        "{name} needs a body of the form of a form"
                    )));
                };
                form.0.push((name.to_owned(), Zeroizing::new(value.to_owned())));
                Ok(())
            }
            ParameterLocation::Path => {
                Err(Error::config(format!("{name} has no place in this request")))
            }
        }
    }

    fn set_member(&mut self, name: &str, json: &str) -> Result<()> {
        let raw = RawValue::from_string(json.to_owned()).map_err(|error| unwritable(&error))?;
        if matches!(self.body, Body::None) {
            self.body = Body::Json(Vec::new());
        }
        let Body::Json(members) = &mut self.body else {
            return Err(Error::config("the cursor needs a body of the form of a JSON object"));
        };
        match members.iter_mut().find(|(n, _)| n == name) {
            Some(member) => member.1 = raw,
            None => members.push((name.to_owned(), raw)),
        }
        Ok(())
    }

    /// The final request under this base.
    pub fn prepare(&self, base: &BaseUrl, extra: &HeaderMap) -> Result<Prepared> {
        let mut url = base.join(&self.path)?;
        if !self.query.is_empty() {
            let mut query: Vec<&(String, String)> = self.query.iter().collect();
            // Stable: pairs that are not the table's stay in the order given.
            query.sort_by_key(|(name, _)| self.order.iter().position(|p| p.name == *name));
            url.query_pairs_mut().extend_pairs(query.into_iter().map(|(n, v)| (n, v)));
        }
        let mut headers = extra.clone();
        headers.extend(self.headers.clone());
        let body = match &self.body {
            Body::None => Bytes::new(),
            Body::Json(members) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                compact(members)?
            }
            Body::Form(form) => {
                const FORM: HeaderValue =
                    HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.insert(CONTENT_TYPE, FORM);
                encode(form)
            }
            Body::Bytes(bytes, content_type) => {
                if let Some(kind) = content_type
                    && !headers.contains_key(CONTENT_TYPE)
                {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                }
                bytes.clone()
            }
        };
        Ok(Prepared {
            label: self.label.clone(),
            method: self.method.clone(),
            url,
            headers,
            body,
            idempotent: self.idempotent,
            unrecorded: matches!(self.body, Body::Form(_)),
        })
    }
}

/// The bytes of a form, wiped when the last request with them is gone.
fn encode(form: &Form) -> Bytes {
    // No character becomes more than three, so that the buffer does not move and leave copies.
    let size = form.0.iter().map(|(name, value)| 3 * (name.len() + value.len()) + 2).sum();
    let mut written = form_urlencoded::Serializer::new(String::with_capacity(size));
    for (name, value) in &form.0 {
        written.append_pair(name, value);
    }
    Bytes::from_owner(Zeroizing::new(written.finish().into_bytes()))
}

fn compact(members: &[(String, Box<RawValue>)]) -> Result<Bytes> {
    let mut out = String::from("{");
    for (name, value) in members {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(name).map_err(|error| unwritable(&error))?);
        out.push(':');
        out.push_str(value.get());
    }
    out.push('}');
    Ok(out.into())
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::config(format!("the body cannot be written as JSON: {error}"))
}

/// The HTTP method of that name.
pub fn method(name: &str) -> Result<Method> {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let upper = name.to_ascii_uppercase();
    match Method::from_bytes(upper.as_bytes()) {
        Ok(method) if known.contains(&upper.as_str()) => Ok(method),
        _ => Err(Error::argument(
            "method",
            &format!("'{}'", name.escape_debug()),
            &format!("one of {}", known.join(", ")),
        )),
    }
}

/// The origin of the service, with a path prefix where it has one.
#[derive(Debug, Clone)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// `https`, or `http` to a loopback address written as a number.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |expected: &str| {
            // One with an @ may carry a password.
            let shown = format!("'{}'", text.escape_debug());
            let shown = if text.contains('@') { "not valid" } else { &shown };
            Err(Error::argument("base_url", shown, expected))
        };
        let Ok(url) = Url::parse(text) else {
            return refuse("an absolute URL such as https://api.example.com");
        };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("a URL without a user name and password");
        }
        if url.fragment().is_some() || url.query().is_some() {
            return refuse("a URL without a query or fragment");
        }
        match url.scheme() {
            "https" if url.has_host() => Ok(BaseUrl(url)),
            "http" if is_loopback(&url) => Ok(BaseUrl(url)),
            "http" => refuse(
                "an https:// URL (http:// goes only to a loopback address such as http://127.0.0.1:8080)",
            ),
            _ => refuse("an https:// URL"),
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether requests to it need no network, and so no proxy.
    pub fn stays_on_this_machine(&self) -> bool {
        is_loopback(&self.0) || self.0.host_str().is_some_and(|host| host == "localhost")
    }

    /// Whether that path of a URL is this path below this base.
    pub fn is_path(&self, whole: &str, path: &str) -> bool {
        whole.strip_suffix(path) == Some(self.0.path().trim_end_matches('/'))
    }

    /// The URL of a path below this base.
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

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}

/// A path that no URL parser folds into another: no dot segments, plain or encoded.
fn check_path(path: &str) -> Result<()> {
    let hostile = !path.starts_with('/')
        || path.starts_with("//")
        || path.chars().any(|c| c.is_control() || matches!(c, '\\' | '?' | '#'))
        || has_dot_segments(path);
    if hostile {
        let shown: String = path.chars().take(64).collect();
        return Err(Error::argument(
            "path",
            &format!("'{}'", shown.escape_debug()),
            "an absolute path without a query, fragment, backslash, control character or dot \
             segment",
        ));
    }
    Ok(())
}

/// Also where dots or the strokes around them are written as a URL parser may read them.
fn has_dot_segments(path: &str) -> bool {
    let has_dots = |path: &str| path.split('/').any(|segment| matches!(segment, "." | ".."));
    if !path.contains('%') {
        return has_dots(path);
    }
    let plain =
        path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    has_dots(&plain)
}

/// A header of the caller's own: visible ASCII, and none that the client itself sets.
pub fn header_pair(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    const OWN: [&str; 8] = [
        auth::AUTHORIZATION,
        auth::X_API_KEY,
        auth::X_TIMESTAMP,
        auth::X_NONCE,
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
    ];
    let shown = name.escape_debug().to_string();
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::argument("a header name", &format!("'{shown}'"), "a valid HTTP field name")
    })?;
    if OWN.contains(&parsed.as_str()) {
        return Err(Error::argument(
            "a header name",
            &format!("'{shown}'"),
            "a header that the client does not set itself",
        ));
    }
    if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(Error::config(format!(
            "headers: the value of '{shown}' has control or non-ASCII characters; expected \
             visible ASCII characters and spaces"
        )));
    }
    let value = HeaderValue::from_str(value)
        .map_err(|_| Error::config(format!("headers: the value of '{shown}' is not valid")))?;
    Ok((parsed, value))
}
