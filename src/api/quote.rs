//! Quote and utility endpoints: sections 2.3, 2.9 to 2.11 and 4.2.

use super::{
    Endpoint, Envelope, Example, Failure, Field, Method, Paging, Parameter, ParameterKind,
    ParameterLocation, Record, ResponseShape, RowsPlace, Schema,
    values::{
        CN_IPO_REQUEST, DIVIDEND_PROCESS, IPO_APPLY_STATUS, IPO_OFFER_TYPE, IPO_REQUEST,
        IPO_SECURITY_TYPE, US_IPO_STATUS,
    },
};

pub const SERVER_TIME: Endpoint = Endpoint {
    name: "server_time",
    method: Method::Get,
    path: "/api/v1.0/server-time",
    section: "4.2",
    summary: "The service's clock.",
    notes: "Signed requests are refused where the two clocks differ by more than 5 seconds; the \
            client then reads this clock and signs anew by itself.",
    parameters: &[],
    envelope: Envelope::Field("server_time_ms"),
    answer: ResponseShape::ServerTime("server_time_ms"),
    paging: None,
    failures: &[],
    idempotent: true,
    example: Example {
        call: "client.server_time()",
        shown: "str({}.tzinfo)",
        shown_async: None,
        result: "'UTC'",
    },
};

pub const TRADING_DAYS: Endpoint = Endpoint {
    name: "trading_days",
    method: Method::Get,
    path: "/api/v1.0/quote/trading-days",
    section: "4.2",
    summary: "The trading days of a market between two dates.",
    notes: "The service document does not show the fields of the answer: they are handed on as \
            they come.",
    parameters: &[
        Parameter::query("market", ParameterKind::Market, "Market prefix such as `HK`.").required(),
        Parameter::query("start", ParameterKind::Date, "First date, in the market's time zone.")
            .required(),
        Parameter::query("end", ParameterKind::Date, "Last date, in the market's time zone.")
            .required(),
    ],
    envelope: Envelope::Undocumented,
    answer: ResponseShape::Rows(RowsPlace::OnlyListOf("data"), Schema::One(&TRADING_DAY)),
    paging: None,
    failures: &[],
    idempotent: true,
    example: Example {
        call: "client.trading_days(\"HK\", \"2026-01-01\", \"2026-01-05\")",
        shown: "[day[\"time\"] for day in {}]",
        shown_async: None,
        result: "['2026-01-02', '2026-01-05']",
    },
};

const TRADING_DAY: Record = Record {
    name: "TradingDay",
    section: "4.2",
    doc: "A trading day. Its fields are not shown in the service document.",
    groups: &[],
};

pub const REFERENCE_FUTURES: Endpoint = Endpoint {
    name: "reference_futures",
    method: Method::Get,
    path: "/api/v1.0/quote/{symbol}/reference-future",
    section: "4.2",
    summary: "The futures contracts related to a continuous futures contract.",
    notes: "Supported markets are HK, US, SG and JP. A symbol that is no continuous futures \
            contract gives an empty list.",
    parameters: &[Parameter::path(
        "symbol",
        ParameterKind::Symbol { max: Some(32) },
        "Typically a continuous futures contract, such as `HK.HSImain`.",
    )],
    envelope: Envelope::RetCode,
    answer: ResponseShape::Rows(
        RowsPlace::At(&["data", "reference_list"]),
        Schema::One(&RELATED_FUTURE),
    ),
    paging: None,
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
    idempotent: true,
    example: Example {
        call: "client.reference_futures(\"HK.HSImain\")",
        shown: "{}[0][\"stock_type\"]",
        shown_async: None,
        result: "'FUTURE'",
    },
};

const RELATED_FUTURE: Record = Record {
    name: "RelatedFuture",
    section: "2.9",
    doc: "A futures contract related to another.",
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
        Field::date("future_last_trade_time", "Last trading day; empty for continuous contracts"),
        Field::millis("list_time", "Listing time; 0 when there is no record of it"),
    ]],
};

