//! Trading endpoints: sections 2.5 to 2.8 and 4.3.

use std::borrow::Cow;

use super::{
    endpoint::Endpoint,
    paging::{CursorPaging, FirstPage, PAGE_FLAG, Paging, TimeRangeSpec},
    parameter::{Parameter, ParameterKind, ParameterLocation},
    record::{Field, Record, Schema, TimeUnit},
    response::{Envelope, Failure, RecordsLocation, ResponseShape},
    values::{CRYPTO_ORDER_STATUS, POSITION_TYPE, SIM_ORDER_STATUS, SIM_ORDER_TYPE, SIM_SIDE},
};

/// The open crypto orders of an account.
pub static CRYPTO_ORDERS: Endpoint = Endpoint {
    name: Cow::Borrowed("crypto_orders"),
    path: Cow::Borrowed("/api/v1/crypto/accounts/{acc_id}/orders"),
    section: "4.3",
    summary: "The open crypto orders of an account, newest first.",
    notes: "Open are the four states of `CryptoOrderStatus`. The unit of the times is not shown \
            in the service's documentation, so they stay whole numbers.",
    parameters: Cow::Borrowed(&[
        Parameter::path("acc_id", ParameterKind::AccountNumber, "Account id (uint64)."),
        Parameter::query(
            "page_size",
            ParameterKind::Integer { min: 1, max: 50 },
            "Orders per page, at most 50, which is the service's default.",
        ),
        Parameter::cursor("page_flag", ParameterLocation::Query),
    ]),
    envelope: Envelope::Code,
    response: ResponseShape::Rows(RecordsLocation::at("data.orders"), Schema::One(&CRYPTO_ORDER)),
    paging: Some(Paging::Cursor(PAGE_FLAG)),
    record_id: Some("order_id"),
    failures: &[Failure::example(1)],
    ..Endpoint::BASE
};

const CRYPTO_PAIR: &[Field] =
    &[Field::text("symbol", "Symbol"), Field::text("base", "Base"), Field::text("quote", "Quote")];

const CRYPTO_ORDER: Record = Record {
    name: "CryptoOrder",
    section: "2.5",
    doc: "An open crypto order.",
    groups: &[&[
        Field::text("order_id", "Order identifier"),
        Field::integer("version", "Record version"),
        Field::object("symbol_pair", CRYPTO_PAIR, "`symbol`, `base` and `quote`"),
        Field::text("side", "Order side (values such as BUY)"),
        Field::decimal("order_qty", "Order quantity"),
        Field::decimal("price", "Order price"),
        Field::decimal("order_amount", "Order amount"),
        Field::decimal("cum_qty", "Filled quantity"),
        Field::decimal("avg_px", "Average fill price"),
        Field::decimal("fill_amount", "Filled amount"),
        Field::text("ord_type", "Order type (values such as LIMIT)"),
        Field::text("time_in_force", "Validity (values such as TIF_GTC)"),
        Field::integer("create_time", "Creation timestamp").unit("not shown"),
        Field::integer("update_time", "Update timestamp").unit("not shown"),
        Field::text("ord_status", "Status").one_of(&CRYPTO_ORDER_STATUS),
        Field::text("order_show_id", "Display identifier"),
        Field::flag("is_close", "Close flag"),
        Field::decimal("trigger_price", "Trigger price; empty string when none"),
        Field::integer_not_zero("trigger_time", "Trigger time; 0 when none").unit("not shown"),
        Field::decimal("cash_order_qty", "Cash quantity; empty string when none"),
    ]],
};

/// Today's simulated orders of an account.
pub static SIM_ORDERS: Endpoint = Endpoint {
    name: Cow::Borrowed("sim_orders"),
    path: Cow::Borrowed("/api/v1.0/sim-trade/{acc_id}/orders"),
    section: "4.3",
    summary: "Today's simulated-trading orders.",
    parameters: Cow::Borrowed(&[Parameter::path(
        "acc_id",
        ParameterKind::AccountId,
        "Business account id.",
    )]),
    envelope: Envelope::RetCode,
    response: ResponseShape::Rows(RecordsLocation::at("data.orders"), Schema::One(&SIM_ORDER)),
    ..Endpoint::BASE
};

const SIM_ORDER: Record = Record {
    name: "SimOrder",
    section: "2.6",
    doc: "A simulated-trading order.",
    groups: &[&[
        Field::text("order_id", "Order id"),
        Field::integer("side", "Order side").one_of(&SIM_SIDE),
        Field::text("symbol", "Symbol code (without market prefix in examples)"),
        Field::text("stock_name", "Name"),
        Field::integer("order_type", "Order type").one_of(&SIM_ORDER_TYPE),
        Field::integer("status", "Status").one_of(&SIM_ORDER_STATUS),
        Field::decimal("qty", "Order quantity"),
        Field::decimal("cum_qty", "Filled quantity"),
        Field::decimal("price", "Order price"),
        Field::decimal("avg_fill_price", "Average fill price"),
        Field::decimal("aux_price", "Stop-loss price, or null").nullable(),
        Field::micros_text("create_time", "Created time"),
        Field::micros_text("update_time", "Updated time"),
        Field::text("text", "Remark"),
    ]],
};

