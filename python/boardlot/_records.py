"""The service's records as TypedDicts, and its closed sets of values as enums.

Generated from the table of endpoints by `make generate`: change that, not this.
"""

# Without `from __future__ import annotations`: libraries read these types at run time.

from enum import Enum, IntEnum
from typing import Any, TypedDict

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
    """Short sell"""
    BUY_BACK = 4
    """Buy back"""


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
    """Partially filled"""
    FILLED = 4
    """Filled"""
    CANCELLED = 5
    """Cancelled"""
    REJECTED = 6
    """Rejected"""


class PositionType(IntEnum):
    """The direction of a simulated position."""

    LONG = 0
    """Long"""
    SHORT = 1
    """Short"""


class IpoOfferType(str, Enum):
    """How an IPO is offered (Hong Kong, US)."""

    UNSUPPORTED = "UNSUPPORTED"
    """Not supported"""
    PUBLIC_OFFER_ONLY = "PUBLIC_OFFER_ONLY"
    """Public offer only"""
    INTERNATIONAL_PLACING_ONLY = "INTERNATIONAL_PLACING_ONLY"
    """International placing only"""
    PUBLIC_AND_INTER_PLACING = "PUBLIC_AND_INTER_PLACING"
    """Public offer and international placing"""

    def __str__(self) -> str:
        return str(self.value)


class IpoSecurityType(str, Enum):
    """What kind of security is offered (Hong Kong, Singapore, Malaysia)."""

    NORMAL = "NORMAL"
    """Ordinary security"""
    SPAC = "SPAC"
    """Special purpose acquisition company"""
    HK_IBOND = "HK_IBOND"
    """Hong Kong inflation-linked bond"""
    HK_CLIMATE_BOND = "HK_CLIMATE_BOND"
    """Hong Kong climate bond"""
    HK_SILVER_BOND = "HK_SILVER_BOND"
    """Hong Kong silver bond"""
    HK_ETF = "HK_ETF"
    """Hong Kong ETF"""
    SG_ETF = "SG_ETF"
    """Singapore ETF"""

    def __str__(self) -> str:
        return str(self.value)


class IpoApplyStatus(str, Enum):
    """The status of the user's own subscription (Hong Kong)."""

    NOT_APPLIED = "NOT_APPLIED"
    """No subscription"""
    APPLY_PENDING = "APPLY_PENDING"
    """Subscription pending"""
    APPLY_PROCESSING = "APPLY_PROCESSING"
    """Subscription in process"""
    APPLY_WON = "APPLY_WON"
    """Allotted"""
    APPLY_LOST = "APPLY_LOST"
    """Not allotted"""

    def __str__(self) -> str:
        return str(self.value)


class UsIpoStatus(str, Enum):
    """The status of a US IPO."""

    PENDING = "PENDING"
    """Subscription has not begun"""
    APPLYING = "APPLYING"
    """Subscription is open"""
    CLOSED = "CLOSED"
    """Subscription is closed"""

    def __str__(self) -> str:
        return str(self.value)


class DividendProcess(str, Enum):
    """Whether a dividend is paid or planned."""

    IMPLEMENTATION = "Implementation"
    """Carried out"""
    PLAN = "Plan"
    """Planned"""

    def __str__(self) -> str:
        return str(self.value)


class CryptoOrderStatus(str, Enum):
    """The four open states of a crypto order."""

    PENDING_TRIGGER = "PENDING_TRIGGER"
    """Waits for its trigger"""
    PENDING_NEW = "PENDING_NEW"
    """On its way to the market"""
    NEW = "NEW"
    """At the market"""
    PARTIAL_FILLED = "PARTIAL_FILLED"
    """Partly filled"""

    def __str__(self) -> str:
        return str(self.value)


class IpoRequest(IntEnum):
    """Which IPOs to list in hk, us, sg and my. The default is UPCOMING."""

    SUBSCRIBABLE = 9
    """Subscribable"""
    PENDING_LISTING = 10
    """Pending listing"""
    UPCOMING = 11
    """Upcoming: subscribable and pending listing"""


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
    """A futures contract related to another."""

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
    """Last trading day; empty for continuous contracts (date)"""
    list_time: int
    """Listing time; 0 when there is no record of it (ms since 1970)"""


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
    """Listing date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """Listing date; 0 if absent (ms since 1970)"""
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
    """Margin leverage multiple (x)"""
    real_margin_lever_ratio: float
    """Actual available leverage; default 0 (x)"""
    margin_rate: float
    """Margin ratio, 4 decimal places"""
    dark_trade_date: str
    """Grey market trading date; default empty (date)"""
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
    """Placing start; default 0 (ms since 1970)"""
    intl_placing_apply_end_timestamp: int
    """Placing deadline; default 0 (ms since 1970)"""
    intl_placing_apply_limit: float
    """Placing minimum subscription amount (HKD)"""
    intl_placing_apply_limit_str: str
    """Same amount with thousands separators"""
    placing_countdown_secs: int
    """Placing deadline countdown; default 0 (s)"""
    offer_type: str
    """How it is offered"""
    security_type: str
    """What is offered"""
    apply_status: str
    """The user's subscription"""
    placing_apply_status: str
    """The user's placing subscription"""


