//! The classes of API failures: the meaning of the service's codes, messages and statuses (section
//! 7).

use super::rejection::says_token_rejected;

/// The class of an API failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureClass {
    /// The service rejected an argument.
    InvalidParameter,
    /// The service does not know the symbol.
    InvalidSymbol,
    /// An error of the service itself.
    Service,
    /// The key, its signature or the token was rejected, whatever the HTTP status.
    Authentication,
    /// The time of a signature was too far from the service's clock.
    ClockSkew,
    /// The credentials do not allow the request.
    PermissionDenied,
    /// Too many requests.
    RateLimited,
    /// A failure that the service document does not explain.
    Other,
}

/// Code for a clock offset beyond the threshold, on the signed-request scheme (section 5.2).
pub const CLOCK_OFFSET_CODE: i64 = -12006;

/// Parts of a response that tell why a request was rejected.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// The HTTP status.
    pub status: u16,
    /// `ret_code` or `code`.
    pub code: Option<i64>,
    /// Name of that code in the endpoint's documented errors, if it is among them; empty if the
    /// document gives it no name.
    pub documented: Option<&'a str>,
    /// `error.code`.
    pub error_code: Option<&'a str>,
    /// Every other text that explains the rejection.
    pub messages: &'a [String],
}

impl FailureClass {
    /// Classifies a failure. Codes take precedence over HTTP statuses, which are undocumented. A
    /// documented failure has its documented meaning, whatever its message says.
    pub fn of(evidence: &Evidence<'_>) -> Self {
        let Evidence { status, code, documented, error_code, messages } = *evidence;
        let by_status = FailureClass::of_status(status);
        if error_code.is_some_and(says_token_rejected) {
            return FailureClass::Authentication;
        }
        // The document shows neither, so no number and no sentence stands for it.
        if by_status == Some(FailureClass::RateLimited) || error_code == Some("rate_limited") {
            return FailureClass::RateLimited;
        }
        if code == Some(CLOCK_OFFSET_CODE) {
            return FailureClass::ClockSkew;
        }
        if let Some(class) = [documented, error_code].into_iter().flatten().find_map(named) {
            return class;
        }
        if documented.is_none() && messages.iter().any(|text| says_token_rejected(text)) {
            return FailureClass::Authentication;
        }
        by_status.unwrap_or(FailureClass::Other)
    }

    /// Returns the class of an HTTP status that is a failure whatever the body is; none for any
    /// other status.
    pub const fn of_status(status: u16) -> Option<Self> {
        match status {
            401 => Some(FailureClass::Authentication),
            403 => Some(FailureClass::PermissionDenied),
            429 => Some(FailureClass::RateLimited),
            500..=599 => Some(FailureClass::Service),
            _ => None,
        }
    }
}

/// Returns true if a status says that the same request may succeed later: Request Timeout,
/// Conflict, Too Early, Too Many Requests, and failures of the service itself.
pub const fn is_temporary_status(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599)
}

/// Returns the class of a documented `error.code`.
fn named(error_code: &str) -> Option<FailureClass> {
    Some(match error_code {
        "invalid_parameter" => FailureClass::InvalidParameter,
        "invalid_symbol" => FailureClass::InvalidSymbol,
        "internal_error" => FailureClass::Service,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{
        Evidence,
        FailureClass::{self, *},
    };

    /// HTTP status, code, its name in the table, `error.code`, message.
    type Case<'a> = (u16, Option<i64>, Option<&'a str>, Option<&'a str>, &'a str);

    fn class((status, code, documented, error_code, message): Case<'_>) -> FailureClass {
        let messages = &[message.to_owned()];
        FailureClass::of(&Evidence { status, code, documented, error_code, messages })
    }

    #[test]
    fn a_failure_is_classified_by_its_code_before_its_status() {
        for (case, expected) in [
            ((200, Some(-3), Some("invalid_parameter"), None, ""), InvalidParameter),
            ((500, Some(-7), Some("invalid_symbol"), None, ""), InvalidSymbol),
            ((404, None, None, Some("invalid_symbol"), ""), InvalidSymbol),
            ((200, Some(-5), Some("internal_error"), None, ""), Service),
            ((200, Some(-2), None, Some("internal_error"), ""), Service),
            ((503, None, None, None, ""), Service),
            ((401, Some(-12006), None, None, ""), ClockSkew),
            ((403, Some(-12006), None, None, "clock offset"), ClockSkew),
            ((403, Some(-12006), None, None, "request frequency too high"), ClockSkew),
            ((429, None, None, None, ""), RateLimited),
            ((429, Some(-3), Some("invalid_parameter"), None, ""), RateLimited),
            ((200, Some(5), None, Some("rate_limited"), ""), RateLimited),
            ((200, Some(-11), None, None, "too many requests"), Other),
            ((503, Some(-11), None, None, "too many requests"), Service),
            ((200, Some(-11), None, Some("invalid_parameter"), ""), InvalidParameter),
            ((401, Some(1), None, None, ""), Authentication),
            ((403, Some(1), None, None, ""), PermissionDenied),
            ((200, Some(1), None, None, "no such account"), Other),
            ((200, Some(-1200), None, None, ""), Other),
        ] {
            assert_eq!(class(case), expected, "{case:?}");
        }
    }

    #[test]
    fn a_code_that_the_endpoint_does_not_document_means_nothing() {
        for code in -7..=-2 {
            assert_eq!(class((200, Some(code), None, None, "no")), Other);
            assert_eq!(class((400, Some(code), None, Some("odd"), "no")), Other);
            assert_eq!(class((503, Some(code), None, None, "no")), Service);
        }
    }

    #[test]
    fn a_rejected_token_is_recognized_with_any_status_unless_the_error_is_documented() {
        for status in [200, 400, 401, 403, 404, 498, 500] {
            for error_code in ["invalid_token", "token_expired", "ACCESS_TOKEN_EXPIRED"] {
                assert_eq!(class((status, None, None, Some(error_code), "")), Authentication);
            }
            let message = "access token expired";
            assert_eq!(class((status, Some(7), None, None, message)), Authentication);
            assert_eq!(
                class((status, Some(-3), Some("invalid_parameter"), None, message)),
                InvalidParameter
            );
            // A code that the document shows without a name, in an example.
            let example = class((status, Some(1), Some(""), None, message));
            assert_eq!(example, FailureClass::of_status(status).unwrap_or(Other));
            assert_eq!(
                class((status, None, None, Some("invalid_parameter"), message)),
                InvalidParameter
            );
        }
    }
}
