//! The IPO lists of the five markets: sections 2.10 and 4.2.

use std::borrow::Cow;

use super::{
    endpoint::Endpoint,
    parameter::{Parameter, ParameterKind},
    record::{Field, Record, Schema},
    response::{Envelope, Failure, RecordsLocation, ResponseShape},
    values::{
        CN_IPO_REQUEST, IPO_APPLY_STATUS, IPO_OFFER_TYPE, IPO_REQUEST, IPO_SECURITY_TYPE,
        US_IPO_STATUS,
    },
};

/// The IPO list of a market.
pub static IPO_LIST: Endpoint = Endpoint {
    name: Cow::Borrowed("ipo_list"),
    path: Cow::Borrowed("/api/v1.0/quote/ipo-list/{market}"),
    section: "4.2",
    summary: "Recent subscribable and upcoming IPOs of a market, without historical ones.",
    notes: "The data depends on the user's primary broker: without one for the market the list \
            may be empty. A-shares cover SSE (with the STAR Market), SZSE (with ChiNext) and BSE.",
    parameters: Cow::Borrowed(&[
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
    ]),
    envelope: Envelope::RetCode,
    response: ResponseShape::Rows(
        RecordsLocation::at("data.list"),
        Schema::By(
            "market",
            &[("hk", &HK_IPO), ("us", &US_IPO), ("cn", &CN_IPO), ("sg", &SG_IPO), ("my", &MY_IPO)],
        ),
    ),
    failures: &[
        Failure::new(
            -3,
            "invalid_parameter",
            "request_type invalid or not an integer",
            "Use the allowed values for the market",
        ),
        Failure::new(-5, "internal_error", "Backend call failed or timed out", "Retry later"),
    ],
    ..Endpoint::BASE
};

const IPO_COMMON: &[Field] = &[
    Field::text("code", "Code with market prefix"),
    Field::text("name", "Name"),
    Field::text("sc_name", "Simplified Chinese name"),
    Field::text("tc_name", "Traditional Chinese name"),
];

const LIST_TIMESTAMP: Field = Field::millis("list_timestamp", "0 if absent");

/// Fields of Hong Kong and A-shares.
const LISTING_OR_DASHES: &[Field] =
    &[Field::date("list_time", "Date; `--` when unavailable or not listed"), LIST_TIMESTAMP];

const LISTING: &[Field] = &[Field::date("list_time", "Date"), LIST_TIMESTAMP];

const HK_IPO: Record = Record {
    name: "HkIpo",
    section: "2.10",
    doc: "An IPO in Hong Kong.",
    groups: &[
        IPO_COMMON,
        LISTING_OR_DASHES,
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
            Field::number("margin_lever_ratio", "Margin leverage multiple"),
            Field::number("real_margin_lever_ratio", "Actual available leverage; default 0"),
            Field::number("margin_rate", "Margin ratio, 4 decimal places"),
            Field::text(
                "dark_trade_date",
                "Grey market trading date; default empty string; its form is not shown",
            ),
            Field::millis("dark_trade_timestamp", "Grey market date; default 0"),
            Field::text("dark_trade_period", "Grey market period text"),
            Field::millis("dark_trade_start_timestamp", "Grey market start; default 0"),
            Field::millis("dark_trade_end_timestamp", "Grey market end; default 0"),
            Field::flag("is_support_dark_trade", "Grey market trading supported"),
            Field::flag("is_support_intl_placing", "International placing supported"),
            Field::flag("show_intl_placing_info", "Placing data is shown to the current user"),
            Field::millis(
                "intl_placing_apply_start_timestamp",
                "Placing subscription start; default 0",
            ),
            Field::millis(
                "intl_placing_apply_end_timestamp",
                "Placing subscription deadline; default 0",
            ),
            Field::number("intl_placing_apply_limit", "Placing minimum subscription amount")
                .unit("HKD"),
            Field::text("intl_placing_apply_limit_str", "Same amount with thousands separators"),
            Field::integer("placing_countdown_secs", "Placing deadline countdown; default 0")
                .unit("s"),
            Field::text("offer_type", "").one_of(&IPO_OFFER_TYPE),
            Field::text("security_type", "").one_of(&IPO_SECURITY_TYPE),
            Field::text("etf_distributors", "ETF distributor (ETF IPOs only)").optional(),
            Field::text("etf_ipo_price_display", "ETF issue price text (ETF IPOs only)").optional(),
            Field::text("apply_status", "Subscription status").one_of(&IPO_APPLY_STATUS),
            Field::text("placing_apply_status", "Placing subscription status")
                .one_of(&IPO_APPLY_STATUS),
            Field::text("etf_apply_status", "ETF subscription status (ETF IPOs only)")
                .one_of(&IPO_APPLY_STATUS)
                .optional(),
        ],
    ],
};

