//! Closed sets of values that the service documents (sections 2, 3 and 4.2): each is an enum in
//! Python, whose members equal the service's own values.

/// Every set, in the order of the service document.
pub const VALUE_SETS: &[&ValueSet] = &[
    &SIM_SIDE,
    &SIM_ORDER_TYPE,
    &SIM_ORDER_STATUS,
    &POSITION_TYPE,
    &IPO_OFFER_TYPE,
    &IPO_SECURITY_TYPE,
    &IPO_APPLY_STATUS,
    &US_IPO_STATUS,
    &DIVIDEND_PROCESS,
    &CRYPTO_ORDER_STATUS,
    &IPO_REQUEST,
    &CN_IPO_REQUEST,
];

/// A documented set of values.
#[derive(Debug)]
pub struct ValueSet {
    /// Its name, also of the Python enum.
    pub name: &'static str,
    /// The section of the service document that lists it.
    pub section: &'static str,
    /// One sentence about it.
    pub doc: &'static str,
    /// The values in their order.
    pub members: &'static [Member],
}

/// One value of a set.
#[derive(Debug)]
pub struct Member {
    /// Its name in Python.
    pub name: &'static str,
    /// The value on the wire.
    pub value: Value,
    /// Its meaning, without a full stop.
    pub doc: &'static str,
}

/// A value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(&'static str),
}

const fn number(value: i64, name: &'static str, doc: &'static str) -> Member {
    Member { name, value: Value::Integer(value), doc }
}

const fn word(name: &'static str, doc: &'static str) -> Member {
    Member { name, value: Value::Text(name), doc }
}

const fn spelled(name: &'static str, value: &'static str, doc: &'static str) -> Member {
    Member { name, value: Value::Text(value), doc }
}

pub const SIM_SIDE: ValueSet = ValueSet {
    name: "SimSide",
    section: "2.6",
    doc: "The side of a simulated order.",
    members: &[
        number(1, "BUY", "Buy"),
        number(2, "SELL", "Sell"),
        number(3, "SHORT_SELL", "Short sell"),
        number(4, "BUY_BACK", "Buy back"),
    ],
};

pub const SIM_ORDER_TYPE: ValueSet = ValueSet {
    name: "SimOrderType",
    section: "2.6",
    doc: "The type of a simulated order.",
    members: &[number(1, "LIMIT", "Limit"), number(3, "MARKET", "Market")],
};

pub const SIM_ORDER_STATUS: ValueSet = ValueSet {
    name: "SimOrderStatus",
    section: "3.2",
    doc: "The status of a simulated order.",
    members: &[
        number(2, "SUBMITTED", "Submitted"),
        number(3, "PARTIALLY_FILLED", "Partially filled"),
        number(4, "FILLED", "Filled"),
        number(5, "CANCELLED", "Cancelled"),
        number(6, "REJECTED", "Rejected"),
    ],
};

pub const POSITION_TYPE: ValueSet = ValueSet {
    name: "PositionType",
    section: "2.7",
    doc: "The direction of a simulated position.",
    members: &[number(0, "LONG", "Long"), number(1, "SHORT", "Short")],
};

pub const IPO_OFFER_TYPE: ValueSet = ValueSet {
    name: "IpoOfferType",
    section: "2.10",
    doc: "How an IPO is offered (Hong Kong, US).",
    members: &[
        word("UNSUPPORTED", "Not supported"),
        word("PUBLIC_OFFER_ONLY", "Public offer only"),
        word("INTERNATIONAL_PLACING_ONLY", "International placing only"),
        word("PUBLIC_AND_INTER_PLACING", "Public offer and international placing"),
    ],
};

pub const IPO_SECURITY_TYPE: ValueSet = ValueSet {
    name: "IpoSecurityType",
    section: "2.10",
    doc: "What kind of security is offered (Hong Kong, Singapore, Malaysia).",
    members: &[
        word("NORMAL", "Ordinary security"),
        word("SPAC", "Special purpose acquisition company"),
        word("HK_IBOND", "Hong Kong inflation-linked bond"),
        word("HK_CLIMATE_BOND", "Hong Kong climate bond"),
        word("HK_SILVER_BOND", "Hong Kong silver bond"),
        word("HK_ETF", "Hong Kong ETF"),
        word("SG_ETF", "Singapore ETF"),
    ],
};

pub const IPO_APPLY_STATUS: ValueSet = ValueSet {
    name: "IpoApplyStatus",
    section: "3.3",
    doc: "The status of the user's own subscription (Hong Kong).",
    members: &[
        word("NOT_APPLIED", "No subscription"),
        word("APPLY_PENDING", "Subscription pending"),
        word("APPLY_PROCESSING", "Subscription in process"),
        word("APPLY_WON", "Allotted"),
        word("APPLY_LOST", "Not allotted"),
    ],
};

pub const US_IPO_STATUS: ValueSet = ValueSet {
    name: "UsIpoStatus",
    section: "3.3",
    doc: "The status of a US IPO.",
    members: &[
        word("PENDING", "Subscription has not begun"),
        word("APPLYING", "Subscription is open"),
        word("CLOSED", "Subscription is closed"),
    ],
};

pub const DIVIDEND_PROCESS: ValueSet = ValueSet {
    name: "DividendProcess",
    section: "2.11",
    doc: "Whether a dividend is paid or planned.",
    members: &[
        spelled("IMPLEMENTATION", "Implementation", "Carried out"),
        spelled("PLAN", "Plan", "Planned"),
    ],
};

pub const CRYPTO_ORDER_STATUS: ValueSet = ValueSet {
    name: "CryptoOrderStatus",
    section: "3.1",
    doc: "The four open states of a crypto order.",
    members: &[
        word("PENDING_TRIGGER", "Waits for its trigger"),
        word("PENDING_NEW", "On its way to the market"),
        word("NEW", "At the market"),
        word("PARTIAL_FILLED", "Partly filled"),
    ],
};

pub const IPO_REQUEST: ValueSet = ValueSet {
    name: "IpoRequest",
    section: "4.2",
    doc: "Which IPOs to list in hk, us, sg and my. The default is UPCOMING.",
    members: &[
        number(9, "SUBSCRIBABLE", "Subscribable"),
        number(10, "PENDING_LISTING", "Pending listing"),
        number(11, "UPCOMING", "Upcoming: subscribable and pending listing"),
    ],
};

pub const CN_IPO_REQUEST: ValueSet = ValueSet {
    name: "CnIpoRequest",
    section: "4.2",
    doc: "Which IPOs to list in cn. The default is PENDING_LISTING.",
    members: &[
        number(1, "PREVIEW", "IPO preview"),
        number(2, "SUBSCRIBABLE", "Subscribable"),
        number(3, "BALLOT_ANNOUNCED", "Ballot announced"),
        number(4, "PENDING_LISTING", "Pending listing"),
        number(5, "ALL", "All"),
    ],
};
