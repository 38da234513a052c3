"""The service's records as TypedDicts, and its closed sets of values as enums.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

# Without `from __future__ import annotations`: libraries read these types at run time.

import sys
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from typing import TypedDict
else:
    try:
        # Before CPython 3.12, pydantic takes no other.
        from typing_extensions import TypedDict
    except ImportError:
        from typing import TypedDict

__all__ = [
    "CnIpo",
    "CnIpoRequest",
    "CryptoOrder",
    "CryptoOrderStatus",
    "CryptoOrderSymbolPair",
    "Dividend",
    "DividendProcess",
    "Fill",
    "HkIpo",
    "IpoApplyStatus",
    "IpoOfferType",
    "IpoRequest",
    "IpoSecurityType",
    "MyIpo",
    "PlateStock",
    "PositionType",
    "RelatedFuture",
    "SgIpo",
    "SimOrder",
    "SimOrderStatus",
    "SimOrderType",
    "SimPosition",
    "SimSide",
    "TradingDay",
    "UsIpo",
    "UsIpoStatus",
]


class SimSide(IntEnum):
    """The side of a simulated order."""

    BUY = 1
    """Buy"""
    SELL = 2
    """Sell"""
    SHORT_SELL = 3
    """Short Sell"""
    BUY_BACK = 4
    """Buy Back"""


class SimOrderType(IntEnum):
    """The type of a simulated order."""

    LIMIT = 1
    """Limit"""
    MARKET = 3
    """Market"""


class SimOrderStatus(IntEnum):
    """The status of a simulated order."""

    SUBMITTED = 2
    """Submitted"""
    PARTIALLY_FILLED = 3
    """Partially Filled"""
    FILLED = 4
    """Filled"""
    CANCELLED = 5
    """Cancelled"""
    REJECTED = 6
    """Rejected"""


class PositionType(IntEnum):
    """The values of `pstn_type` of a simulated position."""

    LONG = 0
    """Long"""
    SHORT = 1
    """Short"""


class IpoOfferType(str, Enum):
    """The values of `offer_type` (Hong Kong, US)."""

    UNSUPPORTED = "UNSUPPORTED"
    PUBLIC_OFFER_ONLY = "PUBLIC_OFFER_ONLY"
    INTERNATIONAL_PLACING_ONLY = "INTERNATIONAL_PLACING_ONLY"
    PUBLIC_AND_INTER_PLACING = "PUBLIC_AND_INTER_PLACING"

    def __str__(self) -> str:
        return str(self.value)


class IpoSecurityType(str, Enum):
    """The values of `security_type` (Hong Kong, Singapore, Malaysia)."""

    NORMAL = "NORMAL"
    SPAC = "SPAC"
    HK_IBOND = "HK_IBOND"
    HK_CLIMATE_BOND = "HK_CLIMATE_BOND"
    HK_SILVER_BOND = "HK_SILVER_BOND"
    HK_ETF = "HK_ETF"
    SG_ETF = "SG_ETF"

    def __str__(self) -> str:
        return str(self.value)


class IpoApplyStatus(str, Enum):
    """The status of a subscription (Hong Kong)."""

    NOT_APPLIED = "NOT_APPLIED"
    APPLY_PENDING = "APPLY_PENDING"
    APPLY_PROCESSING = "APPLY_PROCESSING"
    APPLY_WON = "APPLY_WON"
    APPLY_LOST = "APPLY_LOST"

    def __str__(self) -> str:
        return str(self.value)


class UsIpoStatus(str, Enum):
    """The values of `stock_status` (US)."""

    PENDING = "PENDING"
    APPLYING = "APPLYING"
    CLOSED = "CLOSED"

    def __str__(self) -> str:
        return str(self.value)


class DividendProcess(str, Enum):
    """The values of `process` of a dividend."""

    IMPLEMENTATION = "Implementation"
    PLAN = "Plan"

    def __str__(self) -> str:
        return str(self.value)


class CryptoOrderStatus(str, Enum):
    """The four open (unfilled) states of a crypto order."""

    PENDING_TRIGGER = "PENDING_TRIGGER"
    PENDING_NEW = "PENDING_NEW"
    NEW = "NEW"
    PARTIAL_FILLED = "PARTIAL_FILLED"

    def __str__(self) -> str:
        return str(self.value)


class IpoRequest(IntEnum):
    """Which IPOs to list in hk, us, sg and my. The default is UPCOMING."""

    SUBSCRIBABLE = 9
    """Subscribable"""
    PENDING_LISTING = 10
    """Pending listing"""
    UPCOMING = 11
    """Upcoming (subscribable + pending listing)"""


class CnIpoRequest(IntEnum):
    """Which IPOs to list in cn. The default is PENDING_LISTING."""

    PREVIEW = 1
    """IPO preview"""
    SUBSCRIBABLE = 2
    """Subscribable"""
    BALLOT_ANNOUNCED = 3
    """Ballot announced"""
    PENDING_LISTING = 4
    """Pending listing"""
    ALL = 5
    """All"""


TradingDay = dict[str, Any]
"""A trading day. Its fields are not documented."""


class RelatedFuture(TypedDict):
    """A related futures contract."""

    code: str
    """Contract code (continuous or expiry contract)"""
    stock_name: str
    """English name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    stock_type: str
    """Fixed `FUTURE`"""
    lot_size: int
    """Shares per lot (contract multiplier) (shares)"""
    future_valid: bool
    """Fixed true"""
    future_main_contract: bool
    """True: front-month or continuous; false: regular expiration contract"""
    future_last_trade_time: str
    """Last trading day; empty string for continuous contracts (date)"""
    list_time: int
    """Listing time; 0 when no listing time record (ms since 1970)"""