class HkIpo(_HkIpoRequired, total=False):
    """An IPO in Hong Kong."""

    etf_distributors: str
    """ETF distributor (ETF IPOs only)"""
    etf_ipo_price_display: str
    """ETF issue price text (ETF IPOs only)"""
    etf_apply_status: str
    """The user's ETF subscription (ETF IPOs only)"""


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
    """Listing date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """Listing date; 0 if absent (ms since 1970)"""
    ipo_price_min: float
    """Lower bound of the IPO price (USD)"""
    ipo_price_max: float
    """Upper bound of the IPO price (USD)"""
    issue_size: int
    """Shares issued (shares)"""
    apply_limit: float
    """Minimum subscription amount (USD)"""
    apply_start_timestamp: int
    """Subscription start (ms since 1970)"""
    apply_end_timestamp: int
    """Subscription deadline (ms since 1970)"""
    lucky_timestamp: int
    """Expected ballot announcement (ms since 1970)"""
    stock_status: str
    """Status of the IPO"""
    is_user_applied: bool
    """The user has subscribed"""
    offer_type: str
    """How it is offered"""


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
    """Listing date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """Listing date; 0 if absent (ms since 1970)"""
    apply_code: str
    """Subscription code"""
    apply_upper_limit: int
    """Subscription upper limit (shares)"""
    ipo_price: float
    """IPO price (CNY)"""
    winning_ratio: float
    """Winning ratio (%)"""
    issue_pe_rate: float
    """Price-earnings ratio at issue"""
    apply_timestamp: int
    """Subscription date (ms since 1970)"""
    winning_time: str
    """Ballot announcement date (date)"""
    winning_timestamp: int
    """Ballot announcement (ms since 1970)"""
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
    """Listing date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """Listing date; 0 if absent (ms since 1970)"""
    ipo_price_min: float
    """Lower bound of the IPO price (SGD)"""
    ipo_price_max: float
    """Upper bound of the IPO price (SGD)"""
    offer_price_display: str
    """Offer price text"""
    issue_size_display: str
    """Issue size text"""
    apply_limit_display: str
    """Minimum subscription text"""
    market_cap_display: str
    """Market capitalisation text"""
    fund_amount_display: str
    """Funds raised text"""
    industry_display: str
    """Industry text"""
    managers_display: str
    """Issue managers text"""
    apply_limit: float
    """Minimum subscription amount (SGD)"""
    ipo_book_link: str
    """Prospectus link"""
    security_type: str
    """What is offered"""
    apply_start_timestamp: int
    """Subscription start (ms since 1970)"""
    apply_end_timestamp: int
    """Subscription deadline (ms since 1970)"""
    is_subscribe_status: bool
    """Currently subscribable"""
    is_user_applied: bool
    """The user has subscribed"""


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
    """Listing date; `--` when unavailable or not listed (date)"""
    list_timestamp: int
    """Listing date; 0 if absent (ms since 1970)"""
    ipo_price: float
    """IPO price (MYR)"""
    issue_size: int
    """Shares issued (shares)"""
    fund_amount: float
    """Funds raised (MYR)"""
    market_cap: int
    """Market capitalisation (MYR)"""
    currency: str
    """Currency code"""
    manager: str
    """Issue manager"""
    industry_plate: str
    """Industry"""
    business: str
    """Business"""
    ipo_book_link: str
    """Prospectus link"""
    security_type: str
    """What is offered"""
    apply_start_timestamp: int
    """Subscription start (ms since 1970)"""
    apply_end_timestamp: int
    """Subscription deadline (ms since 1970)"""
    draw_timestamp: int
    """Retail ballot time (ms since 1970)"""
    lucky_timestamp: int
    """Ballot announcement (ms since 1970)"""
    apply_limit: float
    """Minimum subscription amount (MYR)"""
    is_subscribe_status: bool
    """Currently subscribable"""
    is_user_applied: bool
    """The user has subscribed"""
    support_leverage: bool
    """Leverage supported"""


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
    """Record date (date)"""
    dividend_payable_date: str
    """Payment date (date)"""
    pub_date: str
    """Announcement date (date)"""


class Dividend(_DividendRequired, total=False):
    """One dividend of a security."""

    fiscal_year: str
    """Fiscal year; only for HK and A-shares"""
    currency: str
    """Dividend currency; only for HK and US"""
    payout_ratio: float
    """Payout ratio; only for A-shares (%)"""
    dividend_type: str
    """Dividend type; only for SG, CA, AU and JP"""


PlateStock = dict[str, Any]
"""A constituent of a plate. Its fields are not documented."""


class CryptoOrderSymbolPair(TypedDict):
    """Traded pair."""

    symbol: str
    """Pair"""
    base: str
    """Base currency"""
    quote: str
    """Quote currency"""


class CryptoOrder(TypedDict):
    """An open crypto order."""

    order_id: str
    """Order identifier"""
    version: int
    """Record version"""
    symbol_pair: CryptoOrderSymbolPair
    """Traded pair"""
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
    """Trigger price; empty when none (decimal)"""
    trigger_time: int
    """Trigger time; 0 when none (not shown)"""
    cash_order_qty: str
    """Cash quantity; empty when none (decimal)"""


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
    """Stop-loss price; null when none (decimal)"""
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
    """Direction"""
    market: int
    """Market; its values are not shown"""
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
    """Side, such as BUY"""
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
