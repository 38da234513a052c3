//! Routes: the rows of the table, and the endpoints that a test declared. Paths, methods and
//! parameters come from the rows.

use std::sync::Arc;

use boardlot_service::api::EndpointRef;
use percent_encoding::percent_decode_str;

use crate::{
    data::{endpoints, rows::CustomRows},
    login,
};

/// The result of matching a request line.
#[derive(Debug)]
pub enum RouteMatch {
    /// An endpoint, with the values of its path parameters.
    Route(EndpointRef, Vec<(String, String)>),
    OAuth(&'static login::Route),
    /// A page of the sandbox's own, which has neither faults nor credentials and is not recorded.
    Own(OwnPage),
    Nothing,
}

/// Prefix of the paths for watching and controlling the sandbox.
pub const CONTROL: &str = "/_sandbox/";

/// A page that the service does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnPage {
    /// Responds once the sandbox is ready, for programs that wait for it.
    Health,
    /// The service as an OpenAPI description.
    Description,
    /// Watches and controls the sandbox.
    Control,
}

impl OwnPage {
    fn find(method: &str, path: &str) -> Option<OwnPage> {
        match (method, path) {
            ("GET", "/healthz") => Some(OwnPage::Health),
            ("GET", "/openapi.json") => Some(OwnPage::Description),
            _ if path.starts_with(CONTROL) => Some(OwnPage::Control),
            _ => None,
        }
    }
}

/// Finds the route of a method and a raw path. `custom` are the rows that a test supplied, the
/// newest last: their endpoints come before the endpoints of the table.
pub fn find(method: &str, path: &str, custom: &[Arc<CustomRows>]) -> RouteMatch {
    let declared = custom.iter().rev().map(|rows| rows.endpoint.clone());
    let declared = declared.filter(|endpoint| matches!(endpoint, EndpointRef::UserDefined(_)));
    for endpoint in declared.chain(endpoints()) {
        if endpoint.method.as_str() == method
            && let Some(values) = path_values(&endpoint.path, path)
        {
            return RouteMatch::Route(endpoint, values);
        }
    }
    let is_asked =
        |route: &&login::Route| route.endpoint.path == path && route.method.as_str() == method;
    if let Some(route) = login::ROUTES.iter().find(is_asked) {
        return RouteMatch::OAuth(route);
    }
    OwnPage::find(method, path).map_or(RouteMatch::Nothing, RouteMatch::Own)
}

/// Returns the values of the path parameters if the path matches the template.
fn path_values(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let mut values = Vec::new();
    let mut segments = path.split('/');
    for expected in template.split('/') {
        let segment = segments.next()?;
        match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                let decoded = percent_decode_str(segment).decode_utf8().ok()?;
                values.push((name.to_owned(), decoded.into_owned()));
            }
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
                RouteMatch::Route(endpoint, _) => assert_eq!(endpoint.name, name),
                other => unreachable!("{path}: {other:?}"),
            }
        }
        for path in ["/", "/api/v1.0", "/api/v1.0/server-time/", "/api/v1.0/quote/a/b/c", ""] {
            assert!(matches!(find("GET", path, &[]), RouteMatch::Nothing), "{path}");
        }
        for (method, path) in
            [("POST", "/api/v1.0/server-time"), ("PUT", "/oauth2/authorize/confirm")]
        {
            assert!(matches!(find(method, path, &[]), RouteMatch::Nothing), "{path}");
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
        for (path, page) in [("/healthz", OwnPage::Health), ("/openapi.json", OwnPage::Description)]
        {
            assert!(matches!(find("GET", path, &[]), RouteMatch::Own(found) if found == page));
            assert!(matches!(find("POST", path, &[]), RouteMatch::Nothing), "{path}");
        }
    }
}
