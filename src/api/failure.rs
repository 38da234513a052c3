//! The documented refusals (section 7): one row each, and how an endpoint's responses are read.

use super::Envelope;

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

/// How the responses of an endpoint are read: its success mark, and what its codes mean.
#[derive(Debug, Clone, Copy)]
pub struct Contract {
    pub envelope: Envelope,
    /// The documented refusals. A code that is not among them means nothing here.
    pub failures: &'static [Failure],
}

impl Contract {
    /// What the endpoint's table calls a code.
    pub fn error_code(&self, code: i64) -> Option<&'static str> {
        self.failures.iter().find(|failure| failure.code == code).map(|failure| failure.error_code)
    }
}

/// That of an endpoint without a table of its own.
impl From<Envelope> for Contract {
    fn from(envelope: Envelope) -> Self {
        Contract { envelope, failures: &[] }
    }
}
