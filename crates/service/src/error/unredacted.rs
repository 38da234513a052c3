//! Errors whose texts may repeat secrets, and the redaction that makes them safe to show.

use super::{ApiFailure, Error, ErrorClass, ErrorKind, Redactor, Shown};

/// An error from within an exchange with a service, whose texts may repeat data that was sent or
/// received. It cannot be shown: only a redactor turns it into an [`Error`].
#[derive(Clone)]
pub struct Unredacted(Error);

impl Unredacted {
    /// Returns the error without these secrets.
    pub fn redacted(self, redactor: &Redactor) -> Error {
        self.0.redacted(redactor)
    }

    /// Returns the class of the error.
    pub fn class(&self) -> ErrorClass {
        self.0.class()
    }

    /// Returns the text without these secrets, and without the endpoint.
    pub fn shown(&self, redactor: &Redactor) -> Shown {
        redactor.show(&self.0.clone().redacted(redactor).kind)
    }
}

crate::shown_as!(Unredacted, |this| "Unredacted({})", this.class().name());

impl From<Error> for Unredacted {
    fn from(error: Error) -> Self {
        Unredacted(error)
    }
}

impl From<ErrorKind> for Unredacted {
    fn from(kind: ErrorKind) -> Self {
        Unredacted(kind.into())
    }
}

impl Error {
    /// Redacts the secrets that the service may have repeated, and keeps no more of the service's
    /// texts than an error shows.
    #[must_use]
    #[doc(hidden)]
    pub fn redacted(mut self, redactor: &Redactor) -> Self {
        let redact = |text: &mut String| redactor.redact(text);
        match self.kind.as_mut() {
            ErrorKind::Api(ApiFailure { message, body, error_code, headers, .. }) => {
                redact(message);
                redact(body);
                error_code.iter_mut().for_each(redact);
                // Names of headers arrive in lower case.
                let of_names = redactor.in_lower_case();
                for (name, value) in headers {
                    of_names.redact(name);
                    redact(value);
                }
            }
            ErrorKind::Protocol { message, body } => {
                redact(message);
                redact(body);
            }
            ErrorKind::OAuth { error, description }
            | ErrorKind::GrantRejected { error, description } => {
                redact(error);
                redact(description);
            }
            ErrorKind::Transport { message, .. }
            | ErrorKind::Config(message)
            | ErrorKind::Internal(message)
            | ErrorKind::Timeout(message)
            | ErrorKind::Pagination(message)
            | ErrorKind::LoginRequired { message, .. }
            | ErrorKind::Store(message) => redact(message),
        }
        self.is_redacted = true;
        self
    }
}