class _HkIpoRequired(TypedDict):
    """The fields that every `HkIpo` has."""

    code: str
    """Code with market prefix"""
    name: str
    """Name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    list_time: str
    """Date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """0 if absent (ms since 1970)"""
    ipo_price_min: float
    """Lower bound of the IPO price (HKD)"""
    ipo_price_max: float
    """Upper bound of the IPO price (HKD)"""
    list_price: float
    """Actual IPO price (HKD)"""
    lot_size: int
    """Shares per lot (shares)"""
    entrance_price: float
    """Entrance fee (HKD)"""
    apply_start_timestamp: int
    """Subscription start (ms since 1970)"""
    apply_end_time: str
    """Subscription deadline (date)"""
    apply_end_timestamp: int
    """Subscription deadline (ms since 1970)"""
    apply_countdown_secs: int
    """Countdown to the deadline (s)"""
    is_apply_started: bool
    """Subscription started"""
    is_support_apply: bool
    """Subscription supported"""
    is_subscribe_status: bool
    """Currently subscribable"""
    apply_multiple: str
    """Subscription multiple"""
    lucky_ratio: str
    """One-lot winning ratio"""
    win_ratio_msg: str
    """Winning probability text"""
    lucky_time: str
    """Ballot announcement date (date)"""
    lucky_timestamp: int
    """Ballot announcement (ms since 1970)"""
    margin_fee_ratio: float
    """Margin subscription interest rate (%)"""
    margin_fee_ratio_min: float
    """Min margin interest rate; default 0 (%)"""
    margin_fee_ratio_max: float
    """Max margin interest rate; default 0 (%)"""
    margin_lever_ratio: float
    """Margin leverage multiple"""
    real_margin_lever_ratio: float
    """Actual available leverage; default 0"""
    margin_rate: float
    """Margin ratio, 4 decimal places"""
    dark_trade_date: str
    """Grey market trading date; default empty string; its form is not shown"""
    dark_trade_timestamp: int
    """Grey market date; default 0 (ms since 1970)"""
    dark_trade_period: str
    """Grey market period text"""
    dark_trade_start_timestamp: int
    """Grey market start; default 0 (ms since 1970)"""
    dark_trade_end_timestamp: int
    """Grey market end; default 0 (ms since 1970)"""
    is_support_dark_trade: bool
    """Grey market trading supported"""
    is_support_intl_placing: bool
    """International placing supported"""
    show_intl_placing_info: bool
    """Placing data is shown to the current user"""
    intl_placing_apply_start_timestamp: int
    """Placing subscription start; default 0 (ms since 1970)"""
    intl_placing_apply_end_timestamp: int
    """Placing subscription deadline; default 0 (ms since 1970)"""
    intl_placing_apply_limit: float
    """Placing minimum subscription amount (HKD)"""
    intl_placing_apply_limit_str: str
    """Same amount with thousands separators"""
    placing_countdown_secs: int
    """Placing deadline countdown; default 0 (s)"""
    offer_type: str
    security_type: str
    apply_status: str
    """Subscription status"""
    placing_apply_status: str
    """Placing subscription status"""


