//! The documented refusals (section 7): one row each.

/// One documented refusal of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    pub code: i64,
    pub error_code: &'static str,
    pub condition: &'static str,
    pub handling: &'static str,
}

impl Failure {
    pub const fn new(
        code: i64,
        error_code: &'static str,
        condition: &'static str,
        handling: &'static str,
    ) -> Self {
        Failure { code, error_code, condition, handling }
    }
}