pub const IPO_LIST: Endpoint = Endpoint {
    name: "ipo_list",
    method: Method::Get,
    path: "/api/v1.0/quote/ipo-list/{market}",
    section: "4.2",
    summary: "Subscribable and upcoming IPOs of a market, without historical ones.",
    notes: "The data depends on the user's primary broker: without one for the market the list \
            may be empty. A-shares cover SSE (with the STAR Market), SZSE (with ChiNext) and BSE.",
    parameters: &[
        Parameter::path(
            "market",
            ParameterKind::OneOf(&["hk", "us", "cn", "sg", "my"]),
            "`hk`, `us`, `cn` (A-shares), `sg` or `my`.",
        ),
        Parameter::query(
            "request_type",
            ParameterKind::ValuesBy {
                parameter: "market",
                sets: &[
                    ("hk", &IPO_REQUEST),
                    ("us", &IPO_REQUEST),
                    ("cn", &CN_IPO_REQUEST),
                    ("sg", &IPO_REQUEST),
                    ("my", &IPO_REQUEST),
                ],
            },
            "`IpoRequest` (hk, us, sg, my; the service's default is 11) or `CnIpoRequest` (cn; \
             the default is 4).",
        ),
    ],
    envelope: Envelope::RetCode,
    answer: ResponseShape::Rows(
        RowsPlace::At(&["data", "list"]),
        Schema::By(
            "market",
            &[("hk", &HK_IPO), ("us", &US_IPO), ("cn", &CN_IPO), ("sg", &SG_IPO), ("my", &MY_IPO)],
        ),
    ),
    paging: None,
    failures: &[
        Failure::new(
            -3,
            "invalid_parameter",
            "request_type invalid or not an integer",
            "Use the allowed values for the market",
        ),
        Failure::new(-5, "internal_error", "Backend call failed or timed out", "Retry later"),
    ],
    idempotent: true,
    example: Example {
        call: "client.ipo_list(\"us\")",
        shown: "{}[0][\"stock_status\"] in list(bl.UsIpoStatus)",
        shown_async: None,
        result: "True",
    },
};

const IPO_COMMON: &[Field] = &[
    Field::text("code", "Code with market prefix"),
    Field::text("name", "Name"),
    Field::text("sc_name", "Simplified Chinese name"),
    Field::text("tc_name", "Traditional Chinese name"),
    Field::date("list_time", "Listing date; `--` when unavailable or not listed"),
    Field::millis("list_timestamp", "Listing date; 0 if absent"),
];

const HK_IPO: Record = Record {
    name: "HkIpo",
    section: "2.10",
    doc: "An IPO in Hong Kong.",
    groups: &[
        IPO_COMMON,
        &[
            Field::number("ipo_price_min", "Lower bound of the IPO price").unit("HKD"),
            Field::number("ipo_price_max", "Upper bound of the IPO price").unit("HKD"),
            Field::number("list_price", "Actual IPO price").unit("HKD"),
            Field::integer("lot_size", "Shares per lot").unit("shares"),
            Field::number("entrance_price", "Entrance fee").unit("HKD"),
            Field::millis("apply_start_timestamp", "Subscription start"),
            Field::date("apply_end_time", "Subscription deadline"),
            Field::millis("apply_end_timestamp", "Subscription deadline"),
            Field::integer("apply_countdown_secs", "Countdown to the deadline").unit("s"),
            Field::flag("is_apply_started", "Subscription started"),
            Field::flag("is_support_apply", "Subscription supported"),
            Field::flag("is_subscribe_status", "Currently subscribable"),
            Field::text("apply_multiple", "Subscription multiple"),
            Field::text("lucky_ratio", "One-lot winning ratio"),
            Field::text("win_ratio_msg", "Winning probability text"),
            Field::date("lucky_time", "Ballot announcement date"),
            Field::millis("lucky_timestamp", "Ballot announcement"),
            Field::number("margin_fee_ratio", "Margin subscription interest rate").unit("%"),
            Field::number("margin_fee_ratio_min", "Min margin interest rate; default 0").unit("%"),
            Field::number("margin_fee_ratio_max", "Max margin interest rate; default 0").unit("%"),
            Field::number("margin_lever_ratio", "Margin leverage multiple").unit("x"),
            Field::number("real_margin_lever_ratio", "Actual available leverage; default 0")
                .unit("x"),
            Field::number("margin_rate", "Margin ratio, 4 decimal places"),
            Field::date("dark_trade_date", "Grey market trading date; default empty"),
            Field::millis("dark_trade_timestamp", "Grey market date; default 0"),
            Field::text("dark_trade_period", "Grey market period text"),
            Field::millis("dark_trade_start_timestamp", "Grey market start; default 0"),
            Field::millis("dark_trade_end_timestamp", "Grey market end; default 0"),
            Field::flag("is_support_dark_trade", "Grey market trading supported"),
            Field::flag("is_support_intl_placing", "International placing supported"),
            Field::flag("show_intl_placing_info", "Placing data is shown to the current user"),
            Field::millis("intl_placing_apply_start_timestamp", "Placing start; default 0"),
            Field::millis("intl_placing_apply_end_timestamp", "Placing deadline; default 0"),
            Field::number("intl_placing_apply_limit", "Placing minimum subscription amount")
                .unit("HKD"),
            Field::text("intl_placing_apply_limit_str", "Same amount with thousands separators"),
            Field::integer("placing_countdown_secs", "Placing deadline countdown; default 0")
                .unit("s"),
            Field::text("offer_type", "How it is offered").one_of(&IPO_OFFER_TYPE),
            Field::text("security_type", "What is offered").one_of(&IPO_SECURITY_TYPE),
            Field::text("etf_distributors", "ETF distributor (ETF IPOs only)"),
            Field::text("etf_ipo_price_display", "ETF issue price text (ETF IPOs only)"),
            Field::text("apply_status", "The user's subscription").one_of(&IPO_APPLY_STATUS),
            Field::text("placing_apply_status", "The user's placing subscription")
                .one_of(&IPO_APPLY_STATUS),
            Field::text("etf_apply_status", "The user's ETF subscription (ETF IPOs only)")
                .one_of(&IPO_APPLY_STATUS),
        ],
    ],
};

