"""The table of endpoints, for the command line and the tests.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Account(NamedTuple):
    """An argument that is an account of this kind."""

    kind: str


class Parameter(NamedTuple):
    """A parameter of a method, as an argument or option of its command."""

    name: str
    kind: Literal["text", "symbol", "market", "choice", "request type", "integer", "windows", "day", "time"]
    help: str
    required: bool = False
    # What a choice may be.
    choices: tuple[str, ...] = ()


class Endpoint(NamedTuple):
    """One endpoint: the method that calls it, and the command that calls the method."""

    method: str
    paged: bool
    # Whether its list covers a range of time, whose rows have a fixed order.
    resumable: bool
    # The required arguments of a call against the sandbox.
    arguments: tuple[str | Account, ...]
    command: str
    summary: str
    # A further paragraph of the help; may be empty.
    notes: str
    # Without the cursor and `resume`.
    parameters: tuple[Parameter, ...]
    examples: tuple[str, ...]
    # The declared fields of the rows, in all markets.
    columns: tuple[str, ...]
    # The columns for a narrow terminal, the most important first.
    key_columns: tuple[str, ...]


# The prefixes of symbols that the service document names.
MARKETS = ("HK", "US", "SH", "SZ", "SG", "CA", "AU", "JP", "MY")

ENDPOINTS = (
    Endpoint(
        method="server_time",
        paged=False,
        resumable=False,
        arguments=(),
        command="time",
        summary="The service's clock.",
        notes="Signed requests are rejected if the two clocks differ by more than the service's threshold, 5 seconds by default; the client then reads this clock and signs again.",
        parameters=(),
        examples=(
            "boardlot --base-url https://api.example.com time",
        ),
        columns=(),
        key_columns=(),
    ),
    Endpoint(
        method="trading_days",
        paged=False,
        resumable=False,
        arguments=(
            "HK",
            "2026-01-01",
            "2026-01-05",
        ),
        command="trading-days",
        summary="The trading days of a market, from start to end.",
        notes="The service does not document the response: a success is a JSON list, or one of the documented envelopes with its success mark. The records are that list, or the only one in data or d; a day that is a text becomes an object with the field date. Of anything else, no records are made.",
        parameters=(
            Parameter("market", "market", "Market prefix such as HK.", required=True),
            Parameter("start", "day", "Start date. As yyyy-MM-dd.", required=True),
            Parameter("end", "day", "End date. As yyyy-MM-dd.", required=True),
        ),
        examples=(
            "boardlot --profile live trading-days HK 2026-01-01 2026-01-31",
            "boardlot --profile live trading-days US 2026-01-01 2026-12-31 --out days.csv",
        ),
        columns=(),
        key_columns=(),
    ),
    Endpoint(
        method="reference_futures",
        paged=False,
        resumable=False,
        arguments=(
            "HK.HSImain",
        ),
        command="futures",
        summary="The futures contracts related to a continuous futures contract.",
        notes="Supported markets are HK, US, SG and JP, and the input is a continuous futures contract. A symbol that is not a future, or of a market without futures (such as AU, CA, SH, SZ and MY), returns an empty list.",
        parameters=(
            Parameter("symbol", "symbol", "Typically a continuous futures contract, such as HK.HSImain.", required=True),
        ),
        examples=(
            "boardlot --profile live futures HK.HSImain",
        ),
        columns=(
            "code",
            "stock_name",
            "sc_name",
            "tc_name",
            "stock_type",
            "lot_size",
            "future_valid",
            "future_main_contract",
            "future_last_trade_time",
            "list_time",
        ),
        key_columns=(
            "code",
            "stock_name",
            "lot_size",
            "future_main_contract",
            "future_last_trade_time",
        ),
    ),
    Endpoint(
        method="ipo_list",
        paged=False,
        resumable=False,
        arguments=(
            "us",
        ),
        command="ipos",
        summary="Recent subscribable and upcoming IPOs of a market, without historical ones.",
        notes="The data depends on the user's primary broker: without one for the market the list may be empty. A-shares cover SSE (with the STAR Market), SZSE (with ChiNext) and BSE.",
        parameters=(
            Parameter("market", "choice", "hk, us, cn (A-shares), sg or my.", required=True, choices=("hk", "us", "cn", "sg", "my",)),
            Parameter("request_type", "request type", "What to list, by name or number: subscribable (9), pending-listing (10), upcoming (11); in cn preview (1), subscribable (2), ballot-announced (3), pending-listing (4), all (5)."),
        ),
        examples=(
            "boardlot --profile live ipos hk",
            "boardlot --profile live ipos cn --request-type ballot-announced",
            "boardlot --profile live ipos us --format json --columns code,name,list_time",
        ),
        columns=(
            "code",
            "name",
            "sc_name",
            "tc_name",
            "list_time",
            "list_timestamp",
            "ipo_price_min",
            "ipo_price_max",
            "list_price",
            "lot_size",
            "entrance_price",
            "apply_start_timestamp",
            "apply_end_time",
            "apply_end_timestamp",
            "apply_countdown_secs",
            "is_apply_started",
            "is_support_apply",
            "is_subscribe_status",
            "apply_multiple",
            "lucky_ratio",
            "win_ratio_msg",
            "lucky_time",
            "lucky_timestamp",
            "margin_fee_ratio",
            "margin_fee_ratio_min",
            "margin_fee_ratio_max",
            "margin_lever_ratio",
            "real_margin_lever_ratio",
            "margin_rate",
            "dark_trade_date",
            "dark_trade_timestamp",
            "dark_trade_period",
            "dark_trade_start_timestamp",
            "dark_trade_end_timestamp",
            "is_support_dark_trade",
            "is_support_intl_placing",
            "show_intl_placing_info",
            "intl_placing_apply_start_timestamp",
            "intl_placing_apply_end_timestamp",
            "intl_placing_apply_limit",
            "intl_placing_apply_limit_str",
            "placing_countdown_secs",
            "offer_type",
            "security_type",
            "etf_distributors",
            "etf_ipo_price_display",
            "apply_status",
            "placing_apply_status",
            "etf_apply_status",
            "issue_size",
            "apply_limit",
            "stock_status",
            "is_user_applied",
            "apply_code",
            "apply_upper_limit",
            "ipo_price",
            "winning_ratio",
            "issue_pe_rate",
            "apply_timestamp",
            "winning_time",
            "winning_timestamp",
            "is_has_won",
            "offer_price_display",
            "issue_size_display",
            "apply_limit_display",
            "market_cap_display",
            "fund_amount_display",
            "industry_display",
            "managers_display",
            "ipo_book_link",
            "fund_amount",
            "market_cap",
            "currency",
            "manager",
            "industry_plate",
            "business",
            "draw_timestamp",
            "support_leverage",
        ),
        key_columns=(
            "code",
            "name",
            "list_time",
            "ipo_price",
            "offer_price_display",
            "ipo_price_min",
            "ipo_price_max",
            "currency",
            "winning_ratio",
            "stock_status",
            "apply_timestamp",
            "apply_end_timestamp",
        ),
    ),
    Endpoint(
        method="dividends",
        paged=False,
        resumable=False,
        arguments=(
            "HK.00700",
        ),
        command="dividends",
        summary="The dividend history of a security, newest first, at most 100 records.",
        notes="Supported: HK, US, A-shares (SH, SZ), SG, CA, AU and JP; fields vary by market. ETFs, bonds, warrants, options, futures and indices without dividends return an empty list.",
        parameters=(
            Parameter("symbol", "symbol", "Such as HK.00700.", required=True),
        ),
        examples=(
            "boardlot --profile live dividends HK.00700",
            "boardlot --profile live dividends US.AAPL --out apple.parquet",
        ),
        columns=(
            "fiscal_year",
            "statement",
            "dividend_per_share",
            "currency",
            "payout_ratio",
            "dividend_type",
            "process",
            "ex_date",
            "record_date",
            "dividend_payable_date",
            "pub_date",
        ),
        key_columns=(
            "fiscal_year",
            "dividend_per_share",
            "currency",
            "ex_date",
            "process",
        ),
    ),
    Endpoint(
        method="plate_stocks",
        paged=True,
        resumable=False,
        arguments=(
            "HK.BK1001",
        ),
        command="plate",
        summary="The constituent stocks of a plate.",
        notes="The service documents neither the fields of a constituent nor the bounds of limit: the fields are passed through unchanged, and that a limit is at least 1 is boardlot's own rule.",
        parameters=(
            Parameter("plate_code", "symbol", "{market}.BK<digits>, such as HK.BK1001.", required=True),
            Parameter("limit", "integer", "Page size; the service's own default and bounds are not shown."),
        ),
        examples=(
            "boardlot --profile live plate HK.BK1001 --format jsonl | head",
            "boardlot --profile live plate HK.BK1001 --header 'X-Service-Client-Nnid: 123'",
        ),
        columns=(),
        key_columns=(
            "code",
            "stock_name",
            "sc_name",
            "stock_type",
            "lot_size",
        ),
    ),
    Endpoint(
        method="crypto_orders",
        paged=True,
        resumable=False,
        arguments=(
            Account("crypto"),
        ),
        command="crypto-orders",
        summary="The open crypto orders of an account, newest first.",
        notes="Open are the four states of CryptoOrderStatus. The unit of the times is not shown in the service's documentation, so they stay whole numbers.",
        parameters=(
            Parameter("acc_id", "text", "Account id (uint64).", required=True),
            Parameter("page_size", "integer", "Orders per page, at most 50, which is the service's default."),
        ),
        examples=(
            "boardlot --profile live crypto-orders 1001001 --format jsonl",
        ),
        columns=(
            "order_id",
            "version",
            "symbol_pair",
            "side",
            "order_qty",
            "price",
            "order_amount",
            "cum_qty",
            "avg_px",
            "fill_amount",
            "ord_type",
            "time_in_force",
            "create_time",
            "update_time",
            "ord_status",
            "order_show_id",
            "is_close",
            "trigger_price",
            "trigger_time",
            "cash_order_qty",
        ),
        key_columns=(
            "symbol_pair",
            "side",
            "order_qty",
            "price",
            "cum_qty",
            "ord_type",
            "ord_status",
            "order_id",
        ),
    ),
    Endpoint(
        method="sim_orders",
        paged=False,
        resumable=False,
        arguments=(
            Account("sim"),
        ),
        command="sim-orders",
        summary="Today's simulated-trading orders.",
        notes="",
        parameters=(
            Parameter("acc_id", "text", "Business account id.", required=True),
        ),
        examples=(
            "boardlot --profile live sim-orders 5001",
        ),
        columns=(
            "order_id",
            "side",
            "symbol",
            "stock_name",
            "order_type",
            "status",
            "qty",
            "cum_qty",
            "price",
            "avg_fill_price",
            "aux_price",
            "create_time",
            "update_time",
            "text",
        ),
        key_columns=(
            "symbol",
            "side",
            "order_type",
            "status",
            "qty",
            "cum_qty",
            "price",
            "create_time",
        ),
    ),
    Endpoint(
        method="sim_positions",
        paged=False,
        resumable=False,
        arguments=(
            Account("sim"),
        ),
        command="sim-positions",
        summary="Simulated-trading positions.",
        notes="The allowed values of market are not shown in the service's documentation.",
        parameters=(
            Parameter("acc_id", "text", "Business account id.", required=True),
            Parameter("market", "integer", "Market filter."),
        ),
        examples=(
            "boardlot --profile live sim-positions 5001 --columns symbol,qty,cost_price,profit",
        ),
        columns=(
            "pstn_id",
            "pstn_type",
            "market",
            "symbol",
            "stock_name",
            "qty",
            "qty_avbl",
            "cost_price",
            "buy_avg_price",
            "cur_price",
            "mv",
            "profit",
            "profit_ratio",
        ),
        key_columns=(
            "symbol",
            "pstn_type",
            "qty",
            "cost_price",
            "cur_price",
            "mv",
            "profit_ratio",
            "stock_name",
        ),
    ),
    Endpoint(
        method="fills_history",
        paged=True,
        resumable=True,
        arguments=(
            Account("trade"),
            "HK",
        ),
        command="fills",
        summary="The historical fills of a trading account, latest first.",
        notes="Without start, only the last 90 days are read: the time range begins 90 days before its end. Without end, it reaches until now, by the service's clock. Times are update times. The allowed values of trd_market are not shown in the service's documentation.",
        parameters=(
            Parameter("acc_id", "text", "Trading business account id.", required=True),
            Parameter("trd_market", "market", "Trading market.", required=True),
            Parameter("code", "symbol", "Only this code; all when omitted."),
            Parameter("start", "time", "Start of the update time; 0 is the same as none. ISO 8601 with an offset, a date (midnight UTC), or microseconds since 1970."),
            Parameter("end", "time", "End of the update time, after start; without it, now. 0 is the service's own default: 90 days after start. ISO 8601 with an offset, a date (midnight UTC), or microseconds since 1970."),
            Parameter("page_size", "integer", "Fills per page, 10 to 50; the service's default is 50."),
            Parameter("windows", "windows", "Split the time range into this many windows, 1 to 64, and fetch them concurrently: one stream with each record once, the latest window first, each window in the service's order. If the service sorts by the update time, the order is the same as without windows."),
        ),
        examples=(
            "boardlot --profile live fills 281756 HK | head",
            "boardlot --profile live fills 281756 HK --start 2026-01-01 --out fills.parquet",
            "boardlot --profile live fills 281756 HK --windows 8 --out fills.jsonl",
            "boardlot --profile live fills 281756 HK --out fills.csv --resume fills.checkpoint",
        ),
        columns=(
            "trd_side",
            "deal_id",
            "order_id",
            "code",
            "stock_name",
            "qty",
            "price",
            "create_time",
            "updated_time",
            "counter_broker_id",
            "counter_broker_name",
            "status",
        ),
        key_columns=(
            "create_time",
            "code",
            "trd_side",
            "qty",
            "price",
            "status",
            "counter_broker_name",
        ),
    ),
)