/// The simulated positions of an account.
pub static SIM_POSITIONS: Endpoint = Endpoint {
    name: Cow::Borrowed("sim_positions"),
    path: Cow::Borrowed("/api/v1.0/sim-trade/{acc_id}/positions"),
    section: "4.3",
    summary: "Simulated-trading positions.",
    notes: "The allowed values of `market` are not shown in the service's documentation.",
    parameters: Cow::Borrowed(&[
        Parameter::path("acc_id", ParameterKind::AccountId, "Business account id."),
        Parameter::query(
            "market",
            ParameterKind::Integer { min: i32::MIN as i128, max: i32::MAX as i128 },
            "Market filter.",
        ),
    ]),
    envelope: Envelope::RetCode,
    response: ResponseShape::Rows(
        RecordsLocation::at("data.positions"),
        Schema::One(&SIM_POSITION),
    ),
    ..Endpoint::BASE
};

const SIM_POSITION: Record = Record {
    name: "SimPosition",
    section: "2.7",
    doc: "A simulated-trading position.",
    groups: &[&[
        Field::text("pstn_id", "Position id"),
        Field::integer("pstn_type", "Position type").one_of(&POSITION_TYPE),
        Field::integer("market", "Market; its allowed values are not shown"),
        Field::text("symbol", "Symbol"),
        Field::text("stock_name", "Name"),
        Field::decimal("qty", "Quantity"),
        Field::decimal("qty_avbl", "Available quantity"),
        Field::decimal("cost_price", "Cost price"),
        Field::decimal("buy_avg_price", "Average buy price"),
        Field::decimal("cur_price", "Current price"),
        Field::decimal("mv", "Market value"),
        Field::decimal("profit", "P&L amount"),
        Field::decimal("profit_ratio", "P&L ratio").unit("%"),
    ]],
};

/// The executed trades of an account.
pub static FILLS_HISTORY: Endpoint = Endpoint {
    name: Cow::Borrowed("fills_history"),
    path: Cow::Borrowed("/api/v1.0/accounts/{acc_id}/fills_history"),
    section: "4.3",
    summary: "The historical fills of a trading account, latest first.",
    notes: "Without `start`, only the last 90 days are read: the time range begins 90 days before its \
            end. Without `end`, it reaches until now, by the service's clock. Times are update times. The allowed values of \
            `trd_market` are not shown in the service's documentation.",
    parameters: Cow::Borrowed(&[
        Parameter::path("acc_id", ParameterKind::AccountId, "Trading business account id."),
        Parameter::query("trd_market", ParameterKind::Text, "Trading market.").required(),
        Parameter::query(
            "code",
            ParameterKind::Symbol { max: None },
            "Only this code; all when omitted.",
        ),
        Parameter::query(
            "start",
            ParameterKind::Time(TimeUnit::Micros),
            "Start of the update time; 0 is the same as none.",
        ),
        Parameter::query(
            "end",
            ParameterKind::Time(TimeUnit::Micros),
            "End of the update time, after `start`; without it, now. 0 is the service's own \
             default: 90 days after `start`.",
        ),
        Parameter::cursor("page_flag", ParameterLocation::Query).required(),
        Parameter::query(
            "page_size",
            ParameterKind::Integer { min: 10, max: 50 },
            "Fills per page, 10 to 50; the service's default is 50.",
        ),
    ]),
    envelope: Envelope::Status,
    response: ResponseShape::Rows(RecordsLocation::at("d.order_fills"), Schema::One(&FILL)),
    paging: Some(Paging::Cursor(CursorPaging {
        first: FirstPage::Empty,
        time_range: Some(TimeRangeSpec { default_days: 90, time_field: "updated_time" }),
        ..PAGE_FLAG
    })),
    record_id: Some("deal_id"),
    failures: &[Failure::example(-1200)],
    ..Endpoint::BASE
};

const FILL: Record = Record {
    name: "Fill",
    section: "2.8",
    doc: "A historical fill.",
    groups: &[&[
        Field::text("trd_side", "Trade side, such as BUY"),
        Field::text("deal_id", "Deal id"),
        Field::text("order_id", "Order id"),
        Field::text("code", "`{market}.{code}`"),
        Field::text("stock_name", "Name"),
        Field::decimal("qty", "Quantity"),
        Field::decimal("price", "Price"),
        Field::micros("create_time", "Created time"),
        Field::micros("updated_time", "Updated time"),
        Field::integer("counter_broker_id", "Counter broker id"),
        Field::text("counter_broker_name", "Counter broker name"),
        Field::text("status", "Status, such as OK"),
    ]],
};