const US_IPO: Record = Record {
    name: "UsIpo",
    section: "2.10",
    doc: "An IPO in the US.",
    groups: &[
        IPO_COMMON,
        &[
            Field::number("ipo_price_min", "Lower bound of the IPO price").unit("USD"),
            Field::number("ipo_price_max", "Upper bound of the IPO price").unit("USD"),
            Field::integer("issue_size", "Shares issued").unit("shares"),
            Field::number("apply_limit", "Minimum subscription amount").unit("USD"),
            Field::millis("apply_start_timestamp", "Subscription start"),
            Field::millis("apply_end_timestamp", "Subscription deadline"),
            Field::millis("lucky_timestamp", "Expected ballot announcement"),
            Field::text("stock_status", "Where the IPO stands").one_of(&US_IPO_STATUS),
            Field::flag("is_user_applied", "The user has subscribed"),
            Field::text("offer_type", "How it is offered").one_of(&IPO_OFFER_TYPE),
        ],
    ],
};

const CN_IPO: Record = Record {
    name: "CnIpo",
    section: "2.10",
    doc: "An IPO of A-shares.",
    groups: &[
        IPO_COMMON,
        &[
            Field::text("apply_code", "Subscription code"),
            Field::integer("apply_upper_limit", "Subscription upper limit").unit("shares"),
            Field::number("ipo_price", "IPO price").unit("CNY"),
            Field::number("winning_ratio", "Winning ratio").unit("%"),
            Field::number("issue_pe_rate", "Price-earnings ratio at issue"),
            Field::millis("apply_timestamp", "Subscription date"),
            Field::date("winning_time", "Ballot announcement date"),
            Field::millis("winning_timestamp", "Ballot announcement"),
            Field::flag("is_has_won", "Ballot drawn"),
        ],
    ],
};

const SG_IPO: Record = Record {
    name: "SgIpo",
    section: "2.10",
    doc: "An IPO in Singapore.",
    groups: &[
        IPO_COMMON,
        &[
            Field::number("ipo_price_min", "Lower bound of the IPO price").unit("SGD"),
            Field::number("ipo_price_max", "Upper bound of the IPO price").unit("SGD"),
            Field::text("offer_price_display", "Offer price text"),
            Field::text("issue_size_display", "Issue size text"),
            Field::text("apply_limit_display", "Minimum subscription text"),
            Field::text("market_cap_display", "Market capitalisation text"),
            Field::text("fund_amount_display", "Funds raised text"),
            Field::text("industry_display", "Industry text"),
            Field::text("managers_display", "Issue managers text"),
            Field::number("apply_limit", "Minimum subscription amount").unit("SGD"),
            Field::text("ipo_book_link", "Prospectus link"),
            Field::text("security_type", "What is offered").one_of(&IPO_SECURITY_TYPE),
            Field::millis("apply_start_timestamp", "Subscription start"),
            Field::millis("apply_end_timestamp", "Subscription deadline"),
            Field::flag("is_subscribe_status", "Currently subscribable"),
            Field::flag("is_user_applied", "The user has subscribed"),
        ],
    ],
};

