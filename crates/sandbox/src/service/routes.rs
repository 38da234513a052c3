//! Routes: each row of the table, and what a test declared. Paths, methods and parameters come from the rows.

use std::sync::Arc;

use boardlot_service::api::{EndpointRef, ResponseShape};

use crate::{
    data::{Data, endpoints, rows::CustomRows},
    login,
    wire::{
        arguments::{Arguments, percent_decoded},
        envelope::{HandlerResult, INVALID, Rejection},
    },
};

/// One endpoint of the sandbox.
#[derive(Debug)]
pub struct Route {
    pub endpoint: EndpointRef,
    /// True if there are built-in data for it.
    is_built_in: bool,
    /// The rows that a test brought along for it, the newest first.
    custom: Vec<Arc<CustomRows>>,
}

/// The result of matching a request line.
#[derive(Debug)]
pub enum RouteMatch {
    Route(Route, Vec<(String, String)>),
    OAuth(&'static login::Route),
    /// The path exists, with these other methods.
    OtherMethod(Vec<&'static str>),
    Nothing,
}

/// The route of a method and a raw path. `custom` are the rows that a test brought along, the newest last:
/// their endpoints come before those of the table.
pub fn find(method: &str, path: &str, custom: &[Arc<CustomRows>]) -> RouteMatch {
    let mut others = Vec::new();
    let newest = || custom.iter().rev();
    let declared = newest().filter(|rows| rows.built_in_name().is_none());
    let declared = declared.map(|rows| (rows.endpoint.clone(), false));
    for (endpoint, is_built_in) in declared.chain(endpoints().map(|endpoint| (endpoint, true))) {
        let Some(values) = path_values(&endpoint.path, path) else { continue };
        if endpoint.method.as_str() == method {
            let is_same = |rows: &&Arc<CustomRows>| {
                rows.endpoint.path == endpoint.path && rows.endpoint.method == endpoint.method
            };
            let custom = newest().filter(is_same).cloned().collect();
            return RouteMatch::Route(Route { endpoint, is_built_in, custom }, values);
        }
        others.push(endpoint.method.as_str());
    }
    for route in login::ROUTES.iter().filter(|route| route.endpoint.path == path) {
        if route.method.as_str() == method {
            return RouteMatch::OAuth(route);
        }
        others.push(route.method.as_str());
    }
    if others.is_empty() { RouteMatch::Nothing } else { RouteMatch::OtherMethod(others) }
}

impl Route {
    /// Returns true if it needs no credentials: only the clock, by which a client corrects its own.
    pub fn is_open(&self) -> bool {
        matches!(self.endpoint.response, ResponseShape::ServerTime(_))
    }

    /// Answers a request; invalid arguments get the endpoint's own code.
    pub fn respond(
        &self,
        data: &Data,
        path: &[(String, String)],
        query: &str,
        body: &[u8],
        now_ms: i64,
    ) -> HandlerResult {
        Arguments::read(&self.endpoint, path, query, body, now_ms)
            .and_then(|arguments| match self.custom.iter().find(|rows| rows.is_for(&arguments)) {
                Some(rows) => rows.respond(data.seed(), &arguments),
                None if self.is_built_in => data.respond(&arguments),
                None => {
                    let what = "no rows are served for these arguments";
                    Err(Rejection::new(-7, "invalid_symbol", what))
                }
            })
            .map_err(|rejection| match rejection.code {
                INVALID => Rejection { code: self.invalid_code(), ..rejection },
                _ => rejection,
            })
    }

    /// The endpoint's code for an invalid argument, as the document's error examples show it.
    fn invalid_code(&self) -> i64 {
        match self.endpoint.name.as_ref() {
            "crypto_orders" => 1,
            "fills_history" => -1200,
            _ => INVALID,
        }
    }
}

/// The values of the path parameters if the path matches the template.
fn path_values(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let mut values = Vec::new();
    let mut segments = path.split('/');
    for expected in template.split('/') {
        let segment = segments.next()?;
        match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => values.push((name.to_owned(), percent_decoded(segment)?)),
            None if expected == segment => {}
            None => return None,
        }
    }
    segments.next().is_none().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_written_by_hand_are_found() {
        let table = [
            ("GET", "/api/v1.0/server-time", "server_time"),
            ("GET", "/api/v1.0/quote/trading-days", "trading_days"),
            ("GET", "/api/v1.0/quote/HK.HSImain/reference-future", "reference_futures"),
            ("GET", "/api/v1.0/quote//reference-future", "reference_futures"),
            ("GET", "/api/v1.0/quote/ipo-list/hk", "ipo_list"),
            ("GET", "/api/v1.0/quote/HK.00700/corporate-actions/dividends", "dividends"),
            ("POST", "/api/v1.0/quote/plate/HK.BK1001/stock", "plate_stocks"),
            ("GET", "/api/v1/crypto/accounts/1/orders", "crypto_orders"),
            ("GET", "/api/v1.0/sim-trade/1/orders", "sim_orders"),
            ("GET", "/api/v1.0/sim-trade/1/positions", "sim_positions"),
            ("GET", "/api/v1.0/accounts/1/fills_history", "fills_history"),
            ("GET", "/api/v1.0/quote/HK.00700/capital-flow/history", "capital_flow_history"),
            ("GET", "/api/v1.0/quote/HK.00700/history-kline", "history_kline"),
        ];
        for (method, path, name) in table {
            match find(method, path, &[]) {
                RouteMatch::Route(route, _) => assert_eq!(route.endpoint.name, name),
                other => unreachable!("{path}: {other:?}"),
            }
        }
        for path in ["/", "/api/v1.0", "/api/v1.0/server-time/", "/api/v1.0/quote/a/b/c", ""] {
            assert!(matches!(find("GET", path, &[]), RouteMatch::Nothing), "{path}");
        }
        for (method, path, allowed) in [
            ("POST", "/api/v1.0/server-time", &["GET"][..]),
            ("GET", "/oauth2/register", &["POST"]),
            ("PUT", "/oauth2/authorize/confirm", &["GET", "POST"]),
        ] {
            let RouteMatch::OtherMethod(others) = find(method, path, &[]) else {
                unreachable!("{path}")
            };
            assert_eq!(others, allowed);
        }
        for (method, path, name) in [
            ("POST", "/oauth2/register", "register"),
            ("GET", "/oauth2/authorize/confirm", "authorize"),
            ("POST", "/oauth2/authorize/confirm", "authorize"),
            ("POST", "/oauth2/token", "token"),
        ] {
            let RouteMatch::OAuth(route) = find(method, path, &[]) else { unreachable!("{path}") };
            assert_eq!(route.endpoint.name, name);
        }
    }
}
