//! The handler of each endpoint.

use crate::{
    data::{dataset::Dataset, history, trading_days},
    wire::{
        arguments::Arguments,
        envelope::{self, HandlerResult},
    },
};

/// Answers the checked arguments of an endpoint from the data.
pub type Handler = fn(&Dataset, &Arguments) -> HandlerResult;

/// The handlers by the names of their rows in [`boardlot_service::api`].
pub const HANDLERS: &[(&str, Handler)] = &[
    ("server_time", |_, arguments| Ok(envelope::server_time(arguments.now_ms))),
    ("trading_days", |data, arguments| trading_days::list(&data.market.calendar, arguments)),
    ("reference_futures", |data, arguments| data.futures.related(&data.market, arguments)),
    ("ipo_list", |data, arguments| data.ipos.list(arguments)),
    ("dividends", |data, arguments| data.dividends.history(&data.market, &data.futures, arguments)),
    ("plate_stocks", |data, arguments| data.plates.stocks(data.market.seed, arguments)),
    ("crypto_orders", |data, arguments| data.crypto.orders(data.market.seed, arguments)),
    ("sim_orders", |data, arguments| data.sim.orders(arguments)),
    ("sim_positions", |data, arguments| data.sim.positions(arguments)),
    ("fills_history", |data, arguments| data.fills.history(data.market.seed, arguments)),
    ("capital_flow_history", |data, arguments| history::capital_flow(&data.market, arguments)),
    ("history_kline", |data, arguments| history::klines(&data.market, arguments)),
];