class HkIpo(_HkIpoRequired, total=False):
    """An IPO in Hong Kong."""

    etf_distributors: str
    """ETF distributor (ETF IPOs only)"""
    etf_ipo_price_display: str
    """ETF issue price text (ETF IPOs only)"""
    etf_apply_status: str
    """ETF subscription status (ETF IPOs only)"""


class UsIpo(TypedDict):
    """An IPO in the US."""

    code: str
    """Code with market prefix"""
    name: str
    """Name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    list_time: str
    """Date (date)"""
    list_timestamp: int
    """0 if absent (ms since 1970)"""
    ipo_price_min: float
    """(USD)"""
    ipo_price_max: float
    """(USD)"""
    issue_size: int
    """Issue size (shares)"""
    apply_limit: float
    """Minimum subscription amount (USD)"""
    apply_start_timestamp: int
    """(ms since 1970)"""
    apply_end_timestamp: int
    """(ms since 1970)"""
    lucky_timestamp: int
    """Expected ballot announcement (ms since 1970)"""
    stock_status: str
    is_user_applied: bool
    offer_type: str


class CnIpo(TypedDict):
    """An IPO of A-shares."""

    code: str
    """Code with market prefix"""
    name: str
    """Name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    list_time: str
    """Date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """0 if absent (ms since 1970)"""
    apply_code: str
    apply_upper_limit: int
    """(shares)"""
    ipo_price: float
    """IPO price (CNY)"""
    winning_ratio: float
    """Winning ratio (%)"""
    issue_pe_rate: float
    apply_timestamp: int
    """(ms since 1970)"""
    winning_time: str
    """(date)"""
    winning_timestamp: int
    """(ms since 1970)"""
    is_has_won: bool
    """Ballot drawn"""


class SgIpo(TypedDict):
    """An IPO in Singapore."""

    code: str
    """Code with market prefix"""
    name: str
    """Name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    list_time: str
    """Date (date)"""
    list_timestamp: int
    """0 if absent (ms since 1970)"""
    ipo_price_min: float
    """(SGD)"""
    ipo_price_max: float
    """(SGD)"""
    offer_price_display: str
    """Display text"""
    issue_size_display: str
    """Display text"""
    apply_limit_display: str
    """Display text"""
    market_cap_display: str
    """Display text"""
    fund_amount_display: str
    """Display text"""
    industry_display: str
    """Display text"""
    managers_display: str
    """Display text"""
    apply_limit: float
    """(SGD)"""
    ipo_book_link: str
    """Prospectus link"""
    security_type: str
    apply_start_timestamp: int
    """(ms since 1970)"""
    apply_end_timestamp: int
    """(ms since 1970)"""
    is_subscribe_status: bool
    is_user_applied: bool


class MyIpo(TypedDict):
    """An IPO in Malaysia."""

    code: str
    """Code with market prefix"""
    name: str
    """Name"""
    sc_name: str
    """Simplified Chinese name"""
    tc_name: str
    """Traditional Chinese name"""
    list_time: str
    """Date (date)"""
    list_timestamp: int
    """0 if absent (ms since 1970)"""
    ipo_price: float
    """IPO price (MYR)"""
    issue_size: int
    """Issue size (shares)"""
    fund_amount: float
    """Fund amount (MYR)"""
    market_cap: int
    """Market cap (MYR)"""
    currency: str
    """Code"""
    manager: str
    """Manager"""
    industry_plate: str
    """Industry plate"""
    business: str
    """Business"""
    ipo_book_link: str
    security_type: str
    apply_start_timestamp: int
    """(ms since 1970)"""
    apply_end_timestamp: int
    """(ms since 1970)"""
    draw_timestamp: int
    """Retail ballot time (ms since 1970)"""
    lucky_timestamp: int
    """(ms since 1970)"""
    apply_limit: float
    """(MYR)"""
    is_subscribe_status: bool
    is_user_applied: bool
    support_leverage: bool


class _DividendRequired(TypedDict):
    """The fields that every `Dividend` has."""

    statement: str
    """Dividend plan description"""
    dividend_per_share: float
    """Cash dividend per share (reporting currency)"""
    process: str
    """`Implementation` or `Plan`"""
    ex_date: str
    """Ex-dividend date (date)"""
    record_date: str
    """Record date; its form is not shown"""
    dividend_payable_date: str
    """Payment date; its form is not shown"""
    pub_date: str
    """Announcement date; its form is not shown"""


