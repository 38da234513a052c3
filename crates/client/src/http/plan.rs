//! The plan of a call: its arguments, checked and encoded once. Each request of the call is made
//! from it.

use std::{borrow::Cow, sync::Arc};

use ::http::{
    HeaderMap, Method,
    header::{CONTENT_TYPE, HeaderName},
};
use serde_json::value::RawValue;
use url::Url;
use zeroize::Zeroizing;

use super::{
    BaseUrl, Body, Request, TimeRange,
    body::{Form, json_member, json_text},
    request::method,
    time_range::check_order,
};
use crate::{
    api::{
        AUTHORIZE, Argument, ENDPOINTS, EncodedValue, Endpoint, Parameter, ParameterLocation,
        REGISTER, TOKEN,
    },
    error::{Error, Result, did_you_mean},
};

/// Headers that make servers treat a request as one with another method.
const METHOD_OVERRIDES: [&str; 3] =
    ["x-http-method-override", "x-http-method", "x-method-override"];

/// Maximum length of a URL in the HTTP library.
const URL_MAX: usize = 65_534;

/// A request that was not sent yet: to an endpoint, with checked arguments, or to any path.
#[derive(Clone)]
pub struct RequestPlan {
    /// The endpoint's name, or `METHOD /path` for a custom request.
    pub label: String,
    route: Option<Arc<str>>,
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL.
    pub path: String,
    /// Parameters of the query as the caller passed them.
    pub query: Vec<(String, String)>,
    /// The body as the caller passed it.
    pub body: Body,
    headers: HeaderMap,
    idempotent: bool,
    /// The time range of the call, if it has one.
    #[doc(hidden)]
    pub time_range: Option<TimeRange>,
    /// Parameter names in the order in which the query is sent; other pairs stay in the order
    /// given.
    order: Vec<Cow<'static, str>>,
}

// Shows neither the query nor the headers nor the body.
boardlot_service::shown_as!(RequestPlan, |this| "RequestPlan({})", this.label);

/// Returns true for one of `METHOD_OVERRIDES`. CGI and WSGI gateways read an underscore as a
/// hyphen.
fn overrides_method(name: &HeaderName) -> bool {
    METHOD_OVERRIDES.contains(&name.as_str().replace('_', "-").as_str())
}

/// The cursor of a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cursor<'a> {
    /// Location of the cursor: a parameter of the query or a member of the body.
    pub place: ParameterLocation,
    /// The name of the parameter.
    pub name: &'a str,
    /// The value as the service returned it; empty for the first page.
    pub value: &'a str,
}

