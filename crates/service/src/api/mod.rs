//! The service as data. An [`Endpoint`] is a row of a table. The request, the checks on its
//! arguments, the envelope, the paging, the typed columns, the page of the docs and the sandbox's
//! route are derived from it. `docs/add-an-endpoint.md` shows how to add one.
//!
//! Section numbers refer to the service document.

mod check;
mod endpoint;
mod forms;
mod instant;
mod ipo;
mod oauth;
mod paging;
mod parameter;
mod quote;
mod record;
mod response;
mod spelling;
mod time;
mod trade;
mod user_defined;
mod values;

pub use endpoint::{Endpoint, EndpointRef, Method};
pub use forms::{FORMS, Form, Of, Outcome};
pub use instant::{MICROS_PER_DAY, micros_of_text, midnight, time_text};
pub use ipo::IPO_LIST;
pub use oauth::{ACCESS_TOKEN, AUTHORIZE, CLIENT_RECORD, OAUTH_ENDPOINTS, REGISTER, SCOPES, TOKEN};
pub use paging::{
    CursorLocation, CursorPaging, DateRange, FirstPage, NEXT_KEY, NextEnd, PAGE_FLAG, Paging,
    TimeRangeSpec,
};
pub use parameter::{
    Argument, EncodedValue, Parameter, ParameterKind, ParameterLocation, SecretText,
};
pub use quote::{DIVIDENDS, PLATE_STOCKS, REFERENCE_FUTURES, SERVER_TIME, TRADING_DAYS};
pub use record::{Field, Kind, Record, Schema, TimeUnit, Wire};
pub use response::{Contract, Envelope, Failure, RecordsLocation, ResponseShape};
pub use spelling::{MARKETS, suggest_market, suggest_symbol};
pub use trade::{CRYPTO_ORDERS, FILLS_HISTORY, SIM_ORDERS, SIM_POSITIONS};
pub use user_defined::{Declaration, DeclarationError, declared_field, kinds_for};
pub use values::{Member, VALUE_SETS, Value, ValueSet};

/// All endpoints, in the order of the service document.
// Every other list of them is derived from this one, or is compared with it by a test.
pub const ENDPOINTS: &[&Endpoint] = &[
    &quote::SERVER_TIME,
    &quote::TRADING_DAYS,
    &quote::REFERENCE_FUTURES,
    &ipo::IPO_LIST,
    &quote::DIVIDENDS,
    &quote::PLATE_STOCKS,
    &trade::CRYPTO_ORDERS,
    &trade::SIM_ORDERS,
    &trade::SIM_POSITIONS,
    &trade::FILLS_HISTORY,
];

/// Returns the endpoint with this name.
pub fn endpoint(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().copied().find(|endpoint| endpoint.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_parameter_of_a_path_is_declared_and_required() {
        for endpoint in ENDPOINTS {
            let named: Vec<&str> = endpoint
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            let declared: Vec<&str> = endpoint
                .parameters
                .iter()
                .filter(|parameter| parameter.place == ParameterLocation::Path)
                .map(|parameter| parameter.name.as_ref())
                .collect();
            assert_eq!(named, declared, "{}", endpoint.name);
            assert!(
                endpoint
                    .parameters
                    .iter()
                    .all(|p| p.place != ParameterLocation::Path || p.required),
                "{}",
                endpoint.name
            );
        }
    }

    #[test]
    fn a_paged_listing_declares_its_cursor_and_no_other_does() {
        for endpoint in ENDPOINTS {
            let expected = match &endpoint.paging {
                None | Some(Paging::DateRange(_)) => None,
                Some(Paging::Cursor(cursor)) => Some(cursor.name),
            };
            assert_eq!(endpoint.cursor().map(|p| p.name.as_ref()), expected, "{}", endpoint.name);
        }
    }

    #[test]
    fn names_are_unique() {
        for wanted in ENDPOINTS {
            assert_eq!(endpoint(&wanted.name).expect("found").path, wanted.path);
        }
    }

    #[test]
    fn no_record_declares_a_field_twice() {
        for endpoint in ENDPOINTS {
            let ResponseShape::Rows(_, schema) = &endpoint.response else { continue };
            for record in schema.records() {
                let mut names: Vec<&str> =
                    record.fields().map(|field| field.name.as_ref()).collect();
                let count = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), count, "{}", record.name);
            }
        }
    }
}
