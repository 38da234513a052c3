"""The columns of section 2, field by field, as they are to be typed. Written from the document.

text, int, bool, float: as named. decimal: a decimal string, float64 unless asked otherwise.
count: an int of which 0 is null. ms, us: timestamps in UTC of that unit. date: a day. any: shown as
an object, its column is open.
"""


def fields(**kinds):
    return {name: kind for kind, names in kinds.items() for name in names.split()}


# 2.5; the unit of create_time, update_time and trigger_time is not shown: they stay integers.
CRYPTO_ORDERS = fields(
    text="order_id side ord_type time_in_force ord_status order_show_id",
    int="version create_time update_time",
    count="trigger_time",
    decimal="order_qty price order_amount cum_qty avg_px fill_amount trigger_price cash_order_qty",
    bool="is_close",
    any="symbol_pair",
)

# 2.6
SIM_ORDERS = fields(
    text="order_id symbol stock_name text",
    int="side order_type status",
    decimal="qty cum_qty price avg_fill_price aux_price",
    us="create_time update_time",
)

# 2.7
SIM_POSITIONS = fields(
    text="pstn_id symbol stock_name",
    int="pstn_type market",
    decimal="qty qty_avbl cost_price buy_avg_price cur_price mv profit profit_ratio",
)

# 2.8
FILLS_HISTORY = fields(
    text="trd_side deal_id order_id code stock_name counter_broker_name status",
    decimal="qty price",
    us="create_time updated_time",
    int="counter_broker_id",
)

# 2.9
REFERENCE_FUTURES = fields(
    text="code stock_name sc_name tc_name stock_type",
    int="lot_size",
    bool="future_valid future_main_contract",
    date="future_last_trade_time",
    ms="list_time",
)

# 2.10
IPO_COMMON = fields(text="code name sc_name tc_name", date="list_time", ms="list_timestamp")
IPO_LIST = {
    "hk": IPO_COMMON
    | fields(
        float="ipo_price_min ipo_price_max list_price entrance_price margin_fee_ratio "
        "margin_fee_ratio_min margin_fee_ratio_max margin_lever_ratio real_margin_lever_ratio "
        "margin_rate intl_placing_apply_limit",
        int="lot_size apply_countdown_secs placing_countdown_secs",
        ms="apply_start_timestamp apply_end_timestamp lucky_timestamp dark_trade_timestamp "
        "dark_trade_start_timestamp dark_trade_end_timestamp intl_placing_apply_start_timestamp "
        "intl_placing_apply_end_timestamp",
        date="apply_end_time lucky_time dark_trade_date",
        bool="is_apply_started is_support_apply is_subscribe_status is_support_dark_trade "
        "is_support_intl_placing show_intl_placing_info",
        text="apply_multiple lucky_ratio win_ratio_msg dark_trade_period "
        "intl_placing_apply_limit_str offer_type security_type etf_distributors "
        "etf_ipo_price_display apply_status placing_apply_status etf_apply_status",
    ),
    "us": IPO_COMMON
    | fields(
        float="ipo_price_min ipo_price_max apply_limit",
        int="issue_size",
        ms="apply_start_timestamp apply_end_timestamp lucky_timestamp",
        text="stock_status offer_type",
        bool="is_user_applied",
    ),
    "cn": IPO_COMMON
    | fields(
        text="apply_code",
        int="apply_upper_limit",
        float="ipo_price winning_ratio issue_pe_rate",
        ms="apply_timestamp winning_timestamp",
        date="winning_time",
        bool="is_has_won",
    ),
    "sg": IPO_COMMON
    | fields(
        float="ipo_price_min ipo_price_max apply_limit",
        text="offer_price_display issue_size_display apply_limit_display market_cap_display "
        "fund_amount_display industry_display managers_display ipo_book_link security_type",
        ms="apply_start_timestamp apply_end_timestamp",
        bool="is_subscribe_status is_user_applied",
    ),
    "my": IPO_COMMON
    | fields(
        float="ipo_price fund_amount apply_limit",
        int="issue_size market_cap",
        text="currency manager industry_plate business ipo_book_link security_type",
        ms="apply_start_timestamp apply_end_timestamp draw_timestamp lucky_timestamp",
        bool="is_subscribe_status is_user_applied support_leverage",
    ),
}

# 2.11
DIVIDENDS = fields(
    text="fiscal_year statement currency dividend_type process",
    float="dividend_per_share payout_ratio",
    date="ex_date record_date dividend_payable_date pub_date",
)

# (endpoint, name of a vector with rows) -> columns
SHAPES = [
    ("reference_futures", "every field", REFERENCE_FUTURES),
    *[("ipo_list", f"every field of {market}", kinds) for market, kinds in IPO_LIST.items()],
    ("dividends", "Hong Kong", DIVIDENDS),
    ("dividends", "A-shares, the totals after the list", DIVIDENDS),
    ("dividends", "US, with unknown fields", DIVIDENDS),
    ("dividends", "a data-vendor market", DIVIDENDS),
    ("crypto_orders", "one page, every field", CRYPTO_ORDERS),
    ("sim_orders", "every field and every side and status", SIM_ORDERS),
    ("sim_positions", "every field", SIM_POSITIONS),
    ("fills_history", "one page, every field", FILLS_HISTORY),
]
