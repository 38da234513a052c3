//! The routes: the table's endpoints with what answers them here. Paths, methods and parameters
//! come from the rows; nothing of them is written a second time.

use super::{
    arguments::{Arguments, percent_decoded},
    history, login,
    reply::{INVALID, Refusal, Reply},
    world::World,
};
use crate::api::{self, Endpoint};

pub type Handler = fn(&World, &Arguments) -> Reply;

/// One endpoint of the sandbox.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    pub handler: Handler,
    /// The endpoint's code for an argument that is refused.
    invalid_code: i64,
    /// Whether it answers without credentials.
    pub open: bool,
}

pub const ROUTES: &[Route] = &[
    Route { open: true, ..route(&api::SERVER_TIME, INVALID, |_, asked| server_time(asked)) },
    route(&api::TRADING_DAYS, INVALID, |world, asked| world.calendar.trading_days(asked)),
    route(&api::REFERENCE_FUTURES, INVALID, |world, asked| world.futures.related(world, asked)),
    route(&api::IPO_LIST, INVALID, |world, asked| world.ipos.list(asked)),
    route(&api::DIVIDENDS, INVALID, |world, asked| world.dividends.of(world, asked)),
    route(&api::PLATE_STOCKS, INVALID, |world, asked| world.plates.stocks(world, asked)),
    // Seen in the document's error examples: 1 here, -1200 for the deals.
    route(&api::CRYPTO_ORDERS, 1, |world, asked| world.crypto.orders(world.seed, asked)),
    route(&api::SIM_ORDERS, INVALID, |world, asked| world.sim.orders(asked)),
    route(&api::SIM_POSITIONS, INVALID, |world, asked| world.sim.positions(asked)),
    route(&api::FILLS_HISTORY, -1200, |world, asked| world.fills.history(world.seed, asked)),
    route(&history::CAPITAL_FLOW, INVALID, history::capital_flow),
    route(&history::KLINES, INVALID, history::klines),
];

const fn route(endpoint: &'static Endpoint, invalid_code: i64, handler: Handler) -> Route {
    Route { endpoint, handler, invalid_code, open: false }
}

/// What a request line leads to.
#[derive(Debug)]
pub enum Found {
    Route(&'static Route, Vec<(&'static str, String)>),
    OAuth(&'static login::Route),
    /// The path is known, with other methods: these.
    OtherMethod(Vec<&'static str>),
    Nothing,
}

/// The route of a method and a raw path.
pub fn find(method: &str, path: &str) -> Found {
    let mut others = Vec::new();
    for route in ROUTES {
        let Some(values) = matched(route.endpoint.path, path) else { continue };
        if route.endpoint.method.as_str() == method {
            return Found::Route(route, values);
        }
        others.push(route.endpoint.method.as_str());
    }
    for route in login::ROUTES.iter().filter(|route| route.endpoint.path == path) {
        if route.method.as_str() == method {
            return Found::OAuth(route);
        }
        others.push(route.method.as_str());
    }
    if others.is_empty() { Found::Nothing } else { Found::OtherMethod(others) }
}

impl Route {
    /// The answer, with refused arguments under the endpoint's own code.
    pub fn answer(
        &self,
        world: &World,
        path: &[(&'static str, String)],
        query: &str,
        body: &[u8],
        now_ms: i64,
    ) -> Reply {
        Arguments::read(self.endpoint, path, query, body, now_ms)
            .and_then(|arguments| (self.handler)(world, &arguments))
            .map_err(|refusal| match refusal.code {
                INVALID => Refusal { code: self.invalid_code, ..refusal },
                _ => refusal,
            })
    }
}

/// The values of the path parameters where the path fits the template.
fn matched(template: &'static str, path: &str) -> Option<Vec<(&'static str, String)>> {
    let mut values = Vec::new();
    let mut segments = path.split('/');
    for expected in template.split('/') {
        let segment = segments.next()?;
        match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => values.push((name, percent_decoded(segment)?)),
            None if expected == segment => {}
            None => return None,
        }
    }
    segments.next().is_none().then_some(values)
}

fn server_time(asked: &Arguments) -> Reply {
    let crate::api::ResponseShape::ServerTime(field) = api::SERVER_TIME.answer else {
        return Err(Refusal::new(-1, "internal_error", "the table has no field for the time"));
    };
    Ok(format!(r#"{{"{field}":"{}"}}"#, asked.now_ms).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_of_the_table_has_a_route() {
        for endpoint in api::ENDPOINTS {
            let routes = ROUTES.iter().filter(|route| route.endpoint.name == endpoint.name).count();
            assert_eq!(routes, 1, "{}", endpoint.name);
        }
        assert_eq!(ROUTES.len(), api::ENDPOINTS.len() + 2);
        assert_eq!(ROUTES.iter().filter(|route| route.open).count(), 1);
    }

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
            match find(method, path) {
                Found::Route(route, _) => assert_eq!(route.endpoint.name, name),
                other => unreachable!("{path}: {other:?}"),
            }
        }
        for path in ["/", "/api/v1.0", "/api/v1.0/server-time/", "/api/v1.0/quote/a/b/c", ""] {
            assert!(matches!(find("GET", path), Found::Nothing), "{path}");
        }
        for (method, path, allowed) in [
            ("POST", "/api/v1.0/server-time", &["GET"][..]),
            ("GET", "/oauth2/register", &["POST"]),
            ("PUT", "/oauth2/authorize/confirm", &["GET", "POST"]),
        ] {
            let Found::OtherMethod(others) = find(method, path) else { unreachable!("{path}") };
            assert_eq!(others, allowed);
        }
        for (method, path, name) in [
            ("POST", "/oauth2/register", "register"),
            ("GET", "/oauth2/authorize/confirm", "authorize"),
            ("POST", "/oauth2/authorize/confirm", "authorize"),
            ("POST", "/oauth2/token", "token"),
        ] {
            let Found::OAuth(route) = find(method, path) else { unreachable!("{path}") };
            assert_eq!(route.endpoint.name, name);
        }
    }
}
