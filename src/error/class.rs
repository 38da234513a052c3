//! The class of a refusal: what the service's codes and statuses mean (section 7).

/// The class of a refusal: one exception each in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    InvalidParameter,
    InvalidSymbol,
    Service,
    Authentication,
    ClockSkew,
    PermissionDenied,
    RateLimited,
    /// The service said no in a way that its document does not explain.
    Other,
}

/// Clock offset beyond the threshold, on the signed-request scheme (section 5.2).
pub const CLOCK_OFFSET_CODE: i64 = -12006;

/// Seen as a throttling code beside `error.code: rate_limited`; not in the service document.
pub const THROTTLED_CODE: i64 = -11;

impl FailureClass {
    /// The class of a refusal, from whatever it carried. Codes say more than HTTP statuses, which
    /// nobody documents; throttling says more than a code, since -12006 has been seen for it.
    pub fn of(status: u16, code: Option<i64>, error_code: Option<&str>, message: &str) -> Self {
        if status == 429
            || code == Some(THROTTLED_CODE)
            || error_code == Some("rate_limited")
            || (status == 403 && code == Some(CLOCK_OFFSET_CODE) && mentions_frequency(message))
        {
            return FailureClass::RateLimited;
        }
        match (code, error_code) {
            (Some(CLOCK_OFFSET_CODE), _) => FailureClass::ClockSkew,
            (Some(-3), _) | (_, Some("invalid_parameter")) => FailureClass::InvalidParameter,
            (Some(-7), _) | (_, Some("invalid_symbol")) => FailureClass::InvalidSymbol,
            (Some(-2 | -4 | -5 | -6), _) | (_, Some("internal_error")) => FailureClass::Service,
            _ => match status {
                401 => FailureClass::Authentication,
                403 => FailureClass::PermissionDenied,
                500.. => FailureClass::Service,
                _ => FailureClass::Other,
            },
        }
    }

    pub const fn retryable(self) -> bool {
        matches!(self, FailureClass::Service | FailureClass::RateLimited)
    }
}

fn mentions_frequency(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["frequen", "too many", "rate limit", "频"].iter().any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::FailureClass::{self, *};

    #[test]
    fn a_refusal_is_classed_by_its_code_before_its_status() {
        for (status, code, error_code, message, class) in [
            (200, Some(-3), Some("invalid_parameter"), "", InvalidParameter),
            (500, Some(-7), Some("invalid_symbol"), "", InvalidSymbol),
            (404, None, Some("invalid_symbol"), "", InvalidSymbol),
            (200, Some(-5), None, "", Service),
            (200, Some(-2), Some("internal_error"), "", Service),
            (503, None, None, "", Service),
            (401, Some(-12006), None, "", ClockSkew),
            (403, Some(-12006), None, "clock offset", ClockSkew),
            (403, Some(-12006), None, "request frequency too high", RateLimited),
            (429, None, None, "", RateLimited),
            (200, Some(-11), Some("rate_limited"), "", RateLimited),
            (401, Some(1), None, "", Authentication),
            (403, Some(1), None, "", PermissionDenied),
            (200, Some(1), None, "no such account", Other),
            (200, Some(-1200), None, "", Other),
        ] {
            assert_eq!(FailureClass::of(status, code, error_code, message), class);
        }
    }
}
