//! The routes: each row of the table with the handler of its name. Paths, methods and parameters
//! come from the rows; nothing of them is written a second time.

use super::{
    arguments::{Arguments, percent_decoded},
    history, login,
    reply::{INVALID, Refusal, Reply},
    world::World,
};
use crate::api::{ENDPOINTS, Endpoint, ResponseShape};

/// What answers an endpoint.
pub type Handler = fn(&World, &Arguments) -> Reply;

/// The handler of each row, by the row's name.
const HANDLERS: &[(&str, Handler)] = &[
    ("server_time", |_, asked| Ok(server_time(asked))),
    ("trading_days", |world, asked| world.calendar.trading_days(asked)),
    ("reference_futures", |world, asked| world.futures.related(world, asked)),
    ("ipo_list", |world, asked| world.ipos.list(asked)),
    ("dividends", |world, asked| world.dividends.of(world, asked)),
    ("plate_stocks", |world, asked| world.plates.stocks(world, asked)),
    ("crypto_orders", |world, asked| world.crypto.orders(world.seed, asked)),
    ("sim_orders", |world, asked| world.sim.orders(asked)),
    ("sim_positions", |world, asked| world.sim.positions(asked)),
    ("fills_history", |world, asked| world.fills.history(world.seed, asked)),
    ("capital_flow_history", history::capital_flow),
    ("history_kline", history::klines),
];

/// One endpoint of the sandbox.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    handler: Handler,
}

/// What a request line leads to.
#[derive(Debug)]
pub enum Found {
    Route(Route, Vec<(&'static str, String)>),
    OAuth(&'static login::Route),
    /// The path is known, with other methods: these.
    OtherMethod(Vec<&'static str>),
    Nothing,
}

/// The route of a method and a raw path.
pub fn find(method: &str, path: &str) -> Found {
    let mut others = Vec::new();
    for route in routes() {
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

/// The rows that have a handler.
fn routes() -> impl Iterator<Item = Route> {
    ENDPOINTS.iter().copied().chain(history::ENDPOINTS.iter().copied()).filter_map(|endpoint| {
        let (_, handler) = HANDLERS.iter().find(|(name, _)| *name == endpoint.name)?;
        Some(Route { endpoint, handler: *handler })
    })
}

impl Route {
    /// Whether it answers without credentials.
    pub fn is_open(&self) -> bool {
        matches!(self.endpoint.answer, ResponseShape::ServerTime(_))
    }

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
                INVALID => Refusal { code: self.invalid_code(), ..refusal },
                _ => refusal,
            })
    }

    /// The endpoint's code for an invalid argument, as the document's error examples show it.
    fn invalid_code(&self) -> i64 {
        match self.endpoint.name {
            "crypto_orders" => 1,
            "fills_history" => -1200,
            _ => INVALID,
        }
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

fn server_time(asked: &Arguments) -> Vec<u8> {
    format!(r#"{{"server_time_ms":"{}"}}"#, asked.now_ms).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_handler_and_every_handler_a_row() {
        let rows = ENDPOINTS.iter().chain(history::ENDPOINTS);
        let rows: Vec<&str> = rows.map(|endpoint| endpoint.name).collect();
        let handlers: Vec<&str> = HANDLERS.iter().map(|(name, _)| *name).collect();
        assert_eq!(rows, handlers);
        let open = |route: &Route| route.is_open();
        let open: Vec<&str> = routes().filter(open).map(|route| route.endpoint.name).collect();
        assert_eq!(open, ["server_time"]);
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