const MY_IPO: Record = Record {
    name: "MyIpo",
    section: "2.10",
    doc: "An IPO in Malaysia.",
    groups: &[
        IPO_COMMON,
        &[
            Field::number("ipo_price", "IPO price").unit("MYR"),
            Field::integer("issue_size", "Shares issued").unit("shares"),
            Field::number("fund_amount", "Funds raised").unit("MYR"),
            Field::integer("market_cap", "Market capitalisation").unit("MYR"),
            Field::text("currency", "Currency code"),
            Field::text("manager", "Issue manager"),
            Field::text("industry_plate", "Industry"),
            Field::text("business", "Business"),
            Field::text("ipo_book_link", "Prospectus link"),
            Field::text("security_type", "What is offered").one_of(&IPO_SECURITY_TYPE),
            Field::millis("apply_start_timestamp", "Subscription start"),
            Field::millis("apply_end_timestamp", "Subscription deadline"),
            Field::millis("draw_timestamp", "Retail ballot time"),
            Field::millis("lucky_timestamp", "Ballot announcement"),
            Field::number("apply_limit", "Minimum subscription amount").unit("MYR"),
            Field::flag("is_subscribe_status", "Currently subscribable"),
            Field::flag("is_user_applied", "The user has subscribed"),
            Field::flag("support_leverage", "Leverage supported"),
        ],
    ],
};

pub const DIVIDENDS: Endpoint = Endpoint {
    name: "dividends",
    method: Method::Get,
    path: "/api/v1.0/quote/{symbol}/corporate-actions/dividends",
    section: "4.2",
    summary: "The dividend history of a security, newest first, at most 100 records.",
    notes: "`.meta` has `total_dividend_count` and `total_dividend_money` (reporting currency). \
            Supported: HK, US, A-shares (SH, SZ), SG, CA, AU and JP; fields vary by market. \
            Securities without dividend events give an empty list.",
    parameters: &[Parameter::path(
        "symbol",
        ParameterKind::Symbol { max: None },
        "Such as `HK.00700`.",
    )],
    envelope: Envelope::RetCode,
    answer: ResponseShape::Rows(RowsPlace::At(&["data", "dividend_list"]), Schema::One(&DIVIDEND)),
    paging: None,
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
    idempotent: true,
    example: Example {
        call: "client.dividends(\"HK.00700\")",
        shown: "{}[0][\"currency\"]",
        shown_async: None,
        result: "'HKD'",
    },
};

const DIVIDEND: Record = Record {
    name: "Dividend",
    section: "2.11",
    doc: "One dividend of a security.",
    groups: &[&[
        Field::text("fiscal_year", "Fiscal year; only for HK and A-shares"),
        Field::text("statement", "Dividend plan description"),
        Field::number("dividend_per_share", "Cash dividend per share").unit("reporting currency"),
        Field::text("currency", "Dividend currency; only for HK and US"),
        Field::number("payout_ratio", "Payout ratio; only for A-shares").unit("%"),
        Field::text("dividend_type", "Dividend type; only for SG, CA, AU and JP"),
        Field::text("process", "`Implementation` or `Plan`").one_of(&DIVIDEND_PROCESS),
        Field::date("ex_date", "Ex-dividend date"),
        Field::date("record_date", "Record date"),
        Field::date("dividend_payable_date", "Payment date"),
        Field::date("pub_date", "Announcement date"),
    ]],
};

pub const PLATE_STOCKS: Endpoint = Endpoint {
    name: "plate_stocks",
    method: Method::Post,
    path: "/api/v1.0/quote/plate/{plate_code}/stock",
    section: "4.2",
    summary: "The constituent stocks of a plate.",
    notes: "The service document shows neither the fields of a constituent nor the bounds of \
            `limit`: both are handed on as they come. It shows a request header \
            `X-Service-Client-Nnid` in its examples without saying whether it is needed: pass it \
            by `Client(headers=...)`.",
    parameters: &[
        Parameter::path(
            "plate_code",
            ParameterKind::PlateCode,
            "`{market}.BK<digits>`, such as `HK.BK1001`.",
        ),
        Parameter::cursor("next_key", ParameterLocation::Body),
        Parameter::body(
            "limit",
            ParameterKind::Integer { min: 1, max: i32::MAX as i64 },
            "Page size; the service's own default and bounds are not shown.",
        ),
    ],
    envelope: Envelope::Code,
    answer: ResponseShape::Rows(RowsPlace::OnlyListOf("data"), Schema::One(&PLATE_STOCK)),
    paging: Some(Paging::NextKey),
    failures: &[],
    idempotent: true,
    example: Example {
        call: "client.plate_stocks(\"HK.BK1001\")",
        shown: "next({})[\"code\"].startswith(\"HK.\")",
        shown_async: Some("(await anext({}))[\"code\"].startswith(\"HK.\")"),
        result: "True",
    },
};

const PLATE_STOCK: Record = Record {
    name: "PlateStock",
    section: "4.2",
    doc: "A constituent of a plate. Its fields are not shown in the service document.",
    groups: &[],
};