const US_IPO: Record = Record {
    name: "UsIpo",
    section: "2.10",
    doc: "An IPO in the US.",
    groups: &[
        IPO_COMMON,
        LISTING,
        &[
            Field::number("ipo_price_min", "").unit("USD"),
            Field::number("ipo_price_max", "").unit("USD"),
            Field::integer("issue_size", "Issue size").unit("shares"),
            Field::number("apply_limit", "Minimum subscription amount").unit("USD"),
            Field::millis("apply_start_timestamp", ""),
            Field::millis("apply_end_timestamp", ""),
            Field::millis("lucky_timestamp", "Expected ballot announcement"),
            Field::text("stock_status", "").one_of(&US_IPO_STATUS),
            Field::flag("is_user_applied", ""),
            Field::text("offer_type", "").one_of(&IPO_OFFER_TYPE),
        ],
    ],
};

const CN_IPO: Record = Record {
    name: "CnIpo",
    section: "2.10",
    doc: "An IPO of A-shares.",
    groups: &[
        IPO_COMMON,
        LISTING_OR_DASHES,
        &[
            Field::text("apply_code", ""),
            Field::integer("apply_upper_limit", "").unit("shares"),
            Field::number("ipo_price", "IPO price").unit("CNY"),
            Field::number("winning_ratio", "Winning ratio").unit("%"),
            Field::number("issue_pe_rate", ""),
            Field::millis("apply_timestamp", ""),
            Field::date("winning_time", ""),
            Field::millis("winning_timestamp", ""),
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
        LISTING,
        &[
            Field::number("ipo_price_min", "").unit("SGD"),
            Field::number("ipo_price_max", "").unit("SGD"),
            Field::text("offer_price_display", "Display text"),
            Field::text("issue_size_display", "Display text"),
            Field::text("apply_limit_display", "Display text"),
            Field::text("market_cap_display", "Display text"),
            Field::text("fund_amount_display", "Display text"),
            Field::text("industry_display", "Display text"),
            Field::text("managers_display", "Display text"),
            Field::number("apply_limit", "").unit("SGD"),
            Field::text("ipo_book_link", "Prospectus link"),
            Field::text("security_type", "").one_of(&IPO_SECURITY_TYPE),
            Field::millis("apply_start_timestamp", ""),
            Field::millis("apply_end_timestamp", ""),
            Field::flag("is_subscribe_status", ""),
            Field::flag("is_user_applied", ""),
        ],
    ],
};

const MY_IPO: Record = Record {
    name: "MyIpo",
    section: "2.10",
    doc: "An IPO in Malaysia.",
    groups: &[
        IPO_COMMON,
        LISTING,
        &[
            Field::number("ipo_price", "IPO price").unit("MYR"),
            Field::integer("issue_size", "Issue size").unit("shares"),
            Field::number("fund_amount", "Fund amount").unit("MYR"),
            Field::integer("market_cap", "Market cap").unit("MYR"),
            Field::text("currency", "Code"),
            Field::text("manager", "Manager"),
            Field::text("industry_plate", "Industry plate"),
            Field::text("business", "Business"),
            Field::text("ipo_book_link", ""),
            Field::text("security_type", "").one_of(&IPO_SECURITY_TYPE),
            Field::millis("apply_start_timestamp", ""),
            Field::millis("apply_end_timestamp", ""),
            Field::millis("draw_timestamp", "Retail ballot time"),
            Field::millis("lucky_timestamp", ""),
            Field::number("apply_limit", "").unit("MYR"),
            Field::flag("is_subscribe_status", ""),
            Field::flag("is_user_applied", ""),
            Field::flag("support_leverage", ""),
        ],
    ],
};
