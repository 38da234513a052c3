//! The accounts of the demo user.

use std::collections::BTreeMap;

/// One of the ids is larger than what a 64-bit float holds exactly.
pub const CRYPTO: &[&str] = &["9007199254740993", "1001001"];
pub const SIM: &[&str] = &["5001", "5002"];
pub const TRADE: &[&str] = &["281756", "281757"];

/// All account ids by kind.
pub fn accounts() -> BTreeMap<&'static str, Vec<String>> {
    [("crypto", CRYPTO), ("sim", SIM), ("trade", TRADE)]
        .into_iter()
        .map(|(kind, ids)| (kind, ids.iter().map(|id| (*id).to_owned()).collect()))
        .collect()
}
