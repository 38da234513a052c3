//! Quote and utility endpoints, except the IPO lists: sections 2.3, 2.9, 2.11 and 4.2.

use std::borrow::Cow;

use super::{
    endpoint::{Endpoint, Method},
    paging::{NEXT_KEY, Paging},
    parameter::{Parameter, ParameterKind, ParameterLocation},
    record::{Field, Record, Schema},
    response::{Envelope, Failure, RecordsLocation, ResponseShape},
    values::DIVIDEND_PROCESS,
};

/// The service's clock.
pub static SERVER_TIME: Endpoint = Endpoint {
    name: Cow::Borrowed("server_time"),
    path: Cow::Borrowed("/api/v1.0/server-time"),
    section: "4.2",
    summary: "The service's clock.",
    notes: "Signed requests are rejected if the two clocks differ by more than the service's threshold, 5 \
            seconds by default; the client then reads this clock and signs again.",
    envelope: Envelope::Field("server_time_ms"),
    response: ResponseShape::ServerTime("server_time_ms"),
    ..Endpoint::BASE
};

/// The trading days of a market.
pub static TRADING_DAYS: Endpoint = Endpoint {
    name: Cow::Borrowed("trading_days"),
    path: Cow::Borrowed("/api/v1.0/quote/trading-days"),
    section: "4.2",
    summary: "The trading days of a market, from `start` to `end`.",
    notes: "The service does not document the response: a success is a JSON list, or one of the documented \
            envelopes with its success mark. The records are that list, or the only one in `data` or `d`; \
            a day that is a text becomes an object with the field `date`. Of anything else, no records are \
            made.",
    parameters: Cow::Borrowed(&[
        Parameter::query("market", ParameterKind::Market, "Market prefix such as `HK`.").required(),
        Parameter::query("start", ParameterKind::Date, "Start date.").required(),
        Parameter::query("end", ParameterKind::Date, "End date.").required(),
    ]),
    envelope: Envelope::Unknown,
    response: ResponseShape::Rows(RecordsLocation::OnlyList, Schema::One(&TRADING_DAY)),
    ..Endpoint::BASE
};

const TRADING_DAY: Record = Record {
    name: "TradingDay",
    section: "4.2",
    doc: "A trading day. Its fields are not documented.",
    groups: &[],
};

/// The futures related to a continuous contract.
pub static REFERENCE_FUTURES: Endpoint = Endpoint {
    name: Cow::Borrowed("reference_futures"),
    path: Cow::Borrowed("/api/v1.0/quote/{symbol}/reference-future"),
    section: "4.2",
    summary: "The futures contracts related to a continuous futures contract.",
    notes: "Supported markets are HK, US, SG and JP, and the input is a continuous futures contract. A \
            symbol that is not a future, or of a market without futures (such as AU, CA, SH, SZ \
            and MY), returns an empty list.",
    parameters: Cow::Borrowed(&[Parameter::path(
        "symbol",
        ParameterKind::Symbol { max: Some(32) },
        "Typically a continuous futures contract, such as `HK.HSImain`.",
    )]),
    envelope: Envelope::RetCode,
    response: ResponseShape::Rows(
        RecordsLocation::at("data.reference_list"),
        Schema::One(&RELATED_FUTURE),
    ),
    failures: &[
        Failure::new(
            -3,
            "invalid_parameter",
            "symbol missing, longer than 32 characters, or format invalid",
            "Correct the format and retry",
        ),
        Failure::new(
            -7,
            "invalid_symbol",
            "symbol not found (unknown or delisted)",
            "Verify that the code exists",
        ),
    ],
    ..Endpoint::BASE
};

const RELATED_FUTURE: Record = Record {
    name: "RelatedFuture",
    section: "2.9",
    doc: "A related futures contract.",
    groups: &[&[
        Field::text("code", "Contract code (continuous or expiry contract)"),
        Field::text("stock_name", "English name"),
        Field::text("sc_name", "Simplified Chinese name"),
        Field::text("tc_name", "Traditional Chinese name"),
        Field::text("stock_type", "Fixed `FUTURE`"),
        Field::integer("lot_size", "Shares per lot (contract multiplier)").unit("shares"),
        Field::flag("future_valid", "Fixed true"),
        Field::flag(
            "future_main_contract",
            "True: front-month or continuous; false: regular expiration contract",
        ),
        Field::date(
            "future_last_trade_time",
            "Last trading day; empty string for continuous contracts",
        ),
        Field::millis("list_time", "Listing time; 0 when no listing time record"),
    ]],
};