// A service may put secrets into a cursor.
boardlot_service::shown_as!(Cursor<'_>, |this| "Cursor({})", this.name);

impl RequestPlan {
    /// Creates the plan of an endpoint's call and checks its arguments.
    pub fn new<N: AsRef<str>>(endpoint: &Endpoint, arguments: &[(N, Argument)]) -> Result<Self> {
        let arguments: Vec<(&str, &Argument)> =
            arguments.iter().map(|(name, argument)| (name.as_ref(), argument)).collect();
        Self::checked(endpoint, &arguments).map_err(|error| error.with_endpoint(&endpoint.name))
    }

    /// Creates the plan of a GET of this path below the base URL, with these pairs in its query.
    ///
    /// ```no_run
    /// # async fn example(client: boardlot_client::Client) -> boardlot_client::Result<()> {
    /// use boardlot_client::RequestPlan;
    ///
    /// let plan = RequestPlan::get("/api/v1.0/quote/trading-days", &[("market", "HK")]);
    /// let response = client.request(&plan).await?;
    /// println!("{}: {} bytes", response.status(), response.body().len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn get(path: &str, query: &[(&str, &str)]) -> Self {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self::custom(Method::GET, path, query.collect(), Body::None, HeaderMap::new())
    }

    /// Creates the plan of a custom request. `Method` and `HeaderMap` are types of the crate
    /// `http`.
    pub fn custom(
        method: Method,
        path: &str,
        query: Vec<(String, String)>,
        body: Body,
        headers: HeaderMap,
    ) -> Self {
        RequestPlan {
            label: format!("{method} {path}"),
            route: None,
            idempotent: method.is_safe(),
            method,
            path: path.to_owned(),
            query,
            body,
            headers,
            time_range: None,
            order: Vec::new(),
        }
    }

    /// Marks the request as idempotent.
    #[must_use]
    pub fn idempotent(self) -> Self {
        RequestPlan { idempotent: true, ..self }
    }

    fn checked(endpoint: &Endpoint, arguments: &[(&str, &Argument)]) -> Result<Self> {
        let given = |name: &str| arguments.iter().find(|(n, _)| *n == name).map(|(_, a)| *a);
        let text = |name: &str| match given(name) {
            Some(Argument::Text(text)) => Some(text.as_str()),
            _ => None,
        };
        let is_known =
            |name: &str| endpoint.undeclared.is_some() || endpoint.parameter(name).is_some();
        // Before the check for missing ones: a name is missing if it is misspelled.
        if let Some((name, _)) = arguments.iter().find(|(name, _)| !is_known(name)) {
            return Err(unknown_argument(endpoint, name));
        }
        if let Some(missing) = endpoint.arguments().find(|p| p.required && given(&p.name).is_none())
        {
            return Err(Error::config(format!("{} is missing", missing.name)));
        }
        let mut values = Vec::with_capacity(arguments.len());
        for (name, argument) in arguments {
            let (place, value) = match (endpoint.parameter(name), endpoint.undeclared) {
                (Some(parameter), _) => (parameter.place, parameter.check(argument, text)?),
                (None, Some(place)) => (place, undeclared(name, argument, place)?),
                (None, None) => return Err(unknown_argument(endpoint, name)),
            };
            values.push((*name, place, value));
        }
        let bound = |wanted| values.iter().find(|(name, ..)| *name == wanted).map(|(.., v)| v);
        let (start, end) = (bound("start"), bound("end"));
        if endpoint.undeclared.is_none() {
            let shown = |name: &str| given(name).map_or(String::new(), Argument::shown);
            check_order(start, end, shown)?;
        }
        let time_range = TimeRange::new(endpoint, start, end);
        let mut path = endpoint.path.clone().into_owned();
        let mut query = Vec::new();
        let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
        let mut form = Form::default();
        for (name, place, value) in values {
            let name = name.to_owned();
            match (place, value) {
                (ParameterLocation::Path, value) => {
                    path = path.replace(&format!("{{{name}}}"), &value.into_text());
                }
                (ParameterLocation::Query, value) => query.push((name, value.into_text())),
                (ParameterLocation::Form, value) => {
                    form.0.push((name, Zeroizing::new(value.into_text())));
                }
                (ParameterLocation::Body, value) => {
                    let member = match value {
                        EncodedValue::Text(text) => json_member(&text)?,
                        EncodedValue::Secret(text) => json_member(&*text.0)?,
                        EncodedValue::Texts(texts) => json_member(&texts)?,
                        EncodedValue::Integer(number) => json_member(&number)?,
                        EncodedValue::Json(text) => json_text(text)?,
                    };
                    members.push((name, member));
                }
            }
        }
        let body = match (members.is_empty(), form.0.is_empty()) {
            (true, true) => Body::None,
            (true, false) => Body::Form(form),
            (false, _) => Body::Json(members),
        };
        Ok(RequestPlan {
            label: endpoint.name.clone().into_owned(),
            route: Some(endpoint.path.as_ref().into()),
            method: method(endpoint.method.as_str())?,
            path,
            query,
            body,
            headers: HeaderMap::new(),
            idempotent: endpoint.idempotent,
            time_range,
            order: order(endpoint),
        })
    }

    /// Returns a parameter of the query or a member of the JSON body, as text.
    #[doc(hidden)]
    pub fn parameter(&self, place: ParameterLocation, name: &str) -> Option<String> {
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

    /// Returns true if the request changes nothing: a GET, or a POST that only reads according to
    /// the service document.
    #[doc(hidden)]
    pub fn only_reads(&self) -> bool {
        let is_documented = |endpoint: &&Endpoint| {
            endpoint.method.as_str() == self.method && is_path_of(&endpoint.path, &self.path)
        };
        self.method == Method::GET || ENDPOINTS.iter().any(is_documented)
    }

    /// Returns true if a header of the request or of the client's `defaults` is one of
    /// `METHOD_OVERRIDES`.
    #[doc(hidden)]
    pub fn overrides_method(&self, defaults: &HeaderMap) -> bool {
        defaults.keys().chain(self.headers.keys()).any(overrides_method)
    }

    /// Returns one request: with the cursor of a page, and with the bounds of a time range, which
    /// replace the caller's own. `defaults` are the headers of the client.
    #[doc(hidden)]
    pub fn request(
        &self,
        base: &BaseUrl,
        defaults: &HeaderMap,
        cursor: Option<Cursor<'_>>,
        range: Option<(i64, i64)>,
    ) -> Result<Request> {
        let in_body = cursor.filter(|cursor| cursor.place == ParameterLocation::Body);
        let in_query = cursor.filter(|cursor| cursor.place == ParameterLocation::Query);
        let mut headers = defaults.clone();
        headers.extend(self.headers.clone());
        if let Some(content_type) = self.body.content_type(in_body.is_some())
            && !(matches!(self.body, Body::Bytes(..)) && headers.contains_key(CONTENT_TYPE))
        {
            headers.insert(CONTENT_TYPE, content_type);
        }
        let is_of_login = |endpoint: &Endpoint| self.path.ends_with(&*endpoint.path);
        let has_secrets = matches!(self.body, Body::Form(_))
            || [&TOKEN, &REGISTER, &AUTHORIZE].into_iter().any(is_of_login);
        let url = self.url(base, in_query, range)?;
        // The HTTP library accepts no longer URL.
        if let Some(Cursor { name, value, .. }) = in_query.filter(|_| url.as_str().len() > URL_MAX)
        {
            let message = format!(
                "the service's {name} has {} bytes, too many for a URL; the following pages cannot be read",
                value.len()
            );
            return Err(Error::pagination(message).with_endpoint(&self.label));
        }
        Ok(Request {
            label: self.label.clone(),
            route: self.route.clone(),
            method: self.method.clone(),
            url,
            headers,
            body: self.body.encode(in_body.map(|cursor| (cursor.name, cursor.value)))?,
            idempotent: self.idempotent,
            unrecorded: has_secrets,
            has_secrets,
        })
    }

    fn url(
        &self,
        base: &BaseUrl,
        cursor: Option<Cursor<'_>>,
        range: Option<(i64, i64)>,
    ) -> Result<Url> {
        let mut url = base.join(&self.path)?;
        let mut pairs: Vec<(&str, Cow<'_, str>)> =
            self.query.iter().map(|(name, value)| (name.as_str(), value.into())).collect();
        if let Some((start, end)) = range {
            set(&mut pairs, "start", start.to_string().into());
            set(&mut pairs, "end", end.to_string().into());
        }
        if let Some(Cursor { name, value, .. }) = cursor {
            set(&mut pairs, name, value.into());
        }
        if !pairs.is_empty() {
            // The sort is stable: pairs that the endpoint does not declare stay in the order given.
            pairs.sort_by_key(|(name, _)| self.order.iter().position(|known| known == name));
            url.query_pairs_mut().extend_pairs(pairs);
        }
        Ok(url)
    }
}

/// Returns the names of the query's parameters in their order. The arguments of an endpoint that
/// accepts undeclared ones stay in the order given.
fn order(endpoint: &Endpoint) -> Vec<Cow<'static, str>> {
    let is_ordered =
        |p: &&Parameter| endpoint.undeclared.is_none() && p.place == ParameterLocation::Query;
    endpoint.parameters.iter().filter(is_ordered).map(|p| p.name.clone()).collect()
}

/// Returns the error for an argument that the endpoint does not have.
fn unknown_argument(endpoint: &Endpoint, name: &str) -> Error {
    let nearest = did_you_mean(name, endpoint.arguments().map(|p| p.name.as_ref()));
    Error::config(format!("unknown argument '{name}'{nearest}"))
}

/// Encodes an argument that is not declared.
fn undeclared(name: &str, argument: &Argument, place: ParameterLocation) -> Result<EncodedValue> {
    let refused = |expected| Err(Error::argument(name, &argument.shown(), expected));
    match argument {
        _ if name.is_empty() => Err(Error::argument("an argument's name", "empty", "a name")),
        Argument::Instant(..) => refused(
            "an integer, a date or a string, or a kind for it in `arguments`: 'seconds', 'millis' \
             or 'micros'",
        ),
        Argument::Json(..) | Argument::Texts(_) if place != ParameterLocation::Body => {
            refused("a single value: the query of a GET has no lists or dicts")
        }
        argument => Ok(argument.clone().into()),
    }
}

/// Replaces the first pair with that name, or adds one.
fn set<'a>(pairs: &mut Vec<(&'a str, Cow<'a, str>)>, name: &'a str, value: Cow<'a, str>) {
    match pairs.iter_mut().find(|(known, _)| *known == name) {
        Some(pair) => pair.1 = value,
        None => pairs.push((name, value)),
    }
}
/// Returns true if a path has the form of a template. A segment such as `{symbol}` matches any text
/// that no URL parser takes for another path.
fn is_path_of(template: &str, path: &str) -> bool {
    let is_segment = |text: &str| {
        !text.is_empty() && text != "." && text != ".." && !text.contains(['%', '?', '#', '\\'])
    };
    let (expected, given) = (template.split('/'), path.split('/'));
    expected.clone().count() == given.clone().count()
        && expected.zip(given).all(|(expected, given)| match expected.starts_with('{') {
            true => is_segment(given),
            false => expected == given,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FILLS_HISTORY;

    #[test]
    fn a_misspelled_argument_is_named_before_the_one_that_it_leaves_missing() {
        let arguments = [("acc_id", "281756".into()), ("trade_market", "HK".into())];
        let error = RequestPlan::new(&FILLS_HISTORY, &arguments).unwrap_err().to_string();
        assert_eq!(
            error,
            "fills_history: unknown argument 'trade_market'; did you mean 'trd_market'?"
        );
        let error = RequestPlan::new(&FILLS_HISTORY, &arguments[..1]).unwrap_err().to_string();
        assert_eq!(error, "fills_history: trd_market is missing");
    }
}