class Dividend(_DividendRequired, total=False):
    """One dividend of a security."""

    fiscal_year: str
    """Fiscal year; only for HK and A-shares"""
    currency: str
    """Dividend currency; only for HK and US"""
    payout_ratio: float
    """Payout ratio; only for A-shares (%)"""
    dividend_type: str
    """Dividend type; only for the data-vendor markets SG, CA, AU and JP"""


PlateStock = dict[str, Any]
"""A constituent of a plate. Its fields are not documented."""


class CryptoOrderSymbolPair(TypedDict):
    """`symbol`, `base` and `quote`."""

    symbol: str
    """Symbol"""
    base: str
    """Base"""
    quote: str
    """Quote"""


class CryptoOrder(TypedDict):
    """An open crypto order."""

    order_id: str
    """Order identifier"""
    version: int
    """Record version"""
    symbol_pair: CryptoOrderSymbolPair
    """`symbol`, `base` and `quote`"""
    side: str
    """Order side (values such as BUY)"""
    order_qty: str
    """Order quantity (decimal)"""
    price: str
    """Order price (decimal)"""
    order_amount: str
    """Order amount (decimal)"""
    cum_qty: str
    """Filled quantity (decimal)"""
    avg_px: str
    """Average fill price (decimal)"""
    fill_amount: str
    """Filled amount (decimal)"""
    ord_type: str
    """Order type (values such as LIMIT)"""
    time_in_force: str
    """Validity (values such as TIF_GTC)"""
    create_time: int
    """Creation timestamp (not shown)"""
    update_time: int
    """Update timestamp (not shown)"""
    ord_status: str
    """Status"""
    order_show_id: str
    """Display identifier"""
    is_close: bool
    """Close flag"""
    trigger_price: str
    """Trigger price; empty string when none (decimal)"""
    trigger_time: int
    """Trigger time; 0 when none (not shown)"""
    cash_order_qty: str
    """Cash quantity; empty string when none (decimal)"""


class SimOrder(TypedDict):
    """A simulated-trading order."""

    order_id: str
    """Order id"""
    side: int
    """Order side"""
    symbol: str
    """Symbol code (without market prefix in examples)"""
    stock_name: str
    """Name"""
    order_type: int
    """Order type"""
    status: int
    """Status"""
    qty: str
    """Order quantity (decimal)"""
    cum_qty: str
    """Filled quantity (decimal)"""
    price: str
    """Order price (decimal)"""
    avg_fill_price: str
    """Average fill price (decimal)"""
    aux_price: str | None
    """Stop-loss price, or null (decimal)"""
    create_time: str
    """Created time (us since 1970)"""
    update_time: str
    """Updated time (us since 1970)"""
    text: str
    """Remark"""


class SimPosition(TypedDict):
    """A simulated-trading position."""

    pstn_id: str
    """Position id"""
    pstn_type: int
    """Position type"""
    market: int
    """Market; its allowed values are not shown"""
    symbol: str
    """Symbol"""
    stock_name: str
    """Name"""
    qty: str
    """Quantity (decimal)"""
    qty_avbl: str
    """Available quantity (decimal)"""
    cost_price: str
    """Cost price (decimal)"""
    buy_avg_price: str
    """Average buy price (decimal)"""
    cur_price: str
    """Current price (decimal)"""
    mv: str
    """Market value (decimal)"""
    profit: str
    """P&L amount (decimal)"""
    profit_ratio: str
    """P&L ratio (decimal, %)"""


class Fill(TypedDict):
    """A historical fill."""

    trd_side: str
    """Trade side, such as BUY"""
    deal_id: str
    """Deal id"""
    order_id: str
    """Order id"""
    code: str
    """`{market}.{code}`"""
    stock_name: str
    """Name"""
    qty: str
    """Quantity (decimal)"""
    price: str
    """Price (decimal)"""
    create_time: int
    """Created time (us since 1970)"""
    updated_time: int
    """Updated time (us since 1970)"""
    counter_broker_id: int
    """Counter broker id"""
    counter_broker_name: str
    """Counter broker name"""
    status: str
    """Status, such as OK"""


if not TYPE_CHECKING:
    # For pydantic: fields that the service adds, and a caller's own, stay.
    for _record in (
        RelatedFuture,
        HkIpo,
        UsIpo,
        CnIpo,
        SgIpo,
        MyIpo,
        Dividend,
        CryptoOrderSymbolPair,
        CryptoOrder,
        SimOrder,
        SimPosition,
        Fill,
    ):
        _record.__pydantic_config__ = {"extra": "allow"}
