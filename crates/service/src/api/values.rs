//! Closed sets of values that the service documents (sections 2, 3 and 4.2).

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
    /// Name of the set.
    pub name: &'static str,
    /// The section of the service document that lists it.
    pub section: &'static str,
    /// One sentence about the set.
    pub doc: &'static str,
    /// The values in their order.
    pub members: &'static [Member],
}

/// One value of a set.
#[derive(Debug)]
pub struct Member {
    /// Name of the value.
    pub name: &'static str,
    /// The value on the wire.
    pub value: Value,
    /// Meaning of the value in the document's words, without a full stop; empty if the document has
    /// none.
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

const fn word(name: &'static str) -> Member {
    spelled(name, name)
}

const fn spelled(name: &'static str, value: &'static str) -> Member {
    Member { name, value: Value::Text(value), doc: "" }
}

pub const SIM_SIDE: ValueSet = ValueSet {
    name: "SimSide",
    section: "2.6",
    doc: "The side of a simulated order.",
    members: &[
        number(1, "BUY", "Buy"),
        number(2, "SELL", "Sell"),
        number(3, "SHORT_SELL", "Short Sell"),
        number(4, "BUY_BACK", "Buy Back"),
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
        number(3, "PARTIALLY_FILLED", "Partially Filled"),
        number(4, "FILLED", "Filled"),
        number(5, "CANCELLED", "Cancelled"),
        number(6, "REJECTED", "Rejected"),
    ],
};

pub const POSITION_TYPE: ValueSet = ValueSet {
    name: "PositionType",
    section: "2.7",
    doc: "The values of `pstn_type` of a simulated position.",
    members: &[number(0, "LONG", "Long"), number(1, "SHORT", "Short")],
};

pub const IPO_OFFER_TYPE: ValueSet = ValueSet {
    name: "IpoOfferType",
    section: "2.10",
    doc: "The values of `offer_type` (Hong Kong, US).",
    members: &[
        word("UNSUPPORTED"),
        word("PUBLIC_OFFER_ONLY"),
        word("INTERNATIONAL_PLACING_ONLY"),
        word("PUBLIC_AND_INTER_PLACING"),
    ],
};

pub const IPO_SECURITY_TYPE: ValueSet = ValueSet {
    name: "IpoSecurityType",
    section: "2.10",
    doc: "The values of `security_type` (Hong Kong, Singapore, Malaysia).",
    members: &[
        word("NORMAL"),
        word("SPAC"),
        word("HK_IBOND"),
        word("HK_CLIMATE_BOND"),
        word("HK_SILVER_BOND"),
        word("HK_ETF"),
        word("SG_ETF"),
    ],
};

pub const IPO_APPLY_STATUS: ValueSet = ValueSet {
    name: "IpoApplyStatus",
    section: "3.3",
    doc: "The status of a subscription (Hong Kong).",
    members: &[
        word("NOT_APPLIED"),
        word("APPLY_PENDING"),
        word("APPLY_PROCESSING"),
        word("APPLY_WON"),
        word("APPLY_LOST"),
    ],
};

pub const US_IPO_STATUS: ValueSet = ValueSet {
    name: "UsIpoStatus",
    section: "3.3",
    doc: "The values of `stock_status` (US).",
    members: &[word("PENDING"), word("APPLYING"), word("CLOSED")],
};

pub const DIVIDEND_PROCESS: ValueSet = ValueSet {
    name: "DividendProcess",
    section: "2.11",
    doc: "The values of `process` of a dividend.",
    members: &[spelled("IMPLEMENTATION", "Implementation"), spelled("PLAN", "Plan")],
};

pub const CRYPTO_ORDER_STATUS: ValueSet = ValueSet {
    name: "CryptoOrderStatus",
    section: "3.1",
    doc: "The four open (unfilled) states of a crypto order.",
    members: &[word("PENDING_TRIGGER"), word("PENDING_NEW"), word("NEW"), word("PARTIAL_FILLED")],
};

pub const IPO_REQUEST: ValueSet = ValueSet {
    name: "IpoRequest",
    section: "4.2",
    doc: "Which IPOs to list in hk, us, sg and my. The default is UPCOMING.",
    members: &[
        number(9, "SUBSCRIBABLE", "Subscribable"),
        number(10, "PENDING_LISTING", "Pending listing"),
        number(11, "UPCOMING", "Upcoming (subscribable + pending listing)"),
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
