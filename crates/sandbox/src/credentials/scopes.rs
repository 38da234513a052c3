//! The scopes of an access token. The service document lists the scopes, but not the scope that
//! each endpoint needs. That is the sandbox's choice, documented in [`super`].

use boardlot_service::api::{Endpoint, ParameterKind, SCOPES};

use crate::{data::ACCOUNTS, wire::envelope::Rejection};

/// The code for a missing scope, with HTTP 403: the sandbox's choice.
pub const PERMISSION_DENIED: i64 = -10;
const ALL_ACCOUNTS: &str = "accid:*";
const QUOTE: &str = "quote:read";
const TRADE: &str = "trade:read";

/// The scopes of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

/// Returns the kind of each account, with its own scope.
pub fn account_scopes() -> impl Iterator<Item = (&'static str, String)> {
    let accounts = ACCOUNTS.into_iter();
    accounts.flat_map(|(kind, ids)| ids.iter().map(move |id| (kind, own_scope(id))))
}

fn own_scope(id: &str) -> String {
    format!("accid:{id}")
}

impl Scopes {
    pub fn all() -> Self {
        Scopes(SCOPES.iter().map(|&scope| scope.to_owned()).collect())
    }

    /// Checks these scopes. The error tells what is wrong with them.
    pub fn of(wanted: Vec<String>) -> Result<Self, String> {
        let is_offered = |scope: &String| {
            Scopes::all().has(scope) || account_scopes().any(|(_, account)| account == *scope)
        };
        match wanted.iter().find(|scope| !is_offered(scope)) {
            Some(other) => Err(format!("'{}' is not offered.", other.escape_debug())),
            None if wanted.is_empty() => Err("Tick at least one permission, or deny.".to_owned()),
            None => Ok(Scopes(wanted)),
        }
    }

    /// Parses scopes that are separated by spaces (RFC 6749, section 3.3).
    pub fn parse(text: &str) -> Result<Self, String> {
        Scopes::of(text.split(' ').map(str::to_owned).collect())
    }

    pub fn has(&self, scope: &str) -> bool {
        self.0.iter().any(|granted| granted == scope)
    }

    /// Returns true if these scopes include all of the narrower ones.
    pub fn cover(&self, narrower: &Scopes) -> bool {
        narrower.0.iter().all(|scope| self.has(scope))
    }

    /// Joins the scopes with spaces.
    pub fn to_text(&self) -> String {
        self.0.join(" ")
    }

    /// Checks that the scopes cover a request with these path parameters.
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
        if self.has(scope) {
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
        Scopes::of(scopes).expect("on offer")
    }

    #[test]
    fn the_scopes_that_are_needed_are_on_offer() {
        for scope in [QUOTE, TRADE, ALL_ACCOUNTS] {
            assert!(SCOPES.contains(&scope), "{scope}");
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
    fn only_scopes_on_offer_are_granted() {
        let scopes = Scopes::parse("accid:5001 trade:read quote:read").expect("on offer");
        assert_eq!(scopes.to_text(), "accid:5001 trade:read quote:read");
        assert_eq!(
            Scopes::all().to_text(),
            "quote:read quote:write trade:read trade:write accid:*"
        );
        for wrong in ["", "quote", "accid:1", "accid:", "quote:read  trade:read", "Quote:read"] {
            assert!(Scopes::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Scopes::of(Vec::new()).is_err());
    }
}
