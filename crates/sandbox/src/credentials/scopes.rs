//! The scopes of an access token. The service document shows the scopes, but not which endpoint
//! needs which: this is the sandbox's choice, documented in [`super`].

use std::sync::Arc;

use boardlot_service::api::{Endpoint, ParameterKind, SCOPES};

use crate::{data::ACCOUNTS, wire::envelope::Rejection};

/// The sandbox's choice, with HTTP 403.
pub const PERMISSION_DENIED: i64 = -10;
const ACCOUNT_PREFIX: &str = "accid:";
const ALL_ACCOUNTS: &str = "accid:*";
const QUOTE: &str = "quote:read";
const TRADE: &str = "trade:read";

/// The scopes of a grant, in the order in which they are offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Arc<[String]>);

/// The kind of each account, and its own scope.
pub fn account_scopes() -> impl Iterator<Item = (&'static str, String)> {
    let accounts = ACCOUNTS.into_iter();
    accounts.flat_map(|(kind, ids)| ids.iter().map(move |id| (kind, own_scope(id))))
}

fn own_scope(id: &str) -> String {
    format!("{ACCOUNT_PREFIX}{id}")
}

fn is_account(scope: &str) -> bool {
    scope.starts_with(ACCOUNT_PREFIX)
}

impl Scopes {
    pub fn all() -> Self {
        Scopes(SCOPES.iter().map(|(scope, _)| (*scope).to_owned()).collect())
    }

    /// The scopes that the user has ticked, or what is wrong with them.
    pub fn chosen(ticked: &[String]) -> Result<Self, String> {
        let on_offer: Vec<String> = SCOPES
            .iter()
            .map(|(scope, _)| (*scope).to_owned())
            .chain(account_scopes().map(|(_, scope)| scope))
            .collect();
        if let Some(unknown) = ticked.iter().find(|scope| !on_offer.contains(scope)) {
            let shown: String = unknown.chars().take(64).collect();
            return Err(format!(
                "'{}' is not a permission that can be granted.",
                shown.escape_debug()
            ));
        }
        if ticked.is_empty() {
            return Err("Tick at least one permission, or deny.".to_owned());
        }
        let all_accounts = ticked.iter().any(|scope| scope == ALL_ACCOUNTS);
        Ok(Scopes(
            on_offer
                .into_iter()
                .filter(|scope| ticked.contains(scope))
                .filter(|scope| !all_accounts || !is_account(scope) || scope == ALL_ACCOUNTS)
                .collect(),
        ))
    }

    /// Separated by spaces.
    pub fn to_text(&self) -> String {
        self.0.join(" ")
    }

    /// Checks that they cover a request with these path parameters.
    pub fn check(&self, endpoint: &Endpoint, path: &[(String, String)]) -> Result<(), Rejection> {
        let account = endpoint
            .parameters
            .iter()
            .find(|p| matches!(p.kind, ParameterKind::AccountNumber | ParameterKind::AccountId));
        let Some(account) = account else { return self.need(QUOTE) };
        self.need(TRADE)?;
        let id = path.iter().find(|(name, _)| *name == account.name).map(|(_, id)| id.as_str());
        let own = own_scope(id.unwrap_or_default());
        self.need(ALL_ACCOUNTS).or_else(|_| self.need(&own))
    }

    fn need(&self, scope: &str) -> Result<(), Rejection> {
        if self.0.iter().any(|granted| granted == scope) {
            return Ok(());
        }
        let message = format!("the granted scope does not cover {}", scope.escape_debug());
        Err(Rejection::new(PERMISSION_DENIED, "permission_denied", message))
    }
}

#[cfg(test)]
mod tests {
    use boardlot_service::api::{ENDPOINTS, endpoint};

    use super::*;

    fn chosen(scopes: &[&str]) -> Scopes {
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        Scopes::chosen(&scopes).expect("on offer")
    }

    #[test]
    fn the_scopes_that_are_needed_are_on_offer() {
        for scope in [QUOTE, TRADE, ALL_ACCOUNTS] {
            assert!(SCOPES.iter().any(|(offered, _)| *offered == scope), "{scope}");
        }
    }

    #[test]
    fn each_endpoint_needs_its_scope_and_no_other() {
        let trading = ["crypto_orders", "sim_orders", "sim_positions", "fills_history"];
        for endpoint in ENDPOINTS {
            let path = [("acc_id".to_owned(), "5001".to_owned())];
            let allows = |scopes: &[&str]| chosen(scopes).check(endpoint, &path).is_ok();
            let trades = trading.contains(&endpoint.name.as_ref());
            assert_eq!(allows(&["quote:read"]), !trades, "{}", endpoint.name);
            assert_eq!(allows(&["quote:read", "accid:*"]), !trades, "{}", endpoint.name);
            assert_eq!(allows(&["trade:read", "accid:*"]), trades, "{}", endpoint.name);
            assert_eq!(allows(&["trade:read", "accid:5001"]), trades, "{}", endpoint.name);
            for short in [&["trade:read"][..], &["trade:read", "accid:5002"], &["accid:*"]] {
                assert!(!allows(short), "{} {short:?}", endpoint.name);
            }
            assert!(!allows(&["quote:write", "trade:write", "accid:*"]), "{}", endpoint.name);
            assert!(Scopes::all().check(endpoint, &path).is_ok(), "{}", endpoint.name);
        }
        let orders = endpoint("sim_orders").expect("known");
        let star = [("acc_id".to_owned(), "*".to_owned())];
        assert!(chosen(&["trade:read", "accid:5001"]).check(orders, &star).is_err());
    }

    #[test]
    fn what_is_ticked_is_put_in_order_and_held_against_the_offer() {
        let scopes = chosen(&["accid:5001", "trade:read", "quote:read", "trade:read"]);
        assert_eq!(scopes.to_text(), "quote:read trade:read accid:5001");
        assert_eq!(chosen(&["accid:5001", "accid:*"]).to_text(), "accid:*");
        assert_eq!(
            Scopes::all().to_text(),
            "quote:read quote:write trade:read trade:write accid:*"
        );
        for wrong in ["", "quote", "accid:1", "accid:", "quote:read trade:read", "Quote:read"] {
            assert!(Scopes::chosen(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
        assert!(Scopes::chosen(&[]).is_err());
    }
}
