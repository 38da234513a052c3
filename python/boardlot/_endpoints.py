"""The table of endpoints, for the command line and the tests.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

from __future__ import annotations

from typing import NamedTuple


class Account(NamedTuple):
    """An argument that is an account of this kind."""

    kind: str


class Endpoint(NamedTuple):
    """One endpoint: the method that calls it, and the command that calls the method."""

    method: str
    paged: bool
    # The required arguments of a call against the sandbox.
    arguments: tuple[str | Account, ...]
    command: str
    examples: tuple[str, ...]
    # The columns for a narrow terminal, the most important first.
    key_columns: tuple[str, ...]


ENDPOINTS = (
    Endpoint(
        method="server_time",
        paged=False,
        arguments=(),
        command="time",
        examples=("boardlot --base-url https://api.example.com time",),
        key_columns=(),
    ),
    Endpoint(
        method="trading_days",
        paged=False,
        arguments=(
            "HK",
            "2026-01-01",
            "2026-01-05",
        ),
        command="trading-days",
        examples=(
            "boardlot --profile live trading-days HK 2026-01-01 2026-01-31",
            "boardlot --profile live trading-days US 2026-01-01 2026-12-31 --out days.csv",
        ),
        key_columns=(),
    ),
    Endpoint(
        method="reference_futures",
        paged=False,
        arguments=("HK.HSImain",),
        command="futures",
        examples=("boardlot --profile live futures HK.HSImain",),
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
        arguments=("us",),
        command="ipos",
        examples=(
            "boardlot --profile live ipos hk",
            "boardlot --profile live ipos cn --request-type ballot-announced",
            "boardlot --profile live ipos us --format json --columns code,name,list_time",
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
        arguments=("HK.00700",),
        command="dividends",
        examples=(
            "boardlot --profile live dividends HK.00700",
            "boardlot --profile live dividends US.AAPL --out apple.parquet",
        ),
        key_columns=(
            "fiscal_year",
            "dividend_per_share",
            "currency",
            "process",
            "ex_date",
        ),
    ),
    Endpoint(
        method="plate_stocks",
        paged=True,
        arguments=("HK.BK1001",),
        command="plate",
        examples=(
            "boardlot --profile live plate HK.BK1001 --format jsonl | head",
            "boardlot --profile live plate HK.BK1001 --header 'X-Service-Client-Nnid: 123'",
        ),
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
        arguments=(Account("crypto"),),
        command="crypto-orders",
        examples=("boardlot --profile live crypto-orders 1001001 --format jsonl",),
        key_columns=(
            "order_id",
            "side",
            "order_qty",
            "price",
            "cum_qty",
            "ord_type",
            "ord_status",
        ),
    ),
    Endpoint(
        method="sim_orders",
        paged=False,
        arguments=(Account("sim"),),
        command="sim-orders",
        examples=("boardlot --profile live sim-orders 5001",),
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
        arguments=(Account("sim"),),
        command="sim-positions",
        examples=(
            "boardlot --profile live sim-positions 5001 --columns symbol,qty,cost_price,profit",
        ),
        key_columns=(
            "symbol",
            "stock_name",
            "qty",
            "cost_price",
            "cur_price",
            "mv",
            "profit_ratio",
        ),
    ),
    Endpoint(
        method="fills_history",
        paged=True,
        arguments=(
            Account("trade"),
            "HK",
        ),
        command="fills",
        examples=(
            "boardlot --profile live fills 281756 HK | head",
            "boardlot --profile live fills 281756 HK --start 2026-01-01 --out fills.parquet",
            "boardlot --profile live fills 281756 HK --windows 8 --out fills.jsonl",
            "boardlot --profile live fills 281756 HK --out fills.csv --resume fills.checkpoint",
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