/// The dividend history of a security.
pub static DIVIDENDS: Endpoint = Endpoint {
    name: Cow::Borrowed("dividends"),
    path: Cow::Borrowed("/api/v1.0/quote/{symbol}/corporate-actions/dividends"),
    section: "4.2",
    summary: "The dividend history of a security, newest first, at most 100 records.",
    notes: "Supported: HK, US, A-shares (SH, SZ), SG, CA, AU and JP; fields vary by market. \
            ETFs, bonds, warrants, options, futures and indices without dividends return an empty list.",
    parameters: Cow::Borrowed(&[Parameter::path(
        "symbol",
        ParameterKind::Symbol { max: None },
        "Such as `HK.00700`.",
    )]),
    envelope: Envelope::RetCode,
    response: ResponseShape::Rows(
        RecordsLocation::at("data.dividend_list"),
        Schema::One(&DIVIDEND),
    ),
    beside: &[
        Field::integer("total_dividend_count", "Total of historical dividends"),
        Field::number("total_dividend_money", "Total of historical dividends")
            .unit("reporting currency"),
    ],
    failures: &[
        Failure::new(-3, "invalid_parameter", "Invalid symbol format", "Fix the symbol"),
        Failure::new(
            -7,
            "invalid_symbol",
            "Code cannot be resolved to a security",
            "Verify the symbol",
        ),
        Failure::new(-2, "internal_error", "Gateway internal error", "Retry later"),
        Failure::new(-4, "internal_error", "Gateway internal error", "Retry later"),
        Failure::new(-6, "internal_error", "Gateway internal error", "Retry later"),
    ],
    ..Endpoint::BASE
};

const DIVIDEND: Record = Record {
    name: "Dividend",
    section: "2.11",
    doc: "One dividend of a security.",
    groups: &[&[
        Field::text("fiscal_year", "Fiscal year; only for HK and A-shares").optional(),
        Field::text("statement", "Dividend plan description"),
        Field::number("dividend_per_share", "Cash dividend per share").unit("reporting currency"),
        Field::text("currency", "Dividend currency; only for HK and US").optional(),
        Field::number("payout_ratio", "Payout ratio; only for A-shares").unit("%").optional(),
        Field::text(
            "dividend_type",
            "Dividend type; only for the data-vendor markets SG, CA, AU and JP",
        )
        .optional(),
        Field::text("process", "`Implementation` or `Plan`").one_of(&DIVIDEND_PROCESS),
        Field::date("ex_date", "Ex-dividend date"),
        Field::text("record_date", "Record date; its form is not shown"),
        Field::text("dividend_payable_date", "Payment date; its form is not shown"),
        Field::text("pub_date", "Announcement date; its form is not shown"),
    ]],
};

/// The constituent stocks of a plate.
pub static PLATE_STOCKS: Endpoint = Endpoint {
    name: Cow::Borrowed("plate_stocks"),
    method: Method::Post,
    path: Cow::Borrowed("/api/v1.0/quote/plate/{plate_code}/stock"),
    section: "4.2",
    summary: "The constituent stocks of a plate.",
    notes: "The service documents neither the fields of a constituent nor the bounds of `limit`: the \
            fields are passed through unchanged, and that a `limit` is at least 1 is boardlot's own rule.",
    parameters: Cow::Borrowed(&[
        Parameter::path(
            "plate_code",
            ParameterKind::PlateCode,
            "`{market}.BK<digits>`, such as `HK.BK1001`.",
        ),
        Parameter::cursor("next_key", ParameterLocation::Body),
        Parameter::body(
            "limit",
            ParameterKind::Integer { min: 1, max: i32::MAX as i128 },
            "Page size; the service's own default and bounds are not shown.",
        ),
    ]),
    envelope: Envelope::Code,
    response: ResponseShape::Rows(RecordsLocation::OnlyListOf("data"), Schema::One(&PLATE_STOCK)),
    paging: Some(Paging::Cursor(NEXT_KEY)),
    ..Endpoint::BASE
};

const PLATE_STOCK: Record = Record {
    name: "PlateStock",
    section: "4.2",
    doc: "A constituent of a plate. Its fields are not documented.",
    groups: &[],
};
